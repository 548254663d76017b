//! Routing by small fields, for nets whose pins are a few cells apart.
//!
//! The [fields](super::fields) of such pins are small, and so are their paths: a path of a few
//! steps fits in a number. So each pin gets a **small field**: for each cell of a square around the
//! pin, the [key](PathKey) of the path from the pin to that cell. Keys compare by cost first, and
//! among paths of the same cost, that with the least key is the one that the module `route` of the
//! host's crate asks for. So the path by which the tree joins a pin is the least key of the tree's
//! cells in the pin's field, which needs no walk and no further rule for ties:
//!
//! 1. a warp per pin finds the keys of its square;
//! 2. keys are sorted by cell: each cell has a list of the pins near it, without those that the
//!    tree will not join from there (`list.rs`);
//! 3. the host keeps the least key of each pin. It takes the nearest pin, whose path is in the key,
//!    and offers the cells of that path to the pins on their lists.
//!
//! The host joins the pins, since that is a chain of dependent loads: which pin is next depends on
//! the lists of the path before. A load takes a processor a fraction of the time that it takes a
//! multiprocessor.
//!
//! A small field is exact up to its **reach**, the least cost of a path that may leave the square,
//! or have more steps than a key has room for. For most pins it does not matter what lies beyond
//! (`list.rs`). For the others, the host grows larger fields as far as it has to, and if there are
//! many of them, larger [fields](super::fields) join the remaining pins.
//!
//! | kernel | does | launch |
//! |---|---|---|
//! | [`grow_small_fields`](fn@grow_small_fields) | small fields and their reach | warp per pin |
//! | [`count_near_pins`](fn@count_near_pins) | lengths of lists, and bounds | warp per pin |
//! | [`list_near_pins`](fn@list_near_pins) | lists, after prefix sums of lengths | warp per pin |
//!
//! The first uses [`grow_bytes`] of dynamic shared memory.
//!
//! # Limits
//! Grids of one layer without edges of weight 0; pins of one cell, except the first.
//!
//! # Bytes
//! Per cell of a square, 8 bytes of weights are read and a key of 8 bytes is written. Counting
//! reads this key, 4 bytes for the pin at the cell, and the keys of up to 64 other pins for the
//! same cell, until one lies between. For each pin on the list of a cell, a key of 8 bytes is read
//! and 12 bytes are written.

mod grow;
mod key;
mod list;

use cuda_std::prelude::*;
use cuda_std::warp::WARP_SIZE;

use crate::route::fields::column_and_row;
pub use grow::{grow_bytes, grow_small_fields};
pub use key::PathKey;
pub use list::{count_near_pins, list_near_pins};

/// Threads of a block.
const BLOCK: u32 = 64;
/// The pins of a block.
pub const PINS_PER_BLOCK: u32 = BLOCK / WARP_SIZE;

/// The most columns of a square: each lane of a warp has one of them.
pub const MOST_SIDE: u32 = 32;

/// The square of a pin: the number of its columns and rows, an even one up to [`MOST_SIDE`].
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod)]
pub struct Square(pub u32);

impl Square {
    /// The columns to the left of the pin, and the rows above it.
    #[inline(always)]
    const fn before(self) -> u32 {
        self.0 / 2 - 1
    }

    /// Its cells.
    #[must_use]
    #[inline(always)]
    pub const fn cells(self) -> u32 {
        self.0 * self.0
    }
}

/// A net. Its window is covered by blocks of 8 × 8 cells, row by row; its cells have indices block
/// by block, and row by row in a block, so that cells near each other have their lists near each
/// other.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod)]
pub struct NearNet {
    /// The first column of its window.
    pub left: u32,
    /// The first row of its window.
    pub top: u32,
    /// The columns of its window.
    pub width: u32,
    /// The rows of its window.
    pub height: u32,
    /// Its first pin.
    pub first_pin: u32,
    /// The first of its cells among those of all nets.
    pub first_cell: u32,
}

/// The columns, and rows, of a block of cells.
const CELL_BLOCK: u32 = 8;

impl NearNet {
    /// The number of cells of all blocks that cover a window.
    #[must_use]
    pub const fn cells(width: u32, height: u32) -> u64 {
        let (columns, rows) = (width.div_ceil(CELL_BLOCK), height.div_ceil(CELL_BLOCK));
        columns as u64 * rows as u64 * (CELL_BLOCK * CELL_BLOCK) as u64
    }

    /// The index of a cell of the window, by its column and row there, among those of all nets.
    #[must_use]
    #[inline(always)]
    pub const fn index(&self, x: u32, y: u32) -> u32 {
        let columns = self.width.div_ceil(CELL_BLOCK);
        let block = (y / CELL_BLOCK) * columns + x / CELL_BLOCK;
        let place = y % CELL_BLOCK * CELL_BLOCK + x % CELL_BLOCK;
        self.first_cell + block * (CELL_BLOCK * CELL_BLOCK) + place
    }
}

/// Nets and their pins.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct NearNets<'a> {
    /// By net. A net's window lies in the grid.
    pub nets: View<'a, NearNet>,
    /// By pin, the pins of all nets one after the other: its net.
    pub owners: View<'a, u32>,
    /// By pin: its cell, counted row by row in the window. For a net's first pin, any of its cells.
    #[len(self.owners.len())]
    pub cells: View<'a, u32>,
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

/// A pin on the list of a cell: 12 bytes, without padding.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod)]
pub struct NearPin {
    /// The pin, counted from its net's first.
    pub pin: u32,
    /// The key of the path from the pin to the cell: the low half, then the high one.
    path: [u32; 2],
}

impl NearPin {
    #[inline(always)]
    const fn new(pin: u32, path: PathKey) -> Self {
        Self {
            pin,
            path: [path.0 as u32, (path.0 >> u32::BITS) as u32],
        }
    }

    /// The path from the pin to the cell.
    #[must_use]
    #[inline(always)]
    pub const fn path(self) -> PathKey {
        let [low, high] = self.path;
        PathKey((high as u64) << u32::BITS | low as u64)
    }
}
