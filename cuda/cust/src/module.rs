//! Modules: kernels compiled for a device.

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::fmt;
use std::ptr;
use std::sync::{Arc, PoisonError, RwLock};

use crate::device::Device;
use crate::error::{CudaError, CudaResult, DriverStatus, check, driver_error};
use crate::function::{Function, Kernel};
use crate::ptx::{self, PtxHeader};
use crate::sys::{self, CUjit_option, CUmodule, status};

/// Kernels, compiled from PTX by the driver for one device. Clones share them.
#[derive(Clone)]
pub struct Module {
    inner: Arc<Inner>,
}

struct Inner {
    /// Kernels looked up so far, by name.
    kernels: RwLock<HashMap<String, Arc<Kernel>>>,
    /// The number of each kernel's parameters, by name.
    param_counts: HashMap<String, usize>,
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
        let _ = unsafe { sys::cuModuleUnload(self.module) };
    }
}

impl Module {
    /// Compiles `ptx` for `device`: some 10 ms for a few small kernels, some 300 ms for fifty. The
    /// driver keeps the result in a cache on disk, from which it comes in one or two milliseconds
    /// the next time.
    ///
    /// # Errors
    /// [`CudaError::ComputeCapability`] if the device is older than the text's `.target`,
    /// [`CudaError::PtxTooNew`] if the driver is older than its `.version`, [`CudaError::Jit`]
    /// with the compiler's log, [`CudaError::PtxNotText`], [`CudaError::Execution`].
    pub fn from_ptx(device: &Device, ptx: &str) -> CudaResult<Self> {
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
            sys::cuModuleLoadDataEx(
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
                param_counts: ptx::param_counts(ptx),
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
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// The kernel `name`. Microseconds the first time, then a look-up in a table.
    ///
    /// # Errors
    /// [`CudaError::NoSuchKernel`]; [`CudaError::Execution`] if a kernel has crashed.
    pub fn get_function(&self, name: &str) -> CudaResult<Function> {
        Ok(Function::new(self.kernel(name)?, self))
    }

    pub(crate) fn kernel(&self, name: &str) -> CudaResult<Arc<Kernel>> {
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

    fn look_up(&self, name: &str) -> CudaResult<Kernel> {
        let missing = || CudaError::NoSuchKernel {
            kernel: name.to_owned(),
        };
        let Ok(text) = CString::new(name) else {
            return Err(missing());
        };
        self.device().bind()?;
        let mut function = ptr::null_mut();
        // SAFETY: the module is loaded and the name zero-terminated; writes one handle.
        match unsafe { sys::cuModuleGetFunction(&mut function, self.inner.module, text.as_ptr()) } {
            status::NOT_FOUND => return Err(missing()),
            status => check("cuModuleGetFunction", status)?,
        }
        // SAFETY: the handle is that of a function of this module, which outlives it.
        unsafe { Kernel::new(function, name, self.inner.param_counts.get(name).copied()) }
    }
}

/// Compiles once more, now with a log, to say why it failed.
fn explain(
    device: &Device,
    text: &CString,
    header: Option<PtxHeader>,
    first: DriverStatus,
) -> CudaError {
    let (answer, log) = compile_with_log(text);
    let answer = answer.unwrap_or(first);
    match (answer.code(), header) {
        (status::UNSUPPORTED_PTX_VERSION, Some(header)) => CudaError::PtxTooNew {
            driver: device.info().driver,
            ptx: header.version,
        },
        (status::OUT_OF_MEMORY, _) => match device.memory() {
            Ok(memory) => CudaError::OutOfMemory {
                requested: text.as_bytes().len(),
                free: memory.free,
                total: memory.total,
            },
            Err(error) => error,
        },
        (code, _)
            if !log.is_empty()
                || matches!(
                    code,
                    status::INVALID_IMAGE
                        | status::NO_BINARY_FOR_GPU
                        | status::INVALID_PTX
                        | status::UNSUPPORTED_PTX_VERSION
                        | status::INVALID_SOURCE
                        | status::UNKNOWN
                ) =>
        {
            let log = if log.is_empty() {
                "(the compiler wrote no log)".to_owned()
            } else {
                log
            };
            CudaError::Jit {
                status: answer,
                log,
            }
        }
        _ => driver_error("cuModuleLoadDataEx", answer),
    }
}

/// The status (none if it now succeeds) and the log of compiling `text` in the current context.
fn compile_with_log(text: &CString) -> (Option<DriverStatus>, String) {
    const LOG_BYTES: usize = 16 * 1024;
    let mut errors = vec![0u8; LOG_BYTES];
    let mut notes = vec![0u8; LOG_BYTES];
    let mut names = [
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        CUjit_option::CU_JIT_INFO_LOG_BUFFER,
        CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
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
        sys::cuModuleLoadDataEx(
            &mut module,
            text.as_ptr().cast(),
            names.len() as u32,
            names.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    if status == 0 {
        // SAFETY: it was just loaded, and no one else has it.
        unsafe { sys::cuModuleUnload(module) };
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
