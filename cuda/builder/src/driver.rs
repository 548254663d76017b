//! NVIDIA's driver, asked for its version and its GPUs.

use std::error::Error as _;
use std::ffi::{CStr, c_char, c_int};
use std::ptr;

use libloading::Library;

/// What the driver says.
pub(crate) struct Driver {
    /// The newest CUDA version that it knows, such as `13.0`.
    pub(crate) version: String,
    /// A line per GPU, or why there is none.
    pub(crate) gpus: Result<Vec<String>, String>,
}

const NAMES: &[&str] = if cfg!(windows) {
    &["nvcuda.dll"]
} else {
    &["libcuda.so.1", "libcuda.so"]
};

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR`; the next one is `..._MINOR`.
const COMPUTE_CAPABILITY_MAJOR: c_int = 75;

type Status = c_int;

/// Loads the driver and asks it.
pub(crate) fn examine() -> Result<Driver, String> {
    let library = load()?;
    let mut version: c_int = 0;
    // SAFETY: the function's type is the one in NVIDIA's `cuda.h`; it may be called before `cuInit`
    // and writes one `int`.
    let status = unsafe {
        let get = function::<unsafe extern "system" fn(*mut c_int) -> Status>(
            &library,
            c"cuDriverGetVersion",
        )?;
        get(&mut version)
    };
    checked("cuDriverGetVersion", status)?;
    Ok(Driver {
        version: format!("{}.{}", version / 1000, version % 1000 / 10),
        gpus: gpus(&library),
    })
}

fn load() -> Result<Library, String> {
    let mut first = None;
    for &name in NAMES {
        // SAFETY: the driver's library may be loaded at any time; its initializers ask nothing of
        // the program.
        match unsafe { Library::new(name) } {
            Ok(library) => return Ok(library),
            Err(error) => {
                let why = error
                    .source()
                    .map_or(error.to_string(), ToString::to_string);
                first.get_or_insert(format!("it can't be loaded: {why}"));
            }
        }
    }
    Err(first.unwrap_or_default())
}

fn gpus(library: &Library) -> Result<Vec<String>, String> {
    type Count = unsafe extern "system" fn(*mut c_int) -> Status;
    type Get = unsafe extern "system" fn(*mut c_int, c_int) -> Status;
    type Name = unsafe extern "system" fn(*mut c_char, c_int, c_int) -> Status;
    type Attribute = unsafe extern "system" fn(*mut c_int, c_int, c_int) -> Status;
    // SAFETY: the functions' types are those in NVIDIA's `cuda.h`. They are called after `cuInit`,
    // with places for what they write: an `int`, or 256 bytes for a name that ends in a zero.
    unsafe {
        let init = function::<unsafe extern "system" fn(u32) -> Status>(library, c"cuInit")?;
        checked("cuInit", init(0))?;
        let mut count = 0;
        let status = function::<Count>(library, c"cuDeviceGetCount")?(&mut count);
        checked("cuDeviceGetCount", status)?;
        let get = function::<Get>(library, c"cuDeviceGet")?;
        let get_name = function::<Name>(library, c"cuDeviceGetName")?;
        let attribute = function::<Attribute>(library, c"cuDeviceGetAttribute")?;
        let mut gpus = Vec::new();
        for i in 0..count {
            let mut device = 0;
            checked("cuDeviceGet", get(&mut device, i))?;
            let mut name = [0; 256];
            let status = get_name(ptr::from_mut(&mut name).cast(), 256, device);
            checked("cuDeviceGetName", status)?;
            let mut capability = [0; 2];
            for (part, which) in capability.iter_mut().zip(COMPUTE_CAPABILITY_MAJOR..) {
                checked("cuDeviceGetAttribute", attribute(part, which, device))?;
            }
            let name = CStr::from_ptr(ptr::from_ref(&name).cast()).to_string_lossy();
            let [major, minor] = capability;
            gpus.push(format!("{name}, compute capability {major}.{minor}"));
        }
        if gpus.is_empty() {
            return Err("the driver knows no GPU".into());
        }
        Ok(gpus)
    }
}

/// # Safety
/// `F` is the type of the function `name`, which is used only while `library` lives.
unsafe fn function<F: Copy>(library: &Library, name: &CStr) -> Result<F, String> {
    // SAFETY: the caller's promise.
    let symbol = unsafe { library.get::<F>(name.to_bytes_with_nul()) };
    symbol
        .map(|symbol| *symbol)
        .map_err(|error| format!("the driver has no {}: {error}", name.to_string_lossy()))
}

fn checked(call: &str, status: Status) -> Result<(), String> {
    match status {
        0 => Ok(()),
        100 => Err("the driver knows no GPU".into()),
        code => Err(format!("{call} failed with CUDA's error {code}")),
    }
}
