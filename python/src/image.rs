//! From arrays in this machine's memory to binary images.

use numpy::ndarray::{ArrayView, Axis, Ix2, Ix3, IxDyn, s};
use numpy::npyffi::{self, NPY_ARRAY_ALIGNED};
use numpy::{
    Element, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PySlice;
use rayon::prelude::*;
use trazar::{BinaryImage, Error, Sample};

use crate::arguments::{Limit, Threshold};
use crate::arrays::reserve;
use crate::errors;
use crate::work::in_pool;

/// The images of an argument.
pub(crate) struct Input {
    pub(crate) images: Vec<BinaryImage>,
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

/// Reads an array of shape (H, W), or with `batch` (N, H, W), once and without a copy where its
/// element type allows it. Foreground is `value > threshold`, as NumPy 2 compares, or without a
/// threshold every value other than 0.
///
/// The library has no images without pixels: with `empty`, an array without pixels is read as no
/// images.
///
/// The result of the call has at least `per_pixel` bytes per pixel. If there is no memory for them,
/// that is an error before the array is read.
pub(crate) fn read(
    array: &Bound<'_, PyAny>,
    threshold: Option<&Bound<'_, PyAny>>,
    batch: bool,
    empty: bool,
    per_pixel: usize,
) -> PyResult<Input> {
    let threshold = threshold.map(Threshold::new).transpose()?;
    let array = numpys(array)?;
    let &([height, width] | [_, height, width]) = array.shape() else {
        return Err(errors::input(format!(
            "an array of shape {:?} is no image: (H, W) is one, (N, H, W) is N of them",
            array.shape()
        )));
    };
    check_batch(array.ndim() == 3, batch)?;
    let images = if empty && array.is_empty() || batch && array.shape()[0] == 0 {
        Vec::new()
    } else {
        check_room(array.shape(), per_pixel)?;
        images(array, threshold)?
    };
    Ok(Input {
        images,
        height,
        width,
    })
}

/// Refuses N images where one is needed, and the reverse.
pub(crate) fn check_batch(is_batch: bool, needed: bool) -> PyResult<()> {
    match (is_batch, needed) {
        (true, false) => Err(errors::input(
            "an array of 3 dimensions is N images, which functions called ..._batch take: one has \
             shape (H, W)",
        )),
        (false, true) => Err(errors::input(
            "an array of 2 dimensions is one image: N images have shape (N, H, W)",
        )),
        _ => Ok(()),
    }
}

/// Whether there is memory for one bit and `per_pixel` bytes for each pixel of this shape. Arrays
/// with strides of 0 may have more pixels than any memory.
fn check_room(shape: &[usize], per_pixel: usize) -> PyResult<()> {
    let pixels = shape.iter().fold(1usize, |all, &n| all.saturating_mul(n));
    let bytes = pixels.saturating_mul(per_pixel).saturating_add(pixels / 8);
    // The system provides such memory at its first write, so this takes no time.
    const LEAST: usize = 1 << 24;
    if bytes < LEAST {
        return Ok(());
    }
    reserve(&mut Vec::<u8>::new(), bytes, "the image and its result").map_err(errors::from_library)
}

/// The argument as a NumPy array.
pub(crate) fn numpys<'py>(given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyUntypedArray>> {
    let py = given.py();
    let array = given.cast::<PyUntypedArray>().ok();
    // SAFETY: NumPy keeps its types.
    let plain = unsafe { npyffi::get_type_object(py, npyffi::NpyTypes::PyArray_Type) };
    if let Some(array) = array
        && given.get_type_ptr() == plain
    {
        return Ok(array.clone());
    }
    if given.hasattr(intern!(py, "mask"))? && given.hasattr(intern!(py, "filled"))? {
        return Err(errors::input(
            "a masked array has pixels that are neither foreground nor background: give \
             array.filled(0), say",
        ));
    }
    if let Some(array) = array {
        return Ok(array.clone());
    }
    let only_dlpack = given.hasattr(intern!(py, "__dlpack__"))?
        && !given.hasattr(intern!(py, "__array__"))?
        && !given.hasattr(intern!(py, "__array_interface__"))?;
    let convert = if only_dlpack {
        intern!(py, "from_dlpack")
    } else {
        intern!(py, "asarray")
    };
    let numpy = py.import(intern!(py, "numpy"))?;
    Ok(numpy.call_method1(convert, (given,))?.cast_into()?)
}

/// The images of an array of real numbers or booleans.
fn images<'py>(
    array: Bound<'py, PyUntypedArray>,
    mut threshold: Option<Threshold<'py>>,
) -> PyResult<Vec<BinaryImage>> {
    let dtype = array.dtype();
    let (kind, size) = (dtype.kind(), dtype.itemsize());
    match (kind, &threshold) {
        // A mask whose bytes may differ from 0 and 1.
        (b'b', None) => return of_booleans(&array),
        (b'b', Some(threshold)) if threshold.divides_booleans() => return of_booleans(&array),
        (b'b' | b'i' | b'u' | b'f', _) => {}
        _ => {
            return Err(errors::input(format!(
                "an array of {dtype} is no image: its elements must be booleans or real numbers"
            )));
        }
    }
    if let Some(images) = direct(&array, threshold.as_ref())? {
        return Ok(images);
    }
    if kind == b'f'
        && size == 2
        && let Some(given) = &threshold
    {
        threshold = Some(given.for_halves()?);
    }
    let packed = in_steps(&array, &mut |part| compared(part, threshold.as_ref()));
    if packed.is_err() && kind == b'f' && threshold.is_some() {
        // An error about NaN names the pixel's place in the whole array.
        pack::<f64>(converted::<f64>(&array)?.as_any().cast()?, 0.0)?;
    }
    packed
}

