//! Arrays of other libraries in a GPU's memory, used in place.

use std::ptr::{NonNull, without_provenance};

use pyo3::basic::CompareOp;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use trazar::cuda::dlpack::{self, DLManagedTensor, DLManagedTensorVersioned, Imported};
use trazar::cuda::{CudaResult, DeviceBuffer, Owner, Queue, RawBuffer, Release, Stream};
use trazar::gpu::{Pod, View};
use trazar::{DeviceImage, DeviceImageBatch};

use super::array::{UNVERSIONED, VERSIONED, tensor_error};
use super::place::{LEGACY, Library, OpenStream, place};
use crate::arguments::Threshold;
use crate::errors;
use crate::image::{check_batch, side};

/// One image, or consecutive images of one size, with one byte per pixel.
pub(crate) struct Input<'py> {
    py: Python<'py>,
    pub(crate) place: OpenStream,
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// The number of images of a three-dimensional array.
    pub(crate) images: Option<u32>,
    address: u64,
    /// Bytes from one row to the next, across images too.
    pitch: usize,
    /// The largest value that is background.
    threshold: u8,
    library: Library,
    /// Keeps the memory: the array, or the tensor that it exported.
    kept: KeptInput<'py>,
}

#[expect(dead_code, reason = "only dropped")]
enum KeptInput<'py> {
    Array(Bound<'py, PyAny>),
    /// Waits for the stream when dropped.
    Tensor(Imported<u8>),
}

/// The memory layout of an array.
pub(super) struct Layout {
    pub(super) address: u64,
    pub(super) shape: Vec<usize>,
    /// In bytes; `None` means contiguous, in C order.
    pub(super) strides: Option<Vec<isize>>,
}

/// Whether kernels take memory at this address in place: a `Gpu`'s own memory is as aligned.
pub(super) fn is_aligned(address: u64) -> bool {
    address.is_multiple_of(256)
}

/// The number of elements from the first of some rows to the last. A size beyond the memory is
/// refused when its address is checked.
pub(super) fn span(rows: usize, width: usize, pitch: usize) -> usize {
    match (rows, width) {
        (0, _) | (_, 0) => 0,
        _ => (rows - 1).saturating_mul(pitch).saturating_add(width),
    }
}

/// Elements at an address as a buffer, which does not keep them, once the driver has confirmed that
/// they are memory of the stream's device.
///
/// # Safety
/// While the buffer exists, the memory stays allocated, and no one else writes it (or, if the
/// buffer is written, reads it) except in the order of the stream.
pub(super) unsafe fn adopted<T: Pod>(
    address: u64,
    len: usize,
    stream: &Stream,
) -> CudaResult<DeviceBuffer<T>> {
    let raw = RawBuffer {
        address,
        len,
        stream: stream.clone(),
        release: Release::InOrder(Owner::none()),
    };
    // SAFETY: the caller's promise. There is nothing to release.
    unsafe { DeviceBuffer::from_raw(raw) }
}

impl<'py> Input<'py> {
    /// An array of shape (H, W), or with `batch` (N, H, W), in a GPU's memory. Foreground is what
    /// is greater than `threshold`, or without one every value other than 0. Elements other than
    /// bytes are compared by the array's own library, into a mask that is used instead of the
    /// array.
    pub(crate) fn new(
        array: &Bound<'py, PyAny>,
        threshold: Option<&Bound<'py, PyAny>>,
        batch: bool,
    ) -> PyResult<Self> {
        let py = array.py();
        if let Some(threshold) = threshold {
            check_scalar(threshold)?;
        }
        let library = Library::of(array)?;
        let (array, threshold) = as_bytes(array, library, threshold)?;
        let place = place(py, library, device_index(&array, library)?)?;
        let by_dlpack =
            library == Library::Other && !array.hasattr(intern!(py, "__cuda_array_interface__"))?;
        let (layout, kept) = if by_dlpack {
            let (layout, tensor) = from_dlpack(&array, &place.stream)?;
            (layout, KeptInput::Tensor(tensor))
        } else {
            let layout = layout(&array, library, &place.stream)?;
            match rows(&layout, 1) {
                Some(_) => (layout, KeptInput::Array(array)),
                None => {
                    let is_image = matches!(layout.shape.len(), 2 | 3);
                    let copy = is_image.then(|| contiguous(&array, library)).transpose()?;
                    let copy = copy.flatten().ok_or_else(|| refused(&layout))?;
                    (
                        self::layout(&copy, library, &place.stream)?,
                        KeptInput::Array(copy),
                    )
                }
            }
        };
        let Some((images, height, width, pitch)) = rows(&layout, 1) else {
            return Err(refused(&layout));
        };
        check_batch(layout.shape.len() == 3, batch)?;
        let input = Self {
            py,
            place,
            width: side(width),
            height: side(height),
            images: batch.then(|| side(images)),
            address: layout.address,
            pitch,
            threshold,
            library,
            kept,
        };
        if library == Library::Other && !by_dlpack {
            // Such an array need not name its device, and its address may be wrong.
            let checked = input.adopted(input.len());
            checked.map_err(|error| errors::from_library(error.into()))?;
        }
        Ok(input)
    }

