//! The borders of all values of an image, in one pass.
//!
//! 1. Each pixel is compared with its neighbours (`planes.rs`).
//! 2. On these planes, borders are followed, joined and numbered by
//!    [`fragments`](super::fragments), with the code that does it for bits.
//! 3. The value of a border is that of the pixel at which it begins. Rings are put into the order
//!    of their regions, contours into groups of one value (`order.rs`).
//! 4. Points are written to their places, again as for bits.

mod last;
pub(in crate::trace) mod order;
mod planes;

use super::approximate::{self, Points};
use super::chains::BorderId;
use super::fragments::follow::SideKey;
use super::fragments::{Borders, KeptPoints, in_strips};
use super::hierarchy::{self, Arrangement};
use super::saddles::{OpenSaddles, Saddles};
use super::sides::Joined;
use crate::error::Result;
use crate::image::{PixelValue, ValueImage};
use crate::label::Connectivity;
use crate::progress::Progress;
use crate::regions::{RegionOptions, Regions, ValueContours};
use crate::trace::contours::Contours;
use crate::trace::parts::{BandBorders, follow_in_strips};
use crate::trace::{ContourOptions, Geometry, Retrieval, ValueBand};
use planes::BandPlanes;
pub(in crate::trace::cpu) use planes::ValuePlanes;

/// Traces the regions of an image.
pub(crate) fn trace_regions<T: PixelValue>(
    image: &ValueImage<'_, T>,
    options: &RegionOptions,
    progress: &Progress<'_>,
) -> Result<Regions<T>> {
    let how = ring_options();
    let trace = |rows| {
        let planes = ValuePlanes::of(&ValueBand::new(image, 0))?;
        let saddles = match options.connectivity {
            Connectivity::Four => Saddles::of(&planes)?,
            Connectivity::Eight => Saddles::all_joined(),
        };
        let (borders, nesting) = Borders::follow(&planes, Some(saddles), rows, &how, progress)?;
        drop(planes);
        let rings = order::by_region(&nesting)?;
        drop(nesting);
        progress.report(9, 10)?;
        let Arrangement {
            order,
            kinds,
            parents,
        } = rings.arrangement;
        let values = values(image, &borders, &order)?;
        let points = borders.points(&order)?;
        drop(borders);
        let contours = contours(image, Geometry::Edges, points, kinds, &parents)?;
        progress.report(1, 1)?;
        Ok(Regions {
            contours,
            values,
            regions: rings.regions,
            count: rings.count,
        })
    };
    crate::threads::ensure();
    in_strips(image.width(), image.height(), trace)
}

/// How regions are traced: rings along the pixels' edges.
pub(in crate::trace) fn ring_options() -> ContourOptions {
    ContourOptions::default().geometry(Geometry::Edges)
}

/// Traces the regions of a band in strips of `rows` rows.
pub(in crate::trace) fn trace_band<T: PixelValue>(
    band: &ValueBand<'_, '_, T>,
    rows: u32,
    connectivity: Connectivity,
) -> Result<BandBorders<T>> {
    let planes = &ValuePlanes::of(band)?;
    let (walls, saddles) = match connectivity {
        Connectivity::Four => Saddles::of_band(BandPlanes { planes, band })?,
        Connectivity::Eight => (Saddles::all_joined(), OpenSaddles::default()),
    };
    let value = |side: SideKey| match side {
        SideKey::NONE => band.image().value(0, 0),
        side => band.image().value(side.x(), side.y),
    };
    let how = (rows, KeptPoints::Turns);
    let first_row = band.rows().start;
    follow_in_strips(planes, first_row, (Some(walls), saddles), how, value)
}

/// Traces the pixels of each value of an image; the options have been
/// [validated](ContourOptions::validate).
pub(crate) fn trace_values<T: PixelValue>(
    image: &ValueImage<'_, T>,
    options: &ContourOptions,
    progress: &Progress<'_>,
) -> Result<ValueContours<T>> {
    let (_, curvature) = KeptPoints::of(options);
    let trace = |rows| {
        let mut planes = ValuePlanes::of(&ValueBand::new(image, 0))?;
        let (saddles, joined) = match options.geometry {
            Geometry::Centers => (None, Joined::Eight),
            Geometry::Edges => (Some(Saddles::of(&planes)?), Joined::Four),
        };
        if matches!(options.retrieval, Retrieval::External | Retrieval::Tree) {
            planes.find_outer_starts(image, joined)?;
        }
        let (borders, nesting) = Borders::follow(&planes, saddles, rows, options, progress)?;
        drop(planes);
        let arrangement = hierarchy::arrange(&nesting, options.retrieval)?;
        drop(nesting);
        progress.report(9, 10)?;
        let values = values(image, &borders, &arrangement.order)?;
        let grouped = order::by_value(&arrangement, &values)?;
        drop((values, arrangement));
        let points = borders.points(&grouped.order)?;
        drop(borders);
        let mut contours = contours(
            image,
            options.geometry,
            points,
            grouped.kinds,
            &grouped.parents,
        )?;
        order::unlink_groups(&mut contours.hierarchy, &grouped.groups);
        if let Some(curvature) = curvature {
            contours = approximate::dominant_of(contours, curvature)?;
        }
        progress.report(1, 1)?;
        Ok(ValueContours {
            contours,
            values: grouped.values,
            groups: grouped.groups,
        })
    };
    crate::threads::ensure();
    in_strips(image.width(), image.height(), trace)
}

/// The values of the borders in `order`.
fn values<T: PixelValue>(
    image: &ValueImage<'_, T>,
    borders: &Borders,
    order: &[BorderId],
) -> Result<Vec<T>> {
    let values = order.iter().map(|&id| {
        let side = borders.side(id);
        image.value(side.x(), side.y)
    });
    crate::memory::collect(values, "the values of borders")
}

/// Contours from their parts.
fn contours<T: PixelValue>(
    image: &ValueImage<'_, T>,
    geometry: Geometry,
    points: Points,
    kinds: Vec<crate::trace::BorderKind>,
    parents: &[i32],
) -> Result<Contours> {
    Ok(Contours {
        width: image.width(),
        height: image.height(),
        geometry,
        points: points.points,
        offsets: points.offsets,
        kinds,
        hierarchy: hierarchy::link(parents)?,
    })
}
