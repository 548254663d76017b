//! Joining the pins of a net by their small fields: again and again the nearest one.
//!
//! The first warp looks for the nearest pin, by ranks of groups of pins and of sections of groups,
//! and decodes its path. Then the other warps offer the path's cells to the pins on their lists,
//! while the first one takes the joined pin out of its group and section.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::{NearNet, NearNets, NearPins, PathKey};
use crate::route::fields::{DOWN, LEFT, RIGHT, UP};
use crate::route::tiles::patch::each;

/// Threads of a block.
const BLOCK: u32 = 512;
/// Each cell of a path is for two warps; if there are more cells than pairs of warps, each pair has
/// several.
const PAIRS: u32 = (BLOCK / WARP_SIZE - 1) / 2;
const PAIR: u32 = 2 * WARP_SIZE;

/// Pins of a group, and groups of a section.
const GROUP: u32 = WARP_SIZE;
const SECTION: u32 = GROUP * WARP_SIZE;
/// The most sections.
const SECTIONS: u32 = 16;
/// The most pins of a net.
pub const MOST_PINS: u32 = SECTIONS * SECTION;

/// What is known of a pin's distance from the tree, and the pin. Ranks compare by distance; at the
/// same distance, those that are only bounds come first; then by pin.
mod rank {
    use super::{MOST_PINS, PathKey};

    /// The pin is joined.
    pub(super) const JOINED: u32 = u32::MAX;

    /// The rank of a pin, by its key.
    #[inline(always)]
    pub(super) fn of(key: PathKey, pin: u32) -> u32 {
        let rank = (key.cost() << 1 | u32::from(key.has_path())) * MOST_PINS + pin;
        if key == PathKey::NONE { JOINED } else { rank }
    }

    /// The pin, if its distance is known; otherwise nothing, as if it were joined.
    #[inline(always)]
    pub(super) const fn pin(rank: u32) -> Option<u32> {
        if rank & MOST_PINS == 0 || rank == JOINED {
            None
        } else {
            Some(rank % MOST_PINS)
        }
    }
}

/// The dynamic shared memory of [`join_near_pins`](fn@join_near_pins) for nets of up to `pins`
/// pins, in bytes.
#[must_use]
pub const fn join_bytes(pins: u32) -> u32 {
    let pins = pins.next_multiple_of(SECTION);
    8 * pins + 4 * pins + 4 * (pins / GROUP)
}

/// A net and its state.
#[derive(Clone, Copy)]
struct Join<'a> {
    net: NearNet,
    near: NearPins<'a>,
    /// By pin: the least [`PathKey`] of the tree's cells, or the reach, if that is less; a whole
    /// number of sections, as all arrays.
    keys: SharedView<u64>,
    /// By pin: its cell.
    cells: SharedView<u32>,
    /// By group: the least [`rank`] of its pins.
    groups: SharedView<u32>,
    /// By section: the least rank of its groups.
    sections: SharedView<u32>,
    /// The path at hand: its cells, but for the last one, which is on the tree. Other elements may
    /// be anything.
    path: SharedView<u32>,
    /// The number of cells of the path at hand; [`NONE`] if there is no path.
    count: SharedView<u32>,
}

/// No path.
const NONE: u32 = u32::MAX;

