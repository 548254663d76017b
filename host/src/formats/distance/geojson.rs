//! Paths as GeoJSON.

use std::io::Write;

use super::sources::CellOf;
use crate::Result;
use crate::distance::Path;
use crate::formats::text::Text;

/// Writes paths as a GeoJSON feature collection: a `LineString` through the centres of each path's
/// cells, from the source on, a `Point` for a path of one cell. The property `cost` is what it
/// costs.
///
/// Coordinates are those of the raster's transform; without one, x is the column plus a half, to
/// the right, and y the row plus a half, down. With a code of the EPSG registry, the collection
/// names it as `crs`.
///
/// # Errors
/// [`Error::Write`](crate::Error::Write).
pub fn write_paths_geojson(
    paths: &[Path],
    cells: &CellOf,
    epsg: Option<u32>,
    out: impl Write,
) -> Result<()> {
    let mut text = Text::new(out)?;
    text.put("{\"type\":\"FeatureCollection\",");
    if let Some(code) = epsg {
        text.display(format_args!(
            "\"crs\":{{\"type\":\"name\",\"properties\":{{\"name\":\"urn:ogc:def:crs:EPSG::{code}\"\
             }}}},"
        ));
    }
    text.put("\"features\":[");
    for (i, path) in paths.iter().enumerate() {
        text.put(if i == 0 { "\n" } else { ",\n" });
        text.display(format_args!(
            "{{\"type\":\"Feature\",\"properties\":{{\"cost\":{}}},\"geometry\":{{\"type\":",
            path.cost()
        ));
        let is_line = path.cells().len() > 1;
        text.put(if is_line {
            "\"LineString\",\"coordinates\":["
        } else {
            "\"Point\",\"coordinates\":"
        });
        for (i, &(x, y)) in path.cells().iter().enumerate() {
            let (x, y) = cells.centre(x, y);
            text.put(if i == 0 { "" } else { "," });
            text.display(format_args!("[{x},{y}]"));
            text.write_full()?;
        }
        text.put(if is_line { "]}}" } else { "}}" });
    }
    text.put("\n]}\n");
    text.finish()
}
