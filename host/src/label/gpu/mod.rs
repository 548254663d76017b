//! Label with kernels, on any [`Gpu`]. Images and labels stay in its memory.
//!
//! | algorithm | file | kernels |
//! |---|---|---|
//! | [`LabelAlgorithm::Tiles`] | `tiles.rs` | `tiles_label` (or `tiles_label_bytes`), `tiles_merge`, `tiles_flatten`, scan, `tiles_write` |
//! | [`LabelAlgorithm::Tiles`], in bands | `tiles.rs`, `bands.rs` | as above up to the scan, `tiles_rim`, `renumber_table`, `tiles_write_numbered` |
//! | [`LabelAlgorithm::Direct`] | `direct.rs` | `direct_start`, `direct_join`, `direct_flatten`, `count_roots`, scan, `direct_write` |
//!
//! `values.rs` labels images of values, with the kernels `value_tiles_label`, `value_tiles_merge`,
//! `tiles_flatten`, scan and `value_tiles_write`. `number.rs` numbers the components of all of
//! them, and `statistics.rs` measures them. `bands.rs` divides images that 32 bits can't index into
//! bands of rows, labels these with the same kernels, and joins them. `spread.rs` labels an image
//! in the host's memory on several queues or GPUs, and `multi.rs` an image held by several GPUs.
//! `batch.rs` labels many images of one size with the kernels of `Tiles`, in one launch per stage.
//! `runs.rs` copies labels to the host, run by run where that is faster than pixel by pixel.
//!
//! # Memory
//! On the GPU, in bytes per pixel: 1/8 for the image, 4 for the labels. `Tiles` needs 1.2 more
//! while it works: 1 of them is for the most runs that tiles can have, and only the actual runs are
//! touched. `Direct` needs 0.2 more. For images that 32 bits can't index, these count per pixel of
//! a band of 2³⁰ pixels, plus 4 bytes per component of a band. With memory for the 1.2 bytes of all
//! bands at once, `Tiles` writes labels only once; without, twice. Copying labels to the host by
//! runs takes 4 bytes per run on both sides, and 1/32 byte per pixel on the GPU. The labeler keeps
//! what it takes besides images and labels for its next image (`scratch.rs`).

mod bands;
mod batch;
mod direct;
mod labels;
mod multi;
mod number;
mod runs;
mod scratch;
mod spread;
mod statistics;
mod tiles;
mod values;

use cuda_std::{View, ViewMut};
use trazar_kernels::label::tiles::layout::TileLayout;

use super::cpu::Strip;
use super::{LabelAlgorithm, LabelOptions, LabelSummary, Labels};
#[cfg(feature = "cuda")]
use crate::cuda::{Device, Queue};
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer, Kept};
use crate::image::BinaryImage;
use crate::image::gpu::{DeviceBytes, DeviceImage};
pub use bands::UnfinishedLabels;
pub(super) use bands::fits_one_band;
use bands::{Division, elements};
pub use batch::DeviceLabelBatch;
pub(crate) use batch::fits_a_batch;
pub use labels::DeviceLabels;
pub use multi::{MultiLabeler, MultiLabels};
pub(crate) use runs::HostLabels;
pub(super) use runs::PIXELS_PER_RUN;
use scratch::Scratch;
pub(crate) use spread::{label_host, label_host_into};
use tiles::Tiles;
pub(crate) use values::region_layout;

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
    /// The most pixels of a band; `None` lets the labeler choose.
    band_pixels: Option<u32>,
    /// Working memory, kept from one image to the next.
    kept: Kept<Scratch<G>>,
}

#[cfg(feature = "cuda")]
impl DeviceLabeler<Queue> {
    /// Compiles the kernels for `device`, and creates a stream.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda).
    pub fn new(device: &Device) -> Result<Self> {
        Ok(Self::on(Queue::open(device)?))
    }
}

impl<G: Gpu> DeviceLabeler<G> {
    /// Labels on `gpu`.
    pub fn on(gpu: G) -> Self {
        Self {
            gpu,
            band_pixels: None,
            kept: Kept::default(),
        }
    }

    /// Labels images of more than `pixels` pixels in bands of at most `pixels` pixels, but at least
    /// 64 rows. The result is the same; small bands take longer, and need less memory besides the
    /// labels.
    ///
    /// Otherwise, only images that 32 bits can't index are divided, into bands of 2³⁰ pixels.
    #[must_use]
    pub fn with_band_pixels(mut self, pixels: u32) -> Self {
        self.band_pixels = Some(pixels);
        self
    }

    /// The GPU that it works on.
    pub fn gpu(&self) -> &G {
        &self.gpu
    }

