//! Labels of arrays in this machine's memory.

use numpy::ndarray::IxDyn;
use numpy::npyffi::NPY_ARRAY_CARRAY;
use numpy::{IntoPyArray, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyMemoryError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trazar::label::LabelSummary;
use trazar::{BinaryImage, Component, Connectivity, Engine, Job, LabelAlgorithm, LabelOptions};

use crate::arguments::{Name, named};
use crate::arrays::{collect, owned};
use crate::engine::Device;
use crate::errors;
use crate::image;
use crate::work;

/// The options for these arguments. `connectivity` is 4 or 8.
pub(crate) fn options(
    connectivity: u32,
    algorithm: Option<&Name>,
    statistics: bool,
) -> PyResult<LabelOptions> {
    let connectivity = match connectivity {
        4 => Connectivity::Four,
        _ => Connectivity::Eight,
    };
    let algorithms = [
        LabelAlgorithm::Sequential,
        LabelAlgorithm::Parallel,
        LabelAlgorithm::Tiles,
        LabelAlgorithm::Direct,
    ]
    .map(|algorithm| (algorithm.name(), algorithm));
    let algorithm = algorithm
        .map(|name| named("algorithm", name, &algorithms))
        .transpose()?;
    Ok(LabelOptions::default()
        .connectivity(connectivity)
        .statistics(statistics)
        .algorithm(algorithm))
}

/// Labels, the number of components of each image, and columns of measures.
type Labelled<'py> = (
    Option<Bound<'py, PyAny>>,
    Vec<u32>,
    Option<Bound<'py, PyDict>>,
);

/// Labels each image: an `int32` array of the argument's shape, the numbers of components, and, if
/// requested, the components' measures as columns. Without `batch`, there is one image. Its labels
/// are written to `output`, if there is one, instead of being returned: an array of that type and
/// shape, in C order.
#[pyfunction]
#[pyo3(signature = (
    images, batch, connectivity, algorithm, statistics, threshold, device, output=None
))]
#[expect(clippy::too_many_arguments, reason = "the Python function has them")]
pub(crate) fn label<'py>(
    images: &Bound<'py, PyAny>,
    batch: bool,
    connectivity: u32,
    algorithm: Option<Name>,
    statistics: bool,
    threshold: Option<&Bound<'py, PyAny>>,
    device: Device,
    output: Option<Bound<'py, PyArrayDyn<i32>>>,
) -> PyResult<Labelled<'py>> {
    let py = images.py();
    let options = options(connectivity, algorithm.as_ref(), statistics)?;
    let per_pixel = if output.is_some() {
        0
    } else {
        size_of::<i32>()
    };
    let input = image::read(images, threshold, batch, true, per_pixel)?;
    let (height, width) = (input.height, input.width);
    let images = input.images.len();
    let engine = match input.images.first() {
        None => Engine::cpu(),
        Some(first) => {
            let runs = u32::try_from(images).unwrap_or(u32::MAX);
            device.engine(py, || Job::label(first), runs)?
        }
    };
    let (size, is_given) = (input.pixels(), output.is_some());
    let (labels, found) = if batch || output.is_some() {
        let mut array = match output {
            Some(array) if !batch => Output::given(array, &[height, width])?,
            _ => Output::new(py, [images, height, width])?,
        };
        let labels = array.array.bind(py).clone();
        let found = work::run(py, engine, size, move |engine: &Engine| {
            label_into(engine, &input.images, batch, &options, array.elements())
        })?;
        (labels, found)
    } else {
        let labelled = work::run(py, engine, size, move |engine: &Engine| {
            let image = input.images.first();
            let labels = image
                .map(|image| engine.label(image, &options))
                .transpose()?;
            let Some(labels) = labels else {
                return Ok(None);
            };
            checked(labels.count())?;
            Ok(Some(labels.into_labels_and_summary()))
        })?;
        let (labels, found): (Vec<u32>, Vec<_>) = match labelled {
            Some((labels, found)) => (labels, vec![found]),
            None => Default::default(),
        };
        let labels: Vec<i32> = bytemuck::allocation::cast_vec(labels);
        (owned(py, IxDyn(&[height, width]), labels)?, found)
    };
    let mut counts: Vec<u32> = found.iter().map(|found| found.count).collect();
    if !batch && counts.is_empty() {
        // An image without pixels.
        counts.push(0);
    }
    let columns = statistics.then(|| {
        let of_images: Vec<&[Component]> = found
            .iter()
            .map(|found| found.components.as_deref().unwrap_or_default())
            .collect();
        columns(py, &of_images, batch)
    });
    let labels = (!is_given).then(|| labels.into_any());
    Ok((labels, counts, columns.transpose()?))
}

/// Name used in out-of-memory errors.
const MEASURES: &str = "the components' measures";

/// An array of labels. A job writes it without the GIL, perhaps after its call has ended with an
/// exception. For a new array NumPy requests large pages, which its first writes need.
struct Output {
    array: Py<PyArrayDyn<i32>>,
    address: *mut i32,
    len: usize,
}

