//! What pixels add to perimeters and Euler numbers, 64 at a time, from the planes of equality.

use crate::image::equality::{E, EqualTo, EqualityPlanes, S, SE, SW};

/// A word's bits of the left neighbours, given the word to the left.
#[inline(always)]
const fn from_left(left: u64, here: u64) -> u64 {
    here << 1 | left >> 63
}

/// A word's bits of the right neighbours, given the word to the right.
#[inline(always)]
const fn from_right(here: u64, right: u64) -> u64 {
    here >> 1 | right << 63
}

/// The pixels of `border` that add 1, √2, or the mean of both to the perimeter: by the numbers of
/// border pixels of the same label among their neighbours at the four sides and at the four corners
/// (Benkrid and Crookes, Design and FPGA Implementation of a Perimeter Estimator, 2000).
#[must_use]
#[inline(always)]
pub const fn outline_of(border: u64, sides: [u64; 4], corners: [u64; 4]) -> [u64; 3] {
    let (sides, corners) = (Count::of(sides), Count::of(corners));
    let straight =
        (sides.is_2() | sides.is_3()) & (corners.is_0() | corners.is_1() | corners.is_2());
    let oblique = sides.is_0() & corners.is_2() | sides.is_1() & corners.is_3();
    let mixed = sides.is_1() & (corners.is_1() | corners.is_2());
    [straight & border, oblique & border, mixed & border]
}

impl EqualityPlanes<'_> {
    /// The pixels of a word that equal their left neighbours.
    #[inline(always)]
    fn left(&self, word_x: u32, y: u32) -> u64 {
        from_left(
            self.plane(E, word_x.wrapping_sub(1), y),
            self.plane(E, word_x, y),
        )
    }

    /// The pixels of a word with a side on which the neighbour is not equal.
    #[inline(always)]
    fn border(&self, word_x: u32, y: u32) -> u64 {
        let right = self.plane(E, word_x, y);
        let left = self.left(word_x, y);
        let below = self.plane(S, word_x, y);
        // planted: measure-border
        !(right & left & below & self.plane(S, word_x, y.wrapping_sub(1)))
    }

    /// The pixels of a word with the pairs and squares that
    /// [`PAIR_WORDS`](super::sums::PAIR_WORDS) lists after the runs: of squares with one diagonal,
    /// those to the upper left, and those to the upper right.
    #[inline(always)]
    pub(super) fn pairs(&self, word_x: u32, y: u32) -> [u64; 6] {
        let EqualTo { e, s, se, sw } = self.equal_to(word_x, y);
        let left = self.left(word_x, y);
        // planted: measure-diagonals
        [s, se, sw, e & s & se, se & !e & !s, sw & !left & !s]
    }

    /// The border pixels of a word [that add](outline_of) to the perimeter.
    #[inline(always)]
    pub(super) fn outline(&self, word_x: u32, y: u32) -> [u64; 3] {
        let border = self.border(word_x, y);
        if border == 0 {
            return [0; 3];
        }
        let (west, east) = (word_x.wrapping_sub(1), word_x + 1);
        let (up, down) = (y.wrapping_sub(1), y + 1);
        let EqualTo { e, s, se, sw } = self.equal_to(word_x, y);
        let above = self.equal_to(word_x, up);
        let left = self.left(word_x, y);
        let sides = [
            e & from_right(border, self.border(east, y)),
            left & from_left(self.border(west, y), border),
            above.s & self.border(word_x, up),
            s & self.border(word_x, down),
        ];
        let up_right = from_right(above.sw, self.plane(SW, east, up));
        let up_left = from_left(self.plane(SE, west, up), above.se);
        let (border_up, border_down) = (self.border(word_x, up), self.border(word_x, down));
        let corners = [
            se & from_right(border_down, self.border(east, down)),
            sw & from_left(self.border(west, down), border_down),
            up_right & from_right(border_up, self.border(east, up)),
            up_left & from_left(self.border(west, up), border_up),
        ];
        outline_of(border, sides, corners)
    }
}

/// For each bit of four words, how many of them have it.
#[derive(Clone, Copy)]
struct Count {
    ones: u64,
    twos: u64,
    fours: u64,
}

impl Count {
    #[inline(always)]
    const fn of([a, b, c, d]: [u64; 4]) -> Self {
        let (low, low_carry) = (a ^ b, a & b);
        let (high, high_carry) = (c ^ d, c & d);
        let carry = low & high;
        Self {
            ones: low ^ high,
            twos: low_carry ^ high_carry ^ carry,
            fours: low_carry & high_carry,
        }
    }

    #[inline(always)]
    const fn is_0(self) -> u64 {
        !(self.ones | self.twos | self.fours)
    }

    #[inline(always)]
    const fn is_1(self) -> u64 {
        self.ones & !self.twos
    }

    #[inline(always)]
    const fn is_2(self) -> u64 {
        self.twos & !self.ones
    }

    #[inline(always)]
    const fn is_3(self) -> u64 {
        self.ones & self.twos
    }
}
