//! `#[derive(Pod)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Result};

use crate::repr::Repr;

/// Checks the struct and writes the implementation.
pub(crate) fn expand(item: TokenStream) -> Result<TokenStream> {
    let input: DeriveInput = syn::parse2(item)?;
    let name = &input.ident;
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(
            name,
            "only a struct can be plain data; an enum can be a kernel's parameter, with \
             `#[derive(KernelParam)]`",
        ));
    };
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(
            &input.generics,
            "a plain struct has no generic parameters",
        ));
    }
    let repr = Repr::of(&input)?;
    if !repr.c && !repr.transparent {
        return Err(Error::new_spanned(
            name,
            "plain data has a fixed layout: add `#[repr(C)]`",
        ));
    }
    let fields: Vec<_> = data.fields.iter().map(|field| &field.ty).collect();
    Ok(quote! {
        // SAFETY: a fixed layout over fields that are plain data, without padding; both are checked
        // below.
        unsafe impl ::cuda_std::Pod for #name {}
        const _: () = {
            const fn plain<T: ::cuda_std::Pod>() {}
            #(plain::<#fields>();)*
            ::core::assert!(
                0 #(+ ::core::mem::size_of::<#fields>())* == ::core::mem::size_of::<#name>(),
                "plain data has no padding: reorder the fields or add one that fills the gap",
            );
        };
    })
}
