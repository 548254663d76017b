//! From a pixel's eight neighbours to the next step of a border over pixel centers: the topology of
//! `trazar_kernels::trace::neighbours` in tables, by 3 × 3 windows of pixels.
//!
//! A border passes a pixel between two foreground neighbours: it comes from `back`, and goes to the
//! first one counter-clockwise after it. The neighbours between them are background, a gap. The
//! gap's neighbours to the W, N, E and S are the **sides** of the pixel that the border passes
//! there; each side belongs to one gap.

use trazar_kernels::trace::neighbours as topology;

use super::chains::Direction;

/// Sets of a pixel's sides.
pub(super) const WEST: u8 = topology::WEST as u8;
pub(super) const EAST: u8 = topology::EAST as u8;
pub(super) const NORTH: u8 = topology::NORTH as u8;
pub(super) const SOUTH: u8 = topology::SOUTH as u8;

/// The neighbourhood of the pixel in the middle of a window (see
/// [`Plane::window`](super::plane::Plane::window)).
const fn neighbourhood(window: usize) -> u32 {
    let window = window as u32;
    topology::neighbourhood(window & 7, window >> 3 & 7, window >> 6)
}

/// The neighbourhood in each window.
static NEIGHBOURHOODS: [u8; 512] = {
    let mut table = [0; 512];
    let mut window = 0;
    while window < 512 {
        table[window] = neighbourhood(window) as u8;
        window += 1;
    }
    table
};

pub(super) fn is_foreground(window: usize, direction: Direction) -> bool {
    NEIGHBOURHOODS[window] >> direction & 1 == 1
}

/// The first foreground neighbour clockwise from just after `aside`, which is background.
#[inline]
pub(super) fn first_clockwise(window: usize, aside: Direction) -> Option<Direction> {
    // Without any, the turn ends at background.
    let direction = turn_direction(PREVIOUS[window][usize::from(aside)]);
    is_foreground(window, direction).then_some(direction)
}

/// The side of a pixel in a direction; no set for a corner.
pub(super) const fn side_in(direction: Direction) -> u8 {
    /// Four bits per direction.
    const SIDES: u32 = {
        let (mut sides, mut direction) = (0, 0);
        while direction < 8 {
            sides |= topology::sides_in(1 << direction) << (4 * direction);
            direction += 1;
        }
        sides
    };
    (SIDES >> (4 * direction)) as u8 & 15
}

/// One turn around a pixel: a direction in bits 0 to 2, and the sides passed on the way to it from
/// bit 3 on.
pub(super) type Turn = u8;

pub(super) const fn turn_direction(turn: Turn) -> Direction {
    turn & 7
}

pub(super) const fn turn_sides(turn: Turn) -> u8 {
    turn >> 3
}

/// For each window and direction back: the turn to the next foreground neighbour
/// counter-clockwise, where the border goes.
pub(super) static NEXT: [[Turn; 8]; 512] = turns(true);

/// For each window and direction in which the border goes: the turn to the next foreground
/// neighbour clockwise, where it came from.
pub(super) static PREVIOUS: [[Turn; 8]; 512] = turns(false);

/// [`NEXT`] by the window without the pixel in its middle, which is foreground: bits 0 to 3 from
/// the NW to the W, and 4 to 7 from the E to the SE.
pub(super) static NEXT_AROUND: [[Turn; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut around = 0;
    while around < 256 {
        table[around] = NEXT[around & 15 | 1 << 4 | (around >> 4) << 5];
        around += 1;
    }
    table
};

/// The turns counter-clockwise, or clockwise.
const fn turns(counter_clockwise: bool) -> [[Turn; 8]; 512] {
    let mut table = [[0; 8]; 512];
    let mut window = 0;
    while window < 512 {
        let neighbours = neighbourhood(window);
        let mut from = 0;
        while from < 8 {
            let (direction, passed);
            if counter_clockwise {
                direction = topology::after(neighbours, from);
                passed = topology::sides_between(from, direction);
            } else {
                direction = topology::before(neighbours, from);
                passed = topology::sides_between(direction, from);
            }
            table[window][from as usize] = (direction | passed << 3) as Turn;
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
        table[window] = topology::sides_in(!neighbourhood(window)) as u8;
        window += 1;
    }
    table
};
