//! Columns of moments: one property per launch.

use cuda_std::prelude::*;

use super::moments::{self, ExactSums};
#[cfg(not(target_arch = "nvptx64"))]
use super::piece_sums::PieceSizes;
use super::piece_sums::{LabelPieces, PieceSums};
use super::portions::{LabelPortions, Portions};
use super::powers::{POWERS, sum_count, weighted_centroid};
use super::sorted_runs::SortedRuns;
#[cfg(not(target_arch = "nvptx64"))]
use super::sums::wanted;
#[cfg(not(target_arch = "nvptx64"))]
use super::table::ColumnSizes;
use super::table::TableShape;

/// Threads per block.
pub const BLOCK: u32 = 128;

/// Which moments are written.
pub mod kind {
    /// Those from the box's first pixel on.
    pub const IN_BOX: u32 = 0;
    /// Those from the centroid on.
    pub const CENTRAL: u32 = 1;
    /// Those independent of scale.
    pub const NORMALIZED: u32 = 2;
    /// Hu's moments.
    pub const HU: u32 = 3;
}

/// Whether moments need exact sums, those of pieces.
#[must_use]
#[inline(always)]
pub const fn is_exact(of_kind: u32, is_weighted: bool) -> bool {
    of_kind != kind::IN_BOX && !is_weighted
}

/// The bits of the columns of moments of a [`kind`].
#[must_use]
pub const fn columns_of(of_kind: u32) -> u32 {
    if of_kind == kind::HU { 0x7f } else { 0xffff }
}

/// The columns of one property, each with an element per label; of Hu's moments only the first
/// seven have elements.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(ColumnSizes, buffers = MomentColumnBuffers)]
pub struct MomentColumns<'a> {
    /// Moment 0 0, or the first of Hu.
    #[len(sizes.of(1))]
    pub m00: ViewMut<'a, f64>,
    /// Moment 0 1, or the second of Hu.
    #[len(sizes.of(1 << 1))]
    pub m01: ViewMut<'a, f64>,
    /// Moment 0 2, or the third of Hu.
    #[len(sizes.of(1 << 2))]
    pub m02: ViewMut<'a, f64>,
    /// Moment 0 3, or the fourth of Hu.
    #[len(sizes.of(1 << 3))]
    pub m03: ViewMut<'a, f64>,
    /// Moment 1 0, or the fifth of Hu.
    #[len(sizes.of(1 << 4))]
    pub m10: ViewMut<'a, f64>,
    /// Moment 1 1, or the sixth of Hu.
    #[len(sizes.of(1 << 5))]
    pub m11: ViewMut<'a, f64>,
    /// Moment 1 2, or the seventh of Hu.
    #[len(sizes.of(1 << 6))]
    pub m12: ViewMut<'a, f64>,
    /// Moment 1 3.
    #[len(sizes.of(1 << 7))]
    pub m13: ViewMut<'a, f64>,
    /// Moment 2 0.
    #[len(sizes.of(1 << 8))]
    pub m20: ViewMut<'a, f64>,
    /// Moment 2 1.
    #[len(sizes.of(1 << 9))]
    pub m21: ViewMut<'a, f64>,
    /// Moment 2 2.
    #[len(sizes.of(1 << 10))]
    pub m22: ViewMut<'a, f64>,
    /// Moment 2 3.
    #[len(sizes.of(1 << 11))]
    pub m23: ViewMut<'a, f64>,
    /// Moment 3 0.
    #[len(sizes.of(1 << 12))]
    pub m30: ViewMut<'a, f64>,
    /// Moment 3 1.
    #[len(sizes.of(1 << 13))]
    pub m31: ViewMut<'a, f64>,
    /// Moment 3 2.
    #[len(sizes.of(1 << 14))]
    pub m32: ViewMut<'a, f64>,
    /// Moment 3 3.
    #[len(sizes.of(1 << 15))]
    pub m33: ViewMut<'a, f64>,
}

