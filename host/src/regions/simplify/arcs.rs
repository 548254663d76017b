//! Rings cut into arcs, each of which one or two rings pass.

use std::collections::HashMap;
use std::ops::Range;

use glam::IVec2;

use super::no_rings;
use super::plane::CornerPlane;
use crate::error::Result;
use crate::memory::{push, reserve, reserve_in_map};
use crate::trace::Contours;

/// Name used in out-of-memory errors.
const ARCS: &str = "the borders' arcs";

/// What is to happen to a corner of an arc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Corner {
    /// It stays.
    Fixed,
    /// It is there, and may be removed.
    Loose,
    Removed,
}

/// Lines between junctions; both ends are junctions. Arcs meet at their ends only.
#[derive(Default)]
pub(super) struct Arcs {
    /// Each arc's corners, both ends with it.
    pub(super) points: Vec<IVec2>,
    /// For each of the points.
    pub(super) corners: Vec<Corner>,
    /// Each arc's first point, then the number of points.
    pub(super) offsets: Vec<usize>,
    /// The arcs of the rings, one ring after the other.
    passes: Vec<Pass>,
    /// Each ring's first pass, then their number.
    rings: Vec<usize>,
}

/// An arc as a ring passes it.
#[derive(Clone, Copy)]
pub(super) struct Pass {
    pub(super) index: usize,
    /// From the arc's end to its start.
    pub(super) is_reversed: bool,
}

impl Arcs {
    /// The arcs of rings along pixels' edges, and a plane for other use.
    pub(super) fn of(contours: &Contours) -> Result<(Self, CornerPlane)> {
        let sides = Sides::of(contours)?;
        let mut arcs = Self::default();
        push(&mut arcs.offsets, 0, ARCS)?;
        push(&mut arcs.rings, 0, ARCS)?;
        let mut ends = HashMap::new();
        let mut ring = Vec::new();
        for contour in contours.iter() {
            sides.corners(contour.points(), &mut ring)?;
            arcs.add_ring(&ring, &mut ends)?;
        }
        Ok((arcs, sides.east))
    }

    /// The number of arcs.
    pub(super) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Where arc `index` has its points.
    pub(super) fn range(&self, index: usize) -> Range<usize> {
        self.offsets[index]..self.offsets[index + 1]
    }

    /// The points of an arc that are left.
    pub(super) fn left(&self, index: usize) -> impl DoubleEndedIterator<Item = IVec2> + Clone + '_ {
        self.range(index)
            .filter(|&at| self.corners[at] != Corner::Removed)
            .map(|at| self.points[at])
    }

    /// The arcs that a ring passes, in order.
    pub(super) fn of_ring(&self, ring: usize) -> impl Iterator<Item = Pass> + '_ {
        self.passes[self.rings[ring]..self.rings[ring + 1]]
            .iter()
            .copied()
    }

    /// Adds the arcs of a ring. `ends` has, for each arc so far, how one enters it from its end.
    fn add_ring(&mut self, ring: &[(IVec2, bool)], ends: &mut HashMap<u64, usize>) -> Result<()> {
        let first = ring.iter().position(|&(_, is_junction)| is_junction);
        let topmost = || (0..ring.len()).min_by_key(|&i| (ring[i].0.y, ring[i].0.x));
        let Some(first) = first.or_else(topmost) else {
            return Err(no_rings("a contour without points"));
        };
        // From junction to junction.
        let mut start = first;
        while start < first + ring.len() {
            let at = |index: usize| ring[index % ring.len()];
            let mut end = start + 1;
            while end < first + ring.len() && !at(end).1 {
                end += 1;
            }
            let entry = entry_from(at(start).0, at(start + 1).0);
            let pass = match ends.get(&entry) {
                Some(&index) if self.points[self.offsets[index + 1] - 1] == at(start).0 => Pass {
                    index,
                    is_reversed: true,
                },
                _ => {
                    reserve_in_map(ends, ARCS)?;
                    ends.insert(entry_from(at(end).0, at(end - 1).0), self.len());
                    let index = self.len();
                    self.add_arc((start..end + 1).map(|index| at(index).0))?;
                    Pass {
                        index,
                        is_reversed: false,
                    }
                }
            };
            push(&mut self.passes, pass, ARCS)?;
            start = end;
        }
        push(&mut self.rings, self.passes.len(), ARCS)
    }

    fn add_arc(&mut self, points: impl ExactSizeIterator<Item = IVec2>) -> Result<()> {
        let first = self.points.len();
        reserve(&mut self.points, points.len(), ARCS)?;
        reserve(&mut self.corners, points.len(), ARCS)?;
        self.points.extend(points);
        self.corners.resize(self.points.len(), Corner::Loose);
        self.corners[first] = Corner::Fixed;
        self.corners[self.points.len() - 1] = Corner::Fixed;
        push(&mut self.offsets, self.points.len(), ARCS)
    }
}

