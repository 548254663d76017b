//! The nearest pin of a net among those that are not joined.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::layout::{Area, BLOCK, PinCell};
use super::{PathCost, Problem, Shared};

/// The bits below the cost, for a place among the cells of a net's pins.
const CELL_BITS: u32 = 29;
/// The most cells of a net's pins together.
pub const MAX_PIN_CELLS: u32 = 1 << CELL_BITS;
/// No cell.
const NONE: u64 = u64::MAX;

/// The nearest pin that is not joined; its nearest cell; the label there; and the label of the next
/// nearest cell of a pin. Ties go to the first pin, and to its first cell. If no path reaches a
/// remaining pin: the pin after the net's last, and labels that are unreached.
#[inline(always)]
pub(super) fn nearest<L: PathCost>(
    problem: &Problem<'_, L>,
    shared: &Shared<L>,
    area: Area,
) -> (u32, PinCell, L, L) {
    let t = thread::thread_idx_x();
    let cell = |i: u32| {
        if i < area.end_cell {
            (
                problem.labels.pins.ld_relaxed(i, Device),
                problem.nets.pin_cells.ld(i).rank,
            )
        } else {
            (L::UNREACHED, 0)
        }
    };
    let key = |(label, rank): (L, u32)| {
        if label < L::UNREACHED {
            // planted: route-tie.1
            label.cost() << CELL_BITS | u64::from(rank)
        } else {
            NONE
        }
    };
    // The two smallest keys.
    let (mut best, mut next) = (NONE, NONE);
    let mut offer = |key: u64| {
        next = next.min(best.max(key));
        best = best.min(key);
    };
    let mut i = area.first_cell + t;
    while i < area.end_cell {
        // Four at once, so that their loads are in flight together.
        let cells = [
            cell(i),
            cell(i + BLOCK),
            cell(i + 2 * BLOCK),
            cell(i + 3 * BLOCK),
        ];
        let [a, b, c, d] = cells;
        offer(key(a));
        offer(key(b));
        offer(key(c));
        offer(key(d));
        i += 4 * BLOCK;
    }
    let mut distance = WARP_SIZE / 2;
    while distance > 0 {
        let (best_there, _) = warp::warp_shuffle_xor(FULL_MASK, best, distance, WARP_SIZE);
        let (next_there, _) = warp::warp_shuffle_xor(FULL_MASK, next, distance, WARP_SIZE);
        next = next.min(next_there).min(best.max(best_there));
        best = best.min(best_there);
        distance /= 2;
    }
    if t.is_multiple_of(WARP_SIZE) {
        shared.best.st(2 * (t / WARP_SIZE), best);
        shared.best.st(2 * (t / WARP_SIZE) + 1, next);
    }
    thread::sync_threads();
    (best, next) = (NONE, NONE);
    for warp in 0..BLOCK / WARP_SIZE {
        let (best_there, next_there) = (shared.best.ld(2 * warp), shared.best.ld(2 * warp + 1));
        next = next.min(next_there).min(best.max(best_there));
        best = best.min(best_there);
    }
    thread::sync_threads();
    if best == NONE {
        return (area.end_pin, PinCell::default(), L::UNREACHED, L::UNREACHED);
    }
    let label = |key: u64| match key {
        NONE => L::UNREACHED,
        key => L::from_cost(key >> CELL_BITS),
    };
    // Ranks count within the net.
    // planted: route-tie.2
    let rank = problem.nets.pin_starts.ld(area.first_pin) + (best as u32 & (MAX_PIN_CELLS - 1));
    let place = problem.nets.cell_places.ld(rank);
    let cell = problem.nets.pin_cells.ld(place);
    (cell.pin, cell, label(best), label(next))
}
