//! `#[kernel]`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::{
    Attribute, Error, Expr, ExprLit, FnArg, ItemFn, Lit, LitByteStr, LitInt, LitStr, Pat, Result,
    ReturnType,
};
use syn::{Token, Type};

/// The attribute's arguments.
#[derive(Default)]
struct Options {
    block: Option<[u32; 3]>,
    min_blocks: Option<u32>,
    barriers: Option<u32>,
    f64: bool,
    zero_at_exit: Vec<Ident>,
}

impl Parse for Options {
    fn parse(input: ParseStream) -> Result<Self> {
        let mut options = Self::default();
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            match name.to_string().as_str() {
                "block" => {
                    input.parse::<Token![=]>()?;
                    options.block = Some(block(&input.parse()?)?);
                }
                "min_blocks" => {
                    input.parse::<Token![=]>()?;
                    options.min_blocks = Some(input.parse::<LitInt>()?.base10_parse()?);
                }
                "barriers" => {
                    input.parse::<Token![=]>()?;
                    options.barriers = Some(input.parse::<LitInt>()?.base10_parse()?);
                }
                "f64" => options.f64 = true,
                "zero_at_exit" => {
                    let names;
                    syn::parenthesized!(names in input);
                    options.zero_at_exit = names
                        .parse_terminated(Ident::parse, Token![,])?
                        .into_iter()
                        .collect();
                }
                _ => {
                    let message = "unknown option; there are `block`, `min_blocks`, `barriers`, `f64` and `zero_at_exit`";
                    return Err(Error::new(name.span(), message));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

/// `256`, `(32, 8)` or `(8, 8, 4)`.
fn block(expr: &Expr) -> Result<[u32; 3]> {
    let extents: Vec<&Expr> = match expr {
        Expr::Tuple(tuple) => tuple.elems.iter().collect(),
        other => vec![other],
    };
    if extents.is_empty() || extents.len() > 3 {
        return Err(Error::new_spanned(expr, "a block has one to three extents"));
    }
    let mut block = [1; 3];
    for (extent, value) in extents.iter().zip(&mut block) {
        let Expr::Lit(ExprLit {
            lit: Lit::Int(number),
            ..
        }) = extent
        else {
            return Err(Error::new_spanned(
                extent,
                "a block's extents are integer literals",
            ));
        };
        *value = number.base10_parse()?;
    }
    let threads = block
        .iter()
        .map(|&extent| u64::from(extent))
        .product::<u64>();
    if threads == 0 || threads > 1024 {
        return Err(Error::new_spanned(
            expr,
            format!("a block has 1 to 1024 threads, not {threads}"),
        ));
    }
    Ok(block)
}

/// A kernel's parameter: `name: ty`.
struct Param {
    name: Ident,
    mutable: Option<Token![mut]>,
    ty: Type,
}

/// Checks a parameter's form and, as far as the text shows it, its type.
fn param(arg: &FnArg) -> Result<Param> {
    let FnArg::Typed(typed) = arg else {
        return Err(Error::new_spanned(arg, "a kernel is a free function"));
    };
    let Pat::Ident(name) = &*typed.pat else {
        return Err(Error::new_spanned(
            &typed.pat,
            "a kernel's parameter is a plain name",
        ));
    };
    let refused = match &*typed.ty {
        Type::Reference(reference) if matches!(*reference.elem, Type::Slice(_)) => {
            Some("a kernel can't take a slice: take a `View<'_, T>` or a `ViewMut<'_, T>`")
        }
        Type::Reference(_) => Some(
            "a kernel can't take a reference: take a `View<'_, T>`, a `ViewMut<'_, T>` or the value",
        ),
        Type::Slice(_) => {
            Some("a kernel can't take a slice: take a `View<'_, T>` or a `ViewMut<'_, T>`")
        }
        Type::Ptr(_) => {
            Some("a kernel can't take a bare pointer: take a `View<'_, T>` or a `ViewMut<'_, T>`")
        }
        Type::Tuple(_) => {
            Some("a tuple has no fixed layout: take a `#[repr(C)]` struct with `#[derive(Pod)]`")
        }
        Type::ImplTrait(_) => Some("a kernel can't be generic"),
        _ => None,
    };
    match refused {
        Some(message) => Err(Error::new_spanned(&typed.ty, message)),
        None => Ok(Param {
            name: name.ident.clone(),
            mutable: name.mutability,
            ty: (*typed.ty).clone(),
        }),
    }
}

/// Checks the function and writes the device's entry, and the host's function and launcher.
pub(crate) fn expand(attribute: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let options: Options = syn::parse2(attribute)?;
    let function: ItemFn = syn::parse2(item)?;
    let signature = &function.sig;
    let Some(block) = options.block else {
        let message = "say how many threads a block has: `#[kernel(block = 256)]`";
        return Err(Error::new(Span::call_site(), message));
    };
    if signature.unsafety.is_none() {
        let message = "a kernel is `unsafe`: whoever launches it vouches for its memory accesses";
        return Err(Error::new_spanned(signature.fn_token, message));
    }
    if !signature.generics.params.is_empty() {
        return Err(Error::new_spanned(
            &signature.generics,
            "a kernel can't be generic",
        ));
    }
    if let ReturnType::Type(_, ty) = &signature.output {
        return Err(Error::new_spanned(
            ty,
            "a kernel returns nothing: write the result through a view",
        ));
    }
    let extra = signature.asyncness.map(|t| t.into_token_stream());
    let extra = extra.or(signature.constness.map(|t| t.into_token_stream()));
    let extra = extra.or(signature.abi.as_ref().map(ToTokens::to_token_stream));
    if let Some(extra) = extra {
        return Err(Error::new_spanned(extra, "not on a kernel"));
    }
    let params = signature
        .inputs
        .iter()
        .map(param)
        .collect::<Result<Vec<_>>>()?;

    for name in &options.zero_at_exit {
        if !params.iter().any(|param| param.name == *name) {
            return Err(Error::new_spanned(
                name,
                "`zero_at_exit` names views among the kernel's parameters",
            ));
        }
    }

    let device = device(&function, &options, block, &params);
    let host = host(&function, &options, block, &params);
    Ok(quote! { #device #host })
}

/// The PTX entry, and what the builder must know about it.
fn device(function: &ItemFn, options: &Options, block: [u32; 3], params: &[Param]) -> TokenStream {
    let ItemFn {
        attrs,
        vis,
        sig,
        block: body,
    } = function;
    let name = &sig.ident;
    let inputs = params
        .iter()
        .map(|Param { name, ty, .. }| quote!(#name: #ty));
    let received = params.iter().map(|Param { name, mutable, ty }| {
        quote! { let #mutable #name = <#ty as ::cuda_std::kernel::KernelParam>::receive(#name); }
    });
    let record = record(name, options, block);
    let record_len = record.value().len();
    quote! {
        #[cfg(target_arch = "nvptx64")]
        const _: () = {
            #[used]
            #[unsafe(link_section = ".cuda_std.kernel")]
            static KERNEL: [u8; #record_len] = *#record;
        };
        #(#attrs)*
        #[cfg(target_arch = "nvptx64")]
        #[unsafe(no_mangle)]
        #[allow(improper_ctypes_definitions, clippy::too_many_arguments)]
        #vis unsafe extern "ptx-kernel" fn #name(#(#inputs),*) {
            #(#received)*
            #body
        }
    }
}

/// What the builder reads: `name=scan;block=256,1,1;min_blocks=2;barriers=3;f64`.
fn record(name: &Ident, options: &Options, [x, y, z]: [u32; 3]) -> LitByteStr {
    let mut record = format!("name={name};block={x},{y},{z}");
    if let Some(min_blocks) = options.min_blocks {
        record += &format!(";min_blocks={min_blocks}");
    }
    if let Some(barriers) = options.barriers {
        record += &format!(";barriers={barriers}");
    }
    if options.f64 {
        record += ";f64";
    }
    LitByteStr::new(record.as_bytes(), Span::call_site())
}

/// The function as it is, and a module of its name with the launcher.
fn host(
    function: &ItemFn,
    options: &Options,
    [x, y, z]: [u32; 3],
    params: &[Param],
) -> TokenStream {
    let ItemFn {
        attrs,
        vis,
        sig,
        block: body,
    } = function;
    let name = &sig.ident;
    let docs: Vec<&Attribute> = attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("doc"))
        .collect();
    let names: Vec<_> = params.iter().map(|param| &param.name).collect();
    let types: Vec<_> = params.iter().map(|param| &param.ty).collect();
    let inputs: Vec<_> = params
        .iter()
        .map(|Param { name, ty, .. }| quote!(#name: #ty))
        .collect();
    let body_inputs = params
        .iter()
        .map(|Param { name, mutable, ty }| quote!(#mutable #name: #ty));
    let name_text = LitStr::new(&name.to_string(), name.span());
    let name_texts = names.iter().map(ToString::to_string);
    let type_texts = types.iter().map(|ty| type_text(ty));
    let zero_at_exit = names
        .iter()
        .map(|&name| options.zero_at_exit.contains(name));
    let index = 0..params.len();
    // A kernel's parameters may be called what they like: the launcher's own names can't clash with them.
    let [on, grid, shared, args, config] = ["on", "grid", "dynamic_shared", "args", "config"]
        .map(|ident| Ident::new(ident, Span::mixed_site()));
    let module_doc = format!("Launching the kernel `{name}`.");
    let launch_doc =
        format!("Starts the kernel [`{name}`](fn@super::{name}) on a grid of `grid` blocks.");
    let launcher = quote! { ::cuda_std::launch };
    quote! {
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

            /// The kernel's name, block and parameters.
            pub static SPEC: #launcher::KernelSpec = #launcher::KernelSpec {
                name: #name_text,
                block: #launcher::Dim3 { x: #x, y: #y, z: #z },
                params: &[#(#launcher::ParamSpec {
                    name: #name_texts,
                    ty: #type_texts,
                    size: ::core::mem::size_of::<#types>(),
                    align: ::core::mem::align_of::<#types>(),
                    element: <#types as ::cuda_std::kernel::KernelParam>::ELEMENT,
                    writes: <#types as ::cuda_std::kernel::KernelParam>::WRITES,
                    zero_at_exit: #zero_at_exit,
                }),*],
                entry: ::core::option::Option::Some(entry),
            };

            /// Unpacks the arguments and runs the body as one thread.
            unsafe fn entry(#args: *const *const ::core::ffi::c_void) {
                let _ = #args;
                // SAFETY: the caller hands one pointer per parameter, each to a value of its type.
                unsafe { super::#name(#((*#args.add(#index)).cast::<#types>().read()),*) }
            }

            const _: () = {
                const fn kernel_param<T: ::cuda_std::kernel::KernelParam>() {}
                #(kernel_param::<#types>();)*
            };

            #[doc = #launch_doc]
            ///
            /// # Errors
            ///
            /// Those of the launcher.
            ///
            /// # Safety
            ///
            /// The kernel's own contract, and that of [`Launcher::launch`](::cuda_std::launch::Launcher::launch).
            #[allow(clippy::too_many_arguments)]
            pub unsafe fn launch<L: #launcher::Launcher>(
                #on: &L,
                #grid: impl ::core::convert::Into<#launcher::Dim3>,
                #(#inputs,)*
            ) -> ::core::result::Result<(), L::Error> {
                // SAFETY: the caller's promise.
                unsafe { launch_with_shared(#on, #grid, 0, #(#names),*) }
            }

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
                // SAFETY: one pointer per parameter, to values of their types; the rest is the caller's promise.
                unsafe { #launcher::Launcher::launch(#on, &SPEC, #config, &#args) }
            }
        }
    }
}

/// A type as it is usually written: without the spaces that tokens have between them.
fn type_text(ty: &Type) -> String {
    let mut text = ty.to_token_stream().to_string();
    for (from, to) in [
        (" <", "<"),
        ("< ", "<"),
        (" >", ">"),
        (" ,", ","),
        (" ::", "::"),
        (":: ", "::"),
        ("[ ", "["),
        (" ;", ";"),
    ] {
        text = text.replace(from, to);
    }
    text
}
