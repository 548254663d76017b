//! Dense numbers for components, from one bit a pixel that says which pixels are roots.
//!
//! A chunk is 1024 words in raster order, what one block counts: a root's number is 1 + the roots in the chunks before its
//! own + those in the words before its own in the chunk + those before it in its word. The chunks' sums come from a
//! decoupled look-back in the same pass, as in [`scan`].
//!
//! | | |
//! | --- | --- |
//! | launch | [`number_roots`] with [`chunks`]`(words)` blocks of 256 threads |
//! | reads | 1 bit per pixel |
//! | writes | 2 bytes per word, 12 bytes per chunk |

use cuda_std::prelude::*;
use cuda_std::warp::WARP_SIZE;

use crate::primitives::quotient;
use crate::primitives::scan::{PADDING, initial_status, publish_and_look_back, warp_inclusive_sum};

/// Threads of a block that counts.
const BLOCK: u32 = 256;
/// Words that a thread counts.
pub const THREAD_WORDS: u32 = 4;
/// Words in a chunk.
pub const CHUNK: u32 = BLOCK * THREAD_WORDS;

/// Chunks of an image of `words` words.
#[must_use]
pub const fn chunks(words: u32) -> u32 {
    words.div_ceil(CHUNK)
}

/// Length of `status` for an image of `words` words.
#[must_use]
pub const fn status_len(words: u32) -> u32 {
    PADDING + chunks(words)
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
        let before = self.roots.ldg(word) & ((1 << (x % 64)) - 1);
        self.chunks.ldg(word / CHUNK) + u32::from(self.in_chunk.ldg(word)) + before.count_ones() + 1
    }
}

/// Where the counts go.
#[derive(Clone, Copy)]
pub(crate) struct Counts<'a> {
    pub(crate) in_chunk: ViewMut<'a, u16>,
    pub(crate) chunks: ViewMut<'a, u32>,
    pub(crate) total: ViewMut<'a, u32>,
    pub(crate) status: ViewMut<'a, u64>,
}

/// Makes `status` and `ticket` ready. For the threads of a kernel that runs before; thread `i` does element `i`.
#[inline(always)]
pub(crate) fn start_counting(status: ViewMut<'_, u64>, ticket: ViewMut<'_, u32>, i: u32) {
    if (i as usize) < status.len() {
        status.st(i, initial_status(i));
    }
    if i == 0 {
        ticket.st(0u32, 0);
    }
}

/// The block's chunk: a ticket, because a chunk waits for those before it. For a whole block.
#[inline(always)]
pub(crate) fn take_chunk(ticket: ViewMut<'_, u32>) -> u32 {
    let taken = shared_array![u32; 1];
    if thread::thread_idx_x() == 0 {
        taken.st(0u32, ticket.atomic_add(0u32, 1));
    }
    thread::sync_threads();
    taken.ld(0u32)
}

/// Counts the roots of `chunk`, of which the thread has the four words from `first` on; 0 past the last word. For a whole
/// block.
#[inline(always)]
pub(crate) fn count_chunk(
    roots: [u64; THREAD_WORDS as usize],
    chunk: u32,
    first: u32,
    words: u32,
    counts: Counts<'_>,
) {
    let warp_sums = shared_array![u32; (BLOCK / WARP_SIZE) as usize];
    let t = thread::thread_idx_x();
    let (warp, lane) = (t / WARP_SIZE, t % WARP_SIZE);
    let own = roots.map(u64::count_ones);
    let sum = own[0] + own[1] + own[2] + own[3];
    let through = warp_inclusive_sum(sum, lane);
    if lane == WARP_SIZE - 1 {
        warp_sums.st(warp, through);
    }
    thread::sync_threads();
    let mut before = through - sum;
    let mut chunk_sum = 0;
    for other in 0..BLOCK / WARP_SIZE {
        if other == warp {
            before += chunk_sum;
        }
        chunk_sum += warp_sums.ld(other);
    }
    for (own, i) in own.iter().zip(0..) {
        if first + i < words {
            counts.in_chunk.st(first + i, before as u16);
        }
        before += own;
    }
    if warp == 0 {
        let prefix = publish_and_look_back(counts.status, chunk, chunk_sum, lane);
        if lane == 0 {
            counts.chunks.st(chunk, prefix);
            if words - chunk * CHUNK <= CHUNK {
                counts.total.st(0u32, prefix + chunk_sum);
            }
        }
    }
}

/// Numbers the roots.
///
/// # Safety
///
/// `roots` and `in_chunk` have an element per word, `chunks` one per chunk, `total` and `ticket` one, `status`
/// [`status_len`]`(words)`, the latter two as left by a kernel that says so; nothing else uses any of them meanwhile;
/// the grid has [`chunks`]`(words)` blocks.
#[kernel(block = 256)]
pub unsafe fn number_roots(
    roots: View<'_, u64>,
    in_chunk: ViewMut<'_, u16>,
    chunks: ViewMut<'_, u32>,
    total: ViewMut<'_, u32>,
    status: ViewMut<'_, u64>,
    ticket: ViewMut<'_, u32>,
    words: u32,
) {
    let chunk = take_chunk(ticket);
    let first = chunk * CHUNK + thread::thread_idx_x() * THREAD_WORDS;
    let mut own = [0; THREAD_WORDS as usize];
    for (own, i) in own.iter_mut().zip(0..) {
        if first + i < words {
            *own = roots.ldg(first + i);
        }
    }
    let counts = Counts {
        in_chunk,
        chunks,
        total,
        status,
    };
    count_chunk(own, chunk, first, words, counts);
}
