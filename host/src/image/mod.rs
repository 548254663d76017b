//! [`BinaryImage`]: one bit per pixel.

pub(crate) mod compare;
#[cfg(any(feature = "image", feature = "ndarray"))]
mod convert;
pub(crate) mod gpu;
mod samples;
mod value_rows;
pub(crate) mod values;

pub use samples::Samples;
pub(crate) use samples::pack_row;
pub use value_rows::ValueRows;
pub(crate) use values::Key;
pub use values::{PixelValue, ValueImage};

use crate::error::{Error, OptionProblem, Result};
use crate::memory::zeroed_vec;

/// The number of pixels in a word of a [`BinaryImage`]'s rows.
pub const WORD_BITS: usize = 64;

/// A binary image: foreground (1) and background (0), one bit per pixel.
///
/// A pixel's coordinates are `(x, y)`: x to the right and y down, both from 0. Each row starts with
/// a new word: pixel `(x, y)` is bit `x % 64` (0 is the least significant) of word `x / 64` of row
/// `y`. The bits past the width, in the last word of a row, are always 0.
///
/// There is background beyond the image's frame, so foreground at the frame has a border there too.
///
/// ```
/// use trazar::BinaryImage;
///
/// let image = BinaryImage::from_art(
///     "
///     ..##.
///     .###.
///     ",
/// )?;
/// assert_eq!((image.width(), image.height()), (5, 2));
/// assert!(image.get(2, 0));
/// assert!(!image.get(0, 0));
/// assert_eq!(image.count_foreground(), 5);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct BinaryImage {
    width: u32,
    height: u32,
    words: Vec<u64>,
}

/// The largest width and height. Coordinates of points are `i32`, and may be one past the last
/// pixel.
pub const MAX_SIDE: u32 = i32::MAX as u32 - 1;

impl BinaryImage {
    /// An image of background.
    ///
    /// # Errors
    /// [`Error::EmptyImage`] if a side is 0, [`Error::ImageTooLarge`] if one is larger than
    /// [`MAX_SIDE`], and [`Error::OutOfMemory`].
    pub fn new(width: u32, height: u32) -> Result<Self> {
        check_size(width.into(), height.into())?;
        let words = (width as usize).div_ceil(WORD_BITS) * height as usize;
        Ok(Self {
            width,
            height,
            words: zeroed_vec(words, "the image's bits")?,
        })
    }

