//! From run lengths in a GPU's memory to compressed text there.

use trazar_kernels::rle::text::{
    DIGITS, MaskCounts, count_digits, mark_first_counts, write_digits,
};

use super::super::RleTexts;
use super::DeviceRles;
use crate::error::{Error, Result};
use crate::gpu::{Gpu, GpuBuffer, Scanner, read_first};

/// The compressed run lengths of masks in a GPU's memory: those of
/// [`Rle::to_text`](crate::rle::Rle::to_text), mask after mask.
#[derive(Debug)]
pub struct DeviceRleTexts<G: Gpu> {
    bytes: G::Buffer<u8>,
    firsts: G::Buffer<u32>,
}

impl<G: Gpu> DeviceRles<G> {
    /// Compresses the run lengths, as pycocotools writes them. Waits for the number of characters,
    /// and returns before they are written. Beside the result, takes 4 bytes and a bit per count.
    ///
    /// ```
    /// use trazar::emulator::Emulator;
    /// use trazar::rle::DeviceRles;
    /// use trazar::{BinaryImage, DeviceImageBatch};
    ///
    /// let gpu = Emulator::new(0);
    /// let batch = DeviceImageBatch::upload(&gpu, [&BinaryImage::from_art("....\n.##.\n....")?])?;
    /// let texts = DeviceRles::encode(&gpu, &batch)?.compress(&gpu)?;
    /// assert_eq!(texts.to_host()?.get(0), Some(&b"41202"[..]));
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooMany`] for more than 613,566,756 counts, whose text might have 2³² characters;
    /// `Error::Cuda`, [`Error::Emulator`].
    pub fn compress(&self, gpu: &G) -> Result<DeviceRleTexts<G>> {
        let most = u32::MAX / DIGITS;
        let len = u32::try_from(self.counts.len()).unwrap_or(u32::MAX);
        if len > most {
            return Err(Error::TooMany {
                what: "run lengths to compress together",
                limit: most.into(),
            });
        }
        let on = &gpu.launcher();
        let counts = gpu.using(&self.counts)?;
        let firsts = gpu.using(&self.firsts)?;
        let mut are_first = gpu.alloc_zeroed(len.div_ceil(u32::BITS) as usize)?;
        let mut digits = gpu.alloc(len as usize)?;
        // SAFETY: there is a bit per count.
        unsafe {
            let bits = are_first.view_mut();
            mark_first_counts::launch_threads(on, self.len() as u64, firsts.view(), bits)?;
        }
        let masks = MaskCounts {
            counts: counts.view(),
            are_first: are_first.view(),
        };
        // SAFETY: there is an element per count. Each mask has one, so the first count is a mask's
        // first.
        unsafe { count_digits::launch_threads(on, len, masks, digits.view_mut())? };
        let mut scanner = Scanner::new(gpu, len)?;
        scanner.scan_in_place(&mut digits)?;
        let mut bytes = gpu.alloc(read_first(scanner.total())? as usize)?;
        let mut text_firsts = gpu.alloc(self.len())?;
        // SAFETY: there is room for all characters.
        unsafe {
            write_digits::launch_threads(
                on,
                len,
                masks,
                digits.view(),
                firsts.view(),
                bytes.view_mut(),
                text_firsts.view_mut(),
            )?;
        }
        counts.finish()?;
        firsts.finish()?;
        Ok(DeviceRleTexts {
            bytes,
            firsts: text_firsts,
        })
    }
}

impl<G: Gpu> DeviceRleTexts<G> {
    /// The characters of all masks, mask after mask.
    pub fn bytes(&self) -> &G::Buffer<u8> {
        &self.bytes
    }

    /// The index of each mask's first character.
    pub fn firsts(&self) -> &G::Buffer<u32> {
        &self.firsts
    }

    /// Copies the texts to the host.
    ///
    /// # Errors
    /// `Error::Cuda`, [`Error::Emulator`], [`Error::OutOfMemory`].
    pub fn to_host(&self) -> Result<RleTexts> {
        Ok(RleTexts {
            bytes: self.bytes.to_vec()?,
            firsts: self.firsts.to_vec()?,
        })
    }
}
