//! Streams: queues of work for a GPU.

use std::fmt;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use cuda_std::Pod;
use cuda_std::launch::KernelSpec;
use cust::sys::CUstream;

use super::buffer::DeviceBuffer;
use super::device::Device;
use super::error::{CudaError, check};
use super::event::Event;
use super::raw;
use super::staging::{Pool, Staging};

/// A queue of work on a GPU, done in order; work of different streams may overlap. Clones are the same stream.
///
/// The queueing calls return before the work is done. An error of the work itself shows in a later call, at the latest
/// in [`Stream::synchronize`].
#[derive(Clone)]
pub struct Stream {
    inner: Arc<Inner>,
}

struct Inner {
    stream: CUstream,
    device: Device,
    /// The kernel launched last, to name it when one crashes.
    last_kernel: AtomicPtr<KernelSpec>,
    /// What large copies to the GPU go through, once there was one.
    staging: Pool<Staging>,
}

// SAFETY: the handle is an address that only the driver follows, and the driver's functions on streams may be called from any
// thread; the other fields are `Send` and `Sync` by themselves.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // On a failure there is no one to tell.
        let _ = self.device.bind();
        // SAFETY: this is its only owner; the driver keeps it until the work queued on it is done.
        let _ = unsafe { raw::cuStreamDestroy_v2(self.stream) };
    }
}

impl Stream {
    pub(super) fn new(device: &Device) -> Result<Self, CudaError> {
        device.bind()?;
        let mut stream = ptr::null_mut();
        // SAFETY: writes one handle, of the current context.
        check("cuStreamCreate", unsafe {
            raw::cuStreamCreateWithPriority(&mut stream, raw::STREAM_DEFAULT, 0)
        })?;
        let inner = Inner {
            stream,
            device: device.clone(),
            last_kernel: AtomicPtr::default(),
            staging: Pool::default(),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Its device.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// The driver's handle, for calls that this module lacks; [`Device::bind`] comes before them.
    pub fn as_raw(&self) -> CUstream {
        self.inner.stream
    }

    pub(super) fn raw(&self) -> CUstream {
        self.inner.stream
    }

    /// Allocates `len` elements, whose contents are unspecified. From the pool this takes a microsecond, whatever
    /// the size; when the pool must grow, a system call.
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`], [`CudaError::TooLarge`], [`CudaError::Driver`], and [`CudaError::Execution`] if a
    /// kernel has crashed.
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

    /// What large copies go through.
    pub(super) fn staging(&self) -> &Pool<Staging> {
        &self.inner.staging
    }

    /// Marks this point of the stream's work.
    ///
    /// # Errors
    /// [`CudaError::Driver`], [`CudaError::Execution`].
    pub fn record(&self) -> Result<Event, CudaError> {
        let event = Event::new(self.device())?;
        self.record_into(&event)?;
        Ok(event)
    }

    /// Moves an event to this point of the stream's work; saves the making of one.
    ///
    /// # Errors
    /// [`CudaError::WrongDevice`], [`CudaError::Driver`], [`CudaError::Execution`].
    pub fn record_into(&self, event: &Event) -> Result<(), CudaError> {
        self.device().check_same("the event", event.device())?;
        self.device().bind()?;
        // SAFETY: the event and the stream are alive, and of one context.
        let status = unsafe { raw::cuEventRecord(event.raw(), self.raw()) };
        self.blame(check("cuEventRecord", status))
    }

    /// Lets later work of this stream start only when the work queued on `other` so far is done. The host does not
    /// wait.
    ///
    /// # Errors
    /// [`CudaError::Driver`], [`CudaError::Execution`].
    pub fn wait_for(&self, other: &Stream) -> Result<(), CudaError> {
        if self.raw() == other.raw() {
            return Ok(());
        }
        let event = Event::without_timing(other.device())?;
        other.record_into(&event)?;
        self.device().bind()?;
        // SAFETY: the stream and the event are alive; the driver keeps the event until the wait is over.
        let status = unsafe { raw::cuStreamWaitEvent(self.raw(), event.raw(), 0) };
        self.blame(check("cuStreamWaitEvent", status))
    }

    /// [`wait_for`](Self::wait_for) that must not be missing, since `other` has been given work that uses this stream's
    /// memory: where the driver does not take the wait, the host waits for `other`.
    ///
    /// # Errors
    /// Those of [`Stream::wait_for`], if the host could not wait either. Nothing is ordered then; the GPU does no more work
    /// after such a failure.
    pub(crate) fn must_wait_for(&self, other: &Stream) -> Result<(), CudaError> {
        self.wait_for(other)
            .or_else(|error| other.synchronize().map_err(|_| error))
    }

    /// Waits until everything queued so far is done.
    ///
    /// # Errors
    /// [`CudaError::Execution`] if a kernel has crashed.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        self.device().bind()?;
        // SAFETY: the stream is alive.
        let status = unsafe { raw::cuStreamSynchronize(self.raw()) };
        self.blame(check("cuStreamSynchronize", status))
    }

    /// Is everything queued so far done?
    ///
    /// # Errors
    /// [`CudaError::Execution`] if a kernel has crashed.
    pub fn is_done(&self) -> Result<bool, CudaError> {
        const NOT_READY: u32 = 600;
        self.device().bind()?;
        // SAFETY: the stream is alive.
        match unsafe { raw::cuStreamQuery(self.raw()) } {
            NOT_READY => Ok(false),
            status => self.blame(check("cuStreamQuery", status)).map(|()| true),
        }
    }

    pub(super) fn note_launch(&self, spec: &'static KernelSpec) {
        self.inner
            .last_kernel
            .store(std::ptr::from_ref(spec).cast_mut(), Ordering::Relaxed);
    }

    /// Names the kernel launched last in an error that a kernel caused.
    pub(super) fn blame<T>(&self, result: Result<T, CudaError>) -> Result<T, CudaError> {
        result.map_err(|error| {
            // SAFETY: null, or the address of a `&'static KernelSpec` that `note_launch` stored; never written through.
            let spec = unsafe { self.inner.last_kernel.load(Ordering::Relaxed).as_ref() };
            error.blame(spec.map(|spec: &'static KernelSpec| spec.name))
        })
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Stream({:p}, device {})",
            self.raw(),
            self.device().info().index
        )
    }
}
