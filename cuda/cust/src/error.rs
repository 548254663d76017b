//! Errors of the GPU and its driver.

use core::ffi::{CStr, c_char};
use std::fmt;
use std::path::PathBuf;
use std::ptr;

use cuda_std::lengths::ViewProblem;

use crate::problem::{LaunchProblem, ParamProblem};
use crate::sys::{self, Status};
use crate::version::{ComputeCapability, DriverVersion, PtxVersion};

/// The result of most functions of this crate.
pub type CudaResult<T> = Result<T, CudaError>;

/// An error from the CUDA driver or from the checks before it. Each message says what was wrong and
/// what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CudaError {
    /// No driver library is installed.
    #[error(
        "no CUDA driver: none of {tried} could be loaded ({reason}); install NVIDIA's driver, or \
         run on the CPU"
    )]
    NoDriver {
        /// The file names that were tried, in order.
        tried: String,
        /// The dynamic loader's words for each.
        reason: String,
    },
    /// The driver is there and works, but finds no GPU.
    #[error(
        "the CUDA driver (CUDA {driver}) finds no GPU: check `nvidia-smi` and \
         CUDA_VISIBLE_DEVICES, or run on the CPU"
    )]
    NoDevice {
        /// The driver's version.
        driver: DriverVersion,
    },
    /// The driver is older than this crate allows.
    #[error(
        "the driver supports CUDA {driver}, and at least CUDA {needs} is needed: update NVIDIA's \
         driver"
    )]
    DriverTooOld {
        /// The driver's version.
        driver: DriverVersion,
        /// The oldest version that has all needed functions.
        needs: DriverVersion,
    },
    /// The driver library lacks a function that it should have at its version.
    #[error(
        "the CUDA driver (CUDA {driver}) has no function `{function}`: the library that was loaded \
         is not a whole driver of NVIDIA's; reinstall it, and look for another libcuda or nvcuda \
         in the loader's search path"
    )]
    MissingFunction {
        /// The function's name.
        function: &'static str,
        /// The driver's version (0.0 if it could not tell).
        driver: DriverVersion,
    },
    /// This process may not use the GPU.
    #[error(
        "no permission to use the GPU{} (the driver, CUDA {driver}, says: {status}): give this \
         user or container access to /dev/nvidia*",
        BlockedNode(node.as_ref())
    )]
    NoPermission {
        /// The driver's version.
        driver: DriverVersion,
        /// A device node that exists and that this process may not open, if that is the reason.
        node: Option<PathBuf>,
        /// The driver's answer to `cuInit`.
        status: DriverStatus,
    },
    /// The driver library and the loaded kernel module are of different versions.
    #[error(
        "the CUDA driver library (CUDA {driver}) and the kernel module are of different versions \
         ({status}): restart the machine or reload the module after an update of the driver; in a \
         container, use the library of the host"
    )]
    DriverMismatch {
        /// The library's version.
        driver: DriverVersion,
        /// Its answer to `cuInit`.
        status: DriverStatus,
    },
    /// The driver library is there but does not start.
    #[error(
        "the CUDA driver (CUDA {driver}) does not start: {status}; `nvidia-smi` should work first"
    )]
    DriverStart {
        /// The driver's version.
        driver: DriverVersion,
        /// Its answer to `cuInit`.
        status: DriverStatus,
    },
    /// A device index beyond the last device.
    #[error("there is no CUDA device {index}: this machine has {count}, numbered from 0")]
    NoSuchDevice {
        /// The index asked for.
        index: u32,
        /// The number of devices.
        count: u32,
    },
    /// The GPU is older than the PTX allows.
    #[error("{device} has compute capability {has}, but these kernels need {needs} or higher")]
    ComputeCapability {
        /// The device's name.
        device: String,
        /// What the device has.
        has: ComputeCapability,
        /// What the PTX's `.target` needs.
        needs: ComputeCapability,
    },
    /// The driver is older than the PTX allows.
    #[error(
        "the driver supports CUDA {driver}, but these kernels are PTX {ptx}, which needs {}: \
         update NVIDIA's driver",
        NeededDriver(*ptx)
    )]
    PtxTooNew {
        /// The driver's version.
        driver: DriverVersion,
        /// The PTX's `.version`.
        ptx: PtxVersion,
    },
    /// The device can't allocate in stream order (some virtual GPUs).
    #[error(
        "{device} has no stream-ordered memory pools, which this library allocates from; run on \
         the CPU"
    )]
    NoMemoryPools {
        /// The device's name.
        device: String,
    },
    /// Not enough device memory.
    #[error("out of device memory: {requested} bytes requested, {free} of {total} free")]
    OutOfMemory {
        /// Bytes asked for.
        requested: usize,
        /// Bytes that were free, the pool's unused ones included.
        free: usize,
        /// The device's memory in bytes.
        total: usize,
    },
    /// Not enough host memory that the GPU can reach.
    #[error(
        "out of page-locked host memory: {requested} bytes requested; use a smaller buffer or an \
         ordinary slice"
    )]
    OutOfLockedMemory {
        /// Bytes asked for.
        requested: usize,
    },
    /// Not enough host memory for a copy of a buffer.
    #[error("out of host memory: {requested} bytes requested for a copy of a device buffer")]
    OutOfHostMemory {
        /// Bytes asked for.
        requested: usize,
    },
    /// More elements than the address space holds.
    #[error("a buffer of {len} elements of {size} bytes exceeds the address space")]
    TooLarge {
        /// Elements asked for.
        len: usize,
        /// Bytes of one element.
        size: usize,
    },
    /// A copy reaches beyond the end of a buffer, or two lengths differ.
    #[error("elements {start}..{end} are outside a device buffer of {len} elements")]
    OutOfRange {
        /// First element of the copy.
        start: usize,
        /// One past its last.
        end: usize,
        /// The buffer's length.
        len: usize,
    },
    /// Two objects of different devices were used together.
    #[error(
        "{what} belongs to device {other}, not to device {device}: use objects of one device \
         together"
    )]
    WrongDevice {
        /// What was out of place.
        what: &'static str,
        /// The device in use.
        device: u32,
        /// The device the object belongs to.
        other: u32,
    },
    /// Two objects of one device, but of different contexts of it, were used together.
    #[error(
        "{what} belongs to another context of device {device}: open the device in that context, or \
         make the object in this one"
    )]
    WrongContext {
        /// What was out of place.
        what: &'static str,
        /// The device.
        device: u32,
    },
    /// A per-thread default stream was used on another thread than the one that adopted it.
    #[error(
        "a thread's default stream was used on another thread, where its handle is another stream: \
         use the legacy default stream or a stream of your own"
    )]
    WrongThread,
    /// An address that was to be adopted is not one of device memory.
    #[error(
        "{address:#x} is not an address of device memory that this process has allocated: pass \
         memory of the GPU, not of the host"
    )]
    NotDeviceMemory {
        /// The address.
        address: u64,
    },
    /// Memory that was to be adopted reaches beyond what is allocated.
    #[error(
        "{bytes} bytes at {address:#x} reach beyond their allocation, which holds {allocated} from \
         there"
    )]
    OutsideAllocation {
        /// The first byte's address.
        address: u64,
        /// The number of bytes asked for.
        bytes: usize,
        /// The number of bytes that are allocated from there on.
        allocated: u64,
    },
    /// Memory that starts at an address which its use does not allow.
    #[error(
        "memory at {address:#x} can't be used in place: it must start at a multiple of {needs} \
         bytes; copy it to a new buffer"
    )]
    Misaligned {
        /// The address.
        address: u64,
        /// The alignment that is needed, in bytes.
        needs: usize,
    },
    /// The driver's compiler refused the PTX.
    #[error("the driver could not compile the PTX ({status}):\n{log}")]
    Jit {
        /// The driver's answer.
        status: DriverStatus,
        /// The compiler's own words, or a note that it gave none.
        log: String,
    },
    /// The PTX contains a zero byte.
    #[error("the PTX holds a zero byte at offset {at}; PTX is plain text")]
    PtxNotText {
        /// Its offset in bytes.
        at: usize,
    },
    /// The module has no kernel of this name.
    #[error(
        "the loaded module has no kernel `{kernel}`: the PTX and the program are of different \
         versions"
    )]
    NoSuchKernel {
        /// The name looked up.
        kernel: String,
    },
    /// The module's kernel of this name takes other parameters than the program passes.
    #[error(
        "kernel `{kernel}` of the loaded module is not the one that this program launches: \
         {problem}; build the PTX and the program from the same source"
    )]
    WrongParameters {
        /// The kernel.
        kernel: &'static str,
        /// The first difference.
        problem: ParamProblem,
    },
    /// A launch that the device's or the kernel's limits rule out; nothing was launched.
    #[error("kernel `{kernel}` can't be launched: {problem}")]
    BadLaunch {
        /// The kernel.
        kernel: String,
        /// What is wrong with the launch, and which limit holds.
        problem: LaunchProblem,
    },
    /// A launch with a view that is shorter or less aligned than the kernel states.
    #[error("kernel `{kernel}` can't be launched: {problem}")]
    BadView {
        /// The kernel's name.
        kernel: String,
        /// The view, and what it should be.
        problem: ViewProblem,
    },
    /// The driver refused the launch.
    #[error("launching kernel `{kernel}` failed: {status}")]
    Launch {
        /// The kernel.
        kernel: &'static str,
        /// The driver's answer.
        status: DriverStatus,
    },
    /// A kernel failed while running. The process can't use this GPU any more.
    #[error(
        "a kernel failed on the GPU: {status}{}. The process must be restarted to use this GPU \
         again; `compute-sanitizer` finds the place",
        LastKernel(*last_kernel)
    )]
    Execution {
        /// The kernel launched last on the stream that reported the failure, if that is known. This
        /// kernel failed, or one launched before it.
        last_kernel: Option<&'static str>,
        /// The driver's answer.
        status: DriverStatus,
    },
    /// Any other driver call that failed.
    #[error("the driver call {call} failed: {status}")]
    Driver {
        /// The call.
        call: &'static str,
        /// The driver's answer.
        status: DriverStatus,
    },
}

