//! Polygons with holes, for formats whose polygons are one ring of limited length.
//!
//! A *region* is a set of rings along the pixels' edges. Outer rings have the foreground inside and
//! run counter-clockwise on the screen; hole rings have it outside and run clockwise, so that the
//! foreground is always on the same side. All edges are horizontal or vertical, and no two rings
//! cross.
//!
//! [`Pieces`] turns a region into rings without holes and of at most a given number of vertices.
//! Each hole is joined to the ring on its left by a **cut**, a line that is walked there and back
//! (a *keyhole*), so that a component with holes stays one polygon. A component that would be too
//! long is sliced first, along lines between pixels, into many bands at once; a band that is still
//! too long is sliced again, in the other direction if that costs less. All coordinates are
//! integers, so the pieces cover exactly the region's pixels, each one once.
//!
//! A region of p pieces is sliced about log log p times, each time in one pass over its vertices,
//! which copies its points. Holes are joined only in parts that are short enough. The pieces are
//! made on demand.

mod bands;
mod joints;
mod region;
mod slice;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use glam::IVec2;

use self::joints::{CUT, Joints};
use self::region::{Part, Region, Ring};
use self::slice::slice;
use crate::error::{Error, Result, WriteProblem};
use crate::geometry::doubled_area;
use crate::memory::{collect, push, reserve};

/// Name used in out-of-memory errors.
const RINGS: &str = "the boundaries of a component";

/// The error for rings that do not form a region.
fn no_region() -> Error {
    Error::unwritable(
        "gds",
        WriteProblem::Inexpressible,
        "an outer border and its holes do not fit together",
    )
}

/// Divides a region into rings without holes, of at most `limit` vertices.
///
/// A component within the limit makes one ring. If the rings are not a region (a hole outside every
/// outer ring, or an edge that is neither horizontal nor vertical), the last item is an error.
pub(super) struct Pieces<'a> {
    limit: usize,
    whole: Option<Region<'a>>,
    /// The parts to divide next, the last one first.
    parts: Vec<Part>,
    /// Finished rings, the last one first.
    ready: Vec<Ring>,
}

impl<'a> Pieces<'a> {
    /// A `limit` below 4 counts as 4.
    pub(super) fn new(rings: impl IntoIterator<Item = &'a [IVec2]>, limit: usize) -> Result<Self> {
        let (mut outers, mut holes) = (Vec::new(), Vec::new());
        for ring in rings.into_iter().filter(|ring| !ring.is_empty()) {
            match doubled_area(ring) >= 0 {
                true => push(&mut outers, ring, RINGS)?,
                false => push(&mut holes, ring, RINGS)?,
            }
        }
        let count = outers.len();
        reserve(&mut outers, holes.len(), RINGS)?;
        outers.extend(holes);
        Ok(Self {
            limit: limit.max(4),
            whole: Some(Region {
                rings: outers,
                outers: count,
            }),
            parts: Vec::new(),
            ready: Vec::new(),
        })
    }
}

impl Iterator for Pieces<'_> {
    type Item = Result<Ring>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(ring) = self.ready.pop() {
                return Some(Ok(ring));
            }
            let done = if let Some(whole) = self.whole.take() {
                divide(&whole, self.limit, &mut self.ready, &mut self.parts)
            } else {
                let part = self.parts.pop()?;
                part.region().and_then(|region| {
                    divide(&region, self.limit, &mut self.ready, &mut self.parts)
                })
            };
            if let Err(error) = done {
                self.ready.clear();
                self.parts.clear();
                return Some(Err(error));
            }
            self.ready.reverse();
        }
    }
}

/// Joins the components that fit the limit to rings, and slices the others.
fn divide(
    region: &Region<'_>,
    limit: usize,
    ready: &mut Vec<Ring>,
    parts: &mut Vec<Part>,
) -> Result<()> {
    let holes = &region.rings[region.outers..];
    let all: usize = region.rings.iter().map(|ring| ring.len()).sum();
    if region.outers == 1 && all + holes.len() * (CUT - 1) > limit {
        return slice(region, limit, parts);
    }
    let joints = Joints::find(region)?;

    // Lower bounds of the outer rings' lengths after their holes are joined.
    let lengths = region.rings[..region.outers].iter().map(|ring| ring.len());
    let mut least: Vec<usize> = collect(lengths, RINGS)?;
    for (hole, &outer) in holes.iter().zip(&joints.outers) {
        least[outer] += hole.len() + CUT - 1;
    }
    let mut too_long: BTreeMap<usize, Region<'_>> = BTreeMap::new();
    for (outer, &least) in least.iter().enumerate() {
        if least <= limit {
            let ring = joints.walk(region, outer)?;
            if ring.len() <= limit {
                push(ready, ring, RINGS)?;
                continue;
            }
        }
        let component = Region {
            rings: vec![region.rings[outer]],
            outers: 1,
        };
        too_long.insert(outer, component);
    }
    if !too_long.is_empty() {
        for (hole, outer) in holes.iter().zip(&joints.outers) {
            if let Some(component) = too_long.get_mut(outer) {
                push(&mut component.rings, *hole, RINGS)?;
            }
        }
    }
    for component in too_long.values() {
        slice(component, limit, parts)?;
    }
    Ok(())
}
