//! Finds and starts NVIDIA's driver, once per process.

use std::error::Error;
use std::ffi::{CString, c_int, c_void};
use std::fs::File;
use std::io;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libloading::Library;

use crate::error::{CudaError, CudaResult, check};
use crate::sys::{self, Functions, Status, status};
use crate::version::DriverVersion;

/// The names of the driver library in the order of the search: by the system's rules, then where
/// WSL keeps it. NVIDIA makes no driver for macOS.
const LIBRARY_NAMES: &[&str] = if cfg!(target_os = "windows") {
    &["nvcuda.dll"]
} else if cfg!(target_os = "macos") {
    &[]
} else {
    &["libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"]
};

/// The oldest driver that has all functions which this crate needs.
const OLDEST_DRIVER: DriverVersion = DriverVersion {
    major: 11,
    minor: 4,
};

/// The version of the driver in use, or why there is none.
static DRIVER: OnceLock<CudaResult<DriverVersion>> = OnceLock::new();

/// Loads and starts the driver on the first call, which takes 10 ms to 200 ms. Later calls return
/// the result of the first.
///
/// Every other function of this crate that needs the driver calls it.
///
/// # Errors
/// | error | when |
/// |---|---|
/// | [`CudaError::NoDriver`] | no driver library is installed |
/// | [`CudaError::DriverTooOld`] | the driver is older than CUDA 11.4 |
/// | [`CudaError::MissingFunction`] | the library lacks a function that its version should have |
/// | [`CudaError::NoPermission`] | this process may not use the GPU |
/// | [`CudaError::NoDevice`] | the driver finds no GPU |
/// | [`CudaError::DriverMismatch`] | library and kernel module are of different versions |
/// | [`CudaError::DriverStart`] | the driver doesn't start for another reason |
pub fn init() -> CudaResult<DriverVersion> {
    DRIVER
        .get_or_init(|| {
            let library = open_first(LIBRARY_NAMES)?;
            let find = |name: &str| {
                let name = CString::new(name).ok()?;
                // SAFETY: the type is right for any symbol: the address is only stored here.
                let found = unsafe { library.get::<*mut c_void>(name.as_bytes_with_nul()) };
                found.ok().map(|address| *address)
            };
            // SAFETY: `open_first` opened the driver under its own name, and it stays loaded.
            let started = unsafe { start(find, blocked_device_node) };
            mem::forget(library);
            started
        })
        .clone()
}

/// Starts with the caller's functions in place of the driver, for tests of a failing driver. `find`
/// returns the function of a name, or `None` for one that the driver lacks.
///
/// # Errors
/// Those of [`init`], except for [`CudaError::NoDriver`].
///
/// # Panics
/// If a driver was loaded before.
///
/// # Safety
/// The functions have the driver's signatures, and do what the driver documents or return an error.
#[doc(hidden)]
pub unsafe fn load_stand_in(
    find: impl FnMut(&str) -> Option<*mut c_void>,
) -> CudaResult<DriverVersion> {
    let mut is_first = false;
    let started = DRIVER.get_or_init(|| {
        is_first = true;
        // SAFETY: the caller's promise; functions of the program stay loaded.
        unsafe { start(find, || None) }
    });
    assert!(is_first, "a driver was loaded before");
    started.clone()
}

/// Takes the driver's functions from `find`, starts it, and makes all calls go to it.
///
/// # Safety
/// As for [`Functions::load`].
unsafe fn start(
    find: impl FnMut(&str) -> Option<*mut c_void>,
    blocked: impl FnOnce() -> Option<PathBuf>,
) -> CudaResult<DriverVersion> {
    // SAFETY: the caller's promise.
    let (functions, version) = unsafe { load(find) }?;
    sys::install(functions);
    // SAFETY: takes a flag word, which must be 0.
    let started = unsafe { sys::cuInit(0) };
    judge_start(started, version, blocked).map(|()| version)
}

