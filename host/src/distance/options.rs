//! [`CostDistanceOptions`].

use crate::backend::Backend;
use crate::error::{Error, OptionProblem, Result, short};
use crate::options::{names, setters};

/// The cells to which a step leads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Neighbours {
    /// The four cells that share a side.
    Four,
    /// The eight cells that share a side or a corner.
    #[default]
    Eight,
    /// The eight, and the eight that a knight's move leads to. A knight's move passes through two
    /// more cells, whose friction counts, and is barred if one of them is a barrier.
    Sixteen,
}

names! { Neighbours, "neighbours" {
    Four => "4",
    Eight => "8",
    Sixteen => "16",
} }

/// What a step costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StepCost {
    /// The mean friction along the step times its length.
    #[default]
    Mean,
    /// The friction of the cell that it enters, on the way from the source, whatever its length
    /// (`skimage.graph.MCP`). The source's own friction is not counted. For 4 or 8 neighbours, on
    /// the processor.
    Entered,
}

names! { StepCost, "step_cost" {
    Mean => "mean",
    Entered => "entered",
} }

/// The numbers in which costs are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Precision {
    /// IEEE binary32, 24 bits.
    #[default]
    F32,
    /// IEEE binary64, 53 bits.
    F64,
}

names! { Precision, "precision" {
    F32 => "f32",
    F64 => "f64",
} }

/// The ways to compute costs. All give the same results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DistanceAlgorithm {
    /// Dijkstra's search with a binary heap, on one thread. Slow, short, and the others' oracle.
    Dijkstra,
    /// Buckets of cells of similar cost, on one thread.
    Buckets,
    /// Tiles of the raster, each with buckets of its own, on all threads.
    Tiles,
}

names! { DistanceAlgorithm, "algorithm" {
    Dijkstra => "dijkstra",
    Buckets => "buckets",
    Tiles => "tiles",
} }

impl DistanceAlgorithm {
    /// The backends that run it.
    pub fn backends(self) -> &'static [Backend] {
        &[Backend::Cpu]
    }

    /// The algorithms that run on `backend`.
    pub fn on(backend: Backend) -> &'static [Self] {
        match backend {
            Backend::Cpu => Self::ALL,
            Backend::Cuda | Backend::Emulator => &[],
        }
    }
}

/// The sides of a cell, in the unit of length of the costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellSize {
    /// The distance between the centres of neighbouring columns.
    pub x: f64,
    /// The distance between the centres of neighbouring rows.
    pub y: f64,
}

impl Default for CellSize {
    fn default() -> Self {
        Self { x: 1.0, y: 1.0 }
    }
}

/// How to compute the costs of travel.
///
/// ```
/// use trazar::distance::{CellSize, CostDistanceOptions, Neighbours};
///
/// let options = CostDistanceOptions::default()
///     .cell_size(CellSize { x: 30.0, y: 30.0 })
///     .neighbours(Neighbours::Sixteen)
///     .max_cost(5000.0);
/// assert!(!options.allocation);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CostDistanceOptions {
    /// The cells to which a step leads.
    pub neighbours: Neighbours,
    /// The sides of a cell.
    pub cell_size: CellSize,
    /// What a step costs.
    pub step_cost: StepCost,
    /// Cells that cost more are not reached, and are not searched.
    pub max_cost: Option<f64>,
    /// The numbers in which costs are computed.
    pub precision: Precision,
    /// Whether to find the source from which each cell is reached.
    pub allocation: bool,
    /// Whether to find the way back to that source. Paths need it.
    pub direction: bool,
    /// How to compute it; `None` leaves the choice to the engine.
    pub algorithm: Option<DistanceAlgorithm>,
}

setters! {
    CostDistanceOptions {
        neighbours: Neighbours,
        cell_size: CellSize,
        step_cost: StepCost,
        max_cost: impl Into<Option<f64>>,
        precision: Precision,
        allocation: bool,
        direction: bool,
        algorithm: impl Into<Option<DistanceAlgorithm>>,
    }
}

impl CostDistanceOptions {
    /// Checks the numbers among the options.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for sides of cells that are not positive and finite, for a
    /// `max_cost` that is negative or NaN, and for knight's moves with [`StepCost::Entered`].
    pub fn validate(&self) -> Result<()> {
        let range = OptionProblem::OutOfRange;
        let CellSize { x, y } = self.cell_size;
        for side in [x, y] {
            if !(side > 0.0 && side.is_finite()) {
                let why = format!(
                    "a cell's side is {}: it must be positive and finite",
                    short(side)
                );
                return Err(Error::option("cell_size", range, why));
            }
        }
        if self.step_cost == StepCost::Entered && self.neighbours == Neighbours::Sixteen {
            let why = "knight's moves cross cells that they do not enter: with the step cost \
                       `entered`, neighbours are 4 or 8";
            return Err(Error::option("step_cost", OptionProblem::Conflict, why));
        }
        match self.max_cost {
            Some(cost) if cost < 0.0 || cost.is_nan() => {
                let why = format!("`max_cost` is {}: it must be 0 or more", short(cost));
                Err(Error::option("max_cost", range, why))
            }
            _ => Ok(()),
        }
    }
}
