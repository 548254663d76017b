//! Label with kernels: the pipelines, for any [`Gpu`], with images and labels that stay there.
//!
//! | algorithm | kernels |
//! |---|---|
//! | [`LabelAlgorithm::Tiles`] | `tiles_label` (or `tiles_label_bytes`), `tiles_merge`, `tiles_flatten`, scan, `tiles_write` |
//! | [`LabelAlgorithm::Direct`] | `direct_start`, `direct_join`, `direct_flatten`, `count_roots`, scan, `direct_write` |
//!
//! # Memory
//! On the GPU, in bytes a pixel: 1/8 for the image, 4 for the labels; while `Tiles` works, 1.2 more (1 for the runs of its
//! tiles, of which it touches only what there are), while `Direct` works, 0.2 more.

use std::sync::OnceLock;

use cuda_std::View;

use trazar_kernels::label::number;
use trazar_kernels::label::tiles::{self, Grid};
use trazar_kernels::label::{direct, statistics};
use trazar_kernels::primitives::{pack, scan};

use super::{Component, Connectivity, LabelAlgorithm, LabelOptions, Labels};
#[cfg(feature = "cuda")]
use crate::cuda::{Device, Kernels, Queue, Stream};
use crate::geometry::BoundingBox;
use crate::gpu::{Gpu, GpuBuffer};
use crate::image::{check_count, check_size};
use crate::{BinaryImage, Error, Result, WORD_BITS};

/// A binary image in a GPU's memory: the words of a [`BinaryImage`].
#[derive(Debug)]
pub struct DeviceImage<G: Gpu> {
    width: u32,
    height: u32,
    words: G::Buffer<u64>,
}

impl<G: Gpu> DeviceImage<G> {
    /// Copies `image` to the memory of `gpu`, and waits for it.
    ///
    /// # Errors
    /// `Error::Cuda`, [`Error::Emulator`].
    pub fn upload(gpu: &G, image: &BinaryImage) -> Result<Self> {
        Ok(Self {
            width: image.width(),
            height: image.height(),
            words: gpu.upload(image.words())?,
        })
    }

    /// Takes words that lie in device memory as [`BinaryImage`] describes.
    ///
    /// # Errors
    /// Those of [`BinaryImage::from_words`].
    ///
    /// # Safety
    /// The bits past the width, in the last word of each row, are 0 in all of the image's life.
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

    /// Width in pixels.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height in pixels.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Its words.
    pub fn words(&self) -> &G::Buffer<u64> {
        &self.words
    }

    /// Copies it to the host.
    ///
    /// # Errors
    /// `Error::Cuda`, [`Error::Emulator`], [`Error::OutOfMemory`].
    pub fn to_host(&self) -> Result<BinaryImage> {
        let words = self.words.to_vec()?;
        BinaryImage::from_words(self.width, self.height, words)
    }
}

/// Labels in a GPU's memory.
#[derive(Debug)]
pub struct DeviceLabels<G: Gpu> {
    width: u32,
    height: u32,
    labels: G::Buffer<u32>,
    total: G::Buffer<u32>,
    count: OnceLock<u32>,
}

impl<G: Gpu> DeviceLabels<G> {
    fn new(grid: Grid, labels: G::Buffer<u32>, numbering: Numbering<G>) -> Self {
        Self {
            width: grid.width,
            height: grid.height,
            labels,
            total: numbering.total,
            count: OnceLock::new(),
        }
    }

    /// Width of the image that was labelled.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height of the image that was labelled.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The labels, row by row.
    pub fn labels(&self) -> &G::Buffer<u32> {
        &self.labels
    }

    /// The number of components. The first call waits for the work on the labels and fetches it.
    ///
    /// # Errors
    /// `Error::Cuda`, [`Error::Emulator`].
    pub fn count(&self) -> Result<u32> {
        if let Some(&count) = self.count.get() {
            return Ok(count);
        }
        let mut count = [0];
        self.total.read(&mut count)?;
        Ok(*self.count.get_or_init(|| count[0]))
    }

    /// Copies the labels to the host.
    ///
    /// # Errors
    /// `Error::Cuda`, [`Error::Emulator`].
    pub fn to_host(&self) -> Result<Labels> {
        Ok(Labels {
            width: self.width,
            height: self.height,
            labels: self.labels.to_vec()?,
            count: self.count()?,
            components: None,
        })
    }
}

