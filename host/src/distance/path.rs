//! [`Path`]: the way of least cost from a source to a cell.

use super::result::CostDistance;
use crate::error::{Error, OptionProblem, Result};
use crate::memory::{push, with_room};

/// A path of least cost, from a source to a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    cells: Vec<(u32, u32)>,
    cost: f64,
}

impl Path {
    /// The cells (column, row) from the source on, both ends included.
    pub fn cells(&self) -> &[(u32, u32)] {
        &self.cells
    }

    /// The cells, without a copy.
    pub fn into_cells(self) -> Vec<(u32, u32)> {
        self.cells
    }

    /// What the path costs, the source's start cost included.
    pub fn cost(&self) -> f64 {
        self.cost
    }
}

impl CostDistance {
    /// The path of least cost to the cell in column `x` and row `y`, along the
    /// [directions](Self::direction). The steps, added up from the source's start cost on, give the
    /// cell's cost, bit for bit.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] without directions, [`Error::OutsideRaster`],
    /// [`Error::Unreached`], [`Error::OutOfMemory`].
    pub fn least_cost_path(&self, x: u32, y: u32) -> Result<Path> {
        const WHAT: &str = "the cells of a path";
        let Some(codes) = self.direction() else {
            let why = "paths follow the directions: ask for them with the option `direction`";
            return Err(Error::option("direction", OptionProblem::Missing, why));
        };
        let Some(cost) = self.get(x, y) else {
            self.index(x, y)?;
            return Err(Error::Unreached { x, y });
        };
        let mut cells = with_room(1, WHAT)?;
        cells.push((x, y));
        let mut last = (x, y);
        while let Some(cell) = self.back(codes, last.0, last.1)? {
            push(&mut cells, cell, WHAT)?;
            last = cell;
        }
        cells.reverse();
        Ok(Path { cells, cost })
    }

    /// [`least_cost_path`](Self::least_cost_path) to each of the cells (column, row).
    ///
    /// # Errors
    /// Those of `least_cost_path`.
    pub fn least_cost_paths(&self, cells: &[(u32, u32)]) -> Result<Vec<Path>> {
        let mut paths = with_room(cells.len(), "the paths")?;
        for &(x, y) in cells {
            paths.push(self.least_cost_path(x, y)?);
        }
        Ok(paths)
    }
}
