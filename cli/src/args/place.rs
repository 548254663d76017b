//! Where results are, and which pixels have no data.

use clap::ValueEnum;
use trazar::formats;

/// The coordinates of results.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum Coordinates {
    /// Columns and rows from the image's top left corner: x right, y down
    Pixels,
    /// Those of the file's CRS, by its transform
    World,
}

/// The value of pixels without data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum NoDataArg {
    /// No pixel lacks data, whatever the file says.
    None,
    Value(f64),
}

pub(super) fn no_data(text: &str) -> Result<NoDataArg, String> {
    if text == "none" {
        return Ok(NoDataArg::None);
    }
    match text.parse::<f64>() {
        Ok(value) => Ok(NoDataArg::Value(value)),
        Err(_) => Err("not a value: give a number, nan, or none".into()),
    }
}

/// The library's option for the argument.
pub(crate) fn no_data_option(argument: Option<NoDataArg>) -> formats::NoData {
    match argument {
        None => formats::NoData::OfFile,
        Some(NoDataArg::None) => formats::NoData::None,
        Some(NoDataArg::Value(value)) => formats::NoData::Value(value),
    }
}
