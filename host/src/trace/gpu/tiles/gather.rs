//! Gathering: closed borders in order of discovery, and where their steps go.

use trazar_kernels::trace::components::blocks;
use trazar_kernels::trace::tiles::gather as kernels;
use trazar_kernels::trace::tiles::grid::TileGrid;

use super::track::Tracked;
use super::{Found, TileBorders, Work};
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer, scan_counts};

/// Puts the borders, all of which are closed, into the order of their discovery, and finds where their steps are.
pub(super) fn gather<G: Gpu>(
    work: &Work<'_, G>,
    tracked: Tracked<G>,
    grid: TileGrid,
) -> Result<TileBorders<G>> {
    let gpu = work.gpu;
    let on = &gpu.launcher();
    let Tracked {
        steps,
        fragments,
        next,
        keys,
        sides_before,
        passed_by,
        ..
    } = tracked;
    let n = fragments.len() as u32;
    // planted: rectangle-discovered
    let mut discovered = gpu.alloc_zeroed(passed_by.len())?;
    if n > 0 {
        // SAFETY: an element a fragment, and a vertical side, as the kernel asks.
        unsafe {
            kernels::mark_discoveries::launch(
                on,
                blocks(n),
                keys.view(),
                discovered.view_mut(),
                n,
            )?;
        }
    }
    let count = scan_counts(gpu, &mut discovered)?;
    let borders = count as usize;
    let mut leaders = gpu.alloc(borders)?;
    let mut positions = gpu.alloc(n as usize)?;
    let mut turns = gpu.alloc(if work.simple == 0 { 0 } else { n as usize })?;
    let mut kinds = gpu.alloc(borders)?;
    let mut lengths = gpu.alloc(borders)?;
    let mut previous_in_row = gpu.alloc(borders)?;
    if n > 0 {
        // SAFETY: an element a fragment or a border each, as the kernels ask, which run in their order. Where there are
        // fragments, there are borders.
        unsafe {
            kernels::list_borders::launch(
                on,
                blocks(n),
                keys.view(),
                discovered.view(),
                leaders.view_mut(),
                n,
            )?;
            kernels::rank_fragments::launch(
                on,
                blocks(count),
                steps.view(),
                fragments.view(),
                next.view(),
                keys.view(),
                leaders.view(),
                positions.view_mut(),
                kinds.view_mut(),
                lengths.view_mut(),
                count,
                grid.edges,
            )?;
            kernels::find_previous_in_row::launch(
                on,
                blocks(count),
                fragments.view(),
                keys.view(),
                leaders.view(),
                positions.view(),
                sides_before.view(),
                passed_by.view(),
                previous_in_row.view_mut(),
                count,
                grid,
            )?;
            if work.simple != 0 {
                kernels::count_turns::launch(
                    on,
                    blocks(n),
                    steps.view(),
                    fragments.view(),
                    positions.view(),
                    turns.view_mut(),
                    n,
                )?;
                kernels::rank_turns::launch(
                    on,
                    blocks(count),
                    next.view(),
                    leaders.view(),
                    turns.view_mut(),
                    lengths.view_mut(),
                    count,
                )?;
            }
        }
    }
    Ok(TileBorders {
        found: Found {
            count,
            kinds,
            lengths,
            previous_in_row,
        },
        grid,
        steps,
        fragments,
        positions,
        turns,
    })
}
