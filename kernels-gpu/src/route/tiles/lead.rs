//! Leading a net: whoever finds its labels final joins the nearest pin, and marks what that changes.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::layout::{Area, BLOCK, EAST, JoinedPin, NORTH, PinCell, TILE, Tiling, WEST};
use super::patch::{self, Seat, Way};
use super::queue::{BOUND, JOINED, NET_WORDS, OPEN, PATH_LEN};
use super::{Label, Problem, Shared};

/// Bits of a place among a net's pins' cells, below the cost.
const CELL_BITS: u32 = 29;
/// The most cells that a net's pins have together.
pub const MAX_PIN_CELLS: u32 = 1 << CELL_BITS;
/// No cell.
const NONE: u64 = u64::MAX;

/// Where words of [`Shared::words`] are that this file uses.
const AT: u32 = 2;
const COUNT: u32 = 3;

/// Joins pins of a net until labels have to fall first, or no pin is left. For a whole block; the net is held by it.
///
/// Once no slot is active, labels up to the net's bound are final. So the nearest pin is the nearest for good when no slot waits with a
/// label as near.
#[inline(always)]
pub(super) fn lead<L: Label, const LAYERED: bool>(
    problem: &Problem<'_, L>,
    shared: &Shared<L>,
    net: u32,
    start: bool,
) {
    let area = problem.areas.ld(net);
    let words = net * NET_WORDS;
    let t = thread::thread_idx_x();
    if start {
        if area.first_pin == area.end_pin {
            return finish(problem);
        }
        let bound = L::UNREACHED.priority();
        add_to_tree(problem, net, area, area.first_pin, (0, 0), bound);
        if !release(problem, shared, net) {
            return;
        }
    }
    loop {
        let (pin, cell, label, next) = nearest(problem, shared, area);
        if t == 0 {
            set_bound(problem, net, label.priority());
        }
        // Before any slot goes on.
        thread::sync_threads();
        if wake_up_to(problem, net, area, label.priority()) {
            if !release(problem, shared, net) {
                return;
            }
        } else if pin == area.end_pin {
            return finish(problem);
        } else {
            let start = problem.net_words.ld(words + PATH_LEN);
            let end = retrace::<L, LAYERED>(problem, shared, area, cell.label, start);
            if t == 0 {
                let count = problem.net_words.ld(words + JOINED);
                problem.net_words.st(words + JOINED, count + 1);
                problem.net_words.st(words + PATH_LEN, end);
                let joined = JoinedPin {
                    cost: label.cost(),
                    pin,
                    end,
                };
                problem.joined.st(area.first_pin + count, joined);
            }
            // The next pin will be no farther than it is now.
            let bound = next.priority();
            add_to_tree(problem, net, area, pin, (start, end), bound);
            wake_up_to(problem, net, area, bound);
            if !release(problem, shared, net) {
                return;
            }
        }
    }
}

/// A net is done. For a whole block.
#[inline(always)]
fn finish<L: Label>(problem: &Problem<'_, L>) {
    if thread::thread_idx_x() == 0 {
        thread::device_fence();
        // planted: route-finish-open
        problem.counters.atomic_add(OPEN, u32::MAX);
    }
}

/// Lets the slots that are active go on; whether they are all done already, and the net is held again. For a whole block.
#[inline(always)]
fn release<L: Label>(problem: &Problem<'_, L>, shared: &Shared<L>, net: u32) -> bool {
    // What all threads have marked comes before.
    thread::sync_threads();
    if thread::thread_idx_x() == 0 {
        let last = problem.release(net);
        if last {
            problem.hold(net);
        }
        shared.words.st(0u32, u32::from(last));
    }
    thread::sync_threads();
    let last = shared.words.ld(0u32) == 1;
    thread::sync_threads();
    last
}

/// Makes a path and the cells of a pin the tree's, and their slots active, with a new bound.
#[inline(always)]
fn add_to_tree<L: Label>(
    problem: &Problem<'_, L>,
    net: u32,
    area: Area,
    pin: u32,
    (start, end): (u32, u32),
    bound: u32,
) {
    let t = thread::thread_idx_x();
    if t == 0 {
        problem.is_joined.st(pin, 1);
        set_bound(problem, net, bound);
    }
    let (first_cell, end_cell) = (problem.pin_starts.ld(pin), problem.pin_starts.ld(pin + 1));
    let mut i = start + t;
    while i < end {
        // A path's first cell is its pin's too, which may have a cell twice.
        let label = problem.paths.ld(area.first_path + i);
        problem.labels.st_relaxed(label, L::TREE, Device);
        i += BLOCK;
    }
    let mut i = first_cell + t;
    while i < end_cell {
        let place = problem.cell_places.ld(i);
        let label = problem.pin_cells.ld(place).label;
        // planted: route-tree-store
        problem.labels.st_relaxed(label, L::TREE, Device);
        // planted: route-joined
        problem.pin_labels.st_relaxed(place, L::UNREACHED, Device);
        i += BLOCK;
    }
    thread::sync_threads();
    let mut i = start + t;
    while i < end {
        let slot = problem.paths.ld(area.first_path + i) / TILE;
        if i == start || problem.paths.ld(area.first_path + i - 1) / TILE != slot {
            problem.mark(net, slot, 0, 0);
        }
        i += BLOCK;
    }
    let mut i = first_cell + t;
    while i < end_cell {
        let place = problem.cell_places.ld(i);
        problem.mark(net, problem.pin_cells.ld(place).label / TILE, 0, 0);
        i += BLOCK;
    }
}

