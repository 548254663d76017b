//! Advancing a net: the block that finds its labels final joins the nearest pin, and marks the
//! slots that this changes.

use cuda_std::prelude::*;

use super::layout::{Area, BLOCK, JoinedPin, TILE};
use super::nearest::nearest;
use super::queue::{BOUND, JOINED_PINS, NET_WORDS, OPEN, PATH_CELLS};
use super::retrace::retrace;
use super::{PathCost, Problem, Shared};

/// Joins pins of a net until labels must fall first, or no pin is left. Called by the whole block,
/// which holds the net.
///
/// Once no slot is active, labels up to the net's bound are final. So the nearest pin stays the
/// nearest, unless a slot waits with a label that is as near.
///
/// ```text
/// repeat:
///     find the nearest pin; set the bound to its label
///     wake the slots that wait with labels within the bound
///     if none is active: end if no pin is left; else retrace the pin's path, add path and pin
///         to the tree, set the bound to the next pin's label, and wake slots up to it
///     release the net; return unless the active slots are all done already
/// ```
#[inline(always)]
pub(super) fn advance<L: PathCost, const LAYERED: bool>(
    problem: &Problem<'_, L>,
    shared: &Shared<L>,
    net: u32,
    start: bool,
) {
    let area = problem.nets.areas.ld(net);
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
        // Before any slot is relaxed again.
        thread::sync_threads();
        if wake_up_to(problem, net, area, label.priority()) {
            if !release(problem, shared, net) {
                return;
            }
        } else if pin == area.end_pin {
            return finish(problem);
        } else {
            let start = problem.queue.nets.ld(words + PATH_CELLS);
            let end = retrace::<L, LAYERED>(problem, shared, area, cell.label, start);
            if t == 0 {
                let count = problem.queue.nets.ld(words + JOINED_PINS);
                problem.queue.nets.st(words + JOINED_PINS, count + 1);
                problem.queue.nets.st(words + PATH_CELLS, end);
                let joined = JoinedPin {
                    cost: label.cost(),
                    pin,
                    end,
                };
                problem.trees.joined.st(area.first_pin + count, joined);
            }
            // The next pin will be no farther away than it is now.
            let bound = next.priority();
            add_to_tree(problem, net, area, pin, (start, end), bound);
            wake_up_to(problem, net, area, bound);
            if !release(problem, shared, net) {
                return;
            }
        }
    }
}

/// Counts a net as done. Called by the whole block.
#[inline(always)]
fn finish<L: PathCost>(problem: &Problem<'_, L>) {
    if thread::thread_idx_x() == 0 {
        thread::device_fence();
        // planted: route-finish-open
        problem.queue.counters.atomic_add(OPEN, u32::MAX);
    }
}

/// Lets the active slots be relaxed. Returns whether all of them are done already; then the net is
/// held again. Called by the whole block.
#[inline(always)]
fn release<L: PathCost>(problem: &Problem<'_, L>, shared: &Shared<L>, net: u32) -> bool {
    // After the marks of all threads.
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

/// Makes a path and the cells of a pin part of the tree, and their slots active. The net gets a new
/// bound.
#[inline(always)]
fn add_to_tree<L: PathCost>(
    problem: &Problem<'_, L>,
    net: u32,
    area: Area,
    pin: u32,
    (start, end): (u32, u32),
    bound: u32,
) {
    let t = thread::thread_idx_x();
    if t == 0 {
        problem.trees.is_joined.st(pin, 1);
        set_bound(problem, net, bound);
    }
    let (first_cell, end_cell) = (
        problem.nets.pin_starts.ld(pin),
        problem.nets.pin_starts.ld(pin + 1),
    );
    let mut i = start + t;
    while i < end {
        // A path's first cell also belongs to its pin, which may have a cell twice.
        let label = problem.trees.paths.ld(area.first_path + i);
        problem.labels.cells.st_relaxed(label, L::TREE, Device);
        i += BLOCK;
    }
    let mut i = first_cell + t;
    while i < end_cell {
        let place = problem.nets.cell_places.ld(i);
        let label = problem.nets.pin_cells.ld(place).label;
        // planted: route-tree-store
        problem.labels.cells.st_relaxed(label, L::TREE, Device);
        // planted: route-joined
        problem.labels.pins.st_relaxed(place, L::UNREACHED, Device);
        i += BLOCK;
    }
    thread::sync_threads();
    let mut i = start + t;
    while i < end {
        let slot = problem.trees.paths.ld(area.first_path + i) / TILE;
        if i == start || problem.trees.paths.ld(area.first_path + i - 1) / TILE != slot {
            problem.mark(net, slot, 0, 0);
        }
        i += BLOCK;
    }
    let mut i = first_cell + t;
    while i < end_cell {
        let place = problem.nets.cell_places.ld(i);
        problem.mark(net, problem.nets.pin_cells.ld(place).label / TILE, 0, 0);
        i += BLOCK;
    }
}

/// Sets the net's bound. Called by one thread.
#[inline(always)]
fn set_bound<L: PathCost>(problem: &Problem<'_, L>, net: u32, bound: u32) {
    problem
        .queue
        .nets
        .atomic_exch(net * NET_WORDS + BOUND, bound);
}

/// Wakes the slots that wait with labels up to the net's bound, and returns whether any slot is
/// active.
#[inline(always)]
fn wake_up_to<L: PathCost>(problem: &Problem<'_, L>, net: u32, area: Area, bound: u32) -> bool {
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
