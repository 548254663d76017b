//! Totals of what was emulated.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Totals of what this process has emulated so far.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Each kernel's launches. Each launch is a schedule of its own.
    pub kernels: BTreeMap<&'static str, u64>,
    /// Threads of all launches.
    pub threads: u64,
    /// Steps of their schedulers.
    pub steps: u64,
    /// Steps of the longest launch.
    pub most_steps: u64,
    /// Launches whose memory was weak.
    pub weak_launches: u64,
    /// Loads that returned stale values there.
    pub stale_loads: u64,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "emulated {} kernels under {} schedules: {} threads, {} steps, {} at most in one; \
             {} with weak memory: {} stale loads",
            self.kernels.len(),
            self.kernels.values().sum::<u64>(),
            self.threads,
            self.steps,
            self.most_steps,
            self.weak_launches,
            self.stale_loads
        )
    }
}

static TALLY: Mutex<Tally> = Mutex::new(Tally {
    kernels: BTreeMap::new(),
    threads: 0,
    steps: 0,
    most_steps: 0,
    weak_launches: 0,
    stale_loads: 0,
});

/// The totals so far, launches that ended with a fault included.
#[must_use]
pub fn tally() -> Tally {
    TALLY.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Adds a launch of `kernel` that has ended. `stale_loads` is `None` unless its memory was weak.
pub(super) fn add(kernel: &'static str, threads: u64, steps: u64, stale_loads: Option<u64>) {
    let mut tally = TALLY.lock().unwrap_or_else(PoisonError::into_inner);
    *tally.kernels.entry(kernel).or_default() += 1;
    tally.threads += threads;
    tally.steps += steps;
    tally.most_steps = tally.most_steps.max(steps);
    tally.weak_launches += u64::from(stale_loads.is_some());
    tally.stale_loads += stale_loads.unwrap_or(0);
}
