//! Labels in a GPU's memory.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use trazar::cuda::{DeviceBuffer, Queue, Stream};
use trazar::{
    Component, DeviceBytes, DeviceImage, DeviceLabelBatch, DeviceLabeler, DeviceLabels,
    LabelOptions,
};

use super::array::{DeviceArray, Kind};
use super::input::{Input, is_aligned};
use super::output;
use crate::arguments::Name;
use crate::errors;
use crate::labels::{checked, columns, options};

/// The result of a call: labels, unless an array was given for them; the number of components and
/// the measures of each image.
struct Labelled {
    labels: Option<DeviceBuffer<u32>>,
    counts: Vec<u32>,
    measured: Vec<Vec<Component>>,
}

impl Labelled {
    /// The labels of one image. Waits for the number of components.
    fn one(found: DeviceLabels<Queue>) -> trazar::Result<Self> {
        let counts = vec![found.count()?];
        let measured = found.components().map(<[Component]>::to_vec);
        Ok(Self {
            labels: Some(found.into_labels()),
            counts,
            measured: measured.into_iter().collect(),
        })
    }

    /// The labels of a batch. Waits once for the numbers of components of all images.
    fn batch(found: DeviceLabelBatch<Queue>) -> trazar::Result<Self> {
        let counts = found.counts()?.to_vec();
        let mut measured = Vec::new();
        if let Some(mut rest) = found.components() {
            for &count in &counts {
                let (own, after) = rest.split_at(count as usize);
                measured.push(own.to_vec());
                rest = after;
            }
        }
        Ok(Self {
            labels: Some(found.into_labels()),
            counts,
            measured,
        })
    }
}

/// What Python gets: labels, counts, and columns of measures.
type InPython<'py> = (Option<DeviceArray>, Vec<u32>, Option<Bound<'py, PyDict>>);

/// [`label`](crate::labels::label) of an array in a GPU's memory, where the labels stay. Counts and
/// measures are on the host, which waits for them. `None` stands for labels that were written to
/// `output`.
#[pyfunction]
#[pyo3(signature = (
    images, batch, connectivity, algorithm, statistics, threshold, output=None
))]
pub(crate) fn device_label<'py>(
    images: &Bound<'py, PyAny>,
    batch: bool,
    connectivity: u32,
    algorithm: Option<Name>,
    statistics: bool,
    threshold: Option<&Bound<'py, PyAny>>,
    output: Option<&Bound<'py, PyAny>>,
) -> PyResult<InPython<'py>> {
    let py = images.py();
    let options = options(connectivity, algorithm.as_ref(), statistics)?;
    let input = Input::new(images, threshold, batch)?;
    let (width, height) = (input.width as usize, input.height as usize);
    let labeler = &input.place.labeler;
    let output = output.map(|output| {
        let shape = [height, width];
        output::buffer(output, &input.place, input.library(), shape)
    });
    let output = output.transpose()?.flatten();
    let labelled = match (input.images, output) {
        (None, Some(output)) => {
            let packed = input.pack();
            py.detach(|| label_into(labeler, &packed?, &options, output))
        }
        (None, None) => match input.buffer().map_err(errors::from_library)? {
            Some(values) => {
                let (width, height, threshold) = (input.width, input.height, input.threshold());
                py.detach(|| {
                    let bytes = DeviceBytes::new(width, height, &values, threshold)?;
                    Labelled::one(labeler.label_bytes(&bytes, &options)?.1)
                })
            }
            None => {
                let packed = input.pack();
                py.detach(|| Labelled::one(labeler.label(&packed?, &options)?))
            }
        },
        (Some(images), _) if images == 0 || width * height >= MOST_PIXELS => {
            // All are packed first: `input` needs the GIL.
            let packed: Vec<_> = (0..images).map(|index| input.pack_one(index)).collect();
            let stream = &input.place.stream;
            py.detach(|| label_one_by_one(labeler, stream, packed, width * height, &options))
        }
        (Some(_), _) => {
            let packed = input.pack_batch();
            py.detach(|| Labelled::batch(labeler.label_batch(&packed?, &options)?))
        }
    };
    // Before returning an error too: the queued work may still read the array.
    let finished = input.finish();
    let Labelled {
        labels,
        counts,
        measured,
    } = labelled.map_err(errors::from_library)?;
    finished?;
    for &count in &counts {
        checked(count).map_err(errors::from_library)?;
    }
    let columns = statistics.then(|| {
        let measured: Vec<&[Component]> = measured.iter().map(Vec::as_slice).collect();
        columns(py, &measured, batch)
    });
    let shape = match batch {
        false => vec![height, width],
        true => vec![counts.len(), height, width],
    };
    let labels = labels.map(|labels| DeviceArray::owning(labels, Kind::Int32, shape));
    Ok((labels, counts, columns.transpose()?))
}

/// Images of as many pixels are labelled in bands, and so neither in a given array nor with others.
const MOST_PIXELS: usize = 1 << 31;

/// Labels no image, or images of a size that is labelled in bands, one after the other.
fn label_one_by_one(
    labeler: &DeviceLabeler<Queue>,
    stream: &Stream,
    images: Vec<trazar::Result<DeviceImage<Queue>>>,
    pixels: usize,
    options: &LabelOptions,
) -> trazar::Result<Labelled> {
    let mut all = stream.alloc::<u32>(pixels.saturating_mul(images.len()))?;
    let mut counts = stream.alloc::<u32>(images.len())?;
    let mut measured = Vec::new();
    for (index, image) in images.into_iter().enumerate() {
        let found = labeler.label(&image?, options)?;
        measured.extend(found.components().map(<[Component]>::to_vec));
        let (labels, count) = found.into_labels_and_count();
        all.copy_from(index * pixels, &labels, 0..pixels)?;
        counts.copy_from(index, &count, 0..1)?;
    }
    Ok(Labelled {
        labels: Some(all),
        counts: counts.to_vec()?,
        measured,
    })
}

/// Labels an image into `output`: in place where kernels can write to it, else by a copy.
fn label_into(
    labeler: &DeviceLabeler<Queue>,
    image: &DeviceImage<Queue>,
    options: &LabelOptions,
    mut output: DeviceBuffer<u32>,
) -> trazar::Result<Labelled> {
    let in_place = is_aligned(output.as_ptr().addr() as u64);
    let pixels = image.width() as usize * image.height() as usize;
    let found = if in_place && pixels < MOST_PIXELS {
        Labelled::one(labeler.label_into(image, options, output)?)?
    } else {
        let found = labeler.label(image, options)?;
        output.copy_from(0, found.labels(), 0..found.labels().len())?;
        Labelled::one(found)?
    };
    Ok(Labelled {
        labels: None,
        ..found
    })
}
