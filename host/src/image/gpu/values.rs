//! Images of values in a GPU's memory, and which neighbours are equal.

use cuda_std::View;
use trazar_kernels::image::equality::{
    BESIDE_WORDS, EqualityPlanes, EqualityPlanesMut, Validity, equality_of_f32, equality_of_u8,
    equality_of_u16, equality_of_u32, equality_of_u64, threads,
};
use trazar_kernels::trace::pixels::Raster;

use super::DeviceImage;
use crate::error::{Error, OptionProblem, Result};
use crate::gpu::{Gpu, GpuBuffer, GpuLauncher};
use crate::image::{PixelValue, ValueImage, check_count, check_mask, check_size};
use crate::memory::with_room;

/// An image of values in a GPU's memory, and which of its pixels count: a [`ValueImage`] there.
///
/// ```
/// use trazar::emulator::Emulator;
/// use trazar::{Connectivity, DeviceLabeler, DeviceValues, Samples, ValueImage};
///
/// // On an NVIDIA GPU: `DeviceLabeler::new(&trazar::cuda::Device::open(0)?)?`.
/// let labeler = DeviceLabeler::on(Emulator::new(0));
/// let classes = [5u8, 5, 0, 7, 5, 0];
/// let image = ValueImage::new(Samples::new(3, 2, &classes)?)?.background(0)?;
/// let image = DeviceValues::upload(labeler.gpu(), &image)?;
/// let labels = labeler.label_values(&image, Connectivity::Four)?;
/// assert_eq!(labels.to_host()?.as_slice(), [1, 1, 0, 2, 1, 0]);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Debug)]
pub struct DeviceValues<G: Gpu, T: PixelValue> {
    width: u32,
    height: u32,
    /// Elements from the start of a row to the start of the next.
    pitch: u32,
    values: G::Buffer<T>,
    background: G::Buffer<T>,
    mask: Option<DeviceImage<G>>,
}

impl<G: Gpu, T: PixelValue> DeviceValues<G, T> {
    /// Copies an image to the memory of `gpu`, and waits for the copy.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], `Error::Cuda`, [`Error::Emulator`].
    pub fn upload(gpu: &G, image: &ValueImage<'_, T>) -> Result<Self> {
        let (width, height) = (image.width(), image.height());
        let (values, pitch);
        if let Some((dense, row_stride)) = image.samples().adjacent_rows()
            && let Ok(stride) = u32::try_from(row_stride)
        {
            (values, pitch) = (gpu.upload(dense)?, stride);
        } else {
            let mut copy = with_room(width as usize * height as usize, "the image's values")?;
            for y in 0..height {
                copy.extend((0..width).map(|x| image.value(x, y)));
            }
            (values, pitch) = (gpu.upload(&copy)?, width);
        }
        let mask = image.mask_image();
        Ok(Self {
            width,
            height,
            pitch,
            values,
            background: gpu.upload(image.background_values())?,
            mask: mask
                .map(|mask| DeviceImage::upload(gpu, mask))
                .transpose()?,
        })
    }

    /// Adopts values in the GPU's memory, in rows of `pitch` elements. All pixels count but those
    /// with a value of `background`, and NaN.
    ///
    /// # Errors
    /// [`Error::EmptyImage`], [`Error::ImageTooLarge`]; [`Error::InvalidOption`] for a pitch below
    /// the width; [`Error::SizeMismatch`] for fewer than `pitch × (height - 1) + width` values;
    /// `Error::Cuda`, [`Error::Emulator`].
    pub fn new(
        gpu: &G,
        width: u32,
        height: u32,
        pitch: u32,
        values: G::Buffer<T>,
        background: &[T],
    ) -> Result<Self> {
        check_size(width.into(), height.into())?;
        if pitch < width {
            return Err(Error::option(
                "pitch",
                OptionProblem::OutOfRange,
                format!("rows of {width} values can't start {pitch} values apart"),
            ));
        }
        let needed = u64::from(pitch) * u64::from(height - 1) + u64::from(width);
        let given = values.len();
        check_count(width, height, needed, given.min(needed as usize), "values")?;
        Ok(Self {
            width,
            height,
            pitch,
            values,
            background: gpu.upload(background)?,
            mask: None,
        })
    }

    /// Leaves out the pixels that are background in `mask`. Replaces an earlier mask.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] if the mask's size is not the image's.
    pub fn mask(mut self, mask: DeviceImage<G>) -> Result<Self> {
        check_mask([mask.width(), mask.height()], [self.width, self.height])?;
        self.mask = Some(mask);
        Ok(self)
    }

    /// Width in pixels.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height in pixels.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The values, in rows of [`pitch`](Self::pitch) elements.
    pub fn values(&self) -> &G::Buffer<T> {
        &self.values
    }

    /// Elements from the start of a row of values to the start of the next.
    pub fn pitch(&self) -> u32 {
        self.pitch
    }

