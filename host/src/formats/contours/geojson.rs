//! Contours as GeoJSON.

use std::io::Write;
use std::ops::Range;

use glam::IVec2;

use super::component::Component;
use crate::formats::text::Text;
use crate::geometry::doubled_area;
use crate::memory::push;
use crate::trace::ContourSource;
use crate::{BorderKind, Result};

/// Writes a GeoJSON feature collection in pixel coordinates: x right, y down, without a
/// geographic reference.
///
/// Each outer border is a `Polygon` with the holes directly inside it as interior rings; a hole
/// that is linked to no outer border ([`Retrieval::List`](crate::Retrieval::List)) is a polygon of
/// its own. Rings have the winding that RFC 7946 requires of the numbers, as if y pointed up:
/// exterior rings are counter-clockwise, interior ones clockwise. A contour without an area (one
/// point, or a line walked there and back) is a `Point` or a `LineString`.
///
/// The properties are `kind` (`"outer"` or `"hole"`) and `area`, in pixels and without holes.
///
/// With [`Geometry::Edges`](crate::Geometry::Edges) all polygons are valid in the sense of the
/// OGC's simple features. With [`Geometry::Centers`](crate::Geometry::Centers) the border of a
/// component with parts one pixel wide touches itself or its holes, so the polygon is not valid.
///
/// # Errors
/// [`Error::Write`](crate::Error::Write).
pub fn write_contours_geojson(contours: &impl ContourSource, out: impl Write) -> Result<()> {
    let mut text = Text::new(out)?;
    text.put("{ \"type\": \"FeatureCollection\", \"features\": [");
    write_features(contours, 0..contours.len(), &mut text, ["", ",", ""])?;
    text.put("]}");
    text.finish()
}

/// Writes GeoJSON features one per line, as [`write_contours_geojson`] writes them in a collection:
/// those of the contours with an index in `indices`. Several files, or processes, can thus have a
/// share each.
///
/// A hole is written with its outer border, whatever its own index.
///
/// # Errors
/// As [`write_contours_geojson`].
///
/// # Panics
/// If there are not that many contours.
///
/// ```
/// use trazar::formats::write_contours_geojson_lines;
/// use trazar::{BinaryImage, Engine, TraceOptions};
///
/// let image = BinaryImage::from_art("#.#\n#.#")?;
/// let contours = Engine::cpu().trace(&image, &TraceOptions::default())?;
/// let mut lines = Vec::new();
/// write_contours_geojson_lines(&contours, 1..2, &mut lines)?;
/// assert!(lines.starts_with(b"{\"type\":\"Feature\",") && lines.ends_with(b"}\n"));
/// # Ok::<(), trazar::Error>(())
/// ```
pub fn write_contours_geojson_lines(
    contours: &impl ContourSource,
    indices: Range<usize>,
    out: impl Write,
) -> Result<()> {
    let mut text = Text::new(out)?;
    write_features(contours, indices, &mut text, ["", "", "\n"])?;
    text.finish()
}

/// Writes the features of some contours. The texts come before the first one, before each other
/// one, and after each.
fn write_features(
    contours: &impl ContourSource,
    indices: Range<usize>,
    text: &mut Text<impl Write>,
    [mut before, between, after]: [&str; 3],
) -> Result<()> {
    let mut component = Component::default();
    for index in indices {
        let kind = contours.kinds()[index];
        if kind == BorderKind::Hole && contours.links(index).parent.is_some() {
            // It is written with its outer border.
            continue;
        }
        let rings = component.rings(contours, index)?;
        let Some((&outer, inside)) = rings.split_first() else {
            continue;
        };
        let area = doubled_area(outer);
        let mut holes = Vec::new();
        let mut flat = Vec::new();
        if kind == BorderKind::Outer {
            for &hole in inside {
                // A Teh-Chin approximation can reduce a hole to two points.
                let holes = match area != 0 && doubled_area(hole) != 0 {
                    true => &mut holes,
                    false => &mut flat,
                };
                push(holes, hole, "the holes of a component")?;
            }
        }
        write_feature(text.put(before), kind, outer, &holes)?;
        text.put(after);
        before = between;
        for hole in flat {
            write_feature(text.put(before), BorderKind::Hole, hole, &[])?;
            text.put(after);
        }
    }
    Ok(())
}

fn write_feature(
    text: &mut Text<impl Write>,
    kind: BorderKind,
    points: &[IVec2],
    holes: &[&[IVec2]],
) -> Result<()> {
    text.put("{\"type\":\"Feature\",\"geometry\":{\"type\":\"");
    if doubled_area(points) != 0 {
        text.put("Polygon\",\"coordinates\":[");
        write_ring(text, points, Winding::CounterClockwise)?;
        for hole in holes {
            write_ring(text.put(","), hole, Winding::Clockwise)?;
        }
        text.put("]");
    } else if let [point] = points {
        text.put("Point\",\"coordinates\":");
        write_position(text, *point)?;
    } else {
        text.put("LineString\",\"coordinates\":");
        // A line of more than two points is walked there and back.
        let back = points.first().filter(|_| points.len() > 2);
        write_positions(text, points.iter().chain(back))?;
    }
    let area = area(points) - holes.iter().map(|hole| area(hole)).sum::<f64>();
    let kind = match kind {
        BorderKind::Outer => "outer",
        BorderKind::Hole => "hole",
    };
    // A number of half pixels, which `Debug` writes in full.
    text.put(&format!(
        "}},\"properties\":{{\"area\":{area:?},\"kind\":\"{kind}\"}}}}"
    ));
    text.write_full()
}

/// The area of a polygon, never negative.
fn area(points: &[IVec2]) -> f64 {
    doubled_area(points).unsigned_abs() as f64 / 2.0
}

#[derive(Clone, Copy, PartialEq)]
enum Winding {
    Clockwise,
    CounterClockwise,
}

/// Writes a closed ring of this winding, with y pointing up.
fn write_ring(text: &mut Text<impl Write>, points: &[IVec2], winding: Winding) -> Result<()> {
    // The area is positive if the points run counter-clockwise with y pointing down.
    let now = if doubled_area(points) > 0 {
        Winding::Clockwise
    } else {
        Winding::CounterClockwise
    };
    let closed = points.iter().chain(points.first());
    if now == winding {
        write_positions(text, closed)
    } else {
        write_positions(text, closed.rev())
    }
}

fn write_positions<'a>(
    text: &mut Text<impl Write>,
    points: impl Iterator<Item = &'a IVec2>,
) -> Result<()> {
    let mut between = "[";
    for point in points {
        write_position(text.put(between), *point)?;
        between = ",";
    }
    text.put("]");
    Ok(())
}

fn write_position(text: &mut Text<impl Write>, point: IVec2) -> Result<()> {
    text.put("[").integer(point.x).put(".0,");
    text.integer(point.y).put(".0]").write_full()
}
