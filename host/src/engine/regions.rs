//! Regions of equal value.

use super::Engine;
use crate::backend::Backend;
use crate::error::{Result, Unavailable};
use crate::image::{PixelValue, ValueImage};
use crate::label::{Connectivity, Labels};
use crate::regions::{RegionOptions, Regions, ValueContours};
use crate::trace::{TraceAlgorithm, TraceOptions};

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
        let algorithm = options.algorithm_on(Backend::Cpu);
        if algorithm != TraceAlgorithm::Fragments {
            return Err(Unavailable::ValueAlgorithm {
                algorithm: algorithm.name(),
            }
            .into());
        }
        crate::trace::cpu::values::trace_values(image, options, &self.progress())
    }

    /// Replaces regions of fewer than `size` pixels by their largest neighbours, as GDAL's sieve does:
    /// the values of the image, row by row, in which such a region has the value of its largest
    /// neighbour by the sizes in the image; of the largest one of that if it is small too, and so
    /// on. A region from which this leads to none large enough stays, as do pixels that count for
    /// no region.
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
        self.check_does_values("sieved images")?;
        crate::regions::sieve(image, size, connectivity, &self.progress())
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
    pub(super) fn check_does_values(&self, job: &'static str) -> Result<()> {
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
