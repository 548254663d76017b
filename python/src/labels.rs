//! Labels of arrays in this machine's memory.

use numpy::ndarray::IxDyn;
use numpy::{IntoPyArray, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyMemoryError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use rayon::prelude::*;
use trazar::{
    Backend, BinaryImage, Component, Connectivity, Engine, Job, LabelAlgorithm, LabelOptions,
    Labels,
};

use crate::arrays::{collect, owned};
use crate::engine::Device;
use crate::errors;
use crate::image;
use crate::work;

/// The options that the arguments stand for. `connectivity` is 4 or 8.
pub(crate) fn options(
    connectivity: u32,
    algorithm: Option<&str>,
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
    ];
    let algorithm = match algorithm {
        None => None,
        Some(name) => match algorithms.into_iter().find(|known| known.name() == name) {
            None => {
                return Err(errors::input(format!(
                    "algorithm={name:?}: it is one of {}",
                    algorithms.map(LabelAlgorithm::name).join(", ")
                )));
            }
            known => known,
        },
    };
    Ok(LabelOptions::default()
        .connectivity(connectivity)
        .statistics(statistics)
        .algorithm(algorithm))
}

/// Labels, their number, and columns of measures.
type Labelled<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Option<Bound<'py, PyDict>>,
);

/// Labels each image: an `int32` array of the image's shape, the number of components (of a batch a
/// list of numbers), and if asked for the components' measures as columns.
#[pyfunction]
pub(crate) fn label<'py>(
    image: &Bound<'py, PyAny>,
    connectivity: u32,
    algorithm: Option<&str>,
    statistics: bool,
    threshold: Option<&Bound<'py, PyAny>>,
    device: Device,
) -> PyResult<Labelled<'py>> {
    let py = image.py();
    let options = options(connectivity, algorithm, statistics)?;
    let input = image::read(image, threshold, true, size_of::<i32>())?;
    let (height, width, is_batch) = (input.height, input.width, input.is_batch);
    let images = input.images.len();
    let engine = match input.images.first() {
        None => Engine::cpu(),
        Some(first) => {
            let runs = u32::try_from(images).unwrap_or(u32::MAX);
            device.engine(py, || Job::label(first), runs)?
        }
    };
    let size = input.pixels();
    let (labels, found) = match is_batch {
        false => {
            let labelled = work::run(py, engine, size, move |engine: &Engine| {
                let label = |image| checked(engine.label(image, &options)?);
                input.images.first().map(label).transpose()
            })?;
            let found = labelled.iter().map(Found::of);
            let found = found.collect::<trazar::Result<_>>();
            let found: Vec<Found> = found.map_err(errors::from_library)?;
            let labels = labelled.map_or_else(Vec::new, Labels::into_vec);
            let labels: Vec<i32> = bytemuck::allocation::cast_vec(labels);
            (owned(py, IxDyn(&[height, width]), labels)?, found)
        }
        true => {
            let mut array = Output::new(py, [images, height, width])?;
            let labels = array.array.bind(py).clone();
            let found = work::run(py, engine, size, move |engine: &Engine| {
                label_each(engine, &input.images, &options, &mut array)
            })?;
            (labels, found)
        }
    };
    let counts: Vec<u32> = found.iter().map(|found: &Found| found.count).collect();
    let columns = statistics.then(|| {
        let of_images: Vec<&[Component]> =
            found.iter().map(|found| &found.components[..]).collect();
        columns(py, &of_images, is_batch)
    });
    let columns = columns.transpose()?;
    let count = match (is_batch, counts.first()) {
        (false, count) => count.copied().unwrap_or(0).into_pyobject(py)?.into_any(),
        (true, _) => PyList::new(py, counts)?.into_any(),
    };
    Ok((labels.into_any(), count, columns))
}

/// What memory is for.
const MEASURES: &str = "the components' measures";

/// What is kept of labels beside the labels themselves.
struct Found {
    count: u32,
    components: Vec<Component>,
}

impl Found {
    fn of(labels: &Labels) -> trazar::Result<Self> {
        let components = labels.components().unwrap_or_default();
        Ok(Self {
            count: labels.count(),
            components: collect(components.iter().copied(), MEASURES)?,
        })
    }
}

/// A new array of labels, which a job writes without the GIL, perhaps after its call has ended with
/// an exception. NumPy asks for large pages, which the first writes to it need.
struct Output {
    array: Py<PyArrayDyn<i32>>,
    address: *mut i32,
    len: usize,
}

// SAFETY: the address is that of the array's elements, which the array keeps. Until the job is
// done, nobody but the job has a use for them.
unsafe impl Send for Output {}

impl Output {
    /// An array of zeros.
    fn new(py: Python<'_>, shape: [usize; 3]) -> PyResult<Self> {
        // NumPy's own function, since that of the crate panics for want of memory.
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

    fn elements(&mut self) -> &mut [i32] {
        if self.len == 0 {
            return &mut [];
        }
        // SAFETY: the array has these elements, of zeros at least, in C's order.
        unsafe { std::slice::from_raw_parts_mut(self.address, self.len) }
    }
}

/// Labels each of some images of one size, into `output`.
fn label_each(
    engine: &Engine,
    images: &[BinaryImage],
    options: &LabelOptions,
    output: &mut Output,
) -> trazar::Result<Vec<Found>> {
    let Some(first) = images.first() else {
        return Ok(Vec::new());
    };
    let label = |(image, place): (&BinaryImage, &mut [i32])| {
        let labels = checked(engine.label(image, options)?)?;
        place.copy_from_slice(bytemuck::cast_slice(labels.as_slice()));
        Found::of(&labels)
    };
    let pixels = first.pixel_count() as usize;
    match engine.backend() {
        Backend::Cpu => {
            let places = output.elements().par_chunks_exact_mut(pixels);
            images.par_iter().zip(places).map(label).collect()
        }
        _ => {
            let places = output.elements().chunks_exact_mut(pixels);
            images.iter().zip(places).map(label).collect()
        }
    }
}

/// Refuses more components than SciPy's type of labels can count.
fn checked(labels: Labels) -> trazar::Result<Labels> {
    if labels.count() > i32::MAX as u32 {
        return Err(trazar::error::OptionError::new(
            "image",
            trazar::error::OptionProblem::OutOfRange,
            format!(
                "the image has {} components, and labels are of 32 bits, signed: work on it in \
                 parts",
                labels.count()
            ),
        )
        .into());
    }
    Ok(labels)
}

/// The components' measures as `skimage.measure.regionprops_table` names and orders them; of a
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
