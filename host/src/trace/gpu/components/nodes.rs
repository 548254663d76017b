//! Boundary extraction: the nodes of all pixels, and their indices.

use trazar_kernels::trace::components::NodeList;
use trazar_kernels::trace::components::nodes::{count_nodes, list_nodes};

use super::Work;
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer, scan_counts};

/// The nodes of an image.
pub(super) struct Nodes<G: Gpu> {
    /// The index of each word's first W or E node, then of each word's first N or S node.
    first: G::Buffer<u32>,
    /// All nodes, as entries.
    pub(super) entries: G::Buffer<u32>,
}

impl<G: Gpu> Nodes<G> {
    /// How many there are.
    pub(super) fn count(&self) -> u32 {
        self.entries.len() as u32
    }

    /// For kernels to read.
    pub(super) fn list(&self) -> NodeList<'_> {
        NodeList {
            first: self.first.view(),
            entries: self.entries.view(),
        }
    }
}

/// Lists all nodes, and makes each a set of its own, of which it is the parent.
pub(super) fn list<G: Gpu>(work: &Work<'_, G>) -> Result<(Nodes<G>, G::Buffer<u32>)> {
    let Work { gpu, raster, .. } = *work;
    let on = &gpu.launcher();
    let words = raster.words();
    let mut first = gpu.alloc(2 * words as usize)?;
    // SAFETY: two elements per word, as the kernel asks; the image is acquired.
    unsafe { count_nodes::launch_threads(on, words, work.image(), first.view_mut())? };
    let count = scan_counts(gpu, &mut first)?;
    let mut entries = gpu.alloc(count as usize)?;
    let mut parents = gpu.alloc(count as usize)?;
    if count > 0 {
        // SAFETY: `first` is the scan of the counts, whose sum is the length of both others.
        unsafe {
            list_nodes::launch_threads(
                on,
                words,
                work.image(),
                first.view(),
                entries.view_mut(),
                parents.view_mut(),
            )?;
        }
    }
    Ok((Nodes { first, entries }, parents))
}
