//! Costs, allocation and directions in a GPU's memory.

use crate::distance::{Costs, Precision};
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer};

/// The least cost of travel to each cell, in a GPU's memory, with allocation and directions if they
/// were asked for: what
/// [`DeviceDistances::cost_distance`](crate::DeviceDistances::cost_distance) finds.
#[derive(Debug)]
pub struct DeviceCosts<G: Gpu> {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) costs: CostBuffer<G>,
    pub(super) allocation: Option<G::Buffer<u32>>,
    pub(super) direction: Option<G::Buffer<u8>>,
}

/// Costs of one precision, row by row; NaN where nothing reaches.
#[derive(Debug)]
#[non_exhaustive]
pub enum CostBuffer<G: Gpu> {
    /// Computed in f32.
    F32(G::Buffer<f32>),
    /// Computed in f64.
    F64(G::Buffer<f64>),
}

/// The memory of costs, and of allocation and directions if they were asked for.
pub type CostParts<G> = (
    CostBuffer<G>,
    Option<<G as Gpu>::Buffer<u32>>,
    Option<<G as Gpu>::Buffer<u8>>,
);

impl<G: Gpu> DeviceCosts<G> {
    /// Width in cells.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height in cells.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The precision in which they were computed.
    pub fn precision(&self) -> Precision {
        match self.costs {
            CostBuffer::F32(_) => Precision::F32,
            CostBuffer::F64(_) => Precision::F64,
        }
    }

    /// The costs.
    pub fn costs(&self) -> &CostBuffer<G> {
        &self.costs
    }

    /// The costs' memory.
    pub fn into_costs(self) -> CostBuffer<G> {
        self.costs
    }

    /// By cell, row by row: the id of the source from which it is reached, as
    /// [`CostDistance::allocation`](crate::distance::CostDistance::allocation).
    pub fn allocation(&self) -> Option<&G::Buffer<u32>> {
        self.allocation.as_ref()
    }

    /// By cell, row by row: the code of the direction back to the source, as
    /// [`CostDistance::direction`](crate::distance::CostDistance::direction).
    pub fn direction(&self) -> Option<&G::Buffer<u8>> {
        self.direction.as_ref()
    }

    /// The memory of costs, allocation and directions.
    pub fn into_parts(self) -> CostParts<G> {
        (self.costs, self.allocation, self.direction)
    }

    /// Copies the costs to the host. Waits for them.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), `Error::Cuda`,
    /// [`Error::Emulator`](crate::Error::Emulator).
    pub fn to_host(&self) -> Result<Costs> {
        Ok(match &self.costs {
            CostBuffer::F32(costs) => Costs::F32(costs.to_vec()?),
            CostBuffer::F64(costs) => Costs::F64(costs.to_vec()?),
        })
    }
}
