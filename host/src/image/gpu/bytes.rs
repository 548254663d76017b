//! Images of one byte per pixel in a GPU's memory.

use super::check_pitch;
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer};
use crate::image::{check_count, check_size};

/// An image of one byte per pixel in a GPU's memory, and the threshold between background and
/// foreground: `value > threshold` is foreground.
///
/// [`DeviceImage::pack`](crate::DeviceImage::pack) turns it into an image of bits;
/// [`DeviceLabeler::label_bytes`](crate::DeviceLabeler::label_bytes) labels it.
///
/// ```
/// use trazar::emulator::Emulator;
/// use trazar::gpu::Gpu;
/// use trazar::{DeviceBytes, DeviceImage};
///
/// let gpu = Emulator::new(0);
/// // Rows of 3 pixels, 4 bytes apart.
/// let buffer = gpu.upload(&[9u8, 200, 7, 0, 180, 3, 250])?;
/// let bytes = DeviceBytes::with_pitch(3, 2, 4, &buffer, 127)?;
/// let image = DeviceImage::pack(&gpu, &bytes)?.to_host()?;
/// assert_eq!(image.to_string(), ".#.\n#.#\n");
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Debug)]
pub struct DeviceBytes<'a, G: Gpu> {
    width: u32,
    height: u32,
    pitch: u32,
    values: &'a G::Buffer<u8>,
    threshold: u8,
}

impl<G: Gpu> Clone for DeviceBytes<'_, G> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<G: Gpu> Copy for DeviceBytes<'_, G> {}

impl<'a, G: Gpu> DeviceBytes<'a, G> {
    /// An image whose rows have no padding.
    ///
    /// # Errors
    /// [`Error::EmptyImage`](crate::Error::EmptyImage),
    /// [`Error::ImageTooLarge`](crate::Error::ImageTooLarge);
    /// [`Error::SizeMismatch`](crate::Error::SizeMismatch) unless there are `width × height`
    /// values.
    pub fn new(width: u32, height: u32, values: &'a G::Buffer<u8>, threshold: u8) -> Result<Self> {
        check_size(width.into(), height.into())?;
        let needed = u64::from(width) * u64::from(height);
        check_count(width, height, needed, values.len(), "values")?;
        Ok(Self {
            width,
            height,
            pitch: width,
            values,
            threshold,
        })
    }

    /// An image whose rows start `pitch` bytes apart.
    ///
    /// # Errors
    /// [`Error::EmptyImage`](crate::Error::EmptyImage),
    /// [`Error::ImageTooLarge`](crate::Error::ImageTooLarge);
    /// [`Error::InvalidOption`](crate::Error::InvalidOption) for a pitch below the width;
    /// [`Error::SizeMismatch`](crate::Error::SizeMismatch) for fewer than
    /// `pitch × (height - 1) + width` bytes.
    pub fn with_pitch(
        width: u32,
        height: u32,
        pitch: usize,
        values: &'a G::Buffer<u8>,
        threshold: u8,
    ) -> Result<Self> {
        let pitch = check_pitch(width, height, pitch, values.len(), "bytes")?;
        Ok(Self {
            width,
            height,
            pitch,
            values,
            threshold,
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

    /// The number of bytes from the start of a row to the start of the next.
    pub fn pitch(&self) -> u32 {
        self.pitch
    }

    /// The buffer of bytes.
    pub fn values(&self) -> &'a G::Buffer<u8> {
        self.values
    }

    /// The largest value that is background.
    pub fn threshold(&self) -> u8 {
        self.threshold
    }
}
