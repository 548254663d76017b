//! The components' statistics as CSV.

use std::io::Write;

use crate::Labels;
use crate::error::{Error, OptionProblem, Result};

/// Writes one line per component, from label 1 on, after the header
/// `label,area,x_min,y_min,x_max,y_max,centroid_x,centroid_y`.
///
/// Areas are pixel counts; a box's corners are pixels that belong to it; centroids are means of
/// the pixels' integer coordinates.
///
/// # Errors
/// [`Error::InvalidOption`] if the labels have no statistics; [`Error::Write`].
pub fn write_statistics(labels: &Labels, out: impl Write) -> Result<()> {
    let components = labels.components().ok_or_else(|| {
        Error::option(
            "statistics",
            OptionProblem::Missing,
            "the labels come without statistics: label with statistics on",
        )
    })?;
    let mut csv = csv::Writer::from_writer(out);
    let header = [
        "label",
        "area",
        "x_min",
        "y_min",
        "x_max",
        "y_max",
        "centroid_x",
        "centroid_y",
    ];
    csv.write_record(header).map_err(explain)?;
    for (index, component) in components.iter().enumerate() {
        let bounds = component.bounding_box;
        csv.write_record([
            (index + 1).to_string(),
            component.area.to_string(),
            bounds.min.x.to_string(),
            bounds.min.y.to_string(),
            bounds.max.x.to_string(),
            bounds.max.y.to_string(),
            component.centroid.x.to_string(),
            component.centroid.y.to_string(),
        ])
        .map_err(explain)?;
    }
    Ok(csv.flush()?)
}

fn explain(error: csv::Error) -> Error {
    Error::Write(match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => std::io::Error::other(format!("{other:?}")),
    })
}
