//! Images of one size, labelled in one launch per stage.
//!
//! The images are stacked with a row of background between two, but tiles are those of the single
//! images ([`TileLayout::stack`]), so no component crosses a seam, and labels have no rows between
//! images. Components are counted together. What starts before an image is subtracted from the
//! numbers of its components.
//!
//! Batches of very many pixels or images are labelled in portions, one after the other, so that the
//! memory besides images and labels stays below 1.3 GB.

use std::ops::Range;
use std::sync::OnceLock;

use trazar_kernels::image::{BitImage, row_words};
use trazar_kernels::label::tiles::layout::TileLayout;

use super::DeviceLabeler;
use super::runs::HostLabels;
use super::statistics::{MeasureBuffers, check_sums};
use super::tiles::Tiles;
use crate::error::{Error, Result};
use crate::gpu::{Gpu, GpuBuffer, View, read_first};
use crate::image::BinaryImage;
use crate::image::gpu::DeviceImageBatch;
use crate::label::cpu::Tally;
use crate::label::{Component, LabelAlgorithm, LabelOptions, LabelSummary, Labels};
use crate::memory::{collect, with_room, zeroed_vec};

/// The most pixels of a portion, unless the labeler has another limit.
const PORTION_PIXELS: u32 = 1 << 30;

/// The most images of a portion: grids have at most this many blocks along y.
const PORTION_IMAGES: u32 = 65_535;

/// What errors of memory call the results of a batch.
const RESULTS: &str = "the labels of a batch";

/// Labels of images of one size in a GPU's memory: for each image those of [`Labels`], from 1 on.
///
/// ```
/// use trazar::emulator::Emulator;
/// use trazar::{BinaryImage, DeviceImageBatch, DeviceLabeler, LabelOptions};
///
/// let labeler = DeviceLabeler::on(Emulator::new(0));
/// let images = [BinaryImage::from_art("##.#")?, BinaryImage::from_art("..##")?];
/// let images = DeviceImageBatch::upload(labeler.gpu(), &images)?;
/// let labels = labeler.label_batch(&images, &LabelOptions::default())?;
/// assert_eq!(labels.counts()?, [2, 1]);
/// assert_eq!(labels.to_host()?[1].as_slice(), [0, 0, 1, 1]);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Debug)]
pub struct DeviceLabelBatch<G: Gpu> {
    images: u32,
    width: u32,
    height: u32,
    labels: G::Buffer<u32>,
    /// Per portion: the number of components before each of its images, then of all of them.
    starts: Vec<G::Buffer<u32>>,
    counts: OnceLock<Vec<u32>>,
    components: Option<Vec<Component>>,
}

impl<G: Gpu> DeviceLabelBatch<G> {
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
        self.width
    }

    /// Height of each image in pixels.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The labels, image by image and row by row, without padding.
    pub fn labels(&self) -> &G::Buffer<u32> {
        &self.labels
    }

    /// Takes the labels out, for other GPU code, as
    /// [`DeviceLabels::into_labels`](super::DeviceLabels::into_labels) does.
    pub fn into_labels(self) -> G::Buffer<u32> {
        self.labels
    }

    /// The number of components of each image. The first call waits for the labels and copies the
    /// numbers.
    ///
    /// # Errors
    /// `Error::Cuda`, [`Error::Emulator`], [`Error::OutOfMemory`].
    pub fn counts(&self) -> Result<&[u32]> {
        if let Some(counts) = self.counts.get() {
            return Ok(counts);
        }
        let mut counts = with_room(self.len(), RESULTS)?;
        for starts in &self.starts {
            let starts = starts.to_vec()?;
            // Together, the components may be more than 32 bits count; those of an image are not.
            counts.extend(starts.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])));
        }
        Ok(self.counts.get_or_init(|| counts))
    }

    /// The measures of the components, in the host's memory: those of the first image, in the order
    /// of their labels, then those of the second, and so on. [`counts`](Self::counts) says how many
    /// each image has. `None` without the option
    /// [`statistics`](field@crate::label::ComponentOptions::statistics).
    pub fn components(&self) -> Option<&[Component]> {
        self.components.as_deref()
    }

    /// The measures of each image's components.
    fn components_of_images(&self) -> Result<Vec<Option<Vec<Component>>>> {
        let mut rest = self.components();
        let of_images = self.counts()?.iter().map(|&count| {
            let Some(all) = rest else {
                return Ok(None);
            };
            let (own, after) = all.split_at(count as usize);
            rest = Some(after);
            collect(own.iter().copied(), RESULTS).map(Some)
        });
        of_images.collect()
    }

    /// Copies the labels of each image to the host: 4 bytes per pixel. Waits for them. If the host
    /// has the images too, [`Engine::label_batch`](crate::Engine::label_batch) usually takes less
    /// time: it copies 4 bytes per run.
    ///
    /// # Errors
    /// `Error::Cuda`, [`Error::Emulator`], [`Error::OutOfMemory`].
    pub fn to_host(&self) -> Result<Vec<Labels>> {
        let pixels = self.width as usize * self.height as usize;
        let of_images = self.counts()?.iter().zip(self.components_of_images()?);
        let images = of_images.enumerate().map(|(i, (&count, components))| {
            let mut labels = zeroed_vec(pixels, RESULTS)?;
            self.labels.read_at(i * pixels, &mut labels)?;
            Ok(Labels {
                width: self.width,
                height: self.height,
                labels,
                count,
                components,
            })
        });
        images.collect()
    }
}

