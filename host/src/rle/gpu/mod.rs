//! From masks and from labels in a GPU's memory to run lengths there, and to their text.

mod labels;
mod text;

use cuda_std::View;
use trazar_kernels::image::row_words;
use trazar_kernels::rle::masks::{Masks, count_changes, write_counts, write_ends};

pub use labels::DeviceLabelRles;
pub use text::DeviceRleTexts;

use super::Rle;
use super::text::ranges;
use crate::error::{Error, Result};
use crate::gpu::{Gpu, GpuBuffer, Scanner, read_first};
use crate::image::gpu::DeviceImageBatch;
use crate::memory::{collect, with_room};

/// Named in out-of-memory errors.
const COUNTS: &str = "run lengths";

/// The run lengths of masks of one size in a GPU's memory: those of [`Rle`], mask after mask.
///
/// ```
/// use trazar::emulator::Emulator;
/// use trazar::rle::{DeviceRles, Rle};
/// use trazar::{BinaryImage, DeviceImageBatch};
///
/// // On an NVIDIA GPU: `trazar::cuda::Queue::open(&trazar::cuda::Device::open(0)?)?`.
/// let gpu = Emulator::new(0);
/// let masks = [BinaryImage::from_art("##.#")?, BinaryImage::from_art("....")?];
/// let batch = DeviceImageBatch::upload(&gpu, &masks)?;
/// let rles = DeviceRles::encode(&gpu, &batch)?.to_host()?;
/// assert_eq!(rles[0], Rle::from_image(&masks[0])?);
/// assert_eq!(rles[1].counts(), [4]);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Debug)]
pub struct DeviceRles<G: Gpu> {
    width: u32,
    height: u32,
    counts: G::Buffer<u32>,
    firsts: G::Buffer<u32>,
}

impl<G: Gpu> DeviceRles<G> {
    /// Encodes each mask of a batch. Waits for the number of runs, and returns before the counts
    /// are written. Beside the result, takes 4 bytes per column and 256 rows, and 4 per run.
    ///
    /// # Errors
    /// [`Error::ImageTooLarge`] for 2³² pixels and more of all masks together, in rows of whole
    /// words of 64; `Error::Cuda`, [`Error::Emulator`].
    pub fn encode(gpu: &G, masks: &DeviceImageBatch<G>) -> Result<Self> {
        let words = gpu.using(masks.stack().words())?;
        let view = Masks {
            words: words.view(),
            width: masks.width(),
            height: masks.height(),
            row_words: row_words(masks.width()),
            images: masks.len() as u32,
        };
        // SAFETY: the batch's words have been acquired.
        let rles = unsafe { Self::of(gpu, view) }?;
        words.finish()?;
        Ok(rles)
    }

    /// Encodes masks that have a pixel.
    ///
    /// # Safety
    /// `gpu` has acquired the words.
    unsafe fn of(gpu: &G, masks: Masks<'_>) -> Result<Self> {
        let Masks {
            width,
            height,
            images,
            ..
        } = masks;
        let threads = masks.columns().threads().ok_or(Error::ImageTooLarge {
            width: width.into(),
            height: u64::from(height) * u64::from(images),
            limit: "on the GPU, masks encoded together have fewer than 2³² pixels in whole words \
                    of 64; encode fewer at once",
        })?;
        let on = &gpu.launcher();
        // As many as threads, or fewer.
        let stripes = masks.columns().stripe_count() as u32;
        let mut before = gpu.alloc(stripes as usize)?;
        // SAFETY: there is an element per stripe.
        unsafe { count_changes::launch_threads(on, threads, masks, before.view_mut())? };
        let mut scanner = Scanner::new(gpu, stripes)?;
        scanner.scan_in_place(&mut before)?;
        let changes = read_first(scanner.total())?;
        // Pixels are at least as many as changes, and as masks.
        let ends_len = changes as usize + images as usize;
        let mut ends = gpu.alloc(ends_len)?;
        let mut firsts = gpu.alloc(images as usize)?;
        let mut counts = gpu.alloc(ends_len)?;
        // SAFETY: there is room for all changes, and one end more per mask.
        unsafe {
            let (ends_mut, firsts_mut) = (ends.view_mut(), firsts.view_mut());
            write_ends::launch_threads(on, threads, masks, before.view(), ends_mut, firsts_mut)?;
            let ends: View<'_, u32> = ends.view();
            let threads = ends_len as u64;
            write_counts::launch_threads(on, threads, ends, width * height, counts.view_mut())?;
        }
        Ok(Self {
            width,
            height,
            counts,
            firsts,
        })
    }

    /// Width of each mask in pixels.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height of each mask in pixels.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The number of masks.
    pub fn len(&self) -> usize {
        self.firsts.len()
    }

    /// Whether there are no masks.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The counts of all masks, mask after mask: those of [`Rle::counts`].
    pub fn counts(&self) -> &G::Buffer<u32> {
        &self.counts
    }

    /// The index of each mask's first count.
    pub fn firsts(&self) -> &G::Buffer<u32> {
        &self.firsts
    }

    /// Copies the run lengths to the host.
    ///
    /// # Errors
    /// `Error::Cuda`, [`Error::Emulator`], [`Error::OutOfMemory`].
    pub fn to_host(&self) -> Result<Vec<Rle>> {
        let (counts, firsts) = (self.counts.to_vec()?, self.firsts.to_vec()?);
        let mut masks = with_room(firsts.len(), "masks")?;
        for range in ranges(&firsts, counts.len()) {
            masks.push(Rle {
                height: self.height,
                width: self.width,
                counts: collect(counts[range].iter().copied(), COUNTS)?,
            });
        }
        Ok(masks)
    }
}
