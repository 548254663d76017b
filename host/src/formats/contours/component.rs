//! [`Component`]: an outer border with its holes.

use glam::IVec2;

use crate::Result;
use crate::memory::reserve;
use crate::trace::ContourSource;

/// Memory for the points of one component after the other.
#[derive(Default)]
pub(super) struct Component {
    indices: Vec<usize>,
    rooms: Vec<Vec<IVec2>>,
}

impl Component {
    /// The points of contour `outer`, and those of the contours directly inside.
    pub(super) fn rings<'a, C: ContourSource>(
        &'a mut self,
        contours: &'a C,
        outer: usize,
    ) -> Result<Vec<&'a [IVec2]>> {
        self.indices.clear();
        for index in std::iter::once(outer).chain(contours.children(outer)) {
            reserve(&mut self.indices, 1, "the holes of a component")?;
            self.indices.push(index);
        }
        // A large component's memory is not kept for small ones.
        self.rooms.truncate(MOST_KEPT);
        let count = self.indices.len().max(self.rooms.len());
        self.rooms.resize_with(count, Vec::new);
        let rings = self.indices.iter().zip(&mut self.rooms);
        rings
            .map(|(&index, room)| contours.points_of(index, room))
            .collect()
    }
}

/// The number of rings whose memory is kept.
const MOST_KEPT: usize = 64;
