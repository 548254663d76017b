//! Borders by tiles.
//!
//! | file | stage | kernels of `trazar_kernels::trace::tiles` |
//! |---|---|---|
//! | `track.rs` | preprocessing; tracking in each rectangle | `sides`, `track` |
//! | `connect.rs` | rectangles joined in pairs | `connect` |
//! | `gather.rs` | borders in order of discovery, and where their steps go | `gather` |
//! | `points.rs` | the points of the borders that are kept | `points` |

mod connect;
mod gather;
mod points;
mod track;

use trazar_kernels::trace::tiles::gather::{Position, Turns};
use trazar_kernels::trace::tiles::grid::TileGrid;
use trazar_kernels::trace::tiles::track::Fragment;

use super::{Arranged, BorderBuffers, Work};
use crate::Result;
use crate::gpu::Gpu;
use crate::trace::TileCounts;

pub(super) use points::write;

/// By default, rectangles have at least this many pixels along a side, and fewer than twice as
/// many: a large image then has more rectangles than a GPU has warps.
const DEFAULT_SIDE: u32 = 64;

/// Borders, in pieces.
pub(super) struct TileBorders<G: Gpu> {
    pub(super) found: BorderBuffers<G>,
    /// The codes of steps, fragment by fragment.
    steps: G::Buffer<u8>,
    fragments: G::Buffer<Fragment>,
    positions: G::Buffer<Position>,
    /// Empty if every step is a point.
    turns: G::Buffer<Turns>,
}

/// Finds all borders, with `tiles` rectangles along x and y, or a number of them that suits the
/// image's size.
pub(super) fn find<G: Gpu>(
    work: &Work<'_, G>,
    tiles: TileCounts,
    queued: &mut dyn FnMut(&'static str) -> Result<()>,
) -> Result<TileBorders<G>> {
    let raster = work.raster;
    let (columns, rows) = tiles.for_image(raster.width, raster.height, DEFAULT_SIDE)?;
    let grid = TileGrid::new(raster, columns, rows);
    let mut tracked = track::track(work, grid, queued)?;
    connect::connect(work.gpu, &mut tracked, raster, grid)?;
    queued("connection")?;
    let borders = gather::gather(work, tracked)?;
    queued("discoveries")?;
    Ok(borders)
}
