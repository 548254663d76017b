//! Regions as GDSII.

use std::io::Write;

use super::source::{Region, RegionSource, RegionWriteOptions, write_each};
use super::value::FileValue;
use crate::Result;
use crate::error::{Error, WriteProblem};
use crate::formats::contours::{GdsOptions, GdsRecords};
use crate::formats::shares::ShareText;
use crate::trace::ContourSource;

/// The largest layer.
const MAX_LAYER: i64 = 32767;

/// Writes regions as GDSII boundaries, each on the layer whose number is its value.
///
/// Coordinates, and the division of boundaries with holes or too many vertices, are those of
/// [`write_contours_gds`](crate::formats::write_contours_gds), whatever the options' georeference.
/// The layer of `gds` is not used. The regions must be 4-connected, and not simplified.
///
/// # Errors
/// [`Error::Unwritable`] for values that are no layer, 0 to 32767, and for coordinates that do not
/// fit 32 bits; [`Error::InvalidOption`]; [`Error::Write`].
pub fn write_regions_gds(
    regions: &impl RegionSource,
    options: &RegionWriteOptions,
    gds: &GdsOptions,
    out: impl Write,
) -> Result<()> {
    gds.validate()?;
    let rings = regions.rings();
    gds.check_fits(rings.width(), rings.height())?;
    let records = GdsRecords::new(rings.height(), gds);
    let encode = |text: &mut ShareText<'_>, region: &Region<'_, _>| {
        records.put_polygon(text, region.rings, layer(region.value)?)
    };
    records.write_stream(out, |out| {
        write_each(regions, options.min_area, encode, "", out)
    })
}

/// The layer of a value.
fn layer(value: impl FileValue) -> Result<u16> {
    let layer = value.whole();
    let layer = layer.filter(|layer| (0..=MAX_LAYER).contains(layer));
    layer.map(|layer| layer as u16).ok_or_else(|| {
        Error::unwritable(
            "gds",
            WriteProblem::Inexpressible,
            format!(
                "the value {value:?} is no layer: layers are whole numbers from 0 to {MAX_LAYER}"
            ),
        )
    })
}
