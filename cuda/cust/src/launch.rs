//! Launching kernels through the typed launchers that `#[kernel]` writes.

use std::ffi::c_void;

use cuda_std::launch::KernelSpec;
pub use cuda_std::launch::{Dim3, LaunchConfig, Launcher};

use crate::error::{CudaError, CudaResult, DriverStatus};
use crate::function::Kernel;
use crate::graph;
use crate::limits::check_shape;
use crate::module::Module;
pub use crate::problem::LaunchProblem;
use crate::stream::Stream;
use crate::sys::status;

/// A stream and a module whose kernels are launched on it: what the typed launchers launch on.
/// Clones are the same stream and module.
#[derive(Clone, Debug)]
pub struct ModuleQueue {
    stream: Stream,
    module: Module,
}

impl ModuleQueue {
    /// The kernels of `module` on `stream`.
    ///
    /// # Errors
    /// [`CudaError::WrongDevice`], [`CudaError::WrongContext`] if the two don't belong together.
    pub fn new(stream: &Stream, module: &Module) -> CudaResult<Self> {
        stream.device().check_same("the module", module.device())?;
        Ok(Self {
            stream: stream.clone(),
            module: module.clone(),
        })
    }

    /// Its stream.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Its module.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// The number of blocks of a kernel that the device holds at once, each with `dynamic_shared`
    /// bytes of dynamic shared memory: the largest grid of a cooperative kernel. 0 if a block needs
    /// more than a multiprocessor has. The driver is asked once for several equal questions in a
    /// row.
    ///
    /// # Errors
    /// [`CudaError::NoSuchKernel`]; [`CudaError::Driver`]; [`CudaError::Execution`] if a kernel has
    /// crashed.
    pub fn resident_blocks(
        &self,
        spec: &'static KernelSpec,
        dynamic_shared: u32,
    ) -> CudaResult<u32> {
        let kernel = self.stream.blame(self.module.kernel(spec.name))?;
        self.stream.device().bind()?;
        self.stream
            .blame(self.resident(&kernel, spec.block, dynamic_shared))
    }

    /// The number of blocks of `kernel` that the device, whose context is current, holds at once.
    fn resident(&self, kernel: &Kernel, block: Dim3, dynamic_shared: u32) -> CudaResult<u32> {
        let threads = u32::try_from(block.count()).unwrap_or(u32::MAX);
        let blocks = kernel.active_blocks(threads, dynamic_shared)?;
        Ok(blocks.saturating_mul(self.stream.device().info().multiprocessors))
    }
}

/// Launches cost 3 µs to 6 µs of host time. They are checked first, and nothing is launched on
/// [`CudaError::BadLaunch`], which says which limit of device or kernel was passed, or on
/// [`CudaError::WrongParameters`]: the number of parameters is compared with the PTX, and their
/// sizes and places with what the driver says (CUDA 12.4 and newer). [`CudaError::BadView`] is a
/// view that is shorter than the kernel states.
impl Launcher for ModuleQueue {
    type Error = CudaError;

    unsafe fn launch(
        &self,
        spec: &'static KernelSpec,
        config: LaunchConfig,
        args: &[*const c_void],
    ) -> CudaResult<()> {
        let kernel = self.stream.blame(self.module.kernel(spec.name))?;
        let device = self.stream.device().info();
        check_shape(device, &kernel.info, spec, &config, args.len()).map_err(|problem| {
            CudaError::BadLaunch {
                kernel: spec.name.to_owned(),
                problem,
            }
        })?;
        kernel.check_params(spec)?;
        // SAFETY: the caller promises an address of a fitting value for each parameter.
        unsafe { spec.check_views(config, args) }.map_err(|problem| CudaError::BadView {
            kernel: spec.name.to_owned(),
            problem,
        })?;
        let stream = self.stream.bind()?;
        self.stream
            .blame(kernel.allow_shared(config.dynamic_shared))?;
        graph::keep(&self.module);
        // SAFETY: the module is loaded and the stream alive. The caller promises an address of a
        // fitting value for each parameter.
        let status = unsafe { kernel.launch(stream, &config, args, spec.cooperative) };
        let status = DriverStatus::from(status);
        if status.code() == 0 {
            self.stream.note_launch(spec);
            return Ok(());
        }
        if status.code() == status::COOPERATIVE_LAUNCH_TOO_LARGE {
            let limit = self.resident(&kernel, config.block, config.dynamic_shared)?;
            return Err(CudaError::BadLaunch {
                kernel: spec.name.to_owned(),
                problem: LaunchProblem::NotResident {
                    has: config.grid.count(),
                    limit,
                },
            });
        }
        if status.is_fatal() {
            // The context is lost to a kernel launched before this one.
            return self.stream.blame(Err(CudaError::Execution {
                last_kernel: None,
                status,
            }));
        }
        Err(CudaError::Launch {
            kernel: spec.name,
            status,
        })
    }
}
