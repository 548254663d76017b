//! The binary image in a GPU's memory, and the neighbours of a pixel.

use cuda_std::prelude::*;

use super::neighbours::neighbourhood;
use super::node_bits::{Around, BesideBits};
use super::options::Geometry;
use crate::primitives::quotient;

/// An image's size.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod)]
pub struct Raster {
    /// Pixels per row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Words per row.
    pub row_words: u32,
}

impl Raster {
    /// The most words, counted in whole tiles of rows, so that all indices of words and of tiles'
    /// rows fit 32 bits.
    pub const MOST_WORDS: u64 = 1 << 31;
    /// The most pixels, and the most words, of an image whose nodes fit 32 bits. A node is its
    /// pixel's index and two bits.
    pub const MOST_NUMBERED: u64 = 1 << 30;

    /// The size of an image of `width × height` pixels; none if it has more than
    /// [`MOST_WORDS`](Self::MOST_WORDS).
    #[must_use]
    pub const fn new(width: u32, height: u32) -> Option<Self> {
        let row_words = width.div_ceil(64);
        if row_words as u64 * (height as u64).next_multiple_of(64) > Self::MOST_WORDS {
            return None;
        }
        Some(Self {
            width,
            height,
            row_words,
        })
    }

    /// Pixels of the image.
    #[must_use]
    pub const fn pixels(self) -> u64 {
        self.width as u64 * self.height as u64
    }

    /// Whether there are at most [`MOST_NUMBERED`](Self::MOST_NUMBERED) pixels, and as many words.
    #[must_use]
    pub const fn are_nodes_numbered(self) -> bool {
        self.pixels() <= Self::MOST_NUMBERED && self.words() as u64 <= Self::MOST_NUMBERED
    }

    /// Words of the image.
    #[must_use]
    pub const fn words(self) -> u32 {
        self.row_words * self.height
    }

    /// The index of pixel `(x, y)`, row by row, of an image whose [nodes are
    /// numbered](Self::are_nodes_numbered). Wraps around if there is no such pixel.
    #[inline(always)]
    pub(super) const fn pixel(self, x: u32, y: u32) -> u32 {
        y.wrapping_mul(self.width).wrapping_add(x)
    }

    /// The index of pixel `(x, y)` of any image.
    #[inline(always)]
    pub(crate) const fn wide_pixel(self, x: u32, y: u32) -> u64 {
        y as u64 * self.width as u64 + x as u64
    }

    /// The column and the row of the pixel at an index.
    #[inline(always)]
    pub(super) fn split(self, pixel: u32) -> (u32, u32) {
        let y = quotient(pixel, self.width);
        (pixel - y * self.width, y)
    }

    /// The column and the row of the pixel at a bit of a word.
    #[inline(always)]
    pub(super) fn pixel_of_word(self, word: u32, bit: u32) -> (u32, u32) {
        let y = quotient(word, self.row_words);
        ((word - y * self.row_words) * 64 + bit, y)
    }
}

/// A binary image.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct Pixels<'a> {
    /// The rows, the leftmost pixel in the least significant bit. The bits that pad a row to whole
    /// words are 0.
    #[len(self.raster.words())]
    pub words: View<'a, u64>,
    /// Its size.
    pub raster: Raster,
}

/// An image to trace, and where its borders run.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct TracedImage<'a> {
    /// The image.
    #[len(())]
    pub pixels: Pixels<'a>,
    /// Along edges: each pixel's label, numbering 4-connected components. Over centers: not used.
    #[len(self.labelled())]
    pub labels: View<'a, u32>,
    /// Where borders run.
    pub geometry: Geometry,
}

#[cfg(not(target_arch = "nvptx64"))]
impl TracedImage<'_> {
    /// The number of pixels that have labels.
    fn labelled(&self) -> u64 {
        match self.geometry {
            Geometry::Centers => 0,
            Geometry::Edges => self.pixels.raster.pixels(),
        }
    }
}

impl TracedImage<'_> {
    /// Whether pixels `(x, y)` and `(u, v)`, which touch at a corner, belong to one 4-connected
    /// component.
    #[inline(always)]
    pub(super) fn joined(&self, x: u32, y: u32, u: u32, v: u32) -> bool {
        let at = |x, y| self.pixels.raster.wide_pixel(x, y) as usize;
        // planted: saddle
        self.labels.ldg(at(x, y)) == self.labels.ldg(at(u, v))
    }
}

impl Pixels<'_> {
    /// The word `word_x` of row `y`; 0 outside the image, also if `word_x` or `y` has wrapped
    /// around below 0.
    #[inline(always)]
    pub(super) fn word(&self, word_x: u32, y: u32) -> u64 {
        // planted: around-height
        if word_x < self.raster.row_words && y < self.raster.height {
            self.words.ldg(y * self.raster.row_words + word_x)
        } else {
            0
        }
    }

    /// Whether pixel `(x, y)` is foreground; no pixel outside the image is.
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

    /// The foreground among the neighbours of pixel `(x, y)`: one bit per direction.
    #[inline(always)]
    pub(super) fn neighbours(&self, x: u32, y: u32) -> u32 {
        let above = self.three(x, y.wrapping_sub(1));
        let row = self.three(x, y);
        let below = self.three(x, y + 1);
        neighbourhood(above, row, below)
    }

    /// The word `word_x` of row `y`, and its pixels' neighbours.
    #[inline(always)]
    pub(super) fn around(&self, word_x: u32, y: u32) -> Around {
        let row = |y| {
            let here = self.word(word_x, y);
            // planted: around-west-carry
            let left = self.word(word_x.wrapping_sub(1), y);
            let right = self.word(word_x + 1, y);
            BesideBits::new(left, here, right)
        };
        Around::new(row(y.wrapping_sub(1)), row(y), row(y + 1))
    }

    /// The W and the E sides of the pixels of word `word_x` of row `y`.
    #[inline(always)]
    pub(super) fn vertical_sides(&self, word_x: u32, y: u32) -> (u64, u64) {
        let here = self.word(word_x, y);
        let left = self.word(word_x.wrapping_sub(1), y);
        BesideBits::new(left, here, self.word(word_x + 1, y)).vertical_sides()
    }
}

#[cfg(test)]
mod tests {
    use super::Raster;

    #[test]
    fn the_largest_rasters() {
        assert!(Raster::new(i32::MAX as u32, 64).is_some());
        assert!(Raster::new(64, 1 << 31).is_some());
        assert!(Raster::new(65, 1 << 31).is_none());
        assert!(Raster::new(65, 1 << 30).is_some());
        let numbered = |width, height| Raster::new(width, height).unwrap().are_nodes_numbered();
        assert!(numbered(1 << 15, 1 << 15));
        assert!(!numbered(1 << 15, (1 << 15) + 1));
        assert!(!numbered(1, (1 << 30) + 1));
    }
}
