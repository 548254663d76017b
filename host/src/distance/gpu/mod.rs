//! Costs by kernels: not yet.

use super::real::Real;
use super::search::Search;
use crate::error::{Result, Unavailable};
use crate::gpu::Gpu;
use crate::progress::Progress;

/// As [`costs`](super::cpu::costs), on a device.
///
/// # Errors
/// [`Unavailable::Job`].
pub(crate) fn costs<P: Real, G: Gpu>(
    _gpu: &G,
    _search: &Search<P>,
    _progress: &Progress<'_>,
) -> Result<Vec<P>> {
    Err(Unavailable::Job {
        job: "cost distances",
        backend: G::BACKEND,
    }
    .into())
}
