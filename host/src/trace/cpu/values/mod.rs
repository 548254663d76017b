//! The borders of all values of an image, in one pass.
//!
//! 1. Each pixel is compared with its neighbours (`planes.rs`).
//! 2. On these planes, borders are followed, joined and numbered by [`fragments`](super::fragments),
//!    with the code that does it for bits.
//! 3. The value of a border is that of the pixel at which it begins. Rings are put into the order of
//!    their regions, contours into groups of one value (`order.rs`).
//! 4. Points are written to their places, again as for bits.

mod last;
mod order;
mod planes;

use super::approximate;
use super::fragments::follow::{Strip, follow};
use super::fragments::join::{Rings, join};
use super::fragments::number::{Border, number};
use super::fragments::{KeptPoints, strip_rows, write};
use super::hierarchy;
use super::saddles::Saddles;
use crate::error::Result;
use crate::image::{PixelValue, ValueImage};
use crate::label::Connectivity;
use crate::progress::Progress;
use crate::regions::{RegionOptions, Regions, ValueContours};
use crate::trace::contours::Contours;
use crate::trace::{ContourOptions, Geometry, Retrieval};

use super::approximate::Points;
use super::chains::{BorderId, Nesting};
use super::sides::Joined;
use planes::ValuePlanes;

/// Traces the regions of an image.
pub(crate) fn trace_regions<T: PixelValue>(
    image: &ValueImage<'_, T>,
    options: &RegionOptions,
    progress: &Progress<'_>,
) -> Result<Regions<T>> {
    let how = ContourOptions::default().geometry(Geometry::Edges);
    let trace = |rows| {
        let planes = ValuePlanes::of(image)?;
        let saddles = match options.connectivity {
            Connectivity::Four => Saddles::of(&planes)?,
            Connectivity::Eight => Saddles::all_joined(),
        };
        let (borders, nesting) = Borders::follow(&planes, Some(saddles), rows, &how, progress)?;
        drop(planes);
        let rings = order::by_region(&nesting)?;
        drop(nesting);
        progress.report(9, 10)?;
        let values = borders.values(image, &rings.order)?;
        let points = borders.points(&rings.order)?;
        drop(borders);
        let contours = contours(image, Geometry::Edges, points, rings.kinds, &rings.parents)?;
        progress.report(1, 1)?;
        Ok(Regions {
            contours,
            values,
            regions: rings.regions,
            count: rings.count,
        })
    };
    on_threads(image, trace)
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
        let mut planes = ValuePlanes::of(image)?;
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
        let values = borders.values(image, &arrangement.order)?;
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
    on_threads(image, trace)
}

/// Calls `trace` with the number of rows of a strip.
fn on_threads<T: PixelValue, R: Send>(
    image: &ValueImage<'_, T>,
    trace: impl FnOnce(u32) -> Result<R> + Send,
) -> Result<R> {
    crate::threads::ensure();
    let rows = strip_rows(image.width(), image.height(), rayon::current_num_threads());
    if rows >= image.height() {
        return trace(rows);
    }
    // On one of rayon's threads, so that this one does not fall asleep and wake up in each stage.
    rayon::scope(|_| trace(rows))
}

/// The borders of an image, numbered, without their points.
struct Borders {
    strips: Vec<Strip>,
    rings: Rings,
    borders: Vec<Border>,
    /// The number of rows of a strip.
    rows: u32,
    geometry: Geometry,
    kept: KeptPoints,
}

impl Borders {
    /// Follows all borders in strips of `rows` rows.
    fn follow(
        planes: &ValuePlanes,
        saddles: Option<Saddles>,
        rows: u32,
        options: &ContourOptions,
        progress: &Progress<'_>,
    ) -> Result<(Self, Nesting)> {
        let (kept, _) = KeptPoints::of(options);
        let mut strips = follow(planes, saddles.as_ref(), &[], rows, kept, progress)?;
        drop(saddles);
        let rings = join(&mut strips)?;
        let (borders, nesting) = number(&mut strips, &rings, rows)?;
        let this = Self {
            strips,
            rings,
            borders,
            rows,
            geometry: options.geometry,
            kept,
        };
        Ok((this, nesting))
    }

    /// The values of the borders in `order`.
    fn values<T: PixelValue>(
        &self,
        image: &ValueImage<'_, T>,
        order: &[BorderId],
    ) -> Result<Vec<T>> {
        let values = order.iter().map(|&id| {
            let side = self.borders[id as usize].side;
            image.value(side.x(), side.y)
        });
        crate::memory::collect(values, "the values of borders")
    }

    /// The points of the borders in `order`.
    fn points(&self, order: &[BorderId]) -> Result<Points> {
        let pieces = write::Pieces {
            strips: &self.strips,
            rings: &self.rings,
            borders: &self.borders,
            rows: self.rows,
            geometry: self.geometry,
            kept: self.kept,
        };
        pieces.points(order)
    }
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
