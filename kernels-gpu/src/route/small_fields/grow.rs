//! The small field of a pin, by a warp: each lane has a column of the square.
//!
//! A row is relaxed with the rows above and below it, and then along itself, until nothing changes.
//! If it has changed, the two rows beside it are marked. The warp goes down through the marked
//! rows, then up, and so on, until none is left.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::key::COSTS;
use super::{BUCKETS, MOST_SIDE, NearNet, NearNets, NearPin, PathKey, Square, bucket};
use crate::route::BLOCKED;
use crate::route::fields::{DOWN, LEFT, RIGHT, UP, column_and_row};
use crate::route::tiles::TiledGrid;

/// Threads of a block.
const BLOCK: u32 = 64;
/// The pins of a block.
pub const PINS_PER_BLOCK: u32 = BLOCK / WARP_SIZE;

/// The bytes of a cell: a key, and the weights of two edges.
const CELL_BYTES: u32 = 8 + 4 + 4;

/// The dynamic shared memory of [`grow_small_fields`](fn@grow_small_fields), in bytes.
#[must_use]
pub const fn grow_bytes(square: Square) -> u32 {
    PINS_PER_BLOCK * square.cells() * CELL_BYTES
}

/// The small field of a warp's pin.
#[derive(Clone, Copy)]
struct Growth<'a> {
    grid: TiledGrid<'a>,
    square: Square,
    net: NearNet,
    /// The column of this lane, and the first row, counted from the window's; wrapping around.
    x: u32,
    top: u32,
    /// By cell, row by row.
    keys: SharedView<PathKey>,
    /// The edges to the right and down, [`BLOCKED`] where they leave the square or the window.
    right: SharedView<u32>,
    down: SharedView<u32>,
}

