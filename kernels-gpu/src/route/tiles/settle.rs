//! Relaxing a slot until nothing changes in it, and marking the slots beside it.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::layout::BLOCK;
use super::patch::{self, Edges, PatchIndex, each};
use super::{PathCost, Problem, Shared, WARPS, queue, rims};

/// Relaxes a slot until nothing changes in it, if it is active. Returns its net, and whether this
/// block is to advance the net now.
///
/// ```text
/// take the slot; load its labels
/// repeat:
///     read the labels beyond its sides, and lower the patches' labels to their candidates
///     relax the tile until no patch changes within the bound
/// while the slot has been given more labels
/// if labels fell: store them; publish the rim; mark the slots beside; note the pins' labels
/// let go of the slot; if that was its net's last hold: this block is to advance the net
/// ```
#[inline(always)]
pub(super) fn settle<L: PathCost, const LAYERED: bool>(
    problem: &Problem<'_, L>,
    shared: &Shared<L>,
    patch: PatchIndex,
    slot: u32,
) -> (u32, bool) {
    let t = thread::thread_idx_x();
    // Usually there is one net; then there is no load to wait for.
    let net = if problem.net_count() == 1 {
        0
    } else {
        problem.nets.slots.ld(slot).net
    };
    let area = problem.nets.areas.ld(net);
    let tile = area.tile_of(slot);
    let edges = Edges::load::<L>(
        problem.grid.right,
        problem.grid.down,
        problem.grid.tiling,
        area.bounds(),
        tile,
        patch,
    );
    if t == 0 {
        let taken = problem.take(net, slot, shared.words.ld(queue::PRIORITY));
        shared.words.st(1u32, u32::from(taken));
    }
    thread::sync_threads();
    if shared.words.ld(1u32) == 0 {
        return (net, false);
    }
    let mut labels = patch::load(problem, slot, patch);
    // The block that advances the net may have set labels in the tile itself.
    let mut fell = shared.words.ld(queue::PRIORITY) == 0;
    let mut rest = u32::MAX;
    loop {
        // Read again where it is needed: registers are scarce.
        let area = problem.nets.areas.ld(net);
        shared
            .beyond
            .read(problem, area, slot, area.tile_of(slot), patch);
        let before = labels;
        shared.beyond.take_in(&mut labels, &edges, patch);
        patch::relax(&mut labels, &edges);
        // With layers or wide labels there are no registers to keep the old labels: unchanged ones
        // are stored again.
        let unknown = LAYERED || size_of::<L>() > 4;
        fell |= unknown || patch::differ(&labels, &before);
        // The bound only falls while the slot is taken.
        let bound = problem.bound(net);
        let left = relax_tile::<L, LAYERED>(problem, shared, patch, &mut labels, &edges, bound);
        fell |= left.fell;
        rest = rest.min(left.rest);
        // Labels that have come meanwhile cost least now.
        if t == 0 {
            shared
                .words
                .st(1u32, u32::from(problem.take_more(net, slot)));
        }
        thread::sync_threads();
        if shared.words.ld(1u32) == 0 {
            break;
        }
    }
    if thread::sync_threads_or(fell) {
        if fell {
            patch::store(problem, slot, patch, &labels);
        }
        let gives = rims::publish(problem, slot, patch, &labels, &edges, &shared.beyond);
        let least = |of: u32, value: u32| {
            let least = warp::warp_reduce_min(FULL_MASK, value);
            if t.is_multiple_of(WARP_SIZE) {
                shared.words.st(8 + of * WARPS + t / WARP_SIZE, least);
            }
        };
        each!(I, least(I as u32, gives[I]));
        least(4, rest);
        thread::sync_threads();
        if t < 5 {
            let mut least = u32::MAX;
            for warp in 0..WARPS {
                least = least.min(shared.words.ld(8 + t * WARPS + warp));
            }
            if least < u32::MAX {
                let area = problem.nets.areas.ld(net);
                // The fifth is the slot itself, for labels that wait until the bound has grown.
                let to = area.beside(slot, area.tile_of(slot), t);
                problem.mark(net, to, least, problem.bound(net));
            }
        }
        note_pins(problem, net, slot);
        thread::sync_threads();
    }
    if t == 0 {
        shared.words.st(1u32, u32::from(problem.let_go(net, slot)));
    }
    thread::sync_threads();
    (net, shared.words.ld(1u32) == 1)
}

