//! Binary images of 1 bit per pixel, how they are made from images of bytes, and what kernels know
//! of images of values.

pub mod bits;
pub mod equality;
pub mod pack;

use cuda_std::prelude::*;

use crate::primitives::quotient;

/// Words per row of an image of `width` pixels.
#[must_use]
pub const fn row_words(width: u32) -> u32 {
    width.div_ceil(64)
}

/// A binary image: 1 bit per pixel, the leftmost pixel of a word in its least significant bit.
#[repr(C)]
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct BitImage<'a> {
    /// The rows' words. Bits past the width are 0.
    #[len(self.row_words * self.height)]
    pub words: View<'a, u64>,
    /// Pixels per row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Words per row: [`row_words`]`(width)`.
    pub row_words: u32,
}

impl BitImage<'_> {
    /// The pixels of images that are stacked in this one, their tops `pitch` rows apart, with a row
    /// of background after each; the last image may lack it. Past 2³², their number modulo 2³².
    #[must_use]
    pub const fn stack_pixels(&self, pitch: u32) -> u32 {
        let rows_between = quotient(self.height, pitch);
        self.width.wrapping_mul(self.height - rows_between)
    }

    /// Whether pixel `(x, y)`, which is in the image, is foreground.
    #[inline(always)]
    #[must_use]
    pub fn is_foreground(&self, x: u32, y: u32) -> bool {
        self.words.ldg(y * self.row_words + x / 64) >> (x % 64) & 1 != 0
    }
}

/// An image of one byte per pixel, whose foreground is `value > threshold`.
#[repr(C)]
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct ByteImage<'a> {
    /// The pixels' values.
    #[len(self.pitch * self.rows_above_last() + self.width)]
    pub values: View<'a, u8>,
    /// Pixels per row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Bytes from the start of a row to the start of the next one: at least the width.
    pub pitch: u32,
    /// The largest value of background, 0 to 255.
    pub threshold: u32,
}

#[cfg(not(target_arch = "nvptx64"))]
impl ByteImage<'_> {
    /// Rows but the last, which may be shorter than the pitch.
    fn rows_above_last(&self) -> u32 {
        self.height.saturating_sub(1)
    }
}
