//! The driver calls that `cust` does not wrap, or whose exact status code matters.
//!
//! `cust::sys` declares them too, but with a Rust enum as result that ends at CUDA 11.4: a newer driver's code would
//! be an invalid value of it, which is undefined behaviour. Here a status is a plain number.

use core::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

use cust::sys::{
    CUdevice, CUdeviceptr, CUfunction, CUgraph, CUgraphExec, CUgraphNode, CUmemoryPool, CUmodule,
    CUstream,
};

/// A driver call's answer: 0 for success, otherwise one of NVIDIA's `CUDA_ERROR_…` codes.
pub(super) type Status = u32;

// Values of NVIDIA's enumerations, as `cuda.h` names them.
pub(super) const ATTRIBUTE_SHARED_OPT_IN: c_int = 97;
pub(super) const ATTRIBUTE_MEMORY_POOLS: c_int = 115;
pub(super) const POOL_RELEASE_THRESHOLD: c_int = 4;
pub(super) const POOL_RESERVED_NOW: c_int = 5;
pub(super) const POOL_USED_NOW: c_int = 7;
pub(super) const FUNCTION_MAX_DYNAMIC_SHARED: c_int = 8;
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
    pub(super) fn cuFuncSetAttribute(
        function: CUfunction,
        attribute: c_int,
        value: c_int,
    ) -> Status;

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
