//! The components' measures.

use std::ops::Range;

use cuda_std::View;
use trazar_kernels::image::{BitImage, row_words};
use trazar_kernels::label::statistics::{self, Stack};

use super::DeviceLabeler;
use super::bands::{Division, elements};
use super::labels::DeviceLabels;
use crate::error::{Error, Result};
use crate::gpu::{Gpu, GpuBuffer, OnGpu};
use crate::image::gpu::DeviceImage;
use crate::label::Component;
use crate::label::cpu::{Tally, sums_fit_64_bits};

/// The arrays of [`ComponentMeasures`](statistics::ComponentMeasures).
pub(super) struct MeasureBuffers<G: Gpu> {
    measures: statistics::MeasureBuffers<OnGpu<G>>,
    /// Per image: the number of components of the images before it.
    starts: G::Buffer<u32>,
}

impl<G: Gpu> MeasureBuffers<G> {
    /// Measures of `count` components, without any pixels yet, of one image or of parts of it.
    pub(super) fn new(gpu: &G, count: u32) -> Result<Self> {
        Self::of_images(gpu, count, gpu.alloc_zeroed(1)?)
    }

    /// Measures of `count` components, without any pixels yet. `starts` has one element per image,
    /// at most `count`: the number of components of the images before it.
    pub(super) fn of_images(gpu: &G, count: u32, starts: G::Buffer<u32>) -> Result<Self> {
        let mut measures = statistics::MeasureBuffers::alloc(&OnGpu(gpu.clone()), &count)?;
        measures.min_x.fill(u32::MAX)?;
        measures.min_y.fill(u32::MAX)?;
        // planted: measure-zero
        measures.max_x.fill(0)?;
        measures.max_y.fill(0)?;
        Ok(Self { measures, starts })
    }

    /// Adds the pixels of an image of `width` by `height` pixels, whose first row has the
    /// coordinate `first_row`.
    ///
    /// # Safety
    /// `words` are the image's words, and `labels` has one element per pixel, none of which is
    /// larger than the number of components. `gpu` has acquired both.
    pub(super) unsafe fn add(
        &mut self,
        gpu: &G,
        words: View<'_, u64>,
        labels: View<'_, u32>,
        (width, height): (u32, u32),
        first_row: u32,
    ) -> Result<()> {
        let image = BitImage {
            words,
            width,
            height,
            row_words: row_words(width),
        };
        // An image of the most rows has no other below it.
        let pitch = height.saturating_add(1);
        // SAFETY: the caller's promise.
        unsafe { self.launch(gpu, image, labels, (0..1, pitch), first_row) }
    }

    /// Adds the pixels of the images `images` of a batch, which are stacked in `stack` with a row
    /// of background after each.
    ///
    /// # Safety
    /// `labels` has one element per pixel of these images, none of which is larger than the number
    /// of its image's components. `gpu` has acquired labels and words.
    pub(super) unsafe fn add_stack(
        &mut self,
        gpu: &G,
        stack: BitImage<'_>,
        labels: View<'_, u32>,
        images: Range<usize>,
    ) -> Result<()> {
        let pitch = stack.height / images.len() as u32;
        // SAFETY: the caller's promise.
        unsafe { self.launch(gpu, stack, labels, (images, pitch), 0) }
    }

    /// Adds the pixels of images, whose tops are `pitch` rows apart.
    ///
    /// # Safety
    /// As for [`add_stack`](Self::add_stack).
    unsafe fn launch(
        &mut self,
        gpu: &G,
        image: BitImage<'_>,
        labels: View<'_, u32>,
        (images, pitch): (Range<usize>, u32),
        first_row: u32,
    ) -> Result<()> {
        if self.measures.area.is_empty() {
            return Ok(());
        }
        let stack = Stack {
            images: images.len() as u32,
            starts: self.starts.view_of(images),
            pitch,
        };
        // SAFETY: the caller's promise. The arrays of measures have one element per component, with
        // their initial values or the measures of other rows.
        unsafe {
            statistics::measure::launch_threads(
                &gpu.launcher(),
                statistics::threads(image.row_words, image.height),
                image,
                labels,
                stack,
                first_row,
                self.measures.views(),
            )
        }
    }

