//! Labels of bands of rows of an array of values: what `trazar.dask.label_values` passes to its
//! workers.

use numpy::ndarray::Ix2;
use numpy::{Element, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use trazar::{Connectivity, Engine, PixelValue, label};

use crate::arrays::owned;
use crate::engine::Device;
use crate::parts::{BandNumbers, LabelPart, detached};
use crate::regions::{Counted, neighbours, on_values};
use crate::view::View;

/// The part of a band of values, whose first row is the array's row `first_row`.
#[pyfunction]
pub(crate) fn label_values_part(
    array: &Bound<'_, PyAny>,
    mask: Option<&Bound<'_, PyAny>>,
    first_row: u32,
    background: &Bound<'_, PyAny>,
    connectivity: u32,
    device: Device,
) -> PyResult<LabelPart> {
    fn of<T: PixelValue + Element>(
        array: &Bound<'_, PyArray2<T>>,
        mask: Option<&Bound<'_, PyAny>>,
        first_row: u32,
        background: &Bound<'_, PyAny>,
        connectivity: Connectivity,
        engine: Engine,
    ) -> PyResult<label::LabelPart> {
        let counted = Counted::new(background, mask)?;
        let view = View::new(array.to_dyn())?;
        detached(array.py(), move || {
            let band = counted.image(view.view())?;
            engine.label_values_part(&band, first_row, connectivity)
        })
    }
    let engine = device.named_engine(array.py())?;
    let connectivity = neighbours(connectivity);
    let part = on_values!(array, of(mask, first_row, background, connectivity, engine))?;
    Ok(LabelPart::new(part))
}

/// Labels the band of values that `numbers` are of: int32 or, with `wide`, int64.
#[pyfunction]
pub(crate) fn label_values_band<'py>(
    numbers: &BandNumbers,
    array: &Bound<'py, PyAny>,
    mask: Option<&Bound<'py, PyAny>>,
    background: &Bound<'py, PyAny>,
    connectivity: u32,
    wide: bool,
    device: Device,
) -> PyResult<Bound<'py, PyAny>> {
    fn of<'py, T: PixelValue + Element>(
        array: &Bound<'py, PyArray2<T>>,
        mask: Option<&Bound<'py, PyAny>>,
        background: &Bound<'py, PyAny>,
        connectivity: Connectivity,
        engine: Engine,
        (numbers, wide): (&BandNumbers, bool),
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, shape) = (array.py(), array.dims());
        let shape = Ix2(shape[0], shape[1]);
        let counted = Counted::new(background, mask)?;
        let view = View::new(array.to_dyn())?;
        let numbers = numbers.numbers();
        if wide {
            let labels = detached(py, move || {
                let band = counted.image(view.view())?;
                engine.label_values_band::<u64, T>(&band, numbers, connectivity)
            })?;
            let labels: Vec<i64> = bytemuck::allocation::cast_vec(labels);
            return Ok(owned(py, shape, labels)?.into_any());
        }
        let labels = detached(py, move || {
            let band = counted.image(view.view())?;
            engine.label_values_band::<u32, T>(&band, numbers, connectivity)
        })?;
        let labels: Vec<i32> = bytemuck::allocation::cast_vec(labels);
        Ok(owned(py, shape, labels)?.into_any())
    }
    if !wide {
        numbers.check_narrow()?;
    }
    let engine = device.named_engine(array.py())?;
    let connectivity = neighbours(connectivity);
    on_values!(
        array,
        of(mask, background, connectivity, engine, (numbers, wide))
    )
}
