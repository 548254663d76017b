//! How launches run.

use super::device::Limits;
use super::schedule::Schedule;

/// How launches run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) seed: u64,
    pub(super) schedule: Schedule,
    pub(super) limits: Limits,
    /// Blocks in flight at once; `None` if the device's limits decide.
    pub(super) resident_blocks: Option<u32>,
    pub(super) step_limit: u64,
    /// Whether memory is weak; `None` if the seed decides.
    pub(super) weak_memory: Option<bool>,
}
