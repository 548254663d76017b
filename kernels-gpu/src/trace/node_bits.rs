//! Nodes, the elements of borders, found for 64 pixels at once.
//!
//! A border over pixel centers visits a pixel once for each *gap*: each maximal cyclic run of
//! background among the pixel's eight neighbours that contains at least one of E, N, W, S. A pixel
//! with one of its gaps is a **node**; a node's successor is the node that the border visits next.
//! So a border is a cycle of nodes, and its nodes are the points of the approximation `none`.
//!
//! A border along the pixels' edges is a cycle of vertical sides in the same way: its nodes are W
//! and E sides.
//!
//! A node's [`Kind`] is a direction: W if its gap contains W, else E if it contains E, else N or S.
//! W and E nodes come first, in raster order, with W before E in one pixel; N and S nodes come
//! after them. Every border has a W or E node. A raster scan first meets the border at the first of
//! these: a W node for an outer border, an E node for a hole's.

use super::neighbours::rotated;
use super::options::{Approximation, Geometry};

/// The kinds of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The gap contains W.
    W = 0,
    /// The gap contains E and not W.
    E = 1,
    /// The gap contains N, and neither W nor E.
    N = 2,
    /// The gap contains S, and neither W nor E.
    S = 3,
}

impl Kind {
    /// The kind in the two low bits of an entry of a list of nodes.
    #[inline(always)]
    #[must_use]
    pub const fn from_bits(bits: u32) -> Self {
        match bits & 3 {
            0 => Self::W,
            1 => Self::E,
            2 => Self::N,
            _ => Self::S,
        }
    }

    /// The direction it is named after.
    #[inline(always)]
    #[must_use]
    pub const fn direction(self) -> u32 {
        // Four bits per kind: 4, 0, 2, 6.
        0x6204 >> (4 * self as u32) & 7
    }
}

/// The kind of the node with the gap that begins after direction `back`, in which there is
/// foreground.
#[inline(always)]
#[must_use]
pub const fn kind_after(neighbours: u32, back: u32) -> Kind {
    let gap = rotated(neighbours, back + 1).trailing_zeros();
    // The distance of a direction from the gap's beginning.
    // planted: gap-name
    if (4 + 7 - back) & 7 < gap {
        Kind::W
    } else if (7 - back) & 7 < gap {
        Kind::E
    } else if (2 + 7 - back) & 7 < gap {
        Kind::N
    } else {
        Kind::S
    }
}

/// Transposes eight rows of eight bits, the first row lowest.
#[inline(always)]
const fn transposed(rows: u64) -> u64 {
    // Exchanges bits, pairs of bits and halves of bytes across the diagonal.
    let mut bits = rows;
    let swap = (bits ^ bits >> 7) & 0x00aa_00aa_00aa_00aa;
    bits ^= swap ^ swap << 7;
    let swap = (bits ^ bits >> 14) & 0x0000_cccc_0000_cccc;
    bits ^= swap ^ swap << 14;
    let swap = (bits ^ bits >> 28) & 0x0000_0000_f0f0_f0f0;
    bits ^ swap ^ swap << 28
}

/// A word's pixels, and their neighbours in the same row.
#[derive(Clone, Copy)]
pub struct BesideBits {
    /// Each pixel's western neighbour.
    pub west: u64,
    /// The pixels.
    pub here: u64,
    /// Each pixel's eastern neighbour.
    pub east: u64,
}

impl BesideBits {
    /// From the word and those to its left and right.
    #[inline(always)]
    #[must_use]
    pub const fn new(left: u64, here: u64, right: u64) -> Self {
        Self {
            west: here << 1 | left >> 63,
            here,
            east: here >> 1 | right << 63,
        }
    }

    /// The W and the E sides of the pixels.
    #[inline(always)]
    #[must_use]
    pub const fn vertical_sides(self) -> (u64, u64) {
        (self.here & !self.west, self.here & !self.east)
    }
}

/// The nodes of a word's pixels, one word of bits per kind.
#[derive(Clone, Copy)]
pub struct NodeBits {
    /// Those of kind W.
    pub w: u64,
    /// Those of kind E.
    pub e: u64,
    /// Those of kind N.
    pub n: u64,
    /// Those of kind S.
    pub s: u64,
}

/// A word's pixels, and their neighbours in each direction.
#[derive(Clone, Copy)]
pub struct Around {
    here: u64,
    e: u64,
    ne: u64,
    n: u64,
    nw: u64,
    w: u64,
    sw: u64,
    s: u64,
    se: u64,
}

