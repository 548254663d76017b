//! [`ContourSource`]: contours, wherever their points are.

use std::ops::Range;

use glam::IVec2;

use super::Geometry;
use super::contours::{BorderKind, Contours, HierarchyRow, Links};
use crate::error::Result;
use crate::memory::{extend_from_slice, push};

/// The contours of an image in their order, with points that are given on demand.
///
/// [`Contours`] have their points in memory; [`StoredContours`](super::StoredContours) make them
/// when they are asked for. Writers of files take either, and read on all threads.
pub trait ContourSource: Sync {
    /// Width of the image that was traced.
    fn width(&self) -> u32;

    /// Height of the image that was traced.
    fn height(&self) -> u32;

    /// What the points are: centers of pixels or corners.
    fn geometry(&self) -> Geometry;

    /// Each contour's kind.
    fn kinds(&self) -> &[BorderKind];

    /// Each contour's row `[next, previous, first child, parent]`, -1 for none.
    fn hierarchy(&self) -> &[HierarchyRow];

    /// The number of all contours' points.
    ///
    /// # Errors
    /// Those of the place where the points are.
    fn point_count(&self) -> Result<u64>;

    /// The points of contour `index`. `room` is scratch for them: its old contents are lost.
    ///
    /// Contours are fastest to read in order.
    ///
    /// # Errors
    /// Those of the place where the points are.
    ///
    /// # Panics
    /// If there are not that many contours.
    fn points_of<'a>(&'a self, index: usize, room: &'a mut Vec<IVec2>) -> Result<&'a [IVec2]>;

    /// At most how many points contour `index` has, if that is known without reading them. If not,
    /// writers encode it together with others, in memory.
    ///
    /// # Panics
    /// If there are not that many contours.
    fn most_points(&self, index: usize) -> Option<u64> {
        let _ = index;
        None
    }

    /// The points of consecutive contours. `room` is scratch for them: its old contents are lost.
    ///
    /// Several threads read at once, each with its own `room`, in tasks of the current rayon pool:
    /// no lock may be held while other tasks are waited for.
    ///
    /// # Errors
    /// Those of the place where the points are.
    ///
    /// # Panics
    /// If there are not that many contours.
    fn points_of_range<'a>(
        &'a self,
        range: Range<usize>,
        room: &'a mut PointRoom,
    ) -> Result<RangePoints<'a>> {
        room.clear();
        let first = range.start;
        let mut own = Vec::new();
        for index in range {
            room.push(self.points_of(index, &mut own)?)?;
        }
        Ok(room.points_from(first))
    }

    /// Calls `visit` with the points of contour `index`, some of them at a time.
    ///
    /// # Errors
    /// Those of the place where the points are, and the first one of `visit`.
    ///
    /// # Panics
    /// If there are not that many contours.
    fn visit_points(
        &self,
        index: usize,
        visit: &mut dyn FnMut(&[IVec2]) -> Result<()>,
    ) -> Result<()> {
        visit(self.points_of(index, &mut Vec::new())?)
    }

    /// The number of contours.
    fn len(&self) -> usize {
        self.kinds().len()
    }

    /// Whether there are no contours: the image has no foreground.
    fn is_empty(&self) -> bool {
        self.kinds().is_empty()
    }

    /// The neighbours of contour `index` in the hierarchy.
    ///
    /// # Panics
    /// If there are not that many contours.
    fn links(&self, index: usize) -> Links {
        Links::of(self.hierarchy()[index])
    }

    /// The indices of the contours directly inside contour `index`.
    ///
    /// # Panics
    /// If there are not that many contours.
    fn children(&self, index: usize) -> impl Iterator<Item = usize>
    where
        Self: Sized,
    {
        let first = self.links(index).first_child;
        std::iter::successors(first, |&child| self.links(child).next)
    }
}

/// Memory for the points of consecutive contours.
#[derive(Debug, Default)]
pub struct PointRoom {
    /// The end of each contour's points.
    pub(super) ends: Vec<usize>,
    pub(super) points: Vec<IVec2>,
}

/// The points of consecutive contours.
#[derive(Clone, Copy, Debug)]
pub struct RangePoints<'a> {
    /// The index of the first contour.
    first: usize,
    /// The start of the first contour's points.
    start: usize,
    /// The end of each contour's points.
    ends: &'a [usize],
    points: &'a [IVec2],
}

impl PointRoom {
    pub(super) fn clear(&mut self) {
        self.ends.clear();
        self.points.clear();
    }

    /// The number of bytes of its memory.
    #[cfg(feature = "formats")]
    pub(crate) fn bytes(&self) -> usize {
        self.ends.capacity() * size_of::<usize>() + self.points.capacity() * size_of::<IVec2>()
    }

    /// Adds a contour.
    fn push(&mut self, points: &[IVec2]) -> Result<()> {
        extend_from_slice(&mut self.points, points, "the contours' points")?;
        push(&mut self.ends, self.points.len(), "the contours' ends")
    }

    /// The points of its contours, the first of which is contour `first`.
    pub(super) fn points_from(&self, first: usize) -> RangePoints<'_> {
        RangePoints {
            first,
            start: 0,
            ends: &self.ends,
            points: &self.points,
        }
    }
}

impl<'a> RangePoints<'a> {
    /// The points of contour `index`; `None` if it is not one of these.
    pub fn get(&self, index: usize) -> Option<&'a [IVec2]> {
        let at = index.checked_sub(self.first)?;
        let end = *self.ends.get(at)?;
        let start = match at {
            0 => self.start,
            _ => self.ends[at - 1],
        };
        Some(&self.points[start..end])
    }
}

impl ContourSource for Contours {
    fn width(&self) -> u32 {
        self.width
    }

    fn height(&self) -> u32 {
        self.height
    }

    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn kinds(&self) -> &[BorderKind] {
        &self.kinds
    }

    fn hierarchy(&self) -> &[HierarchyRow] {
        &self.hierarchy
    }

    fn point_count(&self) -> Result<u64> {
        Ok(self.points.len() as u64)
    }

    fn points_of<'a>(&'a self, index: usize, _: &'a mut Vec<IVec2>) -> Result<&'a [IVec2]> {
        Ok(&self.points[self.offsets[index]..self.offsets[index + 1]])
    }

    fn most_points(&self, index: usize) -> Option<u64> {
        Some((self.offsets[index + 1] - self.offsets[index]) as u64)
    }

    fn points_of_range<'a>(
        &'a self,
        range: Range<usize>,
        _: &'a mut PointRoom,
    ) -> Result<RangePoints<'a>> {
        Ok(RangePoints {
            first: range.start,
            start: self.offsets[range.start],
            ends: &self.offsets[range.start + 1..=range.end],
            points: &self.points,
        })
    }
}
