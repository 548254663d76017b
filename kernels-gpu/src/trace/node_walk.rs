//! From a node of a border to the next one, and the points that belong to a node.
//!
//! Borders run over pixel centers, or along pixels' edges: see
//! [`node_bits`](crate::trace::node_bits).

use cuda_std::prelude::*;

use crate::trace::neighbours::{after, before, step};
use crate::trace::node_bits::{Kind, NodeBits, kind_after};
use crate::trace::options::{Approximation, Geometry};
use crate::trace::pixels::TracedImage;

/// A node by its name: a pixel and a kind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::trace) struct NamedNode {
    pub(in crate::trace) x: u32,
    pub(in crate::trace) y: u32,
    pub(in crate::trace) kind: Kind,
}

/// How borders go from node to node.
#[derive(Clone, Copy)]
pub(in crate::trace) struct NodeWalk<'a> {
    image: TracedImage<'a>,
}

impl<'a> NodeWalk<'a> {
    #[inline(always)]
    pub(in crate::trace) const fn new(image: TracedImage<'a>) -> Self {
        Self { image }
    }

    /// Whether borders run along edges.
    #[inline(always)]
    fn along_edges(&self) -> bool {
        self.image.geometry == Geometry::Edges
    }

    /// The nodes of a word's pixels.
    #[inline(always)]
    pub(in crate::trace) fn nodes(&self, word_x: u32, y: u32) -> NodeBits {
        let around = self.image.pixels.around(word_x, y);
        if self.along_edges() {
            // A ring has its W and E sides as nodes.
            NodeBits {
                n: 0,
                s: 0,
                ..around.sides()
            }
        } else {
            around.gaps()
        }
    }

    /// The index of a node, from the index of each word's first node.
    #[inline(always)]
    pub(in crate::trace) fn index(&self, first: View<'_, u32>, node: NamedNode) -> u32 {
        let raster = self.image.pixels.raster;
        let nodes = self.nodes(node.x / 64, node.y);
        let bit = node.x % 64;
        let below = (1u64 << bit) - 1;
        let word = node.y * raster.row_words + node.x / 64;
        let (a, b, word) = match node.kind {
            Kind::W | Kind::E => (nodes.w, nodes.e, word),
            Kind::N | Kind::S => (nodes.n, nodes.s, raster.words() + word),
        };
        // The second of a pixel's two nodes comes after the first.
        let second = matches!(node.kind, Kind::E | Kind::S);
        // planted: hole-start
        let own = if second { (a >> bit & 1) as u32 } else { 0 };
        first.ldg(word) + (a & below).count_ones() + (b & below).count_ones() + own
    }

    /// A node from its list entry.
    #[inline(always)]
    pub(in crate::trace) fn node(&self, entry: u32) -> NamedNode {
        let (x, y) = self.image.pixels.raster.split(entry >> 2);
        NamedNode {
            x,
            y,
            kind: Kind::from_bits(entry),
        }
    }

    /// The node whose gap contains the E neighbour of pixel `(x, y)`, which is background.
    #[inline(always)]
    pub(in crate::trace) fn at_east_side(&self, x: u32, y: u32) -> NamedNode {
        let kind = if self.along_edges() {
            Kind::E
        } else {
            self.image.pixels.around(x / 64, y).kind_at_e(x % 64)
        };
        NamedNode { x, y, kind }
    }

    /// The node that the border visits next.
    #[inline(always)]
    pub(in crate::trace) fn successor(&self, node: NamedNode) -> NamedNode {
        if self.along_edges() {
            return self.next_side(node).0;
        }
        let neighbours = self.image.pixels.neighbours(node.x, node.y);
        if neighbours == 0 {
            return node;
        }
        let out = after(neighbours, node.kind.direction());
        let (dx, dy) = step(out);
        let (x, y) = (node.x.wrapping_add(dx), node.y.wrapping_add(dy));
        NamedNode {
            x,
            y,
            kind: kind_after(self.image.pixels.neighbours(x, y), out ^ 4),
        }
    }

    /// The number of the border's points that belong to a node.
    #[inline(always)]
    pub(in crate::trace) fn points(&self, node: NamedNode, approximation: Approximation) -> u32 {
        if self.along_edges() {
            return if self.next_side(node).1.is_some() {
                2
            } else {
                0
            };
        }
        let neighbours = self.image.pixels.neighbours(node.x, node.y);
        if approximation == Approximation::None || neighbours == 0 {
            return 1;
        }
        let direction = node.kind.direction();
        u32::from(after(neighbours, direction) != before(neighbours, direction) ^ 4)
    }

