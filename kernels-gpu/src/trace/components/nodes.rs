//! Boundary extraction: the nodes of all pixels, counted and listed.

use cuda_std::prelude::*;

use crate::primitives::quotient;
use crate::trace::BLOCK;
use crate::trace::node_bits::{Kind, NodeBits};
use crate::trace::node_walk::NodeWalk;
use crate::trace::pixels::{Raster, TracedImage};

/// The word that this thread works on: its column, its row and its index; none past the last word.
#[inline(always)]
fn my_word(raster: Raster) -> Option<(u32, u32, u32)> {
    let word = thread::index_1d();
    if word >= raster.words() {
        return None;
    }
    let y = quotient(word, raster.row_words);
    Some((word - y * raster.row_words, y, word))
}

/// Counts each word's nodes: first those of kinds W and E of all words, then those of kinds N and S
/// of all words. Launch: one thread per word.
///
/// # Safety
///
/// `counts` has two elements per word, and nothing else uses it meanwhile.
#[kernel(block = BLOCK, len(image = (), counts = 2 * image.pixels.raster.words()))]
pub unsafe fn count_nodes(image: TracedImage<'_>, counts: ViewMut<'_, u32>) {
    let raster = image.pixels.raster;
    if let Some((word_x, y, word)) = my_word(raster) {
        let NodeBits { w, e, n, s } = NodeWalk::new(image).nodes(word_x, y);
        counts.st(word, w.count_ones() + e.count_ones());
        counts.st(raster.words() + word, n.count_ones() + s.count_ones());
    }
}

/// Lists the nodes in order, and makes each a set of its own. Launch: one thread per word.
///
/// # Safety
///
/// | view | contents |
/// | --- | --- |
/// | `first` | the scan of what [`count_nodes`](fn@count_nodes) gave for this image |
/// | `entries`, `parents` | one element per node; nothing else uses them meanwhile |
#[kernel(
    block = BLOCK,
    len(image = (), first = 2 * image.pixels.raster.words(), parents = entries.len()),
)]
pub unsafe fn list_nodes(
    image: TracedImage<'_>,
    first: View<'_, u32>,
    entries: ViewMut<'_, u32>,
    parents: ViewMut<'_, u32>,
) {
    let raster = image.pixels.raster;
    let Some((word_x, y, word)) = my_word(raster) else {
        return;
    };
    let found = NodeWalk::new(image).nodes(word_x, y);
    let first_pixel = y * raster.width + word_x * 64;
    let list = |a: u64, b: u64, kind: Kind, mut at: u32| {
        let mut rest = a | b;
        while rest != 0 {
            let bit = rest.trailing_zeros();
            rest &= rest - 1;
            let entry = (first_pixel + bit) << 2 | kind as u32;
            if a >> bit & 1 != 0 {
                entries.st(at, entry);
                parents.st(at, at);
                at += 1;
            }
            if b >> bit & 1 != 0 {
                entries.st(at, entry + 1);
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