/// How the labels of a patch have changed.
struct Left {
    /// Whether its labels have fallen.
    fell: bool,
    /// The least priority of its labels, if all of them are beyond the bound and have not been
    /// exchanged since they fell; else `u32::MAX`.
    rest: u32,
}

/// Relaxes the patches of a tile until none changes within the bound.
///
/// In a tile of one layer, a warp has two whole rows of patches: candidates come from the warp
/// itself and from the warps before and after. While no labels of these warps change, the warp only
/// waits.
#[inline(always)]
fn relax_tile<L: PathCost, const LAYERED: bool>(
    problem: &Problem<'_, L>,
    shared: &Shared<L>,
    patch: PatchIndex,
    labels: &mut patch::Block4<L>,
    edges: &Edges,
    bound: u32,
) -> Left {
    let t = thread::thread_idx_x();
    let warp = t / WARP_SIZE;
    let mut left = Left {
        fell: false,
        rest: u32::MAX,
    };
    // In the first round, all patches show their labels.
    let mut changed = true;
    // If neither of the last two rounds changed the labels, those shown two rounds ago are still
    // right.
    let mut shown = 0u32;
    let mut turn = 0;
    loop {
        let warp_changed = warp::warp_vote_any(FULL_MASK, changed);
        if warp_changed || shown < 2 {
            shared.exchange.show::<LAYERED>(labels, turn);
            shown = if warp_changed { 1 } else { shown + 1 };
        }
        if t.is_multiple_of(WARP_SIZE) {
            shared
                .words
                .st(8 + turn * 8 + warp, u32::from(warp_changed));
        }
        if !thread::sync_threads_or(changed) {
            return left;
        }
        let changes = |warp: u32| shared.words.ld(8 + turn * 8 + warp);
        let (before, after) = (changes(warp.max(1) - 1), changes((warp + 1).min(WARPS - 1)));
        changed = false;
        if LAYERED || warp_changed || before | after != 0 {
            let before = *labels;
            let exchange = &shared.exchange;
            exchange.take_in::<LAYERED>(problem, labels, edges, patch, turn);
            patch::relax(labels, edges);
            let differs = if LAYERED {
                exchange.differs(labels)
            } else {
                patch::differ(labels, &before)
            };
            if differs {
                left.fell = true;
                let least = patch::least(labels).priority();
                changed = least <= bound;
                left.rest = if changed { u32::MAX } else { least };
            }
        }
        if LAYERED {
            // The next labels are shown in the same place.
            // planted: route-layers-barrier
            thread::sync_threads();
        }
        // planted: route-turn
        turn ^= 1;
    }
}

/// Notes the labels of a slot's pins that are not joined, and lowers the net's bound to the least
/// of them: the final labels of these pins are no larger.
#[inline(always)]
fn note_pins<L: PathCost>(problem: &Problem<'_, L>, net: u32, slot: u32) {
    let end = problem.nets.slots.ld(slot + 1).first_cell;
    let mut i = problem.nets.slots.ld(slot).first_cell + thread::thread_idx_x();
    while i < end {
        let cell = problem.nets.pin_cells.ld(i);
        if problem.trees.is_joined.ld(cell.pin) == 0 {
            let label = problem.labels.cells.ld(cell.label);
            if label < L::UNREACHED {
                problem.labels.pins.st_relaxed(i, label, Device);
                problem
                    .queue
                    .nets
                    .atomic_min(net * queue::NET_WORDS + queue::BOUND, label.priority());
            }
        }
        i += BLOCK;
    }
}
