//! Component analysis and starting points.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::{JoinedNodes, NodeList};
use crate::primitives::union_find::{find, union};
use crate::trace::BLOCK;
use crate::trace::borders::{FoundBorders, NO_BORDER};
use crate::trace::node_bits::Kind;
use crate::trace::node_walk::{NamedNode, NodeWalk};
use crate::trace::options::Approximation;
use crate::trace::pixels::TracedImage;

/// Joins each node with its successor. Launch: one thread per node.
///
/// # Safety
///
/// `nodes` are those of `image`, and `parents` is what [`list_nodes`](fn@super::nodes::list_nodes)
/// has made of them. Nothing else uses `parents` meanwhile.
#[kernel(
    block = BLOCK,
    len(image = (), nodes = image.pixels.raster.words(), parents = nodes.len()),
)]
pub unsafe fn join_nodes(image: TracedImage<'_>, nodes: NodeList<'_>, parents: ViewMut<'_, u32>) {
    let walk = NodeWalk::new(image);
    let i = thread::index_1d();
    if i < nodes.len() {
        let successor = walk.successor(walk.node(nodes.entries.ldg(i)));
        union(parents, i, walk.index(nodes.first, successor));
    }
}

/// Nodes after all unions, on the way to [`JoinedNodes`]. The sizes are the number of nodes.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(u32)]
pub struct FlattenedNodes<'a> {
    /// Each node's parent; afterwards, its root.
    #[len(*sizes)]
    pub parents: ViewMut<'a, u32>,
    /// One per node, 0 at first; afterwards, at each root the number of points of its border.
    #[len(*sizes)]
    pub points: ViewMut<'a, u32>,
    /// A bit for each node that is a root.
    #[len(crate::primitives::ranked_bits::bit_words(*sizes))]
    pub roots: ViewMut<'a, u32>,
    /// The number of bits set in each of these words.
    #[len(crate::primitives::ranked_bits::bit_words(*sizes))]
    pub counts: ViewMut<'a, u32>,
}

/// Points each node at its root, finds and counts the roots, and counts the points of each root's
/// border. Launch: one thread per node.
///
/// # Safety
///
/// `nodes` are those of `image`, and have been [joined](fn@join_nodes). Nothing else uses `joined`
/// meanwhile.
#[kernel(block = BLOCK, len(image = (), nodes = image.pixels.raster.words(), joined = nodes.len()))]
pub unsafe fn flatten_nodes(
    image: TracedImage<'_>,
    nodes: NodeList<'_>,
    joined: FlattenedNodes<'_>,
    approximation: Approximation,
) {
    let walk = NodeWalk::new(image);
    let n = nodes.len();
    let i = thread::index_1d();
    let lane = thread::thread_idx_x() % WARP_SIZE;
    let parents = joined.parents;
    let mut root = u32::MAX;
    let mut own_points = 0;
    if i < n {
        root = find(parents, i);
        if root != i {
            // No thread joins any more: a thread that reads this element gets a parent or the root,
            // and both are right.
            // planted: nodes-plain-store
            parents.st_relaxed(i, root, Device);
        }
        own_points = walk.points(walk.node(nodes.entries.ldg(i)), approximation);
    }
    // planted: roots-branch
    let is_root = warp::warp_vote_ballot(FULL_MASK, i < n && root == i);
    // Neighbouring nodes often belong to one border: they add together. A node has 0, 1 or 2
    // points.
    let peers = warp::warp_match_any_32(FULL_MASK, root);
    let some = warp::warp_vote_ballot(FULL_MASK, own_points != 0);
    let two = warp::warp_vote_ballot(FULL_MASK, own_points == 2);
    let sum = (peers & some).count_ones() + (peers & two).count_ones();
    if i < n && sum != 0 && peers.trailing_zeros() == lane {
        // planted: points-plain-add
        joined.points.atomic_add(root, sum);
    }
    if lane == 0 && i < n {
        joined.roots.st(i / WARP_SIZE, is_root);
        joined.counts.st(i / WARP_SIZE, is_root.count_ones());
    }
}

/// Lists the borders in order of discovery, and their starts. Launch: one thread per node.
///
/// # Safety
///
/// `joined` and `points` are the results of [`flatten_nodes`](fn@flatten_nodes) for `nodes`, and of
/// the scan of its counts. `starts` gets each border's first node, as an entry, and has one element
/// per border, as has each view of `borders`. Nothing else uses these meanwhile.
#[kernel(
    block = BLOCK,
    len(
        image = (),
        nodes = image.pixels.raster.words(),
        joined = nodes.len(),
        points = nodes.len(),
        borders = starts.len() as u32,
    ),
)]
pub unsafe fn select_starts(
    image: TracedImage<'_>,
    nodes: NodeList<'_>,
    joined: JoinedNodes<'_>,
    points: View<'_, u32>,
    starts: ViewMut<'_, u32>,
    borders: FoundBorders<'_>,
) {
    let walk = NodeWalk::new(image);
    let i = thread::index_1d();
    if i >= nodes.len() || !joined.roots.contains(i) {
        return;
    }
    let entry = nodes.entries.ldg(i);
    let NamedNode { x, y, kind } = walk.node(entry);
    let previous = if kind == Kind::W {
        walk.last_before(x, y).map(|x| walk.at_east_side(x, y))
    } else {
        let x = walk.run_start(x, y);
        Some(NamedNode {
            x,
            y,
            kind: Kind::W,
        })
    };
    let previous = match previous {
        Some(node) => joined.border_of(walk.index(nodes.first, node)),
        None => NO_BORDER,
    };
    let at = joined.roots.rank(i);
    starts.st(at, entry);
    borders.kinds.st(at, u8::from(kind != Kind::W));
    borders.lengths.st(at, points.ldg(i));
    borders.previous_in_row.st(at, previous);
}
