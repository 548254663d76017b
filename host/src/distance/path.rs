//! [`Path`]: the way of least cost from a source to a cell.

use super::result::{CostDistance, index_in};
use super::steps::{Direction, NO_DIRECTION};
use crate::error::{Error, OptionProblem, Result, check_len};
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
        let Some(codes) = self.direction() else {
            let why = "paths follow the directions: ask for them with the option `direction`";
            return Err(Error::option("direction", OptionProblem::Missing, why));
        };
        let Some(cost) = self.get(x, y) else {
            self.index(x, y)?;
            return Err(Error::Unreached { x, y });
        };
        let cells = follow_directions(self.width(), self.height(), codes, x, y)?;
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

/// The cells (column, row) of the path to a cell from its source on, along the codes of
/// [directions](CostDistance::direction), given row by row.
///
/// # Errors
/// [`Error::LengthMismatch`] unless there are `width × height` codes, [`Error::OutsideRaster`],
/// [`Error::Unreached`] for a cell without a direction, [`Error::InvalidOption`] for codes that
/// lead nowhere or in a circle, [`Error::OutOfMemory`].
pub fn follow_directions(
    width: u32,
    height: u32,
    codes: &[u8],
    x: u32,
    y: u32,
) -> Result<Vec<(u32, u32)>> {
    const WHAT: &str = "the cells of a path";
    let needed = width as usize * height as usize;
    check_len(needed, codes.len())?;
    index_in(width, height, x, y)?;
    let mut cells = with_room(1, WHAT)?;
    let mut last = (x, y);
    loop {
        push(&mut cells, last, WHAT)?;
        let code = codes[last.1 as usize * width as usize + last.0 as usize];
        if code == 0 {
            cells.reverse();
            return Ok(cells);
        }
        if code == NO_DIRECTION && cells.len() == 1 {
            return Err(Error::Unreached { x, y });
        }
        let next = Direction::from_code(code).and_then(|direction| {
            let (right, down) = direction.offset();
            let (x, y) = (
                last.0.checked_add_signed(right)?,
                last.1.checked_add_signed(down)?,
            );
            (x < width && y < height).then_some((x, y))
        });
        match next {
            Some(next) if cells.len() < needed => last = next,
            _ => {
                let why = format!(
                    "the direction {code} at row {}, column {} leads nowhere or in a circle: give \
                     the directions of a cost distance",
                    last.1, last.0
                );
                return Err(Error::option("direction", OptionProblem::Malformed, why));
            }
        }
    }
}
