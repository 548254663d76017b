//! What kernels and whatever runs them agree on: plain data, and what a typed launcher hands over.

use core::ffi::c_void;

/// A size in threads or blocks, in three dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim3 {
    /// Size in x, the fastest-varying dimension.
    pub x: u32,
    /// Size in y.
    pub y: u32,
    /// Size in z.
    pub z: u32,
}

/// One parameter of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct ParamSpec {
    /// Its name in the source.
    pub name: &'static str,
    /// Its type in the source.
    pub ty: &'static str,
    /// Its size in bytes.
    pub size: usize,
    /// Its alignment in bytes.
    pub align: usize,
}

/// A kernel, as its source declares it.
#[derive(Debug)]
pub struct KernelSpec {
    /// The name of its entry point.
    pub name: &'static str,
    /// The block it was compiled for; 0 in a dimension where it takes any size.
    pub block: Dim3,
    /// Its parameters, in order.
    pub params: &'static [ParamSpec],
    /// The kernel compiled for the host, where it is.
    pub entry: Option<unsafe fn(*const *const c_void)>,
}

/// The shape of one launch.
#[derive(Clone, Copy, Debug)]
pub struct LaunchConfig {
    /// Blocks.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// Dynamic shared memory per block, in bytes.
    pub dynamic_shared: u32,
}

/// Runs kernels.
pub trait Launcher {
    /// What can go wrong.
    type Error;

    /// Queues one launch.
    ///
    /// # Errors
    /// The launcher's own.
    ///
    /// # Safety
    /// `args` holds, for each parameter in order, the address of a value of its type; what the kernel does with them
    /// is sound, until it has finished.
    unsafe fn launch(
        &self,
        spec: &'static KernelSpec,
        config: LaunchConfig,
        args: &[*const c_void],
    ) -> Result<(), Self::Error>;
}

/// Plain data that the host and the device lay out alike: numbers, arrays of them, `#[repr(C)]` structs of them.
///
/// # Safety
/// The type is a number, or `#[repr(C)]` or `#[repr(transparent)]` over such types; every bit pattern is a value of it;
/// it holds no pointer and no reference.
pub unsafe trait Pod: Copy + Send + Sync + 'static {}

macro_rules! numbers {
    ($($t:ty),*) => {$(
        // SAFETY: a number: the same layout on both sides, any bit pattern is a value, no pointer.
        unsafe impl Pod for $t {}
    )*};
}
numbers!(u8, i8, u16, i16, u32, i32, u64, i64, usize, isize, f32, f64);

// SAFETY: an array is its elements in order, with no padding between them.
unsafe impl<T: Pod, const N: usize> Pod for [T; N] {}
