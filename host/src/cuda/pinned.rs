//! Page-locked host memory: the GPU copies from and to it by itself, at the full speed of the bus.

use std::fmt;
use std::mem::size_of;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::slice;

use cuda_std::Pod;

use super::buffer::byte_size;
use super::device::Device;
use super::error::{CudaError, check};
use super::event::Event;
use super::raw;
use super::stream::Stream;

/// A host buffer in page-locked memory; it reads and writes as a slice. Made by [`Device::pinned`].
pub struct PinnedBuffer<T: Pod> {
    /// For no bytes this dangles, and the driver has never seen it.
    start: NonNull<T>,
    len: usize,
    device: Device,
}

// SAFETY: it owns its elements, as a `Vec` does; the driver lets any thread use and free them.
unsafe impl<T: Pod> Send for PinnedBuffer<T> {}
// SAFETY: as above.
unsafe impl<T: Pod> Sync for PinnedBuffer<T> {}

/// Host pages, in which the driver allocates, are at least this many bytes.
const PAGE: usize = 4096;

impl<T: Pod> PinnedBuffer<T> {
    pub(super) fn zeroed(device: &Device, len: usize) -> Result<Self, CudaError> {
        const {
            assert!(align_of::<T>() <= PAGE);
        };
        const OUT_OF_MEMORY: u32 = 2;

        let size = byte_size::<T>(len)?;
        device.bind()?;
        let mut start = NonNull::dangling();
        if size > 0 {
            let mut address = ptr::null_mut();
            // SAFETY: writes one address, of memory that is freed in `drop` alone.
            match unsafe { raw::cuMemAllocHost_v2(&mut address, size) } {
                OUT_OF_MEMORY => return Err(CudaError::OutOfPinnedMemory { requested: size }),
                status => check("cuMemAllocHost", status)?,
            }
            start = NonNull::new(address.cast())
                .ok_or(CudaError::OutOfPinnedMemory { requested: size })?;
            // SAFETY: the memory holds `size` bytes.
            unsafe { address.cast::<u8>().write_bytes(0, size) };
        }
        Ok(Self {
            start,
            len,
            device: device.clone(),
        })
    }

    pub(super) fn device(&self) -> &Device {
        &self.device
    }
}

impl<T: Pod> Deref for PinnedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the memory (none at all, if the elements have no bytes) holds `len` elements, initialised, page-aligned, and any bytes are a valid `Pod`. While
        // the GPU writes it, it is in an `InFlight`, out of reach.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Pod> DerefMut for PinnedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and `self` is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Pod> Drop for PinnedBuffer<T> {
    fn drop(&mut self) {
        if self.len * size_of::<T>() > 0 {
            // On a failure there is no one to tell.
            let _ = self.device.bind();
            // SAFETY: allocated in `zeroed`, and freed here alone. What the GPU still uses is in an `InFlight`.
            let _ = unsafe { raw::cuMemFreeHost(self.start.as_ptr().cast()) };
        }
    }
}

impl<T: Pod> fmt::Debug for PinnedBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "PinnedBuffer<{}>({})",
            std::any::type_name::<T>(),
            self.len
        )
    }
}

/// A pinned buffer that the GPU is copying from or to. [`InFlight::wait`] gives it back; dropping it waits too.
#[derive(Debug)]
pub struct InFlight<T: Pod> {
    // Dropped in this order: first wait, then free.
    copy: Copying,
    values: PinnedBuffer<T>,
}

/// A copy under way; dropping it waits for its end.
#[derive(Debug)]
struct Copying {
    done: Event,
    stream: Stream,
}

impl<T: Pod> InFlight<T> {
    /// Keeps `values` until the work queued on `stream` so far is done.
    pub(super) fn after(stream: &Stream, values: PinnedBuffer<T>) -> Result<Self, CudaError> {
        let done = stream.record().inspect_err(|_| {
            // Without an event: the copy must still end before `values` is freed.
            let _ = stream.synchronize();
        })?;
        let stream = stream.clone();
        Ok(Self {
            copy: Copying { done, stream },
            values,
        })
    }

    /// Is the copy done?
    ///
    /// # Errors
    /// [`CudaError::Execution`] if a kernel has crashed.
    pub fn is_done(&self) -> Result<bool, CudaError> {
        self.copy.stream.blame(self.copy.done.is_reached())
    }

    /// Waits for the copy and gives the buffer back.
    ///
    /// # Errors
    /// [`CudaError::Execution`] if a kernel has crashed.
    pub fn wait(self) -> Result<PinnedBuffer<T>, CudaError> {
        self.copy.stream.blame(self.copy.done.synchronize())?;
        Ok(self.values)
    }
}

impl Drop for Copying {
    fn drop(&mut self) {
        // If this fails, a kernel has crashed: then nothing is copied any more.
        let _ = self.done.synchronize();
    }
}
