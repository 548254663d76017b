//! From samples to foreground and background, row by row.

use super::grey::GreyImage;
use super::sample::Stored;
use crate::image::check_size;
use crate::memory::zeroed_vec;
use crate::{BinaryImage, Error, Result, WORD_BITS};

/// Thresholds a band of an image's rows, or all of them, row by row.
pub(super) struct Thresholder {
    pub(super) image: BinaryImage,
    /// The image's row at which the band begins.
    first_row: u32,
    pub(super) grey: Option<Vec<u8>>,
    pub(super) any_nonzero: bool,
    /// The number of the samples' low bits that the shades lack.
    pub(super) shift: u32,
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
    pub(super) fn new(width: u32, first_row: u32, rows: u32, keep_grey: bool) -> Result<Self> {
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
        })
    }

    /// Whether it has this width and number of rows.
    pub(super) fn is_for(&self, width: u32, rows: u32) -> bool {
        (self.image.width(), self.image.height()) == (width, rows)
    }

    /// Clears all rows, for reuse from row `first_row` on.
    pub(super) fn start_again(&mut self, first_row: u32) {
        // planted: piece-first-row
        self.first_row = first_row;
        self.any_nonzero = false;
        self.shift = 0;
    }

    /// Merges the facts about all samples of `part`, whose rows belong to this image.
    pub(super) fn take_facts(&mut self, part: &Self) {
        self.any_nonzero |= part.any_nonzero;
        self.raise_shift(part.shift);
    }

    pub(super) fn width(&self) -> usize {
        self.image.width() as usize
    }

    /// The number of the band's rows.
    pub(super) fn rows(&self) -> usize {
        self.image.height() as usize
    }

    /// The image's row at which the band begins.
    pub(super) fn first_row(&self) -> usize {
        self.first_row as usize
    }

    /// The error for a NaN at row `y` of the band.
    pub(super) fn not_a_number(&self, x: usize, y: usize) -> Error {
        Error::NotANumber {
            x: x as u32,
            y: self.first_row + y as u32,
        }
    }

    /// Takes row `y` of the band: foreground is `value > threshold`.
    pub(super) fn row<T: Stored>(&mut self, y: usize, values: &[T], threshold: T) -> Result<()> {
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

    /// Takes row `y` of the band as bits, the leftmost pixel in the highest bit of the first byte.
    /// Bits equal to `white` stand for the sample 255, others for 0; foreground is above
    /// `threshold`.
    pub(super) fn packed_row(&mut self, y: usize, packed: &[u8], white: bool, threshold: u8) {
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
        if threshold == u8::MAX {
            row.fill(0);
        }
    }

    /// Takes up to 64 columns, from column `x` (a multiple of 64) on. `values` holds one column
    /// after the other.
    pub(super) fn columns<T: Stored>(
        &mut self,
        x: usize,
        values: &[T],
        threshold: T,
    ) -> Result<()> {
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
    pub(super) fn raise_shift(&mut self, shift: u32) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_can_be_seen() {
        fn shades<T: Stored>(rows: [[T; 2]; 2], columns: bool) -> Vec<u8> {
            let mut taken = Thresholder::new(2, 0, 2, true).unwrap();
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
