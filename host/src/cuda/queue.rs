//! The library's kernels on a stream.

use std::ffi::c_void;

use cuda_std::launch::{KernelSpec, LaunchConfig, Launcher};
use cust::device::Device;
use cust::error::{CudaError, CudaResult};
use cust::launch::ModuleQueue;
use cust::module::Module;
use cust::stream::Stream;

use super::library::Kernels;

/// A stream and the library's kernels on it, for pipelines ([`Gpu`](crate::gpu::Gpu)). Clones share
/// the stream and the kernels.
#[derive(Clone, Debug)]
pub struct Queue {
    kernels: ModuleQueue,
}

impl Queue {
    /// Loads the library's kernels on `device` and makes a stream for them.
    ///
    /// # Errors
    /// [`CudaError`]: the driver can't compile the kernels for this GPU, or has no memory for them.
    pub fn open(device: &Device) -> CudaResult<Self> {
        Self::new(&device.stream()?, &Kernels::load(device)?)
    }

    /// The library's kernels on `stream`, which may be one made elsewhere.
    ///
    /// # Errors
    /// [`CudaError::WrongDevice`], [`CudaError::WrongContext`] if the two don't belong together.
    pub fn new(stream: &Stream, kernels: &Kernels) -> CudaResult<Self> {
        // SAFETY: these are the kernels that pipelines expect.
        unsafe { Self::with_module(stream, kernels.module()) }
    }

    /// Other kernels instead of the library's.
    ///
    /// # Errors
    /// [`CudaError::WrongDevice`], [`CudaError::WrongContext`] if the two don't belong together.
    ///
    /// # Safety
    /// Pipelines launch kernels by their names from safe code: every function in the module with
    /// the name of a kernel of [`trazar_kernels`] takes the same parameters, and touches no memory
    /// that that kernel does not.
    pub unsafe fn with_module(stream: &Stream, module: &Module) -> CudaResult<Self> {
        Ok(Self {
            kernels: ModuleQueue::new(stream, module)?,
        })
    }

    /// The same kernels on another stream.
    ///
    /// # Errors
    /// [`CudaError::WrongDevice`], [`CudaError::WrongContext`] if the stream is on another device.
    pub fn on_stream(&self, stream: &Stream) -> CudaResult<Self> {
        // SAFETY: whoever made this queue has vouched for its module.
        unsafe { Self::with_module(stream, self.module()) }
    }

    /// Its stream.
    pub fn stream(&self) -> &Stream {
        self.kernels.stream()
    }

    /// Its kernels.
    pub fn module(&self) -> &Module {
        self.kernels.module()
    }

    /// As [`ModuleQueue::resident_blocks`].
    ///
    /// # Errors
    /// Those of [`ModuleQueue::resident_blocks`].
    pub fn resident_blocks(
        &self,
        spec: &'static KernelSpec,
        dynamic_shared: u32,
    ) -> CudaResult<u32> {
        self.kernels.resident_blocks(spec, dynamic_shared)
    }
}

/// Launches as [`ModuleQueue`] does.
impl Launcher for Queue {
    type Error = CudaError;

    unsafe fn launch(
        &self,
        spec: &'static KernelSpec,
        config: LaunchConfig,
        args: &[*const c_void],
    ) -> CudaResult<()> {
        // SAFETY: the caller's promise.
        unsafe { self.kernels.launch(spec, config, args) }
    }
}
