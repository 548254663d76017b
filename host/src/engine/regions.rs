//! Regions of equal value.

use super::Engine;
use crate::device_choice::Job;
use crate::error::{Result, Unavailable};
use crate::image::{PixelValue, ValueImage, ValueRows};
use crate::label::parts::is_wide;
use crate::label::{
    BandLabels, BandNumbers, BandSource, ComponentOptions, Connectivity, LabelNumber, LabelPart,
    Labels,
};
use crate::regions::{RegionOptions, Regions, ValueContours};
use crate::trace::ContourOptions;

impl Engine {
    /// Traces the regions of `image` along the pixels' edges, with their holes.
    ///
    /// # Errors
    /// - [`Error::TooMany`](crate::Error::TooMany) for more than 2³¹ - 1 rings, or more than
    ///   2³² - 1 runs of equal values in rows;
    /// - [`Error::OutOfMemory`](crate::Error::OutOfMemory);
    /// - by kernels, [`Error::ImageTooLarge`](crate::Error::ImageTooLarge) for more pixels than
    ///   [`DeviceTracer::trace_regions`](crate::DeviceTracer::trace_regions) takes, and
    ///   `Error::Cuda` or [`Error::Emulator`](crate::Error::Emulator).
    pub fn trace_regions<T: PixelValue>(
        &self,
        image: &ValueImage<'_, T>,
        options: &RegionOptions,
    ) -> Result<Regions<T>> {
        if let Some(engine) = self.chosen(|| Job::trace_values(image), None) {
            return engine.trace_regions(image, options);
        }
        match &self.device {
            None => crate::trace::cpu::values::trace_regions(image, options, &self.progress()),
            Some(device) => {
                let regions = device.trace_regions(T::any(image), options)?;
                self.done(regions.with_values(image)?)
            }
        }
    }

    /// Traces, for each value of `image`, the borders of the pixels with that value, as
    /// [`trace`](Self::trace) does for a binary image of them.
    ///
    /// # Errors
    /// - [`Error::InvalidOption`](crate::Error::InvalidOption) for options that contradict each
    ///   other;
    /// - those of [`trace_regions`](Self::trace_regions).
    pub fn trace_values<T: PixelValue>(
        &self,
        image: &ValueImage<'_, T>,
        options: &ContourOptions,
    ) -> Result<ValueContours<T>> {
        options.validate()?;
        if let Some(engine) = self.chosen(|| Job::trace_values(image), None) {
            return engine.trace_values(image, options);
        }
        match &self.device {
            None => crate::trace::cpu::values::trace_values(image, options, &self.progress()),
            Some(device) => {
                let contours = device.trace_values(T::any(image), options)?;
                self.done(contours.with_values(image)?)
            }
        }
    }

    /// Returns the image's values, row by row, with each region of fewer than `size` pixels
    /// replaced, as GDAL's sieve does. It gets the value of its largest neighbour; if that is too
    /// small as well, of that one's largest neighbour, and so on. Sizes are those before any
    /// replacement. A region whose chain reaches none that is large enough stays, as do pixels that
    /// belong to no region.
    ///
    /// ```
    /// use trazar::{Connectivity, Engine, Samples, ValueImage};
    ///
    /// let classes = [1u8, 1, 1, 2, 1, 3, 1, 2, 1, 1, 1, 2];
    /// let image = ValueImage::new(Samples::new(4, 3, &classes)?)?;
    /// let sieved = Engine::cpu().sieve(&image, 2, Connectivity::Four)?;
    /// assert_eq!(sieved, [1, 1, 1, 2, 1, 1, 1, 2, 1, 1, 1, 2]);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`label_values`](Self::label_values).
    pub fn sieve<T: PixelValue>(
        &self,
        image: &ValueImage<'_, T>,
        size: u64,
        connectivity: Connectivity,
    ) -> Result<Vec<T>> {
        self.check_on_processor("sieved images")?;
        crate::regions::sieve(image, size, connectivity, &self.progress())
    }

    /// Labels the regions of `image`: 0 for pixels that count for none, 1, 2, … for the regions in
    /// raster order of their first pixels.
    ///
    /// # Errors
    /// - [`Error::TooMany`](crate::Error::TooMany) for more than 2³² - 1 runs of equal values in
    ///   rows;
    /// - [`Error::OutOfMemory`](crate::Error::OutOfMemory);
    /// - by kernels, [`Error::ImageTooLarge`](crate::Error::ImageTooLarge) for more than 2³¹
    ///   pixels, and `Error::Cuda` or [`Error::Emulator`](crate::Error::Emulator).
    pub fn label_values<T: PixelValue>(
        &self,
        image: &ValueImage<'_, T>,
        connectivity: Connectivity,
    ) -> Result<Labels> {
        if let Some(engine) = self.chosen(|| Job::label_values(image), None) {
            return engine.label_values(image, connectivity);
        }
        match &self.device {
            None => crate::label::cpu::values::label(image, connectivity, &self.progress()),
            Some(device) => self.done(device.label_values(T::any(image), connectivity)?),
        }
    }

