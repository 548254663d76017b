//! Run lengths of masks along columns, as COCO's annotations have them.
//!
//! A mask's pixels are read column by column, from top to bottom; before the first one lies
//! background. A **change** is a pixel that differs from the one before. With the number of pixels
//! after them, the places of the changes are where runs end, so the counts are their differences.
//!
//! 1. [`count_changes`](fn@count_changes) counts the changes of each column in stripes of
//!    [`STRIPE`] rows.
//! 2. A scan gives the number of changes before each: stripe by stripe, column by column, mask by
//!    mask.
//! 3. [`write_ends`](fn@write_ends) writes the places, and after those of each mask its number of
//!    pixels.
//! 4. [`write_counts`](fn@write_counts) takes the differences.

use cuda_std::prelude::*;

use crate::primitives::quotient;

/// Threads per block.
pub const BLOCK: u32 = 256;
/// Rows of a column that a thread reads.
pub const STRIPE: u32 = 256;
/// Rows whose words are loaded at once.
const ROWS: u32 = 8;

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
    /// Stripes of a column.
    #[inline(always)]
    #[must_use]
    pub const fn stripes(&self) -> u32 {
        self.height.div_ceil(STRIPE)
    }

    /// The number of stripes of all columns of all masks.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.images as u64 * self.width as u64 * self.stripes() as u64
    }

    /// Whether there are no masks.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.images == 0
    }

    /// Threads of [`count_changes`](fn@count_changes) and [`write_ends`](fn@write_ends): one per
    /// stripe, of columns in whole words. `None` for 2³² or more pixels in whole words.
    #[must_use]
    pub const fn threads(&self) -> Option<u32> {
        let columns = self.images as u64 * self.row_words as u64 * 64;
        // Each mask has one more end than changes.
        if columns >= 1 << 31 || columns * self.height as u64 + columns >= 1 << 32 {
            return None;
        }
        Some(columns as u32 * self.stripes())
    }

    /// The stripe of this thread, if there is one. Threads of a warp take columns side by side.
    #[inline(always)]
    fn own(&self) -> Option<Stripe> {
        let t = thread::index_1d();
        let columns = self.row_words * 64;
        let row = quotient(t, columns);
        let x = t - row * columns;
        let image = quotient(row, self.stripes());
        if x >= self.width || image >= self.images {
            return None;
        }
        let stripe = row - image * self.stripes();
        Some(Stripe { image, x, stripe })
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
        let Stripe { image, x, stripe } = stripe;
        let top = stripe * STRIPE;
        let end = if self.height - top < STRIPE {
            self.height
        } else {
            top + STRIPE
        };
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
            let pixels = [0, 1, 2, 3, 4, 5, 6, 7].map(|ahead| {
                if ahead < end - y {
                    self.pixel(image, x, y + ahead)
                } else {
                    0
                }
            });
            let mut bits = 0;
            let mut ahead = 0;
            while ahead < ROWS {
                bits |= pixels[ahead as usize] << ahead;
                ahead += 1;
            }
            let there = if end - y < ROWS {
                (1 << (end - y)) - 1
            } else {
                (1 << ROWS) - 1
            };
            let mut changes = (bits ^ (bits << 1 | before)) & there;
            before = bits >> (ROWS - 1);
            while changes != 0 {
                change(y + changes.trailing_zeros());
                changes &= changes - 1;
            }
            y += ROWS;
        }
    }
}

/// Some rows of a column of a mask.
#[derive(Clone, Copy)]
struct Stripe {
    image: u32,
    x: u32,
    stripe: u32,
}

impl Stripe {
    /// Its index, in the order of the masks' pixels.
    #[inline(always)]
    const fn index(self, masks: &Masks<'_>) -> u32 {
        (self.image * masks.width + self.x) * masks.stripes() + self.stripe
    }
}

/// Counts the changes of each stripe.
///
/// Launch: [`Masks::threads`] threads. Reads 1/8 byte per pixel, and writes 4 bytes per stripe.
///
/// # Safety
///
/// `counts` has an element per stripe, and nothing else uses it meanwhile. There are at least one
/// row, one column and one mask.
#[kernel(block = BLOCK, len(masks = (), counts = masks.len()))]
pub unsafe fn count_changes(masks: Masks<'_>, counts: ViewMut<'_, u32>) {
    if let Some(stripe) = masks.own() {
        let mut count = 0;
        masks.for_each_change(stripe, |_| count += 1);
        counts.st(stripe.index(&masks), count);
    }
}

/// Writes where the runs of each mask end, and the index of each mask's first end.
///
/// Launch: [`Masks::threads`] threads. Reads 1/8 byte per pixel and 4 bytes per stripe, and writes
/// 4 bytes per change and 8 per mask.
///
/// # Safety
///
/// `before` has the number of changes before each stripe; `ends` has room for all changes and one
/// more per mask. Nothing else uses `ends` and `firsts` meanwhile.
#[kernel(block = BLOCK, len(masks = (), before = masks.len(), firsts = masks.images))]
pub unsafe fn write_ends(
    masks: Masks<'_>,
    before: View<'_, u32>,
    ends: ViewMut<'_, u32>,
    firsts: ViewMut<'_, u32>,
) {
    let Some(stripe) = masks.own() else {
        return;
    };
    let Stripe { image, x, .. } = stripe;
    // Each mask before has one more end than changes.
    // planted: rle-last-ends
    let mut at = before.ldg(stripe.index(&masks)) + image;
    if x == 0 && stripe.stripe == 0 {
        firsts.st(image, at);
    }
    masks.for_each_change(stripe, |y| {
        ends.st(at, x * masks.height + y);
        at += 1;
    });
    if x == masks.width - 1 && stripe.stripe == masks.stripes() - 1 {
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
