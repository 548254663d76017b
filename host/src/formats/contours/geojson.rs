//! Contours as GeoJSON.

use std::io::Write;
use std::ops::Range;

use glam::IVec2;

use super::component::Component;
use crate::formats::image::GeoReference;
use crate::formats::placement::{Placement, Winding};
use crate::formats::shares::{Share, ShareText, family_shares, write_shares};
use crate::formats::text::Text;
use crate::geometry::doubled_area;
use crate::memory::push;
use crate::trace::{ContourSource, PointRoom};
use crate::{BorderKind, Geometry, Result};

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
    write_collection(contours, &Placement::pixels(), out)
}

/// Writes a GeoJSON feature collection in the coordinates of a georeference, whose transform maps
/// pixels to them. Without a transform, coordinates are pixels.
///
/// All else is as in [`write_contours_geojson`]: rings are counter-clockwise, or clockwise for
/// holes, with the second coordinate pointing up; areas are in pixels. With
/// [`Geometry::Centers`](crate::Geometry::Centers), a point is the center of its pixel.
///
/// RFC 7946 knows longitudes and latitudes of WGS 84 (EPSG:4326) only. Coordinates of another CRS
/// are written as they are, and the collection has a member `crs` that names it, as in GeoJSON of
/// 2008: `urn:ogc:def:crs:EPSG::N`. GDAL writes and reads such files too, with the easting or
/// longitude first.
///
/// # Errors
/// [`Error::Write`](crate::Error::Write).
pub fn write_contours_geojson_in(
    contours: &impl ContourSource,
    georeference: &GeoReference,
    out: impl Write,
) -> Result<()> {
    let half = match contours.geometry() {
        Geometry::Centers => 0.5,
        Geometry::Edges => 0.0,
    };
    write_collection(contours, &Placement::new(georeference, half), out)
}

fn write_collection(
    contours: &impl ContourSource,
    placement: &Placement,
    mut out: impl Write,
) -> Result<()> {
    let mut text = Text::new(&mut out)?;
    start_collection(&mut text, placement);
    text.finish()?;
    write_features(contours, 0..contours.len(), placement, [",", ""], &mut out)?;
    out.write_all(b"]}")?;
    Ok(out.flush()?)
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
    mut out: impl Write,
) -> Result<()> {
    write_features(
        contours,
        indices,
        &Placement::pixels(),
        ["", "\n"],
        &mut out,
    )?;
    Ok(out.flush()?)
}

/// Writes the start of a feature collection, up to its first feature.
pub(in crate::formats) fn start_collection(text: &mut Text<impl Write>, placement: &Placement) {
    text.put("{ \"type\": \"FeatureCollection\", ");
    // Without the member, coordinates are those of EPSG:4326.
    if let Some(code) = placement.epsg().filter(|&code| code != 4326) {
        text.put("\"crs\": {\"type\":\"name\",\"properties\":{\"name\":\"urn:ogc:def:crs:EPSG::");
        text.integer(code).put("\"}}, ");
    }
    text.put("\"features\": [");
}

/// Writes the features of some contours, separated by `between`. `after` follows each of them.
fn write_features(
    contours: &impl ContourSource,
    indices: Range<usize>,
    placement: &Placement,
    [between, after]: [&str; 2],
    out: impl Write,
) -> Result<()> {
    let has_feature = |index| {
        contours.kinds()[index] == BorderKind::Outer || contours.links(index).parent.is_none()
    };
    let encode = |share: &Share, room: &mut PointRoom, text: &mut ShareText<'_>| {
        let near = share.read(contours, room)?;
        let mut component = Component::default();
        let mut before = "";
        // Other contours are written with their outer border.
        for index in share.contours.clone().filter(|&index| has_feature(index)) {
            let kind = contours.kinds()[index];
            let rings = component.rings(contours, index, near)?;
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
            write_feature(text.put(before), placement, kind, outer, &holes)?;
            text.put(after);
            before = between;
            for hole in flat {
                write_feature(text.put(before), placement, BorderKind::Hole, hole, &[])?;
                text.put(after);
            }
        }
        Ok(())
    };
    let shares = family_shares(contours, indices, has_feature);
    write_shares(shares, encode, between, out)
}

fn write_feature(
    text: &mut Text<impl Write>,
    placement: &Placement,
    kind: BorderKind,
    points: &[IVec2],
    holes: &[&[IVec2]],
) -> Result<()> {
    text.put("{\"type\":\"Feature\",\"geometry\":{\"type\":\"");
    if doubled_area(points) != 0 {
        text.put("Polygon\",\"coordinates\":");
        write_rings(text, placement, points, holes)?;
    } else if let [point] = points {
        text.put("Point\",\"coordinates\":");
        write_position(text, placement, *point)?;
    } else {
        text.put("LineString\",\"coordinates\":");
        // A line of more than two points is walked there and back.
        let back = points.first().filter(|_| points.len() > 2);
        write_positions(text, placement, points.iter().chain(back))?;
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

/// Writes the coordinates of a polygon, whose exterior ring is counter-clockwise.
pub(in crate::formats) fn write_rings(
    text: &mut Text<impl Write>,
    placement: &Placement,
    outer: &[IVec2],
    holes: &[&[IVec2]],
) -> Result<()> {
    write_ring(text.put("["), placement, outer, Winding::CounterClockwise)?;
    for hole in holes {
        write_ring(text.put(","), placement, hole, Winding::Clockwise)?;
    }
    text.put("]");
    Ok(())
}

/// Writes a closed ring of this winding.
fn write_ring(
    text: &mut Text<impl Write>,
    placement: &Placement,
    points: &[IVec2],
    winding: Winding,
) -> Result<()> {
    let closed = points.iter().chain(points.first());
    if placement.winding(points) == winding {
        write_positions(text, placement, closed)
    } else {
        write_positions(text, placement, closed.rev())
    }
}

fn write_positions<'a>(
    text: &mut Text<impl Write>,
    placement: &Placement,
    points: impl Iterator<Item = &'a IVec2>,
) -> Result<()> {
    let mut between = "[";
    for point in points {
        write_position(text.put(between), placement, *point)?;
        between = ",";
    }
    text.put("]");
    Ok(())
}

fn write_position(text: &mut Text<impl Write>, placement: &Placement, point: IVec2) -> Result<()> {
    if placement.is_pixels() {
        text.put("[").integer(point.x).put(".0,");
        return text.integer(point.y).put(".0]").write_full();
    }
    let (x, y) = placement.position(point);
    text.put("[")
        .float(x)
        .put(",")
        .float(y)
        .put("]")
        .write_full()
}