/// Says which kernel was launched last.
struct LastKernel(Option<&'static str>);

impl fmt::Display for LastKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(kernel) => write!(f, "; the last one launched was `{kernel}`"),
            None => Ok(()),
        }
    }
}

/// Says which device node can't be opened.
struct BlockedNode<'a>(Option<&'a PathBuf>);

impl fmt::Display for BlockedNode<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(node) => write!(f, ": {} can't be opened", node.display()),
            None => Ok(()),
        }
    }
}

/// Says which driver compiles a PTX version.
struct NeededDriver(PtxVersion);

impl fmt::Display for NeededDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.first_driver() {
            Some(driver) => write!(f, "CUDA {driver} or newer"),
            None => f.write_str("a newer one"),
        }
    }
}

/// The status of a driver call that failed. It is shown with NVIDIA's name and text, or as a number
/// if the driver has no name for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DriverStatus(u32);

impl DriverStatus {
    /// NVIDIA's number, such as 700.
    pub fn code(self) -> u32 {
        self.0
    }

    /// True if the failure has made the whole context unusable: a kernel crashed, or the hardware
    /// did.
    pub(crate) fn is_fatal(self) -> bool {
        matches!(self.0, 214 | 220 | 226 | 700 | 702 | 710 | 714..=719)
    }
}

