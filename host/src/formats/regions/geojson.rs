//! Regions as GeoJSON.

use std::io::Write;

use super::source::{Region, RegionSource, RegionWriteOptions, write_each};
use super::value::{FileValue, put_json};
use crate::Result;
use crate::formats::contours::{start_collection, write_rings};
use crate::formats::placement::Placement;
use crate::formats::shares::ShareText;
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
    mut out: impl Write,
) -> Result<()> {
    let placement = placement(options);
    let mut text = Text::new(&mut out)?;
    start_collection(&mut text, &placement);
    text.finish()?;
    write_features(regions, options, ",", ["", ""], &mut out)?;
    out.write_all(b"]}")?;
    Ok(out.flush()?)
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
    write_features(regions, options, "", ["", "\n"], out)
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
    write_features(regions, options, "", ["\u{1e}", "\n"], out)
}

pub(super) fn placement(options: &RegionWriteOptions) -> Placement {
    Placement::new(&options.georeference.unwrap_or_default(), 0.0)
}

/// Writes all features, separated by `between`. `before` and `after` enclose each of them.
fn write_features<S: RegionSource>(
    regions: &S,
    options: &RegionWriteOptions,
    between: &str,
    [before, after]: [&str; 2],
    mut out: impl Write,
) -> Result<()> {
    let placement = placement(options);
    let encode = |text: &mut ShareText<'_>, region: &Region<'_, S::Value>| {
        write_feature(text.put(before), &placement, region)?;
        text.put(after);
        Ok(())
    };
    write_each(regions, options.min_area, encode, between, &mut out)?;
    Ok(out.flush()?)
}

fn write_feature<T: FileValue>(
    text: &mut Text<impl Write>,
    placement: &Placement,
    region: &Region<'_, T>,
) -> Result<()> {
    text.put("{\"type\":\"Feature\",\"properties\":{\"value\":");
    put_json(text, region.value);
    text.put(",\"region\":").integer(region.number);
    text.put(",\"area\":").integer(region.area());
    text.put("},\"geometry\":{\"type\":\"Polygon\",\"coordinates\":");
    write_rings(text, placement, region.outer(), region.holes())?;
    text.put("}}");
    text.write_full()
}
