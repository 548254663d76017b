//! Tracing on a GPU: the pipeline of kernels; images and contours stay in the GPU's memory.
//!
//! | file | stage | kernels of `trazar_kernels::trace` |
//! |---|---|---|
//! | `fragments/` | borders and their points, by tiles of 64 × 32 pixels | `fragments` |
//! | `hierarchy.rs` | order and hierarchy | `hierarchy` |
//! | `regions.rs` | the regions of images of values | `fragments`, `regions` |
//! | `groups.rs` | pixels grouped by value | `values` |
//! | `values.rs` | the contours of each value of such images | `fragments`, `values`, `hierarchy` |
//! | `teh_chin.rs` | the points that Teh and Chin's approximations keep | `teh_chin` |
//! | `translate.rs` | an offset added to all points, on request | `translate` |
//! | `contours.rs` | the result | |
//! | `band.rs` | the borders of part of a larger image | `fragments` |
//!
//! [`TraceAlgorithm::Components`] and [`TraceAlgorithm::Tiles`] find the borders and write their
//! points with the files and the kernels of `components` and `tiles` instead. [`Geometry::Edges`]
//! needs the labels of the 4-connected components first.
//!
//! # Memory
//! On the GPU, beside the image of 1/8 byte per pixel:
//!
//! | bytes | per | |
//! |---|---|---|
//! | 5.2 | pixel | along edges, while labels are made |
//! | 8 | point of the result | |
//! | 110 | border | |
//! | 0.4 | pixel | by fragments |
//! | 56 | fragment | by fragments; 88 from 2³¹ pixels in whole words on |
//! | 12 | border inside one tile | by fragments |
//! | 4 | point | by fragments |
//! | 2 | west or east side | by fragments |
//! | 1/8 | pixel | by components, for counts |
//! | 12.3 | point that [`Approximation::None`] has | by components |
//! | 1.3 | pixel | in tiles, while borders are followed |
//! | 8 | west or east side | in tiles |
//! | 1 | step | in tiles |
//! | 60 | piece of a border in a tile | in tiles |
//! | 64 | piece that is not closed in its tile | in tiles |
//! | 16.5 | point that [`Approximation::None`] has | by Teh and Chin, after all else |
//!
//! By fragments, a result may keep room for a quarter more contours and points than it has, and 64
//! more. The tracer keeps the memory in which it finds fragments, for the next image of that size,
//! and that in which it makes labels. If fragments need more, their memory grows and the image is
//! traced again.

pub(super) mod band;
mod components;
mod contours;
mod fragments;
mod groups;
mod hierarchy;
mod regions;
mod teh_chin;
mod tiles;
mod translate;
mod values;

use trazar_kernels::trace::borders::{self, Destination};
use trazar_kernels::trace::options as kernel_options;
use trazar_kernels::trace::pixels::{Pixels, Raster, TracedImage};
use trazar_kernels::trace::teh_chin::Curvature;

use super::contours::Contours;
use super::parts::LEAST_POINTS;
use super::{Approximation, ContourOptions, Geometry, TraceAlgorithm, TraceOptions};
use crate::error::{Error, Result};
use crate::gpu::{Gpu, GpuBuffer, Kept, OnGpu};
use crate::image::BinaryImage;
use crate::image::gpu::{DeviceImage, DeviceImageBatch};
use crate::label::{Connectivity, DeviceLabeler, LabelOptions};

pub use contours::{ContourBuffers, DeviceContourBatch, DeviceContours};
use fragments::{Arena, Images, Joining};
pub(crate) use groups::Groups;
use hierarchy::ResultSize;
pub use regions::DeviceRegions;
use regions::RegionArena;
pub(crate) use regions::Rings;
pub use values::DeviceValueContours;
pub(crate) use values::ValueContoursOf;

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
    /// Working memory of the fragments algorithm, kept from one image to the next.
    arena: Kept<Arena<G>>,
    /// The same for the regions of images of values.
    region_arena: Kept<RegionArena<G>>,
    /// Labels what is traced along edges. It keeps its working memory too.
    labeler: DeviceLabeler<G>,
    /// How fragments are joined.
    joining: Joining,
    /// The fewest points of a band's contours that are worth a CPU task.
    cut_points: usize,
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
    words: &'a G::Buffer<u64>,
    /// Along edges, the labels of the 4-connected components; else empty.
    labels: &'a G::Buffer<u32>,
    raster: Raster,
    geometry: kernel_options::Geometry,
    approximation: kernel_options::Approximation,
    /// How fragments are joined, unless the image needs wide keys.
    joining: Joining,
}

