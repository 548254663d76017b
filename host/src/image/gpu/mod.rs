//! Binary images in a GPU's memory, for any [`Gpu`].

mod batch;
mod bytes;
mod pack;
mod rows;
mod values;

pub use batch::DeviceImageBatch;
pub use bytes::DeviceBytes;
pub(crate) use rows::{check_pitch, upload_samples};
pub use values::DeviceValues;
pub(crate) use values::{
    AnyValues, DeviceValue, Equality, FoundInRows, Keys, as_bits, no_intensities, with_values,
};

use trazar_kernels::image::row_words;

use super::{BinaryImage, check_count, check_size};
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer};

/// A binary image in a GPU's memory: the words of a [`BinaryImage`].
#[derive(Debug)]
pub struct DeviceImage<G: Gpu> {
    width: u32,
    height: u32,
    words: G::Buffer<u64>,
}

impl<G: Gpu> DeviceImage<G> {
    /// Copies `image` to the memory of `gpu`, and waits for the copy.
    ///
    /// # Errors
    /// `Error::Cuda`, [`Error::Emulator`](crate::Error::Emulator).
    pub fn upload(gpu: &G, image: &BinaryImage) -> Result<Self> {
        Ok(Self {
            width: image.width(),
            height: image.height(),
            words: gpu.upload(image.words())?,
        })
    }

    /// Adopts words in the GPU's memory that are packed as [`BinaryImage`] describes.
    ///
    /// # Errors
    /// Those of [`BinaryImage::from_words`].
    ///
    /// # Safety
    /// The bits past the width, in the last word of each row, are 0 as long as the image exists.
    pub unsafe fn from_words(width: u32, height: u32, words: G::Buffer<u64>) -> Result<Self> {
        check_size(width.into(), height.into())?;
        let needed = u64::from(row_words(width)) * u64::from(height);
        check_count(width, height, needed, words.len(), "words")?;
        Ok(Self {
            width,
            height,
            words,
        })
    }

    /// An image whose words a kernel has written.
    pub(crate) fn of(width: u32, height: u32, words: G::Buffer<u64>) -> Self {
        Self {
            width,
            height,
            words,
        }
    }

    /// Width in pixels.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height in pixels.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The image's words, row by row.
    pub fn words(&self) -> &G::Buffer<u64> {
        &self.words
    }

    /// Takes the words out, for other GPU code.
    pub fn into_words(self) -> G::Buffer<u64> {
        self.words
    }

    /// Copies the image to the host. Waits for the work on it.
    ///
    /// # Errors
    /// `Error::Cuda`, [`Error::Emulator`](crate::Error::Emulator),
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn to_host(&self) -> Result<BinaryImage> {
        let words = self.words.to_vec()?;
        BinaryImage::from_words(self.width, self.height, words)
    }
}
