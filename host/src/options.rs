//! Setters of option structs, and the names of options' values.

/// Gives an option struct one setter in builder style per field that is listed, each with the type
/// of its argument: the field's type, or `impl Into` of it. `Options.inner` sets the fields of the
/// options that it contains.
macro_rules! setters {
    ($options:ident.$inner:ident { $($field:ident: $argument:ty,)* }) => {
        impl $options {
            $(
                #[doc = concat!("Sets the field `", stringify!($field), "` of [`",
                    stringify!($inner), "`](field@Self::", stringify!($inner), ").")]
                #[must_use]
                pub fn $field(mut self, $field: $argument) -> Self {
                    self.$inner.$field = $field.into();
                    self
                }
            )*
        }
    };
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

/// Gives an option's values the names that they have on the command line and in Python: `ALL`,
/// `name`, `Display`, and `FromStr` with an [`OptionError`](crate::error::OptionError) that lists
/// them. A value without a name does not compile. `Value(inner)` is a value with options of its
/// own; its name gives it those of `inner`.
macro_rules! names {
    ($values:ident, $option:literal { $($value:ident $(($inner:expr))? => $name:literal,)* }) => {
        impl $values {
            /// All values.
            pub const ALL: &'static [Self] = &[$(Self::$value $(($inner))?,)*];

            /// The value's name on the command line and in Python.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value { .. } => $name,)*
                }
            }
        }

        impl std::fmt::Display for $values {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        /// By its name.
        impl std::str::FromStr for $values {
            type Err = $crate::Error;

            fn from_str(text: &str) -> $crate::Result<Self> {
                let found = Self::ALL.iter().find(|value| value.name() == text);
                found.copied().ok_or_else(|| {
                    let names = [$($name,)*].join(", ");
                    $crate::Error::option(
                        $option,
                        $crate::error::OptionProblem::Malformed,
                        format!("`{text}`: it is one of {names}"),
                    )
                })
            }
        }
    };
}

pub(crate) use names;
