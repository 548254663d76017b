//! From samples to foreground and background, row by row.

use crate::error::short;
use crate::image::check_size;
use crate::{BinaryImage, Error, Result, Sample};

use super::grey::GreyImage;
use super::read::ReadOptions;

/// What an image file holds for each pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SampleKind {
    /// 1-bit and `bool`: 0 or 1.
    Bit,
    /// 8-bit unsigned; for colours, their luminance.
    U8,
    /// 16-bit unsigned; for colours, their luminance.
    U16,
    /// 16-bit signed.
    I16,
    /// 32-bit signed.
    I32,
    /// 32-bit float.
    F32,
    /// 64-bit float.
    F64,
}

impl SampleKind {
    /// The threshold that is used when none is asked for; foreground is what is above it.
    ///
    /// The middle of the range for unsigned samples, 0 for signed ones (elevations: what is above
    /// sea level), 0.5 for floats.
    pub fn default_threshold(self) -> f64 {
        match self {
            Self::U8 => 127.0,
            Self::U16 => 32767.0,
            Self::I16 | Self::I32 => 0.0,
            Self::Bit | Self::F32 | Self::F64 => 0.5,
        }
    }

    /// The smallest and the largest value.
    pub fn range(self) -> (f64, f64) {
        match self {
            Self::Bit => (0.0, 1.0),
            Self::U8 => (0.0, u8::MAX.into()),
            Self::U16 => (0.0, u16::MAX.into()),
            Self::I16 => (i16::MIN.into(), i16::MAX.into()),
            Self::I32 => (i32::MIN.into(), i32::MAX.into()),
            Self::F32 => (f32::MIN.into(), f32::MAX.into()),
            Self::F64 => (f64::MIN, f64::MAX),
        }
    }

    /// The kind's name: `"1-bit"`, `"8-bit"`, `"16-bit"`, `"int16"`, `"int32"`, `"float32"`,
    /// `"float64"`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bit => "1-bit",
            Self::U8 => "8-bit",
            Self::U16 => "16-bit",
            Self::I16 => "int16",
            Self::I32 => "int32",
            Self::F32 => "float32",
            Self::F64 => "float64",
        }
    }

    /// The threshold to use: the one asked for if it is in range, or the default.
    pub(super) fn threshold(self, asked: Option<f64>) -> Result<f64> {
        let Some(threshold) = asked else {
            return Ok(self.default_threshold());
        };
        let (low, high) = self.range();
        if (low..=high).contains(&threshold) {
            return Ok(threshold);
        }
        let name = self.name();
        let threshold = short(threshold);
        Err(Error::InvalidOption(match self {
            Self::F32 | Self::F64 => {
                format!("the threshold {threshold} is no finite {name} number")
            }
            _ => format!(
                "the threshold {threshold} is out of range: for {name} samples it is {low} to {high}"
            ),
        }))
    }
}

/// A type that files hold samples in.
pub(super) trait Stored: Sample + bytemuck::Pod {
    /// The largest value `t` of the type such that `value > t` says `value > threshold`.
    fn at_most(threshold: f64) -> Self;
    /// The same value from bytes of the other endianness.
    fn swapped(self) -> Self;
    /// The value as a shade for display, the threshold of floats being a medium one; of integers,
    /// the bits above the lowest `shift`.
    fn shade(self, threshold: Self, shift: u32) -> u8;
    /// The `shift` with which all of `values` are shades.
    fn shift(_values: &[Self]) -> u32 {
        0
    }
}

impl Stored for u8 {
    fn at_most(threshold: f64) -> Self {
        threshold.floor() as Self
    }
    fn swapped(self) -> Self {
        self
    }
    fn shade(self, _: Self, _: u32) -> u8 {
        self
    }
}

impl Stored for u16 {
    fn at_most(threshold: f64) -> Self {
        threshold.floor() as Self
    }
    fn swapped(self) -> Self {
        self.swap_bytes()
    }
    fn shade(self, _: Self, shift: u32) -> u8 {
        (self >> shift) as u8
    }
    fn shift(values: &[Self]) -> u32 {
        let bits = values.iter().fold(0, |bits, value| bits | value);
        u8::BITS.saturating_sub(bits.leading_zeros())
    }
}

/// Signed integers. Their shades are those of their bits without a sign; below zero is black.
macro_rules! signed {
    ($($type:ty),*) => {$(
        impl Stored for $type {
            fn at_most(threshold: f64) -> Self {
                threshold.floor() as Self
            }
            fn swapped(self) -> Self {
                self.swap_bytes()
            }
            fn shade(self, _: Self, shift: u32) -> u8 {
                (self.max(0) >> shift) as u8
            }
            fn shift(values: &[Self]) -> u32 {
                let bits = values.iter().fold(0, |bits, value| bits | value.max(&0));
                (Self::BITS - u8::BITS).saturating_sub(bits.leading_zeros())
            }
        }
    )*};
}
signed!(i16, i32);

impl Stored for f32 {
    fn at_most(threshold: f64) -> Self {
        let nearest = threshold as Self;
        if f64::from(nearest) > threshold {
            nearest.next_down()
        } else {
            nearest
        }
    }
    fn swapped(self) -> Self {
        Self::from_bits(self.to_bits().swap_bytes())
    }
    fn shade(self, threshold: Self, shift: u32) -> u8 {
        f64::from(self).shade(threshold.into(), shift)
    }
}

