//! What the rest of the crate needs from the machine: one module per machine, with the same functions.

#[cfg(not(target_arch = "nvptx64"))]
mod host;
#[cfg(target_arch = "nvptx64")]
mod nvptx;

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) use host::*;
#[cfg(target_arch = "nvptx64")]
pub(crate) use nvptx::*;

/// How a thread touches memory: what the host's backend needs to know to find conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// A plain load.
    Load,
    /// A load of memory that nothing writes while the kernel runs.
    ReadOnlyLoad,
    /// A plain store.
    Store,
    /// An atomic or volatile access, which may meet others of its kind.
    Atomic,
}

/// `N` elements with the alignment of an 8-byte vector access.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Vector8<T, const N: usize>([T; N]);

/// `N` elements with the alignment of a 16-byte vector access.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Vector16<T, const N: usize>([T; N]);

/// Reads a vector, in one instruction on the device.
///
/// # Safety
///
/// `at` is valid for reads and aligned to the vector's size.
#[inline(always)]
pub(crate) unsafe fn load_vector<T: crate::Pod, const N: usize>(at: *const [T; N]) -> [T; N] {
    // SAFETY: the caller's promise; the wrappers add alignment alone.
    unsafe {
        if const { crate::view::vector_bytes::<T, N>() == 16 } {
            at.cast::<Vector16<T, N>>().read().0
        } else {
            at.cast::<Vector8<T, N>>().read().0
        }
    }
}

/// Writes a vector, in one instruction on the device.
///
/// # Safety
///
/// `at` is valid for writes and aligned to the vector's size.
#[inline(always)]
pub(crate) unsafe fn store_vector<T: crate::Pod, const N: usize>(at: *mut [T; N], value: [T; N]) {
    // SAFETY: the caller's promise; the wrappers add alignment alone.
    unsafe {
        if const { crate::view::vector_bytes::<T, N>() == 16 } {
            at.cast::<Vector16<T, N>>().write(Vector16(value));
        } else {
            at.cast::<Vector8<T, N>>().write(Vector8(value));
        }
    }
}
