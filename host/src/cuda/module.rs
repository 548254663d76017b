//! Modules: kernels compiled for a device.

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::fmt;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use cust::sys::{CUfunction, CUmodule};

use super::device::Device;
use super::error::{CudaError, DriverStatus, check, driver_error};
use super::ptx::PtxHeader;
use super::raw;

/// Kernels, compiled from PTX by the driver for one device. Clones share them.
#[derive(Clone)]
pub struct Module {
    inner: Arc<Inner>,
}

struct Inner {
    /// Kernels looked up so far, by name.
    kernels: RwLock<HashMap<String, Arc<Kernel>>>,
    module: CUmodule,
    device: Device,
}

// SAFETY: the handle is an address that only the driver follows, and the driver's functions on
// modules may be called from any thread; the other fields are `Send` and `Sync` by themselves.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // On a failure there is no one to tell.
        let _ = self.device.bind();
        // SAFETY: this is its only owner; its kernels' handles are used by holders of the module
        // alone.
        let _ = unsafe { raw::cuModuleUnload(self.module) };
    }
}

/// The library's kernels ([`trazar_kernels`]) on one device: what pipelines run. Clones share them.
#[derive(Clone, Debug)]
pub struct Kernels {
    module: Module,
}

impl Kernels {
    /// Compiles [`trazar_kernels::PTX`] for `device`; see [`Module::from_ptx`] for what it costs.
    ///
    /// # Errors
    /// Those of [`Module::from_ptx`].
    pub fn load(device: &Device) -> Result<Self, CudaError> {
        let module = Module::from_ptx(device, trazar_kernels::PTX)?;
        Ok(Self { module })
    }

    /// The compiled module.
    pub fn module(&self) -> &Module {
        &self.module
    }
}

/// A kernel's handle, and what of it a launch must know.
pub(super) struct Kernel {
    /// Valid while the module is loaded: whoever holds a kernel holds the module too (a
    /// [`Queue`](super::Queue), or the [`Module`] that looked it up).
    function: CUfunction,
    pub(super) info: KernelInfo,
    /// How much dynamic shared memory launches may ask for, so far.
    allowed_shared: Mutex<u32>,
}

// SAFETY: the handle is an address that only the driver follows, and the driver's functions on it
// may be called from any thread.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

/// What a compiled kernel uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelInfo {
    /// Registers per thread.
    pub registers: u32,
    /// Static shared memory per block, in bytes.
    pub static_shared: u32,
    /// Memory per thread for spilled registers and local arrays, in bytes. It lies in device
    /// memory: slow.
    pub local_bytes: u32,
    /// The most threads of a block, by its registers and launch bounds.
    pub threads_per_block: u32,
}

/// Launches may ask for this much dynamic and static shared memory together, in bytes, before the
/// limit is raised.
const SHARED_UNASKED: u32 = 48 * 1024;

