//! The crossings of a tile's rim, and their order.
//!
//! A border crosses from a tile to one of the eight around it. A crossing is identified by the
//! pixel that it leads to and by 2 bits for the node there: the direction of the step across the
//! rim, or the side that the border runs along. Both tiles know both. So both put the crossings
//! from one of them to the other into the same order, and the exit with rank `k` is the entry with
//! rank `k`.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::tile::{TILE_HEIGHT, TILE_WIDTH};
use crate::primitives::warp::inclusive_sum;

/// The neighbouring tiles, in the order of their crossings. The two of a pair lie opposite.
const NORTH: u32 = 0;
const SOUTH: u32 = 1;
const WEST: u32 = 2;
const EAST: u32 = 3;
const NORTH_WEST: u32 = 4;
const SOUTH_EAST: u32 = 5;
const NORTH_EAST: u32 = 6;
const SOUTH_WEST: u32 = 7;
/// The number of neighbouring tiles.
pub(super) const NEIGHBOURS: u32 = 8;

/// Bits per row or column of pixels, for what may cross there.
const CODES: u32 = 4;
/// Words of 32 bits with a bit per possible crossing: to N, S, W and E, and one word for the
/// corners.
pub(super) const CROSSING_WORDS: u32 = 2 * (TILE_WIDTH + TILE_HEIGHT) * CODES / u32::BITS + 1;
const FIRST_SOUTH: u32 = TILE_WIDTH * CODES;
const FIRST_WEST: u32 = FIRST_SOUTH + TILE_WIDTH * CODES;

/// The first crossing to the E of a tile of `height` rows.
const fn first_east(height: u32) -> u32 {
    FIRST_WEST + height * CODES
}

/// The first crossing over a corner.
const fn first_corner(height: u32) -> u32 {
    first_east(height) + height * CODES
}

/// The most fragments of a tile. At most two nodes of a pixel at the rim are entered from beyond
/// the rim, and three of a pixel in a corner.
pub(super) const MOST_FRAGMENTS: u32 = 2 * (2 * (TILE_WIDTH + TILE_HEIGHT) - 4) + 4;

/// The neighbouring tile that sees a tile as its neighbour `neighbour`.
#[inline(always)]
pub(super) const fn opposite(neighbour: u32) -> u32 {
    // planted: fragment-opposite
    neighbour ^ 1
}

/// The column and the row of the neighbouring tile, from those of a tile.
#[inline(always)]
pub(super) const fn neighbour_of(column: u32, row: u32, neighbour: u32) -> (u32, u32) {
    let x = match neighbour {
        WEST | NORTH_WEST | SOUTH_WEST => column.wrapping_sub(1),
        EAST | NORTH_EAST | SOUTH_EAST => column + 1,
        _ => column,
    };
    let y = match neighbour {
        NORTH | NORTH_WEST | NORTH_EAST => row.wrapping_sub(1),
        SOUTH | SOUTH_WEST | SOUTH_EAST => row + 1,
        _ => row,
    };
    (x, y)
}

/// A crossing, by its index among all possible ones in one direction between a tile and its
/// neighbours.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Crossing(u32);

impl Crossing {
    /// The crossing over the rim of a tile of `height` rows at the pixel `outside`, to the pixel
    /// `to` (both counted from the tile's upper left one, wrapped around below 0). `code`
    /// distinguishes crossings to the same pixel.
    #[inline(always)]
    pub(super) const fn new(height: u32, outside: (u32, u32), to: (u32, u32), code: u32) -> Self {
        let is_south = outside.1 == height;
        let is_east = outside.0 == TILE_WIDTH;
        let beyond_row = outside.1 >= height;
        let beyond_column = outside.0 >= TILE_WIDTH;
        Self(if beyond_row && beyond_column {
            let corner = match (is_south, is_east) {
                (false, false) => NORTH_WEST,
                (true, true) => SOUTH_EAST,
                // planted: fragment-corner
                (false, true) => NORTH_EAST,
                (true, false) => SOUTH_WEST,
            };
            first_corner(height) + corner - NORTH_WEST
        } else if beyond_row {
            (if is_south { FIRST_SOUTH } else { 0 }) + to.0 * CODES + code
        } else {
            (if is_east {
                first_east(height)
            } else {
                FIRST_WEST
            }) + to.1 * CODES
                + code
        })
    }

