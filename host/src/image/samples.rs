//! [`Samples`]: values of pixels in the caller's memory, thresholded in place.

use super::{BinaryImage, Sample, WORD_BITS, check_count, check_size};
use crate::error::{Error, Result};
use crate::memory::prefetch_ahead;

/// Values of an image's pixels in the caller's memory, with any distance between rows and between
/// columns. [`BinaryImage::from_samples`] thresholds them without a copy, and reads each value
/// once.
///
/// The values of `image::GrayImage` and other images of the crate `image` (feature `image`), and of
/// `ndarray::ArrayView2` (feature `ndarray`), convert into this type.
///
/// ```
/// use trazar::{BinaryImage, Samples};
///
/// // Rows of 3 pixels, each followed by a byte of padding.
/// let padded = [9u8, 200, 7, 0, 180, 3, 250, 0];
/// let image = BinaryImage::from_samples(Samples::with_strides(3, 2, 4, 1, &padded)?, 127)?;
/// assert_eq!(image.to_string(), ".#.\n#.#\n");
///
/// // The green channel of 2 × 1 pixels of red, green and blue.
/// let rgb = [1u8, 255, 2, 3, 0, 4];
/// let green = Samples::with_strides(2, 1, 6, 3, &rgb[1..])?;
/// assert_eq!(BinaryImage::from_samples(green, 127)?.to_string(), "#.\n");
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Samples<'a, T> {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) layout: Layout<'a, T>,
}

/// Where the value of pixel `(x, y)` is.
#[derive(Clone, Copy)]
pub(super) enum Layout<'a, T> {
    /// At `values[y * row_stride + x * column_stride]`.
    Strided {
        values: &'a [T],
        row_stride: usize,
        column_stride: usize,
    },
    /// At `[y, x]` of an array whose axes may run backwards.
    #[cfg(feature = "ndarray")]
    Array(ndarray::ArrayView2<'a, T>),
}

impl<'a, T> Samples<'a, T> {
    /// Values row by row without padding.
    ///
    /// # Errors
    /// [`Error::EmptyImage`], [`Error::ImageTooLarge`]; [`Error::SizeMismatch`] unless there are
    /// `width × height` values.
    pub fn new(width: u32, height: u32, values: &'a [T]) -> Result<Self> {
        check_size(width.into(), height.into())?;
        let needed = u64::from(width) * u64::from(height);
        check_count(width, height, needed, values.len(), "values")?;
        Ok(Self::dense(width as usize, height as usize, values))
    }

    /// Values at any distance: that of pixel `(x, y)` is
    /// `values[y * row_stride + x * column_stride]`.
    ///
    /// # Errors
    /// [`Error::EmptyImage`], [`Error::ImageTooLarge`]; [`Error::SizeMismatch`] if the last pixel's
    /// value is not among the values.
    pub fn with_strides(
        width: u32,
        height: u32,
        row_stride: usize,
        column_stride: usize,
        values: &'a [T],
    ) -> Result<Self> {
        check_size(width.into(), height.into())?;
        let to_last = |side: u32, stride: usize| u128::from(side - 1) * stride as u128;
        let needed = to_last(height, row_stride) + to_last(width, column_stride) + 1;
        if (values.len() as u128) < needed {
            return Err(Error::SizeMismatch {
                width,
                height,
                needed: u64::try_from(needed).unwrap_or(u64::MAX),
                given: values.len() as u64,
                unit: "values",
            });
        }
        Ok(Self {
            width: width as usize,
            height: height as usize,
            layout: Layout::Strided {
                values,
                row_stride,
                column_stride,
            },
        })
    }

    /// `width * height` values, row by row.
    pub(super) fn dense(width: usize, height: usize, values: &'a [T]) -> Self {
        Self {
            width,
            height,
            layout: Layout::Strided {
                values,
                row_stride: width,
                column_stride: 1,
            },
        }
    }

    /// Width in pixels. An image of another library may have none.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Height in pixels. An image of another library may have none.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The same values with rows and columns exchanged.
    pub(crate) fn turned(self) -> Self {
        let layout = match self.layout {
            Layout::Strided {
                values,
                row_stride,
                column_stride,
            } => Layout::Strided {
                values,
                row_stride: column_stride,
                column_stride: row_stride,
            },
            #[cfg(feature = "ndarray")]
            Layout::Array(array) => Layout::Array(array.reversed_axes()),
        };
        Self {
            width: self.height,
            height: self.width,
            layout,
        }
    }

