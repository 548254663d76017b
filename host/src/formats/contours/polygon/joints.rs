//! Holes joined to their outer rings by cuts.

use std::collections::BTreeMap;

use glam::IVec2;

use super::region::{Region, Ring};
use super::{RINGS, no_region};
use crate::error::Result;
use crate::memory::{collect, push, reserve, zeroed_vec};

/// The number of vertices that joining a hole adds to the hole's own: the start of the cut, the
/// hole's start again, and the start of the cut on the way back. One less if the cut starts at a
/// vertex.
pub(super) const CUT: usize = 3;

/// Where a hole is joined to another ring.
#[derive(Clone, Copy)]
struct Joint {
    /// The other ring.
    ring: usize,
    /// The edge of the other ring, counted from its start.
    edge: usize,
    /// The point on that edge.
    at: IVec2,
    hole: usize,
}

/// How the holes of a region are joined to its outer rings.
///
/// Take a hole's topmost, then leftmost vertex. The pixel to the left, in the row below that
/// vertex, is foreground; the run of foreground pixels that it ends starts at a vertical edge,
/// of the outer ring or of another hole. That other hole starts higher, or in the same row and
/// further left, so following the joints from hole to hole always ends at an outer ring.
pub(super) struct Joints {
    /// For each ring, the index of its topmost, then leftmost vertex.
    starts: Vec<usize>,
    /// Sorted by ring, then in the order in which a walk from the ring's start meets them.
    joints: Vec<Joint>,
    /// The index of each ring's first joint, and the number of joints.
    first: Vec<usize>,
    /// For each hole, the outer ring that its joints lead to.
    pub(super) outers: Vec<usize>,
}

impl Joints {
    pub(super) fn find(region: &Region<'_>) -> Result<Self> {
        struct Edge {
            top: i32,
            bottom: i32,
            x: i32,
            ring: usize,
            index: usize,
        }
        let rings = &region.rings;
        let mut found = Self {
            starts: Vec::new(),
            joints: Vec::new(),
            first: Vec::new(),
            outers: zeroed_vec(rings.len() - region.outers, RINGS)?,
        };
        if found.outers.is_empty() {
            return Ok(found);
        }
        found.starts = collect(rings.iter().map(|ring| start_of(ring)), RINGS)?;

        // A sweep down the rows keeps the vertical edges by their x; an edge that ended above the
        // current row is removed when it is found.
        let mut edges: Vec<Edge> = Vec::new();
        for (ring, points) in rings.iter().enumerate() {
            let next = points.iter().skip(1).chain(points.first());
            for (index, (&a, &b)) in points.iter().zip(next).enumerate() {
                if a.x == b.x {
                    let (top, bottom) = (a.y.min(b.y), a.y.max(b.y));
                    let edge = Edge {
                        top,
                        bottom,
                        x: a.x,
                        ring,
                        index,
                    };
                    push(&mut edges, edge, RINGS)?;
                } else if a.y != b.y {
                    return Err(no_region());
                }
            }
        }
        edges.sort_unstable_by_key(|edge| edge.top);
        let mut edges = edges.iter().peekable();
        // The nodes of the tree are small.
        let mut row: BTreeMap<i32, &Edge> = BTreeMap::new();

        let start = |ring: usize| rings[ring][found.starts[ring]];
        let mut holes: Vec<usize> = collect(region.outers..rings.len(), RINGS)?;
        holes.sort_unstable_by_key(|&hole| (start(hole).y, start(hole).x));
        reserve(&mut found.joints, holes.len(), RINGS)?;
        for hole in holes {
            let from = start(hole);
            while let Some(edge) = edges.next_if(|edge| edge.top <= from.y) {
                row.insert(edge.x, edge);
            }
            let edge = loop {
                let (&x, &edge) = row.range(..from.x).next_back().ok_or_else(no_region)?;
                if edge.bottom > from.y {
                    break edge;
                }
                row.remove(&x);
            };
            found.outers[hole - region.outers] = match edge.ring.checked_sub(region.outers) {
                None => edge.ring,
                Some(other) => found.outers[other],
            };
            let n = rings[edge.ring].len();
            found.joints.push(Joint {
                ring: edge.ring,
                edge: (edge.index + n - found.starts[edge.ring]) % n,
                at: IVec2::new(edge.x, from.y),
                hole,
            });
        }
        let starts = &found.starts;
        found.joints.sort_unstable_by_key(|joint| {
            let points = rings[joint.ring];
            let from = points[(starts[joint.ring] + joint.edge) % points.len()];
            (joint.ring, joint.edge, (joint.at.y - from.y).abs())
        });
        found.first = zeroed_vec(rings.len() + 1, RINGS)?;
        for joint in &found.joints {
            found.first[joint.ring + 1] += 1;
        }
        for ring in 0..rings.len() {
            found.first[ring + 1] += found.first[ring];
        }
        Ok(found)
    }

    /// The outer ring with its holes: a walk around it that, at each joint, goes to the hole,
    /// around it and back.
    pub(super) fn walk(&self, region: &Region<'_>, outer: usize) -> Result<Ring> {
        struct Walk<'a> {
            ring: usize,
            /// The number of vertices passed since the ring's start.
            passed: usize,
            /// The joints ahead.
            joints: &'a [Joint],
            /// The point to return to afterwards.
            back: Option<IVec2>,
        }
        if self.joints.is_empty() {
            return collect(region.rings[outer].iter().copied(), RINGS);
        }
        let mut ring = Ring::new();
        let mut pass = |point: IVec2| match ring.last() == Some(&point) {
            true => Ok(()),
            false => push(&mut ring, point, RINGS),
        };
        let walk = |ring, back| Walk {
            ring,
            passed: 0,
            joints: &self.joints[self.first[ring]..self.first[ring + 1]],
            back,
        };
        // Holes are joined to holes in long chains, too long for recursion.
        let mut stack = Vec::new();
        push(&mut stack, walk(outer, None), RINGS)?;
        while let Some(top) = stack.last_mut() {
            let points = region.rings[top.ring];
            let start = self.starts[top.ring];
            match top.joints.split_first() {
                Some((joint, rest)) if joint.edge + 1 == top.passed => {
                    top.joints = rest;
                    pass(joint.at)?;
                    push(&mut stack, walk(joint.hole, Some(joint.at)), RINGS)?;
                }
                _ if top.passed < points.len() => {
                    pass(points[(start + top.passed) % points.len()])?;
                    top.passed += 1;
                }
                _ => {
                    if let Some(back) = top.back {
                        pass(points[start])?;
                        pass(back)?;
                    }
                    stack.pop();
                }
            }
        }
        if ring.len() > 1 && ring.first() == ring.last() {
            ring.pop();
        }
        Ok(ring)
    }
}

/// The index of the ring's topmost, then leftmost vertex.
fn start_of(ring: &[IVec2]) -> usize {
    (0..ring.len())
        .min_by_key(|&i| (ring[i].y, ring[i].x))
        .unwrap_or(0)
}
