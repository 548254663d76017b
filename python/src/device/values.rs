//! The jobs on images of values, labels and masks in a GPU's memory. Labels stay there; contours,
//! rings, measures and run lengths come to the host.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pyo3::{IntoPyObject, intern};
use trazar::cuda::{CudaResult, DeviceBuffer, Owner, Queue, RawBuffer, Release, Stream};
use trazar::gpu::Pod;
use trazar::measure::{DeviceMeasurer, Label, Measures};
use trazar::rle::DeviceRles;
use trazar::{DeviceImage, DeviceValues, PixelValue, RegionOptions};

use super::array::{DeviceArray, Kind};
use super::input::{Input, Layout, device_index, interface};
use super::place::{Library, OpenStream, place};
use crate::arguments::Integer;
use crate::contours::opencv_options;
use crate::errors;
use crate::measure::{columns, options};
use crate::regions::{Traced, contours_by_label, neighbours, traced};
use crate::rle::{Text, texts};

/// A number type of values, from Python's numbers.
trait Number: PixelValue + for<'a, 'py> FromPyObject<'a, 'py> {
    /// The value that equals a number, if there is one.
    fn of(number: &Bound<'_, PyAny>) -> Option<Self>;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        // Types of all sizes, some of which `From` converts.
        #[allow(clippy::cast_lossless)]
        impl Number for $t {
            fn of(number: &Bound<'_, PyAny>) -> Option<Self> {
                number.extract().ok().or_else(|| {
                    let float: f64 = number.extract().ok()?;
                    let value = float as Self;
                    (value as f64 == float).then_some(value)
                })
            }
        }
    )*};
}

integers!(u8 u16 u32 i16 i32 i64);

impl Number for f32 {
    fn of(number: &Bound<'_, PyAny>) -> Option<Self> {
        let float: f64 = number.extract().ok()?;
        let value = float as Self;
        (f64::from(value) == float).then_some(value)
    }
}

/// A copy in memory of the stream's own.
fn copied<T: Pod>(stream: &Stream, part: &DeviceBuffer<T>) -> CudaResult<DeviceBuffer<T>> {
    let mut copy = stream.alloc(part.len())?;
    copy.copy_from(0, part, 0..part.len())?;
    Ok(copy)
}

/// An array of shape (H, W) in a GPU's memory, with rows whose elements follow each other.
struct Array<'py> {
    /// Keeps the memory.
    array: Bound<'py, PyAny>,
    place: OpenStream,
    library: Library,
    typestr: String,
    layout: Layout,
}

impl<'py> Array<'py> {
    fn new(array: &Bound<'py, PyAny>, name: &str) -> PyResult<Self> {
        let py = array.py();
        let library = Library::of(array)?;
        let place = place(py, library, device_index(array, library)?)?;
        if !array.hasattr(intern!(py, "__cuda_array_interface__"))? {
            return Err(errors::input(format!(
                "{name} on a GPU has no __cuda_array_interface__: give one of PyTorch or CuPy"
            )));
        }
        let found = interface(array, &place.stream)?;
        let sides = found.layout.shape.clone();
        if sides.len() != 2 {
            return Err(errors::input(format!(
                "{name} of shape {sides:?}: it has 2 dimensions, (H, W)"
            )));
        }
        let mut this = Self {
            array: array.clone(),
            place,
            library,
            typestr: found.typestr,
            layout: found.layout,
        };
        if this.pitch().is_none() {
            let copy = match library {
                Library::Torch => array.call_method0(intern!(py, "contiguous"))?,
                Library::Cupy => py
                    .import(intern!(py, "cupy"))?
                    .call_method1(intern!(py, "ascontiguousarray"), (array,))?,
                Library::Other => {
                    return Err(errors::input(format!(
                        "{name} of strides {:?}: rows' elements must follow each other; make it \
                         contiguous",
                        this.layout.strides
                    )));
                }
            };
            this.layout = interface(&copy, &this.place.stream)?.layout;
            this.array = copy;
        }
        Ok(this)
    }

