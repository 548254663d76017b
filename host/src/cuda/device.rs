//! GPUs: finding them, their properties, their memory.

use std::fmt;
use std::ptr;
use std::sync::Arc;

use cuda_std::Pod;
use cust::context::{Context, CurrentContext};
use cust::device::{Device as CustDevice, DeviceAttribute};

use super::driver::{DriverVersion, load_driver};
use super::error::{ComputeCapability, CudaError, check, check_cust};
use super::pinned::PinnedBuffer;
use super::raw;
use super::stream::Stream;

/// The properties of a GPU. Reading them costs microseconds and opens nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Its number, from 0.
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
    /// The most threads that one multiprocessor holds.
    pub threads_per_multiprocessor: u32,
    /// The most threads of a block.
    pub threads_per_block: u32,
    /// The largest block, in x, y and z.
    pub max_block: [u32; 3],
    /// The largest grid, in x, y and z.
    pub max_grid: [u32; 3],
    /// The most shared memory of a block, in bytes, static and dynamic together.
    pub shared_per_block: u32,
    /// Does it have stream-ordered memory pools, which [`Device::open`] needs?
    pub memory_pools: bool,
}

/// Device memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Available to new buffers: what no process has taken, and what this process's pool holds unused.
    pub free: usize,
    /// All there is.
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

    fn read(index: u32, device: CustDevice, driver: DriverVersion) -> Result<Self, CudaError> {
        use DeviceAttribute as A;
        let get = |attribute| {
            check_cust("cuDeviceGetAttribute", device.get_attribute(attribute))
                .map(i32::unsigned_abs)
        };
        let get_raw = |attribute| {
            let mut value = 0;
            // SAFETY: writes one integer; the device handle is valid for the life of the process.
            let status =
                unsafe { raw::cuDeviceGetAttribute(&mut value, attribute, device.as_raw()) };
            check("cuDeviceGetAttribute", status).map(|()| value.unsigned_abs())
        };
        Ok(Self {
            index,
            name: check_cust("cuDeviceGetName", device.name())?,
            compute_capability: ComputeCapability {
                major: get(A::ComputeCapabilityMajor)?,
                minor: get(A::ComputeCapabilityMinor)?,
            },
            driver,
            total_memory: check_cust("cuDeviceTotalMem", device.total_memory())?,
            multiprocessors: get(A::MultiprocessorCount)?,
            l2_bytes: get(A::L2CacheSize)?,
            threads_per_multiprocessor: get(A::MaxThreadsPerMultiprocessor)?,
            threads_per_block: get(A::MaxThreadsPerBlock)?,
            max_block: [
                get(A::MaxBlockDimX)?,
                get(A::MaxBlockDimY)?,
                get(A::MaxBlockDimZ)?,
            ],
            max_grid: [
                get(A::MaxGridDimX)?,
                get(A::MaxGridDimY)?,
                get(A::MaxGridDimZ)?,
            ],
            shared_per_block: get_raw(raw::ATTRIBUTE_SHARED_OPT_IN)?,
            memory_pools: get_raw(raw::ATTRIBUTE_MEMORY_POOLS)? != 0,
        })
    }
}

fn device_count() -> Result<u32, CudaError> {
    check_cust("cuDeviceGetCount", CustDevice::num_devices())
}

fn find(index: u32) -> Result<CustDevice, CudaError> {
    check_cust("cuDeviceGet", CustDevice::get_device(index))
}

/// An opened GPU. Clones share it; it closes with the last clone and the last object made from it.
///
/// It uses the device's primary context, as the CUDA runtime does, so it shares memory and streams with other CUDA
/// libraries in the process. Every method makes that context current on the calling thread first: all objects of this
/// module can be used from any thread.
#[derive(Clone)]
pub struct Device {
    inner: Arc<Inner>,
}

struct Inner {
    info: DeviceInfo,
    /// The default pool of the device, from which `cuMemAllocAsync` allocates.
    pool: cust::sys::CUmemoryPool,
    context: Context,
}

// SAFETY: the pool handle is an address that only the driver follows, and the driver's functions on pools may be
// called from any thread; the other fields are `Send` and `Sync` by themselves.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Device {
    /// How many GPUs there are; at least one.
    ///
    /// # Errors
    /// Those of [`load_driver`].
    pub fn count() -> Result<u32, CudaError> {
        load_driver()?;
        device_count()
    }

    /// Opens GPU number `index`. This takes some 200 ms the first time in a process, and over 100 ms each time after its
    /// last clone was dropped: keep one for as long as the GPU is used.
    ///
    /// Memory that buffers give back stays with the process, ready for the next ones; see [`Device::trim_memory`].
    ///
    /// # Errors
    /// Those of [`load_driver`]; [`CudaError::NoSuchDevice`]; [`CudaError::NoMemoryPools`];
    /// [`CudaError::Driver`] if the driver can't open it (in exclusive use by another process, say).
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
        let context = check_cust("cuDevicePrimaryCtxRetain", Context::new(handle))?;

        let mut pool = ptr::null_mut();
        // SAFETY: writes one handle, which lives as long as the device.
        let status = unsafe { raw::cuDeviceGetDefaultMemPool(&mut pool, handle.as_raw()) };
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

    /// Its free and total memory, now. Other processes change it at any time.
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

    /// Gives memory that no buffer uses back to the system, down to `keep` bytes. Call it before another library needs
    /// the memory; the next buffers then take longer to allocate.
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

    /// A new stream.
    ///
    /// # Errors
    /// [`CudaError::Driver`]; [`CudaError::Execution`] if a kernel has crashed.
    pub fn stream(&self) -> Result<Stream, CudaError> {
        Stream::new(self)
    }

    /// Page-locked host memory for `len` elements, all bytes 0. Costs 0.5 ms to 0.8 ms per MiB: make it once, use it
    /// often.
    ///
    /// # Errors
    /// [`CudaError::OutOfPinnedMemory`], [`CudaError::TooLarge`], [`CudaError::Driver`].
    pub fn pinned<T: Pod>(&self, len: usize) -> Result<PinnedBuffer<T>, CudaError> {
        PinnedBuffer::zeroed(self, len)
    }

    /// Waits until everything queued on the device, by any stream, is done.
    ///
    /// # Errors
    /// [`CudaError::Execution`] if a kernel has crashed.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        self.bind()?;
        check_cust("cuCtxSynchronize", CurrentContext::synchronize())
    }

    /// Makes the device's context the calling thread's current one. Only code that calls `cust` directly needs it.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn bind(&self) -> Result<(), CudaError> {
        check_cust(
            "cuCtxSetCurrent",
            CurrentContext::set_current(&self.inner.context),
        )
    }

    /// Checks that something else made from a device was made from this one.
    pub(super) fn check_same(&self, what: &'static str, other: &Device) -> Result<(), CudaError> {
        // Two openings of one device share its primary context.
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
