//! From one byte per pixel to one bit per pixel.
//!
//! | | |
//! | --- | --- |
//! | launch | [`pack_bytes`](fn@pack_bytes) or [`pack_images`](fn@pack_images) with [`threads`]`(width, height)` threads, where `height` is the number of rows written |
//! | reads | 1 byte per pixel: 16 per load if width, pitch and address are multiples of 16, else 1 |
//! | writes | 1 bit per pixel, rows padded to words of 64 |

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::{ByteImage, row_words};
use crate::primitives::quotient;

/// Threads per block.
const BLOCK: u32 = 256;
/// Threads per word.
const WORD_THREADS: u32 = 4;
/// Words that a block packs.
const BLOCK_WORDS: u32 = BLOCK / WORD_THREADS;
/// Words that a warp packs.
const WARP_WORDS: u32 = WARP_SIZE / WORD_THREADS;

/// Threads of a kernel that writes `height` rows of `width` pixels.
#[must_use]
pub const fn threads(width: u32, height: u32) -> u64 {
    row_words(width) as u64 * height as u64 * WORD_THREADS as u64
}

/// Packs an image of bytes. `bits` are the image's words, in quarters of 16 pixels.
///
/// # Safety
///
/// `bits` has `4 * row_words(width) * height` elements, and nothing else uses it meanwhile. The
/// launch has [`threads`] threads.
#[kernel(block = BLOCK, len(image = ()))]
pub unsafe fn pack_bytes(image: ByteImage<'_>, bits: ViewMut<'_, u16>) {
    pack_rows(image, image.height, |y| (y, image.width), bits);
}

/// Packs images of bytes that are stored one after the other, with a row of background after each.
/// `images` has the rows of all images, `image_rows` per image. `bits` are as for
/// [`pack_bytes`](fn@pack_bytes), with `rows = images.height + images.height / image_rows` rows.
///
/// # Safety
///
/// `image_rows` is not 0 and divides `images.height`. There are less than 2³² `rows`; `bits` has
/// `4 * row_words(width) * rows` elements, and nothing else uses it meanwhile. The launch has
/// [`threads`]`(width, rows)` threads.
#[kernel(block = BLOCK, len(images = ()))]
pub unsafe fn pack_images(images: ByteImage<'_>, image_rows: u32, bits: ViewMut<'_, u16>) {
    let rows = images.height + quotient(images.height, image_rows);
    let source = |y: u32| {
        let image = quotient(y, image_rows + 1);
        let in_image = y - image * (image_rows + 1);
        if in_image < image_rows {
            (y - image, images.width)
        } else {
            (0, 0)
        }
    };
    pack_rows(images, rows, source, bits);
}

/// Packs `rows` rows of bits. For a row of bits, `source` gives the row of `image` and the number
/// of its bytes to pack; the pixels after them are background.
#[inline(always)]
fn pack_rows(
    image: ByteImage<'_>,
    rows: u32,
    source: impl Fn(u32) -> (u32, u32),
    bits: ViewMut<'_, u16>,
) {
    let ByteImage {
        values,
        width,
        pitch,
        threshold,
        ..
    } = image;
    let row_words = row_words(width);
    let t = thread::thread_idx_x();
    let first_word = thread::block_idx_x() * BLOCK_WORDS;
    let words = row_words * rows;
    let aligned = values.as_ptr().addr().is_multiple_of(16) && pitch.is_multiple_of(16);
    if width.is_multiple_of(16) && aligned {
        let word = first_word + t / WORD_THREADS;
        if word >= words {
            return;
        }
        let y = quotient(word, row_words);
        let x = (word - y * row_words) * 64 + t % 4 * 16;
        let mut packed = 0;
        let (from, width) = source(y);
        if x < width {
            let at = from as usize * pitch as usize + x as usize;
            let pixels: [u8; 16] = values.ldg_vector(at);
            packed = pack_sixteen(pixels, threshold);
        }
        bits.st(word as usize * 4 + (t % 4) as usize, packed as u16);
        return;
    }
    // A warp packs its words one after the other, each by two ballots.
    let lane = t % WARP_SIZE;
    let warp = t / WARP_SIZE;
    let mut i = 0;
    while i < WARP_WORDS {
        let word = first_word + warp * WARP_WORDS + i;
        if word < words {
            let y = quotient(word, row_words);
            let x = (word - y * row_words) * 64 + lane;
            let (from, width) = source(y);
            let row = from as usize * pitch as usize;
            // planted: pack-width
            let value = |x: u32| x < width && u32::from(values.ldg(row + x as usize)) > threshold;
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
    // An array of words, because its indices are constants after unrolling.
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
    // The product moves bits 8 i and 8 i + 4, those of byte i, to bits 24 + i and 28 + i. No other
    // partial product reaches these eight bits, and none overlap.
    (low >> 7 | high >> 3).wrapping_mul(0x0102_0408) >> 24
}

/// The highest bit of each byte that is above `threshold`.
#[inline(always)]
const fn above(bytes: u32, threshold: u32) -> u32 {
    /// The highest bit of each byte.
    const HIGH: u32 = 0x8080_8080;
    // byte > threshold means byte >= threshold + 1. A subtraction that can't borrow from the next
    // byte compares the lower seven bits. If the highest bit of threshold + 1 is set, the byte must
    // have it too and the lower bits must compare; otherwise either is enough.
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
