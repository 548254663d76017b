//! Columns of a table that follow from sums of [`portions`](super::portions): of intensities that
//! are floating-point numbers or integers of 64 bits, and of weighted coordinates of first order.
//!
//! The portions of a label are joined as the processor joins the sums of strips, from the top down.

use cuda_std::math::sqrt;
use cuda_std::prelude::*;

use super::ellipse::rounded;
use super::pieces::{SortedRuns, joined_by_label};
use super::powers::{shifted, sum_count, weighted_centroid};
use super::reals::{self, Reals};
#[cfg(not(target_arch = "nvptx64"))]
use super::table::ColumnSizes;
use super::table::TableShape;

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Powers of coordinates, from 0 up, in the weighted sums.
pub const POWERS: u32 = 2;

/// Bits that say which columns are wanted.
pub mod column {
    /// The least intensities.
    pub const INTENSITY_MIN: u32 = 1;
    /// The greatest intensities.
    pub const INTENSITY_MAX: u32 = 2;
    /// The mean intensities.
    pub const INTENSITY_MEAN: u32 = 4;
    /// The standard deviations of intensities.
    pub const INTENSITY_STD: u32 = 8;
    /// The weighted centroids: two columns.
    pub const CENTROID: u32 = 16;
    /// The weighted centroids within boxes: two columns.
    pub const LOCAL_CENTROID: u32 = 32;

    /// The columns that need sums of intensities.
    pub const OF_INTENSITIES: u32 = INTENSITY_MIN | INTENSITY_MAX | INTENSITY_MEAN | INTENSITY_STD;
    /// The columns that need weighted sums.
    pub const OF_WEIGHTS: u32 = CENTROID | LOCAL_CENTROID;
}

/// The columns, each with an element per label; those that are not wanted have none.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(ColumnSizes, buffers = PortionColumnBuffers)]
pub struct PortionColumns<'a> {
    /// The least intensity.
    #[len(sizes.of(column::INTENSITY_MIN))]
    pub min: ViewMut<'a, f64>,
    /// The greatest intensity.
    #[len(sizes.of(column::INTENSITY_MAX))]
    pub max: ViewMut<'a, f64>,
    /// The mean intensity.
    #[len(sizes.of(column::INTENSITY_MEAN))]
    pub mean: ViewMut<'a, f64>,
    /// The standard deviation of intensities.
    #[len(sizes.of(column::INTENSITY_STD))]
    pub std: ViewMut<'a, f64>,
    /// The row of the weighted centroid.
    #[len(sizes.of(column::CENTROID))]
    pub centroid_row: ViewMut<'a, f64>,
    /// The column of the weighted centroid.
    #[len(sizes.of(column::CENTROID))]
    pub centroid_column: ViewMut<'a, f64>,
    /// The same, from the box's first row on.
    #[len(sizes.of(column::LOCAL_CENTROID))]
    pub local_row: ViewMut<'a, f64>,
    /// The same, from the box's first column on.
    #[len(sizes.of(column::LOCAL_CENTROID))]
    pub local_column: ViewMut<'a, f64>,
}

/// What columns are made of; what is not needed is empty.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct PortionSums<'a> {
    /// The bits of the wanted columns.
    pub wanted: u32,
    /// The number of labels.
    pub labels: u32,
    /// Whether intensities are integers.
    pub is_whole: u32,
    /// Whether the image is one strip, so that the processor joins no strips.
    pub is_one_strip: u32,
    /// Where each portion begins in the order of runs.
    #[len(self.begins.len())]
    pub begins: View<'a, u32>,
    /// The row, in the low half, and the column of each portion's first pixel.
    #[len(self.begins.len())]
    pub origins: View<'a, u64>,
    /// The sums of intensities.
    #[len(if self.wanted & column::OF_INTENSITIES != 0 {
        self.begins.len() as u64 * u64::from(reals::WORDS)
    } else {
        0
    })]
    pub reals: View<'a, u64>,
    /// The sums of weighted coordinates, [`POWERS`] of each.
    #[len(if self.wanted & column::OF_WEIGHTS != 0 {
        self.begins.len() as u64 * u64::from(sum_count(POWERS))
    } else {
        0
    })]
    pub weighted: View<'a, f64>,
    /// The first column of each label's box.
    #[len(if self.wanted & column::OF_WEIGHTS != 0 { self.labels } else { 0 })]
    pub first_columns: View<'a, u32>,
}

