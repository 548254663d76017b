//! Connection: neighbouring rectangles are joined in pairs until one is left.

use std::mem::swap;

use trazar_kernels::trace::tiles::connect::connect as connect_kernel;
use trazar_kernels::trace::tiles::grid::{NONE, TileGrid};

use super::track::Tracked;
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer};

/// Joins the rectangles until one is left, in which every border is closed.
pub(super) fn connect<G: Gpu>(gpu: &G, tracked: &mut Tracked<G>, grid: TileGrid) -> Result<()> {
    let Tracked {
        next,
        keys,
        open,
        first_open,
        open_counts,
        ..
    } = tracked;
    let mut joined = gpu.alloc(open.len())?;
    let most_entries = grid.stages().map(|stage| grid.entries_len(stage)).max();
    let mut entries = gpu.alloc(most_entries.unwrap_or(0))?;
    entries.fill(NONE)?;
    for stage in grid.stages() {
        // SAFETY: the lengths are those that the kernel asks for; stages follow each other as the grid says, with the lists
        // exchanged, and each leaves the entries as they were.
        unsafe {
            connect_kernel::launch(
                &gpu.launcher(),
                grid.pairs(stage),
                open.view(),
                joined.view_mut(),
                first_open.view(),
                open_counts.view_mut(),
                entries.view_mut(),
                next.view_mut(),
                keys.view_mut(),
                grid,
                stage,
            )?;
        }
        // planted: rectangle-stages
        swap(open, &mut joined);
    }
    Ok(())
}
