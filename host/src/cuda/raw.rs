//! All driver calls that this module makes.
//!
//! `cust::sys` declares them too, but its result is a Rust enum that ends at CUDA 11.4: a newer
//! driver's status would be an invalid value, which is undefined behaviour. `cust`'s own types make
//! those calls, so none of them is used here. In this file statuses and all other enumerations are
//! plain integers.

use core::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

use cust::sys::{
    CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUgraph, CUgraphExec, CUgraphNode,
    CUmemoryPool, CUmodule, CUstream,
};

/// The status that a driver call returns: 0 for success, or one of NVIDIA's `CUDA_ERROR_…` codes.
pub(super) type Status = u32;

// Values of NVIDIA's enumerations, as `cuda.h` names them.
pub(super) const ATTRIBUTE_THREADS_PER_BLOCK: c_int = 1;
/// The largest block in x; those of y and z, and the largest grid in x, y and z follow.
pub(super) const ATTRIBUTE_MAX_BLOCK_X: c_int = 2;
pub(super) const ATTRIBUTE_MAX_GRID_X: c_int = 5;
pub(super) const ATTRIBUTE_MULTIPROCESSORS: c_int = 16;
pub(super) const ATTRIBUTE_L2_BYTES: c_int = 38;
pub(super) const ATTRIBUTE_THREADS_PER_MULTIPROCESSOR: c_int = 39;
pub(super) const ATTRIBUTE_CAPABILITY_MAJOR: c_int = 75;
pub(super) const ATTRIBUTE_CAPABILITY_MINOR: c_int = 76;
pub(super) const ATTRIBUTE_SHARED_OPT_IN: c_int = 97;
pub(super) const ATTRIBUTE_MEMORY_POOLS: c_int = 115;
pub(super) const POOL_RELEASE_THRESHOLD: c_int = 4;
pub(super) const POOL_RESERVED_NOW: c_int = 5;
pub(super) const POOL_USED_NOW: c_int = 7;
pub(super) const FUNCTION_THREADS_PER_BLOCK: c_int = 0;
pub(super) const FUNCTION_STATIC_SHARED: c_int = 1;
pub(super) const FUNCTION_LOCAL_BYTES: c_int = 3;
pub(super) const FUNCTION_REGISTERS: c_int = 4;
pub(super) const FUNCTION_MAX_DYNAMIC_SHARED: c_int = 8;
pub(super) const EVENT_DEFAULT: c_uint = 0;
pub(super) const EVENT_WITHOUT_TIMING: c_uint = 2;
/// By the rules of the legacy default stream: the stream's work waits for the work of stream 0, and
/// the other way round.
pub(super) const STREAM_DEFAULT: c_uint = 0;
pub(super) const JIT_INFO_LOG: c_int = 3;
pub(super) const JIT_INFO_LOG_BYTES: c_int = 4;
pub(super) const JIT_ERROR_LOG: c_int = 5;
pub(super) const JIT_ERROR_LOG_BYTES: c_int = 6;
pub(super) const CAPTURE_THREAD_LOCAL: c_int = 1;

