//! The targets of kernel pipelines: memory and a queue of launches.
//!
//! A pipeline is written once, for any [`Gpu`]:
//!
//! | implementation | is |
//! |---|---|
//! | `cuda::Queue` (feature `cuda`) | a stream of an NVIDIA GPU, with the kernels |
//! | [`Emulator`](crate::emulator::Emulator) | the same kernels on the processor, thread by thread, with every access checked |
//!
//! There are no others: [`Gpu`] and [`GpuBuffer`] are sealed, so that either may get new methods.
//!
//! [`DeviceLabeler`](crate::DeviceLabeler) labels on a [`Gpu`]; [`Scanner`] computes prefix sums.
//!
//! ```
//! use trazar::emulator::Emulator;
//! use trazar::gpu::{Gpu, GpuBuffer, Scanner};
//!
//! fn sums<G: Gpu>(gpu: &G, values: &[u32]) -> trazar::Result<Vec<u32>> {
//!     let mut sums = gpu.upload(values)?;
//!     Scanner::new(gpu, values.len() as u32)?.scan_in_place(&mut sums)?;
//!     sums.to_vec()
//! }
//! assert_eq!(sums(&Emulator::new(0), &[3, 1, 4])?, [0, 3, 4]);
//! # Ok::<(), trazar::Error>(())
//! ```

mod counts;
#[cfg(feature = "cuda")]
mod cuda;
mod emulator;
mod in_use;
mod kept;
mod list_ranking;
pub(crate) mod on_gpu;
mod scan;
#[doc(hidden)]
pub mod watched;
mod workers;

use std::ffi::c_void;
use std::fmt;
use std::ops::{Deref, Range};

pub use cuda_std::launch::{KernelSpec, LaunchConfig, Launcher};
pub use cuda_std::{Pod, View, ViewMut};

use crate::backend::Backend;
use crate::error::{Error, Result};

pub(crate) use counts::{read_first, scan_counts};
pub use in_use::InUse;
pub(crate) use in_use::Lent;
pub(crate) use kept::{Kept, WorkingMemory};
pub(crate) use list_ranking::rank_lists;
pub(crate) use on_gpu::OnGpu;
pub(crate) use scan::ScanBuffers;
pub use scan::Scanner;
pub(crate) use workers::Workers;

mod sealed {
    /// Devices and their buffers.
    pub trait Sealed {}
}

