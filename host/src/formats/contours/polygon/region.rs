//! Rings, and regions made of them.

use glam::IVec2;

use super::RINGS;
use crate::error::Result;
use crate::memory::{collect, extend_from_slice, push};

/// A closed polygon; the first vertex is not repeated.
pub(in crate::formats) type Ring = Vec<IVec2>;

/// A region whose rings are stored elsewhere.
pub(super) struct Region<'a> {
    /// The outer rings, then the holes.
    pub(super) rings: Vec<&'a [IVec2]>,
    /// The number of outer rings.
    pub(super) outers: usize,
}

/// Rings stored one after the other.
#[derive(Default)]
pub(super) struct Rings {
    pub(super) points: Vec<IVec2>,
    pub(super) ends: Vec<usize>,
}

impl Rings {
    pub(super) fn push(&mut self, ring: &[IVec2]) -> Result<()> {
        self.extend(ring)?;
        self.close()
    }

    /// Adds points to the unfinished ring.
    pub(super) fn extend(&mut self, points: &[IVec2]) -> Result<()> {
        extend_from_slice(&mut self.points, points, RINGS)?;
        Ok(())
    }

    /// Adds a point to the unfinished ring.
    pub(super) fn add(&mut self, point: IVec2) -> Result<()> {
        push(&mut self.points, point, RINGS)
    }

    /// Ends the ring whose points were added last.
    pub(super) fn close(&mut self) -> Result<()> {
        push(&mut self.ends, self.points.len(), RINGS)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[IVec2]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        self.ends
            .iter()
            .zip(starts)
            .map(|(&end, &start)| &self.points[start..end])
    }
}

/// A region that stores its rings.
#[derive(Default)]
pub(super) struct Part {
    pub(super) outers: Rings,
    pub(super) holes: Rings,
}

impl Part {
    pub(super) fn region(&self) -> Result<Region<'_>> {
        Ok(Region {
            rings: collect(self.outers.iter().chain(self.holes.iter()), RINGS)?,
            outers: self.outers.ends.len(),
        })
    }
}