/// What moments are made of; what is not needed is empty.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct MomentSums<'a> {
    /// Which moments: a [`kind`].
    pub kind: u32,
    /// Whether pixels are weighted by intensities.
    pub is_weighted: u32,
    /// The number of labels.
    pub labels: u32,
    /// The portions.
    #[len(())]
    pub portions: Portions<'a>,
    /// The [sums of powers](super::powers) of each portion.
    #[len(self.portions.begins.len() as u64 * u64::from(sum_count(POWERS)))]
    pub powers: View<'a, f64>,
    /// The first column of each label's box, for [`kind::IN_BOX`].
    #[len(if self.kind == kind::IN_BOX { self.labels } else { 0 })]
    pub first_columns: View<'a, u32>,
    /// The bits of the [sums](super::sums::wanted) that pieces have, for moments that are
    /// [exact](is_exact): they need those of second order.
    pub of_pieces: u32,
}

#[cfg(not(target_arch = "nvptx64"))]
impl MomentSums<'_> {
    /// The sizes of the sums of pieces that are needed.
    fn pieces_of(&self, runs: SortedRuns<'_>) -> PieceSizes {
        if is_exact(self.kind, self.is_weighted != 0) {
            PieceSizes::of(runs, self.of_pieces | wanted::SECOND)
        } else {
            PieceSizes::NONE
        }
    }
}

/// Writes the columns of moments of all labels but the first ones, which are background. Numbers
/// are those of the processor.
///
/// Launch: one thread per label of the table. Reads 140 bytes per portion, 4 per step of a binary
/// search, 8 to 12 per label and, for exact moments, 88 per piece, and writes 8 bytes per column.
///
/// # Safety
///
/// Portions and pieces are those of the runs, and have the sums that are needed. The table has at
/// most as many labels as there are. Nothing else uses `columns` meanwhile.
#[kernel(block = BLOCK, f64, len(
    runs = (),
    sums = (),
    pieces = sums.pieces_of(runs),
    columns = ColumnSizes { rows: shape.labels as u32, wanted: columns_of(sums.kind) },
))]
pub unsafe fn write_moments(
    runs: SortedRuns<'_>,
    sums: MomentSums<'_>,
    pieces: PieceSums<'_>,
    shape: TableShape,
    columns: MomentColumns<'_>,
) {
    let row = thread::index_1d();
    let Some(label) = shape.label_of(row, runs.labels) else {
        return;
    };
    let portions = LabelPortions::of(runs, sums.portions, label);
    let is_exact = is_exact(sums.kind, sums.is_weighted != 0);
    let exact = if is_exact {
        LabelPieces::of(runs, pieces, sums.of_pieces, label).exact()
    } else {
        ExactSums::NONE
    };
    let powers = portions.powers(sums.powers, POWERS);
    let point = if sums.kind == kind::IN_BOX {
        portions.corner(sums.first_columns.ldg(label))
    } else if is_exact {
        exact.centroid()
    } else {
        weighted_centroid(&powers)
    };
    let mut all = moments::from_point(powers, point);
    if is_exact {
        all = exact.refined(all);
    }
    let all = moments::scaled(all, shape.spacing);
    if sums.kind <= kind::CENTRAL {
        columns.write(row, &all);
        return;
    }
    let normalized = moments::normalized(&all, shape.spacing);
    if sums.kind == kind::NORMALIZED {
        columns.write(row, &normalized);
    } else {
        columns.write_hu(row, moments::hu(&normalized));
    }
}

impl MomentColumns<'_> {
    /// Writes Hu's moments.
    #[inline(always)]
    fn write_hu(&self, row: u32, [m0, m1, m2, m3, m4, m5, m6]: [f64; 7]) {
        self.m00.st(row, m0);
        self.m01.st(row, m1);
        self.m02.st(row, m2);
        self.m03.st(row, m3);
        self.m10.st(row, m4);
        self.m11.st(row, m5);
        self.m12.st(row, m6);
    }

    /// Writes all others.
    #[inline(always)]
    fn write(&self, row: u32, all: &moments::Moments) {
        self.m00.st(row, all[0][0]);
        self.m01.st(row, all[0][1]);
        self.m02.st(row, all[0][2]);
        self.m03.st(row, all[0][3]);
        self.m10.st(row, all[1][0]);
        self.m11.st(row, all[1][1]);
        self.m12.st(row, all[1][2]);
        self.m13.st(row, all[1][3]);
        self.m20.st(row, all[2][0]);
        self.m21.st(row, all[2][1]);
        self.m22.st(row, all[2][2]);
        self.m23.st(row, all[2][3]);
        self.m30.st(row, all[3][0]);
        self.m31.st(row, all[3][1]);
        self.m32.st(row, all[3][2]);
        self.m33.st(row, all[3][3]);
    }
}