impl Module {
    /// Compiles `ptx` for `device`: some 10 ms for a few small kernels, some 300 ms for fifty. The
    /// driver keeps the result in a cache on disk, from which it comes in under a millisecond the
    /// next time.
    ///
    /// # Errors
    /// [`CudaError::ComputeCapability`] if the device is older than the text's `.target`,
    /// [`CudaError::DriverTooOld`] if the driver is older than its `.version`, [`CudaError::Jit`]
    /// with the compiler's log, [`CudaError::PtxNotText`], [`CudaError::Execution`].
    pub fn from_ptx(device: &Device, ptx: &str) -> Result<Self, CudaError> {
        let text = CString::new(ptx).map_err(|error| CudaError::PtxNotText {
            at: error.nul_position(),
        })?;
        let header = PtxHeader::parse(ptx);
        if let Some(PtxHeader { target: needs, .. }) = header
            && device.info().compute_capability < needs
        {
            return Err(CudaError::ComputeCapability {
                device: device.info().name.clone(),
                has: device.info().compute_capability,
                needs,
            });
        }
        device.bind()?;
        let mut module = ptr::null_mut();
        // SAFETY: the text is zero-terminated; without options, none are read. Writes one handle.
        let status = unsafe {
            raw::cuModuleLoadDataEx(
                &mut module,
                text.as_ptr().cast(),
                0,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        if status != 0 {
            return Err(explain(device, &text, header, status.into()));
        }
        Ok(Self {
            inner: Arc::new(Inner {
                kernels: RwLock::default(),
                module,
                device: device.clone(),
            }),
        })
    }

    /// Its device.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// The driver's handle, for calls that this type lacks; [`Device::bind`] comes before them.
    pub fn as_raw(&self) -> CUmodule {
        self.inner.module
    }

    /// Whether the two are clones of one.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// What the kernel `name` uses. Microseconds the first time, then a look-up in a table.
    ///
    /// # Errors
    /// [`CudaError::NoSuchKernel`]; [`CudaError::Execution`] if a kernel has crashed.
    pub fn kernel_info(&self, name: &str) -> Result<KernelInfo, CudaError> {
        self.kernel(name).map(|kernel| kernel.info)
    }

    /// How many blocks of `threads` threads with `dynamic_shared` bytes one multiprocessor holds at
    /// a time.
    ///
    /// # Errors
    /// [`CudaError::NoSuchKernel`]; [`CudaError::Driver`]; [`CudaError::Execution`].
    pub fn resident_blocks(
        &self,
        name: &str,
        threads: u32,
        dynamic_shared: u32,
    ) -> Result<u32, CudaError> {
        let kernel = self.kernel(name)?;
        self.device().bind()?;
        kernel.allow_shared(dynamic_shared)?;
        let mut blocks = 0;
        // SAFETY: the function belongs to a loaded module; writes one integer.
        let status = unsafe {
            raw::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                kernel.function,
                i32::try_from(threads).unwrap_or(i32::MAX),
                dynamic_shared as usize,
            )
        };
        check("cuOccupancyMaxActiveBlocksPerMultiprocessor", status).map(|()| blocks.unsigned_abs())
    }

    pub(super) fn kernel(&self, name: &str) -> Result<Arc<Kernel>, CudaError> {
        // A thread that panicked while holding the lock has left the table whole: insertion is its
        // only change.
        let known = self
            .inner
            .kernels
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = known.get(name) {
            return Ok(Arc::clone(kernel));
        }
        drop(known);
        let kernel = Arc::new(self.look_up(name)?);
        let mut known = self
            .inner
            .kernels
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(known.entry(name.to_owned()).or_insert(kernel)))
    }

    fn look_up(&self, name: &str) -> Result<Kernel, CudaError> {
        const NOT_FOUND: u32 = 500;
        let missing = || CudaError::NoSuchKernel {
            kernel: name.to_owned(),
        };
        let Ok(text) = CString::new(name) else {
            return Err(missing());
        };
        self.device().bind()?;
        let mut function = ptr::null_mut();
        // SAFETY: the module is loaded and the name zero-terminated; writes one handle.
        match unsafe { raw::cuModuleGetFunction(&mut function, self.inner.module, text.as_ptr()) } {
            NOT_FOUND => return Err(missing()),
            status => check("cuModuleGetFunction", status)?,
        }
        let get = |attribute| {
            let mut value = 0;
            // SAFETY: the function belongs to a loaded module; writes one integer.
            let status = unsafe { raw::cuFuncGetAttribute(&mut value, attribute, function) };
            check("cuFuncGetAttribute", status).map(|()| value.unsigned_abs())
        };
        let info = KernelInfo {
            registers: get(raw::FUNCTION_REGISTERS)?,
            static_shared: get(raw::FUNCTION_STATIC_SHARED)?,
            local_bytes: get(raw::FUNCTION_LOCAL_BYTES)?,
            threads_per_block: get(raw::FUNCTION_THREADS_PER_BLOCK)?,
        };
        Ok(Kernel {
            function,
            info,
            allowed_shared: Mutex::new(SHARED_UNASKED.saturating_sub(info.static_shared)),
        })
    }
}

impl Kernel {
    pub(super) fn raw(&self) -> CUfunction {
        self.function
    }

