//! [`Search`]: the checked input of a search, in the precision of its costs, with a margin of
//! barriers. Algorithms on the processor and pipelines of kernels take it.

use rayon::prelude::*;

use super::options::{CostDistanceOptions, Precision};
use super::real::Real;
use super::result::index_in;
use super::sources::Sources;
use super::steps::Step;
use super::surface::{CostSurface, Friction};
use crate::error::{Error, Result};
use crate::image::check_size;
use crate::memory::{advise_large_pages, filled_vec, push};

/// Friction with a margin of barriers, and where paths start.
pub(crate) struct Search<P> {
    /// Width in cells, without the margin.
    pub(crate) width: usize,
    /// Height in cells, without the margin.
    pub(crate) height: usize,
    /// The margin's width, on all sides: as far as a step leads.
    pub(crate) margin: usize,
    /// The distance between the rows of `friction`.
    pub(crate) stride: usize,
    /// Row by row with the margin; infinity for barriers. Cell `(x, y)` is at
    /// [`place`](Self::place). There are [`TAIL`] more values at the end.
    pub(crate) friction: Vec<P>,
    /// Steps in the order of their codes.
    pub(crate) steps: Vec<Step<P>>,
    /// Those that cost at most `max_cost`, in the order of the caller's sources.
    pub(crate) starts: Vec<Start<P>>,
    /// The largest cost to be found, which is infinite if there is no limit.
    pub(crate) max_cost: P,
}

/// A source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start<P> {
    /// Its place in arrays with a margin.
    pub(crate) place: u32,
    pub(crate) id: u32,
    pub(crate) cost: P,
}

/// Barriers after the last row of an array with a margin, so that a few cells may be read at once
/// from any cell on.
pub(crate) const TAIL: usize = 8;

impl<P: Real> Search<P> {
    /// The number of cells, without the margin.
    pub(crate) fn cells(&self) -> u64 {
        self.width as u64 * self.height as u64
    }

    /// Checks the input, and converts the friction.
    pub(crate) fn new<T: Friction>(
        surface: &CostSurface<'_, T>,
        sources: &Sources,
        options: &CostDistanceOptions,
    ) -> Result<Self> {
        options.validate()?;
        let (width, height) = (surface.width(), surface.height());
        check_size(width as u64, height as u64)?;
        let margin = options.neighbours.reach();
        let stride = width + 2 * margin;
        let len = stride as u64 * (height + 2 * margin) as u64 + TAIL as u64;
        if len > u32::MAX.into() {
            return Err(Error::ImageTooLarge {
                width: width as u64,
                height: height as u64,
                limit: "cells are counted with 32 bits, so that 2³² cells are too many: work on \
                        it in chunks",
            });
        }
        sources.check()?;
        crate::threads::ensure();
        let mut friction = filled_vec(P::INFINITY, len as usize, "the friction")?;
        advise_large_pages(&mut friction);
        let rows = friction.par_chunks_exact_mut(stride).enumerate();
        let rows = rows.skip(margin).take(height);
        let refused = rows.filter_map(|(y, row)| {
            let (y, row) = (y - margin, &mut row[margin..][..width]);
            Some((y, surface.row(y, row)?))
        });
        if let Some((y, x)) = refused.min() {
            return Err(refuse::<P>(x, y, surface.at(x, y)));
        }
        let mut search = Self {
            width,
            height,
            margin,
            stride,
            friction,
            steps: Step::all(options),
            starts: Vec::new(),
            max_cost: options.max_cost.map_or(P::INFINITY, P::at_most),
        };
        search.check_steps(options)?;
        search.add(sources)?;
        Ok(search)
    }

    /// The place of a cell in arrays with a margin.
    pub(crate) fn place(&self, x: usize, y: usize) -> usize {
        (y + self.margin) * self.stride + x + self.margin
    }

    /// How far a step leads in arrays with a margin.
    pub(crate) fn jump(&self, (x, y): (i32, i32)) -> isize {
        y as isize * self.stride as isize + x as isize
    }

