//! Kernels of a module: what they use, and what they take.

use std::ffi::c_void;
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cuda_std::launch::{KernelSpec, LaunchConfig};

use crate::error::{CudaError, CudaResult, check};
use crate::graph;
pub use crate::limits::KernelInfo;
use crate::limits::{check_args, check_limits};
use crate::module::Module;
pub use crate::problem::{Param, ParamProblem};
use crate::stream::Stream;
use crate::sys::{self, CUfunction, CUfunction_attribute as Attribute, status};

/// A kernel of a [`Module`], which it keeps loaded.
#[derive(Clone)]
pub struct Function {
    kernel: Arc<Kernel>,
    module: Module,
}

impl Function {
    pub(crate) fn new(kernel: Arc<Kernel>, module: &Module) -> Self {
        Self {
            kernel,
            module: module.clone(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.kernel.name
    }

    /// What it uses.
    pub fn info(&self) -> KernelInfo {
        self.kernel.info
    }

    /// The place and size in bytes of each of its parameters; `None` if the driver can't tell,
    /// because it is older than CUDA 12.4.
    pub fn params(&self) -> Option<&[Param]> {
        self.kernel.params.as_deref()
    }

    /// The driver's handle, for calls that this type lacks; [`Device::bind`] comes before them.
    ///
    /// [`Device::bind`]: crate::device::Device::bind
    pub fn as_raw(&self) -> CUfunction {
        self.kernel.function
    }

    /// How many blocks of `threads` threads with `dynamic_shared` bytes one multiprocessor holds at
    /// a time.
    ///
    /// # Errors
    /// [`CudaError::Driver`]; [`CudaError::Execution`].
    pub fn max_active_blocks_per_multiprocessor(
        &self,
        threads: u32,
        dynamic_shared: u32,
    ) -> CudaResult<u32> {
        self.module.device().bind()?;
        self.kernel.active_blocks(threads, dynamic_shared)
    }

    /// Launches a kernel that has no typed launcher. Those of `#[kernel]` launch on a
    /// [`ModuleQueue`](crate::launch::ModuleQueue), which knows more of what can be wrong, and
    /// which kernels are cooperative: this is an ordinary launch.
    ///
    /// # Errors
    /// [`CudaError::BadLaunch`] if the launch breaks a limit, or if the number of arguments is
    /// wrong and the driver knows it; [`CudaError::WrongDevice`]; [`CudaError::Driver`];
    /// [`CudaError::Execution`] if a kernel has crashed.
    ///
    /// # Safety
    /// `args[i]` points at the bytes of the i-th parameter, for each parameter; every access that
    /// the kernel makes with these arguments lies inside memory that lives until the kernel ends,
    /// and does not conflict with other work that runs at the same time.
    pub unsafe fn launch(
        &self,
        stream: &Stream,
        config: LaunchConfig,
        args: &[*const c_void],
    ) -> CudaResult<()> {
        let device = self.module.device();
        device.check_same("the stream", stream.device())?;
        let count = self.kernel.param_count;
        check_limits(device.info(), &self.kernel.info, &config)
            .and_then(|()| check_args(args.len(), count.unwrap_or(args.len())))
            .map_err(|problem| CudaError::BadLaunch {
                kernel: self.name().to_owned(),
                problem,
            })?;
        let on = stream.bind()?;
        stream.blame(self.kernel.allow_shared(config.dynamic_shared))?;
        graph::keep(&self.module);
        // SAFETY: the function's module is loaded, and `on` is the stream's handle; the rest is the
        // caller's promise.
        let status = unsafe { self.kernel.launch(on, &config, args, false) };
        stream.blame(check("cuLaunchKernel", status))
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({})", self.name())
    }
}

/// Launches may ask for this much dynamic and static shared memory together, in bytes, before the
/// limit is raised.
const SHARED_UNASKED: u32 = 48 * 1024;

/// A kernel's handle, and what of it a launch must know.
pub(crate) struct Kernel {
    /// Valid while the module is loaded: whoever holds a kernel holds the module too.
    function: CUfunction,
    name: String,
    pub(crate) info: KernelInfo,
    /// By the PTX; `None` if the name is not found there.
    param_count: Option<usize>,
    /// `None` if the driver can't tell.
    params: Option<Vec<Param>>,
    /// The specification that the parameters were compared with last.
    compared: AtomicPtr<KernelSpec>,
    /// How much dynamic shared memory launches may ask for, so far.
    allowed_shared: Mutex<u32>,
    /// The driver's last answer to how many blocks a multiprocessor holds.
    occupancy: Mutex<Option<Occupancy>>,
}

/// How many blocks of a kernel one multiprocessor holds at a time.
#[derive(Clone, Copy)]
struct Occupancy {
    threads: u32,
    dynamic_shared: u32,
    blocks: u32,
}

// SAFETY: the handle is an address that only the driver follows, and the driver's functions on it
// may be called from any thread; the other fields are `Send` and `Sync` by themselves.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

impl Kernel {
    /// Asks the driver about a function.
    ///
    /// # Safety
    /// The function belongs to a module that stays loaded while the result is used.
    pub(crate) unsafe fn new(
        function: CUfunction,
        name: &str,
        param_count: Option<usize>,
    ) -> CudaResult<Self> {
        let get = |attribute| {
            let mut value = 0;
            // SAFETY: the function belongs to a loaded module; writes one integer.
            let status = unsafe { sys::cuFuncGetAttribute(&mut value, attribute, function) };
            check("cuFuncGetAttribute", status).map(|()| value.unsigned_abs())
        };
        let info = KernelInfo {
            registers: get(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            static_shared: get(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            local_bytes: get(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            threads_per_block: get(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        };
        Ok(Self {
            function,
            name: name.to_owned(),
            info,
            param_count,
            params: match param_count {
                // SAFETY: as above.
                Some(count) => unsafe { params(function, count) }?,
                None => None,
            },
            compared: AtomicPtr::default(),
            allowed_shared: Mutex::new(SHARED_UNASKED.saturating_sub(info.static_shared)),
            occupancy: Mutex::new(None),
        })
    }

    /// Compares the parameters with those that the launcher of `spec` passes, once for each `spec`
    /// in a row.
    pub(crate) fn check_params(&self, spec: &'static KernelSpec) -> CudaResult<()> {
        let address = ptr::from_ref(spec).cast_mut();
        if self.compared.load(Ordering::Relaxed) == address {
            return Ok(());
        }
        compare(self.param_count, self.params.as_deref(), spec).map_err(|problem| {
            CudaError::WrongParameters {
                kernel: spec.name,
                problem,
            }
        })?;
        self.compared.store(address, Ordering::Relaxed);
        Ok(())
    }

    /// Lets launches ask for `bytes` of dynamic shared memory; needed once above what is allowed
    /// unasked.
    pub(crate) fn allow_shared(&self, bytes: u32) -> CudaResult<()> {
        // Locked over the call, so that no thread lowers what another has raised.
        let mut allowed = self
            .allowed_shared
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if bytes <= *allowed {
            return Ok(());
        }
        let value = i32::try_from(bytes).unwrap_or(i32::MAX);
        let attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function belongs to a loaded module.
        let status = unsafe { sys::cuFuncSetAttribute(self.function, attribute, value) };
        check("cuFuncSetAttribute", status)?;
        *allowed = bytes;
        Ok(())
    }

    /// How many blocks of `threads` threads with `dynamic_shared` bytes one multiprocessor holds at
    /// a time. Asks the driver only if the question differs from the last one.
    pub(crate) fn active_blocks(&self, threads: u32, dynamic_shared: u32) -> CudaResult<u32> {
        let mut known = self
            .occupancy
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = *known
            && (known.threads, known.dynamic_shared) == (threads, dynamic_shared)
        {
            return Ok(known.blocks);
        }
        self.allow_shared(dynamic_shared)?;
        let mut blocks = 0;
        // SAFETY: the function belongs to a loaded module; writes one integer.
        let status = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                self.function,
                i32::try_from(threads).unwrap_or(i32::MAX),
                dynamic_shared as usize,
            )
        };
        check("cuOccupancyMaxActiveBlocksPerMultiprocessor", status)?;
        let blocks = blocks.unsigned_abs();
        *known = Some(Occupancy {
            threads,
            dynamic_shared,
            blocks,
        });
        Ok(blocks)
    }

    /// Queues a launch in the current context. All blocks of a `cooperative` one are resident at
    /// once, or the driver refuses it.
    ///
    /// # Safety
    /// The module is loaded and `stream` is alive; the rest is as for [`Function::launch`].
    pub(crate) unsafe fn launch(
        &self,
        stream: sys::CUstream,
        config: &LaunchConfig,
        args: &[*const c_void],
        cooperative: bool,
    ) -> sys::Status {
        let LaunchConfig {
            grid,
            block,
            dynamic_shared,
        } = *config;
        // The driver copies the arguments before it returns; its header wants `*mut`, and it does
        // not write through them.
        let args = args.as_ptr().cast_mut().cast::<*mut c_void>();
        if cooperative {
            // SAFETY: the caller's promise.
            return unsafe {
                sys::cuLaunchCooperativeKernel(
                    self.function,
                    grid.x,
                    grid.y,
                    grid.z,
                    block.x,
                    block.y,
                    block.z,
                    dynamic_shared,
                    stream,
                    args,
                )
            };
        }
        // SAFETY: the caller's promise.
        unsafe {
            sys::cuLaunchKernel(
                self.function,
                grid.x,
                grid.y,
                grid.z,
                block.x,
                block.y,
                block.z,
                dynamic_shared,
                stream,
                args,
                ptr::null_mut(),
            )
        }
    }
}

/// The places of a function's `count` parameters; `None` if the driver can't tell.
///
/// # Safety
/// The function belongs to a loaded module.
unsafe fn params(function: CUfunction, count: usize) -> CudaResult<Option<Vec<Param>>> {
    let mut params = Vec::with_capacity(count);
    // No further than the last: `compute-sanitizer` would report the question for one more.
    for index in 0..count {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: writes two numbers.
        match unsafe { sys::cuFuncGetParamInfo(function, index, &mut offset, &mut size) } {
            status::NOT_FOUND | status::NOT_SUPPORTED => return Ok(None),
            status => check("cuFuncGetParamInfo", status)?,
        }
        params.push(Param { offset, size });
    }
    Ok(Some(params))
}

/// Compares a kernel's parameters with those of a specification, which follow each other at the
/// next multiple of their alignments.
fn compare(
    count: Option<usize>,
    params: Option<&[Param]>,
    spec: &KernelSpec,
) -> Result<(), ParamProblem> {
    let passed = spec.params.len();
    if let Some(has) = count
        && has != passed
    {
        return Err(ParamProblem::Count { has, passed });
    }
    let params = params.unwrap_or_default();
    let mut end = 0usize;
    for (&has, param) in params.iter().zip(spec.params) {
        let passed = Param {
            offset: end.next_multiple_of(param.align.max(1)),
            size: param.size,
        };
        if has != passed {
            return Err(ParamProblem::Layout {
                name: param.name,
                has,
                passed,
            });
        }
        end = passed.offset + passed.size;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use cuda_std::launch::{Dim3, ParamKind, ParamSpec};

    use super::*;

    const fn param(name: &'static str, size: usize, align: usize) -> ParamSpec {
        ParamSpec {
            name,
            ty: "",
            size,
            align,
            kind: ParamKind::Value,
        }
    }

    #[test]
    fn parameters_are_compared_one_by_one() {
        const PARAMS: &[ParamSpec] = &[param("n", 4, 4), param("view", 16, 8), param("flag", 1, 1)];
        let spec = KernelSpec {
            name: "k",
            block: Dim3 { x: 1, y: 1, z: 1 },
            params: PARAMS,
            cooperative: false,
            zero_at_exit: &[],
            entry: None,
            check_views: None,
        };
        let at = |offset, size| Param { offset, size };
        let right = [at(0, 4), at(8, 16), at(24, 1)];
        assert_eq!(compare(Some(3), Some(&right), &spec), Ok(()));
        // Where the driver can't tell the places, or the PTX the number.
        assert_eq!(compare(Some(3), None, &spec), Ok(()));
        assert_eq!(compare(None, None, &spec), Ok(()));
        assert_eq!(
            compare(Some(4), None, &spec),
            Err(ParamProblem::Count { has: 4, passed: 3 })
        );
        let problem = |params: &[Param]| {
            let compared = compare(Some(params.len()), Some(params), &spec);
            compared.unwrap_err().to_string()
        };
        assert_eq!(
            problem(&[at(0, 4), at(8, 16)]),
            "it takes 2 parameters, and the program passes 3"
        );
        assert_eq!(
            problem(&[at(0, 4), at(8, 8), at(16, 1)]),
            "its parameter `view` has 8 bytes at offset 8, and the program passes 16 bytes at \
             offset 8"
        );
        assert_eq!(
            problem(&[at(0, 4), at(4, 16), at(24, 1)]),
            "its parameter `view` has 16 bytes at offset 4, and the program passes 16 bytes at \
             offset 8"
        );
    }
}
