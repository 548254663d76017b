//! [`Extents`]: a grid's numbers of columns, rows and layers, and its cells and edges by index.

use std::fmt;

use crate::error::{Error, Result};
use crate::geometry::Cell;

/// The numbers of columns, rows and layers of a grid with fewer than 2³² cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extents {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) layers: u32,
}

/// The direction in which an edge leads from the cell at which it is stored.
#[derive(Clone, Copy, Debug)]
pub(super) enum Towards {
    Right,
    Down,
    NextLayer,
}

impl Extents {
    /// Whether the grid has a cell.
    pub(super) fn contains(self, cell: Cell) -> bool {
        cell.x < self.width && cell.y < self.height && cell.layer < self.layers
    }

    /// The index of a cell.
    ///
    /// # Panics
    /// For a cell outside the grid.
    #[track_caller]
    pub(super) fn index(self, cell: Cell) -> u32 {
        assert!(self.contains(cell), "no cell of a grid of {self}: {cell}");
        (cell.layer * self.height + cell.y) * self.width + cell.x
    }

    /// The index of a cell, or [`Error::CellOutside`].
    pub(super) fn checked_index(self, cell: Cell) -> Result<usize> {
        if self.contains(cell) {
            return Ok(self.index(cell) as usize);
        }
        let Self {
            width,
            height,
            layers,
        } = self;
        Err(Error::CellOutside {
            cell,
            width,
            height,
            layers,
        })
    }

    /// The index of the cell from which an edge leads; [`Error::CellOutside`] or
    /// [`Error::EdgeOutside`] if there is no such cell, or no such edge.
    pub(super) fn checked_edge(self, cell: Cell, towards: Towards) -> Result<usize> {
        let index = self.checked_index(cell)?;
        let Self {
            width,
            height,
            layers,
        } = self;
        let (at, side, towards) = match towards {
            Towards::Right => (cell.x, width, "to the right"),
            Towards::Down => (cell.y, height, "down"),
            Towards::NextLayer => (cell.layer, layers, "to the next layer"),
        };
        // The cell is on the grid, so its coordinate plus 1 does not overflow.
        if at + 1 < side {
            return Ok(index);
        }
        Err(Error::EdgeOutside {
            cell,
            towards,
            width,
            height,
            layers,
        })
    }
}

impl fmt::Display for Extents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            width,
            height,
            layers,
        } = self;
        write!(f, "{width} × {height} cells in {layers} layers")
    }
}
