//! Regions as GeoJSON.

use std::io::Write;

use super::source::{Region, RegionSource, RegionWriteOptions, visit};
use super::value::{FileValue, put_json};
use crate::Result;
use crate::formats::contours::{start_collection, write_rings};
use crate::formats::placement::Placement;
use crate::formats::text::Text;

/// Writes a GeoJSON feature collection: for each region a `Polygon` with its holes.
///
/// The properties are `value`; `region`, the region's number; and `area`, in pixels. Values that
/// are infinite are `null`. Coordinates, rings and the member `crs` are as in
/// [`write_contours_geojson_in`](crate::formats::write_contours_geojson_in).
///
/// # Errors
/// [`Error::Write`](crate::Error::Write).
pub fn write_regions_geojson(
    regions: &impl RegionSource,
    options: &RegionWriteOptions,
    out: impl Write,
) -> Result<()> {
    let placement = placement(options);
    let mut text = Text::new(out)?;
    start_collection(&mut text, &placement);
    write_features(regions, options, &placement, &mut text, ["", ",", ""])?;
    text.put("]}");
    text.finish()
}

/// Writes the features of [`write_regions_geojson`] one per line, for programs that read a file
/// line by line (GeoJSONL). The file has no place for a CRS.
///
/// # Errors
/// As [`write_regions_geojson`].
pub fn write_regions_geojson_lines(
    regions: &impl RegionSource,
    options: &RegionWriteOptions,
    out: impl Write,
) -> Result<()> {
    write_sequence(regions, options, out, "")
}

/// Writes the features of [`write_regions_geojson`] as a GeoJSON text sequence (RFC 8142): each
/// begins with the record separator, U+001E, and ends with a line feed. The file has no place for a
/// CRS.
///
/// # Errors
/// As [`write_regions_geojson`].
pub fn write_regions_geojson_sequence(
    regions: &impl RegionSource,
    options: &RegionWriteOptions,
    out: impl Write,
) -> Result<()> {
    write_sequence(regions, options, out, "\u{1e}")
}

fn write_sequence(
    regions: &impl RegionSource,
    options: &RegionWriteOptions,
    out: impl Write,
    before: &str,
) -> Result<()> {
    let mut text = Text::new(out)?;
    let around = [before, before, "\n"];
    write_features(regions, options, &placement(options), &mut text, around)?;
    text.finish()
}

pub(super) fn placement(options: &RegionWriteOptions) -> Placement {
    Placement::new(&options.georeference.unwrap_or_default(), 0.0)
}

/// Writes all features. The texts come before the first one, before each other one, and after each.
fn write_features(
    regions: &impl RegionSource,
    options: &RegionWriteOptions,
    placement: &Placement,
    text: &mut Text<impl Write>,
    [mut before, between, after]: [&str; 3],
) -> Result<()> {
    visit(regions, options.min_area, |region| {
        text.put(before);
        write_feature(text, placement, &region)?;
        text.put(after);
        before = between;
        Ok(())
    })
}

fn write_feature<T: FileValue>(
    text: &mut Text<impl Write>,
    placement: &Placement,
    region: &Region<'_, T>,
) -> Result<()> {
    text.put("{\"type\":\"Feature\",\"properties\":{\"value\":");
    put_json(text, region.value);
    text.put(",\"region\":").integer(region.number);
    text.put(",\"area\":").integer(region.area);
    text.put("},\"geometry\":{\"type\":\"Polygon\",\"coordinates\":");
    write_rings(text, placement, region.outer(), region.holes())?;
    text.put("}}");
    text.write_full()
}
