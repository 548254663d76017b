//! Trace on a GPU: the pipeline of kernels, with images and contours that stay there.
//!
//! | file | stages | kernels |
//! |---|---|---|
//! | `components/mod.rs` | boundary extraction | `count_nodes`, scan, `list_nodes` |
//! | | component analysis | `join_nodes`, `flatten_nodes`, scan |
//! | | one starting point a border | `select_starts` |
//! | `hierarchy.rs` | order and hierarchy | those of `trazar_kernels::trace::hierarchy`, with a sort |
//! | `components/follow.rs` | search, one thread a border and a stretch | those of `trazar_kernels::trace::components::follow` |
//!
//! [`TraceAlgorithm::Tiles`] finds the borders with `tiles.rs` instead, by the kernels of `trazar_kernels::trace::tiles`;
//! those write the points, too.
//!
//! [`Geometry::Edges`] needs the labels of the 4-connected components first.
//!
//! # Memory
//! On the GPU, beside the image of 1/8 byte a pixel: 1/8 byte a pixel for counts; 12.3 bytes for each point that
//! [`Approximation::None`] has, and 8 for each point of the result; some 60 bytes for each border.
//! In tiles: 1.3 bytes a pixel while borders are followed; 8 bytes for each west or east side, 1 for each step, 60 for each
//! piece of a border in a tile and 64 for each that is not closed there; and the result.
//! Edges take the labels' 5.2 bytes a pixel besides, while they are made.

mod components;
mod contours;
mod hierarchy;
mod tiles;

use trazar_kernels::trace::pixels::Raster;

use super::contours::Contours;
use super::cpu::approximate;
use super::cpu::teh_chin::Curvature;
use super::{Approximation, Geometry, TraceAlgorithm, TraceOptions};
use crate::error::{Error, Result};
use crate::gpu::Gpu;
use crate::image::BinaryImage;
use crate::image::gpu::DeviceImage;
use crate::label::gpu::DeviceLabeler;
use crate::label::{Connectivity, LabelAlgorithm};

pub use contours::DeviceContours;

/// Traces images on one GPU. Clones work on the same queue.
///
/// ```
/// use trazar::emulator::Emulator;
/// use trazar::{BinaryImage, DeviceImage, DeviceTracer, TraceOptions};
///
/// // On an NVIDIA GPU: `DeviceTracer::new(&trazar::cuda::Device::open(0)?)?`.
/// let tracer = DeviceTracer::on(Emulator::new(0));
/// let image = BinaryImage::from_art("##.#")?;
/// let image = DeviceImage::upload(tracer.gpu(), &image)?;
/// let contours = tracer.trace(&image, &TraceOptions::default())?;
/// assert_eq!(contours.len(), 2);
/// assert_eq!(contours.points().view().len(), 6);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DeviceTracer<G: Gpu> {
    gpu: G,
}

#[cfg(feature = "cuda")]
impl DeviceTracer<crate::cuda::Queue> {
    /// Compiles the kernels for `device` and makes a stream.
    ///
    /// # Errors
    /// [`Error::Cuda`].
    pub fn new(device: &crate::cuda::Device) -> Result<Self> {
        Ok(Self::on(crate::cuda::Queue::open(device)?))
    }
}

/// An image to trace, and what all kernels are told.
struct Work<'a, G: Gpu> {
    gpu: &'a G,
    image: &'a G::Buffer<u64>,
    /// Those of the 4-connected components, for edges; else empty.
    labels: &'a G::Buffer<u32>,
    raster: Raster,
    edges: u32,
    simple: u32,
}

/// Borders in the order in which a raster scan meets them.
struct Found<G: Gpu> {
    count: u32,
    kinds: G::Buffer<u8>,
    /// The numbers of their points.
    lengths: G::Buffer<u32>,
    /// The borders of the last sides before their starts.
    previous_in_row: G::Buffer<u32>,
}

/// Where borders go in the result. What is by place has an element for each that is kept.
struct Arranged<G: Gpu> {
    /// Each border's place.
    places: G::Buffer<u32>,
    kinds: G::Buffer<u8>,
    hierarchy: G::Buffer<i32>,
    offsets: G::Buffer<u32>,
    points: u32,
}

impl<G: Gpu> DeviceTracer<G> {
    /// Traces on `gpu`.
    pub fn on(gpu: G) -> Self {
        Self { gpu }
    }

    /// The queue that it works on, with the kernels.
    pub fn gpu(&self) -> &G {
        &self.gpu
    }

