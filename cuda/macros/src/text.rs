//! Types as text.

use quote::ToTokens;
use syn::Type;

/// A type as it is usually written: without the spaces that tokens have between them.
pub(crate) fn type_text(ty: &Type) -> String {
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
