//! Simplification of rings along edges that keeps common borders common.
//!
//! # How it works
//!
//! 1. *Arcs.* A **junction** is a corner of pixels at which three or four sides of borders or of
//!    the image's frame meet, or a corner of the image. Junctions cut the rings into arcs. Between
//!    its ends an arc is passed by one ring, or by two in opposite directions, with the same
//!    corners: `arcs.rs` finds which.
//! 2. *Selection.* Each arc is simplified once, and both rings take the result. Junctions stay. A
//!    ring without junctions is an arc from its topmost, then leftmost corner to itself.
//! 3. *Removal.* Corners are removed one by one, and only if the borders stay a planar drawing of
//!    the same topology: see [`thin`]. What may not be removed stays.
//!
//! | what | where |
//! |---|---|
//! | options, the whole | this file |
//! | one bit per corner of pixels | `plane.rs` |
//! | junctions and arcs | `arcs.rs` |
//! | Douglas and Peucker's selection | `select.rs` |
//! | removal that keeps the topology | `thin.rs` |
//! | the result with values | `result.rs` |

mod arcs;
mod plane;
mod result;
mod select;
#[cfg(test)]
mod tests;
mod thin;

pub use result::SimplifiedRegions;

use glam::IVec2;

use self::arcs::Arcs;
use self::plane::CornerPlane;
use crate::error::{Error, OptionProblem, Result};
use crate::memory::{extend, with_room};
use crate::options::{names, setters};
use crate::trace::{Contours, Geometry};

/// Name used in out-of-memory errors.
const RINGS: &str = "simplified rings";

/// The ways to choose the corners that stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SimplifyMethod {
    /// Douglas and Peucker: no removed corner is farther from the line than the tolerance, in
    /// pixels; twice the tolerance where corners stay for the topology.
    ///
    /// Time is n log n for an arc of n corners as borders usually are, and n² at worst.
    #[default]
    DouglasPeucker,
    /// Visvalingam and Whyatt: the corner whose triangle with its two neighbours is smallest is
    /// removed first, as long as that area is at most the tolerance, in square pixels.
    Visvalingam,
}

names! { SimplifyMethod, "method" {
    DouglasPeucker => "douglas-peucker",
    Visvalingam => "visvalingam",
} }

/// How to simplify rings: [`Regions::simplify`](crate::Regions::simplify).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SimplifyOptions {
    /// How much may change: a distance in pixels, or an area in square pixels, as
    /// [`method`](Self::method) says. 1 by default.
    pub tolerance: f64,
    /// How the corners that stay are chosen.
    pub method: SimplifyMethod,
}

impl Default for SimplifyOptions {
    fn default() -> Self {
        Self {
            tolerance: 1.0,
            method: SimplifyMethod::default(),
        }
    }
}

setters! {
    SimplifyOptions {
        tolerance: f64,
        method: SimplifyMethod,
    }
}

impl SimplifyOptions {
    /// Checks the tolerance.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] if it is negative or not finite.
    pub fn validate(&self) -> Result<()> {
        if self.tolerance.is_finite() && self.tolerance >= 0.0 {
            return Ok(());
        }
        Err(Error::option(
            "tolerance",
            OptionProblem::OutOfRange,
            format!("tolerance {}: it is a number from 0", self.tolerance),
        ))
    }
}

impl Contours {
    /// The same rings with fewer corners; borders that rings have in common stay in common.
    ///
    /// Rings are those of [`Regions`](crate::Regions), or of [`trace`](crate::Engine::trace) along
    /// [`Edges`](Geometry::Edges). Their number, order, kinds and hierarchy stay. What holds for
    /// all options:
    ///
    /// - The remaining corners are among the old ones. Those where borders meet each other or
    ///   the image's frame and those of the image stay, and are now vertices of all rings that pass
    ///   them.
    /// - Two rings that pass a border take the same points along it, in opposite directions.
    /// - Rings cross neither themselves nor each other, keep three corners or more, and stay inside
    ///   or outside of each other as they were. Valid polygons stay valid, and a partition stays
    ///   one, without gaps and overlaps.
    ///
    /// A corner stays if its removal would break that. It is tried again when corners around it are
    /// gone, but not for ever, so that a few may stay that could be removed.
    ///
    /// The cost is that of the corners and of 2 bits per pixel.
    ///
    /// # Errors
    /// - [`Error::InvalidOption`] for a tolerance that is negative or not finite, and for contours
    ///   that do not run along the pixels' sides: of [`Centers`](Geometry::Centers), or simplified;
    /// - [`Error::OutOfMemory`].
    pub fn simplify(&self, options: &SimplifyOptions) -> Result<Self> {
        options.validate()?;
        if self.geometry() != Geometry::Edges {
            return Err(no_rings("contours over pixels' centers"));
        }
        let (mut arcs, plane) = Arcs::of(self)?;
        thin_all(&mut arcs, plane, options)?;
        assemble(self, &arcs)
    }
}

/// The error for contours that are not those that pixels have.
fn no_rings(what: &str) -> Error {
    Error::option(
        "contours",
        OptionProblem::Conflict,
        format!("{what}: rings are simplified that run along pixels' edges, once"),
    )
}

/// The number of times that a corner is tried.
const PASSES: u32 = 8;

/// Removes corners of arcs. `plane` is scratch.
fn thin_all(arcs: &mut Arcs, mut plane: CornerPlane, options: &SimplifyOptions) -> Result<()> {
    plane.clear();
    for &point in &arcs.points {
        plane.set(point.x, point.y);
    }
    let limit = match options.method {
        SimplifyMethod::DouglasPeucker => {
            select::mark(arcs, options.tolerance)?;
            u64::MAX
        }
        // Twice the area is an integer.
        SimplifyMethod::Visvalingam => (2.0 * options.tolerance) as u64,
    };
    let mut thinner = thin::Thinner::new(arcs, plane, limit)?;
    let mut waiting = thinner.pass(arcs, 0..arcs.len())?;
    for _ in 1..PASSES {
        if waiting.arcs.is_empty() || waiting.removed == 0 {
            break;
        }
        waiting = thinner.pass(arcs, waiting.arcs)?;
    }
    Ok(())
}

/// The rings of `old` by what is left of their arcs.
fn assemble(old: &Contours, arcs: &Arcs) -> Result<Contours> {
    let mut points: Vec<IVec2> = Vec::new();
    let mut offsets = with_room(old.len() + 1, RINGS)?;
    offsets.push(0);
    for ring in 0..old.len() {
        let start = points.len();
        for arc in arcs.of_ring(ring) {
            let left = arcs.left(arc.index);
            // The next arc has the last point.
            match arc.is_reversed {
                false => extend(&mut points, left.clone(), RINGS)?,
                true => extend(&mut points, left.clone().rev(), RINGS)?,
            }
            points.pop();
        }
        let ring = &mut points[start..];
        let first = (0..ring.len()).min_by_key(|&i| (ring[i].y, ring[i].x));
        ring.rotate_left(first.unwrap_or(0));
        offsets.push(points.len());
    }
    Ok(Contours {
        width: old.width,
        height: old.height,
        geometry: old.geometry,
        points,
        offsets,
        kinds: crate::memory::collect(old.kinds.iter().copied(), RINGS)?,
        hierarchy: crate::memory::collect(old.hierarchy.iter().copied(), RINGS)?,
    })
}
