//! Routing: distances from a tree on a grid of weighted edges, the nearest pin, the path from it.
//!
//! Cell `(x, y)` of layer `z` has the index `(z · height + y) · width + x`. Each cell has the
//! weights of its edges to the right, down and to the next layer ([`BLOCKED`] if there is none),
//! and its distance from the tree. A distance is [`UNREACHED`] or less than 2⁶³: a shortest path
//! through [`MAX_CELLS`] cells does not cost more.
//!
//! | file | stage |
//! | --- | --- |
//! | [`sweep`] | distances, by sweeps along rows, columns and vias |
//! | [`nearest`] | the pin to join next |
//! | [`retrace`] | that pin's path, which becomes part of the tree |
//! | [`tiles`] | all of these stages for whole nets in one launch: tiles relaxed in shared memory |
//! | [`fields`] | all of these stages for pins that are close together: distances around each pin, then joining by looking them up |
//! | [`small_fields`] | the same for pins a few cells apart: paths around each pin as numbers |
//! | [`negotiate`] | trees of nets that compete for edges |

pub mod fields;
pub mod nearest;
pub mod negotiate;
pub mod retrace;
pub mod small_fields;
pub mod sweep;
pub mod tiles;

use cuda_std::prelude::*;

use crate::primitives::quotient;

/// The weight of an edge that no path may take.
pub const BLOCKED: u32 = u32::MAX;

/// The distance of a cell that no path reaches.
pub const UNREACHED: u64 = u64::MAX;

/// The most cells of a grid.
pub const MAX_CELLS: u32 = 1 << 31;

/// The size of a grid, in cells.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod)]
pub struct GridSize {
    /// Cells in a row.
    pub width: u32,
    /// Rows of a layer.
    pub height: u32,
    /// Layers.
    pub layers: u32,
}

impl GridSize {
    /// The cells of a layer.
    #[must_use]
    #[inline(always)]
    pub const fn area(self) -> u32 {
        self.width * self.height
    }

    /// The cells of all layers.
    #[must_use]
    #[inline(always)]
    pub const fn cells(self) -> u32 {
        self.area() * self.layers
    }

    /// A cell's column, row and layer.
    #[inline(always)]
    const fn place(self, cell: u32) -> (u32, u32, u32) {
        let line = quotient(cell, self.width);
        let layer = quotient(line, self.height);
        (cell - line * self.width, line - layer * self.height, layer)
    }
}

/// The weights of a grid's edges, row by row.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct RowGrid<'a> {
    /// By cell: the weight of the edge to the right, [`BLOCKED`] in the last column.
    #[len(self.size.cells())]
    pub right: View<'a, u32>,
    /// By cell: the weight of the edge down, [`BLOCKED`] in the last row.
    #[len(self.size.cells())]
    pub down: View<'a, u32>,
    /// By cell: the weight of the via to the next layer, [`BLOCKED`] on the last layer. Empty if
    /// there is one layer.
    #[len(self.vias())]
    pub via: View<'a, u32>,
    /// The grid's size.
    pub size: GridSize,
}

#[cfg(not(target_arch = "nvptx64"))]
impl RowGrid<'_> {
    /// The number of cells that have a via's weight.
    fn vias(&self) -> u32 {
        match self.size.layers {
            1 => 0,
            _ => self.size.cells(),
        }
    }
}

/// The cells of a net's pins, one pin after the other.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct Pins<'a> {
    /// The cells of all pins, by index in the grid.
    pub cells: View<'a, u32>,
    /// By cell of a pin: the pin.
    #[len(self.cells.len())]
    pub owners: View<'a, u32>,
    /// By pin: where its cells begin. One more than there are pins; the last is the length of
    /// `cells`.
    #[len(1)]
    pub firsts: View<'a, u32>,
}

/// Threads per block of the kernels for sweeps: those in [`nearest`], [`retrace`] and [`sweep`].
pub const BLOCK: u32 = 256;
