//! Vectors as NumPy arrays that own them, without a copy.

use std::ffi::c_int;

use numpy::ndarray::{Array, Dimension, ShapeBuilder, StrideShape};
use numpy::npyffi::{self, NPY_ARRAY_WRITEABLE, PY_ARRAY_API, npy_intp};
use numpy::{Element, PyArray, PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use trazar::Error;

use crate::errors;
use crate::work;

/// Makes room for `additional` more values.
pub(crate) fn reserve<T>(
    vec: &mut Vec<T>,
    additional: usize,
    what: &'static str,
) -> trazar::Result<()> {
    vec.try_reserve(additional).map_err(|_| {
        let len = vec.len().saturating_add(additional) as u64;
        Error::out_of_memory(what, len.saturating_mul(size_of::<T>() as u64))
    })
}

/// A vector of `values`.
pub(crate) fn collect<T>(
    values: impl IntoIterator<Item = T>,
    what: &'static str,
) -> trazar::Result<Vec<T>> {
    let values = values.into_iter();
    let mut vec = Vec::new();
    reserve(&mut vec, values.size_hint().0, what)?;
    for value in values {
        if vec.len() == vec.capacity() {
            reserve(&mut vec, 1, what)?;
        }
        vec.push(value);
    }
    Ok(vec)
}

/// Python's own copy of `bytes`.
pub(crate) fn python_bytes<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, bytes.len(), |copy| {
        copy.copy_from_slice(bytes);
        Ok(())
    })
}

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
    let len = coordinates.len();
    let mut views = Vec::new();
    let count = offsets.len().saturating_sub(1);
    reserve(&mut views, count, "the arrays of contours").map_err(errors::from_library)?;
    for (index, range) in offsets.windows(2).enumerate() {
        if index.is_multiple_of(work::OBJECTS) {
            py.check_signals()?;
        }
        let [begin, end] = [range[0], range[1]];
        assert!(begin <= end && 2 * end <= len);
        let mut shape: [npy_intp; 3] = [(end - begin) as npy_intp, 1, 2];
        // SAFETY: the elements from `2 * begin` to before `2 * end` are in `coordinates`, an array
        // of its own memory.
        let view = unsafe { view(coordinates, 2 * begin, &mut shape)? };
        views.push(view);
    }
    tuple(py, views)
}

/// A writable view of the rows from `begin` to before `end` of an array of shape (1, n, 4), of
/// shape (1, end - begin, 4).
pub(crate) fn hierarchy_view<'py>(
    rows: &Bound<'py, PyArray<i32, numpy::ndarray::Ix3>>,
    begin: usize,
    end: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let mut shape: [npy_intp; 3] = [1, (end - begin) as npy_intp, 4];
    assert!(begin <= end && end <= rows.dims()[1]);
    // SAFETY: the elements from `4 * begin` to before `4 * end` are in `rows`, whose rows are one
    // after the other.
    unsafe { view(rows, 4 * begin, &mut shape) }
}

/// A writable array of this shape of an array's elements from `begin` on, in C's order. It keeps
/// the array as its base.
///
/// # Safety
/// The array has these elements, one after the other.
unsafe fn view<'py, D: Dimension>(
    array: &Bound<'py, PyArray<i32, D>>,
    begin: usize,
    shape: &mut [npy_intp],
) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    // SAFETY: the caller's promise. NumPy takes over the references to the type and to the base.
    unsafe {
        let view = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            npyffi::get_type_object(py, npyffi::NpyTypes::PyArray_Type),
            numpy::dtype::<i32>(py).into_ptr().cast(),
            shape.len() as c_int,
            shape.as_mut_ptr(),
            std::ptr::null_mut(),
            array.data().add(begin).cast(),
            NPY_ARRAY_WRITEABLE,
            std::ptr::null_mut(),
        );
        let view = Bound::from_owned_ptr_or_err(py, view)?;
        let base = array.clone().into_ptr();
        if PY_ARRAY_API.PyArray_SetBaseObject(py, view.as_ptr().cast(), base) != 0 {
            return Err(PyErr::fetch(py));
        }
        Ok(view)
    }
}

/// A tuple of `items`. PyO3's own function panics when out of memory.
fn tuple<'py, T>(py: Python<'py>, items: Vec<Bound<'py, T>>) -> PyResult<Bound<'py, PyTuple>> {
    let len = items.len() as ffi::Py_ssize_t;
    // SAFETY: a new reference, or null with an exception.
    let tuple = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyTuple_New(len))? };
    for (index, item) in (0..).zip(items) {
        // SAFETY: nobody else has the new tuple, and its place `index` is empty. It takes over the
        // reference.
        if unsafe { ffi::PyTuple_SetItem(tuple.as_ptr(), index, item.into_ptr()) } != 0 {
            return Err(PyErr::fetch(py));
        }
    }
    Ok(tuple.cast_into()?)
}