impl From<u32> for DriverStatus {
    fn from(code: u32) -> Self {
        Self(code)
    }
}

impl fmt::Display for DriverStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (
            describe(sys::cuGetErrorName, self.0),
            describe(sys::cuGetErrorString, self.0),
        ) {
            (Some(name), Some(text)) => write!(f, "{name} ({}), {text}", self.0),
            _ => write!(f, "CUDA error {}", self.0),
        }
    }
}

impl fmt::Debug for DriverStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The driver's name or text for a status; `None` if the driver doesn't know the status, or isn't
/// loaded.
fn describe(call: unsafe fn(Status, *mut *const c_char) -> Status, code: u32) -> Option<String> {
    let mut text = ptr::null();
    // SAFETY: both calls only write the address of a static string, or null.
    let status = unsafe { call(code, &mut text) };
    if status != 0 || text.is_null() {
        return None;
    }
    // SAFETY: the driver's strings are zero-terminated and live as long as it does.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}

/// Turns a status into a result.
pub(crate) fn check(call: &'static str, status: Status) -> CudaResult<()> {
    match status {
        0 => Ok(()),
        code => Err(driver_error(call, code.into())),
    }
}

/// The error for a status: any call can report the failure of a kernel that was queued before it.
pub(crate) fn driver_error(call: &'static str, status: DriverStatus) -> CudaError {
    if status.is_fatal() {
        CudaError::Execution {
            last_kernel: None,
            status,
        }
    } else {
        CudaError::Driver { call, status }
    }
}

impl CudaError {
    /// Adds the name of the kernel launched last, unless the error has one.
    pub(crate) fn blame(self, kernel: Option<&'static str>) -> Self {
        match self {
            Self::Execution {
                last_kernel: None,
                status,
            } => Self::Execution {
                last_kernel: kernel,
                status,
            },
            other => other,
        }
    }
}
