//! From a node of a border to the next one and to the one before.

use rayon::prelude::*;

use crate::error::Result;
use crate::image::{BinaryImage, WORD_BITS};
use crate::label::{self, Connectivity, LabelAlgorithm, LabelOptions};
use crate::memory::zeroed_vec;
use crate::progress::Progress;

use super::chains::{Direction, opposite};
use super::neighbours::{
    NEXT, PREVIOUS, first_clockwise, is_foreground, side_in, turn_direction, turn_sides,
};
use super::plane::Plane;
use crate::trace::contours::BorderKind;

/// A node: its pixel's place, and a code that distinguishes it from the pixel's other nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) place: usize,
    pub(super) code: u8,
}

/// To a neighbour in a [`Direction`], or [`STAY`].
pub(super) type Move = u8;

/// To the same pixel.
pub(super) const STAY: Move = 8;

/// The offsets of all moves from those of the directions.
pub(super) fn with_stay(offsets: [isize; 8]) -> [isize; 9] {
    let mut all = [0; 9];
    all[..usize::from(STAY)].copy_from_slice(&offsets);
    all
}

/// What leads from a node to the next one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// The border's step, as its chain has it.
    pub(super) direction: Direction,
    /// The sides of the node's pixel that it passes.
    pub(super) passed: u8,
    /// To the next node's pixel.
    pub(super) to: Move,
    /// The next node's code.
    pub(super) next: u8,
}

/// What leads from a node to the one before.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepBack {
    /// To the pixel of the node before.
    pub(super) to: Move,
    /// The code of the node before.
    pub(super) previous: u8,
    /// The step from the node before to this one.
    pub(super) direction: Direction,
    /// The sides that the node before passes.
    pub(super) passed: u8,
}

/// How borders go from node to node. Nodes' codes are below 8. Of the nodes by which borders come
/// to a pixel over one side of a rectangle, no two have codes with the same two low bits.
pub(super) trait Walk: Sync {
    /// The code of the node that passes a pixel's side in direction `aside`; `None` if the border
    /// is that pixel alone.
    fn node_at(&self, place: usize, aside: Direction) -> Option<u8>;

    fn step(&self, node: Node) -> Step;

    fn step_back(&self, node: Node) -> StepBack;

    /// Where the chain of a border that begins at pixel `(x, y)` starts: the point, and the number
    /// of steps from the node at the pixel to the start.
    fn start(kind: BorderKind, x: u32, y: u32) -> ((u32, u32), usize);

    /// The pixel that a border begins at, from where its chain starts.
    fn first_pixel(kind: BorderKind, start: (u32, u32)) -> (u32, u32);
}

/// Over pixel centers. A node's code is the direction back.
pub(super) struct Centers<'a> {
    pub(super) plane: &'a Plane,
}

impl Walk for Centers<'_> {
    fn node_at(&self, place: usize, aside: Direction) -> Option<u8> {
        first_clockwise(self.plane.window(place), aside)
    }

    #[inline]
    fn step(&self, node: Node) -> Step {
        let turn = NEXT[self.plane.window(node.place)][usize::from(node.code)];
        let direction = turn_direction(turn);
        Step {
            direction,
            passed: turn_sides(turn),
            to: direction,
            next: opposite(direction),
        }
    }

    #[inline]
    fn step_back(&self, node: Node) -> StepBack {
        let direction = opposite(node.code);
        let former = self.plane.neighbour(node.place, node.code);
        let turn = PREVIOUS[self.plane.window(former)][usize::from(direction)];
        StepBack {
            to: node.code,
            previous: turn_direction(turn),
            direction,
            passed: turn_sides(turn),
        }
    }

    fn start(_: BorderKind, x: u32, y: u32) -> ((u32, u32), usize) {
        ((x, y), 0)
    }

    fn first_pixel(_: BorderKind, start: (u32, u32)) -> (u32, u32) {
        start
    }
}

/// Along the sides of pixels, foreground on the left. A node is a side; its code is half the
/// direction that the side is in.
///
/// Where two foreground pixels touch diagonally at a corner (a saddle), the border stays with its
/// pixel if they belong to two 4-connected components. If they belong to one, the border would come
/// to the corner a second time, and it crosses over to the other pixel instead.
pub(super) struct Edges<'a> {
    plane: &'a Plane,
    /// One bit per saddle with two pixels of one component, at the pixel to its lower
    /// right; rows are as far apart as those of `plane`.
    crossings: Vec<u64>,
}

