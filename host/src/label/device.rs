//! Label on an NVIDIA GPU: the pipelines of kernels, with images and labels that stay there.
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

use cuda_std::ViewMut;
use trazar_kernels::PTX;
use trazar_kernels::label::number;
use trazar_kernels::label::tiles::{self, Grid};
use trazar_kernels::label::{direct, statistics};
use trazar_kernels::primitives::{pack, scan};

use super::{Component, Connectivity, LabelAlgorithm, LabelOptions, Labels};
use crate::cuda::{CudaError, Device, DeviceBuffer, Module, Queue, Stream};
use crate::geometry::BoundingBox;
use crate::image::{check_count, check_size};
use crate::{BinaryImage, Error, Result, WORD_BITS};

/// A binary image in a GPU's memory: the words of a [`BinaryImage`].
#[derive(Debug)]
pub struct DeviceImage {
    width: u32,
    height: u32,
    words: DeviceBuffer<u64>,
}

impl DeviceImage {
    /// Copies `image` to the GPU of `stream`, and waits for it.
    ///
    /// # Errors
    /// [`Error::Cuda`].
    pub fn upload(stream: &Stream, image: &BinaryImage) -> Result<Self> {
        Ok(Self {
            width: image.width(),
            height: image.height(),
            words: stream.upload(image.words())?,
        })
    }