// SAFETY: the address is that of the array's elements, which the array keeps. Until the job is
// done, only the job uses them: for a given array, the documentation requires so, as NumPy's does
// for `out=`.
unsafe impl Send for Output {}

impl Output {
    /// An array of zeros.
    fn new(py: Python<'_>, shape: [usize; 3]) -> PyResult<Self> {
        // NumPy's own function, since the crate's panics when out of memory.
        let numpy = py.import(intern!(py, "numpy"))?;
        let dtype = numpy::dtype::<i32>(py);
        let array = numpy.call_method1(intern!(py, "zeros"), (shape, dtype));
        let array = array.map_err(|error| match error.is_instance_of::<PyMemoryError>(py) {
            true => {
                let bytes = shape
                    .iter()
                    .fold(4u64, |all, &n| all.saturating_mul(n as u64));
                errors::from_library(trazar::Error::out_of_memory("the labels", bytes))
            }
            false => error,
        })?;
        let array = array.cast_into::<PyArrayDyn<i32>>()?;
        Ok(Self {
            address: array.data(),
            len: array.len(),
            array: array.unbind(),
        })
    }

    /// A given array for labels of this shape.
    fn given(array: Bound<'_, PyArrayDyn<i32>>, shape: &[usize]) -> PyResult<Self> {
        // SAFETY: the array is one of NumPy's, and alive.
        let flags = unsafe { (*array.as_array_ptr()).fields.flags };
        let needed = NPY_ARRAY_CARRAY;
        if array.shape() != shape || flags & needed != needed {
            return Err(errors::input(format!(
                "output of shape {:?}: a writable array of shape {shape:?} in C's order is needed",
                array.shape()
            )));
        }
        Ok(Self {
            address: array.data(),
            len: array.len(),
            array: array.unbind(),
        })
    }

    fn elements(&mut self) -> &mut [u32] {
        if self.len == 0 {
            return &mut [];
        }
        // SAFETY: the array has these elements, which have values, aligned and in C's order, and
        // the types have the same layout.
        unsafe { std::slice::from_raw_parts_mut(self.address.cast(), self.len) }
    }
}

/// Labels an image, or each image of a batch, into `labels`.
fn label_into(
    engine: &Engine,
    images: &[BinaryImage],
    batch: bool,
    options: &LabelOptions,
    labels: &mut [u32],
) -> trazar::Result<Vec<LabelSummary>> {
    let found = match images {
        [image] if !batch => vec![engine.label_into(image, options, labels)?],
        images => engine.label_batch_into(images, options, labels)?,
    };
    for found in &found {
        checked(found.count)?;
    }
    Ok(found)
}

/// Refuses more components than SciPy's type of labels can count.
pub(crate) fn checked(count: u32) -> trazar::Result<()> {
    if count <= i32::MAX as u32 {
        return Ok(());
    }
    Err(trazar::error::OptionError::new(
        "image",
        trazar::error::OptionProblem::OutOfRange,
        format!(
            "the image has {count} components, and labels are of 32 bits, signed: work on it in \
             parts"
        ),
    )
    .into())
}

/// The components' measures as `skimage.measure.regionprops_table` names and orders them; for a
/// batch, with the index of the image.
pub(crate) fn columns<'py>(
    py: Python<'py>,
    images: &[&[Component]],
    is_batch: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    if is_batch {
        let index = (0i64..).zip(images);
        let index =
            index.flat_map(|(image, components)| std::iter::repeat_n(image, components.len()));
        let index = collect(index, MEASURES).map_err(errors::from_library)?;
        columns.set_item("image", index.into_pyarray(py))?;
    }
    let labels = images
        .iter()
        .flat_map(|components| 1..=components.len() as i32);
    let labels = collect(labels, MEASURES).map_err(errors::from_library)?;
    columns.set_item("label", labels.into_pyarray(py))?;
    measures(&columns, images)?;
    Ok(columns)
}

/// Adds the columns of the measures themselves.
pub(crate) fn measures(columns: &Bound<'_, PyDict>, images: &[&[Component]]) -> PyResult<()> {
    let py = columns.py();
    let all = || images.iter().copied().flatten();
    let integers = |value: fn(&Component) -> i64| -> PyResult<_> {
        let values = collect(all().map(value), MEASURES).map_err(errors::from_library)?;
        Ok(values.into_pyarray(py))
    };
    let floats = |value: fn(&Component) -> f64| -> PyResult<_> {
        let values = collect(all().map(value), MEASURES).map_err(errors::from_library)?;
        Ok(values.into_pyarray(py))
    };
    columns.set_item("area", floats(|component| component.area as f64)?)?;
    columns.set_item("bbox-0", integers(|c| c.bounding_box.min.y.into())?)?;
    columns.set_item("bbox-1", integers(|c| c.bounding_box.min.x.into())?)?;
    columns.set_item("bbox-2", integers(|c| i64::from(c.bounding_box.max.y) + 1)?)?;
    columns.set_item("bbox-3", integers(|c| i64::from(c.bounding_box.max.x) + 1)?)?;
    columns.set_item("centroid-0", floats(|component| component.centroid.y)?)?;
    columns.set_item("centroid-1", floats(|component| component.centroid.x)?)?;
    Ok(())
}
