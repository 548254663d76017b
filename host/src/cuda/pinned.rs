//! Page-locked host memory, which the GPU reads and writes directly, at the full speed of the bus.

use std::fmt;
use std::mem::size_of;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::slice;

use cuda_std::Pod;

use super::device::Device;
use super::error::{CudaError, check};
use super::raw;

/// A host buffer in page-locked memory, used as a slice. [`Device::pinned`] makes it.
pub struct PinnedBuffer<T: Pod> {
    /// Dangling if the buffer has no bytes; then the driver has no part in it.
    start: NonNull<T>,
    len: usize,
    device: Device,
}

// SAFETY: it owns its elements, as a `Vec` does, and any thread may use and free page-locked
// memory.
unsafe impl<T: Pod> Send for PinnedBuffer<T> {}
// SAFETY: as above.
unsafe impl<T: Pod> Sync for PinnedBuffer<T> {}

/// The smallest size of a host page in bytes; the driver allocates whole pages.
const PAGE: usize = 4096;

impl Device {
    /// Page-locked host memory for `len` elements, all bytes 0. Allocating takes 0.5 ms to 0.8 ms
    /// per MiB: allocate once and reuse.
    ///
    /// # Errors
    /// [`CudaError::OutOfPinnedMemory`], [`CudaError::TooLarge`], [`CudaError::Driver`].
    pub fn pinned<T: Pod>(&self, len: usize) -> Result<PinnedBuffer<T>, CudaError> {
        PinnedBuffer::zeroed(self, len)
    }
}

impl<T: Pod> PinnedBuffer<T> {
    fn zeroed(device: &Device, len: usize) -> Result<Self, CudaError> {
        const {
            assert!(align_of::<T>() <= PAGE);
        };
        const OUT_OF_MEMORY: u32 = 2;

        let size = byte_size::<T>(len)?;
        device.bind()?;
        let mut start = NonNull::dangling();
        if size > 0 {
            let mut address = ptr::null_mut();
            // SAFETY: writes one address, of memory that only `drop` frees.
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
        // SAFETY: the memory holds `len` initialised elements, or dangles if they have no bytes; it
        // is page-aligned, and any bytes are a valid `Pod`. While the GPU writes it, an `InFlight`
        // keeps it out of reach.
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
            // There is no one to report a failure to.
            let _ = self.device.bind();
            // SAFETY: allocated in `zeroed` and freed only here. An `InFlight` keeps the buffers
            // that the GPU still uses.
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

/// The size in bytes of `len` elements, if the address space holds it.
pub(super) fn byte_size<T>(len: usize) -> Result<usize, CudaError> {
    let size = size_of::<T>();
    match len.checked_mul(size) {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(bytes),
        _ => Err(CudaError::TooLarge { len, size }),
    }
}
