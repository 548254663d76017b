//! The threads that parallel work runs on.

use std::io;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::thread;

use rayon::{ThreadBuilder, ThreadPoolBuilder};

/// Makes sure that parallel work has threads to run on, at least the calling one.
///
/// Must be called before any use of `rayon`, which panics if the system provides fewer threads than
/// it asks for.
pub(crate) fn ensure() {
    static SHARED: OnceLock<bool> = OnceLock::new();
    if rayon::current_thread_index().is_some() || *SHARED.get_or_init(start_shared) {
        return;
    }
    // A pool of this thread alone, kept for good: if no thread can be started, each calling thread
    // does its own work.
    let pool = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    if let Ok(pool) = pool.build() {
        std::mem::forget(pool);
    }
}

/// Whether several threads find the distances of this many cells sooner than one does.
pub(crate) fn are_worth_waking(cells: u64) -> bool {
    /// Fewer are done before the threads are awake.
    const LEAST: u64 = 1 << 17;
    if cells < LEAST {
        return false;
    }
    ensure();
    rayon::current_num_threads() >= 2
}

/// What a lock guards, for locks that nobody holds while panicking.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts rayon's global pool with as many threads as the system provides. False if there are none.
fn start_shared() -> bool {
    let asked = std::env::var("RAYON_NUM_THREADS");
    let asked = asked
        .ok()
        .and_then(|text| text.parse().ok())
        .filter(|&n| n > 0);
    let wanted = asked.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    // Start the threads first, then a pool of that number: a pool that fails to start cannot be
    // started again with fewer threads.
    let mut waiting = Vec::new();
    for _ in 0..wanted {
        let (sender, receiver) = mpsc::channel::<ThreadBuilder>();
        let worker = move || {
            // Nothing is sent if the application has started a pool already.
            if let Ok(worker) = receiver.recv() {
                worker.run();
            }
        };
        match thread::Builder::new().spawn(worker) {
            Ok(_) => waiting.push(sender),
            Err(_) => break,
        }
    }
    let count = waiting.len();
    if count > 0 {
        let pool = ThreadPoolBuilder::new().num_threads(count);
        let pool = pool.spawn_handler(|worker| {
            let sender = waiting.pop().ok_or(io::ErrorKind::WouldBlock)?;
            sender
                .send(worker)
                .map_err(|_| io::ErrorKind::WouldBlock.into())
        });
        // An error means that there is a pool already, which will do.
        let _ = pool.build_global();
    }
    count > 0
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    #[test]
    fn parallel_work_finds_threads() {
        super::ensure();
        let sum: u32 = (0..1000u32).into_par_iter().sum();
        assert_eq!(sum, 499_500);
        // A second time, and from within the pool.
        rayon::join(super::ensure, super::ensure);
    }
}
