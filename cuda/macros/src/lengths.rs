//! `#[lengths(...)]` and `#[len(...)]` of `#[derive(KernelParam)]`: buffers, and the check of
//! lengths. `cuda_std::lengths` says what they mean.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{
    Attribute, BinOp, DeriveInput, Error, Expr, ExprBinary, ExprLit, Field, FieldsNamed,
    GenericArgument, GenericParam, Lit, LitInt, LitStr, PathArguments, Result, Token, Type,
};

/// `#[lengths(Extents, buffers = MatrixBuffers)]`.
#[derive(Default)]
struct Options {
    sizes: Option<Type>,
    buffers: Option<Ident>,
}

impl Parse for Options {
    fn parse(input: ParseStream) -> Result<Self> {
        let mut options = Self::default();
        while !input.is_empty() {
            if input.peek(Ident::peek_any) && input.peek2(Token![=]) {
                let name: Ident = input.parse()?;
                if name != "buffers" {
                    return Err(Error::new(
                        name.span(),
                        "unknown option; there is `buffers`",
                    ));
                }
                input.parse::<Token![=]>()?;
                options.buffers = Some(input.parse()?);
            } else {
                options.sizes = Some(input.parse()?);
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

/// `#[len(4 * sizes.rows, align = 16, zeroed)]`.
struct Len {
    stated: Expr,
    align: Option<Expr>,
    zeroed: bool,
}

impl Parse for Len {
    fn parse(input: ParseStream) -> Result<Self> {
        let mut len = Self {
            stated: input.parse()?,
            align: None,
            zeroed: false,
        };
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                break;
            }
            let name: Ident = input.parse()?;
            match name.to_string().as_str() {
                "align" => {
                    input.parse::<Token![=]>()?;
                    len.align = Some(input.parse()?);
                }
                "zeroed" => len.zeroed = true,
                _ => {
                    let message = "unknown option; there are `align` and `zeroed`";
                    return Err(Error::new(name.span(), message));
                }
            }
        }
        Ok(len)
    }
}

/// A field, as far as its length goes.
struct Sized<'a> {
    field: &'a Field,
    name: &'a Ident,
    len: Option<Len>,
    /// Whether it is a `View` or a `ViewMut`.
    view: Option<View<'a>>,
}

impl<'a> Sized<'a> {
    fn of(field: &'a Field) -> Result<Self> {
        let sized = Self {
            field,
            name: field.ident.as_ref().expect("fields have names"),
            len: attribute(&field.attrs, "len")?,
            view: View::of(&field.ty),
        };
        if let Some(len) = &sized.len
            && sized.view.is_none()
            && (len.align.is_some() || len.zeroed)
        {
            return Err(Error::new_spanned(
                &field.ty,
                "`align` and `zeroed` belong to a `View` or `ViewMut`: state them where the views \
                 of this struct are",
            ));
        }
        Ok(sized)
    }