    /// The measures; waits for them.
    pub(super) fn tallies(&self) -> Result<Vec<Tally<u64>>> {
        let measures = &self.measures;
        let (area, sum_x, sum_y) = (
            measures.area.to_vec()?,
            measures.sum_x.to_vec()?,
            measures.sum_y.to_vec()?,
        );
        let (min_x, min_y) = (measures.min_x.to_vec()?, measures.min_y.to_vec()?);
        let (max_x, max_y) = (measures.max_x.to_vec()?, measures.max_y.to_vec()?);
        let corner = |x: u32, y: u32| glam::IVec2::new(x as i32, y as i32);
        Ok((0..area.len())
            .map(|i| Tally {
                area: area[i],
                min: corner(min_x[i], min_y[i]),
                max: corner(max_x[i], max_y[i]),
                sum_x: sum_x[i],
                sum_y: sum_y[i],
            })
            .collect())
    }
}

/// Refuses images the sums of whose coordinates may not fit into 64 bits.
pub(super) fn check_sums(width: u32, height: u32) -> Result<()> {
    if sums_fit_64_bits(u64::from(width) * u64::from(height), width.max(height)) {
        return Ok(());
    }
    Err(Error::ImageTooLarge {
        width: width.into(),
        height: height.into(),
        limit: "on the GPU, sums of coordinates have 64 bits; measure its components on the CPU",
    })
}

impl<G: Gpu> DeviceLabeler<G> {
    /// Measures the components of `image`, whose labels are `labels`: element `i` is component
    /// `i + 1`. Waits for the labels. Use it for labels made without the option
    /// [`statistics`](field@crate::label::ComponentOptions::statistics), which makes labelling
    /// wait.
    ///
    /// With the labels of another image, the measures are meaningless.
    ///
    /// # Errors
    /// [`Error::SizeMismatch`] if image and labels differ in size; [`Error::ImageTooLarge`] if
    /// sums of coordinates may not fit into 64 bits; `Error::Cuda`, [`Error::Emulator`].
    pub fn measure(
        &self,
        image: &DeviceImage<G>,
        labels: &DeviceLabels<G>,
    ) -> Result<Vec<Component>> {
        let (width, height) = (image.width(), image.height());
        if (width, height) != (labels.width(), labels.height()) {
            return Err(Error::SizeMismatch {
                width,
                height,
                needed: u64::from(width) * u64::from(height),
                given: u64::from(labels.width()) * u64::from(labels.height()),
                unit: "labels",
            });
        }
        check_sums(width, height)?;
        let gpu = &self.gpu;
        let mut measures = MeasureBuffers::new(gpu, labels.count()?)?;
        let words = gpu.using(image.words())?;
        let by_pixel = gpu.using(labels.labels())?;
        for rows in Division::new(width, height, self.band_pixels)?.rows() {
            // SAFETY: these are the band's words and labels, which `gpu` has acquired. No label is
            // larger than the number of components: only the kernels that count them write
            // `DeviceLabels`.
            unsafe {
                measures.add(
                    gpu,
                    words.view_of(elements(&rows, row_words(width))),
                    by_pixel.view_of(elements(&rows, width)),
                    (width, rows.end - rows.start),
                    rows.start,
                )?;
            }
        }
        words.finish()?;
        by_pixel.finish()?;
        Ok(measures.tallies()?.into_iter().map(Tally::finish).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::check_sums;

    /// 2⁴² pixels with coordinates below 2²², and more.
    #[test]
    fn sums_of_coordinates_that_may_not_fit_are_refused() {
        assert!(check_sums((1 << 22) - 1, 1 << 20).is_ok());
        assert!(check_sums(1 << 20, (1 << 22) - 1).is_ok());
        assert!(check_sums(1 << 22, 1 << 20).is_err());
        assert!(check_sums(1, u32::MAX).is_ok());
        assert!(check_sums(u32::MAX, u32::MAX).is_err());
    }
}