impl<G: Gpu> Work<'_, G> {
    /// For kernels to read.
    fn image(&self) -> TracedImage<'_> {
        TracedImage {
            pixels: Pixels {
                words: self.words.view(),
                raster: self.raster,
            },
            labels: self.labels.view(),
            geometry: self.geometry,
        }
    }
}

/// Borders in order of discovery.
type BorderBuffers<G> = borders::BorderBuffers<OnGpu<G>>;

/// Where borders go in the result. Arrays by place have one element per border that is kept.
struct Arranged<G: Gpu> {
    kinds: G::Buffer<u8>,
    hierarchy: G::Buffer<i32>,
    offsets: G::Buffer<u32>,
    points: u32,
}

impl<G: Gpu> Arranged<G> {
    /// Forgets the room for more than that.
    fn truncate(&mut self, size: ResultSize) {
        let contours = size.contours as usize;
        self.kinds.truncate(contours);
        self.hierarchy.truncate(4 * contours);
        self.offsets.truncate(contours + 1);
        self.points = size.points;
    }

    /// For a kernel to write the borders' points.
    fn destination<'a>(
        &'a self,
        places: &'a G::Buffer<u32>,
        points: &'a mut G::Buffer<i32>,
    ) -> Destination<'a> {
        Destination {
            places: places.view(),
            offsets: self.offsets.view(),
            points: points.view_mut(),
        }
    }
}

impl<G: Gpu> DeviceTracer<G> {
    /// Traces on `gpu`.
    pub fn on(gpu: G) -> Self {
        Self {
            labeler: DeviceLabeler::on(gpu.clone()),
            gpu,
            arena: Kept::default(),
            region_arena: Kept::default(),
            joining: Joining::DEFAULT,
            cut_points: LEAST_POINTS,
        }
    }

    /// See [`hooks`](crate::hooks).
    pub(crate) fn with_wide_keys(self) -> Self {
        let joining = Joining {
            wide_keys: true,
            ..self.joining
        };
        Self { joining, ..self }
    }

    /// See [`hooks`](crate::hooks).
    pub(crate) fn with_few_fragments(self, few: u32) -> Self {
        let joining = Joining {
            few_fragments: few,
            ..self.joining
        };
        Self { joining, ..self }
    }

    /// See [`hooks`](crate::hooks).
    pub(crate) fn with_cut_points(self, points: usize) -> Self {
        Self {
            cut_points: points.max(1),
            ..self
        }
    }

    /// The queue that it works on, with the kernels.
    pub fn gpu(&self) -> &G {
        &self.gpu
    }

