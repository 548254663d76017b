//! Bands of an image in a GPU's memory.
//!
//! Between tasks of `trazar.dask` the bits of a band are on the host, where they take 1/8 byte per
//! pixel and can be pickled.

use pyo3::prelude::*;
use trazar::DeviceImage;

use super::array::{DeviceArray, Kind};
use super::input::Input;
use super::place::{Library, place};
use crate::errors;
use crate::labels::options;
use crate::parts::{BandNumbers, Mask};

/// [`pack`](crate::parts::pack) of an array in a GPU's memory. Waits for it.
#[pyfunction]
pub(crate) fn device_pack(image: &Bound<'_, PyAny>) -> PyResult<Mask> {
    let input = Input::new(image, None, false)?;
    let packed = input.pack();
    let packed = image.py().detach(|| packed?.to_host());
    // Before returning an error too: the queued work may still read the array.
    let finished = input.finish();
    let mask = Mask::new(packed.map_err(errors::from_library)?);
    finished?;
    Ok(mask)
}

/// The labels of a band, with its final numbers, on CuPy's current device and stream. They have 32
/// bits: signed, or unsigned with `wide`.
#[pyfunction]
pub(crate) fn device_label_band(
    py: Python<'_>,
    numbers: &BandNumbers,
    mask: &Mask,
    connectivity: u32,
    wide: bool,
) -> PyResult<DeviceArray> {
    if !wide {
        numbers.check_narrow()?;
    }
    let options = options(connectivity, None, false)?.components;
    let place = place(py, Library::Cupy, Library::cupy_device(py)?)?;
    let band = mask.image();
    let labels = py.detach(|| {
        let labeler = &place.labeler;
        let image = DeviceImage::upload(labeler.gpu(), band)?;
        let found = labeler.label_band(&image, numbers.numbers(), options.connectivity)?;
        Ok(found.into_labels_and_count().0)
    });
    let labels = labels.map_err(errors::from_library)?;
    let shape = vec![band.height() as usize, band.width() as usize];
    Ok(DeviceArray::owning(labels, Kind::Int32, shape))
}