    /// Less than 1024.
    #[inline(always)]
    pub(super) const fn to_bits(self) -> u32 {
        self.0
    }

    #[inline(always)]
    pub(super) const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// The neighbouring tile on the other side, of a tile of `height` rows.
    #[inline(always)]
    pub(super) const fn neighbour(self, height: u32) -> u32 {
        let Self(index) = self;
        if index >= first_corner(height) {
            NORTH_WEST + index - first_corner(height)
        } else if index >= FIRST_WEST {
            WEST + (index >= first_east(height)) as u32
        } else {
            (index >= FIRST_SOUTH) as u32
        }
    }
}

/// A set of crossings in shared memory.
#[derive(Clone, Copy)]
pub(super) struct CrossingSet {
    /// A bit per crossing: [`CROSSING_WORDS`].
    pub(super) bits: SharedView<u32>,
    /// The number of bits set before each word, and in all words: one element more.
    pub(super) before: SharedView<u32>,
}

impl CrossingSet {
    #[inline(always)]
    pub(super) fn insert(self, crossing: Crossing) {
        let Crossing(index) = crossing;
        // planted: fragment-crossing-plain
        self.bits
            .atomic_or(index / u32::BITS, 1 << (index % u32::BITS));
    }

    /// Counts; called by all threads of one warp, after a barrier.
    #[inline(always)]
    pub(super) fn count(self, lane: u32) {
        const { assert!(CROSSING_WORDS < WARP_SIZE) };
        let own = if lane < CROSSING_WORDS {
            self.bits.ld(lane).count_ones()
        } else {
            0
        };
        let through = inclusive_sum(own, lane);
        if lane <= CROSSING_WORDS {
            // planted: fragment-rank
            self.before.st(lane, through - own);
        }
        // Keeps the warp together until all have read.
        warp::sync_warp(FULL_MASK);
    }

    /// The rank of a crossing: the number of those before it.
    #[inline(always)]
    pub(super) fn rank(self, crossing: Crossing) -> u32 {
        let Crossing(index) = crossing;
        let word = index / u32::BITS;
        let below = (1 << (index % u32::BITS)) - 1;
        self.before.ld(word) + (self.bits.ld(word) & below).count_ones()
    }

    /// The number of crossings to earlier neighbours, of a tile of `height` rows.
    #[inline(always)]
    pub(super) fn first_of(self, neighbour: u32, height: u32) -> u32 {
        let first = match neighbour {
            NORTH => 0,
            SOUTH => FIRST_SOUTH,
            WEST => FIRST_WEST,
            EAST => first_east(height),
            corner => first_corner(height) + corner - NORTH_WEST,
        };
        self.rank(Crossing(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crossings_are_numbered_once() {
        for height in [TILE_HEIGHT, TILE_HEIGHT / 2] {
            let mut seen = [false; (CROSSING_WORDS * u32::BITS) as usize];
            let mut add = |outside, to, code, neighbour| {
                let crossing = Crossing::new(height, outside, to, code);
                assert_eq!(crossing.neighbour(height), neighbour);
                assert!(!std::mem::replace(&mut seen[crossing.0 as usize], true));
            };
            for code in 0..CODES {
                for x in 0..TILE_WIDTH {
                    add((x, u32::MAX), (x, 0), code, NORTH);
                    add((x, height), (x, height - 1), code, SOUTH);
                }
                for y in 0..height {
                    add((u32::MAX, y), (0, y), code, WEST);
                    add((TILE_WIDTH, y), (TILE_WIDTH - 1, y), code, EAST);
                }
            }
            add((u32::MAX, u32::MAX), (0, 0), 0, NORTH_WEST);
            add((TILE_WIDTH, u32::MAX), (63, 0), 0, NORTH_EAST);
            add((u32::MAX, height), (0, height - 1), 0, SOUTH_WEST);
            add((TILE_WIDTH, height), (63, height - 1), 0, SOUTH_EAST);
        }
    }

    #[test]
    fn neighbours_lie_opposite() {
        for neighbour in 0..NEIGHBOURS {
            let (x, y) = neighbour_of(5, 7, neighbour);
            assert_eq!(neighbour_of(x, y, opposite(neighbour)), (5, 7));
        }
    }
}
