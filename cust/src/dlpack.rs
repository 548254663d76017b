//! Device memory to and from other libraries by DLPack, as NumPy, PyTorch, CuPy and JAX speak it.
//!
//! The structs are those of `dlpack.h`, versions 0.8 ([`DLManagedTensor`]) and 1.x
//! ([`DLManagedTensorVersioned`]). A Python extension puts the pointer of [`export`] into a capsule
//! named `dltensor_versioned` (or that of [`export_unversioned`] into one named `dltensor`), and
//! gives the pointer of another library's capsule to [`import`].
//!
//! # Order of work
//! Both sides agree on a stream, as Python's `__dlpack__(stream=…)` does. [`export`] takes the
//! consumer's stream and makes it wait for the buffer's; [`import`] takes the stream on which the
//! memory is used from then on, and the producer has made that stream wait. Neither waits on the
//! host.
//!
//! # Lifetime
//! An exported buffer is freed when the consumer calls the tensor's deleter: in the order of the
//! buffer's stream, after the work that is then queued on the consumer's stream. An imported tensor
//! is deleted when its buffer is dropped, once the work queued on the buffer's stream is done.
//!
//! The format: *DLPack: open in memory tensor structure*, DMLC, 2017–2025,
//! <https://dmlc.github.io/dlpack/latest/>.

use std::ffi::c_void;
use std::fmt;
use std::ptr::{self, NonNull};

use cuda_std::Pod;

use crate::error::CudaError;
use crate::memory::{DeviceBuffer, RawBuffer, Release};
use crate::owner::Owner;
use crate::stream::Stream;

/// The version of the format that [`export`] writes. Another major version has other structs.
pub const VERSION: DLPackVersion = DLPackVersion { major: 1, minor: 0 };

/// A version of the format.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLPackVersion {
    /// Changes with the layout of the structs.
    pub major: u32,
    /// Changes with additions.
    pub minor: u32,
}

/// Where a tensor's memory is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDevice {
    /// [`CUDA`](Self::CUDA), or another number of `DLDeviceType`.
    pub device_type: i32,
    /// The device's index.
    pub device_id: i32,
}

impl DLDevice {
    /// `kDLCUDA`.
    pub const CUDA: i32 = 2;
}

/// The type of a tensor's elements.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDataType {
    /// 0 signed, 1 unsigned, 2 float, 6 boolean, or another number of `DLDataTypeCode`.
    pub code: u8,
    /// Bits per lane.
    pub bits: u8,
    /// 1 unless the elements are vectors.
    pub lanes: u16,
}

impl DLDataType {
    const BOOLEAN: Self = Self {
        code: 6,
        bits: 8,
        lanes: 1,
    };
}

/// An array: `DLTensor`.
#[repr(C)]
#[derive(Debug)]
pub struct DLTensor {
    /// The memory's address.
    pub data: *mut c_void,
    /// Where the memory is.
    pub device: DLDevice,
    /// The number of dimensions.
    pub ndim: i32,
    /// The elements' type.
    pub dtype: DLDataType,
    /// The extent of each dimension.
    pub shape: *mut i64,
    /// The step of each dimension in elements; null if the array is contiguous, in C's order.
    pub strides: *mut i64,
    /// The first element's distance from `data`, in bytes.
    pub byte_offset: u64,
}

/// A tensor with its manager, before version 1.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensor {
    /// The array.
    pub dl_tensor: DLTensor,
    /// The producer's own.
    pub manager_ctx: *mut c_void,
    /// Frees the array, this struct included.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// A tensor with its manager, from version 1 on.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensorVersioned {
    /// The version of the format.
    pub version: DLPackVersion,
    /// The producer's own.
    pub manager_ctx: *mut c_void,
    /// Frees the array, this struct included.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    /// [`READ_ONLY`] and others.
    pub flags: u64,
    /// The array.
    pub dl_tensor: DLTensor,
}

