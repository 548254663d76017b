//! Points the components of tiles at their roots.

use cuda_std::prelude::*;

use super::layout::TileLayout;
use crate::label::number::{Counts, count_chunk};
use crate::primitives::quotient;
use crate::primitives::union_find::find;

/// Points every tile's components at their roots. `roots` holds the first pixels of the tiles'
/// components before, and those of the image's components afterwards, which are also counted.
///
/// # Safety
///
/// `parents`, `roots` and `layout` are those of [`tiles_label`](fn@super::label::tiles_label), and
/// [`tiles_merge`](fn@super::merge::tiles_merge) has run. `in_chunk` has one element per word,
/// `chunks` one per chunk; nothing else uses them meanwhile. The launch has
/// [`chunks`](crate::label::number::chunks) blocks.
#[kernel(block = 256)]
pub unsafe fn tiles_flatten(
    parents: ViewMut<'_, u32>,
    roots: ViewMut<'_, u64>,
    in_chunk: ViewMut<'_, u16>,
    chunks: ViewMut<'_, u32>,
    layout: TileLayout,
) {
    let words = layout.words();
    let word = thread::index_1d();
    let mut own = 0;
    if word < words {
        own = roots.ld(word);
        let mut rest = own;
        if rest != 0 {
            let y = quotient(word, layout.row_words);
            let first = y * layout.width + (word - y * layout.row_words) * 64;
            while rest != 0 {
                let pixel = first + rest.trailing_zeros();
                let bit = rest & rest.wrapping_neg();
                rest ^= bit;
                let root = find(parents, pixel);
                if root != pixel {
                    // No thread joins sets any more: other threads read either the old parent or
                    // the root, and both lead to the root.
                    // planted: flatten-plain-store
                    parents.st_relaxed(pixel, root, Device);
                    own ^= bit;
                }
            }
            roots.st(word, own);
        }
    }
    count_chunk(own, word, words, Counts { in_chunk, chunks });
}
