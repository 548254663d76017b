//! From a label image in a GPU's memory to the run lengths of each label's mask.

use trazar_kernels::rle::labels::write_label_counts;

use super::super::Rle;
use super::DeviceRles;
use crate::error::{Error, Result};
use crate::gpu::{Gpu, GpuBuffer};
use crate::image::gpu::DeviceValues;
use crate::measure::{Label, Sorted};
use crate::memory::collect;

/// The run lengths of the masks of an image's labels in a GPU's memory: those of
/// [`encode_labels`](crate::rle::encode_labels).
///
/// ```
/// use trazar::emulator::Emulator;
/// use trazar::rle::DeviceLabelRles;
/// use trazar::{DeviceValues, Samples, ValueImage};
///
/// // On an NVIDIA GPU: `trazar::cuda::Queue::open(&trazar::cuda::Device::open(0)?)?`.
/// let gpu = Emulator::new(0);
/// let labels = ValueImage::new(Samples::new(3, 2, &[7u8, 7, 0, 0, 7, 5])?)?;
/// let labels = DeviceValues::upload(&gpu, &labels)?;
/// let masks = DeviceLabelRles::encode(&gpu, &labels)?.to_host()?;
/// assert_eq!((masks[0].0, masks[0].1.counts()), (5, &[5, 1][..]));
/// assert_eq!((masks[1].0, masks[1].1.counts()), (7, &[0, 1, 1, 2, 2][..]));
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Debug)]
pub struct DeviceLabelRles<G: Gpu> {
    labels: G::Buffer<i64>,
    rles: DeviceRles<G>,
}

impl<G: Gpu> DeviceLabelRles<G> {
    /// Encodes the mask of each label of an image, in ascending order of labels: of its positive
    /// values, but for those of background and of pixels that the image's mask leaves out. Waits
    /// for the numbers of runs and of labels, and returns before the counts are written. Beside the
    /// result, takes 5/8 byte per pixel, 4 bytes per column and 256 rows, and some 45 bytes per run
    /// along columns. Values of 0 and below have runs, too, unless they are background.
    ///
    /// # Errors
    /// [`Error::ImageTooLarge`] for 2³² pixels and more, counted in rows of whole words of 64 and
    /// with one more row; [`Error::TooMany`] for 2³² run lengths and more; `Error::Cuda`,
    /// [`Error::Emulator`], [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn encode<L: Label>(gpu: &G, labels: &DeviceValues<G, L>) -> Result<Self> {
        let (width, height) = (labels.width(), labels.height());
        let sorted = Sorted::of_columns(gpu, labels)?.filter(|sorted| sorted.rows() > 0);
        let Some(mut sorted) = sorted else {
            return Self::alloc(gpu, [width, height], 0, 0);
        };
        let (masks, runs) = (sorted.rows(), sorted.runs_of_rows()?);
        // Two counts per run, and one more per mask but that of the last pixel.
        let len = 2 * u64::from(runs) + u64::from(masks) - u64::from(sorted.has_last_pixel()?);
        let mut encoded = Self::alloc(gpu, [width, height], len, masks)?;
        // SAFETY: the runs are along the image's columns; there is a mask, and room for all counts.
        unsafe {
            write_label_counts::launch_threads(
                &gpu.launcher(),
                runs,
                sorted.view(),
                height,
                L::SIGN,
                encoded.rles.counts.view_mut(),
                encoded.rles.firsts.view_mut(),
                encoded.labels.view_mut(),
            )?;
        }
        Ok(encoded)
    }

    /// Room for this number of counts and this number of masks.
    fn alloc(gpu: &G, [width, height]: [u32; 2], counts: u64, masks: u32) -> Result<Self> {
        let counts = u32::try_from(counts).map_err(|_| Error::TooMany {
            what: "run lengths",
            limit: u32::MAX.into(),
        })?;
        Ok(Self {
            labels: gpu.alloc(masks as usize)?,
            rles: DeviceRles {
                width,
                height,
                counts: gpu.alloc(counts as usize)?,
                firsts: gpu.alloc(masks as usize)?,
            },
        })
    }

    /// The labels, in ascending order.
    pub fn labels(&self) -> &G::Buffer<i64> {
        &self.labels
    }

    /// Their masks.
    pub fn rles(&self) -> &DeviceRles<G> {
        &self.rles
    }

    /// Copies the labels and the run lengths to the host.
    ///
    /// # Errors
    /// `Error::Cuda`, [`Error::Emulator`], [`Error::OutOfMemory`].
    pub fn to_host(&self) -> Result<Vec<(i64, Rle)>> {
        let (labels, masks) = (self.labels.to_vec()?, self.rles.to_host()?);
        collect(labels.into_iter().zip(masks), "the masks of labels")
    }
}
