//! Measures of components, from the finished labels.
//!
//! | | |
//! | --- | --- |
//! | launch | [`measure`](fn@measure) with [`blocks`]`(row_words, height)` blocks of 256 threads |
//! | reads | 1 bit per pixel, 4 bytes per run and word |
//! | writes | 7 atomics for every stretch of runs of one component that a thread meets |
//!
//! A thread goes down 32 rows of one column of words and adds up runs while their label stays the same. The sums are of
//! integers, so their order does not show.

use cuda_std::prelude::*;

use crate::primitives::bits::Stretch;
use crate::primitives::quotient;

/// Rows that a thread goes down.
const STRIP: u32 = 32;

/// Blocks for an image of `height` rows of `row_words` words.
#[must_use]
pub const fn blocks(row_words: u32, height: u32) -> u32 {
    (row_words as u64 * height.div_ceil(STRIP) as u64).div_ceil(256) as u32
}

/// What pixels of one component add up to.
#[derive(Clone, Copy)]
struct Tally {
    area: u64,
    sum_x: u64,
    sum_y: u64,
    min_x: u32,
    min_y: u32,
    max_x: u32,
    max_y: u32,
}

impl Tally {
    const NOTHING: Self = Self {
        area: 0,
        sum_x: 0,
        sum_y: 0,
        min_x: u32::MAX,
        min_y: u32::MAX,
        max_x: 0,
        max_y: 0,
    };

    /// Adds the pixels of row `y` from column `start` to before `end`.
    #[inline(always)]
    fn add_run(&mut self, y: u32, start: u32, end: u32) {
        let pixels = u64::from(end - start);
        self.area += pixels;
        self.sum_x += (u64::from(start) + u64::from(end) - 1) * pixels / 2;
        self.sum_y += u64::from(y) * pixels;
        self.min_x = self.min_x.min(start);
        self.min_y = self.min_y.min(y);
        self.max_x = self.max_x.max(end - 1);
        self.max_y = self.max_y.max(y);
    }
}

/// Adds up area, coordinate sums and bounding box of every component: element `i` is component `i + 1`'s.
///
/// # Safety
///
/// `image` has `row_words * height` words and `labels` `width * height` elements, none above the number of components;
/// the other views have an element per component, all bits 0, or 1 for `min_x` and `min_y`; nothing else uses them
/// meanwhile; the grid has [`blocks`]`(row_words, height)` blocks.
#[kernel(block = 256)]
pub unsafe fn measure(
    image: View<'_, u64>,
    labels: View<'_, u32>,
    area: ViewMut<'_, u64>,
    sum_x: ViewMut<'_, u64>,
    sum_y: ViewMut<'_, u64>,
    min_x: ViewMut<'_, u32>,
    min_y: ViewMut<'_, u32>,
    max_x: ViewMut<'_, u32>,
    max_y: ViewMut<'_, u32>,
    width: u32,
    height: u32,
    row_words: u32,
) {
    let item = thread::index_1d();
    let strip = quotient(item, row_words);
    let word_x = item - strip * row_words;
    // planted: measure-strip
    if strip >= height.div_ceil(STRIP) {
        return;
    }
    let flush = |label: u32, tally: &Tally| {
        if label != 0 {
            let i = label - 1;
            // planted: area-plain-add
            area.atomic_add(i, tally.area);
            sum_x.atomic_add(i, tally.sum_x);
            sum_y.atomic_add(i, tally.sum_y);
            min_x.atomic_min(i, tally.min_x);
            min_y.atomic_min(i, tally.min_y);
            max_x.atomic_max(i, tally.max_x);
            max_y.atomic_max(i, tally.max_y);
        }
    };
    let mut current = 0;
    let mut tally = Tally::NOTHING;
    let top = strip * STRIP;
    let bottom = if height - top < STRIP {
        height
    } else {
        top + STRIP
    };
    let mut y = top;
    while y < bottom {
        let mut rest = image.ldg(y * row_words + word_x);
        while rest != 0 {
            let stretch = Stretch::first(rest);
            rest = stretch.rest;
            let (start, end) = (word_x * 64 + stretch.start, word_x * 64 + stretch.end);
            let label = labels.ldg(y * width + start);
            if label != current {
                flush(current, &tally);
                current = label;
                tally = Tally::NOTHING;
            }
            tally.add_run(y, start, end);
        }
        y += 1;
    }
    flush(current, &tally);
}
