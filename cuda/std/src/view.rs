//! Views: a kernel's access to memory.
//!
//! [`View`] and [`ViewMut`] are ranges of global memory; [`SharedView`](crate::SharedView) is a
//! range of a block's shared memory with the same methods. They are `Copy`: as in CUDA, thousands
//! of threads hold the same range and it is the kernel's protocol, not the borrow checker, that
//! keeps them apart.
//!
//! Elements can be accessed only inside a running kernel. Host code may hold, copy and send views,
//! but any access from there panics.
//!
//! # Why the methods are safe
//! - On the device, whoever launches a kernel promises (`unsafe`) that all its accesses lie in
//!   memory that lives until the kernel ends, and do not conflict with other work.
//! - Under the emulator, an access is made only after a check that it lies in this emulator's
//!   memory, which is locked while the kernel runs. All threads run on the host thread that
//!   launched, one at a time. So however many copies of a view there are, no two accesses happen at
//!   the same time.
//! - Elsewhere on the host there is no access: `on_access` of the host's backend panics before the
//!   address is used.
//!
//! Indices are `u16`, `u32`, `i32` or `usize`. Prefer `u32`: the address is then one widening
//! multiply-add, and index arithmetic stays in 32-bit registers.

use core::marker::PhantomData;

use crate::atomic::{Atomic, Scope};
use crate::{Pod, backend};

/// An index into a view.
pub trait Index: Copy {
    /// The index as a number of elements from the view's start.
    fn to_usize(self) -> usize;
}

/// For indices that are kept in shared memory, two to a word.
impl Index for u16 {
    #[inline(always)]
    fn to_usize(self) -> usize {
        self as usize
    }
}

impl Index for u32 {
    #[inline(always)]
    fn to_usize(self) -> usize {
        self as usize
    }
}

impl Index for i32 {
    /// A negative index is out of bounds.
    #[inline(always)]
    fn to_usize(self) -> usize {
        self as isize as usize
    }
}

impl Index for usize {
    #[inline(always)]
    fn to_usize(self) -> usize {
        self
    }
}

/// Read-only range of `T` in global memory: a device address and a length in elements.
#[repr(C)]
#[derive(Debug)]
pub struct View<'a, T> {
    ptr: *const T,
    len: usize,
    life: PhantomData<&'a [T]>,
}

/// Range of `T` in global memory that threads read and write: a device address and a length in
/// elements.
#[repr(C)]
#[derive(Debug)]
pub struct ViewMut<'a, T> {
    ptr: *mut T,
    len: usize,
    life: PhantomData<&'a mut [T]>,
}

impl<T> Clone for View<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for View<'_, T> {}

impl<T> Clone for ViewMut<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for ViewMut<'_, T> {}

// SAFETY: an address and a length. Another thread that has them can follow the address only inside
// a kernel: on the device by the promise of the launch, under the emulator one thread at a time.
// Outside it, accesses panic.
unsafe impl<T: Sync> Send for View<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for View<'_, T> {}
// SAFETY: as above. That several threads hold the view and write through it is no data race: either
// they are a kernel's, or they panic.
unsafe impl<T: Send> Send for ViewMut<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for ViewMut<'_, T> {}

impl<'a, T: Pod> View<'a, T> {
    /// The view of the `len` elements from `ptr` on.
    ///
    /// On the host, `ptr` may be a device address: it is only followed by the kernel.
    ///
    /// # Safety
    ///
    /// Where the view is used, `ptr` is aligned and the `len` elements from it on are readable
    /// during `'a`.
    #[must_use]
    #[inline(always)]
    pub const unsafe fn from_raw_parts(ptr: *const T, len: usize) -> Self {
        Self {
            ptr,
            len,
            life: PhantomData,
        }
    }

    /// The view as the optimizer should see a kernel's parameter: pointing into global memory.
    #[inline(always)]
    pub(crate) fn in_global_memory(self) -> Self {
        Self {
            ptr: backend::in_global_memory(self.ptr.cast_mut()),
            ..self
        }
    }

