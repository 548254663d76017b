//! [`CostDistance`]: costs with allocation and directions.

use super::cpu::ties::Solved;
use super::options::{CellSize, CostDistanceOptions, Neighbours, Precision};
use super::real::Real;
use super::search::Search;
use crate::error::{Error, Result};

/// The cost of each cell, row by row without padding. NaN where nothing reaches.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Costs {
    /// Computed in f32.
    F32(Vec<f32>),
    /// Computed in f64.
    F64(Vec<f64>),
}

impl Costs {
    /// The costs, if they were computed in f32.
    pub fn as_f32(&self) -> Option<&[f32]> {
        match self {
            Self::F32(costs) => Some(costs),
            Self::F64(_) => None,
        }
    }

    /// The costs, if they were computed in f64.
    pub fn as_f64(&self) -> Option<&[f64]> {
        match self {
            Self::F64(costs) => Some(costs),
            Self::F32(_) => None,
        }
    }

    /// The cost at an index; NaN where nothing reaches.
    pub fn at(&self, index: usize) -> f64 {
        match self {
            Self::F32(costs) => costs[index].into(),
            Self::F64(costs) => costs[index],
        }
    }

    /// The numbers in which they were computed.
    pub fn precision(&self) -> Precision {
        match self {
            Self::F32(_) => Precision::F32,
            Self::F64(_) => Precision::F64,
        }
    }
}

/// Costs, and allocation and directions if they were asked for.
pub(crate) type Parts = (Costs, Option<Vec<u32>>, Option<Vec<u8>>);

/// The result of [`Engine::cost_distance`](crate::Engine::cost_distance).
#[derive(Clone, Debug)]
pub struct CostDistance {
    width: u32,
    height: u32,
    neighbours: Neighbours,
    cell_size: CellSize,
    costs: Costs,
    allocation: Option<Vec<u32>>,
    direction: Option<Vec<u8>>,
}

impl CostDistance {
    /// From costs with the margin of `search`.
    ///
    /// # Errors
    /// [`Error::CostOverflow`], [`Error::OutOfMemory`].
    pub(crate) fn new<P: Real>(
        search: Search<P>,
        costs: Vec<P>,
        options: &CostDistanceOptions,
    ) -> Result<Self> {
        search.check_overflow(&costs)?;
        let solved = Solved {
            search: &search,
            costs: &costs,
        };
        let allocation = options.allocation.then(|| solved.allocation());
        let allocation = allocation.transpose()?;
        let direction = options.direction.then(|| solved.directions()).transpose()?;
        // The friction's memory is free before that of the results is taken.
        let frame = search.frame;
        drop(search.friction);
        let narrow = |cost: P| if cost.is_finite() { cost } else { P::NAN };
        let narrow = frame.without_margin(&costs, narrow)?;
        drop(costs);
        let allocation = allocation.map(|ids| frame.without_margin(&ids, |id| id));
        let direction = direction.map(|codes| frame.without_margin(&codes, |code| code));
        let (width, height) = (frame.width as u32, frame.height as u32);
        let parts = (
            P::wrap(narrow),
            allocation.transpose()?,
            direction.transpose()?,
        );
        Ok(Self::of_parts(width, height, parts, options))
    }

    /// From costs that have been checked, and what follows from them.
    pub(crate) fn of_parts(
        width: u32,
        height: u32,
        (costs, allocation, direction): Parts,
        options: &CostDistanceOptions,
    ) -> Self {
        Self {
            width,
            height,
            neighbours: options.neighbours,
            cell_size: options.cell_size,
            costs,
            allocation,
            direction,
        }
    }

    /// Width in cells.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height in cells.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The cells to which a step led.
    pub fn neighbours(&self) -> Neighbours {
        self.neighbours
    }

    /// The sides of a cell.
    pub fn cell_size(&self) -> CellSize {
        self.cell_size
    }

    /// The costs of all cells.
    pub fn costs(&self) -> &Costs {
        &self.costs
    }

    /// The cost of a cell; `None` outside the raster and where nothing reaches.
    pub fn get(&self, x: u32, y: u32) -> Option<f64> {
        let cost = self.costs.at(self.index(x, y).ok()?);
        (!cost.is_nan()).then_some(cost)
    }

    /// By cell, row by row: the id of the source from which it is reached; 0 where nothing reaches.
    /// `None` if the options did not ask for it.
    pub fn allocation(&self) -> Option<&[u32]> {
        self.allocation.as_deref()
    }

    /// By cell, row by row: the code of the [`Direction`](super::Direction) back to the source, or
    /// [`NO_DIRECTION`](super::NO_DIRECTION) where nothing reaches. `None` if the options did not
    /// ask for it.
    pub fn direction(&self) -> Option<&[u8]> {
        self.direction.as_deref()
    }

    /// The arrays of costs, allocation and directions.
    pub fn into_parts(self) -> (Costs, Option<Vec<u32>>, Option<Vec<u8>>) {
        (self.costs, self.allocation, self.direction)
    }

    /// The index of a cell in the arrays.
    pub(crate) fn index(&self, x: u32, y: u32) -> Result<usize> {
        index_in(self.width, self.height, x, y)
    }
}

/// The index of a cell in arrays of a raster's size.
pub(super) fn index_in(width: u32, height: u32, x: u32, y: u32) -> Result<usize> {
    if x < width && y < height {
        return Ok(y as usize * width as usize + x as usize);
    }
    Err(Error::OutsideRaster {
        x: x.into(),
        y: y.into(),
        width,
        height,
    })
}
