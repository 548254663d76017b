//! Results in a GPU's memory, for other libraries to use.

use std::any::Any;
use std::ffi::CStr;
use std::ptr::NonNull;
use std::sync::Arc;

use pyo3::exceptions::{PyBufferError, PyIndexError, PyTypeError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};
use trazar::cuda::dlpack::{
    self, DLDevice, DLManagedTensor, DLManagedTensorVersioned, Element, Managed, TensorError,
};
use trazar::cuda::{CudaResult, Device, DeviceBuffer, Owner, RawBuffer, Release, Stream};
use trazar::gpu::Pod;

use super::place;
use crate::arrays::owned;
use crate::errors;

/// The element types of results.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Int32,
    Int64,
    Uint8,
    Uint32,
    Float32,
    Float64,
}

/// Evaluates an expression for the Rust type of a [`Kind`].
macro_rules! of_kind {
    ($kind:expr, $t:ident => $result:expr) => {
        match $kind {
            Kind::Int32 => {
                type $t = i32;
                $result
            }
            Kind::Int64 => {
                type $t = i64;
                $result
            }
            Kind::Uint8 => {
                type $t = u8;
                $result
            }
            Kind::Uint32 => {
                type $t = u32;
                $result
            }
            Kind::Float32 => {
                type $t = f32;
                $result
            }
            Kind::Float64 => {
                type $t = f64;
                $result
            }
        }
    };
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Uint8 => "uint8",
            Self::Uint32 => "uint32",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
        }
    }

    fn typestr(self) -> &'static str {
        of_kind!(self, T => T::TYPESTR)
    }

    fn size(self) -> usize {
        of_kind!(self, T => size_of::<T>())
    }
}

/// An array in a GPU's memory, contiguous in C's order: part of a result, which it keeps.
///
/// CuPy, PyTorch, JAX and others take it by DLPack or ``__cuda_array_interface__``:
/// ``cupy.asarray(array)``, ``torch.from_dlpack(array)``. ``array.get()`` is a NumPy array.
#[pyclass(frozen, module = "trazar")]
pub(crate) struct DeviceArray {
    /// 0 if there are no elements.
    address: u64,
    kind: Kind,
    shape: Vec<usize>,
    stream: Stream,
    /// The owner of the memory. It is freed in the order of `stream`.
    memory: Arc<dyn Any + Send + Sync>,
}

impl DeviceArray {
    /// The elements of `buffer`, whose memory `memory` keeps, as an array of this shape.
    ///
    /// Each element of `T` has the size of an element of `kind`; values above the largest number of
    /// `kind` are meaningless.
    pub(crate) fn new<T: Pod>(
        buffer: &DeviceBuffer<T>,
        kind: Kind,
        shape: Vec<usize>,
        memory: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        assert_eq!(size_of::<T>(), kind.size());
        assert_eq!(buffer.len(), shape.iter().product::<usize>());
        Self {
            address: buffer.as_ptr().addr() as u64,
            kind,
            shape,
            stream: buffer.stream().clone(),
            memory,
        }
    }

    /// A buffer of its own memory as an array.
    pub(crate) fn owning<T: Pod + Send + Sync>(
        buffer: DeviceBuffer<T>,
        kind: Kind,
        shape: Vec<usize>,
    ) -> Self
    where
        DeviceBuffer<T>: Send + Sync + 'static,
    {
        let buffer = Arc::new(buffer);
        Self::new(&Arc::clone(&buffer), kind, shape, buffer)
    }

    /// The rows from `start` to before `end` along the first axis, in another shape.
    pub(crate) fn rows(&self, start: usize, end: usize, shape: Vec<usize>) -> Self {
        let row: usize = self.shape[1..].iter().product();
        assert!(start <= end && end <= self.shape[0]);
        assert_eq!(shape.iter().product::<usize>(), (end - start) * row);
        Self {
            address: self.address + (start * row * self.kind.size()) as u64,
            kind: self.kind,
            shape,
            stream: self.stream.clone(),
            memory: Arc::clone(&self.memory),
        }
    }

    fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    fn gpu(&self) -> &Device {
        self.stream.device()
    }

