//! From one byte a pixel to one bit a pixel.
//!
//! Foreground is `value > threshold`.
//!
//! | | |
//! | --- | --- |
//! | launch | [`pack_bytes`](fn@pack_bytes) with [`blocks`]`(row_words, height)` blocks of 256 threads |
//! | reads | 1 byte per pixel: 16 per load where width, pitch and address are multiples of 16, else 1 |
//! | writes | 1 bit per pixel, rows padded to words of 64 |

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use crate::primitives::quotient;

/// Words that a block packs.
const BLOCK_WORDS: u32 = 64;

/// Number of blocks for an image of `height` rows of `row_words` words.
#[must_use]
pub const fn blocks(row_words: u32, height: u32) -> u32 {
    // As `u64`, for images whose last block ends past 2³².
    (row_words as u64 * height as u64).div_ceil(BLOCK_WORDS as u64) as u32
}

/// Packs an image of bytes, whose rows begin `pitch` bytes apart. `bits` holds the image's words, as quarters of 16 pixels.
///
/// # Safety
///
/// `bytes` has `pitch * (height - 1) + width` elements, and `pitch` is at least `width`; `bits` has
/// `4 * row_words * height`, where `row_words` is the width in words, rounded up; the grid has
/// [`blocks`]`(row_words, height)` blocks; nothing else uses `bits` meanwhile.
#[kernel(block = 256)]
pub unsafe fn pack_bytes(
    bytes: View<'_, u8>,
    bits: ViewMut<'_, u16>,
    width: u32,
    height: u32,
    row_words: u32,
    pitch: u32,
    threshold: u32,
) {
    let t = thread::thread_idx_x();
    let first_word = thread::block_idx_x() * BLOCK_WORDS;
    let words = row_words * height;
    let aligned = bytes.as_ptr().addr().is_multiple_of(16) && pitch.is_multiple_of(16);
    if width.is_multiple_of(16) && aligned {
        let word = first_word + t / 4;
        if word >= words {
            return;
        }
        let y = quotient(word, row_words);
        let x = (word - y * row_words) * 64 + t % 4 * 16;
        let mut packed = 0;
        if x < width {
            let at = y as usize * pitch as usize + x as usize;
            let pixels: [u8; 16] = bytes.ldg_vector(at);
            packed = pack_sixteen(pixels, threshold);
        }
        bits.st(word as usize * 4 + (t % 4) as usize, packed as u16);
        return;
    }
    // Two ballots a word, one word after the other: a warp packs eight.
    let lane = t % WARP_SIZE;
    let warp = t / WARP_SIZE;
    let mut i = 0;
    while i < 8 {
        let word = first_word + warp * 8 + i;
        if word < words {
            let y = quotient(word, row_words);
            let x = (word - y * row_words) * 64 + lane;
            let row = y as usize * pitch as usize;
            // planted: pack-width
            let value = |x: u32| x < width && u32::from(bytes.ldg(row + x as usize)) > threshold;
            let low = warp::warp_vote_ballot(FULL_MASK, value(x));
            let high = warp::warp_vote_ballot(FULL_MASK, value(x + WARP_SIZE));
            if lane < 4 {
                // planted: pack-half
                let half = if lane < 2 { low } else { high };
                bits.st(
                    word as usize * 4 + lane as usize,
                    (half >> (lane % 2 * 16)) as u16,
                );
            }
        }
        i += 1;
    }
}

/// Which of the sixteen bytes are above `threshold` (0 to 255), as sixteen bits.
#[inline(always)]
pub(crate) fn pack_sixteen(pixels: [u8; 16], threshold: u32) -> u32 {
    // As an array of words, whose indices are then known when it is compiled.
    let (words, _) = pixels.as_chunks::<4>();
    let mut packed = 0;
    let mut i = 0;
    while i < 2 {
        let low = u32::from_le_bytes(words[2 * i]);
        let high = u32::from_le_bytes(words[2 * i + 1]);
        packed |= pack_eight(low, high, threshold) << (8 * i);
        i += 1;
    }
    packed
}

/// Which of the eight bytes of `low` and `high` are above `threshold` (0 to 255), as eight bits.
#[inline(always)]
const fn pack_eight(low: u32, high: u32, threshold: u32) -> u32 {
    let (low, high) = (above(low, threshold), above(high, threshold));
    // Byte i's bits 8 i and 8 i + 4, times 2^(24 - 7 i), land on bits 24 + i and 28 + i; the other products miss those
    // eight, and each other.
    (low >> 7 | high >> 3).wrapping_mul(0x0102_0408) >> 24
}

/// The highest bit of each byte that is above `threshold`.
#[inline(always)]
const fn above(bytes: u32, threshold: u32) -> u32 {
    /// Every byte's highest bit.
    const HIGH: u32 = 0x8080_8080;
    // byte > threshold is byte >= threshold + 1. The lower seven bits are compared by a subtraction that can't borrow
    // from the next byte; the highest bits decide before them: both must be set if that of threshold + 1 is, else one.
    let least = threshold + 1;
    let lower = (bytes | HIGH) - (least & 0x7f) * 0x0101_0101;
    let either = if least >= 128 { 0 } else { HIGH };
    let never = if least >= 256 { 0 } else { HIGH };
    (bytes & lower | (bytes | lower) & either) & never
}

#[cfg(test)]
mod tests {
    use super::pack_eight;

    #[test]
    fn compares_every_byte_with_every_threshold() {
        for threshold in 0..256 {
            for value in 0..256u32 {
                for place in 0..8 {
                    let others = value.wrapping_mul(167) & 255;
                    let mut bytes = [others as u8; 8];
                    bytes[place] = value as u8;
                    let rest = if others > threshold {
                        255 & !(1 << place)
                    } else {
                        0
                    };
                    let expected = u32::from(value > threshold) << place | rest;
                    let [low, high] = [0, 4].map(|i| {
                        u32::from_le_bytes([bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]])
                    });
                    assert_eq!(
                        pack_eight(low, high, threshold),
                        expected,
                        "{bytes:?} {threshold}"
                    );
                }
            }
        }
    }
}
