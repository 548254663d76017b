//! [`Component`]: an outer border with its holes.

use glam::IVec2;

use crate::Result;
use crate::memory::{extend_from_slice, push, reserve};
use crate::trace::{ContourSource, PointRoom, RangePoints};

/// Memory for the points of one component at a time, reused for the next.
#[derive(Default)]
pub(in crate::formats) struct Component {
    indices: Vec<usize>,
    rooms: Vec<Vec<IVec2>>,
    /// Scratch for a contour that is read by itself.
    alone: PointRoom,
}

impl Component {
    /// The points of contour `outer`, and those of the contours directly inside. `near` has the
    /// points of contours around `outer`; others are read one by one. Without `near`, all are read
    /// in order.
    pub(in crate::formats) fn rings<'a, C: ContourSource>(
        &'a mut self,
        contours: &'a C,
        outer: usize,
        near: Option<RangePoints<'a>>,
    ) -> Result<Vec<&'a [IVec2]>> {
        self.indices.clear();
        for index in std::iter::once(outer).chain(contours.children(outer)) {
            push(&mut self.indices, index, HOLES)?;
        }
        // A large component's memory is not kept for small ones.
        self.rooms.truncate(MOST_KEPT);
        let count = self.indices.len().max(self.rooms.len());
        let more = count - self.rooms.len();
        reserve(&mut self.rooms, more, HOLES)?;
        self.rooms.resize_with(count, Vec::new);
        let mut rings = Vec::new();
        reserve(&mut rings, self.indices.len(), HOLES)?;
        for (&index, room) in self.indices.iter().zip(&mut self.rooms) {
            rings.push(match near.map(|near| near.get(index)) {
                Some(Some(points)) => points,
                Some(None) => {
                    let alone = contours.points_of_range(index..index + 1, &mut self.alone)?;
                    room.clear();
                    extend_from_slice(room, alone.get(index).unwrap_or_default(), HOLES)?;
                    room
                }
                None => contours.points_of(index, room)?,
            });
        }
        Ok(rings)
    }
}

/// Name used in out-of-memory errors.
const HOLES: &str = "the holes of a component";

/// The number of rings whose memory is kept.
const MOST_KEPT: usize = 64;
