//! [`Pixels`]: what borders are followed on, bits or values, with the same code for both.
//!
//! A border belongs to pixels of one **region**: the foreground of a binary image, or the pixels of
//! one value. All that following it takes is which of a pixel's eight neighbours belong to the
//! pixel's own region. A side of a pixel is part of a border where the neighbour beyond does not.
//!
//! | pixels | neighbours of the same region | file |
//! |---|---|---|
//! | bits | foreground | `plane.rs` |
//! | values | planes of equality to the E, S, SE and SW | `values/planes.rs` |

use std::ops::Range;

use trazar_kernels::trace::node_bits::BesideBits;

use super::chains::{Direction, STEPS};
use super::neighbours::is_foreground;
use crate::error::Result;
use crate::image::WORD_BITS;
use crate::trace::contours::BorderKind;

/// Rows without regions around the image: one, and one more because the neighbours of bits are read
/// as whole bytes.
pub(in crate::trace) const SPARE_ROWS: usize = 2;

/// The most steps that [`Pixels::straight`] returns: the 64 bits of eight bytes, less up to seven
/// bits before the place in the first byte, less the two neighbours.
pub(in crate::trace) const MAX_STRAIGHT: usize = 55;

/// Rows of pixels, 64 per word, surrounded by pixels of no region.
///
/// A pixel is a **place**: its bit's index. Rows are [`stride`](Self::stride) bits apart. At least
/// one spare bit ends each row, and [`SPARE_ROWS`] rows are above and below, so a pixel of a region
/// always has its neighbours: at `place ± 1` and `place ± stride ± {0, 1}`.
pub(in crate::trace) trait Pixels: Sync {
    /// How many of a corner's two diagonals can be saddles at the same time: 1 for bits, 2 for
    /// values.
    const DIAGONALS: usize;

    /// The words of a row.
    fn row_words(&self) -> usize;

    /// The pixels of the word `at` that belong to regions, and those whose neighbours to the W and
    /// E belong to the same region. Bits of pixels without a region have no meaning.
    fn row(&self, at: usize) -> BesideBits;

    /// Those whose neighbours to the NW (`west`), N (`here`) and NE (`east`) do.
    fn above(&self, at: usize) -> BesideBits;

    /// Those whose neighbours to the SW, S and SE do.
    fn below(&self, at: usize) -> BesideBits;

    /// The pixels above a line and those below it that belong to regions, and whether both of a
    /// column belong to the same: for the line above the pixels of the word `at`.
    fn line(&self, at: usize) -> [u64; 3];

    /// The 3 × 3 pixels around the one at `place`, as bits: 0 to 2 the row above from W to E, 3
    /// to 5 the pixel's row, 6 to 8 the row below. A bit is set if the pixel belongs to the same
    /// region as the one at `place`, which belongs to one.
    fn window(&self, place: usize) -> usize;

    /// For a walk along the side `code` of the pixel at `place` (half the direction that the side
    /// is in), with the pixel on its left: whether the pixel ahead and the one diagonally ahead,
    /// beyond the side, belong to the pixel's region.
    #[inline(always)]
    fn ahead(&self, place: usize, code: u8) -> [bool; 2] {
        let window = self.window(place);
        let aside = code * 2;
        [
            is_foreground(window, (aside + 2) & 7),
            is_foreground(window, (aside + 1) & 7),
        ]
    }

    /// The number of straight steps, at most [`MAX_STRAIGHT`], of a walk that has come to `place`
    /// straight from the W (direction 0) or the E (direction 4). It goes straight on while the
    /// pixel ahead belongs to the region and none in the row on its right hand does, which is
    /// below (or above). Fewer steps than there are may be returned.
    fn straight(&self, place: usize, direction: Direction) -> usize;

    /// Visits the words of a row in order: the word's index in the row, and, if there are vertical
    /// sides in it, its [`row`](Self::row) and what is [`above`](Self::above).
    fn for_each_word(&self, row: usize, visit: impl FnMut(usize, Option<(BesideBits, BesideBits)>));

    /// The column of the side that precedes, in its row and region, the side at which a border
    /// begins. An outer border begins at the west side of pixel `x`, and the result is an east
    /// side; a hole's begins at the east side of `x`, and the result is a west side.
    fn side_before(&self, kind: BorderKind, x: usize, row: usize) -> Option<usize>;

    /// Bits between a pixel and the one below it.
    #[inline(always)]
    fn stride(&self) -> usize {
        self.row_words() * WORD_BITS
    }

    /// The pixel at a place.
    fn coordinates(&self, place: usize) -> (u32, u32) {
        let (y, x) = (place / self.stride(), place % self.stride());
        (x as u32, (y - SPARE_ROWS) as u32)
    }

    /// The place of pixel `(x, y)`.
    #[inline(always)]
    fn place(&self, x: u32, y: u32) -> usize {
        (y as usize + SPARE_ROWS) * self.stride() + x as usize
    }

    /// Distances from a pixel's place to its neighbours'.
    fn neighbour_offsets(&self) -> [isize; 8] {
        let stride = self.stride() as isize;
        STEPS.map(|(dx, dy)| dx as isize + dy as isize * stride)
    }

    /// The place of the neighbour in a direction.
    #[inline(always)]
    fn neighbour(&self, place: usize, direction: Direction) -> usize {
        let (dx, dy) = STEPS[usize::from(direction)];
        place.wrapping_add_signed(dx as isize + dy as isize * self.stride() as isize)
    }
}

/// An image, or a band of one, whose borders are followed in strips of rows.
pub(in crate::trace) trait Strips: Copy + Sync {
    /// The pixels of a strip.
    type Pixels: Pixels + Send;

    /// Width in pixels.
    fn width(&self) -> u32;

    /// Height in pixels.
    fn height(&self) -> u32;

    /// Whether there is a row above some rows, and one below.
    fn goes_on(&self, rows: &Range<u32>) -> [bool; 2];

    /// Room for the pixels of strips of at most `rows` rows.
    fn room(&self, rows: u32) -> Result<Self::Pixels>;

    /// Sets the pixels of a strip, with those of the row above and the row below. Calls `visit` for
    /// each of the strip's rows once it and the row above it are set.
    fn load(
        &self,
        pixels: &mut Self::Pixels,
        rows: &Range<u32>,
        visit: impl FnMut(&Self::Pixels, usize),
    );
}
