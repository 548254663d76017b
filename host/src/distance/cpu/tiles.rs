//! Tiles of the raster on all threads ([`tile_search`]).

use rayon::prelude::*;

use super::buckets::bucket_width;
use super::first;
use super::near::{Near, OFFSETS, bits};
use crate::distance::real::Real;
use crate::distance::search::Search;
use crate::distance::steps::Step;
use crate::error::Result;
use crate::memory::{filled_vec, par_collect};
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

/// A step, and how far it leads in the costs and the friction of a tile.
#[derive(Clone, Copy)]
struct Jump<P> {
    step: Step<P>,
    by: isize,
}

impl<'a, P: Real, const REACH: usize> Raster<'a, P, REACH> {
    const STRIDE: usize = tile_search::stride::<Self>();

    fn new(search: &'a Search<P>, before: Option<Vec<P>>) -> Self {
        let near = Near::new(&search.frame.steps);
        let others = search.frame.steps.iter();
        let others = others.filter(|step| near.is_none() || step.passes.is_some());
        let jumps = others.map(|&step| Jump {
            step,
            by: Self::jump(step.offset),
        });
        Self {
            search,
            before,
            near,
            jumps: jumps.collect(),
        }
    }

    /// How far a step leads in the costs and the friction of a tile.
    fn jump((x, y): (i32, i32)) -> isize {
        y as isize * Self::STRIDE as isize + x as isize
    }

    /// Copies a tile and its rim from an array with the margin. `(x, y)` is the column and the row
    /// of the tile's first cell. What lies outside of the array is left as it is.
    fn copy_part(&self, from: &[P], (x, y): (usize, usize), to: &mut [P]) {
        let stride = self.search.frame.stride;
        // The rim of a tile is as wide as the margin of the raster.
        let width = Self::STRIDE.min(stride - x);
        let rows = from.chunks_exact(stride).skip(y);
        for (to, from) in to.chunks_exact_mut(Self::STRIDE).zip(rows) {
            to[..width].copy_from_slice(&from[x..][..width]);
        }
    }
}

impl<P: Real, const REACH: usize> Grid for Raster<'_, P, REACH> {
    type Cost = P;
    /// The friction of the tile and its rim. In the raster, the rows of a tile are far apart: each
    /// is on another page, and they share a few cache sets if the width is nearly a power of two.
    type Part = Vec<P>;
    const SIDE: usize = 64;
    const REACH: usize = REACH;

    fn size(&self) -> [usize; 3] {
        [self.search.frame.width, self.search.frame.height, 1]
    }

    fn bucket_width(&self) -> f64 {
        bucket_width(self.search)
    }

    fn begin(&self, origin: (usize, usize), costs: &mut [P]) {
        if let Some(before) = &self.before {
            self.copy_part(before, origin, costs);
        }
    }

    fn load(&self, origin: (usize, usize), part: &mut Vec<P>) -> Result<()> {
        let len = Self::STRIDE * Self::STRIDE;
        if part.is_empty() {
            *part = filled_vec(P::INFINITY, len, "the friction of a tile")?;
        }
        self.copy_part(&self.search.friction, origin, part);
        Ok(())
    }

    #[inline(always)]
    fn relax(&self, cell: TileCell, cost: P, front: &mut Front<'_, Self>) -> Result<()> {
        let max_cost = self.search.frame.max_cost;
        let friction: &[P] = front.part;
        if let Some(near) = &self.near {
            let (reached, lowered) =
                near.lowered(cost, friction, front.costs, cell.index, Self::STRIDE);
            for i in bits(lowered) {
                if reached[i] <= max_cost {
                    front.lower(cell, OFFSETS[i], 0, reached[i])?;
                }
            }
        }
        let own = friction[cell.index];
        for jump in &self.jumps {
            let at = |offset| friction[cell.index.wrapping_add_signed(Self::jump(offset))];
            let next = cell.index.wrapping_add_signed(jump.by);
            let reached = cost + jump.step.cost(own, friction[next], at);
            if reached < front.costs[next] && reached <= max_cost {
                front.lower(cell, jump.step.offset, 0, reached)?;
            }
        }
        Ok(())
    }
}
