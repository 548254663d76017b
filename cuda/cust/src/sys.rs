//! The driver's functions that this crate calls, and the table of their addresses.
//!
//! Types, constants and signatures are [`cudarc`]'s, which are made from NVIDIA's headers. Its
//! functions are not called, for two reasons: they return a Rust enum, for which the status of a
//! newer driver would be an invalid value and undefined behaviour, and they panic where a library
//! or a function is missing. The functions here return statuses as integers.

use core::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};
use std::mem;
use std::sync::OnceLock;

use cudarc::driver::sys;

pub(crate) use sys::{
    CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUevent, CUfunction,
    CUfunction_attribute, CUgraph, CUgraphExec, CUgraphNode, CUjit_option, CUmemPool_attribute,
    CUmemoryPool, CUmodule, CUpointer_attribute, CUstream, CUstreamCaptureMode,
};

/// The status that a driver call returns: 0 for success, or one of NVIDIA's `CUDA_ERROR_…` codes.
pub(crate) type Status = u32;

/// Statuses that this crate acts on, by the names in `cuda.h` after `CUDA_ERROR_`.
pub(crate) mod status {
    use super::Status;

    pub(crate) const INVALID_VALUE: Status = 1;
    pub(crate) const OUT_OF_MEMORY: Status = 2;
    pub(crate) const NOT_INITIALIZED: Status = 3;
    pub(crate) const NO_DEVICE: Status = 100;
    pub(crate) const INVALID_IMAGE: Status = 200;
    pub(crate) const NO_BINARY_FOR_GPU: Status = 209;
    pub(crate) const INVALID_PTX: Status = 218;
    pub(crate) const UNSUPPORTED_PTX_VERSION: Status = 222;
    pub(crate) const INVALID_SOURCE: Status = 300;
    pub(crate) const OPERATING_SYSTEM: Status = 304;
    pub(crate) const NOT_FOUND: Status = 500;
    pub(crate) const NOT_READY: Status = 600;
    pub(crate) const COOPERATIVE_LAUNCH_TOO_LARGE: Status = 720;
    pub(crate) const NOT_PERMITTED: Status = 800;
    pub(crate) const NOT_SUPPORTED: Status = 801;
    pub(crate) const SYSTEM_DRIVER_MISMATCH: Status = 803;
    pub(crate) const COMPAT_NOT_SUPPORTED_ON_DEVICE: Status = 804;
    pub(crate) const UNKNOWN: Status = 999;
}

/// A function that writes the driver's name or text for a status, as the address of a string. The
/// status is an integer here, because a newer driver has statuses that `cudarc`'s enum lacks.
pub(crate) type StatusText = unsafe extern "C" fn(Status, *mut *const c_char) -> Status;

/// The functions of the driver in use.
static FUNCTIONS: OnceLock<Functions> = OnceLock::new();

/// Makes the calls of this module go to `functions`.
pub(crate) fn install(functions: Functions) {
    // Only `driver` calls this, and once.
    let _ = FUNCTIONS.set(functions);
}

