//! From one byte per pixel to one bit per pixel.

use cuda_std::View;
use trazar_kernels::image::pack::{self, pack_bytes};
use trazar_kernels::image::{ByteImage, row_words};

use super::DeviceImage;
use crate::error::{Error, Result};
use crate::gpu::{Gpu, GpuBuffer};
use crate::image::{check_count, check_size};

impl<G: Gpu> DeviceImage<G> {
    /// Packs an image of one byte per pixel, row by row without padding. Foreground is
    /// `value > threshold`.
    ///
    /// # Errors
    /// Those of [`BinaryImage::from_values`](crate::BinaryImage::from_values);
    /// [`Error::ImageTooLarge`] for more than 2³² - 1 pixels; `Error::Cuda`, [`Error::Emulator`].
    pub fn pack(
        gpu: &G,
        width: u32,
        height: u32,
        bytes: &G::Buffer<u8>,
        threshold: u8,
    ) -> Result<Self> {
        check_bytes::<G>(width, height, bytes)?;
        let bytes = gpu.using(bytes)?;
        // SAFETY: `gpu` has acquired the bytes until after the launch.
        let image = unsafe {
            Self::pack_pitched(gpu, width, height, bytes.view(), width as usize, threshold)
        }?;
        bytes.finish()?;
        Ok(image)
    }

    /// Packs an image of one byte per pixel that lies anywhere in the GPU's memory, for images that
    /// another library has made there. Foreground is `value > threshold`. The bytes are not copied.
    ///
    /// Rows start `pitch` bytes apart. [`View::from_raw_parts`](cuda_std::View::from_raw_parts)
    /// makes `bytes` from a device address.
    ///
    /// # Errors
    /// Those of [`BinaryImage::from_values`](crate::BinaryImage::from_values);
    /// [`Error::ImageTooLarge`] for more than 2³² - 1 pixels, [`Error::InvalidOption`] for a pitch
    /// below the width, [`Error::SizeMismatch`] for fewer than `pitch * (height - 1) + width`
    /// bytes; `Error::Cuda`, [`Error::Emulator`].
    ///
    /// # Safety
    /// Until the work queued on `gpu` so far is done, the bytes exist and nothing writes them.
    pub unsafe fn pack_pitched(
        gpu: &G,
        width: u32,
        height: u32,
        bytes: View<'_, u8>,
        pitch: usize,
        threshold: u8,
    ) -> Result<Self> {
        check_size(width.into(), height.into())?;
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
                    "rows {pitch} bytes apart: an image {width} pixels wide takes from {width} to \
                     {} bytes",
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
        let mut words = gpu.alloc::<u64>(row_words(width) as usize * height as usize)?;
        let threads = pack::threads(width, height);
        let image = ByteImage {
            values: bytes,
            width,
            height,
            pitch,
            threshold: threshold.into(),
        };
        // SAFETY: the sizes were checked, or are those that the kernel asks for. The caller vouches
        // for the bytes.
        unsafe {
            pack_bytes::launch_threads(&gpu.launcher(), threads, image, words.view_mut_as())?;
        }
        Ok(Self {
            width,
            height,
            words,
        })
    }
}

/// Refuses a buffer that does not have one byte per pixel.
pub(crate) fn check_bytes<G: Gpu>(width: u32, height: u32, bytes: &G::Buffer<u8>) -> Result<()> {
    check_size(width.into(), height.into())?;
    let needed = u64::from(width) * u64::from(height);
    check_count(width, height, needed, bytes.len(), "values")
}
