//! Arrays of numbers of other libraries in a GPU's memory, for kernels to read.

use pyo3::intern;
use pyo3::prelude::*;
use trazar::cuda::{CudaResult, DeviceBuffer, Stream};
use trazar::gpu::Pod;

use super::input::{
    Layout, adopted, contiguous, device_index, interface, is_aligned, rows, span, torch_layout,
};
use super::place::{Library, OpenStream, place};
use crate::errors;
use crate::image::side;

/// An array of shape (H, W), with rows whose elements follow each other.
pub(super) struct Numbers<'py> {
    /// Keeps the memory.
    pub(super) array: Bound<'py, PyAny>,
    pub(super) place: OpenStream,
    /// The type of elements, as `__cuda_array_interface__` names it.
    pub(super) typestr: String,
    pub(super) width: u32,
    pub(super) height: u32,
    /// Elements from row to row.
    pub(super) pitch: u32,
    address: u64,
    library: Library,
}

impl<'py> Numbers<'py> {
    /// The array that the caller's argument `name` is. One whose rows are not contiguous is copied
    /// by its own library.
    pub(super) fn new(array: &Bound<'py, PyAny>, name: &str) -> PyResult<Self> {
        let library = Library::of(array)?;
        let place = place(array.py(), library, device_index(array, library)?)?;
        let (typestr, size, mut layout) = described(array, name, library, &place.stream)?;
        if layout.shape.len() != 2 {
            return Err(errors::input(format!(
                "{name} of shape {:?}: it has 2 dimensions, (H, W)",
                layout.shape
            )));
        }
        let mut array = array.clone();
        if rows(&layout, size).is_none()
            && let Some(copy) = contiguous(&array, library)?
        {
            (_, _, layout) = described(&copy, name, library, &place.stream)?;
            array = copy;
        }
        let Some((_, height, width, pitch)) = rows(&layout, size) else {
            return Err(errors::input(format!(
                "{name} of strides {:?}: rows' elements must follow each other; make it contiguous",
                layout.strides.as_deref().unwrap_or_default()
            )));
        };
        Ok(Self {
            array,
            place,
            typestr,
            width: side(width),
            height: side(height),
            pitch: side(pitch),
            address: layout.address,
            library,
        })
    }

    /// The elements from the first to the last, as memory that kernels take: in place if they are
    /// aligned.
    pub(super) fn buffer<T: Pod>(&self) -> PyResult<DeviceBuffer<T>> {
        let len = span(
            self.height as usize,
            self.width as usize,
            self.pitch as usize,
        );
        let stream = &self.place.stream;
        // SAFETY: the array declares this memory, and this keeps it. Its library's work so far was
        // queued on the stream before, or the stream waits for it; its later work on the stream
        // comes after.
        let buffer = unsafe { adopted(self.address, len, stream) };
        let buffer = match is_aligned(self.address) {
            true => buffer,
            false => buffer.and_then(|buffer| copied(stream, &buffer)),
        };
        buffer.map_err(|error| errors::from_library(error.into()))
    }

    /// Releases the array, after the last work on it was queued. Nothing is known about the streams
    /// of other libraries, so the host waits.
    pub(super) fn finish(self, py: Python<'_>) -> PyResult<()> {
        if self.library != Library::Other {
            return Ok(());
        }
        let stream = &self.place.stream;
        let waited = py.detach(|| stream.synchronize());
        drop(self.array);
        waited.map_err(|error| errors::from_library(error.into()))
    }

    pub(super) fn refused(&self, name: &str, types: &str) -> PyErr {
        errors::input(format!(
            "{name} of {} on a GPU: the elements must be {types}; convert it there",
            numpys_name(&self.typestr)
        ))
    }
}

/// The type of an array's elements, the bytes of one, and the layout.
fn described(
    array: &Bound<'_, PyAny>,
    name: &str,
    library: Library,
    stream: &Stream,
) -> PyResult<(String, usize, Layout)> {
    let py = array.py();
    if library != Library::Torch {
        if !array.hasattr(intern!(py, "__cuda_array_interface__"))? {
            return Err(errors::input(format!(
                "{name} on a GPU has no __cuda_array_interface__: give an array of PyTorch or \
                 CuPy, such as cupy.from_dlpack({name})"
            )));
        }
        let found = interface(array, stream)?;
        let digits = found.typestr.get(2..).unwrap_or_default();
        let size = digits.parse().unwrap_or(0);
        return Ok((found.typestr, size, found.layout));
    }
    let dtype = array.getattr(intern!(py, "dtype"))?.str()?;
    let typestr = match dtype.to_str()? {
        "torch.bool" => "|b1",
        "torch.uint8" => "|u1",
        "torch.uint16" => "<u2",
        "torch.uint32" => "<u4",
        "torch.int16" => "<i2",
        "torch.int32" => "<i4",
        "torch.int64" => "<i8",
        "torch.float32" => "<f4",
        "torch.float64" => "<f8",
        other => other,
    };
    let size: isize = array.call_method0(intern!(py, "element_size"))?.extract()?;
    let layout = torch_layout(array, size)?;
    Ok((typestr.to_owned(), size.unsigned_abs(), layout))
}

/// NumPy's name of a type of this machine's byte order, such as float64 for `<f8`.
fn numpys_name(typestr: &str) -> String {
    let kind = match typestr.get(..2) {
        Some("|b") => return "bool".to_owned(),
        Some("|i" | "<i") => "int",
        Some("|u" | "<u") => "uint",
        Some("<f") => "float",
        Some("<c") => "complex",
        _ => return typestr.to_owned(),
    };
    match typestr[2..].parse::<usize>() {
        Ok(size) => format!("{kind}{}", 8 * size),
        Err(_) => typestr.to_owned(),
    }
}

/// A copy in memory of the stream's own.
fn copied<T: Pod>(stream: &Stream, part: &DeviceBuffer<T>) -> CudaResult<DeviceBuffer<T>> {
    let mut copy = stream.alloc(part.len())?;
    copy.copy_from(0, part, 0..part.len())?;
    Ok(copy)
}