/// The driver's functions and its version, if it is new enough and has all that is needed.
///
/// # Safety
/// As for [`Functions::load`].
unsafe fn load(
    mut find: impl FnMut(&str) -> Option<*mut c_void>,
) -> CudaResult<(Functions, DriverVersion)> {
    const VERSION_CALL: &str = "cuDriverGetVersion";
    type VersionCall = unsafe extern "C" fn(*mut c_int) -> Status;
    const _: unsafe fn(*mut c_int) -> cudarc::driver::sys::CUresult =
        cudarc::driver::sys::cuDriverGetVersion;

    // First the version, since an older driver lacks functions.
    let Some(address) = find(VERSION_CALL) else {
        return Err(CudaError::MissingFunction {
            function: VERSION_CALL,
            driver: DriverVersion { major: 0, minor: 0 },
        });
    };
    // SAFETY: the caller's promise.
    let call = unsafe { mem::transmute::<*mut c_void, VersionCall>(address) };
    let mut version = 0;
    // SAFETY: writes one integer; allowed before `cuInit` too.
    check(VERSION_CALL, unsafe { call(&mut version) })?;
    let driver = DriverVersion::from_raw(version);
    if driver < OLDEST_DRIVER {
        return Err(CudaError::DriverTooOld {
            driver,
            needs: OLDEST_DRIVER,
        });
    }
    // SAFETY: the caller's promise.
    match unsafe { Functions::load(find) } {
        Ok(functions) => Ok((functions, driver)),
        Err(function) => Err(CudaError::MissingFunction { function, driver }),
    }
}

/// What `cuInit`'s status says. `blocked` finds a device node that this process may not open.
fn judge_start(
    started: Status,
    driver: DriverVersion,
    blocked: impl FnOnce() -> Option<PathBuf>,
) -> CudaResult<()> {
    match started {
        0 => Ok(()),
        status::NOT_PERMITTED => Err(CudaError::NoPermission {
            driver,
            node: blocked(),
            status: started.into(),
        }),
        status::SYSTEM_DRIVER_MISMATCH | status::COMPAT_NOT_SUPPORTED_ON_DEVICE => {
            Err(CudaError::DriverMismatch {
                driver,
                status: started.into(),
            })
        }
        // A driver that can't open its devices says one of these.
        status::NO_DEVICE | status::OPERATING_SYSTEM | status::UNKNOWN => match blocked() {
            Some(node) => Err(CudaError::NoPermission {
                driver,
                node: Some(node),
                status: started.into(),
            }),
            None if started == status::NO_DEVICE => Err(CudaError::NoDevice { driver }),
            None => Err(CudaError::DriverStart {
                driver,
                status: started.into(),
            }),
        },
        _ => Err(CudaError::DriverStart {
            driver,
            status: started.into(),
        }),
    }
}

/// A device node of NVIDIA's kernel modules that exists, and that this process may not open.
fn blocked_device_node() -> Option<PathBuf> {
    let devices = (0..8).map(|i| format!("/dev/nvidia{i}"));
    let nodes = ["/dev/nvidiactl", "/dev/nvidia-uvm"].map(str::to_owned);
    first_blocked(nodes.into_iter().chain(devices), |path| {
        File::options().read(true).write(true).open(path).map(drop)
    })
}

fn first_blocked(
    mut nodes: impl Iterator<Item = String>,
    open: impl Fn(&Path) -> io::Result<()>,
) -> Option<PathBuf> {
    let blocked = |node: &String| {
        open(Path::new(node)).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
    };
    nodes.find(blocked).map(PathBuf::from)
}