/// Memory, and a queue of launches of the kernels in [`trazar_kernels`]. Clones share both.
///
/// Copies and launches are done in the order of the calls. The calls may return before the work is
/// done; a later call then returns the work's error.
///
/// Implemented in this crate alone.
///
/// # Safety
/// A buffer has the length that was asked for, and its views cover all of it. Its memory starts at
/// a multiple of 256 bytes, does not move, and belongs to the buffer alone until the work queued
/// before its drop is done.
pub unsafe trait Gpu:
    sealed::Sealed + Launcher<Error: Into<Error>> + Clone + fmt::Debug
{
    /// An array of elements in its memory. It may be sent between threads.
    type Buffer<T: Pod>: GpuBuffer<T> + Send;

    /// An array of elements in the host's memory, to which copies are fast.
    type HostBuffer<T: Pod>: HostBuffer<T>;

    /// Which backend this is.
    const BACKEND: Backend;

    /// The launcher that the typed `launch` functions of kernels take. Its errors are the
    /// library's.
    fn launcher(&self) -> GpuLauncher<'_, Self> {
        GpuLauncher(self)
    }

    /// Allocates `len` elements with unspecified contents.
    ///
    /// # Errors
    /// Not enough memory; an earlier kernel's failure.
    fn alloc<T: Pod>(&self, len: usize) -> Result<Self::Buffer<T>>;

    /// Allocates `len` elements and sets all their bytes to 0.
    ///
    /// # Errors
    /// Those of [`alloc`](Self::alloc).
    fn alloc_zeroed<T: Pod>(&self, len: usize) -> Result<Self::Buffer<T>>;

    /// Allocates a copy of `values`. Waits for the copy.
    ///
    /// # Errors
    /// Those of [`alloc`](Self::alloc).
    fn upload<T: Pod>(&self, values: &[T]) -> Result<Self::Buffer<T>>;

    /// Allocates `len` bytes that `write` computes, and waits for the copy. `write` is called on
    /// several threads, each time with the index of the first byte of a piece; it fills the piece,
    /// or returns `false`, and then so does this, with `None`.
    ///
    /// # Errors
    /// Those of [`alloc`](Self::alloc); [`Error::OutOfMemory`].
    fn upload_computed(
        &self,
        len: usize,
        write: impl Fn(usize, &mut [u8]) -> bool + Sync,
    ) -> Result<Option<Self::Buffer<u8>>>;

    /// Copies all elements of `buffer` to `host`, which then has these and no others. Waits for the
    /// copy. Page-locked memory of `host` is used again if it is large enough; new memory has room
    /// for a quarter more.
    ///
    /// # Errors
    /// Not enough memory; an earlier kernel's failure.
    fn copy_to_host<T: Pod>(
        &self,
        buffer: &Self::Buffer<T>,
        host: &mut Self::HostBuffer<T>,
    ) -> Result<()>;

    /// Another queue of the same GPU, whose copies and launches overlap with those of this one.
    /// `None` if the backend has none: the emulator does one thing after the other.
    ///
    /// # Errors
    /// An earlier kernel's failure.
    fn overlapping_queue(&self) -> Result<Option<Self>> {
        Ok(None)
    }

    /// The number of multiprocessors, by which grids of persistent blocks are sized.
    fn multiprocessors(&self) -> u32;

    /// The largest amount of shared memory per block, in bytes, static and dynamic together.
    fn shared_per_block(&self) -> u32;

    /// The number of blocks of a kernel that are resident at once if each has `dynamic_shared`
    /// bytes of dynamic shared memory: the largest grid of a cooperative kernel. 0 if a block needs
    /// more than a multiprocessor has. Cheap enough for every call of a pipeline.
    ///
    /// # Errors
    /// A kernel that the GPU does not have; an earlier kernel's failure.
    fn resident_blocks(&self, spec: &'static KernelSpec, dynamic_shared: u32) -> Result<u32>;

    /// Lets later launches use a buffer that may belong to another queue, until the result is
    /// dropped. A pipeline calls this for every buffer that it has not allocated itself, before the
    /// first launch that uses the buffer, and keeps the result until after the last one.
    ///
    /// # Errors
    /// A buffer on another device; an earlier kernel's failure.
    fn using<T, B>(&self, buffer: B) -> Result<InUse<'_, Self, T, B>>
    where
        T: Pod,
        B: Deref<Target = Self::Buffer<T>>,
    {
        InUse::new(self, buffer)
    }

    /// Makes later launches wait for the work on `buffer` so far, which may come from another
    /// queue. [`using`](Self::using) calls this, and [`release`](Self::release) at the end.
    /// Pipelines call neither.
    ///
    /// # Errors
    /// A buffer on another device; an earlier kernel's failure.
    fn acquire<T: Pod>(&self, buffer: &Self::Buffer<T>) -> Result<()>;

    /// Makes later work on `buffer`, including its drop, wait for the launches so far. If the wait
    /// can't be queued, the host waits.
    ///
    /// # Errors
    /// A buffer on another device; a failure after which the device does no more work.
    fn release<T: Pod>(&self, buffer: &Self::Buffer<T>) -> Result<()>;
}

/// Launches kernels on a [`Gpu`], with the library's [`Error`].
#[derive(Debug)]
pub struct GpuLauncher<'a, G>(&'a G);

impl<G: Gpu> Launcher for GpuLauncher<'_, G> {
    type Error = Error;

    unsafe fn launch(
        &self,
        spec: &'static KernelSpec,
        config: LaunchConfig,
        args: &[*const c_void],
    ) -> Result<()> {
        // SAFETY: the caller's promise, passed on.
        unsafe { self.0.launch(spec, config, args) }.map_err(Into::into)
    }
}

/// An array of elements in a [`Gpu`]'s memory. Implemented in this crate alone.
pub trait GpuBuffer<T: Pod>: sealed::Sealed + fmt::Debug {
    /// The number of elements.
    fn len(&self) -> usize;

    /// Whether there are no elements.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of its elements.
    fn bytes(&self) -> u64 {
        (self.len() as u64).saturating_mul(size_of::<T>() as u64)
    }

    /// Forgets the elements from `len` on, if there are more. Their memory is freed with that of
    /// the others.
    fn truncate(&mut self, len: usize);

    /// The elements, for a kernel to read.
    fn view(&self) -> View<'_, T>;

    /// The elements, for a kernel to write.
    fn view_mut(&mut self) -> ViewMut<'_, T>;