    /// Traces an image of the host's. Teh and Chin's points are chosen here.
    pub(crate) fn trace_host(
        &self,
        image: &BinaryImage,
        options: &TraceOptions,
    ) -> Result<Contours> {
        let curvature = match options.approximation {
            Approximation::None | Approximation::Simple => None,
            Approximation::TehChinL1 => Some(Curvature::L1),
            Approximation::TehChinKCos => Some(Curvature::KCosine),
        };
        let on_device = TraceOptions {
            approximation: match curvature {
                Some(_) => Approximation::None,
                None => options.approximation,
            },
            ..*options
        };
        // Before it is copied.
        raster(image.width(), image.height())?;
        let image = DeviceImage::upload(self.gpu(), image)?;
        let contours = self.trace(&image, &on_device)?.to_host()?;
        match curvature {
            Some(curvature) => approximate::dominant_of(contours, curvature),
            None => Ok(contours),
        }
    }

    /// Traces the borders of `image`. Waits for counts that later stages' memory depends on, and returns before the points are
    /// written.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for options that do not go together, or more tiles than pixels along a side;
    /// [`Error::Unavailable`] for an algorithm of the processor, and for the approximations of Teh and Chin, which are sequential along a contour (an [`Engine`](crate::Engine) makes them on the processor);
    /// [`Error::ImageTooLarge`] past 2³⁰ pixels; `Error::Cuda`, [`Error::Emulator`].
    pub fn trace(
        &self,
        image: &DeviceImage<G>,
        options: &TraceOptions,
    ) -> Result<DeviceContours<G>> {
        self.trace_in_stages(image, options, &mut |_| Ok(()))
    }

    /// [`trace`](Self::trace), which calls `queued` with the name of each stage once its work is queued: to wait for it and take
    /// the time.
    ///
    /// # Errors
    /// Those of [`trace`](Self::trace), and those that `queued` returns.
    pub fn trace_in_stages(
        &self,
        image: &DeviceImage<G>,
        options: &TraceOptions,
        queued: &mut dyn FnMut(&'static str) -> Result<()>,
    ) -> Result<DeviceContours<G>> {
        options.validate()?;
        let algorithm = options.algorithm_on(G::DEVICE);
        algorithm.check_runs_on(G::DEVICE)?;
        let (width, height) = (image.width(), image.height());
        let raster = raster(width, height)?;
        let simple = match options.approximation {
            Approximation::None => false,
            Approximation::Simple => true,
            Approximation::TehChinL1 | Approximation::TehChinKCos => {
                return Err(Error::Unavailable(
                    "the Teh-Chin approximations are made on the processor: \
                     trace with `none` on the device, or with an engine"
                        .into(),
                ));
            }
        };
        let gpu = self.gpu();
        // Corners that two pixels of one component share are passed otherwise than those of two.
        let labels = match options.geometry {
            Geometry::Centers => None,
            Geometry::Edges => Some(DeviceLabeler::on(gpu.clone()).label(
                image,
                Connectivity::Four,
                LabelAlgorithm::Tiles,
            )?),
        };
        queued("labels")?;
        let none = gpu.alloc(0)?;
        let words = gpu.using(image.words())?;
        let work = Work {
            gpu,
            image: &words,
            labels: labels.as_ref().map_or(&none, |labels| labels.labels()),
            raster,
            edges: u32::from(options.geometry == Geometry::Edges),
            // A ring has a vertex where it turns and nowhere else.
            simple: u32::from(simple || options.geometry == Geometry::Edges),
        };
        let arrange = |found: &Found<G>, queued: &mut dyn FnMut(_) -> _| {
            let arranged = hierarchy::arrange(gpu, found, options.retrieval)?;
            queued("order and hierarchy")?;
            Ok::<_, Error>(arranged)
        };
        let (arranged, points) = match algorithm {
            TraceAlgorithm::Tiles => {
                let borders = tiles::find(&work, options.tiles, queued)?;
                let arranged = arrange(&borders.found, queued)?;
                let points = tiles::write(&work, &borders, &arranged)?;
                queued("points")?;
                (arranged, points)
            }
            _ => {
                let borders = components::find(&work, queued)?;
                let arranged = arrange(&borders.found, queued)?;
                let points = components::follow(&work, &borders, &arranged)?;
                queued("search")?;
                (arranged, points)
            }
        };
        words.finish()?;
        Ok(DeviceContours {
            width,
            height,
            geometry: options.geometry,
            points,
            offsets: arranged.offsets,
            kinds: arranged.kinds,
            hierarchy: arranged.hierarchy,
        })
    }
}

/// The size of an image whose nodes can be numbered.
fn raster(width: u32, height: u32) -> Result<Raster> {
    Raster::new(width, height).ok_or(Error::ImageTooLarge {
        width: width.into(),
        height: height.into(),
        limit: "on the GPU, an image to trace has at most 2³⁰ pixels; trace it on the CPU, or in parts",
    })
}
