//! Borders by components.
//!
//! | file | stages | kernels of `trazar_kernels::trace::components` |
//! |---|---|---|
//! | `nodes.rs` | boundary extraction | `nodes`: `count_nodes`, a scan, `list_nodes` |
//! | `join.rs` | component analysis, starting points | `join`: `join_nodes`, `flatten_nodes`, a scan, `select_starts` |
//! | `follow.rs` | the points, one thread per border and per stretch | `follow` |

mod follow;
mod join;
mod nodes;

use super::{BorderBuffers, Work};
use crate::Result;
use crate::gpu::Gpu;

pub(super) use follow::follow;
use join::Joined;
use nodes::Nodes;

/// Borders, with their nodes.
pub(super) struct ComponentBorders<G: Gpu> {
    pub(super) found: BorderBuffers<G>,
    /// Where each border starts, as an entry of the list of nodes.
    starts: G::Buffer<u32>,
    nodes: Nodes<G>,
    joined: Joined<G>,
}

/// Finds all borders.
pub(super) fn find<G: Gpu>(
    work: &Work<'_, G>,
    queued: &mut dyn FnMut(&'static str) -> Result<()>,
) -> Result<ComponentBorders<G>> {
    let (nodes, parents) = nodes::list(work)?;
    queued("boundary extraction")?;
    join::find(work, nodes, parents, queued)
}