impl Join<'_> {
    /// The nearest pin; nothing if all are joined, or it is not known which is the nearest. Called
    /// by a whole warp, after a barrier.
    #[inline(always)]
    fn nearest(&self) -> Option<u32> {
        let mut least = rank::JOINED;
        each!(I, {
            let [a, b, c, d] = self.sections.ld_vector(4 * I as u32);
            least = least.min(a.min(b)).min(c.min(d));
        });
        rank::pin(least)
    }

    /// Sets the ranks of a joined pin's group and section. Called by a whole warp, while keys get
    /// lower; ranks get lower after that.
    #[inline(always)]
    fn set_ranks(&self, pin: u32) {
        let lane = warp::lane_id();
        let (group, section) = (pin / GROUP, pin / SECTION);
        let other = group * GROUP + lane;
        let key = PathKey(self.keys.ld_relaxed(other, Block));
        let of_group = warp::warp_reduce_min(FULL_MASK, rank::of(key, other));
        let mut rank = self.groups.ld(section * WARP_SIZE + lane);
        if lane == group % WARP_SIZE {
            rank = of_group;
            self.groups.st(group, rank);
        }
        let of_section = warp::warp_reduce_min(FULL_MASK, rank);
        if lane == 0 {
            self.sections.st(section, of_section);
        }
    }

    /// Makes the first `count` cells of a path, from the pin's cell on, the path at hand. Called by
    /// a whole warp.
    #[inline(always)]
    fn show(&self, cell: u32, path: PathKey, count: u32) {
        let lane = warp::lane_id();
        let steps = path.first_steps(lane);
        let row = steps.of(DOWN).wrapping_sub(steps.of(UP));
        let column = steps.of(RIGHT).wrapping_sub(steps.of(LEFT));
        let at = cell
            .wrapping_add(row.wrapping_mul(self.net.width))
            .wrapping_add(column);
        self.path.st(lane, at);
        if lane == 0 {
            self.count.st(0, count);
        }
    }

    /// Offers the cells of the path at hand to the pins near them. Called by the whole block, after
    /// a barrier; ends with one. The first warp does `meanwhile` before any rank gets lower.
    #[inline(always)]
    fn offer(&self, meanwhile: impl FnOnce()) {
        let pair = (thread::thread_idx_x() / WARP_SIZE).wrapping_sub(1) / 2;
        let count = self.count.ld(0);
        // The first warp and the last one are not of a pair.
        let mut i = if pair < PAIRS { pair } else { NONE };
        let (mut at, mut end) = (0, 0);
        let mut first = None;
        if i < count {
            (at, end) = self.list(i);
            first = self.lower_next(&mut at, end);
        } else if thread::thread_idx_x() < WARP_SIZE {
            meanwhile();
        }
        thread::sync_threads();
        self.lower_ranks(first);
        while i < count {
            while at < end {
                let next = self.lower_next(&mut at, end);
                self.lower_ranks(next);
            }
            i += PAIRS;
            if i < count {
                (at, end) = self.list(i);
            }
        }
        thread::sync_threads();
    }

    /// The part of the list of cell `i` of the path at hand for this lane, and its end.
    #[inline(always)]
    fn list(&self, i: u32) -> (u32, u32) {
        let cell = self.net.first_cell + self.path.ld(i);
        let lane = (thread::thread_idx_x() - WARP_SIZE) % PAIR;
        (self.near.ends.ld(cell) + lane, self.near.ends.ld(cell + 1))
    }

    /// Lowers the key of the next pin on this lane's part of a list, if the cell is nearer to it
    /// than what is known of the tree, and returns the pin and its rank then.
    #[inline(always)]
    fn lower_next(&self, at: &mut u32, end: u32) -> Option<(u32, u32)> {
        if *at >= end {
            return None;
        }
        let (pin, path) = (self.near.pins.ld(*at), self.near.paths.ld(*at));
        *at += PAIR;
        let before = self.keys.ld_relaxed(pin, Block);
        let is_joined = before == PathKey::NONE.0;
        // Other cells may be offered to the pin at the same time.
        if is_joined || before <= path.0 || self.keys.atomic_min(pin, path.0) <= path.0 {
            return None;
        }
        Some((pin, rank::of(path, pin)))
    }

    /// Lowers the ranks of a pin's group and section.
    #[inline(always)]
    fn lower_ranks(&self, lowered: Option<(u32, u32)>) {
        let Some((pin, rank)) = lowered else {
            return;
        };
        if rank < self.groups.ld_relaxed(pin / GROUP, Block) {
            self.groups.atomic_min(pin / GROUP, rank);
            self.sections.atomic_min(pin / SECTION, rank);
        }
    }
}

