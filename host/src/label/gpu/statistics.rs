//! The components' measures.

use trazar_kernels::image::{BitImage, row_words};
use trazar_kernels::label::statistics::{self, ComponentMeasures};

use super::DeviceLabeler;
use super::labels::DeviceLabels;
use crate::error::{Error, Result};
use crate::geometry::BoundingBox;
use crate::gpu::{Gpu, GpuBuffer};
use crate::image::gpu::DeviceImage;
use crate::label::Component;

impl<G: Gpu> DeviceLabeler<G> {
    /// Measures the components of `image`, whose labels are `labels`: element `i` is component
    /// `i + 1`. Waits for the labels. For labels that were made without the option
    /// [`statistics`](field@crate::LabelOptions::statistics), so as not to wait for them.
    ///
    /// With the labels of another image, the measures mean nothing.
    ///
    /// # Errors
    /// [`Error::SizeMismatch`] if image and labels differ in size; `Error::Cuda`,
    /// [`Error::Emulator`].
    pub fn measure(
        &self,
        image: &DeviceImage<G>,
        labels: &DeviceLabels<G>,
    ) -> Result<Vec<Component>> {
        if (image.width(), image.height()) != (labels.width(), labels.height()) {
            return Err(Error::SizeMismatch {
                width: image.width(),
                height: image.height(),
                needed: u64::from(image.width()) * u64::from(image.height()),
                given: u64::from(labels.width()) * u64::from(labels.height()),
                unit: "labels",
            });
        }
        let count = labels.count()? as usize;
        if count == 0 {
            return Ok(Vec::new());
        }
        let gpu = &self.gpu;
        let mut area = gpu.alloc_zeroed::<u64>(count)?;
        let mut sum_x = gpu.alloc_zeroed::<u64>(count)?;
        let mut sum_y = gpu.alloc_zeroed::<u64>(count)?;
        let mut min_x = gpu.alloc::<u32>(count)?;
        let mut min_y = gpu.alloc::<u32>(count)?;
        min_x.fill(u32::MAX)?;
        min_y.fill(u32::MAX)?;
        // planted: measure-zero
        let mut max_x = gpu.alloc_zeroed::<u32>(count)?;
        let mut max_y = gpu.alloc_zeroed::<u32>(count)?;
        let words = gpu.using(image.words())?;
        let by_pixel = gpu.using(labels.labels())?;
        let row_words = row_words(image.width());
        let bits = BitImage {
            words: words.view(),
            width: image.width(),
            height: image.height(),
            row_words,
        };
        let measures = ComponentMeasures {
            area: area.view_mut(),
            sum_x: sum_x.view_mut(),
            sum_y: sum_y.view_mut(),
            min_x: min_x.view_mut(),
            min_y: min_y.view_mut(),
            max_x: max_x.view_mut(),
            max_y: max_y.view_mut(),
        };
        // SAFETY: there is one label per pixel. The arrays of measures have one element per
        // component, and the values that they start as. No label is larger than the number of
        // components: only the kernels that count them write `DeviceLabels`.
        unsafe {
            statistics::measure::launch_threads(
                &gpu.launcher(),
                statistics::threads(row_words, image.height()),
                bits,
                by_pixel.view(),
                measures,
            )?;
        }
        words.finish()?;
        by_pixel.finish()?;
        let (area, sum_x, sum_y) = (area.to_vec()?, sum_x.to_vec()?, sum_y.to_vec()?);
        let (min_x, min_y) = (min_x.to_vec()?, min_y.to_vec()?);
        let (max_x, max_y) = (max_x.to_vec()?, max_y.to_vec()?);
        let corner = |x: u32, y: u32| glam::IVec2::new(x as i32, y as i32);
        Ok((0..count)
            .map(|i| Component {
                area: area[i],
                bounding_box: BoundingBox {
                    min: corner(min_x[i], min_y[i]),
                    max: corner(max_x[i], max_y[i]),
                },
                centroid: glam::DVec2::new(
                    sum_x[i] as f64 / area[i] as f64,
                    sum_y[i] as f64 / area[i] as f64,
                ),
            })
            .collect())
    }
}
