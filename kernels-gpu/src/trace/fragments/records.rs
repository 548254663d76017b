//! The records in which tiles hand over their fragments, closed borders and points, and where the
//! bits of these lie.

use cuda_std::prelude::*;

use super::crossings::NEIGHBOURS;
use super::key::KEY_SHIFT;

/// Bits of a number of points of a fragment or closed border, and of the index of a point in its
/// tile.
pub(super) const POINT_BITS: u32 = 12;
/// Bits of the rank of an exit among those to one neighbour.
const EXIT_BITS: u32 = 8;
const EXIT: u32 = u32::BITS - EXIT_BITS;
const NEIGHBOUR_BITS: u32 = NEIGHBOURS.trailing_zeros();
const _: () = assert!(
    POINT_BITS == 12 && NEIGHBOUR_BITS == 3,
    "as the tables below say"
);

/// The fields of a tile's record, as offsets.
pub mod tile_record {
    /// The index of the tile's first fragment.
    pub const FIRST_FRAGMENT: u32 = 0;
    /// The index of its first closed border.
    pub const FIRST_CLOSED: u32 = 1;
    /// The index of its first point.
    pub const FIRST_POINT: u32 = 2;
    /// The index of its first W or E node.
    pub const FIRST_SIDE: u32 = 3;
    /// For each neighbour, the number of fragments that enter from earlier neighbours, in 16 bits;
    /// for the first neighbour, the number of all fragments.
    pub const ENTRIES: u32 = 4;
    /// The number of closed borders.
    pub const CLOSED: u32 = 8;
    /// The number of points.
    pub const POINTS: u32 = 9;
    /// The number of words.
    pub const WORDS: u32 = 12;
}

/// In [`Parts::fragment_nodes_before`](super::Parts::fragment_nodes_before) and
/// [`Parts::closed_nodes_before`](super::Parts::closed_nodes_before), for nodes that the tile has
/// not listed.
pub const NO_NODE: u16 = u16::MAX;

/// The lowest `bits` bits of a word, from bit `from` on.
#[inline(always)]
const fn field(word: u32, from: u32, bits: u32) -> u32 {
    word >> from & ((1 << bits) - 1)
}

/// A fragment, in [`WORDS`](Self::WORDS) words:
///
/// | word | bits | field |
/// | --- | --- | --- |
/// | 0 | 0–31 | `tile` |
/// | 1 | 0–31 | `key`, its low 32 bits |
/// | 2 | 0–11 | `points` |
/// | 2 | 12–23 | `points_before` |
/// | 2 | 24–31 | `exit` |
/// | 3 | 0–11 | `start` |
/// | 3 | 12–14 | `neighbour` |
/// | 3 | 24–31 | `key`, its higher bits |
#[derive(Clone, Copy)]
pub(super) struct FragmentRecord {
    /// The fragment's tile.
    pub(super) tile: u32,
    /// The lowest [key](super::key) of its nodes.
    pub(super) key: [u32; 2],
    /// The number of its points.
    pub(super) points: u32,
    /// The number of its points before the node with that key.
    pub(super) points_before: u32,
    /// The neighbour that it leaves for.
    pub(super) neighbour: u32,
    /// The rank of its exit among the tile's exits to that neighbour.
    pub(super) exit: u32,
    /// The index of its first point in the tile.
    pub(super) start: u32,
}

impl FragmentRecord {
    pub(super) const WORDS: usize = 4;

    #[inline(always)]
    pub(super) fn store(self, fragments: ViewMut<'_, u32>, at: usize) {
        let [key, key_high] = self.key;
        let words = [
            self.tile,
            key,
            self.points | self.points_before << POINT_BITS | self.exit << EXIT,
            field(self.start, 0, POINT_BITS) | self.neighbour << POINT_BITS | key_high << KEY_SHIFT,
        ];
        fragments.st_vector(at * Self::WORDS, words);
    }

    #[inline(always)]
    pub(super) fn load(fragments: ViewMut<'_, u32>, fragment: u32) -> Self {
        let at = fragment as usize * Self::WORDS;
        let [tile, key, third, fourth] = fragments.ld_vector(at);
        Self {
            tile,
            key: [key, fourth >> KEY_SHIFT],
            points: field(third, 0, POINT_BITS),
            points_before: field(third, POINT_BITS, POINT_BITS),
            neighbour: field(fourth, POINT_BITS, NEIGHBOUR_BITS),
            exit: third >> EXIT,
            start: field(fourth, 0, POINT_BITS),
        }
    }

    /// The low 32 bits of a fragment's `key`.
    #[inline(always)]
    pub(super) fn load_low_key(fragments: ViewMut<'_, u32>, fragment: u32) -> u32 {
        fragments.ld(fragment as usize * Self::WORDS + 1)
    }