    /// The vertical side after this one on its ring. If the two do not meet end to end, also the
    /// corners where this side ends and the next begins.
    ///
    /// A ring runs down W sides and up E sides, foreground on its left. Corner `(x, y)` is the
    /// upper left one of pixel `(x, y)`. Coordinates outside the image have wrapped around; the
    /// pixels there are background.
    #[inline(always)]
    fn next_side(&self, side: NamedNode) -> (NamedNode, Option<[(u32, u32); 2]>) {
        let NamedNode { x, y, kind } = side;
        let at = |x, y, kind| NamedNode { x, y, kind };
        let set = |x, y| self.image.pixels.is_set(x, y);
        // The corner where the side ends, and whether the ring continues eastward from there.
        let (corner_x, corner_y, east);
        if kind == Kind::W {
            (corner_x, corner_y) = (x, y + 1);
            let (left, right) = (set(x, y + 1), set(x.wrapping_sub(1), y + 1));
            if left && !right {
                return (at(x, y + 1, Kind::W), None);
            }
            east = !(left || right && self.image.joined(x, y, x - 1, y + 1));
        } else {
            (corner_x, corner_y) = (x + 1, y);
            let (left, right) = (set(x, y.wrapping_sub(1)), set(x + 1, y.wrapping_sub(1)));
            if left && !right {
                return (at(x, y - 1, Kind::E), None);
            }
            east = right && (left || self.image.joined(x, y, x + 1, y - 1));
        }
        let up = corner_y.wrapping_sub(1);
        let (end, next);
        if east {
            // Foreground above, background below.
            end = self.run_end_east(corner_x, up, corner_y);
            let (left, right) = (set(end, up), set(end, corner_y));
            next = if right && (left || self.image.joined(end - 1, up, end, corner_y)) {
                at(end, corner_y, Kind::W)
            } else {
                at(end - 1, up, Kind::E)
            };
        } else {
            // Foreground below, background above.
            end = self.run_end_west(corner_x, corner_y, up);
            let before = end.wrapping_sub(1);
            let (left, right) = (set(before, corner_y), set(before, up));
            next = if right && (left || self.image.joined(end, corner_y, before, up)) {
                at(before, up, Kind::E)
            } else {
                at(end, corner_y, Kind::W)
            };
        }
        (next, Some([(corner_x, corner_y), (end, corner_y)]))
    }

    /// The first column after `x` at which row `set` is not foreground above (or below) background
    /// of row `clear`.
    #[inline(always)]
    fn run_end_east(&self, x: u32, set: u32, clear: u32) -> u32 {
        let mut word_x = x / 64;
        let mut from = u64::MAX << (x % 64);
        loop {
            let ends = !(self.image.pixels.word(word_x, set)
                & !self.image.pixels.word(word_x, clear))
                & from;
            if ends != 0 {
                return word_x * 64 + ends.trailing_zeros();
            }
            word_x += 1;
            // planted: run-end-word
            from = u64::MAX;
        }
    }

    /// The column after the last one before `x` at which row `set` is not foreground above (or
    /// below) background of row `clear`.
    #[inline(always)]
    fn run_end_west(&self, x: u32, set: u32, clear: u32) -> u32 {
        let last = x - 1;
        let mut word_x = last / 64;
        let mut through = u64::MAX >> (63 - last % 64);
        loop {
            let ends = !(self.image.pixels.word(word_x, set)
                & !self.image.pixels.word(word_x, clear))
                & through;
            if ends != 0 {
                return word_x * 64 + 64 - ends.leading_zeros();
            }
            if word_x == 0 {
                return 0;
            }
            word_x -= 1;
            through = u64::MAX;
        }
    }