    /// The number of bytes from the first pixel of all images to the last.
    fn len(&self) -> usize {
        let rows = self.height as usize * self.images.unwrap_or(1) as usize;
        span(rows, self.width as usize, self.pitch)
    }

    /// The bytes of all images.
    fn bytes(&self) -> View<'_, u8> {
        // SAFETY: the array declares this memory, and keeps it until `finish`; `new` checks the
        // memory of an unknown library.
        unsafe { View::from_raw_parts(without_provenance(self.address as usize), self.len()) }
    }

    /// The first `len` bytes as a buffer, once the driver has confirmed that they are memory of the
    /// stream's device.
    fn adopted(&self, len: usize) -> CudaResult<DeviceBuffer<u8>> {
        // SAFETY: as in `pack`.
        unsafe { adopted(self.address, len, &self.place.stream) }
    }

    /// The image, packed by work on the stream.
    pub(crate) fn pack(&self) -> trazar::Result<DeviceImage<Queue>> {
        let (gpu, pitch) = (self.place.tracer.gpu(), self.pitch);
        let (width, height, threshold) = (self.width, self.height, self.threshold);
        // SAFETY: `finish` says how long the bytes exist. Their library's work so far was queued on
        // the stream before, or the stream waits for it; its later work on the stream comes after.
        unsafe { DeviceImage::pack_pitched(gpu, width, height, self.bytes(), pitch, threshold) }
    }

    /// The array's memory as a buffer, if one kernel can label it in place: see
    /// [`DeviceLabeler::label_bytes`](trazar::DeviceLabeler::label_bytes).
    pub(crate) fn buffer(&self) -> trazar::Result<Option<DeviceBuffer<u8>>> {
        let is_dense = self.pitch == self.width as usize && self.width.is_multiple_of(16);
        if !is_dense || !is_aligned(self.address) || self.images.is_some() {
            return Ok(None);
        }
        Ok(Some(self.adopted(self.len())?))
    }

    /// The largest value that is background.
    pub(crate) fn threshold(&self) -> u8 {
        self.threshold
    }

    /// The array's library.
    pub(super) fn library(&self) -> Library {
        self.library
    }

    /// The images, packed.
    pub(crate) fn pack_batch(&self) -> trazar::Result<DeviceImageBatch<Queue>> {
        let (gpu, pitch) = (self.place.tracer.gpu(), self.pitch);
        let (width, height, threshold) = (self.width, self.height, self.threshold);
        let images = self.images.unwrap_or(1);
        let bytes = self.bytes();
        // SAFETY: as in `pack`.
        unsafe {
            DeviceImageBatch::pack_pitched(gpu, width, height, images, bytes, pitch, threshold)
        }
    }

    /// Image `index` of a batch, packed.
    pub(crate) fn pack_one(&self, index: u32) -> trazar::Result<DeviceImage<Queue>> {
        let image = self.pitch * self.height as usize;
        let bytes = self.bytes();
        let start = bytes.as_ptr().wrapping_add(index as usize * image);
        let length = image - self.pitch + self.width as usize;
        let (gpu, pitch) = (self.place.tracer.gpu(), self.pitch);
        let (width, height, threshold) = (self.width, self.height, self.threshold);
        // SAFETY: these are bytes of `bytes`. The rest as in `pack`.
        unsafe {
            let bytes = View::from_raw_parts(start, length);
            DeviceImage::pack_pitched(gpu, width, height, bytes, pitch, threshold)
        }
    }

    /// Releases the array's memory, after the last work that uses it was queued.
    ///
    /// PyTorch and CuPy free memory in the order of their current stream, if it was allocated on
    /// that stream; a user of several streams orders them, as for the libraries' own operations.
    /// Nothing is known about other libraries, so the host waits.
    pub(crate) fn finish(self) -> PyResult<()> {
        if self.library != Library::Other || matches!(self.kept, KeptInput::Tensor(_)) {
            return Ok(());
        }
        let stream = &self.place.stream;
        let waited = self.py.detach(|| stream.synchronize());
        waited.map_err(|error| errors::from_library(error.into()))
    }
}

