//! From one byte per pixel to one bit per pixel.

use cuda_std::View;
use trazar_kernels::image::pack::{self, pack_bytes};
use trazar_kernels::image::{ByteImage, row_words};

use super::DeviceImage;
use super::bytes::{DeviceBytes, check_pitch};
use crate::error::{Error, Result};
use crate::gpu::{Gpu, GpuBuffer};

impl<G: Gpu> DeviceImage<G> {
    /// Packs an image of one byte per pixel.
    ///
    /// # Errors
    /// [`Error::ImageTooLarge`] for more than 2³² - 1 pixels; `Error::Cuda`, [`Error::Emulator`].
    pub fn pack(gpu: &G, bytes: &DeviceBytes<'_, G>) -> Result<Self> {
        let (width, height, pitch) = (bytes.width(), bytes.height(), bytes.pitch() as usize);
        let values = gpu.using(bytes.values())?;
        // SAFETY: `gpu` has acquired the bytes until after the launch.
        let image = unsafe {
            Self::pack_pitched(gpu, width, height, values.view(), pitch, bytes.threshold())
        }?;
        values.finish()?;
        Ok(image)
    }

    /// Packs an image of one byte per pixel that lies anywhere in the GPU's memory, for images that
    /// another library has made there. Foreground is `value > threshold`. The bytes are not copied.
    ///
    /// Rows start `pitch` bytes apart. [`View::from_raw_parts`](cuda_std::View::from_raw_parts)
    /// makes `bytes` from a device address.
    ///
    /// # Errors
    /// Those of [`DeviceBytes::with_pitch`] and [`DeviceImage::pack`].
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
        let pitch = check_pitch(width, height, pitch, bytes.len())?;
        if u64::from(width) * u64::from(height) > u32::MAX.into() {
            return Err(Error::ImageTooLarge {
                width: width.into(),
                height: height.into(),
                limit: "on the GPU, pixels are numbered with 32 bits; pack it in parts",
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