    /// Queues the comparison of all neighbours.
    pub(crate) fn equality(&self, gpu: &G) -> Result<Equality<G>> {
        let raster = Raster::new(self.width, self.height).ok_or(Error::ImageTooLarge {
            width: self.width.into(),
            height: self.height.into(),
            limit: "on the GPU, an image of values has at most 2³¹ words of 64 pixels",
        })?;
        let words = raster.words() as usize;
        let mut planes = Equality {
            raster,
            valid: gpu.alloc(words)?,
            beside: gpu.alloc(words * BESIDE_WORDS as usize)?,
        };
        let none = gpu.alloc(0)?;
        let values = gpu.using(&self.values)?;
        let background = gpu.using(&self.background)?;
        let mask = gpu.using(self.mask.as_ref().map_or(&none, DeviceImage::words))?;
        let validity = Validity {
            mask: mask.view(),
            pitch: self.pitch,
        };
        // SAFETY: the sizes were checked when the image was made, the planes have those that the
        // kernel asks for, and `gpu` has acquired all that it has not allocated.
        unsafe {
            T::find_equal(
                &gpu.launcher(),
                threads(self.width, self.height),
                [values.view(), background.view()],
                validity,
                planes.view_mut(),
            )?;
        }
        mask.finish()?;
        background.finish()?;
        values.finish()?;
        Ok(planes)
    }
}

/// Which pixels of an image of values are valid, and equal to their neighbours.
#[derive(Debug)]
pub(crate) struct Equality<G: Gpu> {
    raster: Raster,
    valid: G::Buffer<u64>,
    beside: G::Buffer<u64>,
}

impl<G: Gpu> Equality<G> {
    /// For kernels to read.
    pub(crate) fn view(&self) -> EqualityPlanes<'_> {
        EqualityPlanes {
            valid: self.valid.view(),
            beside: self.beside.view(),
            raster: self.raster,
        }
    }

    fn view_mut(&mut self) -> EqualityPlanesMut<'_> {
        EqualityPlanesMut {
            valid: self.valid.view_mut(),
            beside: self.beside.view_mut(),
            raster: self.raster,
        }
    }
}

/// A type of values, as kernels compare it.
pub trait DeviceValue: cuda_std::Pod {
    /// An image, by the type of its values.
    fn any<'a, 'p>(image: &'a ValueImage<'p, Self>) -> AnyValues<'a, 'p>
    where
        Self: PixelValue;

    /// Launches the kernel that finds which neighbours are equal, for values and the values of
    /// background.
    ///
    /// # Safety
    /// That of the kernel.
    unsafe fn find_equal<G: Gpu>(
        on: &GpuLauncher<'_, G>,
        threads: u64,
        values: [View<'_, Self>; 2],
        validity: Validity<'_>,
        planes: EqualityPlanesMut<'_>,
    ) -> Result<()>;
}

macro_rules! device_values {
    ($($any:ident: $t:ty as $bits:ty => $kernel:ident;)*) => {$(
        impl DeviceValue for $t {
            fn any<'a, 'p>(image: &'a ValueImage<'p, Self>) -> AnyValues<'a, 'p> {
                AnyValues::$any(image)
            }

            unsafe fn find_equal<G: Gpu>(
                on: &GpuLauncher<'_, G>,
                threads: u64,
                values: [View<'_, Self>; 2],
                validity: Validity<'_>,
                planes: EqualityPlanesMut<'_>,
            ) -> Result<()> {
                // Integers of one size are equal if their bits are.
                // SAFETY: the same memory, as elements of the same size and alignment.
                let [values, background] = values.map(|view| unsafe {
                    View::<$bits>::from_raw_parts(view.as_ptr().cast(), view.len())
                });
                // SAFETY: the caller's promise.
                unsafe { $kernel::launch_threads(on, threads, values, background, validity, planes) }
            }
        }
    )*};
}

device_values! {
    U8: u8 as u8 => equality_of_u8;
    U16: u16 as u16 => equality_of_u16;
    I16: i16 as u16 => equality_of_u16;
    U32: u32 as u32 => equality_of_u32;
    I32: i32 as u32 => equality_of_u32;
    I64: i64 as u64 => equality_of_u64;
    F32: f32 as f32 => equality_of_f32;
}

/// An image of values of any type in the host's memory, as the jobs of devices take it.
#[derive(Clone, Copy)]
pub enum AnyValues<'a, 'p> {
    U8(&'a ValueImage<'p, u8>),
    U16(&'a ValueImage<'p, u16>),
    I16(&'a ValueImage<'p, i16>),
    U32(&'a ValueImage<'p, u32>),
    I32(&'a ValueImage<'p, i32>),
    I64(&'a ValueImage<'p, i64>),
    F32(&'a ValueImage<'p, f32>),
}

/// Evaluates an expression for the image in an [`AnyValues`], whatever its type.
macro_rules! with_values {
    ($values:expr, $image:ident => $result:expr) => {
        match $values {
            $crate::image::gpu::AnyValues::U8($image) => $result,
            $crate::image::gpu::AnyValues::U16($image) => $result,
            $crate::image::gpu::AnyValues::I16($image) => $result,
            $crate::image::gpu::AnyValues::U32($image) => $result,
            $crate::image::gpu::AnyValues::I32($image) => $result,
            $crate::image::gpu::AnyValues::I64($image) => $result,
            $crate::image::gpu::AnyValues::F32($image) => $result,
        }
    };
}

pub(crate) use with_values;
