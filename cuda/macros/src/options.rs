//! The arguments of `#[kernel(...)]`.

use proc_macro2::Ident;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, LitInt, Result, Token};

/// The attribute's arguments.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) block: Option<BlockExtents>,
    pub(crate) min_blocks: Option<u32>,
    pub(crate) barriers: Option<u32>,
    pub(crate) f64: bool,
    pub(crate) cooperative: bool,
    pub(crate) zero_at_exit: Vec<ViewPath>,
    pub(crate) lengths: Vec<Stated>,
}

impl Parse for Options {
    fn parse(input: ParseStream) -> Result<Self> {
        let mut options = Self::default();
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            match name.to_string().as_str() {
                "block" => {
                    input.parse::<Token![=]>()?;
                    options.block = Some(input.parse()?);
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
                "cooperative" => options.cooperative = true,
                "zero_at_exit" => {
                    let views;
                    syn::parenthesized!(views in input);
                    let views = views.parse_terminated(ViewPath::parse, Token![,])?;
                    options.zero_at_exit = views.into_iter().collect();
                }
                "len" => {
                    let stated;
                    syn::parenthesized!(stated in input);
                    let stated = stated.parse_terminated(Stated::parse, Token![,])?;
                    options.lengths = stated.into_iter().collect();
                }
                _ => {
                    let message = "unknown option; there are `block`, `min_blocks`, `barriers`, \
                                   `f64`, `cooperative`, `zero_at_exit` and `len`";
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

/// `256`, `BLOCK`, `(32, ROWS)` or `(8, 8, 4)`: constants of type `u32`.
pub(crate) struct BlockExtents(Vec<Expr>);

impl Parse for BlockExtents {
    fn parse(input: ParseStream) -> Result<Self> {
        let extents = match input.parse()? {
            Expr::Tuple(tuple) if tuple.elems.is_empty() || tuple.elems.len() > 3 => {
                let message = "a block has one to three extents";
                return Err(Error::new_spanned(tuple, message));
            }
            Expr::Tuple(tuple) => tuple.elems.into_iter().collect(),
            extent => vec![extent],
        };
        Ok(Self(extents))
    }
}

impl BlockExtents {
    /// Whether only x was given.
    pub(crate) fn is_one_dimensional(&self) -> bool {
        self.0.len() == 1
    }

    /// The extents along x, y and z.
    pub(crate) fn xyz(&self) -> [Expr; 3] {
        let extent = |i: usize| {
            let given = self.0.get(i).cloned();
            given.unwrap_or_else(|| syn::parse_quote!(1))
        };
        [extent(0), extent(1), extent(2)]
    }
}

/// `locks`, a parameter, or `problem.locks`, a field of one.
pub(crate) struct ViewPath(Vec<Ident>);

impl Parse for ViewPath {
    fn parse(input: ParseStream) -> Result<Self> {
        let names = Punctuated::<Ident, Token![.]>::parse_separated_nonempty(input)?;
        Ok(Self(names.into_iter().collect()))
    }
}

impl ViewPath {
    pub(crate) fn parameter(&self) -> &Ident {
        &self.0[0]
    }

    /// As the emulator calls the view.
    pub(crate) fn text(&self) -> String {
        let names: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        names.join(".")
    }

    /// The view as an expression.
    pub(crate) fn expression(&self) -> Expr {
        let names = &self.0;
        syn::parse_quote!(#(#names).*)
    }
}

/// `matrix = extents`: a parameter, and the length of the view or the sizes of the struct.
pub(crate) struct Stated {
    pub(crate) parameter: Ident,
    pub(crate) value: Expr,
}

impl Parse for Stated {
    fn parse(input: ParseStream) -> Result<Self> {
        let parameter = input.parse()?;
        input.parse::<Token![=]>()?;
        let value = input.parse()?;
        Ok(Self { parameter, value })
    }
}
