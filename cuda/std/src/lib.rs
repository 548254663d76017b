//! Device standard library for GPU kernels written in Rust.
//!
//! Kernels use this crate as CUDA C++ kernels use the built-in variables and intrinsics: [`thread`]
//! has a thread's coordinates, barriers and fences, [`warp`] the operations among the 32 threads of
//! a warp, and [`shared`] a block's shared memory. Kernels access memory through views ([`View`],
//! [`ViewMut`], [`SharedView`]). `#[kernel]` marks a function as a kernel.
//!
//! ```
//! # #![allow(dead_code)]
//! use cuda_std::prelude::*;
//!
//! /// `y[i] += a * x[i]`; one thread per element.
//! ///
//! /// # Safety
//! /// `x` and `y` have at least `n` elements and nothing else writes `y` meanwhile.
//! #[kernel(block = 256)]
//! pub unsafe fn saxpy(a: f32, x: View<'_, f32>, y: ViewMut<'_, f32>, n: u32) {
//!     let i = thread::index_1d();
//!     if i < n {
//!         y.st(i, a * x.ld(i) + y.ld(i));
//!     }
//! }
//! # fn main() {
//! assert_eq!(saxpy::SPEC.block, Dim3::from(256));
//! # }
//! ```
//!
//! Names follow the `cuda_std` of [rust-cuda](https://github.com/Rust-GPU/rust-cuda) where it has
//! one, so that kernels read the same with either crate.
//!
//! # What a kernel crate needs
//!
//! No attributes: neither `#![no_std]` nor `#![feature(abi_ptx)]`. `cuda_builder` and its command
//! `cargo kernels` compile the crate for the device without `std`, and `#[kernel]` enables the
//! calling convention. They need a compiler for the device: `cargo kernels --doctor` says what is
//! missing. `cargo kernels new NAME` writes a crate to start from.
//!
//! Host-only code goes behind `#[cfg(not(target_arch = "nvptx64"))]`, and host-only dependencies
//! under `[target.'cfg(not(target_arch = "nvptx64"))'.dependencies]`.
//!
//! # Two backends
//!
//! Built for `nvptx64-nvidia-cuda` the functions are single instructions. Built for the host, the
//! same kernel source compiles and type-checks with a stable compiler, and the [`emulator`] runs
//! it: thread by thread, in an order drawn from a seed, with every access checked.
//!
//! # Why `ld` and `st` are safe functions
//!
//! A kernel is launched by an `unsafe` call whose caller promises that every access the kernel
//! makes lies inside its views and does not race. That one promise covers the kernel's body;
//! repeating it at each of a kernel's hundred accesses would hide the few places that deserve a
//! thought. The emulator checks every access, the device checks none: a check there costs registers
//! and branches in the innermost loops.

#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(link_llvm_intrinsics, abi_unadjusted, allow_internal_unstable)
)]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features, improper_ctypes))]

// Lets the macros' `::cuda_std` paths work inside this crate too.
extern crate self as cuda_std;

mod atomic;
mod backend;
#[cfg(not(target_arch = "nvptx64"))]
pub mod emulator;
pub mod grid;
pub mod kernel;
#[cfg(not(target_arch = "nvptx64"))]
pub mod launch;
#[cfg(not(target_arch = "nvptx64"))]
pub mod lengths;
pub mod math;
mod pod;
pub mod shared;
pub mod thread;
pub mod view;
pub mod warp;

pub use atomic::{Atomic, Block, Device, Scope, System};
pub use cuda_std_macros::{KernelParam, Pod, kernel};
pub use kernel::KernelParam;
pub use pod::Pod;
pub use shared::SharedView;
pub use view::{Index, View, ViewMut};

// Runs the code in the crates' README files as doc tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../../macros/README.md")]
mod readme {}

/// All that a kernel file needs: `use cuda_std::prelude::*;`.
pub mod prelude {
    #[cfg(not(target_arch = "nvptx64"))]
    pub use crate::launch::{Dim3, KernelSpec, LaunchConfig, Launcher, ParamSpec};
    pub use crate::{
        Block, Device, KernelParam, Pod, SharedView, System, View, ViewMut, kernel, shared,
        shared_array, thread, warp,
    };
}
