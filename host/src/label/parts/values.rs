//! Parts of an image of values, and its labels band by band.

use super::rim::{RimRow, RimRuns, value_runs};
use super::{BandNumbers, LabelPart, rows_in_image};
use crate::error::Result;
use crate::image::{PixelValue, ValueImage};
use crate::label::cpu::values::NumberedValues;
use crate::label::{ComponentOptions, Connectivity, Labels};
use crate::progress::Progress;

impl LabelPart {
    /// Labels the regions of a band of an image of values, whose first row is the image's row
    /// `first_row`, on all cores.
    ///
    /// As [`label`](Self::label) with components of equal value: the band's own numbers are those
    /// of [`Engine::label_values`](crate::Engine::label_values) for the band alone, and those of
    /// the finished table are the ones of the whole image. All bands have the same type of values,
    /// and the same background. [`Engine::label_values_part`](crate::Engine::label_values_part)
    /// does the same on any device.
    ///
    /// Memory: per component on the first or last row, 8 bytes; per run of equal values in these
    /// rows, 20 bytes. Takes a quarter (few runs) to two thirds (noise) of the time of labelling
    /// the band.
    ///
    /// ```
    /// use trazar::label::LabelPart;
    /// use trazar::{Connectivity, Samples, ValueImage};
    ///
    /// let (upper, lower) = ([5u8, 5, 7, 5], [7u8, 5, 5, 5]);
    /// let bands = [&upper, &lower].map(|row| ValueImage::new(Samples::new(4, 1, row).unwrap()));
    /// let above = LabelPart::label_values(bands[0].as_ref().unwrap(), 0, Connectivity::Four)?;
    /// let below = LabelPart::label_values(bands[1].as_ref().unwrap(), 1, Connectivity::Four)?;
    /// let table = LabelPart::join(above, below)?.finish()?;
    /// // The two fives of the first row are one region, and the two sevens are not.
    /// assert_eq!(table.count(), 3);
    /// assert_eq!(table.numbers::<u32>(0)?, [0, 1, 2, 1]);
    /// assert_eq!(table.numbers::<u32>(1)?, [0, 3, 1]);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ImageTooLarge`](crate::Error::ImageTooLarge) if a row of the band lies below the
    /// last row that an image can have; [`Error::TooMany`](crate::Error::TooMany) and
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) as
    /// [`Engine::label_values`](crate::Engine::label_values).
    pub fn label_values<T: PixelValue>(
        band: &ValueImage<'_, T>,
        first_row: u32,
        connectivity: Connectivity,
    ) -> Result<Self> {
        Self::of_values(band, first_row, connectivity, &Progress::SILENT)
    }

    pub(crate) fn of_values<T: PixelValue>(
        band: &ValueImage<'_, T>,
        first_row: u32,
        connectivity: Connectivity,
        progress: &Progress<'_>,
    ) -> Result<Self> {
        let rows = rows_in_image(band.width(), first_row, band.height())?;
        let numbered = NumberedValues::of(band, connectivity, progress)?;
        let [first, last] = numbered.rims()?;
        let rim = |y, numbers| -> Result<RimRow> {
            let runs = RimRuns::Values(value_runs(band, y)?);
            Ok(RimRow { runs, numbers })
        };
        let rims = [rim(0, first)?, rim(band.height() - 1, last)?];
        Self::of_value_band::<T>(band.width(), rows, connectivity, numbered.count, rims)
    }

    /// The part of a band that is labelled already.
    pub(crate) fn of_labelled_values<T: PixelValue>(
        band: &ValueImage<'_, T>,
        first_row: u32,
        connectivity: Connectivity,
        labels: &Labels,
    ) -> Result<Self> {
        let rows = rows_in_image(band.width(), first_row, band.height())?;
        let rim = |y| RimRow::of_labelled_values(band, y, labels.as_slice());
        let rims = [rim(0)?, rim(band.height() - 1)?];
        Self::of_value_band::<T>(band.width(), rows, connectivity, labels.count(), rims)
    }

    fn of_value_band<T: PixelValue>(
        width: u32,
        rows: std::ops::Range<u32>,
        connectivity: Connectivity,
        count: u32,
        [top, bottom]: [RimRow; 2],
    ) -> Result<Self> {
        let options = ComponentOptions::default().connectivity(connectivity);
        let part = Self::of_band(width, rows, &options, count, top, bottom)?;
        Ok(Self {
            values: Some(T::TYPE),
            ..part
        })
    }
}

impl BandNumbers {
    /// The labels of a band of an image of values, with its final numbers, on all cores.
    pub(crate) fn label_values_on_processor<T: PixelValue>(
        &self,
        band: &ValueImage<'_, T>,
        connectivity: Connectivity,
        progress: &Progress<'_>,
    ) -> Result<Vec<u32>> {
        let mut numbered = NumberedValues::of(band, connectivity, progress)?;
        self.band.check_count(numbered.count)?;
        numbered.renumber(&self.numbers()?);
        numbered.labels(progress)
    }
}

#[cfg(test)]
#[path = "values_tests.rs"]
mod tests;
