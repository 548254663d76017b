//! What `#[kernel]` accepts as an argument, and how it arrives.
//!
//! Kernels don't use this module by name; the attribute's expansion does.

use crate::{Pod, View, ViewMut};

/// A type that can be a kernel's parameter: plain data ([`Pod`]) or a view of device memory.
///
/// # Safety
///
/// The type's bytes, copied as they are, are a valid value on the other side.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be a kernel parameter",
    note = "a kernel takes numbers, `View`, `ViewMut`, and `#[repr(C)]` structs with `#[derive(Pod)]`"
)]
pub unsafe trait KernelParam: Copy {
    /// Size in bytes of a view's elements; 0 if the parameter is no view.
    #[doc(hidden)]
    const ELEMENT: usize = 0;
    /// Whether it is a view that the kernel may write through.
    #[doc(hidden)]
    const WRITES: bool = false;

    /// The parameter as the kernel's body sees it: on the device, a view then points into global memory as far
    /// as the optimizer is concerned, which turns generic loads and stores into `ld.global` and `st.global`.
    #[doc(hidden)]
    #[must_use]
    #[inline(always)]
    fn receive(self) -> Self {
        self
    }
}

// SAFETY: plain data means the same on both sides.
unsafe impl<T: Pod> KernelParam for T {}

// SAFETY: a device address and a length; the host never follows the pointer of a device view.
unsafe impl<T: Pod> KernelParam for View<'_, T> {
    const ELEMENT: usize = size_of::<T>();

    #[inline(always)]
    fn receive(self) -> Self {
        self.in_global_memory()
    }
}

// SAFETY: as for `View`.
unsafe impl<T: Pod> KernelParam for ViewMut<'_, T> {
    const ELEMENT: usize = size_of::<T>();
    const WRITES: bool = true;

    #[inline(always)]
    fn receive(self) -> Self {
        self.in_global_memory()
    }
}
