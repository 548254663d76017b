//! Measures of label images in this machine's memory.

use numpy::{Element, IntoPyArray, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyList;
use trazar::Engine;
use trazar::measure::{Column, Label, MeasureOptions, Measures, Property, Values};

use crate::engine::Device;
use crate::errors;
use crate::image::{in_place, numpys};
use crate::view::View;
use crate::work;

/// Arrays of any of some types of elements.
macro_rules! views {
    ($(#[$doc:meta])* $name:ident, $argument:literal, $needed:literal: $($variant:ident($type:ty))*) => {
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
    macro_rules! with_each {
        ($($variant:ident)*) => {
            match intensities {
                None => engine.measure(labels, options),
                $(Some(Intensities::$variant(view)) => {
                    engine.measure_intensities(labels, view.view(), options)
                })*
            }
        };
    }
    with_each! { U8 U16 U32 I16 I32 I64 F32 F64 }
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
    let intensities = match intensities {
        Some(array) => Some(Intensities::of(&in_place(numpys(array)?)?)?),
        None => None,
    };
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

/// A table's columns: pairs of a name and an array.
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