impl Growth<'_> {
    /// The index of the lane's cell in a row.
    #[inline(always)]
    fn at(&self, row: u32) -> u32 {
        row * self.square.0 + warp::lane_id()
    }

    /// Whether the lane has a column.
    #[inline(always)]
    fn has_column(&self) -> bool {
        warp::lane_id() < self.square.0
    }

    /// Loads the weights of edges, and sets all keys but the pin's to [`PathKey::NONE`].
    #[inline(always)]
    fn start(&self) {
        let (net, side, lane) = (self.net, self.square.0, warp::lane_id());
        let tiling = self.grid.tiling;
        let mut row = 0;
        while row < side && self.has_column() {
            let y = self.top.wrapping_add(row);
            let (mut right, mut down) = (BLOCKED, BLOCKED);
            if self.x < net.width && y < net.height {
                let index = tiling.index(net.left + self.x, net.top + y);
                // planted: near-window
                if lane + 1 < side && self.x + 1 < net.width {
                    right = self.grid.right.ld(index);
                }
                if row + 1 < side && y + 1 < net.height {
                    down = self.grid.down.ld(index);
                }
            }
            self.right.st(self.at(row), right);
            self.down.st(self.at(row), down);
            self.keys.st(self.at(row), PathKey::NONE);
            row += 1;
        }
        let pin = self.square.before();
        if lane == pin {
            self.keys.st(self.at(pin), PathKey::HERE);
        }
        // The edges to the left are loaded by other lanes.
        // planted: near-loaded
        warp::sync_warp(FULL_MASK);
    }

    /// Relaxes rows until none changes.
    #[inline(always)]
    fn relax(&self) {
        // The pin's row, and those beside it.
        let mut marked = 0b111 << (self.square.before() - 1);
        while marked != 0 {
            let mut row = 0;
            loop {
                let below = marked & u32::MAX << row;
                if below == 0 {
                    break;
                }
                row = below.trailing_zeros();
                self.relax_row(row, &mut marked);
            }
            loop {
                let above = marked & u32::MAX >> (MOST_SIDE - 1 - row);
                if above == 0 {
                    break;
                }
                row = MOST_SIDE - 1 - above.leading_zeros();
                self.relax_row(row, &mut marked);
            }
        }
    }

    /// Relaxes a marked row.
    #[inline(always)]
    fn relax_row(&self, row: u32, marked: &mut u32) {
        let (side, lane) = (self.square.0, warp::lane_id());
        let (mut before, mut key) = (PathKey::NONE, PathKey::NONE);
        let (mut left, mut right) = (BLOCKED, BLOCKED);
        if self.has_column() {
            let at = self.at(row);
            before = self.keys.ld(at);
            key = before;
            if row > 0 {
                let above = self.keys.ld(at - side);
                key = key.min(above.step(DOWN, self.down.ld(at - side)));
            }
            if row + 1 < side {
                let below = self.keys.ld(at + side);
                key = key.min(below.step(UP, self.down.ld(at)));
            }
            right = self.right.ld(at);
            if lane > 0 {
                left = self.right.ld(at - 1);
            }
        }
        loop {
            let from_left = PathKey(warp::warp_shuffle_up(FULL_MASK, key.0, 1, WARP_SIZE).0);
            let from_right = PathKey(warp::warp_shuffle_down(FULL_MASK, key.0, 1, WARP_SIZE).0);
            let last = key;
            key = key.min(from_left.step(RIGHT, left));
            key = key.min(from_right.step(LEFT, right));
            // planted: near-along
            if !warp::warp_vote_any(FULL_MASK, key < last) {
                break;
            }
        }
        *marked &= !(1 << row);
        if warp::warp_vote_any(FULL_MASK, key < before) {
            if key < before {
                self.keys.st(self.at(row), key);
            }
            // planted: near-rows
            *marked |= 1 << row >> 1 | 1 << row << 1;
            // planted: near-last-row
            *marked &= u32::MAX >> (MOST_SIDE - side);
        }
    }

    /// The reach: the least cost of a path that may leave the square, or that has no room for
    /// another step.
    #[inline(always)]
    fn reach(&self) -> u32 {
        let (net, side, lane) = (self.net, self.square.0, warp::lane_id());
        let mut reach = COSTS;
        // Whether the window goes on beside the square.
        // planted: near-side
        let is_side = lane == 0 && self.x > 0 || lane + 1 == side && self.x + 1 < net.width;
        let mut row = 0;
        while row < side && self.has_column() {
            let key = self.keys.ld(self.at(row));
            let y = self.top.wrapping_add(row);
            // planted: near-end
            let is_end = row == 0 && y > 0 || row + 1 == side && y + 1 < net.height;
            // planted: near-longest
            if is_side || is_end || key.is_longest() {
                reach = reach.min(key.cost());
            }
            row += 1;
        }
        warp::warp_reduce_min(FULL_MASK, reach)
    }

    /// Writes the keys from `first` on, only those within the reach, and counts them by bucket,
    /// from `first_bucket` on.
    #[inline(always)]
    fn write(
        &self,
        first: u32,
        reach: u32,
        entries: ViewMut<'_, PathKey>,
        histograms: ViewMut<'_, u32>,
        first_bucket: u32,
    ) {
        // Counts are where weights were.
        let lane = warp::lane_id();
        let counts = self.right;
        warp::sync_warp(FULL_MASK);
        let mut i = lane;
        while i < BUCKETS {
            counts.st(i, 0);
            i += WARP_SIZE;
        }
        // planted: near-zeros
        warp::sync_warp(FULL_MASK);
        let mut row = 0;
        while row < self.square.0 && self.has_column() {
            let mut key = self.keys.ld(self.at(row));
            if key.cost() < reach {
                // planted: near-count
                counts.atomic_add(bucket(key.cost()), 1);
            } else {
                key = PathKey::NONE;
            }
            entries.st(first + self.at(row), key);
            row += 1;
        }
        // planted: near-counted
        warp::sync_warp(FULL_MASK);
        let mut i = lane;
        while i < BUCKETS {
            let count = counts.ld(i);
            if count > 0 {
                // planted: near-histogram
                histograms.atomic_add(first_bucket + i, count);
            }
            i += WARP_SIZE;
        }
    }
}

/// A warp's pin, its net, and its square's first column and row, wrapping around; nothing for a
/// net's first pin.
#[inline(always)]
fn pin_of_warp(nets: NearNets<'_>, square: Square) -> Option<(u32, NearNet, u32, u32)> {
    let pin = thread::block_idx_x() * PINS_PER_BLOCK + thread::thread_idx_x() / WARP_SIZE;
    if pin >= nets.cells.len() as u32 {
        return None;
    }
    let net = nets.nets.ld(nets.owners.ld(pin));
    if pin == net.first_pin {
        return None;
    }
    let (x, y) = column_and_row(nets.cells.ld(pin), net.width);
    let before = square.before();
    Some((pin, net, x.wrapping_sub(before), y.wrapping_sub(before)))
}

