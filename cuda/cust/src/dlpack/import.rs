//! Tensors of other libraries, used in place.

use std::fmt;
use std::ptr::NonNull;

use cuda_std::Pod;

use super::shape::{check_strides, count};
use super::{DLDataType, DLDevice, DLTensor, Element, Managed, TensorError, VERSION};
use crate::error::CudaError;
use crate::memory::{DeviceBuffer, RawBuffer, Release};
use crate::owner::Owner;
use crate::stream::Stream;

/// An imported tensor: its memory is used in place.
pub struct Imported<T: Pod> {
    buffer: DeviceBuffer<T>,
    shape: Vec<usize>,
    is_read_only: bool,
}

impl<T: Pod> Imported<T> {
    /// The elements, in C's order.
    pub fn buffer(&self) -> &DeviceBuffer<T> {
        &self.buffer
    }

    /// The extent of each dimension.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Whether the producer forbids writing.
    pub fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// The elements, for writing too.
    ///
    /// # Errors
    /// [`TensorError::ReadOnly`] if the producer forbids it.
    pub fn into_buffer(self) -> Result<DeviceBuffer<T>, TensorError> {
        if self.is_read_only {
            return Err(TensorError::ReadOnly);
        }
        Ok(self.buffer)
    }
}

impl<T: Pod> fmt::Debug for Imported<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Imported({:?}, shape {:?})", self.buffer, self.shape)
    }
}

/// Takes an array from another library, for use on `stream`. Arrays of booleans are taken as `u8`
/// too, with 0 and 1.
///
/// The result deletes the tensor when it is dropped. On an error the tensor is as it was, and still
/// the caller's.
///
/// # Errors
/// [`TensorError`]; [`TensorError::Cuda`] with the errors of [`DeviceBuffer::from_raw`].
///
/// # Safety
/// `tensor` is a tensor as the format describes it, which no one else uses or deletes. The memory's
/// producer has made `stream` wait for its work, and no one writes the memory except in that
/// stream's order.
pub unsafe fn import<T: Element, M: Managed + 'static>(
    tensor: NonNull<M>,
    stream: &Stream,
) -> Result<Imported<T>, TensorError> {
    /// Deletes the tensor when it is dropped.
    struct Deleted<M: Managed>(NonNull<M>);

    impl<M: Managed> Drop for Deleted<M> {
        fn drop(&mut self) {
            // SAFETY: the caller of `import` gave the tensor away.
            unsafe { M::delete(self.0) };
        }
    }

    // SAFETY: the format allows deleters to be called on any thread.
    unsafe impl<M: Managed> Send for Deleted<M> {}

    // SAFETY: the caller's promise. The versions are at the same place in all versions.
    let managed = unsafe { tensor.as_ref() };
    if let Some(version) = managed.version()
        && version.major != VERSION.major
    {
        return Err(TensorError::Version(version));
    }
    // SAFETY: the caller's promise.
    let (address, shape) = unsafe { check_tensor::<T>(managed.tensor(), stream) }?;
    let is_read_only = managed.is_read_only();
    let len = shape.iter().product();
    // Before there is an owner, which an error would drop.
    DeviceBuffer::<T>::check_raw(address, len, stream)?;
    let raw = RawBuffer {
        address,
        len,
        stream: stream.clone(),
        release: Release::AfterWork(Owner::new(Deleted(tensor))),
    };
    // SAFETY: the caller's promise; the owner keeps the memory.
    let buffer = unsafe { DeviceBuffer::from_checked(raw) };
    Ok(Imported {
        buffer,
        shape,
        is_read_only,
    })
}

/// The address of the first element, and the shape, of a contiguous array of `T` on the stream's
/// device.
///
/// # Safety
/// The tensor's shape and strides have `ndim` numbers.
unsafe fn check_tensor<T: Element>(
    tensor: &DLTensor,
    stream: &Stream,
) -> Result<(u64, Vec<usize>), TensorError> {
    let DLDevice {
        device_type,
        device_id,
    } = tensor.device;
    if device_type != DLDevice::CUDA {
        return Err(TensorError::Device { device_type });
    }
    let device = stream.device().info().index;
    if device_id != device.cast_signed() {
        return Err(TensorError::Cuda(CudaError::WrongDevice {
            what: "the tensor",
            device,
            other: device_id.unsigned_abs(),
        }));
    }
    let is_mask = T::DTYPE == u8::DTYPE && tensor.dtype == DLDataType::BOOLEAN;
    if tensor.dtype != T::DTYPE && !is_mask {
        return Err(TensorError::Type {
            has: tensor.dtype.to_string(),
            needs: std::any::type_name::<T>(),
        });
    }
    let numbers = |from: *const i64| match usize::try_from(tensor.ndim) {
        Ok(n) if n > 0 && !from.is_null() => {
            // SAFETY: the caller's promise.
            unsafe { std::slice::from_raw_parts(from, n) }.to_vec()
        }
        _ => Vec::new(),
    };
    let shape = numbers(tensor.shape);
    if shape.len() as i32 != tensor.ndim || count(&shape).is_none() {
        return Err(TensorError::Shape { shape, len: 0 });
    }
    if !tensor.strides.is_null() {
        check_strides(&shape, &numbers(tensor.strides), 1)?;
    }
    let address = (tensor.data.addr() as u64).checked_add(tensor.byte_offset);
    let address = address.ok_or(CudaError::NotDeviceMemory { address: u64::MAX })?;
    // `count` has seen that all extents are numbers of elements.
    Ok((address, shape.into_iter().map(|n| n as usize).collect()))
}
