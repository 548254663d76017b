//! Binary images of one size in a GPU's memory.

use rayon::prelude::*;
use trazar_kernels::image::row_words;

use super::DeviceImage;
use crate::error::{Error, OptionProblem, Result};
use crate::gpu::{Gpu, GpuBuffer};
use crate::image::BinaryImage;
use crate::memory::{advise_large_pages, zeroed_vec};

/// Binary images of one size in a GPU's memory, stacked vertically with a row of background after
/// each. [`DeviceTracer::trace_batch`](crate::DeviceTracer::trace_batch) traces them in one call.
///
/// Each image has `height + 1` rows of words, packed as [`BinaryImage`] describes.
#[derive(Debug)]
pub struct DeviceImageBatch<G: Gpu> {
    images: u32,
    height: u32,
    stack: DeviceImage<G>,
}

impl<G: Gpu> DeviceImageBatch<G> {
    /// Copies images to the memory of `gpu`, and waits for the copy.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for no images, or images of different sizes;
    /// [`Error::ImageTooLarge`] for more than 2³² - 1 rows together; `Error::Cuda`,
    /// [`Error::Emulator`].
    pub fn upload<'a>(gpu: &G, images: impl IntoIterator<Item = &'a BinaryImage>) -> Result<Self> {
        let images: Vec<&BinaryImage> = images.into_iter().collect();
        let Some(first) = images.first() else {
            return Err(none());
        };
        let (width, height) = (first.width(), first.height());
        let other = |image: &&BinaryImage| (image.width(), image.height()) != (width, height);
        if let Some(index) = images.iter().position(other) {
            return Err(refused(format!(
                "image {index} has {} × {} pixels, and those before it {width} × {height}: the \
                 images of a batch have one size",
                images[index].width(),
                images[index].height(),
            )));
        }
        let count = u32::try_from(images.len()).unwrap_or(u32::MAX);
        let rows = rows(width, height, count)?;
        let row = first.words_per_row();
        let mut words = zeroed_vec(rows as usize * row, "a batch of images")?;
        advise_large_pages(&mut words);
        crate::threads::ensure();
        let stacked = words.par_chunks_exact_mut((height as usize + 1) * row);
        stacked.zip(&images).for_each(|(words, image)| {
            words[..image.words().len()].copy_from_slice(image.words());
        });
        Ok(Self {
            images: count,
            height,
            stack: DeviceImage::of(width, rows, gpu.upload(&words)?),
        })
    }

    /// Adopts words in the GPU's memory: for each of `images` images, `height` rows packed as
    /// [`BinaryImage`] describes, and a row of zeros.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for no images; [`Error::ImageTooLarge`] for more than 2³² - 1 rows
    /// together; those of [`BinaryImage::from_words`].
    ///
    /// # Safety
    /// The bits past the width, in the last word of each row, and the row after each image are 0 as
    /// long as the batch exists.
    pub unsafe fn from_words(
        width: u32,
        height: u32,
        images: u32,
        words: G::Buffer<u64>,
    ) -> Result<Self> {
        let rows = rows(width, height, images)?;
        Ok(Self {
            images,
            height,
            // SAFETY: the caller's promise.
            stack: unsafe { DeviceImage::from_words(width, rows, words) }?,
        })
    }

    /// The number of images.
    pub fn len(&self) -> usize {
        self.images as usize
    }

    /// Whether there are no images: never.
    pub fn is_empty(&self) -> bool {
        self.images == 0
    }

    /// Width of each image in pixels.
    pub fn width(&self) -> u32 {
        self.stack.width()
    }

    /// Height of each image in pixels.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Rows from the top of an image to that of the next one.
    pub(crate) fn pitch(&self) -> u32 {
        // There are no more rows than 32 bits count.
        self.height + 1
    }

    /// Words from the start of an image to that of the next one.
    pub(crate) fn pitch_words(&self) -> usize {
        self.pitch() as usize * row_words(self.width()) as usize
    }

    /// The stacked images as one image.
    pub(crate) fn stack(&self) -> &DeviceImage<G> {
        &self.stack
    }

    /// Copies the images to the host. Waits for the work on them.
    ///
    /// # Errors
    /// `Error::Cuda`, [`Error::Emulator`], [`Error::OutOfMemory`].
    pub fn to_host(&self) -> Result<Vec<BinaryImage>> {
        let words = self.stack.words().to_vec()?;
        let row = row_words(self.width()) as usize;
        let images = words.chunks_exact(self.pitch_words());
        images
            .map(|words| {
                let words = words[..words.len() - row].to_vec();
                BinaryImage::from_words(self.width(), self.height, words)
            })
            .collect()
    }
}

/// The number of rows of all images, with one more row per image; refuses no images.
pub(super) fn rows(width: u32, height: u32, images: u32) -> Result<u32> {
    if images == 0 {
        return Err(none());
    }
    let rows = (u64::from(height) + 1) * u64::from(images);
    u32::try_from(rows).map_err(|_| Error::ImageTooLarge {
        width: width.into(),
        height: rows,
        limit: "a batch has at most 2³² - 1 rows, with one more for each image; make it smaller",
    })
}

fn none() -> Error {
    refused("a batch has at least one image".into())
}

fn refused(why: String) -> Error {
    Error::option("images", OptionProblem::Conflict, why)
}