    /// Reads element `i` through the read-only cache (`ld.global.nc`).
    ///
    /// Nothing may write the element while the kernel runs; the hardware does not notice if
    /// something does.
    #[must_use]
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn ldg(&self, i: impl Index) -> T {
        let at = self.at(i.to_usize(), backend::Access::ReadOnlyLoad);
        // SAFETY: in bounds (the emulator has checked it, or the launch's promise on the device),
        // and read-only meanwhile.
        unsafe { backend::load_read_only(at) }
    }

    /// [`ldg`](Self::ldg) of `N` elements at once, which together have 8 or 16 bytes; `i` is a
    /// multiple of `N`.
    #[must_use]
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn ldg_vector<const N: usize>(&self, i: impl Index) -> [T; N] {
        let at = self.vector_at::<N>(i.to_usize(), backend::Access::ReadOnlyLoad);
        // SAFETY: in bounds and aligned (the emulator has checked it, or the launch's promise on
        // the device).
        unsafe { backend::load_vector_read_only(at) }
    }
}

impl<'a, T: Pod> ViewMut<'a, T> {
    /// The view of the `len` elements from `ptr` on.
    ///
    /// On the host, `ptr` may be a device address: it is only followed by the kernel.
    ///
    /// # Safety
    ///
    /// Where the view is used, `ptr` is aligned and the `len` elements from it on are readable and
    /// writable during `'a`, and are accessed only through views.
    #[must_use]
    #[inline(always)]
    pub const unsafe fn from_raw_parts(ptr: *mut T, len: usize) -> Self {
        Self {
            ptr,
            len,
            life: PhantomData,
        }
    }

    /// The view as the optimizer should see a kernel's parameter: pointing into global memory.
    #[inline(always)]
    pub(crate) fn in_global_memory(self) -> Self {
        Self {
            ptr: backend::in_global_memory(self.ptr),
            ..self
        }
    }

    /// The same range, read-only.
    #[must_use]
    #[inline(always)]
    pub const fn as_view(&self) -> View<'a, T> {
        View {
            ptr: self.ptr,
            len: self.len,
            life: PhantomData,
        }
    }
}

/// Memory layout of a [`View`] or [`ViewMut`] of any element type, as a launcher finds it among a
/// kernel's arguments.
#[cfg(not(target_arch = "nvptx64"))]
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct RawView {
    pub(crate) ptr: *const core::ffi::c_void,
    /// In elements.
    pub(crate) len: usize,
}

/// Pointers to all sized types have the same layout, so two element types suffice.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! assert_layout {
    ($($view:ty)*) => {$(
        const _: () = {
            use core::mem::offset_of;
            assert!(size_of::<$view>() == size_of::<RawView>());
            assert!(align_of::<$view>() == align_of::<RawView>());
            assert!(offset_of!($view, ptr) == offset_of!(RawView, ptr));
            assert!(offset_of!($view, len) == offset_of!(RawView, len));
        };
    )*};
}
#[cfg(not(target_arch = "nvptx64"))]
assert_layout! {
    View<'static, u8> ViewMut<'static, u8> View<'static, [u64; 2]> ViewMut<'static, [u64; 2]>
}

/// The size in bytes of `N` elements, which must be that of a vector access.
pub(crate) const fn vector_bytes<T, const N: usize>() -> usize {
    let bytes = N * size_of::<T>();
    assert!(
        bytes == 8 || bytes == 16,
        "a vector access moves 8 or 16 bytes"
    );
    bytes
}

