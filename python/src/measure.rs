//! Measures of label images in this machine's memory.

use numpy::ndarray::{ArrayView2, Ix2, RawArrayView};
use numpy::{
    Element, IntoPyArray, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::PyList;
use trazar::Engine;
use trazar::measure::{Column, Intensity, Label, MeasureOptions, Measures, Property, Values};

use crate::errors;
use crate::image::{in_place, numpys};
use crate::work;

/// The elements of an array of two dimensions. A job reads them without the GIL, perhaps after its
/// call has ended with an exception.
pub(crate) struct View<T> {
    elements: RawArrayView<T, Ix2>,
    _array: Py<PyArrayDyn<T>>,
}

// SAFETY: the elements stay where they are as long as the array lives, which is kept here. Nothing
// writes them during the call: the documentation requires so.
unsafe impl<T: Sync> Send for View<T> {}

impl<T: Element> View<T> {
    /// The elements of an array of `T`; `None` if it has others.
    pub(crate) fn of(array: &Bound<'_, PyUntypedArray>) -> PyResult<Option<Self>> {
        let Ok(array) = array.as_any().cast::<PyArrayDyn<T>>() else {
            return Ok(None);
        };
        let borrowed = array
            .try_readonly()
            .map_err(|error| errors::input(error.to_string()))?;
        let view = borrowed.as_array().into_dimensionality::<Ix2>();
        let view = view.map_err(|error| errors::input(error.to_string()))?;
        Ok(Some(Self {
            elements: view.raw_view(),
            _array: array.clone().unbind(),
        }))
    }

    pub(crate) fn view(&self) -> ArrayView2<'_, T> {
        // SAFETY: the array has these elements, aligned, as NumPy said of it; it is kept.
        unsafe { self.elements.deref_into_view() }
    }
}

/// Labels of any type that the library measures.
pub(crate) enum Labels {
    U8(View<u8>),
    U16(View<u16>),
    U32(View<u32>),
    I16(View<i16>),
    I32(View<i32>),
    I64(View<i64>),
}

impl Labels {
    pub(crate) fn of(array: &Bound<'_, PyUntypedArray>) -> PyResult<Self> {
        if let Some(view) = View::of(array)? {
            return Ok(Self::I32(view));
        }
        if let Some(view) = View::of(array)? {
            return Ok(Self::U32(view));
        }
        if let Some(view) = View::of(array)? {
            return Ok(Self::I64(view));
        }
        if let Some(view) = View::of(array)? {
            return Ok(Self::U16(view));
        }
        if let Some(view) = View::of(array)? {
            return Ok(Self::U8(view));
        }
        if let Some(view) = View::of(array)? {
            return Ok(Self::I16(view));
        }
        Err(refused("labels", "integers of up to 64 bits", array))
    }
}

/// Intensities of any type that the library sums up.
enum Intensities {
    U8(View<u8>),
    U16(View<u16>),
    U32(View<u32>),
    I16(View<i16>),
    I32(View<i32>),
    I64(View<i64>),
    F32(View<f32>),
    F64(View<f64>),
}

impl Intensities {
    pub(crate) fn of(array: &Bound<'_, PyUntypedArray>) -> PyResult<Self> {
        if let Some(view) = View::of(array)? {
            return Ok(Self::U8(view));
        }
        if let Some(view) = View::of(array)? {
            return Ok(Self::U16(view));
        }
        if let Some(view) = View::of(array)? {
            return Ok(Self::F32(view));
        }
        if let Some(view) = View::of(array)? {
            return Ok(Self::F64(view));
        }
        if let Some(view) = View::of(array)? {
            return Ok(Self::I32(view));
        }
        if let Some(view) = View::of(array)? {
            return Ok(Self::I64(view));
        }
        if let Some(view) = View::of(array)? {
            return Ok(Self::I16(view));
        }
        if let Some(view) = View::of(array)? {
            return Ok(Self::U32(view));
        }
        Err(refused("intensity_image", "real numbers", array))
    }
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
    let with = |engine| Intense {
        engine,
        labels,
        options,
    };
    match intensities {
        None => engine.measure(labels.view(), options),
        Some(Intensities::U8(view)) => with(engine).measure(view),
        Some(Intensities::U16(view)) => with(engine).measure(view),
        Some(Intensities::U32(view)) => with(engine).measure(view),
        Some(Intensities::I16(view)) => with(engine).measure(view),
        Some(Intensities::I32(view)) => with(engine).measure(view),
        Some(Intensities::I64(view)) => with(engine).measure(view),
        Some(Intensities::F32(view)) => with(engine).measure(view),
        Some(Intensities::F64(view)) => with(engine).measure(view),
    }
}

struct Intense<'a, L> {
    engine: &'a Engine,
    labels: &'a View<L>,
    options: &'a MeasureOptions,
}

impl<L: Label + Element> Intense<'_, L> {
    fn measure<I: Intensity + Element>(self, intensities: &View<I>) -> trazar::Result<Measures> {
        let (labels, intensities) = (self.labels.view(), intensities.view());
        self.engine
            .measure_intensities(labels, intensities, self.options)
    }
}

/// The columns of these properties of labels: pairs of a name, such as `bbox-0`, and an array.
#[pyfunction]
pub(crate) fn measure<'py>(
    labels: &Bound<'py, PyAny>,
    intensities: Option<&Bound<'py, PyAny>>,
    properties: Vec<String>,
    spacing: (f64, f64),
) -> PyResult<Bound<'py, PyList>> {
    let py = labels.py();
    let properties: Vec<Property> = properties
        .iter()
        .map(|name| name.parse().map_err(errors::from_library))
        .collect::<PyResult<_>>()?;
    let options = MeasureOptions::default()
        .properties(properties)
        .spacing([spacing.0, spacing.1]);
    let labels = in_place(numpys(labels)?)?;
    let pixels = labels.len() as u64;
    let labels = Labels::of(&labels)?;
    let intensities = match intensities {
        Some(array) => Some(Intensities::of(&in_place(numpys(array)?)?)?),
        None => None,
    };
    let measures = work::run(py, Engine::cpu(), pixels, move |engine| {
        let intensities = intensities.as_ref();
        match &labels {
            Labels::U8(labels) => run_labels(engine, labels, intensities, &options),
            Labels::U16(labels) => run_labels(engine, labels, intensities, &options),
            Labels::U32(labels) => run_labels(engine, labels, intensities, &options),
            Labels::I16(labels) => run_labels(engine, labels, intensities, &options),
            Labels::I32(labels) => run_labels(engine, labels, intensities, &options),
            Labels::I64(labels) => run_labels(engine, labels, intensities, &options),
        }
    })?;
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
