//! Samples to foreground and background, row by row.

use super::grey::GreyImage;
use super::sample::Stored;
use crate::image::check_size;
use crate::memory::zeroed_vec;
use crate::{BinaryImage, Error, Result};

/// Thresholds an image that it is given row by row.
pub(super) struct Thresholder {
    image: BinaryImage,
    grey: Option<Vec<u8>>,
    any_nonzero: bool,
    /// The number of low bits of the samples that the shades lack.
    shift: u32,
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
    pub(super) fn new(width: u64, height: u64, keep_grey: bool) -> Result<Self> {
        check_size(width, height)?;
        let grey = if keep_grey {
            let pixels = usize::try_from(width * height).map_err(|_| Error::ImageTooLarge {
                width,
                height,
                limit: "its pixel count does not fit this machine's addresses",
            })?;
            Some(zeroed_vec(pixels, "the picture to draw over")?)
        } else {
            None
        };
        Ok(Self {
            image: BinaryImage::new(width as u32, height as u32)?,
            grey,
            any_nonzero: false,
            shift: 0,
        })
    }

    pub(super) fn width(&self) -> usize {
        self.image.width() as usize
    }

    pub(super) fn height(&self) -> usize {
        self.image.height() as usize
    }

    /// Takes row `y`: foreground is `value > threshold`.
    pub(super) fn row<T: Stored>(&mut self, y: usize, values: &[T], threshold: T) -> Result<()> {
        self.image
            .set_row_from_values(y as u32, values, threshold)
            .map_err(|error| match error {
                Error::NotANumber { x, .. } => Error::NotANumber { x, y: y as u32 },
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

    /// Takes up to 64 columns, from column `x` (a multiple of 64) on. `values` holds one column
    /// after the other.
    pub(super) fn columns<T: Stored>(
        &mut self,
        x: usize,
        values: &[T],
        threshold: T,
    ) -> Result<()> {
        let (width, height) = (self.width(), self.height());
        if T::MAY_BE_NAN
            && let Some(at) = values.iter().position(|v| v.is_nan())
        {
            return Err(Error::NotANumber {
                x: (x + at / height) as u32,
                y: (at % height) as u32,
            });
        }
        let shift = self.survey(values);
        for y in 0..height {
            let row = values.iter().skip(y).step_by(height);
            let word = row.clone().enumerate().fold(0, |word, (bit, &value)| {
                word | u64::from(value > threshold) << bit
            });
            self.image.row_mut(y as u32)[x / crate::WORD_BITS] = word;
            if let Some(grey) = &mut self.grey {
                for (shade, value) in grey[y * width + x..].iter_mut().zip(row) {
                    *shade = value.shade(threshold, shift);
                }
            }
        }
        Ok(())
    }

    /// Updates the facts about all samples by `values`, and returns the shift for their shades.
    fn survey<T: Stored>(&mut self, values: &[T]) -> u32 {
        let zero = T::zeroed();
        self.any_nonzero = self.any_nonzero || values.iter().any(|value| *value != zero);
        let Some(grey) = &mut self.grey else {
            return 0;
        };
        let more = T::shift(values).saturating_sub(self.shift);
        if more > 0 {
            // Brighter than all samples before. This happens at most 23 times.
            for shade in grey {
                *shade = shade.checked_shr(more).unwrap_or(0);
            }
            self.shift += more;
        }
        self.shift
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
            let mut taken = Thresholder::new(2, 2, true).unwrap();
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
