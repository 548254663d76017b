//! The GPU: NVIDIA's driver, devices, memory, streams and kernel launches.
//!
//! The handles are [`cust`]'s; the calls are made directly, because `cust` reads their answers as an enumeration that newer
//! drivers' codes are no values of. No CUDA installation is needed to build, and no driver to run: without one,
//! [`load_driver`] and all that builds on it return a [`CudaError`] that says so.
//!
//! | type | is |
//! |---|---|
//! | [`Device`] | an opened GPU; cheap to clone, usable from any thread |
//! | [`Stream`] | a queue of work on it: allocations, copies and launches run in the order they were made |
//! | [`DeviceBuffer`] | memory on the GPU, allocated and freed in its stream's order |
//! | [`PinnedBuffer`] | host memory that the GPU copies from and to by itself |
//! | [`Event`] | a point in a stream's work: wait for it, or measure the time between two |
//! | [`Module`] | compiled kernels; [`Kernels`] is the library's own |
//! | [`Queue`] | a stream with a module: the typed launchers' [`Launcher`](cuda_std::launch::Launcher), and a [`Gpu`](crate::gpu::Gpu) for pipelines |
//! | [`Graph`] | recorded work that is launched again at the cost of one launch |
//!
//! # Building elsewhere
//! `cust`'s build script wants to see a CUDA folder. In a crate outside this workspace, on a machine that has no CUDA
//! toolkit under `/usr/local/cuda`, put this into `.cargo/config.toml`; any folder that contains a folder `lib64`
//! does:
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
mod module;
mod pinned;
mod ptx;
mod queue;
mod raw;
mod staging;
mod stream;

pub use buffer::DeviceBuffer;
pub use device::{Device, DeviceInfo, MemoryInfo};
#[doc(hidden)]
pub use driver::load_stand_in;
pub use driver::{DriverVersion, load_driver};
#[doc(hidden)]
pub use driver_symbols::entry_points;
pub use error::{ComputeCapability, CudaError, DriverStatus, LaunchProblem};
pub use event::Event;
pub use graph::Graph;
pub use module::{KernelInfo, Kernels, Module};
pub use pinned::{InFlight, PinnedBuffer};
pub use ptx::{PtxHeader, PtxVersion};
pub use queue::Queue;
pub use stream::Stream;
/// The kernels, their PTX and its origin.
pub use trazar_kernels as kernels;