    /// The values of row `y`, if they are adjacent. Either all rows' values are, or none's.
    pub(crate) fn row(&self, y: usize) -> Option<&'a [T]> {
        match &self.layout {
            Layout::Strided {
                values,
                row_stride,
                column_stride: 1,
            } => Some(&values[y * row_stride..][..self.width]),
            Layout::Strided { .. } => None,
            #[cfg(feature = "ndarray")]
            Layout::Array(array) => array.index_axis_move(ndarray::Axis(0), y).to_slice(),
        }
    }

    /// The values from the first pixel's on, and the number of values from the start of a row to
    /// the start of the next, if the values of each row are adjacent.
    pub(crate) fn adjacent_rows(&self) -> Option<(&'a [T], usize)> {
        match &self.layout {
            Layout::Strided {
                values,
                row_stride,
                column_stride: 1,
            } if *row_stride >= self.width => {
                let needed = (self.height - 1) * row_stride + self.width;
                Some((&values[..needed], *row_stride))
            }
            Layout::Strided { .. } => None,
            #[cfg(feature = "ndarray")]
            Layout::Array(array) => Some((array.to_slice()?, self.width)),
        }
    }

    /// Whether the next value in memory is that of the next row rather than of the next column.
    fn is_by_columns(&self) -> bool {
        match &self.layout {
            Layout::Strided {
                row_stride,
                column_stride,
                ..
            } => row_stride < column_stride,
            #[cfg(feature = "ndarray")]
            Layout::Array(array) => {
                let [rows, columns] = [0, 1].map(|axis| array.strides()[axis].unsigned_abs());
                rows < columns
            }
        }
    }
}

impl<T: Copy> Samples<'_, T> {
    /// The value at `(x, y)`.
    #[inline]
    pub(crate) fn get(&self, x: usize, y: usize) -> T {
        match &self.layout {
            Layout::Strided {
                values,
                row_stride,
                column_stride,
            } => values[y * row_stride + x * column_stride],
            #[cfg(feature = "ndarray")]
            Layout::Array(array) => array[[y, x]],
        }
    }
}

impl<T: Sample> Samples<'_, T> {
    /// The image of the values above `threshold`.
    pub(super) fn above(&self, threshold: T) -> Result<BinaryImage> {
        check_size(self.width as u64, self.height as u64)?;
        let mut image = BinaryImage::new(self.width as u32, self.height as u32)?;
        if self.row(0).is_some() {
            for y in 0..self.height {
                if let Some(row) = self.row(y) {
                    image.set_row_from_values(y as u32, row, threshold)?;
                }
            }
            return Ok(image);
        }
        for top in (0..self.height).step_by(BAND) {
            self.threshold_band(top, threshold, &mut image)?;
        }
        Ok(image)
    }

    /// Thresholds up to [`BAND`] rows from row `top` on. A block of 64 columns is read along the
    /// axis on which values are closer, so no cache line is fetched twice.
    fn threshold_band(&self, top: usize, threshold: T, image: &mut BinaryImage) -> Result<()> {
        let rows = BAND.min(self.height - top);
        let is_by_columns = self.is_by_columns();
        let mut any_nan = false;
        for (i, left) in (0..self.width).step_by(WORD_BITS).enumerate() {
            let columns = WORD_BITS.min(self.width - left);
            let mut block = [[false; WORD_BITS]; BAND];
            let mut compare = |x: usize, y: usize| {
                let value = self.get(left + x, top + y);
                any_nan |= T::MAY_BE_NAN && value.is_nan();
                block[y][x] = value > threshold;
            };
            if is_by_columns {
                (0..columns).for_each(|x| (0..rows).for_each(|y| compare(x, y)));
            } else {
                (0..rows).for_each(|y| (0..columns).for_each(|x| compare(x, y)));
            }
            for (y, bits) in block[..rows].iter().enumerate() {
                image.row_mut((top + y) as u32)[i] = pack(|x| bits[x]);
            }
        }
        if !any_nan {
            return Ok(());
        }
        let pixels = (top..top + rows).flat_map(|y| (0..self.width).map(move |x| (x, y)));
        let mut nans = pixels.filter(|&(x, y)| self.get(x, y).is_nan());
        let (x, y) = nans.next().unwrap_or_default();
        Err(Error::NotANumber {
            x: x as u32,
            y: y as u32,
        })
    }
}

/// The number of rows that are thresholded together if the values of a row are not adjacent.
const BAND: usize = 64;

impl<T> std::fmt::Debug for Samples<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Samples")
            .field("width", &self.width)
            .field("height", &self.height)
            .finish_non_exhaustive()
    }
}

/// Packs the values of a row into words, those above `threshold` as 1. Says whether one of them is
/// not a number.
pub(crate) fn pack_row<T: Sample>(values: &[T], threshold: T, words: &mut [u64]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the feature, as just asked.
        return unsafe { pack_row_avx2(values, threshold, words) };
    }
    pack_row_anywhere(values, threshold, words)
}

/// As [`pack_row`], with wider vectors.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn pack_row_avx2<T: Sample>(values: &[T], threshold: T, words: &mut [u64]) -> bool {
    pack_row_anywhere(values, threshold, words)
}

