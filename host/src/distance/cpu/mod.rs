//! Costs, allocation and directions on the processor.

mod buckets;
mod dijkstra;
mod near;
mod queue;
pub(crate) mod ties;
mod tiles;

use super::options::DistanceAlgorithm;
use super::real::Real;
use super::search::Search;
use crate::error::Result;
use crate::progress::Progress;

/// The algorithm that is faster for rasters of that many cells.
pub(crate) fn usual(cells: u64) -> DistanceAlgorithm {
    if crate::threads::are_worth_waking(cells) {
        DistanceAlgorithm::Tiles
    } else {
        DistanceAlgorithm::Buckets
    }
}

/// The cost of every cell, in an array with the margin of `search`; infinity where nothing reaches.
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
/// [`Error::Cancelled`](crate::Error::Cancelled).
pub(crate) fn costs<P: Real>(
    search: &Search<P>,
    algorithm: DistanceAlgorithm,
    progress: &Progress<'_>,
) -> Result<Vec<P>> {
    match algorithm {
        DistanceAlgorithm::Dijkstra => dijkstra::costs(search, progress),
        DistanceAlgorithm::Buckets => buckets::costs(search, progress),
        DistanceAlgorithm::Tiles => tiles::costs(search, progress),
    }
}
