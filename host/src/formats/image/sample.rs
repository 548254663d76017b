//! The kinds of samples that image files hold.

use super::raster::RasterValues;
use crate::Sample;
use crate::error::{Error, OptionProblem, Result, short};

/// The kind of the samples that an image file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SampleKind {
    /// 1-bit and `bool`: 0 or 1.
    Bit,
    /// 8-bit unsigned; for colours, their luminance.
    U8,
    /// 16-bit unsigned; for colours, their luminance.
    U16,
    /// 32-bit unsigned.
    U32,
    /// 16-bit signed.
    I16,
    /// 32-bit signed.
    I32,
    /// 64-bit signed.
    I64,
    /// 32-bit float.
    F32,
    /// 64-bit float.
    F64,
}

impl SampleKind {
    /// The default threshold; samples above it are foreground.
    ///
    /// The middle of the range for unsigned samples, 0 for signed ones (for elevations, land is
    /// foreground), 0.5 for floats.
    pub fn default_threshold(self) -> f64 {
        match self {
            Self::U8 => 127.0,
            Self::U16 => 32767.0,
            Self::U32 | Self::I16 | Self::I32 | Self::I64 => 0.0,
            Self::Bit | Self::F32 | Self::F64 => 0.5,
        }
    }

    /// The smallest and the largest value.
    pub fn range(self) -> (f64, f64) {
        match self {
            Self::Bit => (0.0, 1.0),
            Self::U8 => (0.0, u8::MAX.into()),
            Self::U16 => (0.0, u16::MAX.into()),
            Self::U32 => (0.0, u32::MAX.into()),
            Self::I16 => (i16::MIN.into(), i16::MAX.into()),
            Self::I32 => (i32::MIN.into(), i32::MAX.into()),
            Self::I64 => (i64::MIN as f64, i64::MAX as f64),
            Self::F32 => (f32::MIN.into(), f32::MAX.into()),
            Self::F64 => (f64::MIN, f64::MAX),
        }
    }

    /// The kind's name: `"1-bit"`, `"8-bit"`, `"16-bit"`, `"uint32"`, `"int16"`, `"int32"`,
    /// `"int64"`, `"float32"`, `"float64"`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bit => "1-bit",
            Self::U8 => "8-bit",
            Self::U16 => "16-bit",
            Self::U32 => "uint32",
            Self::I16 => "int16",
            Self::I32 => "int32",
            Self::I64 => "int64",
            Self::F32 => "float32",
            Self::F64 => "float64",
        }
    }

    /// The threshold `asked` if it is in range; the default if it is `None`.
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
        let reason = match self {
            Self::F32 | Self::F64 => {
                format!("the threshold {threshold} is no finite {name} number")
            }
            _ => format!(
                "the threshold {threshold} is out of range: \
                 for {name} samples it is {low} to {high}"
            ),
        };
        Err(Error::option(
            "threshold",
            OptionProblem::OutOfRange,
            reason,
        ))
    }
}

/// Pixels without data.
#[derive(Clone, Copy)]
pub(super) struct Missing {
    /// Their samples' value; it may be NaN.
    pub(super) value: f64,
    /// Their bit, before the image is inverted.
    pub(super) bit: bool,
}

/// A type of samples in files.
pub(super) trait Stored: Sample + bytemuck::Pod + Send + Sync {
    /// The value that equals `number`, if there is one. For floats, the nearest one: programs
    /// write such numbers with too few digits.
    fn of_number(number: f64) -> Option<Self>;
    /// Whether the values are equal, or both are not a number.
    fn is_same(self, other: Self) -> bool {
        self == other || self.is_nan() && other.is_nan()
    }
    /// The values of `raster`, if they are of this type.
    fn values(raster: &RasterValues) -> Option<&[Self]>;
    /// The values of `raster`, if they are of this type.
    fn values_mut(raster: &mut RasterValues) -> Option<&mut [Self]>;
    /// The largest value of the type that is at most `threshold`: a sample is above one exactly if
    /// it is above the other.
    fn at_most(threshold: f64) -> Self;
    /// The value with its bytes in the opposite order.
    fn swapped(self) -> Self;
    /// The value as a shade for display: for integers, the bits above the lowest `shift`; for
    /// floats, scaled so that the threshold is a medium shade.
    fn shade(self, threshold: Self, shift: u32) -> u8;
    /// The smallest `shift` for which the shades of all `values` fit a byte.
    fn shift(_values: &[Self]) -> u32 {
        0
    }
}

/// The values of a raster that are of this type.
macro_rules! in_raster {
    ($variant:ident) => {
        fn values(raster: &RasterValues) -> Option<&[Self]> {
            match raster {
                RasterValues::$variant(values) => Some(values),
                _ => None,
            }
        }
        fn values_mut(raster: &mut RasterValues) -> Option<&mut [Self]> {
            match raster {
                RasterValues::$variant(values) => Some(values),
                _ => None,
            }
        }
    };
}

/// What integers of a type have in common.
macro_rules! exact {
    ($variant:ident) => {
        fn of_number(number: f64) -> Option<Self> {
            // The conversion saturates, beyond all types.
            let whole = number as i128;
            let is_whole = whole as f64 == number;
            is_whole.then(|| whole.try_into().ok()).flatten()
        }
        in_raster!($variant);
    };
}

impl Stored for u8 {
    exact!(U8);
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
    exact!(U16);
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

impl Stored for u32 {
    exact!(U32);
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
        (Self::BITS - u8::BITS).saturating_sub(bits.leading_zeros())
    }
}

/// Signed integers. Values below zero are black.
macro_rules! signed {
    ($($type:ident, $variant:ident;)*) => {$(
        impl Stored for $type {
            exact!($variant);
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
signed! {
    i16, I16;
    i32, I32;
    i64, I64;
}

impl Stored for f32 {
    fn of_number(number: f64) -> Option<Self> {
        Some(number as Self)
    }
    in_raster!(F32);
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
    fn of_number(number: f64) -> Option<Self> {
        Some(number)
    }
    in_raster!(F64);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn float_thresholds_are_exact() {
        // The float nearest to 0.1 is above 0.1; the float nearest to 0.3 is above 0.3 too.
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
}
