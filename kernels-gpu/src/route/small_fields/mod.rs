//! Routing by small fields, for nets whose pins are a few cells apart.
//!
//! The [fields](super::fields) of such pins are small, and so are their paths: a path of a few
//! steps fits in a number. So each pin gets a **small field**: for each cell of a square around the
//! pin, the [key](PathKey) of the path from the pin to that cell. Keys compare by cost first, and
//! among paths of the same cost, that with the least key is the one that the module `route` of the
//! host's crate asks for. So the path by which the tree joins a pin is the least key of the tree's
//! cells in the pin's field, which needs no walk and no further rule for ties:
//!
//! 1. a warp per pin finds the keys of its square, which are then sorted by cell: each cell has a
//!    list of the pins near it;
//! 2. one block per net keeps the least key of each pin. It takes the pin that is nearest, whose
//!    path is in the key, and offers the cells of that path to the pins on their lists.
//!
//! A small field is exact up to its **reach**, the least cost of a path that may leave the square,
//! or have more steps than a key has room for. If the tree is not within the reach of a pin, all
//! that is known of the pin is that it is no nearer. Once such a pin may be the nearest, the kernel
//! stops, and larger [fields](super::fields) join the remaining pins.
//!
//! | kernel | does | launch |
//! |---|---|---|
//! | [`grow_small_fields`](fn@grow_small_fields) | small fields and their reach | warp per pin |
//! | [`list_near_pins`](fn@list_near_pins) | lists, after prefix sums of lengths | warp per pin |
//! | [`join_near_pins`](fn@join_near_pins) | trees, as far as fields reach | block per net |
//!
//! The first and the last use [`grow_bytes`] and [`join_bytes`] of dynamic shared memory.
//!
//! # Limits
//! Grids of one layer without edges of weight 0; pins of one cell, except the first; [`MOST_PINS`].
//!
//! # Bytes
//! Per cell of a square, 8 bytes are read, and 8 written and read again; 12 more are written if the
//! cell is within the reach. Per cell of a path, 8 bytes are read, and 12 for each pin on its list.

mod grow;
mod join;
mod key;

use cuda_std::prelude::*;

pub use grow::{PINS_PER_BLOCK, grow_bytes, grow_small_fields, list_near_pins};
pub use join::{MOST_PINS, join_bytes, join_near_pins};
pub use key::PathKey;

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

/// A net. Its cells have indices row by row in its window.
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
    /// The pin after its last.
    pub end_pin: u32,
    /// The first of its window's cells among those of all nets.
    pub first_cell: u32,
    /// The first of the cells of its first pin.
    pub first_added: u32,
    /// The cell after the last of these.
    pub end_added: u32,
}

/// Nets and their pins.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct NearNets<'a> {
    /// By net. A net's window lies in the grid.
    pub nets: View<'a, NearNet>,
    /// By pin, the pins of all nets one after the other: its net.
    pub owners: View<'a, u32>,
    /// By pin: its cell. For a net's first pin, any of its cells.
    #[len(self.owners.len())]
    pub cells: View<'a, u32>,
    /// The cells of first pins.
    pub added: View<'a, u32>,
}

/// The pins near each cell of all windows: those to whose small fields it belongs.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct NearPins<'a> {
    /// By cell: where its list begins, and, as the next element, where it ends.
    pub ends: View<'a, u32>,
    /// The paths from the pins to the cells.
    pub paths: View<'a, PathKey>,
    /// The pins, counted from the net's first.
    #[len(self.paths.len())]
    pub pins: View<'a, u32>,
}