    /// Thresholds an image of one value per pixel, row by row without padding. Foreground is
    /// `value > threshold`. [`from_samples`](Self::from_samples) is for other layouts.
    ///
    /// ```
    /// use trazar::BinaryImage;
    ///
    /// let grey = [0u8, 127, 128, 255];
    /// let image = BinaryImage::from_values(2, 2, &grey, 127)?;
    /// assert!(!image.get(1, 0) && image.get(0, 1));
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`BinaryImage::new`]; [`Error::SizeMismatch`] if there are not `width × height`
    /// values; [`Error::NotANumber`] if one of them is NaN.
    pub fn from_values<T: Sample>(
        width: u32,
        height: u32,
        values: &[T],
        threshold: T,
    ) -> Result<Self> {
        Samples::new(width, height, values)?.above(threshold)
    }

    /// Thresholds values in any layout in the caller's memory, or an image of another library: see
    /// [`Samples`]. Foreground is `value > threshold`. Reads each value once.
    ///
    /// # Errors
    /// Those of [`BinaryImage::new`]; [`Error::NotANumber`] for the first value in raster order
    /// that is NaN.
    pub fn from_samples<'a, T: Sample + 'a>(
        samples: impl Into<Samples<'a, T>>,
        threshold: T,
    ) -> Result<Self> {
        samples.into().above(threshold)
    }

    /// Replaces row `y` by thresholded values, for callers that read an image row by row.
    ///
    /// # Errors
    /// [`Error::SizeMismatch`] if there are not `width` values; [`Error::NotANumber`] if one of
    /// them is NaN; the row then holds the others.
    ///
    /// # Panics
    /// If `y` is not below the height.
    pub fn set_row_from_values<T: Sample>(
        &mut self,
        y: u32,
        values: &[T],
        threshold: T,
    ) -> Result<()> {
        check_count(self.width, 1, self.width.into(), values.len(), "values")?;
        let any_nan = pack_row(values, threshold, self.row_mut(y));
        match any_nan.then(|| values.iter().position(|v| v.is_nan())) {
            Some(Some(x)) => Err(Error::NotANumber { x: x as u32, y }),
            _ => Ok(()),
        }
    }

    /// Takes words that are packed as [`BinaryImage`] describes. Bits past the width are cleared.
    ///
    /// # Errors
    /// Those of [`BinaryImage::new`]; [`Error::SizeMismatch`] if there are not
    /// `ceil(width / 64) × height` words.
    pub fn from_words(width: u32, height: u32, words: Vec<u64>) -> Result<Self> {
        check_size(width.into(), height.into())?;
        let row_words = (width as usize).div_ceil(WORD_BITS);
        let needed = row_words as u64 * u64::from(height);
        check_count(width, height, needed, words.len(), "words")?;
        let mut image = Self {
            width,
            height,
            words,
        };
        let past = width as usize % WORD_BITS;
        if past != 0 {
            for row in image.words.chunks_exact_mut(row_words) {
                row[row_words - 1] &= (1 << past) - 1;
            }
        }
        Ok(image)
    }

    /// Calls `foreground(x, y)` for each pixel, in raster order.
    ///
    /// # Errors
    /// Those of [`BinaryImage::new`].
    pub fn from_fn(
        width: u32,
        height: u32,
        mut foreground: impl FnMut(u32, u32) -> bool,
    ) -> Result<Self> {
        let mut image = Self::new(width, height)?;
        for y in 0..height {
            for x in 0..width {
                if foreground(x, y) {
                    image.set(x, y, true);
                }
            }
        }
        Ok(image)
    }

    /// Reads a drawing with one line per row: `#` (or `1`, `@`, `x`) is foreground; `.` (or `0`,
    /// `-`, `_`) is background. Empty lines and white space around lines are ignored.
    ///
    /// For tests and documentation.
    ///
    /// # Errors
    /// Those of [`BinaryImage::new`]; [`Error::InvalidOption`] for another character, or for lines
    /// of different lengths.
    pub fn from_art(art: &str) -> Result<Self> {
        let rows: Vec<&str> = art
            .lines()
            .map(str::trim)
            .filter(|l| !l.is_empty())
            .collect();
        let width = rows.first().map_or(0, |row| row.chars().count());
        check_size(width as u64, rows.len() as u64)?;
        let mut image = Self::new(width as u32, rows.len() as u32)?;
        for (y, row) in rows.iter().enumerate() {
            if row.chars().count() != width {
                return Err(Error::option(
                    "art",
                    OptionProblem::Malformed,
                    format!(
                        "row {y} of the drawing has {} characters, row 0 has {width}",
                        row.chars().count()
                    ),
                ));
            }
            for (x, c) in row.chars().enumerate() {
                match c {
                    '#' | '1' | '@' | 'x' => image.set(x as u32, y as u32, true),
                    '.' | '0' | '-' | '_' => {}
                    _ => {
                        return Err(Error::option(
                            "art",
                            OptionProblem::Malformed,
                            format!("'{c}' in row {y} of the drawing is neither '#' nor '.'"),
                        ));
                    }
                }
            }
        }
        Ok(image)
    }

    /// Width in pixels, at least 1.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height in pixels, at least 1.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The number of pixels.
    pub fn pixel_count(&self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }

    /// The number of words per row.
    pub fn words_per_row(&self) -> usize {
        (self.width as usize).div_ceil(WORD_BITS)
    }

    /// The words of row `y`.
    ///
    /// # Panics
    /// If `y` is not below the height.
    pub fn row(&self, y: u32) -> &[u64] {
        let n = self.words_per_row();
        &self.words[y as usize * n..][..n]
    }

    /// The words of row `y`, mutable. Not public, because bits past the width must stay 0.
    pub(crate) fn row_mut(&mut self, y: u32) -> &mut [u64] {
        let n = self.words_per_row();
        &mut self.words[y as usize * n..][..n]
    }

    /// The words of all rows, mutable. Not public, because bits past the width must stay 0.
    #[cfg(feature = "formats")]
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// The words of all rows, one row after the other.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Whether `(x, y)` is foreground. There is none outside the image.
    pub fn get(&self, x: u32, y: u32) -> bool {
        x < self.width && y < self.height && {
            let word = self.row(y)[x as usize / WORD_BITS];
            word >> (x as usize % WORD_BITS) & 1 == 1
        }
    }

    /// Sets `(x, y)` to foreground or background.
    ///
    /// # Panics
    /// If the pixel is outside the image.
    pub fn set(&mut self, x: u32, y: u32, foreground: bool) {
        assert!(
            x < self.width && y < self.height,
            "pixel ({x}, {y}) is outside the image of {} × {}",
            self.width,
            self.height
        );
        let bit = 1u64 << (x as usize % WORD_BITS);
        let word = &mut self.row_mut(y)[x as usize / WORD_BITS];
        *word = if foreground {
            *word | bit
        } else {
            *word & !bit
        };
    }

    /// The number of foreground pixels.
    pub fn count_foreground(&self) -> u64 {
        self.words.iter().map(|w| u64::from(w.count_ones())).sum()
    }

    /// Swaps foreground and background.
    pub fn invert(&mut self) {
        let n = self.words_per_row();
        let past = self.width as usize % WORD_BITS;
        let last = if past == 0 { !0 } else { (1 << past) - 1 };
        for row in self.words.chunks_exact_mut(n) {
            for word in row.iter_mut() {
                *word = !*word;
            }
            row[n - 1] &= last;
        }
    }
}

