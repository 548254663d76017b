//! The choice of a device, job by job.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::Engine;
use crate::backend::Backend;
use crate::device_choice::{Job, OPENING};
use crate::error::Result;

/// What an engine that chooses by itself has seen, and the GPU, once it is open.
pub(super) struct Auto {
    cores: usize,
    open: Box<dyn Fn() -> Result<Engine> + Send + Sync>,
    /// The time, in nanoseconds, that a GPU would have saved in the jobs so far.
    saved: Mutex<f64>,
    /// `None` inside if it cannot be opened.
    gpu: OnceLock<Option<Engine>>,
}

impl Auto {
    pub(super) fn new(open: impl Fn() -> Result<Engine> + Send + Sync + 'static) -> Self {
        Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            open: Box::new(open),
            saved: Mutex::new(0.0),
            gpu: OnceLock::new(),
        }
    }

    /// The GPU, if it is open.
    pub(super) fn opened(&self) -> Option<&Engine> {
        self.gpu.get()?.as_ref()
    }

    /// The GPU, which is opened if it is not.
    fn gpu(&self) -> Option<&Engine> {
        self.gpu.get_or_init(|| (self.open)().ok()).as_ref()
    }

    /// The GPU for a job that runs on `backends`, if it is the better choice: if it is open, for
    /// the jobs that it does in less time; until then, once the jobs so far and this one would
    /// have saved the time that opening it takes.
    fn gpu_for(&self, job: Job, backends: &[Backend]) -> Option<&Engine> {
        if !backends.contains(&Backend::Cuda) {
            return None;
        }
        if !backends.contains(&Backend::Cpu) {
            return self.gpu();
        }
        let saves = job.saved_nanoseconds(self.cores)?;
        if self.gpu.get().is_none() {
            let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
            *saved += saves;
            if *saved < OPENING {
                return None;
            }
        }
        self.gpu()
    }
}

impl Engine {
    /// The engine for a job, if this one chooses for each. The job runs on `backends`, or on any if
    /// no algorithm is named.
    pub(super) fn chosen(
        &self,
        job: impl FnOnce() -> Job,
        backends: Option<&[Backend]>,
    ) -> Option<Self> {
        const ANY: &[Backend] = &[Backend::Cpu, Backend::Cuda];

        let auto = self.auto.as_ref()?;
        let mut engine = Self::cpu();
        if let Some(gpu) = auto.gpu_for(job(), backends.unwrap_or(ANY)) {
            engine.device = gpu.device.clone();
        }
        engine.progress = self.progress.clone();
        Some(engine)
    }

    /// An engine that opens its GPU by `open`.
    pub(super) fn choosing(open: impl Fn() -> Result<Self> + Send + Sync + 'static) -> Self {
        Self {
            auto: Some(Arc::new(Auto::new(open))),
            ..Self::cpu()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;
    use crate::error::{Error, Unavailable};
    use crate::label::LabelAlgorithm;
    use crate::{BinaryImage, LabelOptions, TraceOptions};

    /// An engine whose "GPU" is an emulator, and how often that was opened.
    fn choosing() -> (Engine, Arc<AtomicU32>) {
        let opened = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&opened);
        let engine = Engine::choosing(move || {
            count.fetch_add(1, Relaxed);
            Ok(Engine::emulator(0))
        });
        (engine, opened)
    }

    #[test]
    fn small_jobs_stay_on_the_processor() {
        let (engine, opened) = choosing();
        let image = BinaryImage::from_art("##.#").expect("an image");
        for _ in 0..50 {
            let contours = engine.trace(&image, &TraceOptions::default());
            assert_eq!(contours.expect("contours").len(), 2);
            let labels = engine.label(&image, &LabelOptions::default());
            assert_eq!(labels.expect("labels").count(), 2);
        }
        assert_eq!((engine.backend(), opened.load(Relaxed)), (Backend::Cpu, 0));
    }

    /// The GPU is opened by the job with which the time saved makes up for the opening: 100 times
    /// as many jobs of a hundredth of the size, about.
    #[test]
    fn jobs_open_a_gpu_once_they_pay_together() {
        let job = |size: u64| Job::Trace {
            pixels: size << 20,
            sides: size << 16,
        };
        let backend = |engine: &Engine, size| {
            engine
                .chosen(|| job(size), None)
                .expect("a choice")
                .backend()
        };
        let needed = |size: u64| {
            let (engine, opened) = choosing();
            let first = (1..).find(|_| backend(&engine, size) != Backend::Cpu);
            // From then on, for every job that it does in less time, and not for others.
            assert_ne!(backend(&engine, 16), Backend::Cpu);
            assert_eq!(backend(&engine, 0), Backend::Cpu);
            assert_eq!(engine.backend(), Backend::Emulator);
            assert_eq!(opened.load(Relaxed), 1);
            first.expect("some job")
        };
        let (large, small) = (needed(256), needed(4));
        assert!(small > large && large >= 1, "{small}, {large}");
    }

    #[test]
    fn named_algorithms_choose_the_device() {
        let (engine, _) = choosing();
        let image = BinaryImage::from_art("##.#").expect("an image");
        for (algorithm, backend) in [
            (LabelAlgorithm::Parallel, Backend::Cpu),
            (LabelAlgorithm::Tiles, Backend::Emulator),
        ] {
            let options = LabelOptions::default().algorithm(algorithm);
            let labels = engine.label(&image, &options).expect("labels");
            assert_eq!(labels.count(), 2);
            assert_eq!(engine.backend(), backend);
        }
    }

    #[test]
    fn without_a_gpu_the_processor_does_all() {
        let engine = Engine::choosing(|| Err(Error::from(Unavailable::GpuSupport)));
        let job = || Job::LabelBands { pixels: 1 << 40 };
        let chosen = engine.chosen(job, None).expect("a choice");
        assert_eq!(chosen.backend(), Backend::Cpu);
        let image = BinaryImage::from_art("##.#").expect("an image");
        let options = LabelOptions::default().algorithm(LabelAlgorithm::Tiles);
        let refused = engine.label(&image, &options);
        assert!(matches!(refused, Err(Error::Unavailable(_))));
    }
}
