//! From a node of a border to the next one and to the one before.

use crate::trace::neighbours::{after, before, sides_between, sides_in, step};
use crate::trace::options::Geometry;
use crate::trace::pixels::TracedImage;

/// The move that stays at the pixel; other moves are directions.
pub(super) const STAY: u32 = 8;

/// The pixel to which a move leads. Wraps around below 0.
#[inline(always)]
pub(super) const fn moved(x: u32, y: u32, to: u32) -> (u32, u32) {
    if to == STAY {
        return (x, y);
    }
    let (dx, dy) = step(to);
    (x.wrapping_add(dx), y.wrapping_add(dy))
}

/// A node of a border.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) x: u32,
    pub(super) y: u32,
    pub(super) code: u32,
}

/// The step from a node to the next one.
#[derive(Clone, Copy)]
pub(super) struct Step {
    /// The border's step.
    pub(super) direction: u32,
    /// The set of sides that the node passes.
    pub(super) passed: u32,
    /// The move to the next node's pixel.
    pub(super) to: u32,
    /// The next node's code.
    pub(super) code: u32,
}

/// The step from a node back to the previous one.
#[derive(Clone, Copy)]
pub(super) struct StepBack {
    /// The move to the previous node's pixel.
    pub(super) to: u32,
    /// The previous node's code.
    pub(super) code: u32,
    /// The direction of the step from the previous node to this one.
    pub(super) direction: u32,
    /// The set of sides that the previous node passes.
    pub(super) passed: u32,
}

/// How borders go from node to node.
#[derive(Clone, Copy)]
pub(super) struct Walk<'a> {
    pub(super) image: TracedImage<'a>,
}

impl Walk<'_> {
    /// Whether borders run along edges.
    #[inline(always)]
    pub(super) fn along_edges(self) -> bool {
        self.image.geometry == Geometry::Edges
    }

    /// The node that passes the side in direction `aside` of a pixel with some foreground
    /// neighbours.
    #[inline(always)]
    pub(super) fn node_at(self, x: u32, y: u32, neighbours: u32, aside: u32) -> Node {
        let code = if self.along_edges() {
            aside / 2
        } else {
            before(neighbours, aside)
        };
        Node { x, y, code }
    }

    #[inline(always)]
    pub(super) fn step(self, Node { x, y, code }: Node) -> Step {
        let neighbours = self.image.pixels.neighbours(x, y);
        if !self.along_edges() {
            let direction = after(neighbours, code);
            return Step {
                direction,
                passed: sides_between(code, direction),
                to: direction,
                code: direction ^ 4,
            };
        }
        let aside = code * 2;
        let heading = (aside + 2) & 7;
        let to_beside = aside + 1;
        let ahead = neighbours >> heading & 1 != 0;
        let beside = neighbours >> to_beside & 1 != 0;
        let crosses = beside && !ahead && self.crosses(x, y, to_beside);
        let (to, code) = if beside && ahead || crosses {
            (to_beside, (code + 3) & 3)
        } else if ahead {
            (heading, code)
        } else {
            (STAY, (code + 1) & 3)
        };
        Step {
            direction: heading,
            passed: sides_in(1 << aside),
            to,
            code,
        }
    }

    #[inline(always)]
    pub(super) fn step_back(self, Node { x, y, code }: Node) -> StepBack {
        let edges = self.along_edges();
        // Over centers, the neighbours of the previous pixel count, and that pixel is known.
        let (near_x, near_y) = moved(x, y, if edges { STAY } else { code });
        let neighbours = self.image.pixels.neighbours(near_x, near_y);
        if !edges {
            let direction = code ^ 4;
            let back = before(neighbours, direction);
            return StepBack {
                to: code,
                code: back,
                direction,
                passed: sides_between(back, direction),
            };
        }
        let aside = code * 2;
        let to_behind = (aside + 6) & 7;
        let to_beside = (aside + 7) & 7;
        let behind = neighbours >> to_behind & 1 != 0;
        let beside = neighbours >> to_beside & 1 != 0;
        let crosses = beside && !behind && self.crosses(x, y, to_beside);
        let (to, code) = if beside && behind || crosses {
            (to_beside, (code + 1) & 3)
        } else if behind {
            (to_behind, code)
        } else {
            (STAY, (code + 3) & 3)
        };
        StepBack {
            to,
            code,
            direction: (code * 2 + 2) & 7,
            passed: sides_in(1 << (code * 2)),
        }
    }

    /// Whether borders cross over at a saddle: a corner where a pixel and its neighbour in the
    /// diagonal direction `to` are foreground, and the other two pixels are not. They do if the two
    /// pixels belong to one 4-connected component.
    #[inline(always)]
    pub(super) fn crosses(self, x: u32, y: u32, to: u32) -> bool {
        let (u, v) = moved(x, y, to);
        self.image.joined(x, y, u, v)
    }
}
