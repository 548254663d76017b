//! How launches run.

use super::device::Limits;
use super::schedule::Schedule;
use crate::launch::Dim3;

/// How launches run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) seed: u64,
    pub(super) schedule: Schedule,
    pub(super) limits: Limits,
    /// Number of blocks in flight at once; `None` if the device's limits decide.
    pub(super) resident_blocks: Option<u32>,
    pub(super) step_limit: u64,
    /// Whether memory is weak; `None` if the seed decides.
    pub(super) weak_memory: Option<bool>,
}

impl Settings {
    /// The number of blocks that are resident at once, at least 1.
    pub(super) fn resident_blocks(&self, block: Dim3, dynamic_shared: u32) -> u32 {
        let threads = block.count().max(1) as u32;
        self.resident_blocks
            .unwrap_or_else(|| self.limits.resident_blocks(threads, dynamic_shared))
    }
}