    /// The bytes of the GPU's memory that the tracer and its clones keep for their next image: the
    /// memory in which their last image was traced, by [`TraceAlgorithm::Fragments`], and in which
    /// an image that is traced along edges was labelled. See also
    /// [`docs/engineering`](https://github.com/trazar/trazar/tree/main/docs/engineering).
    ///
    /// ```
    /// use trazar::emulator::Emulator;
    /// use trazar::{BinaryImage, DeviceImage, DeviceTracer, TraceOptions};
    ///
    /// let tracer = DeviceTracer::on(Emulator::new(0));
    /// assert_eq!(tracer.working_memory(), 0);
    /// let image = DeviceImage::upload(tracer.gpu(), &BinaryImage::from_art("##.#")?)?;
    /// tracer.trace(&image, &TraceOptions::default())?;
    /// let kept = tracer.working_memory();
    /// assert!(kept > 0);
    /// assert_eq!(tracer.release_working_memory(), kept);
    /// assert_eq!(tracer.working_memory(), 0);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    pub fn working_memory(&self) -> u64 {
        self.arena.bytes() + self.region_arena.bytes() + self.labeler.working_memory()
    }

    /// Gives the [working memory](Self::working_memory) back, and says how many bytes that was. The
    /// next image is traced in new memory, with the same result.
    pub fn release_working_memory(&self) -> u64 {
        let labels = self.labeler.release_working_memory();
        self.arena.release() + self.region_arena.release() + labels
    }

    /// Labels on the same queue, in memory that is part of the tracer's
    /// [working memory](Self::working_memory).
    pub(crate) fn labeler(&self) -> &DeviceLabeler<G> {
        &self.labeler
    }

    /// Traces an image in the host's memory.
    pub(crate) fn trace_host(
        &self,
        image: &BinaryImage,
        options: &TraceOptions,
    ) -> Result<Contours> {
        // Before it is copied.
        let algorithm = options.algorithm_on(G::BACKEND);
        raster(image.width(), image.height(), algorithm)?;
        let image = DeviceImage::upload(self.gpu(), image)?;
        self.trace(&image, options)?.to_host()
    }

    /// Traces images of one size in the host's memory, by [`TraceAlgorithm::Fragments`].
    pub(crate) fn trace_host_batch(
        &self,
        images: &[BinaryImage],
        options: &ContourOptions,
    ) -> Result<Vec<Contours>> {
        let images = DeviceImageBatch::upload(self.gpu(), images)?;
        self.trace_batch(&images, options)?.to_host()
    }

    /// Traces the borders of `image`. Waits for counts that later stages' memory depends on, and
    /// returns before the points are written.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for options that do not go together, or more tiles than pixels
    /// along a side; [`Error::Unavailable`] for an algorithm of the processor;
    /// [`Error::ImageTooLarge`] past 2³¹ words of 64 pixels in whole rows, past 2³⁰ pixels by
    /// components and in tiles, and past 2³² - 1 pixels along edges, the most that can have labels;
    /// [`Error::TooMany`] for more than 2³¹ - 2 borders, or about 2³² points, fragments or vertical
    /// sides of borders; `Error::Cuda`, [`Error::Emulator`].
    pub fn trace(
        &self,
        image: &DeviceImage<G>,
        options: &TraceOptions,
    ) -> Result<DeviceContours<G>> {
        self.trace_in_stages(image, options, &mut |_| Ok(()))
    }

    /// As [`trace`](Self::trace); calls `queued` with the name of each stage once it is queued.
    pub(crate) fn trace_in_stages(
        &self,
        image: &DeviceImage<G>,
        options: &TraceOptions,
        queued: &mut dyn FnMut(&'static str) -> Result<()>,
    ) -> Result<DeviceContours<G>> {
        let single = Images {
            count: 1,
            pitch: image.height(),
        };
        Ok(self.trace_images(image, single, options, queued)?.0)
    }

    /// Traces the borders of all images of a batch in one call, by [`TraceAlgorithm::Fragments`]:
    /// for many small images, each of which alone would leave most of the GPU idle. Each image's
    /// result is that of [`trace`](Self::trace). Waits for the sizes of the result, and returns
    /// before the points are written.
    ///
    /// ```
    /// use trazar::emulator::Emulator;
    /// use trazar::trace::ContourOptions;
    /// use trazar::{BinaryImage, DeviceImageBatch, DeviceTracer};
    ///
    /// let tracer = DeviceTracer::on(Emulator::new(0));
    /// let images = [BinaryImage::from_art("##.#")?, BinaryImage::from_art("...#")?];
    /// let batch = DeviceImageBatch::upload(tracer.gpu(), &images)?;
    /// let contours = tracer.trace_batch(&batch, &ContourOptions::default())?;
    /// assert_eq!(contours.image_offsets(), [0, 2, 3]);
    /// assert_eq!(contours.to_host()?[1].len(), 1);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`trace`](Self::trace), with limits on pixels for all images together and one more
    /// row per image.
    pub fn trace_batch(
        &self,
        images: &DeviceImageBatch<G>,
        options: &ContourOptions,
    ) -> Result<DeviceContourBatch<G>> {
        let stack = Images {
            count: images.len() as u32,
            pitch: images.pitch(),
        };
        let (contours, image_offsets) =
            self.trace_images(images.stack(), stack, &(*options).into(), &mut |_| Ok(()))?;
        let single = [0, contours.len() as u32];
        Ok(DeviceContourBatch {
            image_offsets: match stack.count {
                1 => single.to_vec(),
                _ => image_offsets,
            },
            contours: DeviceContours {
                height: images.height(),
                ..contours
            },
        })
    }

    /// Traces images stacked vertically. Returns all contours and, for several images, the number
    /// of contours before each image, then the total.
    fn trace_images(
        &self,
        image: &DeviceImage<G>,
        images: Images,
        options: &TraceOptions,
        queued: &mut dyn FnMut(&'static str) -> Result<()>,
    ) -> Result<(DeviceContours<G>, Vec<u32>)> {
        options.contours.validate()?;
        let algorithm = options.algorithm_on(G::BACKEND);
        algorithm.check_runs_on(G::BACKEND)?;
        let (width, height) = (image.width(), image.height());
        let raster = raster(width, height, algorithm)?;
        let (approximation, curvature) = points_of(&options.contours);
        let gpu = self.gpu();
        // A corner shared by two pixels is passed differently if both are of one component.
        let labels = match options.contours.geometry {
            Geometry::Centers => None,
            Geometry::Edges => {
                let options = LabelOptions::default().connectivity(Connectivity::Four);
                Some(self.labeler.label(image, &options)?)
            }
        };
        queued("labels")?;
        let none = gpu.alloc(0)?;
        let words = gpu.using(image.words())?;
        let work = Work {
            gpu,
            words: &words,
            labels: labels.as_ref().map_or(&none, |labels| labels.labels()),
            raster,
            geometry: kernel_geometry(options.contours.geometry),
            approximation,
            joining: self.joining,
        };
        let arrange = |found: &mut BorderBuffers<G>, queued: &mut dyn FnMut(&'static str) -> _| {
            let arranged = hierarchy::arrange(gpu, raster, found, options.contours.retrieval)?;
            queued("order and hierarchy")?;
            Ok::<_, Error>(arranged)
        };
        let mut image_offsets = Vec::new();
        let (arranged, points) = match algorithm {
            TraceAlgorithm::Tiles(tiles) => {
                let mut borders = tiles::find(&work, tiles, queued)?;
                let (arranger, arranged) = arrange(&mut borders.found, queued)?;
                let points = tiles::write(&work, &borders, &arranger.buffers.places, &arranged)?;
                queued("points")?;
                (arranged, points)
            }
            TraceAlgorithm::Fragments => {
                let arena = self.arena.take();
                let traced =
                    fragments::trace(&work, images, options.contours.retrieval, arena, queued)?;
                self.arena.put(traced.arena);
                image_offsets = traced.image_offsets;
                (traced.arranged, traced.points)
            }
            _ => {
                let mut borders = components::find(&work, queued)?;
                let (arranger, arranged) = arrange(&mut borders.found, queued)?;
                let points =
                    components::follow(&work, &borders, &arranger.buffers.places, &arranged)?;
                queued("following")?;
                (arranged, points)
            }
        };
        words.finish()?;
        let contours = DeviceContours {
            width,
            height,
            geometry: options.contours.geometry,
            points,
            offsets: arranged.offsets,
            kinds: arranged.kinds,
            hierarchy: arranged.hierarchy,
        };
        let Some(curvature) = curvature else {
            return Ok((contours, image_offsets));
        };
        let dominant = teh_chin::dominant(gpu, contours, curvature)?;
        queued("dominant points")?;
        Ok((dominant, image_offsets))
    }
}

/// Where borders run, for kernels.
const fn kernel_geometry(geometry: Geometry) -> kernel_options::Geometry {
    match geometry {
        Geometry::Centers => kernel_options::Geometry::Centers,
        Geometry::Edges => kernel_options::Geometry::Edges,
    }
}

/// The points that borders are traced with, and the curvature by which Teh and Chin's dominant
/// points are chosen from them.
const fn points_of(options: &ContourOptions) -> (kernel_options::Approximation, Option<Curvature>) {
    let curvature = match options.approximation {
        Approximation::None | Approximation::Simple => None,
        Approximation::TehChinL1 => Some(Curvature::L1),
        Approximation::TehChinKCos => Some(Curvature::KCosine),
    };
    let approximation = match (options.geometry, options.approximation) {
        // A ring has a vertex where it turns and nowhere else.
        (Geometry::Edges, _) | (_, Approximation::Simple) => kernel_options::Approximation::Simple,
        // Teh and Chin's points are chosen from all.
        (Geometry::Centers, _) => kernel_options::Approximation::None,
    };
    (approximation, curvature)
}

/// The size of an image that an algorithm's kernels can number.
fn raster(width: u32, height: u32, algorithm: TraceAlgorithm) -> Result<Raster> {
    let too_large = |limit| Error::ImageTooLarge {
        width: width.into(),
        height: height.into(),
        limit,
    };
    let raster = Raster::new(width, height).ok_or_else(|| {
        too_large(
            "on the GPU, an image to trace has at most 2³¹ words of 64 pixels; trace it in parts",
        )
    })?;
    if algorithm != TraceAlgorithm::Fragments && !raster.are_nodes_numbered() {
        return Err(too_large(
            "on the GPU, an image to trace by components or in tiles has at most 2³⁰ pixels; trace \
             it by fragments, on the CPU, or in parts",
        ));
    }
    Ok(raster)
}