    /// The statement that compares the field with what it states.
    fn check(&self) -> Result<TokenStream> {
        let Some(len) = &self.len else {
            return Ok(TokenStream::new());
        };
        let name = self.name;
        let align = len.align.as_ref().map_or(quote!(1), Expr::to_token_stream);
        compare(
            &quote!(self.#name),
            &name_text(name),
            self.view.is_some(),
            &len.stated,
            &align,
        )
    }
}

/// The statement that compares `value`, a parameter or field called `name`, with what is stated.
pub(crate) fn compare(
    value: &TokenStream,
    name: &LitStr,
    is_view: bool,
    stated: &Expr,
    align: &TokenStream,
) -> Result<TokenStream> {
    if !is_view {
        return Ok(quote! {
            ::cuda_std::lengths::Lengths::check_lengths(&#value, &(#stated))
                .map_err(|problem| problem.inside(#name))?;
        });
    }
    let length = length(stated)?;
    Ok(quote! {
        ::cuda_std::lengths::check_view(
            #name, #value.as_ptr(), #value.len(), #length, #align,
        )?;
    })
}

/// A `View<'a, T>` or `ViewMut<'a, T>`.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    element: &'a Type,
    writes: bool,
}

impl<'a> View<'a> {
    pub(crate) fn of(ty: &'a Type) -> Option<Self> {
        let Type::Path(path) = ty else {
            return None;
        };
        let last = path.path.segments.last()?;
        let writes = match last.ident.to_string().as_str() {
            "View" => false,
            "ViewMut" => true,
            _ => return None,
        };
        let PathArguments::AngleBracketed(arguments) = &last.arguments else {
            return None;
        };
        arguments.args.iter().find_map(|argument| match argument {
            GenericArgument::Type(element) => Some(Self { element, writes }),
            _ => None,
        })
    }
}

/// A stated length in `usize`, which saturates instead of overflowing.
fn length(stated: &Expr) -> Result<TokenStream> {
    match stated {
        Expr::Paren(paren) => length(&paren.expr),
        Expr::Binary(ExprBinary {
            left, op, right, ..
        }) => {
            let op = match op {
                BinOp::Add(_) => quote!(saturating_add),
                BinOp::Mul(_) => quote!(saturating_mul),
                _ => {
                    return Err(Error::new_spanned(
                        op,
                        "a length consists of sums and products: move the rest to a function of \
                         the sizes",
                    ));
                }
            };
            let (left, right) = (length(left)?, length(right)?);
            Ok(quote!(::core::primitive::usize::#op(#left, #right)))
        }
        Expr::Lit(ExprLit {
            lit: Lit::Int(literal),
            ..
        }) => {
            let literal = LitInt::new(&format!("{}usize", literal.base10_digits()), literal.span());
            Ok(quote!(#literal))
        }
        number => Ok(quote!(::cuda_std::lengths::Count::count(#number))),
    }
}

/// The attribute `name`, if it is there once.
fn attribute<T: Parse>(attributes: &[Attribute], name: &str) -> Result<Option<T>> {
    let mut found = None;
    for attribute in attributes.iter().filter(|one| one.path().is_ident(name)) {
        if found.replace(attribute.parse_args()?).is_some() {
            let message = format!("`#[{name}(...)]` is there twice");
            return Err(Error::new_spanned(attribute, message));
        }
    }
    Ok(found)
}

fn name_text(name: &Ident) -> LitStr {
    LitStr::new(name.to_string().trim_start_matches("r#"), name.span())
}

/// A type with `lifetime` for each of its lifetimes but `'static`.
fn with_lifetime(ty: &Type, lifetime: &str) -> TokenStream {
    fn replace(tokens: TokenStream, lifetime: &str) -> TokenStream {
        let mut after_quote = false;
        let replaced = tokens.into_iter().map(|token| {
            let is_lifetime = std::mem::take(&mut after_quote);
            match token {
                TokenTree::Group(group) => {
                    let inner = replace(group.stream(), lifetime);
                    Group::new(group.delimiter(), inner).into()
                }
                TokenTree::Ident(name) if is_lifetime && name != "static" => {
                    Ident::new(lifetime, name.span()).into()
                }
                TokenTree::Punct(punct) => {
                    after_quote = punct.as_char() == '\'';
                    punct.into()
                }
                token => token,
            }
        });
        replaced.collect()
    }
    replace(ty.to_token_stream(), lifetime)
}

/// What a struct's lengths give; nothing if it states none.
pub(crate) fn expand(input: &DeriveInput, fields: &FieldsNamed) -> Result<TokenStream> {
    let options: Option<Options> = attribute(&input.attrs, "lengths")?;
    let fields = fields.named.iter().map(Sized::of);
    let fields = fields.collect::<Result<Vec<_>>>()?;
    if fields.iter().all(|field| field.len.is_none()) {
        return match options {
            None => Ok(TokenStream::new()),
            Some(_) => Err(Error::new_spanned(
                &input.ident,
                "`#[lengths(...)]`, but no field states its length: add `#[len(...)]`",
            )),
        };
    }
    let Options { sizes, buffers } = options.unwrap_or_default();
    let sizes = sizes.map_or(quote!(()), |sizes| sizes.to_token_stream());
    let name = &input.ident;
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    let checks = fields.iter().map(Sized::check);
    let checks = checks.collect::<Result<Vec<_>>>()?;
    let buffers = buffers.map(|buffers| self::buffers(input, &fields, &sizes, &buffers));
    let buffers = buffers.transpose()?;
    Ok(quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        impl #impl_generics ::cuda_std::lengths::Lengths for #name #type_generics #where_clause {
            type Sizes = #sizes;

            fn check_lengths(
                &self,
                sizes: &Self::Sizes,
            ) -> ::core::result::Result<(), ::cuda_std::lengths::ViewProblem> {
                let _ = sizes;
                #(#checks)*
                ::core::result::Result::Ok(())
            }
        }

        #buffers
    })
}

/// The struct that holds the buffers.
fn buffers(
    input: &DeriveInput,
    fields: &[Sized<'_>],
    sizes: &TokenStream,
    buffers: &Ident,
) -> Result<TokenStream> {
    let (name, vis) = (&input.ident, &input.vis);
    let lengths = quote!(::cuda_std::lengths);
    let memory = format_ident!("M");
    let mut generics = input.generics.clone();
    let params = input.generics.params.iter();
    let params = params.filter(|param| !matches!(param, GenericParam::Lifetime(_)));
    generics.params = params.cloned().collect();
    let params: TokenStream = generics
        .params
        .iter()
        .map(|param| quote!(, #param))
        .collect();
    let names: TokenStream = generics
        .params
        .iter()
        .map(|param| match param {
            GenericParam::Type(ty) => ty.ident.to_token_stream(),
            GenericParam::Const(constant) => constant.ident.to_token_stream(),
            GenericParam::Lifetime(_) => unreachable!("filtered out"),
        })
        .map(|name| quote!(, #name))
        .collect();
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    // `Matrix<'views, T>`
    let viewed: Type = syn::parse_quote!(#name #type_generics);
    let viewed = with_lifetime(&viewed, "views");

    let held: Vec<_> = fields.iter().filter(|field| field.len.is_some()).collect();
    let held_names: Vec<_> = held.iter().map(|field| field.name).collect();
    let held_vis = held.iter().map(|field| &field.field.vis);
    let held_docs = held.iter().map(|field| {
        let docs = field.field.attrs.iter();
        let docs = docs.filter(|attribute| attribute.path().is_ident("doc"));
        quote!(#(#docs)*)
    });
    let types: Vec<_> = held
        .iter()
        .map(|field| match field.view {
            Some(View { element, .. }) => quote!(<#memory as #lengths::Memory>::Buffer<#element>),
            None => {
                let ty = with_lifetime(&field.field.ty, "static");
                quote!(<#ty as #lengths::Buffered>::Buffers<#memory>)
            }
        })
        .collect();
    let allocations = held.iter().zip(&types).map(|(field, ty)| {
        let Len { stated, zeroed, .. } = field.len.as_ref().expect("only such are held");
        if field.view.is_none() {
            return Ok(quote!(<#ty>::alloc(memory, &(#stated))?));
        }
        let length = length(stated)?;
        let text = format!("{name}::{}", name_text(field.name).value());
        Ok(quote! {{
            let len = #length;
            #lengths::Memory::alloc(memory, len, #zeroed).map_err(|source| {
                #lengths::AllocError { buffer: #text, len, source }
            })?
        }})
    });
    let allocations = allocations.collect::<Result<Vec<_>>>()?;
    let sums = held.iter().map(|field| {
        let name = field.name;
        match field.view {
            Some(_) => quote!(<#memory as #lengths::Memory>::bytes(&self.#name)),
            None => quote!(self.#name.bytes()),
        }
    });
    let inputs = fields
        .iter()
        .filter(|field| field.len.is_none())
        .map(|field| {
            let (name, ty) = (field.name, with_lifetime(&field.field.ty, "views"));
            quote!(#name: #ty)
        });
    let values = fields.iter().map(|field| {
        let name = field.name;
        match (&field.len, field.view) {
            (None, _) => quote!(#name),
            (Some(_), None) => quote!(#name: self.#name.views()),
            (Some(_), Some(View { writes: false, .. })) => {
                quote!(#name: <#memory as #lengths::Memory>::view(&self.#name))
            }
            (Some(_), Some(_)) => {
                quote!(#name: <#memory as #lengths::Memory>::view_mut(&mut self.#name))
            }
        }
    });
    let doc = format!("The buffers of a [`{name}`], with the lengths that its fields state.");
    let views_doc = format!("The [`{name}`] of these buffers, for a kernel.");
    let debug_names = held_names.iter().map(|&name| name_text(name));
    Ok(quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        #[doc = #doc]
        #vis struct #buffers<#memory: #lengths::Memory #params> #where_clause {
            #(#held_docs #held_vis #held_names: #types,)*
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl<#memory: #lengths::Memory #params> #buffers<#memory #names> #where_clause {
            /// Allocates all of them.
            ///
            /// # Errors
            ///
            /// The first buffer that could not be allocated.
            #vis fn alloc(
                memory: &#memory,
                sizes: &#sizes,
            ) -> ::core::result::Result<
                Self,
                #lengths::AllocError<<#memory as #lengths::Memory>::Error>,
            > {
                let _ = sizes;
                ::core::result::Result::Ok(Self {
                    #(#held_names: #allocations,)*
                })
            }

            /// The bytes of all of them.
            #[must_use]
            #vis fn bytes(&self) -> u64 {
                0 #(+ #sums)*
            }

            #[doc = #views_doc]
            #[must_use]
            #[allow(clippy::too_many_arguments)]
            #vis fn views<'views>(&'views mut self, #(#inputs),*) -> #viewed {
                #name { #(#values,)* }
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl<#memory: #lengths::Memory #params> ::core::fmt::Debug
            for #buffers<#memory #names> #where_clause
        {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.debug_struct(::core::stringify!(#buffers))
                    #(.field(#debug_names, &self.#held_names))*
                    .finish()
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl #impl_generics #lengths::Buffered for #name #type_generics #where_clause {
            type Buffers<#memory: #lengths::Memory> = #buffers<#memory #names>;
        }
    })
}
