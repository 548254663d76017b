//! From one byte per pixel to one bit per pixel.

use cuda_std::View;
use trazar_kernels::image::pack::{self, pack_bytes, pack_images};
use trazar_kernels::image::{ByteImage, row_words};

use super::batch::rows;
use super::bytes::DeviceBytes;
use super::check_pitch;
use super::{DeviceImage, DeviceImageBatch};
use crate::error::{Error, Result};
use crate::gpu::{Gpu, GpuBuffer};
use crate::image::check_size;

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

    /// Packs an image of one byte per pixel anywhere in the GPU's memory, such as one made by
    /// another library. Foreground is `value > threshold`. The bytes are not copied.
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
        let pitch = check_pitch(width, height, pitch, bytes.len(), "bytes")?;
        check_pixels(width, height)?;
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

impl<G: Gpu> DeviceImageBatch<G> {
    /// Packs consecutive images of one byte per pixel anywhere in the GPU's memory, as
    /// [`DeviceImage::pack_pitched`] packs one: row `y` of image `i` starts at byte
    /// `(i * height + y) * pitch`.
    ///
    /// # Errors
    /// Those of [`DeviceImageBatch::from_words`] and [`DeviceImage::pack_pitched`], where all
    /// images count as one.
    ///
    /// # Safety
    /// Until the work queued on `gpu` so far is done, the bytes exist and nothing writes them.
    pub unsafe fn pack_pitched(
        gpu: &G,
        width: u32,
        height: u32,
        images: u32,
        bytes: View<'_, u8>,
        pitch: usize,
        threshold: u8,
    ) -> Result<Self> {
        check_size(width.into(), height.into())?;
        let rows = rows(width, height, images)?;
        let image_rows = rows - images;
        let pitch = check_pitch(width, image_rows, pitch, bytes.len(), "bytes")?;
        check_pixels(width, image_rows)?;
        let mut words = gpu.alloc::<u64>(row_words(width) as usize * rows as usize)?;
        let all = ByteImage {
            values: bytes,
            width,
            height: image_rows,
            pitch,
            threshold: threshold.into(),
        };
        let (on, threads) = (&gpu.launcher(), pack::threads(width, rows));
        // SAFETY: the sizes were checked, or are those that the kernel asks for. The caller vouches
        // for the bytes.
        unsafe { pack_images::launch_threads(on, threads, all, height, words.view_mut_as()) }?;
        // SAFETY: the kernel sets the bits past the width and the rows after the images to 0.
        unsafe { Self::from_words(width, height, images, words) }
    }
}

/// Refuses more pixels than the kernel can number.
fn check_pixels(width: u32, height: u32) -> Result<()> {
    if u64::from(width) * u64::from(height) > u32::MAX.into() {
        return Err(Error::ImageTooLarge {
            width: width.into(),
            height: height.into(),
            limit: "on the GPU, pixels are numbered with 32 bits; pack it in parts",
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulator::Emulator;
    use crate::image::BinaryImage;

    /// With rows at any address, and with rows of whole words.
    #[test]
    fn batches_of_bytes_are_packed_image_by_image() -> Result<()> {
        for (width, pitch) in [(3, 5), (64, 64), (70, 80), (80, 96)] {
            let (height, images) = (3u32, 4u32);
            let byte = |i: usize| (i * 37 % 251) as u8;
            let bytes: Vec<u8> = (0..pitch * (height * images) as usize).map(byte).collect();
            let expected: Vec<BinaryImage> = (0..images)
                .map(|i| {
                    BinaryImage::from_fn(width, height, |x, y| {
                        bytes[(i * height + y) as usize * pitch + x as usize] > 100
                    })
                })
                .collect::<Result<_>>()?;
            let gpu = Emulator::new(0);
            let values = gpu.upload(&bytes)?;
            let lent = gpu.using(&values)?;
            // SAFETY: `lent` keeps the bytes until the batch has been read.
            let batch = unsafe {
                DeviceImageBatch::pack_pitched(&gpu, width, height, images, lent.view(), pitch, 100)
            }?;
            assert_eq!(batch.to_host()?, expected);
            lent.finish()?;
        }
        let gpu = Emulator::new(0);
        let values = gpu.upload(&[0u8; 12])?;
        for (images, pitch) in [(0, 4), (4, 4), (1, 2)] {
            // SAFETY: nothing is launched.
            let refused = unsafe {
                DeviceImageBatch::pack_pitched(&gpu, 3, 3, images, values.view(), pitch, 0)
            };
            assert!(refused.is_err(), "{images} images, {pitch} bytes per row");
        }
        Ok(())
    }
}