    /// Labels the regions of a band of an image, to be joined to the parts of the other bands; its
    /// first row is the image's row `first_row`. This is [`LabelPart::label_values`] on any device.
    /// [`label_values_band`](Self::label_values_band) then returns the labels.
    ///
    /// # Errors
    /// Those of [`LabelPart::label_values`], and those of kernels of
    /// [`label_values`](Self::label_values).
    pub fn label_values_part<T: PixelValue>(
        &self,
        band: &ValueImage<'_, T>,
        first_row: u32,
        connectivity: Connectivity,
    ) -> Result<LabelPart> {
        if let Some(engine) = self.chosen(|| Job::label_values(band), None) {
            return engine.label_values_part(band, first_row, connectivity);
        }
        if self.device.is_none() {
            return LabelPart::of_values(band, first_row, connectivity, &self.progress());
        }
        let labels = self.label_values(band, connectivity)?;
        LabelPart::of_labelled_values(band, first_row, connectivity, &labels)
    }

    /// Labels a band of an image again, with the image's numbers of regions. The connectivity must
    /// be that of the parts that `numbers` come from.
    ///
    /// ```
    /// use trazar::label::LabelPart;
    /// use trazar::{Connectivity, Engine, Samples, ValueImage};
    ///
    /// let classes = [5u8, 5, 7, 5, 7, 5, 5, 5];
    /// let engine = Engine::cpu();
    /// let band = |y: usize| ValueImage::new(Samples::new(4, 1, &classes[4 * y..][..4])?);
    /// let upper = engine.label_values_part(&band(0)?, 0, Connectivity::Four)?;
    /// let lower = engine.label_values_part(&band(1)?, 1, Connectivity::Four)?;
    /// let numbers = LabelPart::join(upper, lower)?.finish()?.into_bands();
    /// let mut labels = Vec::new();
    /// for y in [0, 1] {
    ///     let of_band =
    ///         engine.label_values_band::<u32, _>(&band(y)?, &numbers[y], Connectivity::Four)?;
    ///     labels.extend(of_band);
    /// }
    /// let whole = ValueImage::new(Samples::new(4, 2, &classes)?)?;
    /// assert_eq!(labels, engine.label_values(&whole, Connectivity::Four)?.as_slice());
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ImageChanged`](crate::Error::ImageChanged) if the band differs from that of
    /// `numbers` in its number of rows or regions; [`Error::TooMany`](crate::Error::TooMany) if the
    /// image has more regions than `N` can count; those of
    /// [`label_values_part`](Self::label_values_part).
    pub fn label_values_band<N: LabelNumber, T: PixelValue>(
        &self,
        band: &ValueImage<'_, T>,
        numbers: &BandNumbers,
        connectivity: Connectivity,
    ) -> Result<Vec<N>> {
        numbers.check_rows(band.height())?;
        if let Some(engine) = self.chosen(|| Job::label_values(band), None) {
            return engine.label_values_band(band, numbers, connectivity);
        }
        if is_wide::<N>() || self.device.is_some() {
            return numbers.relabel(&self.label_values(band, connectivity)?);
        }
        let progress = self.progress();
        let labels = numbers.label_values_on_processor(band, connectivity, &progress)?;
        Ok(bytemuck::allocation::cast_vec(labels))
    }

    /// Labels the regions of an image that comes in bands, with at most about `memory` bytes of
    /// memory, on the processor: [`label_bands`](Self::label_bands) of values. Makes the first of
    /// two passes over it; [`BandLabels::next_band`] makes the second. Labels are those of
    /// [`label_values`](Self::label_values) for the whole image, or wider. There are no statistics.
    ///
    /// ```
    /// use trazar::label::BandSource;
    /// use trazar::{Connectivity, Engine, Result, ValueRows};
    ///
    /// /// An image of 4 × 1000 pixels whose rows are computed.
    /// struct Stripes(u32);
    ///
    /// impl BandSource<ValueRows<u8>> for Stripes {
    ///     fn width(&self) -> u32 {
    ///         4
    ///     }
    ///     fn height(&self) -> u32 {
    ///         1000
    ///     }
    ///     fn next_band(&mut self, rows: u32) -> Result<Option<ValueRows<u8>>> {
    ///         let rows = rows.min(1000 - self.0);
    ///         self.0 += rows;
    ///         let values = [5, 5, 0, 7].repeat(rows as usize);
    ///         (rows > 0).then(|| ValueRows::new(4, values)?.background(0)).transpose()
    ///     }
    ///     fn rewind(&mut self) -> Result<()> {
    ///         self.0 = 0;
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let engine = Engine::cpu();
    /// let mut bands = engine.label_value_bands(Stripes(0), Connectivity::Four, 64 << 20)?;
    /// assert_eq!(bands.count(), 2);
    /// while let Some(band) = bands.next_band::<u32>()? {
    ///     assert_eq!(band.labels()[..4], [1, 1, 0, 2]);
    /// }
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`label_bands`](Self::label_bands), and
    /// [`Error::Unavailable`](crate::Error::Unavailable) for an engine of kernels.
    pub fn label_value_bands<T: PixelValue, S: BandSource<ValueRows<T>>>(
        &self,
        source: S,
        connectivity: Connectivity,
        memory: u64,
    ) -> Result<BandLabels<S, ValueRows<T>>> {
        self.check_on_processor("labels of values in bands")?;
        let options = ComponentOptions::default().connectivity(connectivity);
        BandLabels::begin(source, &options, memory, None, self.progress.clone())
    }

    /// Refuses jobs that no device but the processor does.
    pub(super) fn check_on_processor(&self, job: &'static str) -> Result<()> {
        match &self.device {
            None => Ok(()),
            Some(device) => Err(Unavailable::Job {
                job,
                backend: device.backend(),
            }
            .into()),
        }
    }
}
