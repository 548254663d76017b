//! Where jobs are measured.

use rayon::ThreadPool;
use trazar::Engine;

use crate::args::{BenchDevice, name};
use crate::failure::Failure;

/// A place to run.
pub(super) struct Device {
    /// Its name in the results: `core`, `cpu` or `cuda`.
    pub(super) name: String,
    engine: Engine,
    /// The threads to run on; `None` for all.
    pool: Option<ThreadPool>,
}

impl Device {
    /// Calls `work` with the engine, on the device's threads.
    pub(super) fn run<R: Send>(&self, work: impl FnOnce(&Engine) -> R + Send) -> R {
        match &self.pool {
            Some(pool) => pool.install(|| work(&self.engine)),
            None => work(&self.engine),
        }
    }
}

/// All places to run.
pub(super) struct Devices {
    pub(super) all: Vec<Device>,
    pub(super) cores: usize,
}

impl Devices {
    /// Opens the devices that were asked for, or all that are present.
    pub(super) fn open(asked: &[BenchDevice]) -> Result<Self, Failure> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let is_wanted = |device| asked.is_empty() || asked.contains(&device);
        let mut this = Self {
            all: Vec::new(),
            cores,
        };
        if is_wanted(BenchDevice::Core) {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
            let pool = pool.map_err(|error| Failure::Failed(format!("no thread: {error}")))?;
            this.push(BenchDevice::Core, Engine::cpu(), Some(pool));
        }
        // On one core it is the same.
        if is_wanted(BenchDevice::Cpu) && (cores > 1 || !asked.is_empty()) {
            this.push(BenchDevice::Cpu, Engine::cpu(), None);
        }
        if is_wanted(BenchDevice::Cuda) {
            match Engine::cuda() {
                Ok(engine) => this.push(BenchDevice::Cuda, engine, None),
                // No GPU is no error, unless it was asked for.
                Err(_) if asked.is_empty() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(this)
    }

    fn push(&mut self, device: BenchDevice, engine: Engine, pool: Option<ThreadPool>) {
        let name = name(&device);
        self.all.push(Device { name, engine, pool });
    }
}
