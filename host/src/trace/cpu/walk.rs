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

/// A move to a neighbour in a [`Direction`], [`STAY`] or [`OPEN`].
pub(in crate::trace) type Move = u8;

/// A move to the same pixel.
pub(in crate::trace) const STAY: Move = 8;

/// A move to an open saddle, where the walk ends: see [`Saddles`].
pub(in crate::trace) const OPEN: Move = 9;

/// Distance of [`OPEN`]: beyond all places, so that a walk within a range of places ends. A plane
/// of as many bits would take 8 TiB.
pub(in crate::trace) const OPEN_OFFSET: isize = 1 << if isize::BITS == 64 { 46 } else { 30 };

/// The offsets of the directions and [`STAY`] from those of the directions.
pub(in crate::trace) fn with_stay(offsets: [isize; 8]) -> [isize; 9] {
    let mut all = [0; 9];
    all[..usize::from(STAY)].copy_from_slice(&offsets);
    all
}

/// The offsets of all moves from those of the directions.
pub(in crate::trace) fn of_moves(offsets: [isize; 8]) -> [isize; 10] {
    let mut all = [0; 10];
    all[..usize::from(OPEN)].copy_from_slice(&with_stay(offsets));
    all[usize::from(OPEN)] = OPEN_OFFSET;
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
    /// The next node's code; the node's own with [`OPEN`].
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
    /// The fewest vertical sides of a word's pixels, on average of words with such sides, for which
    /// steps are better looked up by [ways](Self::ways). Measured.
    const DENSE: u32;

    /// The code of the node that passes a pixel's side in direction `aside`; `None` if the border
    /// is that pixel alone.
    fn node_at(&self, place: usize, aside: Direction) -> Option<u8>;

    fn step(&self, node: Node) -> Step;

    /// The **ways** of the pixels of the plane's word `at`, of which some have sides: one byte per
    /// pixel, on which the steps of its nodes depend. Word `i` of the result has bit `i` of each
    /// byte. `around` is what the plane has for the row above, the row and the row below.
    fn ways(&self, at: usize, around: [BesideBits; 3]) -> [u64; 8];

    /// The step from a node with a code, by the ways of its pixel.
    fn step_by_ways(ways: u8, code: u8) -> Step;

    fn step_back(&self, node: Node) -> StepBack;

    /// The direction of the step from the node before to this one. Reads only the pixels around the
    /// node's.
    fn step_in(&self, node: Node) -> Direction;

    /// The nodes by which borders enter the pixels of the plane's word `at` over a rim, from the
    /// row above or below: one bit per pixel, by the two low bits of the nodes' codes.
    fn entries(&self, at: usize, rim: Rim) -> [u64; 4];

    /// The code of the nodes of [`entries`](Self::entries) with these two low bits.
    fn entry_code(low_bits: u8, rim: Rim) -> u8;

    /// The border's point at a node of pixel `(x, y)`.
    fn point(x: u32, y: u32, code: u8) -> (u32, u32);

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

impl<P: Pixels> Walk for Centers<'_, P> {
    // The window of a pixel takes long to put together from planes of equality.
    const DENSE: u32 = if P::DIAGONALS == 1 { 16 } else { 4 };

    fn node_at(&self, place: usize, aside: Direction) -> Option<u8> {
        first_clockwise(self.plane.window(place), aside)
    }

    #[inline]
    fn step(&self, node: Node) -> Step {
        let turn = NEXT[self.plane.window(node.place)][usize::from(node.code)];
        step_by_turn(turn)
    }

    /// The window of each pixel, without the pixel.
    #[inline(always)]
    fn ways(&self, _: usize, [above, row, below]: [BesideBits; 3]) -> [u64; 8] {
        [
            above.west, above.here, above.east, row.west, row.east, below.west, below.here,
            below.east,
        ]
    }

    fn step_by_ways(ways: u8, code: u8) -> Step {
        step_by_turn(NEXT_AROUND[usize::from(ways)][usize::from(code & 7)])
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

    fn point(x: u32, y: u32, _: u8) -> (u32, u32) {
        (x, y)
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
/// to the corner a second time, and it crosses over to the other pixel instead. While that is
/// unknown, the saddle is open, and the walk ends there.
pub(in crate::trace) struct Edges<'a, P = Plane> {
    plane: &'a P,
    saddles: &'a Saddles,
    /// Offset from a word of the plane to the same pixels' word of `saddles`.
    offset: isize,
}

/// Ways from a side of a pixel: around the corner to the pixel's next side, ahead to the same side
/// of the next pixel, across to the pixel diagonally ahead, or to an open saddle.
const AROUND: u8 = 0;
const AHEAD: u8 = 1;
const ACROSS: u8 = 2;
const TO_SADDLE: u8 = 3;

/// The move along a way from the side with a code, and the next side's code.
#[inline(always)]
const fn move_along(code: u8, way: u8) -> (Move, u8) {
    match way {
        AROUND => (STAY, (code + 1) & 3),
        AHEAD => ((code * 2 + 2) & 7, code),
        ACROSS => ((code * 2 + 1) & 7, (code + 3) & 3),
        _ => (OPEN, code),
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

    /// Whether that saddle is open.
    #[inline]
    fn is_open(&self, place: usize, aside: Direction) -> bool {
        let corner = self.corner(place, aside);
        let open = self.open(corner / WORD_BITS, Self::diagonal(aside));
        open >> (corner % WORD_BITS) & 1 == 1
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

    /// As [`joined`](Self::joined), those that are open.
    #[inline]
    fn open(&self, at: usize, diagonal: Diagonal) -> u64 {
        let word = at.wrapping_add_signed(self.offset);
        self.saddles.open::<P>(word, diagonal)
    }

    /// As [`joined_right`](Self::joined_right), those that are open.
    fn open_right(&self, at: usize, diagonal: Diagonal) -> u64 {
        right_of(self.open(at, diagonal), self.open(at + 1, diagonal))
    }
}

/// By pixel: the bit of the pixel to its right, from the word `here` and the one after it.
#[inline(always)]
const fn right_of(here: u64, next: u64) -> u64 {
    here >> 1 | next << (WORD_BITS - 1)
}

impl<P: Pixels> Walk for Edges<'_, P> {
    const DENSE: u32 = 16;

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
            [false, true] if self.is_open(place, aside) => move_along(code, TO_SADDLE),
            _ => move_along(code, AROUND),
        };
        edge_step(code, along)
    }

    /// Two bits for the way from each of a pixel's sides.
    #[inline(always)]
    fn ways(&self, at: usize, [above, row, below]: [BesideBits; 3]) -> [u64; 8] {
        let under = at + self.plane.row_words();
        let corners = [
            (
                above.here,
                above.east,
                self.joined_right(at, Diagonal::Rising),
            ),
            (row.west, above.west, self.joined(at, Diagonal::Falling)),
            (below.here, below.west, self.joined(under, Diagonal::Rising)),
            (
                row.east,
                below.east,
                self.joined_right(under, Diagonal::Falling),
            ),
        ];
        let mut ways = [0; 8];
        for (code, (ahead, beside, joined)) in corners.into_iter().enumerate() {
            let across = beside & (ahead | joined);
            ways[2 * code] = ahead & !beside;
            ways[2 * code + 1] = across;
        }
        if self.saddles.has_open() {
            let open = [
                self.open_right(at, Diagonal::Rising),
                self.open(at, Diagonal::Falling),
                self.open(under, Diagonal::Rising),
                self.open_right(under, Diagonal::Falling),
            ];
            for (code, open) in open.into_iter().enumerate() {
                let (ahead, beside, _) = corners[code];
                let into_open = open & beside & !ahead & !ways[2 * code + 1];
                ways[2 * code] |= into_open;
                ways[2 * code + 1] |= into_open;
            }
        }
        ways
    }

    fn step_by_ways(ways: u8, code: u8) -> Step {
        let code = code & 3;
        edge_step(code, move_along(code, ways >> (2 * code) & 3))
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

    fn point(x: u32, y: u32, code: u8) -> (u32, u32) {
        // Where the side begins.
        match code {
            0 => (x + 1, y + 1),
            1 => (x + 1, y),
            2 => (x, y),
            _ => (x, y + 1),
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
