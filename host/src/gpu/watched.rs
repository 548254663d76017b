//! For tests: an emulator that notes which kernels are launched, and refuses allocations.

use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cuda_std::emulator::{Buffer, Emulator, EmulatorError};

use super::{Gpu, KernelSpec, LaunchConfig, Launcher, Pod, sealed};
use crate::backend::Backend;
use crate::error::{Error, Result};

/// An allocation on a [`Watched`] emulator, or of host memory for a copy from it.
#[derive(Clone, Copy, Debug)]
pub struct Allocation {
    /// How many came before it.
    pub number: usize,
    /// The size of an element in bytes.
    pub element: usize,
    /// All of its bytes.
    pub bytes: usize,
}

impl Allocation {
    /// The error of a device without memory for it.
    pub fn out_of_memory(&self) -> Error {
        EmulatorError::OutOfMemory { bytes: self.bytes }.into()
    }
}

/// What has happened so far.
#[derive(Default)]
struct Log {
    launched: Vec<&'static str>,
    allocations: usize,
    refused: usize,
}

type Refuse = dyn FnMut(Allocation) -> Option<Error> + Send;

/// The emulator, watched. Clones are the same device.
#[derive(Clone)]
pub struct Watched {
    emulator: Emulator,
    log: Arc<Mutex<Log>>,
    refuse: Arc<Mutex<Refuse>>,
}

impl Watched {
    /// Watches `emulator`, on which all allocations succeed.
    pub fn new(emulator: Emulator) -> Self {
        Self::refusing(emulator, |_| None)
    }

    /// Watches `emulator`, on which each allocation fails for which `refuse` gives an error.
    pub fn refusing(
        emulator: Emulator,
        refuse: impl FnMut(Allocation) -> Option<Error> + Send + 'static,
    ) -> Self {
        Self {
            emulator,
            log: Arc::default(),
            refuse: Arc::new(Mutex::new(refuse)),
        }
    }

    /// Whether a kernel of that name was launched.
    pub fn has_launched(&self, kernel: &str) -> bool {
        self.log().launched.contains(&kernel)
    }

    /// The number of allocations, refused ones included.
    pub fn allocations(&self) -> usize {
        self.log().allocations
    }

    /// The number of allocations that were refused.
    pub fn refused(&self) -> usize {
        self.log().refused
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes an allocation, or refuses it.
    fn allocate<T>(&self, len: usize) -> Result<()> {
        let mut log = self.log();
        let allocation = Allocation {
            number: log.allocations,
            element: size_of::<T>(),
            bytes: len.saturating_mul(size_of::<T>()),
        };
        log.allocations += 1;
        let mut refuse = self.refuse.lock().unwrap_or_else(PoisonError::into_inner);
        match refuse(allocation) {
            None => Ok(()),
            Some(error) => {
                log.refused += 1;
                Err(error)
            }
        }
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.emulator.fmt(f)
    }
}

impl Launcher for Watched {
    type Error = Error;

    unsafe fn launch(
        &self,
        spec: &'static KernelSpec,
        config: LaunchConfig,
        args: &[*const c_void],
    ) -> Result<()> {
        self.log().launched.push(spec.name);
        // SAFETY: the caller's promise, passed on.
        Ok(unsafe { self.emulator.launch(spec, config, args) }?)
    }
}

impl sealed::Sealed for Watched {}

// SAFETY: buffers and launches are the emulator's.
unsafe impl Gpu for Watched {
    type Buffer<T: Pod> = Buffer<T>;
    type HostBuffer<T: Pod> = Vec<T>;

    const BACKEND: Backend = Backend::Emulator;

    fn alloc<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        self.allocate::<T>(len)?;
        Gpu::alloc(&self.emulator, len)
    }

    fn alloc_zeroed<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        self.allocate::<T>(len)?;
        Gpu::alloc_zeroed(&self.emulator, len)
    }

    fn upload<T: Pod>(&self, values: &[T]) -> Result<Buffer<T>> {
        self.allocate::<T>(values.len())?;
        Gpu::upload(&self.emulator, values)
    }

    fn upload_computed(
        &self,
        len: usize,
        write: impl Fn(usize, &mut [u8]) -> bool + Sync,
    ) -> Result<Option<Buffer<u8>>> {
        self.allocate::<u8>(len)?;
        Gpu::upload_computed(&self.emulator, len, write)
    }

    fn copy_to_host<T: Pod>(&self, buffer: &Buffer<T>, host: &mut Vec<T>) -> Result<()> {
        self.allocate::<T>(buffer.len())?;
        Gpu::copy_to_host(&self.emulator, buffer, host)
    }

    fn multiprocessors(&self) -> u32 {
        Gpu::multiprocessors(&self.emulator)
    }

    fn shared_per_block(&self) -> u32 {
        Gpu::shared_per_block(&self.emulator)
    }

    fn resident_blocks(&self, spec: &'static KernelSpec, dynamic_shared: u32) -> Result<u32> {
        Gpu::resident_blocks(&self.emulator, spec, dynamic_shared)
    }

    fn acquire<T: Pod>(&self, buffer: &Buffer<T>) -> Result<()> {
        Gpu::acquire(&self.emulator, buffer)
    }

    fn release<T: Pod>(&self, buffer: &Buffer<T>) -> Result<()> {
        Gpu::release(&self.emulator, buffer)
    }
}
