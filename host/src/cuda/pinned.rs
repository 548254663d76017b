//! Page-locked host memory: the GPU copies from and to it by itself, at the full speed of the bus.

use std::fmt;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ops::{Deref, DerefMut};
use std::slice;

use cuda_std::Pod;
use cust::memory::LockedBuffer;

use super::buffer::byte_size;
use super::device::Device;
use super::error::{CudaError, driver_error, status_of};
use super::event::Event;
use super::stream::Stream;

/// A host buffer in page-locked memory; it reads and writes as a slice. Made by [`Device::pinned`].
pub struct PinnedBuffer<T: Pod> {
    bytes: LockedBuffer<u8>,
    len: usize,
    device: Device,
    elements: PhantomData<T>,
}

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
        // SAFETY: every byte is written below, before anyone reads one.
        let mut bytes = unsafe { LockedBuffer::<u8>::uninitialized(size) }
            .map_err(status_of)
            .map_err(|status| match status.code() {
                OUT_OF_MEMORY => CudaError::OutOfPinnedMemory { requested: size },
                _ => driver_error("cuMemAllocHost", status),
            })?;
        // SAFETY: the buffer holds `size` bytes (and for none, its dangling pointer is fine).
        unsafe { bytes.as_mut_ptr().write_bytes(0, size) };
        Ok(Self {
            bytes,
            len,
            device: device.clone(),
            elements: PhantomData,
        })
    }

    pub(super) fn device(&self) -> &Device {
        &self.device
    }
}

impl<T: Pod> Deref for PinnedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        if self.len * size_of::<T>() == 0 {
            return empty(self.len);
        }
        // SAFETY: the memory holds `len` elements, initialised, page-aligned, and any bytes are a valid `Pod`. While
        // the GPU writes it, it is in an `InFlight`, out of reach.
        unsafe { slice::from_raw_parts(self.bytes.as_ptr().cast(), self.len) }
    }
}

impl<T: Pod> DerefMut for PinnedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        if self.len * size_of::<T>() == 0 {
            return empty_mut(self.len);
        }
        // SAFETY: as in `deref`, and `self` is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.bytes.as_mut_ptr().cast(), self.len) }
    }
}

/// A slice that occupies no bytes, because it has no elements or they have no size.
fn empty<'a, T: Pod>(len: usize) -> &'a [T] {
    // SAFETY: no bytes are read through it, and the pointer is aligned and not null.
    unsafe { slice::from_raw_parts(std::ptr::NonNull::dangling().as_ptr(), len) }
}

fn empty_mut<'a, T: Pod>(len: usize) -> &'a mut [T] {
    // SAFETY: as in `empty`; without bytes there is nothing to alias.
    unsafe { slice::from_raw_parts_mut(std::ptr::NonNull::dangling().as_ptr(), len) }
}

impl<T: Pod> Drop for PinnedBuffer<T> {
    fn drop(&mut self) {
        // The memory is freed next, with its device's context current; on a failure there is no one to tell.
        let _ = self.device.bind();
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
