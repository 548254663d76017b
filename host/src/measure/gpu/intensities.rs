//! Intensities in a GPU's memory, and the kernels that sum them up.

use cuda_std::{Pod, View, ViewMut};
use trazar_kernels::measure::intensities::{
    self, sum_intensities_of_i16, sum_intensities_of_i32, sum_intensities_of_u8,
    sum_intensities_of_u16, sum_intensities_of_u32,
};
use trazar_kernels::measure::piece_sums::PieceSizes;
use trazar_kernels::measure::portions;
use trazar_kernels::measure::powers::{
    sum_weighted_of_f32, sum_weighted_of_f64, sum_weighted_of_i16, sum_weighted_of_i32,
    sum_weighted_of_i64, sum_weighted_of_u8, sum_weighted_of_u16, sum_weighted_of_u32,
};
use trazar_kernels::measure::reals::{self, sum_reals_of_f32, sum_reals_of_f64, sum_reals_of_i64};
use trazar_kernels::measure::shapes::Intensities;
use trazar_kernels::measure::sorted_runs::SortedRuns;
use trazar_kernels::measure::sums::wanted;
use trazar_kernels::trace::fragments::row_values::RowsOfValues;

use super::warp_blocks;
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer, GpuLauncher, nothing};
use crate::image::gpu::{as_bits, check_pitch, no_intensities, upload_samples};
use crate::image::{Samples, check_size};
use crate::measure::Intensity;

/// An image of intensities in a GPU's memory.
///
/// ```
/// use trazar::emulator::Emulator;
/// use trazar::measure::{DeviceIntensities, DeviceMeasurer, MeasureOptions, Property};
/// use trazar::{DeviceValues, Samples, ValueImage};
///
/// // On an NVIDIA GPU: `trazar::cuda::Queue::open(&trazar::cuda::Device::open(0)?)?`.
/// let measurer = DeviceMeasurer::on(Emulator::new(0));
/// let labels = ValueImage::new(Samples::new(3, 1, &[2u8, 2, 0])?)?;
/// let labels = DeviceValues::upload(measurer.gpu(), &labels)?;
/// let light = Samples::new(3, 1, &[0.5f64, 1.5, 9.0])?;
/// let light = DeviceIntensities::upload(measurer.gpu(), light)?;
/// let options = MeasureOptions::default().properties([Property::CentroidWeighted]);
/// let measures = measurer.measure_intensities(&labels, &light, &options)?;
/// assert_eq!(measures.floats("centroid_weighted-1"), Some(&[0.75][..]));
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Debug)]
pub struct DeviceIntensities<G: Gpu, I: Intensity> {
    width: u32,
    height: u32,
    /// Elements from the start of a row to the start of the next.
    pitch: u32,
    values: G::Buffer<I>,
}

impl<G: Gpu, I: Intensity> DeviceIntensities<G, I> {
    /// Copies intensities to the memory of `gpu`, and waits for the copy.
    ///
    /// # Errors
    /// [`Error::EmptyImage`](crate::Error::EmptyImage),
    /// [`Error::ImageTooLarge`](crate::Error::ImageTooLarge);
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), `Error::Cuda`,
    /// [`Error::Emulator`](crate::Error::Emulator).
    pub fn upload<'a>(gpu: &G, samples: impl Into<Samples<'a, I>>) -> Result<Self> {
        let samples = samples.into();
        check_size(samples.width() as u64, samples.height() as u64)?;
        let (values, pitch) = upload_samples(gpu, &samples, "the image's intensities")?;
        let [width, height] = [samples.width(), samples.height()].map(|side| side as u32);
        Self::new(width, height, pitch, values)
    }

    /// Adopts intensities in the GPU's memory, in rows of `pitch` elements.
    ///
    /// # Errors
    /// [`Error::EmptyImage`](crate::Error::EmptyImage),
    /// [`Error::ImageTooLarge`](crate::Error::ImageTooLarge);
    /// [`Error::InvalidOption`](crate::Error::InvalidOption) for a pitch below the width;
    /// [`Error::SizeMismatch`](crate::Error::SizeMismatch) for fewer than
    /// `pitch × (height - 1) + width` values.
    pub fn new(width: u32, height: u32, pitch: u32, values: G::Buffer<I>) -> Result<Self> {
        let pitch = check_pitch(width, height, pitch as usize, values.len(), "intensities")?;
        Ok(Self {
            width,
            height,
            pitch,
            values,
        })
    }

    /// Width and height in pixels.
    pub(super) fn size(&self) -> [usize; 2] {
        [self.width as usize, self.height as usize]
    }

    /// The intensities, for kernels that are queued on `gpu` before `work` returns.
    pub(super) fn using<T>(
        &self,
        gpu: &G,
        work: impl FnOnce(RowsOfValues<'_, I>) -> Result<T>,
    ) -> Result<T> {
        let values = gpu.using(&self.values)?;
        let result = work(RowsOfValues {
            values: values.view(),
            pitch: self.pitch,
        })?;
        values.finish()?;
        Ok(result)
    }
}

