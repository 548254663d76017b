//! Columns of a table that follow from sums of [`portions`](super::portions): of intensities that
//! are floating-point numbers or integers of 64 bits, and of weighted coordinates of first order.

use cuda_std::math::sqrt;
use cuda_std::prelude::*;

use super::ellipse::rounded;
use super::portions::{LabelPortions, Portions};
use super::powers::{sum_count, weighted_centroid};
use super::reals::{self, Reals};
use super::sorted_runs::SortedRuns;
#[cfg(not(target_arch = "nvptx64"))]
use super::table::ColumnSizes;
use super::table::{Points, TableShape};

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Powers of coordinates, from 0 up, that the columns need of weighted sums.
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
    /// The weighted centroid.
    #[len(sizes.of(column::CENTROID))]
    pub centroid: Points<'a>,
    /// The same, from the box's first pixel on.
    #[len(sizes.of(column::LOCAL_CENTROID))]
    pub local_centroid: Points<'a>,
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
    /// Powers of coordinates, from 0 up, in the weighted sums: at least 2.
    pub powers: u32,
    /// The portions.
    #[len(())]
    pub portions: Portions<'a>,
    /// The sums of intensities of each portion.
    #[len(if self.wanted & column::OF_INTENSITIES != 0 {
        self.portions.begins.len() as u64 * u64::from(reals::WORDS)
    } else {
        0
    })]
    pub reals: View<'a, u64>,
    /// The sums of weighted coordinates of each portion.
    #[len(if self.wanted & column::OF_WEIGHTS != 0 {
        self.portions.begins.len() as u64 * u64::from(sum_count(self.powers))
    } else {
        0
    })]
    pub weighted: View<'a, f64>,
    /// The first column of each label's box.
    #[len(if self.wanted & column::OF_WEIGHTS != 0 { self.labels } else { 0 })]
    pub first_columns: View<'a, u32>,
}

/// Writes the wanted columns of all labels but the first ones, which are background. Numbers are
/// those of the processor.
///
/// Launch: one thread per label of the table. Reads the sums of its portions, 12 bytes per
/// portion, 4 per step of a binary search and 8 to 12 per label, and writes 8 bytes per column.
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
    let Some(label) = shape.label_of(row, runs.labels) else {
        return;
    };
    let portions = LabelPortions::of(runs, sums.portions, label);
    if sums.wanted & column::OF_INTENSITIES != 0 {
        let all = portions.joined(
            Reals::NONE,
            |portion| Reals::of_portion(sums.reals, portion),
            Reals::join,
        );
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
        let all = portions.powers_in_box::<2>(sums.weighted, sums.powers, left);
        let centroid = weighted_centroid(&all);
        if sums.wanted & column::CENTROID != 0 {
            let corner = [portions.origin()[0], left];
            columns.centroid.write(row, corner, centroid, &shape);
        }
        if sums.wanted & column::LOCAL_CENTROID != 0 {
            columns.local_centroid.write(row, [0; 2], centroid, &shape);
        }
    }
}