    /// A buffer of the same memory, which keeps it. `after` is dropped before the memory is
    /// released.
    fn alias<T: Pod>(&self, after: Option<AfterDevice>) -> CudaResult<DeviceBuffer<T>> {
        let raw = RawBuffer {
            address: self.address,
            len: self.elements(),
            stream: self.stream.clone(),
            // The fields of a tuple are dropped in order.
            release: Release::InOrder(Owner::new((after, Arc::clone(&self.memory)))),
        };
        // SAFETY: the owner keeps the memory, which is freed in the order of the stream; only
        // holders of the array write it.
        unsafe { DeviceBuffer::from_raw(raw) }
    }

    fn read<T: Pod>(&self) -> CudaResult<Vec<T>> {
        self.alias::<T>(None)?.to_vec()
    }

    /// The capsule of a tensor of this memory, for a consumer that uses the stream `consumer`.
    fn export<'py, T: Element>(
        &self,
        py: Python<'py>,
        versioned: bool,
        consumer: Option<usize>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let kept = match consumer {
            None => None,
            Some(handle) => place::consumer(py, self.gpu(), handle)?,
        };
        // If nobody keeps the stream, its work is waited for when the tensor is deleted, by waiting
        // for the whole device.
        let unknown = consumer.filter(|_| kept.is_none());
        if let Some(handle) = unknown {
            let handle = std::ptr::without_provenance_mut(handle);
            // SAFETY: it is the consumer's stream, used during this call only.
            let stream = unsafe { Stream::from_raw(self.gpu(), handle, Owner::none()) };
            stream
                .and_then(|stream| stream.wait_for(&self.stream))
                .map_err(|error| errors::from_library(error.into()))?;
        }
        let after = unknown.map(|_| AfterDevice(self.gpu().clone()));
        let buffer = self.alias::<T>(after);
        let buffer = buffer.map_err(|error| errors::from_library(error.into()))?;
        let kept = kept.as_ref();
        if versioned {
            let tensor = dlpack::export(buffer, &self.shape, kept).map_err(tensor_error)?;
            capsule(py, tensor, VERSIONED, delete_unused_versioned)
        } else {
            let tensor =
                dlpack::export_unversioned(buffer, &self.shape, kept).map_err(tensor_error)?;
            capsule(py, tensor, UNVERSIONED, delete_unused_unversioned)
        }
    }
}

/// Waits for all work of a device when dropped.
struct AfterDevice(Device);

impl Drop for AfterDevice {
    fn drop(&mut self) {
        // If the wait fails, a kernel has crashed, and the device does no more work.
        let _ = self.0.synchronize();
    }
}

/// The names of capsules until their tensors are taken.
pub(crate) const VERSIONED: &CStr = c"dltensor_versioned";
pub(crate) const UNVERSIONED: &CStr = c"dltensor";

fn capsule<'py, M: Managed>(
    py: Python<'py>,
    tensor: dlpack::Exported<M>,
    name: &'static CStr,
    destructor: unsafe extern "C" fn(*mut ffi::PyObject),
) -> PyResult<Bound<'py, PyCapsule>> {
    let pointer = tensor.into_raw();
    // SAFETY: the destructor deletes the tensor if the capsule still has the name, which is that of
    // a tensor nobody has taken.
    let capsule = unsafe {
        PyCapsule::new_with_pointer_and_destructor(py, pointer.cast(), name, Some(destructor))
    };
    if capsule.is_err() {
        // SAFETY: nobody has the tensor.
        unsafe { M::delete(pointer) };
    }
    capsule
}

/// Deletes the tensor of a capsule that nobody has taken.
///
/// # Safety
/// `capsule` is a capsule that is being destroyed; if it is called `name`, it has an `M`.
unsafe fn delete_unused<M: Managed>(capsule: *mut ffi::PyObject, name: &CStr) {
    // SAFETY: the caller's promise; the thread is attached to the interpreter, as destructors are.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, name.as_ptr()) == 1
            && let Some(pointer) = NonNull::new(ffi::PyCapsule_GetPointer(capsule, name.as_ptr()))
        {
            M::delete(pointer.cast::<M>());
        }
    }
}

unsafe extern "C" fn delete_unused_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: `export` has made the capsule.
    unsafe { delete_unused::<DLManagedTensorVersioned>(capsule, VERSIONED) };
}

unsafe extern "C" fn delete_unused_unversioned(capsule: *mut ffi::PyObject) {
    // SAFETY: `export` has made the capsule.
    unsafe { delete_unused::<DLManagedTensor>(capsule, UNVERSIONED) };
}

