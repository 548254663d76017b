//! Allocation and directions from final costs: the rules of [the module](crate::distance) for paths
//! of equal cost.

use rayon::prelude::*;

use crate::distance::real::Real;
use crate::distance::search::{Search, Start};
use crate::distance::steps::{NO_DIRECTION, Step};
use crate::error::Result;
use crate::memory::{extend, filled_vec, push, with_room, zeroed_vec};

/// A search whose costs are known.
pub(crate) struct Solved<'a, P> {
    pub(crate) search: &'a Search<P>,
    /// With the margin; infinity where nothing reaches.
    pub(crate) costs: &'a [P],
}

/// A cell on a plateau, whose direction is not known yet.
const PENDING: u8 = 254;
/// As [`PENDING`], and listed for the next layer.
const LISTED: u8 = 253;

impl<'a, P: Real> Solved<'a, P> {
    /// The place that the step leads to.
    #[inline(always)]
    fn next(&self, place: usize, step: &Step<P>) -> usize {
        place.wrapping_add_signed(self.search.frame.jump(step.offset))
    }

    /// Whether the step between `place` and its neighbour `next` is tight: from `next` to `place`,
    /// or from `place` to `next` if `forward`.
    #[inline(always)]
    fn is_tight(&self, place: usize, next: usize, step: &Step<P>, forward: bool) -> bool {
        let friction = &self.search.friction;
        // The cells between are the same both ways.
        let at = |offset| friction[place.wrapping_add_signed(self.search.frame.jump(offset))];
        let (from, to) = if forward {
            (place, next)
        } else {
            (next, place)
        };
        let cost = step.cost(friction[from], friction[to], at);
        let (from, to) = (self.costs[from], self.costs[to]);
        to.is_finite() && from + cost == to
    }

    /// The sources that start at their cell's cost.
    fn tight_starts(&self) -> impl Iterator<Item = &'a Start<P>> {
        let costs = self.costs;
        let starts = self.search.starts.iter();
        starts.filter(move |start| costs[start.place as usize] == start.cost)
    }

    /// The least id of a source from which tight steps lead to the cell; 0 where nothing reaches.
    /// With the margin.
    pub(crate) fn allocation(&self) -> Result<Vec<u32>> {
        let mut starts = with_room(self.search.starts.len(), "the sources by id")?;
        starts.extend(self.tight_starts().map(|start| (start.id, start.place)));
        starts.sort_unstable();
        let mut ids = zeroed_vec(self.costs.len(), "the allocation")?;
        // In the order of ids: a cell that is taken, and all that tight steps from it lead to, have
        // an id that is not greater.
        let mut stack = Vec::new();
        for (id, place) in starts {
            if ids[place as usize] != 0 {
                continue;
            }
            ids[place as usize] = id;
            stack.push(place);
            while let Some(place) = stack.pop() {
                for step in &self.search.frame.steps {
                    let next = self.next(place as usize, step);
                    if ids[next] == 0 && self.is_tight(place as usize, next, step, true) {
                        ids[next] = id;
                        push(&mut stack, next as u32, "cells of one source")?;
                    }
                }
            }
        }
        Ok(ids)
    }

    /// The code of each cell's direction; [`NO_DIRECTION`] where nothing reaches. With the margin.
    pub(crate) fn directions(&self) -> Result<Vec<u8>> {
        let search = self.search;
        let mut codes = filled_vec(NO_DIRECTION, self.costs.len(), "the directions")?;
        let rows = codes.par_chunks_exact_mut(search.frame.stride).enumerate();
        rows.skip(search.frame.margin)
            .take(search.frame.height)
            .for_each(|(y, row)| {
                for (x, code) in row.iter_mut().enumerate() {
                    let place = y * search.frame.stride + x;
                    if self.costs[place].is_finite() {
                        *code = self.descent(place);
                    }
                }
            });
        for start in self.tight_starts() {
            codes[start.place as usize] = 0;
        }
        self.cross_plateaus(&mut codes)?;
        Ok(codes)
    }

    /// The least code of a tight step from a cell of smaller cost; [`PENDING`] without one.
    fn descent(&self, place: usize) -> u8 {
        for step in &self.search.frame.steps {
            let next = self.next(place, step);
            if self.costs[next] < self.costs[place] && self.is_tight(place, next, step, false) {
                return step.code;
            }
        }
        PENDING
    }

    /// The least code of a tight step from a cell of equal cost whose direction is known.
    fn along(&self, place: usize, codes: &[u8]) -> Option<u8> {
        let mut steps = self.search.frame.steps.iter();
        let found = steps.find(|step| {
            let next = self.next(place, step);
            codes[next] < LISTED
                && self.costs[next] == self.costs[place]
                && self.is_tight(place, next, step, false)
        });
        found.map(|step| step.code)
    }

    /// Directions of the cells on plateaus: breadth first, layer by layer.
    fn cross_plateaus(&self, codes: &mut [u8]) -> Result<()> {
        const WHAT: &str = "the cells of plateaus";
        let mut layer: Vec<(u32, u8)> = Vec::new();
        for (place, _) in codes
            .iter()
            .enumerate()
            .filter(|&(_, &code)| code == PENDING)
        {
            if let Some(code) = self.along(place, codes) {
                push(&mut layer, (place as u32, code), WHAT)?;
            }
        }
        let mut listed = Vec::new();
        while !layer.is_empty() {
            for &(place, code) in &layer {
                codes[place as usize] = code;
            }
            listed.clear();
            for &(place, _) in &layer {
                for step in &self.search.frame.steps {
                    let next = self.next(place as usize, step);
                    if codes[next] == PENDING && self.is_tight(place as usize, next, step, true) {
                        codes[next] = LISTED;
                        push(&mut listed, next as u32, WHAT)?;
                    }
                }
            }
            layer.clear();
            // A cell is listed because a tight step leads to it from a cell of the last layer.
            let coded = listed.iter().filter_map(|&place| {
                let code = self.along(place as usize, codes)?;
                Some((place, code))
            });
            extend(&mut layer, coded, WHAT)?;
        }
        Ok(())
    }
}