    /// The bytes of the GPU's memory that the labeler and its clones keep for their next image, or
    /// their next batch of images: besides images and labels, all that labelling the largest one so
    /// far took. That is 1.2 bytes per pixel by [`LabelAlgorithm::Tiles`], and for labels that were
    /// copied to the host run by run 4 bytes per run.
    ///
    /// ```
    /// use trazar::emulator::Emulator;
    /// use trazar::{BinaryImage, DeviceImage, DeviceLabeler, LabelOptions};
    ///
    /// let labeler = DeviceLabeler::on(Emulator::new(0));
    /// assert_eq!(labeler.working_memory(), 0);
    /// let image = DeviceImage::upload(labeler.gpu(), &BinaryImage::from_art("##.#")?)?;
    /// labeler.label(&image, &LabelOptions::default())?;
    /// let kept = labeler.working_memory();
    /// assert!(kept > 0);
    /// assert_eq!(labeler.release_working_memory(), kept);
    /// assert_eq!(labeler.working_memory(), 0);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    pub fn working_memory(&self) -> u64 {
        self.kept.bytes()
    }

    /// Gives the [working memory](Self::working_memory) back, and says how many bytes that was. The
    /// next image is labelled in new memory, with the same result.
    pub fn release_working_memory(&self) -> u64 {
        self.kept.release()
    }

    /// Labels `image`. On an NVIDIA GPU, this queues the work and returns before it is done. It
    /// waits only for [`statistics`](field@crate::label::ComponentOptions::statistics), and for
    /// images of 2³² pixels or more, whose bands are joined on the host.
    ///
    /// # Errors
    /// [`Error::Unavailable`](crate::Error::Unavailable) for an algorithm of the processor;
    /// [`Error::ImageTooLarge`](crate::Error::ImageTooLarge) if 64 rows have more than 2³² - 1
    /// pixels; [`Error::TooMany`](crate::Error::TooMany) for more than 2³² - 1 components;
    /// `Error::Cuda`, [`Error::Emulator`](crate::Error::Emulator).
    pub fn label(&self, image: &DeviceImage<G>, options: &LabelOptions) -> Result<DeviceLabels<G>> {
        let (width, height) = (image.width(), image.height());
        let division = Division::new(width, height, self.band_pixels)?;
        options.algorithm_on(G::BACKEND).check_runs_on(G::BACKEND)?;
        let Some(layout) = division.whole() else {
            return self.label_in_bands(image, options);
        };
        let labels = self.gpu.alloc(elements(&(0..height), width).len())?;
        self.label_whole(image, options, layout, labels)
    }

    /// As [`label`](Self::label), with the labels in `labels`: one element per pixel, which may
    /// belong to another queue or to other code. The result has this buffer.
    ///
    /// ```
    /// use trazar::emulator::Emulator;
    /// use trazar::gpu::{Gpu, GpuBuffer};
    /// use trazar::{BinaryImage, DeviceImage, DeviceLabeler, LabelOptions};
    ///
    /// let labeler = DeviceLabeler::on(Emulator::new(0));
    /// let mut labels = labeler.gpu().alloc(4)?;
    /// for art in ["##.#", ".##."] {
    ///     let image = DeviceImage::upload(labeler.gpu(), &BinaryImage::from_art(art)?)?;
    ///     let found = labeler.label_into(&image, &LabelOptions::default(), labels)?;
    ///     labels = found.into_labels();
    /// }
    /// assert_eq!(labels.to_vec()?, [0, 1, 1, 0]);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`label`](Self::label);
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch);
    /// [`Error::ImageTooLarge`](crate::Error::ImageTooLarge) for images that are divided into
    /// bands.
    pub fn label_into(
        &self,
        image: &DeviceImage<G>,
        options: &LabelOptions,
        labels: G::Buffer<u32>,
    ) -> Result<DeviceLabels<G>> {
        let (width, height) = (image.width(), image.height());
        let division = Division::new(width, height, self.band_pixels)?;
        options.algorithm_on(G::BACKEND).check_runs_on(G::BACKEND)?;
        let (needed, given) = (elements(&(0..height), width).len(), labels.len());
        if given != needed {
            return Err(crate::Error::LengthMismatch { needed, given });
        }
        let layout = division.whole().ok_or(crate::Error::ImageTooLarge {
            width: width.into(),
            height: height.into(),
            limit: "labels are written into a given array if 32 bits index the pixels",
        })?;
        self.label_whole(image, options, layout, labels)
    }

    /// Labels an image of one band.
    fn label_whole(
        &self,
        image: &DeviceImage<G>,
        options: &LabelOptions,
        layout: TileLayout,
        mut labels: G::Buffer<u32>,
    ) -> Result<DeviceLabels<G>> {
        // If the image is dropped before the work is done, its memory is freed only afterwards.
        let words = self.gpu.using(image.words())?;
        let mut written = self.gpu.using(&mut labels)?;
        // SAFETY: the image and the labels are of the layout's size, and `gpu` has acquired both.
        let total = unsafe { self.label_view(words.view(), written.view_mut(), layout, options) }?;
        written.finish()?;
        words.finish()?;
        let labels = DeviceLabels::new((image.width(), image.height()), labels, total);
        self.with_statistics(image, labels, options)
    }

    /// Queues the labelling of an image, and returns the number of its components.
    ///
    /// # Safety
    /// `words` has the layout's words, and `labels` one element per pixel, from a multiple of 16
    /// bytes on; `gpu` has acquired both.
    unsafe fn label_view(
        &self,
        words: View<'_, u64>,
        labels: ViewMut<'_, u32>,
        layout: TileLayout,
        options: &LabelOptions,
    ) -> Result<G::Buffer<u32>> {
        let (gpu, connectivity) = (&self.gpu, options.components.connectivity);
        // SAFETY: the caller's promise.
        unsafe {
            match options.algorithm_on(G::BACKEND) {
                LabelAlgorithm::Direct => {
                    let mut scratch = Scratch::of(gpu, self.kept.take())?;
                    let numbering = &mut scratch.numbering;
                    numbering.make_room(gpu, layout.words())?;
                    let total = direct::label(gpu, words, labels, layout, connectivity, numbering)?;
                    self.kept.put(scratch);
                    Ok(total)
                }
                _ => {
                    let mut tiles = Tiles::new(gpu, layout, connectivity, self.kept.take())?;
                    tiles.label(gpu, words, labels)?;
                    let total = tiles.finish(gpu, words, labels)?;
                    self.kept.put(tiles.into_scratch());
                    Ok(total)
                }
            }
        }
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
        let is_tiles = options.algorithm_on(G::BACKEND) == LabelAlgorithm::Tiles;
        let whole = Division::new(width, height, self.band_pixels)?.whole();
        let Some(layout) = whole.filter(|_| is_dense && is_tiles) else {
            let image = DeviceImage::pack(&self.gpu, bytes)?;
            let labels = self.label(&image, options)?;
            return Ok((image, labels));
        };
        let values = self.gpu.using(bytes.values())?;
        let mut words = self.gpu.alloc(layout.words() as usize)?;
        let mut labels = self.gpu.alloc(elements(&(0..height), width).len())?;
        let connectivity = options.components.connectivity;
        let mut tiles = Tiles::new(&self.gpu, layout, connectivity, self.kept.take())?;
        // SAFETY: `DeviceBytes` has checked that there is one byte per pixel, the other sizes are
        // the layout's, and `gpu` has acquired the bytes.
        let total = unsafe {
            let labels = labels.view_mut();
            tiles.label_bytes(&self.gpu, &values, bytes.threshold(), &mut words, labels)?;
            tiles.finish(&self.gpu, words.view(), labels)?
        };
        values.finish()?;
        self.kept.put(tiles.into_scratch());
        let labels = DeviceLabels::new((width, height), labels, total);
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
        if options.components.statistics {
            labels.set_components(self.measure(image, &labels)?);
        }
        Ok(labels)
    }

    /// Labels an image in the host's memory.
    pub(crate) fn label_host(&self, image: &BinaryImage, options: &LabelOptions) -> Result<Labels>
    where
        G: Send + Sync,
    {
        if !fits_one_band(image.width(), image.height()) {
            return spread::label_host(std::slice::from_ref(&self.gpu), image, options);
        }
        let (on_device, found) = self.queue_host(image, options)?;
        // SAFETY: the image has been uploaded, and labelled.
        let labels = unsafe { self.labels_to_host(found.labels(), &on_device, image)? };
        Ok(Labels::of(image, labels, found.into_summary()?))
    }

    /// As [`label_host`](Self::label_host), with the labels written to `to`.
    pub(crate) fn label_host_into(
        &self,
        image: &BinaryImage,
        options: &LabelOptions,
        to: HostLabels<'_>,
    ) -> Result<LabelSummary>
    where
        G: Send + Sync,
    {
        if !fits_one_band(image.width(), image.height()) {
            return spread::label_host_into(std::slice::from_ref(&self.gpu), image, options, to);
        }
        let (on_device, found) = self.queue_host(image, options)?;
        let rows = Strip::whole(image);
        // SAFETY: the image has been uploaded, and labelled.
        unsafe { self.read_labels(found.labels(), &on_device, rows, to)? };
        found.into_summary()
    }

    /// Queues the labelling of an image in the host's memory whose pixels 32 bits index: others are
    /// never whole in the GPU's memory.
    fn queue_host(
        &self,
        image: &BinaryImage,
        options: &LabelOptions,
    ) -> Result<(DeviceImage<G>, DeviceLabels<G>)> {
        let on_device = DeviceImage::upload(&self.gpu, image)?;
        let labels = self.label(&on_device, options)?;
        Ok((on_device, labels))
    }
}
