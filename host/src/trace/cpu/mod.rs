//! Tracing on the CPU.
//!
//! | stage | file |
//! |---|---|
//! | pixels: bits or values, and which neighbours belong to a pixel's region | `pixels.rs`, `plane.rs`, `values/planes.rs` |
//! | sides: where a region ends, left and right | `sides.rs` |
//! | follow: border after border, as chain codes | `suzuki.rs` (centers), `edges.rs` (edges) |
//! | or in strips, join what crosses seams, write points at once | `fragments/` (both) |
//! | or follow all in rectangles at once | `tiles/` (both) |
//! | or find all starts first, then follow all at once | `components/` (both) |
//! | parents, the order of the result, its hierarchy | `hierarchy.rs` |
//! | approximate: from chain codes to points | `approximate.rs`, `teh_chin.rs` |

pub(super) mod approximate;
pub(super) mod chains;
mod components;
mod edges;
mod forest;
pub(super) mod fragments;
pub(crate) mod hierarchy;
mod neighbours;
pub(super) mod pixels;
pub(super) mod plane;
mod saddle_halves;
pub(super) mod saddles;
mod sides;
mod suzuki;
pub(super) mod teh_chin;
#[cfg(test)]
pub(super) mod test_cases;
mod tiles;
mod transpose;
pub(crate) mod values;
pub(super) mod walk;

use std::mem::take;

use super::contours::Contours;
use super::{Approximation, ContourOptions, Geometry, TraceAlgorithm};
use crate::error::Result;
use crate::image::BinaryImage;
use crate::progress::Progress;

/// Traces on the CPU; the options have been [validated](ContourOptions::validate).
pub(crate) fn trace(
    image: &BinaryImage,
    options: &ContourOptions,
    algorithm: TraceAlgorithm,
    progress: &Progress<'_>,
) -> Result<Contours> {
    crate::threads::ensure();
    let mut chains = match (algorithm, options.geometry) {
        (TraceAlgorithm::Suzuki, Geometry::Centers) => suzuki::follow_borders(image, progress)?,
        (TraceAlgorithm::Suzuki, Geometry::Edges) => edges::follow_rings(image, progress)?,
        (TraceAlgorithm::Fragments, _) => return fragments::trace(image, options, progress),
        (TraceAlgorithm::Tiles(tiles), geometry) => {
            tiles::follow_borders(image, geometry, tiles, progress)?
        }
        (TraceAlgorithm::Components, geometry) => {
            components::follow_borders(image, geometry, progress)?
        }
    };
    // Each stage's input is freed before the next stage's results are allocated.
    let arrangement = hierarchy::arrange(&take(&mut chains.nesting), options.retrieval)?;
    let approximation = match options.geometry {
        Geometry::Centers => options.approximation,
        // A ring has a vertex where it turns and nowhere else.
        Geometry::Edges => Approximation::Simple,
    };
    let traced = approximate::points(&chains, &arrangement.order, approximation)?;
    drop(chains);
    let contours = Contours {
        width: image.width(),
        height: image.height(),
        geometry: options.geometry,
        points: traced.points,
        offsets: traced.offsets,
        kinds: arrangement.kinds,
        hierarchy: hierarchy::link(&arrangement.parents)?,
    };
    progress.report(1, 1)?;
    Ok(contours)
}
