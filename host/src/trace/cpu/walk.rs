//! From a node of a border to the next one and to the one before.

use trazar_kernels::trace::node_bits::BesideBits;

use super::chains::{Direction, opposite};
use super::neighbours::{
    NEXT, NEXT_AROUND, PREVIOUS, Turn, first_clockwise, is_foreground, side_in, turn_direction,
    turn_sides,
};
use super::pixels::{Pixels, SPARE_ROWS};
use super::plane::Plane;
use super::saddles::{Diagonal, Saddles};
use crate::image::WORD_BITS;
use crate::trace::contours::BorderKind;

/// A node: its pixel's place, and a code that distinguishes it from the pixel's other nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::trace) struct Node {
    pub(in crate::trace) place: usize,
    pub(in crate::trace) code: u8,
}

/// A move to a neighbour in a [`Direction`], or [`STAY`].
pub(in crate::trace) type Move = u8;

/// A move to the same pixel.
pub(in crate::trace) const STAY: Move = 8;

/// The offsets of the directions and [`STAY`] from those of the directions.
pub(in crate::trace) fn with_stay(offsets: [isize; 8]) -> [isize; 9] {
    let mut all = [0; 9];
    all[..usize::from(STAY)].copy_from_slice(&offsets);
    all
}

/// The step from a node to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::trace) struct Step {
    /// The border's step, as stored in its chain.
    pub(in crate::trace) direction: Direction,
    /// The sides of the node's pixel that it passes.
    pub(in crate::trace) passed: u8,
    /// The move to the next node's pixel.
    pub(in crate::trace) to: Move,
    /// The next node's code.
    pub(in crate::trace) next: u8,
}

/// The step from a node to the one before.
#[derive(Clone, Copy, Debug)]
pub(in crate::trace) struct StepBack {
    /// The move to the pixel of the node before.
    pub(in crate::trace) to: Move,
    /// The code of the node before.
    pub(in crate::trace) previous: u8,
    /// The step from the node before to this one.
    pub(in crate::trace) direction: Direction,
    /// The sides that the node before passes.
    pub(in crate::trace) passed: u8,
}

/// A side of a row of pixels, over which borders enter and leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::trace) enum Rim {
    Above,
    Below,
}

/// The way of borders from node to node. Nodes' codes are below 8. Among the nodes by which borders
/// enter a pixel over one side of a rectangle, no two codes have the same two low bits.
pub(in crate::trace) trait Walk: Sync {
    /// The code of the node that passes a pixel's side in direction `aside`; `None` if the border
    /// is that pixel alone.
    fn node_at(&self, place: usize, aside: Direction) -> Option<u8>;

    fn step(&self, node: Node) -> Step;

    fn step_back(&self, node: Node) -> StepBack;

    /// The direction of the step from the node before to this one. Reads only the pixels around the
    /// node's.
    fn step_in(&self, node: Node) -> Direction;

    /// The nodes by which borders enter the pixels of the plane's word `at` over a rim, from the
    /// row above or below: one bit per pixel, by the two low bits of the nodes' codes.
    fn entries(&self, at: usize, rim: Rim) -> [u64; 4];

    /// The code of the nodes of [`entries`](Self::entries) with these two low bits.
    fn entry_code(low_bits: u8, rim: Rim) -> u8;

    /// The start of the chain of a border that begins at pixel `(x, y)`: the point, and the number
    /// of steps to it from the node at the pixel.
    fn start(kind: BorderKind, x: u32, y: u32) -> ((u32, u32), usize);

    /// The pixel at which a border begins, from the start of its chain.
    fn first_pixel(kind: BorderKind, start: (u32, u32)) -> (u32, u32);
}

/// Over pixel centers. A node's code is the direction back.
pub(in crate::trace) struct Centers<'a, P = Plane> {
    pub(in crate::trace) plane: &'a P,
}

