//! Three ways of relaxing a lane's cells within a chunk, each cell from all cells before it.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::CELLS;
use crate::route::UNREACHED;

/// A cell of a line, or consecutive cells.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    /// The weight of the way from the cell before the first one to the last one; `u64::MAX` if it
    /// is blocked.
    pub(super) weight: u64,
    /// The distance of the last.
    pub(super) distance: u64,
}

impl Pair {
    /// No cells.
    const NONE: Self = Self {
        weight: 0,
        distance: UNREACHED,
    };

    /// These cells followed by `next`. Sums past 2⁶⁴ saturate, at blocked or not reached.
    #[inline(always)]
    pub(super) fn then(self, next: Self) -> Self {
        let through = self.distance.saturating_add(next.weight);
        Self {
            weight: self.weight.saturating_add(next.weight),
            distance: if through < next.distance {
                through
            } else {
                next.distance
            },
        }
    }

    /// The pair of lane `lane`.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn of_lane(self, lane: u32) -> Self {
        Self {
            weight: warp::warp_shuffle_idx(FULL_MASK, self.weight, lane, WARP_SIZE).0,
            distance: warp::warp_shuffle_idx(FULL_MASK, self.distance, lane, WARP_SIZE).0,
        }
    }

    /// The pair of the lane `delta` before.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn of_lane_before(self, delta: u32) -> Self {
        Self {
            weight: warp::warp_shuffle_up(FULL_MASK, self.weight, delta, WARP_SIZE).0,
            distance: warp::warp_shuffle_up(FULL_MASK, self.distance, delta, WARP_SIZE).0,
        }
    }
}

/// A lane's cells, each with the weight of the edge from the previous cell, `u64::MAX` if that is
/// blocked.
pub(super) type Cells = [Pair; CELLS];

/// Relaxes the right half of each group of `2 * HALF` of a lane's cells from the left.
#[inline(always)]
fn join_halves<const HALF: usize>(cells: &mut Cells) {
    for i in 0..CELLS {
        if i & HALF != 0 {
            cells[i] = cells[(i & !(2 * HALF - 1)) + HALF - 1].then(cells[i]);
        }
    }
}

/// Relaxes a chunk's cells, each from all before it, in groups that double.
#[inline(always)]
pub(super) fn divide_and_conquer(cells: &mut Cells, lane: u32) {
    join_halves::<1>(cells);
    join_halves::<2>(cells);
    join_halves::<4>(cells);
    let mut half = 1;
    while half < WARP_SIZE {
        // The last cell of the left half.
        // planted: sweep-halves
        let left = cells[CELLS - 1].of_lane((lane & !(2 * half - 1)) + half - 1);
        if lane & half != 0 {
            for cell in cells.iter_mut() {
                *cell = left.then(*cell);
            }
        }
        half *= 2;
    }
}

/// Relaxes a chunk's cells, each from all before it, by a prefix sum of the weights and a prefix
/// minimum.
#[inline(always)]
pub(super) fn prefix(cells: &mut Cells, lane: u32) {
    // A blocked edge adds nothing: no minimum is taken across it.
    let mut sum = 0;
    for cell in cells.iter() {
        if cell.weight != u64::MAX {
            sum += cell.weight;
        }
    }
    let mut through = sum;
    let mut delta = 1;
    while delta < WARP_SIZE {
        let (before, _) = warp::warp_shuffle_up(FULL_MASK, through, delta, WARP_SIZE);
        if lane >= delta {
            through += before;
        }
        delta *= 2;
    }
    // The least d - s since the last blocked edge. Every d is less than 2⁶³, every s less than 2⁴⁰.
    let mut all = Excess {
        sum: through - sum,
        least: NO_EXCESS,
    };
    let mut blocked = false;
    for cell in cells.iter() {
        blocked |= cell.weight == u64::MAX;
        all = all.then(*cell);
    }
    let mut least = all.least;
    // The lanes with a blocked edge, up to this one.
    let restarts = warp::warp_vote_ballot(FULL_MASK, blocked) & warp::lanemask_le();
    let start = 31u32.saturating_sub(restarts.leading_zeros());
    let mut delta = 1;
    while delta < WARP_SIZE {
        let (before, _) = warp::warp_shuffle_up(FULL_MASK, least, delta, WARP_SIZE);
        // planted: sweep-lane-restart
        if lane >= start + delta && before < least {
            least = before;
        }
        delta *= 2;
    }
    let (before, _) = warp::warp_shuffle_up(FULL_MASK, least, 1, WARP_SIZE);
    let mut excess = Excess {
        sum: through - sum,
        least: if lane > 0 { before } else { NO_EXCESS },
    };
    for cell in cells.iter_mut() {
        excess = excess.then(*cell);
        if excess.least != NO_EXCESS {
            cell.distance = excess.least.cast_unsigned().wrapping_add(excess.sum);
        }
    }
}

/// No cell is reached.
const NO_EXCESS: i64 = i64::MAX;

/// The prefix sum s of the weights up to a cell, and the least d - s since the last blocked edge.
#[derive(Clone, Copy)]
struct Excess {
    sum: u64,
    least: i64,
}

impl Excess {
    /// The same up to the next cell.
    #[inline(always)]
    fn then(mut self, next: Pair) -> Self {
        if next.weight == u64::MAX {
            // planted: sweep-restart
            self.least = NO_EXCESS;
        } else {
            self.sum += next.weight;
        }
        if next.distance != UNREACHED {
            let own = next.distance.wrapping_sub(self.sum).cast_signed();
            self.least = if own < self.least { own } else { self.least };
        }
        self
    }
}

/// Relaxes a chunk's cells, each from all before it, by one scan of pairs.
#[inline(always)]
pub(super) fn prefix_fused(cells: &mut Cells, lane: u32) {
    let mut all = Pair::NONE;
    for cell in cells.iter() {
        all = all.then(*cell);
    }
    let mut delta = 1;
    while delta < WARP_SIZE {
        let before = all.of_lane_before(delta);
        if lane >= delta {
            all = before.then(all);
        }
        delta *= 2;
    }
    let before = all.of_lane_before(1);
    let mut all = if lane > 0 { before } else { Pair::NONE };
    for cell in cells.iter_mut() {
        all = all.then(*cell);
        cell.distance = all.distance;
    }
}