    /// Bytes of an element.
    fn size(&self) -> usize {
        let digits = self.typestr.get(2..).unwrap_or_default();
        digits.parse().unwrap_or(0)
    }

    /// Elements from row to row, if rows' elements follow each other.
    fn pitch(&self) -> Option<usize> {
        let (size, [height, width]) = (self.size(), self.sides());
        let Some(strides) = &self.layout.strides else {
            return Some(width);
        };
        let [row, column] = strides[..] else {
            return None;
        };
        let row = usize::try_from(row).ok()?;
        let follows = width <= 1 || usize::try_from(column) == Ok(size);
        let pitch = if height > 1 {
            row.checked_div(size).filter(|pitch| pitch * size == row)?
        } else {
            width
        };
        (follows && pitch >= width).then_some(pitch)
    }

    fn sides(&self) -> [usize; 2] {
        match self.layout.shape[..] {
            [height, width] => [height, width],
            _ => [0, 0],
        }
    }

    /// The elements as an image of values, without those equal to a number of `background` and
    /// those that a mask leaves out.
    fn values<T: Number>(
        &self,
        background: &[Bound<'_, PyAny>],
        mask: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<DeviceValues<Queue, T>> {
        let [height, width] = self.sides();
        let side = |side: usize| u32::try_from(side).unwrap_or(u32::MAX);
        let (width, height) = (side(width), side(height));
        let pitch = self.pitch().unwrap_or_default();
        let len = pitch * (height.max(1) - 1) as usize + width as usize;
        let raw = RawBuffer {
            address: self.layout.address,
            len,
            stream: self.place.stream.clone(),
            release: Release::InOrder(Owner::none()),
        };
        // SAFETY: the array declares this memory, and this keeps it; the driver confirms that it is
        // the device's. Its library's work so far was queued on the stream before, or the stream
        // waits for it; its later work on the stream comes after.
        let buffer: DeviceBuffer<T> = unsafe { DeviceBuffer::from_raw(raw) }
            .map_err(|error| errors::from_library(error.into()))?;
        // Kernels need the alignment of a `Gpu`'s own memory, which a slice need not have.
        let buffer = match self.layout.address.is_multiple_of(256) {
            true => buffer,
            false => copied(&self.place.stream, &buffer)
                .map_err(|error| errors::from_library(error.into()))?,
        };
        let background: Vec<T> = background.iter().filter_map(T::of).collect();
        let gpu = self.place.tracer.gpu();
        let pitch = u32::try_from(pitch).unwrap_or(u32::MAX);
        let values = DeviceValues::new(gpu, width, height, pitch, buffer, &background)
            .map_err(errors::from_library)?;
        match mask {
            None => Ok(values),
            Some(mask) => {
                let mask = self.packed(mask)?;
                values.mask(mask).map_err(errors::from_library)
            }
        }
    }

    /// A mask on the same device.
    fn packed(&self, mask: &Bound<'_, PyAny>) -> PyResult<DeviceImage<Queue>> {
        if !super::is_on_gpu(mask)? {
            return Err(errors::input(
                "mask in the host's memory, and the image on a GPU: give both in one place",
            ));
        }
        let input = Input::new(mask, None, false)?;
        let packed = input.pack();
        input.finish()?;
        packed.map_err(errors::from_library)
    }

    /// Releases the array, after the last work on it was queued. Nothing is known about the streams
    /// of other libraries, so the host waits.
    fn finish(self, py: Python<'_>) -> PyResult<()> {
        if self.library != Library::Other {
            return Ok(());
        }
        let stream = &self.place.stream;
        let waited = py.detach(|| stream.synchronize());
        drop(self.array);
        waited.map_err(|error| errors::from_library(error.into()))
    }

    fn refused(&self, name: &str, types: &str) -> PyErr {
        errors::input(format!(
            "{name} of {} on a GPU: the elements must be {types}; convert it there",
            self.typestr
        ))
    }
}

/// Calls a function on an array of one of the library's types of values.
macro_rules! on_device_values {
    ($array:expr, $name:literal, $function:ident($($argument:expr),*)) => {
        match $array.typestr.as_str() {
            "|u1" | "|b1" => $function::<u8>($array, $($argument),*),
            "<u2" => $function::<u16>($array, $($argument),*),
            "<u4" => $function::<u32>($array, $($argument),*),
            "<i2" => $function::<i16>($array, $($argument),*),
            "<i4" => $function::<i32>($array, $($argument),*),
            "<i8" => $function::<i64>($array, $($argument),*),
            "<f4" => $function::<f32>($array, $($argument),*),
            _ => Err($array.refused($name, "booleans, uint8 to uint32, int16 to int64, or float32")),
        }
    };
}

/// [`label_values`](crate::regions::label_values) of an array in a GPU's memory, where the labels
/// stay.
#[pyfunction]
pub(crate) fn device_label_values<'py>(
    array: &Bound<'py, PyAny>,
    background: Vec<Bound<'py, PyAny>>,
    mask: Option<&Bound<'py, PyAny>>,
    connectivity: u32,
) -> PyResult<(DeviceArray, u32)> {
    fn of<T: Number>(
        array: &Array<'_>,
        background: &[Bound<'_, PyAny>],
        mask: Option<&Bound<'_, PyAny>>,
        connectivity: u32,
    ) -> PyResult<(DeviceArray, u32)> {
        let values = array.values::<T>(background, mask)?;
        let labeler = &array.place.labeler;
        let found = array.array.py().detach(|| {
            let labels = labeler.label_values(&values, neighbours(connectivity))?;
            let count = labels.count()?;
            crate::labels::checked(count)?;
            Ok((labels.into_labels(), count))
        });
        let (labels, count) = found.map_err(errors::from_library)?;
        let shape = array.sides().to_vec();
        Ok((DeviceArray::owning(labels, Kind::Int32, shape), count))
    }
    let py = array.py();
    let array = Array::new(array, "image")?;
    let found = on_device_values!(&array, "image", of(&background, mask, connectivity));
    array.finish(py)?;
    found
}

/// [`trace_regions`](crate::regions::trace_regions) of an array in a GPU's memory.
#[pyfunction]
pub(crate) fn device_trace_regions<'py>(
    array: &Bound<'py, PyAny>,
    background: Vec<Bound<'py, PyAny>>,
    mask: Option<&Bound<'py, PyAny>>,
    connectivity: u32,
) -> PyResult<Traced<'py>> {
    fn of<'py, T: Number + numpy::Element>(
        array: &Array<'py>,
        background: &[Bound<'py, PyAny>],
        mask: Option<&Bound<'py, PyAny>>,
        connectivity: u32,
    ) -> PyResult<Traced<'py>> {
        let py = array.array.py();
        let values = array.values::<T>(background, mask)?;
        let tracer = &array.place.tracer;
        let options = RegionOptions::default().connectivity(neighbours(connectivity));
        let regions = py.detach(|| {
            let regions = tracer.trace_regions(&values, &options)?;
            regions.to_host_with(tracer.gpu(), &values)
        });
        traced(py, regions.map_err(errors::from_library)?)
    }
    let array = Array::new(array, "image")?;
    on_device_values!(&array, "image", of(&background, mask, connectivity))
}

