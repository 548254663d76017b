//! Labels in a GPU's memory.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use trazar::cuda::{DeviceBuffer, Queue};
use trazar::{Component, DeviceBytes, DeviceLabels};

use super::array::{DeviceArray, Kind};
use super::input::Input;
use crate::arguments::Name;
use crate::errors;
use crate::labels::{columns, options};

/// The result of a call: labels, numbers of components, and the measures of each image.
type Labelled = (DeviceBuffer<u32>, DeviceBuffer<u32>, Vec<Vec<Component>>);

/// [`label`](crate::labels::label) of an array in a GPU's memory. Labels and counts stay there;
/// measures are on the host, which waits for them.
#[pyfunction]
pub(crate) fn device_label<'py>(
    image: &Bound<'py, PyAny>,
    connectivity: u32,
    algorithm: Option<Name>,
    statistics: bool,
    threshold: Option<&Bound<'py, PyAny>>,
) -> PyResult<(DeviceArray, DeviceArray, Option<Bound<'py, PyDict>>)> {
    let py = image.py();
    let options = options(connectivity, algorithm.as_ref(), statistics)?;
    let input = Input::new(image, threshold)?;
    let (width, height) = (input.width as usize, input.height as usize);
    let labeler = &input.place.labeler;
    let parts = |labels: DeviceLabels<Queue>| -> Labelled {
        let components = labels.components().map(<[Component]>::to_vec);
        let (labels, count) = labels.into_labels_and_count();
        (labels, count, components.into_iter().collect())
    };
    let single = |packed: trazar::Result<_>| -> trazar::Result<Labelled> {
        Ok(parts(labeler.label(&packed?, &options)?))
    };
    let labelled = match input.images {
        None => match input.buffer().map_err(errors::from_library)? {
            Some(values) => {
                let (width, height, threshold) = (input.width, input.height, input.threshold());
                py.detach(|| {
                    let bytes = DeviceBytes::new(width, height, &values, threshold)?;
                    Ok(parts(labeler.label_bytes(&bytes, &options)?.1))
                })
            }
            None => {
                let packed = input.pack();
                py.detach(|| single(packed))
            }
        },
        Some(images) => {
            // All are packed first: `input` needs the GIL.
            let packed: Vec<_> = (0..images).map(|index| input.pack_one(index)).collect();
            let pixels = width * height;
            let stream = &input.place.stream;
            py.detach(|| {
                let mut all = stream.alloc::<u32>(pixels * images as usize)?;
                let mut counts = stream.alloc::<u32>(images as usize)?;
                let mut measured = Vec::new();
                for (index, packed) in packed.into_iter().enumerate() {
                    let (labels, count, components) = single(packed)?;
                    all.copy_from(index * pixels, &labels, 0..pixels)?;
                    counts.copy_from(index, &count, 0..1)?;
                    measured.extend(components);
                }
                Ok((all, counts, measured))
            })
        }
    };
    let images = input.images;
    // Before returning an error too: the queued work may still read the array.
    let finished = input.finish();
    let (labels, counts, measured) = labelled.map_err(errors::from_library)?;
    finished?;
    let (shape, of_counts) = match images {
        None => (vec![height, width], vec![]),
        Some(images) => (vec![images as usize, height, width], vec![images as usize]),
    };
    let columns = statistics.then(|| {
        let measured: Vec<&[Component]> = measured.iter().map(Vec::as_slice).collect();
        columns(py, &measured, images.is_some())
    });
    let columns = columns.transpose()?;
    Ok((
        DeviceArray::owning(labels, Kind::Int32, shape),
        DeviceArray::owning(counts, Kind::Int32, of_counts),
        columns,
    ))
}