/// The number of images of a portion: at most `most` pixels, but at least one image.
///
/// # Errors
/// [`Error::ImageTooLarge`] if 32 bits can't index the pixels of one.
fn portion(width: u32, height: u32, images: u32, most: u32) -> Result<u32> {
    let pixels = u64::from(width) * u64::from(height);
    let within = u64::from(most) / pixels.max(1);
    let mut portion = within
        .clamp(1, PORTION_IMAGES.into())
        .min(images.into())
        .max(1) as u32;
    // Of narrow images, 32 bits may not index the tiles of that many.
    while TileLayout::stack(width, height, portion).is_none() {
        if portion == 1 {
            return Err(Error::ImageTooLarge {
                width: width.into(),
                height: height.into(),
                limit: "on the GPU, 32 bits index the pixels of an image of a batch; label it \
                        alone, in bands",
            });
        }
        portion /= 2;
    }
    Ok(portion)
}

/// Whether kernels label images of that size in a batch.
pub(crate) fn fits_a_batch(width: u32, height: u32) -> bool {
    TileLayout::stack(width, height, 1).is_some()
}

/// The portions of `images` images, as ranges of their indices.
fn portions(images: u32, portion: u32) -> impl Iterator<Item = Range<usize>> {
    let images = images as usize;
    let starts = (0..images).step_by(portion as usize);
    starts.map(move |start| start..images.min(start + portion as usize))
}

/// `range`, of things that have `each` elements, as a range of elements.
fn scaled(range: &Range<usize>, each: usize) -> Range<usize> {
    range.start * each..range.end * each
}

impl<G: Gpu> DeviceLabeler<G> {
    /// Labels the images of a batch, in one launch per stage for all of them: small images, each of
    /// which alone would leave most of the GPU idle. Each image's labels and measures are those of
    /// [`label`](Self::label).
    ///
    /// On an NVIDIA GPU, this queues the work and returns before it is done. It waits only for
    /// [`statistics`](field@crate::label::ComponentOptions::statistics), and with
    /// [`LabelAlgorithm::Direct`], which labels image after image.
    ///
    /// Besides the images and 4 bytes per pixel for the labels, it takes 1.2 bytes per pixel of at
    /// most 2³⁰ pixels while it works, and 44 bytes per component for statistics. Batches of more
    /// pixels, or of more than 65,535 images, are labelled in portions, one after the other.
    ///
    /// # Errors
    /// Those of [`label`](Self::label), and [`Error::ImageTooLarge`] if 32 bits can't index the
    /// pixels of one image; [`Error::TooMany`] for measures of more than 2³² - 1 components
    /// together.
    pub fn label_batch(
        &self,
        images: &DeviceImageBatch<G>,
        options: &LabelOptions,
    ) -> Result<DeviceLabelBatch<G>> {
        let algorithm = options.algorithm_on(G::BACKEND);
        algorithm.check_runs_on(G::BACKEND)?;
        let (width, height) = (images.width(), images.height());
        let count = images.len() as u32;
        let most = self.band_pixels.unwrap_or(PORTION_PIXELS);
        let portion = portion(width, height, count, most)?;
        let pixels = width as usize * height as usize;
        let gpu = &self.gpu;
        let mut labels = gpu.alloc(pixels.saturating_mul(images.len()))?;
        let mut starts = Vec::new();
        let words = gpu.using(images.stack().words())?;
        for range in portions(count, portion) {
            let bits = words.view_of(scaled(&range, images.pitch_words()));
            let of_portion = labels.view_mut_of(scaled(&range, pixels));
            let Some(layout) = TileLayout::stack(width, height, range.len() as u32) else {
                continue;
            };
            // SAFETY: these are the bits and the labels of the portion's images. The labels belong
            // to `gpu`, which has acquired the bits. If the width is a multiple of 4, so is the
            // index of the first label.
            starts.push(unsafe {
                match algorithm {
                    LabelAlgorithm::Direct => {
                        let labels = &mut labels;
                        self.label_one_by_one(bits, labels, range.start, layout, options)?
                    }
                    _ => {
                        let connectivity = options.components.connectivity;
                        let mut tiles = Tiles::new(gpu, layout, connectivity, self.kept.take())?;
                        tiles.label(gpu, bits, of_portion)?;
                        tiles.join(gpu, bits, of_portion)?;
                        tiles.write(gpu, bits, of_portion, None)?;
                        let starts = tiles.image_starts(gpu)?;
                        self.kept.put(tiles.into_scratch());
                        starts
                    }
                }
            });
        }
        words.finish()?;
        let mut labels = DeviceLabelBatch {
            images: count,
            width,
            height,
            labels,
            starts,
            counts: OnceLock::new(),
            components: None,
        };
        if options.components.statistics {
            labels.components = Some(self.measure_batch(images, &labels, portion)?);
        }
        Ok(labels)
    }

