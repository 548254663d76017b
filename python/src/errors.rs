//! The library's errors as Python exceptions, with their one line as the message.

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use trazar::Error;
use trazar::error::Unavailable;

/// An exception class of `trazar._errors`, imported when it is first raised.
struct Class(&'static str, PyOnceLock<Py<PyType>>);

static INPUT: Class = Class("InputError", PyOnceLock::new());
static MEMORY: Class = Class("OutOfMemoryError", PyOnceLock::new());
static DEVICE: Class = Class("DeviceError", PyOnceLock::new());

impl Class {
    fn error(&self, message: String) -> PyErr {
        Python::attach(|py| match self.1.import(py, "trazar._errors", self.0) {
            Ok(class) => PyErr::from_type(class.clone(), (message,)),
            Err(error) => error,
        })
    }
}

/// An argument that can't be used: a `ValueError`.
pub(crate) fn input(message: impl Into<String>) -> PyErr {
    INPUT.error(message.into())
}

/// The exception for an error of the library.
pub(crate) fn from_library(error: Error) -> PyErr {
    let message = error.to_string();
    if error.is_out_of_memory() {
        return MEMORY.error(message);
    }
    match error {
        Error::Unavailable(Unavailable::GpuSupport) | Error::Emulator(_) => DEVICE.error(message),
        #[cfg(not(target_os = "macos"))]
        Error::Cuda(_) => DEVICE.error(message),
        // Python chooses the subclass by the system's error number.
        Error::Io { path, source, .. } => match source.raw_os_error() {
            Some(number) => {
                let text = source.to_string();
                let text = text
                    .split(" (os error")
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                PyOSError::new_err((number, text, path))
            }
            // By its kind instead.
            None => std::io::Error::new(source.kind(), message).into(),
        },
        Error::Write(source) => source.into(),
        _ => INPUT.error(message),
    }
}
