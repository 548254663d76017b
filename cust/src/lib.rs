//! NVIDIA's GPUs from Rust: devices, streams, memory, graphs, and typed launches of kernels.

pub mod context;
pub mod device;
mod driver;
pub mod error;
pub mod event;
pub mod function;
pub mod graph;
pub mod launch;
pub mod memory;
pub mod module;
mod owner;
pub mod prelude;
mod ptx;
pub mod stream;
mod sys;
mod version;

pub use driver::init;
#[doc(hidden)]
pub use driver::load_stand_in;
pub use owner::Owner;
pub use ptx::PtxHeader;
pub use version::{ComputeCapability, DriverVersion, PtxVersion};

/// The driver's handle types, as `cudarc` declares them.
pub mod raw {
    pub use cudarc::driver::sys::{
        CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUmodule, CUstream,
    };
}
