//! GPUs: finding them, their properties, their memory.

use std::ffi::c_char;
use std::fmt;
use std::ptr;
use std::sync::Arc;

use crate::context::{Context, device_count, find};
use crate::driver::init;
use crate::error::{CudaError, CudaResult, check};
use crate::sys::{
    self, CUdevice, CUdevice_attribute as Attribute, CUmemPool_attribute, CUmemoryPool,
};
use crate::version::{ComputeCapability, DriverVersion};

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
    /// Those of [`init`].
    pub fn all() -> CudaResult<Vec<Self>> {
        let driver = init()?;
        (0..device_count()?)
            .map(|index| Self::read(index, find(index)?, driver))
            .collect()
    }

    fn read(index: u32, device: CUdevice, driver: DriverVersion) -> CudaResult<Self> {
        let get = |attribute| {
            let mut value = 0;
            // SAFETY: writes one integer; the device handle is valid for the life of the process.
            let status = unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, device) };
            check("cuDeviceGetAttribute", status).map(|()| value.unsigned_abs())
        };
        let mut total_memory = 0;
        // SAFETY: writes one integer.
        check("cuDeviceTotalMem", unsafe {
            sys::cuDeviceTotalMem_v2(&mut total_memory, device)
        })?;
        Ok(Self {
            index,
            name: device_name(device)?,
            compute_capability: ComputeCapability {
                major: get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                minor: get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            },
            driver,
            total_memory,
            multiprocessors: get(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            l2_bytes: get(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?,
            threads_per_multiprocessor: get(
                Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
            )?,
            threads_per_block: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            max_block: [
                get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)?,
                get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)?,
                get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)?,
            ],
            max_grid: [
                get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
                get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
                get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
            ],
            shared_per_block: get(
                Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
            )?,
            memory_pools: get(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)? != 0,
        })
    }
}

fn device_name(device: CUdevice) -> CudaResult<String> {
    const LEN: usize = 256;
    let mut name = [0u8; LEN];
    // SAFETY: writes at most `LEN` bytes, which `name` has.
    let status =
        unsafe { sys::cuDeviceGetName(name.as_mut_ptr().cast::<c_char>(), LEN as i32, device) };
    check("cuDeviceGetName", status)?;
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}

/// An opened GPU. Clones share it; it closes with the last clone and the last object made from it.
///
/// [`Device::open`] uses the device's primary context, as the CUDA runtime does: memory and streams
/// can be shared with other CUDA libraries in the process. Every method makes its context current
/// on the calling thread first: all objects of this crate can be used from any thread.
#[derive(Clone)]
pub struct Device {
    inner: Arc<Inner>,
}

struct Inner {
    info: DeviceInfo,
    /// The default pool of the device, from which `cuMemAllocAsync` allocates.
    pool: CUmemoryPool,
    context: Context,
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
    /// Those of [`init`].
    pub fn count() -> CudaResult<u32> {
        device_count()
    }

    /// Opens the GPU with this index. The first time in a process this takes about 200 ms, and
    /// after the last clone was dropped it takes more than 100 ms again: keep a `Device` for as
    /// long as the GPU is used.
    ///
    /// The process keeps the memory of dropped buffers for new ones; see [`Device::trim_memory`].
    ///
    /// # Errors
    /// Those of [`Context::primary`]; [`CudaError::NoMemoryPools`].
    pub fn open(index: u32) -> CudaResult<Self> {
        // Before the context, which takes long to make.
        let info = checked_info(find(index)?)?;
        Self::with(info, &Context::primary(index)?)
    }

    /// Opens the GPU of a context, which may be one made elsewhere.
    ///
    /// # Errors
    /// [`CudaError::NoMemoryPools`]; [`CudaError::Driver`].
    pub fn in_context(context: &Context) -> CudaResult<Self> {
        context.set_current()?;
        Self::with(checked_info(context.device())?, context)
    }