impl<'a> Edges<'a> {
    pub(super) fn of(image: &BinaryImage, plane: &'a Plane) -> Result<Self> {
        let options = LabelOptions {
            connectivity: Connectivity::Four,
            ..LabelOptions::default()
        };
        let labels =
            label::cpu::label(image, &options, LabelAlgorithm::Parallel, &Progress::SILENT)?;
        let (labels, width) = (labels.as_slice(), image.width() as usize);
        let row_words = plane.stride() / WORD_BITS;
        let words = row_words * image.height() as usize;
        let mut crossings: Vec<u64> = zeroed_vec(words, "the plane of saddles")?;
        let rows = crossings.par_chunks_mut(row_words).enumerate();
        rows.skip(1).for_each(|(y, crossings)| {
            let (above, this) = (image.row(y as u32 - 1), image.row(y as u32));
            let label = |x: usize, y: usize| labels[y * width + x];
            let (mut above_carry, mut carry) = (0, 0);
            for (i, (&ne, &se)) in above.iter().zip(this).enumerate() {
                let (nw, sw) = (ne << 1 | above_carry, se << 1 | carry);
                (above_carry, carry) = (ne >> 63, se >> 63);
                let falling = nw & se & !ne & !sw;
                let rising = ne & sw & !nw & !se;
                let mut saddles = falling | rising;
                while saddles != 0 {
                    let bit = saddles.trailing_zeros() as usize;
                    let x = i * WORD_BITS + bit;
                    let joined = if falling >> bit & 1 == 1 {
                        label(x - 1, y - 1) == label(x, y)
                    } else {
                        label(x, y - 1) == label(x - 1, y)
                    };
                    crossings[i] |= u64::from(joined) << bit;
                    saddles &= saddles - 1;
                }
            }
        });
        Ok(Self { plane, crossings })
    }

    /// Whether borders cross over at a saddle: the corner of the pixel at `place` counter-clockwise
    /// from its side in direction `aside`.
    fn crosses(&self, place: usize, aside: Direction) -> bool {
        let (x, y) = self.plane.coordinates(place);
        let (x, y) = match aside {
            0 => (x + 1, y),
            2 => (x, y),
            4 => (x, y + 1),
            _ => (x + 1, y + 1),
        };
        let row_words = self.plane.stride() / WORD_BITS;
        let word = self.crossings[y as usize * row_words + x as usize / WORD_BITS];
        word >> (x as usize % WORD_BITS) & 1 == 1
    }
}

impl Walk for Edges<'_> {
    fn node_at(&self, _: usize, aside: Direction) -> Option<u8> {
        Some(aside / 2)
    }

    #[inline]
    fn step(&self, Node { place, code }: Node) -> Step {
        let window = self.plane.window(place);
        let aside = code * 2;
        let heading = (aside + 2) & 7;
        let ahead = is_foreground(window, heading);
        let beside = is_foreground(window, (aside + 1) & 7);
        let (to, next) = match (ahead, beside) {
            (true, false) => (heading, code),
            (true, true) => ((aside + 1) & 7, (code + 3) & 3),
            (false, true) if self.crosses(place, aside) => ((aside + 1) & 7, (code + 3) & 3),
            _ => (STAY, (code + 1) & 3),
        };
        Step {
            direction: heading,
            passed: side_in(aside),
            to,
            next,
        }
    }

    #[inline]
    fn step_back(&self, Node { place, code }: Node) -> StepBack {
        let window = self.plane.window(place);
        let aside = code * 2;
        let behind = is_foreground(window, (aside + 6) & 7);
        let beside = is_foreground(window, (aside + 7) & 7);
        let (to, previous) = match (behind, beside) {
            (true, false) => ((aside + 6) & 7, code),
            (true, true) => ((aside + 7) & 7, (code + 1) & 3),
            (false, true) if self.crosses(place, (aside + 6) & 7) => {
                ((aside + 7) & 7, (code + 1) & 3)
            }
            _ => (STAY, (code + 3) & 3),
        };
        StepBack {
            to,
            previous,
            direction: (previous * 2 + 2) & 7,
            passed: side_in(previous * 2),
        }
    }

    fn start(kind: BorderKind, x: u32, y: u32) -> ((u32, u32), usize) {
        // Down along the west side, from its upper end; or up along the east side, to its upper
        // end.
        match kind {
            BorderKind::Outer => ((x, y), 0),
            BorderKind::Hole => ((x + 1, y), 1),
        }
    }

    fn first_pixel(kind: BorderKind, (x, y): (u32, u32)) -> (u32, u32) {
        match kind {
            BorderKind::Outer => (x, y),
            BorderKind::Hole => (x - 1, y),
        }
    }
}
