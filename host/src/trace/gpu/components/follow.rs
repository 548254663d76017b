//! The points of borders.

use trazar_kernels::primitives::ranked_bits::{RankedBits, bit_words};
use trazar_kernels::trace::components::follow::{
    Measures, RankedPieces, Stretches, cut_cycles, list_stretches, mark_nodes, measure_stretches,
    write_stretches,
};

use super::ComponentBorders;
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer, rank_lists, scan_counts};
use crate::trace::gpu::{Arranged, Work};

/// Writes the points of the borders that are kept.
pub(in crate::trace::gpu) fn follow<G: Gpu>(
    work: &Work<'_, G>,
    borders: &ComponentBorders<G>,
    places: &G::Buffer<u32>,
    arranged: &Arranged<G>,
) -> Result<G::Buffer<i32>> {
    let gpu = work.gpu;
    let on = &gpu.launcher();
    let n = borders.nodes.count();
    let mut points = gpu.alloc(arranged.points as usize * 2)?;
    // planted: follow-lone-point
    if arranged.points == 0 {
        return Ok(points);
    }

    let mut marks = gpu.alloc(bit_words(n) as usize)?;
    let mut ranks = gpu.alloc(bit_words(n) as usize)?;
    // SAFETY: one bit per node, as the kernel asks.
    unsafe {
        mark_nodes::launch_threads(
            on,
            n,
            borders.nodes.entries.view(),
            marks.view_mut(),
            ranks.view_mut(),
        )?;
    }
    let stretch_count = scan_counts(gpu, &mut ranks)?;
    let marks = || RankedBits {
        bits: marks.view(),
        ranks: ranks.view(),
    };
    let mut stretches = gpu.alloc(stretch_count as usize)?;
    let mut list = gpu.alloc(stretch_count as usize)?;
    // planted: is-first-zero
    let mut is_first = gpu.alloc_zeroed(stretch_count as usize)?;
    let border_count = borders.starts.len();
    let mut heads = gpu.alloc(border_count)?;
    let threads = stretch_count + border_count as u32;
    // SAFETY: `stretch_count` is the sum of the marks' counts; lengths are those that the kernels
    // ask for, and the kernels run in order.
    unsafe {
        if stretch_count > 0 {
            list_stretches::launch_threads(on, n, marks(), stretches.view_mut(), n)?;
        }
        measure_stretches::launch_threads(
            on,
            threads,
            work.image(),
            borders.nodes.list(),
            Stretches {
                marks: marks(),
                nodes: stretches.view(),
            },
            borders.starts.view(),
            Measures {
                list: list.view_mut(),
                is_first: is_first.view_mut(),
                heads: heads.view_mut(),
            },
            work.approximation,
        )?;
        if stretch_count > 0 {
            cut_cycles::launch_threads(on, stretch_count, list.view_mut(), is_first.view())?;
            list = rank_lists(gpu, list)?;
        }
        write_stretches::launch_threads(
            on,
            threads,
            work.image(),
            borders.nodes.entries.view(),
            borders.joined.view(),
            RankedPieces {
                stretches: stretches.view(),
                list: list.view(),
                starts: borders.starts.view(),
                heads: heads.view(),
            },
            arranged.destination(places, &mut points),
            work.approximation,
        )?;
    }
    Ok(points)
}