/// The flag of an array that the consumer must not write.
pub const READ_ONLY: u64 = 1;

/// A type of elements that other libraries know.
///
/// # Safety
/// [`DTYPE`](Self::DTYPE) and [`TYPESTR`](Self::TYPESTR) describe the type.
pub unsafe trait Element: Pod {
    /// The type for DLPack.
    const DTYPE: DLDataType;
    /// The type for `__cuda_array_interface__`, as NumPy's `array.dtype.str` has it.
    const TYPESTR: &'static str;
}

macro_rules! elements {
    ($($t:ty: $code:literal, $typestr:literal;)*) => {$(
        // SAFETY: code, size and byte order are those of the type.
        unsafe impl Element for $t {
            const DTYPE: DLDataType = DLDataType {
                code: $code,
                bits: size_of::<$t>() as u8 * 8,
                lanes: 1,
            };
            const TYPESTR: &'static str = $typestr;
        }
    )*};
}
// CUDA's machines are little-endian.
elements! {
    i8: 0, "|i1"; i16: 0, "<i2"; i32: 0, "<i4"; i64: 0, "<i8";
    u8: 1, "|u1"; u16: 1, "<u2"; u32: 1, "<u4"; u64: 1, "<u8";
    f32: 2, "<f4"; f64: 2, "<f8";
}

/// Why a tensor can't be imported, or a buffer not be exported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorError {
    /// A version of the format whose structs are not known here.
    #[error("the tensor is of DLPack {}.{}, and this library reads version 1", .0.major, .0.minor)]
    Version(DLPackVersion),
    /// Memory that is not on an NVIDIA GPU.
    #[error(
        "the tensor's device is of type {device_type}, and this library needs one of type 2, an \
         NVIDIA GPU: move the tensor there first"
    )]
    Device {
        /// The number in `DLDeviceType`.
        device_type: i32,
    },
    /// Elements of another type.
    #[error("the tensor's elements are {has}, and {needs} is needed: convert the tensor first")]
    Type {
        /// The tensor's type.
        has: String,
        /// The type asked for.
        needs: &'static str,
    },
    /// Elements that do not follow each other in C's order.
    #[error(
        "the tensor of shape {shape:?} has strides {strides:?}, and only contiguous ones in C's \
         order can be used in place: make it contiguous first"
    )]
    Strides {
        /// Extents.
        shape: Vec<i64>,
        /// Steps, in elements for DLPack and in bytes for `__cuda_array_interface__`.
        strides: Vec<i64>,
    },
    /// A shape that is no shape, or not that of the elements.
    #[error("a tensor of shape {shape:?} does not have {len} elements")]
    Shape {
        /// Extents.
        shape: Vec<i64>,
        /// The number of elements; 0 if the shape is impossible by itself.
        len: usize,
    },
    /// A tensor that its producer does not allow to be written.
    #[error("the tensor is read-only: copy it first")]
    ReadOnly,
    /// The memory or its stream is not what the tensor says.
    #[error(transparent)]
    Cuda(#[from] CudaError),
}

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

/// The two structs of managed tensors.
///
/// This trait is for the functions of this module.
pub trait Managed: Sized {
    #[doc(hidden)]
    fn tensor(&self) -> &DLTensor;
    /// The version; `None` for the struct without one.
    #[doc(hidden)]
    fn version(&self) -> Option<DLPackVersion>;
    #[doc(hidden)]
    fn is_read_only(&self) -> bool;
    /// Calls the deleter.
    ///
    /// # Safety
    /// `this` is alive, and not used again.
    #[doc(hidden)]
    unsafe fn delete(this: NonNull<Self>);
}

impl Managed for DLManagedTensor {
    fn tensor(&self) -> &DLTensor {
        &self.dl_tensor
    }

    fn version(&self) -> Option<DLPackVersion> {
        None
    }

    fn is_read_only(&self) -> bool {
        false
    }

