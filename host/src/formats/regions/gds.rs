//! Regions as GDSII.

use std::io::Write;

use super::source::{RegionSource, RegionWriteOptions, visit};
use super::value::Written;
use crate::Result;
use crate::error::{Error, WriteProblem};
use crate::formats::contours::{GdsOptions, GdsStream};
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
    let mut stream = GdsStream::start(out, rings.height(), gds)?;
    visit(regions, options.min_area, |region| {
        let layer = region
            .value
            .whole()
            .filter(|layer| (0..=MAX_LAYER).contains(layer));
        let Some(layer) = layer else {
            return Err(Error::unwritable(
                "gds",
                WriteProblem::Inexpressible,
                format!(
                    "the value {:?} is no layer: layers are whole numbers from 0 to {MAX_LAYER}",
                    region.value
                ),
            ));
        };
        stream.polygon(region.rings, layer as u16)
    })?;
    stream.finish()
}