/// Refuses a threshold that is not a number. One in a GPU's memory is left to its library.
fn check_scalar(threshold: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = threshold.py();
    let dimensions = threshold.getattr_opt(intern!(py, "ndim"))?;
    let is_numpys = threshold.is_instance_of::<numpy::PyUntypedArray>();
    if !is_numpys && dimensions.is_some_and(|dimensions| dimensions.eq(0).unwrap_or(false)) {
        return Ok(());
    }
    Threshold::new(threshold).map(|_| ())
}

/// The array if its elements are bytes or booleans, else a mask made by its own library; and the
/// largest byte that is background.
fn as_bytes<'py>(
    array: &Bound<'py, PyAny>,
    library: Library,
    threshold: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, u8)> {
    let py = array.py();
    let (is_byte, is_mask) = match array.getattr_opt(intern!(py, "dtype"))? {
        Some(dtype) if library == Library::Torch => {
            let torch = py.import(intern!(py, "torch"))?;
            (
                dtype.is(torch.getattr(intern!(py, "uint8"))?),
                dtype.is(torch.getattr(intern!(py, "bool"))?),
            )
        }
        Some(dtype) => {
            let name = dtype.str()?;
            (name.to_str()? == "uint8", name.to_str()? == "bool")
        }
        None => {
            let interface = array.getattr(intern!(py, "__cuda_array_interface__"))?;
            let name: String = interface.get_item("typestr")?.extract()?;
            (name == "|u1", name == "|b1")
        }
    };
    match threshold {
        None if is_byte || is_mask => return Ok((array.clone(), 0)),
        Some(threshold) if is_byte => {
            if let Ok(threshold) = threshold.extract::<u8>() {
                return Ok((array.clone(), threshold));
            }
        }
        _ => {}
    }
    let mask = match threshold {
        Some(threshold) => array.rich_compare(threshold, CompareOp::Gt)?,
        None => array.rich_compare(0, CompareOp::Ne)?,
    };
    Ok((mask, 0))
}

/// The index of the array's device; 0 if the array does not say.
pub(super) fn device_index(array: &Bound<'_, PyAny>, library: Library) -> PyResult<u32> {
    let py = array.py();
    if library == Library::Torch {
        return array.call_method0(intern!(py, "get_device"))?.extract();
    }
    let Some(device) = array.getattr_opt(intern!(py, "__dlpack_device__"))? else {
        return Ok(0);
    };
    let (_, index): (i32, u32) = device.call0()?.extract()?;
    Ok(index)
}

/// The memory layout of an array of bytes.
fn layout(array: &Bound<'_, PyAny>, library: Library, stream: &Stream) -> PyResult<Layout> {
    if library != Library::Torch {
        return from_interface(array, stream);
    }
    torch_layout(array, 1)
}

/// The layout of an array of PyTorch's, of elements of `size` bytes. PyTorch builds the entries of
/// `__cuda_array_interface__` from the same, which takes ten times as long.
pub(super) fn torch_layout(array: &Bound<'_, PyAny>, size: isize) -> PyResult<Layout> {
    let py = array.py();
    let strides: Vec<isize> = array.call_method0(intern!(py, "stride"))?.extract()?;
    Ok(Layout {
        address: array.call_method0(intern!(py, "data_ptr"))?.extract()?,
        shape: array.getattr(intern!(py, "shape"))?.extract()?,
        strides: Some(strides.into_iter().map(|step| step * size).collect()),
    })
}