    unsafe fn delete(this: NonNull<Self>) {
        // SAFETY: the caller's promise.
        unsafe {
            if let Some(deleter) = this.as_ref().deleter {
                deleter(this.as_ptr());
            }
        }
    }
}

impl Managed for DLManagedTensorVersioned {
    fn tensor(&self) -> &DLTensor {
        &self.dl_tensor
    }

    fn version(&self) -> Option<DLPackVersion> {
        Some(self.version)
    }

    fn is_read_only(&self) -> bool {
        self.flags & READ_ONLY != 0
    }

    unsafe fn delete(this: NonNull<Self>) {
        // SAFETY: the caller's promise.
        unsafe {
            if let Some(deleter) = this.as_ref().deleter {
                deleter(this.as_ptr());
            }
        }
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
    let (dl_tensor, shape, strides) = describe(&buffer, shape, consumer)?;
    let tensor = DLManagedTensorVersioned {
        version: VERSION,
        manager_ctx: ptr::null_mut(),
        deleter: Some(delete_versioned::<T>),
        flags: 0,
        dl_tensor,
    };
    let manager = leak(tensor, shape, strides, buffer, consumer);
    // SAFETY: `leak` gave up the manager, which lives until the deleter frees it; the pointers
    // below are to heap memory that does not move with it.
    unsafe {
        let tensor = &raw mut (*manager).tensor;
        (*tensor).manager_ctx = manager.cast();
        (*tensor).dl_tensor.shape = (*manager).shape.as_mut_ptr();
        (*tensor).dl_tensor.strides = (*manager).strides.as_mut_ptr();
        Ok(Exported(NonNull::new_unchecked(tensor)))
    }
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
    let (dl_tensor, shape, strides) = describe(&buffer, shape, consumer)?;
    let tensor = DLManagedTensor {
        dl_tensor,
        manager_ctx: ptr::null_mut(),
        deleter: Some(delete_unversioned::<T>),
    };
    let manager = leak(tensor, shape, strides, buffer, consumer);
    // SAFETY: as in `export`.
    unsafe {
        let tensor = &raw mut (*manager).tensor;
        (*tensor).manager_ctx = manager.cast();
        (*tensor).dl_tensor.shape = (*manager).shape.as_mut_ptr();
        (*tensor).dl_tensor.strides = (*manager).strides.as_mut_ptr();
        Ok(Exported(NonNull::new_unchecked(tensor)))
    }
}

/// The tensor of a buffer, still without the addresses of its shape and strides, and these.
fn describe<T: Element>(
    buffer: &DeviceBuffer<T>,
    shape: &[usize],
    consumer: Option<&Stream>,
) -> Result<(DLTensor, Vec<i64>, Vec<i64>), TensorError> {
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
    Ok((tensor, shape, strides))
}

fn leak<M, T: Pod>(
    tensor: M,
    shape: Vec<i64>,
    strides: Vec<i64>,
    buffer: DeviceBuffer<T>,
    consumer: Option<&Stream>,
) -> *mut Manager<M, T> {
    Box::into_raw(Box::new(Manager {
        tensor,
        shape,
        strides,
        buffer,
        consumer: consumer.cloned(),
    }))
}

/// `shape` in the format's integers, if it has `len` elements.
pub(crate) fn signed_shape(shape: &[usize], len: usize) -> Result<Vec<i64>, TensorError> {
    let signed: Vec<i64> = shape.iter().map(|&n| n as i64).collect();
    if count(&signed) == Some(len) {
        Ok(signed)
    } else {
        Err(TensorError::Shape { shape: signed, len })
    }
}

/// The number of elements of a shape; `None` if it has too many, or a negative extent.
pub(crate) fn count(shape: &[i64]) -> Option<usize> {
    let extents = shape.iter().map(|&n| usize::try_from(n).ok());
    // A later zero must not hide a negative extent, nor an earlier one an overflow.
    let extents: Vec<usize> = extents.collect::<Option<_>>()?;
    if extents.contains(&0) {
        return Some(0);
    }
    extents
        .iter()
        .try_fold(1usize, |count, &n| count.checked_mul(n))
}

/// The steps of a contiguous array in C's order, whose elements are `step` apart.
pub(crate) fn contiguous(shape: &[i64], step: i64) -> Vec<i64> {
    let mut strides = vec![step; shape.len()];
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i].saturating_mul(shape[i].max(1));
    }
    strides
}