    /// The elements of `range`, for a kernel to read.
    ///
    /// # Panics
    /// If the buffer does not have them.
    fn view_of(&self, range: Range<usize>) -> View<'_, T> {
        let view = self.view();
        check_range(&range, view.len());
        // SAFETY: elements of `view`, and the buffer stays borrowed.
        unsafe { View::from_raw_parts(view.as_ptr().wrapping_add(range.start), range.len()) }
    }

    /// The elements of `range`, for a kernel to write.
    ///
    /// # Panics
    /// If the buffer does not have them.
    fn view_mut_of(&mut self, range: Range<usize>) -> ViewMut<'_, T> {
        let view = self.view_mut();
        check_range(&range, view.len());
        let start = view.as_mut_ptr().wrapping_add(range.start);
        // SAFETY: elements of `view`, and the buffer stays mutably borrowed.
        unsafe { ViewMut::from_raw_parts(start, range.len()) }
    }

    /// The same memory as smaller elements, for a kernel to write: each `T` as one or more `U`.
    fn view_mut_as<U: Pod>(&mut self) -> ViewMut<'_, U> {
        const {
            assert!(size_of::<U>() > 0 && size_of::<T>().is_multiple_of(size_of::<U>()));
            assert!(align_of::<T>().is_multiple_of(align_of::<U>()));
        };
        let view = self.view_mut();
        let len = view.len() * (size_of::<T>() / size_of::<U>());
        // SAFETY: these are the bytes of `view`, aligned for `U`, and the buffer stays mutably
        // borrowed. `T` and `U` are plain data: all bytes are values.
        unsafe { ViewMut::from_raw_parts(view.as_mut_ptr().cast(), len) }
    }

    /// Copies all elements to `values`. Waits until that is done.
    ///
    /// # Errors
    /// Different lengths; an earlier kernel's failure.
    fn read(&self, values: &mut [T]) -> Result<()>;

    /// Copies the elements from `start` on to `values`. Waits until that is done.
    ///
    /// # Errors
    /// Fewer elements than that; an earlier kernel's failure.
    fn read_at(&self, start: usize, values: &mut [T]) -> Result<()>;

    /// Copies all elements to a new vector. Waits until that is done.
    ///
    /// # Errors
    /// An earlier kernel's failure.
    fn to_vec(&self) -> Result<Vec<T>>;

    /// Copies `values` to the elements. Waits until that is done.
    ///
    /// # Errors
    /// Different lengths; an earlier kernel's failure.
    fn write(&mut self, values: &[T]) -> Result<()>;

    /// Sets all elements to `value`.
    ///
    /// # Errors
    /// An earlier kernel's failure.
    fn fill(&mut self, value: T) -> Result<()>
    where
        T: FillValue;
}

/// An array of elements in the host's memory, filled by [`Gpu::copy_to_host`]. For a GPU, the
/// memory is page-locked, which takes 0.5 to 0.8 ms per MiB, so it should be kept from one copy to
/// the next. Implemented in this crate alone.
pub trait HostBuffer<T: Pod>: sealed::Sealed + Default + Deref<Target = [T]> + Send + Sync {
    /// The bytes of memory that it takes.
    fn bytes(&self) -> u64;
}

/// An array without elements, for a kernel that gets one only at times.
pub(crate) const fn nothing<'a, T: Pod>() -> View<'a, T> {
    // SAFETY: there are no elements.
    unsafe { View::from_raw_parts(std::ptr::dangling(), 0) }
}

fn check_range(range: &Range<usize>, len: usize) {
    assert!(
        range.start <= range.end && range.end <= len,
        "elements {range:?} of {len}"
    );
}

/// A number that [`GpuBuffer::fill`] can repeat: 8, 16 or 32 bits.
pub trait FillValue: Pod {}

macro_rules! fill_values {
    ($($t:ty),*) => {$(impl FillValue for $t {})*};
}
fill_values!(u8, i8, u16, i16, u32, i32, f32);

/// Makes `buffer` one of at least `len` elements, whose contents are lost if it has fewer.
///
/// # Errors
/// Those of [`Gpu::alloc`].
pub(crate) fn grow<G: Gpu, T: Pod>(gpu: &G, buffer: &mut G::Buffer<T>, len: usize) -> Result<()> {
    if buffer.len() < len {
        if !buffer.is_empty() {
            // The old memory is free before the new is taken.
            *buffer = gpu.alloc(0)?;
        }
        *buffer = gpu.alloc(len)?;
    }
    Ok(())
}

/// `gpus`, and a second queue of each that supports overlapping ones.
///
/// # Errors
/// Those of [`Gpu::overlapping_queue`].
pub(crate) fn with_overlapping<G: Gpu>(gpus: &[G]) -> Result<Vec<G>> {
    let mut queues = gpus.to_vec();
    for gpu in gpus {
        queues.extend(gpu.overlapping_queue()?);
    }
    Ok(queues)
}
