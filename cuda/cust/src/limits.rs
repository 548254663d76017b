//! Launches held against the limits of device and kernel.

use cuda_std::launch::{Dim3, KernelSpec, LaunchConfig};

use crate::device::DeviceInfo;
use crate::problem::LaunchProblem;

/// What a compiled kernel uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelInfo {
    /// Registers per thread.
    pub registers: u32,
    /// Static shared memory per block, in bytes.
    pub static_shared: u32,
    /// Memory per thread for spilled registers and local arrays, in bytes. It lies in device
    /// memory: slow.
    pub local_bytes: u32,
    /// The most threads of a block, by its registers and launch bounds.
    pub threads_per_block: u32,
}

/// Holds a launch against its specification, and against the limits of the device and the kernel.
pub(crate) fn check_shape(
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
            check_views: None,
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
