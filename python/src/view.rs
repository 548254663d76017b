//! Arrays whose elements a job reads in place.

use numpy::ndarray::{ArrayView, Dimension, Ix2, RawArrayView};
use numpy::{Element, PyArrayDyn, PyArrayMethods, PyUntypedArray};
use pyo3::prelude::*;

use crate::errors;

/// The elements of an array of `D` dimensions, of two by default. A job reads them without the GIL,
/// perhaps after its call has ended with an exception.
pub(crate) struct View<T, D = Ix2> {
    elements: RawArrayView<T, D>,
    _array: Py<PyArrayDyn<T>>,
}

// SAFETY: the elements stay where they are as long as the array lives, which is kept here. As for
// NumPy's own functions without the GIL, nothing writes them during the call: the documentation
// requires so.
unsafe impl<T: Sync, D: Send> Send for View<T, D> {}

impl<T: Element, D: Dimension> View<T, D> {
    pub(crate) fn new(array: &Bound<'_, PyArrayDyn<T>>) -> PyResult<Self> {
        let borrowed = array
            .try_readonly()
            .map_err(|error| errors::input(error.to_string()))?;
        let view = borrowed.as_array().into_dimensionality::<D>();
        let view = view.map_err(|error| errors::input(error.to_string()))?;
        Ok(Self {
            elements: view.raw_view(),
            _array: array.clone().unbind(),
        })
    }

    /// The elements of an array of `T`; `None` if it has others.
    pub(crate) fn of(array: &Bound<'_, PyUntypedArray>) -> PyResult<Option<Self>> {
        let array = array.as_any().cast::<PyArrayDyn<T>>();
        array.ok().map(Self::new).transpose()
    }

    pub(crate) fn view(&self) -> ArrayView<'_, T, D> {
        // SAFETY: the array has these elements, aligned, as NumPy said of it; it is kept.
        unsafe { self.elements.clone().deref_into_view() }
    }
}
