//! The picture that contours are drawn over.

use crate::image::check_size;
use crate::{Error, Result};

/// A picture of one byte a pixel, row by row: 0 is black, 255 white.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GreyImage {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) samples: Vec<u8>,
}

impl GreyImage {
    /// Takes `width × height` samples.
    ///
    /// # Errors
    /// [`Error::EmptyImage`], [`Error::ImageTooLarge`], [`Error::SizeMismatch`].
    pub fn new(width: u32, height: u32, samples: Vec<u8>) -> Result<Self> {
        check_size(width.into(), height.into())?;
        let needed = u64::from(width) * u64::from(height);
        if samples.len() as u64 != needed {
            return Err(Error::SizeMismatch {
                width,
                height,
                needed,
                given: samples.len() as u64,
                unit: "values",
            });
        }
        Ok(Self {
            width,
            height,
            samples,
        })
    }

    /// Width in pixels.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height in pixels.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The samples, row by row.
    pub fn samples(&self) -> &[u8] {
        &self.samples
    }
}
