//! Vectors as NumPy arrays that own them: nothing is copied.

use std::ffi::c_int;

use numpy::ndarray::{Array, Dimension, ShapeBuilder, StrideShape};
use numpy::npyffi::{self, NPY_ARRAY_WRITEABLE, PY_ARRAY_API, npy_intp};
use numpy::{Element, PyArray, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors;

/// An array of this shape that owns `values`.
pub(crate) fn owned<T: Element, D: Dimension>(
    py: Python<'_>,
    shape: impl Into<StrideShape<D>>,
    values: Vec<T>,
) -> PyResult<Bound<'_, PyArray<T, D>>> {
    let array = Array::from_shape_vec(shape, values);
    let array = array.map_err(|error| errors::input(error.to_string()))?;
    Ok(PyArray::from_owned_array(py, array))
}

/// A read-only array of `values`, which `owner` owns.
///
/// # Safety
/// The values stay where they are as long as `owner` lives, and nothing writes them.
pub(crate) unsafe fn borrowed<'py, T: Element, D: Dimension>(
    owner: Bound<'py, PyAny>,
    shape: impl ShapeBuilder<Dim = D>,
    values: &[T],
) -> PyResult<Bound<'py, PyArray<T, D>>> {
    let view = numpy::ndarray::ArrayView::from_shape(shape, values);
    let view = view.map_err(|error| errors::input(error.to_string()))?;
    // SAFETY: the caller's promise; the array becomes read-only before anyone else has it.
    let array = unsafe { PyArray::borrow_from_array(&view, owner) };
    array.readwrite().make_nonwriteable();
    Ok(array)
}

/// One writable array of shape (n, 1, 2) per contour, as OpenCV returns them: views of
/// `coordinates`, the x and y of all points. `offsets` counts points, as in
/// [`Contours`](trazar::Contours).
pub(crate) fn contour_views<'py>(
    coordinates: &Bound<'py, PyArray1<i32>>,
    offsets: &[usize],
) -> PyResult<Bound<'py, PyTuple>> {
    let py = coordinates.py();
    let dtype = numpy::dtype::<i32>(py);
    let (start, len) = (coordinates.data(), coordinates.len()?);
    let mut views = Vec::with_capacity(offsets.len().saturating_sub(1));
    for range in offsets.windows(2) {
        let [begin, end] = [range[0], range[1]];
        assert!(begin <= end && 2 * end <= len);
        let mut shape: [npy_intp; 3] = [(end - begin) as npy_intp, 1, 2];
        // SAFETY: the elements from `2 * begin` to before `2 * end` are in `coordinates`, which
        // each view keeps as its base. NumPy takes over the references to the type and to the base.
        let view = unsafe {
            let view = PY_ARRAY_API.PyArray_NewFromDescr(
                py,
                npyffi::get_type_object(py, npyffi::NpyTypes::PyArray_Type),
                dtype.clone().into_ptr().cast(),
                shape.len() as c_int,
                shape.as_mut_ptr(),
                std::ptr::null_mut(),
                start.add(2 * begin).cast(),
                NPY_ARRAY_WRITEABLE,
                std::ptr::null_mut(),
            );
            let view = Bound::from_owned_ptr_or_err(py, view)?;
            let base = coordinates.clone().into_ptr();
            if PY_ARRAY_API.PyArray_SetBaseObject(py, view.as_ptr().cast(), base) != 0 {
                return Err(PyErr::fetch(py));
            }
            view
        };
        views.push(view);
    }
    PyTuple::new(py, views)
}