    /// Takes words that lie in device memory as [`BinaryImage`] describes.
    ///
    /// # Errors
    /// Those of [`BinaryImage::from_words`].
    ///
    /// # Safety
    /// The bits past the width, in the last word of each row, are 0 in all of the image's life.
    pub unsafe fn from_words(width: u32, height: u32, words: DeviceBuffer<u64>) -> Result<Self> {
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
    pub fn words(&self) -> &DeviceBuffer<u64> {
        &self.words
    }

    /// Copies it to the host.
    ///
    /// # Errors
    /// [`Error::Cuda`], [`Error::OutOfMemory`].
    pub fn to_host(&self) -> Result<BinaryImage> {
        BinaryImage::from_words(self.width, self.height, self.words.to_vec()?)
    }
}

/// Labels in a GPU's memory.
#[derive(Debug)]
pub struct DeviceLabels {
    width: u32,
    height: u32,
    labels: DeviceBuffer<u32>,
    total: DeviceBuffer<u32>,
    count: OnceLock<u32>,
}

impl DeviceLabels {
    fn new(grid: Grid, labels: DeviceBuffer<u32>, numbering: Numbering) -> Self {
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
    pub fn labels(&self) -> &DeviceBuffer<u32> {
        &self.labels
    }

    /// The number of components. The first call waits for the work on the labels and fetches it.
    ///
    /// # Errors
    /// [`Error::Cuda`].
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
    /// [`Error::Cuda`].
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

/// Labels images on one GPU, on a stream of its own.
///
/// ```
/// # #[cfg(feature = "cuda")]
/// # fn main() -> trazar::Result<()> {
/// use trazar::cuda::Device;
/// use trazar::{BinaryImage, Connectivity, DeviceImage, DeviceLabeler, LabelAlgorithm};
///
/// # let device = match Device::open(0) { Ok(device) => device, Err(_) => return Ok(()) };
/// let labeler = DeviceLabeler::new(&device)?;
/// let image = BinaryImage::from_art("##.#")?;
/// let image = DeviceImage::upload(labeler.stream(), &image)?;
/// let labels = labeler.label(&image, Connectivity::Eight, LabelAlgorithm::Tiles)?;
/// assert_eq!(labels.count()?, 2);
/// assert_eq!(labels.to_host()?.as_slice(), [1, 1, 0, 2]);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "cuda"))]
/// # fn main() {}
/// ```
#[derive(Clone, Debug)]
pub struct DeviceLabeler {
    queue: Queue,
}

/// Words in a row of `width` pixels.
fn row_words(width: u32) -> u32 {
    width.div_ceil(WORD_BITS as u32)
}

/// An image on the GPU.
enum Source<'a> {
    /// As bits.
    Words(&'a DeviceBuffer<u64>),
    /// As bytes, to be written as bits to `words`.
    Bytes {
        bytes: &'a DeviceBuffer<u8>,
        threshold: u8,
        words: &'a mut DeviceBuffer<u64>,
    },
}

/// What both algorithms number components with.
struct Numbering {
    roots: DeviceBuffer<u64>,
    in_chunk: DeviceBuffer<u16>,
    chunks: DeviceBuffer<u32>,
    status: DeviceBuffer<u64>,
    ticket: DeviceBuffer<u32>,
    total: DeviceBuffer<u32>,
}

impl Numbering {
    fn new(stream: &Stream, words: u32) -> std::result::Result<Self, CudaError> {
        Ok(Self {
            roots: stream.alloc(words as usize)?,
            in_chunk: stream.alloc(words as usize)?,
            chunks: stream.alloc(number::chunks(words) as usize)?,
            status: stream.alloc(number::status_len(words) as usize)?,
            ticket: stream.alloc(1)?,
            total: stream.alloc(1)?,
        })
    }
}

impl DeviceLabeler {
    /// Compiles the kernels for `device` and makes a stream.
    ///
    /// # Errors
    /// [`Error::Cuda`].
    pub fn new(device: &Device) -> Result<Self> {
        let module = Module::from_ptx(device, PTX)?;
        Ok(Self::on(Queue::new(&device.stream()?, &module)?))
    }

    /// Labels on the stream of `queue`, whose module holds [`trazar_kernels::PTX`].
    pub fn on(queue: Queue) -> Self {
        Self { queue }
    }

    /// The stream that it works on.
    pub fn stream(&self) -> &Stream {
        self.queue.stream()
    }

    /// The stream, with the kernels.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Packs an image of one byte a pixel, row by row without padding: foreground is `value > threshold`.
    ///
    /// # Errors
    /// As [`BinaryImage::from_values`]; [`Error::Cuda`].
    pub fn pack(
        &self,
        width: u32,
        height: u32,
        bytes: &DeviceBuffer<u8>,
        threshold: u8,
    ) -> Result<DeviceImage> {
        check_bytes(width, height, bytes)?;
        grid(width, height)?;
        let stream = self.stream();
        stream.wait_for(bytes.stream())?;
        let row_words = row_words(width);
        let mut words = stream.alloc::<u64>(row_words as usize * height as usize)?;
        // SAFETY: the buffer's memory, as quarters of its words; it is borrowed mutably.
        let quarters =
            unsafe { ViewMut::from_raw_parts(words.as_mut_ptr().cast::<u16>(), words.len() * 4) };
        // SAFETY: the sizes were checked or are allocated as the kernel asks for, from addresses that the driver aligns;
        // the stream has waited for the bytes.
        unsafe {
            pack::pack_bytes::launch(
                &self.queue,
                pack::blocks(row_words, height),
                bytes.view(),
                quarters,
                width,
                height,
                row_words,
                threshold.into(),
            )?;
        }
        bytes.stream().wait_for(stream)?;
        Ok(DeviceImage {
            width,
            height,
            words,
        })
    }

    /// Labels `image`: queues the work and returns at once.
    ///
    /// # Errors
    /// [`Error::Unavailable`] for an algorithm of another device, [`Error::ImageTooLarge`] past 2³² - 1 pixels,
    /// [`Error::Cuda`].
    pub fn label(
        &self,
        image: &DeviceImage,
        connectivity: Connectivity,
        algorithm: LabelAlgorithm,
    ) -> Result<DeviceLabels> {
        let grid = grid(image.width, image.height)?;
        if algorithm.device() != crate::Device::Cuda {
            return Err(algorithm.unavailable_on(crate::Device::Cuda));
        }
        let stream = self.stream();
        stream.wait_for(image.words.stream())?;
        let labels = match algorithm {
            LabelAlgorithm::Direct => self.label_direct(&image.words, grid, connectivity)?,
            _ => self.label_tiles(Source::Words(&image.words), grid, connectivity)?,
        };
        // The image may be dropped before the work is done: its memory then goes back after it.
        image.words.stream().wait_for(stream)?;
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
        bytes: &DeviceBuffer<u8>,
        threshold: u8,
        connectivity: Connectivity,
    ) -> Result<(DeviceImage, DeviceLabels)> {
        if !width.is_multiple_of(16) {
            let image = self.pack(width, height, bytes, threshold)?;
            let labels = self.label(&image, connectivity, LabelAlgorithm::Tiles)?;
            return Ok((image, labels));
        }
        check_bytes(width, height, bytes)?;
        let grid = grid(width, height)?;
        let stream = self.stream();
        stream.wait_for(bytes.stream())?;
        let mut words = stream.alloc(grid.words() as usize)?;
        let source = Source::Bytes {
            bytes,
            threshold,
            words: &mut words,
        };
        let labels = self.label_tiles(source, grid, connectivity)?;
        bytes.stream().wait_for(stream)?;
        let image = DeviceImage {
            width,
            height,
            words,
        };
        Ok((image, labels))
    }

    /// The stream waits for the image.
    fn label_tiles(
        &self,
        source: Source<'_>,
        grid: Grid,
        connectivity: Connectivity,
    ) -> std::result::Result<DeviceLabels, CudaError> {
        let (stream, on) = (self.stream(), &self.queue);
        let eight = u32::from(connectivity == Connectivity::Eight);
        let mut labels = stream.alloc(grid.width as usize * grid.height as usize)?;
        let mut numbering = Numbering::new(self.stream(), grid.words())?;
        let mut firsts = stream.alloc::<u16>(grid.firsts_len())?;
        let mut offsets = stream.alloc::<u16>(grid.offsets_len())?;
        let mut sides = stream.alloc::<u32>(grid.sides_len())?;
        // SAFETY: all buffers have the lengths that the kernels ask for, from addresses that the driver aligns, and are
        // used by this stream alone, which waits for the source; the launches follow each other as the kernels ask for.
        unsafe {
            let image = match source {
                Source::Words(words) => {
                    tiles::tiles_label::launch(
                        on,
                        grid.tiles(),
                        words.view(),
                        labels.view_mut(),
                        firsts.view_mut(),
                        offsets.view_mut(),
                        sides.view_mut(),
                        numbering.roots.view_mut(),
                        numbering.status.view_mut(),
                        numbering.ticket.view_mut(),
                        grid,
                        eight,
                    )?;
                    words
                }
                Source::Bytes {
                    bytes,
                    threshold,
                    words,
                } => {
                    tiles::tiles_label_bytes::launch(
                        on,
                        grid.tiles(),
                        bytes.view(),
                        words.view_mut(),
                        labels.view_mut(),
                        firsts.view_mut(),
                        offsets.view_mut(),
                        sides.view_mut(),
                        numbering.roots.view_mut(),
                        numbering.status.view_mut(),
                        numbering.ticket.view_mut(),
                        grid,
                        eight,
                        threshold.into(),
                    )?;
                    words
                }
            };
            let merge_blocks = grid.merge_threads().div_ceil(128) as u32;
            if merge_blocks > 0 {
                tiles::tiles_merge::launch(
                    on,
                    merge_blocks,
                    image.view(),
                    labels.view_mut(),
                    firsts.view(),
                    offsets.view(),
                    sides.view(),
                    grid,
                    eight,
                )?;
            }
            tiles::tiles_flatten::launch(
                on,
                number::chunks(grid.words()),
                labels.view_mut(),
                numbering.roots.view_mut(),
                numbering.in_chunk.view_mut(),
                numbering.chunks.view_mut(),
                grid,
            )?;
            self.scan_chunks(&mut numbering)?;
            tiles::tiles_write::launch(
                on,
                grid.tiles(),
                image.view(),
                labels.view_mut(),
                firsts.view(),
                offsets.view(),
                numbering.roots.view(),
                numbering.in_chunk.view(),
                numbering.chunks.view(),
                grid,
            )?;
        }
        Ok(DeviceLabels::new(grid, labels, numbering))
    }

    /// The stream waits for the image.
    fn label_direct(
        &self,
        image: &DeviceBuffer<u64>,
        grid: Grid,
        connectivity: Connectivity,
    ) -> std::result::Result<DeviceLabels, CudaError> {
        let on = &self.queue;
        let eight = u32::from(connectivity == Connectivity::Eight);
        let mut labels = self
            .stream()
            .alloc(grid.width as usize * grid.height as usize)?;
        let mut numbering = Numbering::new(self.stream(), grid.words())?;
        let Grid {
            width,
            height,
            row_words,
            ..
        } = grid;
        let words = grid.words();
        let blocks = direct::blocks(words);
        // SAFETY: the buffer's memory, as halves of its words; it is borrowed mutably.
        let root_halves = unsafe {
            ViewMut::from_raw_parts(
                numbering.roots.as_mut_ptr().cast::<u32>(),
                2 * numbering.roots.len(),
            )
        };
        // SAFETY: as in `label_tiles`.
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
                eight,
            )?;
            direct::direct_flatten::launch(
                on,
                blocks,
                image.view(),
                labels.view_mut(),
                root_halves,
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
            self.scan_chunks(&mut numbering)?;
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

    /// Turns the chunks' counts into their sums so far.
    ///
    /// # Safety
    /// A kernel that makes status and ticket ready has been launched before, and not yet been followed by a scan.
    unsafe fn scan_chunks(&self, numbering: &mut Numbering) -> std::result::Result<(), CudaError> {
        let n = numbering.chunks.len() as u32;
        let chunks = numbering.chunks.view_mut();
        // SAFETY: the lengths and the grid are those that the kernel asks for, which may scan in place; status and
        // ticket are ready by the caller's promise.
        unsafe {
            scan::scan_exclusive::launch(
                &self.queue,
                scan::blocks(n, self.stream().device().info().multiprocessors),
                chunks.as_view(),
                chunks,
                numbering.total.view_mut(),
                numbering.status.view_mut(),
                numbering.ticket.view_mut(),
                n,
            )
        }
    }

    /// Measures the components of `image`, whose labels are `labels`.
    ///
    /// # Errors
    /// [`Error::SizeMismatch`] if they are not of one size, [`Error::Cuda`].
    ///
    /// # Safety
    /// `labels` is what [`DeviceLabeler::label`] has given for `image`.
    pub unsafe fn measure(
        &self,
        image: &DeviceImage,
        labels: &DeviceLabels,
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
        let stream = self.stream();
        let mut area = stream.alloc_zeroed::<u64>(count)?;
        let mut sum_x = stream.alloc_zeroed::<u64>(count)?;
        let mut sum_y = stream.alloc_zeroed::<u64>(count)?;
        let mut min_x = stream.alloc::<u32>(count)?;
        let mut min_y = stream.alloc::<u32>(count)?;
        min_x.fill(u32::MAX)?;
        min_y.fill(u32::MAX)?;
        let mut max_x = stream.alloc_zeroed::<u32>(count)?;
        let mut max_y = stream.alloc_zeroed::<u32>(count)?;
        stream.wait_for(image.words.stream())?;
        stream.wait_for(labels.labels.stream())?;
        let row_words = row_words(image.width);
        // SAFETY: an element per component each, filled as the kernel asks for; no label is above their number, which the
        // caller vouches for.
        unsafe {
            statistics::measure::launch(
                &self.queue,
                statistics::blocks(row_words, image.height),
                image.words.view(),
                labels.labels.view(),
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
        let on_device = DeviceImage::upload(self.stream(), image)?;
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
fn check_bytes(width: u32, height: u32, bytes: &DeviceBuffer<u8>) -> Result<()> {
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
