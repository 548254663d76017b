//! `#[kernel]`, the host's side: the function, and a module of its name with the launchers.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Attribute, Ident, ItemFn, LitStr, Result};

use crate::kernel::Param;
use crate::lengths::{self, View};
use crate::options::{BlockExtents, Options};
use crate::text::type_text;

/// The function as it is, and a module of its name with the launchers.
pub(crate) fn host(
    function: &ItemFn,
    options: &Options,
    block: &BlockExtents,
    params: &[Param],
) -> Result<TokenStream> {
    let ItemFn {
        attrs,
        vis,
        sig,
        block: body,
    } = function;
    let name = &sig.ident;
    let docs = attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("doc"));
    let docs: Vec<&Attribute> = docs.collect();
    let types: Vec<_> = params.iter().map(|param| &param.ty).collect();
    let body_inputs = params
        .iter()
        .map(|Param { name, mutable, ty }| quote!(#mutable #name: #ty));
    let index = 0..params.len();
    let args = Ident::new("args", Span::mixed_site());
    let module_doc = format!("Launching the kernel `{name}`.");
    let spec = spec(name, options, block, params);
    let check = check(options, params);
    let check_views = check_views(options, params)?;
    let launchers = launchers(name, block, params);
    Ok(quote! {
        #(#attrs)*
        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(clippy::too_many_arguments)]
        #vis unsafe fn #name(#(#body_inputs),*) #body

        #[cfg(not(target_arch = "nvptx64"))]
        #[doc = #module_doc]
        ///
        #(#docs)*
        #vis mod #name {
            #[allow(unused_imports)]
            use super::*;

            #spec

            /// Unpacks the arguments and runs the body as one thread.
            unsafe fn entry(#args: *const *const ::core::ffi::c_void) {
                let _ = #args;
                // SAFETY: the caller hands one pointer per parameter, each to a value of its type.
                unsafe { super::#name(#((*#args.add(#index)).cast::<#types>().read()),*) }
            }

            #check

            #check_views

            #launchers
        }
    })
}

/// The static that describes the kernel.
fn spec(name: &Ident, options: &Options, block: &BlockExtents, params: &[Param]) -> TokenStream {
    let launcher = quote! { ::cuda_std::launch };
    let name_text = LitStr::new(&name.to_string(), name.span());
    let names = params.iter().map(|param| param.name.to_string());
    let types: Vec<_> = params.iter().map(|param| &param.ty).collect();
    let type_texts = types.iter().map(|&ty| type_text(ty));
    let [x, y, z] = block.xyz();
    let cooperative = options.cooperative;
    let zero_at_exit = options.zero_at_exit.iter().map(|path| path.text());
    let check_views = if options.lengths.is_empty() {
        quote!(::core::option::Option::None)
    } else {
        quote!(::core::option::Option::Some(check_views))
    };
    quote! {
        /// The kernel's name, block and parameters.
        pub static SPEC: #launcher::KernelSpec = #launcher::KernelSpec {
            name: #name_text,
            block: {
                let [x, y, z] = ::cuda_std::kernel::check_block([#x, #y, #z]);
                #launcher::Dim3 { x, y, z }
            },
            params: &[#(#launcher::ParamSpec {
                name: #names,
                ty: #type_texts,
                size: ::core::mem::size_of::<#types>(),
                align: ::core::mem::align_of::<#types>(),
                kind: <#types as ::cuda_std::KernelParam>::KIND,
            }),*],
            cooperative: #cooperative,
            zero_at_exit: &[#(#zero_at_exit),*],
            entry: ::core::option::Option::Some(entry),
            check_views: #check_views,
        };
    }
}

/// What the compiler is to check: the parameters' types, and what `zero_at_exit` names.
fn check(options: &Options, params: &[Param]) -> TokenStream {
    let names = params.iter().map(|param| &param.name);
    let types: Vec<_> = params.iter().map(|param| &param.ty).collect();
    let zero_at_exit = (!options.zero_at_exit.is_empty()).then(|| {
        let views = options.zero_at_exit.iter().map(|path| path.expression());
        quote! {
            #[allow(dead_code, unused_variables, clippy::too_many_arguments)]
            fn zero_at_exit(#(#names: #types),*) {
                fn check<T: ::cuda_std::kernel::ZeroAtExit>(_: T) {}
                #(check(#views);)*
            }
        }
    });
    quote! {
        const _: () = {
            #(::cuda_std::kernel::check_param::<#types>();)*
            #zero_at_exit
        };
    }
}

