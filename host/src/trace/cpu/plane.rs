//! The image's foreground as a bit plane, and the pixels around a pixel.

// `Plane::window` reads the words of a plane as bytes.
const _: () = assert!(cfg!(target_endian = "little"));

use rayon::prelude::*;
use trazar_kernels::trace::node_bits::BesideBits;

use super::chains::{Direction, STEPS};
use crate::error::Result;
use crate::image::{BinaryImage, WORD_BITS};
use crate::memory::{advise_large_pages, zeroed_vec};

/// The most steps that [`Plane::straight`] returns: the 64 bits of eight bytes, less up to seven
/// bits before the place in the first byte, less the two neighbours.
pub(in crate::trace) const MAX_STRAIGHT: usize = 55;

/// One row of background around the image, and one more because the neighbours are read as
/// whole bytes.
pub(in crate::trace) const SPARE_ROWS: usize = 2;

/// One bit per pixel, surrounded by background.
///
/// A pixel is a **place**: its bit's index in the plane. Rows are `stride` bits apart. At least one
/// spare bit ends each row, and [`SPARE_ROWS`] rows are above and below, so a foreground pixel
/// always has its neighbours: at `place ± 1` and `place ± stride ± {0, 1}`.
pub(in crate::trace) struct Plane {
    pub(in crate::trace) row_words: usize,
    pub(in crate::trace) words: Vec<u64>,
}

impl Plane {
    /// A plane without foreground.
    pub(in crate::trace) fn background(width: u32, height: u32) -> Result<Self> {
        let row_words = width as usize / WORD_BITS + 1;
        let words = row_words * (height as usize + 2 * SPARE_ROWS);
        let mut words = zeroed_vec(words, "the bit planes of borders")?;
        // A walk up or down touches another page in every row.
        advise_large_pages(&mut words);
        Ok(Self { row_words, words })
    }

    /// The plane of an image, on all cores.
    pub(in crate::trace) fn of(image: &BinaryImage) -> Result<Self> {
        let mut plane = Self::background(image.width(), image.height())?;
        let rows = plane.words.par_chunks_mut(plane.row_words);
        let rows = rows.skip(SPARE_ROWS).take(image.height() as usize);
        rows.enumerate().for_each(|(y, row)| {
            let pixels = image.row(y as u32);
            row[..pixels.len()].copy_from_slice(pixels);
        });
        Ok(plane)
    }

    /// Sets a row's pixels, and the rest of the row to background; row [`SPARE_ROWS`] is the first
    /// one that is not spare.
    pub(in crate::trace) fn set_row(&mut self, row: usize, pixels: &[u64]) {
        let words = &mut self.words[row * self.row_words..][..self.row_words];
        let (set, rest) = words.split_at_mut(pixels.len());
        set.copy_from_slice(pixels);
        rest.fill(0);
    }

    /// Bits between a pixel and the one below it.
    pub(in crate::trace) fn stride(&self) -> usize {
        self.row_words * WORD_BITS
    }

    /// The pixel at a place.
    pub(in crate::trace) fn coordinates(&self, place: usize) -> (u32, u32) {
        let (y, x) = (place / self.stride(), place % self.stride());
        (x as u32, (y - SPARE_ROWS) as u32)
    }

    /// The place of pixel `(x, y)`.
    pub(in crate::trace) fn place(&self, x: u32, y: u32) -> usize {
        (y as usize + SPARE_ROWS) * self.stride() + x as usize
    }

    /// Distances from a pixel's place to its neighbours'.
    pub(in crate::trace) fn neighbour_offsets(&self) -> [isize; 8] {
        let stride = self.stride() as isize;
        STEPS.map(|(dx, dy)| dx as isize + dy as isize * stride)
    }

    /// The place of the neighbour in a direction.
    pub(in crate::trace) fn neighbour(&self, place: usize, direction: Direction) -> usize {
        let (dx, dy) = STEPS[usize::from(direction)];
        place.wrapping_add_signed(dx as isize + dy as isize * self.stride() as isize)
    }

