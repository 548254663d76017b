//! Removal of corners that keeps the topology.
//!
//! Let `v` be a corner, and `u` and `w` its neighbours on its arc. Removing `v` replaces the lines
//! `uv` and `vw` by `uw`. It is allowed if
//!
//! - the closed triangle `uvw` has no other corner of any arc, and
//! - no other line joins `u` and `w`.
//!
//! Then no other line meets the triangle but in `u` and `w`: its ends are outside, so it would have
//! to enter and leave, which it cannot through `uv` and `vw`, because lines do not cross, and
//! cannot twice through `uw`, unless it contains `uw`; that line would have its ends at `u` and
//! `w`, or pass these corners, which lines do not. So moving `v` to `uw` sweeps over nothing: the
//! drawing stays planar, and its faces and their neighbours stay what they are. This holds after
//! every step, so for every set of corners that is removed.
//!
//! Corners are on integers. So "is there another corner" is exact: bits of a plane, in the rows of
//! the triangle.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use glam::IVec2;

use super::arcs::{Arcs, Corner};
use super::plane::CornerPlane;
use crate::error::Result;
use crate::memory::{push, push_to_heap, reserve_in_set};

/// Name used in out-of-memory errors.
const CORNERS: &str = "corners to remove";

/// Removes corners of arcs, those with the smallest triangles first.
pub(super) struct Thinner {
    /// All corners that are left.
    plane: CornerPlane,
    /// The largest triangle that may go: twice its area.
    limit: u64,
    /// The two ends of each arc that is one line by now.
    lines: HashSet<[[i32; 2]; 2]>,
    /// The arc at hand.
    line: Line,
    heap: BinaryHeap<Reverse<(u64, usize)>>,
}

/// The corners of an arc that are left, as a linked list.
#[derive(Default)]
struct Line {
    points: Vec<IVec2>,
    /// Where each one is among the arc's points.
    places: Vec<usize>,
    before: Vec<usize>,
    after: Vec<usize>,
    /// Twice the area of each one's triangle at which it is in the heap. `NEVER` for those which
    /// are not.
    areas: Vec<u64>,
    /// The number of lines.
    edges: usize,
}

/// No triangle has this area.
const NEVER: u64 = u64::MAX;

/// What a pass leaves.
#[derive(Default)]
pub(super) struct Waiting {
    /// Arcs with corners that could not be removed.
    pub(super) arcs: Vec<usize>,
    /// The number of corners that were removed.
    pub(super) removed: usize,
}

impl Thinner {
    /// `plane` has a bit for each corner of `arcs`.
    pub(super) fn new(arcs: &Arcs, plane: CornerPlane, limit: u64) -> Result<Self> {
        let mut thinner = Self {
            plane,
            limit,
            lines: HashSet::new(),
            line: Line::default(),
            heap: BinaryHeap::new(),
        };
        for index in 0..arcs.len() {
            if let [from, to] = arcs.points[arcs.range(index)] {
                thinner.add_line(from, to)?;
            }
        }
        Ok(thinner)
    }

    /// Removes what can be removed of some arcs.
    pub(super) fn pass(
        &mut self,
        arcs: &mut Arcs,
        indices: impl IntoIterator<Item = usize>,
    ) -> Result<Waiting> {
        let mut waiting = Waiting::default();
        for index in indices {
            let removed = self.thin(arcs, index)?;
            waiting.removed += removed.0;
            if removed.1 > 0 {
                push(&mut waiting.arcs, index, CORNERS)?;
            }
        }
        Ok(waiting)
    }

    /// Removes what can be removed of an arc: the number of corners removed, and of those that were
    /// to be removed and stay.
    fn thin(&mut self, arcs: &mut Arcs, index: usize) -> Result<(usize, usize)> {
        let range = arcs.range(index);
        if range.len() < 3 {
            return Ok((0, 0));
        }
        self.line.take(arcs, index)?;
        self.heap.clear();
        for at in 1..self.line.points.len() - 1 {
            self.add(arcs, at)?;
        }
        let (mut removed, mut kept) = (0, 0usize);
        while let Some(Reverse((area, at))) = self.heap.pop() {
            // What has changed since is in the heap a second time.
            if self.line.areas[at] != area {
                continue;
            }
            self.line.areas[at] = NEVER;
            let [u, v, w] = self.line.triangle(at);
            if !self.may_go(u, v, w) {
                kept += 1;
                continue;
            }
            arcs.corners[self.line.places[at]] = Corner::Removed;
            self.plane.unset(v.x, v.y);
            let (before, after) = self.line.unlink(at);
            removed += 1;
            if self.line.edges == 1 {
                self.add_line(u, w)?;
            }
            self.add(arcs, before)?;
            self.add(arcs, after)?;
        }
        Ok((removed, kept))
    }

