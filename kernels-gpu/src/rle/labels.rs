//! Run lengths of the mask of each label of an image.
//!
//! A run along columns is a sequence of pixels of one label, column by column from top to bottom.
//! It may continue in the next column.
//!
//! 1. [`count_column_runs`](fn@count_column_runs) counts the runs that begin in each stripe of
//!    rows of a column, and a scan gives the number of those before.
//! 2. [`list_column_runs`](fn@list_column_runs) writes where the runs begin and end.
//! 3. The runs are sorted by label ([`crate::trace::values`]).
//! 4. [`write_label_counts`](fn@write_label_counts) writes the counts of each label's mask. All
//!    runs of a label are apart, so each gives two counts: the pixels between it and the run
//!    before, and its own. After a label's last run comes a third, unless the last pixel is the
//!    label's.

use cuda_std::prelude::*;

use super::columns::{Columns, ROWS, Stripe, bits_down};
use crate::image::equality::{BESIDE_WORDS, EqualityPlanes, S};
use crate::measure::runs::Runs;
use crate::measure::sorted_runs::SortedRuns;
use crate::primitives::quotient;

/// Threads per block.
pub const BLOCK: u32 = 256;

/// The columns of a label image.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct LabelColumns<'a> {
    /// Which pixels have a label, and equal their neighbours.
    #[len(())]
    pub planes: EqualityPlanes<'a>,
    /// The labels of the first row's pixels and then of the last row's, as numbers in the order of
    /// labels: the low 32 bits.
    #[len(2 * u64::from(self.planes.raster.width))]
    pub low: View<'a, u32>,
    /// The high ones, as many; empty for labels of up to 32 bits.
    pub high: View<'a, u32>,
}

/// Where runs begin and end among some rows of a column, the first row in the least significant
/// bit.
struct Found {
    begins: u32,
    ends: u32,
}

impl LabelColumns<'_> {
    /// The columns, as those of one image.
    #[inline(always)]
    #[must_use]
    pub const fn columns(&self) -> Columns {
        Columns {
            width: self.planes.raster.width,
            height: self.planes.raster.height,
            images: 1,
        }
    }

    /// The index of the word of pixel `(x, y)`.
    #[inline(always)]
    const fn word(&self, x: u32, y: u32) -> u32 {
        y * self.planes.raster.row_words + x / 64
    }

    /// Whether pixel `(x, y)`, which is in the image, is valid: 1 or 0.
    #[inline(always)]
    fn valid(&self, x: u32, y: u32) -> u32 {
        (self.planes.valid.ldg(self.word(x, y)) >> (x % 64)) as u32 & 1
    }

    /// Whether pixel `(x, y)`, which is in the image, equals the one below: 1 or 0.
    #[inline(always)]
    fn equals_below(&self, x: u32, y: u32) -> u32 {
        let at = self.word(x, y) as usize * BESIDE_WORDS as usize + S as usize;
        (self.planes.beside.ldg(at) >> (x % 64)) as u32 & 1
    }

    /// Whether the first pixel of a column equals the last one of the column before: 1 or 0. It is
    /// 0 for the first column and for the one after the last.
    #[inline(always)]
    fn equals_before(&self, x: u32) -> u32 {
        let Columns { width, height, .. } = self.columns();
        // planted: label-rle-first-column
        if x == 0 || x >= width {
            return 0;
        }
        let last = width + x - 1;
        // planted: label-rle-wide
        let is_same = self.low.ldg(x) == self.low.ldg(last)
            && (self.high.is_empty() || self.high.ldg(x) == self.high.ldg(last));
        // planted: label-rle-valid
        u32::from(is_same) & self.valid(x, 0) & self.valid(x - 1, height - 1)
    }

    /// Whether the first pixel of a stripe belongs to the run of the pixel before: 1 or 0.
    #[inline(always)]
    fn is_open(&self, stripe: Stripe) -> u32 {
        if stripe.top > 0 {
            // planted: label-rle-open
            self.equals_below(stripe.x, stripe.top - 1)
        } else {
            self.equals_before(stripe.x)
        }
    }

    /// Calls `take` with each [`ROWS`] rows of a stripe, from top to bottom: the first of these
    /// rows, and what is in them. `open` is [`is_open`](Self::is_open).
    #[inline(always)]
    fn for_each_rows(&self, stripe: Stripe, open: u32, mut take: impl FnMut(u32, Found)) {
        let Stripe { x, top, end, .. } = stripe;
        let goes_on = if end == self.planes.raster.height {
            self.equals_before(x + 1)
        } else {
            0
        };
        let mut before = open;
        let mut y = top;
        while y < end {
            let valid = bits_down(y, end, |y| self.valid(x, y));
            let mut below = bits_down(y, end, |y| self.equals_below(x, y));
            if end - y <= ROWS {
                // planted: label-rle-goes-on
                below |= goes_on << (end - y - 1);
            }
            take(
                y,
                Found {
                    begins: valid & !(below << 1 | before),
                    ends: valid & !below,
                },
            );
            // planted: label-rle-carry
            before = below >> (ROWS - 1) & 1;
            y += ROWS;
        }
    }
}

