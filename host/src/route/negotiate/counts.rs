//! [`EdgeCounts`]: a whole number for each edge of a grid.

use std::fmt;

use crate::error::{Error, OptionProblem, Result};
use crate::geometry::Cell;
use crate::memory::zeroed_vec;
use crate::route::extents::{Extents, Towards};
use crate::route::grid::RoutingGrid;

/// The capacity of an edge that any number of nets may use.
pub const UNLIMITED: u32 = u32::MAX;

/// A whole number for each edge of a grid: how many nets may use it (its capacity), or how many do.
///
/// Edges that the grid does not have, such as those to the right in the last column, have 0. A
/// capacity of [`UNLIMITED`] is no limit; one of 0 blocks the edge.
///
/// ```
/// use trazar::route::{Cell, EdgeCounts, RoutingGrid};
///
/// let grid = RoutingGrid::uniform(3, 2, 1)?;
/// let mut capacities = EdgeCounts::uniform(&grid, 4, 1)?;
/// capacities.set_right(Cell::at(1, 0), 2)?;
/// assert_eq!(capacities.right(Cell::at(0, 0)), 4);
/// assert_eq!(capacities.right(Cell::at(1, 0)), 2);
/// assert_eq!(capacities.right(Cell::at(2, 0)), 0);
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// # Memory
/// 8 bytes per cell, 12 with several layers.
#[derive(Clone, PartialEq, Eq)]
pub struct EdgeCounts {
    extents: Extents,
    /// By cell, as the weights of a [`RoutingGrid`].
    right: Vec<u32>,
    down: Vec<u32>,
    via: Vec<u32>,
}

impl EdgeCounts {
    /// `wires` for each edge of `grid` within a layer, and `vias` for each edge between layers;
    /// also for edges that are blocked.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn uniform(grid: &RoutingGrid, wires: u32, vias: u32) -> Result<Self> {
        let mut counts = Self::zero(grid)?;
        let (width, height) = (grid.width() as usize, grid.height() as usize);
        for (line, row) in counts.right.chunks_exact_mut(width).enumerate() {
            row[..width - 1].fill(wires);
            if line % height + 1 < height {
                counts.down[line * width..][..width].fill(wires);
            }
        }
        let last = counts.via.len().saturating_sub(width * height);
        counts.via[..last].fill(vias);
        Ok(counts)
    }

    /// 0 for each edge of `grid`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn zero(grid: &RoutingGrid) -> Result<Self> {
        const WHAT: &str = "numbers of edges";
        let cells = grid.cell_count() as usize;
        Ok(Self {
            extents: grid.extents(),
            right: zeroed_vec(cells, WHAT)?,
            down: zeroed_vec(cells, WHAT)?,
            via: zeroed_vec(if grid.layers() > 1 { cells } else { 0 }, WHAT)?,
        })
    }

    /// The number of the edge from `cell` to `(x + 1, y)`; 0 in the last column.
    ///
    /// # Panics
    /// For a cell outside the grid.
    #[track_caller]
    pub fn right(&self, cell: Cell) -> u32 {
        self.right[self.extents.index(cell) as usize]
    }

    /// The number of the edge from `cell` to `(x, y + 1)`; 0 in the last row.
    ///
    /// # Panics
    /// For a cell outside the grid.
    #[track_caller]
    pub fn down(&self, cell: Cell) -> u32 {
        self.down[self.extents.index(cell) as usize]
    }

    /// The number of the via from `cell` to the next layer; 0 on the last.
    ///
    /// # Panics
    /// For a cell outside the grid.
    #[track_caller]
    pub fn via(&self, cell: Cell) -> u32 {
        let index = self.extents.index(cell) as usize;
        self.via.get(index).copied().unwrap_or(0)
    }

    /// By cell: the numbers of the edges to the right.
    pub fn rights(&self) -> &[u32] {
        &self.right
    }

    /// By cell: the numbers of the edges down.
    pub fn downs(&self) -> &[u32] {
        &self.down
    }

    /// By cell: the numbers of the vias to the next layer; empty for one layer.
    pub fn vias(&self) -> &[u32] {
        &self.via
    }

    /// Sets the number of the edge from `cell` to `(x + 1, y)`.
    ///
    /// # Errors
    /// [`Error::CellOutside`] for a cell outside the grid, [`Error::EdgeOutside`] for one in the
    /// last column: nothing is set.
    pub fn set_right(&mut self, cell: Cell, count: u32) -> Result<()> {
        let index = self.extents.checked_edge(cell, Towards::Right)?;
        self.right[index] = count;
        Ok(())
    }

    /// Sets the number of the edge from `cell` to `(x, y + 1)`.
    ///
    /// # Errors
    /// [`Error::CellOutside`] for a cell outside the grid, [`Error::EdgeOutside`] for one in the
    /// last row: nothing is set.
    pub fn set_down(&mut self, cell: Cell, count: u32) -> Result<()> {
        let index = self.extents.checked_edge(cell, Towards::Down)?;
        self.down[index] = count;
        Ok(())
    }

    /// Sets the number of the via from `cell` to the next layer.
    ///
    /// # Errors
    /// [`Error::CellOutside`] for a cell outside the grid, [`Error::EdgeOutside`] for one on the
    /// last layer: nothing is set.
    pub fn set_via(&mut self, cell: Cell, count: u32) -> Result<()> {
        let index = self.extents.checked_edge(cell, Towards::NextLayer)?;
        self.via[index] = count;
        Ok(())
    }

    /// The numbers to the right, down and to the next layer, by cell. Those of edges that the grid
    /// does not have must stay 0.
    pub(crate) fn counts_mut(&mut self) -> [&mut [u32]; 3] {
        [&mut self.right, &mut self.down, &mut self.via]
    }

    /// Refuses capacities of a grid of another size.
    pub(crate) fn check_fits(&self, grid: &RoutingGrid) -> Result<()> {
        if self.extents == grid.extents() {
            return Ok(());
        }
        Err(Error::option(
            "capacities",
            OptionProblem::Conflict,
            format!(
                "the capacities are for a grid of {}, and this one has {}",
                self.extents,
                grid.extents()
            ),
        ))
    }
}

impl fmt::Debug for EdgeCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EdgeCounts({})", self.extents)
    }
}
