//! GPUs: finding them, their properties, their memory.

use std::ffi::c_char;
use std::fmt;
use std::ptr;
use std::sync::Arc;

use cust::sys::{CUcontext, CUdevice, CUmemoryPool};

use super::driver::load_driver;
use super::error::{CudaError, check};
use super::raw;
use super::version::{ComputeCapability, DriverVersion};

/// The properties of a GPU. Reading them costs microseconds and opens nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Its index, from 0.
    pub index: u32,
    /// Its name, such as `NVIDIA H200`.
    pub name: String,
    /// Its architecture version.
    pub compute_capability: ComputeCapability,
    /// The CUDA version that the driver supports.
    pub driver: DriverVersion,
    /// Its memory, in bytes.
    pub total_memory: usize,
    /// Its multiprocessors.
    pub multiprocessors: u32,
    /// Its level 2 cache, in bytes.
    pub l2_bytes: u32,
    /// The largest number of threads resident on one multiprocessor.
    pub threads_per_multiprocessor: u32,
    /// The largest number of threads per block.
    pub threads_per_block: u32,
    /// The largest block, in x, y and z.
    pub max_block: [u32; 3],
    /// The largest grid, in x, y and z.
    pub max_grid: [u32; 3],
    /// The largest shared memory per block in bytes, static and dynamic together.
    pub shared_per_block: u32,
    /// Whether it has stream-ordered memory pools, which [`Device::open`] needs.
    pub memory_pools: bool,
}

/// Device memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Available to new buffers: memory that no process has allocated, and unused memory of this
    /// process's pool.
    pub free: usize,
    /// All of the device's memory.
    pub total: usize,
}

impl DeviceInfo {
    /// The properties of every GPU, in the driver's order.
    ///
    /// # Errors
    /// Those of [`load_driver`].
    pub fn all() -> Result<Vec<Self>, CudaError> {
        let driver = load_driver()?;
        (0..device_count()?)
            .map(|index| Self::read(index, find(index)?, driver))
            .collect()
    }

    fn read(index: u32, device: CUdevice, driver: DriverVersion) -> Result<Self, CudaError> {
        let get = |attribute| {
            let mut value = 0;
            // SAFETY: writes one integer; the device handle is valid for the life of the process.
            let status = unsafe { raw::cuDeviceGetAttribute(&mut value, attribute, device) };
            check("cuDeviceGetAttribute", status).map(|()| value.unsigned_abs())
        };
        let get_xyz = |x| Ok::<_, CudaError>([get(x)?, get(x + 1)?, get(x + 2)?]);
        let mut total_memory = 0;
        // SAFETY: writes one integer.
        check("cuDeviceTotalMem", unsafe {
            raw::cuDeviceTotalMem_v2(&mut total_memory, device)
        })?;
        Ok(Self {
            index,
            name: device_name(device)?,
            compute_capability: ComputeCapability {
                major: get(raw::ATTRIBUTE_CAPABILITY_MAJOR)?,
                minor: get(raw::ATTRIBUTE_CAPABILITY_MINOR)?,
            },
            driver,
            total_memory,
            multiprocessors: get(raw::ATTRIBUTE_MULTIPROCESSORS)?,
            l2_bytes: get(raw::ATTRIBUTE_L2_BYTES)?,
            threads_per_multiprocessor: get(raw::ATTRIBUTE_THREADS_PER_MULTIPROCESSOR)?,
            threads_per_block: get(raw::ATTRIBUTE_THREADS_PER_BLOCK)?,
            max_block: get_xyz(raw::ATTRIBUTE_MAX_BLOCK_X)?,
            max_grid: get_xyz(raw::ATTRIBUTE_MAX_GRID_X)?,
            shared_per_block: get(raw::ATTRIBUTE_SHARED_OPT_IN)?,
            memory_pools: get(raw::ATTRIBUTE_MEMORY_POOLS)? != 0,
        })
    }
}

fn device_name(device: CUdevice) -> Result<String, CudaError> {
    const LEN: usize = 256;
    let mut name = [0u8; LEN];
    // SAFETY: writes at most `LEN` bytes, which `name` has.
    let status =
        unsafe { raw::cuDeviceGetName(name.as_mut_ptr().cast::<c_char>(), LEN as i32, device) };
    check("cuDeviceGetName", status)?;
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}

fn device_count() -> Result<u32, CudaError> {
    let mut count = 0;
    // SAFETY: writes one integer.
    let status = unsafe { raw::cuDeviceGetCount(&mut count) };
    check("cuDeviceGetCount", status).map(|()| count.unsigned_abs())
}

fn find(index: u32) -> Result<CUdevice, CudaError> {
    let mut device = 0;
    // SAFETY: writes one handle.
    let status = unsafe { raw::cuDeviceGet(&mut device, index.cast_signed()) };
    check("cuDeviceGet", status).map(|()| device)
}

/// An opened GPU. Clones share it; it closes with the last clone and the last object made from it.
///
/// It uses the device's primary context, as the CUDA runtime does, so it shares memory and streams
/// with other CUDA libraries in the process. Every method makes that context current on the calling
/// thread first: all objects of this module can be used from any thread.
#[derive(Clone)]
pub struct Device {
    inner: Arc<Inner>,
}

struct Inner {
    info: DeviceInfo,
    /// The default pool of the device, from which `cuMemAllocAsync` allocates.
    pool: CUmemoryPool,
    context: PrimaryContext,
}

/// A device's primary context, retained until this is dropped.
struct PrimaryContext {
    context: CUcontext,
    device: CUdevice,
}

