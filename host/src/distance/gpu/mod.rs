//! Costs by kernels: friction is rounded on the device, with a margin of barriers around it, one
//! launch finds all costs, and another one takes the margin off. Allocation and directions follow
//! from the costs, by a few more.

mod costs;
mod search;
mod surface;
mod ties;

pub use costs::{CostBuffer, CostParts, DeviceCosts};
pub(crate) use search::{DeviceReal, DeviceSearch};
pub use surface::DeviceSurface;
pub(crate) use surface::with_surface;
pub(crate) use surface::{AnySurface, DeviceFriction};

use super::search::Frame;
use super::{CostDistanceOptions, Friction, Precision, Sources, StepCost};
use crate::error::{Result, Unavailable};
use crate::gpu::{Gpu, Kept};

/// Finds costs of travel on one GPU. Clones work on the same queue. [`DeviceSurface`] has an
/// example.
#[derive(Clone, Debug)]
pub struct DeviceDistances<G: Gpu> {
    gpu: G,
    /// Working memory for searches in each precision, kept from one raster to the next.
    kept_f32: Kept<DeviceSearch<f32, G>>,
    kept_f64: Kept<DeviceSearch<f64, G>>,
}

/// A search that is done, with the costs, and what follows from them.
type Solved<P, G> = (DeviceSearch<P, G>, <G as Gpu>::Buffer<P>, ties::Found<G>);

#[cfg(feature = "cuda")]
impl DeviceDistances<crate::cuda::Queue> {
    /// Compiles the kernels for `device` and makes a stream.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda).
    pub fn new(device: &crate::cuda::Device) -> Result<Self> {
        Ok(Self::on(crate::cuda::Queue::open(device)?))
    }
}

impl<G: Gpu> DeviceDistances<G> {
    /// Finds costs on `gpu`.
    pub fn on(gpu: G) -> Self {
        Self {
            gpu,
            kept_f32: Kept::default(),
            kept_f64: Kept::default(),
        }
    }

    /// The queue that it works on, with the kernels.
    pub fn gpu(&self) -> &G {
        &self.gpu
    }

    /// The bytes of the GPU's memory that it and its clones keep for their next raster of the same
    /// size: 8 per cell in f32, 16 in f64, and 6 more after a search for allocation or directions.
    pub fn working_memory(&self) -> u64 {
        self.kept_f32.bytes() + self.kept_f64.bytes()
    }

    /// Gives the [working memory](Self::working_memory) back, and says how many bytes that was.
    pub fn release_working_memory(&self) -> u64 {
        self.kept_f32.release() + self.kept_f64.release()
    }

    /// The least cost of travel from any of the sources to each cell of a surface, and, as the
    /// options say, the source that it is least from and the way back, as
    /// [`Engine::cost_distance`](crate::Engine::cost_distance) finds them. Waits for the checks of
    /// friction and sources, and unless there is a `max_cost`, for that of overflow.
    ///
    /// Besides the surface and the result, it takes 8 bytes of memory per cell in f32 and 16 in
    /// f64, for allocation or directions 6 more, which it [keeps](Self::working_memory).
    ///
    /// # Errors
    /// Those of [`Engine::cost_distance`](crate::Engine::cost_distance);
    /// `Error::Cuda`, [`Error::Emulator`](crate::Error::Emulator).
    pub fn cost_distance<T: Friction>(
        &self,
        surface: &DeviceSurface<G, T>,
        sources: &Sources,
        options: &CostDistanceOptions,
    ) -> Result<DeviceCosts<G>> {
        if options.step_cost == StepCost::Entered {
            return Err(Unavailable::Job {
                job: "cost distances with the step cost `entered`",
                backend: G::BACKEND,
            }
            .into());
        }
        let (costs, (allocation, direction)) = match options.precision {
            Precision::F32 => {
                let kept = self.kept_f32.take();
                let (search, costs, ties) = self.find(kept, surface, sources, options)?;
                self.kept_f32.put(search);
                (CostBuffer::F32(costs), ties)
            }
            Precision::F64 => {
                let kept = self.kept_f64.take();
                let (search, costs, ties) = self.find(kept, surface, sources, options)?;
                self.kept_f64.put(search);
                (CostBuffer::F64(costs), ties)
            }
        };
        Ok(DeviceCosts {
            width: surface.width(),
            height: surface.height(),
            costs,
            allocation,
            direction,
        })
    }

    /// Does a search, in the memory of the last one if that is of the same size.
    fn find<P: DeviceReal, T: Friction>(
        &self,
        kept: Option<DeviceSearch<P, G>>,
        surface: &DeviceSurface<G, T>,
        sources: &Sources,
        options: &CostDistanceOptions,
    ) -> Result<Solved<P, G>> {
        let (width, height) = (surface.width() as usize, surface.height() as usize);
        let frame = Frame::new(width, height, options)?;
        sources.check()?;
        let mut search = match kept.filter(|search| search.fits(&frame)) {
            Some(search) => search,
            None => DeviceSearch::new(&self.gpu, &frame)?,
        };
        search.prepare(surface, sources, &frame, options)?;
        search.find()?;
        let costs = search.finish()?;
        let ties = search.find_ties(options)?;
        Ok((search, costs, ties))
    }
}
