//! Component analysis and starting points.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::walk::{NamedNode, NodeWalk};
use super::{NO_BORDER, rank};
use crate::primitives::union_find::{find, union};
use crate::trace::node_bits::Kind;
use crate::trace::pixels::Raster;

/// Joins each node with its successor.
///
/// # Safety
///
/// [`list_nodes`](fn@list_nodes) has run with these arguments; `labels` are the image's, or anything without `edges`;
/// `n` is the number of nodes; nothing else uses `parents` meanwhile; the launch has [`blocks`]`(n)` blocks.
#[kernel(block = 256)]
pub unsafe fn join_nodes(
    image: View<'_, u64>,
    labels: View<'_, u32>,
    first: View<'_, u32>,
    nodes: View<'_, u32>,
    parents: ViewMut<'_, u32>,
    raster: Raster,
    n: u32,
    edges: u32,
) {
    let walk = NodeWalk::new(image, labels, raster, edges);
    let i = thread::index_1d();
    if i < n {
        let successor = walk.successor(walk.node(nodes.ldg(i)));
        union(parents, i, walk.index(first, successor));
    }
}

/// Points each node at its root, sets the roots' bits, counts them, and counts the points of each root's border: those where
/// it turns if `simple`, else all.
///
/// # Safety
///
/// As for [`join_nodes`](fn@join_nodes), which has run; `points` has an element per node, all 0; `roots` and `counts` have
/// [`bit_words`]`(n)`; nothing else uses these meanwhile.
#[kernel(block = 256)]
pub unsafe fn flatten_nodes(
    image: View<'_, u64>,
    labels: View<'_, u32>,
    nodes: View<'_, u32>,
    parents: ViewMut<'_, u32>,
    points: ViewMut<'_, u32>,
    roots: ViewMut<'_, u32>,
    counts: ViewMut<'_, u32>,
    raster: Raster,
    n: u32,
    edges: u32,
    simple: u32,
) {
    let walk = NodeWalk::new(image, labels, raster, edges);
    let i = thread::index_1d();
    let lane = thread::thread_idx_x() % WARP_SIZE;
    let mut root = u32::MAX;
    let mut own_points = 0;
    if i < n {
        root = find(parents, i);
        if root != i {
            // No thread joins any more: whoever reads this element gets a parent or the root, both right.
            // planted: nodes-plain-store
            parents.st_relaxed(i, root, Device);
        }
        own_points = walk.points(walk.node(nodes.ldg(i)), simple != 0);
    }
    // planted: roots-branch
    let is_root = warp::warp_vote_ballot(FULL_MASK, i < n && root == i);
    // Neighbouring nodes are often of one border: they add together. A node has 0, 1 or 2 points.
    let peers = warp::warp_match_any_32(FULL_MASK, root);
    let some = warp::warp_vote_ballot(FULL_MASK, own_points != 0);
    let two = warp::warp_vote_ballot(FULL_MASK, own_points == 2);
    let sum = (peers & some).count_ones() + (peers & two).count_ones();
    if i < n && sum != 0 && peers.trailing_zeros() == lane {
        // planted: points-plain-add
        points.atomic_add(root, sum);
    }
    if lane == 0 && i < n {
        roots.st(i / WARP_SIZE, is_root);
        counts.st(i / WARP_SIZE, is_root.count_ones());
    }
}

/// Lists the borders' starts, in the order in which a raster scan meets them: the entry of the start's node, whether the
/// border is a hole's (1) or an outer one (0), its points, and the border of the last side before the start in its row: the
/// two are siblings if they are of one kind, else the border lies in the one before. [`NO_BORDER`] if there is none.
///
/// # Safety
///
/// [`flatten_nodes`](fn@flatten_nodes) has run with these arguments; `ranks` is the scan of its `counts`; `starts`,
/// `kinds`, `lengths` and `previous_in_row` have an element per border; nothing else uses them meanwhile; the launch has
/// [`blocks`]`(n)` blocks.
#[kernel(block = 256)]
pub unsafe fn select_starts(
    image: View<'_, u64>,
    first: View<'_, u32>,
    nodes: View<'_, u32>,
    parents: View<'_, u32>,
    points: View<'_, u32>,
    roots: View<'_, u32>,
    ranks: View<'_, u32>,
    starts: ViewMut<'_, u32>,
    kinds: ViewMut<'_, u8>,
    lengths: ViewMut<'_, u32>,
    previous_in_row: ViewMut<'_, u32>,
    raster: Raster,
    n: u32,
    edges: u32,
) {
    let walk = NodeWalk::new(image, first, raster, edges);
    let i = thread::index_1d();
    if i >= n || roots.ldg(i / WARP_SIZE) >> (i % WARP_SIZE) & 1 == 0 {
        return;
    }
    let border = |root: u32| rank(roots, ranks, root);
    let entry = nodes.ldg(i);
    let NamedNode { x, y, kind } = walk.node(entry);
    let before = if kind == Kind::W {
        walk.last_before(x, y).map(|x| walk.at_east_side(x, y))
    } else {
        let x = walk.run_start(x, y);
        Some(NamedNode {
            x,
            y,
            kind: Kind::W,
        })
    };
    let before = match before {
        Some(node) => border(parents.ldg(walk.index(first, node))),
        None => NO_BORDER,
    };
    let at = border(i);
    starts.st(at, entry);
    kinds.st(at, u8::from(kind != Kind::W));
    lengths.st(at, points.ldg(i));
    previous_in_row.st(at, before);
}
