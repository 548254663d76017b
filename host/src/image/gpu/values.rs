//! Images of values in a GPU's memory, and which neighbours are equal.

use cuda_std::{View, ViewMut};
use trazar_kernels::image::equality::{
    BESIDE_WORDS, EqualityPlanes, EqualityPlanesMut, Validity, equality_of_f32, equality_of_u8,
    equality_of_u16, equality_of_u32, equality_of_u64, threads,
};
use trazar_kernels::measure::shape_table::{ShapeTable, ShapeTableBuffers};
use trazar_kernels::measure::shapes::{
    self, Intensities, sum_shapes_of_u8, sum_shapes_of_u16, sum_shapes_of_u32, sum_shapes_of_u64,
};
use trazar_kernels::measure::table::{LabelTable, LabelTableBuffers};
use trazar_kernels::measure::tiles::{
    self, sum_tiles_of_u8, sum_tiles_of_u16, sum_tiles_of_u32, sum_tiles_of_u64,
};
use trazar_kernels::trace::borders::FoundBorders;
use trazar_kernels::trace::fragments::Parts;
use trazar_kernels::trace::fragments::join::Chains;
use trazar_kernels::trace::fragments::row_values::{
    RowTables, RowsOfValues, link_outer_borders_of_f32, link_outer_borders_of_u8,
    link_outer_borders_of_u16, link_outer_borders_of_u32, link_outer_borders_of_u64,
};
use trazar_kernels::trace::fragments::source::TracedValues;
use trazar_kernels::trace::options::Approximation;
use trazar_kernels::trace::pixels::Raster;
use trazar_kernels::trace::values::{
    value_keys_of_f32, value_keys_of_u8, value_keys_of_u16, value_keys_of_u32, value_keys_of_u64,
};

use super::{DeviceImage, check_pitch, upload_samples};
use crate::error::{Error, Result};
use crate::gpu::{Gpu, GpuBuffer, GpuLauncher, OnGpu, nothing};
use crate::image::{PixelValue, ValueImage, check_mask};
use crate::memory::collect;

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
    /// The same, in the host's memory.
    background_values: Vec<T>,
    mask: Option<DeviceImage<G>>,
}