    /// Lets launches ask for `bytes` of dynamic shared memory; needed once above what is allowed
    /// unasked.
    pub(super) fn allow_shared(&self, bytes: u32) -> Result<(), CudaError> {
        // Locked over the call, so that no thread lowers what another has raised.
        let mut allowed = self
            .allowed_shared
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if bytes <= *allowed {
            return Ok(());
        }
        let value = i32::try_from(bytes).unwrap_or(i32::MAX);
        // SAFETY: the function belongs to a loaded module.
        let status = unsafe {
            raw::cuFuncSetAttribute(self.function, raw::FUNCTION_MAX_DYNAMIC_SHARED, value)
        };
        check("cuFuncSetAttribute", status)?;
        *allowed = bytes;
        Ok(())
    }
}

/// Compiles once more, now with a log, to say why it failed.
fn explain(
    device: &Device,
    text: &CString,
    header: Option<PtxHeader>,
    first: DriverStatus,
) -> CudaError {
    const OUT_OF_MEMORY: u32 = 2;
    const NO_BINARY_FOR_GPU: u32 = 209;
    const INVALID: [u32; 3] = [200, 218, 300];
    const UNSUPPORTED_PTX_VERSION: u32 = 222;
    const UNKNOWN: u32 = 999;

    let (status, log) = compile_with_log(text);
    let status = status.unwrap_or(first);
    match (status.code(), header) {
        (UNSUPPORTED_PTX_VERSION, Some(header)) => CudaError::DriverTooOld {
            driver: device.info().driver,
            ptx: header.version,
        },
        (OUT_OF_MEMORY, _) => match device.memory() {
            Ok(memory) => CudaError::OutOfMemory {
                requested: text.as_bytes().len(),
                free: memory.free,
                total: memory.total,
            },
            Err(error) => error,
        },
        (code, _)
            if INVALID.contains(&code)
                || matches!(code, NO_BINARY_FOR_GPU | UNSUPPORTED_PTX_VERSION | UNKNOWN)
                || !log.is_empty() =>
        {
            let log = if log.is_empty() {
                "(the compiler wrote no log)".to_owned()
            } else {
                log
            };
            CudaError::Jit { status, log }
        }
        _ => driver_error("cuModuleLoadDataEx", status),
    }
}

/// The status (none if it now succeeds) and the log of compiling `text` in the current context.
fn compile_with_log(text: &CString) -> (Option<DriverStatus>, String) {
    const LOG_BYTES: usize = 16 * 1024;
    let mut errors = vec![0u8; LOG_BYTES];
    let mut notes = vec![0u8; LOG_BYTES];
    let mut names = [
        raw::JIT_ERROR_LOG,
        raw::JIT_ERROR_LOG_BYTES,
        raw::JIT_INFO_LOG,
        raw::JIT_INFO_LOG_BYTES,
    ];
    // The driver takes sizes by value, in the pointer's place.
    let size = ptr::without_provenance_mut::<c_void>(LOG_BYTES);
    let mut values = [
        errors.as_mut_ptr().cast(),
        size,
        notes.as_mut_ptr().cast(),
        size,
    ];
    let mut module = ptr::null_mut();
    // SAFETY: the text is zero-terminated; names and values are of one length; the buffers are as
    // large as they say and outlive the call.
    let status = unsafe {
        raw::cuModuleLoadDataEx(
            &mut module,
            text.as_ptr().cast(),
            names.len() as u32,
            names.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    if status == 0 {
        // SAFETY: it was just loaded, and no one else has it.
        unsafe { raw::cuModuleUnload(module) };
        return (None, String::new());
    }
    let log = [errors, notes]
        .iter()
        .map(|log| {
            String::from_utf8_lossy(log.split(|&byte| byte == 0).next().unwrap_or_default())
                .into_owned()
        })
        .filter(|log| !log.trim().is_empty())
        .collect::<Vec<_>>()
        .join("\n");
    (Some(status.into()), log.trim().to_owned())
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module(device {})", self.device().info().index)
    }
}