pub(crate) fn tensor_error(error: TensorError) -> PyErr {
    match error {
        TensorError::Cuda(error) => errors::from_library(error.into()),
        other => errors::input(other.to_string()),
    }
}

#[pymethods]
impl DeviceArray {
    /// The extents of the axes.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    /// The type of the elements, as NumPy's.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import(intern!(py, "numpy"))?
            .call_method1(intern!(py, "dtype"), (self.kind.name(),))
    }

    /// The number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// The number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.elements()
    }

    /// The number of bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.elements() * self.kind.size()
    }

    /// Where it lies: ``cuda:0`` and so on.
    #[getter]
    fn device(&self) -> String {
        format!("cuda:{}", self.gpu().info().index)
    }

    /// The stream whose work writes it, as the driver's handle; 1 is the legacy default stream.
    #[getter]
    fn stream(&self) -> usize {
        self.stream.as_raw().addr().max(1)
    }

    fn __len__(&self) -> PyResult<usize> {
        let first = self.shape.first().copied();
        first.ok_or_else(|| PyTypeError::new_err("len() of an array of no dimensions"))
    }

    fn __repr__(&self) -> String {
        format!(
            "DeviceArray({}, shape {:?}, {})",
            self.kind.name(),
            self.shape,
            self.device()
        )
    }

    /// Copies the elements to a NumPy array, and waits for them.
    fn get<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let failed = |error: trazar::cuda::CudaError| errors::from_library(error.into());
        let shape = numpy::ndarray::IxDyn(&self.shape);
        of_kind!(self.kind, T => {
            let values = py.detach(|| self.read::<T>()).map_err(failed)?;
            Ok(owned(py, shape, values)?.into_any())
        })
    }

    /// The value of an array of one element. Waits for it.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.elements() != 1 {
            return Err(PyTypeError::new_err(format!(
                "an array of {} elements is no number",
                self.elements()
            )));
        }
        self.get(py)?.call_method0(intern!(py, "item"))
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.item(py)?.call_method0(intern!(py, "__int__"))
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        self.item(py)?.extract()
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if matches!(self.kind, Kind::Float32 | Kind::Float64) {
            return Err(PyTypeError::new_err("an array of floats is no index"));
        }
        self.item(py)
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        self.item(py)?.is_truthy()
    }

    /// The array at `index` of the first axis.
    fn __getitem__(&self, index: isize) -> PyResult<Self> {
        let Some((&len, rest)) = self.shape.split_first() else {
            return Err(PyTypeError::new_err(
                "an array of no dimensions has no items",
            ));
        };
        let at = if index < 0 {
            index + len as isize
        } else {
            index
        };
        match usize::try_from(at) {
            Ok(at) if at < len => Ok(self.rows(at, at + 1, rest.to_vec())),
            _ => Err(PyIndexError::new_err(format!("index {index} of {len}"))),
        }
    }

    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("shape", PyTuple::new(py, &self.shape)?)?;
        interface.set_item("typestr", self.kind.typestr())?;
        let address = if self.elements() == 0 {
            0
        } else {
            self.address
        };
        interface.set_item("data", (address, false))?;
        interface.set_item("strides", py.None())?;
        interface.set_item("version", 3)?;
        interface.set_item("stream", self.stream())?;
        Ok(interface)
    }

    fn __dlpack_device__(&self) -> (i32, u32) {
        (DLDevice::CUDA, self.gpu().info().index)
    }

    /// The array as DLPack's capsule, after which ``stream`` waits for it.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<isize>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, u32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        if dl_device.is_some_and(|device| device != self.__dlpack_device__()) || copy == Some(true)
        {
            return Err(PyBufferError::new_err(
                "no copy is made for DLPack: array.get() is a copy on the host",
            ));
        }
        let consumer = match stream {
            // A consumer that names no stream uses the legacy default one.
            None => Some(1),
            // The consumer waits itself.
            Some(-1) => None,
            Some(handle @ 1..) => Some(handle as usize),
            Some(other) => {
                return Err(PyBufferError::new_err(format!(
                    "stream={other} is no stream of CUDA for DLPack: 1 is the default stream"
                )));
            }
        };
        let versioned = max_version.is_some_and(|(major, _)| major >= 1);
        of_kind!(self.kind, T => self.export::<T>(py, versioned, consumer))
    }
}
