//! The device that a call runs on.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

use pyo3::prelude::*;
use trazar::{Backend, Engine, Job};

use crate::arguments::{Name, named};
use crate::errors;

/// The values of `device=`.
#[derive(Clone, Copy)]
pub(crate) enum Device {
    /// The faster one for the job.
    Auto,
    Cpu,
    Cuda,
    Emulator,
}

impl<'py> FromPyObject<'_, 'py> for Device {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let name: Name = object.extract()?;
        named(
            "device",
            &name,
            &[
                ("auto", Self::Auto),
                ("cpu", Self::Cpu),
                ("cuda", Self::Cuda),
                ("emulator", Self::Emulator),
            ],
        )
    }
}

/// The engine of the first GPU, once a call has needed it.
static CUDA: Mutex<FoundGpu> = Mutex::new(FoundGpu::NotLooked);

enum FoundGpu {
    NotLooked,
    /// There is no usable GPU; asking again would take as long as the first time.
    None,
    Gpu(Engine),
}

impl Device {
    /// The engine of the device that is named, else the processor: for bands of `trazar.dask`,
    /// because several processes of one machine would have to share its GPU, and for jobs whose
    /// time on a GPU is not estimated yet.
    pub(crate) fn named_engine(self, py: Python<'_>) -> PyResult<Engine> {
        let device = match self {
            Self::Auto => Self::Cpu,
            named => named,
        };
        // The time of the job does not matter here.
        device.engine(py, || Job::LabelBands { pixels: 0 }, 1)
    }

    /// The engine for `runs` jobs like `job`. A GPU, once opened, stays open.
    pub(crate) fn engine(
        self,
        py: Python<'_>,
        job: impl FnOnce() -> Job + Send,
        runs: u32,
    ) -> PyResult<Engine> {
        match self {
            Self::Cpu => Ok(Engine::cpu()),
            Self::Emulator => Ok(Engine::emulator(0)),
            // Opening a GPU takes long, and measuring a job may too.
            Self::Cuda => py.detach(cuda).map_err(errors::from_library),
            Self::Auto => Ok(py.detach(|| faster(job, runs))),
        }
    }
}

/// The engine that is faster for `runs` jobs like `job`.
fn faster(job: impl FnOnce() -> Job, runs: u32) -> Engine {
    // Detecting a GPU takes half as long as opening it.
    let may_have_gpu = cfg!(not(target_os = "macos")) && !has_no_gpu();
    if !may_have_gpu {
        return Engine::cpu();
    }
    // The system call takes 20 µs.
    static CORES: OnceLock<usize> = OnceLock::new();
    let cores = *CORES.get_or_init(|| thread::available_parallelism().map_or(1, usize::from));
    // An open GPU need not be opened: as if any number of jobs shared the opening.
    let runs = if is_open() { u32::MAX } else { runs };
    match job().backend(cores, true, runs) {
        Backend::Cuda => cuda().unwrap_or_else(|_| Engine::cpu()),
        _ => Engine::cpu(),
    }
}

fn is_open() -> bool {
    let found = CUDA.lock().unwrap_or_else(PoisonError::into_inner);
    matches!(*found, FoundGpu::Gpu(_))
}

fn has_no_gpu() -> bool {
    let found = CUDA.lock().unwrap_or_else(PoisonError::into_inner);
    matches!(*found, FoundGpu::None)
}

fn cuda() -> trazar::Result<Engine> {
    let mut found = CUDA.lock().unwrap_or_else(PoisonError::into_inner);
    if let FoundGpu::Gpu(engine) = &*found {
        return Ok(engine.clone());
    }
    match open_gpu() {
        Ok(engine) => {
            *found = FoundGpu::Gpu(engine.clone());
            Ok(engine)
        }
        Err(error) => {
            *found = FoundGpu::None;
            Err(error)
        }
    }
}

/// An engine on the first GPU, with the kernels that also work on arrays on the GPU.
#[cfg(not(target_os = "macos"))]
fn open_gpu() -> trazar::Result<Engine> {
    Ok(Engine::on(crate::device::queue()?))
}

#[cfg(target_os = "macos")]
fn open_gpu() -> trazar::Result<Engine> {
    Engine::cuda()
}
