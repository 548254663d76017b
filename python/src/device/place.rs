//! Devices, streams of other libraries, and the library's kernels on them.

use std::collections::VecDeque;
use std::ptr::without_provenance_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyType;
use trazar::cuda::{CudaResult, Device, Kernels, Owner, Queue, Stream};
use trazar::{DeviceDistances, DeviceLabeler, DeviceTracer};

use crate::errors;

/// A stream, and what works on it.
#[derive(Clone)]
pub(crate) struct OpenStream {
    pub(crate) stream: Stream,
    pub(crate) labeler: DeviceLabeler<Queue>,
    pub(crate) tracer: DeviceTracer<Queue>,
    pub(crate) distances: DeviceDistances<Queue>,
}

/// A device and the kernels on it, once a call has needed them.
struct Open {
    device: Device,
    kernels: Kernels,
    /// The streams used last, latest first, each with its working memory.
    places: VecDeque<OpenStream>,
}

static OPEN: Mutex<Vec<Open>> = Mutex::new(Vec::new());

/// The number of streams per device whose working memory is kept.
const PLACES: usize = 4;

/// A library of arrays.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Library {
    Torch,
    Cupy,
    /// A library of which only its arrays' protocols are known.
    Other,
}

impl Library {
    /// The library of an array's class, or of a class that it derives from.
    pub(crate) fn of(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        for class in array.get_type().mro() {
            let module = class.cast::<PyType>()?.module()?;
            match module.to_str()?.split('.').next() {
                Some("torch") => return Ok(Self::Torch),
                Some("cupy") => return Ok(Self::Cupy),
                _ => {}
            }
        }
        Ok(Self::Other)
    }

    /// The index of CuPy's current device.
    pub(crate) fn cupy_device(py: Python<'_>) -> PyResult<u32> {
        let cuda = py.import(intern!(py, "cupy.cuda"))?;
        cuda.call_method0(intern!(py, "Device"))?
            .getattr(intern!(py, "id"))?
            .extract()
    }

    /// The driver's handle of the library's current stream on the device with this index. For an
    /// unknown library it is the legacy default stream, for which every library that names no
    /// stream waits.
    fn current_handle(self, py: Python<'_>, index: u32) -> PyResult<usize> {
        let handle = match self {
            Self::Torch => {
                // Fetching only the number takes a tenth of the time of fetching the object.
                let module = py.import(intern!(py, "torch._C"))?;
                match module.getattr_opt(intern!(py, "_cuda_getCurrentRawStream"))? {
                    Some(function) => function.call1((index,))?,
                    None => self
                        .current_stream(py, index)?
                        .getattr(intern!(py, "cuda_stream"))?,
                }
            }
            Self::Cupy => self
                .current_stream(py, index)?
                .getattr(intern!(py, "ptr"))?,
            Self::Other => return Ok(LEGACY),
        };
        // 0 is the driver's other name of the legacy default stream.
        Ok(handle.extract::<usize>()?.max(LEGACY))
    }

    /// The library's object for its current stream.
    fn current_stream<'py>(self, py: Python<'py>, index: u32) -> PyResult<Bound<'py, PyAny>> {
        let (module, function) = match self {
            Self::Torch => (intern!(py, "torch.cuda"), intern!(py, "current_stream")),
            _ => (intern!(py, "cupy.cuda"), intern!(py, "get_current_stream")),
        };
        py.import(module)?.call_method1(function, (index,))
    }

    /// The owner of the library's current stream: its object. An external stream is kept by its
    /// creator, as the page on Python says. A default stream needs no owner.
    fn owner(self, py: Python<'_>, index: u32, handle: usize) -> PyResult<Owner> {
        if handle == LEGACY || self == Self::Other {
            return Ok(Owner::none());
        }
        Ok(Owner::new(self.current_stream(py, index)?.unbind()))
    }
}

/// The legacy default stream's handle, also for DLPack and `__cuda_array_interface__`.
pub(crate) const LEGACY: usize = 1;

/// The stream with this handle.
///
/// # Safety
/// It is a default stream, or one that exists while `owner` is kept.
unsafe fn adopt(device: &Device, handle: usize, owner: Owner) -> PyResult<Stream> {
    // SAFETY: the caller's promise.
    unsafe { Stream::from_raw(device, without_provenance_mut(handle), owner) }
        .map_err(|error| errors::from_library(error.into()))
}

