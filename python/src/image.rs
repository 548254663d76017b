//! Arrays in this machine's memory to binary images.

use numpy::ndarray::{ArrayView, Axis, Ix2, Ix3, IxDyn, s};
use numpy::{
    Element, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::intern;
use pyo3::prelude::*;
use rayon::prelude::*;
use trazar::{BinaryImage, Error, Sample};

use crate::arrays::reserve;
use crate::errors;
use crate::work::in_pool;

/// The images of an argument.
pub(crate) struct Input {
    pub(crate) images: Vec<BinaryImage>,
    /// Whether the array had three dimensions, the first of which counts images.
    pub(crate) is_batch: bool,
    /// The extents of an image.
    pub(crate) height: usize,
    pub(crate) width: usize,
}

impl Input {
    /// The number of pixels of all images.
    pub(crate) fn pixels(&self) -> u64 {
        self.images.iter().map(BinaryImage::pixel_count).sum()
    }
}

/// Reads an array of shape (H, W) or (N, H, W), once and without a copy where its element type
/// allows it. Foreground is `value > threshold`, or without a threshold what is not 0.
///
/// An array without pixels has no images that the library knows: with `empty`, it is read as no
/// images.
///
/// The result of the call has at least `per_pixel` bytes per pixel. If there is no memory for them,
/// it is an error before the array is read.
pub(crate) fn read(
    array: &Bound<'_, PyAny>,
    threshold: Option<&Bound<'_, PyAny>>,
    empty: bool,
    per_pixel: usize,
) -> PyResult<Input> {
    let py = array.py();
    let numpy = py.import(intern!(py, "numpy"))?;
    if array.hasattr(intern!(py, "mask"))? && array.hasattr(intern!(py, "filled"))? {
        return Err(errors::input(
            "a masked array has pixels that are neither foreground nor background: give \
             array.filled(0), say",
        ));
    }
    let array = match array.cast::<PyUntypedArray>() {
        Ok(array) => array.clone(),
        Err(_) => {
            let only_dlpack = array.hasattr(intern!(py, "__dlpack__"))?
                && !array.hasattr(intern!(py, "__array__"))?
                && !array.hasattr(intern!(py, "__array_interface__"))?;
            let convert = if only_dlpack {
                "from_dlpack"
            } else {
                "asarray"
            };
            numpy
                .call_method1(convert, (array,))?
                .cast_into::<PyUntypedArray>()?
        }
    };
    let &([height, width] | [_, height, width]) = array.shape() else {
        return Err(errors::input(format!(
            "an array of shape {:?} is no image: (H, W) is one, (N, H, W) is N of them",
            array.shape()
        )));
    };
    let is_batch = array.ndim() == 3;
    if empty && array.is_empty() || is_batch && array.shape()[0] == 0 {
        return Ok(Input {
            images: Vec::new(),
            is_batch,
            height,
            width,
        });
    }
    check_room(array.shape(), per_pixel)?;
    let array = comparable(&numpy, array)?;
    let images = match direct(&array, threshold)? {
        Some(images) => images,
        None => {
            // NumPy compares into an array of one byte per pixel.
            let (name, limit) = match threshold {
                Some(threshold) => ("greater", threshold.clone()),
                None => ("not_equal", 0i32.into_pyobject(py)?.into_any()),
            };
            let mask = numpy.call_method1(name, (&array, limit))?;
            direct(&mask.cast_into::<PyUntypedArray>()?, None)?
                .ok_or_else(|| errors::input("the comparison with the threshold gave no mask"))?
        }
    };
    Ok(Input {
        images,
        is_batch,
        height,
        width,
    })
}

/// Whether there is memory for one bit and `per_pixel` bytes for each pixel of this shape. Arrays
/// with strides of 0 may have more pixels than any memory.
fn check_room(shape: &[usize], per_pixel: usize) -> PyResult<()> {
    let pixels = shape.iter().fold(1usize, |all, &n| all.saturating_mul(n));
    let bytes = pixels.saturating_mul(per_pixel).saturating_add(pixels / 8);
    // The system gives such memory when it is first written, so this takes no time.
    const LEAST: usize = 1 << 24;
    if bytes < LEAST {
        return Ok(());
    }
    reserve(&mut Vec::<u8>::new(), bytes, "the image and its result").map_err(errors::from_library)
}

/// The array, or a copy in a form that Rust and NumPy compare: of this machine's byte order,
/// aligned, and of real numbers of a usual size.
fn comparable<'py>(
    numpy: &Bound<'py, PyModule>,
    array: Bound<'py, PyUntypedArray>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let py = array.py();
    let dtype = array.dtype();
    let convert = |to: Bound<'py, PyAny>| -> PyResult<Bound<'py, PyUntypedArray>> {
        Ok(array
            .call_method1(intern!(py, "astype"), (to,))?
            .cast_into()?)
    };
    match dtype.kind() {
        // A mask of which bytes may be other than 0 and 1.
        b'b' => {
            let bytes = numpy::dtype::<u8>(py);
            return Ok(array
                .call_method1(intern!(py, "view"), (bytes,))?
                .cast_into()?);
        }
        b'f' if dtype.itemsize() != 4 && dtype.itemsize() != 8 => {
            return convert(numpy::dtype::<f64>(py).into_any());
        }
        b'i' | b'u' | b'f' => {}
        _ => {
            return Err(errors::input(format!(
                "an array of {dtype} is no image: its elements must be booleans or real numbers"
            )));
        }
    }
    if dtype.byteorder() == b'>' {
        return convert(dtype.call_method1(intern!(py, "newbyteorder"), ("=",))?);
    }
    let flags = array.getattr(intern!(py, "flags"))?;
    if !flags.getattr(intern!(py, "aligned"))?.extract::<bool>()? {
        return Ok(numpy
            .call_method1(intern!(py, "require"), (&array, py.None(), "A"))?
            .cast_into()?);
    }
    Ok(array)
}

