//! Columns of a table that follow from sums of [pieces](super::pieces).

use cuda_std::prelude::*;

#[cfg(not(target_arch = "nvptx64"))]
use super::piece_sums::PieceSizes;
use super::piece_sums::{LabelPieces, PieceSums};
use super::shape_table::ShapeColumns;
use super::sorted_runs::SortedRuns;
#[cfg(not(target_arch = "nvptx64"))]
use super::sums::wanted;
#[cfg(not(target_arch = "nvptx64"))]
use super::table::ColumnSizes;
use super::table::{Columns, TableShape};

/// Threads per block.
pub const BLOCK: u32 = 256;

/// What is written of pieces.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod)]
pub struct WantedOfPieces {
    /// The bits of the [sums](super::sums::wanted) that pieces have.
    pub sums: u32,
    /// The bits of the wanted [columns](super::table::column).
    pub columns: u32,
    /// The bits of the wanted [columns of shapes](super::shape_table::shape_column).
    pub shape_columns: u32,
}

#[cfg(not(target_arch = "nvptx64"))]
impl WantedOfPieces {
    /// The bits of the sums that the columns follow from.
    const fn needed(self) -> u32 {
        use super::shape_table::shape_column;
        use super::table::column;
        let mut needed = 0;
        if self.columns & (column::CENTROID | column::LOCAL_CENTROID) != 0
            || self.shape_columns & shape_column::OF_ELLIPSE != 0
        {
            needed |= wanted::SECOND;
        }
        if self.shape_columns & shape_column::OF_PAIRS != 0 {
            needed |= wanted::PAIRS;
        }
        if self.shape_columns & shape_column::PERIMETER != 0 {
            needed |= wanted::OUTLINE;
        }
        if self.shape_columns & shape_column::OF_INTENSITIES != 0 {
            needed |= wanted::INTENSITIES;
        }
        needed
    }
}

/// Writes the wanted columns of all labels but the first ones, which are background. Numbers are
/// those of the processor. `sign` is the bit of the sign of the labels' type, or 0: the only one in
/// which a label differs from its number in the order of labels.
///
/// Launch: one thread per label of the table. Reads the sums of its pieces and 8 bytes, and writes
/// 8 bytes per column.
///
/// # Safety
///
/// The pieces are those of the runs, and have the sums that the wanted columns need. The table has
/// at most as many labels as there are. Nothing else uses the columns meanwhile.
#[kernel(block = BLOCK, f64, len(
    runs = (),
    sums = PieceSizes::of(runs, wanted.sums | wanted.needed()),
    columns = ColumnSizes { rows: shape.labels as u32, wanted: wanted.columns },
    shape_columns = ColumnSizes { rows: shape.labels as u32, wanted: wanted.shape_columns },
))]
pub unsafe fn write_piece_columns(
    runs: SortedRuns<'_>,
    sums: PieceSums<'_>,
    wanted: WantedOfPieces,
    shape: TableShape,
    sign: u64,
    columns: Columns<'_>,
    shape_columns: ShapeColumns<'_>,
) {
    let row = thread::index_1d();
    let Some(label) = shape.label_of(row, runs.labels) else {
        return;
    };
    let pieces = LabelPieces::of(runs, sums, wanted.sums, label);
    if wanted.columns != 0 {
        // planted: piece-column-label
        let label = (pieces.label() ^ sign).cast_signed();
        columns.write(row, label, &pieces.in_box(), wanted.columns, &shape);
    }
    shape_columns.write(row, &pieces, wanted.shape_columns, shape.spacing);
}