/// The layout of an array of bytes by its `__cuda_array_interface__`. `stream` waits for the stream
/// named there.
fn from_interface(array: &Bound<'_, PyAny>, stream: &Stream) -> PyResult<Layout> {
    let interface = interface(array, stream)?;
    let typestr = interface.typestr;
    if !matches!(typestr.as_str(), "|u1" | "|b1") {
        return Err(errors::input(format!(
            "an array of {typestr} on a GPU is no image: compare it there, to booleans"
        )));
    }
    Ok(interface.layout)
}

/// What `__cuda_array_interface__` says.
pub(super) struct Interface {
    pub(super) typestr: String,
    pub(super) is_read_only: bool,
    pub(super) layout: Layout,
}

/// The entries of `__cuda_array_interface__`. `stream` waits for the stream named there.
pub(super) fn interface(array: &Bound<'_, PyAny>, stream: &Stream) -> PyResult<Interface> {
    let py = array.py();
    let interface = array.getattr(intern!(py, "__cuda_array_interface__"))?;
    let interface = interface.cast::<PyDict>()?;
    let entry = |name: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
        Ok(interface.get_item(name)?.filter(|entry| !entry.is_none()))
    };
    let needed = |name: &str| -> PyResult<Bound<'_, PyAny>> {
        entry(name)?.ok_or_else(|| {
            errors::input(format!(
                "__cuda_array_interface__ of the array has no {name:?}"
            ))
        })
    };
    if entry("mask")?.is_some() {
        return Err(errors::input(
            "a masked array has pixels that are neither foreground nor background: fill them",
        ));
    }
    if let Some(producer) = entry("stream")? {
        let handle = std::ptr::without_provenance_mut(producer.extract::<usize>()?);
        // SAFETY: the array names the stream, which is used here only.
        let producer = unsafe { Stream::from_raw(stream.device(), handle, Owner::none()) };
        producer
            .and_then(|producer| stream.wait_for(&producer))
            .map_err(|error| errors::from_library(error.into()))?;
    }
    let (address, is_read_only): (u64, bool) = needed("data")?.extract()?;
    Ok(Interface {
        typestr: needed("typestr")?.extract()?,
        is_read_only,
        layout: Layout {
            address,
            shape: needed("shape")?.extract()?,
            strides: entry("strides")?
                .map(|strides| strides.extract())
                .transpose()?,
        },
    })
}

/// The tensor of an array of an unknown library by DLPack, for use on `stream`, the default stream.
fn from_dlpack(array: &Bound<'_, PyAny>, stream: &Stream) -> PyResult<(Layout, Imported<u8>)> {
    let py = array.py();
    let arguments = PyDict::new(py);
    arguments.set_item("stream", LEGACY)?;
    arguments.set_item("max_version", (1, 0))?;
    let export = intern!(py, "__dlpack__");
    let capsule = match array.call_method(export, (), Some(&arguments)) {
        // A library that predates version 1.
        Err(error) if error.is_instance_of::<pyo3::exceptions::PyTypeError>(py) => {
            arguments.del_item("max_version")?;
            array.call_method(export, (), Some(&arguments))?
        }
        exported => exported?,
    };
    let capsule = capsule.cast_into::<PyCapsule>()?;
    let imported = if capsule.is_valid_checked(Some(VERSIONED)) {
        let pointer = capsule.pointer_checked(Some(VERSIONED))?;
        take(
            &capsule,
            pointer.cast::<DLManagedTensorVersioned>(),
            stream,
            c"used_dltensor_versioned",
        )
    } else {
        let pointer = capsule.pointer_checked(Some(UNVERSIONED))?;
        take(
            &capsule,
            pointer.cast::<DLManagedTensor>(),
            stream,
            c"used_dltensor",
        )
    }?;
    let layout = Layout {
        address: imported.buffer().as_ptr().addr() as u64,
        shape: imported.shape().to_vec(),
        strides: None,
    };
    Ok((layout, imported))
}

