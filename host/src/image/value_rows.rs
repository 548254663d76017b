//! [`ValueRows`]: rows of an image of values, owned.

use super::{PixelValue, Samples, ValueImage, check_size};
use crate::error::{Error, Result};
use crate::memory::push;

/// Some rows of an image of values, and the values that are left out: a band of an image that is
/// larger than the memory.
///
/// ```
/// use trazar::ValueRows;
///
/// let rows = ValueRows::new(3, vec![5u8, 5, 0, 7, 5, 0])?.background(0)?;
/// assert_eq!((rows.width(), rows.height()), (3, 2));
/// assert_eq!(rows.image()?.get(2, 0), None);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ValueRows<T> {
    width: u32,
    values: Vec<T>,
    background: Vec<T>,
}

impl<T: PixelValue> ValueRows<T> {
    /// The values of rows of this width, row by row.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] for values that are no whole rows, and for none;
    /// [`Error::EmptyImage`] and [`Error::ImageTooLarge`] for sizes that no image has.
    pub fn new(width: u32, values: Vec<T>) -> Result<Self> {
        check_size(width.into(), 1)?;
        let rows = values.len() / width as usize;
        let needed = rows.max(1) * width as usize;
        if values.len() != needed {
            return Err(Error::LengthMismatch {
                needed,
                given: values.len(),
            });
        }
        check_size(width.into(), rows as u64)?;
        Ok(Self {
            width,
            values,
            background: Vec::new(),
        })
    }

    /// Leaves out the pixels with a value: see [`ValueImage::background`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn background(mut self, value: T) -> Result<Self> {
        push(&mut self.background, value, "the background's values")?;
        Ok(self)
    }

    /// Width in pixels, at least 1.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The number of rows, at least 1.
    pub fn height(&self) -> u32 {
        (self.values.len() / self.width as usize) as u32
    }

    /// The values, row by row.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The rows as an image.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn image(&self) -> Result<ValueImage<'_, T>> {
        let samples = Samples::new(self.width, self.height(), &self.values)?;
        let mut image = ValueImage::new(samples)?;
        for &value in &self.background {
            image = image.background(value)?;
        }
        Ok(image)
    }

    /// The number of pixels that belong to a region.
    pub(crate) fn count(&self) -> u64 {
        let counts = |value: &&T| !value.is_nan() && !self.background.contains(value);
        self.values.iter().filter(counts).count() as u64
    }
}
