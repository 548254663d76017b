//! The points of borders by components.

use trazar_kernels::trace::components::follow as kernels;
use trazar_kernels::trace::components::{bit_words, blocks};

use super::ComponentBorders;
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer, rank_lists, scan_counts};
use crate::trace::gpu::{Arranged, Work};

/// Writes the points of the borders that are kept.
pub(in crate::trace::gpu) fn follow<G: Gpu>(
    work: &Work<'_, G>,
    borders: &ComponentBorders<G>,
    arranged: &Arranged<G>,
) -> Result<G::Buffer<i32>> {
    let Work {
        gpu,
        image,
        labels,
        raster,
        edges,
        simple,
    } = *work;
    let on = &gpu.launcher();
    let count = borders.found.count;
    let n = borders.nodes.count();
    let mut points = gpu.alloc(arranged.points as usize * 2)?;
    if arranged.points == 0 {
        return Ok(points);
    }

    let mut marks = gpu.alloc(bit_words(n) as usize)?;
    let mut ranks = gpu.alloc(bit_words(n) as usize)?;
    // SAFETY: a bit for each node, as the kernel asks.
    unsafe {
        kernels::mark_nodes::launch(
            on,
            blocks(n),
            borders.nodes.entries.view(),
            marks.view_mut(),
            ranks.view_mut(),
            n,
        )?;
    }
    let stretch_count = scan_counts(gpu, &mut ranks)?;
    let mut stretches = gpu.alloc(stretch_count as usize)?;
    let mut tour = gpu.alloc(stretch_count as usize)?;
    // planted: is-first-zero
    let mut is_first = gpu.alloc_zeroed(stretch_count as usize)?;
    let mut heads = gpu.alloc(count as usize)?;
    let threads = stretch_count + count;
    // SAFETY: the sum of the marks' counts; lengths as the kernels ask, which run in their order.
    unsafe {
        if stretch_count > 0 {
            kernels::list_stretches::launch(
                on,
                blocks(n),
                marks.view(),
                ranks.view(),
                stretches.view_mut(),
                n,
            )?;
        }
        kernels::measure_stretches::launch(
            on,
            blocks(threads),
            image.view(),
            labels.view(),
            borders.nodes.first.view(),
            borders.nodes.entries.view(),
            marks.view(),
            ranks.view(),
            stretches.view(),
            borders.starts.view(),
            tour.view_mut(),
            is_first.view_mut(),
            heads.view_mut(),
            raster,
            edges,
            simple,
        )?;
        if stretch_count > 0 {
            kernels::cut_cycles::launch(
                on,
                blocks(stretch_count),
                tour.view_mut(),
                is_first.view(),
            )?;
            tour = rank_lists(gpu, tour)?;
        }
        kernels::write_stretches::launch(
            on,
            blocks(threads),
            image.view(),
            labels.view(),
            borders.nodes.entries.view(),
            borders.parents.view(),
            borders.roots.view(),
            borders.ranks.view(),
            borders.starts.view(),
            heads.view(),
            stretches.view(),
            tour.view(),
            arranged.places.view(),
            arranged.offsets.view(),
            points.view_mut(),
            raster,
            edges,
            simple,
        )?;
    }
    Ok(points)
}
