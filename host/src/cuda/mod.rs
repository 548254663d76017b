//! The GPU: NVIDIA's driver, devices, memory, streams and kernel launches.
//!
//! The types are those of the crate `cust` (package `trazar-cust`), whose documentation says more,
//! and the library's kernels. No CUDA installation is needed to build, and no driver to run:
//! without one, [`init`] and everything that builds on it return a [`CudaError`] that says so.
//!
//! | type | is |
//! |---|---|
//! | [`Device`] | an opened GPU; cheap to clone, usable from any thread |
//! | [`Stream`] | a queue of work on it: allocations, copies and launches, done in order |
//! | [`DeviceBuffer`] | memory on the GPU, allocated and freed in its stream's order |
//! | [`LockedBuffer`] | page-locked host memory, which the GPU reads and writes directly |
//! | [`Event`] | a point in a stream's work: wait for it, or measure the time between two |
//! | [`Kernels`] | the library's kernels, compiled for a device |
//! | [`Queue`] | the library's kernels on a stream: a [`Gpu`](crate::gpu::Gpu) for pipelines |
//! | [`Module`], [`ModuleQueue`] | any compiled kernels, and these on a stream |
//! | [`Graph`] | recorded work that is launched again at the cost of one launch |
//!
//! # With PyTorch, CuPy and others
//! Pipelines run on streams made elsewhere ([`Stream::from_raw`], [`Queue::new`]). They use memory
//! made elsewhere in place ([`DeviceBuffer::from_raw`], [`dlpack::import`],
//! [`CudaArray::import`](array_interface::CudaArray::import)), if it starts at a multiple of 256
//! bytes, as allocations do. Results are taken out by
//! [`DeviceLabels::into_labels`](crate::DeviceLabels::into_labels),
//! [`DeviceContours::into_buffers`](crate::DeviceContours::into_buffers) and
//! [`DeviceImage::into_words`](crate::DeviceImage::into_words), and handed on as
//! [`DeviceBuffer::into_raw`], [`dlpack::export`] or
//! [`CudaArray::of`](array_interface::CudaArray::of).

mod library;
mod queue;

pub use cust::context::Context;
pub use cust::device::{Device, DeviceInfo, MemoryInfo};
pub use cust::error::{CudaError, CudaResult, DriverStatus};
pub use cust::event::Event;
pub use cust::function::{Function, KernelInfo};
pub use cust::graph::Graph;
pub use cust::launch::{LaunchProblem, ModuleQueue};
pub use cust::memory::{DeviceBuffer, InFlight, LockedBuffer, RawBuffer, Release};
pub use cust::module::Module;
pub use cust::stream::{Stream, StreamFlags};
pub use cust::{
    ComputeCapability, DriverVersion, Owner, PtxHeader, PtxVersion, array_interface, dlpack, init,
    raw,
};
pub use library::Kernels;
pub use queue::Queue;
/// The kernels, their PTX and its origin.
pub use trazar_kernels as kernels;
