//! Setters of option structs.

/// Gives an option struct one setter in builder style per field that is listed, each with the type
/// of its argument: the field's type, or `impl Into` of it.
macro_rules! setters {
    ($options:ident { $($field:ident: $argument:ty,)* }) => {
        impl $options {
            $(
                #[doc = concat!("Sets the field [`", stringify!($field), "`](field@Self::",
                    stringify!($field), ").")]
                #[must_use]
                pub fn $field(mut self, $field: $argument) -> Self {
                    self.$field = $field.into();
                    self
                }
            )*
        }
    };
}

pub(crate) use setters;
