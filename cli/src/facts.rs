//! Facts about an input or a result, for the summary.

use serde_json::{Value, json};

/// The same facts twice: one line of text for a person, and an object's values for a script.
pub(crate) struct Facts {
    pub(crate) text: String,
    pub(crate) values: Value,
}

impl Facts {
    /// With how they were found: of `height` rows, in bands of `rows`.
    pub(crate) fn in_bands(mut self, height: u32, rows: u32) -> Self {
        let bands = count(height.div_ceil(rows).into(), "band", "bands");
        self.text += &format!(", in {bands} of {rows} rows");
        self.values["rows_of_band"] = json!(rows);
        self
    }
}

/// `number` with the noun that fits it.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