/// Checks that elements `step` apart, with these steps of the dimensions, follow each other. The
/// steps of dimensions with one element don't matter.
pub(crate) fn check_strides(shape: &[i64], strides: &[i64], step: i64) -> Result<(), TensorError> {
    let expected = contiguous(shape, step);
    let is_contiguous = shape.contains(&0)
        || shape.len() == strides.len()
            && (0..shape.len()).all(|i| shape[i] == 1 || strides[i] == expected[i]);
    if is_contiguous {
        return Ok(());
    }
    Err(TensorError::Strides {
        shape: shape.to_vec(),
        strides: strides.to_vec(),
    })
}

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
    let raw = |owner| RawBuffer {
        address,
        len,
        stream: stream.clone(),
        release: Release::AfterWork(owner),
    };
    // First without the owner, which an error must not drop.
    // SAFETY: only checked, while the caller keeps the tensor.
    unsafe { DeviceBuffer::<T>::from_raw(raw(Owner::none())) }?.into_raw();
    // SAFETY: the caller's promise; the owner keeps the memory.
    let buffer = unsafe { DeviceBuffer::from_raw(raw(Owner::new(Deleted(tensor)))) }?;
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

impl fmt::Display for DLDataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.code {
            0 => "int",
            1 => "uint",
            2 => "float",
            4 => "bfloat",
            5 => "complex",
            6 => "bool",
            _ => "opaque",
        };
        write!(f, "{kind}{}", self.bits)?;
        if self.lanes == 1 {
            Ok(())
        } else {
            write!(f, "x{}", self.lanes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Offsets that `dlpack.h` 1.0 has on 64-bit machines.
    #[test]
    fn the_structs_have_the_headers_layout() {
        use std::mem::offset_of;

        assert_eq!(size_of::<DLTensor>(), 48);
        assert_eq!(offset_of!(DLTensor, ndim), 16);
        assert_eq!(offset_of!(DLTensor, dtype), 20);
        assert_eq!(offset_of!(DLTensor, byte_offset), 40);
        assert_eq!(size_of::<DLManagedTensor>(), 64);
        assert_eq!(offset_of!(DLManagedTensor, deleter), 56);
        assert_eq!(size_of::<DLManagedTensorVersioned>(), 80);
        assert_eq!(offset_of!(DLManagedTensorVersioned, flags), 24);
        assert_eq!(offset_of!(DLManagedTensorVersioned, dl_tensor), 32);
    }

    #[test]
    fn shapes_and_strides() {
        assert_eq!(count(&[]), Some(1));
        assert_eq!(count(&[3, 0, -1]), None);
        assert_eq!(count(&[i64::MAX, i64::MAX]), None);
        assert_eq!(count(&[i64::MAX, i64::MAX, 0]), Some(0));
        assert_eq!(contiguous(&[2, 3, 4], 1), [12, 4, 1]);
        assert_eq!(contiguous(&[2, 3], 4), [12, 4]);
        assert!(check_strides(&[2, 3], &[3, 1], 1).is_ok());
        assert!(check_strides(&[2, 3], &[4, 1], 1).is_err());
        assert!(check_strides(&[2, 3], &[1, 2], 1).is_err());
        assert!(check_strides(&[2, 3], &[3], 1).is_err());
        assert!(check_strides(&[1, 3], &[99, 1], 1).is_ok());
        assert!(check_strides(&[5, 0], &[7, 7], 1).is_ok());
    }
}