    /// The column and the row of a place.
    pub(crate) fn cell(&self, place: usize) -> (usize, usize) {
        let (x, y) = (place % self.stride, place / self.stride);
        (x - self.margin, y - self.margin)
    }

    /// Refuses results in which a cell has no cost only because every path to it overflows.
    pub(crate) fn check_overflow(&self, costs: &[P]) -> Result<()> {
        if self.max_cost.is_finite() {
            return Ok(());
        }
        let rows = (0..self.height).into_par_iter();
        let found = rows.filter_map(|y| {
            let is_cut_off = |&x: &usize| {
                let place = self.place(x, y);
                let at = |offset| self.friction[place.wrapping_add_signed(self.jump(offset))];
                let mut steps = self.steps.iter();
                !costs[place].is_finite()
                    && self.friction[place].is_finite()
                    && steps.any(|step| {
                        let next = place.wrapping_add_signed(self.jump(step.offset));
                        let passes = step.passes.unwrap_or_default();
                        costs[next].is_finite() && passes.iter().all(|&cell| at(cell).is_finite())
                    })
            };
            let x = (0..self.width).find(is_cut_off)?;
            Some((y, x))
        });
        found
            .min()
            .map_or(Ok(()), |(y, x)| Err(overflow::<P>(x, y)))
    }

    /// An array with the margin, without it.
    pub(crate) fn without_margin<T: Copy>(&self, mut array: Vec<T>) -> Vec<T> {
        for y in 0..self.height {
            let start = self.place(0, y);
            array.copy_within(start..start + self.width, y * self.width);
        }
        array.truncate(self.width * self.height);
        array
    }

    /// Sizes of cells that f32 rounds to 0 or to infinity are refused.
    fn check_steps(&self, options: &CostDistanceOptions) -> Result<()> {
        let fits = |step: &Step<P>| step.share > P::ZERO && step.share.is_finite();
        if self.steps.iter().all(fits) {
            return Ok(());
        }
        let why = format!(
            "steps between cells of {} × {} have lengths that {} rounds to 0 or to infinity: take \
             another unit of length",
            crate::error::short(options.cell_size.x),
            crate::error::short(options.cell_size.y),
            P::PRECISION.name()
        );
        let problem = crate::error::OptionProblem::OutOfRange;
        Err(Error::option("cell_size", problem, why))
    }

    fn add(&mut self, sources: &Sources) -> Result<()> {
        for source in sources.as_slice() {
            index_in(self.width as u32, self.height as u32, source.x, source.y)?;
            let (x, y) = (source.x as usize, source.y as usize);
            let place = self.place(x, y);
            if !self.friction[place].is_finite() {
                return Err(Error::SourceOnBarrier {
                    id: source.id,
                    x: source.x,
                    y: source.y,
                });
            }
            if !P::from_f64(source.start_cost).is_finite() {
                return Err(overflow::<P>(x, y));
            }
            // -0 becomes 0.
            let cost = P::from_f64(source.start_cost) + P::ZERO;
            if cost <= self.max_cost {
                let start = Start {
                    place: place as u32,
                    id: source.id,
                    cost,
                };
                push(&mut self.starts, start, "the sources")?;
            }
        }
        Ok(())
    }
}

fn refuse<P: Real>(x: usize, y: usize, value: f64) -> Error {
    Error::Friction {
        x: x as u32,
        y: y as u32,
        value,
        instead: match P::PRECISION {
            _ if value < 0.0 => "it must be 0 or more, or NaN for a barrier",
            Precision::F32 => "it exceeds the largest f32: take the precision f64",
            Precision::F64 => "it exceeds the largest f64",
        },
    }
}

fn overflow<P: Real>(x: usize, y: usize) -> Error {
    Error::CostOverflow {
        x: x as u32,
        y: y as u32,
        precision: P::PRECISION.name(),
        instead: match P::PRECISION {
            Precision::F32 => "take the precision f64, or a larger unit of cost",
            Precision::F64 => "take a larger unit of cost",
        },
    }
}
