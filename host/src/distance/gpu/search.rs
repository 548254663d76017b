//! One search in tiles, on any [`Gpu`].

use cuda_std::ViewMut;
use cuda_std::grid::GridBarrierBuffers;
use cuda_std::launch::KernelSpec;
use trazar_kernels::distance::{
    CostRaster, CostSearch, SHARES, TileQueueBuffers, find_barriers_f32, find_barriers_f64,
    finish_f32, finish_f64, relax_costs_f32, relax_costs_f64, relax_knights_f32, relax_knights_f64,
};

use super::surface::{DeviceSurface, Values};
use super::ties::{DeviceTies, Ties};
use crate::distance::real::Real;
use crate::distance::search::{Frame, on_barrier, overflow, refuse};
use crate::distance::{CostDistanceOptions, Friction, Sources};
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer, GpuLauncher, OnGpu, WorkingMemory};
use crate::memory::push;

/// The codes of the steps whose shares the kernels take, in their order.
const CODES: [u8; SHARES] = [1, 3, 2, 9, 10];

/// The indices among a search's [`found`](DeviceSearch::found) of the first cell whose friction is
/// refused, the first source on a barrier, and the first cell whose cost overflows.
const REFUSED: usize = 0;
const BARRED: usize = 1;
const CUT_OFF: usize = 2;
/// How many these are.
const FOUND: usize = 3;

/// A precision that the kernels compute in.
pub(crate) trait DeviceReal: trazar_kernels::distance::Cost + Real + DeviceTies {
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

    /// Launches the kernel that rounds friction.
    ///
    /// # Safety
    /// That of the kernel.
    unsafe fn place<G: Gpu, T: Friction>(
        on: &GpuLauncher<'_, G>,
        from: Values<'_, T>,
        raster: CostRaster,
        to: (ViewMut<'_, Self>, ViewMut<'_, u32>),
    ) -> Result<()>;

    /// Queues the search for the first start on a barrier.
    fn find_barriers<G: Gpu>(search: &mut DeviceSearch<Self, G>) -> Result<()>;

    /// Queues writing the costs without their margin.
    fn finish<G: Gpu>(
        search: &mut DeviceSearch<Self, G>,
        costs: &mut G::Buffer<Self>,
    ) -> Result<()>;
}

macro_rules! device_reals {
    ($($real:ty: $near:ident, $knights:ident, $place:ident, $find:ident, $finish:ident;)*) => {$(
        impl DeviceReal for $real {
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

            unsafe fn place<G: Gpu, T: Friction>(
                on: &GpuLauncher<'_, G>,
                from: Values<'_, T>,
                raster: CostRaster,
                to: (ViewMut<'_, Self>, ViewMut<'_, u32>),
            ) -> Result<()> {
                // SAFETY: the caller's promise.
                unsafe { T::$place(on, from, raster, to) }
            }

            fn find_barriers<G: Gpu>(search: &mut DeviceSearch<Self, G>) -> Result<()> {
                let starts = search.start_places.len() as u64;
                // SAFETY: sources have been checked to be in the raster, and nothing else uses the
                // buffers.
                unsafe {
                    $find::launch_threads(
                        &search.gpu.launcher(),
                        starts,
                        search.friction.view(),
                        search.start_places.view(),
                        search.found.view_mut_of(BARRED..BARRED + 1),
                    )
                }
            }

            fn finish<G: Gpu>(
                search: &mut DeviceSearch<Self, G>,
                costs: &mut G::Buffer<Self>,
            ) -> Result<()> {
                let cells = costs.len() as u64;
                // SAFETY: `costs` has been allocated for the cells, and nothing else uses the
                // buffers.
                unsafe {
                    $finish::launch_threads(
                        &search.gpu.launcher(),
                        cells,
                        search.friction.view(),
                        search.costs.view(),
                        search.shares,
                        search.raster,
                        costs.view_mut(),
                        search.found.view_mut_of(CUT_OFF..CUT_OFF + 1),
                    )
                }
            }
        }
    )*};
}
device_reals! {
    f32: relax_costs_f32, relax_knights_f32, place_as_f32, find_barriers_f32, finish_f32;
    f64: relax_costs_f64, relax_knights_f64, place_as_f64, find_barriers_f64, finish_f64;
}

/// A search in the memory of a device, which serves one after the other on rasters of one size.
#[derive(Debug)]
pub(crate) struct DeviceSearch<P: DeviceReal, G: Gpu> {
    pub(super) gpu: G,
    pub(super) blocks: u32,
    pub(super) raster: CostRaster,
    pub(super) shares: [P; SHARES],
    limit: P,
    pub(super) friction: G::Buffer<P>,
    pub(super) costs: G::Buffer<P::Bits>,
    pub(super) start_places: G::Buffer<u32>,
    pub(super) start_costs: G::Buffer<P::Bits>,
    /// None, unless allocation or directions are wanted.
    pub(super) start_ids: G::Buffer<u32>,
    pub(super) queue: TileQueueBuffers<OnGpu<G>>,
    pub(super) barrier: GridBarrierBuffers<OnGpu<G>>,
    /// Kept from one search to the next, once it was needed.
    pub(super) ties: Option<Ties<G>>,
    /// What the kernels have found; `u32::MAX` for nothing.
    found: G::Buffer<u32>,
}

/// The raster of the kernels.
fn raster<P>(frame: &Frame<P>) -> CostRaster {
    CostRaster {
        width: frame.width as u32,
        height: frame.height as u32,
        margin: frame.margin as u32,
    }
}

