//! Contours as GeoJSON.

use std::io::{BufWriter, Write};

use ::geojson::{Feature, FeatureWriter, GeometryValue, JsonObject, Position};
use glam::IVec2;

use crate::geometry::doubled_area;
use crate::{BorderKind, Contour, Contours, Error, Result};

/// Writes a GeoJSON feature collection in pixel coordinates: x right, y down, without a
/// geographic reference.
///
/// Each outer border is a `Polygon` with the holes directly inside it as interior rings; a
/// hole that is linked to no outer border ([`Retrieval::List`](crate::Retrieval::List)) is a
/// polygon of its own. Rings have the winding that RFC 7946 requires, with y pointing up:
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
/// [`Error::Write`].
pub fn write_geojson(contours: &Contours, out: impl Write) -> Result<()> {
    let mut writer = FeatureWriter::from_writer(BufWriter::with_capacity(1 << 16, out));
    for contour in contours.iter() {
        if contour.kind() == BorderKind::Hole && contour.links().parent.is_some() {
            // It is written with its outer border.
            continue;
        }
        let area = doubled_area(contour.points());
        let mut holes = Vec::new();
        let mut flat = Vec::new();
        if contour.kind() == BorderKind::Outer {
            for hole in contour.children() {
                // A Teh-Chin approximation can reduce a hole to two points.
                if area != 0 && hole.area() > 0.0 {
                    holes.push(hole);
                } else {
                    flat.push(hole);
                }
            }
        }
        write_feature(&mut writer, contour, &holes)?;
        for hole in flat {
            write_feature(&mut writer, hole, &[])?;
        }
    }
    writer.finish().map_err(explain)?;
    writer.flush().map_err(explain)
}

fn write_feature(
    writer: &mut FeatureWriter<impl Write>,
    contour: Contour<'_>,
    holes: &[Contour<'_>],
) -> Result<()> {
    let points = contour.points();
    let value = if doubled_area(points) != 0 {
        let exterior = ring(points, Winding::CounterClockwise);
        let interior = holes
            .iter()
            .map(|hole| ring(hole.points(), Winding::Clockwise));
        GeometryValue::Polygon {
            coordinates: std::iter::once(exterior).chain(interior).collect(),
        }
    } else {
        match points {
            [] => return Ok(()),
            [point] => GeometryValue::Point {
                coordinates: position(point),
            },
            [from, to] => GeometryValue::LineString {
                coordinates: vec![position(from), position(to)],
            },
            walk => GeometryValue::LineString {
                coordinates: walk.iter().chain(walk.first()).map(position).collect(),
            },
        }
    };
    let area = contour.area() - holes.iter().map(Contour::area).sum::<f64>();
    let kind = match contour.kind() {
        BorderKind::Outer => "outer",
        BorderKind::Hole => "hole",
    };
    let mut properties = JsonObject::new();
    properties.insert("kind".into(), kind.into());
    properties.insert("area".into(), area.into());
    let feature = Feature {
        geometry: Some(value.into()),
        properties: Some(properties),
        ..Feature::default()
    };
    writer.write_feature(&feature).map_err(explain)
}

#[derive(Clone, Copy, PartialEq)]
enum Winding {
    Clockwise,
    CounterClockwise,
}

/// A closed ring of this winding, with y pointing up.
fn ring(points: &[IVec2], winding: Winding) -> Vec<Position> {
    // The area is positive if the points run counter-clockwise with y pointing down.
    let now = if doubled_area(points) > 0 {
        Winding::Clockwise
    } else {
        Winding::CounterClockwise
    };
    let closed = points.iter().chain(points.first()).map(position);
    if now == winding {
        closed.collect()
    } else {
        closed.rev().collect()
    }
}

fn position(point: &IVec2) -> Position {
    Position::from([f64::from(point.x), f64::from(point.y)])
}

fn explain(error: ::geojson::Error) -> Error {
    Error::Write(match error {
        ::geojson::Error::Io(error) => error,
        ::geojson::Error::MalformedGeoJson(error) => error.into(),
        other => std::io::Error::other(other),
    })
}
