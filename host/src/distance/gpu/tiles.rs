//! One search in tiles, on any [`Gpu`].

use cuda_std::grid::GridBarrierBuffers;
use cuda_std::launch::KernelSpec;
use trazar_kernels::distance::{
    CostRaster, CostSearch, SHARES, TileQueueBuffers, relax_costs_f32, relax_costs_f64,
    relax_knights_f32, relax_knights_f64,
};

use crate::distance::real::Real;
use crate::distance::search::Search;
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer, OnGpu};
use crate::memory::push;

/// The codes of the steps whose shares the kernels take, in their order.
const CODES: [u8; SHARES] = [1, 3, 2, 9, 10];

/// A precision that the kernels compute in.
pub(crate) trait DeviceReal: trazar_kernels::distance::Cost {
    /// The costs with these bits, in the same memory.
    fn of_bits(bits: Vec<Self::Bits>) -> Vec<Self>;

    /// The kernel for 16 neighbours, or the one for 4 and 8.
    fn spec(knights: bool) -> &'static KernelSpec;

    /// Launches it.
    ///
    /// # Safety
    /// That of the kernels.
    unsafe fn launch<G: Gpu>(
        gpu: &G,
        knights: bool,
        blocks: u32,
        search: CostSearch<'_, Self>,
    ) -> Result<()>;
}

macro_rules! device_reals {
    ($($real:ty: $near:ident, $knights:ident;)*) => {$(
        impl DeviceReal for $real {
            fn of_bits(bits: Vec<Self::Bits>) -> Vec<Self> {
                bytemuck::allocation::cast_vec(bits)
            }

            fn spec(knights: bool) -> &'static KernelSpec {
                if knights { &$knights::SPEC } else { &$near::SPEC }
            }

            unsafe fn launch<G: Gpu>(
                gpu: &G,
                knights: bool,
                blocks: u32,
                search: CostSearch<'_, Self>,
            ) -> Result<()> {
                let on = &gpu.launcher();
                // SAFETY: the caller's promise.
                unsafe {
                    if knights {
                        $knights::launch(on, blocks, search)
                    } else {
                        $near::launch(on, blocks, search)
                    }
                }
            }
        }
    )*};
}
device_reals! {
    f32: relax_costs_f32, relax_knights_f32;
    f64: relax_costs_f64, relax_knights_f64;
}

/// A search in the memory of a device.
#[derive(Debug)]
pub(crate) struct DeviceSearch<P: DeviceReal, G: Gpu> {
    gpu: G,
    knights: bool,
    blocks: u32,
    raster: CostRaster,
    shares: [P; SHARES],
    limit: P,
    friction: G::Buffer<P>,
    costs: G::Buffer<P::Bits>,
    start_places: G::Buffer<u32>,
    start_costs: G::Buffer<P::Bits>,
    queue: TileQueueBuffers<OnGpu<G>>,
    barrier: GridBarrierBuffers<OnGpu<G>>,
}

impl<P: Real + DeviceReal, G: Gpu> DeviceSearch<P, G> {
    /// Copies a search.
    pub(crate) fn upload(gpu: &G, search: &Search<P>) -> Result<Self> {
        let raster = CostRaster {
            width: search.width as u32,
            height: search.height as u32,
            margin: search.margin as u32,
        };
        let places = raster.places() as usize;
        let knights = search.margin == 2;
        // No block without a tile: it would only wait.
        let blocks = gpu.resident_blocks(P::spec(knights), 0)?;
        let blocks = blocks.clamp(1, raster.tiles());
        let (mut start_places, mut start_costs) = (Vec::new(), Vec::new());
        for start in &search.starts {
            push(&mut start_places, start.place, "the sources")?;
            push(&mut start_costs, start.cost.to_bits(), "the sources")?;
        }
        let memory = OnGpu(gpu.clone());
        let mut queue = TileQueueBuffers::alloc(&memory, &raster.queue_sizes(blocks))?;
        queue.pending.fill(u32::MAX)?;
        Ok(Self {
            gpu: gpu.clone(),
            knights,
            blocks,
            raster,
            shares: CODES.map(|code| {
                let step = search.steps.iter().find(|step| step.code == code);
                step.map_or(<P as Real>::INFINITY, |step| step.share)
            }),
            limit: search.max_cost,
            friction: gpu.upload(&search.friction[..places])?,
            costs: gpu.alloc(places)?,
            start_places: gpu.upload(&start_places)?,
            start_costs: gpu.upload(&start_costs)?,
            queue,
            barrier: GridBarrierBuffers::alloc(&memory, &())?,
        })
    }

    /// Finds all costs, and may return before that is done. It may be called again.
    pub(crate) fn find(&mut self) -> Result<()> {
        let search = CostSearch {
            friction: self.friction.view(),
            costs: self.costs.view_mut(),
            start_places: self.start_places.view(),
            start_costs: self.start_costs.view(),
            barrier: self.barrier.views(),
            queue: self.queue.views(),
            shares: self.shares,
            limit: self.limit,
            raster: self.raster,
        };
        // SAFETY: `Search` puts infinite friction around the raster, as wide as a step is long, and
        // has checked the friction, the sources and the shares. The queue is as it was allocated,
        // with all words `u32::MAX`, or as a launch has left it. Nothing else uses the buffers.
        unsafe { P::launch(&self.gpu, self.knights, self.blocks, search) }
    }

    /// The costs of all places, with the margin.
    pub(crate) fn to_host(&self) -> Result<Vec<P>> {
        Ok(P::of_bits(self.costs.to_vec()?))
    }
}
