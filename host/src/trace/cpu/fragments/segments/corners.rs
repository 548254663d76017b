//! [`Corners`]: the turns of borders at the corners of 64 pixels.

use super::super::super::pixels::Pixels;
use super::super::super::saddles::Diagonal;
use super::super::super::transpose::bytes_of;
use super::Ground;
use crate::image::WORD_BITS;

/// Turns of borders at the upper left corners of 64 pixels, one bit per corner: each is an end of a
/// segment.
#[derive(Clone, Copy)]
pub(super) struct Turns {
    pub(super) at: u64,
    /// Of these, where the border goes on at the other side of the line. Elsewhere it turns back to
    /// the row of its segment's pixels.
    pub(super) across: u64,
}

/// The turns at the upper left corners of a word's pixels, by the row of their pixels and the end
/// of the segment. A border runs to the east above a line, and to the west below it.
#[derive(Clone, Copy)]
pub(super) struct Corners {
    /// Where a segment above the line ends, at its right end.
    pub(super) above_right: Turns,
    /// Where one above the line begins.
    pub(super) above_left: Turns,
    /// Where one below the line begins.
    pub(super) below_right: Turns,
    /// Where one below the line ends, at its left end.
    pub(super) below_left: Turns,
}

/// More about the same corners.
pub(super) struct Sides {
    /// Vertical sides above the line that run down, and up.
    pub(super) above: [u64; 2],
    /// Vertical sides below the line that run down, and up.
    pub(super) below: [u64; 2],
    /// Open saddles, by [`Diagonal`].
    pub(super) open: [u64; 2],
}

/// The pixels at a line, in one word above it and one below it.
#[derive(Clone, Copy)]
pub(super) struct LineWord {
    /// Those above it, and below it, that belong to regions.
    pixels: [u64; 2],
    /// Whether both of a column belong to the same.
    across: u64,
}

impl LineWord {
    /// The line above the pixels of the plane's word `at`.
    #[inline(always)]
    pub(super) fn at<P: Pixels>(plane: &P, at: usize) -> Self {
        let [above, below, across] = plane.line(at);
        Self {
            pixels: [above, below],
            across,
        }
    }

    /// The columns with a side on the line.
    #[inline(always)]
    pub(super) fn sides(&self) -> u64 {
        (self.pixels[0] | self.pixels[1]) & !self.across
    }
}

/// Which of the four pixels around each corner belong to one region.
pub(super) struct Around {
    /// The pixels to the NW, NE, SW and SE that belong to a region.
    pixels: [u64; 4],
    /// Whether both pixels above the line belong to one region, and both below it.
    along: [u64; 2],
    /// Whether both pixels to the left of the corner do, and both to the right.
    across: [u64; 2],
    /// Whether the pixels on a [`Diagonal`] do.
    diagonals: [u64; 2],
    /// The joined saddles, by [`Diagonal`].
    joined: [u64; 2],
}

impl Around {
    /// The corners of the plane's word `at`.
    #[inline(always)]
    pub(super) fn at<P: Pixels>(ground: &Ground<'_, P>, at: usize) -> Self {
        let plane = ground.plane;
        // Rows end with spare bits, so nothing is before the first word of a row.
        let [before, line] = [at - 1, at].map(|at| LineWord::at(plane, at));
        let [above, below] = line.pixels;
        let to_the_left = |word: u64, before: u64| word << 1 | before >> (WORD_BITS - 1);
        let up = at - plane.row_words();
        let word = ground.word_of_saddles(at);
        Self {
            pixels: [
                to_the_left(above, before.pixels[0]),
                above,
                to_the_left(below, before.pixels[1]),
                below,
            ],
            along: [plane.row(up).west & above, plane.row(at).west & below],
            across: [to_the_left(line.across, before.across), line.across],
            diagonals: [plane.above(at).west & below, plane.below(up).west & above],
            joined: [Diagonal::Falling, Diagonal::Rising]
                .map(|diagonal| ground.saddles.joined::<P>(word, diagonal)),
        }
    }

    /// The turns.
    #[inline(always)]
    pub(super) fn corners(&self) -> Corners {
        let [nw, ne, sw, se] = self.pixels;
        let [along_above, along_below] = self.along;
        let [left, right] = self.across;
        // A segment's pixels have a side on the line. It goes on straight where the next pixel
        // belongs to the region and has one too.
        let turns = |side: u64, along: u64, diagonal: Diagonal| {
            let opposite = self.diagonals[diagonal as usize];
            let at = side & !(along & !opposite);
            Turns {
                at,
                across: at & opposite & (along | self.joined[diagonal as usize]),
            }
        };
        Corners {
            above_right: turns(nw & !left, along_above, Diagonal::Falling),
            above_left: turns(ne & !right, along_above, Diagonal::Rising),
            below_right: turns(sw & !left, along_below, Diagonal::Rising),
            below_left: turns(se & !right, along_below, Diagonal::Falling),
        }
    }

    /// The vertical sides and the open saddles.
    pub(super) fn sides<P: Pixels>(&self, ground: &Ground<'_, P>, at: usize) -> Sides {
        let [nw, ne, sw, se] = self.pixels;
        let [along_above, along_below] = self.along;
        let word = ground.word_of_saddles(at);
        let apart = !(along_above | along_below | self.across[0] | self.across[1]);
        let open = |diagonal: Diagonal| {
            let saddles = self.diagonals[diagonal as usize] & apart;
            saddles & ground.saddles.open::<P>(word, diagonal)
        };
        Sides {
            above: [ne & !along_above, nw & !along_above],
            below: [se & !along_below, sw & !along_below],
            open: [open(Diagonal::Falling), open(Diagonal::Rising)],
        }
    }
}

impl Corners {
    /// The corners at which a border turns.
    #[inline(always)]
    pub(super) fn any(&self) -> u64 {
        self.above_right.at | self.above_left.at | self.below_right.at | self.below_left.at
    }

    /// The turns at each corner, as a set.
    #[inline(always)]
    pub(super) fn sets(&self) -> [u8; WORD_BITS] {
        let back = |turns: Turns| turns.at & !turns.across;
        let words = [
            back(self.above_right),
            self.above_right.across,
            back(self.above_left),
            self.above_left.across,
            back(self.below_right),
            self.below_right.across,
            back(self.below_left),
            self.below_left.across,
        ];
        bytemuck::cast(bytes_of(words))
    }
}

/// The turns in the [sets](Corners::sets) of corners: those that turn back to the row of their
/// segment's pixels, and those that go on across the line.
pub(super) const ABOVE_RIGHT_BACK: u8 = 1;
pub(super) const ABOVE_RIGHT_ACROSS: u8 = 1 << 1;
pub(super) const ABOVE_LEFT_BACK: u8 = 1 << 2;
pub(super) const ABOVE_LEFT_ACROSS: u8 = 1 << 3;
pub(super) const BELOW_RIGHT_BACK: u8 = 1 << 4;
pub(super) const BELOW_RIGHT_ACROSS: u8 = 1 << 5;
pub(super) const BELOW_LEFT_BACK: u8 = 1 << 6;
pub(super) const BELOW_LEFT_ACROSS: u8 = 1 << 7;
