//! `#[derive(KernelParam)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DataEnum, DataStruct, DeriveInput, Error, Fields, LitStr, Result};

use crate::lengths;
use crate::repr::Repr;
use crate::text::type_text;

/// Checks the type and writes the implementation.
pub(crate) fn expand(item: TokenStream) -> Result<TokenStream> {
    let input: DeriveInput = syn::parse2(item)?;
    let repr = Repr::of(&input)?;
    match &input.data {
        Data::Struct(data) => of_struct(&input, data, &repr),
        Data::Enum(data) => of_enum(&input, data, &repr),
        Data::Union(_) => Err(Error::new_spanned(
            &input.ident,
            "a union can't be a kernel's parameter: which of its fields holds a view is not known",
        )),
    }
}

fn of_struct(input: &DeriveInput, data: &DataStruct, repr: &Repr) -> Result<TokenStream> {
    let name = &input.ident;
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new_spanned(
            name,
            "a kernel's parameter has named fields, by which the emulator can call them; \
             a tuple struct of plain data can have `#[derive(Pod)]`",
        ));
    };
    if !repr.c && !repr.transparent {
        return Err(Error::new_spanned(
            name,
            "a kernel's parameter has a fixed layout: add `#[repr(C)]`",
        ));
    }
    if repr.packed {
        return Err(Error::new_spanned(
            name,
            "a kernel's parameter can't be packed: its views are read where they are",
        ));
    }
    let idents: Vec<_> = fields.named.iter().map(|field| &field.ident).collect();
    let types: Vec<_> = fields.named.iter().map(|field| &field.ty).collect();
    let names = idents.iter().flat_map(|&ident| ident).map(|ident| {
        let name = ident.to_string();
        LitStr::new(name.trim_start_matches("r#"), ident.span())
    });
    let type_texts = types.iter().map(|&ty| type_text(ty));
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    let lengths = lengths::expand(input, fields)?;
    Ok(quote! {
        // SAFETY: the layout is fixed, the fields are kernel parameters, and each is listed with
        // its place.
        unsafe impl #impl_generics ::cuda_std::KernelParam
            for #name #type_generics #where_clause
        {
            const KIND: ::cuda_std::kernel::ParamKind =
                ::cuda_std::kernel::ParamKind::Struct(&[#(
                    ::cuda_std::kernel::FieldSpec {
                        name: #names,
                        ty: #type_texts,
                        offset: ::core::mem::offset_of!(Self, #idents),
                        kind: <#types as ::cuda_std::KernelParam>::KIND,
                    },
                )*]);

            #[inline(always)]
            fn receive(self) -> Self {
                Self {
                    #(#idents: ::cuda_std::KernelParam::receive(self.#idents),)*
                }
            }
        }

        #lengths
    })
}

