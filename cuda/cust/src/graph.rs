//! Graphs: a stream's work, recorded once and launched many times.

use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::device::Device;
#[cfg(doc)]
use crate::error::CudaError;
use crate::error::{CudaResult, check};
use crate::module::Module;
use crate::stream::Stream;
use crate::sys::{self, CUgraph, CUgraphExec, CUstreamCaptureMode};

/// Recorded work. A launch costs the host about as much as one kernel launch, however many kernels
/// it holds.
///
/// It keeps the modules of its kernels loaded. Of buffers it knows only the addresses: the caller
/// of [`Stream::record_graph`] and [`Graph::launch`] promises to keep the buffers.
pub struct Graph {
    executable: CUgraphExec,
    nodes: usize,
    device: Device,
    _modules: Vec<Module>,
}

/// The modules whose kernels were launched while a recording runs, on any stream and thread, since
/// others may take part in the recording.
type Modules = Arc<Mutex<Vec<Module>>>;

/// The recordings under way.
static RECORDINGS: Mutex<Vec<Modules>> = Mutex::new(Vec::new());
/// The number of recordings under way: while it is 0, a launch takes no lock.
static RECORDING_COUNT: AtomicUsize = AtomicUsize::new(0);

fn lock<T>(list: &Mutex<T>) -> MutexGuard<'_, T> {
    // A list is whole between two of its own operations.
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the recordings under way keep `module`, whose kernel is about to be launched.
pub(crate) fn keep(module: &Module) {
    // The thread that began a recording is this one, or has synchronised with it since.
    if RECORDING_COUNT.load(Ordering::Acquire) == 0 {
        return;
    }
    for modules in lock(&RECORDINGS).iter() {
        let mut modules = lock(modules);
        if !modules.iter().any(|kept| kept.is_same(module)) {
            modules.push(module.clone());
        }
    }
}

// SAFETY: the handle is an address that only the driver follows, and it may be used from any
// thread; the driver forbids two launches of it at the same time, and `launch` borrows it mutably.
unsafe impl Send for Graph {}
// SAFETY: a shared reference gives access to plain fields only.
unsafe impl Sync for Graph {}

impl Stream {
    /// Records the work that `work` queues on this stream, and on streams that it makes wait for
    /// this one, instead of doing it.
    ///
    /// # Errors
    /// Those of `work`; [`CudaError::Driver`] if `work` made a call that can't be recorded, such as
    /// a wait or a copy from ordinary host memory.
    ///
    /// # Safety
    /// All memory that the recorded work uses stays valid until the last launch of the graph is
    /// done. In particular, `work` drops no buffer allocated before it and keeps none that it
    /// allocates. The graph itself keeps the modules.
    pub unsafe fn record_graph<F>(&self, work: F) -> CudaResult<Graph>
    where
        F: FnOnce() -> CudaResult<()>,
    {
        let stream = self.bind()?;
        let mut recording = Recording::announce(self);
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is alive.
        check("cuStreamBeginCapture", unsafe {
            sys::cuStreamBeginCapture_v2(stream, mode)
        })?;
        recording.running = true;
        let worked = work();
        let recorded = recording.end();
        worked?;
        recorded?.instantiate()
    }
}

/// A recording; dropping it, as when `work` panics, ends and discards it.
struct Recording<'a> {
    stream: &'a Stream,
    modules: Modules,
    running: bool,
}

impl<'a> Recording<'a> {
    /// Makes later launches keep their modules.
    fn announce(stream: &'a Stream) -> Self {
        let modules = Modules::default();
        lock(&RECORDINGS).push(Arc::clone(&modules));
        RECORDING_COUNT.fetch_add(1, Ordering::Release);
        Self {
            stream,
            modules,
            running: false,
        }
    }

    fn end(&mut self) -> CudaResult<Template> {
        self.running = false;
        let stream = self.stream.bind()?;
        let mut graph = ptr::null_mut();
        // SAFETY: the stream is alive and recording; writes one handle.
        let status = unsafe { sys::cuStreamEndCapture(stream, &mut graph) };
        self.stream.blame(check("cuStreamEndCapture", status))?;
        Ok(Template {
            graph,
            device: self.stream.device().clone(),
            modules: std::mem::take(&mut lock(&self.modules)),
        })
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        if self.running {
            let _ = self.end();
        }
        RECORDING_COUNT.fetch_sub(1, Ordering::Release);
        lock(&RECORDINGS).retain(|modules| !Arc::ptr_eq(modules, &self.modules));
    }
}

/// The recorded work, before it is made executable.
struct Template {
    graph: CUgraph,
    device: Device,
    modules: Vec<Module>,
}

impl Template {
    fn instantiate(&mut self) -> CudaResult<Graph> {
        let mut nodes = 0;
        // SAFETY: the graph is alive; given no room for nodes, the call writes only their number.
        let status = unsafe { sys::cuGraphGetNodes(self.graph, ptr::null_mut(), &mut nodes) };
        check("cuGraphGetNodes", status)?;
        let mut executable = ptr::null_mut();
        // SAFETY: the graph is alive; writes one handle.
        let status = unsafe { sys::cuGraphInstantiateWithFlags(&mut executable, self.graph, 0) };
        check("cuGraphInstantiate", status)?;
        Ok(Graph {
            executable,
            nodes,
            device: self.device.clone(),
            _modules: std::mem::take(&mut self.modules),
        })
    }
}

impl Drop for Template {
    fn drop(&mut self) {
        if !self.graph.is_null() {
            // SAFETY: the graph is alive, and this is its only owner; its executables don't need
            // it.
            unsafe { sys::cuGraphDestroy(self.graph) };
        }
    }
}

impl Graph {
    /// The number of operations.
    pub fn len(&self) -> usize {
        self.nodes
    }

    /// Whether it has no operations.
    pub fn is_empty(&self) -> bool {
        self.nodes == 0
    }

    /// Queues all of its work on `stream`.
    ///
    /// # Errors
    /// [`CudaError::WrongDevice`], [`CudaError::Driver`], [`CudaError::Execution`].
    ///
    /// # Safety
    /// The memory that the recorded work uses is valid until this launch is done.
    pub unsafe fn launch(&mut self, stream: &Stream) -> CudaResult<()> {
        self.device.check_same("the stream", stream.device())?;
        let on = stream.bind()?;
        // SAFETY: both handles are alive; the caller vouches for the memory.
        let status = unsafe { sys::cuGraphLaunch(self.executable, on) };
        stream.blame(check("cuGraphLaunch", status))
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let _ = self.device.bind();
        // SAFETY: this is its only owner; the driver finishes a launch under way first.
        unsafe { sys::cuGraphExecDestroy(self.executable) };
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph({} operations)", self.nodes)
    }
}