/// Joins the pins of each block's net, as far as small fields reach.
///
/// ```text
/// offer the cells of the first pin to the small fields around them
/// until no pin is left, or it is not known which pin is the nearest:
///     take the nearest pin; its key has the path
///     offer the path's cells
/// ```
///
/// `joined` gets the pins in the order of joining, from each net's first pin on, counted from it,
/// and `paths` their keys; `counts` how many there are of each net.
///
/// # Safety
///
/// - [`grow_small_fields`](fn@super::grow_small_fields) and
///   [`list_near_pins`](fn@super::list_near_pins) have run with these `nets`, and have written
///   `near` and `least`. No net has more than [`MOST_PINS`] pins.
/// - `joined` and `paths` have an element per pin, `counts` one per net. One block per net.
/// - The launch has [`join_bytes`] of dynamic shared memory for the most pins of a net.
/// - Nothing else uses what is written meanwhile.
#[kernel(block = BLOCK, min_blocks = 1)]
pub unsafe fn join_near_pins(
    nets: NearNets<'_>,
    near: NearPins<'_>,
    least: View<'_, PathKey>,
    joined: ViewMut<'_, u32>,
    paths: ViewMut<'_, PathKey>,
    counts: ViewMut<'_, u32>,
) {
    let t = thread::thread_idx_x();
    let index = thread::block_idx_x();
    let net = nets.nets.ld(index);
    let pins = net.end_pin - net.first_pin;
    let room = pins.next_multiple_of(SECTION) as usize;
    let join = Join {
        net,
        near,
        // SAFETY: the launch has that much for these arrays, one after the other: `join_bytes`.
        keys: unsafe { shared::dynamic_shared_mem(0, room) },
        // SAFETY: as for the keys.
        cells: unsafe { shared::dynamic_shared_mem(8 * room, room) },
        // SAFETY: as for the keys.
        groups: unsafe { shared::dynamic_shared_mem(12 * room, room / GROUP as usize) },
        sections: shared_array![u32; SECTIONS as usize],
        path: shared_array![u32; WARP_SIZE as usize],
        count: shared_array![u32; 1],
    };
    let mut pin = t;
    while pin < room as u32 {
        let mut key = PathKey::NONE;
        if pin < pins {
            join.cells.st(pin, nets.cells.ld(net.first_pin + pin));
            // The first pin is the tree.
            if pin > 0 {
                key = least.ld(net.first_pin + pin);
            }
        }
        join.keys.st(pin, key.0);
        let of_group = warp::warp_reduce_min(FULL_MASK, rank::of(key, pin));
        if warp::lane_id() == 0 {
            join.groups.st(pin / GROUP, of_group);
        }
        pin += BLOCK;
    }
    thread::sync_threads();
    let mut section = t / WARP_SIZE;
    while section < SECTIONS {
        let mut rank = rank::JOINED;
        if section < room as u32 / SECTION {
            rank = join.groups.ld(section * WARP_SIZE + warp::lane_id());
        }
        let of_section = warp::warp_reduce_min(FULL_MASK, rank);
        if warp::lane_id() == 0 {
            join.sections.st(section, of_section);
        }
        section += BLOCK / WARP_SIZE;
    }
    thread::sync_threads();

    let is_first = t < WARP_SIZE;
    let mut added = net.first_added;
    while added < net.end_added {
        if is_first {
            join.show(nets.added.ld(added), PathKey::HERE, 1);
        }
        thread::sync_threads();
        join.offer(|| {});
        added += 1;
    }
    let mut count = 0;
    loop {
        let mut nearest = None;
        if is_first {
            nearest = join.nearest().map(|pin| (pin, PathKey(join.keys.ld(pin))));
            if let Some((pin, key)) = nearest {
                // Every lane has read the key.
                warp::sync_warp(FULL_MASK);
                if t == 0 {
                    join.keys.st(pin, PathKey::NONE.0);
                }
                join.show(join.cells.ld(pin), key, key.steps());
            } else if t == 0 {
                join.count.st(0, NONE);
            }
        }
        thread::sync_threads();
        if join.count.ld(0) == NONE {
            break;
        }
        join.offer(|| {
            if let Some((pin, key)) = nearest {
                join.set_ranks(pin);
                if t == 0 {
                    joined.st(net.first_pin + count, pin);
                    paths.st(net.first_pin + count, key);
                }
            }
        });
        count += 1;
    }
    if t == 0 {
        counts.st(index, count);
    }
}