fn of_enum(input: &DeriveInput, data: &DataEnum, repr: &Repr) -> Result<TokenStream> {
    let name = &input.ident;
    if let Some(variant) = data
        .variants
        .iter()
        .find(|variant| !matches!(variant.fields, Fields::Unit))
    {
        return Err(Error::new_spanned(
            variant,
            "an enum that is a kernel's parameter has no fields: pass what differs beside it",
        ));
    }
    if !repr.u32 {
        return Err(Error::new_spanned(
            name,
            "an enum that is a kernel's parameter has a fixed size: add `#[repr(u32)]`",
        ));
    }
    Ok(quote! {
        // SAFETY: a number without views. Both sides number the variants alike, and a launch's
        // argument is one of them.
        unsafe impl ::cuda_std::KernelParam for #name {}
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(item: TokenStream, message: &str) {
        let error = expand(item).expect_err("it is refused").to_string();
        assert!(error.contains(message), "{error}");
    }

    #[test]
    fn types_that_can_not_be_parameters() {
        let fixed = "a kernel's parameter has a fixed layout: add `#[repr(C)]`";
        refused(
            quote!(
                struct S<'a> {
                    data: View<'a, u32>,
                }
            ),
            fixed,
        );
        refused(
            quote!(
                #[repr(align(8))]
                struct S {
                    n: u32,
                }
            ),
            fixed,
        );
        refused(
            quote!(
                #[repr(C, packed(4))]
                struct S<'a> {
                    data: View<'a, u32>,
                }
            ),
            "can't be packed",
        );
        refused(
            quote!(
                #[repr(C)]
                struct S(u32);
            ),
            "has named fields",
        );
        refused(
            quote!(
                #[repr(C)]
                struct S;
            ),
            "has named fields",
        );
        refused(quote!(#[repr(C)] union U { n: u32, x: f32 }), "a union");
        refused(
            quote!(
                #[repr(u32)]
                enum E {
                    A(u32),
                    B,
                }
            ),
            "has no fields",
        );
        refused(
            quote!(
                enum E {
                    A,
                    B,
                }
            ),
            "add `#[repr(u32)]`",
        );
        refused(
            quote!(
                #[repr(u8)]
                enum E {
                    A,
                    B,
                }
            ),
            "add `#[repr(u32)]`",
        );
    }

    #[test]
    fn types_that_can_be_parameters() {
        for item in [
            quote!(
                #[repr(C)]
                struct S<'a, T: Pod> {
                    data: View<'a, T>,
                    n: u32,
                }
            ),
            quote!(
                #[repr(C, align(16))]
                struct S {
                    n: u32,
                }
            ),
            quote!(
                #[repr(u32)]
                enum E {
                    A = 3,
                    B,
                }
            ),
        ] {
            expand(item).expect("it is accepted");
        }
    }

    #[test]
    fn lengths_that_can_not_be_stated() {
        refused(
            quote!(
                #[repr(C)]
                struct S<'a> {
                    #[len(sizes.n / 2)]
                    data: View<'a, u32>,
                }
            ),
            "a length consists of sums and products",
        );
        refused(
            quote!(
                #[repr(C)]
                struct S<'a> {
                    #[len(1, zeros)]
                    data: View<'a, u32>,
                }
            ),
            "there are `align` and `zeroed`",
        );
        refused(
            quote!(
                #[repr(C)]
                struct S<'a> {
                    #[len(sizes.inner, align = 16)]
                    inner: Inner<'a>,
                }
            ),
            "belong to a `View` or `ViewMut`",
        );
        refused(
            quote!(
                #[repr(C)]
                #[lengths(Sizes, names = SBuffers)]
                struct S<'a> {
                    #[len(1)]
                    data: View<'a, u32>,
                }
            ),
            "there is `buffers`",
        );
        refused(
            quote!(
                #[repr(C)]
                #[lengths(Sizes)]
                struct S<'a> {
                    data: View<'a, u32>,
                }
            ),
            "no field states its length",
        );
        refused(
            quote!(
                #[repr(C)]
                struct S<'a> {
                    #[len(1)]
                    #[len(2)]
                    data: View<'a, u32>,
                }
            ),
            "is there twice",
        );
    }

    /// The code for the host, without spaces.
    fn derived(item: TokenStream) -> String {
        let text = expand(item).expect("it is accepted").to_string();
        text.replace(' ', "")
    }

    #[test]
    fn lengths_saturate() {
        let text = derived(quote!(
            #[repr(C)]
            #[lengths(Sizes)]
            struct S<'a> {
                #[len(4 * (sizes.rows + ROOM), align = 16)]
                data: View<'a, u32>,
            }
        ));
        let length = "::core::primitive::usize::saturating_mul(4usize,\
                      ::core::primitive::usize::saturating_add(\
                      ::cuda_std::lengths::Count::count(sizes.rows),\
                      ::cuda_std::lengths::Count::count(ROOM)))";
        let check = format!("(\"data\",self.data.as_ptr(),self.data.len(),{length},16,)?;");
        assert!(text.contains(&check), "{text}");
        assert!(
            !text.contains("Buffered"),
            "no buffers are asked for: {text}"
        );
    }

    #[test]
    fn the_device_has_no_lengths() {
        let with = quote!(
            #[repr(C)]
            #[lengths(Sizes, buffers = SBuffers)]
            struct S<'a> {
                #[len(sizes.n, zeroed)]
                data: View<'a, u32>,
                n: u32,
            }
        );
        let without = quote!(
            #[repr(C)]
            struct S<'a> {
                data: View<'a, u32>,
                n: u32,
            }
        );
        let (with, without) = (derived(with), derived(without));
        let host = with.strip_prefix(&without).expect("the rest is as without");
        let host_only = "#[cfg(not(target_arch=\"nvptx64\"))]";
        // The check, the buffers, their methods, `Debug`, and `Buffered`.
        assert_eq!(host.matches(host_only).count(), 5, "{host}");
        assert!(host.starts_with(host_only));
    }
}
