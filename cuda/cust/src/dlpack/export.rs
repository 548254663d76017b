//! Buffers given away as tensors.

use std::ptr::{self, NonNull};

use cuda_std::Pod;

use super::shape::{contiguous, signed_shape};
use super::{
    DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLTensor, Element, Managed, TensorError,
    VERSION,
};
use crate::memory::DeviceBuffer;
use crate::stream::Stream;

/// An exported tensor, until someone takes it: [`into_raw`](Self::into_raw) gives it to the
/// consumer, and dropping it deletes it.
#[derive(Debug)]
pub struct Exported<M: Managed>(NonNull<M>);

// SAFETY: it owns what its pointer leads to: a buffer, two streams and numbers, which are `Send`.
unsafe impl<M: Managed> Send for Exported<M> {}

impl<M: Managed> Exported<M> {
    /// The tensor.
    pub fn tensor(&self) -> &DLTensor {
        // SAFETY: alive until this is dropped.
        unsafe { self.0.as_ref() }.tensor()
    }

    /// The pointer for the consumer, who calls its deleter once.
    pub fn into_raw(self) -> NonNull<M> {
        let pointer = self.0;
        std::mem::forget(self);
        pointer
    }
}

impl<M: Managed> Drop for Exported<M> {
    fn drop(&mut self) {
        // SAFETY: no one else has the tensor.
        unsafe { M::delete(self.0) };
    }
}

/// What an exported tensor needs until it is deleted. It is the tensor's `manager_ctx`.
struct Manager<M, T: Pod> {
    tensor: M,
    shape: Vec<i64>,
    strides: Vec<i64>,
    buffer: DeviceBuffer<T>,
    consumer: Option<Stream>,
}

impl<M, T: Pod> Drop for Manager<M, T> {
    fn drop(&mut self) {
        if let Some(consumer) = &self.consumer {
            // If neither the stream nor the host can wait, the device does no more work.
            let _ = self.buffer.stream().must_wait_for(consumer);
        }
    }
}

unsafe extern "C" fn delete_versioned<T: Pod>(tensor: *mut DLManagedTensorVersioned) {
    // SAFETY: `export` made the tensor as a part of this manager, and deleters are called once.
    drop(unsafe {
        Box::from_raw(
            (*tensor)
                .manager_ctx
                .cast::<Manager<DLManagedTensorVersioned, T>>(),
        )
    });
}

unsafe extern "C" fn delete_unversioned<T: Pod>(tensor: *mut DLManagedTensor) {
    // SAFETY: `export_unversioned` made the tensor as a part of this manager, and deleters are
    // called once.
    drop(unsafe { Box::from_raw((*tensor).manager_ctx.cast::<Manager<DLManagedTensor, T>>()) });
}

/// Gives a buffer to another library, as an array of the given shape in C's order.
///
/// `consumer` is the stream that the consumer uses the memory on: it waits for the work queued on
/// the buffer's stream so far, and when the tensor is deleted, the memory is freed after its work.
/// With `None`, the consumer uses the buffer's stream, or waits by itself.
///
/// # Errors
/// [`TensorError::Shape`] if the shape has another number of elements; [`TensorError::Cuda`] if the
/// wait can't be queued.
pub fn export<T: Element>(
    buffer: DeviceBuffer<T>,
    shape: &[usize],
    consumer: Option<&Stream>,
) -> Result<Exported<DLManagedTensorVersioned>, TensorError> {
    let description = describe(&buffer, shape, consumer)?;
    Ok(manage(buffer, description, consumer, |dl_tensor| {
        DLManagedTensorVersioned {
            version: VERSION,
            manager_ctx: ptr::null_mut(),
            deleter: Some(delete_versioned::<T>),
            flags: 0,
            dl_tensor,
        }
    }))
}

/// As [`export`], for consumers that don't know version 1 of the format.
///
/// # Errors
/// Those of [`export`].
pub fn export_unversioned<T: Element>(
    buffer: DeviceBuffer<T>,
    shape: &[usize],
    consumer: Option<&Stream>,
) -> Result<Exported<DLManagedTensor>, TensorError> {
    let description = describe(&buffer, shape, consumer)?;
    Ok(manage(buffer, description, consumer, |dl_tensor| {
        DLManagedTensor {
            dl_tensor,
            manager_ctx: ptr::null_mut(),
            deleter: Some(delete_unversioned::<T>),
        }
    }))
}

/// A tensor without its manager and the addresses of its shape and strides, and these.
struct Description {
    tensor: DLTensor,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

fn describe<T: Element>(
    buffer: &DeviceBuffer<T>,
    shape: &[usize],
    consumer: Option<&Stream>,
) -> Result<Description, TensorError> {
    let shape = signed_shape(shape, buffer.len())?;
    if let Some(consumer) = consumer {
        consumer.wait_for(buffer.stream())?;
    }
    let strides = contiguous(&shape, 1);
    let tensor = DLTensor {
        data: buffer.as_ptr().cast_mut().cast(),
        device: DLDevice {
            device_type: DLDevice::CUDA,
            device_id: buffer.stream().device().info().index.cast_signed(),
        },
        ndim: shape.len() as i32,
        dtype: T::DTYPE,
        shape: ptr::null_mut(),
        strides: ptr::null_mut(),
        byte_offset: 0,
    };
    Ok(Description {
        tensor,
        shape,
        strides,
    })
}

/// Makes the managed tensor, which keeps the buffer until its deleter is called.
fn manage<M: Managed, T: Pod>(
    buffer: DeviceBuffer<T>,
    description: Description,
    consumer: Option<&Stream>,
    make: impl FnOnce(DLTensor) -> M,
) -> Exported<M> {
    let manager = Box::leak(Box::new(Manager {
        tensor: make(description.tensor),
        shape: description.shape,
        strides: description.strides,
        buffer,
        consumer: consumer.cloned(),
    }));
    // The vectors' elements stay where they are.
    let (shape, strides) = (manager.shape.as_mut_ptr(), manager.strides.as_mut_ptr());
    let address: *mut Manager<M, T> = manager;
    // SAFETY: the manager lives until the deleter is called, and only this function has its
    // address.
    let tensor = unsafe { &raw mut (*address).tensor };
    // SAFETY: as above.
    unsafe { &mut *tensor }.complete(address.cast(), shape, strides);
    // SAFETY: the address of a box.
    Exported(unsafe { NonNull::new_unchecked(tensor) })
}
