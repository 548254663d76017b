//! What a node of a tile knows of its fragment or closed border.

use super::records::POINT_BITS;
use super::tile::{TILE_HEIGHT, TileNode};
use crate::trace::node_bits::Kind;

/// A node's place on its fragment or closed border, in one word that is read and written at once.
/// After some rounds of pointer jumping, `next` is a node some way ahead.
///
/// | half | bits | field |
/// | --- | --- | --- |
/// | low | 0–11 | `next`: that node; on a fragment finally the last node |
/// | low | 12–23 | `first`: the lowest index among the nodes after this one, up to `next` |
/// | low | 24–31 | the node's column and kind |
/// | high | 0–11 | `points`: the points from this node to before `next`, or to the end reached |
/// | high | 12–23 | `to_first`: the points from this node to before `first` |
/// | high | 24–28 | the node's row |
/// | high | 29 | whether the end of a fragment is reached |
/// | high | 30 | whether the node has a point |
/// | high | 31 | of a W or E node: whether the [side before](super::tile::after_listed) is listed |
#[derive(Clone, Copy)]
pub(super) struct NodePlace {
    low: u32,
    high: u32,
}

pub(super) const FIELD: u32 = (1 << POINT_BITS) - 1;
const SECOND_FIELD: u32 = FIELD << 12;
const REST: u32 = u32::MAX << 24;
pub(super) const ENDED: u32 = 1 << 29;
pub(super) const POINT: u32 = 1 << 30;
pub(super) const AFTER_LISTED: u32 = 1 << 31;

impl NodePlace {
    #[inline(always)]
    pub(super) const fn from_bits(bits: u64) -> Self {
        Self {
            low: bits as u32,
            high: (bits >> 32) as u32,
        }
    }

    #[inline(always)]
    pub(super) const fn to_bits(self) -> u64 {
        (self.high as u64) << 32 | self.low as u64
    }

    /// A node that is not linked yet.
    #[inline(always)]
    pub(super) const fn of(node: TileNode) -> Self {
        let TileNode { x, y, kind } = node;
        Self {
            low: (x << 2 | kind as u32) << 24,
            high: y << 24,
        }
    }

    #[inline(always)]
    pub(super) fn node(self) -> TileNode {
        TileNode {
            x: self.low >> 26,
            y: self.high >> 24 & (TILE_HEIGHT - 1),
            kind: Kind::from_bits(self.low >> 24),
        }
    }

    #[inline(always)]
    pub(super) const fn next(self) -> u32 {
        self.low & FIELD
    }

    #[inline(always)]
    pub(super) const fn first(self) -> u32 {
        self.low >> 12 & FIELD
    }

    #[inline(always)]
    pub(super) const fn points(self) -> u32 {
        self.high & FIELD
    }

    #[inline(always)]
    pub(super) const fn to_first(self) -> u32 {
        self.high >> 12 & FIELD
    }

    #[inline(always)]
    pub(super) const fn has(self, flag: u32) -> bool {
        self.high & flag != 0
    }

    /// With other fields; sums wrap around at 4096.
    #[inline(always)]
    pub(super) const fn with(self, next: u32, first: u32, points: u32, to_first: u32) -> Self {
        Self {
            low: self.low & REST | (first & FIELD) << 12 | next & FIELD,
            high: self.high & REST | (to_first & FIELD) << 12 | points & FIELD,
        }
    }

    #[inline(always)]
    pub(super) const fn with_flags(self, flags: u32) -> Self {
        Self {
            high: self.high | flags,
            ..self
        }
    }

    /// After one more round, given the place of the node that `next` leads to.
    ///
    /// Sums wrap around only where they are not used: a tile has at most 4096 points, and one
    /// border never has that many. Once the nodes up to `next` go around a closed border more than
    /// once, `first` and `to_first` stay as they are.
    #[inline(always)]
    pub(super) const fn jumped(self, ahead: Self) -> Self {
        let (first, ahead_first) = (self.low & SECOND_FIELD, ahead.low & SECOND_FIELD);
        let is_lower = ahead_first < first;
        let first = if is_lower { ahead_first } else { first };
        let to_first = if is_lower {
            (self.high << 12).wrapping_add(ahead.high)
        } else {
            self.high
        };
        let points = self.high.wrapping_add(ahead.high) & FIELD;
        Self {
            low: self.low & REST | first | ahead.low & FIELD,
            high: self.high & REST | ahead.high & ENDED | to_first & SECOND_FIELD | points,
        }
    }
}
