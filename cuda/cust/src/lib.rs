//! NVIDIA's GPUs from Rust: devices, streams, memory, graphs, and typed launches of kernels.
//!
//! It builds where no CUDA is installed, and runs where no driver is: then [`init`], and everything
//! that needs the driver, returns a [`CudaError`](error::CudaError) that says what is missing.
//!
//! | type | is |
//! |---|---|
//! | [`Device`](device::Device) | an opened GPU; cheap to clone, usable from any thread |
//! | [`Context`](context::Context) | the driver's context that a device is opened in: the primary one, or one made elsewhere |
//! | [`Stream`](stream::Stream) | a queue of work: allocations, copies and launches, done in order |
//! | [`Event`](event::Event) | a point in a stream's work: wait for it, or measure the time between two |
//! | [`DeviceBuffer`](memory::DeviceBuffer) | memory on the GPU, allocated and freed in its stream's order |
//! | [`LockedBuffer`](memory::LockedBuffer) | page-locked host memory, which the GPU reads and writes directly |
//! | [`Module`](module::Module) | compiled kernels |
//! | [`ModuleQueue`](launch::ModuleQueue) | a module's kernels on a stream: what typed launchers launch on |
//! | [`Graph`](graph::Graph) | recorded work that is launched again at the cost of one launch |
//!
//! # A program
//! The kernel is written in Rust with `cuda_std`, and compiled to PTX by `cuda_builder` in a build
//! script. `#[kernel]` writes its launcher, which takes the kernel's parameters as the kernel
//! declares them.
//!
//! ```
//! use cust::prelude::*;
//!
//! mod kernels {
//!     use cuda_std::prelude::*;
//!
//!     /// Adds `amount` to each value.
//!     ///
//!     /// # Safety
//!     /// Nothing else uses `values` meanwhile.
//!     #[kernel(block = 256)]
//!     pub unsafe fn add(values: ViewMut<'_, u32>, amount: u32) {
//!         let i = thread::index_1d();
//!         if i < values.len() as u32 {
//!             values.st(i, values.ld(i) + amount);
//!         }
//!     }
//! }
//!
//! fn add_on_gpu(ptx: &str, values: &[u32]) -> CudaResult<Vec<u32>> {
//!     let device = Device::open(0)?;
//!     let stream = device.stream()?;
//!     let queue = ModuleQueue::new(&stream, &Module::from_ptx(&device, ptx)?)?;
//!     let mut buffer = stream.upload(values)?;
//!     // SAFETY: the buffer is this launch's alone.
//!     unsafe { kernels::add::launch_threads(&queue, values.len(), buffer.view_mut(), 7) }?;
//!     buffer.to_vec()
//! }
//!
//! # fn main() {
//! // In a crate with a build script: `include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"))`.
//! # let ptx = ".version 7.0\n.target sm_75\n.address_size 64\n";
//! match add_on_gpu(ptx, &[1, 2, 3]) {
//!     Ok(sums) => println!("{sums:?}"),
//!     Err(error) => println!("{error}"),
//! }
//! # }
//! ```
//!
//! # Safety
//! Launching a kernel is unsafe, since a kernel can write any memory, and so is adopting what
//! others have made. All else is safe: lengths and devices are checked, buffers keep their streams
//! and these their device, a buffer is freed only after the work queued on its stream, and the host
//! never follows a device address. All objects may be used and dropped on any thread.
//!
//! # Errors
//! Statuses are integers, so that those of newer drivers are passed on as they are. A missing
//! driver, too old a driver, a missing function, a mismatch of library and kernel module, no
//! permission, and no device are each a variant of [`CudaError`](error::CudaError), whose text says
//! what to do.
//!
//! # With other libraries
//! | from, to | by |
//! |---|---|
//! | contexts, streams, events, memory | `from_raw` with an [`Owner`], and `as_raw` or [`into_raw`](memory::DeviceBuffer::into_raw) |
//! | PyTorch, CuPy, JAX, NumPy | [`dlpack`] |
//! | CuPy, Numba, PyTorch | [`array_interface`] |
//!
//! # What differs from the published `cust`
//! Names are those of `cust` 0.3.2 of Rust-CUDA (Riccardo D'Ambrosio and others, 2022) where the
//! things are the same. It is not used, for these reasons:
//!
//! | | published `cust` 0.3.2 | this crate |
//! |---|---|---|
//! | building | needs a CUDA installation: its build script stops without one | needs nothing |
//! | starting | links to `libcuda`: a program does not start without a driver | loads the driver when it is needed |
//! | statuses | a Rust enum that ends at CUDA 11.4: a newer status is undefined behaviour | integers |
//! | contexts | one is current per thread, by the caller's care | every object keeps its device, and makes its context current |
//! | memory | `cuMemAlloc`, which waits for the device | stream-ordered, from the driver's pool |
//! | copies | `copy_from`, `copy_to` of the current context | [`read`](memory::DeviceBuffer::read), [`write`](memory::DeviceBuffer::write) and others, in the buffer's stream |
//! | launches | `launch!` with any arguments | typed launchers, whose parameters are compared with the PTX's |
//! | dependencies | `glam` 0.20, `vek`, `syn` 1 | `cudarc`'s raw layer, `libloading`, `rayon` |
//!
//! Types, constants and signatures of the driver come from `cudarc`'s raw layer, which is made from
//! NVIDIA's headers. A driver for CUDA 11.4 or newer is needed.
//!
//! `cudarc` is built for one version of the headers, which is 12.4 here: a program in which another
//! crate selects another `cuda-…` feature of `cudarc` 0.19 does not compile.

pub mod array_interface;
pub mod context;
pub mod device;
pub mod dlpack;
mod driver;
pub mod error;
pub mod event;
pub mod function;
pub mod graph;
pub mod launch;
mod limits;
pub mod memory;
pub mod module;
mod owner;
pub mod prelude;
mod problem;
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

/// The driver's types, as `cudarc` declares them.
pub mod raw {
    pub use cudarc::driver::sys::{
        CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUmodule, CUstream,
    };
}
