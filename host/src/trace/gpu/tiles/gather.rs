//! Gathering: closed borders in order of discovery, and where their steps go.

use trazar_kernels::trace::options::Approximation;
use trazar_kernels::trace::tiles::gather::{
    ClosedBorders, Fragments, PassedSides, count_turns, find_previous_in_row, list_borders,
    mark_discoveries, rank_fragments, rank_turns,
};

use super::track::Tracked;
use super::{BorderBuffers, TileBorders, Work};
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer, OnGpu, scan_counts};

/// Puts the borders, all of which are closed, into order of discovery, and finds where their steps
/// are.
pub(super) fn gather<G: Gpu>(work: &Work<'_, G>, tracked: Tracked<G>) -> Result<TileBorders<G>> {
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
    let n = fragments.len();
    // planted: rectangle-discovered
    let mut discovered = gpu.alloc_zeroed(passed_by.len())?;
    // SAFETY: one element per fragment, and one per vertical side, as the kernel asks.
    unsafe { mark_discoveries::launch_threads(on, n, keys.view(), discovered.view_mut())? };
    let count = scan_counts(gpu, &mut discovered)?;
    let only_turns = work.approximation == Approximation::Simple;
    let mut leaders = gpu.alloc(count as usize)?;
    let mut positions = gpu.alloc(n)?;
    let mut turns = gpu.alloc(if only_turns { n } else { 0 })?;
    let mut found = BorderBuffers::alloc(&OnGpu(gpu.clone()), &count)?;
    // SAFETY: one element per fragment, border, side or word, as the kernels ask; they run in
    // order.
    unsafe {
        list_borders::launch_threads(on, n, keys.view(), discovered.view(), leaders.view_mut())?;
        let all_fragments = Fragments {
            steps: steps.view(),
            fragments: fragments.view(),
        };
        let borders = ClosedBorders {
            next: next.view(),
            keys: keys.view(),
            leaders: leaders.view(),
        };
        rank_fragments::launch_threads(
            on,
            count,
            all_fragments,
            borders,
            positions.view_mut(),
            found.kinds.view_mut(),
            found.lengths.view_mut(),
            work.geometry,
        )?;
        find_previous_in_row::launch_threads(
            on,
            count,
            fragments.view(),
            borders,
            positions.view(),
            PassedSides {
                before: sides_before.view(),
                passed_by: passed_by.view(),
            },
            found.previous_in_row.view_mut(),
            work.raster,
        )?;
        if only_turns {
            count_turns::launch_threads(on, n, all_fragments, positions.view(), turns.view_mut())?;
            rank_turns::launch_threads(
                on,
                count,
                borders,
                turns.view_mut(),
                found.lengths.view_mut(),
            )?;
        }
    }
    Ok(TileBorders {
        found,
        steps,
        fragments,
        positions,
        turns,
    })
}