/// Counts the runs that begin in each stripe.
///
/// Launch: [`Columns::threads`] threads. Reads 5/8 byte per pixel and 8 or 16 bytes per column, and
/// writes 4 bytes per stripe.
///
/// # Safety
///
/// `labels.high` has as many elements as `labels.low`, or none. `counts` has an element per stripe,
/// and nothing else uses it meanwhile.
#[kernel(block = BLOCK, len(labels = (), counts = labels.columns().stripe_count()))]
pub unsafe fn count_column_runs(labels: LabelColumns<'_>, counts: ViewMut<'_, u32>) {
    if let Some(stripe) = labels.columns().own() {
        let mut count = 0;
        labels.for_each_rows(stripe, labels.is_open(stripe), |_, found| {
            count += found.begins.count_ones();
        });
        counts.st(stripe.index, count);
    }
}

/// Lists the runs, in the order of their pixels. A run's end is the place after its last pixel,
/// column by column.
///
/// Launch: [`Columns::threads`] threads. Reads 5/8 byte per pixel, 8 or 16 bytes per column and 4
/// per stripe, and writes 8 bytes per run.
///
/// # Safety
///
/// `labels.high` has as many elements as `labels.low`, or none. `before` has the number of runs
/// that begin before each stripe; `runs` has room for all. Nothing else uses `runs` meanwhile.
#[kernel(block = BLOCK, len(
    labels = (),
    before = labels.columns().stripe_count(),
    runs = runs.starts.len() as u32,
))]
pub unsafe fn list_column_runs(labels: LabelColumns<'_>, before: View<'_, u32>, runs: Runs<'_>) {
    let Some(stripe) = labels.columns().own() else {
        return;
    };
    let raster = labels.planes.raster;
    let (x, open) = (stripe.x, labels.is_open(stripe));
    let mut next = before.ldg(stripe.index);
    // The run that ends next.
    // planted: label-rle-ends
    let mut ending = next - open;
    labels.for_each_rows(stripe, open, |y, found| {
        let Found {
            mut begins,
            mut ends,
        } = found;
        while begins != 0 {
            let row = y + begins.trailing_zeros();
            begins &= begins - 1;
            runs.starts.st(next, raster.wide_pixel(x, row) as u32);
            next += 1;
        }
        while ends != 0 {
            let row = y + ends.trailing_zeros();
            ends &= ends - 1;
            // planted: label-rle-end
            runs.ends.st(ending, x * raster.height + row + 1);
            ending += 1;
        }
    });
}

/// Writes the counts of each label's mask, mask after mask; the index of each mask's first count;
/// and its label. The first labels, as many as exceed the number of masks, are background. `sign`
/// is the bit of the sign of the labels' type, or 0: the only one in which a label differs from its
/// number in the order of labels.
///
/// Launch: one thread per run of the masks. Reads 44 bytes per run, and writes 8 bytes per run and
/// 16 per mask.
///
/// # Safety
///
/// `runs` are those along the columns of an image of height `height`. There is at least one mask,
/// and `firsts` has an element per mask. `counts` has two elements per run of the masks, and one
/// more per mask without the image's last pixel. Nothing else uses the three meanwhile.
#[kernel(block = BLOCK, len(runs = (), labels = firsts.len()))]
pub unsafe fn write_label_counts(
    runs: SortedRuns<'_>,
    height: u32,
    sign: u64,
    counts: ViewMut<'_, u32>,
    firsts: ViewMut<'_, u32>,
    labels: ViewMut<'_, i64>,
) {
    let background = runs.labels - firsts.len() as u32;
    let [first, _] = runs.places_of(background);
    let at = first + thread::index_1d();
    if at >= runs.len() {
        return;
    }
    let index = runs.order.ldg(at);
    let label = runs.groups.ldg(index);
    let mask = label - background;
    let [begin, end] = runs.places_of(label);
    let pixels = runs.width * height;
    // The label of the last pixel has no count after its last run.
    let last = runs.len() - 1;
    let last_label = runs.groups.ldg(last);
    let is_short_before =
        runs.runs.ends.ld(last) == pixels && last_label >= background && last_label < label;
    // planted: label-rle-short
    let first_count = 2 * (begin - first) + mask - u32::from(is_short_before);
    let count = first_count + 2 * (at - begin);

    let start = runs.runs.starts.ld(index);
    let y = quotient(start, runs.width);
    let place = (start - y * runs.width) * height + y;
    let after = runs.runs.ends.ld(index);
    if at == begin {
        firsts.st(mask, first_count);
        labels.st(mask, (runs.label(index) ^ sign).cast_signed());
        counts.st(count, place);
    } else {
        // planted: label-rle-gap
        counts.st(count, place - runs.runs.ends.ld(runs.order.ldg(at - 1)));
    }
    counts.st(count + 1, after - place);
    // planted: label-rle-rest
    if at + 1 == end && after < pixels {
        counts.st(count + 2, pixels - after);
    }
}