/// Finds the small fields of all pins but the first of each net: the keys of their squares,
/// [`PathKey::NONE`] beyond the reach, and the reach. Adds up in `histograms` how many keys of each
/// net there are in each [`bucket`].
///
/// # Safety
///
/// - `nets` has what it states. One warp per pin.
/// - `entries` has [`Square::cells`] elements per pin, fewer than 2³²; `reaches` has one per pin;
///   `histograms` has [`BUCKETS`] elements per net, which are 0.
/// - The launch has [`grow_bytes`] of dynamic shared memory.
/// - Nothing else uses what is written meanwhile.
#[kernel(block = BLOCK, len(grid = ()))]
pub unsafe fn grow_small_fields(
    grid: TiledGrid<'_>,
    nets: NearNets<'_>,
    entries: ViewMut<'_, PathKey>,
    reaches: ViewMut<'_, u32>,
    histograms: ViewMut<'_, u32>,
    square: Square,
) {
    let Some((pin, net, left, top)) = pin_of_warp(nets, square) else {
        return;
    };
    let warp = thread::thread_idx_x() / WARP_SIZE;
    let cells = square.cells() as usize;
    // planted: near-warps
    let first = (warp * square.cells() * CELL_BYTES) as usize;
    let growth = Growth {
        grid,
        square,
        net,
        x: left.wrapping_add(warp::lane_id()),
        top,
        // SAFETY: the launch has that much for each warp: `grow_bytes`.
        keys: unsafe { shared::dynamic_shared_mem(first, cells) },
        // SAFETY: as for the keys.
        right: unsafe { shared::dynamic_shared_mem(first + 8 * cells, cells) },
        // SAFETY: as for the keys.
        down: unsafe { shared::dynamic_shared_mem(first + 12 * cells, cells) },
    };
    growth.start();
    growth.relax();
    let reach = growth.reach();
    let first_bucket = nets.owners.ld(pin) * BUCKETS;
    growth.write(
        pin * square.cells(),
        reach,
        entries,
        histograms,
        first_bucket,
    );
    if warp::lane_id() == 0 {
        reaches.st(pin, reach);
    }
}

/// Visits the cells near a warp's pin: those that a path of a lower cost than `near`, by pin, leads
/// to. `visit` gets the pin, counted from its net's first, the cell, among those of all windows,
/// and the path.
#[inline(always)]
fn for_each_near(
    nets: NearNets<'_>,
    entries: View<'_, PathKey>,
    near: View<'_, u32>,
    square: Square,
    visit: impl Fn(u32, u32, PathKey),
) {
    let Some((pin, net, left, top)) = pin_of_warp(nets, square) else {
        return;
    };
    let (lane, near) = (warp::lane_id(), near.ld(pin));
    if near == 0 || lane >= square.0 {
        return;
    }
    let first = pin * square.cells() + lane;
    let mut row = 0;
    while row < square.0 {
        let path = entries.ld(first + row * square.0);
        // planted: near-known
        if path != PathKey::NONE && path.cost() < near {
            let cell = top.wrapping_add(row) * net.width + left.wrapping_add(lane);
            visit(pin - net.first_pin, net.first_cell + cell, path);
        }
        row += 1;
    }
}

/// Adds up in `lengths` how many pins are near each cell, one element after the cell's. A pin is
/// near the cells that a path of a lower cost than `near`, by pin, leads to.
///
/// # Safety
///
/// - [`grow_small_fields`](fn@grow_small_fields) has run with these `nets`, `entries` and `square`.
///   One warp per pin.
/// - `near` has one element per pin; `lengths` has one per cell of all windows, and one more, which
///   are 0.
/// - Nothing else uses what is written meanwhile.
#[kernel(block = BLOCK)]
pub unsafe fn count_near_pins(
    nets: NearNets<'_>,
    entries: View<'_, PathKey>,
    near: View<'_, u32>,
    lengths: ViewMut<'_, u32>,
    square: Square,
) {
    for_each_near(nets, entries, near, square, |_, cell, _| {
        // planted: near-length
        lengths.atomic_add(cell + 1, 1);
    });
}

/// Lists the pins near each cell. `ends` has the prefix sums of the lengths of the lists, as
/// [`count_near_pins`](fn@count_near_pins) counts them; then each element has the end of its list,
/// and the next list's start.
///
/// # Safety
///
/// - [`count_near_pins`](fn@count_near_pins) has run with these `nets`, `entries`, `near` and
///   `square`. One warp per pin.
/// - `lists` has as many elements as all lists together.
/// - Nothing else uses what is written meanwhile.
#[kernel(block = BLOCK)]
pub unsafe fn list_near_pins(
    nets: NearNets<'_>,
    entries: View<'_, PathKey>,
    near: View<'_, u32>,
    ends: ViewMut<'_, u32>,
    lists: ViewMut<'_, NearPin>,
    square: Square,
) {
    for_each_near(nets, entries, near, square, |pin, cell, path| {
        // planted: near-place
        let place = ends.atomic_add(cell + 1, 1);
        lists.st(place, NearPin::new(pin, path));
    });
}
