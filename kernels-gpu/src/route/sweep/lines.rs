//! The rows or columns of a grid, and the indices of their cells in sweeps.

use cuda_std::prelude::*;

use super::LINES;
use crate::primitives::quotient;
use crate::route::GridSize;

/// All rows or all columns of a grid.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, KernelParam)]
pub struct Lines {
    /// The number of lines in all layers.
    pub(super) count: u32,
    /// The number of lines in one layer.
    in_layer: u32,
    /// Cells of a line.
    pub(super) len: u32,
    pub(super) axis: Axis,
}

/// The direction of lines.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, KernelParam)]
pub(super) enum Axis {
    /// Along rows.
    Rows,
    /// Along columns.
    Columns,
}

impl Lines {
    /// The rows of `grid`.
    #[must_use]
    pub const fn rows(grid: GridSize) -> Self {
        Self {
            count: grid.height * grid.layers,
            in_layer: grid.height,
            len: grid.width,
            axis: Axis::Rows,
        }
    }

    /// The columns of `grid`.
    #[must_use]
    pub const fn columns(grid: GridSize) -> Self {
        Self {
            count: grid.width * grid.layers,
            in_layer: grid.width,
            len: grid.height,
            axis: Axis::Columns,
        }
    }

    /// Blocks of a sweep along the lines: one per group.
    #[must_use]
    pub const fn blocks(self) -> u32 {
        self.count.div_ceil(LINES)
    }

    /// The first cell of a line.
    #[inline(always)]
    pub(super) const fn first(self, line: u32) -> u32 {
        if matches!(self.axis, Axis::Rows) {
            return line * self.len;
        }
        let layer = quotient(line, self.in_layer);
        layer * self.in_layer * self.len + (line - layer * self.in_layer)
    }

    /// The step from a cell's index to that of the next cell of its line.
    #[inline(always)]
    pub(super) const fn step(self) -> u32 {
        match self.axis {
            Axis::Rows => 1,
            Axis::Columns => self.in_layer,
        }
    }

    /// The line that crosses `line` at its cell `at`.
    #[inline(always)]
    pub(super) const fn crossing(self, line: u32, at: u32) -> u32 {
        quotient(line, self.in_layer) * self.len + at
    }
}
