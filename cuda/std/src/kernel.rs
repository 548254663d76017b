//! Kernel parameters: the types that `#[kernel]` accepts, and how their values arrive.
//!
//! Kernels use [`KernelParam`] from here; the rest is for the macros' generated code.

use crate::{Pod, View, ViewMut};

/// A type that can be a kernel's parameter: plain data ([`Pod`]), a view of device memory, or a
/// type with `#[derive(KernelParam)]`.
///
/// The derive macro accepts two kinds of type.
///
/// A `#[repr(C)]` struct with named fields, each of which is a `KernelParam` itself. It may have
/// lifetimes and type parameters. A kernel takes it by value:
///
/// ```
/// # #![allow(dead_code)]
/// use cuda_std::prelude::*;
///
/// /// An image's rows, and where their sums go.
/// #[repr(C)]
/// #[derive(Clone, Copy, KernelParam)]
/// pub struct Rows<'a, T: Pod> {
///     /// Row-major, `width` elements per row.
///     pub pixels: View<'a, T>,
///     /// One sum per row.
///     pub sums: ViewMut<'a, T>,
///     /// Elements per row.
///     pub width: u32,
/// }
///
/// /// Adds up the elements of each row; one thread per row.
/// ///
/// /// # Safety
/// /// `rows` has the lengths that its fields ask for, and nothing else uses its sums meanwhile.
/// #[kernel(block = 64)]
/// pub unsafe fn row_sums(rows: Rows<'_, u32>) {
///     let row = thread::index_1d();
///     if row < rows.sums.len() as u32 {
///         let first = row * rows.width;
///         let sum = (first..first + rows.width).map(|i| rows.pixels.ld(i)).sum();
///         rows.sums.st(row, sum);
///     }
/// }
/// # fn main() {
/// # let emulator = cuda_std::emulator::Emulator::new(0);
/// # let pixels = emulator.upload(&[1u32, 2, 3, 4, 5, 6]).unwrap();
/// # let mut sums = emulator.alloc(2).unwrap();
/// # let rows = Rows { pixels: pixels.view(), sums: sums.view_mut(), width: 3 };
/// # unsafe { row_sums::launch(&emulator, 1, rows) }.unwrap();
/// # assert_eq!(sums.to_vec().unwrap(), [6, 15]);
/// # }
/// ```
///
/// Or a `#[repr(u32)]` enum without fields: a flag or a mode with a name. It can't be [`Pod`],
/// since memory may hold any bits. A launch's argument comes from a value of the type.
///
/// ```
/// # use cuda_std::prelude::*;
/// /// What a sweep starts from.
/// #[repr(u32)]
/// #[derive(Clone, Copy, PartialEq, Eq, KernelParam)]
/// pub enum Start {
///     /// From the distances of the last sweep.
///     Continue,
///     /// From nothing.
///     Fresh,
/// }
/// ```
///
/// # Safety
///
/// [`KIND`](Self::KIND) describes the type: there are views at exactly the offsets given by
/// `KIND`. A bytewise copy of a value is a valid value on the other side.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be a kernel's parameter, nor a part of one",
    note = "a kernel takes numbers, `View`, `ViewMut`, plain data (`#[derive(Pod)]`), and structs \
            of these and `#[repr(u32)]` enums with `#[derive(KernelParam)]`",
    note = "a struct's type parameter needs a bound, such as `T: Pod` for a `View<'a, T>`"
)]
pub unsafe trait KernelParam: Copy {
    /// The places of views in the type.
    const KIND: ParamKind = ParamKind::Value;

    /// The parameter as the kernel's body sees it. On the device, the optimizer then knows that its
    /// views point into global memory, and turns generic loads and stores into `ld.global` and
    /// `st.global`.
    #[doc(hidden)]
    #[must_use]
    #[inline(always)]
    fn receive(self) -> Self {
        self
    }
}

/// Structure of a kernel's parameter, or of a field of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// A value without views.
    Value,
    /// A [`View`] or [`ViewMut`].
    View {
        /// Size of its elements in bytes.
        element: usize,
        /// Whether the kernel may write through it.
        writes: bool,
    },
    /// A struct with these fields.
    Struct(&'static [FieldSpec]),
}

