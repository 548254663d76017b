//! Borders by components.

use trazar_kernels::trace::components::{self, blocks};

mod follow;

pub(super) use follow::follow;

use super::{Found, Work, scan};
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer};

/// Borders, with their nodes.
pub(super) struct Borders<G: Gpu> {
    pub(super) found: Found<G>,
    /// Where each border starts, as an entry of `nodes`.
    pub(super) starts: G::Buffer<u32>,
    /// The number of each word's first node.
    pub(super) first: G::Buffer<u32>,
    pub(super) nodes: G::Buffer<u32>,
    /// Each node's root.
    pub(super) parents: G::Buffer<u32>,
    /// The roots' bits, and how many are set before each word.
    pub(super) roots: G::Buffer<u32>,
    pub(super) ranks: G::Buffer<u32>,
}

/// Finds all borders.
pub(super) fn find<G: Gpu>(
    work: &Work<'_, G>,
    queued: &mut dyn FnMut(&'static str) -> Result<()>,
) -> Result<Borders<G>> {
    let Work {
        gpu,
        image,
        labels,
        raster,
        edges,
        simple,
    } = *work;
    let on = &gpu.launcher();
    let words = raster.words();

    let mut first = gpu.alloc(2 * words as usize)?;
    // SAFETY: two elements a word, as the kernel asks; the image is acquired.
    unsafe {
        components::count_nodes::launch(
            on,
            blocks(words),
            image.view(),
            first.view_mut(),
            raster,
            edges,
        )?;
    }
    let n = scan(gpu, &mut first)?;
    let mut nodes = gpu.alloc::<u32>(n as usize)?;
    let mut parents = gpu.alloc(n as usize)?;
    let root_words = components::bit_words(n) as usize;
    // planted: points-zero
    let mut points = gpu.alloc_zeroed(n as usize)?;
    let mut roots = gpu.alloc(root_words)?;
    let mut ranks = gpu.alloc(root_words)?;
    if n == 0 {
        return Ok(Borders {
            found: Found {
                count: 0,
                kinds: gpu.alloc(0)?,
                lengths: gpu.alloc(0)?,
                befores: gpu.alloc(0)?,
            },
            starts: gpu.alloc(0)?,
            first,
            nodes,
            parents,
            roots,
            ranks,
        });
    }
    // SAFETY: `first` is the scan of the counts, whose sum is `n`; all lengths are those that the kernels ask for, which run in
    // their order.
    unsafe {
        components::list_nodes::launch(
            on,
            blocks(words),
            image.view(),
            first.view(),
            nodes.view_mut(),
            parents.view_mut(),
            raster,
            edges,
        )?;
        queued("boundary extraction")?;
        components::join_nodes::launch(
            on,
            // planted: join-grid
            blocks(n),
            image.view(),
            labels.view(),
            first.view(),
            nodes.view(),
            parents.view_mut(),
            raster,
            n,
            edges,
        )?;
        components::flatten_nodes::launch(
            on,
            blocks(n),
            image.view(),
            labels.view(),
            nodes.view(),
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
    queued("component analysis")?;
    let count = scan(gpu, &mut ranks)?;
    let mut starts = gpu.alloc(count as usize)?;
    let mut kinds = gpu.alloc(count as usize)?;
    let mut lengths = gpu.alloc(count as usize)?;
    let mut befores = gpu.alloc(count as usize)?;
    // SAFETY: as above; `ranks` is the scan of the roots' counts, whose sum is `count`.
    unsafe {
        components::select_starts::launch(
            on,
            blocks(n),
            image.view(),
            first.view(),
            nodes.view(),
            parents.view(),
            points.view(),
            roots.view(),
            ranks.view(),
            starts.view_mut(),
            kinds.view_mut(),
            lengths.view_mut(),
            befores.view_mut(),
            raster,
            n,
            edges,
        )?;
    }
    queued("starting points")?;
    Ok(Borders {
        found: Found {
            count,
            kinds,
            lengths,
            befores,
        },
        starts,
        first,
        nodes,
        parents,
        roots,
        ranks,
    })
}
