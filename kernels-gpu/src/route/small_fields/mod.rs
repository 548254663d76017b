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
//! 2. the keys of low costs are sorted by cell: each cell has a list of the pins near it;
//! 3. the host keeps the least key of each pin. It takes the nearest pin, whose path is in the key,
//!    and offers the cells of that path to the pins on their lists.
//!
//! The host joins the pins, since that is a chain of dependent loads: which pin is next depends on
//! the lists of the path before. A load takes a processor a fraction of the time that it takes a
//! multiprocessor.
//!
//! A small field is exact up to its **reach**, the least cost of a path that may leave the square,
//! or have more steps than a key has room for. Lists only go up to a cost at which cells have a few
//! pins on average, since most pins are joined at lower costs. Once the nearest pin may be farther
//! from the tree than that, the remaining pins are listed again, up to a higher cost. Once a pin
//! that the tree has not reached may be the nearest, larger [fields](super::fields) join the
//! remaining pins.
//!
//! | kernel | does | launch |
//! |---|---|---|
//! | [`grow_small_fields`](fn@grow_small_fields) | small fields and their reach | warp per pin |
//! | [`count_near_pins`](fn@count_near_pins) | lengths of lists | warp per pin |
//! | [`list_near_pins`](fn@list_near_pins) | lists, after prefix sums of lengths | warp per pin |
//!
//! The first uses [`grow_bytes`] of dynamic shared memory.
//!
//! # Limits
//! Grids of one layer without edges of weight 0; pins of one cell, except the first.
//!
//! # Bytes
//! Per cell of a square, 8 bytes of weights are read and a key of 8 bytes is written. Counting and
//! listing each read the key again. For each pin near a cell, 12 bytes are written.

mod grow;
mod key;

use cuda_std::prelude::*;

pub use grow::{PINS_PER_BLOCK, count_near_pins, grow_bytes, grow_small_fields, list_near_pins};
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
    /// The first of its window's cells among those of all nets.
    pub first_cell: u32,
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

/// The buckets of costs: one for each below 8, and eight for each number of bits of higher ones.
pub const BUCKETS: u32 = 8 * 15;

/// The bucket of the cost of a key.
#[must_use]
#[inline(always)]
pub const fn bucket(cost: u32) -> u32 {
    let bits = u32::BITS - cost.leading_zeros();
    if bits <= 3 {
        cost
    } else {
        8 * (bits - 3) + (cost >> (bits - 4)) % 8
    }
}

/// The least cost of a bucket.
#[must_use]
pub const fn least_cost(bucket: u32) -> u32 {
    if bucket < 8 {
        bucket
    } else {
        (8 + bucket % 8) << (bucket / 8 - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_of_rising_costs() {
        let mut expected = Vec::new();
        let mut width = 1;
        for bucket in 0..BUCKETS {
            expected.extend((0..width).map(|_| bucket));
            if bucket >= 15 && bucket % 8 == 7 {
                width *= 2;
            }
        }
        assert_eq!(expected.len(), 1 << 17);
        for (cost, &expected) in (0..).zip(&expected) {
            assert_eq!(bucket(cost), expected, "{cost}: not the oracle's");
        }
        for bucket in 0..BUCKETS {
            let first = expected.iter().position(|&other| other == bucket);
            assert_eq!(
                Some(least_cost(bucket) as usize),
                first,
                "{bucket}: not the oracle's"
            );
        }
    }
}
