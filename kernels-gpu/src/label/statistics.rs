//! Measures of components, from the finished labels.
//!
//! | | |
//! | --- | --- |
//! | launch | [`measure`](fn@measure) with [`threads`]`(row_words, height)` threads |
//! | reads | 1 bit per pixel, 4 bytes per run and word |
//! | writes | 7 atomics for each series of runs of one component in a thread's strip |
//!
//! A thread goes down 32 rows of one column of words, and adds up runs as long as their label stays
//! the same. All sums are of integers, so the order of additions does not matter.
//!
//! The components of all images of a batch are measured together, one image's after those of the
//! images above it.

use cuda_std::prelude::*;

use crate::image::BitImage;
use crate::primitives::bits::Stretch;
use crate::primitives::quotient;

/// Rows that a thread goes down.
const STRIP: u32 = 32;

/// Threads per block.
const BLOCK: u32 = 256;

/// Threads of [`measure`](fn@measure) for an image of `height` rows of `row_words` words.
#[must_use]
pub const fn threads(row_words: u32, height: u32) -> u64 {
    row_words as u64 * height.div_ceil(STRIP) as u64
}

/// The measures of all components: element `i` of each array is that of component `i + 1`; in a
/// batch, those of an image follow those of the images above it. The sizes are the number of
/// components.
#[repr(C)]
#[derive(Clone, Copy, Debug, KernelParam)]
#[lengths(u32, buffers = MeasureBuffers)]
pub struct ComponentMeasures<'a> {
    /// Number of pixels.
    #[len(*sizes, zeroed)]
    pub area: ViewMut<'a, u64>,
    /// Sum of the pixels' columns.
    #[len(*sizes, zeroed)]
    pub sum_x: ViewMut<'a, u64>,
    /// Sum of the pixels' rows.
    #[len(*sizes, zeroed)]
    pub sum_y: ViewMut<'a, u64>,
    /// Smallest column. Starts as `u32::MAX`.
    #[len(*sizes)]
    pub min_x: ViewMut<'a, u32>,
    /// Smallest row. Starts as `u32::MAX`.
    #[len(*sizes)]
    pub min_y: ViewMut<'a, u32>,
    /// Largest column. Starts as 0.
    #[len(*sizes)]
    pub max_x: ViewMut<'a, u32>,
    /// Largest row. Starts as 0.
    #[len(*sizes)]
    pub max_y: ViewMut<'a, u32>,
}

impl ComponentMeasures<'_> {
    /// Adds pixels of the component `label`; label 0 adds nothing.
    #[inline(always)]
    fn add(&self, label: u32, tally: &Tally) {
        if label != 0 {
            let i = label - 1;
            // planted: area-plain-add
            self.area.atomic_add(i, tally.area);
            self.sum_x.atomic_add(i, tally.sum_x);
            self.sum_y.atomic_add(i, tally.sum_y);
            self.min_x.atomic_min(i, tally.min_x);
            self.min_y.atomic_min(i, tally.min_y);
            self.max_x.atomic_max(i, tally.max_x);
            self.max_y.atomic_max(i, tally.max_y);
        }
    }
}

/// The measures of some pixels of one component.
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

    /// Adds the pixels of row `y` from column `start` up to, not including, column `end`.
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

/// Images stacked vertically, with a row of background after each, and their components.
#[repr(C)]
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Stack<'a> {
    /// Per image: the number of components of the images above it.
    #[len(self.images)]
    pub starts: View<'a, u32>,
    /// The number of images.
    pub images: u32,
    /// Rows from the top of an image to the top of the next one. The last image may have no row of
    /// background below it.
    pub pitch: u32,
}

/// Adds up the measures of every component of the images in `stack`, whose pixels are `image`. The
/// first row of each image has the coordinate `first_row`.
///
/// # Safety
///
/// `labels` has one element per pixel of the images, without the rows between them. A label plus
/// its image's element of `stack.starts` is not larger than the length of the arrays of `measures`,
/// which have their start values. Nothing else uses `measures` meanwhile. The launch has
/// [`threads`] threads.
#[kernel(
    block = BLOCK,
    len(
        image = (),
        labels = image.stack_pixels(stack.pitch),
        stack = (),
        measures = measures.area.len() as u32,
    ),
)]
pub unsafe fn measure(
    image: BitImage<'_>,
    labels: View<'_, u32>,
    stack: Stack<'_>,
    first_row: u32,
    measures: ComponentMeasures<'_>,
) {
    let BitImage {
        words,
        width,
        height,
        row_words,
    } = image;
    let item = thread::index_1d();
    let strip = quotient(item, row_words);
    let word_x = item - strip * row_words;
    // planted: measure-strip
    if strip >= height.div_ceil(STRIP) {
        return;
    }
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
        let mut rest = words.ldg(y * row_words + word_x);
        let above = quotient(y, stack.pitch);
        // planted: measure-row
        let row = (y - above) * width;
        let y_in_image = y - above * stack.pitch;
        while rest != 0 {
            let stretch = Stretch::first(rest);
            rest = stretch.rest;
            let (start, end) = (word_x * 64 + stretch.start, word_x * 64 + stretch.end);
            // planted: measure-starts
            let label = stack.starts.ldg(above) + labels.ldg(row + start);
            if label != current {
                measures.add(current, &tally);
                current = label;
                tally = Tally::NOTHING;
            }
            // planted: measure-first-row
            tally.add_run(first_row + y_in_image, start, end);
        }
        y += 1;
    }
    measures.add(current, &tally);
}
