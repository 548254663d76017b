//! Pixels and their neighbours.
//!
//! # Nodes
//!
//! A border that runs over pixel centres visits a pixel once for each *gap*: each maximal cyclic run of background among
//! the pixel's eight neighbours that holds at least one of E, N, W, S. A pixel and one of its gaps is a **node**; a node's
//! successor is the node that the border visits next. So a border is a cycle of nodes, and its nodes are the points that
//! the approximation `none` has.
//!
//! A border that runs along the pixels' sides is a cycle of vertical sides in the same way: its nodes are W and E sides.
//!
//! A node is named by a direction: W if its gap holds W, else E if it holds E, else N or S. W and E nodes come first,
//! in raster order, W before E in one pixel; N and S nodes come after all of these. Every border has a W or E node, and the
//! first of them is where the border is met first in a raster scan: a W node if it is an outer border, an E node if it is a
//! hole's.
//!
//! Directions are 0 = E, 1 = NE, 2 = N, … 7 = SE, counter-clockwise on the screen, where y points down.

use cuda_std::prelude::*;

use crate::primitives::quotient;

/// An image's size.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod)]
pub struct Raster {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Words in a row.
    pub row_words: u32,
}

impl Raster {
    /// The most pixels that nodes can be numbered for: a node is a pixel's number and two bits.
    pub const MOST_PIXELS: u64 = 1 << 30;

    /// Of an image of `width × height` pixels; none if it has more than [`MOST_PIXELS`](Self::MOST_PIXELS).
    #[must_use]
    pub const fn new(width: u32, height: u32) -> Option<Self> {
        let row_words = width.div_ceil(64);
        // The second limit is for numbers of words, doubled.
        if width as u64 * height as u64 > Self::MOST_PIXELS
            || row_words as u64 * height as u64 > Self::MOST_PIXELS
        {
            return None;
        }
        Some(Self {
            width,
            height,
            row_words,
        })
    }

    /// Words of the image.
    #[must_use]
    pub const fn words(self) -> u32 {
        self.row_words * self.height
    }

    /// Column and row of a pixel's number.
    #[inline(always)]
    pub(super) fn split(self, pixel: u32) -> (u32, u32) {
        let y = quotient(pixel, self.width);
        (pixel - y * self.width, y)
    }
}

/// What the nodes of an image are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    W = 0,
    E = 1,
    N = 2,
    S = 3,
}

impl Kind {
    #[inline(always)]
    pub(super) const fn from_bits(bits: u32) -> Self {
        match bits & 3 {
            0 => Self::W,
            1 => Self::E,
            2 => Self::N,
            _ => Self::S,
        }
    }

    /// The direction that it is named by.
    #[inline(always)]
    pub(super) const fn direction(self) -> u32 {
        match self {
            Self::W => 4,
            Self::E => 0,
            Self::N => 2,
            Self::S => 6,
        }
    }
}

/// A binary image: rows padded with zeros to words of 64 pixels.
#[derive(Clone, Copy)]
pub(super) struct Pixels<'a> {
    pub(super) words: View<'a, u64>,
    pub(super) raster: Raster,
}

/// A word's pixels, and for each direction their neighbours.
#[derive(Clone, Copy)]
pub(super) struct Around {
    pub(super) here: u64,
    e: u64,
    ne: u64,
    n: u64,
    nw: u64,
    w: u64,
    sw: u64,
    s: u64,
    se: u64,
}

/// The nodes of a word's pixels, as bits.
#[derive(Clone, Copy)]
pub(super) struct Nodes {
    pub(super) w: u64,
    pub(super) e: u64,
    pub(super) n: u64,
    pub(super) s: u64,
}