/// The drawing that [`BinaryImage::from_art`] reads.
impl std::fmt::Display for BinaryImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for y in 0..self.height {
            for x in 0..self.width {
                f.write_str(if self.get(x, y) { "#" } else { "." })?;
            }
            f.write_str("\n")?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for BinaryImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BinaryImage {} × {}", self.width, self.height)?;
        if self.width <= 128 && self.height <= 128 {
            write!(f, "\n{self}")?;
        }
        Ok(())
    }
}

/// Refuses the size of an image that is empty or too large.
pub(crate) fn check_size(width: u64, height: u64) -> Result<()> {
    if width == 0 || height == 0 {
        return Err(Error::EmptyImage { width, height });
    }
    if width > MAX_SIDE.into() || height > MAX_SIDE.into() {
        return Err(Error::ImageTooLarge {
            width,
            height,
            limit: "a side is at most 2147483646 pixels",
        });
    }
    Ok(())
}

/// Refuses a buffer without the number of values that an image of this size needs.
pub(crate) fn check_count(
    width: u32,
    height: u32,
    needed: u64,
    given: usize,
    unit: &'static str,
) -> Result<()> {
    let given = given as u64;
    if given == needed {
        return Ok(());
    }
    Err(Error::SizeMismatch {
        width,
        height,
        needed,
        given,
        unit,
    })
}

/// Checks the size of a mask of an image; both are width and height.
fn check_mask(mask: [u32; 2], image: [u32; 2]) -> Result<()> {
    if mask == image {
        return Ok(());
    }
    let why = format!(
        "a mask of {} × {} pixels does not fit an image of {} × {}: they must have the same size",
        mask[0], mask[1], image[0], image[1]
    );
    Err(Error::option("mask", OptionProblem::Conflict, why))
}

/// A type of pixel values that can be thresholded.
pub trait Sample: Copy + PartialOrd + sealed::Sealed {
    /// Whether the type has values that are not a number (NaN).
    const MAY_BE_NAN: bool;
    /// Whether this value is not a number.
    fn is_nan(self) -> bool;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! samples {
    ($($type:ty, $may_be_nan:literal, $is_nan:expr;)*) => {$(
        impl sealed::Sealed for $type {}
        impl Sample for $type {
            const MAY_BE_NAN: bool = $may_be_nan;
            #[inline]
            fn is_nan(self) -> bool {
                $is_nan(self)
            }
        }
    )*};
}

samples! {
    bool, false, |_| false;
    u8, false, |_| false;
    u16, false, |_| false;
    u32, false, |_| false;
    i16, false, |_| false;
    i32, false, |_| false;
    i64, false, |_| false;
    f32, true, f32::is_nan;
    f64, true, f64::is_nan;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_every_width() {
        for width in 1..200u32 {
            let values: Vec<u8> = (0..width * 3).map(|i| (i * 37 % 256) as u8).collect();
            let image = BinaryImage::from_values(width, 3, &values, 100).unwrap();
            for y in 0..3 {
                for x in 0..width {
                    assert_eq!(image.get(x, y), values[(y * width + x) as usize] > 100);
                }
            }
            let again = BinaryImage::from_words(width, 3, image.words().to_vec()).unwrap();
            assert_eq!(image, again);
        }
    }

    #[test]
    fn clears_bits_past_the_width() {
        let mut image = BinaryImage::from_words(65, 1, vec![!0, !0]).unwrap();
        assert_eq!(image.words(), [!0, 1]);
        image.invert();
        assert_eq!(image.words(), [0, 0]);
        image.invert();
        assert_eq!(image.count_foreground(), 65);
    }

    #[test]
    fn refuses_what_is_no_image() {
        assert!(matches!(
            BinaryImage::new(0, 3),
            Err(Error::EmptyImage { .. })
        ));
        assert!(matches!(
            BinaryImage::new(u32::MAX, 1),
            Err(Error::ImageTooLarge { .. })
        ));
        assert!(matches!(
            BinaryImage::from_values(2, 2, &[0u8; 3], 0),
            Err(Error::SizeMismatch {
                needed: 4,
                given: 3,
                ..
            })
        ));
        assert!(matches!(
            BinaryImage::from_values(2, 2, &[0.0, 1.0, f32::NAN, 0.0], 0.5),
            Err(Error::NotANumber { x: 0, y: 1 })
        ));
        assert!(BinaryImage::from_art("#.\n#").is_err());
        assert!(BinaryImage::from_art("#?").is_err());
    }

    #[test]
    fn refuses_memory_that_is_not_there() {
        assert!(matches!(
            BinaryImage::new(MAX_SIDE, MAX_SIDE),
            Err(Error::OutOfMemory { .. })
        ));
    }
}
