//! The jobs on images of values, labels and masks in a GPU's memory. Labels stay there, and so do
//! measures on request; contours, rings and run lengths come to the host.

use numpy::ndarray::Ix1;
use pyo3::IntoPyObject;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use trazar::cuda::Queue;
use trazar::measure::{
    DeviceColumn, DeviceColumnValues, DeviceIntensities, DeviceMeasurer, DeviceMeasures, Intensity,
    Label, MeasureOptions, Measures,
};
use trazar::rle::{DeviceLabelRles, DeviceRles, RleTexts};
use trazar::{DeviceImage, DeviceValues, PixelValue, RegionOptions};

use super::array::{DeviceArray, Kind};
use super::input::Input;
use super::numbers::Numbers;
use crate::arguments::Integer;
use crate::arrays::owned;
use crate::contours::opencv_options;
use crate::errors;
use crate::measure::{columns, options};
use crate::regions::{Traced, contours_by_label, neighbours, traced};
use crate::rle::{LabelMasks, texts};

/// A number type of values, from Python's numbers.
trait Number: PixelValue + for<'a, 'py> FromPyObject<'a, 'py> {
    /// The value that equals a number, if there is one.
    fn of(number: &Bound<'_, PyAny>) -> Option<Self>;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        // `From` converts some of these types.
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

impl Numbers<'_> {
    /// The elements as an image of values, without those equal to a number of `background` and
    /// those that a mask leaves out.
    fn values<T: Number>(
        &self,
        background: &[Bound<'_, PyAny>],
        mask: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<DeviceValues<Queue, T>> {
        let background: Vec<T> = background.iter().filter_map(T::of).collect();
        let gpu = self.place.tracer.gpu();
        let (width, height, pitch) = (self.width, self.height, self.pitch);
        let values = DeviceValues::new(gpu, width, height, pitch, self.buffer()?, &background)
            .map_err(errors::from_library)?;
        match mask {
            None => Ok(values),
            Some(mask) => {
                let mask = self.packed(mask)?;
                values.mask(mask).map_err(errors::from_library)
            }
        }
    }

    /// The elements as intensities.
    fn intensities<I: Intensity>(&self) -> PyResult<DeviceIntensities<Queue, I>> {
        DeviceIntensities::new(self.width, self.height, self.pitch, self.buffer()?)
            .map_err(errors::from_library)
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
            _ => {
                Err($array.refused($name, "booleans, uint8 to uint32, int16 to int64, or float32"))
            }
        }
    };
}

/// Calls a function on an array of one of the library's types of labels.
macro_rules! on_device_labels {
    ($array:expr, $name:literal, $function:ident($($argument:expr),*)) => {
        match $array.typestr.as_str() {
            "|u1" => $function::<u8>($array, $($argument),*),
            "<u2" => $function::<u16>($array, $($argument),*),
            "<u4" => $function::<u32>($array, $($argument),*),
            "<i2" => $function::<i16>($array, $($argument),*),
            "<i4" => $function::<i32>($array, $($argument),*),
            "<i8" => $function::<i64>($array, $($argument),*),
            _ => Err($array.refused($name, "uint8 to uint32, or int16 to int64")),
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
        array: &Numbers<'_>,
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
        let shape = vec![array.height as usize, array.width as usize];
        Ok((DeviceArray::owning(labels, Kind::Int32, shape), count))
    }
    let py = array.py();
    let array = Numbers::new(array, "image")?;
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
        array: &Numbers<'py>,
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
    let array = Numbers::new(array, "image")?;
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
        array: &Numbers<'py>,
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
    let array = Numbers::new(array, "labels")?;
    on_device_values!(&array, "labels", of(&background, options))
}

/// A table of measures, and where it is.
enum Table {
    Host(Measures),
    Device(DeviceMeasures<Queue>),
}

/// [`measure`](crate::measure::measure) of arrays in a GPU's memory, where the columns stay if they
/// are wanted `on_device`.
#[pyfunction]
pub(crate) fn device_measure<'py>(
    labels: &Bound<'py, PyAny>,
    intensities: Option<&Bound<'py, PyAny>>,
    properties: Vec<String>,
    spacing: (f64, f64),
    on_device: bool,
) -> PyResult<Bound<'py, PyList>> {
    fn of<L: Label + Number>(
        labels: &Numbers<'_>,
        intensities: Option<&Numbers<'_>>,
        options: &MeasureOptions,
        on_device: bool,
    ) -> PyResult<Table> {
        let py = labels.array.py();
        let values = labels.values::<L>(&[], None)?;
        let measurer = DeviceMeasurer::on(labels.place.tracer.gpu().clone());
        let Some(image) = intensities else {
            let table = py.detach(|| {
                if on_device {
                    let table = measurer.measure_on_device(&values, options)?;
                    Ok(Table::Device(table))
                } else {
                    measurer.measure(&values, options).map(Table::Host)
                }
            });
            return table.map_err(errors::from_library);
        };
        macro_rules! with {
            ($t:ty) => {{
                let light = image.intensities::<$t>()?;
                let table = py.detach(|| {
                    if on_device {
                        let table =
                            measurer.measure_intensities_on_device(&values, &light, options)?;
                        Ok(Table::Device(table))
                    } else {
                        let table = measurer.measure_intensities(&values, &light, options)?;
                        Ok(Table::Host(table))
                    }
                });
                table.map_err(errors::from_library)
            }};
        }
        match image.typestr.as_str() {
            "|u1" | "|b1" => with!(u8),
            "<u2" => with!(u16),
            "<u4" => with!(u32),
            "<i2" => with!(i16),
            "<i4" => with!(i32),
            "<i8" => with!(i64),
            "<f4" => with!(f32),
            "<f8" => with!(f64),
            _ => Err(image.refused(
                "intensity_image",
                "booleans, uint8 to uint32, int16 to int64, float32, or float64",
            )),
        }
    }
    let py = labels.py();
    let options = options(&properties, spacing)?;
    let labels = Numbers::new(labels, "label_image")?;
    let intensities = intensities.map(|image| Numbers::new(image, "intensity_image"));
    let intensities = intensities.transpose()?;
    if let Some(image) = &intensities {
        let index = |array: &Numbers<'_>| array.place.stream.device().info().index;
        if index(image) != index(&labels) {
            return Err(errors::input(
                "labels and intensities on different GPUs: give both on one",
            ));
        }
        let waits = labels.place.stream.wait_for(&image.place.stream);
        waits.map_err(|error| errors::from_library(error.into()))?;
    }
    let image = intensities.as_ref();
    let table = on_device_labels!(&labels, "label_image", of(image, &options, on_device))?;
    match table {
        Table::Host(measures) => columns(py, measures),
        Table::Device(measures) => {
            let len = measures.len();
            let columns = measures.into_columns().into_iter().map(|column| {
                let (name, values) = DeviceColumn::into_parts(column);
                let values = match values {
                    DeviceColumnValues::Integers(values) => {
                        DeviceArray::owning(values, Kind::Int64, vec![len])
                    }
                    DeviceColumnValues::Floats(values) => {
                        DeviceArray::owning(values, Kind::Float64, vec![len])
                    }
                    _ => return Err(errors::input("a column of an unknown type")),
                };
                Ok((name, values))
            });
            let columns: Vec<_> = columns.collect::<PyResult<_>>()?;
            PyList::new(py, columns)
        }
    }
}

/// [`rle_encode`](crate::rle::rle_encode) of masks in a GPU's memory, of shape (H, W), or with
/// `batch` (N, H, W).
#[pyfunction]
pub(crate) fn device_rle_encode<'py>(
    masks: &Bound<'py, PyAny>,
    batch: bool,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let py = masks.py();
    let input = Input::new(masks, None, batch)?;
    let packed = input.pack_batch();
    let gpu = input.place.tracer.gpu().clone();
    let encoded = py.detach(|| {
        let rles = DeviceRles::encode(&gpu, &packed?)?;
        rles.compress(&gpu)?.to_host()
    });
    input.finish()?;
    texts(py, encoded.map_err(errors::from_library)?.iter())
}

/// [`rle_encode_labels`](crate::rle::rle_encode_labels) of labels in a GPU's memory.
#[pyfunction]
pub(crate) fn device_rle_encode_labels<'py>(
    labels: &Bound<'py, PyAny>,
) -> PyResult<LabelMasks<'py>> {
    fn of<L: Label + Number>(labels: &Numbers<'_>) -> PyResult<(Vec<i64>, RleTexts)> {
        let values = labels.values::<L>(&[], None)?;
        let gpu = labels.place.tracer.gpu();
        let encoded = labels.array.py().detach(|| {
            let encoded = DeviceLabelRles::encode(gpu, &values)?;
            let masks = encoded.rles().compress(gpu)?.to_host()?;
            Ok((encoded.labels().to_vec()?, masks))
        });
        encoded.map_err(errors::from_library)
    }
    let py = labels.py();
    let labels = Numbers::new(labels, "labels")?;
    let (values, masks) = on_device_labels!(&labels, "labels", of())?;
    Ok((
        owned(py, Ix1(values.len()), values)?,
        texts(py, masks.iter())?,
    ))
}
