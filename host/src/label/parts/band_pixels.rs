//! What [`BandLabels`](super::BandLabels) labels: bands of bits, or of values.

use super::{LabelPart, LabelTable, part_of};
use crate::error::Result;
use crate::image::{BinaryImage, PixelValue, ValueRows};
use crate::label::cpu::values::NumberedValues;
use crate::label::cpu::{Meter, Numbered};
use crate::label::{Component, ComponentOptions};
use crate::progress::{Progress, Receiver};

/// Rows of an image whose components have labels: a [`BinaryImage`], with components of foreground,
/// or [`ValueRows`], with regions of equal value.
pub trait BandPixels: Bands {}

impl BandPixels for BinaryImage {}
impl<T: PixelValue> BandPixels for ValueRows<T> {}

pub(super) use sealed::Bands;

mod sealed {
    use super::{Component, ComponentOptions, LabelPart, LabelTable, Receiver, Result};

    /// What [`BandLabels`](super::super::BandLabels) needs to know of a band.
    pub trait Bands: Send + Sized {
        /// The bytes of a pixel, as the source gives it.
        const BYTES_PER_PIXEL: f64;
        /// Whether adjacent pixels can be of different components.
        const MANY_VALUES: bool;

        fn width(&self) -> u32;

        fn height(&self) -> u32;

        /// The number of pixels that count.
        fn count_foreground(&self) -> u64;

        /// The band's part, without measures of the components that are on no rim. `labels` has an
        /// element per pixel.
        fn part(
            &self,
            first_row: u32,
            options: &ComponentOptions,
            labels: &mut [u32],
            receiver: Receiver<'_>,
        ) -> Result<LabelPart>;

        /// Writes the pixels' labels: with `is_own` the band's own numbers, otherwise the image's,
        /// which `table` has for the band that begins with `first_row`. Returns the measures of the
        /// band's components if `is_own` and the options ask for them.
        fn label(
            &self,
            first_row: u32,
            table: &LabelTable,
            options: &ComponentOptions,
            is_own: bool,
            labels: &mut [u32],
            receiver: Receiver<'_>,
        ) -> Result<Vec<Component>>;
    }
}

impl Bands for BinaryImage {
    const BYTES_PER_PIXEL: f64 = 0.125;
    const MANY_VALUES: bool = false;

    fn width(&self) -> u32 {
        self.width()
    }

    fn height(&self) -> u32 {
        self.height()
    }

    fn count_foreground(&self) -> u64 {
        self.count_foreground()
    }

    fn part(
        &self,
        first_row: u32,
        options: &ComponentOptions,
        labels: &mut [u32],
        receiver: Receiver<'_>,
    ) -> Result<LabelPart> {
        Ok(part_of(self, first_row, options, labels, &Progress(receiver))?.0)
    }

    fn label(
        &self,
        first_row: u32,
        table: &LabelTable,
        options: &ComponentOptions,
        is_own: bool,
        labels: &mut [u32],
        receiver: Receiver<'_>,
    ) -> Result<Vec<Component>> {
        let numbers = table.band_at(first_row)?;
        let progress = Progress(receiver);
        let meter = Meter::new(self, &progress);
        let mut rows = Numbered::rows(self, labels)?;
        let mut numbered = Numbered::of(self, options.connectivity, Some(&mut rows), &meter)?;
        numbers.check_count(numbered.count)?;
        if !is_own {
            let numbers: Vec<u32> = numbers.numbers()?;
            numbered.fill(&mut rows, |number| numbers[number as usize], &meter)?;
            return Ok(Vec::new());
        }
        numbered.fill(&mut rows, |number| number, &meter)?;
        if !options.statistics {
            return Ok(Vec::new());
        }
        Ok(numbered.measure_part(numbers.rows.start, labels, &[])?.0)
    }
}

impl<T: PixelValue> Bands for ValueRows<T> {
    const BYTES_PER_PIXEL: f64 = size_of::<T>() as f64;
    const MANY_VALUES: bool = true;

    fn width(&self) -> u32 {
        self.width()
    }

    fn height(&self) -> u32 {
        self.height()
    }

    fn count_foreground(&self) -> u64 {
        self.count()
    }

    fn part(
        &self,
        first_row: u32,
        options: &ComponentOptions,
        _: &mut [u32],
        receiver: Receiver<'_>,
    ) -> Result<LabelPart> {
        let progress = Progress(receiver);
        LabelPart::of_values(&self.image()?, first_row, options.connectivity, &progress)
    }

    fn label(
        &self,
        first_row: u32,
        table: &LabelTable,
        options: &ComponentOptions,
        is_own: bool,
        labels: &mut [u32],
        receiver: Receiver<'_>,
    ) -> Result<Vec<Component>> {
        let numbers = table.band_at(first_row)?;
        let (image, progress) = (self.image()?, Progress(receiver));
        let mut numbered = NumberedValues::of(&image, options.connectivity, &progress)?;
        numbers.check_count(numbered.count)?;
        if !is_own {
            numbered.renumber(&numbers.numbers()?);
        }
        numbered.fill(labels)?;
        Ok(Vec::new())
    }
}