    /// Labels the images of `layout` one after the other, from image `first` of the batch on.
    /// Returns the number of components before each, then of all.
    ///
    /// # Safety
    /// `bits` has the layout's bits, and `gpu` has acquired them; `labels` belongs to it.
    unsafe fn label_one_by_one(
        &self,
        bits: View<'_, u64>,
        labels: &mut G::Buffer<u32>,
        first: usize,
        layout: TileLayout,
        options: &LabelOptions,
    ) -> Result<G::Buffer<u32>> {
        let gpu = &self.gpu;
        let single = TileLayout {
            images: 1,
            pitch: layout.image_words(),
            ..layout
        };
        let mut starts: Vec<u32> = with_room(layout.images as usize + 1, RESULTS)?;
        starts.push(0);
        for image in 0..layout.images as usize {
            let start = image * layout.pitch as usize;
            let pixels = single.pixels() as usize;
            let at = first + image;
            let of_image = labels.view_mut_of(scaled(&(at..at + 1), pixels));
            // SAFETY: the words of one image, without the row below it.
            let total = unsafe {
                let words =
                    View::from_raw_parts(bits.as_ptr().wrapping_add(start), single.pitch as usize);
                self.label_view(words, of_image, single, options)?
            };
            starts.push(starts[image].wrapping_add(read_first(&total)?));
        }
        gpu.upload(&starts)
    }

    /// Measures the components of all images, in one launch per portion. Waits for the labels.
    fn measure_batch(
        &self,
        images: &DeviceImageBatch<G>,
        labels: &DeviceLabelBatch<G>,
        portion: u32,
    ) -> Result<Vec<Component>> {
        let (width, height) = (images.width(), images.height());
        check_sums(width, height)?;
        let gpu = &self.gpu;
        let mut starts = with_room(images.len(), RESULTS)?;
        let mut total = 0u64;
        for &count in labels.counts()? {
            starts.push(total as u32);
            total += u64::from(count);
        }
        let Ok(count) = u32::try_from(total) else {
            return Err(Error::TooMany {
                what: "components of a batch that is measured",
                limit: u32::MAX.into(),
            });
        };
        let mut measures = MeasureBuffers::of_images(gpu, count, gpu.upload(&starts)?)?;
        let words = gpu.using(images.stack().words())?;
        for range in portions(images.len() as u32, portion) {
            let stack = BitImage {
                words: words.view_of(scaled(&range, images.pitch_words())),
                width,
                height: range.len() as u32 * images.pitch(),
                row_words: row_words(width),
            };
            let pixels = scaled(&range, width as usize * height as usize);
            let by_pixel = labels.labels.view_of(pixels);
            // SAFETY: these are the words and the labels of the portion's images, which `gpu` has
            // acquired. No label is larger than the number of its image's components.
            unsafe { measures.add_stack(gpu, stack, by_pixel, range) }?;
        }
        words.finish()?;
        let tallies = measures.tallies()?;
        collect(tallies.into_iter().map(Tally::finish), RESULTS)
    }

    /// Labels images of one size in the host's memory, each image's labels to its place. The size
    /// is one that [`fits_a_batch`].
    pub(crate) fn label_host_batch(
        &self,
        images: &[&BinaryImage],
        options: &LabelOptions,
        places: &mut [HostLabels<'_>],
    ) -> Result<Vec<LabelSummary>> {
        let on_device = DeviceImageBatch::upload(&self.gpu, images.iter().copied())?;
        let found = self.label_batch(&on_device, options)?;
        // SAFETY: these images have been uploaded, and labelled.
        unsafe { self.read_batch(found.labels(), &on_device, images, places)? };
        let components = found.components_of_images()?;
        let summaries = found.counts()?.iter().zip(components);
        let summaries = summaries.map(|(&count, components)| LabelSummary { count, components });
        collect(summaries, RESULTS)
    }
}
