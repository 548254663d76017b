//! Surfaces of friction in a GPU's memory.

use cuda_std::{View, ViewMut};
use trazar_kernels::distance::{
    CostRaster, place_f32_as_f32, place_f32_as_f64, place_f64_as_f32, place_f64_as_f64,
    place_u8_as_f32, place_u8_as_f64, place_u16_as_f32, place_u16_as_f64, place_u32_as_f32,
    place_u32_as_f64,
};

use super::search::DeviceReal;
use crate::distance::{CostSurface, Friction};
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer, GpuLauncher};
use crate::image::check_size;
use crate::image::gpu::{check_pitch, upload_samples};

/// Friction in a GPU's memory: a [`CostSurface`] there.
///
/// ```
/// use trazar::distance::{CostDistanceOptions, CostSurface, Sources};
/// use trazar::emulator::Emulator;
/// use trazar::{DeviceDistances, DeviceSurface, Samples};
///
/// // On an NVIDIA GPU: `DeviceDistances::new(&trazar::cuda::Device::open(0)?)?`.
/// let distances = DeviceDistances::on(Emulator::new(0));
/// let surface = CostSurface::new(Samples::new(3, 1, &[1u8, 3, 2])?);
/// let surface = DeviceSurface::upload(distances.gpu(), &surface)?;
/// let sources = Sources::from_cells([(0, 0)]);
/// let costs = distances.cost_distance(&surface, &sources, &CostDistanceOptions::default())?;
/// assert_eq!(costs.to_host()?.as_f32(), Some(&[0.0, 2.0, 4.5][..]));
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Debug)]
pub struct DeviceSurface<G: Gpu, T: Friction> {
    width: u32,
    height: u32,
    /// Elements from the start of a row to the start of the next.
    pitch: u32,
    friction: G::Buffer<T>,
    no_data: Option<f64>,
}

impl<G: Gpu, T: Friction> DeviceSurface<G, T> {
    /// Copies a surface to the memory of `gpu`, and waits for the copy.
    ///
    /// # Errors
    /// [`Error::EmptyImage`](crate::Error::EmptyImage),
    /// [`Error::ImageTooLarge`](crate::Error::ImageTooLarge),
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), `Error::Cuda`,
    /// [`Error::Emulator`](crate::Error::Emulator).
    pub fn upload(gpu: &G, surface: &CostSurface<'_, T>) -> Result<Self> {
        let (width, height) = (surface.width(), surface.height());
        check_size(width as u64, height as u64)?;
        let (friction, pitch) = upload_samples(gpu, surface.samples(), "the friction")?;
        Ok(Self {
            width: width as u32,
            height: height as u32,
            pitch,
            friction,
            no_data: surface.no_data_value(),
        })
    }

    /// Adopts friction in the GPU's memory, in rows of `pitch` elements.
    ///
    /// # Errors
    /// [`Error::EmptyImage`](crate::Error::EmptyImage),
    /// [`Error::ImageTooLarge`](crate::Error::ImageTooLarge);
    /// [`Error::InvalidOption`](crate::Error::InvalidOption) for a pitch below the width;
    /// [`Error::SizeMismatch`](crate::Error::SizeMismatch) for fewer than
    /// `pitch × (height - 1) + width` numbers.
    pub fn new(width: u32, height: u32, pitch: u32, friction: G::Buffer<T>) -> Result<Self> {
        let pitch = check_pitch(width, height, pitch as usize, friction.len(), "numbers")?;
        Ok(Self {
            width,
            height,
            pitch,
            friction,
            no_data: None,
        })
    }

    /// Sets the friction that marks barriers.
    #[must_use]
    pub fn no_data(mut self, value: impl Into<Option<f64>>) -> Self {
        self.no_data = value.into();
        self
    }

    /// Width in cells.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height in cells.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The friction, in rows of [`pitch`](Self::pitch) elements.
    pub fn friction(&self) -> &G::Buffer<T> {
        &self.friction
    }

    /// Elements from the start of a row to the start of the next.
    pub fn pitch(&self) -> u32 {
        self.pitch
    }

    /// A cell's friction. Waits for it.
    pub(super) fn at(&self, x: u32, y: u32) -> Result<f64> {
        let mut value = [T::default()];
        let place = y as usize * self.pitch as usize + x as usize;
        self.friction.read_at(place, &mut value)?;
        Ok(value[0].to_f64())
    }

    /// Queues rounding the friction, with a margin of barriers around it. Then the word of
    /// `refused`, which was `u32::MAX`, is the index of the first cell whose friction is refused.
    pub(super) fn place<P: DeviceReal>(
        &self,
        gpu: &G,
        raster: CostRaster,
        friction: ViewMut<'_, P>,
        refused: ViewMut<'_, u32>,
    ) -> Result<()> {
        let no_data = self.no_data.and_then(T::from_no_data);
        let no_data = gpu.upload(no_data.as_slice())?;
        let values = gpu.using(&self.friction)?;
        let from = Values {
            values: values.view(),
            pitch: self.pitch,
            no_data: no_data.view(),
        };
        // SAFETY: the sizes were checked when the surface was made, `friction` has an element for
        // each place, and `gpu` has acquired what it has not allocated.
        unsafe { P::place(&gpu.launcher(), from, raster, (friction, refused))? };
        values.finish()
    }
}

