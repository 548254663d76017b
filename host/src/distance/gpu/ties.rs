//! Allocation and directions from final costs, by kernels.

use cuda_std::ViewMut;
use cuda_std::launch::KernelSpec;
use trazar_kernels::distance::spread::{
    Spread, spread_f32, spread_f64, spread_knights_f32, spread_knights_f64,
};
use trazar_kernels::distance::ties::{
    find_ties_f32, find_ties_f64, finish_directions, finish_ids, start_ids_f32, start_ids_f64,
    start_layers,
};

use super::search::{DeviceReal, DeviceSearch};
use crate::distance::CostDistanceOptions;
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer};

/// Ids and directions by cell, if they were asked for.
pub(super) type Found<G> = (
    Option<<G as Gpu>::Buffer<u32>>,
    Option<<G as Gpu>::Buffer<u8>>,
);

/// The memory that allocation and directions need.
#[derive(Debug)]
pub(crate) struct Ties<G: Gpu> {
    /// By place: the tight steps into the cell; 0 in the margin.
    steps: G::Buffer<u16>,
    /// By place: what spreads along them.
    values: G::Buffer<u32>,
}

impl<G: Gpu> Ties<G> {
    fn new(gpu: &G, places: usize) -> Result<Self> {
        Ok(Self {
            steps: gpu.alloc_zeroed(places)?,
            values: gpu.alloc(places)?,
        })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.steps.bytes() + self.values.bytes()
    }
}

/// The kernels of a precision.
pub(crate) trait DeviceTies: Sized {
    /// The kernel that spreads values along steps to 16 neighbours, or to 4 and 8.
    fn spread_spec(knights: bool) -> &'static KernelSpec;

    /// Queues noting the ids of tight sources.
    fn start_ids<G: Gpu>(search: &DeviceSearch<Self, G>, ties: &mut Ties<G>) -> Result<()>
    where
        Self: DeviceReal;

    /// Queues finding tight steps, and directions that do not follow plateaus.
    fn find_ties<G: Gpu>(
        search: &DeviceSearch<Self, G>,
        ties: &mut Ties<G>,
        directions: ViewMut<'_, u8>,
    ) -> Result<()>
    where
        Self: DeviceReal;

    /// Queues spreading values, with `added` per step.
    fn spread<G: Gpu>(
        search: &mut DeviceSearch<Self, G>,
        ties: &mut Ties<G>,
        added: u32,
    ) -> Result<()>
    where
        Self: DeviceReal;
}

macro_rules! device_ties {
    ($($real:ty: $start:ident, $find:ident, $near:ident, $knights:ident;)*) => {$(
        impl DeviceTies for $real {
            fn spread_spec(knights: bool) -> &'static KernelSpec {
                if knights { &$knights::SPEC } else { &$near::SPEC }
            }

            fn start_ids<G: Gpu>(
                search: &DeviceSearch<Self, G>,
                ties: &mut Ties<G>,
            ) -> Result<()> {
                let starts = search.start_places.len() as u64;
                // SAFETY: sources have been checked to be in the raster and to have ids from 1 on;
                // there is a cost and an id for each. Nothing else uses the buffers.
                unsafe {
                    $start::launch_threads(
                        &search.gpu.launcher(),
                        starts,
                        search.costs.view(),
                        search.start_places.view(),
                        search.start_costs.view(),
                        search.start_ids.view(),
                        ties.values.view_mut(),
                    )
                }
            }

            fn find_ties<G: Gpu>(
                search: &DeviceSearch<Self, G>,
                ties: &mut Ties<G>,
                directions: ViewMut<'_, u8>,
            ) -> Result<()> {
                // SAFETY: all buffers have been allocated for this raster, and nothing else uses
                // them.
                unsafe {
                    $find::launch_threads(
                        &search.gpu.launcher(),
                        search.cells(),
                        search.friction.view(),
                        search.costs.view(),
                        ties.values.view(),
                        search.shares,
                        search.raster,
                        ties.steps.view_mut(),
                        directions,
                    )
                }
            }

            fn spread<G: Gpu>(
                search: &mut DeviceSearch<Self, G>,
                ties: &mut Ties<G>,
                added: u32,
            ) -> Result<()> {
                let knights = search.raster.margin == 2;
                let spread = Spread {
                    steps: ties.steps.view(),
                    values: ties.values.view_mut(),
                    costs: search.costs.view(),
                    barrier: search.barrier.views(),
                    queue: search.queue.views(),
                    added,
                    raster: search.raster,
                };
                let on = &search.gpu.launcher();
                // SAFETY: the steps of the margin are 0 since they were allocated, and none leads
                // out of the raster, where the costs are infinite. With 1 per step there are layers
                // of cells, which are fewer than 2³² - 1. The queue is as it was allocated, or as a
                // launch has left it. Nothing else uses the buffers.
                unsafe {
                    if knights {
                        $knights::launch(on, search.blocks, spread)
                    } else {
                        $near::launch(on, search.blocks, spread)
                    }
                }
            }
        }
    )*};
}
device_ties! {
    f32: start_ids_f32, find_ties_f32, spread_f32, spread_knights_f32;
    f64: start_ids_f64, find_ties_f64, spread_f64, spread_knights_f64;
}

impl<P: DeviceReal, G: Gpu> DeviceSearch<P, G> {
    /// Queues finding what the options ask for beside the costs, which have been found.
    pub(super) fn find_ties(&mut self, options: &CostDistanceOptions) -> Result<Found<G>> {
        if !options.allocation && !options.direction {
            return Ok((None, None));
        }
        let mut ties = match self.ties.take() {
            Some(ties) => ties,
            None => Ties::new(&self.gpu, self.raster.places() as usize)?,
        };
        let cells = self.cells() as usize;
        let mut directions = self.gpu.alloc(if options.direction { cells } else { 0 })?;
        ties.values.fill(u32::MAX)?;
        if !self.start_places.is_empty() {
            P::start_ids(self, &mut ties)?;
        }
        P::find_ties(self, &mut ties, directions.view_mut())?;
        let mut allocation = None;
        if options.allocation {
            let mut ids = self.gpu.alloc(cells)?;
            P::spread(self, &mut ties, 0)?;
            let (on, found) = (&self.gpu.launcher(), ties.values.view());
            // SAFETY: the buffers have been allocated for this raster, and nothing else uses them.
            unsafe {
                finish_ids::launch_threads(on, cells as u64, found, self.raster, ids.view_mut())?;
            }
            allocation = Some(ids);
        }
        if !options.direction {
            self.ties = Some(ties);
            return Ok((allocation, None));
        }
        let (known, layers) = (directions.view(), ties.values.view_mut());
        // SAFETY: the buffers have been allocated for this raster, and nothing else uses them.
        unsafe {
            let on = &self.gpu.launcher();
            start_layers::launch_threads(on, cells as u64, known, self.raster, layers)?;
        }
        P::spread(self, &mut ties, 1)?;
        let (steps, layers) = (ties.steps.view(), ties.values.view());
        // SAFETY: the same.
        unsafe {
            finish_directions::launch_threads(
                &self.gpu.launcher(),
                cells as u64,
                steps,
                layers,
                self.raster,
                directions.view_mut(),
            )?;
        }
        self.ties = Some(ties);
        Ok((allocation, Some(directions)))
    }
}
