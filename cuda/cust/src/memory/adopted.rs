//! Device memory that comes from elsewhere, or goes there.

use std::ffi::c_void;

use crate::error::{CudaError, CudaResult, check};
use crate::owner::Owner;
use crate::stream::Stream;
use crate::sys::{self, CUcontext, CUdeviceptr, CUpointer_attribute as Attribute, status};

/// Device memory as other libraries know it: what [`DeviceBuffer::from_raw`] adopts and
/// [`DeviceBuffer::into_raw`] gives away.
///
/// Dropping it drops the owner, as [`Release`] says; memory without an owner is not freed.
///
/// [`DeviceBuffer::from_raw`]: super::DeviceBuffer::from_raw
/// [`DeviceBuffer::into_raw`]: super::DeviceBuffer::into_raw
#[derive(Debug)]
pub struct RawBuffer {
    /// The address of the first element; not used if there are none.
    pub address: CUdeviceptr,
    /// The number of elements.
    pub len: usize,
    /// The stream whose work the memory belongs to.
    pub stream: Stream,
    /// What happens to the memory when the buffer is dropped.
    pub release: Release,
}

impl Drop for RawBuffer {
    fn drop(&mut self) {
        if let Release::AfterWork(_) = self.release {
            self.stream.finish_to_free();
        }
    }
}

/// What happens to a buffer's memory when the buffer is dropped.
#[derive(Debug)]
pub enum Release {
    /// `cuMemFreeAsync` on the buffer's stream: the release of all memory that this crate
    /// allocates, and of memory from `cuMemAllocAsync` elsewhere.
    Free,
    /// The owner is dropped when the work queued on the buffer's stream is done. Dropping the
    /// buffer waits for that. This is right for every owner.
    AfterWork(Owner),
    /// The owner is dropped at once, while queued work may still use the memory. This is right for
    /// an owner that frees the memory in the order of the buffer's stream, as the pools of PyTorch
    /// and CuPy do if the buffer's stream is the stream that they allocated on.
    InOrder(Owner),
}

/// Checks that the driver knows the `bytes` bytes at `address` as memory of the stream's device.
pub(super) fn check_memory(stream: &Stream, address: CUdeviceptr, bytes: usize) -> CudaResult<()> {
    const DEVICE_MEMORY: u32 = 2;

    let device = stream.device();
    let index = device.info().index;
    device.bind()?;
    let Some(kind) = attribute::<u32>(Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address)? else {
        return Err(CudaError::NotDeviceMemory { address });
    };
    if kind != DEVICE_MEMORY {
        return Err(CudaError::NotDeviceMemory { address });
    }
    let other = attribute::<i32>(Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address)?;
    match other.map(i32::unsigned_abs) {
        Some(other) if other != index => {
            return Err(CudaError::WrongDevice {
                what: "the memory",
                device: index,
                other,
            });
        }
        _ => {}
    }
    // Memory of a pool belongs to the device: for it there is no context, or no answer.
    let context = attribute::<usize>(Attribute::CU_POINTER_ATTRIBUTE_CONTEXT, address);
    let context = context.ok().flatten();
    let own = (device.context().as_raw() as CUcontext).addr();
    if context.is_some_and(|context| context != 0 && context != own) {
        return Err(CudaError::WrongContext {
            what: "the memory",
            device: index,
        });
    }

    // An array may span several ranges: allocators such as PyTorch's map them side by side.
    let end = address.saturating_add(bytes as u64);
    let mut known = address;
    while known < end {
        let Some((base, size)) = range_of(known)? else {
            break;
        };
        let next = base.saturating_add(size as u64);
        if next <= known {
            break;
        }
        known = next;
    }
    if known < end {
        return Err(CudaError::OutsideAllocation {
            address,
            bytes,
            allocated: known - address,
        });
    }
    Ok(())
}

/// The start and the size in bytes of the allocation at `address`, if there is one.
fn range_of(address: CUdeviceptr) -> CudaResult<Option<(CUdeviceptr, usize)>> {
    let (mut base, mut size) = (0, 0);
    // SAFETY: writes two numbers.
    match unsafe { sys::cuMemGetAddressRange_v2(&mut base, &mut size, address) } {
        0 => return Ok(Some((base, size))),
        // Memory of another kind than `cuMemAlloc`'s, perhaps: a pool's, or mapped.
        status::NOT_FOUND | status::INVALID_VALUE | status::NOT_SUPPORTED => {}
        status => check("cuMemGetAddressRange", status)?,
    }
    let base = attribute::<u64>(Attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address)?;
    let size = attribute::<usize>(Attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE, address)?;
    Ok(base.zip(size))
}

/// An attribute of an address; `None` if the driver doesn't know the address or the attribute of
/// it.
fn attribute<T: Default>(attribute: Attribute, address: CUdeviceptr) -> CudaResult<Option<T>> {
    let mut value = T::default();
    let to: *mut c_void = (&raw mut value).cast();
    // SAFETY: the callers name the type that the attribute has.
    match unsafe { sys::cuPointerGetAttribute(to, attribute, address) } {
        status::INVALID_VALUE | status::NOT_SUPPORTED => Ok(None),
        status => check("cuPointerGetAttribute", status).map(|()| Some(value)),
    }
}
