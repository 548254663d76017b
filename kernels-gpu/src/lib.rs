//! Trazar's GPU kernels, and the PTX that they compile to.
//!
//! The kernels' sources are in the modules. Each file opens with what it computes and how it is
//! launched. The PTX is checked in beside them and is part of the crate as [`PTX`], so that users
//! need no device toolchain. `cargo kernels` rebuilds it.
//!
//! A comment `// planted: NAME` marks a line that `.ci/planted_errors.py` changes in a copy of
//! these sources, to see whether the tests notice the error NAME. The line itself is correct. The
//! comment stays with its line when code moves.

pub mod distance;
pub mod image;
pub mod label;
pub mod measure;
pub mod primitives;
#[cfg(not(target_arch = "nvptx64"))]
mod ptx;
pub mod rle;
pub mod route;
pub mod trace;

#[cfg(not(target_arch = "nvptx64"))]
pub use ptx::{PTX, PtxHeader, header};