    /// A fragment's `points_before`.
    #[inline(always)]
    pub(super) fn load_points_before(fragments: ViewMut<'_, u32>, fragment: u32) -> u32 {
        let third = fragments.ld(fragment as usize * Self::WORDS + 2);
        field(third, POINT_BITS, POINT_BITS)
    }

    /// A fragment's `start`.
    #[inline(always)]
    pub(super) fn load_start(fragments: ViewMut<'_, u32>, fragment: u32) -> u32 {
        let fourth = fragments.ld(fragment as usize * Self::WORDS + 3);
        field(fourth, 0, POINT_BITS)
    }
}

/// A closed border, in [`WORDS`](Self::WORDS) words:
///
/// | word | bits | field |
/// | --- | --- | --- |
/// | 0 | 0–31 | `key`, its low 32 bits |
/// | 1 | 0–11 | `points` |
/// | 1 | 12–23 | `start` |
/// | 1 | 24–31 | `key`, its higher bits |
#[derive(Clone, Copy)]
pub(super) struct ClosedRecord {
    /// The [key](super::key) of its start.
    pub(super) key: [u32; 2],
    /// The number of its points.
    pub(super) points: u32,
    /// The index of its first point in the tile.
    pub(super) start: u32,
}

impl ClosedRecord {
    pub(super) const WORDS: usize = 2;

    #[inline(always)]
    pub(super) fn store(self, closed: ViewMut<'_, u32>, at: u32) {
        let [key, high] = self.key;
        let words = [
            key,
            self.points | self.start << POINT_BITS | high << KEY_SHIFT,
        ];
        closed.st_vector(at as usize * Self::WORDS, words);
    }

    #[inline(always)]
    pub(super) fn load(closed: ViewMut<'_, u32>, at: u32) -> Self {
        let [key, last] = closed.ld_vector(at as usize * Self::WORDS);
        Self {
            key: [key, last >> KEY_SHIFT],
            points: field(last, 0, POINT_BITS),
            start: field(last, POINT_BITS, POINT_BITS),
        }
    }
}

/// A point, in one word: `x` in bits 0–6, `y` in bits 7–12, `part` above.
#[derive(Clone, Copy)]
pub(super) struct TilePoint {
    /// Its column and row in the tile. Along edges, a corner may be one past the last.
    pub(super) x: u32,
    pub(super) y: u32,
    /// Its fragment or closed border, counted in the tile.
    pub(super) part: u32,
}

impl TilePoint {
    const X_BITS: u32 = 7;
    const Y_BITS: u32 = 6;

    #[inline(always)]
    pub(super) const fn to_bits(self) -> u32 {
        self.x | self.y << Self::X_BITS | self.part << (Self::X_BITS + Self::Y_BITS)
    }

    #[inline(always)]
    pub(super) const fn from_bits(bits: u32) -> Self {
        Self {
            x: field(bits, 0, Self::X_BITS),
            y: field(bits, Self::X_BITS, Self::Y_BITS),
            part: bits >> (Self::X_BITS + Self::Y_BITS),
        }
    }
}

/// Where a tile's fragments, closed borders, points and sides are.
#[derive(Clone, Copy)]
pub(super) struct TileParts {
    /// The number of its fragments.
    pub(super) fragments: u32,
    pub(super) first_fragment: u32,
    first_closed: u32,
    pub(super) first_point: u32,
    pub(super) first_side: u32,
}

impl TileParts {
    pub(super) const NONE: Self = Self {
        fragments: 0,
        first_fragment: 0,
        first_closed: 0,
        first_point: 0,
        first_side: 0,
    };

    #[inline(always)]
    pub(super) fn load(tiles: ViewMut<'_, u32>, tile: u32) -> Self {
        let record = tile * tile_record::WORDS;
        const {
            assert!(tile_record::FIRST_FRAGMENT == 0);
            assert!(tile_record::FIRST_CLOSED == 1);
            assert!(tile_record::FIRST_POINT == 2);
            assert!(tile_record::FIRST_SIDE == 3);
        };
        let [first_fragment, first_closed, first_point, first_side] = tiles.ld_vector(record);
        let fragments = tiles.ld(record + tile_record::ENTRIES) & 0xffff;
        Self {
            fragments,
            first_fragment,
            first_closed,
            first_point,
            first_side,
        }
    }

    /// Calls `fragment` or `closed` with the index of the fragment or closed border that is `part`
    /// in the tile.
    #[inline(always)]
    pub(super) fn select<R>(
        self,
        part: u32,
        fragment: impl FnOnce(u32) -> R,
        closed: impl FnOnce(u32) -> R,
    ) -> R {
        if part < self.fragments {
            fragment(self.first_fragment + part)
        } else {
            closed(self.first_closed + part - self.fragments)
        }
    }
}
