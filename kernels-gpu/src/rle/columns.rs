//! The columns of images of one size, in stripes of rows.

use cuda_std::prelude::*;

use crate::primitives::quotient;

/// Rows of a column that a thread reads.
pub const STRIPE: u32 = 256;
/// Rows that are loaded at once.
pub(super) const ROWS: u32 = 8;

/// The columns of images of one size.
#[derive(Clone, Copy)]
pub struct Columns {
    /// Pixels per row.
    pub width: u32,
    /// Rows of an image.
    pub height: u32,
    /// The number of images.
    pub images: u32,
}

/// Some rows of a column of an image.
#[derive(Clone, Copy)]
pub(super) struct Stripe {
    pub(super) image: u32,
    pub(super) x: u32,
    /// The first row.
    pub(super) top: u32,
    /// The row after the last.
    pub(super) end: u32,
    /// The stripe's index, in the order of pixels: image by image, column by column.
    pub(super) index: u32,
}

impl Columns {
    /// Stripes of a column.
    #[inline(always)]
    const fn stripes(self) -> u32 {
        self.height.div_ceil(STRIPE)
    }

    /// The number of stripes of all columns of all images.
    #[must_use]
    pub const fn stripe_count(self) -> u64 {
        self.images as u64 * self.width as u64 * self.stripes() as u64
    }

    /// The width, rounded up to whole words.
    #[inline(always)]
    const fn padded_width(self) -> u32 {
        self.width.next_multiple_of(64)
    }

    /// Threads of kernels that take a stripe each, of columns in whole words. `None` for 2³² or
    /// more pixels, counted in whole words and with one more row per image.
    #[must_use]
    pub const fn threads(self) -> Option<u32> {
        if self.width > u32::MAX - 63 {
            return None;
        }
        let columns = self.images as u64 * self.padded_width() as u64;
        // Each mask has one more end than changes.
        if columns >= 1 << 31 || columns * self.height as u64 + columns >= 1 << 32 {
            return None;
        }
        Some(columns as u32 * self.stripes())
    }

    /// The stripe of this thread, if there is one. Threads of a warp take columns side by side.
    #[inline(always)]
    pub(super) fn own(self) -> Option<Stripe> {
        let t = thread::index_1d();
        let columns = self.padded_width();
        let row = quotient(t, columns);
        let x = t - row * columns;
        let image = quotient(row, self.stripes());
        if x >= self.width || image >= self.images {
            return None;
        }
        let stripe = row - image * self.stripes();
        let top = stripe * STRIPE;
        let end = if self.height - top < STRIPE {
            self.height
        } else {
            top + STRIPE
        };
        let index = (image * self.width + x) * self.stripes() + stripe;
        Some(Stripe {
            image,
            x,
            top,
            end,
            index,
        })
    }
}

/// The bits of up to [`ROWS`] rows from row `y` to before row `end`, that of row `y` in the least
/// significant bit. All are loaded at once; instead of rows from `end` on, the last row is loaded
/// again.
#[inline(always)]
pub(super) fn bits_down(y: u32, end: u32, bit: impl Fn(u32) -> u32) -> u32 {
    let last = end - 1 - y;
    let rows =
        [0, 1, 2, 3, 4, 5, 6, 7].map(|ahead| bit(y + if ahead < last { ahead } else { last }));
    let mut bits = 0;
    let mut ahead = 0;
    while ahead < ROWS {
        bits |= rows[ahead as usize] << ahead;
        ahead += 1;
    }
    bits & rows_down(y, end)
}

/// A bit for each of these rows.
#[inline(always)]
pub(super) const fn rows_down(y: u32, end: u32) -> u32 {
    if end - y < ROWS {
        (1 << (end - y)) - 1
    } else {
        (1 << ROWS) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads for images of these sizes.
    fn threads(width: u32, height: u32, images: u32) -> Option<u32> {
        let columns = Columns {
            width,
            height,
            images,
        };
        columns.threads()
    }

    #[test]
    fn columns_have_whole_words_and_stripes() {
        assert_eq!(threads(1, 1, 1), Some(64));
        assert_eq!(threads(64, 256, 3), Some(192));
        assert_eq!(threads(65, 257, 3), Some(3 * 128 * 2));
    }

    #[test]
    fn more_pixels_than_kernels_number_are_refused() {
        // With one more end per column, 2³² - 2¹⁶ and 2³².
        assert!(threads(1 << 16, (1 << 16) - 2, 1).is_some());
        assert_eq!(threads(1 << 16, (1 << 16) - 1, 1), None);
        assert_eq!(threads((1 << 16) - 1, (1 << 16) - 1, 1), None);
        assert_eq!(threads(1 << 31, 1, 1), None);
        assert_eq!(threads(u32::MAX, 1, 1), None);
        assert!(threads(64, 1, (1 << 25) - 1).is_some());
        assert_eq!(threads(64, 1, 1 << 25), None);
    }
}
