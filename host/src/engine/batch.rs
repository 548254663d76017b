//! Many images of one kind.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use super::Engine;
use crate::error::Result;
use crate::image::{PixelValue, Samples, ValueImage};
use crate::label::{Connectivity, Labels};
use crate::measure::{Label, MeasureOptions, Measures};
use crate::progress::ProgressFn;
use crate::regions::{RegionOptions, Regions, ValueContours};
use crate::trace::ContourOptions;

impl Engine {
    /// Traces the regions of each of many images, as [`trace_regions`](Self::trace_regions) does.
    /// The processor traces several at the same time.
    ///
    /// ```
    /// use trazar::{Engine, RegionOptions, Samples, ValueImage};
    ///
    /// let frames = [[1u8, 1, 2], [3, 3, 3]];
    /// let images = [
    ///     ValueImage::new(Samples::new(3, 1, &frames[0])?)?,
    ///     ValueImage::new(Samples::new(3, 1, &frames[1])?)?,
    /// ];
    /// let regions = Engine::cpu().trace_regions_batch(&images, &RegionOptions::default())?;
    /// assert_eq!(regions[0].values(), [1, 2]);
    /// assert_eq!(regions[1].values(), [3]);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`trace_regions`](Self::trace_regions), for any of the images.
    pub fn trace_regions_batch<T: PixelValue>(
        &self,
        images: &[ValueImage<'_, T>],
        options: &RegionOptions,
    ) -> Result<Vec<Regions<T>>> {
        self.each(images, |engine, image| engine.trace_regions(image, options))
    }

    /// Traces the contours of each value, for each of many images, as
    /// [`trace_values`](Self::trace_values) does. The processor traces several at the same time.
    ///
    /// # Errors
    /// Those of [`trace_values`](Self::trace_values), for any of the images.
    pub fn trace_values_batch<T: PixelValue>(
        &self,
        images: &[ValueImage<'_, T>],
        options: &ContourOptions,
    ) -> Result<Vec<ValueContours<T>>> {
        self.each(images, |engine, image| engine.trace_values(image, options))
    }

    /// Labels the regions of each of many images, as [`label_values`](Self::label_values) does. The
    /// processor labels several at the same time.
    ///
    /// # Errors
    /// Those of [`label_values`](Self::label_values), for any of the images.
    pub fn label_values_batch<T: PixelValue>(
        &self,
        images: &[ValueImage<'_, T>],
        connectivity: Connectivity,
    ) -> Result<Vec<Labels>> {
        self.each(images, |engine, image| {
            engine.label_values(image, connectivity)
        })
    }

    /// Measures the labels of each of many images, as [`measure`](Self::measure) does. The
    /// processor measures several at the same time.
    ///
    /// ```
    /// use trazar::measure::{MeasureOptions, Property};
    /// use trazar::{Engine, Samples};
    ///
    /// let frames = [[4u8, 0, 4], [5, 0, 0]];
    /// let images = [Samples::new(3, 1, &frames[0])?, Samples::new(3, 1, &frames[1])?];
    /// let options = MeasureOptions::default().properties([Property::Label, Property::Area]);
    /// let measures = Engine::cpu().measure_batch(&images, &options)?;
    /// assert_eq!(measures[0].floats("area"), Some(&[2.0][..]));
    /// assert_eq!(measures[1].integers("label"), Some(&[5][..]));
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`measure`](Self::measure), for any of the images.
    pub fn measure_batch<L: Label>(
        &self,
        images: &[Samples<'_, L>],
        options: &MeasureOptions,
    ) -> Result<Vec<Measures>> {
        self.each(images, |engine, &image| engine.measure(image, options))
    }

    /// Does `job` for each of `items`: on the processor for several at the same time, on a GPU for
    /// one after the other. An item counts as progress when it is done.
    pub(super) fn each<I: Sync, R: Send>(
        &self,
        items: &[I],
        job: impl Fn(&Self, &I) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let total = items.len() as u64;
        let done = Arc::new(AtomicU64::new(0));
        let report_done = self.progress.clone().map(|report| {
            let done = Arc::clone(&done);
            let share = move |_| report(done.load(Relaxed) as f64 / total as f64);
            Arc::new(share) as Arc<ProgressFn>
        });
        let engine = Self {
            progress: report_done,
            ..self.clone()
        };
        let one = |item| {
            let result = job(&engine, item);
            done.fetch_add(1, Relaxed);
            result
        };
        let results: Result<Vec<_>> = match engine.opened() {
            None => {
                crate::threads::ensure();
                items.par_iter().map(one).collect()
            }
            Some(_) => items.iter().map(one).collect(),
        };
        self.done(results?)
    }
}
