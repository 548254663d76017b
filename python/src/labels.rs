//! Labels of arrays in this machine's memory.

use numpy::IntoPyArray;
use numpy::ndarray::IxDyn;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use rayon::prelude::*;
use trazar::{Backend, Component, Connectivity, Engine, Job, LabelAlgorithm, LabelOptions, Labels};

use crate::arrays::owned;
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
    let input = image::read(image, threshold, true)?;
    let (height, width, is_batch) = (input.height, input.width, input.is_batch);
    let labelled = match input.images.first() {
        None => Vec::new(),
        Some(first) => {
            let runs = u32::try_from(input.images.len()).unwrap_or(u32::MAX);
            let engine = device.engine(py, || Job::label(first), runs)?;
            let size = input.pixels();
            work::run(py, engine, size, move |engine: &Engine| {
                let label = |image| {
                    let labels = engine.label(image, &options)?;
                    checked(labels)
                };
                match (&input.images[..], engine.backend()) {
                    ([image], _) => Ok(vec![label(image)?]),
                    (images, Backend::Cpu) => images.par_iter().map(label).collect(),
                    (images, _) => images.iter().map(label).collect(),
                }
            })?
        }
    };
    let counts: Vec<u32> = labelled.iter().map(Labels::count).collect();
    let columns = statistics.then(|| {
        let of_images = labelled.iter().map(|labels| labels.components());
        let of_images: Vec<_> = of_images.map(Option::unwrap_or_default).collect();
        columns(py, &of_images, is_batch)
    });
    let columns = columns.transpose()?;
    let count = match (is_batch, counts.first()) {
        (false, count) => count.copied().unwrap_or(0).into_pyobject(py)?.into_any(),
        (true, _) => PyList::new(py, counts)?.into_any(),
    };
    let images = labelled.len();
    let labels = py.detach(|| joined(labelled));
    let shape = match is_batch {
        false => IxDyn(&[height, width]),
        true => IxDyn(&[images, height, width]),
    };
    Ok((owned(py, shape, labels)?.into_any(), count, columns))
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

/// The labels of all images, one after the other. Those of one image are not copied.
fn joined(labelled: Vec<Labels>) -> Vec<i32> {
    let mut each = labelled.into_iter().map(Labels::into_vec);
    let first = match (each.next(), each.len()) {
        (None, _) => return Vec::new(),
        (Some(only), 0) => return bytemuck::allocation::cast_vec(only),
        (Some(first), _) => first,
    };
    let rest: Vec<_> = each.collect();
    let mut all: Vec<i32> = Vec::with_capacity(first.len() * (rest.len() + 1));
    for labels in std::iter::once(&first).chain(&rest) {
        all.extend_from_slice(bytemuck::cast_slice(labels));
    }
    all
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
        let index: Vec<i64> = index
            .flat_map(|(image, components)| std::iter::repeat_n(image, components.len()))
            .collect();
        columns.set_item("image", index.into_pyarray(py))?;
    }
    let labels: Vec<i32> = images
        .iter()
        .flat_map(|components| 1..=components.len() as i32)
        .collect();
    columns.set_item("label", labels.into_pyarray(py))?;
    measures(&columns, images)?;
    Ok(columns)
}

/// Adds the columns of the measures themselves.
pub(crate) fn measures(columns: &Bound<'_, PyDict>, images: &[&[Component]]) -> PyResult<()> {
    let py = columns.py();
    let all = || images.iter().copied().flatten();
    let integers = |value: fn(&Component) -> i64| {
        let values: Vec<i64> = all().map(value).collect();
        values.into_pyarray(py)
    };
    let floats = |value: fn(&Component) -> f64| {
        let values: Vec<f64> = all().map(value).collect();
        values.into_pyarray(py)
    };
    columns.set_item("area", floats(|component| component.area as f64))?;
    columns.set_item("bbox-0", integers(|c| c.bounding_box.min.y.into()))?;
    columns.set_item("bbox-1", integers(|c| c.bounding_box.min.x.into()))?;
    columns.set_item("bbox-2", integers(|c| i64::from(c.bounding_box.max.y) + 1))?;
    columns.set_item("bbox-3", integers(|c| i64::from(c.bounding_box.max.x) + 1))?;
    columns.set_item("centroid-0", floats(|component| component.centroid.y))?;
    columns.set_item("centroid-1", floats(|component| component.centroid.x))?;
    Ok(())
}