/// A type of friction that kernels round to both precisions.
pub trait DeviceFriction: cuda_std::Pod + Default {
    /// The number of this type that marks barriers, if one does.
    fn from_no_data(no_data: f64) -> Option<Self>;

    /// A surface, by the type of its friction.
    fn any<'a, 'p>(surface: &'a CostSurface<'p, Self>) -> AnySurface<'a, 'p>
    where
        Self: Friction;

    /// Launches the kernel that rounds to f32.
    ///
    /// # Safety
    /// That of the kernel.
    unsafe fn place_as_f32<G: Gpu>(
        on: &GpuLauncher<'_, G>,
        from: Values<'_, Self>,
        raster: CostRaster,
        to: (ViewMut<'_, f32>, ViewMut<'_, u32>),
    ) -> Result<()>;

    /// Launches the kernel that rounds to f64.
    ///
    /// # Safety
    /// That of the kernel.
    unsafe fn place_as_f64<G: Gpu>(
        on: &GpuLauncher<'_, G>,
        from: Values<'_, Self>,
        raster: CostRaster,
        to: (ViewMut<'_, f64>, ViewMut<'_, u32>),
    ) -> Result<()>;
}

/// Friction for a kernel to read.
#[derive(Clone, Copy)]
pub struct Values<'a, T> {
    values: View<'a, T>,
    pitch: u32,
    /// One number, or none.
    no_data: View<'a, T>,
}

macro_rules! device_friction {
    ($($any:ident: $from:ty => $as_f32:ident, $as_f64:ident, $no_data:expr;)*) => {
        $(
            impl DeviceFriction for $from {
                fn from_no_data(no_data: f64) -> Option<Self> {
                    $no_data(no_data)
                }

                fn any<'a, 'p>(surface: &'a CostSurface<'p, Self>) -> AnySurface<'a, 'p> {
                    AnySurface::$any(surface)
                }

                device_friction!(@ place_as_f32, f32, $as_f32);
                device_friction!(@ place_as_f64, f64, $as_f64);
            }
        )*

        /// A surface in the host's memory with friction of any type, as the jobs of devices take
        /// it.
        #[derive(Clone, Copy)]
        pub enum AnySurface<'a, 'p> {
            $($any(&'a CostSurface<'p, $from>),)*
        }
    };
    (@ $place:ident, $to:ty, $kernel:ident) => {
        unsafe fn $place<G: Gpu>(
            on: &GpuLauncher<'_, G>,
            from: Values<'_, Self>,
            raster: CostRaster,
            (friction, refused): (ViewMut<'_, $to>, ViewMut<'_, u32>),
        ) -> Result<()> {
            let Values { values, pitch, no_data } = from;
            let threads = raster.places();
            // SAFETY: the caller's promise.
            unsafe {
                $kernel::launch_threads(
                    on, threads, values, pitch, no_data, raster, friction, refused,
                )
            }
        }
    };
}
/// The whole number that is equal to `no_data`, as [`Friction::is`] compares.
macro_rules! whole_no_data {
    ($t:ty) => {
        |no_data: f64| (f64::from(no_data as $t) == no_data).then_some(no_data as $t)
    };
}
device_friction! {
    U8: u8 => place_u8_as_f32, place_u8_as_f64, whole_no_data!(u8);
    U16: u16 => place_u16_as_f32, place_u16_as_f64, whole_no_data!(u16);
    U32: u32 => place_u32_as_f32, place_u32_as_f64, whole_no_data!(u32);
    F32: f32 => place_f32_as_f32, place_f32_as_f64, |no_data: f64| Some(no_data as f32);
    F64: f64 => place_f64_as_f32, place_f64_as_f64, Some;
}

/// Evaluates an expression for the surface in an [`AnySurface`], whatever its type.
macro_rules! with_surface {
    ($surfaces:expr, $surface:ident => $result:expr) => {
        match $surfaces {
            $crate::distance::gpu::AnySurface::U8($surface) => $result,
            $crate::distance::gpu::AnySurface::U16($surface) => $result,
            $crate::distance::gpu::AnySurface::U32($surface) => $result,
            $crate::distance::gpu::AnySurface::F32($surface) => $result,
            $crate::distance::gpu::AnySurface::F64($surface) => $result,
        }
    };
}
pub(crate) use with_surface;