fn open_first(names: &'static [&'static str]) -> CudaResult<Library> {
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
    if names.is_empty() {
        reasons.push("NVIDIA makes no driver for this system".to_owned());
    }
    Err(CudaError::NoDriver {
        tried: names.join(", "),
        reason: reasons.join("; "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn succeed() -> Status {
        0
    }

    extern "C" fn cuda_13_0(version: *mut c_int) -> Status {
        // SAFETY: `load` passes the address of an integer.
        unsafe { *version = 13_000 };
        0
    }

    extern "C" fn cuda_11_3(version: *mut c_int) -> Status {
        // SAFETY: as above.
        unsafe { *version = 11_030 };
        0
    }

    extern "C" fn no_version(_: *mut c_int) -> Status {
        status::NOT_SUPPORTED
    }

    type VersionCall = extern "C" fn(*mut c_int) -> Status;

    /// What loading says of a driver that lacks `missing`.
    fn load_without(version: VersionCall, missing: &str) -> CudaResult<DriverVersion> {
        let find = |name: &str| match name {
            _ if name == missing => None,
            "cuDriverGetVersion" => Some(version as *mut c_void),
            _ => Some(succeed as extern "C" fn() -> Status as *mut c_void),
        };
        // SAFETY: `load` calls `cuDriverGetVersion` only.
        unsafe { load(find) }.map(|(_, version)| version)
    }

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
        let nowhere = open_first(&[]).unwrap_err().to_string();
        assert!(nowhere.contains("no driver for this system"), "{nowhere}");
    }

    #[test]
    fn every_required_function_is_required() {
        let driver = DriverVersion::from_raw(13_000);
        assert_eq!(load_without(cuda_13_0, "none"), Ok(driver));
        assert_eq!(load_without(cuda_13_0, "cuFuncGetParamInfo"), Ok(driver));
        for &function in sys::REQUIRED {
            let error = load_without(cuda_13_0, function).unwrap_err();
            assert_eq!(error, CudaError::MissingFunction { function, driver });
            assert!(error.to_string().contains(function), "{error}");
        }
        assert!(matches!(
            load_without(cuda_13_0, "cuDriverGetVersion"),
            Err(CudaError::MissingFunction { .. })
        ));
    }

    #[test]
    fn an_old_driver_is_too_old_before_it_lacks_functions() {
        let error = load_without(cuda_11_3, "cuGraphInstantiateWithFlags").unwrap_err();
        let expected = CudaError::DriverTooOld {
            driver: DriverVersion::from_raw(11_030),
            needs: OLDEST_DRIVER,
        };
        assert_eq!(error, expected);
        let text = error.to_string();
        assert!(text.contains("11.3") && text.contains("11.4"), "{text}");
        assert!(matches!(
            load_without(no_version, "none"),
            Err(CudaError::Driver { .. })
        ));
    }

    #[test]
    fn each_failure_to_start_has_its_error() {
        let driver = DriverVersion::from_raw(12_040);
        let judge = |status, node: Option<&str>| {
            judge_start(status, driver, || node.map(PathBuf::from)).unwrap_err()
        };
        assert_eq!(judge_start(0, driver, || unreachable!()), Ok(()));
        assert_eq!(judge(100, None), CudaError::NoDevice { driver });
        for status in [100, 304, 800, 999] {
            let error = judge(status, Some("/dev/nvidiactl"));
            assert!(matches!(error, CudaError::NoPermission { .. }), "{error:?}");
            assert!(error.to_string().contains("/dev/nvidiactl"), "{error}");
        }
        let error = judge(800, None);
        assert!(
            matches!(error, CudaError::NoPermission { node: None, .. }),
            "{error:?}"
        );
        for status in [803, 804] {
            let error = judge(status, None);
            assert!(
                matches!(error, CudaError::DriverMismatch { .. }),
                "{error:?}"
            );
            assert!(error.to_string().contains("restart"), "{error}");
        }
        for status in [1, 304, 999, 12_345] {
            let error = judge(status, None);
            assert!(matches!(error, CudaError::DriverStart { .. }), "{error:?}");
            assert!(error.to_string().contains(&status.to_string()), "{error}");
        }
    }

    #[test]
    fn a_blocked_node_is_one_that_exists() {
        let open = |path: &Path| match path.to_str() {
            Some("absent") => Err(io::ErrorKind::NotFound.into()),
            Some("blocked") => Err(io::ErrorKind::PermissionDenied.into()),
            _ => Ok(()),
        };
        let first = |nodes: &[&str]| first_blocked(nodes.iter().map(|&n| n.to_owned()), open);
        assert_eq!(first(&["absent", "open"]), None);
        assert_eq!(
            first(&["absent", "open", "blocked"]),
            Some(PathBuf::from("blocked"))
        );
    }
}