impl<P: Pixels> Centers<'_, P> {
    /// The fewest vertical sides of a word's pixels, on average of words with such sides, for which
    /// steps are better looked up by [ways](Self::ways). Measured: the window of a pixel takes long
    /// to put together from planes of equality.
    pub(in crate::trace) const DENSE: u32 = if P::DIAGONALS == 1 { 16 } else { 4 };

    /// The **ways** of pixels of which some have sides: one byte per pixel, on which the steps of
    /// its nodes depend, namely its window without the pixel. Word `i` of the result has bit `i` of
    /// each byte. The arguments are what the plane has for the row above, the row and the row
    /// below.
    #[inline(always)]
    pub(in crate::trace) fn ways([above, row, below]: [BesideBits; 3]) -> [u64; 8] {
        [
            above.west, above.here, above.east, row.west, row.east, below.west, below.here,
            below.east,
        ]
    }

    /// The step from a node with a code, by the ways of its pixel.
    pub(in crate::trace) fn step_by_ways(ways: u8, code: u8) -> Step {
        step_by_turn(NEXT_AROUND[usize::from(ways)][usize::from(code & 7)])
    }
}

impl<P: Pixels> Walk for Centers<'_, P> {
    fn node_at(&self, place: usize, aside: Direction) -> Option<u8> {
        first_clockwise(self.plane.window(place), aside)
    }

    #[inline]
    fn step(&self, node: Node) -> Step {
        let turn = NEXT[self.plane.window(node.place)][usize::from(node.code)];
        step_by_turn(turn)
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

    fn step_in(&self, node: Node) -> Direction {
        opposite(node.code)
    }

    fn entries(&self, at: usize, rim: Rim) -> [u64; 4] {
        let row = self.plane.row(at);
        // Foreground in the direction back, followed by a gap with a side: the gap begins with the
        // side, or reaches the next one.
        match rim {
            Rim::Above => {
                let above = self.plane.above(at);
                let (ne, n, nw) = (above.east, above.here, above.west);
                [0, ne & !n, n & !nw & !row.west, nw & !row.west].map(|from| from & row.here)
            }
            Rim::Below => {
                let below = self.plane.below(at);
                let (sw, s, se) = (below.west, below.here, below.east);
                [0, sw & !s, s & !se & !row.east, se & !row.east].map(|from| from & row.here)
            }
        }
    }

    fn entry_code(low_bits: u8, rim: Rim) -> u8 {
        match rim {
            Rim::Above => low_bits,
            Rim::Below => low_bits + 4,
        }
    }

    fn start(_: BorderKind, x: u32, y: u32) -> ((u32, u32), usize) {
        ((x, y), 0)
    }

    fn first_pixel(_: BorderKind, start: (u32, u32)) -> (u32, u32) {
        start
    }
}

/// The step over pixel centers that a turn leads to.
#[inline(always)]
fn step_by_turn(turn: Turn) -> Step {
    let direction = turn_direction(turn);
    Step {
        direction,
        passed: turn_sides(turn),
        to: direction,
        next: opposite(direction),
    }
}

/// Along the sides of pixels, foreground on the left. A node is a side; its code is half the
/// direction that the side is in.
///
/// Where two foreground pixels touch diagonally at a corner (a saddle), the border stays with its
/// pixel if they belong to two 4-connected components. If they belong to one, the border would come
/// to the corner a second time, and it crosses over to the other pixel instead. Steps are not asked
/// for where that is unknown.
pub(in crate::trace) struct Edges<'a, P = Plane> {
    plane: &'a P,
    saddles: &'a Saddles,
    /// Offset from a word of the plane to the same pixels' word of `saddles`.
    offset: isize,
}

/// Ways from a side of a pixel: around the corner to the pixel's next side, ahead to the same side
/// of the next pixel, or across to the pixel diagonally ahead.
const AROUND: u8 = 0;
const AHEAD: u8 = 1;
const ACROSS: u8 = 2;

/// The move along a way from the side with a code, and the next side's code.
#[inline(always)]
const fn move_along(code: u8, way: u8) -> (Move, u8) {
    match way {
        AROUND => (STAY, (code + 1) & 3),
        AHEAD => ((code * 2 + 2) & 7, code),
        _ => ((code * 2 + 1) & 7, (code + 3) & 3),
    }
}

/// The step from the side with a code by a move.
#[inline(always)]
const fn edge_step(code: u8, (to, next): (Move, u8)) -> Step {
    let aside = code * 2;
    Step {
        direction: (aside + 2) & 7,
        passed: side_in(aside),
        to,
        next,
    }
}

