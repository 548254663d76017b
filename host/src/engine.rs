//! [`Engine`]: runs the work on a backend.

mod gpus;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use crate::backend::Backend;
use crate::emulator::Emulator;
use crate::error::{Error, OptionProblem, Result};
use crate::geometry::Cell;
use crate::gpu::Gpu;
use crate::image::BinaryImage;
use crate::job::Job;
use crate::label::parts::{BandNumbers, LabelNumber, LabelPart, Workers, is_wide};
use crate::label::{self, LabelAlgorithm, LabelOptions, LabelSummary, Labels};
use crate::progress::{Progress, ProgressFn};
use crate::route::{
    self, DistanceOptions, Distances, Net, Route, RouteAlgorithm, RouteOptions, RoutingGrid,
    TreeKind,
};
use crate::trace::{
    self, Band, BandTracer, ContourPart, Contours, StoredContours, TraceAlgorithm, TraceOptions,
};
use gpus::{DeviceJobs, Gpus};

/// Runs the work on a backend, and chooses the algorithm if the options do not.
///
/// Clones of an engine share its backend.
///
/// ```
/// use trazar::{BinaryImage, Engine, LabelOptions, TraceOptions};
///
/// let engine = Engine::cpu();
/// let image = BinaryImage::from_art("##.#")?;
/// assert_eq!(engine.trace(&image, &TraceOptions::default())?.len(), 2);
/// assert_eq!(engine.label(&image, &LabelOptions::default())?.count(), 2);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Clone)]
pub struct Engine {
    /// The GPU or emulator; `None` is the processor.
    device: Option<Arc<dyn DeviceJobs>>,
    progress: Option<Arc<ProgressFn>>,
}

