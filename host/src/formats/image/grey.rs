//! The picture that contours are drawn over.

use crate::Result;
use crate::image::{check_count, check_size};

/// A grey picture: one byte per pixel, row by row, from 0 (black) to 255 (white).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GreyImage {
    pub(in crate::formats) width: u32,
    pub(in crate::formats) height: u32,
    pub(in crate::formats) samples: Vec<u8>,
}

impl GreyImage {
    /// Takes `width × height` samples.
    ///
    /// # Errors
    /// [`Error::EmptyImage`](crate::Error::EmptyImage),
    /// [`Error::ImageTooLarge`](crate::Error::ImageTooLarge),
    /// [`Error::SizeMismatch`](crate::Error::SizeMismatch).
    pub fn new(width: u32, height: u32, samples: Vec<u8>) -> Result<Self> {
        check_size(width.into(), height.into())?;
        let needed = u64::from(width) * u64::from(height);
        check_count(width, height, needed, samples.len(), "values")?;
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
