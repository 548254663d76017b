//! Devices, streams of other libraries, and the library's kernels on them.

use std::collections::VecDeque;
use std::ptr::without_provenance_mut;
use std::sync::{Mutex, PoisonError};

use pyo3::intern;
use pyo3::prelude::*;
use trazar::cuda::{Device, Kernels, Owner, Queue, Stream};
use trazar::{DeviceLabeler, DeviceTracer};

use crate::errors;

/// A stream, and what works on it.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) stream: Stream,
    pub(crate) labeler: DeviceLabeler<Queue>,
    pub(crate) tracer: DeviceTracer<Queue>,
}

/// A device and the kernels on it, once a call has needed them.
struct Open {
    device: Device,
    kernels: Kernels,
    /// The streams used last, the latest first, each with the memory in which its tracer works.
    places: VecDeque<Place>,
}

static OPEN: Mutex<Vec<Open>> = Mutex::new(Vec::new());

/// The number of streams per device whose tracers are kept.
const PLACES: usize = 4;

/// A stream of another library.
pub(crate) struct Foreign {
    handle: usize,
    /// The Python object that keeps it; None for a default stream.
    owner: Option<Py<PyAny>>,
}

impl Foreign {
    /// The stream that every library waits for which does not name another one.
    const LEGACY: Self = Self {
        handle: 1,
        owner: None,
    };

    /// The current stream of the library that `array` is of, on the device with this index: of
    /// PyTorch and CuPy what they say, of others the legacy default stream.
    pub(crate) fn current(array: &Bound<'_, PyAny>, index: u32) -> PyResult<Self> {
        let py = array.py();
        let (stream, handle) = match library(array)?.as_str() {
            "torch" => {
                let stream = py
                    .import(intern!(py, "torch.cuda"))?
                    .call_method1(intern!(py, "current_stream"), (index,))?;
                let handle = stream.getattr(intern!(py, "cuda_stream"))?;
                (stream, handle)
            }
            "cupy" => {
                let stream = py
                    .import(intern!(py, "cupy.cuda"))?
                    .call_method1(intern!(py, "get_current_stream"), (index,))?;
                let handle = stream.getattr(intern!(py, "ptr"))?;
                (stream, handle)
            }
            _ => return Ok(Self::LEGACY),
        };
        // 0 is the driver's other name of the legacy default stream.
        match handle.extract::<usize>()? {
            0 | 1 => Ok(Self::LEGACY),
            handle => Ok(Self {
                handle,
                owner: Some(stream.unbind()),
            }),
        }
    }

    /// The number of the stream, as DLPack and `__cuda_array_interface__` know it.
    pub(crate) fn handle(&self) -> usize {
        self.handle
    }

    fn adopt(self, device: &Device) -> PyResult<Stream> {
        let owner = self.owner.map_or_else(Owner::none, Owner::new);
        let handle = without_provenance_mut(self.handle);
        // SAFETY: a default stream, or one that its library's object keeps.
        unsafe { Stream::from_raw(device, handle, owner) }
            .map_err(|error| errors::from_library(error.into()))
    }
}

/// The top-level module of the library that an array is of.
pub(crate) fn library(array: &Bound<'_, PyAny>) -> PyResult<String> {
    let module = array.get_type().module()?.to_string();
    Ok(module.split('.').next().unwrap_or_default().to_owned())
}

/// What works on a stream of the device with this index. The first call for a device opens it, and
/// has the driver compile the kernels.
pub(crate) fn place(py: Python<'_>, index: u32, stream: Foreign) -> PyResult<Place> {
    py.detach(|| {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let known = open
            .iter()
            .position(|each| each.device.info().index == index);
        let known = match known {
            Some(known) => known,
            None => {
                let opened = Device::open(index).and_then(|device| {
                    let kernels = Kernels::load(&device)?;
                    Ok(Open {
                        device,
                        kernels,
                        places: VecDeque::new(),
                    })
                });
                open.push(opened.map_err(|error| errors::from_library(error.into()))?);
                open.len() - 1
            }
        };
        let on = &mut open[known];
        let stream = stream.adopt(&on.device)?;
        let found = on
            .places
            .iter()
            .position(|place| place.stream.is_same(&stream));
        let place = match found.and_then(|found| on.places.remove(found)) {
            Some(place) => place,
            None => {
                let queue = Queue::new(&stream, &on.kernels)
                    .map_err(|error| errors::from_library(error.into()))?;
                Place {
                    stream,
                    labeler: DeviceLabeler::on(queue.clone()),
                    tracer: DeviceTracer::on(queue),
                }
            }
        };
        on.places.push_front(place.clone());
        on.places.truncate(PLACES);
        Ok(place)
    })
}

/// A stream of a library that takes a result: `handle` is what it passed to `__dlpack__`. None if
/// no one keeps the stream as long as the result may be used.
pub(crate) fn consumer(py: Python<'_>, device: &Device, handle: usize) -> PyResult<Option<Stream>> {
    if handle == Foreign::LEGACY.handle {
        return Foreign::LEGACY.adopt(device).map(Some);
    }
    // The libraries that are loaded know whether it is their current one.
    let modules = py
        .import(intern!(py, "sys"))?
        .getattr(intern!(py, "modules"))?;
    for (module, current, number) in [
        ("torch.cuda", "current_stream", "cuda_stream"),
        ("cupy.cuda", "get_current_stream", "ptr"),
    ] {
        if !modules.contains(module)? {
            continue;
        }
        let stream = py
            .import(module)?
            .call_method1(current, (device.info().index,))?;
        if stream.getattr(number)?.extract::<usize>()? == handle {
            let stream = Foreign {
                handle,
                owner: Some(stream.unbind()),
            };
            return stream.adopt(device).map(Some);
        }
    }
    Ok(None)
}