impl PrimaryContext {
    fn retain(device: CUdevice) -> Result<Self, CudaError> {
        let mut context = ptr::null_mut();
        // SAFETY: writes one handle, which lives until it is released as often as it was retained.
        let status = unsafe { raw::cuDevicePrimaryCtxRetain(&mut context, device) };
        check("cuDevicePrimaryCtxRetain", status)?;
        let context = Self { context, device };
        context.bind()?;
        Ok(context)
    }

    /// Makes it the current context of the calling thread.
    fn bind(&self) -> Result<(), CudaError> {
        // SAFETY: the context is retained.
        check("cuCtxSetCurrent", unsafe {
            raw::cuCtxSetCurrent(self.context)
        })
    }
}

impl Drop for PrimaryContext {
    fn drop(&mut self) {
        // SAFETY: retained once, released once. There is no one to report a failure to.
        let _ = unsafe { raw::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

// SAFETY: the handles are addresses that only the driver follows, and the driver's functions on
// contexts and pools may be called from any thread; the other field is `Send` and `Sync` by itself.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Device {
    /// The number of GPUs, at least one.
    ///
    /// # Errors
    /// Those of [`load_driver`].
    pub fn count() -> Result<u32, CudaError> {
        load_driver()?;
        device_count()
    }

    /// Opens the GPU with this index. The first time in a process this takes about 200 ms, and
    /// after the last clone was dropped it takes more than 100 ms again: keep a `Device` for as
    /// long as the GPU is used.
    ///
    /// The process keeps the memory of dropped buffers for new ones; see [`Device::trim_memory`].
    ///
    /// # Errors
    /// Those of [`load_driver`]; [`CudaError::NoSuchDevice`]; [`CudaError::NoMemoryPools`];
    /// [`CudaError::Driver`] if the driver can't open it (in exclusive use by another process,
    /// say).
    pub fn open(index: u32) -> Result<Self, CudaError> {
        let driver = load_driver()?;
        let count = device_count()?;
        if index >= count {
            return Err(CudaError::NoSuchDevice { index, count });
        }
        let handle = find(index)?;
        let info = DeviceInfo::read(index, handle, driver)?;
        if !info.memory_pools {
            return Err(CudaError::NoMemoryPools { device: info.name });
        }
        let context = PrimaryContext::retain(handle)?;

        let mut pool = ptr::null_mut();
        // SAFETY: writes one handle, which lives as long as the device.
        let status = unsafe { raw::cuDeviceGetDefaultMemPool(&mut pool, handle) };
        check("cuDeviceGetDefaultMemPool", status)?;
        let mut threshold = u64::MAX;
        // SAFETY: this attribute is a `u64`.
        let status = unsafe {
            raw::cuMemPoolSetAttribute(
                pool,
                raw::POOL_RELEASE_THRESHOLD,
                (&raw mut threshold).cast(),
            )
        };
        check("cuMemPoolSetAttribute", status)?;

        let inner = Inner {
            info,
            pool,
            context,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Its properties.
    pub fn info(&self) -> &DeviceInfo {
        &self.inner.info
    }

    /// Its free and total memory at this moment; other processes may change it at any time.
    ///
    /// # Errors
    /// [`CudaError::Driver`]; [`CudaError::Execution`] if a kernel has crashed.
    pub fn memory(&self) -> Result<MemoryInfo, CudaError> {
        self.bind()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: writes two integers, about the current context's device, which `bind` has set.
        let status = unsafe { raw::cuMemGetInfo_v2(&mut free, &mut total) };
        check("cuMemGetInfo", status)?;
        let unused = self
            .pool_bytes(raw::POOL_RESERVED_NOW)?
            .saturating_sub(self.pool_bytes(raw::POOL_USED_NOW)?);
        Ok(MemoryInfo {
            free: free.saturating_add(unused).min(total),
            total,
        })
    }

    fn pool_bytes(&self, attribute: i32) -> Result<usize, CudaError> {
        let mut bytes = 0u64;
        // SAFETY: the attributes asked for here are `u64`.
        let status = unsafe {
            raw::cuMemPoolGetAttribute(self.inner.pool, attribute, (&raw mut bytes).cast())
        };
        check("cuMemPoolGetAttribute", status)?;
        Ok(usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    /// Returns memory that no buffer uses to the system, but keeps `keep` bytes. Call it before
    /// another library needs the memory; afterwards, allocating buffers takes longer.
    ///
    /// # Errors
    /// [`CudaError::Driver`]; [`CudaError::Execution`] if a kernel has crashed.
    pub fn trim_memory(&self, keep: usize) -> Result<(), CudaError> {
        self.bind()?;
        // SAFETY: the pool is the device's own; memory in use is not touched.
        check("cuMemPoolTrimTo", unsafe {
            raw::cuMemPoolTrimTo(self.inner.pool, keep)
        })
    }

    /// Waits until everything queued on the device, by any stream, is done.
    ///
    /// # Errors
    /// [`CudaError::Execution`] if a kernel has crashed.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        self.bind()?;
        // SAFETY: waits, for the current context's work.
        check("cuCtxSynchronize", unsafe { raw::cuCtxSynchronize() })
    }

    /// Makes the device's context the current one of the calling thread. Only code that calls the
    /// driver directly needs this.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn bind(&self) -> Result<(), CudaError> {
        self.inner.context.bind()
    }

    /// Checks that `what`, an object of the device `other`, belongs to this device.
    pub(crate) fn check_same(&self, what: &'static str, other: &Device) -> Result<(), CudaError> {
        // Two `Device`s opened with one index share the primary context.
        let (device, other) = (self.info().index, other.info().index);
        if device == other {
            Ok(())
        } else {
            Err(CudaError::WrongDevice {
                what,
                device,
                other,
            })
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("info", self.info())
            .finish_non_exhaustive()
    }
}