/// Reading methods of a view with fields `ptr` and `len`.
macro_rules! reading_methods {
    () => {
        /// Length in elements.
        #[must_use]
        #[inline(always)]
        pub const fn len(&self) -> usize {
            self.len
        }

        /// Whether the view has no elements.
        #[must_use]
        #[inline(always)]
        pub const fn is_empty(&self) -> bool {
            self.len == 0
        }

        /// Address of the first element.
        #[must_use]
        #[inline(always)]
        pub const fn as_ptr(&self) -> *const T {
            self.ptr
        }

        /// Address of element `i`, for an access that the host checks.
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        fn at(&self, i: usize, access: backend::Access) -> *const T {
            backend::on_access(self.ptr, i, 1, self.len, align_of::<T>(), access);
            self.ptr.wrapping_add(i)
        }

        /// Address of elements `i` to `i + N`, for an access that the host checks.
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        fn vector_at<const N: usize>(&self, i: usize, access: backend::Access) -> *const [T; N] {
            let bytes = const { crate::view::vector_bytes::<T, N>() };
            backend::on_access(self.ptr, i, N, self.len, bytes, access);
            self.ptr.wrapping_add(i).cast()
        }

        /// Reads element `i`.
        #[must_use]
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn ld(&self, i: impl Index) -> T {
            let at = self.at(i.to_usize(), backend::Access::Load);
            // SAFETY: in bounds: the emulator has checked it, or the launch's promise on the
            // device.
            unsafe { at.read() }
        }

        /// Reads `N` elements at once, which together have 8 or 16 bytes (`[u32; 4]`, `[u64; 2]`);
        /// `i` is a multiple of `N` and the view starts at an address that is a multiple of that
        /// size.
        #[must_use]
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn ld_vector<const N: usize>(&self, i: impl Index) -> [T; N] {
            let at = self.vector_at::<N>(i.to_usize(), backend::Access::Load);
            // SAFETY: in bounds and aligned: the emulator has checked it, or the launch's promise
            // on the device.
            unsafe { backend::load_vector(at) }
        }

        /// Reads element `i` from memory, even if it was read before (`ld.volatile`).
        #[must_use]
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn ld_volatile(&self, i: impl Index) -> T {
            let at = self.at(i.to_usize(), backend::Access::VOLATILE_LOAD);
            // SAFETY: in bounds: the emulator has checked it, or the launch's promise on the
            // device.
            unsafe { backend::load_volatile(at) }
        }

        /// Reads element `i` atomically, with no ordering (`ld.relaxed`).
        #[must_use]
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn ld_relaxed<S: Scope>(&self, i: impl Index, _scope: S) -> T
        where
            T: Atomic,
        {
            let at = self.at(i.to_usize(), backend::Access::load(S::KIND, false));
            // SAFETY: in bounds: the emulator has checked it, or the launch's promise on the
            // device.
            unsafe { T::load(at, S::KIND, false) }
        }

        /// Reads element `i` atomically (`ld.acquire`). If it reads the value of a
        /// [`st_release`](crate::view::ViewMut::st_release), earlier writes of the storing thread
        /// are then visible.
        #[must_use]
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn ld_acquire<S: Scope>(&self, i: impl Index, _scope: S) -> T
        where
            T: Atomic,
        {
            let at = self.at(i.to_usize(), backend::Access::load(S::KIND, true));
            // SAFETY: in bounds: the emulator has checked it, or the launch's promise on the
            // device.
            unsafe { T::load(at, S::KIND, true) }
        }
    };
}
pub(crate) use reading_methods;