impl NodeBits {
    /// These nodes without those in `other`.
    #[inline(always)]
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self {
            w: self.w & !other.w,
            e: self.e & !other.e,
            n: self.n & !other.n,
            s: self.s & !other.s,
        }
    }
}

impl Around {
    /// From a word, the one above it and the one below.
    #[inline(always)]
    #[must_use]
    pub const fn new(above: BesideBits, row: BesideBits, below: BesideBits) -> Self {
        Self {
            here: row.here,
            e: row.east,
            ne: above.east,
            n: above.here,
            nw: above.west,
            w: row.west,
            sw: below.west,
            s: below.here,
            se: below.east,
        }
    }

    /// From a word's pixels, and which of them are connected to their neighbours in the directions
    /// from 0 on.
    #[inline(always)]
    #[must_use]
    pub const fn of_connected(here: u64, connected: [u64; 8]) -> Self {
        let [e, ne, n, nw, w, sw, s, se] = connected;
        Self {
            here,
            e,
            ne,
            n,
            nw,
            w,
            sw,
            s,
            se,
        }
    }

    /// The neighbourhoods of the eight pixels from bit `first` on, one byte per pixel, the first
    /// pixel's lowest.
    #[inline(always)]
    #[must_use]
    pub const fn neighbourhoods(&self, first: u32) -> u64 {
        let Self {
            e,
            ne,
            n,
            nw,
            w,
            sw,
            s,
            se,
            ..
        } = *self;
        let low = (e >> first & 0xff) as u32
            | ((ne >> first & 0xff) as u32) << 8
            | ((n >> first & 0xff) as u32) << 16
            | ((nw >> first & 0xff) as u32) << 24;
        let high = (w >> first & 0xff) as u32
            | ((sw >> first & 0xff) as u32) << 8
            | ((s >> first & 0xff) as u32) << 16
            | ((se >> first & 0xff) as u32) << 24;
        transposed((high as u64) << 32 | low as u64)
    }

    /// The nodes of borders over pixel centers: one per gap.
    #[inline(always)]
    #[must_use]
    pub const fn gaps(&self) -> NodeBits {
        let Self {
            here,
            e,
            ne,
            n,
            nw,
            w,
            sw,
            s,
            se,
        } = *self;
        NodeBits {
            w: here & !w,
            e: here & !e & !self.one_gap_w_e(),
            // planted: neighbour-forgotten
            n: here & !n & (nw | w) & (ne | e),
            s: here & !s & (sw | w) & (se | e),
        }
    }

    /// The pixels with W and E in one gap.
    #[inline(always)]
    const fn one_gap_w_e(&self) -> u64 {
        !(self.w | self.e) & (!(self.nw | self.n | self.ne) | !(self.sw | self.s | self.se))
    }

    /// The pixels' sides.
    #[inline(always)]
    #[must_use]
    pub const fn sides(&self) -> NodeBits {
        NodeBits {
            w: self.here & !self.w,
            e: self.here & !self.e,
            n: self.here & !self.n,
            s: self.here & !self.s,
        }
    }

    /// The nodes that a border passes straight on, without a point: down W sides, to the right
    /// along S sides, up E sides and to the left along N sides.
    ///
    /// The border comes to such a node from the pixel behind, because no pixel beyond touches the
    /// side.
    #[inline(always)]
    #[must_use]
    pub const fn straight(&self, geometry: Geometry, approximation: Approximation) -> NodeBits {
        let Self {
            here, e, n, w, s, ..
        } = *self;
        let bits = NodeBits {
            // The pixels above and below must be on the same border even if there is no point, so
            // that these nodes are never a border's first, and runs of them are runs of sides.
            // planted: fragment-straight-start
            w: here & !(self.nw | w | self.sw) & s & n,
            e: here & !(self.ne | e | self.se) & n & s,
            // planted: fragment-straight
            n: here & !(self.nw | n | self.ne) & w,
            s: here & !(self.sw | s | self.se) & e,
        };
        match (geometry, approximation) {
            (Geometry::Edges, _) => bits,
            (Geometry::Centers, Approximation::Simple) => NodeBits {
                n: bits.n & e,
                s: bits.s & w,
                ..bits
            },
            (Geometry::Centers, Approximation::None) => NodeBits {
                w: 0,
                e: 0,
                n: 0,
                s: 0,
            },
        }
    }

    /// The kind of the node whose gap contains the E neighbour, which is background, of the pixel
    /// at `bit`.
    #[inline(always)]
    #[must_use]
    pub const fn kind_at_e(&self, bit: u32) -> Kind {
        if self.one_gap_w_e() >> bit & 1 != 0 {
            Kind::W
        } else {
            Kind::E
        }
    }
}