/// The images of an array, read in parts of some millions of pixels: images, or rows of one. Checks
/// for signals between the parts.
fn in_steps<'py>(
    array: &Bound<'py, PyUntypedArray>,
    read: &mut dyn FnMut(Bound<'py, PyUntypedArray>) -> PyResult<Vec<BinaryImage>>,
) -> PyResult<Vec<BinaryImage>> {
    let py = array.py();
    let len = array.len();
    if len <= STEP {
        return read(array.clone());
    }
    let taken = |from: usize, to: usize| -> PyResult<Bound<'py, PyUntypedArray>> {
        Ok(array
            .get_item(PySlice::new(py, from as isize, to as isize, 1))?
            .cast_into()?)
    };
    let first = array.shape()[0];
    let step = (STEP / (len / first)).max(1);
    let &[height, width] = array.shape() else {
        let mut images = Vec::new();
        reserve(&mut images, first, "images").map_err(errors::from_library)?;
        for from in (0..first).step_by(step) {
            if step > 1 {
                images.extend(read(taken(from, (from + step).min(first))?)?);
            } else {
                images.extend(in_steps(&array.get_item(from)?.cast_into()?, read)?);
            }
            py.check_signals()?;
        }
        return Ok(images);
    };
    let mut words = zeroed(width, height)?;
    for (rows, from) in words
        .chunks_mut(step * width.div_ceil(64))
        .zip((0..).step_by(step))
    {
        let packed = read(taken(from, (from + step).min(height))?)?;
        rows.copy_from_slice(packed.first().map_or(&[], BinaryImage::words));
        py.check_signals()?;
    }
    image(py, width, height, words).map(|image| vec![image])
}

