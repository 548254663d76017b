//! Small kernels that use every facility of `cuda_std`, with the results they must have.
//!
//! The kernels' PTX is a file of its own beside the product's. On the host, [`check`] runs them on
//! any device and compares with results computed here.

pub mod arithmetic;
pub mod atomics;
pub mod barriers;
#[cfg(not(target_arch = "nvptx64"))]
pub mod check;
pub mod fences;
pub mod grids;
pub mod memory;
pub mod parameters;
pub mod thread_indices;
pub mod warps;

/// The kernels as PTX, for compute capability 7.5 and up.
#[cfg(not(target_arch = "nvptx64"))]
pub const PTX: &str = include_str!("../ptx/conformance_sm_75.ptx");
