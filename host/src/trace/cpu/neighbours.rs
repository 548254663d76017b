//! From a pixel's eight neighbours to the next step of a border over pixel centres.
//!
//! A border passes a pixel between two foreground neighbours: `back`, where it comes from, and the
//! first one counter-clockwise after it, where it goes. What lies between them is background, a
//! gap. The gap's neighbours to the W, N, E and S are the **sides** of the pixel that the border
//! passes there; each side belongs to one gap.

use super::chains::Direction;

/// Sets of a pixel's sides.
pub(super) const WEST: u8 = 1;
pub(super) const EAST: u8 = 2;
pub(super) const NORTH: u8 = 4;
pub(super) const SOUTH: u8 = 8;

/// The bit of each direction's neighbour in a window (see
/// [`Plane::window`](super::plane::Plane::window)).
const WINDOW_BITS: [usize; 8] = [5, 2, 1, 0, 3, 6, 7, 8];

pub(super) const fn is_foreground(window: usize, direction: Direction) -> bool {
    window >> WINDOW_BITS[direction as usize] & 1 == 1
}

/// The first foreground neighbour clockwise from just after `aside`, which is background.
#[inline]
pub(super) fn first_clockwise(window: usize, aside: Direction) -> Option<Direction> {
    // Without any, the turn ends where it began.
    let direction = turn_direction(PREVIOUS[window][usize::from(aside)]);
    is_foreground(window, direction).then_some(direction)
}

/// The side of a pixel in a direction; no set for a corner.
pub(super) const fn side_in(direction: Direction) -> u8 {
    match direction {
        0 => EAST,
        2 => NORTH,
        4 => WEST,
        6 => SOUTH,
        _ => 0,
    }
}

/// One turn around a pixel: a direction in bits 0 to 2, and the sides passed on the way to it from
/// bit 3 on.
type Turn = u8;

pub(super) const fn turn_direction(turn: Turn) -> Direction {
    turn & 7
}

pub(super) const fn turn_sides(turn: Turn) -> u8 {
    turn >> 3
}

/// For each window and direction back: the turn to the next foreground neighbour
/// counter-clockwise, where the border goes.
pub(super) static NEXT: [[Turn; 8]; 512] = turns(1);

/// For each window and direction in which the border goes: the turn to the next foreground
/// neighbour clockwise, where it came from.
pub(super) static PREVIOUS: [[Turn; 8]; 512] = turns(7);

/// The turns that look at every `by`th direction.
const fn turns(by: Direction) -> [[Turn; 8]; 512] {
    let mut table = [[0; 8]; 512];
    let mut window = 0;
    while window < 512 {
        let mut from = 0;
        while from < 8 {
            let mut passed = 0;
            let mut direction = (from + by) & 7;
            while direction != from && !is_foreground(window, direction) {
                passed |= side_in(direction);
                direction = (direction + by) & 7;
            }
            table[window][from as usize] = direction | passed << 3;
            from += 1;
        }
        window += 1;
    }
    table
}

/// For each window: the sides where the pixel meets background.
pub(super) static SIDES: [u8; 512] = {
    let mut table = [0; 512];
    let mut window = 0;
    while window < 512 {
        let mut direction = 0;
        while direction < 8 {
            if !is_foreground(window, direction) {
                table[window] |= side_in(direction);
            }
            direction += 2;
        }
        window += 1;
    }
    table
};