/// The images of an array whose elements the library compares where they lie; `None` for other
/// elements, and for a threshold that is no value of theirs.
fn direct(
    array: &Bound<'_, PyUntypedArray>,
    threshold: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Vec<BinaryImage>>> {
    let array = array.as_any();
    macro_rules! unsigned {
        ($($t:ty),*) => {$(
            if let Ok(array) = array.cast::<PyArrayDyn<$t>>() {
                return match threshold {
                    None => pack::<$t>(array, 0).map(Some),
                    Some(threshold) => match threshold.extract::<$t>() {
                        Ok(threshold) => pack(array, threshold).map(Some),
                        Err(_) => Ok(None),
                    },
                };
            }
        )*};
    }
    macro_rules! signed {
        ($($t:ty),*) => {$(
            if let Ok(array) = array.cast::<PyArrayDyn<$t>>() {
                return match threshold.map(|threshold| threshold.extract::<$t>()) {
                    Some(Ok(threshold)) => pack(array, threshold).map(Some),
                    _ => Ok(None),
                };
            }
        )*};
    }
    unsigned!(u8, u16);
    signed!(i16, i32, f32, f64);
    if let Ok(mask) = array.cast::<PyArrayDyn<bool>>() {
        let bytes = mask.call_method1("view", (numpy::dtype::<u8>(mask.py()),))?;
        return direct(&bytes.cast_into::<PyUntypedArray>()?, threshold);
    }
    Ok(None)
}

/// The number of pixels that are packed between two looks for signals: some milliseconds.
const STEP: usize = 1 << 22;

/// Packs the planes of an array, without the GIL. A signal's exception ends it.
fn pack<T: Element + Sample + Send + Sync>(
    array: &Bound<'_, PyArrayDyn<T>>,
    threshold: T,
) -> PyResult<Vec<BinaryImage>> {
    let py = array.py();
    let borrowed = array
        .try_readonly()
        .map_err(|error| errors::input(error.to_string()))?;
    let view: ArrayView<'_, T, IxDyn> = borrowed.as_array();
    let mut images = Vec::new();
    if let Ok(image) = view.view().into_dimensionality::<Ix2>() {
        images.push(pack_plane(py, image, threshold)?);
        return Ok(images);
    }
    let Ok(batch) = view.into_dimensionality::<Ix3>() else {
        return Ok(images);
    };
    let (count, height, width) = batch.dim();
    reserve(&mut images, count, "images").map_err(errors::from_library)?;
    let pixels = height.saturating_mul(width);
    if pixels > STEP {
        for plane in batch.axis_iter(Axis(0)) {
            images.push(pack_plane(py, plane, threshold)?);
        }
        return Ok(images);
    }
    for planes in batch.axis_chunks_iter(Axis(0), STEP / pixels.max(1)) {
        let packed = py.detach(|| {
            in_pool(|| {
                (0..planes.len_of(Axis(0)))
                    .into_par_iter()
                    .map(|i| BinaryImage::from_samples(planes.index_axis(Axis(0), i), threshold))
                    .collect::<trazar::Result<Vec<_>>>()
            })
        });
        images.extend(packed.map_err(errors::from_library)?);
        py.check_signals()?;
    }
    Ok(images)
}

/// Packs an image, a large one by bands of rows on all threads, and looks for signals between
/// steps.
fn pack_plane<T: Sample + Send + Sync>(
    py: Python<'_>,
    array: ArrayView<'_, T, Ix2>,
    threshold: T,
) -> PyResult<BinaryImage> {
    /// The smallest number of pixels of a band: some 10 µs of work.
    const LEAST: usize = 1 << 17;
    let (height, width) = array.dim();
    let sides = u32::try_from(width).ok().zip(u32::try_from(height).ok());
    let (Some((w, h)), true) = (sides, array.len() >= 2 * LEAST) else {
        // Small, or of a size that it refuses.
        let packed = py.detach(|| BinaryImage::from_samples(array, threshold));
        return packed.map_err(errors::from_library);
    };
    let row_words = width.div_ceil(64);
    let len = row_words.saturating_mul(height);
    let words = bytemuck::allocation::try_zeroed_vec::<u64>(len);
    let mut words = words
        .map_err(|()| errors::from_library(Error::out_of_memory("an image", 8 * len as u64)))?;
    let step = (STEP / width).max(1);
    let steps = words.chunks_mut(step * row_words);
    for (words, rows) in steps.zip(array.axis_chunks_iter(Axis(0), step)) {
        let packed = py.detach(|| in_pool(|| pack_rows(rows, threshold, words, LEAST)));
        if packed.is_err() {
            // The whole image has the error's place, of the first pixel that is wrong.
            let whole = py.detach(|| BinaryImage::from_samples(array, threshold));
            return whole.map_err(errors::from_library);
        }
        py.check_signals()?;
    }
    let image = py.detach(|| BinaryImage::from_words(w, h, words));
    image.map_err(errors::from_library)
}

/// Packs some rows into `words`, by bands of at least `least` pixels on all threads.
fn pack_rows<T: Sample + Send + Sync>(
    array: ArrayView<'_, T, Ix2>,
    threshold: T,
    words: &mut [u64],
    least: usize,
) -> trazar::Result<()> {
    let (height, width) = array.dim();
    let bands = (array.len() / least).clamp(1, 4 * rayon::current_num_threads());
    let rows = height.div_ceil(bands);
    words
        .par_chunks_mut(rows * width.div_ceil(64))
        .enumerate()
        .try_for_each(|(band, words)| -> trazar::Result<()> {
            let first = band * rows;
            let band = array.slice(s![first..(first + rows).min(height), ..]);
            words.copy_from_slice(BinaryImage::from_samples(band, threshold)?.words());
            Ok(())
        })
}
