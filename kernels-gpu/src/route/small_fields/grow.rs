//! The small field of a pin, by a warp: each lane has a column of the square.
//!
//! A row is relaxed with the rows above and below it, and then along itself, until nothing changes.
//! If it has changed, the two rows beside it are marked. The warp goes down through the marked
//! rows, then up, and so on, until none is left.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::key::COSTS;
use super::{BLOCK, MOST_SIDE, NearNet, NearNets, PINS_PER_BLOCK, PathKey, Square, pin_of_warp};
use crate::route::BLOCKED;
use crate::route::fields::{DOWN, LEFT, RIGHT, UP};
use crate::route::tiles::TiledGrid;

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

    /// Writes the keys from `first` on.
    #[inline(always)]
    fn write(&self, first: u32, entries: ViewMut<'_, PathKey>) {
        let mut row = 0;
        while row < self.square.0 && self.has_column() {
            entries.st(first + self.at(row), self.keys.ld(self.at(row)));
            row += 1;
        }
    }
}

/// Finds the small fields of all pins but the first of each net: the keys of their squares, and
/// their reach. Writes to `pins_at`, by cell, [`u32::MAX`] less the first pin
/// there.
///
/// # Safety
///
/// - `nets` has what it states. One warp per pin.
/// - `entries` has [`Square::cells`] elements per pin, fewer than 2³²; `reaches` has one per pin;
///   `pins_at` has one per cell of all nets, which are 0.
/// - The launch has [`grow_bytes`] of dynamic shared memory.
/// - Nothing else uses what is written meanwhile.
#[kernel(block = BLOCK, len(grid = ()))]
pub unsafe fn grow_small_fields(
    grid: TiledGrid<'_>,
    nets: NearNets<'_>,
    entries: ViewMut<'_, PathKey>,
    reaches: ViewMut<'_, u32>,
    pins_at: ViewMut<'_, u32>,
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
    growth.write(pin * square.cells(), entries);
    if warp::lane_id() == 0 {
        reaches.st(pin, reach);
        let before = square.before();
        let cell = net.index(left.wrapping_add(before), top.wrapping_add(before));
        // Of several pins at a cell, the first: it lies between the others and all other cells.
        // planted: near-noted
        pins_at.atomic_max(cell, u32::MAX - pin);
    }
}
