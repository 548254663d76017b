//! Launching kernels through the typed launchers that `#[kernel]` writes.

use std::ffi::c_void;

use cuda_std::launch::KernelSpec;
pub use cuda_std::launch::{Dim3, LaunchConfig, Launcher};

use crate::device::DeviceInfo;
use crate::error::{CudaError, CudaResult, DriverStatus};
use crate::function::{Kernel, KernelInfo};
use crate::graph;
use crate::module::Module;
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
/// sizes and places with what the driver says (CUDA 12.4 and newer).
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

/// Why a launch is impossible. All sizes in threads, blocks or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchProblem {
    /// A grid or block dimension is 0.
    #[error("its {what} is {x} × {y} × {z}, and no dimension may be 0")]
    Empty {
        /// `grid` or `block`.
        what: &'static str,
        /// Size in x.
        x: u32,
        /// Size in y.
        y: u32,
        /// Size in z.
        z: u32,
    },
    /// A grid or block dimension exceeds the device's limit.
    #[error("its {what} has {has} in {axis}, and the device allows {limit}")]
    TooWide {
        /// `grid` or `block`.
        what: &'static str,
        /// `x`, `y` or `z`.
        axis: char,
        /// The size asked for.
        has: u32,
        /// The largest allowed.
        limit: u32,
    },
    /// More threads per block than the kernel's registers or the device allow.
    #[error("its block has {has} threads, and this kernel allows {limit} on this device")]
    TooManyThreads {
        /// Threads per block asked for.
        has: u64,
        /// The most allowed.
        limit: u32,
    },
    /// The kernel was compiled for another block size.
    #[error("its block is {has:?}, but it was compiled for {needs:?} threads (x, y, z)")]
    BlockSize {
        /// The block asked for.
        has: [u32; 3],
        /// The block in the kernel's launch bounds.
        needs: [u32; 3],
    },
    /// More dynamic shared memory than the device has for one block.
    #[error(
        "it asks for {requested} bytes of dynamic shared memory, and {limit} are left per block"
    )]
    SharedMemory {
        /// Bytes asked for.
        requested: u32,
        /// Bytes left beside the kernel's static shared memory.
        limit: u32,
    },
    /// The grid of a cooperative kernel has more blocks than the device holds at once.
    #[error(
        "its grid has {has} blocks, which must all be resident at once, and this device holds \
         {limit}"
    )]
    NotResident {
        /// Blocks in the grid.
        has: u64,
        /// Blocks that the device holds at once.
        limit: u32,
    },
    /// The number of arguments differs from the kernel's number of parameters.
    #[error("it takes {needs} arguments, and {has} were given")]
    Arguments {
        /// Arguments given.
        has: usize,
        /// Parameters declared.
        needs: usize,
    },
}

/// Holds a launch against its specification, and against the limits of the device and the kernel.
fn check_shape(
    device: &DeviceInfo,
    kernel: &KernelInfo,
    spec: &KernelSpec,
    config: &LaunchConfig,
    args: usize,
) -> Result<(), LaunchProblem> {
    check_args(args, spec.params.len())?;
    check_extents(device, config)?;
    let has = [config.block.x, config.block.y, config.block.z];
    let needs = [spec.block.x, spec.block.y, spec.block.z];
    if has
        .iter()
        .zip(needs)
        .any(|(&has, needs)| needs != 0 && has != needs)
    {
        return Err(LaunchProblem::BlockSize { has, needs });
    }
    check_limits(device, kernel, config)
}

pub(crate) fn check_args(has: usize, needs: usize) -> Result<(), LaunchProblem> {
    if has == needs {
        Ok(())
    } else {
        Err(LaunchProblem::Arguments { has, needs })
    }
}

/// Holds a launch against the limits of the device and the kernel.
pub(crate) fn check_limits(
    device: &DeviceInfo,
    kernel: &KernelInfo,
    config: &LaunchConfig,
) -> Result<(), LaunchProblem> {
    check_extents(device, config)?;
    let threads = config.block.count();
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

fn check_extents(device: &DeviceInfo, config: &LaunchConfig) -> Result<(), LaunchProblem> {
    check_extent("grid", config.grid, device.max_grid)?;
    check_extent("block", config.block, device.max_block)
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
    use cuda_std::launch::{ParamKind, ParamSpec};

    use super::*;
    use crate::version::{ComputeCapability, DriverVersion};

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
            cooperative: false,
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
