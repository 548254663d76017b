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

mod export;
mod import;
mod shape;

use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;

use cuda_std::Pod;

use crate::error::CudaError;

pub use export::{Exported, export, export_unversioned};
pub use import::{Imported, import};
pub(crate) use shape::{check_strides, count, signed_shape};

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
    /// Sets what points into the manager.
    #[doc(hidden)]
    fn complete(&mut self, manager: *mut c_void, shape: *mut i64, strides: *mut i64);
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

    fn complete(&mut self, manager: *mut c_void, shape: *mut i64, strides: *mut i64) {
        self.manager_ctx = manager;
        self.dl_tensor.shape = shape;
        self.dl_tensor.strides = strides;
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

    fn complete(&mut self, manager: *mut c_void, shape: *mut i64, strides: *mut i64) {
        self.manager_ctx = manager;
        self.dl_tensor.shape = shape;
        self.dl_tensor.strides = strides;
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
}
