//! [`Engine`]: runs the work on a backend. Its jobs are in the files `label.rs`, `trace.rs`,
//! `regions.rs` and `route.rs`.

mod auto;
mod batch;
mod distance;
mod gpus;
mod label;
mod measure;
mod regions;
mod route;
mod trace;

use std::ops::ControlFlow;
use std::sync::Arc;

#[cfg(feature = "cuda")]
use rayon::prelude::*;

use crate::backend::Backend;
use crate::device_choice::Job;
use crate::emulator::Emulator;
use crate::error::{Error, OptionProblem, Result};
use crate::gpu::Gpu;
use crate::progress::{Progress, ProgressFn};
use auto::Auto;
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
    /// If it chooses for each job; then `device` is `None`.
    auto: Option<Arc<Auto>>,
}

impl Engine {
    /// An engine that chooses for each job: the processor, or the first GPU once that pays. A GPU
    /// is opened when the jobs so far would have saved the time that opening takes, and does those
    /// jobs from then on that it does in less time, by estimates of [`Job`]. Without a GPU, or in a
    /// build that does not use any, the processor does all.
    ///
    /// [`backend`](Self::backend) is the processor until the GPU is open.
    ///
    /// ```
    /// use trazar::{Backend, BinaryImage, Engine, LabelOptions};
    ///
    /// let engine = Engine::auto();
    /// let image = BinaryImage::from_art("##.#")?;
    /// assert_eq!(engine.label(&image, &LabelOptions::default())?.count(), 2);
    /// assert_eq!(engine.backend(), Backend::Cpu);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    pub fn auto() -> Self {
        Self::choosing(Self::cuda)
    }

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
    /// let engine = Engine::for_workload(Job::label(&image), 1);
    /// assert_eq!(engine.backend(), Backend::Cpu);
    /// assert_eq!(engine.label(&image, &LabelOptions::default())?.count(), 2);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    pub fn for_workload(job: Job, runs: u32) -> Self {
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
    /// same time, and so does [`label_bands`](Self::label_bands).
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
            auto: None,
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
            auto: None,
        }
    }

    /// An engine that runs the GPU's kernels on this machine's processor, thread by thread, in an
    /// order that follows `seed`.
    ///
    /// The results are those of a GPU. A fault in a kernel, such as a data race, is an error that
    /// names its place. For other settings, make an [`Emulator`] and call [`Engine::on`].
    ///
    /// The emulator is for small images: a megapixel takes a second by
    /// [`LabelAlgorithm::Tiles`](crate::LabelAlgorithm::Tiles), ten by
    /// [`LabelAlgorithm::Direct`](crate::LabelAlgorithm::Direct).
    pub fn emulator(seed: u64) -> Self {
        Self::on(Emulator::new(seed))
    }

    /// Reports progress to `report`, as the share of the work that is done, from 0 to 1. An answer
    /// of [`ControlFlow::Break`] ends the job with [`Error::Cancelled`].
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use trazar::{BinaryImage, Engine, Error, TraceOptions};
    ///
    /// let engine = Engine::cpu().with_progress(|share| {
    ///     eprintln!("{:.0} %", 100.0 * share);
    ///     ControlFlow::Break(()) // Enough: `Continue` goes on.
    /// });
    /// let image = BinaryImage::from_art("##.#")?;
    /// let traced = engine.trace(&image, &TraceOptions::default());
    /// assert!(matches!(traced, Err(Error::Cancelled)));
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn with_progress(
        mut self,
        report: impl Fn(f64) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        self.progress = Some(Arc::new(report));
        self
    }

    /// The backend that the engine runs on.
    pub fn backend(&self) -> Backend {
        self.opened()
            .map_or(Backend::Cpu, |device| device.backend())
    }

    /// The number of GPUs, or emulators, that jobs run on; 0 for the processor.
    pub fn gpu_count(&self) -> u32 {
        self.opened().map_or(0, |device| device.gpus())
    }

    /// The bytes of memory that this engine and its clones keep between jobs; 0 on the processor.
    /// It is freed automatically when a job would otherwise run out of memory.
    ///
    /// - Labels, also of batches and of values, keep for all later images what the largest image so
    ///   far took besides image and labels: 1.2 bytes per pixel, and 4 bytes per run that was
    ///   copied to the host.
    /// - Contours, also of batches and of values, by
    ///   [`TraceAlgorithm::Fragments`](crate::TraceAlgorithm::Fragments) keep the memory in which
    ///   the last image was traced, for images of that size.
    /// - Cost distances keep the memory of the last search, for rasters of that size.
    /// - Routes of nets with pins a few cells apart keep up to some 64 MiB of the host's memory,
    ///   page-locked. Other routes keep nothing.
    ///
    /// All but that of routes is the GPU's memory.
    ///
    /// Several threads may use an engine: jobs that run at the same time have memory of their own,
    /// of which the largest is kept.
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
        let device = self.opened();
        device.map_or(0, |device| device.working_memory())
    }

    /// Frees the [working memory](Self::working_memory), and returns its number of bytes.
    pub fn release_working_memory(&self) -> u64 {
        let device = self.opened();
        device.map_or(0, |device| device.release_working_memory())
    }

    /// The device, if there is one and it is open.
    fn opened(&self) -> Option<&Arc<dyn DeviceJobs>> {
        match &self.auto {
            None => self.device.as_ref(),
            Some(auto) => auto.opened()?.device.as_ref(),
        }
    }

    fn progress(&self) -> Progress<'_> {
        Progress(self.progress.as_deref())
    }

    /// Reports that a job is done, and returns its `result`.
    fn done<R>(&self, result: R) -> Result<R> {
        self.progress().report(1, 1)?;
        Ok(result)
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("backend", &self.backend())
            .finish_non_exhaustive()
    }
}
