//! Arguments that take one of a few values, each of which is a value of the library's.

use clap::ValueEnum;

/// Defines an argument's values, and converts each into the library's.
macro_rules! values {
    ($name:ident => $type:ty { $($(#[$meta:meta])* $value:ident => $to:expr,)* }) => {
        #[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
        pub(crate) enum $name {
            $($(#[$meta])* $value,)*
        }

        impl From<$name> for $type {
            fn from(value: $name) -> Self {
                match value {
                    $($name::$value => $to,)*
                }
            }
        }
    };
}

pub(super) use values;

/// The name that stands for `value` on the command line.
pub(crate) fn name(value: &impl ValueEnum) -> String {
    let name = value.to_possible_value();
    name.map_or_else(String::new, |name| name.get_name().to_owned())
}
