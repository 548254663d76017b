//! Trazar's GPU kernels, and the PTX that they compile to.
//!
//! The kernels' sources are in the modules; each file opens with what it computes and how it is launched. The PTX is
//! checked in beside them and comes with the crate as [`PTX`], so that nobody needs a device toolchain to use it.
//! `cargo kernels` rebuilds it.
//!
//! A comment `// planted: NAME` marks the line that the error NAME changes in a copy of these sources, to see whether the
//! tests notice it: `.ci/planted_errors.py` says how. Here it marks nothing but right code. Code that moves takes it along.

#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]

pub mod image;
pub mod label;
pub mod primitives;
#[cfg(not(target_arch = "nvptx64"))]
mod ptx;
pub mod route;
pub mod trace;

#[cfg(not(target_arch = "nvptx64"))]
pub use ptx::{PTX, PtxHeader, header};
