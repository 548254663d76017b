//! Which neighbouring pixels of a [`ValueImage`] have equal values, 64 pixels at a time.

use super::values::PixelValue;
use super::{ValueImage, WORD_BITS, samples::pack};
use crate::error::Result;
use crate::memory::{prefetch_ahead, reserve, zeroed_vec};

/// One bit per pair of values, set if they are equal. Surplus bits of `words` become 0.
pub(crate) fn equal_words<T: Copy + PartialEq>(a: &[T], b: &[T], words: &mut [u64]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the feature, as just asked.
        return unsafe { equal_words_avx2(a, b, words) };
    }
    equal_words_anywhere(a, b, words);
}

/// As [`equal_words`], with wider vectors.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn equal_words_avx2<T: Copy + PartialEq>(a: &[T], b: &[T], words: &mut [u64]) {
    equal_words_anywhere(a, b, words);
}

#[inline(always)]
fn equal_words_anywhere<T: Copy + PartialEq>(a: &[T], b: &[T], words: &mut [u64]) {
    let ([a, a_rest], [b, b_rest]) = (split(a), split(b));
    let count = a.len() / WORD_BITS;
    let pairs = a.chunks_exact(WORD_BITS).zip(b.chunks_exact(WORD_BITS));
    for (i, (word, (of_a, of_b))) in words.iter_mut().zip(pairs).enumerate() {
        prefetch_ahead(a, i * WORD_BITS, WORD_BITS);
        *word = equal_word(of_a, of_b);
    }
    if let Some((last, past)) = words[count..].split_first_mut() {
        *last = equal_word(a_rest, b_rest);
        past.fill(0);
    }
}

/// The values in whole words, and the rest.
#[inline(always)]
fn split<T>(values: &[T]) -> [&[T]; 2] {
    let (whole, rest) = values.split_at(values.len() / WORD_BITS * WORD_BITS);
    [whole, rest]
}

/// One bit per pair of at most 64 values.
#[inline(always)]
fn equal_word<T: Copy + PartialEq>(a: &[T], b: &[T]) -> u64 {
    match (a.first_chunk::<WORD_BITS>(), b.first_chunk::<WORD_BITS>()) {
        (Some(a), Some(b)) => pack(|i| a[i] == b[i]),
        _ => pack(|i| matches!((a.get(i), b.get(i)), (Some(a), Some(b)) if a == b)),
    }
}

/// Name used in out-of-memory errors.
const ROW: &str = "a row of values";

/// A row of a [`ValueImage`].
pub(crate) struct ValueRow<'a, T> {
    /// The values: the image's own, or a copy if they are not adjacent there.
    own: Option<&'a [T]>,
    copy: Vec<T>,
    /// The pixels that count. At least one spare bit follows the width; spare bits are 0, as in all
    /// rows of this module.
    pub(crate) here: Vec<u64>,
    /// The pixels that count whose neighbours to the E do too and have the same value.
    pub(crate) east: Vec<u64>,
}

impl<'a, T: PixelValue> ValueRow<'a, T> {
    /// Room for a row of the image; no pixel counts.
    pub(crate) fn new(image: &ValueImage<'a, T>) -> Result<Self> {
        let words = row_words(image.width());
        Ok(Self {
            own: None,
            copy: Vec::new(),
            here: zeroed_vec(words, ROW)?,
            east: zeroed_vec(words, ROW)?,
        })
    }

    /// The values; none before a row is read.
    #[inline(always)]
    pub(crate) fn values(&self) -> &[T] {
        self.own.unwrap_or(&self.copy)
    }

