//! The macros of `cuda_std`; use them through that crate.

mod kernel;
mod launcher;
mod lengths;
mod options;
mod param;
mod pod;
mod repr;
mod text;

use proc_macro::TokenStream;

/// Marks a function as a GPU kernel.
///
/// `#[kernel(block = 256)]`, `#[kernel(block = BLOCK)]`, `#[kernel(block = (32, ROWS))]`,
/// `#[kernel(block = (8, 8, 4))]`: the threads per block, as constants of type `u32`, which the PTX
/// then requires (`.reqntid`). A constant is found by its name where the kernel is, without
/// `self::` or `super::`. Further options:
/// - `min_blocks = N`: registers are limited so that `N` blocks fit on a multiprocessor
///   (`.minnctapersm`);
/// - `barriers = N`: the PTX has exactly `N` barriers, where the source alone doesn't say so (an
///   unrolled loop);
/// - `cooperative`: all blocks of the grid are resident at once, so that they may wait for each
///   other, as they do at a barrier of the whole grid. A grid with more blocks than the device
///   holds is refused, by the driver and by the emulator;
/// - `f64`: the kernel means to use double precision; otherwise the builder refuses it;
/// - `zero_at_exit(locks, problem.counts)`: the kernel leaves these views zero, as locks that are
///   given back; each is a parameter or a field of one. The emulator checks it;
/// - `len(sums = n, matrix = extents)`: for a parameter that is a view, at least how many elements
///   it has; for a struct that states lengths (`#[derive(KernelParam)]`), its sizes. The
///   expressions may use the parameters and `grid`, the launch's grid. Launchers refuse a launch
///   with shorter or misaligned views.
///
/// The function is `unsafe`, returns nothing, has no generic parameters, and takes what
/// `cuda_std::KernelParam` says: numbers, views, and structs of them.
///
/// On the device it becomes a PTX entry of its name. On the host the function stays, and beside it
/// is a module of the same name with
/// - `SPEC: KernelSpec`, the kernel's name, block and parameters;
/// - `launch(on, grid, arguments...)`, which starts it on a `Launcher`;
/// - `launch_threads(on, threads, arguments...)`, for a block with an extent along x alone: the
///   grid is that of a number of threads;
/// - `launch_with_shared(on, grid, dynamic_shared, arguments...)`.
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    kernel::expand(attribute.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Makes a `#[repr(C)]` or `#[repr(transparent)]` struct of plain data plain data itself.
///
/// The struct may have no padding: what is copied to the device is then exactly its fields.
#[proc_macro_derive(Pod)]
pub fn derive_pod(item: TokenStream) -> TokenStream {
    pod::expand(item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Makes a `#[repr(C)]` struct of views and values, or a `#[repr(u32)]` enum without fields, a
/// kernel's parameter.
///
/// The struct has named fields, each a `KernelParam`: numbers, views, plain data, and other types
/// with this derive. It may have lifetimes and type parameters, with the bounds that its fields
/// need (`T: Pod` for a `View<'a, T>`).
///
/// `#[len(...)]` on a field states its length, in terms of `sizes`, a value of the type in
/// `#[lengths(Sizes, buffers = Buffers)]` on the struct. From these lengths follow a struct of
/// buffers, their allocation, the views of them, and the check of a launch: `cuda_std::lengths` has
/// the details.
#[proc_macro_derive(KernelParam, attributes(lengths, len))]
pub fn derive_kernel_param(item: TokenStream) -> TokenStream {
    param::expand(item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
