//! Columns of a table that follow from hulls and holes.

use cuda_std::prelude::*;

#[cfg(not(target_arch = "nvptx64"))]
use super::table::ColumnSizes;
use super::table::TableShape;

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Bits that say which columns are wanted.
pub mod column {
    /// Areas of hulls.
    pub const AREA_CONVEX: u32 = 1;
    /// Areas divided by those of hulls.
    pub const SOLIDITY: u32 = 2;
    /// Diameters of hulls.
    pub const DIAMETER: u32 = 4;
    /// Areas with holes filled.
    pub const AREA_FILLED: u32 = 8;

    /// The columns that need hulls.
    pub const OF_HULLS: u32 = AREA_CONVEX | SOLIDITY | DIAMETER;
    /// The columns that need numbers of pixels.
    pub const OF_PIXELS: u32 = SOLIDITY | AREA_FILLED;
}

/// The columns, each with an element per label; those that are not wanted have none.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(ColumnSizes, buffers = HullColumnBuffers)]
pub struct HullColumns<'a> {
    /// The area of the hull.
    #[len(sizes.of(column::AREA_CONVEX))]
    pub area_convex: ViewMut<'a, f64>,
    /// The area divided by that of the hull.
    #[len(sizes.of(column::SOLIDITY))]
    pub solidity: ViewMut<'a, f64>,
    /// The hull's diameter.
    #[len(sizes.of(column::DIAMETER))]
    pub diameter: ViewMut<'a, f64>,
    /// The area with holes filled.
    #[len(sizes.of(column::AREA_FILLED))]
    pub area_filled: ViewMut<'a, f64>,
}

/// What hulls and holes give for each label; what is not needed is empty.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct HullSums<'a> {
    /// The number of labels.
    pub labels: u32,
    /// The bits of the wanted columns.
    pub wanted: u32,
    /// The number of pixels.
    #[len(if self.wanted & column::OF_PIXELS != 0 { self.labels } else { 0 })]
    pub pixels: View<'a, u64>,
    /// The number of pixels in the hull.
    #[len(if self.wanted & column::OF_HULLS != 0 { self.labels } else { 0 })]
    pub convex: View<'a, u64>,
    /// The hull's diameter.
    #[len(if self.wanted & column::DIAMETER != 0 { self.labels } else { 0 })]
    pub diameters: View<'a, f64>,
    /// The number of pixels in holes.
    #[len(if self.wanted & column::AREA_FILLED != 0 { self.labels } else { 0 })]
    pub holes: View<'a, u64>,
}

/// Writes the wanted columns of all labels but the first ones, which are background. Numbers are
/// those that the processor computes from the same sums.
///
/// Launch: one thread per label of the table. Reads up to 32 bytes per label, and writes as many.
///
/// # Safety
///
/// The table has at most as many labels as there are. Nothing else uses `columns` meanwhile.
#[kernel(block = BLOCK, f64, len(
    sums = (),
    columns = ColumnSizes { rows: shape.labels as u32, wanted: sums.wanted },
))]
pub unsafe fn write_hull_columns(sums: HullSums<'_>, shape: TableShape, columns: HullColumns<'_>) {
    let row = thread::index_1d();
    let Some(label) = shape.label_of(row, sums.labels) else {
        return;
    };
    if sums.wanted & (column::AREA_CONVEX | column::SOLIDITY) != 0 {
        let convex = shape.area(sums.convex.ldg(label));
        if sums.wanted & column::AREA_CONVEX != 0 {
            columns.area_convex.st(row, convex);
        }
        if sums.wanted & column::SOLIDITY != 0 {
            let area = shape.area(sums.pixels.ldg(label));
            columns.solidity.st(row, area / convex);
        }
    }
    if sums.wanted & column::DIAMETER != 0 {
        columns.diameter.st(row, sums.diameters.ldg(label));
    }
    if sums.wanted & column::AREA_FILLED != 0 {
        let filled = sums.pixels.ldg(label) + sums.holes.ldg(label);
        columns.area_filled.st(row, shape.area(filled));
    }
}
