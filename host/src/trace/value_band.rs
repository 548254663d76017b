//! [`ValueBand`]: rows of a larger image of values.

use std::ops::Range;

use super::band::check_place;
use super::cpu::walk::Rim;
use crate::error::{Error, Result};
use crate::image::compare::ValueRow;
use crate::image::{PixelValue, ValueImage};

/// Consecutive rows of a larger image of values, with the row above them and the row below them.
///
/// The two neighbouring rows are not part of the band. They tell where regions leave it: a band
/// without a row above begins at the image's upper frame, and one without a row below ends at its
/// lower frame. Each of the three images says which of its pixels count.
///
/// ```
/// use trazar::trace::ValueBand;
/// use trazar::{Samples, ValueImage};
///
/// let rows = [[5u8, 5, 7], [5, 7, 7], [5, 5, 5]];
/// let [upper, middle, lower] = [0, 1, 2].map(|y| {
///     ValueImage::new(Samples::new(3, 1, &rows[y]).unwrap()).unwrap()
/// });
/// let band = ValueBand::new(&middle, 1).with_above(&upper).with_below(&lower);
/// assert_eq!(band.rows(), 1..2);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ValueBand<'a, 'p, T> {
    image: &'a ValueImage<'p, T>,
    first_row: u32,
    above: Option<&'a ValueImage<'p, T>>,
    below: Option<&'a ValueImage<'p, T>>,
}

impl<'a, 'p, T: PixelValue> ValueBand<'a, 'p, T> {
    /// The band that consists of all rows of `image`; its row 0 is row `first_row` of the larger
    /// image.
    pub fn new(image: &'a ValueImage<'p, T>, first_row: u32) -> Self {
        Self {
            image,
            first_row,
            above: None,
            below: None,
        }
    }

    /// The same band below the last row of `image`.
    pub fn with_above(self, image: &'a ValueImage<'p, T>) -> Self {
        Self {
            above: Some(image),
            ..self
        }
    }

    /// The same band above the first row of `image`.
    pub fn with_below(self, image: &'a ValueImage<'p, T>) -> Self {
        Self {
            below: Some(image),
            ..self
        }
    }

    /// The width in pixels.
    pub fn width(&self) -> u32 {
        self.image.width()
    }

    /// The number of rows.
    pub fn height(&self) -> u32 {
        self.image.height()
    }

    /// The band's rows in the larger image.
    pub fn rows(&self) -> Range<u32> {
        self.first_row..self.first_row.saturating_add(self.height())
    }

    /// Refuses rows that do not fit the band, and bands that no image can have.
    pub(super) fn check(&self) -> Result<()> {
        let size = [self.width(), self.height()];
        check_place(self.first_row, size, self.rims())?;
        for row in [self.above, self.below].into_iter().flatten() {
            if row.width() != self.width() {
                return Err(Error::LengthMismatch {
                    needed: self.width() as usize,
                    given: row.width() as usize,
                });
            }
        }
        Ok(())
    }

    /// Its pixels.
    pub(super) fn image(&self) -> &'a ValueImage<'p, T> {
        self.image
    }

    /// Whether there is a row above it, and one below.
    pub(super) fn rims(&self) -> [bool; 2] {
        [self.above.is_some(), self.below.is_some()]
    }

    /// The image that has the row above the band, and that row of it.
    fn row_above(&self) -> Option<(&'a ValueImage<'p, T>, u32)> {
        self.above.map(|image| (image, image.height() - 1))
    }

    /// The same for the row below.
    fn row_below(&self) -> Option<(&'a ValueImage<'p, T>, u32)> {
        self.below.map(|image| (image, 0))
    }

    /// Reads row `y` of the band; -1 is the row above it, and its height the row below. No pixel
    /// counts in a row that is not there.
    pub(super) fn read(&self, y: i64, row: &mut ValueRow<'p, T>) -> Result<()> {
        let height = self.height();
        let there = match u32::try_from(y) {
            Err(_) => self.row_above(),
            Ok(y) if y < height => Some((self.image, y)),
            Ok(_) => self.row_below(),
        };
        // No pixel counts in the row past an image.
        let (image, y) = there.unwrap_or((self.image, height));
        row.read(image, y)
    }

    /// The hash of the two rows at a rim, or `None` if it is the image's frame: of the pixels that
    /// count, and their values.
    pub(super) fn rim_hash(&self, rim: Rim) -> Option<u64> {
        let rows = match rim {
            Rim::Above => [self.row_above()?, (self.image, 0)],
            Rim::Below => [(self.image, self.height() - 1), self.row_below()?],
        };
        let pixels = rows.into_iter().flat_map(|(image, y)| {
            let keys = (0..image.width()).map(move |x| image.get(x, y).map(|value| value.key()));
            keys.flat_map(|key| [u64::from(key.is_some()), key.unwrap_or(0)])
        });
        Some(super::parts::hash_words(pixels))
    }
}
