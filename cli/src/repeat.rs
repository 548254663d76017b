//! Repeating the work, as `--repeat` says.

use std::num::NonZeroU32;
use std::time::Instant;

/// Runs `work` `times` times. Returns the last result, and the seconds of the fastest run.
pub(crate) fn fastest<T, E>(
    times: NonZeroU32,
    mut work: impl FnMut() -> Result<T, E>,
) -> Result<(T, f64), E> {
    let mut run = || {
        let started = Instant::now();
        let result = work();
        let seconds = started.elapsed().as_secs_f64();
        result.map(|result| (result, seconds))
    };
    let (mut result, mut best) = run()?;
    for _ in 1..times.get() {
        // Freeing the previous result is not part of the work.
        drop(result);
        let (next, seconds) = run()?;
        result = next;
        best = best.min(seconds);
    }
    Ok((result, best))
}
