//! Dense numbers for components, from one bit a pixel that says which pixels are roots.
//!
//! A chunk is 32 words in raster order, what one warp counts. A root's number is 1 + the roots in the chunks before its
//! own (a scan of the chunks' counts, see [`scan`](crate::primitives::scan)) + those in the words before its own in the
//! chunk + those before it in its word.
//!
//! | | |
//! | --- | --- |
//! | launch | [`count_roots`] with a block of 256 threads for every 256 words |
//! | reads | 1 bit per pixel |
//! | writes | 2 bytes per word, 4 bytes per chunk |

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use crate::primitives::quotient;

/// Words in a chunk.
pub const CHUNK: u32 = WARP_SIZE;

/// What numbers the roots.
#[derive(Clone, Copy)]
pub struct Numbers<'a> {
    /// One bit a pixel, rows padded to words: the roots.
    pub roots: View<'a, u64>,
    /// Per word: the roots before it in its chunk.
    pub in_chunk: View<'a, u16>,
    /// Per chunk: the roots before it.
    pub chunks: View<'a, u32>,
    /// The image's width.
    pub width: u32,
    /// Words in a row.
    pub row_words: u32,
}

impl Numbers<'_> {
    /// The number of the component whose root is pixel `root`.
    #[inline(always)]
    #[must_use]
    pub fn number(&self, root: u32) -> u32 {
        let y = quotient(root, self.width);
        let x = root - y * self.width;
        let word = y * self.row_words + x / 64;
        let before = self.roots.ldg(word) & ((1 << (x % 64)) - 1);
        self.chunks.ldg(word / CHUNK) + u32::from(self.in_chunk.ldg(word)) + before.count_ones() + 1
    }
}

/// Counts the roots of a chunk: lane `l` of a warp has the bits of the chunk's word `l`, which is `word`. For a whole
/// warp.
#[inline(always)]
pub fn count_chunk(
    roots: u64,
    word: u32,
    words: u32,
    in_chunk: ViewMut<'_, u16>,
    chunks: ViewMut<'_, u32>,
) {
    let lane = word % WARP_SIZE;
    let count = roots.count_ones();
    let mut through = count;
    let mut distance = 1;
    while distance < WARP_SIZE {
        let (before, _) = warp::warp_shuffle_up(FULL_MASK, through, distance, WARP_SIZE);
        if lane >= distance {
            through += before;
        }
        distance *= 2;
    }
    if word < words {
        in_chunk.st(word, (through - count) as u16);
    }
    if lane == WARP_SIZE - 1 && word - lane < words {
        chunks.st(word / CHUNK, through);
    }
}

/// Counts the roots of every chunk.
///
/// # Safety
///
/// `roots` and `in_chunk` have an element per word, `chunks` one per chunk; nothing else uses the latter two meanwhile;
/// the grid covers all words.
#[kernel(block = 256)]
pub unsafe fn count_roots(
    roots: View<'_, u64>,
    in_chunk: ViewMut<'_, u16>,
    chunks: ViewMut<'_, u32>,
    words: u32,
) {
    let word = thread::index_1d();
    let bits = if word < words { roots.ldg(word) } else { 0 };
    count_chunk(bits, word, words, in_chunk, chunks);
}