impl Engine {
    /// An engine on the backend that is faster for `runs` jobs like `job`: the first GPU, if there
    /// is one and this build uses GPUs, else the processor. [`Job::backend`] describes the
    /// estimate.
    ///
    /// A GPU is opened only if it would be faster. The engine then runs any job on it.
    ///
    /// ```
    /// use trazar::{Backend, BinaryImage, Engine, Job, LabelOptions};
    ///
    /// let image = BinaryImage::from_art("##.#")?;
    /// let engine = Engine::auto(Job::label(&image), 1);
    /// assert_eq!(engine.backend(), Backend::Cpu);
    /// assert_eq!(engine.label(&image, &LabelOptions::default())?.count(), 2);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    pub fn auto(job: Job, runs: u32) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        // Detecting a GPU takes half as long as opening it: only do so if it would be used.
        match job.backend(cores, cfg!(feature = "cuda"), runs) {
            Backend::Cuda => Self::cuda().unwrap_or_else(|_| Self::cpu()),
            _ => Self::cpu(),
        }
    }

    /// An engine on the first NVIDIA GPU.
    ///
    /// Opening the GPU takes about 200 ms, and the driver's first compilation of the kernels about
    /// as long again. Keep the engine.
    ///
    /// # Errors
    /// `Error::Cuda` with the reason why there is no GPU,
    /// [`Error::Unavailable`](crate::Error::Unavailable) if this build does not use GPUs.
    pub fn cuda() -> Result<Self> {
        Self::cuda_device(0)
    }

    /// An engine on the NVIDIA GPU with that number, from 0.
    ///
    /// # Errors
    /// Those of [`cuda`](Self::cuda).
    #[cfg(feature = "cuda")]
    pub fn cuda_device(number: u32) -> Result<Self> {
        let device = crate::cuda::Device::open(number)?;
        Ok(Self::on(crate::cuda::Queue::open(&device)?))
    }

    /// An engine on an NVIDIA GPU: not in this build.
    ///
    /// # Errors
    /// [`Error::Unavailable`](crate::Error::Unavailable).
    #[cfg(not(feature = "cuda"))]
    pub fn cuda_device(_number: u32) -> Result<Self> {
        Err(crate::error::Unavailable::GpuSupport.into())
    }

    /// An engine on all NVIDIA GPUs that this process sees (`CUDA_VISIBLE_DEVICES`).
    ///
    /// [`label`](Self::label) divides the image into bands of rows, which the GPUs label at the
    /// same time, and so does [`BandLabeller`](crate::label::parts::BandLabeller).
    /// [`trace_bands`](Self::trace_bands) gives each band to a GPU that is free. All other jobs run
    /// on the first GPU: contours of whole images and routes are not spread over several.
    ///
    /// # Errors
    /// Those of [`cuda`](Self::cuda), of any of the GPUs.
    #[cfg(feature = "cuda")]
    pub fn cuda_all() -> Result<Self> {
        let count = crate::cuda::Device::count()?;
        crate::threads::ensure();
        // At the same time: opening one takes long.
        let open = |number| -> Result<_> {
            let device = crate::cuda::Device::open(number)?;
            Ok(crate::cuda::Queue::open(&device)?)
        };
        let gpus: Result<Vec<_>> = (0..count).into_par_iter().map(open).collect();
        Self::on_all(gpus?)
    }

    /// An engine on all NVIDIA GPUs: not in this build.
    ///
    /// # Errors
    /// [`Error::Unavailable`](crate::Error::Unavailable).
    #[cfg(not(feature = "cuda"))]
    pub fn cuda_all() -> Result<Self> {
        Err(crate::error::Unavailable::GpuSupport.into())
    }

    /// An engine on this machine's processor.
    pub fn cpu() -> Self {
        Self {
            device: None,
            progress: None,
        }
    }

    /// An engine on a GPU or an emulator that is set up already, such as a `cuda::Queue` or an
    /// [`Emulator`]. Clones of `gpu` are the same device.
    pub fn on(gpu: impl Gpu + Send + Sync + 'static) -> Self {
        Self::of(Gpus::new(gpu, []))
    }

    /// An engine on several GPUs or emulators that are set up already: labels on all of them, as
    /// `cuda_all` says, and runs other jobs on the first. Several may share one device.
    ///
    /// ```
    /// use trazar::emulator::Emulator;
    /// use trazar::{BinaryImage, Engine, LabelOptions};
    ///
    /// let engine = Engine::on_all([Emulator::new(0), Emulator::new(1)])?;
    /// let image = BinaryImage::from_art("##.#\n...#")?;
    /// let labels = engine.label(&image, &LabelOptions::default())?;
    /// assert_eq!(labels.as_slice(), [1, 1, 0, 2, 0, 0, 0, 2]);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidOption`](crate::Error::InvalidOption) for no GPU.
    pub fn on_all<G>(gpus: impl IntoIterator<Item = G>) -> Result<Self>
    where
        G: Gpu + Send + Sync + 'static,
    {
        let mut gpus = gpus.into_iter();
        let Some(first) = gpus.next() else {
            let why = "an engine on several GPUs has at least one".to_owned();
            return Err(Error::option("gpus", OptionProblem::OutOfRange, why));
        };
        Ok(Self::of(Gpus::new(first, gpus)))
    }

    fn of<G: Gpu + Send + Sync + 'static>(gpus: Gpus<G>) -> Self {
        Self {
            device: Some(Arc::new(gpus)),
            progress: None,
        }
    }

    /// An engine that runs the GPU's kernels on this machine's processor, thread by thread, in an
    /// order that follows `seed`.
    ///
    /// The results are those of a GPU. A fault in a kernel, such as a data race, is an error that
    /// names its place. For other settings, make an [`Emulator`] and call [`Engine::on`].
    ///
    /// The emulator is for small images: a megapixel takes a second by [`LabelAlgorithm::Tiles`],
    /// ten by [`LabelAlgorithm::Direct`].
    pub fn emulator(seed: u64) -> Self {
        Self::on(Emulator::new(seed))
    }

    /// Reports progress to `report`, as the share of the work that is done, from 0 to 1.
    ///
    /// A report that panics ends the job: the panic unwinds from the job's call, on the thread of
    /// that call. A program can thus end work that takes too long, with
    /// [`resume_unwind`](std::panic::resume_unwind) in the report and
    /// [`catch_unwind`](std::panic::catch_unwind) around the call. The engine stays usable.
    ///
    /// ```
    /// use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    /// use trazar::{BinaryImage, Engine, TraceOptions};
    ///
    /// let engine = Engine::cpu().with_progress(|_| resume_unwind(Box::new("enough")));
    /// let image = BinaryImage::from_art("##.#")?;
    /// let options = TraceOptions::default();
    /// let traced = catch_unwind(AssertUnwindSafe(|| engine.trace(&image, &options)));
    /// assert_eq!(traced.unwrap_err().downcast_ref(), Some(&"enough"));
    /// # Ok::<(), trazar::Error>(())
    /// ```
    #[must_use]
    pub fn with_progress(mut self, report: impl Fn(f64) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(report));
        self
    }

    /// The backend that the engine runs on.
    pub fn backend(&self) -> Backend {
        match &self.device {
            None => Backend::Cpu,
            Some(device) => device.backend(),
        }
    }

    /// The algorithm that [`trace`](Self::trace) uses for these options.
    pub fn trace_algorithm(&self, options: &TraceOptions) -> TraceAlgorithm {
        options.algorithm_on(self.backend())
    }

    /// The algorithm that [`label`](Self::label) uses for these options. On the processor, small
    /// images take one thread of [`LabelAlgorithm::Parallel`], unless the options name it.
    pub fn label_algorithm(&self, options: &LabelOptions) -> LabelAlgorithm {
        options.algorithm_on(self.backend())
    }

    /// Traces the borders of `image`.
    ///
    /// # Errors
    /// - [`Error::InvalidOption`](crate::Error::InvalidOption) for options that contradict each
    ///   other, or more tiles than pixels along a side;
    /// - [`Error::Unavailable`](crate::Error::Unavailable) for an algorithm of another backend;
    /// - [`Error::TooMany`](crate::Error::TooMany) for more than 2³¹ - 1 borders, or more than
    ///   2³² - 1 pieces of borders in tiles or steps by components;
    /// - [`Error::OutOfMemory`](crate::Error::OutOfMemory);
    /// - by kernels, [`Error::ImageTooLarge`](crate::Error::ImageTooLarge) for more pixels than
    ///   [`DeviceTracer::trace`](crate::DeviceTracer::trace) takes, and `Error::Cuda` or
    ///   [`Error::Emulator`](crate::Error::Emulator).
    pub fn trace(&self, image: &BinaryImage, options: &TraceOptions) -> Result<Contours> {
        options.validate()?;
        let algorithm = self.trace_algorithm(options);
        algorithm.check_runs_on(self.backend())?;
        let Some(device) = &self.device else {
            return trace::cpu::trace(image, options, algorithm, &self.progress());
        };
        let contours = device.trace(image, options)?;
        self.progress().report(1, 1);
        Ok(contours)
    }

    /// Traces each of many images, as [`trace`](Self::trace) does. The processor traces several at
    /// the same time. A GPU traces many small images of one size at once, by
    /// [`TraceAlgorithm::Fragments`]: one alone would leave most of the GPU idle.
    ///
    /// ```
    /// use trazar::{BinaryImage, Engine, TraceOptions};
    ///
    /// let images = [BinaryImage::from_art("##.#")?, BinaryImage::from_art("...#")?];
    /// let contours = Engine::cpu().trace_batch(&images, &TraceOptions::default())?;
    /// assert_eq!(contours.len(), 2);
    /// assert_eq!(contours[0].len(), 2);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`trace`](Self::trace), for any of the images.
    pub fn trace_batch(
        &self,
        images: &[BinaryImage],
        options: &TraceOptions,
    ) -> Result<Vec<Contours>> {
        options.validate()?;
        let algorithm = self.trace_algorithm(options);
        algorithm.check_runs_on(self.backend())?;
        let progress = self.progress();
        let total = images.len() as u64;
        let Some(device) = &self.device else {
            crate::threads::ensure();
            let done = AtomicU64::new(0);
            // An image counts as progress only when it is done.
            let report = |_| progress.report(done.load(Relaxed), total);
            let trace = |image| {
                let contours =
                    trace::cpu::trace(image, options, algorithm, &Progress(Some(&report)));
                done.fetch_add(1, Relaxed);
                contours
            };
            let contours: Result<Vec<_>> = images.par_iter().map(trace).collect();
            progress.report(1, 1);
            return contours;
        };
        let mut contours = Vec::with_capacity(images.len());
        let mut left = images;
        while let Some(first) = left.first() {
            let count = match algorithm {
                TraceAlgorithm::Fragments => at_once(first, left),
                _ => 1,
            };
            let (batch, rest) = left.split_at(count);
            contours.extend(match batch {
                [image] => vec![device.trace(image, options)?],
                images => device.trace_batch(images, options)?,
            });
            left = rest;
            progress.report(contours.len() as u64, total);
        }
        Ok(contours)
    }

    /// The number of GPUs, or emulators, that jobs run on; 0 for the processor.
    pub fn gpus(&self) -> u32 {
        self.device.as_ref().map_or(0, |device| device.gpus())
    }

    /// The bytes of the GPU's memory that this engine and its clones keep between jobs; 0 on the
    /// processor. It is the memory in which [`TraceAlgorithm::Fragments`] traced the last image,
    /// reused for the next image of that size. It is freed automatically when a job would otherwise
    /// run out of memory.
    ///
    /// ```
    /// use trazar::{BinaryImage, Engine, TraceOptions};
    ///
    /// let engine = Engine::emulator(0);
    /// engine.trace(&BinaryImage::from_art("##.#")?, &TraceOptions::default())?;
    /// assert!(engine.working_memory() > 0);
    /// engine.release_working_memory();
    /// assert_eq!(engine.working_memory(), 0);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    pub fn working_memory(&self) -> u64 {
        let device = self.device.as_ref();
        device.map_or(0, |device| device.working_memory())
    }

    /// Frees the [working memory](Self::working_memory), and returns its number of bytes.
    pub fn release_working_memory(&self) -> u64 {
        let device = self.device.as_ref();
        device.map_or(0, |device| device.release_working_memory())
    }

    /// Traces an image that comes in bands, by [`BandTracer::trace`] or [`BandTracer::trace_on`].
    ///
    /// ```
    /// use trazar::trace::BandTracer;
    /// use trazar::{BinaryImage, Engine, TraceOptions};
    ///
    /// let mut bands = [".####.\n.#..#.\n", ".#..#.\n.####.\n"].into_iter();
    /// let next = || bands.next().map(BinaryImage::from_art).transpose();
    /// let tracer = BandTracer::in_memory(&TraceOptions::default())?;
    /// let contours = Engine::cpu().trace_bands(tracer, next)?.into_contours()?;
    /// assert_eq!(contours.len(), 2);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of these functions.
    pub fn trace_bands(
        &self,
        tracer: BandTracer,
        mut next: impl FnMut() -> Result<Option<BinaryImage>>,
    ) -> Result<StoredContours> {
        match &self.device {
            Some(device) => device.trace_bands(tracer, &mut next),
            None => tracer.trace(next),
        }
    }

    /// Traces a band of an image, to be joined to the parts of the other bands: by
    /// [`ContourPart::trace`], or on the first GPU by [`ContourPart::trace_on`].
    ///
    /// ```
    /// use trazar::trace::{Band, ContourPart};
    /// use trazar::{BinaryImage, Engine, TraceOptions};
    ///
    /// let bands = [".##.\n.#..\n", ".##.\n"].map(BinaryImage::from_art);
    /// let [upper, lower] = bands;
    /// let (upper, lower) = (upper?, lower?);
    /// let (engine, options) = (Engine::cpu(), TraceOptions::default());
    /// let above = engine.trace_part(Band::new(&upper, 0).with_below(lower.row(0)), &options)?;
    /// let below = engine.trace_part(Band::new(&lower, 2).with_above(upper.row(1)), &options)?;
    /// assert_eq!(ContourPart::join(above, below)?.finish()?.len(), 1);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of these functions.
    pub fn trace_part(&self, band: Band<'_>, options: &TraceOptions) -> Result<ContourPart> {
        match &self.device {
            None => ContourPart::trace(band, options),
            Some(device) => device.trace_part(band, options),
        }
    }

    /// Labels a band of an image, to be joined to the parts of the other bands; its first row is
    /// the image's row `first_row`. This is [`label_part`](crate::label::parts::label_part) on any
    /// device; of several GPUs, on the first. [`label_band`](Self::label_band) then returns the
    /// labels.
    ///
    /// # Errors
    /// Those of `label_part`; [`Error::Unavailable`](crate::Error::Unavailable) for an algorithm of
    /// another backend; by kernels, [`Error::ImageTooLarge`](crate::Error::ImageTooLarge) for a
    /// band whose pixels 32 bits can't index, and `Error::Cuda` or
    /// [`Error::Emulator`](crate::Error::Emulator).
    pub fn label_part(
        &self,
        band: &BinaryImage,
        first_row: u32,
        options: &LabelOptions,
    ) -> Result<LabelPart> {
        self.label_algorithm(options)
            .check_runs_on(self.backend())?;
        match &self.device {
            None => label::parts::label_part(band, first_row, options),
            Some(device) => device.label_part(band, first_row, options),
        }
    }

    /// Labels a band of an image again, with the image's numbers of components. The connectivity
    /// must be that of the parts that `numbers` come from.
    ///
    /// ```
    /// use trazar::label::parts::LabelPart;
    /// use trazar::{BinaryImage, Engine, LabelOptions};
    ///
    /// let bands = [BinaryImage::from_art("#.#")?, BinaryImage::from_art("..#\n#..")?];
    /// // On an NVIDIA GPU: `Engine::cuda()?`. Bands can be on different devices.
    /// let (engine, options) = (Engine::cpu(), LabelOptions::default());
    /// let upper = engine.label_part(&bands[0], 0, &options)?;
    /// let lower = engine.label_part(&bands[1], 1, &options)?;
    /// let numbers = LabelPart::merge(upper, lower)?.finish()?.into_bands();
    /// assert_eq!(engine.label_band::<u32>(&bands[0], &numbers[0], &options)?, [1, 0, 2]);
    /// assert_eq!(engine.label_band::<u64>(&bands[1], &numbers[1], &options)?, [0, 0, 2, 3, 0, 0]);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ImageChanged`](crate::Error::ImageChanged) if the band differs from that of
    /// `numbers` in its number of rows or components; [`Error::TooMany`](crate::Error::TooMany) if
    /// the image has more components than `T` can count; those of [`label`](Self::label) and
    /// [`label_part`](Self::label_part).
    pub fn label_band<T: LabelNumber>(
        &self,
        band: &BinaryImage,
        numbers: &BandNumbers,
        options: &LabelOptions,
    ) -> Result<Vec<T>> {
        numbers.check_rows(band)?;
        let options = options.statistics(false);
        if is_wide::<T>() {
            return numbers.relabel(&self.label(band, &options)?);
        }
        self.label_algorithm(&options)
            .check_runs_on(self.backend())?;
        let labels = match &self.device {
            None => numbers.label_on_processor(band, &options, &self.progress())?,
            Some(device) => device.label_band(band, numbers, &options)?,
        };
        Ok(bytemuck::allocation::cast_vec(labels))
    }

    /// Labels the components of `image`.
    ///
    /// # Errors
    /// - [`Error::Unavailable`](crate::Error::Unavailable) for an algorithm of another backend;
    /// - [`Error::TooMany`](crate::Error::TooMany) for more than 2³² - 1 provisional labels;
    /// - [`Error::OutOfMemory`](crate::Error::OutOfMemory);
    /// - by kernels, [`Error::ImageTooLarge`](crate::Error::ImageTooLarge) for rows of more than
    ///   2²⁷ pixels, and `Error::Cuda` or [`Error::Emulator`](crate::Error::Emulator).
    pub fn label(&self, image: &BinaryImage, options: &LabelOptions) -> Result<Labels> {
        let algorithm = self.label_algorithm(options);
        algorithm.check_runs_on(self.backend())?;
        let Some(device) = &self.device else {
            return label::cpu::label(image, options, algorithm, &self.progress());
        };
        let labels = device.label(image, options)?;
        self.progress().report(1, 1);
        Ok(labels)
    }

    /// As [`label`](Self::label), with the labels written to an array, row by row and without
    /// padding. The array's old values do not matter; after an error it holds some of the labels.
    ///
    /// ```
    /// use trazar::{BinaryImage, Engine, LabelOptions};
    ///
    /// let image = BinaryImage::from_art("#.#\n#..")?;
    /// let mut labels = [7; 6];
    /// let found = Engine::cpu().label_into(&image, &LabelOptions::default(), &mut labels)?;
    /// assert_eq!((labels, found.count), ([1, 0, 2, 1, 0, 0], 2));
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`label`](Self::label), and [`Error::SizeMismatch`](crate::Error::SizeMismatch) if
    /// there is not one element per pixel.
    pub fn label_into(
        &self,
        image: &BinaryImage,
        options: &LabelOptions,
        labels: &mut [u32],
    ) -> Result<LabelSummary> {
        let given = labels.len() as u64;
        if given != image.pixel_count() {
            return Err(Error::SizeMismatch {
                width: image.width(),
                height: image.height(),
                needed: image.pixel_count(),
                given,
                unit: "labels",
            });
        }
        if self.device.is_none() {
            let algorithm = self.label_algorithm(options);
            algorithm.check_runs_on(self.backend())?;
            return label::cpu::label_into(image, options, algorithm, &self.progress(), labels);
        }
        let (found, summary) = self.label(image, options)?.into_parts();
        labels.copy_from_slice(&found);
        Ok(summary)
    }

    /// The algorithm that [`route`](Self::route) uses for these options.
    pub fn route_algorithm(&self, options: &RouteOptions) -> RouteAlgorithm {
        options.algorithm_on(self.backend())
    }

    /// Joins the pins of each net by a tree. Nets do not influence each other.
    ///
    /// A net with fewer than two pins has a tree without edges.
    ///
    /// # Errors
    /// - [`Error::Unavailable`](crate::Error::Unavailable) for an algorithm of another backend;
    /// - [`Error::PinOutside`](crate::Error::PinOutside),
    ///   [`Error::PinWithoutCells`](crate::Error::PinWithoutCells),
    ///   [`Error::WindowOutside`](crate::Error::WindowOutside) for nets that are not on the grid;
    /// - [`Error::InvalidOption`](crate::Error::InvalidOption) for a cost of turns on several
    ///   layers, or one of 2³² - 1;
    /// - [`Error::OutOfMemory`](crate::Error::OutOfMemory);
    /// - by kernels, [`Error::CostTooLarge`](crate::Error::CostTooLarge),
    ///   [`Error::GridTooLarge`](crate::Error::GridTooLarge), and `Error::Cuda` or
    ///   [`Error::Emulator`](crate::Error::Emulator).
    pub fn route(
        &self,
        grid: &RoutingGrid,
        nets: &[Net],
        options: &RouteOptions,
    ) -> Result<Vec<Route>> {
        if options.turn_cost > 0 {
            return route::turns::route(grid, nets, options, |grid, nets, options| {
                self.route(grid, nets, options)
            });
        }
        let algorithm = self.route_algorithm(options);
        algorithm.check_runs_on(self.backend())?;
        let routes = match &self.device {
            None => route::cpu::route(grid, nets, algorithm, &self.progress())?,
            Some(device) => device.route(grid, nets, algorithm, &self.progress())?,
        };
        let routes = match options.tree {
            TreeKind::Nearest => routes,
            TreeKind::Improved => route::cpu::improve::improve(grid, nets, routes)?,
        };
        self.progress().report(1, 1);
        Ok(routes)
    }

    /// The cost of the cheapest path to each cell of the grid from any of the cells `sources`.
    ///
    /// ```
    /// use trazar::Engine;
    /// use trazar::route::{Cell, DistanceOptions, RoutingGrid};
    ///
    /// let grid = RoutingGrid::uniform(4, 2, 5)?;
    /// let options = DistanceOptions::default();
    /// let distances = Engine::cpu().distances(&grid, &[Cell::at(0, 0)], &options)?;
    /// assert_eq!(distances.as_slice(), [0, 5, 10, 15, 5, 10, 15, 20]);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::PinOutside`](crate::Error::PinOutside) for a source that is not on the grid,
    ///   [`Error::PinWithoutCells`](crate::Error::PinWithoutCells) for no sources;
    /// - [`Error::Unavailable`](crate::Error::Unavailable) for an algorithm of another backend, and
    ///   [`Error::InvalidOption`](crate::Error::InvalidOption) for one that gives no distances;
    /// - otherwise those of [`route`](Self::route).
    pub fn distances(
        &self,
        grid: &RoutingGrid,
        sources: &[Cell],
        options: &DistanceOptions,
    ) -> Result<Distances> {
        match &self.device {
            None => route::cpu::distances(grid, sources, options),
            Some(device) => device.distances(grid, sources, options),
        }
    }

    /// [`route`](Self::route) for one net.
    ///
    /// # Errors
    /// Those of [`route`](Self::route).
    pub fn route_net(
        &self,
        grid: &RoutingGrid,
        net: &Net,
        options: &RouteOptions,
    ) -> Result<Route> {
        let routes = self.route(grid, std::slice::from_ref(net), options)?;
        Ok(routes.into_iter().next().unwrap_or_default())
    }

    /// The workers that label bands on the engine's GPUs; `None` if the processor labels them.
    pub(crate) fn label_workers(&self, options: &LabelOptions) -> Result<Option<Workers>> {
        let device = self.device.as_ref();
        device
            .map(|device| device.label_workers(options))
            .transpose()
    }

    fn progress(&self) -> Progress<'_> {
        Progress(self.progress.as_deref())
    }
}

/// The number of `images` that a GPU traces at once: the first ones of the same size as `first`,
/// with at most about 2²⁹ pixels together in whole words, which take 2 GB of its memory.
fn at_once(first: &BinaryImage, images: &[BinaryImage]) -> usize {
    const WORDS: usize = 1 << 23;
    let size = |image: &BinaryImage| (image.width(), image.height());
    let most = WORDS / (first.words().len() + first.words_per_row());
    let candidates = images.iter().take(most.max(1));
    candidates
        .take_while(|image| size(image) == size(first))
        .count()
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("backend", &self.backend())
            .finish_non_exhaustive()
    }
}