/// Writes the number of labels up to `background`, given as a number in the order of labels.
///
/// Launch: one thread. Reads 12 bytes per step of a binary search.
///
/// # Safety
///
/// `count` has one element, and nothing else uses it meanwhile.
#[kernel(block = BLOCK, len(runs = (), count = 1))]
pub unsafe fn count_background(runs: SortedRuns<'_>, background: u64, count: ViewMut<'_, u32>) {
    if thread::index_1d() > 0 {
        return;
    }
    let (mut from, mut to) = (0, runs.labels);
    while from < to {
        let middle = from + (to - from) / 2;
        // planted: portion-background
        if runs.label(runs.order.ldg(runs.begins.ldg(middle))) <= background {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    count.st(0, from);
}

/// Finds the first column of each label's box.
///
/// Launch: one thread per run. Reads 16 bytes per run.
///
/// # Safety
///
/// `columns` has an element per label, all `u32::MAX`, and nothing else uses it meanwhile.
#[kernel(block = BLOCK, len(runs = (), columns = runs.labels))]
pub unsafe fn find_first_columns(runs: SortedRuns<'_>, columns: ViewMut<'_, u32>) {
    let at = thread::index_1d();
    let (mut label, mut column) = (u32::MAX, u32::MAX);
    if at < runs.len() {
        label = runs.group(at);
        column = runs.sorted(at).x;
    }
    let (least, is_first) = joined_by_label(label, column.into(), |a, b| a.min(b));
    if is_first && label != u32::MAX {
        // planted: portion-first-column
        columns.atomic_min(label, least as u32);
    }
}

/// Writes the wanted columns of all labels but the first ones, which are background. Numbers are
/// those of the processor.
///
/// Launch: one thread per label of the table. Reads the sums of its portions, 12 bytes per portion
/// and some 12 per step of a binary search, and writes 8 bytes per column.
///
/// # Safety
///
/// The portions are those of the runs, and each has the sums that the wanted columns need. The
/// table has at most as many labels as there are. Nothing else uses `columns` meanwhile.
#[kernel(block = BLOCK, f64, len(
    runs = (),
    sums = (),
    columns = ColumnSizes { rows: shape.labels as u32, wanted: sums.wanted },
))]
pub unsafe fn write_portion_columns(
    runs: SortedRuns<'_>,
    sums: PortionSums<'_>,
    shape: TableShape,
    columns: PortionColumns<'_>,
) {
    let row = thread::index_1d();
    if u64::from(row) >= shape.labels {
        return;
    }
    let label = runs.labels - shape.labels as u32 + row;
    let [begin, end] = runs.places_of(label);
    let portions = OfLabel {
        sums,
        first: sums.first_from(begin),
        end,
    };
    if sums.wanted & column::OF_INTENSITIES != 0 {
        let all = portions.intensities();
        // 0 has no sign: which of two zeros is found depends on the order.
        if sums.wanted & column::INTENSITY_MIN != 0 {
            columns.min.st(row, all.min + 0.0);
        }
        if sums.wanted & column::INTENSITY_MAX != 0 {
            columns.max.st(row, all.max + 0.0);
        }
        if sums.wanted & column::INTENSITY_MEAN != 0 {
            let sum = if sums.is_whole != 0 {
                rounded(all.whole)
            } else {
                all.sum
            };
            columns.mean.st(row, sum / all.pixels);
        }
        if sums.wanted & column::INTENSITY_STD != 0 {
            columns.std.st(row, sqrt(all.deviations / all.pixels));
        }
    }
    if sums.wanted & column::OF_WEIGHTS != 0 {
        let left = sums.first_columns.ldg(label);
        let [y, x] = sums.origin(portions.first);
        // From the box's first pixel.
        let all = shifted(portions.weighted(), 0.0, (x - i64::from(left)) as f64);
        let centroid = weighted_centroid(&all);
        let [dy, dx] = shape.spacing;
        if sums.wanted & column::CENTROID != 0 {
            columns.centroid_row.st(row, (centroid[0] + y as f64) * dy);
            columns
                .centroid_column
                .st(row, (centroid[1] + f64::from(left)) * dx);
        }
        if sums.wanted & column::LOCAL_CENTROID != 0 {
            columns.local_row.st(row, (centroid[0] + 0.0) * dy);
            columns.local_column.st(row, (centroid[1] + 0.0) * dx);
        }
    }
}

impl PortionSums<'_> {
    /// The first portion that begins at this place of the order, or after it.
    #[inline(always)]
    fn first_from(&self, place: u32) -> u32 {
        let (mut from, mut to) = (0, self.begins.len() as u32);
        while from < to {
            let middle = from + (to - from) / 2;
            if self.begins.ldg(middle) < place {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }

    /// The row and the column of a portion's first pixel.
    #[inline(always)]
    fn origin(&self, portion: u32) -> [i64; 2] {
        let origin = self.origins.ldg(portion);
        [i64::from(origin as u32), i64::from((origin >> 32) as u32)]
    }
}

/// The portions of a label.
#[derive(Clone, Copy)]
struct OfLabel<'a> {
    sums: PortionSums<'a>,
    first: u32,
    /// The place after the label's last run.
    end: u32,
}

impl OfLabel<'_> {
    /// The sums of all portions, joined to `none`, or those of the only one.
    #[inline(always)]
    fn joined<T>(&self, none: T, of: impl Fn(u32) -> T, mut join: impl FnMut(&mut T, T)) -> T {
        if self.sums.is_one_strip != 0 {
            return of(self.first);
        }
        let mut all = none;
        let mut portion = self.first;
        // planted: portion-column-last
        while (portion as usize) < self.sums.begins.len()
            && self.sums.begins.ldg(portion) < self.end
        {
            join(&mut all, of(portion));
            portion += 1;
        }
        all
    }

    /// The sums of the label's intensities.
    #[inline(always)]
    fn intensities(&self) -> Reals {
        self.joined(
            Reals::NONE,
            |portion| Reals::of_portion(self.sums.reals, portion),
            Reals::join,
        )
    }

    /// The label's weighted sums, from its first pixel.
    #[inline(always)]
    fn weighted(&self) -> [[f64; 2]; 2] {
        let [row, column] = self.sums.origin(self.first);
        let of_portion = |portion: u32| {
            let first = portion as usize * sum_count(POWERS) as usize;
            let sum = |i: usize| self.sums.weighted.ldg(first + i);
            let sums = [[sum(0), sum(1)], [sum(2), sum(3)]];
            if self.sums.is_one_strip != 0 {
                return sums;
            }
            let [y, x] = self.sums.origin(portion);
            // planted: portion-column-shifted
            shifted(sums, (y - row) as f64, (x - column) as f64)
        };
        self.joined([[0.0; 2]; 2], of_portion, |all, other| {
            all[0][0] += other[0][0];
            all[0][1] += other[0][1];
            all[1][0] += other[1][0];
            all[1][1] += other[1][1];
        })
    }
}