    /// The first row, from `top` on, such that pixel `(x, row)` has a side of this kind, W or E, in
    /// all rows from there down to `y`.
    #[inline(always)]
    pub(in crate::trace) fn top_of_side(&self, x: u32, y: u32, kind: Kind, top: u32) -> u32 {
        /// Rows that are loaded at once.
        const ROWS: u32 = 8;
        let beyond = match kind {
            Kind::W => x.wrapping_sub(1),
            _ => x + 1,
        };
        let pixels = self.image.pixels;
        let mut y = y;
        while y > top {
            let mut sides = 0;
            let mut row = 0;
            while row < ROWS {
                // Above the image, the row has wrapped around; nothing is foreground there.
                let above = y.wrapping_sub(row + 1);
                let here = pixels.word(x / 64, above) >> (x % 64) & 1;
                let there = pixels.word(beyond / 64, above) >> (beyond % 64) & 1;
                sides |= ((here & !there) as u32) << row;
                row += 1;
            }
            // planted: top-of-side
            let count = (!sides).trailing_zeros().min(ROWS);
            let up = count.min(y - top);
            y -= up;
            if up < ROWS {
                break;
            }
        }
        y
    }

    /// The last foreground pixel of row `y` before column `x`.
    #[inline(always)]
    pub(in crate::trace) fn last_before(&self, x: u32, y: u32) -> Option<u32> {
        let mut word_x = x / 64;
        let mut below = (1u64 << (x % 64)) - 1;
        loop {
            let word = self.image.pixels.word(word_x, y) & below;
            if word != 0 {
                return Some(word_x * 64 + 63 - word.leading_zeros());
            }
            if word_x == 0 {
                return None;
            }
            word_x -= 1;
            // planted: last-before-word
            below = u64::MAX;
        }
    }

    /// The first pixel of the run of row `y` that pixel `x` belongs to.
    #[inline(always)]
    pub(in crate::trace) fn run_start(&self, x: u32, y: u32) -> u32 {
        let mut word_x = x / 64;
        let mut through = u64::MAX >> (63 - x % 64);
        loop {
            let zeros = !self.image.pixels.word(word_x, y) & through;
            if zeros != 0 {
                return word_x * 64 + 64 - zeros.leading_zeros();
            }
            if word_x == 0 {
                return 0;
            }
            word_x -= 1;
            through = u64::MAX;
        }
    }
}

/// A position on a border.
#[derive(Clone, Copy)]
pub(in crate::trace) struct Cursor {
    /// The node.
    pub(in crate::trace) node: NamedNode,
    /// Over pixel centers: the pixel's neighbours, and the direction back.
    neighbours: u32,
    back: u32,
}

/// The points that belong to one node: at most two.
#[derive(Clone, Copy)]
pub(in crate::trace) struct Points {
    pub(in crate::trace) count: u32,
    pub(in crate::trace) points: [(u32, u32); 2],
}

impl NodeWalk<'_> {
    /// A node's entry in the list.
    #[inline(always)]
    pub(in crate::trace) fn entry(&self, node: NamedNode) -> u32 {
        self.image.pixels.raster.pixel(node.x, node.y) << 2 | node.kind as u32
    }

    /// The position at a node.
    #[inline(always)]
    pub(in crate::trace) fn cursor(&self, node: NamedNode) -> Cursor {
        let (mut neighbours, mut back) = (0, 0);
        if !self.along_edges() {
            neighbours = self.image.pixels.neighbours(node.x, node.y);
            back = before(neighbours, node.kind.direction());
        }
        Cursor {
            node,
            neighbours,
            back,
        }
    }

    /// Moves on to the next node. Returns the points of the node that it leaves.
    #[inline(always)]
    pub(in crate::trace) fn advance(
        &self,
        cursor: &mut Cursor,
        approximation: Approximation,
    ) -> Points {
        let Cursor {
            node,
            neighbours,
            back,
        } = *cursor;
        if self.along_edges() {
            let (next, corners) = self.next_side(node);
            cursor.node = next;
            return match corners {
                Some(points) => Points { count: 2, points },
                None => Points {
                    count: 0,
                    points: [(0, 0); 2],
                },
            };
        }
        let here = (node.x, node.y);
        let points = [here; 2];
        if neighbours == 0 {
            return Points { count: 1, points };
        }
        let out = after(neighbours, back);
        let (dx, dy) = step(out);
        let (x, y) = (node.x.wrapping_add(dx), node.y.wrapping_add(dy));
        let back_to_here = out ^ 4;
        let next_neighbours = self.image.pixels.neighbours(x, y);
        *cursor = Cursor {
            node: NamedNode {
                x,
                y,
                kind: kind_after(next_neighbours, back_to_here),
            },
            neighbours: next_neighbours,
            back: back_to_here,
        };
        Points {
            count: u32::from(approximation == Approximation::None || out != back ^ 4),
            points,
        }
    }
}