/// The images of an array after a conversion, or after NumPy's comparison into an array of one byte
/// per pixel.
fn compared<'py>(
    array: Bound<'py, PyUntypedArray>,
    threshold: Option<&Threshold<'py>>,
) -> PyResult<Vec<BinaryImage>> {
    let py = array.py();
    let (kind, size) = (array.dtype().kind(), array.dtype().itemsize());
    let mut array = in_place(array)?;
    if kind == b'f' && size == 2 {
        array = converted::<f32>(&array)?;
    }
    if let Some(images) = direct(&array, threshold)? {
        return Ok(images);
    }
    let numpy = py.import(intern!(py, "numpy"))?;
    let mask = match threshold {
        None => numpy.call_method1(intern!(py, "not_equal"), (&array, 0))?,
        Some(threshold) => {
            if kind == b'f' {
                let nans = numpy.call_method1(intern!(py, "isnan"), (&array,))?;
                if nans.call_method0(intern!(py, "any"))?.extract()? {
                    // Refused, with the place of the first one.
                    pack::<f64>(converted::<f64>(&array)?.as_any().cast()?, 0.0)?;
                }
            }
            let greater = intern!(py, "greater");
            let mask = numpy.call_method1(greater, (&array, &threshold.scalar));
            mask.map_err(|error| threshold.refused(&error))?
        }
    };
    of_booleans(&mask.cast_into()?)
}

/// The images of an array of booleans.
fn of_booleans(array: &Bound<'_, PyUntypedArray>) -> PyResult<Vec<BinaryImage>> {
    pack::<u8>(bytes_of_booleans(array)?.cast()?, 0)
}

/// The bytes of an array of booleans.
fn bytes_of_booleans<'py>(array: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    array.call_method1(intern!(py, "view"), (numpy::dtype::<u8>(py),))
}

/// The elements of an array of booleans or of bytes without a sign; `None` of another one.
pub(crate) fn bytes<'py>(
    array: &Bound<'py, PyUntypedArray>,
) -> PyResult<Option<Bound<'py, PyArrayDyn<u8>>>> {
    let elements = match array.dtype().kind() {
        b'b' => bytes_of_booleans(array)?,
        _ => array.as_any().clone(),
    };
    Ok(elements.cast_into().ok())
}

/// A copy of the array with elements of another type.
fn converted<'py, T: Element>(
    array: &Bound<'py, PyUntypedArray>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let py = array.py();
    let copy = array.call_method1(intern!(py, "astype"), (numpy::dtype::<T>(py),))?;
    Ok(copy.cast_into()?)
}

fn is_aligned(array: &Bound<'_, PyUntypedArray>) -> bool {
    // SAFETY: the array is one of NumPy's, and alive.
    let flags = unsafe { (*array.as_array_ptr()).fields.flags };
    flags & NPY_ARRAY_ALIGNED != 0
}

