//! The GPU: NVIDIA's driver, devices, memory, streams and kernel launches.
//!
//! The handles are [`cust`]'s; the calls are made directly, because `cust` reads their status codes
//! as an enumeration that lacks the codes of newer drivers. No CUDA installation is needed to
//! build, and no driver to run: without one, [`load_driver`] and all that builds on it return a
//! [`CudaError`] that says so.
//!
//! | type | is |
//! |---|---|
//! | [`Device`] | an opened GPU; cheap to clone, usable from any thread |
//! | [`Stream`] | a queue of work on it: allocations, copies and launches, done in order |
//! | [`DeviceBuffer`] | memory on the GPU, allocated and freed in its stream's order |
//! | [`PinnedBuffer`] | page-locked host memory, which the GPU reads and writes directly |
//! | [`Event`] | a point in a stream's work: wait for it, or measure the time between two |
//! | [`Module`] | compiled kernels; [`Kernels`] is the library's own |
//! | [`Queue`] | a stream with a module: a [`Launcher`](cuda_std::launch::Launcher) for typed launchers, a [`Gpu`](crate::gpu::Gpu) for pipelines |
//! | [`Graph`] | recorded work that is launched again at the cost of one launch |
//!
//! # Building elsewhere
//! `cust`'s build script looks for a CUDA folder. In a crate outside this workspace, on a machine
//! without a CUDA toolkit under `/usr/local/cuda`, put this into `.cargo/config.toml`; any folder
//! that contains a folder `lib64` will do:
//!
//! ```toml
//! [env]
//! CUDA_LIBRARY_PATH = "/usr"
//! ```
//!
//! A program can hold only one crate that defines the driver's symbols: one version of this one.

mod buffer;
mod device;
mod driver;
mod driver_symbols;
mod error;
mod event;
mod graph;
mod in_flight;
mod module;
mod pinned;
mod ptx;
mod queue;
mod raw;
mod staging;
mod stream;
mod upload;
mod version;

pub use buffer::DeviceBuffer;
pub use device::{Device, DeviceInfo, MemoryInfo};
pub use driver::load_driver;
#[doc(hidden)]
pub use driver::load_stand_in;
#[doc(hidden)]
pub use driver_symbols::entry_points;
pub use error::{CudaError, DriverStatus, LaunchProblem};
pub use event::Event;
pub use graph::Graph;
pub use in_flight::InFlight;
pub use module::{KernelInfo, Kernels, Module};
pub use pinned::PinnedBuffer;
pub use ptx::PtxHeader;
pub use queue::Queue;
pub use stream::Stream;
/// The kernels, their PTX and its origin.
pub use trazar_kernels as kernels;
pub use version::{ComputeCapability, DriverVersion, PtxVersion};
