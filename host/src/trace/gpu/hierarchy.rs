//! The order and the hierarchy of borders.

use trazar_kernels::trace::borders::NO_BORDER;
use trazar_kernels::trace::hierarchy::{
    Forest, ForestMut, Rows, choose_parents, largest_key, link_euler_tour, link_parents,
    link_siblings, place_by_rank, resolve_parents, write_rows,
};
use trazar_kernels::trace::options::Levels;

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

    let mut links = gpu.alloc(n)?;
    let mut keys = gpu.alloc(n)?;
    let mut borders = gpu.alloc(n)?;
    // SAFETY: one element per border each; the kernels run in their order, and there are fewer than
    // 2³¹ - 1 borders, because each has a node of its own.
    unsafe {
        link_parents::launch_threads(
            on,
            n,
            found.kinds.view(),
            found.previous_in_row.view(),
            links.view_mut(),
        )?;
        resolve_parents::launch_threads(on, n, links.view_mut())?;
        choose_parents::launch_threads(
            on,
            n,
            found.kinds.view(),
            links.view(),
            keys.view_mut(),
            borders.view_mut(),
            levels,
        )?;
    }
    // planted: sort-passes
    Sorter::new(gpu, count)?.sort_pairs(&mut keys, &mut borders, largest_key(count))?;

    let mut parents = gpu.alloc(n)?;
    let mut first_children = gpu.alloc(n + 1)?;
    // planted: first-child-fill
    first_children.fill(NO_BORDER)?;
    let mut next = gpu.alloc(n)?;
    let mut previous = gpu.alloc(n)?;
    let mut places = gpu.alloc(n)?;
    let mut kept = gpu.alloc_zeroed(1)?;
    // SAFETY: lengths and contents are those that the kernel asks for.
    unsafe {
        link_siblings::launch_threads(
            on,
            n,
            keys.view(),
            borders.view(),
            ForestMut {
                parents: parents.view_mut(),
                first_children: first_children.view_mut(),
                next: next.view_mut(),
                previous: previous.view_mut(),
            },
            places.view_mut(),
            kept.view_mut(),
        )?;
    }
    let forest = Forest {
        parents: parents.view(),
        first_children: first_children.view(),
        next: next.view(),
        previous: previous.view(),
    };
    if matches!(retrieval, Retrieval::Ccomp | Retrieval::Tree) {
        let mut tour = gpu.alloc(2 * n)?;
        // SAFETY: two elements per border, of which none is left out.
        unsafe {
            link_euler_tour::launch_threads(
                on,
                // planted: tour-grid
                2 * n,
                forest,
                tour.view_mut(),
            )?;
        }
        let tour = rank_lists(gpu, tour)?;
        // SAFETY: as above; the tour has been ranked.
        unsafe { place_by_rank::launch_threads(on, n, tour.view(), places.view_mut())? };
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
    // SAFETY: places are below `kept`; lengths are those that the kernel asks for.
    unsafe {
        write_rows::launch_threads(
            on,
            n,
            found.kinds.view(),
            found.lengths.view(),
            forest,
            places.view(),
            Rows {
                kinds: kinds.view_mut(),
                links: hierarchy.view_mut(),
                lengths: offsets.view_mut(),
            },
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