unsafe extern "C" {
    pub(super) fn cuInit(flags: c_uint) -> Status;
    pub(super) fn cuDriverGetVersion(version: *mut c_int) -> Status;
    pub(super) fn cuGetErrorName(status: Status, name: *mut *const c_char) -> Status;
    pub(super) fn cuGetErrorString(status: Status, text: *mut *const c_char) -> Status;

    pub(super) fn cuDeviceGetCount(count: *mut c_int) -> Status;
    pub(super) fn cuDeviceGet(device: *mut CUdevice, index: c_int) -> Status;
    pub(super) fn cuDeviceGetName(name: *mut c_char, len: c_int, device: CUdevice) -> Status;
    pub(super) fn cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice) -> Status;
    pub(super) fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice) -> Status;
    pub(super) fn cuDevicePrimaryCtxRelease_v2(device: CUdevice) -> Status;
    pub(super) fn cuCtxSetCurrent(context: CUcontext) -> Status;
    pub(super) fn cuCtxSynchronize() -> Status;
    pub(super) fn cuDeviceGetAttribute(
        value: *mut c_int,
        attribute: c_int,
        device: CUdevice,
    ) -> Status;
    pub(super) fn cuDeviceGetDefaultMemPool(pool: *mut CUmemoryPool, device: CUdevice) -> Status;
    pub(super) fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> Status;
    pub(super) fn cuMemPoolGetAttribute(
        pool: CUmemoryPool,
        attribute: c_int,
        value: *mut c_void,
    ) -> Status;
    pub(super) fn cuMemPoolSetAttribute(
        pool: CUmemoryPool,
        attribute: c_int,
        value: *mut c_void,
    ) -> Status;
    pub(super) fn cuMemPoolTrimTo(pool: CUmemoryPool, keep: usize) -> Status;

    pub(super) fn cuMemAllocAsync(
        address: *mut CUdeviceptr,
        bytes: usize,
        stream: CUstream,
    ) -> Status;
    pub(super) fn cuMemFreeAsync(address: CUdeviceptr, stream: CUstream) -> Status;
    pub(super) fn cuMemAllocHost_v2(address: *mut *mut c_void, bytes: usize) -> Status;
    pub(super) fn cuMemFreeHost(address: *mut c_void) -> Status;
    pub(super) fn cuMemcpyHtoDAsync_v2(
        to: CUdeviceptr,
        from: *const c_void,
        bytes: usize,
        stream: CUstream,
    ) -> Status;
    pub(super) fn cuMemcpyDtoHAsync_v2(
        to: *mut c_void,
        from: CUdeviceptr,
        bytes: usize,
        stream: CUstream,
    ) -> Status;
    pub(super) fn cuMemcpyDtoDAsync_v2(
        to: CUdeviceptr,
        from: CUdeviceptr,
        bytes: usize,
        stream: CUstream,
    ) -> Status;
    pub(super) fn cuMemsetD8Async(
        to: CUdeviceptr,
        value: u8,
        count: usize,
        stream: CUstream,
    ) -> Status;
    pub(super) fn cuMemsetD16Async(
        to: CUdeviceptr,
        value: u16,
        count: usize,
        stream: CUstream,
    ) -> Status;
    pub(super) fn cuMemsetD32Async(
        to: CUdeviceptr,
        value: u32,
        count: usize,
        stream: CUstream,
    ) -> Status;

    pub(super) fn cuModuleLoadDataEx(
        module: *mut CUmodule,
        image: *const c_void,
        options: c_uint,
        names: *mut c_int,
        values: *mut *mut c_void,
    ) -> Status;
    pub(super) fn cuModuleUnload(module: CUmodule) -> Status;
    pub(super) fn cuModuleGetFunction(
        function: *mut CUfunction,
        module: CUmodule,
        name: *const c_char,
    ) -> Status;
    pub(super) fn cuFuncGetAttribute(
        value: *mut c_int,
        attribute: c_int,
        function: CUfunction,
    ) -> Status;
    pub(super) fn cuFuncSetAttribute(
        function: CUfunction,
        attribute: c_int,
        value: c_int,
    ) -> Status;

    pub(super) fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int,
        function: CUfunction,
        threads: c_int,
        dynamic_shared: usize,
    ) -> Status;
    pub(super) fn cuLaunchKernel(
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
    ) -> Status;

    pub(super) fn cuEventCreate(event: *mut CUevent, flags: c_uint) -> Status;
    pub(super) fn cuEventDestroy_v2(event: CUevent) -> Status;
    pub(super) fn cuEventRecord(event: CUevent, stream: CUstream) -> Status;
    pub(super) fn cuEventQuery(event: CUevent) -> Status;
    pub(super) fn cuEventSynchronize(event: CUevent) -> Status;
    pub(super) fn cuEventElapsedTime(ms: *mut f32, start: CUevent, end: CUevent) -> Status;

    pub(super) fn cuStreamCreateWithPriority(
        stream: *mut CUstream,
        flags: c_uint,
        priority: c_int,
    ) -> Status;
    pub(super) fn cuStreamDestroy_v2(stream: CUstream) -> Status;
    pub(super) fn cuStreamSynchronize(stream: CUstream) -> Status;
    pub(super) fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint) -> Status;
    pub(super) fn cuStreamQuery(stream: CUstream) -> Status;
    pub(super) fn cuStreamBeginCapture_v2(stream: CUstream, mode: c_int) -> Status;
    pub(super) fn cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph) -> Status;
    pub(super) fn cuGraphInstantiateWithFlags(
        executable: *mut CUgraphExec,
        graph: CUgraph,
        flags: c_ulonglong,
    ) -> Status;
    pub(super) fn cuGraphGetNodes(
        graph: CUgraph,
        nodes: *mut CUgraphNode,
        count: *mut usize,
    ) -> Status;
    pub(super) fn cuGraphLaunch(executable: CUgraphExec, stream: CUstream) -> Status;
    pub(super) fn cuGraphExecDestroy(executable: CUgraphExec) -> Status;
    pub(super) fn cuGraphDestroy(graph: CUgraph) -> Status;
}