/// What intensities are summed up over.
#[derive(Clone, Copy)]
pub struct SummedOver<'a> {
    pub(super) runs: SortedRuns<'a>,
    /// Where portions begin in the order of runs.
    pub(super) portions: View<'a, u32>,
    /// Powers of coordinates in weighted sums.
    pub(super) powers: u32,
    pub(super) with_deviations: bool,
}

impl<'a> SummedOver<'a> {
    /// The pieces of runs.
    pub(super) fn pieces(runs: SortedRuns<'a>) -> Self {
        Self {
            runs,
            portions: nothing(),
            powers: 0,
            with_deviations: false,
        }
    }
}

/// A type of intensities, as kernels sum it up.
pub trait DeviceIntensity: Pod {
    /// Queues the kernel that sums up intensities, and returns its words per piece, or per portion
    /// if sums are rounded.
    ///
    /// # Safety
    /// There is an intensity for each pixel of the runs, and `gpu` has acquired them. The portions
    /// are those of the runs.
    unsafe fn sum_intensities<G: Gpu>(
        gpu: &G,
        rows: RowsOfValues<'_, Self>,
        over: SummedOver<'_>,
    ) -> Result<G::Buffer<u64>>;

    /// Launches the kernel that sums up weighted coordinates.
    ///
    /// # Safety
    /// As [`sum_intensities`](Self::sum_intensities), and that of the kernel.
    unsafe fn sum_weighted<G: Gpu>(
        on: &GpuLauncher<'_, G>,
        blocks: u32,
        rows: RowsOfValues<'_, Self>,
        over: SummedOver<'_>,
        sums: ViewMut<'_, f64>,
    ) -> Result<()>;

    /// The image for kernels that have a table of labels, if they sum up numbers of this type.
    fn in_tables(rows: RowsOfValues<'_, Self>) -> Option<Intensities<'_>>;
}

macro_rules! device_intensities {
    (@sum $gpu:ident, $rows:ident, $over:ident; pieces $sum:ident) => {{
        let sizes = PieceSizes::of($over.runs, wanted::INTENSITIES);
        let blocks = warp_blocks(sizes.pieces, intensities::BLOCK);
        let mut sums = $gpu.alloc(sizes.intensities() as usize)?;
        let (values, pitch) = ($rows.values, $rows.pitch);
        // SAFETY: the caller's promise; there is room for the sums of each piece.
        unsafe {
            $sum::launch(&$gpu.launcher(), blocks, values, pitch, $over.runs, sums.view_mut())?;
        }
        Ok(sums)
    }};
    (@sum $gpu:ident, $rows:ident, $over:ident; portions $sum:ident) => {{
        let mut sums = $gpu.alloc($over.portions.len() * reals::WORDS as usize)?;
        // SAFETY: the caller's promise; there is room for the sums of each portion.
        unsafe {
            $sum::launch(
                &$gpu.launcher(),
                warp_blocks($over.portions.len() as u32, portions::SUM_BLOCK),
                $rows,
                $over.runs,
                $over.portions,
                $over.with_deviations.into(),
                sums.view_mut(),
            )?;
        }
        Ok(sums)
    }};
    (@table $rows:ident;) => {{
        let _ = $rows;
        None
    }};
    (@table $rows:ident; $field:ident) => {{
        let mut intensities = no_intensities();
        intensities.$field = as_bits($rows.values);
        intensities.pitch = $rows.pitch;
        // The bit of the sign.
        intensities.sign = if Self::MIN == 0 { 0 } else { 1 << (Self::BITS - 1) };
        Some(intensities)
    }};
    ($($t:ty: $over:ident $sum:ident, $weighted:ident $(, $field:ident)?;)*) => {$(
        impl DeviceIntensity for $t {
            unsafe fn sum_intensities<G: Gpu>(
                gpu: &G,
                rows: RowsOfValues<'_, Self>,
                over: SummedOver<'_>,
            ) -> Result<G::Buffer<u64>> {
                device_intensities!(@sum gpu, rows, over; $over $sum)
            }

            unsafe fn sum_weighted<G: Gpu>(
                on: &GpuLauncher<'_, G>,
                blocks: u32,
                rows: RowsOfValues<'_, Self>,
                over: SummedOver<'_>,
                sums: ViewMut<'_, f64>,
            ) -> Result<()> {
                let SummedOver { runs, portions, powers, .. } = over;
                // SAFETY: the caller's promise.
                unsafe { $weighted::launch(on, blocks, rows, runs, portions, powers, sums) }
            }

            fn in_tables(rows: RowsOfValues<'_, Self>) -> Option<Intensities<'_>> {
                device_intensities!(@table rows; $($field)?)
            }
        }
    )*};
}

device_intensities! {
    u8: pieces sum_intensities_of_u8, sum_weighted_of_u8, bytes;
    u16: pieces sum_intensities_of_u16, sum_weighted_of_u16, halves;
    i16: pieces sum_intensities_of_i16, sum_weighted_of_i16, halves;
    u32: pieces sum_intensities_of_u32, sum_weighted_of_u32, words;
    i32: pieces sum_intensities_of_i32, sum_weighted_of_i32, words;
    i64: portions sum_reals_of_i64, sum_weighted_of_i64;
    f32: portions sum_reals_of_f32, sum_weighted_of_f32;
    f64: portions sum_reals_of_f64, sum_weighted_of_f64;
}