/// The place for a library's current stream on the device with this index. The first call for a
/// device opens it, and has the driver compile the kernels.
pub(crate) fn place(py: Python<'_>, library: Library, index: u32) -> PyResult<OpenStream> {
    let handle = library.current_handle(py, index)?;
    let known = py.detach(|| lock().iter_mut().find_map(|on| on.known(index, handle)));
    if let Some(place) = known {
        return Ok(place);
    }
    let owner = library.owner(py, index, handle)?;
    py.detach(|| {
        let mut open = lock();
        let on = opened(&mut open, index);
        let on = on.map_err(|error| errors::from_library(error.into()))?;
        // SAFETY: the library has just named its current stream. PyTorch's own streams exist until
        // the process ends, and CuPy's as long as their objects. An external stream exists as long
        // as its user keeps it; the documentation requires that until the process ends.
        let stream = unsafe { adopt(&on.device, handle, owner) }?;
        let queue = Queue::new(&stream, &on.kernels);
        let queue = queue.map_err(|error| errors::from_library(error.into()))?;
        let place = OpenStream {
            stream,
            labeler: DeviceLabeler::on(queue.clone()),
            tracer: DeviceTracer::on(queue.clone()),
            distances: DeviceDistances::on(queue),
        };
        on.places.push_front(place.clone());
        on.places.truncate(PLACES);
        Ok(place)
    })
}

/// A new stream on the first device, with the kernels, for arrays in the host's memory.
pub(crate) fn queue() -> CudaResult<Queue> {
    let mut open = lock();
    let on = opened(&mut open, 0)?;
    Queue::new(&on.device.stream()?, &on.kernels)
}

/// The device with this index, opened if necessary.
fn opened(open: &mut Vec<Open>, index: u32) -> CudaResult<&mut Open> {
    let at = match open.iter().position(|on| on.is(index)) {
        Some(at) => at,
        None => {
            open.push(Open::new(index)?);
            open.len() - 1
        }
    };
    Ok(&mut open[at])
}

fn lock() -> MutexGuard<'static, Vec<Open>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Open {
    fn new(index: u32) -> CudaResult<Self> {
        let device = Device::open(index)?;
        let kernels = Kernels::load(&device)?;
        Ok(Self {
            device,
            kernels,
            places: VecDeque::new(),
        })
    }

    fn is(&self, index: u32) -> bool {
        self.device.info().index == index
    }

    /// The place with this handle. A stream that is kept here does not end (see `place`), so its
    /// handle is no other stream's. (The default stream of a thread has one handle on all threads.)
    fn known(&mut self, index: u32, handle: usize) -> Option<OpenStream> {
        if !self.is(index) || without_provenance_mut(handle) == Stream::PER_THREAD {
            return None;
        }
        let mut places = self.places.iter();
        let at = places.position(|place| place.stream.as_raw().addr() == handle)?;
        if at > 0 {
            let place = self.places.remove(at)?;
            self.places.push_front(place);
        }
        self.places.front().cloned()
    }
}

/// The stream of a library that takes a result: `handle` is what it passed to `__dlpack__`. `None`
/// if nobody keeps the stream while the result may be used.
pub(crate) fn consumer(py: Python<'_>, device: &Device, handle: usize) -> PyResult<Option<Stream>> {
    if handle == LEGACY {
        // SAFETY: a default stream.
        return unsafe { adopt(device, handle, Owner::none()) }.map(Some);
    }
    // The loaded libraries know whether it is their current one.
    let modules = py
        .import(intern!(py, "sys"))?
        .getattr(intern!(py, "modules"))?;
    let index = device.info().index;
    for (module, library) in [("torch.cuda", Library::Torch), ("cupy.cuda", Library::Cupy)] {
        // A library without CUDA, such as PyTorch for the CPU only, raises: it is not the consumer.
        let is_current = || {
            let current = library.current_handle(py, index);
            current.is_ok_and(|current| current == handle)
        };
        if modules.contains(module)? && is_current() {
            let owner = library.owner(py, index, handle)?;
            // SAFETY: the library's current stream: as in `place`.
            return unsafe { adopt(device, handle, owner) }.map(Some);
        }
    }
    Ok(None)
}
