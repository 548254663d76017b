//! Tiles of the raster on all threads ([`tile_search`]).

use rayon::prelude::*;

use super::buckets::bucket_width;
use super::first;
use super::near::{Near, OFFSETS, bits};
use crate::distance::real::Real;
use crate::distance::search::Search;
use crate::distance::steps::Step;
use crate::error::Result;
use crate::memory::par_collect;
use crate::progress::Progress;
use crate::tile_search::{self, Front, Grid, TileCell};

/// As [`costs`](super::costs).
pub(super) fn costs<P: Real>(
    search: &Search<P>,
    before: Option<Vec<P>>,
    progress: &Progress<'_>,
) -> Result<Vec<P>> {
    match search.frame.margin {
        2 => costs_of(&Raster::<P, 2>::new(search, before), progress),
        _ => costs_of(&Raster::<P, 1>::new(search, before), progress),
    }
}

fn costs_of<P: Real, const REACH: usize>(
    raster: &Raster<'_, P, REACH>,
    progress: &Progress<'_>,
) -> Result<Vec<P>> {
    let Search { frame, starts, .. } = raster.search;
    let starts = starts.iter().map(|start| {
        let (x, y) = frame.cell(start.place as usize);
        ([x, y, 0], start.cost)
    });
    let tiles = tile_search::costs(raster, starts, progress)?;
    let before = raster.before.as_ref();
    let before = before.map(|costs| par_collect(costs.par_iter().copied(), "the costs"));
    let mut costs = first(raster.search, before.transpose()?)?;
    tiles.write(&mut costs[frame.place(0, 0)..], frame.stride, |cost| cost);
    Ok(costs)
}

/// The raster of a search whose steps lead up to `REACH` cells far.
struct Raster<'a, P, const REACH: usize> {
    search: &'a Search<P>,
    /// The costs from which the search starts, with the margin, if there are any.
    before: Option<Vec<P>>,
    /// The steps to the 8 neighbours, unless they are among `jumps`.
    near: Option<Near<P>>,
    /// All other steps.
    jumps: Vec<Jump<P>>,
}

/// A step, as a jump in two arrays.
#[derive(Clone, Copy)]
struct Jump<P> {
    step: Step<P>,
    /// In the costs of a tile.
    local: isize,
    /// In the friction.
    global: isize,
}

impl<'a, P: Real, const REACH: usize> Raster<'a, P, REACH> {
    const STRIDE: usize = tile_search::stride::<Self>();

    fn new(search: &'a Search<P>, before: Option<Vec<P>>) -> Self {
        let near = Near::new(&search.frame.steps);
        let others = search.frame.steps.iter();
        let others = others.filter(|step| near.is_none() || step.passes.is_some());
        let jumps = others.map(|&step| Jump {
            step,
            local: step.offset.1 as isize * Self::STRIDE as isize + step.offset.0 as isize,
            global: search.frame.jump(step.offset),
        });
        Self {
            search,
            before,
            near,
            jumps: jumps.collect(),
        }
    }
}

impl<P: Real, const REACH: usize> Grid for Raster<'_, P, REACH> {
    type Cost = P;
    const SIDE: usize = 64;
    const REACH: usize = REACH;

    fn size(&self) -> [usize; 3] {
        [self.search.frame.width, self.search.frame.height, 1]
    }

    fn bucket_width(&self) -> f64 {
        bucket_width(self.search)
    }

    fn begin(&self, (x, y): (usize, usize), costs: &mut [P]) {
        let Some(before) = &self.before else {
            return;
        };
        // The rim of a tile is as wide as the margin of the raster.
        let stride = self.search.frame.stride;
        let rows = before.chunks_exact(stride).skip(y);
        for (to, from) in costs.chunks_exact_mut(Self::STRIDE).zip(rows) {
            for (to, &from) in to.iter_mut().zip(&from[x..]) {
                *to = from;
            }
        }
    }

    #[inline(always)]
    fn relax(&self, cell: TileCell, cost: P, front: &mut Front<'_, Self>) -> Result<()> {
        let Search {
            frame, friction, ..
        } = self.search;
        // The rim of a tile is as wide as the margin of the raster.
        let place = (front.origin.1 + cell.y) * frame.stride + front.origin.0 + cell.x;
        if let Some(near) = &self.near {
            let (reached, lowered) = near.lowered(
                cost,
                (friction, place, frame.stride),
                (front.costs, cell.index, Self::STRIDE),
            );
            for i in bits(lowered) {
                if reached[i] <= frame.max_cost {
                    front.lower(cell, OFFSETS[i], 0, reached[i])?;
                }
            }
        }
        let own = friction[place];
        for jump in &self.jumps {
            let at = |offset| friction[place.wrapping_add_signed(frame.jump(offset))];
            let to = friction[place.wrapping_add_signed(jump.global)];
            let reached = cost + jump.step.cost(own, to, at);
            let so_far = front.costs[cell.index.wrapping_add_signed(jump.local)];
            if reached < so_far && reached <= frame.max_cost {
                front.lower(cell, jump.step.offset, 0, reached)?;
            }
        }
        Ok(())
    }
}
