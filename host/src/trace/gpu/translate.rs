//! An offset added to the points of contours, in place.

use glam::IVec2;
use trazar_kernels::trace::translate::translate_points;

use super::DeviceTracer;
use crate::error::{Error, Result};
use crate::gpu::{Gpu, GpuBuffer};

impl<G: Gpu> DeviceTracer<G> {
    /// Adds `offset` to each of the points, as the argument `offset` of OpenCV's `findContours`
    /// does. Queues the work, 16 bytes of memory traffic per point, and returns before it is done.
    ///
    /// `points` has x and y of each point: [`points`](field@super::ContourBuffers::points) of
    /// [`DeviceContours::into_buffers`](super::DeviceContours::into_buffers). Sums are modulo 2³²;
    /// they are exact if the image's largest x and y plus the offset fit an `i32`.
    ///
    /// ```
    /// use trazar::emulator::Emulator;
    /// use trazar::glam::IVec2;
    /// use trazar::gpu::GpuBuffer;
    /// use trazar::{BinaryImage, DeviceImage, DeviceTracer, TraceOptions};
    ///
    /// let tracer = DeviceTracer::on(Emulator::new(0));
    /// let image = DeviceImage::upload(tracer.gpu(), &BinaryImage::from_art("##")?)?;
    /// let contours = tracer.trace(&image, &TraceOptions::default())?;
    /// let mut points = contours.into_buffers().points;
    /// tracer.translate_points(&mut points, IVec2::new(100, -1))?;
    /// assert_eq!(points.to_vec()?, [100, -1, 101, -1]);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] for an odd number of coordinates; [`Error::TooMany`] for 2³²
    /// points or more; `Error::Cuda`, [`Error::Emulator`].
    pub fn translate_points(&self, points: &mut G::Buffer<i32>, offset: IVec2) -> Result<()> {
        let given = points.len();
        if !given.is_multiple_of(2) {
            let needed = given + 1;
            return Err(Error::LengthMismatch { needed, given });
        }
        let count = u32::try_from(given / 2).map_err(|_| Error::TooMany {
            what: "points",
            limit: u32::MAX.into(),
        })?;
        if count == 0 || offset == IVec2::ZERO {
            return Ok(());
        }
        let mut points = self.gpu().using(points)?;
        // SAFETY: the array has x and y of `count` points, starts where buffers do, and `gpu` has
        // acquired it.
        unsafe {
            translate_points::launch_threads(
                &self.gpu().launcher(),
                count,
                points.view_mut(),
                offset.x,
                offset.y,
            )?;
        }
        points.finish()
    }
}
