//! Regions without those that are small, and without holes.

use crate::error::Result;
use crate::geometry::doubled_area;
use crate::memory::{extend, push, with_room};
use crate::regions::Regions;
use crate::trace::cpu::hierarchy;
use crate::trace::{BorderKind, Contour, Contours};

/// Name used in out-of-memory errors.
const KEPT: &str = "the regions that are kept";

/// The number of pixels of the region with this outer ring, along edges.
pub(crate) fn pixel_count(outer: &Contour<'_>) -> u64 {
    let holes = outer.children().map(|hole| doubled_area(hole.points()));
    let doubled = doubled_area(outer.points()) + holes.sum::<i128>();
    (doubled.unsigned_abs() / 2) as u64
}

impl Contours {
    /// The rings of [`Regions::filter`], and which these were: for rings along edges, in which each
    /// outer ring comes before its holes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn filter_regions(&self, min_area: u64, fill_holes: bool) -> Result<(Self, Vec<usize>)> {
        let mut kept = with_room(self.len(), KEPT)?;
        let mut parents: Vec<i32> = with_room(self.len(), KEPT)?;
        // Where the last outer ring is now, if it stays.
        let mut outer = None;
        for ring in self.iter() {
            let parent = match ring.kind() {
                BorderKind::Outer => {
                    let stays = pixel_count(&ring) >= min_area;
                    outer = stays.then_some(kept.len() as i32);
                    stays.then_some(-1)
                }
                BorderKind::Hole => outer.filter(|_| !fill_holes),
            };
            if let Some(parent) = parent {
                parents.push(parent);
                kept.push(ring.index());
            }
        }
        let mut points = Vec::new();
        let mut offsets = with_room(kept.len() + 1, KEPT)?;
        offsets.push(0);
        let mut kinds = with_room(kept.len(), KEPT)?;
        for &ring in &kept {
            extend(&mut points, self.at(ring).points().iter().copied(), KEPT)?;
            offsets.push(points.len());
            kinds.push(self.kinds[ring]);
        }
        let contours = Self {
            width: self.width,
            height: self.height,
            geometry: self.geometry,
            points,
            offsets,
            kinds,
            hierarchy: hierarchy::link(&parents)?,
        };
        Ok((contours, kept))
    }
}

impl<T: Copy> Regions<T> {
    /// Without regions of fewer than `min_area` pixels, where then is nothing, and with
    /// `fill_holes` without holes: a polygon then covers the regions in them as well. Regions keep
    /// their numbers.
    ///
    /// ```
    /// use trazar::{Engine, RegionOptions, Samples, ValueImage};
    ///
    /// let classes = [3u8, 3, 3, 3, 8, 3, 3, 3, 3];
    /// let image = ValueImage::new(Samples::new(3, 3, &classes)?)?;
    /// let regions = Engine::cpu().trace_regions(&image, &RegionOptions::default())?;
    /// let large = regions.filter(2, true)?;
    /// assert_eq!((large.count(), large.values()), (1, &[3][..]));
    /// assert_eq!(large.contours().get(0).unwrap().area(), 9.0);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn filter(self, min_area: u64, fill_holes: bool) -> Result<Self> {
        let (contours, kept) = self.contours.filter_regions(min_area, fill_holes)?;
        let (mut values, mut regions) = (Vec::new(), Vec::new());
        for ring in kept {
            push(&mut values, self.values[ring], KEPT)?;
            push(&mut regions, self.regions[ring], KEPT)?;
        }
        let is_outer = |kind: &&BorderKind| **kind == BorderKind::Outer;
        let count = contours.kinds().iter().filter(is_outer).count() as u32;
        Ok(Self {
            contours,
            values,
            regions,
            count,
        })
    }
}
