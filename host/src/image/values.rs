//! [`ValueImage`]: values of pixels in the caller's memory, compared in place.

use super::{BinaryImage, Sample, Samples, check_mask, check_size};
use crate::error::Result;
use crate::memory::push;

/// A type of values whose pixels form regions: `u8`, `u16`, `u32`, `i16`, `i32`, `i64` or `f32`.
///
/// Values are equal as numbers: `-0.0` equals `0.0`. NaN is no data: a pixel with it belongs to no
/// region.
pub trait PixelValue: Sample + Send + Sync + std::fmt::Debug + Key {}

/// What the library needs to know of a [`PixelValue`]; outside, the trait cannot be implemented.
mod sealed {
    /// An integer for each value, in the order of the values; and a number for the type.
    pub trait Key: crate::image::gpu::DeviceValue + crate::bytes::Number {
        /// The type's number in byte formats.
        const TYPE: u8;

        /// The same for equal values, and only for these; unspecified for NaN.
        fn key(self) -> u64;
    }
}

pub(crate) use sealed::Key;

macro_rules! pixel_values {
    ($($type:ty, $number:literal => $key:expr;)*) => {$(
        impl Key for $type {
            const TYPE: u8 = $number;
            #[inline(always)]
            fn key(self) -> u64 {
                $key(self)
            }
        }
        impl PixelValue for $type {}
    )*};
}

/// Exchanges the order of negative and other numbers in two's complement.
const SIGN: u64 = 1 << 63;

pixel_values! {
    u8, 1 => u64::from;
    u16, 2 => u64::from;
    u32, 3 => u64::from;
    i16, 4 => |value| i64::from(value).cast_unsigned() ^ SIGN;
    i32, 5 => |value| i64::from(value).cast_unsigned() ^ SIGN;
    i64, 6 => |value: i64| value.cast_unsigned() ^ SIGN;
    f32, 7 => float_key;
}

#[inline(always)]
fn float_key(value: f32) -> u64 {
    // The bits of positive numbers are in their order, and those of negative ones in the reverse
    // order. The sum makes -0.0 the positive zero.
    let bits = (value + 0.0).to_bits();
    let ordered = if bits >> 31 == 0 {
        bits | 1 << 31
    } else {
        !bits
    };
    ordered.into()
}

/// An image of values over the caller's memory, and which of its pixels count.
///
/// A **region** is a maximal connected set of pixels with equal values. Pixels with a
/// [background](Self::background) value, pixels outside the [mask](Self::mask) and pixels with NaN
/// belong to no region.
///
/// ```
/// use trazar::{Connectivity, Engine, Samples, ValueImage};
///
/// let classes = [5u8, 5, 0, 7, 5, 0];
/// let image = ValueImage::new(Samples::new(3, 2, &classes)?)?.background(0)?;
/// let labels = Engine::cpu().label_values(&image, Connectivity::Four)?;
/// assert_eq!(labels.as_slice(), [1, 1, 0, 2, 1, 0]);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ValueImage<'a, T> {
    samples: Samples<'a, T>,
    background: Vec<T>,
    mask: Option<&'a BinaryImage>,
}

impl<'a, T: PixelValue> ValueImage<'a, T> {
    /// The values at the pixels: [`Samples`], or an image of another library that converts into
    /// them. They are read in place, once per job.
    ///
    /// # Errors
    /// [`Error::EmptyImage`](crate::Error::EmptyImage) if a side is 0,
    /// [`Error::ImageTooLarge`](crate::Error::ImageTooLarge) if one is larger than
    /// [`MAX_SIDE`](crate::MAX_SIDE).
    pub fn new(samples: impl Into<Samples<'a, T>>) -> Result<Self> {
        let samples = samples.into();
        check_size(samples.width() as u64, samples.height() as u64)?;
        Ok(Self {
            samples,
            background: Vec::new(),
            mask: None,
        })
    }

    /// Leaves out the pixels with a value, as background or "no data". Can be called several times,
    /// for several values. NaN is always left out.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn background(mut self, value: T) -> Result<Self> {
        if !value.is_nan() && !self.background.contains(&value) {
            push(&mut self.background, value, "the background's values")?;
        }
        Ok(self)
    }

    /// Leaves out the pixels that are background in `mask`. Replaces an earlier mask.
    ///
    /// # Errors
    /// [`Error::InvalidOption`](crate::Error::InvalidOption) if the mask's size is not the image's.
    pub fn mask(mut self, mask: &'a BinaryImage) -> Result<Self> {
        check_mask([mask.width(), mask.height()], [self.width(), self.height()])?;
        self.mask = Some(mask);
        Ok(self)
    }

    /// Width in pixels, at least 1.
    pub fn width(&self) -> u32 {
        self.samples.width() as u32
    }

    /// Height in pixels, at least 1.
    pub fn height(&self) -> u32 {
        self.samples.height() as u32
    }

    /// The value of pixel `(x, y)`; `None` if it belongs to no region, or is outside the image.
    pub fn get(&self, x: u32, y: u32) -> Option<T> {
        if x >= self.width() || y >= self.height() {
            return None;
        }
        let value = self.value(x, y);
        let counts = !value.is_nan()
            && !self.background.contains(&value)
            && self.mask.is_none_or(|mask| mask.get(x, y));
        counts.then_some(value)
    }

    /// The value at `(x, y)`, which is in the image, whether or not the pixel counts.
    #[inline]
    pub(crate) fn value(&self, x: u32, y: u32) -> T {
        self.samples.get(x as usize, y as usize)
    }

    /// The values at the pixels.
    pub(crate) fn samples(&self) -> &Samples<'a, T> {
        &self.samples
    }

    /// The values that are left out.
    pub(crate) fn background_values(&self) -> &[T] {
        &self.background
    }

    /// The pixels that count, if some do not.
    pub(crate) fn mask_image(&self) -> Option<&'a BinaryImage> {
        self.mask
    }
}
