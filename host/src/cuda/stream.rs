//! Streams: queues of work for a GPU.

use std::fmt;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use cuda_std::launch::KernelSpec;
use cust::sys::CUstream;

use super::device::Device;
use super::error::{CudaError, check};
use super::event::Event;
use super::raw;
use super::staging::{Pool, Staging};

/// A queue of work on a GPU. The work of one stream is done in order; the work of different streams
/// may overlap. Clones are the same stream.
///
/// Calls that queue work return before it is done. A later call, [`Stream::synchronize`] at the
/// latest, returns an error of the work itself.
#[derive(Clone)]
pub struct Stream {
    inner: Arc<Inner>,
}

struct Inner {
    stream: CUstream,
    device: Device,
    /// The kernel launched last, for the error of a crash.
    last_kernel: AtomicPtr<KernelSpec>,
    /// The page-locked memory that large uploads pass through; allocated by the first one.
    staging: Pool<Staging>,
}

// SAFETY: the handle is an address that only the driver follows, and the driver's functions on
// streams may be called from any thread; the other fields are `Send` and `Sync` by themselves.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // There is no one to report a failure to.
        let _ = self.device.bind();
        // SAFETY: this is its only owner; the driver keeps it until the work queued on it is done.
        let _ = unsafe { raw::cuStreamDestroy_v2(self.stream) };
    }
}

impl Device {
    /// A new stream.
    ///
    /// # Errors
    /// [`CudaError::Driver`]; [`CudaError::Execution`] if a kernel has crashed.
    pub fn stream(&self) -> Result<Stream, CudaError> {
        Stream::new(self)
    }
}

impl Stream {
    fn new(device: &Device) -> Result<Self, CudaError> {
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

    /// The driver's handle, for driver calls that this module lacks; call [`Device::bind`] before
    /// them.
    pub fn as_raw(&self) -> CUstream {
        self.inner.stream
    }

    pub(super) fn raw(&self) -> CUstream {
        self.inner.stream
    }

    /// The page-locked memory that large uploads pass through.
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

    /// Moves an event to this point of the stream's work, which saves creating one.
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

    /// Lets later work of this stream start only when the work queued on `other` so far is done.
    /// The host does not wait.
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
        // SAFETY: the stream and the event are alive; the driver keeps the event until the wait is
        // over.
        let status = unsafe { raw::cuStreamWaitEvent(self.raw(), event.raw(), 0) };
        self.blame(check("cuStreamWaitEvent", status))
    }

    /// As [`wait_for`](Self::wait_for), for an order that must hold, since `other` has queued work
    /// that uses this stream's memory: if the driver refuses the wait, the host waits for `other`.
    ///
    /// # Errors
    /// Those of [`Stream::wait_for`], if the host cannot wait either. Then nothing is ordered, but
    /// the GPU does no more work after such a failure.
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

    /// Whether everything queued so far is done.
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

    /// Adds the name of the kernel launched last to an error that a kernel caused.
    pub(super) fn blame<T>(&self, result: Result<T, CudaError>) -> Result<T, CudaError> {
        result.map_err(|error| {
            // SAFETY: null, or the address of a `&'static KernelSpec` that `note_launch` stored;
            // never written through.
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
