//! Regions of equal value.

use super::Engine;
use crate::error::{Result, Unavailable};
use crate::image::{PixelValue, ValueImage};
use crate::label::{Connectivity, Labels};
use crate::regions::{RegionOptions, Regions, ValueContours};
use crate::trace::TraceOptions;

impl Engine {
    /// Traces the regions of `image` along the pixels' edges, with their holes.
    ///
    /// # Errors
    /// - [`Error::Unavailable`](crate::Error::Unavailable) on a GPU or the emulator;
    /// - [`Error::TooMany`](crate::Error::TooMany) for more than 2³¹ - 1 rings, or more than
    ///   2³² - 1 runs of equal values in rows;
    /// - [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn trace_regions<T: PixelValue>(
        &self,
        image: &ValueImage<'_, T>,
        options: &RegionOptions,
    ) -> Result<Regions<T>> {
        self.check_does_values("regions")?;
        crate::trace::cpu::values::trace_regions(image, options, &self.progress())
    }

    /// Traces, for each value of `image`, the borders of the pixels with that value, as
    /// [`trace`](Self::trace) does for a binary image of them.
    ///
    /// # Errors
    /// - [`Error::InvalidOption`](crate::Error::InvalidOption) for options that contradict each
    ///   other;
    /// - [`Error::Unavailable`](crate::Error::Unavailable) on a GPU or the emulator, and for an
    ///   algorithm other than [`TraceAlgorithm::Fragments`](crate::TraceAlgorithm::Fragments);
    /// - those of [`trace_regions`](Self::trace_regions).
    pub fn trace_values<T: PixelValue>(
        &self,
        image: &ValueImage<'_, T>,
        options: &TraceOptions,
    ) -> Result<ValueContours<T>> {
        options.validate()?;
        self.check_does_values("contours of values")?;
        crate::trace::cpu::values::trace_values(image, options, &self.progress())
    }

    /// Labels the regions of `image`: 0 for pixels that count for none, 1, 2, … for the regions in
    /// raster order of their first pixels.
    ///
    /// # Errors
    /// - [`Error::Unavailable`](crate::Error::Unavailable) on a GPU or the emulator;
    /// - [`Error::TooMany`](crate::Error::TooMany) for more than 2³² - 1 runs of equal values in
    ///   rows;
    /// - [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn label_values<T: PixelValue>(
        &self,
        image: &ValueImage<'_, T>,
        connectivity: Connectivity,
    ) -> Result<Labels> {
        self.check_does_values("labels of values")?;
        crate::label::cpu::values::label(image, connectivity, &self.progress())
    }

    /// Refuses jobs on values that no device but the processor does.
    fn check_does_values(&self, job: &'static str) -> Result<()> {
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
