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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{label, route, trace};

    /// Names on the command line and those of the library's values.
    fn names<A: ValueEnum, T: From<A>>(name_of: impl Fn(T) -> String) -> [Vec<String>; 2] {
        let values = A::value_variants();
        let here = values.iter().map(name).collect();
        let there = values.iter().map(|value| name_of(value.clone().into()));
        [here, there.collect()]
    }

    #[test]
    fn values_are_named_as_in_the_library() {
        macro_rules! check {
            ($($here:path => $there:path,)*) => {
                $(
                    let [here, there] = names::<$here, $there>(|value| value.to_string());
                    assert_eq!(here, there);
                    let all: Vec<_> = <$there>::ALL.iter().map(|value| value.name()).collect();
                    assert_eq!(here, all);
                )*
            };
        }
        check! {
            trace::Retrieval => trazar::Retrieval,
            trace::Approximation => trazar::Approximation,
            trace::Geometry => trazar::Geometry,
            trace::TraceAlgorithm => trazar::TraceAlgorithm,
            label::LabelAlgorithm => trazar::LabelAlgorithm,
        }
        let by_name = |value: Option<trazar::RouteAlgorithm>| {
            value.map_or("auto".to_owned(), |algorithm| algorithm.to_string())
        };
        let [here, there] = names::<route::RouteAlgorithm, Option<_>>(by_name);
        assert_eq!(here, there);
        assert_eq!(here.len(), 1 + trazar::RouteAlgorithm::ALL.len());
        let by_name = |value: Option<trazar::TreeKind>| {
            value.map_or("fewest-edges".to_owned(), |tree| tree.to_string())
        };
        let [here, there] = names::<route::TreeKind, Option<_>>(by_name);
        assert_eq!(here, there);
        assert_eq!(here.len(), 1 + trazar::TreeKind::ALL.len());
    }
}