impl<G: Gpu, T: PixelValue> DeviceValues<G, T> {
    /// Copies an image to the memory of `gpu`, and waits for the copy.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], `Error::Cuda`, [`Error::Emulator`].
    pub fn upload(gpu: &G, image: &ValueImage<'_, T>) -> Result<Self> {
        let (width, height) = (image.width(), image.height());
        let (values, pitch) = upload_samples(gpu, image.samples(), "the image's values")?;
        let mask = image.mask_image();
        Ok(Self {
            width,
            height,
            pitch,
            values,
            background: gpu.upload(image.background_values())?,
            background_values: kept(image.background_values())?,
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
        let pitch = check_pitch(width, height, pitch as usize, values.len(), "values")?;
        Ok(Self {
            width,
            height,
            pitch,
            values,
            background: gpu.upload(background)?,
            background_values: kept(background)?,
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

    /// The values of background.
    pub(crate) fn background_values(&self) -> &[T] {
        &self.background_values
    }

    /// Elements from the start of a row of values to the start of the next.
    pub fn pitch(&self) -> u32 {
        self.pitch
    }

    /// Copies the values of some pixels, given by their indices, row by row, to the host.
    ///
    /// # Errors
    /// `Error::Cuda`, [`Error::Emulator`], [`Error::OutOfMemory`].
    pub(crate) fn values_at(&self, gpu: &G, pixels: &G::Buffer<u32>) -> Result<Vec<T>> {
        let [low, high] = self.keys_at(gpu, pixels)?;
        let (low, high) = (low.to_vec()?, high.to_vec()?);
        let value = |(i, low): (usize, u32)| {
            T::of_key(u64::from(low) | high.get(i).map_or(0, |&high| u64::from(high)) << 32)
        };
        collect(low.into_iter().enumerate().map(value), "values of pixels")
    }

    /// The values of some pixels, given by their indices, row by row, as numbers in the order of
    /// values: the low halves, and the high ones if values have more than 32 bits.
    pub(crate) fn keys_at(&self, gpu: &G, pixels: &G::Buffer<u32>) -> Result<[G::Buffer<u32>; 2]> {
        let count = pixels.len();
        let mut low = gpu.alloc(count)?;
        let mut high = gpu.alloc(if T::IS_WIDE { count } else { 0 })?;
        let mut differing = gpu.alloc(0)?;
        if count > 0 {
            let values = gpu.using(&self.values)?;
            let rows = RowsOfValues {
                values: values.view(),
                pitch: self.pitch,
            };
            let keys = Keys {
                low: low.view_mut(),
                high: high.view_mut(),
                differing: differing.view_mut(),
            };
            // SAFETY: the pixels are in the image, which has been acquired; there is room for all.
            unsafe { T::write_keys(&gpu.launcher(), rows, self.width, pixels.view(), keys)? };
            values.finish()?;
        }
        Ok([low, high])
    }

    /// Queues the addition of all pixels to their labels' sums, those of background too. The image
    /// has fewer than 2³² pixels.
    pub(crate) fn sum_tiles(&self, gpu: &G, table: &mut LabelTableBuffers<OnGpu<G>>) -> Result<()> {
        self.with_pixels(gpu, |pixels| {
            // SAFETY: the sizes were checked when the image was made, its buffers have been
            // acquired, and the table belongs to this queue.
            unsafe { T::sum_tiles(&gpu.launcher(), pixels, table.views()) }
        })
    }

    /// Queues the addition of all pixels to their labels' sums, those of background too; `bits` say
    /// which sums. The image has fewer than 2³¹ pixels, and as many times the square of its longer
    /// side are below 2⁶⁴.
    pub(crate) fn sum_shapes(
        &self,
        gpu: &G,
        intensities: Intensities<'_>,
        bits: u32,
        (table, shapes): (
            &mut LabelTableBuffers<OnGpu<G>>,
            &mut ShapeTableBuffers<OnGpu<G>>,
        ),
    ) -> Result<()> {
        self.with_pixels(gpu, |pixels| {
            let image = LabelShapes {
                pixels,
                intensities,
                bits,
            };
            // SAFETY: the sizes were checked when the image was made, its buffers and those of
            // intensities have been acquired, and the tables belong to this queue.
            unsafe { T::sum_shapes(&gpu.launcher(), image, table.views(), shapes.views()) }
        })
    }

    /// Calls `launch`, which queues work on the pixels, while their buffers are acquired.
    fn with_pixels(
        &self,
        gpu: &G,
        launch: impl FnOnce(ValuePixels<'_, T>) -> Result<()>,
    ) -> Result<()> {
        let raster = self.raster()?;
        let none = gpu.alloc(0)?;
        let values = gpu.using(&self.values)?;
        let background = gpu.using(&self.background)?;
        let mask = gpu.using(self.mask.as_ref().map_or(&none, DeviceImage::words))?;
        launch(ValuePixels {
            values: values.view(),
            background: background.view(),
            validity: Validity {
                mask: mask.view(),
                pitch: self.pitch,
            },
            raster,
        })?;
        mask.finish()?;
        background.finish()?;
        values.finish()
    }

    /// The size, if kernels can take it.
    fn raster(&self) -> Result<Raster> {
        Raster::new(self.width, self.height).ok_or(Error::ImageTooLarge {
            width: self.width.into(),
            height: self.height.into(),
            limit: "on the GPU, an image of values has at most 2³¹ words of 64 pixels",
        })
    }

    /// Queues the comparison of all neighbours.
    pub(crate) fn equality(&self, gpu: &G) -> Result<Equality<G>> {
        let raster = self.raster()?;
        let words = raster.words() as usize;
        let mut planes = Equality {
            raster,
            valid: gpu.alloc(words)?,
            beside: gpu.alloc(words * BESIDE_WORDS as usize)?,
        };
        self.with_pixels(gpu, |pixels| {
            // SAFETY: the sizes were checked when the image was made, the planes have those that
            // the kernel asks for, and belong to this queue, and the image's buffers have been
            // acquired.
            unsafe { T::find_equal(&gpu.launcher(), pixels, planes.view_mut()) }
        })?;
        Ok(planes)
    }
}

/// A copy of the values of background.
fn kept<T: PixelValue>(background: &[T]) -> Result<Vec<T>> {
    collect(background.iter().copied(), "the values of background")
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
        pixels: ValuePixels<'_, Self>,
        planes: EqualityPlanesMut<'_>,
    ) -> Result<()>;

    /// Launches the kernel that finds the previous border, of the same value, of each outer border.
    ///
    /// # Safety
    /// That of the kernel.
    unsafe fn link_outer_borders<G: Gpu>(
        on: &GpuLauncher<'_, G>,
        blocks: u32,
        values: RowsOfValues<'_, Self>,
        found: FoundInRows<'_>,
    ) -> Result<()>;

    /// Launches the kernel that writes a number in the order of values for each pixel in `starts`,
    /// and the bits in which these differ. The image has this width.
    ///
    /// # Safety
    /// That of the kernel.
    unsafe fn write_keys<G: Gpu>(
        on: &GpuLauncher<'_, G>,
        values: RowsOfValues<'_, Self>,
        width: u32,
        starts: View<'_, u32>,
        keys: Keys<'_>,
    ) -> Result<()>;

    /// Whether such a number has more than 32 bits.
    const IS_WIDE: bool = size_of::<Self>() > size_of::<u32>();
    /// The bit in which such a number differs from an integer: the sign, if there is one.
    const SIGN: u64;

    /// The value with such a number.
    fn of_key(key: u64) -> Self;

    /// Launches the kernel that adds all pixels to the sums of these values, as labels.
    ///
    /// # Safety
    /// That of the kernel.
    unsafe fn sum_tiles<G: Gpu>(
        on: &GpuLauncher<'_, G>,
        image: ValuePixels<'_, Self>,
        table: LabelTable<'_>,
    ) -> Result<()>;

    /// Launches the kernel that adds all pixels to the sums for shapes of these values, as labels.
    ///
    /// # Safety
    /// That of the kernel.
    unsafe fn sum_shapes<G: Gpu>(
        on: &GpuLauncher<'_, G>,
        image: LabelShapes<'_, Self>,
        table: LabelTable<'_>,
        shapes: ShapeTable<'_>,
    ) -> Result<()>;

    /// The greatest label, as the kernels that have a table of labels compare it.
    fn most() -> u64 {
        let bits = 8 * size_of::<Self>() as u32;
        (u64::MAX >> (u64::BITS - bits)) ^ Self::SIGN
    }
}

/// Checks the number of blocks of a kernel that goes by tiles.
fn tile_blocks(blocks: u64, raster: Raster) -> Result<u32> {
    u32::try_from(blocks).map_err(|_| Error::ImageTooLarge {
        width: raster.width.into(),
        height: raster.height.into(),
        limit: "on the GPU, labels have fewer than 2³² tiles",
    })
}

/// An image of values, as kernels take it.
pub struct ValuePixels<'a, T: cuda_std::Pod> {
    values: View<'a, T>,
    /// The values of background.
    background: View<'a, T>,
    validity: Validity<'a>,
    raster: Raster,
}

/// An image of labels and of intensities, as [`DeviceValue::sum_shapes`] takes it.
pub struct LabelShapes<'a, T: cuda_std::Pod> {
    pixels: ValuePixels<'a, T>,
    intensities: Intensities<'a>,
    bits: u32,
}

/// Where [`DeviceValue::write_keys`] writes.
pub struct Keys<'a> {
    /// The low halves of numbers.
    pub(crate) low: ViewMut<'a, u32>,
    /// The high ones, if values have more than 32 bits; else empty.
    pub(crate) high: ViewMut<'a, u32>,
    /// The bits in which the low halves differ, and the high ones, at first 0; empty if they are
    /// not wanted.
    pub(crate) differing: ViewMut<'a, u32>,
}

/// An image and its borders, as [`DeviceValue::link_outer_borders`] takes them.
pub struct FoundInRows<'a> {
    pub image: TracedValues<'a>,
    pub approximation: Approximation,
    pub parts: Parts<'a>,
    pub chains: Chains<'a>,
    pub borders: FoundBorders<'a>,
    pub tables: RowTables<'a>,
}

/// The same memory, as elements of another type of the same size and alignment.
pub(crate) fn as_bits<T: cuda_std::Pod, Bits: cuda_std::Pod>(
    values: View<'_, T>,
) -> View<'_, Bits> {
    const {
        assert!(size_of::<T>() == size_of::<Bits>() && align_of::<T>() == align_of::<Bits>());
    }
    // SAFETY: elements of either type can have any bits.
    unsafe { View::from_raw_parts(values.as_ptr().cast(), values.len()) }
}

