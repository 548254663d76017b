//! Numbers of threads.

/// Runs `work` on `count` threads of its own.
///
/// # Panics
/// The threads cannot be started.
pub fn on_threads<T: Send>(count: usize, work: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(count);
    pool.build().unwrap().install(work)
}
