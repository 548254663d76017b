//! The threads that parallel work runs on.

use std::io;
use std::sync::{OnceLock, mpsc};
use std::thread;

use rayon::{ThreadBuilder, ThreadPoolBuilder};

/// Sees to it that parallel work finds threads to run on, if only the calling one. To call before
/// any use of `rayon`, which panics where the system gives it fewer threads than it wants.
pub(crate) fn ensure() {
    static SHARED: OnceLock<bool> = OnceLock::new();
    if rayon::current_thread_index().is_some() || *SHARED.get_or_init(start_shared) {
        return;
    }
    // A pool of this thread alone, which stays one for good: where not one thread can be had, the
    // calling threads do their work themselves, each its own.
    let pool = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    if let Ok(pool) = pool.build() {
        std::mem::forget(pool);
    }
}

/// Starts rayon's global pool with as many threads as can be had; false if there are none.
fn start_shared() -> bool {
    let asked = std::env::var("RAYON_NUM_THREADS");
    let asked = asked
        .ok()
        .and_then(|text| text.parse().ok())
        .filter(|&n| n > 0);
    let wanted = asked.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    // First the threads, then a pool of as many: a pool that fails to start cannot be started
    // again with fewer.
    let mut waiting = Vec::new();
    for _ in 0..wanted {
        let (sender, receiver) = mpsc::channel::<ThreadBuilder>();
        let worker = move || {
            // None comes if there is a pool already, the application's.
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
        // An error says that there is a pool already: as good.
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
        // Again, and from within.
        rayon::join(super::ensure, super::ensure);
    }
}
