//! The order and the hierarchy of borders.

use trazar_kernels::trace::components::blocks;
use trazar_kernels::trace::hierarchy::{self, Levels, NO_BORDER};

use super::{Arranged, Found};
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer, Sorter, rank_lists, read_first, scan_counts};
use crate::trace::Retrieval;

/// Puts the borders that `retrieval` keeps into order.
pub(super) fn arrange<G: Gpu>(
    gpu: &G,
    found: &Found<G>,
    retrieval: Retrieval,
) -> Result<Arranged<G>> {
    let count = found.count;
    let n = count as usize;
    if count == 0 {
        return Ok(Arranged {
            places: gpu.alloc(0)?,
            kinds: gpu.alloc(0)?,
            hierarchy: gpu.alloc(0)?,
            offsets: gpu.alloc_zeroed(1)?,
            points: 0,
        });
    }
    let levels = match retrieval {
        Retrieval::External => Levels::External,
        Retrieval::List => Levels::List,
        Retrieval::Ccomp => Levels::Ccomp,
        Retrieval::Tree => Levels::Tree,
    };
    let on = &gpu.launcher();
    let grid = blocks(count);

    let mut links = gpu.alloc(n)?;
    let mut keys = gpu.alloc(n)?;
    let mut borders = gpu.alloc(n)?;
    // SAFETY: an element for each border each; the kernels run in their order, and of nodes there are fewer than 2³¹.
    unsafe {
        hierarchy::link_parents::launch(
            on,
            grid,
            found.kinds.view(),
            found.previous_in_row.view(),
            links.view_mut(),
            count,
        )?;
        hierarchy::resolve_parents::launch(on, grid, links.view_mut(), count)?;
        hierarchy::choose_parents::launch(
            on,
            grid,
            found.kinds.view(),
            links.view(),
            keys.view_mut(),
            borders.view_mut(),
            count,
            levels as u32,
        )?;
    }
    // planted: sort-passes
    Sorter::new(gpu, count)?.sort_pairs(&mut keys, &mut borders, hierarchy::largest_key(count))?;

    let mut parents = gpu.alloc(n)?;
    let mut first_children = gpu.alloc(n + 1)?;
    // planted: first-child-fill
    first_children.fill(NO_BORDER)?;
    let mut next = gpu.alloc(n)?;
    let mut previous = gpu.alloc(n)?;
    let mut places = gpu.alloc(n)?;
    let mut kept = gpu.alloc_zeroed(1)?;
    // SAFETY: lengths and contents as the kernel asks.
    unsafe {
        hierarchy::link_siblings::launch(
            on,
            grid,
            keys.view(),
            borders.view(),
            parents.view_mut(),
            first_children.view_mut(),
            next.view_mut(),
            previous.view_mut(),
            places.view_mut(),
            kept.view_mut(),
            count,
        )?;
    }
    if matches!(retrieval, Retrieval::Ccomp | Retrieval::Tree) {
        let mut tour = gpu.alloc(2 * n)?;
        // SAFETY: two elements for each border, of which none is left out.
        unsafe {
            hierarchy::link_euler_tour::launch(
                on,
                // planted: tour-grid
                blocks(2 * count),
                parents.view(),
                first_children.view(),
                next.view(),
                tour.view_mut(),
                count,
            )?;
        }
        let tour = rank_lists(gpu, tour)?;
        // SAFETY: as above; the tour has been ranked.
        unsafe {
            hierarchy::place_by_rank::launch(on, grid, tour.view(), places.view_mut(), count)?;
        }
    }

    // Only without levels are borders left out.
    let kept = match retrieval {
        Retrieval::External => read_first(&kept)?,
        _ => count,
    } as usize;
    let mut kinds = gpu.alloc(kept)?;
    let mut hierarchy = gpu.alloc(4 * kept)?;
    // planted: offsets-zero
    let mut offsets = gpu.alloc_zeroed(kept + 1)?;
    // SAFETY: places are below `kept`; lengths as the kernel asks.
    unsafe {
        hierarchy::write_rows::launch(
            on,
            grid,
            found.kinds.view(),
            found.lengths.view(),
            parents.view(),
            first_children.view(),
            next.view(),
            previous.view(),
            places.view(),
            kinds.view_mut(),
            hierarchy.view_mut(),
            offsets.view_mut(),
            count,
        )?;
    }
    let points = scan_counts(gpu, &mut offsets)?;
    Ok(Arranged {
        places,
        kinds,
        hierarchy,
        offsets,
        points,
    })
}