/// Labels images on one GPU. Clones work on the same queue.
///
/// ```
/// use trazar::emulator::Emulator;
/// use trazar::{BinaryImage, Connectivity, DeviceImage, DeviceLabeler, LabelAlgorithm};
///
/// // On an NVIDIA GPU: `DeviceLabeler::new(&trazar::cuda::Device::open(0)?)?`.
/// let labeler = DeviceLabeler::on(Emulator::new(0));
/// let image = BinaryImage::from_art("##.#")?;
/// let image = DeviceImage::upload(labeler.gpu(), &image)?;
/// let labels = labeler.label(&image, Connectivity::Eight, LabelAlgorithm::Tiles)?;
/// assert_eq!(labels.count()?, 2);
/// assert_eq!(labels.to_host()?.as_slice(), [1, 1, 0, 2]);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DeviceLabeler<G: Gpu> {
    gpu: G,
}

/// Words in a row of `width` pixels.
fn row_words(width: u32) -> u32 {
    width.div_ceil(WORD_BITS as u32)
}

/// What both algorithms number components with.
struct Numbering<G: Gpu> {
    roots: G::Buffer<u64>,
    in_chunk: G::Buffer<u16>,
    chunks: G::Buffer<u32>,
    status: G::Buffer<u64>,
    ticket: G::Buffer<u32>,
    total: G::Buffer<u32>,
}

impl<G: Gpu> Numbering<G> {
    fn new(gpu: &G, words: u32) -> Result<Self> {
        Ok(Self {
            roots: gpu.alloc(words as usize)?,
            in_chunk: gpu.alloc(words as usize)?,
            chunks: gpu.alloc(number::chunks(words) as usize)?,
            status: gpu.alloc(number::status_len(words) as usize)?,
            ticket: gpu.alloc(1)?,
            total: gpu.alloc(1)?,
        })
    }

    /// Turns the chunks' counts into their sums so far.
    ///
    /// # Safety
    /// A kernel that makes status and ticket ready has been launched on `gpu` before, and not yet been followed by a scan.
    unsafe fn scan_chunks(&mut self, gpu: &G) -> Result<()> {
        let n = self.chunks.len() as u32;
        let chunks = self.chunks.view_mut();
        // SAFETY: the lengths and the grid are those that the kernel asks for, which may scan in place; status and
        // ticket are ready by the caller's promise.
        unsafe {
            scan::scan_exclusive::launch(
                &gpu.launcher(),
                scan::blocks(n, gpu.multiprocessors()),
                chunks.as_view(),
                chunks,
                self.total.view_mut(),
                self.status.view_mut(),
                self.ticket.view_mut(),
                n,
            )
        }
    }
}

/// What [`LabelAlgorithm::Tiles`] works in. One of the kernels that label tiles comes first, then
/// [`finish`](Self::finish).
struct Tiles<G: Gpu> {
    grid: Grid,
    eight: u32,
    labels: G::Buffer<u32>,
    numbering: Numbering<G>,
    firsts: G::Buffer<u16>,
    offsets: G::Buffer<u16>,
    sides: G::Buffer<u32>,
}

impl<G: Gpu> Tiles<G> {
    fn new(gpu: &G, grid: Grid, connectivity: Connectivity) -> Result<Self> {
        Ok(Self {
            grid,
            eight: connectivity.eight(),
            labels: gpu.alloc(grid.width as usize * grid.height as usize)?,
            numbering: Numbering::new(gpu, grid.words())?,
            firsts: gpu.alloc(grid.firsts_len())?,
            offsets: gpu.alloc(grid.offsets_len())?,
            sides: gpu.alloc(grid.sides_len())?,
        })
    }

    /// Labels each tile of `image`.
    ///
    /// # Safety
    /// `image` has the grid's words, and `gpu` has acquired it.
    unsafe fn label(&mut self, gpu: &G, image: &G::Buffer<u64>) -> Result<()> {
        // SAFETY: all buffers have the lengths that the kernel asks for, and are used by this queue alone.
        unsafe {
            tiles::tiles_label::launch(
                &gpu.launcher(),
                self.grid.tiles(),
                image.view(),
                self.labels.view_mut(),
                self.firsts.view_mut(),
                self.offsets.view_mut(),
                self.sides.view_mut(),
                self.numbering.roots.view_mut(),
                self.numbering.status.view_mut(),
                self.numbering.ticket.view_mut(),
                self.grid,
                self.eight,
            )
        }
    }

