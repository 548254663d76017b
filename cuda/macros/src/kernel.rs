//! `#[kernel]`: the checks, and the device's side.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Error, FnArg, Ident, ItemFn, LitByteStr, Pat, Result, ReturnType, Token, Type};

use crate::launcher;
use crate::options::{BlockExtents, Options};

/// A kernel's parameter: `name: ty`.
pub(crate) struct Param {
    pub(crate) name: Ident,
    pub(crate) mutable: Option<Token![mut]>,
    pub(crate) ty: Type,
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
            "a kernel can't take a reference: take a `View<'_, T>`, a `ViewMut<'_, T>` or the \
             value",
        ),
        Type::Slice(_) => {
            Some("a kernel can't take a slice: take a `View<'_, T>` or a `ViewMut<'_, T>`")
        }
        Type::Ptr(_) => {
            Some("a kernel can't take a bare pointer: take a `View<'_, T>` or a `ViewMut<'_, T>`")
        }
        Type::Tuple(_) => Some(
            "a tuple has no fixed layout: take a `#[repr(C)]` struct with `#[derive(KernelParam)]`",
        ),
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
    let Some(block) = &options.block else {
        let message = "say the number of threads per block: `#[kernel(block = 256)]`";
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

    for path in &options.zero_at_exit {
        let name = path.parameter();
        if !params.iter().any(|param| param.name == *name) {
            return Err(Error::new_spanned(
                name,
                "`zero_at_exit` names views among the kernel's parameters and their fields",
            ));
        }
    }

    for stated in &options.lengths {
        let name = &stated.parameter;
        if !params.iter().any(|param| param.name == *name) {
            let message = "`len` names the kernel's parameters";
            return Err(Error::new_spanned(name, message));
        }
    }

    let device = device(&function, &options, block, &params);
    let host = launcher::host(&function, &options, block, &params)?;
    Ok(quote! { #device #host })
}

/// The PTX entry, and what the builder must know about it.
fn device(
    function: &ItemFn,
    options: &Options,
    block: &BlockExtents,
    params: &[Param],
) -> TokenStream {
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
        quote! { let #mutable #name = <#ty as ::cuda_std::KernelParam>::receive(#name); }
    });
    let record = record(name, options, block);
    quote! {
        #[cfg(target_arch = "nvptx64")]
        const _: () = { #record };
        #[cfg(target_arch = "nvptx64")]
        ::cuda_std::__ptx_entry! {
            #(#attrs)*
            #[allow(improper_ctypes_definitions, clippy::too_many_arguments)]
            (#vis) #name(#(#inputs),*) {
                #(#received)*
                #body
            }
        }
    }
}

/// What the builder reads: a static
/// `name=scan;at=src/scan.rs:12:15;min_blocks=2;barriers=3;f64;block=0256,0001,0001`.
fn record(name: &Ident, options: &Options, block: &BlockExtents) -> TokenStream {
    let mut head = format!("name={name};");
    // For the builder's messages; `;` ends a field.
    let place = name.span().unwrap();
    let file = place.file().replace(';', "_");
    head += &format!("at={file}:{}:{};", place.line(), place.column());
    if let Some(min_blocks) = options.min_blocks {
        head += &format!("min_blocks={min_blocks};");
    }
    if let Some(barriers) = options.barriers {
        head += &format!("barriers={barriers};");
    }
    if options.f64 {
        head += "f64;";
    }
    let head = LitByteStr::new(head.as_bytes(), Span::call_site());
    let len = head.value().len();
    let [x, y, z] = block.xyz();
    quote! {
        #[used]
        #[unsafe(link_section = ".cuda_std.kernel")]
        static __CUDA_STD_RECORD: ::cuda_std::kernel::Record<#len> =
            ::cuda_std::kernel::Record::new(*#head, [#x, #y, #z]);
    }
}
