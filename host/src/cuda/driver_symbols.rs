//! Defines the driver's functions, so that nothing links to `libcuda`.
//!
//! `cust` declares the CUDA driver's functions (`cuInit`, `cuLaunchKernel`, …) as external symbols.
//! Linked to the real `libcuda`, a program would not even start on a machine without NVIDIA's
//! driver. So each symbol is defined here, as a jump through a slot:
//!
//! ```text
//! cust ── call cuInit ──▶ cuInit: jmp [slot of cuInit]
//!     before `install`               ──▶ not_loaded
//!     after it                       ──▶ libcuda's cuInit
//!     after it, if libcuda has none  ──▶ not_in_this_driver
//! ```
//!
//! A jump leaves registers and stack as the caller left them, so one body serves every signature.
//! All these functions return a status code, as do `not_loaded` and `not_in_this_driver`. The
//! symbols are hidden: another library in the same process, libcuda itself included, never sees
//! them.
//!
//! The list below holds every function of `cust_raw` that `cust`'s source names
//! (`grep -rohE '\bcu[A-Z]\w+' src`), although only its types are used, and those of `raw.rs`. A
//! function that is called and not listed fails to link.

use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
compile_error!(
    "trazar's feature `cuda` supports Linux on x86-64 and AArch64; elsewhere build without the \
     feature"
);

/// The status of a call before the driver is loaded: `CUDA_ERROR_NOT_INITIALIZED`.
const NOT_INITIALIZED: u32 = 3;
/// The status of a call of a function that the loaded driver lacks: `CUDA_ERROR_NOT_FOUND`.
const NOT_FOUND: u32 = 500;

extern "C" fn not_loaded() -> u32 {
    NOT_INITIALIZED
}

extern "C" fn not_in_this_driver() -> u32 {
    NOT_FOUND
}

/// One function of the driver.
struct Symbol {
    name: &'static CStr,
    /// Where the trampoline jumps to.
    slot: &'static AtomicPtr<c_void>,
    /// The trampoline.
    entry: unsafe extern "C" fn() -> u32,
}

/// The body of a trampoline: jump to the address in `$slot`.
macro_rules! jump_through {
    ($name:ident, $slot:path) => {{
        #[cfg(target_arch = "x86_64")]
        core::arch::naked_asm!(
            concat!(".hidden ", stringify!($name)),
            "jmp qword ptr [rip + {slot}]",
            slot = sym $slot,
        );
        // x16 is the register that AArch64's calling convention leaves to such stubs.
        #[cfg(target_arch = "aarch64")]
        core::arch::naked_asm!(
            concat!(".hidden ", stringify!($name)),
            "adrp x16, {slot}",
            "ldr x16, [x16, :lo12:{slot}]",
            "br x16",
            slot = sym $slot,
        );
    }};
}

macro_rules! driver_symbols {
    ($($name:ident)*) => {
        #[allow(non_upper_case_globals)]
        mod slots {
            $(pub(super) static $name: super::AtomicPtr<super::c_void> =
                super::AtomicPtr::new(super::not_loaded as *mut super::c_void);)*
        }

        #[allow(non_snake_case)]
        mod entries {
            $(
                #[unsafe(naked)]
                #[unsafe(no_mangle)]
                pub(super) unsafe extern "C" fn $name() -> u32 {
                    jump_through!($name, super::slots::$name)
                }
            )*
        }

        static SYMBOLS: &[Symbol] = &[$(Symbol {
            // A name is ASCII letters, digits and `_`: it holds no zero byte.
            name: match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            },
            slot: &slots::$name,
            entry: entries::$name,
        }),*];

        // A misspelt name would be a trampoline that nobody calls: each must be one that `cust`
        // declares.
        const _: () = { $(let _ = cust::sys::$name;)* };
    };
}