macro_rules! driver_functions {
    (
        texts { $( fn $text:ident; )* }
        required { $( fn $name:ident($($arg:ident: $t:ty),* $(,)?); )* }
        optional { $( fn $new:ident($($new_arg:ident: $new_t:ty),* $(,)?); )* }
    ) => {
        /// The driver's functions.
        #[allow(non_snake_case)]
        pub(crate) struct Functions {
            $( $text: StatusText, )*
            $( $name: unsafe extern "C" fn($($t),*) -> Status, )*
            $( $new: Option<unsafe extern "C" fn($($new_t),*) -> Status>, )*
        }

        impl Functions {
            /// Takes the functions from `find`, which returns `None` for one that the driver lacks.
            ///
            /// # Errors
            /// The name of a missing function, unless it is an optional one.
            ///
            /// # Safety
            /// `find` returns functions of the driver, or functions that have the same signatures
            /// and do what the driver documents. They stay loaded for the life of the process.
            pub(crate) unsafe fn load(
                mut find: impl FnMut(&'static str) -> Option<*mut c_void>,
            ) -> Result<Self, &'static str> {
                let mut needed = |name| find(name).ok_or(name);
                Ok(Self {
                    // SAFETY: the caller's promise; below, the compiler compares the signatures
                    // with NVIDIA's. A status is 32 bits wide in both.
                    $( $text: unsafe {
                        mem::transmute::<*mut c_void, StatusText>(needed(stringify!($text))?)
                    }, )*
                    // SAFETY: as above.
                    $( $name: unsafe {
                        mem::transmute::<*mut c_void, unsafe extern "C" fn($($t),*) -> Status>(
                            needed(stringify!($name))?,
                        )
                    }, )*
                    // SAFETY: as above.
                    $( $new: find(stringify!($new)).map(|address| unsafe {
                        mem::transmute::<*mut c_void, unsafe extern "C" fn($($new_t),*) -> Status>(
                            address,
                        )
                    }), )*
                })
            }
        }

        $(
            #[allow(non_snake_case, clippy::too_many_arguments)]
            pub(crate) unsafe fn $name($($arg: $t),*) -> Status {
                match FUNCTIONS.get() {
                    // SAFETY: the caller's promise.
                    Some(functions) => unsafe { (functions.$name)($($arg),*) },
                    None => status::NOT_INITIALIZED,
                }
            }
        )*

        $(
            #[allow(non_snake_case)]
            pub(crate) unsafe fn $text(status: Status, text: *mut *const c_char) -> Status {
                match FUNCTIONS.get() {
                    // SAFETY: the caller's promise.
                    Some(functions) => unsafe { (functions.$text)(status, text) },
                    None => status::NOT_INITIALIZED,
                }
            }
        )*

        $(
            /// `NOT_FOUND` if the driver lacks the function.
            #[allow(non_snake_case)]
            pub(crate) unsafe fn $new($($new_arg: $new_t),*) -> Status {
                match FUNCTIONS.get().map(|functions| functions.$new) {
                    // SAFETY: the caller's promise.
                    Some(Some(function)) => unsafe { function($($new_arg),*) },
                    Some(None) => status::NOT_FOUND,
                    None => status::NOT_INITIALIZED,
                }
            }
        )*

        // The signatures are NVIDIA's: anything else does not compile.
        const _: () = {
            $(
                let _: unsafe fn(sys::CUresult, *mut *const c_char) -> sys::CUresult = sys::$text;
            )*
            $( let _: unsafe fn($($t),*) -> sys::CUresult = sys::$name; )*
            $( let _: unsafe fn($($new_t),*) -> sys::CUresult = sys::$new; )*
            assert!(size_of::<sys::CUresult>() == size_of::<Status>());
        };

        /// The names of the functions that a driver must have.
        #[cfg(test)]
        pub(crate) const REQUIRED: &[&str] = &[$(stringify!($text),)* $(stringify!($name)),*];
    };
}

