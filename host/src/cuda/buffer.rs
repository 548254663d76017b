//! Memory on the GPU.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ops::Range;
use std::slice;

use cuda_std::{Pod, View, ViewMut};
use cust::sys::CUdeviceptr;

use crate::gpu::{FillValue, Pattern};
use crate::memory::advise_large_pages;

use super::error::{CudaError, check};
use super::in_flight::InFlight;
use super::pinned::{PinnedBuffer, byte_size};
use super::raw;
use super::stream::Stream;
use super::upload;

/// `len` elements in device memory.
///
/// A buffer belongs to the stream it was allocated on: its copies and fills are queued there, and
/// dropping it frees it after the work queued there so far. Kernels that use it on another stream
/// need [`Stream::wait_for`] before and after them.
pub struct DeviceBuffer<T: Pod> {
    /// 0 for an empty buffer, whose address is never passed to the driver.
    address: CUdeviceptr,
    len: usize,
    stream: Stream,
    elements: PhantomData<T>,
}

/// The alignment of the driver's allocations, in bytes.
const DRIVER_ALIGNMENT: usize = 256;

impl Stream {
    /// Allocates `len` elements, whose contents are unspecified. This takes about a microsecond,
    /// whatever the size, unless the pool must grow, which takes a system call.
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`], [`CudaError::TooLarge`], [`CudaError::Driver`], and
    /// [`CudaError::Execution`] if a kernel has crashed.
    pub fn alloc<T: Pod>(&self, len: usize) -> Result<DeviceBuffer<T>, CudaError> {
        DeviceBuffer::new(self, len)
    }

    /// Allocates `len` elements and queues the setting of all bytes to 0.
    ///
    /// # Errors
    /// Those of [`Stream::alloc`].
    pub fn alloc_zeroed<T: Pod>(&self, len: usize) -> Result<DeviceBuffer<T>, CudaError> {
        let mut buffer = self.alloc(len)?;
        buffer.fill_bytes(0)?;
        Ok(buffer)
    }

    /// Allocates a copy of `values`, and waits for it.
    ///
    /// # Errors
    /// Those of [`Stream::alloc`].
    pub fn upload<T: Pod>(&self, values: &[T]) -> Result<DeviceBuffer<T>, CudaError> {
        let mut buffer = self.alloc(values.len())?;
        buffer.write(values)?;
        Ok(buffer)
    }
}

impl<T: Pod> DeviceBuffer<T> {
    fn new(stream: &Stream, len: usize) -> Result<Self, CudaError> {
        const {
            assert!(align_of::<T>() <= DRIVER_ALIGNMENT);
        };
        const OUT_OF_MEMORY: u32 = 2;

        let size = byte_size::<T>(len)?;
        let mut address = 0;
        if size > 0 {
            stream.device().bind()?;
            // SAFETY: the stream is alive; the call writes one address. The memory's contents are
            // unspecified, and only `Pod` elements are ever read from it.
            match unsafe { raw::cuMemAllocAsync(&mut address, size, stream.raw()) } {
                OUT_OF_MEMORY => {
                    let memory = stream.device().memory()?;
                    return Err(CudaError::OutOfMemory {
                        requested: size,
                        free: memory.free,
                        total: memory.total,
                    });
                }
                status => stream.blame(check("cuMemAllocAsync", status))?,
            }
        }
        Ok(Self {
            address,
            len,
            stream: stream.clone(),
            elements: PhantomData,
        })
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its size in bytes.
    pub fn size_in_bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// Its stream.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The device address of its first element, to pass to kernels; null if it is empty. The host
    /// can't read it.
    pub fn as_ptr(&self) -> *const T {
        self.address as *const T
    }

    /// The same address as [`DeviceBuffer::as_ptr`], for kernels that write.
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.address as *mut T
    }

    /// The elements, for a kernel to read; the host can't read through the view. The view of an
    /// empty buffer has a null address.
    pub fn view(&self) -> View<'_, T> {
        // SAFETY: the device memory holds `len` elements while the view borrows the buffer; the
        // driver aligns it.
        unsafe { View::from_raw_parts(self.as_ptr(), self.len) }
    }

    /// The elements, for a kernel to write.
    pub fn view_mut(&mut self) -> ViewMut<'_, T> {
        // SAFETY: as in `view`, and the buffer is borrowed mutably.
        unsafe { ViewMut::from_raw_parts(self.as_mut_ptr(), self.len) }
    }

    /// The device address and size in bytes of `count` elements from `start`, if the buffer has
    /// them.
    fn span(&self, start: usize, count: usize) -> Result<(CUdeviceptr, usize), CudaError> {
        let end = start.saturating_add(count);
        if end > self.len {
            let len = self.len;
            return Err(CudaError::OutOfRange { start, end, len });
        }
        // Both products are at most the buffer's size in bytes, and `usize` is 64 bits wide where
        // CUDA runs.
        Ok((
            self.address + (start * size_of::<T>()) as u64,
            count * size_of::<T>(),
        ))
    }

    /// Copies all of `values` here and waits for the copy. The driver copies an ordinary slice
    /// through its own page-locked memory, at 6 GB/s to 10 GB/s; slices of 16 MiB and more are
    /// copied by all threads, through page-locked memory of the stream.
    /// [`DeviceBuffer::write_from`] is the fastest way.
    ///
    /// # Errors
    /// [`CudaError::OutOfRange`] if the lengths differ; [`CudaError::Execution`] if a kernel has
    /// crashed.
    pub fn write(&mut self, values: &[T]) -> Result<(), CudaError> {
        self.check_len(values.len())?;
        let (to, _) = self.span(0, values.len())?;
        // SAFETY: `span` has checked the destination.
        if unsafe { upload::copy_staged(&self.stream, to, bytes_of(values)) }? {
            return Ok(());
        }
        self.write_at(0, values)
    }

    /// Copies `values` to the elements from `start` on, and waits for it.
    ///
    /// # Errors
    /// [`CudaError::OutOfRange`]; [`CudaError::Execution`] if a kernel has crashed.
    pub fn write_at(&mut self, start: usize, values: &[T]) -> Result<(), CudaError> {
        // SAFETY: `values` is borrowed until `synchronize` has waited for the copy.
        unsafe { self.queue_write(start, values) }?;
        self.stream.synchronize()
    }

    /// Queues a copy of `values` to the elements from `start` on. The host continues meanwhile only
    /// if `values` is in page-locked memory.
    ///
    /// # Errors
    /// [`CudaError::OutOfRange`]; [`CudaError::Execution`] if a kernel has crashed.
    ///
    /// # Safety
    /// `values` stays alive and unchanged until the stream has done the copy.
    pub unsafe fn queue_write(&mut self, start: usize, values: &[T]) -> Result<(), CudaError> {
        let (to, size) = self.span(start, values.len())?;
        if size == 0 {
            return Ok(());
        }
        // SAFETY: `span` has checked the destination; the caller keeps the source.
        unsafe { upload::queue_copy(&self.stream, to, bytes_of(values)) }
    }

    /// Copies all elements to `values` and waits for it.
    ///
    /// # Errors
    /// [`CudaError::OutOfRange`] if the lengths differ; [`CudaError::Execution`] if a kernel has
    /// crashed.
    pub fn read(&self, values: &mut [T]) -> Result<(), CudaError> {
        self.check_len(values.len())?;
        self.read_at(0, values)
    }

    /// Copies the elements from `start` on to `values`, and waits for it.
    ///
    /// # Errors
    /// [`CudaError::OutOfRange`]; [`CudaError::Execution`] if a kernel has crashed.
    pub fn read_at(&self, start: usize, values: &mut [T]) -> Result<(), CudaError> {
        // SAFETY: `values` is borrowed until `synchronize` has waited for the copy.
        unsafe { self.queue_read(start, values) }?;
        self.stream.synchronize()
    }

    /// All elements, in a new vector.
    ///
    /// # Errors
    /// [`CudaError::Execution`] if a kernel has crashed.
    pub fn to_vec(&self) -> Result<Vec<T>, CudaError> {
        let mut values = Vec::with_capacity(self.len);
        // The first write to each page of a new array would cost more than the copy.
        advise_large_pages(values.spare_capacity_mut());
        // SAFETY: the vector has room for `len` elements, and lives past `synchronize`.
        unsafe { self.queue_read_to(0, self.len, values.as_mut_ptr()) }?;
        self.stream.synchronize()?;
        // SAFETY: the copy is done: `len` elements are there, and any bytes are a valid `Pod`.
        unsafe { values.set_len(self.len) };
        Ok(values)
    }

    /// Queues a copy of the elements from `start` on to `values`. The host continues meanwhile only
    /// if `values` is in page-locked memory.
    ///
    /// # Errors
    /// [`CudaError::OutOfRange`]; [`CudaError::Execution`] if a kernel has crashed.
    ///
    /// # Safety
    /// `values` stays alive, and no one reads or writes it, until the stream has done the copy.
    pub unsafe fn queue_read(&self, start: usize, values: &mut [T]) -> Result<(), CudaError> {
        // SAFETY: the slice has room for its length; the caller keeps it.
        unsafe { self.queue_read_to(start, values.len(), values.as_mut_ptr()) }
    }

    /// Queues a copy of `count` elements from `start` on to `to`.
    ///
    /// # Safety
    /// `to` has room for `count` elements, and no one uses it until the stream has done the copy.
    unsafe fn queue_read_to(
        &self,
        start: usize,
        count: usize,
        to: *mut T,
    ) -> Result<(), CudaError> {
        let (from, bytes) = self.span(start, count)?;
        if bytes == 0 {
            return Ok(());
        }
        self.stream.device().bind()?;
        // SAFETY: `span` has checked the source; the caller keeps the destination.
        let status =
            unsafe { raw::cuMemcpyDtoHAsync_v2(to.cast(), from, bytes, self.stream.raw()) };
        self.stream.blame(check("cuMemcpyDtoHAsync", status))
    }

    /// Queues a copy of all of `values` here, at the full speed of the bus; the host continues
    /// meanwhile. The result gives the page-locked memory back once the copy is done.
    ///
    /// # Errors
    /// [`CudaError::OutOfRange`] if the lengths differ; [`CudaError::WrongDevice`];
    /// [`CudaError::Execution`].
    pub fn write_from(&mut self, values: PinnedBuffer<T>) -> Result<InFlight<T>, CudaError> {
        self.check_pinned(&values)?;
        // SAFETY: `InFlight` keeps `values`, unreachable, until an event after the copy is reached.
        unsafe { self.queue_write(0, &values) }?;
        InFlight::after(&self.stream, values)
    }

    /// Queues a copy of all elements to `values`, at the full speed of the bus; the host continues
    /// meanwhile. The result gives the page-locked memory back once the copy is done.
    ///
    /// # Errors
    /// [`CudaError::OutOfRange`] if the lengths differ; [`CudaError::WrongDevice`];
    /// [`CudaError::Execution`].
    pub fn read_into(&self, mut values: PinnedBuffer<T>) -> Result<InFlight<T>, CudaError> {
        self.check_pinned(&values)?;
        // SAFETY: `InFlight` keeps `values`, unreachable, until an event after the copy is reached.
        unsafe { self.queue_read(0, &mut values) }?;
        InFlight::after(&self.stream, values)
    }

    /// Queues a copy of `range` of `from` to the elements from `start` on. The two buffers may
    /// belong to different streams: each stream waits for the work queued so far on the other.
    ///
    /// # Errors
    /// [`CudaError::OutOfRange`]; [`CudaError::WrongDevice`]; [`CudaError::Execution`] if a kernel
    /// has crashed.
    pub fn copy_from(
        &mut self,
        start: usize,
        from: &DeviceBuffer<T>,
        range: Range<usize>,
    ) -> Result<(), CudaError> {
        self.stream
            .device()
            .check_same("the source buffer", from.stream.device())?;
        let (source, bytes) = from.span(range.start, range.end.saturating_sub(range.start))?;
        let (to, _) = self.span(start, range.end.saturating_sub(range.start))?;
        if bytes == 0 {
            return Ok(());
        }
        self.stream.wait_for(&from.stream)?;
        // SAFETY: `span` has checked both, and they are different buffers, one being borrowed
        // mutably. Neither is freed before the copy: this buffer's stream does the copy, and below
        // the other stream, or the host, waits for it.
        let status = unsafe { raw::cuMemcpyDtoDAsync_v2(to, source, bytes, self.stream.raw()) };
        self.stream.blame(check("cuMemcpyDtoDAsync", status))?;
        from.stream.must_wait_for(&self.stream)
    }

    /// Queues the setting of every byte to `byte`.
    ///
    /// # Errors
    /// [`CudaError::Driver`]; [`CudaError::Execution`] if a kernel has crashed.
    pub fn fill_bytes(&mut self, byte: u8) -> Result<(), CudaError> {
        if self.size_in_bytes() == 0 {
            return Ok(());
        }
        self.stream.device().bind()?;
        // SAFETY: exactly the buffer's bytes, and any byte is valid in a `Pod`.
        let status = unsafe {
            raw::cuMemsetD8Async(self.address, byte, self.size_in_bytes(), self.stream.raw())
        };
        self.stream.blame(check("cuMemsetD8Async", status))
    }

    /// Queues the setting of every element to `value`.
    ///
    /// # Errors
    /// [`CudaError::Driver`]; [`CudaError::Execution`] if a kernel has crashed.
    pub fn fill(&mut self, value: T) -> Result<(), CudaError>
    where
        T: FillValue,
    {
        if self.is_empty() {
            return Ok(());
        }
        self.stream.device().bind()?;
        let (to, len, stream) = (self.address, self.len, self.stream.raw());
        let (call, status) = match value.pattern() {
            // SAFETY: the buffer holds `len` elements of 1 byte.
            Pattern::Bits8(bits) => ("cuMemsetD8Async", unsafe {
                raw::cuMemsetD8Async(to, bits, len, stream)
            }),
            // SAFETY: the buffer holds `len` elements of 2 bytes, aligned by the driver.
            Pattern::Bits16(bits) => ("cuMemsetD16Async", unsafe {
                raw::cuMemsetD16Async(to, bits, len, stream)
            }),
            // SAFETY: the buffer holds `len` elements of 4 bytes, aligned by the driver.
            Pattern::Bits32(bits) => ("cuMemsetD32Async", unsafe {
                raw::cuMemsetD32Async(to, bits, len, stream)
            }),
        };
        self.stream.blame(check(call, status))
    }

    fn check_len(&self, end: usize) -> Result<(), CudaError> {
        if end == self.len {
            Ok(())
        } else {
            let (start, len) = (0, self.len);
            Err(CudaError::OutOfRange { start, end, len })
        }
    }

    fn check_pinned(&self, values: &PinnedBuffer<T>) -> Result<(), CudaError> {
        self.stream
            .device()
            .check_same("the pinned buffer", values.device())?;
        self.check_len(values.len())
    }
}

/// The bytes of `values`.
fn bytes_of<T: Pod>(values: &[T]) -> &[u8] {
    // SAFETY: `Pod` has no padding, so all bytes of the slice are initialised.
    unsafe { slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

impl<T: Pod> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        if self.address != 0 {
            // There is no one to report a failure to; the driver frees everything when the process
            // ends.
            let _ = self.stream.device().bind();
            // SAFETY: allocated in `new` and freed only here, after the work queued on the stream
            // so far.
            let _ = unsafe { raw::cuMemFreeAsync(self.address, self.stream.raw()) };
        }
    }
}

impl<T: Pod> fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = self.address as *const c_void;
        write!(
            f,
            "DeviceBuffer<{}>({} at {address:p})",
            std::any::type_name::<T>(),
            self.len
        )
    }
}
