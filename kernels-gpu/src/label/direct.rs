//! Direct labelling: one thread per pixel, in global memory.
//!
//! As in Yin et al., "G-Contour: GPU Accelerated Contour Tracing For Large-Scale Layouts", 2025:
//! every foreground pixel starts as a set of its own, joins its neighbours' sets by an atomic
//! minimum that is retried until it holds, and then looks up its root. This form is kept beside
//! [`tiles`](super::tiles) for comparison; both give the same labels.
//!
//! | kernel | reads and writes per pixel |
//! | --- | --- |
//! | [`direct_start`](fn@direct_start) | 1 bit; writes 4 bytes |
//! | [`direct_join`](fn@direct_join) | 1 bit; for foreground, the parents on the paths to its neighbours' roots |
//! | [`direct_flatten`](fn@direct_flatten) | the parents on the path to its root; writes 4 bytes and 1 bit |
//! | [`direct_write`](fn@direct_write) | 4 bytes and its root's number; writes 4 bytes |
//!
//! All kernels have a block of 256 threads for every four words of 64 pixels: [`threads`]. Between
//! the last two, [`count_roots`](fn@super::number::count_roots) and a scan of the chunks' counts
//! number the roots.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::Connectivity;
use super::number::Numbering;
use crate::image::BitImage;
use crate::primitives::quotient;
use crate::primitives::scan::ScanState;
use crate::primitives::union_find::{find, union};

/// Threads per block: one per pixel of four words.
const BLOCK: u32 = 256;

/// Threads of each kernel for an image of `words` words: one per bit of a word.
#[must_use]
pub const fn threads(words: u32) -> u64 {
    words as u64 * 64
}

/// This thread's pixel.
struct Pixel {
    /// Index of its word.
    word: u32,
    /// Its bit in the word.
    bit: u32,
    x: u32,
    y: u32,
    /// `y * width + x`.
    index: u32,
    /// Whether the image has the pixel.
    inside: bool,
}

impl Pixel {
    #[inline(always)]
    fn of_thread(image: BitImage<'_>) -> Self {
        let t = thread::thread_idx_x();
        let word = thread::block_idx_x() * (BLOCK / 64) + t / 64;
        let bit = t % 64;
        let y = quotient(word, image.row_words);
        let x = (word - y * image.row_words) * 64 + bit;
        Self {
            word,
            bit,
            x,
            y,
            index: y * image.width + x,
            // planted: direct-inside
            inside: x < image.width && y < image.height,
        }
    }

    /// Whether the image has the pixel and it is foreground.
    #[inline(always)]
    fn is_foreground(&self, image: BitImage<'_>) -> bool {
        self.inside && image.words.ldg(self.word) >> self.bit & 1 != 0
    }
}

/// Makes every foreground pixel a set of its own, and sets every other pixel's element to 0. Makes
/// `scan` ready.
///
/// # Safety
///
/// `parents` has one element per pixel, `scan` is for the [`chunks`](super::number::chunks) of the
/// image, and nothing else uses them meanwhile. The launch has [`threads`] threads.
#[kernel(block = BLOCK, len(image = (), parents = image.width * image.height))]
pub unsafe fn direct_start(image: BitImage<'_>, parents: ViewMut<'_, u32>, scan: ScanState<'_>) {
    // The status has at most 2²⁶ elements. In grids of more than 2³² threads, indices wrap around
    // and write the same values again.
    // planted: direct-status
    scan.make_ready(thread::index_1d());
    let pixel = Pixel::of_thread(image);
    if pixel.inside {
        let set = image.words.ldg(pixel.word) >> pixel.bit & 1 != 0;
        parents.st(pixel.index, if set { pixel.index } else { 0 });
    }
}

/// Joins every foreground pixel with its neighbours that come before it in raster order.
///
/// # Safety
///
/// As for [`direct_start`](fn@direct_start), which has run.
#[kernel(block = BLOCK, len(image = (), parents = image.width * image.height))]
pub unsafe fn direct_join(
    image: BitImage<'_>,
    parents: ViewMut<'_, u32>,
    connectivity: Connectivity,
) {
    let pixel = Pixel::of_thread(image);
    if !pixel.is_foreground(image) {
        return;
    }
    let Pixel { x, y, index, .. } = pixel;
    if x > 0 && image.is_foreground(x - 1, y) {
        union(parents, index, index - 1);
    }
    if y == 0 {
        return;
    }
    let above = index - image.width;
    if image.is_foreground(x, y - 1) {
        union(parents, index, above);
    }
    if connectivity == Connectivity::Eight {
        if x > 0 && image.is_foreground(x - 1, y - 1) {
            union(parents, index, above - 1);
        }
        if x + 1 < image.width && image.is_foreground(x + 1, y - 1) {
            // planted: direct-neighbour
            union(parents, index, above + 1);
        }
    }
}

/// Points every foreground pixel at its root, and sets the roots' bits.
///
/// # Safety
///
/// As for [`direct_join`](fn@direct_join), which has run. `roots` has the image's words as halves
/// of 32 bits, `2 * row_words * height` elements; nothing else uses it meanwhile.
#[kernel(
    block = BLOCK,
    len(
        image = (),
        parents = image.width * image.height,
        roots = 2 * image.row_words * image.height,
    ),
)]
pub unsafe fn direct_flatten(
    image: BitImage<'_>,
    parents: ViewMut<'_, u32>,
    roots: ViewMut<'_, u32>,
) {
    let pixel = Pixel::of_thread(image);
    let mut is_root = false;
    if pixel.is_foreground(image) {
        let root = find(parents, pixel.index);
        is_root = root == pixel.index;
        if !is_root {
            // No thread joins sets any more: other threads read either the old parent or the root,
            // and both lead to the root.
            // planted: direct-plain-store
            parents.st_relaxed(pixel.index, root, Device);
        }
    }
    // planted: direct-ballot-mask
    let bits = warp::warp_vote_ballot(FULL_MASK, is_root);
    // planted: direct-last-rows
    if pixel.bit.is_multiple_of(WARP_SIZE) && pixel.y < image.height {
        roots.st(pixel.word * 2 + pixel.bit / WARP_SIZE, bits);
    }
}

/// Replaces every foreground pixel's root by the root's number.
///
/// # Safety
///
/// `image` and `parents` are those of [`direct_flatten`](fn@direct_flatten), which has run.
/// `numbering` is of the roots that it found. The launch has [`threads`] threads.
#[kernel(
    block = BLOCK,
    len(
        image = (),
        parents = image.width * image.height,
        numbering = image.row_words * image.height,
    ),
)]
pub unsafe fn direct_write(
    image: BitImage<'_>,
    parents: ViewMut<'_, u32>,
    numbering: Numbering<'_>,
) {
    let pixel = Pixel::of_thread(image);
    if pixel.is_foreground(image) {
        parents.st(pixel.index, numbering.number(parents.ld(pixel.index)));
    }
}
