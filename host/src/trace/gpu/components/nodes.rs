//! Boundary extraction: the nodes of all pixels, and their indices.

use trazar_kernels::trace::components::blocks;
use trazar_kernels::trace::components::nodes::{count_nodes, list_nodes};

use super::Work;
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer, scan_counts};

/// The nodes of an image.
pub(super) struct Nodes<G: Gpu> {
    /// The index of each word's first W or E node, then of each word's first N or S node.
    pub(super) first: G::Buffer<u32>,
    /// All nodes, as entries.
    pub(super) entries: G::Buffer<u32>,
}

impl<G: Gpu> Nodes<G> {
    /// How many there are.
    pub(super) fn count(&self) -> u32 {
        self.entries.len() as u32
    }
}

/// Lists all nodes, and makes each a set of its own, whose parent it is itself.
pub(super) fn list<G: Gpu>(work: &Work<'_, G>) -> Result<(Nodes<G>, G::Buffer<u32>)> {
    let Work {
        gpu,
        image,
        raster,
        edges,
        ..
    } = *work;
    let on = &gpu.launcher();
    let words = raster.words();
    let mut first = gpu.alloc(2 * words as usize)?;
    // SAFETY: two elements per word, as the kernel asks; the image is acquired.
    unsafe {
        count_nodes::launch(
            on,
            blocks(words),
            image.view(),
            first.view_mut(),
            raster,
            edges,
        )?;
    }
    let count = scan_counts(gpu, &mut first)?;
    let mut entries = gpu.alloc(count as usize)?;
    let mut parents = gpu.alloc(count as usize)?;
    if count > 0 {
        // SAFETY: `first` is the scan of the counts, whose sum both other lengths are.
        unsafe {
            list_nodes::launch(
                on,
                blocks(words),
                image.view(),
                first.view(),
                entries.view_mut(),
                parents.view_mut(),
                raster,
                edges,
            )?;
        }
    }
    Ok((Nodes { first, entries }, parents))
}
