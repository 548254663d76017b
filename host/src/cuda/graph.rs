//! Graphs: a stream's work, recorded once and launched many times.

use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cust::sys::{CUgraph, CUgraphExec};

use super::device::Device;
use super::error::{CudaError, check};
use super::module::Module;
use super::raw;
use super::stream::Stream;

/// Recorded work. Launching it costs the host about as much as one kernel launch, however many it holds.
///
/// It keeps the modules of the kernels that it launches loaded. Of buffers it knows only the addresses: those are what the
/// caller of [`Stream::record_graph`] and [`Graph::launch`] promises to keep.
pub struct Graph {
    executable: CUgraphExec,
    nodes: usize,
    device: Device,
    _modules: Vec<Module>,
}

/// The modules that were launched from while a recording runs. Any launch counts, since other streams and threads may take
/// part in a recording.
type Modules = Arc<Mutex<Vec<Module>>>;

/// All recordings that run now.
static RECORDINGS: Mutex<Vec<Modules>> = Mutex::new(Vec::new());
/// How many there are, so that a launch has to lock nothing while there are none.
static RECORDING_COUNT: AtomicUsize = AtomicUsize::new(0);

fn lock<T>(list: &Mutex<T>) -> MutexGuard<'_, T> {
    // A list is whole between two of its own operations.
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has graphs that are being recorded keep `module`, from which a kernel is launched now.
pub(super) fn keep(module: &Module) {
    // A recording that this launch belongs to was begun by this thread, or by one that has told it since.
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

// SAFETY: the handle is an address that only the driver follows, and it may be used from any thread; the driver forbids
// two launches of it at the same time, and `launch` borrows it mutably.
unsafe impl Send for Graph {}
// SAFETY: by shared reference nothing but plain fields can be read.
unsafe impl Sync for Graph {}

impl Stream {
    /// Records what `work` queues on this stream (and streams that it makes wait for this one), instead of doing it.
    ///
    /// # Errors
    /// Those of `work`; [`CudaError::Driver`] if it did what can't be recorded, such as waiting or a copy from ordinary
    /// host memory.
    ///
    /// # Safety
    /// All memory that the recorded work uses stays valid for it until the last launch of the graph is done. In
    /// particular, buffers allocated before `work` must not be dropped in it, and those allocated in it not kept. (Modules
    /// are no concern of the caller's: the graph keeps those that were launched from during `work`.)
    pub unsafe fn record_graph<F>(&self, work: F) -> Result<Graph, CudaError>
    where
        F: FnOnce() -> Result<(), CudaError>,
    {
        self.device().bind()?;
        let mut recording = Recording::announce(self);
        // SAFETY: the stream is alive.
        check("cuStreamBeginCapture", unsafe {
            raw::cuStreamBeginCapture_v2(self.raw(), raw::CAPTURE_THREAD_LOCAL)
        })?;
        recording.running = true;
        let worked = work();
        let recorded = recording.end();
        worked?;
        recorded?.instantiate()
    }
}

/// A recording; dropping it (when `work` panics) ends and discards it.
struct Recording<'a> {
    stream: &'a Stream,
    modules: Modules,
    running: bool,
}

impl<'a> Recording<'a> {
    /// Has launches from now on keep their modules.
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

    fn end(&mut self) -> Result<Template, CudaError> {
        self.running = false;
        self.stream.device().bind()?;
        let mut graph = ptr::null_mut();
        // SAFETY: the stream is alive and recording; writes one handle.
        let status = unsafe { raw::cuStreamEndCapture(self.stream.raw(), &mut graph) };
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
    fn instantiate(&mut self) -> Result<Graph, CudaError> {
        let mut nodes = 0;
        // SAFETY: the graph is alive; without room for nodes, only their number is written.
        let status = unsafe { raw::cuGraphGetNodes(self.graph, ptr::null_mut(), &mut nodes) };
        check("cuGraphGetNodes", status)?;
        let mut executable = ptr::null_mut();
        // SAFETY: the graph is alive; writes one handle.
        let status = unsafe { raw::cuGraphInstantiateWithFlags(&mut executable, self.graph, 0) };
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
            // SAFETY: the graph is alive, and this is its only owner; executables made from it don't need it.
            unsafe { raw::cuGraphDestroy(self.graph) };
        }
    }
}

impl Graph {
    /// How many operations it holds.
    pub fn len(&self) -> usize {
        self.nodes
    }

    /// Has it no operations?
    pub fn is_empty(&self) -> bool {
        self.nodes == 0
    }

    /// Queues all of its work on `stream`.
    ///
    /// # Errors
    /// [`CudaError::WrongDevice`], [`CudaError::Driver`], [`CudaError::Execution`].
    ///
    /// # Safety
    /// The memory that the recorded work uses is still valid for it, and until this launch is done.
    pub unsafe fn launch(&mut self, stream: &Stream) -> Result<(), CudaError> {
        self.device.check_same("the stream", stream.device())?;
        self.device.bind()?;
        // SAFETY: both are alive; for the memory, the caller's promise.
        let status = unsafe { raw::cuGraphLaunch(self.executable, stream.raw()) };
        stream.blame(check("cuGraphLaunch", status))
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let _ = self.device.bind();
        // SAFETY: this is its only owner; a launch under way finishes first, as the driver promises.
        unsafe { raw::cuGraphExecDestroy(self.executable) };
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph({} operations)", self.nodes)
    }
}
