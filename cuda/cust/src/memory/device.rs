//! Memory on the GPU.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop, MaybeUninit, size_of};
use std::ops::Range;
use std::ptr;
use std::slice;

use cuda_std::lengths::Memory;
use cuda_std::{Pod, View, ViewMut};

use super::adopted::{RawBuffer, Release, check_memory};
use super::in_flight::InFlight;
use super::locked::{LockedBuffer, byte_size};
use super::{download, huge_pages, upload};
use crate::error::{CudaError, CudaResult, check};
use crate::stream::Stream;
use crate::sys::{self, CUdeviceptr, status};

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
    release: Release,
    elements: PhantomData<T>,
}

/// From this size on, computed bytes are written to page-locked memory.
const MIN_COMPUTED: usize = 256 << 10;

/// The alignment of the driver's allocations, in bytes.
const DRIVER_ALIGNMENT: usize = 256;

impl Stream {
    /// Allocates `len` elements, whose contents are unspecified. This takes about a microsecond,
    /// whatever the size, unless the pool must grow, which takes a system call.
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`], [`CudaError::TooLarge`], [`CudaError::Driver`], and
    /// [`CudaError::Execution`] if a kernel has crashed.
    pub fn alloc<T: Pod>(&self, len: usize) -> CudaResult<DeviceBuffer<T>> {
        DeviceBuffer::new(self, len)
    }

    /// Allocates `len` elements and queues the setting of all bytes to 0.
    ///
    /// # Errors
    /// Those of [`Stream::alloc`].
    pub fn alloc_zeroed<T: Pod>(&self, len: usize) -> CudaResult<DeviceBuffer<T>> {
        let mut buffer = self.alloc(len)?;
        buffer.fill_bytes(0)?;
        Ok(buffer)
    }

    /// Allocates a copy of `values`, and waits for it.
    ///
    /// # Errors
    /// Those of [`Stream::alloc`].
    pub fn upload<T: Pod>(&self, values: &[T]) -> CudaResult<DeviceBuffer<T>> {
        let mut buffer = self.alloc(values.len())?;
        buffer.write(values)?;
        Ok(buffer)
    }

    /// Allocates `len` bytes that `write` computes, and waits for the copy. `write` is called on
    /// several threads, each time with the index of the first byte of a piece; it fills the piece,
    /// or returns `false`, and then so does this, with `None`.
    ///
    /// From 256 KiB on, the bytes are written straight to page-locked memory of the stream. The GPU
    /// fetches some of them while others are computed.
    ///
    /// # Errors
    /// Those of [`Stream::alloc`]; [`CudaError::OutOfHostMemory`].
    pub fn upload_computed(
        &self,
        len: usize,
        write: impl Fn(usize, &mut [u8]) -> bool + Sync,
    ) -> CudaResult<Option<DeviceBuffer<u8>>> {
        let mut buffer = self.alloc(len)?;
        // SAFETY: the buffer has `len` bytes.
        let staged =
            unsafe { upload::write_staged(self, buffer.address, len, MIN_COMPUTED, &write) }?;
        let is_written = match staged {
            Some(is_written) => is_written,
            None => {
                let mut bytes = Vec::new();
                bytes
                    .try_reserve_exact(len)
                    .map_err(|_| CudaError::OutOfHostMemory { requested: len })?;
                bytes.resize(len, 0);
                let is_written = write(0, &mut bytes);
                if is_written {
                    buffer.write_at(0, &bytes)?;
                }
                is_written
            }
        };
        Ok(is_written.then_some(buffer))
    }
}

/// For the buffers of kernels' structures.
impl Memory for Stream {
    type Error = CudaError;
    type Buffer<T: Pod> = DeviceBuffer<T>;

    fn alloc<T: Pod>(&self, len: usize, zeroed: bool) -> CudaResult<DeviceBuffer<T>> {
        if zeroed {
            self.alloc_zeroed(len)
        } else {
            self.alloc(len)
        }
    }

    fn view<T: Pod>(buffer: &DeviceBuffer<T>) -> View<'_, T> {
        buffer.view()
    }

    fn view_mut<T: Pod>(buffer: &mut DeviceBuffer<T>) -> ViewMut<'_, T> {
        buffer.view_mut()
    }
}

impl<T: Pod> DeviceBuffer<T> {
    fn new(stream: &Stream, len: usize) -> CudaResult<Self> {
        const {
            assert!(align_of::<T>() <= DRIVER_ALIGNMENT);
        };
        let size = byte_size::<T>(len)?;
        let mut address = 0;
        if size > 0 {
            let on = stream.bind()?;
            // SAFETY: the stream is alive; the call writes one address. The memory's contents are
            // unspecified, and only `Pod` elements are ever read from it.
            match unsafe { sys::cuMemAllocAsync(&mut address, size, on) } {
                status::OUT_OF_MEMORY => {
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
            release: Release::Free,
            elements: PhantomData,
        })
    }

    /// Adopts memory made elsewhere, or takes back what [`into_raw`](Self::into_raw) gave away.
    ///
    /// Work that others have queued on the memory must be waited for by the buffer's stream, with
    /// [`Stream::wait_for`] or [`Stream::wait_event`], if it is on another stream.
    ///
    /// # Errors
    /// | error | when |
    /// |---|---|
    /// | [`CudaError::Misaligned`] | the address is no multiple of `T`'s alignment |
    /// | [`CudaError::NotDeviceMemory`] | the driver doesn't know the address, or it is of the host |
    /// | [`CudaError::OutsideAllocation`] | the elements reach beyond the allocation |
    /// | [`CudaError::WrongDevice`], [`CudaError::WrongContext`] | the memory is of another one than the stream |
    /// | [`CudaError::TooLarge`] | the size exceeds the address space |
    ///
    /// On an error, `raw` is dropped.
    ///
    /// # Safety
    /// While the buffer exists, the memory stays allocated if its owner is kept, and no one else
    /// writes it (or, if the buffer is written, reads it) except in the order of the buffer's
    /// stream. `release` is right for the memory.
    pub unsafe fn from_raw(raw: RawBuffer) -> CudaResult<Self> {
        Self::check_raw(raw.address, raw.len, &raw.stream)?;
        // SAFETY: the caller's promise; the rest was checked.
        Ok(unsafe { Self::from_checked(raw) })
    }

    /// The checks of [`from_raw`](Self::from_raw).
    pub(crate) fn check_raw(address: CUdeviceptr, len: usize, stream: &Stream) -> CudaResult<()> {
        let size = byte_size::<T>(len)?;
        if size == 0 {
            return Ok(());
        }
        if !address.is_multiple_of(align_of::<T>() as u64) {
            return Err(CudaError::Misaligned {
                address,
                needs: align_of::<T>(),
            });
        }
        check_memory(stream, address, size)
    }

    /// As [`from_raw`](Self::from_raw), after [`check_raw`](Self::check_raw).
    ///
    /// # Safety
    /// As for `from_raw`.
    pub(crate) unsafe fn from_checked(raw: RawBuffer) -> Self {
        let raw = ManuallyDrop::new(raw);
        let is_empty = raw.len * size_of::<T>() == 0;
        Self {
            address: if is_empty { 0 } else { raw.address },
            len: raw.len,
            // SAFETY: both are moved out once, of a value that is neither used nor dropped again.
            stream: unsafe { ptr::read(&raw.stream) },
            // SAFETY: as above.
            release: unsafe { ptr::read(&raw.release) },
            elements: PhantomData,
        }
    }

    /// Gives the memory away: whoever has the result frees the memory as it says, or makes a buffer
    /// of it again. Until the stream has done its work, others must wait for the stream.
    pub fn into_raw(self) -> RawBuffer {
        let this = ManuallyDrop::new(self);
        RawBuffer {
            address: this.address,
            len: this.len,
            // SAFETY: both are moved out once, of a value that is neither used nor dropped again.
            stream: unsafe { ptr::read(&this.stream) },
            // SAFETY: as above.
            release: unsafe { ptr::read(&this.release) },
        }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Forgets the elements from `len` on, if there are more. Their memory is freed with that of
    /// the others, or at once if no element is left.
    pub fn truncate(&mut self, len: usize) {
        if len == 0 && self.len > 0 {
            let empty = Self {
                address: 0,
                len: 0,
                stream: self.stream.clone(),
                release: Release::Free,
                elements: PhantomData,
            };
            drop(mem::replace(self, empty));
        }
        self.len = self.len.min(len);
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
    fn span(&self, start: usize, count: usize) -> CudaResult<(CUdeviceptr, usize)> {
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
    pub fn write(&mut self, values: &[T]) -> CudaResult<()> {
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
    pub fn write_at(&mut self, start: usize, values: &[T]) -> CudaResult<()> {
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
    pub unsafe fn queue_write(&mut self, start: usize, values: &[T]) -> CudaResult<()> {
        let (to, size) = self.span(start, values.len())?;
        if size == 0 {
            return Ok(());
        }
        // SAFETY: `span` has checked the destination; the caller keeps the source.
        unsafe { upload::queue_copy(&self.stream, to, bytes_of(values)) }
    }

    /// Copies all elements to `values` and waits for it. The driver copies to an ordinary slice on
    /// one thread; slices of 16 MiB and more are copied by all threads, through page-locked memory
    /// of the stream. [`DeviceBuffer::read_into`] is the fastest way.
    ///
    /// # Errors
    /// [`CudaError::OutOfRange`] if the lengths differ; [`CudaError::Execution`] if a kernel has
    /// crashed.
    pub fn read(&self, values: &mut [T]) -> CudaResult<()> {
        self.check_len(values.len())?;
        self.read_at(0, values)
    }

    /// Copies the elements from `start` on to `values`, and waits for it.
    ///
    /// # Errors
    /// [`CudaError::OutOfRange`]; [`CudaError::Execution`] if a kernel has crashed.
    pub fn read_at(&self, start: usize, values: &mut [T]) -> CudaResult<()> {
        // SAFETY: `MaybeUninit<T>` has the layout of `T`, and nothing uninitialised is written.
        let values: &mut [MaybeUninit<T>] =
            unsafe { slice::from_raw_parts_mut(values.as_mut_ptr().cast(), values.len()) };
        self.read_uninit_at(start, values)
    }

    /// Copies all elements to `values`, which need not be initialised, and waits for it.
    ///
    /// # Errors
    /// [`CudaError::OutOfRange`] if the lengths differ; [`CudaError::Execution`] if a kernel has
    /// crashed.
    pub fn read_uninit<'a>(&self, values: &'a mut [MaybeUninit<T>]) -> CudaResult<&'a mut [T]> {
        self.check_len(values.len())?;
        self.read_uninit_at(0, values)?;
        // SAFETY: the copy is done: all elements are there, and any bytes are a valid `Pod`.
        Ok(unsafe { slice::from_raw_parts_mut(values.as_mut_ptr().cast(), values.len()) })
    }

    /// Copies the elements from `start` on to all of `values`, and waits for it.
    fn read_uninit_at(&self, start: usize, values: &mut [MaybeUninit<T>]) -> CudaResult<()> {
        let (from, size) = self.span(start, values.len())?;
        let to = values.as_mut_ptr().cast();
        // SAFETY: the same memory, as bytes.
        let bytes = unsafe { slice::from_raw_parts_mut(to, size) };
        // SAFETY: `span` has checked the source.
        if unsafe { download::copy_staged(&self.stream, from, bytes) }? {
            return Ok(());
        }
        // SAFETY: the slice has room for its length, and is borrowed past `synchronize`.
        unsafe { self.queue_read_to(start, values.len(), to.cast()) }?;
        self.stream.synchronize()
    }

    /// All elements, in a new vector.
    ///
    /// # Errors
    /// [`CudaError::OutOfHostMemory`]; [`CudaError::Execution`] if a kernel has crashed.
    pub fn to_vec(&self) -> CudaResult<Vec<T>> {
        let mut values = Vec::new();
        let requested = size_of::<T>() * self.len;
        values
            .try_reserve_exact(self.len)
            .map_err(|_| CudaError::OutOfHostMemory { requested })?;
        huge_pages::advise(values.spare_capacity_mut());
        self.read_uninit(&mut values.spare_capacity_mut()[..self.len])?;
        // SAFETY: `read_uninit` has written all elements.
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
    pub unsafe fn queue_read(&self, start: usize, values: &mut [T]) -> CudaResult<()> {
        // SAFETY: the slice has room for its length; the caller keeps it.
        unsafe { self.queue_read_to(start, values.len(), values.as_mut_ptr()) }
    }

    /// Queues a copy of `count` elements from `start` on to `to`.
    ///
    /// # Safety
    /// `to` has room for `count` elements, and no one uses it until the stream has done the copy.
    unsafe fn queue_read_to(&self, start: usize, count: usize, to: *mut T) -> CudaResult<()> {
        let (from, bytes) = self.span(start, count)?;
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: `span` has checked the source; the caller keeps the destination.
        unsafe { download::queue_copy(&self.stream, from, to.cast(), bytes) }
    }

    /// Queues a copy of all of `values` here, at the full speed of the bus; the host continues
    /// meanwhile. The result gives the page-locked memory back once the copy is done.
    ///
    /// # Errors
    /// [`CudaError::OutOfRange`] if the lengths differ; [`CudaError::WrongDevice`];
    /// [`CudaError::Execution`].
    pub fn write_from(&mut self, values: LockedBuffer<T>) -> CudaResult<InFlight<T>> {
        self.check_locked(&values)?;
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
    pub fn read_into(&self, mut values: LockedBuffer<T>) -> CudaResult<InFlight<T>> {
        self.check_locked(&values)?;
        // SAFETY: `InFlight` keeps `values`, unreachable, until an event after the copy is reached.
        unsafe { self.queue_read(0, &mut values) }?;
        InFlight::after(&self.stream, values)
    }

    /// Copies all elements to the first ones of `values`, at the full speed of the bus, and waits
    /// for it.
    ///
    /// # Errors
    /// [`CudaError::OutOfRange`] if `values` has fewer elements; [`CudaError::WrongDevice`];
    /// [`CudaError::Execution`] if a kernel has crashed.
    pub fn read_to(&self, values: &mut LockedBuffer<T>) -> CudaResult<()> {
        self.check_same_device(values)?;
        let len = values.len();
        let Some(values) = values.get_mut(..self.len) else {
            let (start, end) = (0, self.len);
            return Err(CudaError::OutOfRange { start, end, len });
        };
        // SAFETY: the slice is borrowed past `synchronize`.
        unsafe { self.queue_read(0, values) }?;
        self.stream.synchronize()
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
    ) -> CudaResult<()> {
        self.stream
            .device()
            .check_same("the source buffer", from.stream.device())?;
        let (source, bytes) = from.span(range.start, range.end.saturating_sub(range.start))?;
        let (to, _) = self.span(start, range.end.saturating_sub(range.start))?;
        if bytes == 0 {
            return Ok(());
        }
        self.stream.wait_for(&from.stream)?;
        let on = self.stream.bind()?;
        // SAFETY: `span` has checked both, and they are different buffers, one being borrowed
        // mutably. Neither is freed before the copy: this buffer's stream does the copy, and below
        // the other stream, or the host, waits for it.
        let status = unsafe { sys::cuMemcpyDtoDAsync_v2(to, source, bytes, on) };
        self.stream.blame(check("cuMemcpyDtoDAsync", status))?;
        from.stream.must_wait_for(&self.stream)
    }

    /// Queues the setting of every byte to `byte`.
    ///
    /// # Errors
    /// [`CudaError::Driver`]; [`CudaError::Execution`] if a kernel has crashed.
    pub fn fill_bytes(&mut self, byte: u8) -> CudaResult<()> {
        if self.size_in_bytes() == 0 {
            return Ok(());
        }
        let on = self.stream.bind()?;
        // SAFETY: exactly the buffer's bytes, and any byte is valid in a `Pod`.
        let status = unsafe { sys::cuMemsetD8Async(self.address, byte, self.size_in_bytes(), on) };
        self.stream.blame(check("cuMemsetD8Async", status))
    }

    /// Queues the setting of every element to `value`. The elements have 1, 2 or 4 bytes, and are
    /// aligned to their size.
    ///
    /// # Errors
    /// [`CudaError::Driver`]; [`CudaError::Execution`] if a kernel has crashed.
    pub fn fill(&mut self, value: T) -> CudaResult<()> {
        const {
            assert!(
                matches!(size_of::<T>(), 1 | 2 | 4) && align_of::<T>() == size_of::<T>(),
                "only elements of 1, 2 or 4 bytes, aligned to their size, can be filled"
            );
        };
        if self.is_empty() {
            return Ok(());
        }
        let on = self.stream.bind()?;
        let (to, len) = (self.address, self.len);
        let (call, status) = match size_of::<T>() {
            // SAFETY: the value has 1 byte and no padding; the buffer holds `len` of them.
            1 => ("cuMemsetD8Async", unsafe {
                sys::cuMemsetD8Async(to, mem::transmute_copy(&value), len, on)
            }),
            // SAFETY: as above, with 2 bytes; the address is aligned for `T`.
            2 => ("cuMemsetD16Async", unsafe {
                sys::cuMemsetD16Async(to, mem::transmute_copy(&value), len, on)
            }),
            // SAFETY: as above, with 4 bytes.
            _ => ("cuMemsetD32Async", unsafe {
                sys::cuMemsetD32Async(to, mem::transmute_copy(&value), len, on)
            }),
        };
        self.stream.blame(check(call, status))
    }

    fn check_len(&self, end: usize) -> CudaResult<()> {
        if end == self.len {
            Ok(())
        } else {
            let (start, len) = (0, self.len);
            Err(CudaError::OutOfRange { start, end, len })
        }
    }

    fn check_locked(&self, values: &LockedBuffer<T>) -> CudaResult<()> {
        self.check_same_device(values)?;
        self.check_len(values.len())
    }

    fn check_same_device(&self, values: &LockedBuffer<T>) -> CudaResult<()> {
        let device = self.stream.device();
        device.check_same("the page-locked buffer", values.device())
    }
}

/// The bytes of `values`.
fn bytes_of<T: Pod>(values: &[T]) -> &[u8] {
    // SAFETY: `Pod` has no padding, so all bytes of the slice are initialised.
    unsafe { slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

impl<T: Pod> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        match &self.release {
            Release::Free if self.address != 0 => {
                let stream = self.stream.bind_to_free();
                // SAFETY: allocated in stream order and freed only here, after the work queued on
                // the stream so far. There is no one to report a failure to; the driver frees
                // everything when the process ends.
                let _ = unsafe { sys::cuMemFreeAsync(self.address, stream) };
            }
            Release::AfterWork(_) => self.stream.finish_to_free(),
            // Fields are dropped after this, and with them the owner.
            Release::Free | Release::InOrder(_) => {}
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
