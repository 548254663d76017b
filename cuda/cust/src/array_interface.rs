//! Device memory to and from Python by `__cuda_array_interface__`, version 3, as CuPy, Numba and
//! PyTorch speak it.
//!
//! [`CudaArray`] has what the dictionary holds; a Python extension copies it there, or fills it in
//! from there. The protocol: Numba's documentation, *CUDA Array Interface (Version 3)*, Anaconda,
//! 2012–2025, <https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html>.

use crate::dlpack::{Element, TensorError, check_strides, count, signed_shape};
use crate::memory::{DeviceBuffer, RawBuffer, Release};
use crate::owner::Owner;
use crate::stream::Stream;

/// The entries of `__cuda_array_interface__`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaArray {
    /// `data[0]`: the address of the first element; 0 if there are none.
    pub address: u64,
    /// `data[1]`: whether the array must not be written.
    pub read_only: bool,
    /// `shape`.
    pub shape: Vec<usize>,
    /// `typestr`: byte order, kind and size in bytes, such as `<u4`.
    pub typestr: String,
    /// `strides`: the step of each dimension in bytes; `None` if the array is contiguous, in C's
    /// order.
    pub strides: Option<Vec<i64>>,
    /// `stream`: the stream whose work must be done before the array is used: 1 is the legacy
    /// default stream, 2 the thread's, any other number the driver's handle. `None` if there is
    /// nothing to wait for.
    pub stream: Option<usize>,
}

impl CudaArray {
    /// Describes a buffer as an array of the given shape in C's order. The consumer makes its
    /// stream wait for the buffer's, or works on that; the buffer's owner keeps the buffer until
    /// the consumer is done with it.
    ///
    /// # Errors
    /// [`TensorError::Shape`] if the shape has another number of elements.
    pub fn of<T: Element>(buffer: &DeviceBuffer<T>, shape: &[usize]) -> Result<Self, TensorError> {
        signed_shape(shape, buffer.len())?;
        Ok(Self {
            address: buffer.as_ptr().addr() as u64,
            read_only: false,
            shape: shape.to_vec(),
            typestr: T::TYPESTR.to_owned(),
            strides: None,
            stream: Some(match buffer.stream().as_raw().addr() {
                // The protocol does not allow the driver's other name of the legacy stream.
                0 => Stream::LEGACY.addr(),
                stream => stream,
            }),
        })
    }

    /// Takes the array for use on `stream`, which waits for the array's stream. Arrays of booleans
    /// (`|b1`) are taken as `u8` too. `owner` keeps the Python object, and is dropped with the
    /// buffer, once the work queued on `stream` is done.
    ///
    /// # Errors
    /// [`TensorError`]; [`TensorError::Cuda`] with the errors of [`DeviceBuffer::from_raw`] and
    /// [`Stream::from_raw`].
    ///
    /// # Safety
    /// The entries are those of an array that stays alive as long as `owner` is kept. No one writes
    /// it meanwhile except in the order of `stream`.
    pub unsafe fn import<T: Element>(
        &self,
        stream: &Stream,
        owner: Owner,
    ) -> Result<DeviceBuffer<T>, TensorError> {
        if self.read_only {
            return Err(TensorError::ReadOnly);
        }
        let is_mask = T::TYPESTR == u8::TYPESTR && self.typestr == "|b1";
        if self.typestr != T::TYPESTR && !is_mask {
            return Err(TensorError::Type {
                has: self.typestr.clone(),
                needs: std::any::type_name::<T>(),
            });
        }
        let shape: Vec<i64> = self.shape.iter().map(|&n| n as i64).collect();
        let Some(len) = count(&shape) else {
            return Err(TensorError::Shape { shape, len: 0 });
        };
        if let Some(strides) = &self.strides {
            check_strides(&shape, strides, size_of::<T>() as i64)?;
        }
        if let Some(handle) = self.stream {
            let handle = std::ptr::without_provenance_mut(handle);
            // SAFETY: the caller vouches for the entries; the stream is used here only.
            let producer = unsafe { Stream::from_raw(stream.device(), handle, Owner::none()) }?;
            stream.wait_for(&producer)?;
        }
        // SAFETY: the caller's promise.
        Ok(unsafe {
            DeviceBuffer::from_raw(RawBuffer {
                address: self.address,
                len,
                stream: stream.clone(),
                release: Release::AfterWork(owner),
            })
        }?)
    }
}
