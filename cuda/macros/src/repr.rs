//! A type's `#[repr(...)]`.

use proc_macro2::TokenStream;
use syn::{DeriveInput, Result};

/// The parts of a type's `#[repr(...)]` that the macros use.
#[derive(Default)]
pub(crate) struct Repr {
    pub(crate) c: bool,
    pub(crate) transparent: bool,
    pub(crate) u32: bool,
    pub(crate) packed: bool,
}

impl Repr {
    pub(crate) fn of(input: &DeriveInput) -> Result<Self> {
        let mut repr = Self::default();
        for attribute in &input.attrs {
            if !attribute.path().is_ident("repr") {
                continue;
            }
            attribute.parse_nested_meta(|meta| {
                repr.c |= meta.path.is_ident("C");
                repr.transparent |= meta.path.is_ident("transparent");
                repr.u32 |= meta.path.is_ident("u32");
                repr.packed |= meta.path.is_ident("packed");
                // `align(16)`, `packed(2)`
                if meta.input.peek(syn::token::Paren) {
                    let _skipped;
                    syn::parenthesized!(_skipped in meta.input);
                    let _: TokenStream = _skipped.parse()?;
                }
                Ok(())
            })?;
        }
        Ok(repr)
    }
}