/// The function that compares views with the lengths in `len(...)`.
fn check_views(options: &Options, params: &[Param]) -> Result<TokenStream> {
    if options.lengths.is_empty() {
        return Ok(TokenStream::new());
    }
    let launcher = quote! { ::cuda_std::launch };
    let [args, config] = ["args", "config"].map(|ident| Ident::new(ident, Span::mixed_site()));
    let reads = params
        .iter()
        .enumerate()
        .map(|(i, Param { name, ty, .. })| {
            quote! {
                // SAFETY: the caller hands one pointer per parameter, each to a value of its type.
                let #name = unsafe { (*#args.add(#i)).cast::<#ty>().read() };
            }
        });
    let checks = options.lengths.iter().map(|stated| {
        let name = &stated.parameter;
        let param = params.iter().find(|param| param.name == *name);
        let is_view = param.is_some_and(|param| View::of(&param.ty).is_some());
        let text = LitStr::new(&name.to_string(), name.span());
        lengths::compare(&quote!(#name), &text, is_view, &stated.value, &quote!(1))
    });
    let checks = checks.collect::<Result<Vec<_>>>()?;
    Ok(quote! {
        /// Compares the views among the arguments with the lengths that the kernel states.
        #[allow(unused_variables)]
        unsafe fn check_views(
            #args: *const *const ::core::ffi::c_void,
            #config: #launcher::LaunchConfig,
        ) -> ::core::result::Result<(), ::cuda_std::lengths::ViewProblem> {
            let grid = #config.grid;
            #(#reads)*
            #(#checks)*
            ::core::result::Result::Ok(())
        }
    })
}

/// The functions that launch the kernel.
fn launchers(name: &Ident, block: &BlockExtents, params: &[Param]) -> TokenStream {
    let launcher = quote! { ::cuda_std::launch };
    let names: Vec<_> = params.iter().map(|param| &param.name).collect();
    let inputs = params
        .iter()
        .map(|Param { name, ty, .. }| quote!(#name: #ty));
    let inputs: Vec<_> = inputs.collect();
    // A kernel's parameters may be called what they like: the launcher's own names can't clash
    // with them.
    let [on, grid, threads, shared, args, config] =
        ["on", "grid", "threads", "dynamic_shared", "args", "config"]
            .map(|ident| Ident::new(ident, Span::mixed_site()));
    let launch_doc =
        format!("Starts the kernel [`{name}`](fn@super::{name}) on a grid of `grid` blocks.");
    let launch_threads = block.is_one_dimensional().then(|| {
        quote! {
            /// [`launch`] with the number of blocks that have `threads` threads, the last block
            /// perhaps more than it needs.
            ///
            /// For no threads, nothing is launched. A number of blocks that a grid can't have is
            /// refused by the launcher.
            ///
            /// # Errors
            ///
            /// Those of the launcher.
            ///
            /// # Safety
            ///
            /// As for [`launch`].
            #[allow(clippy::too_many_arguments)]
            pub unsafe fn launch_threads<L: #launcher::Launcher>(
                #on: &L,
                #threads: impl ::core::convert::Into<#launcher::ThreadCount>,
                #(#inputs,)*
            ) -> ::core::result::Result<(), L::Error> {
                match #threads.into().blocks_of(SPEC.block.x) {
                    0 => ::core::result::Result::Ok(()),
                    // SAFETY: the caller's promise.
                    #grid => unsafe { launch(#on, #grid, #(#names),*) },
                }
            }
        }
    });
    quote! {
        #[doc = #launch_doc]
        ///
        /// # Errors
        ///
        /// Those of the launcher.
        ///
        /// # Safety
        ///
        /// The kernel's own contract, and that of
        /// [`Launcher::launch`](::cuda_std::launch::Launcher::launch).
        #[allow(clippy::too_many_arguments)]
        pub unsafe fn launch<L: #launcher::Launcher>(
            #on: &L,
            #grid: impl ::core::convert::Into<#launcher::Dim3>,
            #(#inputs,)*
        ) -> ::core::result::Result<(), L::Error> {
            // SAFETY: the caller's promise.
            unsafe { launch_with_shared(#on, #grid, 0, #(#names),*) }
        }

        #launch_threads

        /// [`launch`] with `dynamic_shared` bytes of dynamic shared memory per block.
        ///
        /// # Errors
        ///
        /// Those of the launcher.
        ///
        /// # Safety
        ///
        /// As for [`launch`].
        #[allow(clippy::too_many_arguments)]
        pub unsafe fn launch_with_shared<L: #launcher::Launcher>(
            #on: &L,
            #grid: impl ::core::convert::Into<#launcher::Dim3>,
            #shared: u32,
            #(#inputs,)*
        ) -> ::core::result::Result<(), L::Error> {
            let #config = #launcher::LaunchConfig {
                grid: #grid.into(),
                block: SPEC.block,
                dynamic_shared: #shared,
            };
            let #args = [#((&raw const #names).cast::<::core::ffi::c_void>()),*];
            // SAFETY: one pointer per parameter, to values of their types; the rest is the
            // caller's promise.
            unsafe { #launcher::Launcher::launch(#on, &SPEC, #config, &#args) }
        }
    }
}
