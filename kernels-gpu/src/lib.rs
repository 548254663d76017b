//! Trazar's GPU kernels.

#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]

pub mod label;
pub mod primitives;

/// The kernels as PTX, for compute capability 7.5 and up.
#[cfg(not(target_arch = "nvptx64"))]
pub const PTX: &str = include_str!("../ptx/trazar_sm_75.ptx");
