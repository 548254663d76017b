//! The order and the hierarchy of borders.

use std::mem::swap;

use trazar_kernels::primitives::sort;
use trazar_kernels::trace::components::blocks;
use trazar_kernels::trace::hierarchy::{self, Levels, NO_BORDER};

use super::{Arranged, Found, first, scan};
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer, Scanner};
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
            found.befores.view(),
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
    sort_pairs(gpu, &mut keys, &mut borders, hierarchy::largest_key(count))?;

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
            hierarchy::start_tour::launch(
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
        let tour = jump(gpu, tour)?;
        // SAFETY: as above; the tour's steps jump past its end.
        unsafe {
            hierarchy::place_by_tour::launch(on, grid, tour.view(), places.view_mut(), count)?;
        }
    }

    // Only without levels are borders left out.
    let kept = match retrieval {
        Retrieval::External => first(&kept)?,
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
    let points = scan(gpu, &mut offsets)?;
    Ok(Arranged {
        places,
        kinds,
        hierarchy,
        offsets,
        points,
    })
}

/// Makes every step of a tour jump past its end, and count all that it passes.
pub(super) fn jump<G: Gpu>(gpu: &G, mut tour: G::Buffer<u64>) -> Result<G::Buffer<u64>> {
    let n = tour.len() as u32;
    let on = &gpu.launcher();
    let mut jumped = gpu.alloc(n as usize)?;
    // A jump covers twice as many steps as the one before it.
    // planted: jump-count
    let rounds = u32::BITS - n.leading_zeros();
    if n <= hierarchy::SHORT_TOUR {
        // SAFETY: both have as many elements, and the number of rounds is even.
        unsafe {
            hierarchy::rank_tour::launch(
                on,
                1,
                tour.view_mut(),
                jumped.view_mut(),
                rounds.next_multiple_of(2),
            )?;
        }
        return Ok(tour);
    }
    for _ in 0..rounds {
        // SAFETY: both have as many elements.
        unsafe {
            hierarchy::jump_tour::launch(on, blocks(n), tour.view(), jumped.view_mut())?;
        }
        swap(&mut tour, &mut jumped);
    }
    Ok(tour)
}

/// Sorts pairs by keys of which none is above `largest`; equal keys keep their order.
fn sort_pairs<G: Gpu>(
    gpu: &G,
    keys: &mut G::Buffer<u32>,
    values: &mut G::Buffer<u32>,
    largest: u32,
) -> Result<()> {
    let n = keys.len() as u32;
    let on = &gpu.launcher();
    let mut new_keys = gpu.alloc(n as usize)?;
    let mut new_values = gpu.alloc(n as usize)?;
    let mut counts = gpu.alloc(sort::counts_len(n) as usize)?;
    let mut scanner = Scanner::new(gpu, sort::counts_len(n))?;
    for pass in 0..sort::passes(largest) {
        let shift = pass * sort::DIGIT_BITS;
        // SAFETY: lengths and grids as the kernels ask; the counts are scanned between the two.
        unsafe {
            sort::count_digits::launch(
                on,
                sort::tiles(n),
                keys.view(),
                counts.view_mut(),
                n,
                shift,
            )?;
            scanner.scan_in_place(&mut counts)?;
            sort::scatter::launch(
                on,
                sort::tiles(n),
                keys.view(),
                values.view(),
                counts.view(),
                new_keys.view_mut(),
                new_values.view_mut(),
                n,
                shift,
            )?;
        }
        swap(keys, &mut new_keys);
        swap(values, &mut new_values);
    }
    Ok(())
}