fn rows_of_bits<T: cuda_std::Pod, Bits: cuda_std::Pod>(
    rows: RowsOfValues<'_, T>,
) -> RowsOfValues<'_, Bits> {
    RowsOfValues {
        values: as_bits(rows.values),
        pitch: rows.pitch,
    }
}

macro_rules! device_values {
    (@tiles $on:ident, $image:ident, $table:ident;) => {{
        let _ = ($on, $image, $table);
        unreachable!("labels are integers")
    }};
    (@tiles $on:ident, $image:ident, $table:ident; $tiles:ident) => {{
        let ValuePixels { values, validity, raster, .. } = $image;
        let values = as_bits(values);
        let rows = RowsOfValues { values, pitch: validity.pitch };
        let blocks = tile_blocks(tiles::blocks(raster.width, raster.height), raster)?;
        let most = Self::most();
        // SAFETY: the caller's promise.
        unsafe { $tiles::launch($on, blocks, rows, validity.mask, raster, most, $table) }
    }};
    (@shapes $on:ident, $image:ident, $table:ident, $sums:ident;) => {{
        let _ = ($on, $image, $table, $sums);
        unreachable!("labels are integers")
    }};
    (@shapes $on:ident, $image:ident, $table:ident, $sums:ident; $shapes:ident) => {{
        let LabelShapes { pixels, intensities, bits } = $image;
        let ValuePixels { values, background, validity, raster } = pixels;
        let [values, background] = [values, background].map(as_bits);
        let rows = RowsOfValues { values, pitch: validity.pitch };
        let blocks = tile_blocks(shapes::blocks(raster.width, raster.height), raster)?;
        let most = Self::most();
        // SAFETY: the caller's promise.
        unsafe {
            $shapes::launch(
                $on,
                blocks,
                rows,
                background,
                validity.mask,
                raster,
                intensities,
                most,
                bits,
                $table,
                $sums,
            )
        }
    }};
    (@value $key:ident, f32) => {{
        let bits = $key as u32;
        f32::from_bits(if bits >> 31 == 0 { !bits } else { bits & !(1 << 31) })
    }};
    (@value $key:ident, $t:ident) => {
        ($key ^ Self::SIGN) as $t
    };
    ($($any:ident: $t:ident as $bits:ty, $sign:expr =>
        $equality:ident, $link:ident, $keys:ident $([$tiles:ident, $shapes:ident])?;)*) => {$(
        impl DeviceValue for $t {
            const SIGN: u64 = $sign;

            fn of_key(key: u64) -> Self {
                device_values!(@value key, $t)
            }

            unsafe fn sum_tiles<G: Gpu>(
                on: &GpuLauncher<'_, G>,
                image: ValuePixels<'_, Self>,
                table: LabelTable<'_>,
            ) -> Result<()> {
                device_values!(@tiles on, image, table; $($tiles)?)
            }

            unsafe fn sum_shapes<G: Gpu>(
                on: &GpuLauncher<'_, G>,
                image: LabelShapes<'_, Self>,
                table: LabelTable<'_>,
                shapes: ShapeTable<'_>,
            ) -> Result<()> {
                device_values!(@shapes on, image, table, shapes; $($shapes)?)
            }

            fn any<'a, 'p>(image: &'a ValueImage<'p, Self>) -> AnyValues<'a, 'p> {
                AnyValues::$any(image)
            }

            unsafe fn find_equal<G: Gpu>(
                on: &GpuLauncher<'_, G>,
                pixels: ValuePixels<'_, Self>,
                planes: EqualityPlanesMut<'_>,
            ) -> Result<()> {
                let ValuePixels { values, background, validity, raster } = pixels;
                // Integers of one size are equal if their bits are.
                let [values, background] = [values, background].map(as_bits::<_, $bits>);
                let threads = threads(raster.width, raster.height);
                // SAFETY: the caller's promise.
                unsafe {
                    $equality::launch_threads(on, threads, values, background, validity, planes)
                }
            }

            unsafe fn link_outer_borders<G: Gpu>(
                on: &GpuLauncher<'_, G>,
                blocks: u32,
                rows: RowsOfValues<'_, Self>,
                found: FoundInRows<'_>,
            ) -> Result<()> {
                let FoundInRows { image, approximation, parts, chains, borders, tables } = found;
                // SAFETY: the caller's promise.
                unsafe {
                    $link::launch(
                        on,
                        blocks,
                        rows_of_bits::<_, $bits>(rows),
                        image,
                        approximation,
                        parts,
                        chains,
                        borders,
                        tables,
                    )
                }
            }

            unsafe fn write_keys<G: Gpu>(
                on: &GpuLauncher<'_, G>,
                rows: RowsOfValues<'_, Self>,
                width: u32,
                starts: View<'_, u32>,
                Keys { low, high, differing }: Keys<'_>,
            ) -> Result<()> {
                // SAFETY: the caller's promise.
                unsafe {
                    $keys::launch_threads(
                        on,
                        starts.len() as u64,
                        rows_of_bits::<_, $bits>(rows),
                        width,
                        Self::SIGN,
                        starts,
                        low,
                        high,
                        differing,
                    )
                }
            }
        }
    )*};
}