    /// Puts a corner into the heap, if it is one that may be removed.
    fn add(&mut self, arcs: &Arcs, at: usize) -> Result<()> {
        if arcs.corners[self.line.places[at]] != Corner::Loose {
            return Ok(());
        }
        let [u, v, w] = self.line.triangle(at);
        let area = doubled_area(u, v, w);
        if area > self.limit {
            self.line.areas[at] = NEVER;
            return Ok(());
        }
        self.line.areas[at] = area;
        push_to_heap(&mut self.heap, Reverse((area, at)), CORNERS)
    }

    fn may_go(&self, u: IVec2, v: IVec2, w: IVec2) -> bool {
        let edges = self.line.edges;
        let is_loop = self.line.points.first() == self.line.points.last();
        if is_loop && edges <= 3 {
            return false;
        }
        if edges == 2 && self.lines.contains(&ends(u, w)) {
            return false;
        }
        is_empty(&self.plane, u, v, w)
    }

    fn add_line(&mut self, from: IVec2, to: IVec2) -> Result<()> {
        reserve_in_set(&mut self.lines, 1, CORNERS)?;
        self.lines.insert(ends(from, to));
        Ok(())
    }
}

impl Line {
    fn take(&mut self, arcs: &Arcs, index: usize) -> Result<()> {
        self.points.clear();
        self.places.clear();
        for at in arcs.range(index) {
            if arcs.corners[at] != Corner::Removed {
                push(&mut self.points, arcs.points[at], CORNERS)?;
                push(&mut self.places, at, CORNERS)?;
            }
        }
        let len = self.points.len();
        self.before.clear();
        self.after.clear();
        self.areas.clear();
        for at in 0..len {
            push(&mut self.before, at.saturating_sub(1), CORNERS)?;
            push(&mut self.after, at + 1, CORNERS)?;
            push(&mut self.areas, NEVER, CORNERS)?;
        }
        self.edges = len - 1;
        Ok(())
    }

    /// A corner between its two neighbours; it is no end.
    fn triangle(&self, at: usize) -> [IVec2; 3] {
        [self.before[at], at, self.after[at]].map(|at| self.points[at])
    }

    /// Takes a corner out, and returns those before and after it.
    fn unlink(&mut self, at: usize) -> (usize, usize) {
        let (before, after) = (self.before[at], self.after[at]);
        self.after[before] = after;
        self.before[after] = before;
        self.edges -= 1;
        (before, after)
    }
}

/// The two ends of a line, whichever comes first.
fn ends(a: IVec2, b: IVec2) -> [[i32; 2]; 2] {
    let (a, b) = (a.to_array(), b.to_array());
    [a.min(b), a.max(b)]
}

/// Twice the area of a triangle. Coordinates have 31 bits: it has 62.
fn doubled_area(u: IVec2, v: IVec2, w: IVec2) -> u64 {
    let (a, b) = (
        v.as_i64vec2() - u.as_i64vec2(),
        w.as_i64vec2() - u.as_i64vec2(),
    );
    (a.x * b.y - a.y * b.x).unsigned_abs()
}

/// Whether no bit in the closed triangle is set but those of its vertices.
fn is_empty(plane: &CornerPlane, u: IVec2, v: IVec2, w: IVec2) -> bool {
    let vertices = [u, v, w];
    let top = u.y.min(v.y).min(w.y);
    let bottom = u.y.max(v.y).max(w.y);
    (top..=bottom).all(|y| {
        // The row within the triangle.
        let (mut left, mut right) = (i32::MAX, i32::MIN);
        for (a, b) in [(u, v), (v, w), (w, u)] {
            let (a, b) = if a.y <= b.y { (a, b) } else { (b, a) };
            if y < a.y || y > b.y {
                continue;
            }
            if a.y == b.y {
                left = left.min(a.x.min(b.x));
                right = right.max(a.x.max(b.x));
                continue;
            }
            // Coordinates have 31 bits: the product has 62.
            let run = i64::from(b.x) - i64::from(a.x);
            let (down, height) = (i64::from(y - a.y), i64::from(b.y - a.y));
            let floor = (down * run).div_euclid(height);
            let is_between = (down * run).rem_euclid(height) != 0;
            let at = (i64::from(a.x) + floor) as i32;
            left = left.min(at + i32::from(is_between));
            right = right.max(at);
        }
        plane
            .ones(left, right.max(left - 1) + 1, y, None)
            .all(|x| vertices.contains(&IVec2::new(x, y)))
    })
}
