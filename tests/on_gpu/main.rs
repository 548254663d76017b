//! The suite of the devices on a GPU, and what only a GPU can show: several GPUs, memory that runs
//! out, images and grids that are too large for the emulator.
//!
//! Without a GPU each test says that it was skipped; with `TRAZAR_REQUIRE_GPU=1` that is a failure.
//! `TRAZAR_LARGE=1` adds images of up to 100,000 × 100,000 pixels, which take 47 GB of the GPU's
//! memory, and more random images. `TRAZAR_DATA` names a folder with more images, in `masks/*.png`.
#![cfg(not(target_os = "macos"))]

use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use proptest::prelude::*;
use trazar::Error;
use trazar::cuda::{self, Queue};
use trazar_test_support::optional;

#[path = "../devices/mod.rs"]
mod devices;
mod known_answers;
mod large;
mod memory;
mod random_images;
mod several;

use devices::{Device, Setup};

/// Held by all tests that use the GPU's memory: by those that take most of it, alone.
static DEVICE_MEMORY: RwLock<()> = RwLock::new(());

/// The GPU, with the right to use its memory.
struct OnGpu<Right> {
    queue: Queue,
    _right: Right,
}

/// Beside other tests.
type Beside = OnGpu<RwLockReadGuard<'static, ()>>;
/// While no other test runs on the GPU.
type Alone = OnGpu<RwLockWriteGuard<'static, ()>>;

impl<Right> OnGpu<Right> {
    fn with(test: &str, right: Right) -> Option<Self> {
        let queue = optional::on_gpu(test, queue().map_err(Error::from))?;
        Some(Self {
            queue,
            _right: right,
        })
    }

    /// A queue on a stream of its own.
    fn on_own_stream(&self) -> Queue {
        on_own_stream(&self.queue)
    }
}

/// A queue of the same GPU on a stream of its own.
fn on_own_stream(queue: &Queue) -> Queue {
    let stream = queue.stream().device().stream();
    queue.on_stream(&stream.unwrap()).unwrap()
}

impl Alone {
    fn open(test: &str) -> Option<Self> {
        let alone = DEVICE_MEMORY.write();
        Self::with(test, alone.unwrap_or_else(PoisonError::into_inner))
    }
}

/// A queue with the kernels, which are compiled once for all tests.
fn queue() -> Result<Queue, cuda::CudaError> {
    static FIRST: Mutex<Option<Queue>> = Mutex::new(None);
    let mut first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
    if first.is_none() {
        *first = Some(Queue::open(&cuda::Device::open(0)?)?);
    }
    Ok(first.clone().expect("opened above"))
}

impl Device for Beside {
    type Gpu = Queue;

    fn open(test: &str) -> Option<Self> {
        let beside = DEVICE_MEMORY.read();
        Self::with(test, beside.unwrap_or_else(PoisonError::into_inner))
    }

    fn gpu(&self, _setup: impl Into<Setup>) -> Queue {
        self.on_own_stream()
    }

    fn any(&self) -> impl Strategy<Value = Queue> {
        Just(self.on_own_stream())
    }

    fn another_queue(gpu: &Queue) -> Queue {
        on_own_stream(gpu)
    }
}

devices::suite!(crate::Beside);
