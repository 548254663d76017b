//! Boundary extraction: the nodes of all pixels, counted and listed.

use cuda_std::prelude::*;

use super::walk::NodeWalk;
use crate::trace::node_bits::{Kind, NodeBits};
use crate::trace::pixels::Raster;

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
    let walk = NodeWalk::new(image, counts.as_view(), raster, edges);
    if let Some((word_x, y, word)) = my_word(raster) {
        let NodeBits { w, e, n, s } = walk.nodes(word_x, y);
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
    let walk = NodeWalk::new(image, first, raster, edges);
    let Some((word_x, y, word)) = my_word(raster) else {
        return;
    };
    let found = walk.nodes(word_x, y);
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