impl Pixels<'_> {
    /// The word `word_x` of row `y`; 0 outside the image, also where `word_x` or `y` have wrapped around below 0.
    #[inline(always)]
    pub(super) fn word(&self, word_x: u32, y: u32) -> u64 {
        // planted: around-height
        if word_x < self.raster.row_words && y < self.raster.height {
            self.words.ldg(y * self.raster.row_words + word_x)
        } else {
            0
        }
    }

    /// Whether pixel `(x, y)` is foreground; not outside the image.
    #[inline(always)]
    pub(super) fn is_set(&self, x: u32, y: u32) -> bool {
        self.word(x / 64, y) >> (x % 64) & 1 != 0
    }

    /// The pixels from x - 1 to x + 1 of row `y`, as bits 0 to 2.
    #[inline(always)]
    fn three(&self, x: u32, y: u32) -> u32 {
        let (word_x, bit) = (x / 64, x % 64);
        let here = self.word(word_x, y);
        let mut three = (here >> bit) << 1;
        if bit == 0 {
            three |= self.word(word_x.wrapping_sub(1), y) >> 63;
        } else {
            three |= here >> (bit - 1) & 1;
        }
        if bit == 63 {
            three |= (self.word(word_x + 1, y) & 1) << 2;
        }
        three as u32 & 7
    }

    /// The foreground among the neighbours of pixel `(x, y)`: a bit for each direction.
    #[inline(always)]
    pub(super) fn neighbours(&self, x: u32, y: u32) -> u32 {
        let up = self.three(x, y.wrapping_sub(1));
        let row = self.three(x, y);
        let down = self.three(x, y + 1);
        (row >> 2 & 1)
            | (up >> 2 & 1) << 1
            | (up >> 1 & 1) << 2
            | (up & 1) << 3
            | (row & 1) << 4
            | (down & 1) << 5
            | (down >> 1 & 1) << 6
            | (down >> 2 & 1) << 7
    }

    /// The word `word_x` of row `y`, and its pixels' neighbours.
    #[inline(always)]
    pub(super) fn around(&self, word_x: u32, y: u32) -> Around {
        let row = |y| {
            let here = self.word(word_x, y);
            // planted: around-west-carry
            let west = here << 1 | self.word(word_x.wrapping_sub(1), y) >> 63;
            let east = here >> 1 | self.word(word_x + 1, y) << 63;
            (west, here, east)
        };
        let (nw, n, ne) = row(y.wrapping_sub(1));
        let (w, here, e) = row(y);
        let (sw, s, se) = row(y + 1);
        Around {
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
}

impl Around {
    /// The nodes of borders over pixel centres.
    #[inline(always)]
    pub(super) const fn nodes(&self) -> Nodes {
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
        Nodes {
            w: here & !w,
            e: here & !e & !self.one_gap_w_e(),
            // planted: neighbour-forgotten
            n: here & !n & (nw | w) & (ne | e),
            s: here & !s & (sw | w) & (se | e),
        }
    }

    /// Where W and E lie in one gap.
    #[inline(always)]
    const fn one_gap_w_e(&self) -> u64 {
        !(self.w | self.e) & (!(self.nw | self.n | self.ne) | !(self.sw | self.s | self.se))
    }

    /// The nodes of borders along the pixels' sides.
    #[inline(always)]
    pub(super) const fn sides(&self) -> Nodes {
        Nodes {
            w: self.here & !self.w,
            e: self.here & !self.e,
            n: 0,
            s: 0,
        }
    }

    /// The kind of node whose gap holds the E neighbour of the pixel at `bit`, which is background.
    #[inline(always)]
    pub(super) const fn kind_at_e(&self, bit: u32) -> Kind {
        if self.one_gap_w_e() >> bit & 1 != 0 {
            Kind::W
        } else {
            Kind::E
        }
    }
}

/// The foreground among a pixel's neighbours, from direction `from` on counter-clockwise, as bits 0 to 7.
#[inline(always)]
const fn rotated(neighbours: u32, from: u32) -> u32 {
    ((neighbours | neighbours << 8) >> (from & 7)) & 255
}

/// The first foreground neighbour counter-clockwise after direction `from`; there is one.
#[inline(always)]
pub(super) const fn after(neighbours: u32, from: u32) -> u32 {
    (from + 1 + rotated(neighbours, from + 1).trailing_zeros()) & 7
}

/// The first foreground neighbour clockwise before direction `from`; there is one.
#[inline(always)]
pub(super) const fn before(neighbours: u32, from: u32) -> u32 {
    // Bit 7 is the direction before `from`.
    (from + 31 - rotated(neighbours, from).leading_zeros()) & 7
}

/// The node of the gap that begins after direction `back`, which leads to foreground.
#[inline(always)]
pub(super) const fn kind_after(neighbours: u32, back: u32) -> Kind {
    let gap = rotated(neighbours, back + 1).trailing_zeros();
    // How far a direction is from the gap's beginning.
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

/// A step in a direction: what to add to x and y, which may wrap around.
#[inline(always)]
pub(super) const fn step(direction: u32) -> (u32, u32) {
    // Two bits a direction, for -1, 0 and 1, plus 1.
    const X: u32 = 0b10_01_00_00_00_01_10_10;
    const Y: u32 = 0b10_10_10_01_00_00_00_01;
    (
        (X >> (2 * direction) & 3).wrapping_sub(1),
        (Y >> (2 * direction) & 3).wrapping_sub(1),
    )
}