impl<P: DeviceReal, G: Gpu> WorkingMemory for DeviceSearch<P, G> {
    fn bytes(&self) -> u64 {
        let ties = self.ties.as_ref().map_or(0, Ties::bytes);
        self.friction.bytes() + self.costs.bytes() + self.queue.pending.bytes() + ties
    }
}

impl<P: DeviceReal, G: Gpu> DeviceSearch<P, G> {
    /// Allocates the memory.
    pub(crate) fn new(gpu: &G, frame: &Frame<P>) -> Result<Self> {
        let raster = raster(frame);
        let places = raster.places() as usize;
        let knights = raster.margin == 2;
        let blocks = gpu.resident_blocks(P::spec(knights), 0)?;
        let blocks = blocks.min(gpu.resident_blocks(P::spread_spec(knights), 0)?);
        // No block without a tile: it would only wait.
        let blocks = blocks.clamp(1, raster.tiles());
        let memory = OnGpu(gpu.clone());
        let mut queue = TileQueueBuffers::alloc(&memory, &raster.queue_sizes(blocks))?;
        queue.pending.fill(u32::MAX)?;
        Ok(Self {
            gpu: gpu.clone(),
            blocks,
            raster,
            shares: [<P as Real>::INFINITY; SHARES],
            limit: <P as Real>::INFINITY,
            friction: gpu.alloc(places)?,
            costs: gpu.alloc(places)?,
            start_places: gpu.alloc(0)?,
            start_costs: gpu.alloc(0)?,
            start_ids: gpu.alloc(0)?,
            queue,
            barrier: GridBarrierBuffers::alloc(&memory, &())?,
            ties: None,
            found: gpu.alloc(FOUND)?,
        })
    }

    /// Whether it serves a raster of this size.
    pub(crate) fn fits(&self, frame: &Frame<P>) -> bool {
        self.raster == raster(frame)
    }

    /// The number of cells, without the margin.
    pub(super) fn cells(&self) -> u64 {
        u64::from(self.raster.width) * u64::from(self.raster.height)
    }

    /// Rounds the friction, and notes where paths start. Waits until all of it is checked.
    pub(crate) fn prepare<T: Friction>(
        &mut self,
        surface: &DeviceSurface<G, T>,
        sources: &Sources,
        frame: &Frame<P>,
        options: &CostDistanceOptions,
    ) -> Result<()> {
        self.shares = CODES.map(|code| {
            let step = frame.steps.iter().find(|step| step.code == code);
            step.map_or(<P as Real>::INFINITY, |step| step.share)
        });
        self.limit = frame.max_cost;
        self.found.fill(u32::MAX)?;
        let refused = self.found.view_mut_of(REFUSED..REFUSED + 1);
        surface.place(&self.gpu, self.raster, self.friction.view_mut(), refused)?;
        let (mut places, mut costs, mut ids) = (Vec::new(), Vec::new(), Vec::new());
        let (mut checked, mut outside) = (Vec::new(), None);
        for source in sources.as_slice() {
            // Whether it is on a barrier is found by a kernel.
            let mut at = None;
            let start = frame.start(source, |place| {
                at = Some(place as u32);
                false
            });
            if let Some(place) = at {
                push(&mut checked, place, "the sources")?;
            }
            match start {
                Ok(Some(start)) => {
                    push(&mut places, start.place, "the sources")?;
                    push(&mut costs, start.cost.to_bits(), "the sources")?;
                    if options.allocation || options.direction {
                        push(&mut ids, start.id, "the sources")?;
                    }
                }
                Ok(None) => {}
                Err(error) => {
                    outside = Some(error);
                    break;
                }
            }
        }
        self.start_places = self.gpu.upload(&checked)?;
        if !checked.is_empty() {
            P::find_barriers(self)?;
        }
        let mut found = [u32::MAX; FOUND];
        self.found.read(&mut found)?;
        if found[REFUSED] != u32::MAX {
            let (x, y) = (
                found[REFUSED] % surface.width(),
                found[REFUSED] / surface.width(),
            );
            return Err(refuse::<P>(x as usize, y as usize, surface.at(x, y)?));
        }
        frame.check_steps(options)?;
        // The sources before the one that is refused have all been asked for, one place each.
        if let Some(source) = sources.as_slice().get(found[BARRED] as usize) {
            return Err(on_barrier(source));
        }
        if let Some(error) = outside {
            return Err(error);
        }
        if places.len() < checked.len() {
            self.start_places = self.gpu.upload(&places)?;
        }
        self.start_costs = self.gpu.upload(&costs)?;
        self.start_ids = self.gpu.upload(&ids)?;
        Ok(())
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
        // SAFETY: the kernel that rounds the friction puts infinity around the raster, as wide as a
        // step is long; `prepare` has checked the friction, the sources and the shares. The queue
        // is as it was allocated, with all words `u32::MAX`, or as a launch has left it. Nothing
        // else uses the buffers.
        unsafe { P::launch(&self.gpu, self.raster.margin == 2, self.blocks, search) }
    }

    /// The costs of all cells, NaN where nothing reaches. Without a limit, waits until they are
    /// checked for overflow.
    pub(crate) fn finish(&mut self) -> Result<G::Buffer<P>> {
        let width = self.raster.width as usize;
        let mut costs = self.gpu.alloc(width * self.raster.height as usize)?;
        P::finish(self, &mut costs)?;
        if !Real::is_finite(self.limit) {
            let mut cut_off = [u32::MAX];
            self.found.read_at(CUT_OFF, &mut cut_off)?;
            if cut_off != [u32::MAX] {
                let cell = cut_off[0] as usize;
                return Err(overflow::<P>(cell % width, cell / width));
            }
        }
        Ok(costs)
    }
}
