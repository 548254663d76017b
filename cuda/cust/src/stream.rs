//! Streams: queues of work for a GPU.

use std::fmt;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread::{self, ThreadId};

use cuda_std::launch::KernelSpec;

use crate::device::Device;
use crate::error::{CudaError, CudaResult, check};
use crate::event::Event;
use crate::memory::staging::{Pool, Staging};
use crate::owner::Owner;
use crate::sys::{self, CUstream, status};

/// How a stream's work relates to that of the legacy default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamFlags(u32);

impl StreamFlags {
    /// By the rules of the legacy default stream: the stream's work waits for the work of stream 0,
    /// and the other way round.
    pub const DEFAULT: Self = Self(0);
    /// No implicit waits.
    pub const NON_BLOCKING: Self = Self(1);
}

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
    made: Made,
    /// The kernel launched last, for the error of a crash.
    last_kernel: AtomicPtr<KernelSpec>,
    /// The page-locked memory that large uploads pass through; allocated by the first one.
    staging: Pool<Staging>,
}

/// Who made a stream.
enum Made {
    /// This crate, which destroys it.
    Here,
    /// Someone else.
    Elsewhere {
        _owner: Owner,
        /// The thread of a per-thread default stream: on another one the same handle is another
        /// stream.
        thread: Option<ThreadId>,
    },
}

// SAFETY: the handle is an address that only the driver follows, and the driver's functions on
// streams may be called from any thread; the other fields are `Send` and `Sync` by themselves.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Made::Here = self.made {
            // There is no one to report a failure to.
            let _ = self.device.bind();
            // SAFETY: this is its only owner; the driver keeps it until the work queued on it is
            // done.
            let _ = unsafe { sys::cuStreamDestroy_v2(self.stream) };
        }
    }
}

impl Device {
    /// A new stream, with [`StreamFlags::DEFAULT`].
    ///
    /// # Errors
    /// Those of [`Stream::new`].
    pub fn stream(&self) -> CudaResult<Stream> {
        Stream::new(self, StreamFlags::DEFAULT, None)
    }
}

impl Stream {
    /// The legacy default stream, as the driver's handles name it: 0 means the same.
    pub const LEGACY: CUstream = ptr::without_provenance_mut(1);
    /// The calling thread's default stream, as the driver's handles name it.
    pub const PER_THREAD: CUstream = ptr::without_provenance_mut(2);

    /// A new stream. A lower `priority` number goes first; the driver limits it to the range of the
    /// device, and `None` is 0, the lowest priority.
    ///
    /// # Errors
    /// [`CudaError::Driver`]; [`CudaError::Execution`] if a kernel has crashed.
    pub fn new(device: &Device, flags: StreamFlags, priority: Option<i32>) -> CudaResult<Self> {
        device.bind()?;
        let mut stream = ptr::null_mut();
        // SAFETY: writes one handle, of the current context.
        check("cuStreamCreate", unsafe {
            sys::cuStreamCreateWithPriority(&mut stream, flags.0, priority.unwrap_or(0))
        })?;
        Ok(Self::of(stream, device, Made::Here))
    }

    /// Adopts a stream made elsewhere, which is not destroyed. `owner` is dropped with the last
    /// clone and the last buffer of the stream.
    ///
    /// The default streams can be adopted too: 0 or [`Stream::LEGACY`], and [`Stream::PER_THREAD`].
    /// The latter is another stream on each thread, so on any other thread than this one its use is
    /// [`CudaError::WrongThread`], and dropping a buffer of it waits for the device.
    ///
    /// # Errors
    /// [`CudaError::WrongContext`] if the stream is of another context than `device`;
    /// [`CudaError::Driver`]; [`CudaError::Execution`].
    ///
    /// # Safety
    /// `stream` is a default stream, or a stream of this process that stays one as long as `owner`
    /// is kept.
    pub unsafe fn from_raw(device: &Device, stream: CUstream, owner: Owner) -> CudaResult<Self> {
        device.bind()?;
        let mut context = ptr::null_mut();
        // SAFETY: the caller vouches for the stream; writes one handle.
        check("cuStreamGetCtx", unsafe {
            sys::cuStreamGetCtx(stream, &mut context)
        })?;
        if context != device.context().as_raw() {
            return Err(CudaError::WrongContext {
                what: "the stream",
                device: device.info().index,
            });
        }
        let made = Made::Elsewhere {
            _owner: owner,
            thread: (stream == Self::PER_THREAD).then(|| thread::current().id()),
        };
        Ok(Self::of(stream, device, made))
    }

    fn of(stream: CUstream, device: &Device, made: Made) -> Self {
        Self {
            inner: Arc::new(Inner {
                stream,
                device: device.clone(),
                made,
                last_kernel: AtomicPtr::default(),
                staging: Pool::default(),
            }),
        }
    }

    /// Its device.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// The driver's handle, for driver calls that this crate lacks; call [`Device::bind`] before
    /// them.
    pub fn as_raw(&self) -> CUstream {
        self.inner.stream
    }

