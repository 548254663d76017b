//! [`Band`]: rows of a larger image.

use super::cpu::walk::Rim;
use crate::error::{Error, OptionProblem, Result};
use crate::image::{BinaryImage, MAX_SIDE, WORD_BITS};

/// Consecutive rows of a larger image, with the row above them and the row below them.
///
/// The two neighbouring rows are not part of the band. They tell where borders leave it: a band
/// without a row above begins at the image's upper frame, and one without a row below ends at its
/// lower frame. Rows are laid out as in [`BinaryImage::row`].
///
/// ```
/// use trazar::BinaryImage;
/// use trazar::trace::Band;
///
/// let [upper, lower] = [".##\n.#.\n", "##.\n"].map(|art| BinaryImage::from_art(art).unwrap());
/// let above = Band::new(&upper, 0).with_below(lower.row(0));
/// let below = Band::new(&lower, 2).with_above(upper.row(1));
/// assert_eq!(above.rows(), 0..2);
/// assert_eq!(below.rows(), 2..3);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Band<'a> {
    image: &'a BinaryImage,
    /// Its rows in `image`.
    own: (u32, u32),
    /// The larger image's row at row 0 of `image`.
    first_row: u32,
    above: Option<&'a [u64]>,
    below: Option<&'a [u64]>,
}

impl<'a> Band<'a> {
    /// The band that consists of all rows of `image`; its row 0 is row `first_row` of the larger
    /// image.
    pub fn new(image: &'a BinaryImage, first_row: u32) -> Self {
        Self {
            image,
            own: (0, image.height()),
            first_row,
            above: None,
            below: None,
        }
    }

    /// The same band with the words of the row above it.
    pub fn with_above(self, row: &'a [u64]) -> Self {
        Self {
            above: Some(row),
            ..self
        }
    }

    /// The same band with the words of the row below it.
    pub fn with_below(self, row: &'a [u64]) -> Self {
        Self {
            below: Some(row),
            ..self
        }
    }

    /// Its first `rows` rows and its other rows as bands, unless empty.
    pub(super) fn split_at(self, rows: u32) -> [Option<Self>; 2] {
        let (begin, end) = self.own;
        let middle = begin + rows;
        let part = |begin, end| {
            (begin < end).then_some(Self {
                own: (begin, end),
                ..self
            })
        };
        [part(begin, middle), part(middle, end)]
    }

    /// The band of a whole image.
    pub(in super::super) fn whole(image: &'a BinaryImage) -> Self {
        Self::new(image, 0)
    }

    /// The width in pixels.
    pub fn width(&self) -> u32 {
        self.image.width()
    }

    /// The number of rows.
    pub fn height(&self) -> u32 {
        self.own.1 - self.own.0
    }

    /// The band's rows in the larger image.
    pub fn rows(&self) -> std::ops::Range<u32> {
        let row = |own| self.first_row.saturating_add(own);
        row(self.own.0)..row(self.own.1)
    }

    /// Refuses rows that do not fit the band, and bands that no image can have.
    pub(in super::super) fn check(&self) -> Result<()> {
        let size = [self.width(), self.height()];
        let rims = [self.above.is_some(), self.below.is_some()];
        check_place(self.first_row, size, rims)?;
        let past = self.width() as usize % WORD_BITS;
        for (option, row) in [("above", self.above), ("below", self.below)] {
            let Some(row) = row else { continue };
            if row.len() != self.image.words_per_row() {
                return Err(Error::LengthMismatch {
                    needed: self.image.words_per_row(),
                    given: row.len(),
                });
            }
            if past != 0 && row[row.len() - 1] >> past != 0 {
                return Err(Error::option(
                    option,
                    OptionProblem::Malformed,
                    "the bits past the width of a row must be 0",
                ));
            }
        }
        Ok(())
    }

    /// Row `y` of the band.
    pub(in crate::trace) fn row(&self, y: u32) -> &'a [u64] {
        self.image.row(self.own.0 + y)
    }

    /// The row above row `y`.
    pub(in crate::trace) fn row_above(&self, y: u32) -> Option<&'a [u64]> {
        match (self.own.0 + y).checked_sub(1) {
            Some(above) => Some(self.image.row(above)),
            None => self.above,
        }
    }

    /// The row below row `y`.
    pub(in crate::trace) fn row_below(&self, y: u32) -> Option<&'a [u64]> {
        let below = self.own.0 + y + 1;
        if below < self.image.height() {
            Some(self.image.row(below))
        } else {
            self.below
        }
    }

    /// The rows at a rim, the upper one first; `None` for the image's frame.
    pub(in crate::trace) fn rim_rows(&self, rim: Rim) -> Option<[&'a [u64]; 2]> {
        let last = self.height() - 1;
        match rim {
            Rim::Above => self.row_above(0).map(|row| [row, self.row(0)]),
            Rim::Below => self.row_below(last).map(|row| [self.row(last), row]),
        }
    }
}

/// Refuses bands of this width and height that no image can have, if they begin with row
/// `first_row` of it. `rims` tells whether there is a row above the band, and one below.
pub(super) fn check_place(
    first_row: u32,
    [width, height]: [u32; 2],
    [above, below]: [bool; 2],
) -> Result<()> {
    let end = u64::from(first_row) + u64::from(height);
    if end + u64::from(below) > u64::from(MAX_SIDE) {
        return Err(Error::ImageTooLarge {
            width: width.into(),
            height: end,
            limit: "a side is at most 2147483646 pixels",
        });
    }
    if above != (first_row > 0) {
        return Err(Error::option(
            "above",
            OptionProblem::Conflict,
            "a band has a row above it unless it begins with row 0",
        ));
    }
    Ok(())
}
