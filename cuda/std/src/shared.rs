//! Memory that the threads of a block share.
//!
//! [`shared_array!`](crate::shared_array) declares an array whose size is known at compile time;
//! [`dynamic_shared_mem`] is the memory whose size is given at the launch. Both are uninitialised
//! when a block starts.

use crate::atomic::{Atomic, Scope};
use crate::view::Index;
use crate::{Pod, backend};

/// Range of `T` in the block's shared memory. Its methods are those of [`ViewMut`](crate::ViewMut).
#[derive(Debug)]
pub struct SharedView<T> {
    ptr: *mut T,
    len: usize,
}

impl<T> Clone for SharedView<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for SharedView<T> {}

impl<T: Pod> SharedView<T> {
    /// The view of the `len` elements from `ptr` on.
    ///
    /// # Safety
    ///
    /// `ptr` is aligned and the `len` elements from it on lie in the block's shared memory.
    #[must_use]
    #[inline(always)]
    pub const unsafe fn from_raw_parts(ptr: *mut T, len: usize) -> Self {
        Self { ptr, len }
    }

    crate::view::reading_methods!();
    crate::view::writing_methods!();
}

/// An array in the block's shared memory: `let tile = shared_array![u32; 1024];` gives a
/// [`SharedView<u32>`](crate::SharedView) of 1024 elements, aligned to 16 bytes.
///
/// Each `shared_array!` in the source is one array per block, however often it is executed. The
/// element type and the length are constants that don't depend on generic parameters.
#[macro_export]
macro_rules! shared_array {
    ($t:ty; $n:expr) => {
        $crate::__shared_array!($t; $n)
    };
}

#[cfg(target_arch = "nvptx64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __shared_array {
    ($t:ty; $n:expr) => {{
        // The builder moves statics of this section into the shared address space.
        #[unsafe(link_section = ".shared")]
        static mut SHARED: $crate::shared::Storage<$t, { $n }> = $crate::shared::Storage::UNINIT;
        const fn plain<T: $crate::Pod>() {}
        const { plain::<$t>() };
        // SAFETY: the static has `n` elements and lies in shared memory; it is only reached through
        // views.
        unsafe { $crate::SharedView::<$t>::from_raw_parts((&raw mut SHARED).cast::<$t>(), $n) }
    }};
}

#[cfg(not(target_arch = "nvptx64"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __shared_array {
    ($t:ty; $n:expr) => {{
        // The address of this static identifies the array. Each block has its own memory for it.
        static SITE: $crate::shared::Site = $crate::shared::Site::new();
        $crate::shared::static_shared_mem::<$t>(&SITE, $n)
    }};
}

/// Storage of a static shared array.
#[doc(hidden)]
#[repr(C, align(16))]
#[derive(Debug)]
pub struct Storage<T, const N: usize>(core::mem::MaybeUninit<[T; N]>);

impl<T, const N: usize> Storage<T, N> {
    /// Shared memory can't be initialised.
    pub const UNINIT: Self = Self(core::mem::MaybeUninit::uninit());
}

/// A place in the source that declares a shared array (host only).
#[doc(hidden)]
#[derive(Debug)]
pub struct Site {
    /// One byte, never written, so that each place has its own address.
    _byte: core::sync::atomic::AtomicU8,
}

impl Site {
    /// A new place.
    #[must_use]
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self {
            _byte: core::sync::atomic::AtomicU8::new(0),
        }
    }
}

/// The running block's memory for the array declared at `site` (host only).
#[cfg(not(target_arch = "nvptx64"))]
#[doc(hidden)]
#[must_use]
#[track_caller]
pub fn static_shared_mem<T: Pod>(site: &'static Site, len: usize) -> SharedView<T> {
    backend::static_shared_mem(site, len)
}

/// The dynamic shared memory of this launch, from `byte_offset` on, as `len` elements.
///
/// Several arrays share one dynamic range: give each an offset, a multiple of its alignment.
/// The range starts at a multiple of 16 bytes; its size is given at the launch.
///
/// # Safety
///
/// `byte_offset` is a multiple of `T`'s alignment, and the launch has at least
/// `byte_offset + len * size_of::<T>()` bytes of dynamic shared memory.
#[must_use]
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn dynamic_shared_mem<T: Pod>(byte_offset: usize, len: usize) -> SharedView<T> {
    let start = backend::dynamic_shared_mem(byte_offset, len);
    // SAFETY: the caller's promise.
    unsafe { SharedView::from_raw_parts(start, len) }
}

/// Size in bytes of the dynamic shared memory of this launch.
#[must_use]
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn dynamic_shared_size() -> u32 {
    backend::dynamic_shared_size()
}
