//! Measuring.

use super::Engine;
use crate::error::Result;
use crate::image::{Samples, ValueImage};
use crate::measure::{self, Intensity, Label, MeasureOptions, Measures};

impl Engine {
    /// Measures the labels of an image: its positive values, each of which is one object.
    ///
    /// Time depends on the numbers of pixels, of runs and of border pixels. Memory is that of the
    /// table and of the sums behind it, some 50 to 600 bytes per label, and 32 bytes per run for
    /// hulls and holes. Hulls also take time for each row of a label's box, and each thread up to
    /// 48 bytes per row of the tallest one.
    ///
    /// An engine that chooses its device lets the processor do the work.
    ///
    /// ```
    /// use trazar::measure::{MeasureOptions, Property};
    /// use trazar::{Engine, Samples};
    ///
    /// let labels = [1i32, 1, 1, 1, 0, 1, 1, 1, 1];
    /// let properties = [Property::EulerNumber, Property::AreaFilled, Property::Perimeter];
    /// let options = MeasureOptions::default().properties(properties);
    /// let ring = Engine::cpu().measure(Samples::new(3, 3, &labels)?, &options)?;
    /// assert_eq!(ring.integers("euler_number"), Some(&[0][..]));
    /// assert_eq!(ring.floats("area_filled"), Some(&[9.0][..]));
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::InvalidOption`](crate::Error::InvalidOption) for a property that needs
    ///   intensities, for a spacing that is not positive, and for one at which a property is not
    ///   defined;
    /// - [`Error::EmptyImage`](crate::Error::EmptyImage),
    ///   [`Error::ImageTooLarge`](crate::Error::ImageTooLarge);
    /// - [`Error::TooMany`](crate::Error::TooMany) for more than 2³² - 1 labels;
    ///   [`Error::OutOfMemory`](crate::Error::OutOfMemory);
    /// - by kernels, those of [`DeviceMeasurer::measure`](crate::measure::DeviceMeasurer::measure).
    pub fn measure<'a, L: Label + 'a>(
        &self,
        labels: impl Into<Samples<'a, L>>,
        options: &MeasureOptions,
    ) -> Result<Measures> {
        let labels = labels.into();
        match &self.device {
            None => measure::measure(labels, options, &self.progress()),
            Some(device) => {
                let labels = ValueImage::new(labels)?.background(L::BACKGROUND)?;
                self.done(device.measure(L::any(&labels), None, options)?)
            }
        }
    }

    /// As [`measure`](Self::measure), with an image of intensities of the same size.
    ///
    /// ```
    /// use trazar::measure::{MeasureOptions, Property};
    /// use trazar::{Engine, Samples};
    ///
    /// let labels = Samples::new(4, 1, &[2u8, 2, 0, 3])?;
    /// let intensities = Samples::new(4, 1, &[0.5f32, 1.5, 9.0, 4.0])?;
    /// let properties = [Property::IntensityMean, Property::CentroidWeighted];
    /// let options = MeasureOptions::default().properties(properties);
    /// let measures = Engine::cpu().measure_intensities(labels, intensities, &options)?;
    /// assert_eq!(measures.floats("intensity_mean"), Some(&[1.0, 4.0][..]));
    /// assert_eq!(measures.floats("centroid_weighted-1"), Some(&[0.75, 3.0][..]));
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`measure`](Self::measure); [`Error::InvalidOption`](crate::Error::InvalidOption)
    /// if the sizes differ.
    pub fn measure_intensities<'a, 'b, L: Label + 'a, I: Intensity + 'b>(
        &self,
        labels: impl Into<Samples<'a, L>>,
        intensities: impl Into<Samples<'b, I>>,
        options: &MeasureOptions,
    ) -> Result<Measures> {
        let (labels, intensities) = (labels.into(), intensities.into());
        let Some(device) = &self.device else {
            return measure::measure_intensities(labels, intensities, options, &self.progress());
        };
        let labels = ValueImage::new(labels)?.background(L::BACKGROUND)?;
        let intensities = I::any(intensities);
        self.done(device.measure(L::any(&labels), Some(intensities), options)?)
    }
}
