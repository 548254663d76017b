//! The image's foreground as a bit plane, and the pixels around a pixel.

// `Plane::window` reads the words of a plane as bytes.
const _: () = assert!(cfg!(target_endian = "little"));

use std::ops::Range;

use rayon::prelude::*;
use trazar_kernels::trace::node_bits::BesideBits;

use super::chains::Direction;
use super::pixels::{MAX_STRAIGHT, Pixels, SPARE_ROWS, Strips};
use crate::error::Result;
use crate::image::{BinaryImage, WORD_BITS};
use crate::memory::{advise_large_pages, zeroed_vec};
use crate::trace::Band;
use crate::trace::contours::BorderKind;

/// One bit per pixel, surrounded by background. The foreground is one region.
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

    /// The pixels of the word `at`, and their neighbours in the row. Rows' spare bits separate
    /// them.
    #[inline(always)]
    pub(in crate::trace) fn beside(&self, at: usize) -> BesideBits {
        BesideBits::new(self.words[at - 1], self.words[at], self.words[at + 1])
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

impl Pixels for Plane {
    const DIAGONALS: usize = 1;

    #[inline(always)]
    fn row_words(&self) -> usize {
        self.row_words
    }

    #[inline(always)]
    fn row(&self, at: usize) -> BesideBits {
        self.beside(at)
    }

    #[inline(always)]
    fn above(&self, at: usize) -> BesideBits {
        self.beside(at - self.row_words)
    }

    #[inline(always)]
    fn below(&self, at: usize) -> BesideBits {
        self.beside(at + self.row_words)
    }

    #[inline(always)]
    fn line(&self, at: usize) -> [u64; 3] {
        let [above, below] = [self.words[at - self.row_words], self.words[at]];
        [above, below, above & below]
    }

    #[inline]
    fn window(&self, place: usize) -> usize {
        let (place, stride) = (place - 1, self.stride());
        self.three(place - stride) | self.three(place) << 3 | self.three(place + stride) << 6
    }

    #[inline]
    fn straight(&self, place: usize, direction: Direction) -> usize {
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

    #[inline(always)]
    fn for_each_word(
        &self,
        row: usize,
        mut visit: impl FnMut(usize, Option<(BesideBits, BesideBits)>),
    ) {
        let n = self.row_words;
        let (above, this) = self.words[(row - 1) * n..(row + 1) * n].split_at(n);
        // The words to the left, in both rows.
        let (mut above_left, mut left) = (0, 0);
        for i in 0..n {
            let pixels = this[i];
            let right = this.get(i + 1).copied().unwrap_or(0);
            let row = BesideBits::new(left, pixels, right);
            if row.west == pixels && row.east == pixels {
                // All one run, or all background, as in most words of most images.
                visit(i, None);
                above_left = above[i];
                continue;
            }
            left = pixels;
            let north = above[i];
            let above_right = above.get(i + 1).copied().unwrap_or(0);
            visit(
                i,
                Some((row, BesideBits::new(above_left, north, above_right))),
            );
            above_left = north;
        }
    }

    #[inline(always)]
    fn side_before(&self, kind: BorderKind, x: usize, row: usize) -> Option<usize> {
        let row = &self.words[row * self.row_words..][..self.row_words];
        match kind {
            BorderKind::Outer => last_one_before(row, x),
            BorderKind::Hole => Some(run_start(row, x)),
        }
    }
}

impl Strips for Band<'_> {
    type Pixels = Plane;

    fn width(&self) -> u32 {
        Band::width(self)
    }

    fn height(&self) -> u32 {
        Band::height(self)
    }

    fn goes_on(&self, rows: &Range<u32>) -> [bool; 2] {
        [
            self.row_above(rows.start).is_some(),
            self.row_below(rows.end - 1).is_some(),
        ]
    }

    fn room(&self, rows: u32) -> Result<Plane> {
        Plane::background(Band::width(self), rows)
    }

    fn load(&self, plane: &mut Plane, rows: &Range<u32>, mut visit: impl FnMut(&Plane, usize)) {
        let (first, end) = (SPARE_ROWS, SPARE_ROWS + rows.len());
        let above = self.row_above(rows.start).unwrap_or_default();
        plane.set_row(first - 1, above);
        for (y, row) in (first..end).zip(rows.clone()) {
            let pixels = self.row(row);
            plane.words[y * plane.row_words..][..pixels.len()].copy_from_slice(pixels);
            visit(plane, y);
        }
        let below = self.row_below(rows.end - 1).unwrap_or_default();
        plane.set_row(end, below);
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
