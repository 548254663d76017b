//! From samples to foreground and background, row by row.

use rayon::prelude::*;

use super::grey::GreyImage;
use super::sample::{Missing, SampleKind, Stored};
use super::sink::{PieceRows, Sink};
use crate::image::check_size;
use crate::memory::zeroed_vec;
use crate::{BinaryImage, Error, Result, WORD_BITS};

/// Thresholds a band of an image's rows, or all of them, row by row.
pub(super) struct Thresholder {
    image: BinaryImage,
    /// The image's row at which the band begins.
    first_row: u32,
    grey: Option<Vec<u8>>,
    any_nonzero: bool,
    /// The number of the samples' low bits that the shades lack.
    shift: u32,
    /// The value of pixels that are background.
    no_data: Option<Missing>,
    /// Room for a row of values in which those without data are replaced, in words.
    room: Vec<u64>,
}

/// Stretches shades that are all nearly black: masks of 0 and 1, or of a few classes.
fn brighten(shades: &mut [u8]) {
    let most = shades.iter().copied().max().unwrap_or(0);
    if (1..64).contains(&most) {
        for shade in shades {
            *shade = (u16::from(*shade) * 255 / u16::from(most)) as u8;
        }
    }
}

impl Thresholder {
    /// For the rows `first_row` to `first_row + rows - 1` of an image.
    pub(super) fn new(
        width: u32,
        first_row: u32,
        rows: u32,
        keep_grey: bool,
        no_data: Option<Missing>,
    ) -> Result<Self> {
        check_size(width.into(), rows.into())?;
        let grey = if keep_grey {
            let pixels = u64::from(width) * u64::from(rows);
            let pixels = usize::try_from(pixels).map_err(|_| Error::ImageTooLarge {
                width: width.into(),
                height: rows.into(),
                limit: "its pixel count does not fit this machine's addresses",
            })?;
            Some(zeroed_vec(pixels, "the picture to draw over")?)
        } else {
            None
        };
        Ok(Self {
            image: BinaryImage::new(width, rows)?,
            first_row,
            grey,
            any_nonzero: false,
            shift: 0,
            no_data,
            room: Vec::new(),
        })
    }

    /// The error for a NaN at row `y` of the band.
    fn not_a_number(&self, x: usize, y: usize) -> Error {
        Error::NotANumber {
            x: x as u32,
            y: self.first_row + y as u32,
        }
    }

    /// Calls `take` with `values`, in which background replaces every no-data value, and with the
    /// indices of the replaced values.
    fn without_missing<T: Stored>(
        &mut self,
        values: &[T],
        threshold: T,
        take: impl FnOnce(&mut Self, &[T], &mut dyn Iterator<Item = usize>) -> Result<()>,
    ) -> Result<()> {
        let missing = self.no_data.and_then(|no_data| T::of_number(no_data.value));
        let is_missing = |value: &T| missing.is_some_and(|missing| value.is_same(missing));
        if missing.is_none() || !values.iter().any(is_missing) {
            return take(self, values, &mut std::iter::empty());
        }
        let zero = T::zeroed();
        let below = if zero > threshold { threshold } else { zero };
        let mut room = std::mem::take(&mut self.room);
        let words = size_of_val(values).div_ceil(8);
        if room.len() < words {
            room = zeroed_vec(words, "a row of samples")?;
        }
        let whole: &mut [T] = &mut bytemuck::cast_slice_mut(&mut room)[..values.len()];
        for (to, value) in whole.iter_mut().zip(values) {
            *to = if is_missing(value) { below } else { *value };
        }
        let mut indices = (0..values.len()).filter(|&i| is_missing(&values[i]));
        take(self, whole, &mut indices)?;
        self.room = room;
        Ok(())
    }

    /// Gives the pixels without data their bit.
    fn set_missing(&mut self, pixels: impl Iterator<Item = (usize, usize)>) {
        if self.no_data.is_some_and(|no_data| no_data.bit) {
            for (x, y) in pixels {
                self.image.row_mut(y as u32)[x / WORD_BITS] |= 1 << (x % WORD_BITS);
            }
        }
    }

    /// Takes row `y`, in which no value is missing.
    fn whole_row<T: Stored>(&mut self, y: usize, values: &[T], threshold: T) -> Result<()> {
        self.image
            .set_row_from_values(y as u32, values, threshold)
            .map_err(|error| match error {
                Error::NotANumber { x, .. } => self.not_a_number(x as usize, y),
                other => other,
            })?;
        let shift = self.survey(values);
        if let Some(grey) = &mut self.grey {
            let width = self.image.width() as usize;
            for (shade, value) in grey[y * width..][..width].iter_mut().zip(values) {
                *shade = value.shade(threshold, shift);
            }
        }
        Ok(())
    }

