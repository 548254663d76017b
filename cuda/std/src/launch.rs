//! Launches: how the host starts a kernel. Host only.
//!
//! For each kernel, `#[kernel]` writes a module of the kernel's name with a [`KernelSpec`] and
//! typed `launch` functions. These collect the arguments and pass them to a [`Launcher`]: the CUDA
//! driver, or an emulator.

use core::ffi::c_void;

pub use crate::kernel::{FieldSpec, ParamKind};
use crate::lengths::ViewProblem;

/// Extents of a grid (in blocks) or of a block (in threads).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim3 {
    /// Extent along x, which varies fastest.
    pub x: u32,
    /// Extent along y.
    pub y: u32,
    /// Extent along z.
    pub z: u32,
}

impl Dim3 {
    /// Number of blocks or threads: the product of the three extents.
    #[must_use]
    pub const fn count(self) -> u64 {
        self.x as u64 * self.y as u64 * self.z as u64
    }
}

impl From<u32> for Dim3 {
    fn from(x: u32) -> Self {
        Self { x, y: 1, z: 1 }
    }
}

impl From<(u32, u32)> for Dim3 {
    fn from((x, y): (u32, u32)) -> Self {
        Self { x, y, z: 1 }
    }
}

impl From<(u32, u32, u32)> for Dim3 {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self { x, y, z }
    }
}

/// The number of threads of a grid, from which `launch_threads` computes the number of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadCount(u64);

impl ThreadCount {
    /// The smallest number of blocks of `block` threads that together have at least this many
    /// threads.
    ///
    /// Numbers above `u32::MAX` become `u32::MAX`. Every launcher refuses that: no device has such
    /// a grid.
    #[must_use]
    pub fn blocks_of(self, block: u32) -> u32 {
        let blocks = self.0.div_ceil(block.into());
        blocks.try_into().unwrap_or(u32::MAX)
    }
}

impl From<u32> for ThreadCount {
    fn from(threads: u32) -> Self {
        Self(threads.into())
    }
}

impl From<u64> for ThreadCount {
    fn from(threads: u64) -> Self {
        Self(threads)
    }
}

impl From<usize> for ThreadCount {
    fn from(threads: usize) -> Self {
        Self(threads as u64)
    }
}

/// One parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamSpec {
    /// Its name in the source.
    pub name: &'static str,
    /// Its type as written in the source.
    pub ty: &'static str,
    /// Its size in bytes.
    pub size: usize,
    /// Its alignment in bytes.
    pub align: usize,
    /// Its structure: where its views are.
    pub kind: ParamKind,
}

/// Static description of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct KernelSpec {
    /// The kernel's name, in the source and in the PTX.
    pub name: &'static str,
    /// Threads per block. The PTX requires exactly this (`.reqntid`).
    pub block: Dim3,
    /// The parameters, in order.
    pub params: &'static [ParamSpec],
    /// Whether launches are cooperative: all blocks of the grid are resident at once, so that they
    /// may wait for each other. A grid with more blocks than the device holds is refused.
    pub cooperative: bool,
    /// Names of the views that the kernel promises to leave all zero, for instance locks: `locks`,
    /// or `problem.locks` for a field of a parameter.
    pub zero_at_exit: &'static [&'static str],
    /// Runs one thread of the kernel's body, compiled for the host. Takes the same array of
    /// pointers to the arguments' bytes as [`Launcher::launch`].
    pub entry: Option<unsafe fn(*const *const c_void)>,
    /// Compares the views among the arguments with the lengths that the kernel states
    /// (`#[kernel(len(...))]`); `None` if it states none. Takes the same array of pointers, and the
    /// launch's shape.
    pub check_views: Option<CheckViews>,
}

/// The function in [`KernelSpec::check_views`].
pub type CheckViews = unsafe fn(*const *const c_void, LaunchConfig) -> Result<(), ViewProblem>;

impl KernelSpec {
    /// Compares the views among a launch's arguments with the lengths that the kernel states. A
    /// launcher calls this before the launch.
    ///
    /// # Errors
    ///
    /// The first view that is too short or misaligned.
    ///
    /// # Safety
    ///
    /// If there are as many arguments as parameters, `args` is as for [`Launcher::launch`].
    pub unsafe fn check_views(
        &self,
        config: LaunchConfig,
        args: &[*const c_void],
    ) -> Result<(), ViewProblem> {
        match self.check_views {
            // SAFETY: one pointer per parameter, to values of their types.
            Some(check) if args.len() == self.params.len() => unsafe {
                check(args.as_ptr(), config)
            },
            _ => Ok(()),
        }
    }
}

/// Shape of one launch.
#[derive(Clone, Copy, Debug)]
pub struct LaunchConfig {
    /// Blocks in the grid.
    pub grid: Dim3,
    /// Threads per block.
    pub block: Dim3,
    /// Dynamic shared memory per block, in bytes.
    pub dynamic_shared: u32,
}

/// Starts kernels: a stream of a GPU, or an emulator.
pub trait Launcher {
    /// Why a launch failed.
    type Error;

    /// Starts `spec` with `args`, where `args[i]` points at the bytes of the i-th parameter.
    ///
    /// # Errors
    ///
    /// As the launcher documents; a launch may also fail later, when its stream is waited for.
    ///
    /// # Safety
    ///
    /// `args` has one pointer per entry of `spec.params`, each to a value of that type; every
    /// access that the kernel makes with these arguments lies inside memory that lives until the
    /// kernel ends, and does not conflict with other work that runs at the same time.
    unsafe fn launch(
        &self,
        spec: &'static KernelSpec,
        config: LaunchConfig,
        args: &[*const c_void],
    ) -> Result<(), Self::Error>;
}