/// How one leaves `from` towards `to`, which is on the same row or column.
fn entry_from(from: IVec2, to: IVec2) -> u64 {
    let direction = match (to - from).signum().to_array() {
        [1, _] => 0,
        [-1, _] => 1,
        [_, 1] => 2,
        _ => 3,
    };
    // Coordinates have 31 bits.
    u64::from(from.y as u32) << 33 | u64::from(from.x as u32) << 2 | direction
}

/// Which sides of pixels are borders. Those of the image's frame are, whatever the pixels there: so
/// what reaches the frame has a junction there.
struct Sides {
    /// Of the side from a corner to the next one on its right.
    east: CornerPlane,
    /// Of the side from a corner to the next one below.
    south: CornerPlane,
    /// The largest coordinates.
    last: IVec2,
}

impl Sides {
    fn of(contours: &Contours) -> Result<Self> {
        let (width, height) = (contours.width(), contours.height());
        let mut sides = Self {
            east: CornerPlane::new(width, height)?,
            south: CornerPlane::new(width, height)?,
            last: IVec2::new(width as i32, height as i32),
        };
        for y in [0, sides.last.y] {
            sides.east.set_run(0, sides.last.x, y);
        }
        for y in 0..sides.last.y {
            sides.south.set(0, y);
            sides.south.set(sides.last.x, y);
        }
        for contour in contours.iter() {
            for (from, to) in edges(contour.points()) {
                let (low, high) = (from.min(to), from.max(to));
                match ((low.x < high.x), (low.y < high.y)) {
                    (true, false) => sides.east.set_run(low.x, high.x, low.y),
                    (false, true) => (low.y..high.y).for_each(|y| sides.south.set(low.x, y)),
                    _ => return Err(no_rings("contours with slanted edges")),
                }
            }
        }
        Ok(sides)
    }

    fn is_junction(&self, at: IVec2) -> bool {
        let IVec2 { x, y } = at;
        let sides = [
            self.east.get(x, y),
            self.east.get(x - 1, y),
            self.south.get(x, y),
            self.south.get(x, y - 1),
        ];
        let is_last = (x == 0 || x == self.last.x) && (y == 0 || y == self.last.y);
        is_last || sides.into_iter().filter(|&is_border| is_border).count() > 2
    }

    /// The vertices of a ring and the junctions on its edges, and which of them are junctions.
    fn corners(&self, ring: &[IVec2], corners: &mut Vec<(IVec2, bool)>) -> Result<()> {
        corners.clear();
        for (from, to) in edges(ring) {
            push(corners, (from, self.is_junction(from)), ARCS)?;
            let inner = corners.len();
            let (low, high) = (from.min(to), from.max(to));
            if low.y == high.y {
                for x in self.south.ones(low.x + 1, high.x, low.y, Some(low.y - 1)) {
                    push(corners, (IVec2::new(x, low.y), true), ARCS)?;
                }
            } else {
                for y in low.y + 1..high.y {
                    if self.east.get(low.x, y) || self.east.get(low.x - 1, y) {
                        push(corners, (IVec2::new(low.x, y), true), ARCS)?;
                    }
                }
            }
            if from != low {
                corners[inner..].reverse();
            }
        }
        Ok(())
    }
}

/// The edges of a ring; the last one returns to the start.
pub(super) fn edges(ring: &[IVec2]) -> impl Iterator<Item = (IVec2, IVec2)> + Clone + '_ {
    let next = ring.iter().skip(1).chain(ring.first());
    ring.iter().copied().zip(next.copied())
}