    /// Takes up to 64 columns, in which no value is missing.
    fn whole_columns<T: Stored>(&mut self, x: usize, values: &[T], threshold: T) -> Result<()> {
        let (width, height) = (self.width(), self.rows());
        if T::MAY_BE_NAN
            && let Some(at) = values.iter().position(|v| v.is_nan())
        {
            return Err(self.not_a_number(x + at / height, at % height));
        }
        let shift = self.survey(values);
        for y in 0..height {
            let row = values.iter().skip(y).step_by(height);
            let word = row.clone().enumerate().fold(0, |word, (bit, &value)| {
                word | u64::from(value > threshold) << bit
            });
            self.image.row_mut(y as u32)[x / WORD_BITS] = word;
            if let Some(grey) = &mut self.grey {
                for (shade, value) in grey[y * width + x..].iter_mut().zip(row) {
                    *shade = value.shade(threshold, shift);
                }
            }
        }
        Ok(())
    }

    /// Updates the facts about all samples from `values`, and returns the shift for their shades.
    fn survey<T: Stored>(&mut self, values: &[T]) -> u32 {
        let zero = T::zeroed();
        self.any_nonzero = self.any_nonzero || values.iter().any(|value| *value != zero);
        if self.grey.is_some() {
            self.raise_shift(T::shift(values));
        }
        self.shift
    }

    /// Makes the shift at least `shift`, for samples brighter than all before.
    fn raise_shift(&mut self, shift: u32) {
        let more = shift.saturating_sub(self.shift);
        if more > 0 {
            // This happens at most 23 times.
            for shade in self.grey.iter_mut().flatten() {
                *shade = shade.checked_shr(more).unwrap_or(0);
            }
            self.shift = shift;
        }
    }

    /// The image, the picture if it was kept, and whether some samples are not zero.
    pub(super) fn finish(self) -> (BinaryImage, Option<GreyImage>, bool) {
        let grey = self.grey.map(|mut samples| {
            brighten(&mut samples);
            GreyImage {
                width: self.image.width(),
                height: self.image.height(),
                samples,
            }
        });
        (self.image, grey, self.any_nonzero)
    }
}

impl Sink for Thresholder {
    const VALUES: bool = false;

    fn bytes(_: SampleKind, pixels: u64) -> u64 {
        pixels.div_ceil(8)
    }

    fn width(&self) -> usize {
        self.image.width() as usize
    }

    fn rows(&self) -> usize {
        self.image.height() as usize
    }

    fn first_row(&self) -> usize {
        self.first_row as usize
    }

    fn row<T: Stored>(&mut self, y: usize, values: &[T], threshold: T) -> Result<()> {
        self.without_missing(values, threshold, |taken, values, missing| {
            taken.whole_row(y, values, threshold)?;
            taken.set_missing(missing.map(|x| (x, y)));
            Ok(())
        })
    }

    fn packed_row(&mut self, y: usize, packed: &[u8], white: bool, threshold: u8) {
        let width = self.width();
        let invert = if white { 0 } else { u64::MAX };
        let past = width % WORD_BITS;
        let last = if past == 0 { !0 } else { (1 << past) - 1 };
        let row = self.image.row_mut(y as u32);
        let words = row.len();
        for (i, (word, bytes)) in row.iter_mut().zip(packed.chunks(8)).enumerate() {
            let mut eight = [0; 8];
            eight[..bytes.len()].copy_from_slice(bytes);
            // The leftmost pixel goes to the lowest bit.
            let bits = u64::from_be_bytes(eight).reverse_bits() ^ invert;
            *word = if i + 1 == words { bits & last } else { bits };
            self.any_nonzero |= *word != 0;
        }
        if let Some(grey) = &mut self.grey {
            for (x, shade) in grey[y * width..][..width].iter_mut().enumerate() {
                *shade = if row[x / WORD_BITS] >> (x % WORD_BITS) & 1 == 1 {
                    255
                } else {
                    0
                };
            }
        }
        if self.no_data.is_none() && threshold != u8::MAX {
            return;
        }
        let no_data = self.no_data.filter(|no_data| no_data.value <= 1.0);
        let missing = no_data.and_then(|no_data| u8::of_number(no_data.value));
        for (i, word) in row.iter_mut().enumerate() {
            let found = *word;
            if threshold == u8::MAX {
                *word = 0;
            }
            if let (Some(no_data), Some(missing)) = (no_data, missing) {
                let missing = if missing == 0 { !found } else { found };
                let valid = if i + 1 == words { last } else { !0 };
                *word = match no_data.bit {
                    true => *word | missing & valid,
                    false => *word & !missing,
                };
            }
        }
    }

