//! Small regions replaced by their largest neighbours.

use numpy::ndarray::Ix2;
use numpy::{Element, PyArray2, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use trazar::{BinaryImage, Connectivity, Engine, PixelValue, ValueImage};

use crate::arrays::owned;
use crate::errors;
use crate::image::{self, in_place, numpys};
use crate::regions::neighbours;
use crate::view::View;
use crate::work;

/// The array with small regions replaced; `None` if its elements are not of type `T`.
fn sieve_of<'py, T: PixelValue + Element>(
    array: &Bound<'py, PyUntypedArray>,
    size: u64,
    mask: Option<&BinaryImage>,
    connectivity: Connectivity,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(view) = View::<T>::of(array)? else {
        return Ok(None);
    };
    let (py, shape) = (array.py(), [array.shape()[0], array.shape()[1]]);
    let mask = mask.cloned();
    let sieved = work::run(py, Engine::cpu(), array.len() as u64, move |engine| {
        let mut image = ValueImage::new(view.view())?;
        if let Some(mask) = &mask {
            image = image.mask(mask)?;
        }
        engine.sieve(&image, size, connectivity)
    })?;
    let sieved: Bound<'py, PyArray2<T>> = owned(py, Ix2(shape[0], shape[1]), sieved)?;
    Ok(Some(sieved.into_any()))
}

/// The array, of shape (H, W), with regions of fewer than `size` pixels replaced. Pixels where the
/// mask is false are left as they are.
#[pyfunction]
pub(crate) fn sieve<'py>(
    source: &Bound<'py, PyAny>,
    size: u64,
    mask: Option<&Bound<'py, PyAny>>,
    connectivity: u32,
) -> PyResult<Bound<'py, PyAny>> {
    let array = in_place(numpys(source)?)?;
    let mask = image::mask(mask)?;
    let connectivity = neighbours(connectivity);
    let mask = mask.as_ref();
    macro_rules! first_of {
        ($($type:ty)*) => {$(
            if let Some(sieved) = sieve_of::<$type>(&array, size, mask, connectivity)? {
                return Ok(sieved);
            }
        )*};
    }
    first_of! { u8 i16 u16 i32 u32 i64 f32 }
    Err(errors::input(format!(
        "source of {}: the elements are uint8, uint16, uint32, int16, int32, int64 or float32",
        array.dtype()
    )))
}
