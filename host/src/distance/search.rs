//! [`Search`]: the checked input of a search, in the precision of its costs, with a margin of
//! barriers. Algorithms on the processor and pipelines of kernels take it.

use rayon::prelude::*;

use super::options::{CostDistanceOptions, Precision};
use super::real::Real;
use super::result::{Costs, index_in};
use super::sources::{Source, Sources};
use super::steps::Step;
use super::surface::{CostSurface, Friction};
use crate::error::{Error, OptionProblem, Result};
use crate::image::check_size;
use crate::memory::{par_filled_vec, par_rows, push};

/// The size of a raster with its margin, and what is asked of it.
#[derive(Clone, Debug)]
pub(crate) struct Frame<P> {
    /// Width in cells, without the margin.
    pub(crate) width: usize,
    /// Height in cells, without the margin.
    pub(crate) height: usize,
    /// The margin's width, on all sides: as far as a step leads.
    pub(crate) margin: usize,
    /// The distance between rows with their margin.
    pub(crate) stride: usize,
    /// Steps in the order of their codes.
    pub(crate) steps: Vec<Step<P>>,
    /// The largest cost to be found, which is infinite if there is no limit.
    pub(crate) max_cost: P,
}

/// Friction with a margin of barriers, and where paths start.
pub(crate) struct Search<P> {
    pub(crate) frame: Frame<P>,
    /// Row by row with the margin; infinity for barriers. Cell `(x, y)` is at
    /// [`place`](Frame::place). There are [`TAIL`] more values at the end.
    pub(crate) friction: Vec<P>,
    /// Those that cost at most `max_cost`, in the order of the caller's sources.
    pub(crate) starts: Vec<Start<P>>,
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

impl<P: Real> Frame<P> {
    /// Checks options and size.
    pub(crate) fn new(width: usize, height: usize, options: &CostDistanceOptions) -> Result<Self> {
        options.validate()?;
        check_size(width as u64, height as u64)?;
        let margin = options.neighbours.reach();
        let frame = Self {
            width,
            height,
            margin,
            stride: width + 2 * margin,
            steps: Step::all(options),
            max_cost: options.max_cost.map_or(P::INFINITY, P::at_most),
        };
        if frame.places() + TAIL as u64 > u32::MAX.into() {
            return Err(Error::ImageTooLarge {
                width: width as u64,
                height: height as u64,
                limit: "cells are counted with 32 bits, so that 2³² cells are too many: work on \
                        it in chunks",
            });
        }
        Ok(frame)
    }

    /// The number of cells, without the margin.
    pub(crate) fn cells(&self) -> u64 {
        self.width as u64 * self.height as u64
    }

