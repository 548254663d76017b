//! Component analysis and starting points.

use trazar_kernels::trace::components::join::{flatten_nodes, join_nodes, select_starts};
use trazar_kernels::trace::components::{bit_words, blocks};

use super::nodes::Nodes;
use super::{ComponentBorders, Found, Work};
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer, scan_counts};

/// Joins nodes to borders, and finds where each border starts.
pub(super) fn find<G: Gpu>(
    work: &Work<'_, G>,
    nodes: Nodes<G>,
    mut parents: G::Buffer<u32>,
    queued: &mut dyn FnMut(&'static str) -> Result<()>,
) -> Result<ComponentBorders<G>> {
    let Work {
        gpu,
        image,
        labels,
        raster,
        edges,
        simple,
    } = *work;
    let on = &gpu.launcher();
    let n = nodes.count();
    let root_words = bit_words(n) as usize;
    // planted: points-zero
    let mut points = gpu.alloc_zeroed(n as usize)?;
    let mut roots = gpu.alloc(root_words)?;
    let mut ranks = gpu.alloc(root_words)?;
    if n > 0 {
        // SAFETY: one element per node, or one bit, as the kernels ask, which run in their order;
        // image and labels are acquired.
        unsafe {
            join_nodes::launch(
                on,
                // planted: join-grid
                blocks(n),
                image.view(),
                labels.view(),
                nodes.first.view(),
                nodes.entries.view(),
                parents.view_mut(),
                raster,
                n,
                edges,
            )?;
            flatten_nodes::launch(
                on,
                blocks(n),
                image.view(),
                labels.view(),
                nodes.entries.view(),
                parents.view_mut(),
                points.view_mut(),
                roots.view_mut(),
                ranks.view_mut(),
                raster,
                n,
                edges,
                simple,
            )?;
        }
    }
    queued("component analysis")?;
    let count = scan_counts(gpu, &mut ranks)?;
    let mut starts = gpu.alloc(count as usize)?;
    let mut kinds = gpu.alloc(count as usize)?;
    let mut lengths = gpu.alloc(count as usize)?;
    let mut previous_in_row = gpu.alloc(count as usize)?;
    if n > 0 {
        // SAFETY: as above; `ranks` is the scan of the roots' counts, whose sum is `count`.
        unsafe {
            select_starts::launch(
                on,
                blocks(n),
                image.view(),
                nodes.first.view(),
                nodes.entries.view(),
                parents.view(),
                points.view(),
                roots.view(),
                ranks.view(),
                starts.view_mut(),
                kinds.view_mut(),
                lengths.view_mut(),
                previous_in_row.view_mut(),
                raster,
                n,
                edges,
            )?;
        }
    }
    queued("starting points")?;
    Ok(ComponentBorders {
        found: Found {
            count,
            kinds,
            lengths,
            previous_in_row,
        },
        starts,
        nodes,
        parents,
        roots,
        ranks,
    })
}
