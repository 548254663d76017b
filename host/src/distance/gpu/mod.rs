//! Costs by kernels: the search's arrays are copied to the device as they are, one launch finds all
//! costs, and they are copied back.

mod tiles;

use super::real::Real;
use super::search::Search;
use crate::error::Result;
use crate::gpu::Gpu;
use crate::progress::Progress;

pub(crate) use tiles::{DeviceReal, DeviceSearch};

/// As [`costs`](super::cpu::costs), on a device. Takes 8 bytes of its memory per cell in f32, and
/// 16 in f64.
///
/// # Errors
/// `Error::Cuda`, [`Error::Emulator`](crate::Error::Emulator),
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
/// [`Error::Cancelled`](crate::Error::Cancelled).
pub(crate) fn costs<P: Real + DeviceReal, G: Gpu>(
    gpu: &G,
    search: &Search<P>,
    progress: &Progress<'_>,
) -> Result<Vec<P>> {
    progress.report(0, 1)?;
    let mut search = DeviceSearch::upload(gpu, search)?;
    search.find()?;
    search.to_host()
}