driver_symbols! {
    // Called by `cust`.
    cuArray3DCreate_v2 cuArray3DGetDescriptor_v2 cuArrayDestroy cuCtxCreate_v2 cuCtxDestroy_v2
    cuCtxGetApiVersion cuCtxGetCacheConfig cuCtxGetCurrent cuCtxGetDevice cuCtxGetFlags
    cuCtxGetLimit cuCtxGetSharedMemConfig cuCtxGetStreamPriorityRange cuCtxPopCurrent_v2
    cuCtxPushCurrent_v2 cuCtxSetCacheConfig cuCtxSetCurrent cuCtxSetLimit cuCtxSetSharedMemConfig
    cuCtxSynchronize cuDestroyExternalMemory cuDeviceGet cuDeviceGetAttribute cuDeviceGetCount
    cuDeviceGetName cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxReset_v2 cuDevicePrimaryCtxRetain
    cuDevicePrimaryCtxSetFlags_v2 cuDeviceTotalMem_v2 cuDriverGetVersion cuEventCreate
    cuEventDestroy_v2 cuEventElapsedTime cuEventQuery cuEventRecord cuEventSynchronize
    cuExternalMemoryGetMappedBuffer cuFuncGetAttribute cuFuncSetCacheConfig cuFuncSetSharedMemConfig
    cuGetErrorString cuGraphAddKernelNode cuGraphCreate cuGraphDebugDotPrint cuGraphDestroy
    cuGraphGetEdges cuGraphGetNodes cuGraphKernelNodeGetParams cuGraphNodeGetType
    cuImportExternalMemory cuInit cuLaunchHostFunc cuLaunchKernel cuLinkAddData_v2 cuLinkComplete
    cuLinkCreate_v2 cuLinkDestroy cuMemAdvise cuMemAllocAsync cuMemAllocHost_v2 cuMemAllocManaged
    cuMemAlloc_v2 cuMemFreeAsync cuMemFreeHost cuMemFree_v2 cuMemGetInfo_v2 cuMemPrefetchAsync
    cuMemcpy2D_v2 cuMemcpyAtoH_v2 cuMemcpyDtoDAsync_v2 cuMemcpyDtoD_v2 cuMemcpyDtoHAsync_v2
    cuMemcpyDtoH_v2 cuMemcpyHtoA_v2 cuMemcpyHtoDAsync_v2 cuMemcpyHtoD_v2 cuMemsetD16Async
    cuMemsetD16_v2 cuMemsetD32Async cuMemsetD32_v2 cuMemsetD8Async cuMemsetD8_v2 cuModuleGetFunction
    cuModuleGetGlobal_v2 cuModuleLoad cuModuleLoadData cuModuleLoadDataEx cuModuleUnload
    cuOccupancyAvailableDynamicSMemPerBlock cuOccupancyMaxActiveBlocksPerMultiprocessor
    cuOccupancyMaxPotentialBlockSize cuStreamCreateWithPriority cuStreamDestroy_v2 cuStreamGetFlags
    cuStreamGetPriority cuStreamSynchronize cuStreamWaitEvent cuSurfObjectCreate cuSurfObjectDestroy
    cuSurfObjectGetResourceDesc cuTexObjectCreate cuTexObjectDestroy cuTexObjectGetResourceDesc
    cuTexObjectGetResourceViewDesc
    // Called by this crate alone.
    cuDeviceGetDefaultMemPool cuFuncSetAttribute cuGetErrorName cuGraphExecDestroy
    cuGraphInstantiateWithFlags cuGraphLaunch cuMemPoolGetAttribute cuMemPoolSetAttribute
    cuMemPoolTrimTo cuStreamBeginCapture_v2 cuStreamEndCapture cuStreamQuery
}

/// Points every slot at the function that `find` returns for its name. Calls of functions that it
/// does not find return `CUDA_ERROR_NOT_FOUND` from then on.
///
/// # Safety
/// The functions are the driver's, and stay loaded for the rest of the process.
pub(super) unsafe fn install(mut find: impl FnMut(&CStr) -> Option<*mut c_void>) {
    for symbol in SYMBOLS {
        let target = find(symbol.name).unwrap_or(not_in_this_driver as *mut c_void);
        symbol.slot.store(target, Ordering::Release);
    }
}

/// The names and trampolines, for tests of which functions are covered and of calls before the
/// driver is loaded.
#[doc(hidden)]
pub fn entry_points() -> impl Iterator<Item = (&'static str, unsafe extern "C" fn() -> u32)> {
    SYMBOLS
        .iter()
        .map(|symbol| (symbol.name.to_str().unwrap_or_default(), symbol.entry))
}
