//! Hooks of this repository's tests and benches: no part of the public API, and changed without
//! notice.

pub use crate::gpu::on_gpu::OnGpu;

use crate::distance::gpu::{DeviceSearch, DeviceSurface};
use crate::distance::search::Frame;
use crate::distance::{CostDistanceOptions, CostSurface, Friction, Sources};
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer};
use crate::image::gpu::DeviceImage;
use crate::route::DeviceRouter;
use crate::trace::{DeviceContours, DeviceTracer, TraceOptions};

/// The same tracer, which treats every image as one of 2³¹ pixels or more.
#[must_use]
pub fn with_wide_keys<G: Gpu>(tracer: DeviceTracer<G>) -> DeviceTracer<G> {
    tracer.with_wide_keys()
}

/// The same tracer, which treats more than `few` fragments as those of a large image. If `few` is
/// 0, borders of any length are cut into segments.
#[must_use]
pub fn with_few_fragments<G: Gpu>(tracer: DeviceTracer<G>, few: u32) -> DeviceTracer<G> {
    tracer.with_few_fragments(few)
}

/// The same tracer, for which `points` points of a band's contours are worth a CPU task. At least
/// 1.
#[must_use]
pub fn with_cut_points<G: Gpu>(tracer: DeviceTracer<G>, points: usize) -> DeviceTracer<G> {
    tracer.with_cut_points(points)
}

/// The same router, whose fields have up to this number of labels at the same time: with none, each
/// block that the device holds grows several fields.
#[must_use]
pub fn with_field_labels<G: Gpu>(router: DeviceRouter<G>, labels: u32) -> DeviceRouter<G> {
    router.with_field_settings(|settings| settings.labels = labels)
}

/// The same router, which estimates the sizes of fields' boxes if full ones have at least this many
/// cells in total.
#[must_use]
pub fn with_many_cells<G: Gpu>(router: DeviceRouter<G>, cells: u64) -> DeviceRouter<G> {
    router.with_field_settings(|settings| settings.many_cells = cells)
}

/// The same router, which tries small fields for nets of at least this number of pins.
#[must_use]
pub fn with_dense_pins<G: Gpu>(router: DeviceRouter<G>, pins: usize) -> DeviceRouter<G> {
    router.with_field_settings(|settings| settings.dense_pins = pins)
}

/// As [`DeviceTracer::trace`]; calls `queued` with the name of each stage once it is queued, so
/// that a caller can wait for the stage and time it.
///
/// # Errors
/// Those of [`DeviceTracer::trace`], and those that `queued` returns.
pub fn trace_in_stages<G: Gpu>(
    tracer: &DeviceTracer<G>,
    image: &DeviceImage<G>,
    options: &TraceOptions,
    queued: &mut dyn FnMut(&'static str) -> Result<()>,
) -> Result<DeviceContours<G>> {
    tracer.trace_in_stages(image, options, queued)
}

/// A search for costs of travel in f32, whose friction, sources and costs stay in a GPU's memory.
#[derive(Debug)]
pub struct ResidentCosts<G: Gpu>(DeviceSearch<f32, G>);

impl<G: Gpu> ResidentCosts<G> {
    /// Copies friction and sources to the GPU.
    ///
    /// # Errors
    /// Those of [`Engine::cost_distance`](crate::Engine::cost_distance).
    pub fn upload<T: Friction>(
        gpu: &G,
        surface: &CostSurface<'_, T>,
        sources: &Sources,
        options: &CostDistanceOptions,
    ) -> Result<Self> {
        let frame = Frame::new(surface.width(), surface.height(), options)?;
        let mut search = DeviceSearch::new(gpu, &frame)?;
        let surface = DeviceSurface::upload(gpu, surface)?;
        search.prepare(&surface, sources, &frame, options)?;
        Ok(Self(search))
    }

    /// Queues the search for all costs, from the beginning.
    ///
    /// # Errors
    /// `Error::Cuda`, [`Error::Emulator`](crate::Error::Emulator).
    pub fn find(&mut self) -> Result<()> {
        self.0.find()
    }

    /// All costs; NaN where nothing reaches.
    ///
    /// # Errors
    /// Those of [`Engine::cost_distance`](crate::Engine::cost_distance).
    pub fn to_host(&mut self) -> Result<Vec<f32>> {
        self.0.finish()?.to_vec()
    }
}
