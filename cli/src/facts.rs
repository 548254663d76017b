//! Facts about an input or a result, for the summary.

use serde_json::Value;

/// The same facts twice: one line of text for a person, and an object's values for a script.
pub(crate) struct Facts {
    pub(crate) text: String,
    pub(crate) values: Value,
}

/// `number` with the noun that fits it.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
