//! Masks as run lengths, for `trazar.rle`.

use std::iter::repeat_n;

use numpy::ndarray::{Axis, Ix1, Ix3};
use numpy::{PyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use rayon::prelude::*;
use trazar::Engine;
use trazar::rle::{Merge, Rle, decode, encode_labels, iou_of_all, merge};

use crate::arrays::{collect, owned, python_bytes, reserve};
use crate::errors;
use crate::image::{self, in_place, numpys};
use crate::measure::{Labels, with_labels};
use crate::view::View;
use crate::work::{self, in_pool};

/// A mask from Python: its height, its width and its counts, compressed or not.
pub(crate) struct Given(Rle);

impl<'py> FromPyObject<'_, 'py> for Given {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (height, width, counts) = object.extract::<(u32, u32, Bound<'py, PyAny>)>()?;
        let mask = if let Ok(bytes) = counts.cast::<PyBytes>() {
            Rle::from_text(height, width, bytes.as_bytes())
        } else if let Ok(text) = counts.cast::<PyString>() {
            Rle::from_text(height, width, text.to_cow()?.as_bytes())
        } else {
            let counts: Vec<u32> = counts.extract().map_err(|_| {
                errors::input("counts are bytes, or a list of integers from 0 to 4294967295")
            })?;
            Rle::new(height, width, counts)
        };
        mask.map(Self).map_err(errors::from_library)
    }
}

/// Compressed masks as Python's objects.
pub(crate) fn texts<'py, T: AsRef<[u8]>>(
    py: Python<'py>,
    masks: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let masks = masks.into_iter();
    let mut all = Vec::new();
    reserve(&mut all, masks.len(), "masks").map_err(errors::from_library)?;
    for mask in masks {
        all.push(python_bytes(py, mask.as_ref())?);
    }
    Ok(all)
}

/// The masks as the library takes them.
fn plain(masks: Vec<Given>) -> PyResult<Vec<Rle>> {
    let masks = masks.into_iter().map(|Given(mask)| mask);
    collect(masks, "masks").map_err(errors::from_library)
}

/// Encodes the masks of an array of shape (N, H, W), compressed.
#[pyfunction]
pub(crate) fn rle_encode<'py>(masks: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let py = masks.py();
    let array = numpys(masks)?;
    let size = array.len() as u64;
    if size == 0 {
        // Without pixels there is one count of 0.
        let mask = Rle::new(0, 0, vec![0]).and_then(|mask| mask.to_text());
        let mask = mask.map_err(errors::from_library)?;
        return texts(py, repeat_n(&mask, array.shape()[0]));
    }
    let masks: Vec<Vec<u8>> = if let Some(bytes) = image::bytes(&array)? {
        // Masks as pycocotools takes them are encoded in place.
        let bytes: View<u8, Ix3> = View::new(&bytes)?;
        work::run(py, Engine::cpu(), size, move |_| {
            let bytes = bytes.view();
            let each = (0..bytes.len_of(Axis(0))).into_par_iter();
            each.map(|i| Rle::from_samples(bytes.index_axis(Axis(0), i), 0)?.to_text())
                .collect::<trazar::Result<_>>()
        })?
    } else {
        let input = image::read(&array, None, true, true, 0)?;
        work::run(py, Engine::cpu(), size, move |_| {
            let each = input.images.par_iter();
            each.map(|image| Rle::from_image(image)?.to_text())
                .collect::<trazar::Result<_>>()
        })?
    };
    texts(py, masks)
}

/// The labels of an image, and the mask of each, compressed.
pub(crate) type LabelMasks<'py> = (Bound<'py, PyArray1<i64>>, Vec<Bound<'py, PyBytes>>);

/// Encodes the mask of each label.
#[pyfunction]
pub(crate) fn rle_encode_labels<'py>(labels: &Bound<'py, PyAny>) -> PyResult<LabelMasks<'py>> {
    let py = labels.py();
    let array = in_place(numpys(labels)?)?;
    let size = array.len() as u64;
    let labels = Labels::of(&array)?;
    let (labels, masks) = work::run(py, Engine::cpu(), size, move |_| {
        let found = with_labels!(&labels, labels => encode_labels(labels.view()))?;
        let masks = found.par_iter().map(|(_, mask)| mask.to_text());
        let masks: Vec<_> = masks.collect::<trazar::Result<_>>()?;
        let labels = collect(found.iter().map(|&(label, _)| label), "labels")?;
        Ok((labels, masks))
    })?;
    Ok((owned(py, Ix1(labels.len()), labels)?, texts(py, masks)?))
}

/// The pixels of masks of one size, column by column and mask by mask.
#[pyfunction]
pub(crate) fn rle_decode(py: Python<'_>, masks: Vec<Given>) -> PyResult<Bound<'_, PyArray1<u8>>> {
    let masks = plain(masks)?;
    let pixels = py.detach(|| in_pool(|| decode(&masks)));
    let pixels = pixels.map_err(errors::from_library)?;
    owned(py, Ix1(pixels.len()), pixels)
}

/// The masks' numbers of foreground pixels.
#[pyfunction]
pub(crate) fn rle_area(masks: Vec<Given>) -> Vec<u64> {
    masks.iter().map(|Given(mask)| mask.area()).collect()
}

/// The masks' boxes: x, y, width and height.
#[pyfunction]
pub(crate) fn rle_to_bbox(masks: Vec<Given>) -> Vec<[u32; 4]> {
    let masks = masks.iter();
    masks.map(|Given(mask)| mask.bounding_box()).collect()
}

/// The overlap of each mask of `found` with each of `truth`, in the order of `found` within that of
/// `truth`; -1 for masks of different sizes whose boxes overlap.
#[pyfunction]
pub(crate) fn rle_iou(
    py: Python<'_>,
    found: Vec<Given>,
    truth: Vec<Given>,
    is_crowd: Vec<bool>,
) -> PyResult<Bound<'_, PyArray1<f64>>> {
    let (found, truth) = (plain(found)?, plain(truth)?);
    let all = py.detach(|| {
        let all = in_pool(|| iou_of_all(&found, &truth, &is_crowd))?;
        let all = all.into_iter().map(|overlap| overlap.unwrap_or(-1.0));
        collect(all, "the overlaps of masks")
    });
    let all = all.map_err(errors::from_library)?;
    owned(py, Ix1(all.len()), all)
}

/// The union or the intersection of masks: height, width and compressed counts.
#[pyfunction]
pub(crate) fn rle_merge(
    py: Python<'_>,
    masks: Vec<Given>,
    intersect: bool,
) -> PyResult<(u32, u32, Bound<'_, PyBytes>)> {
    let masks = plain(masks)?;
    let how = match intersect {
        true => Merge::Intersection,
        false => Merge::Union,
    };
    let merged = py.detach(|| {
        let merged = merge(&masks, how)?;
        Ok((merged.height(), merged.width(), merged.to_text()?))
    });
    let (height, width, text) = merged.map_err(errors::from_library)?;
    Ok((height, width, python_bytes(py, &text)?))
}
