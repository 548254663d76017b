//! Measures of label images in this machine's memory.

use std::ops::Range;

use numpy::{Element, IntoPyArray, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyList;
use trazar::Engine;
use trazar::measure::{self as library, Column, Label, MeasureOptions, Measures, Property, Values};

use crate::engine::Device;
use crate::errors;
use crate::image::{in_place, numpys};
use crate::parts::{Reduced, detached, reduced};
use crate::view::View;
use crate::work;

/// Arrays of any of some types of elements.
macro_rules! views {
    (
        $(#[$doc:meta])* $name:ident, $argument:literal, $needed:literal:
        $($variant:ident($type:ty))*
    ) => {
        $(#[$doc])*
        pub(crate) enum $name {
            $($variant(View<$type>),)*
        }

        impl $name {
            pub(crate) fn of(array: &Bound<'_, PyUntypedArray>) -> PyResult<Self> {
                $(if let Some(view) = View::of(array)? {
                    return Ok(Self::$variant(view));
                })*
                Err(refused($argument, $needed, array))
            }
        }
    };
}

views! {
    /// Labels of any type that the library measures.
    Labels, "labels", "integers of up to 64 bits":
    U8(u8) U16(u16) U32(u32) I16(i16) I32(i32) I64(i64)
}

views! {
    /// Intensities of any type that the library sums up.
    Intensities, "intensity_image", "real numbers":
    U8(u8) U16(u16) U32(u32) I16(i16) I32(i32) I64(i64) F32(f32) F64(f64)
}

/// Evaluates an expression for the array in a [`Labels`], whatever its type.
macro_rules! with_labels {
    ($labels:expr, $view:ident => $result:expr) => {
        match $labels {
            Labels::U8($view) => $result,
            Labels::U16($view) => $result,
            Labels::U32($view) => $result,
            Labels::I16($view) => $result,
            Labels::I32($view) => $result,
            Labels::I64($view) => $result,
        }
    };
}

pub(crate) use with_labels;

/// Evaluates an expression for the array in an `Option<&Intensities>`, whatever its type, or the
/// one for `None`.
macro_rules! with_intensities {
    ($intensities:expr, $view:ident => $with:expr, None => $without:expr) => {
        match $intensities {
            None => $without,
            Some(Intensities::U8($view)) => $with,
            Some(Intensities::U16($view)) => $with,
            Some(Intensities::U32($view)) => $with,
            Some(Intensities::I16($view)) => $with,
            Some(Intensities::I32($view)) => $with,
            Some(Intensities::I64($view)) => $with,
            Some(Intensities::F32($view)) => $with,
            Some(Intensities::F64($view)) => $with,
        }
    };
}

fn intensities_of(array: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Intensities>> {
    let read = |array| Intensities::of(&in_place(numpys(array)?)?);
    array.map(read).transpose()
}

/// The error for an array of elements that are not measured.
fn refused(name: &str, needed: &str, array: &Bound<'_, PyUntypedArray>) -> PyErr {
    errors::input(format!(
        "{name} of {}: the elements must be {needed}",
        array.dtype()
    ))
}

fn run_labels<L: Label + Element>(
    engine: &Engine,
    labels: &View<L>,
    intensities: Option<&Intensities>,
    options: &MeasureOptions,
) -> trazar::Result<Measures> {
    let labels = labels.view();
    with_intensities!(
        intensities,
        view => engine.measure_intensities(labels, view.view(), options),
        None => engine.measure(labels, options)
    )
}

/// The options for properties by their names, and a spacing of rows and columns.
pub(crate) fn options(properties: &[String], spacing: (f64, f64)) -> PyResult<MeasureOptions> {
    let properties: Vec<Property> = properties
        .iter()
        .map(|name| name.parse().map_err(errors::from_library))
        .collect::<PyResult<_>>()?;
    Ok(MeasureOptions::default()
        .properties(properties)
        .spacing([spacing.0, spacing.1]))
}

/// The columns of these properties of labels: pairs of a name, such as `bbox-0`, and an array.
#[pyfunction]
pub(crate) fn measure<'py>(
    labels: &Bound<'py, PyAny>,
    intensities: Option<&Bound<'py, PyAny>>,
    properties: Vec<String>,
    spacing: (f64, f64),
    device: Device,
) -> PyResult<Bound<'py, PyList>> {
    let py = labels.py();
    let options = options(&properties, spacing)?;
    let labels = in_place(numpys(labels)?)?;
    let pixels = labels.len() as u64;
    let labels = Labels::of(&labels)?;
    let intensities = intensities_of(intensities)?;
    let measures = work::run(
        py,
        device.named_engine(py)?,
        pixels,
        move |engine: &Engine| {
            let intensities = intensities.as_ref();
            with_labels!(&labels, labels => run_labels(engine, labels, intensities, &options))
        },
    )?;
    columns(py, measures)
}

/// The columns of a table: pairs of a name and an array.
pub(crate) fn columns(py: Python<'_>, measures: Measures) -> PyResult<Bound<'_, PyList>> {
    let columns = measures.into_columns().into_iter().map(|column| {
        let (name, values) = Column::into_parts(column);
        let values = match values {
            Values::Integers(values) => values.into_pyarray(py).into_any(),
            Values::Floats(values) => values.into_pyarray(py).into_any(),
            _ => return Err(errors::input("a column of an unknown type")),
        };
        Ok((name, values))
    });
    let columns: Vec<_> = columns.collect::<PyResult<_>>()?;
    PyList::new(py, columns)
}

/// The sums of the labels in some rows of an image.
#[pyclass(frozen, module = "trazar._trazar")]
pub(crate) struct MeasurePart {
    part: library::MeasurePart,
}

/// The part of a band: of the rows `rows` of arrays that also have the rows beside it.
#[pyfunction]
pub(crate) fn measure_part(
    py: Python<'_>,
    labels: &Bound<'_, PyAny>,
    intensities: Option<&Bound<'_, PyAny>>,
    rows: (u32, u32),
    first_row: u32,
    properties: Vec<String>,
    spacing: (f64, f64),
) -> PyResult<MeasurePart> {
    let options = options(&properties, spacing)?;
    let labels = Labels::of(&in_place(numpys(labels)?)?)?;
    let intensities = intensities_of(intensities)?;
    let own = rows.0..rows.1;
    let part = detached(py, move || {
        let intensities = intensities.as_ref();
        with_labels!(&labels, labels => {
            part_of(labels, intensities, own, first_row, &options)
        })
    })?;
    Ok(MeasurePart { part })
}

fn part_of<L: Label + Element>(
    labels: &View<L>,
    intensities: Option<&Intensities>,
    own: Range<u32>,
    first_row: u32,
    options: &MeasureOptions,
) -> trazar::Result<library::MeasurePart> {
    let labels = labels.view();
    with_intensities!(
        intensities,
        view => {
            library::MeasurePart::of_intensities(labels, view.view(), own, first_row, options)
        },
        None => library::MeasurePart::of(labels, own, first_row, options)
    )
}

#[pymethods]
impl MeasurePart {
    #[getter]
    fn rows(&self) -> (u32, u32) {
        let rows = self.part.rows();
        (rows.start, rows.end)
    }

    fn __len__(&self) -> usize {
        self.part.len()
    }

    /// This part and the one below it as one.
    fn join(&self, py: Python<'_>, lower: &Self) -> PyResult<Self> {
        let part = detached(py, || {
            library::MeasurePart::join(self.part.try_clone()?, &lower.part)
        })?;
        Ok(Self { part })
    }

    /// The columns of the labels, as [`measure`] has them.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        columns(py, detached(py, || self.part.try_clone()?.finish())?)
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let part = detached(py, || library::MeasurePart::from_bytes(bytes))?;
        Ok(Self { part })
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let part = &this.get().part;
        let bytes = detached(this.py(), || part.to_bytes())?;
        reduced(this.get_type(), &bytes)
    }
}
