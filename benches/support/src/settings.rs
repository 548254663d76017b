//! Settings of the benches, from environment variables.

use std::str::FromStr;

use trazar::Result;
use trazar::error::{OptionError, OptionProblem};

/// The items of a list with commas in `variable`, or in `default` if it is not set.
pub fn list(variable: &str, default: &str) -> Vec<String> {
    std::env::var(variable)
        .unwrap_or_else(|_| default.to_owned())
        .split(',')
        .map(|item| item.trim().to_owned())
        .filter(|item| !item.is_empty())
        .collect()
}

/// The numbers of such a list.
///
/// # Errors
/// An item is not a number.
pub fn numbers<T: FromStr>(variable: &str, default: &str) -> Result<Vec<T>> {
    let number = |item: &String| {
        item.parse().map_err(|_| {
            OptionError::new(
                "variable",
                OptionProblem::Malformed,
                format!(
                    "{variable}: `{item}` is not a number: give some, with commas between them"
                ),
            )
            .into()
        })
    };
    list(variable, default).iter().map(number).collect()
}

/// Whether a part of a bench is to run: `variable` is not 0.
pub fn is_wanted(variable: &str) -> bool {
    std::env::var_os(variable).is_none_or(|value| value != "0")
}