/// A side in pixels; too long ones are refused later.
pub(crate) fn side(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// The mask of an image of the same size, if there is one.
pub(crate) fn mask(array: Option<&Bound<'_, PyAny>>) -> PyResult<Option<BinaryImage>> {
    match array {
        None => Ok(None),
        Some(array) => Ok(read(array, None, false, false, 0)?.images.pop()),
    }
}

/// The array, or an aligned copy in this machine's byte order.
pub(crate) fn in_place(array: Bound<'_, PyUntypedArray>) -> PyResult<Bound<'_, PyUntypedArray>> {
    let py = array.py();
    let dtype = array.dtype();
    if dtype.byteorder() == b'>' {
        let native = dtype.call_method1(intern!(py, "newbyteorder"), ("=",))?;
        let copy = array.call_method1(intern!(py, "astype"), (native,))?;
        return Ok(copy.cast_into()?);
    }
    if !is_aligned(&array) {
        let numpy = py.import(intern!(py, "numpy"))?;
        let copy = numpy.call_method1(intern!(py, "require"), (&array, py.None(), "A"))?;
        return Ok(copy.cast_into()?);
    }
    Ok(array)
}

/// The images of an array whose elements the library compares in place; `None` for elements of
/// another type or at unaligned addresses, and for a threshold without an equivalent in their type.
fn direct(
    array: &Bound<'_, PyUntypedArray>,
    threshold: Option<&Threshold<'_>>,
) -> PyResult<Option<Vec<BinaryImage>>> {
    /// The images of an array of `T`. Without a threshold, only unsigned elements are compared.
    fn of<T: Element + Sample + Limit + Send + Sync>(
        array: &Bound<'_, PyArrayDyn<T>>,
        threshold: Option<&Threshold<'_>>,
        zero: Option<T>,
    ) -> PyResult<Option<Vec<BinaryImage>>> {
        let limit = match threshold {
            None => zero,
            Some(threshold) => T::at_most(threshold),
        };
        limit.map(|limit| pack(array, limit)).transpose()
    }
    if !is_aligned(array) {
        return Ok(None);
    }
    let array = array.as_any();
    if let Ok(array) = array.cast::<PyArrayDyn<u8>>() {
        return of(array, threshold, Some(0));
    }
    if let Ok(array) = array.cast::<PyArrayDyn<u16>>() {
        return of(array, threshold, Some(0));
    }
    if let Ok(array) = array.cast::<PyArrayDyn<i16>>() {
        return of(array, threshold, None);
    }
    if let Ok(array) = array.cast::<PyArrayDyn<i32>>() {
        return of(array, threshold, None);
    }
    if let Ok(array) = array.cast::<PyArrayDyn<f32>>() {
        return of(array, threshold, None);
    }
    if let Ok(array) = array.cast::<PyArrayDyn<f64>>() {
        return of(array, threshold, None);
    }
    Ok(None)
}

/// The number of pixels that are packed between two checks for signals: some milliseconds.
const STEP: usize = 1 << 22;

/// Packs the planes of an array, without the GIL. An exception from a signal ends it.
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

/// Packs an image, a large one by bands of rows on all threads, and checks for signals between
/// steps.
fn pack_plane<T: Sample + Send + Sync>(
    py: Python<'_>,
    array: ArrayView<'_, T, Ix2>,
    threshold: T,
) -> PyResult<BinaryImage> {
    /// The smallest number of pixels of a band: some 10 µs of work.
    const LEAST: usize = 1 << 17;
    /// Fewer pixels are packed before another thread is awake.
    const SMALL: usize = 1 << 19;
    let (height, width) = array.dim();
    if array.len() < SMALL || u32::try_from(width.max(height)).is_err() {
        // Small, or of a size that is refused.
        let packed = py.detach(|| BinaryImage::from_samples(array, threshold));
        return packed.map_err(errors::from_library);
    }
    let mut words = zeroed(width, height)?;
    let step = (STEP / width).max(1);
    let steps = words.chunks_mut(step * width.div_ceil(64));
    for (words, rows) in steps.zip(array.axis_chunks_iter(Axis(0), step)) {
        let packed = py.detach(|| in_pool(|| pack_rows(rows, threshold, words, LEAST)));
        if packed.is_err() {
            // The whole image gives the error with its place, that of the first wrong pixel.
            let whole = py.detach(|| BinaryImage::from_samples(array, threshold));
            return whole.map_err(errors::from_library);
        }
        py.check_signals()?;
    }
    image(py, width, height, words)
}

/// Zeros for the words of an image.
fn zeroed(width: usize, height: usize) -> PyResult<Vec<u64>> {
    let len = width.div_ceil(64).saturating_mul(height);
    bytemuck::allocation::try_zeroed_vec::<u64>(len)
        .map_err(|()| errors::from_library(Error::out_of_memory("an image", 8 * len as u64)))
}

/// The image of these words.
fn image(py: Python<'_>, width: usize, height: usize, words: Vec<u64>) -> PyResult<BinaryImage> {
    let side = |side: usize| {
        let too_large = |_| errors::input(format!("a side of {side} pixels: {} is most", u32::MAX));
        u32::try_from(side).map_err(too_large)
    };
    let (width, height) = (side(width)?, side(height)?);
    let image = py.detach(|| BinaryImage::from_words(width, height, words));
    image.map_err(errors::from_library)
}

/// Packs some rows into `words`, in bands of at least `least` pixels on all threads. If the pool
/// has only one thread, the calling thread packs all rows as one band.
fn pack_rows<T: Sample + Send + Sync>(
    array: ArrayView<'_, T, Ix2>,
    threshold: T,
    words: &mut [u64],
    least: usize,
) -> trazar::Result<()> {
    let (height, width) = array.dim();
    let most = match rayon::current_num_threads() {
        1 => 1,
        threads => 4 * threads,
    };
    let bands = (array.len() / least).clamp(1, most);
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