/// Sets the net's bound. For one thread.
#[inline(always)]
fn set_bound<L: Label>(problem: &Problem<'_, L>, net: u32, bound: u32) {
    problem
        .net_words
        .atomic_exch(net * NET_WORDS + BOUND, bound);
}

/// Wakes the slots that wait with labels up to the net's bound; whether any is active.
#[inline(always)]
fn wake_up_to<L: Label>(problem: &Problem<'_, L>, net: u32, area: Area, bound: u32) -> bool {
    let t = thread::thread_idx_x();
    let end = area.first_slot + area.tiles_x * area.tiles_y;
    let mut any = false;
    let mut slot = area.first_slot + t;
    while slot < end {
        any |= problem.wake(net, slot, bound);
        slot += BLOCK;
    }
    thread::sync_threads_or(any)
}

/// The nearest pin that is not joined, the smallest number first, its first nearest cell, and the label there; the pin after the
/// net's last, and an unreached label, if there is none that a path reaches. And the label of the next nearest cell of a pin.
#[inline(always)]
fn nearest<L: Label>(
    problem: &Problem<'_, L>,
    shared: &Shared<L>,
    area: Area,
) -> (u32, PinCell, L, L) {
    let t = thread::thread_idx_x();
    let cell = |i: u32| {
        if i < area.end_cell {
            (
                problem.pin_labels.ld_relaxed(i, Device),
                problem.pin_cells.ld(i).rank,
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
    // The two smallest of all.
    let (mut best, mut next) = (NONE, NONE);
    let mut offer = |key: u64| {
        next = next.min(best.max(key));
        best = best.min(key);
    };
    let mut i = area.first_cell + t;
    while i < area.end_cell {
        // Four at once: their loads wait together.
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
    // Ranks are the net's own.
    // planted: route-tie.2
    let rank = problem.pin_starts.ld(area.first_pin) + (best as u32 & (MAX_PIN_CELLS - 1));
    let place = problem.cell_places.ld(rank);
    let cell = problem.pin_cells.ld(place);
    (cell.pin, cell, label(best), label(next))
}

/// Appends the path from the label at `at` to the tree to the net's paths, from `start` on; gives its end.
///
/// Tile by tile: all threads find each cell's way on, then one follows them.
#[inline(always)]
fn retrace<L: Label, const LAYERED: bool>(
    problem: &Problem<'_, L>,
    shared: &Shared<L>,
    area: Area,
    at: u32,
    start: u32,
) -> u32 {
    let tiling = problem.tiling;
    let seat = Seat::mine(tiling);
    let t = thread::thread_idx_x();
    let ways = shared.exchange.ways();
    let (mut at, mut end) = (at, start);
    loop {
        let slot = at / TILE;
        let tile = area.tile_of(slot);
        shared.beyond.read(problem, area, slot, tile, seat);
        thread::sync_threads();
        patch::write_ways::<L, LAYERED>(problem, slot, tile, &shared.beyond, ways);
        thread::sync_threads();
        if t == 0 {
            let mut place = at % TILE;
            let first = slot * TILE;
            loop {
                problem.paths.st(area.first_path + end, first + place);
                end += 1;
                let way = u32::from(ways.ld(place));
                if way >= Way::BEYOND {
                    shared
                        .words
                        .st(AT, next_label(area, slot, tile, place, way, tiling));
                    break;
                }
                place = way;
            }
            shared.words.st(COUNT, end);
        }
        thread::sync_threads();
        let next = shared.words.ld(AT);
        end = shared.words.ld(COUNT);
        thread::sync_threads();
        if next == u32::MAX {
            return end;
        }
        at = next;
    }
}

/// The label beyond the side of the tile that `way` says, from the label at `place`; [`u32::MAX`] at a path's end.
#[inline(always)]
fn next_label(
    area: Area,
    slot: u32,
    tile: (u32, u32),
    place: u32,
    way: u32,
    tiling: Tiling,
) -> u32 {
    if way == Way::END {
        return u32::MAX;
    }
    let side = way - Way::BEYOND;
    let (x, y, layer) = tiling.at_place(place);
    let (x, y) = match side {
        WEST => (x.wrapping_sub(1), y),
        NORTH => (x, y.wrapping_sub(1)),
        EAST => (x + 1, y),
        _ => (x, y + 1),
    };
    area.beside(slot, tile, side) * TILE + tiling.place(x, y, layer)
}
