//! Points the components of tiles at their roots.

use cuda_std::prelude::*;

use super::layout::TileLayout;
use super::runs::TileComponents;
use crate::label::number::{BLOCK, BitCounts};
use crate::primitives::quotient;
use crate::primitives::union_find::find;

/// Points the components of all tiles at their roots. Leaves only the roots of the image's
/// components in `components.roots`, and counts them.
///
/// # Safety
///
/// `components` and `layout` are those of [`tiles_label`](fn@super::label::tiles_label), and
/// [`tiles_merge`](fn@super::merge::tiles_merge) has run. `counts` has the lengths for the image's
/// words, and nothing else uses it meanwhile. The launch has one thread per word of the image.
#[kernel(block = BLOCK, len(components = layout, counts = layout.words()))]
pub unsafe fn tiles_flatten(
    components: TileComponents<'_>,
    counts: BitCounts<'_>,
    layout: TileLayout,
) {
    let TileComponents { parents, roots } = components;
    let words = layout.words();
    let word = thread::index_1d();
    let mut own = 0;
    if word < words {
        let before = roots.ld(word);
        own = before;
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
            if own != before {
                roots.st(word, own);
            }
        }
    }
    counts.count(own, word, words);
}
