//! Component analysis and starting points.

use trazar_kernels::primitives::ranked_bits::{RankedBits, bit_words};
use trazar_kernels::trace::components::JoinedNodes;
use trazar_kernels::trace::components::join::{
    FlattenedNodes, flatten_nodes, join_nodes, select_starts,
};

use super::nodes::Nodes;
use super::{BorderBuffers, ComponentBorders, Work};
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer, OnGpu, scan_counts};

/// The sets that nodes have been joined to, one per border.
pub(super) struct Joined<G: Gpu> {
    /// Each node's root.
    parents: G::Buffer<u32>,
    /// The roots' bits, and how many are set before each word.
    roots: G::Buffer<u32>,
    ranks: G::Buffer<u32>,
}

impl<G: Gpu> Joined<G> {
    /// For kernels to read.
    pub(super) fn view(&self) -> JoinedNodes<'_> {
        JoinedNodes {
            parents: self.parents.view(),
            roots: RankedBits {
                bits: self.roots.view(),
                ranks: self.ranks.view(),
            },
        }
    }
}

/// Joins nodes to borders, and finds where each border starts.
pub(super) fn find<G: Gpu>(
    work: &Work<'_, G>,
    nodes: Nodes<G>,
    mut parents: G::Buffer<u32>,
    queued: &mut dyn FnMut(&'static str) -> Result<()>,
) -> Result<ComponentBorders<G>> {
    let gpu = work.gpu;
    let on = &gpu.launcher();
    let n = nodes.count();
    let root_words = bit_words(n) as usize;
    // planted: points-zero
    let mut points = gpu.alloc_zeroed(n as usize)?;
    let mut roots = gpu.alloc(root_words)?;
    let mut ranks = gpu.alloc(root_words)?;
    // SAFETY: one element per node, or one bit, as the kernels ask, which run in their order; image
    // and labels are acquired.
    unsafe {
        join_nodes::launch_threads(
            on,
            // planted: join-grid
            n,
            work.image(),
            nodes.list(),
            parents.view_mut(),
        )?;
        flatten_nodes::launch_threads(
            on,
            n,
            work.image(),
            nodes.list(),
            FlattenedNodes {
                parents: parents.view_mut(),
                points: points.view_mut(),
                roots: roots.view_mut(),
                counts: ranks.view_mut(),
            },
            work.approximation,
        )?;
    }
    queued("component analysis")?;
    let count = scan_counts(gpu, &mut ranks)?;
    let joined = Joined {
        parents,
        roots,
        ranks,
    };
    let mut starts = gpu.alloc(count as usize)?;
    let mut found = BorderBuffers::alloc(&OnGpu(gpu.clone()), &count)?;
    // SAFETY: as above; `ranks` is the scan of the roots' counts, whose sum is `count`.
    unsafe {
        select_starts::launch_threads(
            on,
            n,
            work.image(),
            nodes.list(),
            joined.view(),
            points.view(),
            starts.view_mut(),
            found.views(),
        )?;
    }
    queued("starting points")?;
    Ok(ComponentBorders {
        found,
        starts,
        nodes,
        joined,
    })
}
