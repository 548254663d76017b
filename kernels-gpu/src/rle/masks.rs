//! Run lengths of masks of bits.
//!
//! A mask's pixels are read column by column, from top to bottom; before the first one lies
//! background. A **change** is a pixel that differs from the one before. With the number of pixels
//! after them, the places of the changes are where runs end, so the counts are their differences.
//!
//! 1. [`count_changes`](fn@count_changes) counts the changes of each column in stripes of
//!    [`STRIPE`](super::columns::STRIPE) rows.
//! 2. A scan gives the number of changes before each: stripe by stripe, column by column, mask by
//!    mask.
//! 3. [`write_ends`](fn@write_ends) writes the places, and after those of each mask its number of
//!    pixels.
//! 4. [`write_counts`](fn@write_counts) takes the differences.

use cuda_std::prelude::*;

use super::columns::{Columns, ROWS, Stripe, bits_down, rows_down};

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Masks of one size, stacked vertically with a row of background after each.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct Masks<'a> {
    /// The rows' words, the leftmost pixel in the least significant bit.
    #[len(u64::from(self.images) * (u64::from(self.height) + 1) * u64::from(self.row_words))]
    pub words: View<'a, u64>,
    /// Pixels per row.
    pub width: u32,
    /// Rows of a mask.
    pub height: u32,
    /// Words per row.
    pub row_words: u32,
    /// The number of masks.
    pub images: u32,
}

impl Masks<'_> {
    /// The masks' columns.
    #[inline(always)]
    #[must_use]
    pub const fn columns(&self) -> Columns {
        Columns {
            width: self.width,
            height: self.height,
            images: self.images,
        }
    }

    /// Pixel `(x, y)` of a mask.
    #[inline(always)]
    fn pixel(&self, image: u32, x: u32, y: u32) -> u32 {
        let row = image as usize * (self.height as usize + 1) + y as usize;
        let word = row * self.row_words as usize + (x / 64) as usize;
        (self.words.ldg(word) >> (x % 64)) as u32 & 1
    }

    /// Calls `change` with the row of each change of a stripe, from top to bottom.
    #[inline(always)]
    fn for_each_change(&self, stripe: Stripe, mut change: impl FnMut(u32)) {
        let Stripe {
            image, x, top, end, ..
        } = stripe;
        let mut before = if top > 0 {
            // planted: rle-stripe
            self.pixel(image, x, top - 1)
        } else if x > 0 {
            // planted: rle-column
            self.pixel(image, x - 1, self.height - 1)
        } else {
            0
        };
        let mut y = top;
        while y < end {
            let bits = bits_down(y, end, |y| self.pixel(image, x, y));
            let mut changes = (bits ^ (bits << 1 | before)) & rows_down(y, end);
            before = bits >> (ROWS - 1);
            while changes != 0 {
                change(y + changes.trailing_zeros());
                changes &= changes - 1;
            }
            y += ROWS;
        }
    }
}

/// Counts the changes of each stripe.
///
/// Launch: [`Columns::threads`] threads. Reads 1/8 byte per pixel, and writes 4 bytes per stripe.
///
/// # Safety
///
/// `counts` has an element per stripe, and nothing else uses it meanwhile. There are at least one
/// row, one column and one mask.
#[kernel(block = BLOCK, len(masks = (), counts = masks.columns().stripe_count()))]
pub unsafe fn count_changes(masks: Masks<'_>, counts: ViewMut<'_, u32>) {
    if let Some(stripe) = masks.columns().own() {
        let mut count = 0;
        masks.for_each_change(stripe, |_| count += 1);
        counts.st(stripe.index, count);
    }
}

/// Writes where the runs of each mask end, and the index of each mask's first end.
///
/// Launch: [`Columns::threads`] threads. Reads 1/8 byte per pixel and 4 bytes per stripe, and
/// writes 4 bytes per change and 8 per mask.
///
/// # Safety
///
/// `before` has the number of changes before each stripe; `ends` has room for all changes and one
/// more per mask. Nothing else uses `ends` and `firsts` meanwhile.
#[kernel(block = BLOCK, len(
    masks = (),
    before = masks.columns().stripe_count(),
    firsts = masks.images,
))]
pub unsafe fn write_ends(
    masks: Masks<'_>,
    before: View<'_, u32>,
    ends: ViewMut<'_, u32>,
    firsts: ViewMut<'_, u32>,
) {
    let Some(stripe) = masks.columns().own() else {
        return;
    };
    let Stripe {
        image, x, top, end, ..
    } = stripe;
    // Each mask before has one more end than changes.
    // planted: rle-last-ends
    let mut at = before.ldg(stripe.index) + image;
    if x == 0 && top == 0 {
        firsts.st(image, at);
    }
    masks.for_each_change(stripe, |y| {
        ends.st(at, x * masks.height + y);
        at += 1;
    });
    if x == masks.width - 1 && end == masks.height {
        ends.st(at, masks.width * masks.height);
    }
}

/// Writes the counts: from each run's end to the next.
///
/// Launch: one thread per end. Reads 8 bytes per end, and writes 4.
///
/// # Safety
///
/// `ends` are those of masks of `pixels` pixels; nothing else uses `counts` meanwhile.
#[kernel(block = BLOCK, len(counts = ends.len()))]
pub unsafe fn write_counts(ends: View<'_, u32>, pixels: u32, counts: ViewMut<'_, u32>) {
    let i = thread::index_1d();
    if i as usize >= ends.len() {
        return;
    }
    let mut begin = 0;
    if i > 0 {
        let before = ends.ldg(i - 1);
        // The last end of the mask before.
        // planted: rle-first-count
        if before != pixels {
            begin = before;
        }
    }
    counts.st(i, ends.ldg(i) - begin);
}