    /// Whether the two are clones of one, or have the same handle in one context. That of a
    /// thread's default stream must be of the same thread too.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
            || (self.as_raw() == other.as_raw()
                && self.device().context() == other.device().context()
                && self.thread() == other.thread())
    }

    /// The thread whose default stream this is, if it is one.
    fn thread(&self) -> Option<ThreadId> {
        match self.inner.made {
            Made::Elsewhere { thread, .. } => thread,
            Made::Here => None,
        }
    }

    /// Makes its context the current one of this thread, and returns the handle for calls on this
    /// thread.
    pub(crate) fn bind(&self) -> CudaResult<CUstream> {
        if self.is_of_another_thread() {
            return Err(CudaError::WrongThread);
        }
        self.device().bind().map(|()| self.inner.stream)
    }

    /// As [`bind`](Self::bind), for freeing memory of the stream: on a wrong thread, the handle is
    /// that of this thread's stream, and all work on the device is done.
    pub(crate) fn bind_to_free(&self) -> CUstream {
        // There is no one to report a failure to. If the wait fails, a kernel has crashed, and the
        // device does no more work.
        let _ = self.device().bind();
        if self.is_of_another_thread() {
            let _ = self.device().synchronize();
        }
        self.inner.stream
    }

    /// Waits until no queued work uses the stream's memory.
    pub(crate) fn finish_to_free(&self) {
        // If a wait fails, a kernel has crashed, and the device does no more work.
        let _ = match self.is_of_another_thread() {
            true => self.device().synchronize(),
            false => self.synchronize(),
        };
    }

    fn is_of_another_thread(&self) -> bool {
        self.thread()
            .is_some_and(|thread| thread != thread::current().id())
    }

    /// The page-locked memory that large uploads pass through.
    pub(crate) fn staging(&self) -> &Pool<Staging> {
        &self.inner.staging
    }

    /// Marks this point of the stream's work.
    ///
    /// # Errors
    /// [`CudaError::Driver`], [`CudaError::Execution`].
    pub fn record(&self) -> CudaResult<Event> {
        let event = Event::new(self.device())?;
        self.record_into(&event)?;
        Ok(event)
    }

    /// Moves an event to this point of the stream's work, which saves creating one.
    ///
    /// # Errors
    /// [`CudaError::WrongDevice`], [`CudaError::Driver`], [`CudaError::Execution`].
    pub fn record_into(&self, event: &Event) -> CudaResult<()> {
        self.device().check_same("the event", event.device())?;
        let stream = self.bind()?;
        // SAFETY: the event and the stream are alive, and of one context.
        let status = unsafe { sys::cuEventRecord(event.as_raw(), stream) };
        self.blame(check("cuEventRecord", status))
    }

    /// Lets later work of this stream start only when the work queued on `other` so far is done.
    /// The host does not wait.
    ///
    /// # Errors
    /// [`CudaError::Driver`], [`CudaError::Execution`].
    pub fn wait_for(&self, other: &Stream) -> CudaResult<()> {
        if self.is_same(other) {
            return Ok(());
        }
        let event = Event::without_timing(other.device())?;
        other.record_into(&event)?;
        self.wait_event(&event)
    }

    /// Lets later work of this stream start only when `event` is reached, which may be an event of
    /// another context or device. The host does not wait.
    ///
    /// # Errors
    /// [`CudaError::Driver`], [`CudaError::Execution`].
    pub fn wait_event(&self, event: &Event) -> CudaResult<()> {
        let stream = self.bind()?;
        // SAFETY: the stream and the event are alive; the driver keeps the event until the wait is
        // over.
        let status = unsafe { sys::cuStreamWaitEvent(stream, event.as_raw(), 0) };
        self.blame(check("cuStreamWaitEvent", status))
    }

    /// As [`wait_for`](Self::wait_for), for an order that must hold, since `other` has queued work
    /// that uses this stream's memory: if the driver refuses the wait, the host waits for `other`.
    ///
    /// # Errors
    /// Those of [`Stream::wait_for`], if the host cannot wait either. Then nothing is ordered, but
    /// the GPU does no more work after such a failure.
    pub fn must_wait_for(&self, other: &Stream) -> CudaResult<()> {
        self.wait_for(other)
            .or_else(|error| other.synchronize().map_err(|_| error))
    }

    /// Waits until everything queued so far is done.
    ///
    /// # Errors
    /// [`CudaError::Execution`] if a kernel has crashed.
    pub fn synchronize(&self) -> CudaResult<()> {
        let stream = self.bind()?;
        // SAFETY: the stream is alive.
        let status = unsafe { sys::cuStreamSynchronize(stream) };
        self.blame(check("cuStreamSynchronize", status))
    }

    /// Whether everything queued so far is done.
    ///
    /// # Errors
    /// [`CudaError::Execution`] if a kernel has crashed.
    pub fn is_done(&self) -> CudaResult<bool> {
        let stream = self.bind()?;
        // SAFETY: the stream is alive.
        match unsafe { sys::cuStreamQuery(stream) } {
            status::NOT_READY => Ok(false),
            status => self.blame(check("cuStreamQuery", status)).map(|()| true),
        }
    }

    pub(crate) fn note_launch(&self, spec: &'static KernelSpec) {
        self.inner
            .last_kernel
            .store(std::ptr::from_ref(spec).cast_mut(), Ordering::Relaxed);
    }

    /// Adds the name of the kernel launched last to an error that a kernel caused.
    pub(crate) fn blame<T>(&self, result: CudaResult<T>) -> CudaResult<T> {
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
            self.as_raw(),
            self.device().info().index
        )
    }
}