/// [`find_contours_by_label`](crate::regions::find_contours_by_label) of an array in a GPU's
/// memory.
#[pyfunction]
pub(crate) fn device_find_contours_by_label<'py>(
    array: &Bound<'py, PyAny>,
    background: Vec<Bound<'py, PyAny>>,
    mode: Integer,
    method: Integer,
) -> PyResult<Bound<'py, PyDict>> {
    fn of<'py, T: Number + for<'a> IntoPyObject<'a>>(
        array: &Array<'py>,
        background: &[Bound<'py, PyAny>],
        options: trazar::trace::ContourOptions,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = array.array.py();
        let values = array.values::<T>(background, None)?;
        let tracer = &array.place.tracer;
        let contours = py.detach(|| {
            let contours = tracer.trace_values(&values, &options)?;
            contours.to_host_with(tracer.gpu(), &values)
        });
        contours_by_label(py, contours.map_err(errors::from_library)?)
    }
    let options = opencv_options(&mode, &method)?.contours;
    let array = Array::new(array, "labels")?;
    on_device_values!(&array, "labels", of(&background, options))
}

/// [`measure`](crate::measure::measure) of arrays in a GPU's memory.
#[pyfunction]
pub(crate) fn device_measure<'py>(
    labels: &Bound<'py, PyAny>,
    intensities: Option<&Bound<'py, PyAny>>,
    properties: Vec<String>,
    spacing: (f64, f64),
) -> PyResult<Bound<'py, PyList>> {
    fn of<L: Label + Number>(
        labels: &Array<'_>,
        intensities: Option<&Array<'_>>,
        options: &trazar::measure::MeasureOptions,
    ) -> PyResult<Measures> {
        let py = labels.array.py();
        let values = labels.values::<L>(&[], None)?;
        let measurer = DeviceMeasurer::on(labels.place.tracer.gpu().clone());
        let Some(image) = intensities else {
            let measures = py.detach(|| measurer.measure(&values, options));
            return measures.map_err(errors::from_library);
        };
        macro_rules! with {
            ($t:ty) => {{
                let light = image.values::<$t>(&[], None)?;
                py.detach(|| measurer.measure_intensities(&values, &light, options))
                    .map_err(errors::from_library)
            }};
        }
        match image.typestr.as_str() {
            "|u1" | "|b1" => with!(u8),
            "<u2" => with!(u16),
            "<u4" => with!(u32),
            "<i2" => with!(i16),
            "<i4" => with!(i32),
            _ => Err(image.refused("intensity_image", "integers of up to 32 bits")),
        }
    }
    let py = labels.py();
    let options = options(&properties, spacing)?;
    let labels = Array::new(labels, "label_image")?;
    let intensities = intensities.map(|image| Array::new(image, "intensity_image"));
    let intensities = intensities.transpose()?;
    if let Some(image) = &intensities {
        let index = |array: &Array<'_>| array.place.stream.device().info().index;
        if index(image) != index(&labels) {
            return Err(errors::input(
                "labels and intensities on different GPUs: give both on one",
            ));
        }
        let waits = labels.place.stream.wait_for(&image.place.stream);
        waits.map_err(|error| errors::from_library(error.into()))?;
    }
    let image = intensities.as_ref();
    let measures = match labels.typestr.as_str() {
        "|u1" => of::<u8>(&labels, image, &options),
        "<u2" => of::<u16>(&labels, image, &options),
        "<u4" => of::<u32>(&labels, image, &options),
        "<i2" => of::<i16>(&labels, image, &options),
        "<i4" => of::<i32>(&labels, image, &options),
        "<i8" => of::<i64>(&labels, image, &options),
        _ => Err(labels.refused("label_image", "uint8 to uint32, or int16 to int64")),
    }?;
    columns(py, measures)
}

/// [`rle_encode`](crate::rle::rle_encode) of masks in a GPU's memory, of shape (H, W), or with
/// `batch` (N, H, W).
#[pyfunction]
pub(crate) fn device_rle_encode<'py>(
    masks: &Bound<'py, PyAny>,
    batch: bool,
) -> PyResult<Vec<Text<'py>>> {
    let py = masks.py();
    let input = Input::new(masks, None, batch)?;
    let packed = input.pack_batch();
    let gpu = input.place.tracer.gpu().clone();
    let encoded = py.detach(|| DeviceRles::encode(&gpu, &packed?)?.to_host());
    input.finish()?;
    texts(py, &encoded.map_err(errors::from_library)?)
}
