//! Launching kernels.

use std::ffi::c_void;
use std::ptr;

use cuda_std::launch::{Dim3, KernelSpec, LaunchConfig, Launcher};

use super::device::{Device, DeviceInfo};
use super::error::{CudaError, DriverStatus, LaunchProblem};
use super::graph;
use super::module::{Kernel, KernelInfo, Kernels, Module};
use super::raw;
use super::stream::Stream;

/// A stream and the kernels to run on it: what the typed launchers launch on. Clones are the same
/// stream and module.
#[derive(Clone, Debug)]
pub struct Queue {
    stream: Stream,
    module: Module,
}

impl Queue {
    /// Loads the library's kernels on `device` and makes a stream for them.
    ///
    /// # Errors
    /// [`CudaError`]: the driver can't compile the kernels for this GPU, or has no memory for them.
    pub fn open(device: &Device) -> Result<Self, CudaError> {
        Self::new(&device.stream()?, &Kernels::load(device)?)
    }

    /// The library's kernels on `stream`.
    ///
    /// # Errors
    /// [`CudaError::WrongDevice`] if the two are of different devices.
    pub fn new(stream: &Stream, kernels: &Kernels) -> Result<Self, CudaError> {
        // SAFETY: these are the kernels that pipelines expect.
        unsafe { Self::with_module(stream, kernels.module()) }
    }

    /// The kernels of any module on `stream`.
    ///
    /// # Errors
    /// [`CudaError::WrongDevice`] if the two are of different devices.
    ///
    /// # Safety
    /// Pipelines ([`Gpu`](crate::gpu::Gpu)) launch kernels by their names from safe code: whatever
    /// in the module has the name of a kernel of [`trazar_kernels`] takes the same parameters, and
    /// touches no other memory than that one does.
    pub unsafe fn with_module(stream: &Stream, module: &Module) -> Result<Self, CudaError> {
        stream.device().check_same("the module", module.device())?;
        Ok(Self {
            stream: stream.clone(),
            module: module.clone(),
        })
    }

    /// The same kernels on another stream.
    ///
    /// # Errors
    /// [`CudaError::WrongDevice`] if that is of another device.
    pub fn on_stream(&self, stream: &Stream) -> Result<Self, CudaError> {
        // SAFETY: whoever made this queue has vouched for its module.
        unsafe { Self::with_module(stream, &self.module) }
    }

    /// Its stream.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Its kernels.
    pub fn module(&self) -> &Module {
        &self.module
    }
}

/// Launches cost 3 µs to 6 µs of host time. They are checked against the limits of device and
/// kernel first: [`CudaError::BadLaunch`] says which one was passed, and nothing was launched.
impl Launcher for Queue {
    type Error = CudaError;

    unsafe fn launch(
        &self,
        spec: &'static KernelSpec,
        config: LaunchConfig,
        args: &[*const c_void],
    ) -> Result<(), CudaError> {
        let kernel = self.stream.blame(self.module.kernel(spec.name))?;
        check_shape(
            self.stream.device().info(),
            &kernel.info,
            spec,
            &config,
            args.len(),
        )
        .map_err(|problem| CudaError::BadLaunch {
            kernel: spec.name,
            problem,
        })?;
        self.stream.device().bind()?;
        self.stream
            .blame(kernel.allow_shared(config.dynamic_shared))?;
        graph::keep(&self.module);
        // SAFETY: the caller's promise: an address of a fitting value for each parameter. The
        // driver copies the values before it returns.
        unsafe { self.launch_checked(&kernel, spec, &config, args) }
    }
}