    /// Labels each tile of an image of bytes, and writes its bits to `image`.
    ///
    /// # Safety
    /// `bytes` has a value a pixel, in rows of a multiple of 16, and `gpu` has acquired it; `image` has the grid's words, and
    /// is the queue's own.
    unsafe fn label_bytes(
        &mut self,
        gpu: &G,
        bytes: &G::Buffer<u8>,
        threshold: u8,
        image: &mut G::Buffer<u64>,
    ) -> Result<()> {
        // SAFETY: as in `label`, and the bytes start at a multiple of 16 bytes, as every buffer does.
        unsafe {
            tiles::tiles_label_bytes::launch(
                &gpu.launcher(),
                self.grid.tiles(),
                bytes.view(),
                image.view_mut(),
                self.labels.view_mut(),
                self.firsts.view_mut(),
                self.offsets.view_mut(),
                self.sides.view_mut(),
                self.numbering.roots.view_mut(),
                self.numbering.status.view_mut(),
                self.numbering.ticket.view_mut(),
                self.grid,
                self.eight,
                threshold.into(),
            )
        }
    }

    /// Joins the tiles' components and writes the labels.
    ///
    /// # Safety
    /// `image` is the image whose tiles the launch before on `gpu` has labelled.
    unsafe fn finish(mut self, gpu: &G, image: &G::Buffer<u64>) -> Result<DeviceLabels<G>> {
        let Self { grid, eight, .. } = self;
        let on = &gpu.launcher();
        // SAFETY: all buffers have the lengths that the kernels ask for, and are used by this queue alone; the launches follow
        // each other as the kernels ask for.
        unsafe {
            // planted: merge-grid
            let merge_blocks = grid.merge_threads().div_ceil(128) as u32;
            if merge_blocks > 0 {
                tiles::tiles_merge::launch(
                    on,
                    merge_blocks,
                    image.view(),
                    self.labels.view_mut(),
                    self.firsts.view(),
                    self.offsets.view(),
                    self.sides.view(),
                    grid,
                    eight,
                )?;
            }
            tiles::tiles_flatten::launch(
                on,
                number::chunks(grid.words()),
                self.labels.view_mut(),
                self.numbering.roots.view_mut(),
                self.numbering.in_chunk.view_mut(),
                self.numbering.chunks.view_mut(),
                grid,
            )?;
            self.numbering.scan_chunks(gpu)?;
            tiles::tiles_write::launch(
                on,
                grid.tiles(),
                image.view(),
                self.labels.view_mut(),
                self.firsts.view(),
                self.offsets.view(),
                self.numbering.roots.view(),
                self.numbering.in_chunk.view(),
                self.numbering.chunks.view(),
                grid,
            )?;
        }
        Ok(DeviceLabels::new(grid, self.labels, self.numbering))
    }
}

