//! Runs jobs without the GIL, and ends long ones at Ctrl-C.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use trazar::{Backend, Engine, Error, Result};

use crate::arrays::reserve;
use crate::errors;
use crate::reports::Reports;

/// Work on this many pixels or cells takes milliseconds, so starting a thread for it does not
/// matter; it may take seconds.
pub(crate) const LONG: u64 = 1 << 21;

/// The number of small objects that are made between two checks for signals: some milliseconds.
pub(crate) const OBJECTS: usize = 1 << 14;

/// Memory of a new thread: its stack, and the C library's allocations at its start, whose failure
/// ends the process.
const THREAD: usize = (2 << 20) + (1 << 20);

/// The interval at which a thread that waits for long work checks for signals.
const SIGNALS: Duration = Duration::from_millis(20);

/// Runs `work` on `engine`, without the GIL. `size` is the number of pixels, or of cells times
/// nets.
///
/// Python handles signals on its main thread only, so long work gets its own thread, and this one
/// waits. After a signal that raises an exception, such as KeyboardInterrupt, the exception is
/// returned at once. The work ends at its next progress report. Work without reports, by the
/// emulator or for distances, ends by itself.
pub(crate) fn run<R: Send + 'static>(
    py: Python<'_>,
    engine: Engine,
    size: u64,
    work: impl FnOnce(&Engine) -> Result<R> + Send + 'static,
) -> PyResult<R> {
    let is_long = match engine.backend() {
        Backend::Cpu => size >= LONG,
        Backend::Cuda => false,
        _ => true,
    };
    let reports = Reports::of_thread(py);
    let report = |share: f64, reports: &Option<Reports>| match reports {
        Some(reports) => reports.report(share),
        None => ControlFlow::Continue(()),
    };
    let done = if is_long {
        let reports = reports.clone();
        apart(py, |interrupt| {
            let engine =
                engine.with_progress(move |share| match interrupt.load(Ordering::Relaxed) {
                    false => report(share, &reports),
                    true => ControlFlow::Break(()),
                });
            move || work(&engine)
        })?
    } else {
        let engine = match reports.clone() {
            None => engine,
            reports => engine.with_progress(move |share| report(share, &reports)),
        };
        py.detach(|| in_pool(|| work(&engine)))
    };
    // A job that its receiver has ended is cancelled; one that has ended before is not.
    match reports.and_then(|reports| reports.raised()) {
        Some(raised) => Err(raised),
        None => done.map_err(errors::from_library),
    }
}

/// Runs work on its own thread, while this one checks for signals. After a signal that raises an
/// exception, the flag given to `work` is set, and the exception is returned at once; the work ends
/// when it checks the flag.
pub(crate) fn apart<R: Send + 'static, W: FnOnce() -> R + Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(Arc<AtomicBool>) -> W,
) -> PyResult<R> {
    let interrupt = Arc::new(AtomicBool::new(false));
    let work = work(Arc::clone(&interrupt));
    let (sender, mut receiver) = mpsc::channel();
    let worker = move || {
        let done = catch_unwind(AssertUnwindSafe(|| in_pool(work)));
        // Nobody receives it after an interrupt.
        let _ = sender.send(done);
    };
    reserve(&mut Vec::<u8>::new(), THREAD, "a thread").map_err(errors::from_library)?;
    std::thread::Builder::new()
        .name("trazar".into())
        .spawn(worker)
        .map_err(|_| errors::from_library(Error::out_of_memory("a thread", THREAD as u64)))?;
    loop {
        let received;
        (receiver, received) = py.detach(move || {
            let received = receiver.recv_timeout(SIGNALS);
            (receiver, received)
        });
        match received {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(panic)) => resume_unwind(panic),
            // The worker always sends something.
            Err(_) => {}
        }
        if let Err(exception) = py.check_signals() {
            interrupt.store(true, Ordering::Relaxed);
            // Work that ends soon can remove its files before the process ends.
            py.detach(move || receiver.recv_timeout(SIGNALS).map(drop).ok());
            return Err(exception);
        }
    }
}

/// Runs `work` where rayon has threads. In a process forked from one that had used them, the shared
/// pool has none left, and work would wait for them for ever. Such a process gets its own pool.
pub(crate) fn in_pool<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    /// The process that the shared pool belongs to; 0 before the first use.
    static FIRST: AtomicU32 = AtomicU32::new(0);
    static FORKED: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

    let process = std::process::id();
    let first = FIRST.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed);
    if first.is_ok() || first == Err(process) {
        return work();
    }
    let pool = {
        let mut forked = FORKED.lock().unwrap_or_else(PoisonError::into_inner);
        match &*forked {
            Some((owner, pool)) if *owner == process => Some(Arc::clone(pool)),
            _ => ThreadPoolBuilder::new().build().ok().map(|pool| {
                let pool = Arc::new(pool);
                // The parent's pool has no threads that could be ended.
                std::mem::forget(forked.replace((process, Arc::clone(&pool))));
                pool
            }),
        }
    };
    match pool {
        Some(pool) => pool.install(work),
        // The system provides no threads.
        None => work(),
    }
}