    /// The number of cells with the margin.
    pub(crate) fn places(&self) -> u64 {
        self.stride as u64 * (self.height + 2 * self.margin) as u64
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

    /// An array with the margin, without it.
    pub(crate) fn without_margin<T: Copy + Send + Sync>(
        &self,
        array: &[T],
        convert: impl Fn(T) -> T + Copy + Send + Sync,
    ) -> Result<Vec<T>> {
        par_rows(self.width, self.width * self.height, "the result", |y| {
            let row = &array[self.place(0, y)..][..self.width];
            row.iter().map(move |&value| convert(value))
        })
    }

    /// Sizes of cells that f32 rounds to 0 or to infinity are refused.
    pub(crate) fn check_steps(&self, options: &CostDistanceOptions) -> Result<()> {
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

    /// Where the paths of a source start, which is no start if that is past the limit.
    pub(crate) fn start(
        &self,
        source: &Source,
        is_barrier: impl FnOnce(usize) -> bool,
    ) -> Result<Option<Start<P>>> {
        index_in(self.width as u32, self.height as u32, source.x, source.y)?;
        let (x, y) = (source.x as usize, source.y as usize);
        let place = self.place(x, y);
        if is_barrier(place) {
            return Err(on_barrier(source));
        }
        if !P::from_f64(source.start_cost).is_finite() {
            return Err(overflow::<P>(x, y));
        }
        let start = Start {
            place: place as u32,
            id: source.id,
            // -0 becomes 0.
            cost: P::from_f64(source.start_cost) + P::ZERO,
        };
        Ok((start.cost <= self.max_cost).then_some(start))
    }
}

impl<P: Real> Search<P> {
    /// Checks the input, and converts the friction.
    pub(crate) fn new<T: Friction>(
        surface: &CostSurface<'_, T>,
        sources: &Sources,
        options: &CostDistanceOptions,
    ) -> Result<Self> {
        let frame = Frame::new(surface.width(), surface.height(), options)?;
        let Frame {
            width,
            height,
            margin,
            stride,
            ..
        } = frame;
        sources.check()?;
        crate::threads::ensure();
        let len = frame.places() as usize + TAIL;
        let mut friction = par_filled_vec(P::INFINITY, len, "the friction")?;
        let rows = friction.par_chunks_exact_mut(stride).enumerate();
        let rows = rows.skip(margin).take(height);
        let refused = rows.filter_map(|(y, row)| {
            let (y, row) = (y - margin, &mut row[margin..][..width]);
            Some((y, surface.row(y, row)?))
        });
        if let Some((y, x)) = refused.min() {
            return Err(refuse::<P>(x, y, surface.at(x, y)));
        }
        frame.check_steps(options)?;
        let mut starts = Vec::new();
        for source in sources.as_slice() {
            let is_barrier = |place: usize| !friction[place].is_finite();
            if let Some(start) = frame.start(source, is_barrier)? {
                push(&mut starts, start, "the sources")?;
            }
        }
        Ok(Self {
            frame,
            friction,
            starts,
        })
    }

    /// Costs that were found before, with the margin.
    ///
    /// # Errors
    /// For costs of another raster or precision, and for what is no cost.
    pub(crate) fn costs_before(&self, costs: &Costs) -> Result<Vec<P>> {
        let refuse = |why: String| Err(Error::option("before", OptionProblem::OutOfRange, why));
        let Some(values) = P::unwrap(costs) else {
            return refuse(format!(
                "costs in {} can't be lowered in {}: take the precision in which they were found",
                costs.precision().name(),
                P::PRECISION.name()
            ));
        };
        let (needed, given) = (self.frame.cells() as usize, values.len());
        if given != needed {
            return Err(Error::LengthMismatch { needed, given });
        }
        let is_no_cost = |&value: &P| value < P::ZERO || value == P::INFINITY;
        if let Some(i) = values.par_iter().position_first(is_no_cost) {
            let why = "earlier costs are 0 or more, or NaN where nothing was reached";
            return refuse(format!(
                "a cost of {} at row {}, column {}: {why}",
                crate::error::short(values[i].to_f64()),
                i / self.frame.width,
                i % self.frame.width
            ));
        }
        let mut before = par_filled_vec(P::INFINITY, self.friction.len(), "the costs")?;
        let rows = before.par_chunks_exact_mut(self.frame.stride);
        let rows = rows.skip(self.frame.margin).take(self.frame.height);
        rows.zip(values.par_chunks_exact(self.frame.width))
            .for_each(|(row, values)| {
                let row = &mut row[self.frame.margin..][..self.frame.width];
                for (to, &value) in row.iter_mut().zip(values) {
                    // Not for NaN.
                    if value.is_finite() {
                        *to = value;
                    }
                }
            });
        Ok(before)
    }

    /// Refuses results in which a cell has no cost only because every path to it overflows.
    pub(crate) fn check_overflow(&self, costs: &[P]) -> Result<()> {
        if self.frame.max_cost.is_finite() {
            return Ok(());
        }
        let rows = (0..self.frame.height).into_par_iter();
        let found = rows.filter_map(|y| {
            let is_cut_off = |&x: &usize| {
                let place = self.frame.place(x, y);
                let at = |offset| self.friction[place.wrapping_add_signed(self.frame.jump(offset))];
                let mut steps = self.frame.steps.iter();
                !costs[place].is_finite()
                    && self.friction[place].is_finite()
                    && steps.any(|step| {
                        let next = place.wrapping_add_signed(self.frame.jump(step.offset));
                        let passes = step.passes.unwrap_or_default();
                        costs[next].is_finite() && passes.iter().all(|&cell| at(cell).is_finite())
                    })
            };
            let x = (0..self.frame.width).find(is_cut_off)?;
            Some((y, x))
        });
        found
            .min()
            .map_or(Ok(()), |(y, x)| Err(overflow::<P>(x, y)))
    }
}

/// A source on a barrier.
pub(crate) fn on_barrier(source: &Source) -> Error {
    Error::SourceOnBarrier {
        id: source.id,
        x: source.x,
        y: source.y,
    }
}

/// Friction that is negative or too large.
pub(crate) fn refuse<P: Real>(x: usize, y: usize, value: f64) -> Error {
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

/// A cost that is too large.
pub(crate) fn overflow<P: Real>(x: usize, y: usize) -> Error {
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