/// A field of a struct that is a kernel's parameter, or a field of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldSpec {
    /// Its name in the source.
    pub name: &'static str,
    /// Its type as written in the source.
    pub ty: &'static str,
    /// Its offset in the struct, in bytes.
    pub offset: usize,
    /// Its structure.
    pub kind: ParamKind,
}

// SAFETY: plain data has no views, and means the same on both sides.
unsafe impl<T: Pod> KernelParam for T {}

// SAFETY: a device address and a length; the host never follows the pointer of a device view.
unsafe impl<T: Pod> KernelParam for View<'_, T> {
    const KIND: ParamKind = ParamKind::View {
        element: size_of::<T>(),
        writes: false,
    };

    #[inline(always)]
    fn receive(self) -> Self {
        self.in_global_memory()
    }
}

// SAFETY: as for `View`.
unsafe impl<T: Pod> KernelParam for ViewMut<'_, T> {
    const KIND: ParamKind = ParamKind::View {
        element: size_of::<T>(),
        writes: true,
    };

    #[inline(always)]
    fn receive(self) -> Self {
        self.in_global_memory()
    }
}

/// Types that `zero_at_exit` accepts.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`zero_at_exit` takes views, and this is a `{Self}`",
    note = "name a parameter that is a `ViewMut`, or such a field of one: \
            `zero_at_exit(problem.locks)`"
)]
pub trait ZeroAtExit {}

impl<T: Pod> ZeroAtExit for ViewMut<'_, T> {}

/// Refuses parameters that a launch could not pass.
#[doc(hidden)]
pub const fn check_param<T: KernelParam>() {
    assert!(
        size_of::<T>() > 0,
        "a kernel's parameter has at least one byte: what has none is not passed"
    );
}

/// Refuses extents that no block can have.
#[doc(hidden)]
#[must_use]
pub const fn check_block([x, y, z]: [u32; 3]) -> [u32; 3] {
    let threads = x as u64 * y as u64 * z as u64;
    assert!(
        x <= 1024 && y <= 1024 && z <= 64 && 0 < threads && threads <= 1024,
        "a block has 1 to 1024 threads, and at most 64 along z"
    );
    [x, y, z]
}

/// The device function of a kernel, as `#[kernel]` writes it.
///
/// This macro is in this crate, not in `cuda_std_macros`: the calling convention `ptx-kernel` is an
/// unstable feature, and a `macro_rules!` macro may use it although the caller has not enabled it.
/// So kernel crates need no `#![feature(abi_ptx)]`.
#[cfg(target_arch = "nvptx64")]
#[doc(hidden)]
#[macro_export]
#[allow_internal_unstable(abi_ptx)]
macro_rules! __ptx_entry {
    ($(#[$attribute:meta])* ($vis:vis) $name:ident ($($inputs:tt)*) $body:block) => {
        $(#[$attribute])*
        #[unsafe(no_mangle)]
        $vis unsafe extern "ptx-kernel" fn $name($($inputs)*) $body
    };
}

/// A kernel's record for the builder: text, with `HEAD` bytes before the block's extents.
#[doc(hidden)]
#[repr(C)]
#[derive(Debug)]
pub struct Record<const HEAD: usize> {
    head: [u8; HEAD],
    block: [u8; 20],
}

impl<const HEAD: usize> Record<HEAD> {
    /// The record of `head`, followed by `block=0256,0001,0001`.
    #[must_use]
    pub const fn new(head: [u8; HEAD], block: [u32; 3]) -> Self {
        let [x, y, z] = check_block(block);
        let mut text = *b"block=0000,0000,0000";
        let mut i = 0;
        while i < 4 {
            let digit = [1000, 100, 10, 1][i];
            text[6 + i] += (x / digit % 10) as u8;
            text[11 + i] += (y / digit % 10) as u8;
            text[16 + i] += (z / digit % 10) as u8;
            i += 1;
        }
        Self { head, block: text }
    }
}
