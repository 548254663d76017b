//! The binary image in a GPU's memory, and what is around a pixel.

use cuda_std::prelude::*;

use super::neighbours::neighbourhood;
use super::node_bits::{Around, BesideBits};
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

/// A binary image: rows padded with zeros to words of 64 pixels.
#[derive(Clone, Copy)]
pub(super) struct Pixels<'a> {
    pub(super) words: View<'a, u64>,
    pub(super) raster: Raster,
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