driver_functions! {
    texts {
        fn cuGetErrorName;
        fn cuGetErrorString;
    }
    // The newest of these, `cuGraphInstantiateWithFlags`, came with CUDA 11.4:
    // `driver::OLDEST_DRIVER`.
    required {
        fn cuInit(flags: c_uint);

        fn cuDeviceGetCount(count: *mut c_int);
        fn cuDeviceGet(device: *mut CUdevice, index: c_int);
        fn cuDeviceGetName(name: *mut c_char, len: c_int, device: CUdevice);
        fn cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice);
        fn cuDeviceGetAttribute(value: *mut c_int, attribute: CUdevice_attribute, device: CUdevice);
        fn cuDeviceGetDefaultMemPool(pool: *mut CUmemoryPool, device: CUdevice);
        fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
        fn cuDevicePrimaryCtxRelease_v2(device: CUdevice);
        fn cuCtxSetCurrent(context: CUcontext);
        fn cuCtxGetDevice(device: *mut CUdevice);
        fn cuCtxSynchronize();

        fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
        fn cuMemPoolGetAttribute(
            pool: CUmemoryPool, attribute: CUmemPool_attribute, value: *mut c_void,
        );
        fn cuMemPoolSetAttribute(
            pool: CUmemoryPool, attribute: CUmemPool_attribute, value: *mut c_void,
        );
        fn cuMemPoolTrimTo(pool: CUmemoryPool, keep: usize);
        fn cuMemAllocAsync(address: *mut CUdeviceptr, bytes: usize, stream: CUstream);
        fn cuMemFreeAsync(address: CUdeviceptr, stream: CUstream);
        fn cuMemAllocHost_v2(address: *mut *mut c_void, bytes: usize);
        fn cuMemFreeHost(address: *mut c_void);
        fn cuMemGetAddressRange_v2(
            base: *mut CUdeviceptr, bytes: *mut usize, address: CUdeviceptr,
        );
        fn cuPointerGetAttribute(
            value: *mut c_void, attribute: CUpointer_attribute, address: CUdeviceptr,
        );
        fn cuMemcpyHtoDAsync_v2(
            to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream,
        );
        fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream);
        fn cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream);
        fn cuMemsetD8Async(to: CUdeviceptr, value: u8, count: usize, stream: CUstream);
        fn cuMemsetD16Async(to: CUdeviceptr, value: u16, count: usize, stream: CUstream);
        fn cuMemsetD32Async(to: CUdeviceptr, value: u32, count: usize, stream: CUstream);

        fn cuModuleLoadDataEx(
            module: *mut CUmodule,
            image: *const c_void,
            options: c_uint,
            names: *mut CUjit_option,
            values: *mut *mut c_void,
        );
        fn cuModuleUnload(module: CUmodule);
        fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
        fn cuFuncGetAttribute(
            value: *mut c_int, attribute: CUfunction_attribute, function: CUfunction,
        );
        fn cuFuncSetAttribute(function: CUfunction, attribute: CUfunction_attribute, value: c_int);
        fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
            blocks: *mut c_int, function: CUfunction, threads: c_int, dynamic_shared: usize,
        );
        fn cuLaunchKernel(
            function: CUfunction,
            grid_x: c_uint,
            grid_y: c_uint,
            grid_z: c_uint,
            block_x: c_uint,
            block_y: c_uint,
            block_z: c_uint,
            dynamic_shared: c_uint,
            stream: CUstream,
            args: *mut *mut c_void,
            extra: *mut *mut c_void,
        );
        fn cuLaunchCooperativeKernel(
            function: CUfunction,
            grid_x: c_uint,
            grid_y: c_uint,
            grid_z: c_uint,
            block_x: c_uint,
            block_y: c_uint,
            block_z: c_uint,
            dynamic_shared: c_uint,
            stream: CUstream,
            args: *mut *mut c_void,
        );

        fn cuEventCreate(event: *mut CUevent, flags: c_uint);
        fn cuEventDestroy_v2(event: CUevent);
        fn cuEventRecord(event: CUevent, stream: CUstream);
        fn cuEventQuery(event: CUevent);
        fn cuEventSynchronize(event: CUevent);
        fn cuEventElapsedTime(ms: *mut f32, start: CUevent, end: CUevent);

        fn cuStreamCreateWithPriority(stream: *mut CUstream, flags: c_uint, priority: c_int);
        fn cuStreamDestroy_v2(stream: CUstream);
        fn cuStreamGetCtx(stream: CUstream, context: *mut CUcontext);
        fn cuStreamSynchronize(stream: CUstream);
        fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint);
        fn cuStreamQuery(stream: CUstream);

        fn cuStreamBeginCapture_v2(stream: CUstream, mode: CUstreamCaptureMode);
        fn cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph);
        fn cuGraphInstantiateWithFlags(
            executable: *mut CUgraphExec, graph: CUgraph, flags: c_ulonglong,
        );
        fn cuGraphGetNodes(graph: CUgraph, nodes: *mut CUgraphNode, count: *mut usize);
        fn cuGraphLaunch(executable: CUgraphExec, stream: CUstream);
        fn cuGraphExecDestroy(executable: CUgraphExec);
        fn cuGraphDestroy(graph: CUgraph);
    }
    optional {
        // Since CUDA 12.4.
        fn cuFuncGetParamInfo(
            function: CUfunction, index: usize, offset: *mut usize, size: *mut usize,
        );
    }
}