    /// Reads row `y`, or a row in which no pixel counts if the image has no such row.
    pub(crate) fn read(&mut self, image: &ValueImage<'a, T>, y: u32) -> Result<()> {
        if y >= image.height() {
            self.here.fill(0);
            self.east.fill(0);
            return Ok(());
        }
        let width = image.width() as usize;
        let samples = image.samples();
        self.own = samples.row(y as usize);
        if self.own.is_none() {
            self.copy.clear();
            reserve(&mut self.copy, width, ROW)?;
            self.copy
                .extend((0..width).map(|x| samples.get(x, y as usize)));
        }
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the feature, as just asked.
            unsafe { self.compare_avx2(image, y) };
            return Ok(());
        }
        self.compare_anywhere(image, y);
        Ok(())
    }

    /// As [`compare_anywhere`](Self::compare_anywhere), with wider vectors.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn compare_avx2(&mut self, image: &ValueImage<'a, T>, y: u32) {
        self.compare_anywhere(image, y);
    }

    /// Finds which values count, and which equal the next one.
    #[inline(always)]
    fn compare_anywhere(&mut self, image: &ValueImage<'a, T>, y: u32) {
        let values = self.own.unwrap_or(&self.copy);
        let width = values.len();
        equal_words_anywhere(&values[..width - 1], &values[1..], &mut self.east);
        let here = &mut self.here;
        let (whole, bits) = (width / WORD_BITS, width % WORD_BITS);
        here[..whole].fill(!0);
        here[whole] = (1 << bits) - 1;
        let mut all = true;
        if let Some(mask) = image.mask_image() {
            all = false;
            for (word, mask) in here.iter_mut().zip(mask.row(y)) {
                *word &= mask;
            }
        }
        for &background in image.background_values() {
            all = false;
            let background = [background; WORD_BITS];
            for (word, values) in here.iter_mut().zip(values.chunks(WORD_BITS)) {
                *word &= !equal_word(values, &background);
            }
        }
        if T::MAY_BE_NAN {
            all = false;
            for (word, values) in here.iter_mut().zip(values.chunks(WORD_BITS)) {
                *word &= equal_word(values, values);
            }
        }
        if !all {
            for i in 0..here.len() {
                let right = here.get(i + 1).copied().unwrap_or(0);
                self.east[i] &= here[i] & (here[i] >> 1 | right << (WORD_BITS - 1));
            }
        }
    }

    /// The pixels that count whose neighbours in `below`, the next row, do too and have the same
    /// value.
    pub(crate) fn compare_below(&self, below: &Self, south: &mut [u64]) {
        let (values, others) = (self.values(), below.values());
        if others.len() < values.len() {
            south.fill(0);
            return;
        }
        equal_words(values, others, south);
        for ((south, here), below) in south.iter_mut().zip(&self.here).zip(&below.here) {
            *south &= here & below;
        }
    }

    /// For word `i`, from this row and the next one with the `south` between them:
    ///
    /// - the pixels that equal their neighbours to the SE,
    /// - the pixels whose neighbours to the E and to the S are equal.
    ///
    /// If any two pixels side by side at a corner are equal, the equality of its diagonals follows
    /// from that of its sides. So values are compared only where no two are, which is rare.
    #[inline(always)]
    pub(crate) fn diagonals(&self, below: &Self, south: &[u64], i: usize) -> [u64; 2] {
        let next = |words: &[u64]| {
            let right = words.get(i + 1).copied().unwrap_or(0);
            words[i] >> 1 | right << (WORD_BITS - 1)
        };
        let (east, south_here, south_next) = (self.east[i], south[i], next(south));
        let east_below = below.east[i];
        let falling = east & south_next | south_here & east_below;
        let rising = east & south_here | south_next & east_below;
        let known = east | south_here | south_next | east_below;
        let unknown = [
            self.here[i] & next(&below.here) & !known,
            next(&self.here) & below.here[i] & !known,
        ];
        if unknown[0] | unknown[1] == 0 {
            return [falling, rising];
        }
        self.compare_corners(below, i, unknown, [falling, rising])
    }

    /// Compares the diagonals of corners whose pixels are given.
    fn compare_corners(
        &self,
        below: &Self,
        i: usize,
        unknown: [u64; 2],
        [mut falling, mut rising]: [u64; 2],
    ) -> [u64; 2] {
        /// The fewest corners for which all of a word are compared.
        const MANY: u32 = 12;
        let first = i * WORD_BITS;
        let (values, others) = (&self.values()[first..], &below.values()[first..]);
        if unknown[0].count_ones() + unknown[1].count_ones() >= MANY {
            let past_first = |values: &[T]| values.len().min(1);
            let (values_next, others_next) =
                (&values[past_first(values)..], &others[past_first(others)..]);
            falling |= equal_word(head(values), head(others_next)) & unknown[0];
            rising |= equal_word(head(values_next), head(others)) & unknown[1];
            return [falling, rising];
        }
        let mut corners = unknown[0];
        while corners != 0 {
            let x = corners.trailing_zeros() as usize;
            corners &= corners - 1;
            falling |= u64::from(values[x] == others[x + 1]) << x;
        }
        let mut corners = unknown[1];
        while corners != 0 {
            let x = corners.trailing_zeros() as usize;
            corners &= corners - 1;
            rising |= u64::from(values[x + 1] == others[x]) << x;
        }
        [falling, rising]
    }
}

/// At most 64 of the values.
fn head<T>(values: &[T]) -> &[T] {
    &values[..values.len().min(WORD_BITS)]
}

/// The words of a row that ends with at least one bit past the width.
pub(crate) const fn row_words(width: u32) -> usize {
    width as usize / WORD_BITS + 1
}
