//! From one byte per pixel to one bit per pixel.

use cuda_std::View;
use trazar_kernels::image::pack;

use super::{DeviceImage, row_words};
use crate::error::{Error, Result};
use crate::gpu::{Gpu, GpuBuffer};
use crate::image::{check_count, check_size};

impl<G: Gpu> DeviceImage<G> {
    /// Packs an image of one byte a pixel, row by row without padding: foreground is `value > threshold`.
    ///
    /// # Errors
    /// As [`BinaryImage::from_values`]; [`Error::ImageTooLarge`] past 2³² - 1 pixels; `Error::Cuda`, [`Error::Emulator`].
    pub fn pack(
        gpu: &G,
        width: u32,
        height: u32,
        bytes: &G::Buffer<u8>,
        threshold: u8,
    ) -> Result<Self> {
        check_bytes::<G>(width, height, bytes)?;
        let bytes = gpu.using(bytes)?;
        // SAFETY: the bytes are in use until after the launch.
        let image = unsafe {
            Self::pack_pitched(gpu, width, height, bytes.view(), width as usize, threshold)
        }?;
        bytes.finish()?;
        Ok(image)
    }

    /// Packs an image of one byte a pixel that lies anywhere in the GPU's memory, its rows `pitch` bytes apart: what another
    /// library has made there, given as [`View::from_raw_parts`](cuda_std::View::from_raw_parts) of its device address.
    /// Foreground is `value > threshold`. Nothing is copied but the bits.
    ///
    /// # Errors
    /// As [`BinaryImage::from_values`]; [`Error::InvalidOption`] for a pitch below the width, [`Error::SizeMismatch`] for fewer
    /// than `pitch * (height - 1) + width` bytes; `Error::Cuda`, [`Error::Emulator`].
    ///
    /// # Safety
    /// The bytes are there, and nothing writes them, until the work queued on `gpu` so far is done.
    pub unsafe fn pack_pitched(
        gpu: &G,
        width: u32,
        height: u32,
        bytes: View<'_, u8>,
        pitch: usize,
        threshold: u8,
    ) -> Result<Self> {
        check_size(width.into(), height.into())?;
        let row_words = row_words(width);
        if u64::from(width) * u64::from(height) > u32::MAX.into() {
            return Err(Error::ImageTooLarge {
                width: width.into(),
                height: height.into(),
                limit: "on the GPU, pixels are numbered with 32 bits; pack it in parts",
            });
        }
        let pitch = match u32::try_from(pitch) {
            Ok(pitch) if pitch >= width => pitch,
            _ => {
                return Err(Error::InvalidOption(format!(
                    "rows {pitch} bytes apart: an image {width} pixels wide takes from {width} to {} bytes",
                    u32::MAX
                )));
            }
        };
        let needed = u64::from(pitch) * u64::from(height - 1) + u64::from(width);
        if (bytes.len() as u64) < needed {
            return Err(Error::SizeMismatch {
                width,
                height,
                needed,
                given: bytes.len() as u64,
                unit: "bytes",
            });
        }
        let mut words = gpu.alloc::<u64>(row_words as usize * height as usize)?;
        // SAFETY: the sizes were checked or are allocated as the kernel asks for; the bytes are the caller's promise.
        unsafe {
            pack::pack_bytes::launch(
                &gpu.launcher(),
                pack::blocks(row_words, height),
                bytes,
                words.view_mut_as(),
                width,
                height,
                row_words,
                pitch,
                threshold.into(),
            )?;
        }
        Ok(Self {
            width,
            height,
            words,
        })
    }
}

/// Refuses a buffer that is not an image of one byte a pixel.
pub(crate) fn check_bytes<G: Gpu>(width: u32, height: u32, bytes: &G::Buffer<u8>) -> Result<()> {
    check_size(width.into(), height.into())?;
    let needed = u64::from(width) * u64::from(height);
    check_count(width, height, needed, bytes.len(), "values")
}
