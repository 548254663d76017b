//! [`ContourSource`]: contours, wherever their points are.

use glam::IVec2;

use super::Geometry;
use super::contours::{BorderKind, Contours, HierarchyRow, Links};
use crate::error::Result;

/// The contours of an image in their order, with points that are given on demand.
///
/// [`Contours`] have their points in memory; [`StoredContours`](super::StoredContours) make them
/// when they are asked for. Writers of files take either.
pub trait ContourSource {
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
}
