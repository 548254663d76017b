//! The macros of `cuda_std`; use them through that crate.

mod kernel;
mod pod;

use proc_macro::TokenStream;

/// Marks a function as a GPU kernel.
///
/// `#[kernel(block = 256)]`, `#[kernel(block = (32, 8))]`, `#[kernel(block = (8, 8, 4))]`: the threads per block,
/// which the PTX then requires (`.reqntid`). Further options:
/// - `min_blocks = N`: registers are limited so that `N` blocks fit on a multiprocessor (`.minnctapersm`);
/// - `barriers = N`: the PTX has exactly `N` barriers, where the source alone doesn't say so (an unrolled loop);
/// - `f64`: the kernel means to use double precision; otherwise the builder refuses it;
/// - `zero_at_exit(locks)`: the kernel leaves these views zero, as locks that are given back: the emulator looks.
///
/// The function is `unsafe`, returns nothing, has no generic parameters, and takes numbers, `View`, `ViewMut` and
/// `#[repr(C)]` structs with `#[derive(Pod)]`.
///
/// On the device it becomes a PTX entry of its name. On the host the function stays, and beside it is a module of
/// the same name with
/// - `SPEC: KernelSpec`, the kernel's name, block and parameters;
/// - `launch(on, grid, arguments...)` and `launch_with_shared(on, grid, dynamic_shared, arguments...)`, which
///   start it on a `Launcher`.
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