impl Queue {
    unsafe fn launch_checked(
        &self,
        kernel: &Kernel,
        spec: &'static KernelSpec,
        config: &LaunchConfig,
        args: &[*const c_void],
    ) -> Result<(), CudaError> {
        let LaunchConfig {
            grid,
            block,
            dynamic_shared,
        } = *config;
        // SAFETY: the function's module is loaded and the stream alive; the rest is the caller's
        // promise. The driver's header wants `*mut` arguments, and does not write through them.
        let status = unsafe {
            raw::cuLaunchKernel(
                kernel.raw(),
                grid.x,
                grid.y,
                grid.z,
                block.x,
                block.y,
                block.z,
                dynamic_shared,
                self.stream.raw(),
                args.as_ptr().cast_mut().cast::<*mut c_void>(),
                ptr::null_mut(),
            )
        };
        let status = DriverStatus::from(status);
        if status.code() == 0 {
            self.stream.note_launch(spec);
            return Ok(());
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

/// Holds a launch against the limits of the device and the kernel.
fn check_shape(
    device: &DeviceInfo,
    kernel: &KernelInfo,
    spec: &KernelSpec,
    config: &LaunchConfig,
    args: usize,
) -> Result<(), LaunchProblem> {
    if args != spec.params.len() {
        return Err(LaunchProblem::Arguments {
            has: args,
            needs: spec.params.len(),
        });
    }
    check_extent("grid", config.grid, device.max_grid)?;
    check_extent("block", config.block, device.max_block)?;

    let has = [config.block.x, config.block.y, config.block.z];
    let needs = [spec.block.x, spec.block.y, spec.block.z];
    if has
        .iter()
        .zip(needs)
        .any(|(&has, needs)| needs != 0 && has != needs)
    {
        return Err(LaunchProblem::BlockSize { has, needs });
    }
    let threads = has.iter().map(|&n| u64::from(n)).product();
    let limit = kernel.threads_per_block.min(device.threads_per_block);
    if threads > u64::from(limit) {
        return Err(LaunchProblem::TooManyThreads {
            has: threads,
            limit,
        });
    }
    let limit = device.shared_per_block.saturating_sub(kernel.static_shared);
    if config.dynamic_shared > limit {
        return Err(LaunchProblem::SharedMemory {
            requested: config.dynamic_shared,
            limit,
        });
    }
    Ok(())
}

fn check_extent(what: &'static str, extent: Dim3, limits: [u32; 3]) -> Result<(), LaunchProblem> {
    let Dim3 { x, y, z } = extent;
    if x == 0 || y == 0 || z == 0 {
        return Err(LaunchProblem::Empty { what, x, y, z });
    }
    for ((axis, has), limit) in [('x', x), ('y', y), ('z', z)].into_iter().zip(limits) {
        if has > limit {
            return Err(LaunchProblem::TooWide {
                what,
                axis,
                has,
                limit,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::version::{ComputeCapability, DriverVersion};
    use super::*;
    use cuda_std::launch::{ParamKind, ParamSpec};

    const fn dim(x: u32, y: u32, z: u32) -> Dim3 {
        Dim3 { x, y, z }
    }

    static PARAMS: [ParamSpec; 1] = [ParamSpec {
        name: "n",
        ty: "u32",
        size: 4,
        align: 4,
        kind: ParamKind::Value,
    }];

    fn problem(
        spec_block: Dim3,
        grid: Dim3,
        block: Dim3,
        dynamic_shared: u32,
        args: usize,
    ) -> String {
        let device = DeviceInfo {
            index: 0,
            name: "a GPU".to_owned(),
            compute_capability: ComputeCapability { major: 9, minor: 0 },
            driver: DriverVersion {
                major: 13,
                minor: 0,
            },
            total_memory: 1 << 30,
            multiprocessors: 132,
            l2_bytes: 60 << 20,
            threads_per_multiprocessor: 2048,
            threads_per_block: 1024,
            max_block: [1024, 1024, 64],
            max_grid: [0x7fff_ffff, 65535, 65535],
            shared_per_block: 227 * 1024,
            memory_pools: true,
        };
        let kernel = KernelInfo {
            registers: 96,
            static_shared: 1024,
            local_bytes: 0,
            threads_per_block: 640,
        };
        let spec = KernelSpec {
            name: "k",
            block: spec_block,
            params: &PARAMS,
            zero_at_exit: &[],
            entry: None,
        };
        let config = LaunchConfig {
            grid,
            block,
            dynamic_shared,
        };
        match check_shape(&device, &kernel, &spec, &config, args) {
            Ok(()) => "fine".to_owned(),
            Err(problem) => problem.to_string(),
        }
    }

    #[test]
    fn launches_are_held_against_every_limit() {
        let (any, one, b256) = (dim(0, 0, 0), dim(1, 1, 1), dim(256, 1, 1));
        assert_eq!(problem(any, one, b256, 0, 1), "fine");
        assert_eq!(
            problem(
                any,
                dim(0x7fff_ffff, 65535, 65535),
                dim(640, 1, 1),
                226 * 1024,
                1
            ),
            "fine"
        );
        assert_eq!(
            problem(any, one, b256, 0, 2),
            "it takes 1 arguments, and 2 were given"
        );
        assert_eq!(
            problem(any, dim(3, 0, 1), b256, 0, 1),
            "its grid is 3 × 0 × 1, and no dimension may be 0"
        );
        assert_eq!(
            problem(any, one, dim(32, 1, 0), 0, 1),
            "its block is 32 × 1 × 0, and no dimension may be 0"
        );
        assert_eq!(
            problem(any, dim(1, 65536, 1), b256, 0, 1),
            "its grid has 65536 in y, and the device allows 65535"
        );
        assert_eq!(
            problem(any, one, dim(1, 1, 65), 0, 1),
            "its block has 65 in z, and the device allows 64"
        );
        assert_eq!(
            problem(any, one, dim(641, 1, 1), 0, 1),
            "its block has 641 threads, and this kernel allows 640 on this device"
        );
        assert_eq!(
            problem(dim(128, 1, 1), one, b256, 0, 1),
            "its block is [256, 1, 1], but it was compiled for [128, 1, 1] threads (x, y, z)"
        );
        assert_eq!(
            problem(any, one, b256, 226 * 1024 + 1, 1),
            "it asks for 231425 bytes of dynamic shared memory, and 231424 are left per block"
        );
    }
}
