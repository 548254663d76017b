//! Regions as SVG.

use std::io::Write;

use glam::IVec2;

use super::source::{Region, RegionSource, RegionWriteOptions, write_each};
use super::value::{FileValue, Written};
use crate::Result;
use crate::formats::colour::colour_of;
use crate::formats::shares::ShareText;
use crate::formats::svg_start::put_start;
use crate::formats::text::Text;
use crate::trace::ContourSource;

/// Writes an SVG picture with one unit per pixel. Each region is one path with its holes, filled
/// with a colour that depends on the value alone. A pointer over a region shows its value, number
/// and area.
///
/// Coordinates are pixels, whatever the options' georeference.
///
/// # Errors
/// [`Error::Write`](crate::Error::Write).
pub fn write_regions_svg(
    regions: &impl RegionSource,
    options: &RegionWriteOptions,
    mut out: impl Write,
) -> Result<()> {
    let mut text = Text::new(&mut out)?;
    let (width, height) = (regions.rings().width(), regions.rings().height());
    put_start(&mut text, width, height, "Regions");
    text.put("<desc>regions of equal value, of a raster of ");
    text.integer(width).put(" x ").integer(height);
    text.put(" pixels; by trazar</desc>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    // Without anti-aliasing, nothing shows between neighbours.
    text.put("<g fill-rule=\"evenodd\" shape-rendering=\"crispEdges\">\n");
    text.finish()?;
    write_each(regions, options.min_area, put_region, "", &mut out)?;
    out.write_all(b"</g>\n</svg>\n")?;
    Ok(out.flush()?)
}

fn put_region<T: FileValue>(text: &mut ShareText<'_>, region: &Region<'_, T>) -> Result<()> {
    let [red, green, blue] = colour_of(colour_number(region.value));
    text.put("<path fill=\"#");
    text.display(format_args!("{red:02x}{green:02x}{blue:02x}"));
    text.put("\" d=\"");
    put_ring(text, region.outer())?;
    for hole in region.holes() {
        put_ring(text, hole)?;
    }
    text.put("\"><title>value ");
    match region.value.whole() {
        Some(whole) => text.integer(whole),
        None => text.display(format_args!(
            "{:?}",
            region.value.float().unwrap_or_default()
        )),
    };
    text.put(", region ").integer(region.number);
    text.put(", area ").integer(region.area());
    text.put("</title></path>\n");
    Ok(())
}

/// The number by which a value's colour is chosen.
fn colour_number(value: impl Written) -> u32 {
    match value.whole() {
        // Small numbers have colours that differ much; 0 is a value like others.
        Some(whole) => whole.wrapping_add(1) as u32,
        None => {
            let bits = value.float().unwrap_or_default().to_bits();
            bits.wrapping_mul(0x9e37_79b9) >> 8
        }
    }
}

/// Puts a ring in relative coordinates.
fn put_ring(text: &mut ShareText<'_>, ring: &[IVec2]) -> Result<()> {
    let mut last: Option<IVec2> = None;
    for &point in ring {
        match last {
            None => text.put("M").integer(point.x).put(" ").integer(point.y),
            Some(at) if at.y == point.y => text.put("h").integer(point.x - at.x),
            Some(at) if at.x == point.x => text.put("v").integer(point.y - at.y),
            Some(at) => {
                let by = point - at;
                text.put("l").integer(by.x).put(" ").integer(by.y)
            }
        };
        last = Some(point);
        text.write_full()?;
    }
    text.put("z");
    Ok(())
}