#[inline(always)]
fn pack_row_anywhere<T: Sample>(values: &[T], threshold: T, words: &mut [u64]) -> bool {
    let mut any_nan = false;
    let mut is_above = |value: T| {
        any_nan |= T::MAY_BE_NAN && value.is_nan();
        value > threshold
    };
    let (whole, rest) = values.as_chunks::<WORD_BITS>();
    let (words, last) = words.split_at_mut(whole.len());
    for (i, (word, chunk)) in words.iter_mut().zip(whole).enumerate() {
        prefetch_ahead(values, i * WORD_BITS, WORD_BITS);
        *word = pack(|i| is_above(chunk[i]));
    }
    if let Some(word) = last.first_mut() {
        *word = pack(|i| rest.get(i).is_some_and(|&value| is_above(value)));
    }
    any_nan
}

/// One bit per place of a word.
#[inline(always)]
pub(super) fn pack(mut bit: impl FnMut(usize) -> bool) -> u64 {
    // First one byte per pixel, all of whose bits are the same: the compiler uses vector
    // comparisons.
    let mut bytes = [0u8; WORD_BITS];
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from(bit(i)).wrapping_neg();
    }
    gather(&bytes)
}

/// The highest bits of 64 bytes as a word; the bytes are 0 or 255.
#[inline(always)]
fn gather(bytes: &[u8; WORD_BITS]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__m128i, _mm_movemask_epi8};

        // 16 bytes at a time. All processors of the architecture have SSE2.
        let quarters: &[__m128i; 4] = &bytemuck::cast(*bytes);
        let mut word = 0;
        for (i, &quarter) in quarters.iter().enumerate() {
            // SAFETY: SSE2 is there.
            let bits = unsafe { _mm_movemask_epi8(quarter) };
            word |= u64::from(bits.cast_unsigned()) << (16 * i);
        }
        word
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        // One multiplication turns each eight bytes into eight bits: the lowest bit of byte i, at
        // bit 8 i, times 2^(56 - 7 i) lands on bit 56 + i, and no two products overlap.
        const GATHER: u64 = 0x0102_0408_1020_4080;
        const LOWEST: u64 = 0x0101_0101_0101_0101;
        let mut word = 0;
        for (i, group) in bytes.as_chunks::<8>().0.iter().enumerate() {
            let lowest = u64::from_le_bytes(*group) & LOWEST;
            word |= (lowest.wrapping_mul(GATHER) >> 56) << (8 * i);
        }
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every order of axes and every padding gives the bits of a plain comparison.
    #[test]
    fn strides_make_no_difference() {
        for (width, height) in [(1u32, 1u32), (3, 70), (64, 64), (65, 129), (200, 5)] {
            let (w, h) = (width as usize, height as usize);
            let value = |x: usize, y: usize| (x * 37 + y * 101 + x * y) as i32 % 256 - 128;
            let expected =
                BinaryImage::from_fn(width, height, |x, y| value(x as usize, y as usize) > 5);
            let expected = expected.unwrap();
            // The strides of rows and columns.
            for (rows, columns) in [(w, 1), (w + 3, 1), (3 * w, 3), (1, h), (2, 2 * h + 1)] {
                let len = (h - 1) * rows + (w - 1) * columns + 1;
                // The values between the pixels must not matter.
                let mut values = vec![i32::MAX; len];
                for (x, y) in (0..h).flat_map(|y| (0..w).map(move |x| (x, y))) {
                    values[y * rows + x * columns] = value(x, y);
                }
                let samples = Samples::with_strides(width, height, rows, columns, &values).unwrap();
                let found = BinaryImage::from_samples(samples, 5).unwrap();
                assert!(
                    found == expected,
                    "{width} × {height}, {rows} and {columns}"
                );
                let short = &values[..len - 1];
                let refused = Samples::with_strides(width, height, rows, columns, short);
                assert!(
                    matches!(refused, Err(Error::SizeMismatch { .. })),
                    "{rows} and {columns}"
                );
            }
        }
    }

    #[test]
    fn one_value_may_be_all_pixels() {
        let samples = Samples::with_strides(70, 3, 0, 0, &[1u8]).unwrap();
        let image = BinaryImage::from_samples(samples, 0).unwrap();
        assert_eq!(image.count_foreground(), 210);
    }

    #[test]
    fn the_first_nan_in_raster_order_is_named() {
        let mut values = vec![0.0f64; 100 * 130];
        for (row_stride, column_stride) in [(100, 1), (1, 130)] {
            values.fill(0.0);
            for (x, y) in [(1, 80), (99, 79), (2, 80)] {
                values[y * row_stride + x * column_stride] = f64::NAN;
            }
            let samples = Samples::with_strides(100, 130, row_stride, column_stride, &values);
            let refused = BinaryImage::from_samples(samples.unwrap(), 0.5);
            assert!(
                matches!(refused, Err(Error::NotANumber { x: 99, y: 79 })),
                "{refused:?}"
            );
        }
    }

    #[test]
    fn sizes_that_overflow_are_refused() {
        let refused = Samples::with_strides(3, 3, usize::MAX, usize::MAX, &[0u8; 9]);
        assert!(matches!(refused, Err(Error::SizeMismatch { .. })));
        assert!(matches!(
            Samples::<u8>::new(0, 3, &[]),
            Err(Error::EmptyImage { .. })
        ));
    }
}
