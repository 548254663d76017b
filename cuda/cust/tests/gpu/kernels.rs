//! Hand-written kernels, declared as `#[kernel]` would declare them.

use cuda_std::launch::{Dim3, KernelSpec, LaunchConfig, ParamKind, ParamSpec};

pub(crate) const PTX: &str = include_str!("kernels.ptx");

const fn param(name: &'static str, ty: &'static str, size: usize) -> ParamSpec {
    ParamSpec {
        name,
        ty,
        size,
        align: size,
        kind: ParamKind::Value,
    }
}

const fn kernel(name: &'static str, block: Dim3, params: &'static [ParamSpec]) -> KernelSpec {
    KernelSpec {
        name,
        block,
        params,
        cooperative: false,
        zero_at_exit: &[],
        entry: None,
        check_views: None,
    }
}

pub(crate) const fn dim(x: u32, y: u32, z: u32) -> Dim3 {
    Dim3 { x, y, z }
}

const ANY: Dim3 = dim(0, 0, 0);

pub(crate) static SCALE: KernelSpec = kernel(
    "scale",
    ANY,
    &[
        param("values", "*mut u32", 8),
        param("n", "u32", 4),
        param("factor", "u32", 4),
    ],
);
pub(crate) static SUM_SHARED: KernelSpec = kernel(
    "sum_shared",
    ANY,
    &[param("sum", "*mut u32", 8), param("words", "u32", 4)],
);
pub(crate) static SPIN: KernelSpec = kernel("spin", ANY, &[param("cycles", "u64", 8)]);
pub(crate) static SIXTY_FOUR: KernelSpec = kernel("sixty_four", dim(64, 1, 1), &[]);
pub(crate) static CRASH: KernelSpec = kernel("crash", ANY, &[]);

pub(crate) fn shape(blocks: u32, threads: u32) -> LaunchConfig {
    LaunchConfig {
        grid: dim(blocks, 1, 1),
        block: dim(threads, 1, 1),
        dynamic_shared: 0,
    }
}