impl Stored for f64 {
    fn at_most(threshold: f64) -> Self {
        threshold
    }
    fn swapped(self) -> Self {
        Self::from_bits(self.to_bits().swap_bytes())
    }
    fn shade(self, threshold: Self, _: u32) -> u8 {
        if threshold > 0.0 {
            // Saturates.
            (127.5 * self / threshold) as u8
        } else if self > threshold {
            255
        } else {
            0
        }
    }
}

/// Takes an image row by row and thresholds it.
pub(super) struct Thresholder {
    image: BinaryImage,
    grey: Option<Vec<u8>>,
    any_nonzero: bool,
    /// The shades are the samples without so many low bits.
    shift: u32,
}

/// Stretches shades of which none can be told from black: masks of 0 and 1, few classes.
fn brighten(shades: &mut [u8]) {
    let most = shades.iter().copied().max().unwrap_or(0);
    if (1..64).contains(&most) {
        for shade in shades {
            *shade = (u16::from(*shade) * 255 / u16::from(most)) as u8;
        }
    }
}

impl Thresholder {
    pub(super) fn new(width: u64, height: u64, options: &ReadOptions) -> Result<Self> {
        check_size(width, height)?;
        let grey = if options.keep_grey {
            let pixels = usize::try_from(width * height).map_err(|_| Error::ImageTooLarge {
                width,
                height,
                limit: "its pixel count does not fit this machine's addresses",
            })?;
            Some(crate::memory::zeroed_vec(
                pixels,
                "the picture to draw over",
            )?)
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
        let shift = self.see(values);
        if let Some(grey) = &mut self.grey {
            let width = self.image.width() as usize;
            for (shade, value) in grey[y * width..][..width].iter_mut().zip(values) {
                *shade = value.shade(threshold, shift);
            }
        }
        Ok(())
    }

    /// Takes up to 64 columns, from column `x` (a multiple of 64) on; `values` holds one
    /// column after the other.
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
        let shift = self.see(values);
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

    /// Takes note of what there is in `values`; gives the shift for their shades.
    fn see<T: Stored>(&mut self, values: &[T]) -> u32 {
        let zero = T::zeroed();
        self.any_nonzero = self.any_nonzero || values.iter().any(|value| *value != zero);
        let Some(grey) = &mut self.grey else {
            return 0;
        };
        let more = T::shift(values).saturating_sub(self.shift);
        if more > 0 {
            // Brighter than all before: eight times at most.
            for shade in grey {
                *shade = shade.checked_shr(more).unwrap_or(0);
            }
            self.shift += more;
        }
        self.shift
    }

    /// The image; the picture if it was to be kept; whether some samples are not zero.
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
    fn float_thresholds_are_exact() {
        // The float nearest to 0.1 is above it, the one nearest to 0.3 below.
        assert!(0.1f32 > f32::at_most(0.1));
        assert!(f64::from(0.1f32) > 0.1);
        assert!(0.3f32 > f32::at_most(0.3) || f64::from(0.3f32) <= 0.3);
        for t in [0.1, 0.2, 0.3, 0.7, 1e-40, -0.1, 1e30] {
            for v in [t as f32, (t as f32).next_up(), (t as f32).next_down()] {
                assert_eq!(v > f32::at_most(t), f64::from(v) > t, "{v} and {t}");
            }
        }
    }

    #[test]
    fn thresholds_out_of_range_name_the_range() {
        let message = |kind: SampleKind, t| kind.threshold(Some(t)).unwrap_err().to_string();
        assert!(message(SampleKind::U8, 256.0).contains("0 to 255"));
        assert!(message(SampleKind::U8, f64::NAN).contains("0 to 255"));
        assert!(message(SampleKind::U16, -1.0).contains("0 to 65535"));
        assert!(message(SampleKind::Bit, 2.0).contains("0 to 1"));
        assert!(message(SampleKind::F32, 1e300).contains("finite"));
        assert_eq!(SampleKind::U8.threshold(Some(12.5)).unwrap(), 12.5);
        assert_eq!(SampleKind::U16.threshold(None).unwrap(), 32767.0);
    }

    #[test]
    fn pictures_can_be_seen() {
        let options = ReadOptions {
            keep_grey: true,
            ..ReadOptions::default()
        };
        fn shades<T: Stored>(options: &ReadOptions, rows: [[T; 2]; 2], columns: bool) -> Vec<u8> {
            let mut taken = Thresholder::new(2, 2, options).unwrap();
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
            assert_eq!(
                shades(&options, [[0u8, 1], [1, 0]], columns),
                [0, 255, 255, 0]
            );
            assert_eq!(
                shades(&options, [[0u16, 1], [1, 0]], columns),
                [0, 255, 255, 0]
            );
            assert_eq!(
                shades(&options, [[0u8, 9], [64, 1]], columns),
                [0, 9, 64, 1]
            );
            let wide = [[255u16, 0x0fff], [0xff00, 0xffff]];
            assert_eq!(shades(&options, wide, columns), [0, 15, 255, 255]);
            let twelve = [[0u16, 0x0100], [0x0800, 0x0fff]];
            assert_eq!(shades(&options, twelve, columns), [0, 16, 128, 255]);
        }
    }
}
