//! Label with kernels, on any [`Gpu`]. Images and labels stay in its memory.
//!
//! | algorithm | file | kernels |
//! |---|---|---|
//! | [`LabelAlgorithm::Tiles`] | `tiles.rs` | `tiles_label` (or `tiles_label_bytes`), `tiles_merge`, `tiles_flatten`, scan, `tiles_write` |
//! | [`LabelAlgorithm::Direct`] | `direct.rs` | `direct_start`, `direct_join`, `direct_flatten`, `count_roots`, scan, `direct_write` |
//!
//! `number.rs` numbers the components of both, and `statistics.rs` measures them.
//!
//! # Memory
//! On the GPU, in bytes per pixel: 1/8 for the image, 4 for the labels. `Tiles` needs 1.2 more
//! while it works: 1 of them is for as many runs as tiles can have, and only the runs that there
//! are get touched. `Direct` needs 0.2 more.

mod direct;
mod labels;
mod number;
mod statistics;
mod tiles;

use trazar_kernels::label::tiles::layout::TileLayout;

use super::{LabelAlgorithm, LabelOptions, Labels};
#[cfg(feature = "cuda")]
use crate::cuda::{Device, Queue, Stream};
use crate::error::{Error, Result};
use crate::gpu::Gpu;
use crate::image::BinaryImage;
use crate::image::gpu::{DeviceBytes, DeviceImage};
pub use labels::DeviceLabels;
use tiles::Tiles;

/// Labels images on one GPU. Clones work on the same queue.
///
/// ```
/// use trazar::emulator::Emulator;
/// use trazar::{BinaryImage, DeviceImage, DeviceLabeler, LabelOptions};
///
/// // On an NVIDIA GPU: `DeviceLabeler::new(&trazar::cuda::Device::open(0)?)?`.
/// let labeler = DeviceLabeler::on(Emulator::new(0));
/// let image = BinaryImage::from_art("##.#")?;
/// let image = DeviceImage::upload(labeler.gpu(), &image)?;
/// let labels = labeler.label(&image, &LabelOptions::default().statistics(true))?;
/// assert_eq!(labels.count()?, 2);
/// let labels = labels.to_host()?;
/// assert_eq!(labels.as_slice(), [1, 1, 0, 2]);
/// assert_eq!(labels.components().unwrap()[0].area, 2);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DeviceLabeler<G: Gpu> {
    gpu: G,
}

#[cfg(feature = "cuda")]
impl DeviceLabeler<Queue> {
    /// Compiles the kernels for `device`, and creates a stream.
    ///
    /// # Errors
    /// [`Error::Cuda`].
    pub fn new(device: &Device) -> Result<Self> {
        Ok(Self::on(Queue::open(device)?))
    }

    /// The stream that it works on.
    pub fn stream(&self) -> &Stream {
        self.gpu.stream()
    }
}

impl<G: Gpu> DeviceLabeler<G> {
    /// Labels on `gpu`.
    pub fn on(gpu: G) -> Self {
        Self { gpu }
    }

    /// The GPU that it works on.
    pub fn gpu(&self) -> &G {
        &self.gpu
    }

    /// Labels `image`. On an NVIDIA GPU, this queues the work and returns before it is done;
    /// [`statistics`](field@LabelOptions::statistics) are waited for.
    ///
    /// # Errors
    /// [`Error::Unavailable`] for an algorithm of the processor, [`Error::ImageTooLarge`] for more
    /// than 2³² - 1 pixels; `Error::Cuda`, [`Error::Emulator`].
    pub fn label(&self, image: &DeviceImage<G>, options: &LabelOptions) -> Result<DeviceLabels<G>> {
        let layout = tile_layout(image.width(), image.height())?;
        let algorithm = options.algorithm_on(G::BACKEND);
        algorithm.check_runs_on(G::BACKEND)?;
        // If the image is dropped before the work is done, its memory is freed only afterwards.
        let words = self.gpu.using(image.words())?;
        let labels = match algorithm {
            LabelAlgorithm::Direct => {
                direct::label(&self.gpu, &words, layout, options.connectivity)?
            }
            _ => {
                let mut tiles = Tiles::new(&self.gpu, layout, options.connectivity)?;
                // SAFETY: the image is of the layout's size, and `gpu` has acquired it.
                unsafe {
                    tiles.label(&self.gpu, &words)?;
                    tiles.finish(&self.gpu, &words)?
                }
            }
        };
        words.finish()?;
        self.with_statistics(image, labels, options)
    }

    /// Labels an image of one byte per pixel. Also returns the image of bits.
    ///
    /// If the width is a multiple of 16, rows have no padding and the algorithm is
    /// [`LabelAlgorithm::Tiles`], one kernel reads the bytes and labels them, which is faster than
    /// [`DeviceImage::pack`] before [`label`](Self::label).
    ///
    /// # Errors
    /// Those of [`DeviceImage::pack`] and [`label`](Self::label).
    pub fn label_bytes(
        &self,
        bytes: &DeviceBytes<'_, G>,
        options: &LabelOptions,
    ) -> Result<(DeviceImage<G>, DeviceLabels<G>)> {
        let (width, height) = (bytes.width(), bytes.height());
        let is_dense = bytes.pitch() == width && width.is_multiple_of(16);
        if !is_dense || options.algorithm_on(G::BACKEND) != LabelAlgorithm::Tiles {
            let image = DeviceImage::pack(&self.gpu, bytes)?;
            let labels = self.label(&image, options)?;
            return Ok((image, labels));
        }
        let layout = tile_layout(width, height)?;
        let values = self.gpu.using(bytes.values())?;
        let mut words = self.gpu.alloc(layout.words() as usize)?;
        let mut tiles = Tiles::new(&self.gpu, layout, options.connectivity)?;
        // SAFETY: `DeviceBytes` has checked that there is one byte per pixel, the other sizes are
        // the layout's, and `gpu` has acquired the bytes.
        let labels = unsafe {
            tiles.label_bytes(&self.gpu, &values, bytes.threshold(), &mut words)?;
            tiles.finish(&self.gpu, &words)?
        };
        values.finish()?;
        let image = DeviceImage::of(width, height, words);
        let labels = self.with_statistics(&image, labels, options)?;
        Ok((image, labels))
    }

    /// Measures the components of `labels`, if `options` ask for it.
    fn with_statistics(
        &self,
        image: &DeviceImage<G>,
        mut labels: DeviceLabels<G>,
        options: &LabelOptions,
    ) -> Result<DeviceLabels<G>> {
        if options.statistics {
            labels.set_components(self.measure(image, &labels)?);
        }
        Ok(labels)
    }

    /// Labels an image in the host's memory.
    pub(crate) fn label_host(&self, image: &BinaryImage, options: &LabelOptions) -> Result<Labels> {
        let image = DeviceImage::upload(&self.gpu, image)?;
        self.label(&image, options)?.to_host()
    }
}

/// The tiles of an image.
///
/// # Errors
/// [`Error::ImageTooLarge`] if 32 bits can't index its pixels.
fn tile_layout(width: u32, height: u32) -> Result<TileLayout> {
    TileLayout::new(width, height).ok_or(Error::ImageTooLarge {
        width: width.into(),
        height: height.into(),
        limit: "on the GPU, pixels are numbered with 32 bits; label it on the CPU, or in parts",
    })
}