/// Read-modify-write methods of a view with fields `ptr` and `len`.
macro_rules! atomic_methods {
    ($($(#[$doc:meta])* $name:ident: $op:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// Returns the element's value before. Relaxed, at device scope.
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn $name(&self, i: impl Index, value: T) -> T
        where
            T: Atomic,
        {
            let at = self.at(i.to_usize(), backend::Access::AtomicUpdate);
            // SAFETY: in bounds: the emulator has checked it, or the launch's promise on the
            // device.
            unsafe { T::$op(at.cast_mut(), value) }
        }
    )*};
}
pub(crate) use atomic_methods;

/// Writing methods of a view with fields `ptr` and `len`.
macro_rules! writing_methods {
    () => {
        /// Address of the first element.
        #[must_use]
        #[inline(always)]
        pub const fn as_mut_ptr(&self) -> *mut T {
            self.ptr
        }

        /// Writes element `i`.
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn st(&self, i: impl Index, value: T) {
            let at = self.at(i.to_usize(), backend::Access::Store);
            // SAFETY: in bounds: the emulator has checked it, or the launch's promise on the
            // device.
            unsafe { at.cast_mut().write(value) }
        }

        /// Writes `N` elements at once, which together have 8 or 16 bytes; `i` is a multiple of `N`
        /// and the view starts at an address that is a multiple of that size.
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn st_vector<const N: usize>(&self, i: impl Index, value: [T; N]) {
            let at = self.vector_at::<N>(i.to_usize(), backend::Access::Store);
            // SAFETY: in bounds and aligned: the emulator has checked it, or the launch's promise
            // on the device.
            unsafe { backend::store_vector(at.cast_mut(), value) }
        }

        /// Writes element `i` to memory at once (`st.volatile`).
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn st_volatile(&self, i: impl Index, value: T) {
            let at = self.at(i.to_usize(), backend::Access::VOLATILE_STORE);
            // SAFETY: in bounds: the emulator has checked it, or the launch's promise on the
            // device.
            unsafe { at.cast_mut().write_volatile(value) }
        }

        /// Writes element `i` atomically, with no ordering (`st.relaxed`).
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn st_relaxed<S: Scope>(&self, i: impl Index, value: T, _scope: S)
        where
            T: Atomic,
        {
            let at = self.at(i.to_usize(), backend::Access::store(S::KIND, false));
            // SAFETY: in bounds: the emulator has checked it, or the launch's promise on the
            // device.
            unsafe { T::store(at.cast_mut(), value, S::KIND, false) }
        }

        /// Writes element `i` atomically, after everything that this thread wrote before
        /// (`st.release`).
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn st_release<S: Scope>(&self, i: impl Index, value: T, _scope: S)
        where
            T: Atomic,
        {
            let at = self.at(i.to_usize(), backend::Access::store(S::KIND, true));
            // SAFETY: in bounds: the emulator has checked it, or the launch's promise on the
            // device.
            unsafe { T::store(at.cast_mut(), value, S::KIND, true) }
        }

        $crate::view::atomic_methods! {
            /// Adds `value` to element `i`, wrapping around.
            atomic_add: fetch_add;
            /// Sets element `i` to the smaller of itself and `value`.
            atomic_min: fetch_min;
            /// Sets element `i` to the larger of itself and `value`.
            atomic_max: fetch_max;
            /// Sets element `i` to its bitwise and with `value`.
            atomic_and: fetch_and;
            /// Sets element `i` to its bitwise or with `value`.
            atomic_or: fetch_or;
            /// Sets element `i` to its bitwise exclusive or with `value`.
            atomic_xor: fetch_xor;
            /// Sets element `i` to `value`.
            atomic_exch: exchange;
        }

        /// Sets element `i` to `new` if it equals `current`.
        ///
        /// Returns the element's value before: the exchange happened if that equals `current`.
        /// Relaxed, at device scope.
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn atomic_cas(&self, i: impl Index, current: T, new: T) -> T
        where
            T: Atomic,
        {
            let access = backend::Access::CompareAndSwap {
                current: current.bits(),
            };
            let at = self.at(i.to_usize(), access);
            // SAFETY: in bounds: the emulator has checked it, or the launch's promise on the
            // device.
            unsafe { T::compare_exchange(at.cast_mut(), current, new) }
        }
    };
}
pub(crate) use writing_methods;

impl<T: Pod> View<'_, T> {
    reading_methods!();
}

impl<T: Pod> ViewMut<'_, T> {
    reading_methods!();
    writing_methods!();
}
