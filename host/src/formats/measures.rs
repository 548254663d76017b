//! Measures of labels as CSV.

use std::io::Write;

use crate::error::{Error, Result};
use crate::measure::{Column, Measures, Values};

/// Writes a header with the columns' names, and one line per label.
///
/// Floating-point numbers have as many digits as tell them apart from all others; NaN is `NaN`.
///
/// ```
/// use trazar::formats::write_measures_csv;
/// use trazar::measure::{MeasureOptions, Property};
/// use trazar::{Engine, Samples};
///
/// let labels = Samples::new(3, 2, &[7u16, 7, 0, 0, 7, 5])?;
/// let options = MeasureOptions::default().properties([Property::Label, Property::Centroid]);
/// let mut csv = Vec::new();
/// write_measures_csv(&Engine::cpu().measure(labels, &options)?, &mut csv)?;
/// assert_eq!(
///     csv,
///     b"label,centroid-0,centroid-1\n5,1,2\n7,0.3333333333333333,0.6666666666666666\n"
/// );
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// # Errors
/// [`Error::Write`].
pub fn write_measures_csv(measures: &Measures, out: impl Write) -> Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    let columns = measures.columns();
    if columns.is_empty() {
        return Ok(csv.flush()?);
    }
    csv.write_record(columns.iter().map(Column::name))
        .map_err(csv_error)?;
    for row in 0..measures.len() {
        for column in columns {
            let field = match column.values() {
                Values::Integers(values) => values[row].to_string(),
                Values::Floats(values) => values[row].to_string(),
            };
            csv.write_field(field).map_err(csv_error)?;
        }
        csv.write_record(None::<&[u8]>).map_err(csv_error)?;
    }
    Ok(csv.flush()?)
}

/// The error of a failed write.
pub(super) fn csv_error(error: csv::Error) -> Error {
    Error::Write(match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => std::io::Error::other(format!("{other:?}")),
    })
}
