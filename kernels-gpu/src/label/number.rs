//! Dense numbers for components, from one bit a pixel that says which pixels are roots.
//!
//! A chunk is 256 words in raster order, what one block counts: a root's number is 1 + the roots in the chunks before its
//! own + those in the words before its own in the chunk + those before it in its word. The sums over chunks are a
//! [`scan`] of their counts. To count and to look back in one pass was measured and is slower: a
//! block's time to find its roots varies, and every later one then waits for the slowest.
//!
//! | | |
//! | --- | --- |
//! | launch | [`count_roots`](fn@count_roots) with [`chunks`]`(words)` blocks of 256 threads, then a scan of `chunks` |
//! | reads | 1 bit per pixel |
//! | writes | 2 bytes per word, 4 bytes per chunk |

use cuda_std::prelude::*;
use cuda_std::warp::WARP_SIZE;

use crate::primitives::{block, quotient, scan};

/// Threads of a block that counts.
const BLOCK: u32 = 256;
/// Words in a chunk: one a thread. With four, threads that look for several roots in turn keep their warps waiting.
pub const CHUNK: u32 = BLOCK;

/// Chunks of an image of `words` words.
#[must_use]
pub const fn chunks(words: u32) -> u32 {
    words.div_ceil(CHUNK)
}

/// Length of the scan's `status` for an image of `words` words.
#[must_use]
pub const fn status_len(words: u32) -> u32 {
    scan::status_len(chunks(words))
}

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
        // planted: number-itself
        let before = self.roots.ldg(word) & ((1 << (x % 64)) - 1);
        self.chunks.ldg(word / CHUNK) + u32::from(self.in_chunk.ldg(word)) + before.count_ones() + 1
    }
}

/// Where the counts go.
#[derive(Clone, Copy)]
pub(crate) struct Counts<'a> {
    pub(crate) in_chunk: ViewMut<'a, u16>,
    pub(crate) chunks: ViewMut<'a, u32>,
}

/// Counts the roots of the block's chunk, of which the thread has the word `word`; 0 past the last one. For a whole block.
#[inline(always)]
pub(crate) fn count_chunk(roots: u64, word: u32, words: u32, counts: Counts<'_>) {
    let warp_sums = shared_array![u32; (BLOCK / WARP_SIZE) as usize];
    let sum = block::sum_of_threads(roots.count_ones(), warp_sums);
    if word < words {
        counts.in_chunk.st(word, sum.before as u16);
    }
    if thread::thread_idx_x() == 0 {
        counts.chunks.st(word / CHUNK, sum.total);
    }
}

/// Counts the roots of each chunk.
///
/// # Safety
///
/// `roots` and `in_chunk` have an element per word, `chunks` one per chunk; nothing else uses the latter two meanwhile;
/// the grid has [`chunks`]`(words)` blocks.
#[kernel(block = 256)]
pub unsafe fn count_roots(
    roots: View<'_, u64>,
    in_chunk: ViewMut<'_, u16>,
    chunks: ViewMut<'_, u32>,
    words: u32,
) {
    let word = thread::index_1d();
    // planted: count-return
    let own = if word < words { roots.ldg(word) } else { 0 };
    count_chunk(own, word, words, Counts { in_chunk, chunks });
}