/// No intensities.
pub(crate) fn no_intensities<'a>() -> Intensities<'a> {
    Intensities {
        bytes: nothing(),
        halves: nothing(),
        words: nothing(),
        pitch: 0,
        sign: 0,
    }
}

device_values! {
    U8: u8 as u8, 0 =>
        equality_of_u8, link_outer_borders_of_u8, value_keys_of_u8
        [sum_tiles_of_u8, sum_shapes_of_u8];
    U16: u16 as u16, 0 =>
        equality_of_u16, link_outer_borders_of_u16, value_keys_of_u16
        [sum_tiles_of_u16, sum_shapes_of_u16];
    I16: i16 as u16, 1 << 15 =>
        equality_of_u16, link_outer_borders_of_u16, value_keys_of_u16
        [sum_tiles_of_u16, sum_shapes_of_u16];
    U32: u32 as u32, 0 =>
        equality_of_u32, link_outer_borders_of_u32, value_keys_of_u32
        [sum_tiles_of_u32, sum_shapes_of_u32];
    I32: i32 as u32, 1 << 31 =>
        equality_of_u32, link_outer_borders_of_u32, value_keys_of_u32
        [sum_tiles_of_u32, sum_shapes_of_u32];
    I64: i64 as u64, 1 << 63 =>
        equality_of_u64, link_outer_borders_of_u64, value_keys_of_u64
        [sum_tiles_of_u64, sum_shapes_of_u64];
    F32: f32 as f32, 0 =>
        equality_of_f32, link_outer_borders_of_f32, value_keys_of_f32;
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
