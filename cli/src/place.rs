//! The coordinates of a file's results.

use std::path::Path;

use trazar::formats::GeoReference;

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