    fn with(info: DeviceInfo, context: &Context) -> CudaResult<Self> {
        let mut pool = ptr::null_mut();
        // SAFETY: writes one handle, which lives as long as the device.
        let status = unsafe { sys::cuDeviceGetDefaultMemPool(&mut pool, context.device()) };
        check("cuDeviceGetDefaultMemPool", status)?;
        let mut threshold = u64::MAX;
        // SAFETY: this attribute is a `u64`.
        let status = unsafe {
            sys::cuMemPoolSetAttribute(
                pool,
                CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                (&raw mut threshold).cast(),
            )
        };
        check("cuMemPoolSetAttribute", status)?;
        Ok(Self {
            inner: Arc::new(Inner {
                info,
                pool,
                context: context.clone(),
            }),
        })
    }

    /// Its properties.
    pub fn info(&self) -> &DeviceInfo {
        &self.inner.info
    }

    /// Its context.
    pub fn context(&self) -> &Context {
        &self.inner.context
    }

    /// Its free and total memory at this moment; other processes may change it at any time.
    ///
    /// # Errors
    /// [`CudaError::Driver`]; [`CudaError::Execution`] if a kernel has crashed.
    pub fn memory(&self) -> CudaResult<MemoryInfo> {
        self.bind()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: writes two integers, about the current context's device, which `bind` has set.
        let status = unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) };
        check("cuMemGetInfo", status)?;
        let unused = self
            .pool_bytes(CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)?
            .saturating_sub(
                self.pool_bytes(CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?,
            );
        Ok(MemoryInfo {
            free: free.saturating_add(unused).min(total),
            total,
        })
    }

    fn pool_bytes(&self, attribute: CUmemPool_attribute) -> CudaResult<usize> {
        let mut bytes = 0u64;
        // SAFETY: the attributes asked for here are `u64`.
        let status = unsafe {
            sys::cuMemPoolGetAttribute(self.inner.pool, attribute, (&raw mut bytes).cast())
        };
        check("cuMemPoolGetAttribute", status)?;
        Ok(usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    /// Returns memory that no buffer uses to the system, but keeps `keep` bytes. Call it before
    /// another library needs the memory; afterwards, allocating buffers takes longer.
    ///
    /// # Errors
    /// [`CudaError::Driver`]; [`CudaError::Execution`] if a kernel has crashed.
    pub fn trim_memory(&self, keep: usize) -> CudaResult<()> {
        self.bind()?;
        // SAFETY: the pool is the device's own; memory in use is not touched.
        check("cuMemPoolTrimTo", unsafe {
            sys::cuMemPoolTrimTo(self.inner.pool, keep)
        })
    }

    /// Waits until everything queued on the device, by any stream, is done.
    ///
    /// # Errors
    /// [`CudaError::Execution`] if a kernel has crashed.
    pub fn synchronize(&self) -> CudaResult<()> {
        self.bind()?;
        // SAFETY: waits, for the current context's work.
        check("cuCtxSynchronize", unsafe { sys::cuCtxSynchronize() })
    }

    /// Makes the device's context the current one of the calling thread. Only code that calls the
    /// driver directly needs this.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn bind(&self) -> CudaResult<()> {
        self.inner.context.set_current()
    }

    /// Checks that `what`, an object of the device `other`, belongs to the same context of the same
    /// GPU.
    ///
    /// # Errors
    /// [`CudaError::WrongDevice`], [`CudaError::WrongContext`].
    pub fn check_same(&self, what: &'static str, other: &Device) -> CudaResult<()> {
        if self.context() == other.context() {
            return Ok(());
        }
        let (device, other) = (self.info().index, other.info().index);
        Err(if device == other {
            CudaError::WrongContext { what, device }
        } else {
            CudaError::WrongDevice {
                what,
                device,
                other,
            }
        })
    }
}

/// The properties of a device, if it can allocate in stream order.
fn checked_info(device: CUdevice) -> CudaResult<DeviceInfo> {
    let info = DeviceInfo::read(device.unsigned_abs(), device, init()?)?;
    if info.memory_pools {
        Ok(info)
    } else {
        Err(CudaError::NoMemoryPools { device: info.name })
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("info", self.info())
            .finish_non_exhaustive()
    }
}
