//! The coordinates of a file's results.

use std::path::Path;

use trazar::formats::{Crs, GeoReference, Note};

use crate::args::Coordinates;
use crate::failure::Failure;

/// The georeference to write results in; `None` for pixels.
///
/// `read` gives the georeference of the file at `path`. It is not asked where it is not needed, so
/// that files with a wrong one can be used.
pub(crate) fn placed(
    path: &Path,
    asked: Option<Coordinates>,
    read: impl FnOnce() -> trazar::Result<Option<GeoReference>>,
) -> Result<Option<GeoReference>, Failure> {
    if asked == Some(Coordinates::Pixels) {
        return Ok(None);
    }
    let found = read().map_err(|error| match error {
        trazar::Error::Unreadable { .. } => {
            Failure::Failed(format!("{error} (--coordinates pixels)"))
        }
        other => other.into(),
    })?;
    let found = found.filter(|found| found.transform.is_some());
    if found.is_none() && asked == Some(Coordinates::World) {
        return Err(Failure::usage(format!(
            "{}: the file has no transform to coordinates: leave --coordinates out, or use pixels",
            path.display()
        )));
    }
    Ok(found)
}

/// Removes or replaces the note that a georeference is left out, if results are in its coordinates.
pub(crate) fn correct_notes(notes: &mut Vec<String>, of_file: &[Note], placed: &GeoReference) {
    let left_out = |note: &Note| matches!(note, Note::Georeference { .. });
    for note in of_file.iter().filter(|note| left_out(note)) {
        let text = note.to_string();
        notes.retain(|other| *other != text);
    }
    if placed.crs == Some(Crs::Other) {
        notes.push("the file's CRS has no EPSG code and is left out".into());
    }
}
