//! Streams: queues of work for a GPU.

use std::fmt;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cuda_std::Pod;
use cuda_std::launch::KernelSpec;
use cust::event::{Event as CustEvent, EventFlags};
use cust::stream::{Stream as CustStream, StreamFlags, StreamWaitEventFlags};
use cust::sys::CUstream;

use super::buffer::DeviceBuffer;
use super::device::Device;
use super::error::{CudaError, check, check_cust};
use super::event::Event;
use super::raw;
use super::staging::Staging;

/// A queue of work on a GPU, done in order; work of different streams may overlap. Clones are the same stream.
///
/// The queueing calls return before the work is done. An error of the work itself shows in a later call, at the latest
/// in [`Stream::synchronize`].
#[derive(Clone)]
pub struct Stream {
    inner: Arc<Inner>,
}

struct Inner {
    stream: CustStream,
    device: Device,
    /// The kernel launched last, to name it when one crashes.
    last_kernel: AtomicPtr<KernelSpec>,
    /// What large copies to the GPU go through, once there was one.
    staging: Mutex<Option<Staging>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The stream is destroyed next, with its device's context current; on a failure there is no one to tell.
        let _ = self.device.bind();
    }
}

impl Stream {
    pub(super) fn new(device: &Device) -> Result<Self, CudaError> {
        device.bind()?;
        let stream = check_cust(
            "cuStreamCreate",
            CustStream::new(StreamFlags::DEFAULT, None),
        )?;
        let inner = Inner {
            stream,
            device: device.clone(),
            last_kernel: AtomicPtr::default(),
            staging: Mutex::default(),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Its device.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// `cust`'s stream, for calls that this module lacks; [`Device::bind`] comes before them.
    pub fn as_cust(&self) -> &CustStream {
        &self.inner.stream
    }

    pub(super) fn raw(&self) -> CUstream {
        self.inner.stream.as_inner()
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

    /// Calls `work` with what large copies go through. One at a time.
    pub(super) fn with_staging<R>(&self, work: impl FnOnce(&mut Option<Staging>) -> R) -> R {
        let staging = self.inner.staging.lock();
        work(&mut staging.unwrap_or_else(PoisonError::into_inner))
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
        self.blame(check_cust(
            "cuEventRecord",
            event.as_cust().record(self.as_cust()),
        ))
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
        other.device().bind()?;
        let event = check_cust("cuEventCreate", CustEvent::new(EventFlags::DISABLE_TIMING))?;
        check_cust("cuEventRecord", event.record(other.as_cust()))?;
        self.device().bind()?;
        let waited = self
            .as_cust()
            .wait_event(event, StreamWaitEventFlags::DEFAULT);
        self.blame(check_cust("cuStreamWaitEvent", waited))
    }

    /// Waits until everything queued so far is done.
    ///
    /// # Errors
    /// [`CudaError::Execution`] if a kernel has crashed.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        self.device().bind()?;
        self.blame(check_cust(
            "cuStreamSynchronize",
            self.as_cust().synchronize(),
        ))
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