    /// The pixels of the word `at`, and their neighbours in the row. Rows' spare bits separate
    /// them.
    pub(in crate::trace) fn beside(&self, at: usize) -> BesideBits {
        BesideBits::new(self.words[at - 1], self.words[at], self.words[at + 1])
    }

    /// The 3 × 3 pixels around the one at `place`, as bits: 0 to 2 the row above from W to E, 3
    /// to 5 the pixel's row, 6 to 8 the row below.
    #[inline]
    pub(in crate::trace) fn window(&self, place: usize) -> usize {
        let (place, stride) = (place - 1, self.stride());
        self.three(place - stride) | self.three(place) << 3 | self.three(place + stride) << 6
    }

    /// The pixels around the upper left corner of pixel `(x, y)`, as bits: 0 NW, 1 NE, 2 SW,
    /// 3 SE.
    #[inline]
    pub(in crate::trace) fn corner(&self, x: u32, y: u32) -> usize {
        let place = self.place(x, y) - 1;
        self.three(place - self.stride()) & 3 | (self.three(place) & 3) << 2
    }

    /// Three pixels from `place` on, as bits 0 to 2.
    fn three(&self, place: usize) -> usize {
        let bytes: &[u8] = bytemuck::cast_slice(&self.words);
        let two_bytes = u16::from_le_bytes([bytes[place / 8], bytes[place / 8 + 1]]);
        usize::from(two_bytes >> (place % 8) & 7)
    }

    /// The number of straight steps, at most [`MAX_STRAIGHT`], of a walk that has come to `place`
    /// straight from the W (direction 0) or the E (direction 4). It goes straight on while there is
    /// foreground ahead and only background in the row on its right hand, which is below (or
    /// above).
    #[inline]
    pub(in crate::trace) fn straight(&self, place: usize, direction: u8) -> usize {
        let row_bits = self.stride();
        let steps = if direction == 0 {
            let ahead = !self.bits_from(place + 1);
            let beside = self.bits_from(place + row_bits - 1);
            // A step needs the three pixels beside it.
            ahead
                .trailing_zeros()
                .min(beside.trailing_zeros().saturating_sub(2))
        } else {
            let ahead = !self.bits_to(place - 1);
            let beside = self.bits_to(place - row_bits + 1);
            ahead
                .leading_zeros()
                .min(beside.leading_zeros().saturating_sub(2))
        };
        (steps as usize).min(MAX_STRAIGHT)
    }

    /// The bits of the foreground plane from `place` on, at bit 0; at least 57 of them.
    fn bits_from(&self, place: usize) -> u64 {
        self.eight_bytes(place / 8) >> (place % 8)
    }

    /// The bits of the foreground plane up to `place`, at bit 63; at least 57 of them.
    fn bits_to(&self, place: usize) -> u64 {
        self.eight_bytes(place / 8 - 7) << (7 - place % 8)
    }

    fn eight_bytes(&self, byte: usize) -> u64 {
        let bytes: &[u8] = bytemuck::cast_slice(&self.words);
        let eight: [u8; 8] = std::array::from_fn(|i| bytes[byte + i]);
        u64::from_le_bytes(eight)
    }
}

/// The last 1 of a row before bit `x`.
pub(in crate::trace) fn last_one_before(row: &[u64], x: usize) -> Option<usize> {
    let (mut i, bit) = (x / WORD_BITS, x % WORD_BITS);
    let mut word = row[i] & ((1 << bit) - 1);
    while word == 0 {
        i = i.checked_sub(1)?;
        word = row[i];
    }
    Some(i * WORD_BITS + 63 - word.leading_zeros() as usize)
}

/// The first bit of the run of ones that ends at or after bit `x`, which is 1.
pub(in crate::trace) fn run_start(row: &[u64], x: usize) -> usize {
    let (mut i, bit) = (x / WORD_BITS, x % WORD_BITS);
    let mut zeros = !row[i] & ((1 << bit) - 1);
    while zeros == 0 {
        if i == 0 {
            return 0;
        }
        i -= 1;
        zeros = !row[i];
    }
    i * WORD_BITS + 64 - zeros.leading_zeros() as usize
}
