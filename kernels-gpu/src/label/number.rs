//! Numbers components 1, 2, … by counting the bits of their roots.
//!
//! A chunk is 256 words in raster order, which one block counts. The number of a root is 1, plus
//! the roots in earlier chunks, in earlier words of its chunk, and before it in its word. The sums
//! over chunks are a [`scan`] of their counts. Counting with look-back in one pass was measured and
//! takes longer: the blocks' times to find their roots vary, and all later blocks wait for the
//! slowest.
//!
//! | | |
//! | --- | --- |
//! | launch | [`count_roots`](fn@count_roots) with one thread per word, then a scan of `chunks` |
//! | reads | 1 bit per pixel |
//! | writes | 2 bytes per word, 4 bytes per chunk |
//!
//! Images of a batch are counted together, and [`image_starts`](fn@image_starts) then writes 4
//! bytes per image: how many roots the images before it have.

use cuda_std::prelude::*;
use cuda_std::warp::WARP_SIZE;

use crate::primitives::{block, quotient, scan};

/// Threads per block of the kernels that count roots.
pub(crate) const BLOCK: u32 = 256;
/// Words per chunk: one per thread. With four, a thread that looks up several roots one after the
/// other keeps its warp waiting.
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

/// The number of each root. The sizes are the number of words.
#[repr(C)]
#[derive(Clone, Copy, Debug, KernelParam)]
#[lengths(u32)]
pub struct Numbering<'a> {
    /// The roots: 1 bit per pixel, rows padded to words.
    #[len(*sizes)]
    pub roots: View<'a, u64>,
    /// Per word: the number of roots before it in its chunk.
    #[len(*sizes)]
    pub in_chunk: View<'a, u16>,
    /// Per chunk: the number of roots before it.
    #[len(chunks(*sizes))]
    pub chunks: View<'a, u32>,
    /// Pixels per row of the image.
    pub width: u32,
    /// Words per row of the image.
    pub row_words: u32,
}

impl Numbering<'_> {
    /// The number of the component whose root is the pixel with index `root`.
    #[inline(always)]
    #[must_use]
    pub fn number(&self, root: u32) -> u32 {
        let y = quotient(root, self.width);
        let x = root - y * self.width;
        let word = y * self.row_words + x / 64;
        // planted: number-itself
        let before = self.roots.ldg(word) & ((1 << (x % 64)) - 1);
        self.before(word) + before.count_ones() + 1
    }

    /// The number of roots before word `word`.
    #[inline(always)]
    #[must_use]
    pub fn before(&self, word: u32) -> u32 {
        self.chunks.ldg(word / CHUNK) + u32::from(self.in_chunk.ldg(word))
    }
}

/// The counts of a kernel that counts bits: components' roots, or runs' first pixels. The sizes are
/// the number of words.
#[repr(C)]
#[derive(Clone, Copy, Debug, KernelParam)]
#[lengths(u32, buffers = BitCountBuffers)]
pub struct BitCounts<'a> {
    /// Per word: the number of bits before it in its chunk.
    #[len(*sizes)]
    pub in_chunk: ViewMut<'a, u16>,
    /// Per chunk: the number of its bits.
    #[len(chunks(*sizes))]
    pub chunks: ViewMut<'a, u32>,
}

impl BitCounts<'_> {
    /// Counts the bits of the block's chunk. `bits` are those of the thread's word, with index
    /// `word`; 0 past the last of the `words` words. Called by all threads of the block.
    #[inline(always)]
    pub(crate) fn count(self, bits: u64, word: u32, words: u32) {
        let warp_sums = shared_array![u32; (BLOCK / WARP_SIZE) as usize];
        let sum = block::sum_of_threads(bits.count_ones(), warp_sums);
        if word < words {
            self.in_chunk.st(word, sum.before as u16);
        }
        if thread::thread_idx_x() == 0 {
            self.chunks.st(word / CHUNK, sum.total);
        }
    }
}

/// Counts the roots of each chunk.
///
/// # Safety
///
/// `roots` has `words` elements, and `counts` the lengths for them. Nothing else uses `counts`
/// meanwhile. The launch has `words` threads.
#[kernel(block = BLOCK, len(roots = words, counts = words))]
pub unsafe fn count_roots(roots: View<'_, u64>, counts: BitCounts<'_>, words: u32) {
    let word = thread::index_1d();
    // planted: count-return
    let own = if word < words { roots.ldg(word) } else { 0 };
    counts.count(own, word, words);
}

/// The number of counted bits before each of several images, then of all: element `i` of `starts`
/// is the number of bits before word `i * pitch`. `chunks` are the exclusive prefix sums of the
/// chunks' counts, and `total` has one element, their sum.
///
/// # Safety
///
/// The images have `pitch` words each, for all of which `in_chunk` and `chunks` have the lengths.
/// `starts` has `images + 1` elements, and nothing else uses it meanwhile. The launch has as many
/// threads.
#[kernel(
    block = BLOCK,
    len(
        in_chunk = images * pitch,
        chunks = self::chunks(images * pitch),
        total = 1,
        starts = images + 1,
    ),
)]
pub unsafe fn image_starts(
    in_chunk: View<'_, u16>,
    chunks: View<'_, u32>,
    total: View<'_, u32>,
    images: u32,
    pitch: u32,
    starts: ViewMut<'_, u32>,
) {
    let image = thread::index_1d();
    // planted: image-starts-end
    if image > images {
        return;
    }
    let before = if image == images {
        // planted: image-starts-total
        total.ldg(0u32)
    } else {
        let word = image * pitch;
        chunks.ldg(word / CHUNK) + u32::from(in_chunk.ldg(word))
    };
    starts.st(image, before);
}
