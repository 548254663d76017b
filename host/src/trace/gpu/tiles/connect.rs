//! Connection: neighbouring rectangles are joined in pairs until one is left.

use std::mem::swap;

use trazar_kernels::trace::pixels::Raster;
use trazar_kernels::trace::tiles::connect::{self as kernel, LinksMut, OpenLists};
use trazar_kernels::trace::tiles::grid::{NONE, TileGrid};
use trazar_kernels::trace::tiles::track::TrackedBuffers;

use super::track::Tracked;
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer};

/// Joins the rectangles until one is left, in which every border is closed.
pub(super) fn connect<G: Gpu>(
    gpu: &G,
    tracked: &mut Tracked<G>,
    raster: Raster,
    grid: TileGrid,
) -> Result<()> {
    let Tracked {
        borders: TrackedBuffers {
            next, keys, open, ..
        },
        first_open,
        open_counts,
        ..
    } = tracked;
    let mut joined = gpu.alloc(open.len())?;
    let entries = grid.stages().map(|stage| grid.entries_len(raster, stage));
    let mut entries = gpu.alloc(entries.max().unwrap_or(0))?;
    entries.fill(NONE)?;
    for stage in grid.stages() {
        // SAFETY: the lengths are those that the kernel asks for; stages follow each other as the
        // grid says, with the lists exchanged, and each leaves the entries as they were.
        unsafe {
            kernel::connect::launch_threads(
                &gpu.launcher(),
                grid.pairs(stage),
                OpenLists {
                    open: open.view(),
                    joined: joined.view_mut(),
                    first: first_open.view(),
                    counts: open_counts.view_mut(),
                },
                LinksMut {
                    next: next.view_mut(),
                    keys: keys.view_mut(),
                },
                entries.view_mut(),
                raster,
                grid,
                stage,
            )?;
        }
        // planted: rectangle-stages
        swap(open, &mut joined);
    }
    Ok(())
}
