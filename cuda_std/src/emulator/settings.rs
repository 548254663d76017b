//! How launches run.

use super::device::Limits;
use super::schedule::Schedule;

/// How launches run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) seed: u64,
    pub(super) schedule: Schedule,
    pub(super) limits: Limits,
    /// Blocks that are in flight at once; `None` leaves it to the limits.
    pub(super) resident_blocks: Option<u32>,
    pub(super) step_limit: u64,
    /// Whether memory is weak; `None` leaves it to the seed.
    pub(super) weak_memory: Option<bool>,
}