#[cfg(feature = "cuda")]
impl DeviceLabeler<Queue> {
    /// Compiles the kernels for `device` and makes a stream.
    ///
    /// # Errors
    /// [`Error::Cuda`].
    pub fn new(device: &Device) -> Result<Self> {
        let kernels = Kernels::load(device)?;
        Ok(Self::on(Queue::new(&device.stream()?, &kernels)?))
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

    /// What it works on.
    pub fn gpu(&self) -> &G {
        &self.gpu
    }

    /// Packs an image of one byte a pixel, row by row without padding: foreground is `value > threshold`.
    ///
    /// # Errors
    /// As [`BinaryImage::from_values`]; [`Error::ImageTooLarge`] past 2³² - 1 pixels; `Error::Cuda`, [`Error::Emulator`].
    pub fn pack(
        &self,
        width: u32,
        height: u32,
        bytes: &G::Buffer<u8>,
        threshold: u8,
    ) -> Result<DeviceImage<G>> {
        check_bytes::<G>(width, height, bytes)?;
        let bytes = self.gpu.using(bytes)?;
        // SAFETY: the bytes are in use until after the launch.
        let image =
            unsafe { self.pack_pitched(width, height, bytes.view(), width as usize, threshold) }?;
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
    /// The bytes are there, and nothing writes them, until the work queued here so far is done.
    pub unsafe fn pack_pitched(
        &self,
        width: u32,
        height: u32,
        bytes: View<'_, u8>,
        pitch: usize,
        threshold: u8,
    ) -> Result<DeviceImage<G>> {
        check_size(width.into(), height.into())?;
        let grid = grid(width, height)?;
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
        let mut words = self.gpu.alloc::<u64>(grid.words() as usize)?;
        // SAFETY: the sizes were checked or are allocated as the kernel asks for; the bytes are the caller's promise.
        unsafe {
            pack::pack_bytes::launch(
                &self.gpu.launcher(),
                pack::blocks(grid.row_words, height),
                bytes,
                words.view_mut_as(),
                width,
                height,
                grid.row_words,
                pitch,
                threshold.into(),
            )?;
        }
        Ok(DeviceImage {
            width,
            height,
            words,
        })
    }

    /// Labels `image`: queues the work, which an NVIDIA GPU does while the host runs on.
    ///
    /// # Errors
    /// [`Error::Unavailable`] for an algorithm of the processor, [`Error::ImageTooLarge`] past 2³² - 1 pixels; `Error::Cuda`, [`Error::Emulator`].
    pub fn label(
        &self,
        image: &DeviceImage<G>,
        connectivity: Connectivity,
        algorithm: LabelAlgorithm,
    ) -> Result<DeviceLabels<G>> {
        let grid = grid(image.width, image.height)?;
        algorithm.check_runs_on(G::DEVICE)?;
        // The image may be dropped before the work is done: its memory then goes back after it.
        let image = self.gpu.using(&image.words)?;
        let labels = match algorithm {
            LabelAlgorithm::Direct => self.label_direct(&image, grid, connectivity)?,
            _ => {
                let mut tiles = Tiles::new(&self.gpu, grid, connectivity)?;
                // SAFETY: an image of the grid's size, in use.
                unsafe {
                    tiles.label(&self.gpu, &image)?;
                    tiles.finish(&self.gpu, &image)?
                }
            }
        };
        image.finish()?;
        Ok(labels)
    }

    /// Labels an image of one byte a pixel, row by row without padding, whose foreground is `value > threshold`, with
    /// [`LabelAlgorithm::Tiles`]. Also gives the image of bits: where the width is a multiple of 16, the kernel that reads
    /// the bytes labels them too, which is faster than [`pack`](Self::pack) before [`label`](Self::label).
    ///
    /// # Errors
    /// Those of [`pack`](Self::pack) and [`label`](Self::label).
    pub fn label_bytes(
        &self,
        width: u32,
        height: u32,
        bytes: &G::Buffer<u8>,
        threshold: u8,
        connectivity: Connectivity,
    ) -> Result<(DeviceImage<G>, DeviceLabels<G>)> {
        if !width.is_multiple_of(16) {
            let image = self.pack(width, height, bytes, threshold)?;
            let labels = self.label(&image, connectivity, LabelAlgorithm::Tiles)?;
            return Ok((image, labels));
        }
        check_bytes::<G>(width, height, bytes)?;
        let grid = grid(width, height)?;
        let bytes = self.gpu.using(bytes)?;
        let mut words = self.gpu.alloc(grid.words() as usize)?;
        let mut tiles = Tiles::new(&self.gpu, grid, connectivity)?;
        // SAFETY: sizes were checked or are the grid's, and the bytes are in use.
        let labels = unsafe {
            tiles.label_bytes(&self.gpu, &bytes, threshold, &mut words)?;
            tiles.finish(&self.gpu, &words)?
        };
        bytes.finish()?;
        let image = DeviceImage {
            width,
            height,
            words,
        };
        Ok((image, labels))
    }

    /// The image is in use.
    fn label_direct(
        &self,
        image: &G::Buffer<u64>,
        grid: Grid,
        connectivity: Connectivity,
    ) -> Result<DeviceLabels<G>> {
        let gpu = &self.gpu;
        let on = &gpu.launcher();
        let Grid {
            width,
            height,
            row_words,
            ..
        } = grid;
        let words = grid.words();
        let blocks = direct::blocks(words);
        let mut labels = gpu.alloc(width as usize * height as usize)?;
        let mut numbering = Numbering::new(gpu, words)?;
        // SAFETY: all buffers have the lengths that the kernels ask for, and are used by this queue alone, or in use
        // by it; the launches follow each other as the kernels ask for.
        unsafe {
            direct::direct_start::launch(
                on,
                blocks,
                image.view(),
                labels.view_mut(),
                numbering.status.view_mut(),
                numbering.ticket.view_mut(),
                width,
                height,
                row_words,
            )?;
            direct::direct_join::launch(
                on,
                blocks,
                image.view(),
                labels.view_mut(),
                width,
                height,
                row_words,
                connectivity.eight(),
            )?;
            direct::direct_flatten::launch(
                on,
                blocks,
                image.view(),
                labels.view_mut(),
                numbering.roots.view_mut_as(),
                width,
                height,
                row_words,
            )?;
            number::count_roots::launch(
                on,
                number::chunks(words),
                numbering.roots.view(),
                numbering.in_chunk.view_mut(),
                numbering.chunks.view_mut(),
                words,
            )?;
            numbering.scan_chunks(gpu)?;
            direct::direct_write::launch(
                on,
                blocks,
                image.view(),
                labels.view_mut(),
                numbering.roots.view(),
                numbering.in_chunk.view(),
                numbering.chunks.view(),
                width,
                height,
                row_words,
            )?;
        }
        Ok(DeviceLabels::new(grid, labels, numbering))
    }

    /// Measures the components of `image`, whose labels are `labels`.
    ///
    /// # Errors
    /// [`Error::SizeMismatch`] if they are not of one size; `Error::Cuda`, [`Error::Emulator`].
    ///
    /// # Safety
    /// `labels` is what [`DeviceLabeler::label`] has given for `image`.
    pub unsafe fn measure(
        &self,
        image: &DeviceImage<G>,
        labels: &DeviceLabels<G>,
    ) -> Result<Vec<Component>> {
        if (image.width, image.height) != (labels.width, labels.height) {
            return Err(Error::SizeMismatch {
                width: image.width,
                height: image.height,
                needed: u64::from(image.width) * u64::from(image.height),
                given: u64::from(labels.width) * u64::from(labels.height),
                unit: "labels",
            });
        }
        let count = labels.count()? as usize;
        if count == 0 {
            return Ok(Vec::new());
        }
        let gpu = &self.gpu;
        let mut area = gpu.alloc_zeroed::<u64>(count)?;
        let mut sum_x = gpu.alloc_zeroed::<u64>(count)?;
        let mut sum_y = gpu.alloc_zeroed::<u64>(count)?;
        let mut min_x = gpu.alloc::<u32>(count)?;
        let mut min_y = gpu.alloc::<u32>(count)?;
        min_x.fill(u32::MAX)?;
        min_y.fill(u32::MAX)?;
        // planted: measure-zero
        let mut max_x = gpu.alloc_zeroed::<u32>(count)?;
        let mut max_y = gpu.alloc_zeroed::<u32>(count)?;
        let words = gpu.using(&image.words)?;
        let by_pixel = gpu.using(&labels.labels)?;
        let row_words = row_words(image.width);
        // SAFETY: an element per component each, filled as the kernel asks for; no label is above their number, which the
        // caller vouches for.
        unsafe {
            statistics::measure::launch(
                &gpu.launcher(),
                statistics::blocks(row_words, image.height),
                words.view(),
                by_pixel.view(),
                area.view_mut(),
                sum_x.view_mut(),
                sum_y.view_mut(),
                min_x.view_mut(),
                min_y.view_mut(),
                max_x.view_mut(),
                max_y.view_mut(),
                image.width,
                image.height,
                row_words,
            )?;
        }
        words.finish()?;
        by_pixel.finish()?;
        let (area, sum_x, sum_y) = (area.to_vec()?, sum_x.to_vec()?, sum_y.to_vec()?);
        let (min_x, min_y) = (min_x.to_vec()?, min_y.to_vec()?);
        let (max_x, max_y) = (max_x.to_vec()?, max_y.to_vec()?);
        let corner = |x: u32, y: u32| glam::IVec2::new(x as i32, y as i32);
        Ok((0..count)
            .map(|i| Component {
                area: area[i],
                bounding_box: BoundingBox {
                    min: corner(min_x[i], min_y[i]),
                    max: corner(max_x[i], max_y[i]),
                },
                centroid: glam::DVec2::new(
                    sum_x[i] as f64 / area[i] as f64,
                    sum_y[i] as f64 / area[i] as f64,
                ),
            })
            .collect())
    }

    /// Labels an image of the host's.
    pub(crate) fn label_host(
        &self,
        image: &BinaryImage,
        options: &LabelOptions,
        algorithm: LabelAlgorithm,
    ) -> Result<Labels> {
        let on_device = DeviceImage::upload(&self.gpu, image)?;
        let labels = self.label(&on_device, options.connectivity, algorithm)?;
        let components = options
            .statistics
            // SAFETY: these are the image's labels.
            .then(|| unsafe { self.measure(&on_device, &labels) })
            .transpose()?;
        Ok(Labels {
            components,
            ..labels.to_host()?
        })
    }
}

/// Refuses a buffer that is not an image of one byte a pixel.
fn check_bytes<G: Gpu>(width: u32, height: u32, bytes: &G::Buffer<u8>) -> Result<()> {
    check_size(width.into(), height.into())?;
    let needed = u64::from(width) * u64::from(height);
    check_count(width, height, needed, bytes.len(), "values")
}

/// The tiles of an image, if its pixels can be numbered with 32 bits.
fn grid(width: u32, height: u32) -> Result<Grid> {
    Grid::new(width, height).ok_or(Error::ImageTooLarge {
        width: width.into(),
        height: height.into(),
        limit: "on the GPU, pixels are numbered with 32 bits; label it on the CPU, or in parts",
    })
}
