//! Times by the host's clock.

use std::time::Instant;

use trazar::Result;

/// Milliseconds per second.
pub const MS_PER_S: f64 = 1e3;

/// The median of some times.
pub fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The median time of `work` in milliseconds, after one run that is not counted.
///
/// # Errors
/// Those of `work`.
pub fn median_ms(repeats: usize, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    work()?;
    let mut times = Vec::with_capacity(repeats);
    for _ in 0..repeats {
        let started = Instant::now();
        work()?;
        times.push(started.elapsed().as_secs_f64() * MS_PER_S);
    }
    Ok(median(times))
}
