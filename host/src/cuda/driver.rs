//! Finds and starts NVIDIA's driver, once per process.

use std::error::Error;
use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

use libloading::Library;

use super::driver_symbols;
use super::error::{CudaError, check};
use super::raw;
use super::version::DriverVersion;

/// The names of the driver library in the order of the search: by the system's rules, then where
/// WSL keeps it.
const LIBRARY_NAMES: &[&str] = &["libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"];

/// The loaded library, kept for the life of the process because the trampolines point into it;
/// `None` for a stand-in.
static DRIVER: OnceLock<Result<(Option<Library>, DriverVersion), CudaError>> = OnceLock::new();

/// Loads and starts the driver on the first call, which takes 10 ms to 200 ms. Later calls return
/// the result of the first.
///
/// Every other function of this module that needs the driver calls it. Call it yourself only before
/// calling the driver directly: such calls return `NotInitialized` until then.
///
/// # Errors
/// [`CudaError::NoDriver`] if there is no driver library, [`CudaError::NoDevice`] if it finds no
/// GPU, [`CudaError::DriverStart`] if it can't start.
pub fn load_driver() -> Result<DriverVersion, CudaError> {
    match DRIVER.get_or_init(|| start(LIBRARY_NAMES)) {
        Ok((_, version)) => Ok(*version),
        Err(error) => Err(error.clone()),
    }
}

/// Starts with the caller's functions in place of the driver, for tests of a failing driver. `find`
/// returns the function of a name, or `None` for one that the driver lacks.
///
/// # Errors
/// Those of [`load_driver`].
///
/// # Panics
/// If a driver was loaded before.
///
/// # Safety
/// The functions have the driver's signatures, and do what the driver documents or return an error.
#[doc(hidden)]
pub unsafe fn load_stand_in(
    mut find: impl FnMut(&str) -> Option<*mut c_void>,
) -> Result<DriverVersion, CudaError> {
    let mut is_first = false;
    DRIVER.get_or_init(|| {
        is_first = true;
        // SAFETY: the caller's promise; functions of the program stay loaded.
        unsafe { driver_symbols::install(|name| find(name.to_str().ok()?)) };
        Ok((None, initialise()?))
    });
    assert!(is_first, "a driver was loaded before");
    load_driver()
}

fn start(names: &'static [&'static str]) -> Result<(Option<Library>, DriverVersion), CudaError> {
    let library = open_first(names)?;
    // SAFETY: the type is right for any symbol: the address is only stored, never read through.
    let find = |name: &CStr| unsafe { library.get::<*mut c_void>(name.to_bytes_with_nul()) };
    // SAFETY: `open_first` opened the driver under its own name; the library is returned into a
    // static or, when a later step fails, forgotten below: either way it stays loaded.
    unsafe { driver_symbols::install(|name| find(name).ok().map(|address| *address)) };
    match initialise() {
        Ok(version) => Ok((Some(library), version)),
        Err(error) => {
            std::mem::forget(library);
            Err(error)
        }
    }
}

/// Starts the driver whose functions are installed.
fn initialise() -> Result<DriverVersion, CudaError> {
    // SAFETY: takes a flag word, which must be 0.
    let started = unsafe { raw::cuInit(0) };
    let mut version = 0;
    // SAFETY: writes one integer; allowed before `cuInit` too.
    let versioned = unsafe { raw::cuDriverGetVersion(&mut version) };
    let version = DriverVersion::from_raw(version);
    match started {
        0 => check("cuDriverGetVersion", versioned).map(|()| version),
        100 => Err(CudaError::NoDevice { driver: version }),
        status => Err(CudaError::DriverStart {
            driver: version,
            status: status.into(),
        }),
    }
}

fn open_first(names: &'static [&'static str]) -> Result<Library, CudaError> {
    let mut reasons = Vec::new();
    for name in names {
        // SAFETY: loading NVIDIA's driver runs its initialisers, which ask nothing of the caller.
        match unsafe { Library::new(*name) } {
            Ok(library) => return Ok(library),
            Err(error) => reasons.push(match error.source() {
                Some(loader) => loader.to_string(),
                None => error.to_string(),
            }),
        }
    }
    Err(CudaError::NoDriver {
        tried: names.join(", "),
        reason: reasons.join("; "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_named() {
        let error = open_first(&["libnosuchdriver.so.7", "/nowhere/libcuda.so.1"]).unwrap_err();
        let CudaError::NoDriver { tried, reason } = &error else {
            panic!("{error:?}");
        };
        assert_eq!(tried, "libnosuchdriver.so.7, /nowhere/libcuda.so.1");
        assert!(reason.contains("libnosuchdriver.so.7"), "{reason}");
        assert!(
            error.to_string().contains("/nowhere/libcuda.so.1"),
            "{error}"
        );
    }
}
