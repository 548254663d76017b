//! Opening the engine.

use std::time::Instant;

use trazar::{Backend, Engine, Job};

use crate::args::{self, RunArgs};

/// The engine requested on the command line.
pub(crate) struct Start {
    /// `None` if it depends on the job, whose size is not known before the input is read.
    engine: Option<Engine>,
    seconds: f64,
}

impl Start {
    /// Opens the engine, unless it depends on the job. `backends` are those of the requested
    /// algorithm, if any. A missing device is an error here, before the input is read.
    pub(crate) fn begin(run: &RunArgs, backends: Option<&[Backend]>) -> trazar::Result<Self> {
        let started = Instant::now();
        let without = |backend| backends.is_some_and(|backends| !backends.contains(&backend));
        let engine = match run.device {
            args::Device::Cpu => Some(Engine::cpu()),
            args::Device::Cuda => Some(Engine::cuda()?),
            args::Device::CudaAll => Some(Engine::cuda_all()?),
            args::Device::CudaNumber(number) => Some(Engine::cuda_device(number)?),
            args::Device::Emulator => Some(Engine::emulator(run.seed.unwrap_or(0))),
            args::Device::Auto if without(Backend::Cuda) => Some(Engine::cpu()),
            args::Device::Auto if without(Backend::Cpu) => Some(Engine::cuda()?),
            args::Device::Auto => None,
        };
        Ok(Self {
            engine,
            seconds: started.elapsed().as_secs_f64(),
        })
    }

    /// The engine for the job, and the seconds that opening it took.
    pub(crate) fn finish(self, job: impl FnOnce() -> Job) -> (Engine, f64) {
        let started = Instant::now();
        let engine = self
            .engine
            .unwrap_or_else(|| Engine::for_workload(job(), 1));
        (engine, self.seconds + started.elapsed().as_secs_f64())
    }
}