impl<'a, P: Pixels> Edges<'a, P> {
    /// A walk in a plane whose row 0 is row `first_row` of the image or the band.
    pub(in crate::trace) fn new(plane: &'a P, saddles: &'a Saddles, first_row: u32) -> Self {
        let rows = first_row as isize - SPARE_ROWS as isize;
        Self {
            plane,
            saddles,
            offset: rows * plane.row_words() as isize,
        }
    }

    /// The place of the pixel to the lower right of a corner. The corner is the one of the pixel at
    /// `place` that comes counter-clockwise after its side in direction `aside`.
    #[inline]
    pub(in crate::trace) fn corner(&self, place: usize, aside: Direction) -> usize {
        match aside {
            0 => place + 1,
            2 => place,
            4 => place + self.plane.stride(),
            _ => place + self.plane.stride() + 1,
        }
    }

    /// The diagonal of a saddle at that [`corner`](Self::corner) of a pixel.
    #[inline]
    fn diagonal(aside: Direction) -> Diagonal {
        // The corners after E and W sides are the pixel's NE and SW ones.
        match aside {
            0 | 4 => Diagonal::Rising,
            _ => Diagonal::Falling,
        }
    }

    /// Whether borders cross over at the saddle at that [`corner`](Self::corner).
    #[inline]
    fn crosses(&self, place: usize, aside: Direction) -> bool {
        let corner = self.corner(place, aside);
        let diagonal = Self::diagonal(aside);
        self.joined(corner / WORD_BITS, diagonal) >> (corner % WORD_BITS) & 1 == 1
    }

    /// The joined saddles at the upper left corners of the pixels of the plane's word `at`.
    #[inline]
    fn joined(&self, at: usize, diagonal: Diagonal) -> u64 {
        let word = at.wrapping_add_signed(self.offset);
        self.saddles.joined::<P>(word, diagonal)
    }

    /// The joined saddles at the upper right corners.
    #[inline(always)]
    fn joined_right(&self, at: usize, diagonal: Diagonal) -> u64 {
        right_of(self.joined(at, diagonal), self.joined(at + 1, diagonal))
    }
}

/// By pixel: the bit of the pixel to its right, from the word `here` and the one after it.
#[inline(always)]
const fn right_of(here: u64, next: u64) -> u64 {
    here >> 1 | next << (WORD_BITS - 1)
}

impl<P: Pixels> Walk for Edges<'_, P> {
    fn node_at(&self, _: usize, aside: Direction) -> Option<u8> {
        Some(aside / 2)
    }

    #[inline(always)]
    fn step(&self, Node { place, code }: Node) -> Step {
        let aside = code * 2;
        // With branches, which are predicted while the pixels are not there yet.
        let along = match self.plane.ahead(place, code) {
            [true, false] => move_along(code, AHEAD),
            [true, true] => move_along(code, ACROSS),
            [false, true] if self.crosses(place, aside) => move_along(code, ACROSS),
            _ => move_along(code, AROUND),
        };
        edge_step(code, along)
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

    fn step_in(&self, node: Node) -> Direction {
        self.step_back(node).direction
    }

    fn entries(&self, at: usize, rim: Rim) -> [u64; 4] {
        let row = self.plane.row(at);
        // Around the corner from the pixel diagonally ahead, which belongs to the border if the
        // fourth pixel there is foreground or the saddle is joined; to a W or E side also straight
        // on.
        match rim {
            Rim::Above => {
                let above = self.plane.above(at);
                let w = !row.west & (above.here | above.west & self.joined(at, Diagonal::Falling));
                let n =
                    !above.here & above.east & (row.east | self.joined_right(at, Diagonal::Rising));
                [0, n, w, 0].map(|from| from & row.here)
            }
            Rim::Below => {
                let below = self.plane.below(at);
                let at = at + self.plane.row_words();
                let e = !row.east
                    & (below.here | below.east & self.joined_right(at, Diagonal::Falling));
                let s = !below.here & below.west & (row.west | self.joined(at, Diagonal::Rising));
                [e, 0, 0, s].map(|from| from & row.here)
            }
        }
    }

    fn entry_code(low_bits: u8, _: Rim) -> u8 {
        low_bits
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
