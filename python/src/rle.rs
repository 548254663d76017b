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

/// Height, width and compressed counts.
pub(crate) type Text<'py> = (u32, u32, Bound<'py, PyBytes>);

/// Compressed masks of this height and width.
pub(crate) fn texts<'py, T: AsRef<[u8]>>(
    py: Python<'py>,
    [height, width]: [u32; 2],
    masks: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
) -> PyResult<Vec<Text<'py>>> {
    let masks = masks.into_iter();
    let mut all = Vec::new();
    reserve(&mut all, masks.len(), "masks").map_err(errors::from_library)?;
    for mask in masks {
        all.push((height, width, python_bytes(py, mask.as_ref())?));
    }
    Ok(all)
}

/// The masks as the library takes them.
fn plain(masks: Vec<Given>) -> PyResult<Vec<Rle>> {
    let masks = masks.into_iter().map(|Given(mask)| mask);
    collect(masks, "masks").map_err(errors::from_library)
}

/// Encodes the masks of an array of shape (N, H, W).
#[pyfunction]
pub(crate) fn rle_encode<'py>(masks: &Bound<'py, PyAny>) -> PyResult<Vec<Text<'py>>> {
    let py = masks.py();
    let array = numpys(masks)?;
    let (size, [count, height, width]) = (array.len() as u64, sides(array.shape())?);
    if size == 0 {
        // Without pixels there is one count of 0.
        let mask = Rle::new(height, width, vec![0]).and_then(|mask| mask.to_text());
        let mask = mask.map_err(errors::from_library)?;
        return texts(py, [height, width], repeat_n(&mask, count as usize));
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
    texts(py, [height, width], masks)
}

/// Encodes the mask of each label: the labels, and the masks.
#[pyfunction]
pub(crate) fn rle_encode_labels<'py>(
    labels: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyArray1<i64>>, Vec<Text<'py>>)> {
    let py = labels.py();
    let array = in_place(numpys(labels)?)?;
    let (size, sides) = (array.len() as u64, sides(array.shape())?);
    let labels = Labels::of(&array)?;
    let (labels, masks) = work::run(py, Engine::cpu(), size, move |_| {
        let found = with_labels!(&labels, labels => encode_labels(labels.view()))?;
        let masks = found.par_iter().map(|(_, mask)| mask.to_text());
        let masks: Vec<_> = masks.collect::<trazar::Result<_>>()?;
        let labels = collect(found.iter().map(|&(label, _)| label), "labels")?;
        Ok((labels, masks))
    })?;
    let masks = texts(py, sides, masks)?;
    Ok((owned(py, Ix1(labels.len()), labels)?, masks))
}

/// The sides of an array.
fn sides<const N: usize>(shape: &[usize]) -> PyResult<[u32; N]> {
    let mut sides = [0; N];
    for (side, &length) in sides.iter_mut().zip(shape) {
        *side = u32::try_from(length).map_err(|_| errors::input("too many pixels"))?;
    }
    Ok(sides)
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

/// The union or the intersection of masks.
#[pyfunction]
pub(crate) fn rle_merge(py: Python<'_>, masks: Vec<Given>, intersect: bool) -> PyResult<Text<'_>> {
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
