//! Labelling in its direct form: one thread per pixel, in global memory.
//!
//! As in "G-Contour: GPU Accelerated Contour Tracing For Large-Scale Layouts" (Yin et al., 2025): every foreground pixel
//! starts as a set of its own, joins the sets of its neighbours by an atomic minimum that is retried until it holds, and
//! then looks its root up. Kept beside [`tiles`](super::tiles) to compare with; both give the same labels.
//!
//! | kernel | reads and writes per pixel |
//! | --- | --- |
//! | [`direct_start`](fn@direct_start) | 1 bit; writes 4 bytes |
//! | [`direct_join`](fn@direct_join) | 1 bit, and for foreground the parents on the ways to the roots of its neighbours |
//! | [`direct_flatten`](fn@direct_flatten) | the parents on the way to its root; writes 4 bytes and 1 bit |
//! | [`direct_write`](fn@direct_write) | 4 bytes and its root's number; writes 4 bytes |
//!
//! All have 256 threads a block, for four words of 64 pixels: [`blocks`]. Between the last two,
//! [`count_roots`](fn@super::number::count_roots) and a scan of the chunks' counts number the roots.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::number::Numbers;
use crate::primitives::quotient;
use crate::primitives::scan::make_ready;
use crate::primitives::union_find::{find, union};

/// Blocks for an image of `words` words.
#[must_use]
pub const fn blocks(words: u32) -> u32 {
    words.div_ceil(4)
}

/// A thread's pixel.
struct Pixel {
    word: u32,
    bit: u32,
    x: u32,
    y: u32,
    /// Its number: `y * width + x`.
    number: u32,
    /// Whether the image has it.
    inside: bool,
}

impl Pixel {
    #[inline(always)]
    fn mine(width: u32, height: u32, row_words: u32) -> Self {
        let t = thread::thread_idx_x();
        let word = thread::block_idx_x() * 4 + t / 64;
        let bit = t % 64;
        let y = quotient(word, row_words);
        let x = (word - y * row_words) * 64 + bit;
        Self {
            word,
            bit,
            x,
            y,
            number: y * width + x,
            // planted: direct-inside
            inside: x < width && y < height,
        }
    }
}

/// Whether pixel `(x, y)`, which is in the image, is foreground.
#[inline(always)]
fn foreground(image: View<'_, u64>, row_words: u32, x: u32, y: u32) -> bool {
    image.ldg(y * row_words + x / 64) >> (x % 64) & 1 != 0
}

/// Makes every foreground pixel a set of its own, and every other one 0. Makes `status` and `ticket` ready.
///
/// # Safety
///
/// `image` has `row_words * height` words, `parents` has `width * height` elements, `status`
/// [`status_len`](super::number::status_len) and `ticket` one, and nothing else uses these meanwhile; the grid has [`blocks`]`(row_words * height)` blocks.
#[kernel(block = 256)]
pub unsafe fn direct_start(
    image: View<'_, u64>,
    parents: ViewMut<'_, u32>,
    status: ViewMut<'_, u64>,
    ticket: ViewMut<'_, u32>,
    width: u32,
    height: u32,
    row_words: u32,
) {
    // At most 2²⁶ elements, so what wraps around in larger grids only repeats the same.
    // planted: direct-status
    make_ready(status, ticket, thread::index_1d());
    let pixel = Pixel::mine(width, height, row_words);
    if pixel.inside {
        let set = image.ldg(pixel.word) >> pixel.bit & 1 != 0;
        parents.st(pixel.number, if set { pixel.number } else { 0 });
    }
}

/// Joins every foreground pixel with those of its neighbours that come before it.
///
/// # Safety
///
/// As for [`direct_start`](fn@direct_start), which has run.
#[kernel(block = 256)]
pub unsafe fn direct_join(
    image: View<'_, u64>,
    parents: ViewMut<'_, u32>,
    width: u32,
    height: u32,
    row_words: u32,
    eight: u32,
) {
    let pixel = Pixel::mine(width, height, row_words);
    if !pixel.inside || image.ldg(pixel.word) >> pixel.bit & 1 == 0 {
        return;
    }
    let Pixel { x, y, number, .. } = pixel;
    if x > 0 && foreground(image, row_words, x - 1, y) {
        union(parents, number, number - 1);
    }
    if y == 0 {
        return;
    }
    let above = number - width;
    if foreground(image, row_words, x, y - 1) {
        union(parents, number, above);
    }
    if eight != 0 {
        if x > 0 && foreground(image, row_words, x - 1, y - 1) {
            union(parents, number, above - 1);
        }
        if x + 1 < width && foreground(image, row_words, x + 1, y - 1) {
            // planted: direct-neighbour
            union(parents, number, above + 1);
        }
    }
}

/// Points every foreground pixel at its root, and sets the roots' bits. `roots` holds words as halves of 32 bits.
///
/// # Safety
///
/// As for [`direct_join`](fn@direct_join), which has run; `roots` has `2 * row_words * height` elements.
#[kernel(block = 256)]
pub unsafe fn direct_flatten(
    image: View<'_, u64>,
    parents: ViewMut<'_, u32>,
    roots: ViewMut<'_, u32>,
    width: u32,
    height: u32,
    row_words: u32,
) {
    let pixel = Pixel::mine(width, height, row_words);
    let mut is_root = false;
    if pixel.inside && image.ldg(pixel.word) >> pixel.bit & 1 != 0 {
        let root = find(parents, pixel.number);
        is_root = root == pixel.number;
        if !is_root {
            // No thread joins any more: whoever reads this element gets a parent or the root, both right.
            // planted: direct-plain-store
            parents.st_relaxed(pixel.number, root, Device);
        }
    }
    // planted: direct-ballot-mask
    let bits = warp::warp_vote_ballot(FULL_MASK, is_root);
    // planted: direct-last-rows
    if pixel.bit.is_multiple_of(WARP_SIZE) && pixel.y < height {
        roots.st(pixel.word * 2 + pixel.bit / WARP_SIZE, bits);
    }
}

/// Replaces every foreground pixel's root by its number.
///
/// # Safety
///
/// As for [`direct_flatten`](fn@direct_flatten), which has run, as have [`count_roots`](fn@super::number::count_roots) and the scan of
/// `chunks`.
#[kernel(block = 256)]
pub unsafe fn direct_write(
    image: View<'_, u64>,
    parents: ViewMut<'_, u32>,
    roots: View<'_, u64>,
    in_chunk: View<'_, u16>,
    chunks: View<'_, u32>,
    width: u32,
    height: u32,
    row_words: u32,
) {
    let pixel = Pixel::mine(width, height, row_words);
    if pixel.inside && image.ldg(pixel.word) >> pixel.bit & 1 != 0 {
        let numbers = Numbers {
            roots,
            in_chunk,
            chunks,
            width,
            row_words,
        };
        parents.st(pixel.number, numbers.number(parents.ld(pixel.number)));
    }
}