/// Takes the tensor of a capsule, and renames the capsule to `used`.
fn take<M: dlpack::Managed + 'static>(
    capsule: &Bound<'_, PyCapsule>,
    tensor: NonNull<M>,
    stream: &Stream,
    used: &'static std::ffi::CStr,
) -> PyResult<Imported<u8>> {
    // SAFETY: the capsule's name says that it has such a tensor, which nobody has taken. The
    // producer was told the stream.
    let imported = unsafe { dlpack::import::<u8, M>(tensor, stream) }.map_err(tensor_error)?;
    // SAFETY: the capsule is alive, and the name lives for ever.
    if unsafe { pyo3::ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) } != 0 {
        let error = PyErr::fetch(capsule.py());
        // The capsule still deletes the tensor.
        std::mem::forget(imported);
        return Err(error);
    }
    Ok(imported)
}

/// The number of images, their height and width, and the elements, of `size` bytes, from row to
/// row, if each row's elements are contiguous and all rows are equally far apart.
pub(super) fn rows(layout: &Layout, size: usize) -> Option<(usize, usize, usize, usize)> {
    let (images, height, width) = match layout.shape[..] {
        [height, width] => (1, height, width),
        [images, height, width] => (images, height, width),
        _ => return None,
    };
    let Some(strides) = &layout.strides else {
        return Some((images, height, width, width));
    };
    let (plane, row, column) = match strides[..] {
        [row, column] => (None, row, column),
        [plane, row, column] => (Some(plane), row, column),
        _ => return None,
    };
    // Strides of axes with one element do not matter.
    let plane = plane.filter(|_| images > 1);
    let elements = |step: isize| {
        let step = usize::try_from(step).ok()?;
        let elements = step.checked_div(size)?;
        (elements * size == step).then_some(elements)
    };
    let pitch = match (height > 1, plane) {
        (true, _) => elements(row)?,
        (false, Some(plane)) => elements(plane)?,
        (false, None) => width,
    };
    let follows = width <= 1 || elements(column) == Some(1);
    let continues = plane.is_none_or(|plane| {
        let next = pitch.checked_mul(height);
        next.is_some_and(|next| elements(plane) == Some(next))
    });
    (follows && continues && pitch >= width).then_some((images, height, width, pitch))
}

/// A copy of the array in C order, by its own library, if it is known.
pub(super) fn contiguous<'py>(
    array: &Bound<'py, PyAny>,
    library: Library,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = array.py();
    let copy = match library {
        Library::Torch => array.call_method0(intern!(py, "contiguous"))?,
        Library::Cupy => py
            .import(intern!(py, "cupy"))?
            .call_method1(intern!(py, "ascontiguousarray"), (array,))?,
        Library::Other => return Ok(None),
    };
    Ok(Some(copy))
}

fn refused(layout: &Layout) -> PyErr {
    let (shape, strides) = (&layout.shape, layout.strides.as_deref().unwrap_or_default());
    if matches!(shape.len(), 2 | 3) {
        errors::input(format!(
            "an array of shape {shape:?} and strides {strides:?}: each row's bytes must follow \
             each other, and rows be at one distance; make it contiguous"
        ))
    } else {
        errors::input(format!(
            "an array of shape {shape:?} is no image: (H, W) is one, (N, H, W) is N of them"
        ))
    }
}

/// Whether an array is in the memory of an NVIDIA GPU.
#[pyfunction]
pub(crate) fn is_on_gpu(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = array.py();
    if array.is_instance_of::<numpy::PyUntypedArray>() {
        return Ok(false);
    }
    match Library::of(array)? {
        Library::Torch => return array.getattr(intern!(py, "is_cuda"))?.extract(),
        Library::Cupy => return Ok(true),
        Library::Other => {}
    }
    if array.hasattr(intern!(py, "__cuda_array_interface__"))? {
        return Ok(true);
    }
    match array.getattr_opt(intern!(py, "__dlpack_device__"))? {
        Some(device) => {
            let (kind, _): (i32, i32) = device.call0()?.extract()?;
            Ok(kind == dlpack::DLDevice::CUDA)
        }
        None => Ok(false),
    }
}