    fn columns<T: Stored>(&mut self, x: usize, values: &[T], threshold: T) -> Result<()> {
        let height = self.rows();
        self.without_missing(values, threshold, |taken, values, missing| {
            taken.whole_columns(x, values, threshold)?;
            taken.set_missing(missing.map(|at| (x + at / height, at % height)));
            Ok(())
        })
    }

    fn piece(&self, width: u32, first_row: u32, rows: u32) -> Result<Self> {
        Self::new(width, first_row, rows, self.grey.is_some(), self.no_data)
    }

    fn start_again(&mut self, first_row: u32) {
        // planted: piece-first-row
        self.first_row = first_row;
        self.any_nonzero = false;
        self.shift = 0;
    }

    fn take_facts(&mut self, piece: &Self) {
        self.any_nonzero |= piece.any_nonzero;
        self.raise_shift(piece.shift);
    }

    fn take_pieces(&mut self, y: usize, count: usize, pieces: &PieceRows<'_, Self>) {
        let words = self.image.words_per_row();
        let rows = &mut self.image.words_mut()[y * words..][..count * words];
        rows.par_chunks_mut(words)
            .with_min_len((1 << 14) / words)
            .enumerate()
            .for_each(|(i, into)| {
                let (row, y) = (pieces.at)(i);
                for (column, piece) in row.iter().enumerate() {
                    if let Some(piece) = piece {
                        put(into, column * pieces.width, piece.image.row(y as u32));
                    }
                }
            });
        let (width, shift) = (self.width(), self.shift);
        let Some(grey) = &mut self.grey else { return };
        let grey = grey[y * width..][..count * width].chunks_exact_mut(width);
        for (i, into) in grey.enumerate() {
            let (row, y) = (pieces.at)(i);
            for (column, piece) in row.iter().enumerate() {
                let Some(piece) = piece else { continue };
                let Some(shades) = &piece.grey else { continue };
                let more = shift - piece.shift;
                let shades = &shades[y * piece.width()..][..piece.width()];
                for (to, shade) in into[column * pieces.width..].iter_mut().zip(shades) {
                    *to = shade.checked_shr(more).unwrap_or(0);
                }
            }
        }
    }
}

/// Puts the bits of part of a row in their place, from pixel `x` on. The row's bits there must be
/// 0.
fn put(row: &mut [u64], x: usize, bits: &[u64]) {
    let (word, shift) = (x / WORD_BITS, x % WORD_BITS);
    let row = &mut row[word..];
    if shift == 0 {
        row[..bits.len()].copy_from_slice(bits);
        return;
    }
    for (i, bits) in bits.iter().enumerate() {
        row[i] |= bits << shift;
        if let Some(next) = row.get_mut(i + 1) {
            // planted: tiff-word-end
            *next |= bits >> (WORD_BITS - shift);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_can_be_seen() {
        fn shades<T: Stored>(rows: [[T; 2]; 2], columns: bool) -> Vec<u8> {
            let mut taken = Thresholder::new(2, 0, 2, true, None).unwrap();
            let threshold = T::at_most(0.5);
            if columns {
                let [[a, b], [c, d]] = rows;
                taken.columns(0, &[a, c, b, d], threshold).unwrap();
            } else {
                for (y, row) in rows.iter().enumerate() {
                    taken.row(y, row, threshold).unwrap();
                }
            }
            taken.finish().1.unwrap().samples
        }
        for columns in [false, true] {
            assert_eq!(shades([[0u8, 1], [1, 0]], columns), [0, 255, 255, 0]);
            assert_eq!(shades([[0u16, 1], [1, 0]], columns), [0, 255, 255, 0]);
            assert_eq!(shades([[0u8, 9], [64, 1]], columns), [0, 9, 64, 1]);
            let wide = [[255u16, 0x0fff], [0xff00, 0xffff]];
            assert_eq!(shades(wide, columns), [0, 15, 255, 255]);
            let twelve = [[0u16, 0x0100], [0x0800, 0x0fff]];
            assert_eq!(shades(twelve, columns), [0, 16, 128, 255]);
        }
    }
}
