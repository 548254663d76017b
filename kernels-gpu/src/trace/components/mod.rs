//! Tracing by components: boundary extraction, component analysis by union-find, starting points.
//!
//! The flow is that of "G-Contour: GPU Accelerated Contour Tracing For Large-Scale Layouts" (Yin et al., 2025), but what
//! is joined are not boundary pixels: they are [nodes](crate::trace::pixels), of which each belongs to one border. So holes are
//! kept, the two borders of a thin wall stay apart, and a border that passes a pixel several times is whole.
//!
//! | kernel | stage | reads, writes |
//! | --- | --- | --- |
//! | [`count_nodes`](fn@count_nodes) | boundary extraction | 1 bit a pixel; 8 bytes a word |
//! | [`list_nodes`](fn@list_nodes) | " | 1 bit a pixel; 8 bytes a node |
//! | [`join_nodes`](fn@join_nodes) | component analysis | the words around each node, and what its union touches |
//! | [`flatten_nodes`](fn@flatten_nodes) | " , points a border | the parents on the way to the root; 4 bytes a node |
//! | [`select_starts`](fn@select_starts) | starting points, one a border | 1 bit a node, and for each border a part of its row |
//!
//! Between the first two, a scan of the counts numbers the nodes; after `flatten_nodes`, one of the roots' counts
//! numbers the borders. Nothing has a guessed capacity: counts come before what is written. [`search`](super::search) then
//! writes the points.
//!
//! A set's root is its smallest node, and so the border's start: the atomic minimum of the union-find selects it.
//!
//! `edges` in the arguments is 0 for borders over pixel centres. Else they run along pixels' sides, for which `labels` are
//! the labels of the 4-connected components; they decide which way a border goes where two pixels of one
//! component touch at a corner.

pub mod follow;
mod nodes;

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use crate::primitives::union_find::{find, union};
use crate::trace::pixels::{Kind, Nodes, Raster};
use nodes::{Borders, Node};

/// No border.
pub const NO_BORDER: u32 = u32::MAX;

/// Threads per block of all kernels here.
const BLOCK: u32 = 256;

/// Blocks for so many threads.
#[must_use]
pub const fn blocks(threads: u32) -> u32 {
    threads.div_ceil(BLOCK)
}

/// Words of one bit for each of `nodes` nodes.
#[must_use]
pub const fn bit_words(nodes: u32) -> u32 {
    nodes.div_ceil(WARP_SIZE)
}

/// How many of `bits` are set before bit `at`; `ranks` has the number of those before each word.
#[inline(always)]
pub(super) fn rank(bits: View<'_, u32>, ranks: View<'_, u32>, at: u32) -> u32 {
    let word = at / WARP_SIZE;
    let below = (1u32 << (at % WARP_SIZE)) - 1;
    ranks.ldg(word) + (bits.ldg(word) & below).count_ones()
}

/// The word that this thread works on: its column and row, and its number; none past the last one.
#[inline(always)]
fn my_word(raster: Raster) -> Option<(u32, u32, u32)> {
    let word = thread::index_1d();
    if word >= raster.words() {
        return None;
    }
    let y = crate::primitives::quotient(word, raster.row_words);
    Some((word - y * raster.row_words, y, word))
}

/// Counts each word's nodes: first for all words those of kinds W and E, then for all words those of kinds N and S.
///
/// # Safety
///
/// `image` has the raster's words, `counts` twice as many elements; nothing else uses `counts` meanwhile; the launch has
/// [`blocks`]`(words)` blocks.
#[kernel(block = 256)]
pub unsafe fn count_nodes(
    image: View<'_, u64>,
    counts: ViewMut<'_, u32>,
    raster: Raster,
    edges: u32,
) {
    let borders = Borders::new(image, counts.as_view(), raster, edges);
    if let Some((word_x, y, word)) = my_word(raster) {
        let Nodes { w, e, n, s } = borders.nodes(word_x, y);
        counts.st(word, w.count_ones() + e.count_ones());
        counts.st(raster.words() + word, n.count_ones() + s.count_ones());
    }
}

/// Lists the nodes in order, and makes each a set of its own. An entry of the list is 4 times the pixel's number plus the
/// kind's.
///
/// # Safety
///
/// `first` is the scan of what [`count_nodes`](fn@count_nodes) gave; `nodes` and `parents` have an element per node;
/// nothing else uses these meanwhile; the launch has [`blocks`]`(words)` blocks.
#[kernel(block = 256)]
pub unsafe fn list_nodes(
    image: View<'_, u64>,
    first: View<'_, u32>,
    nodes: ViewMut<'_, u32>,
    parents: ViewMut<'_, u32>,
    raster: Raster,
    edges: u32,
) {
    let borders = Borders::new(image, first, raster, edges);
    let Some((word_x, y, word)) = my_word(raster) else {
        return;
    };
    let found = borders.nodes(word_x, y);
    let first_pixel = y * raster.width + word_x * 64;
    let list = |a: u64, b: u64, kind: Kind, mut at: u32| {
        let mut rest = a | b;
        while rest != 0 {
            let bit = rest.trailing_zeros();
            rest &= rest - 1;
            let entry = (first_pixel + bit) << 2 | kind as u32;
            if a >> bit & 1 != 0 {
                nodes.st(at, entry);
                parents.st(at, at);
                at += 1;
            }
            if b >> bit & 1 != 0 {
                nodes.st(at, entry + 1);
                parents.st(at, at);
                at += 1;
            }
        }
    };
    if found.w | found.e != 0 {
        list(found.w, found.e, Kind::W, first.ldg(word));
    }
    if found.n | found.s != 0 {
        list(found.n, found.s, Kind::N, first.ldg(raster.words() + word));
    }
}

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
    let borders = Borders::new(image, labels, raster, edges);
    let i = thread::index_1d();
    if i < n {
        let successor = borders.successor(borders.node(nodes.ldg(i)));
        union(parents, i, borders.number(first, successor));
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
    let borders = Borders::new(image, labels, raster, edges);
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
        own_points = borders.points(borders.node(nodes.ldg(i)), simple != 0);
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
/// `kinds`, `lengths` and `befores` have an element per border; nothing else uses them meanwhile; the launch has
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
    befores: ViewMut<'_, u32>,
    raster: Raster,
    n: u32,
    edges: u32,
) {
    let borders = Borders::new(image, first, raster, edges);
    let i = thread::index_1d();
    if i >= n || roots.ldg(i / WARP_SIZE) >> (i % WARP_SIZE) & 1 == 0 {
        return;
    }
    let border = |root: u32| rank(roots, ranks, root);
    let entry = nodes.ldg(i);
    let Node { x, y, kind } = borders.node(entry);
    let before = if kind == Kind::W {
        borders
            .last_before(x, y)
            .map(|x| borders.at_east_side(x, y))
    } else {
        let x = borders.run_start(x, y);
        Some(Node {
            x,
            y,
            kind: Kind::W,
        })
    };
    let before = match before {
        Some(node) => border(parents.ldg(borders.number(first, node))),
        None => NO_BORDER,
    };
    let at = border(i);
    starts.st(at, entry);
    kinds.st(at, u8::from(kind != Kind::W));
    lengths.st(at, points.ldg(i));
    befores.st(at, before);
}
