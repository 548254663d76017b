//! [`Engine`]: what runs the work.

use std::sync::Arc;

use crate::label::{self, LabelAlgorithm, LabelOptions, Labels};
use crate::trace::{self, Contours, TraceAlgorithm, TraceOptions};
use crate::{BinaryImage, Result};

/// A place to run the work on. All give the same results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Device {
    /// This machine's processor.
    Cpu,
}

impl Device {
    /// The device's name, as the command takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
        }
    }
}

/// Runs the work on a device, and picks the algorithm where the options leave it open.
///
/// ```
/// use trazar::{BinaryImage, Engine, LabelOptions, TraceOptions};
///
/// let engine = Engine::auto();
/// let image = BinaryImage::from_art("##.#")?;
/// assert_eq!(engine.trace(&image, &TraceOptions::default())?.len(), 2);
/// assert_eq!(engine.label(&image, &LabelOptions::default())?.count(), 2);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Clone)]
pub struct Engine {
    device: Device,
    progress: Option<Arc<ProgressFn>>,
}

/// Called now and then, from the thread that works, with the share of the work that is done
/// (0 to 1).
pub type ProgressFn = dyn Fn(f64) + Send + Sync;

impl Engine {
    /// The fastest device that is there.
    pub fn auto() -> Self {
        Self::cpu()
    }

    /// This machine's processor.
    pub fn cpu() -> Self {
        Self {
            device: Device::Cpu,
            progress: None,
        }
    }

    /// Reports progress to `report`.
    #[must_use]
    pub fn with_progress(mut self, report: impl Fn(f64) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(report));
        self
    }

    /// The device that the engine runs on.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The algorithm that [`trace`](Self::trace) uses for these options.
    pub fn trace_algorithm(&self, options: &TraceOptions) -> TraceAlgorithm {
        options.algorithm.unwrap_or(TraceAlgorithm::Suzuki)
    }

    /// The algorithm that [`label`](Self::label) uses for these options.
    pub fn label_algorithm(&self, options: &LabelOptions) -> LabelAlgorithm {
        options.algorithm.unwrap_or(LabelAlgorithm::Parallel)
    }

    /// Traces the borders of `image`.
    ///
    /// # Errors
    /// [`Error::InvalidOption`](crate::Error::InvalidOption) for options that do not go
    /// together, [`Error::TooMany`](crate::Error::TooMany) past 2³¹ - 1 borders, and
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn trace(&self, image: &BinaryImage, options: &TraceOptions) -> Result<Contours> {
        options.validate()?;
        match self.trace_algorithm(options) {
            TraceAlgorithm::Suzuki => trace::trace(image, options, &self.progress()),
        }
    }

    /// Labels the components of `image`.
    ///
    /// # Errors
    /// [`Error::TooMany`](crate::Error::TooMany) past 2³² - 1 provisional labels, and
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn label(&self, image: &BinaryImage, options: &LabelOptions) -> Result<Labels> {
        let algorithm = self.label_algorithm(options);
        label::label(image, options, algorithm, &self.progress())
    }

    fn progress(&self) -> Progress<'_> {
        Progress(self.progress.as_deref())
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}

/// Where the work says how far it is.
pub(crate) struct Progress<'a>(Option<&'a ProgressFn>);

impl Progress<'_> {
    /// Nobody listens.
    #[cfg(test)]
    pub(crate) const SILENT: Self = Self(None);

    /// The borders that begin in row `y` of an image are followed, which is most of the work;
    /// passed on for some rows.
    pub(crate) fn report_followed(&self, y: u32, height: u32) {
        if y.is_multiple_of(64) {
            self.report(u64::from(y) * 4, u64::from(height) * 5);
        }
    }

    /// `done` of `total` steps are done.
    pub(crate) fn report(&self, done: u64, total: u64) {
        if let Some(report) = self.0 {
            report(done as f64 / total.max(1) as f64);
        }
    }
}
