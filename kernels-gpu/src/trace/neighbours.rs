//! A pixel's eight neighbours: directions, sides, and where a border over pixel centers goes next.
//!
//! Directions are 0 = E, 1 = NE, 2 = N, … 7 = SE, counter-clockwise on the screen, where y points
//! down. A pixel's neighbourhood is a byte with one bit per direction, set where the neighbour is
//! foreground.
//!
//! A pixel's **sides** are those of W, E, N and S that it shares with background. A set of sides is
//! 4 bits: [`WEST`], [`EAST`], [`NORTH`] and [`SOUTH`].
//!
//! All functions are pure. The kernels call them; the CPU builds its tables from them.

/// The side to the W, as a bit of a set.
pub const WEST: u32 = 1;
/// The side to the E.
pub const EAST: u32 = 1 << 1;
/// The side to the N.
pub const NORTH: u32 = 1 << 2;
/// The side to the S.
pub const SOUTH: u32 = 1 << 3;
/// All four sides.
pub const ALL_SIDES: u32 = WEST | EAST | NORTH | SOUTH;

/// The neighbourhood of a pixel, from three rows of three pixels each, with the westernmost pixel
/// in bit 0.
#[inline(always)]
#[must_use]
pub const fn neighbourhood(above: u32, row: u32, below: u32) -> u32 {
    (row >> 2 & 1)
        | (above >> 2 & 1) << 1
        | (above >> 1 & 1) << 2
        | (above & 1) << 3
        | (row & 1) << 4
        | (below & 1) << 5
        | (below >> 1 & 1) << 6
        | (below >> 2 & 1) << 7
}

/// A step in a direction: what to add to x and y. Both wrap around below 0.
#[inline(always)]
#[must_use]
pub const fn step(direction: u32) -> (u32, u32) {
    // Two bits per direction: 0, 1 and 2 for -1, 0 and 1.
    const X: u32 = 0b10_01_00_00_00_01_10_10;
    const Y: u32 = 0b10_10_10_01_00_00_00_01;
    (
        (X >> (2 * direction) & 3).wrapping_sub(1),
        (Y >> (2 * direction) & 3).wrapping_sub(1),
    )
}

/// A neighbourhood from direction `from` on, counter-clockwise, as bits 0 to 7.
#[inline(always)]
pub(super) const fn rotated(neighbours: u32, from: u32) -> u32 {
    ((neighbours | neighbours << 8) >> (from & 7)) & 255
}

/// The direction of the first foreground neighbour counter-clockwise after direction `from`. If
/// there is none, some direction.
#[inline(always)]
#[must_use]
pub const fn after(neighbours: u32, from: u32) -> u32 {
    (from + 1 + rotated(neighbours, from + 1).trailing_zeros()) & 7
}

/// The direction of the first foreground neighbour clockwise before direction `from`. If there is
/// none, some direction.
#[inline(always)]
#[must_use]
pub const fn before(neighbours: u32, from: u32) -> u32 {
    // Bit 7 is the direction before `from`.
    (from + 31).wrapping_sub(rotated(neighbours, from).leading_zeros()) & 7
}

/// A pixel's sides in some directions, one bit per direction; corners do not count.
#[inline(always)]
#[must_use]
pub const fn sides_in(directions: u32) -> u32 {
    directions >> 4 & WEST | directions << 1 & EAST | directions & NORTH | directions >> 3 & SOUTH
}

/// The sides strictly between directions `from` and `to`, counter-clockwise; if the two are equal,
/// all sides except the one in that direction.
#[inline(always)]
#[must_use]
pub const fn sides_between(from: u32, to: u32) -> u32 {
    let count = to.wrapping_sub(from).wrapping_sub(1) & 7;
    let between = ((1 << count) - 1) << (from.wrapping_add(1) & 7);
    sides_in(between | between >> 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, one direction after the other.
    #[test]
    fn turns_are_as_defined() {
        for neighbours in 1..256 {
            for from in 0..8 {
                let foreground = |direction: u32| neighbours >> (direction & 7) & 1 != 0;
                let next = (1..=8).find(|i| foreground(from + i)).unwrap();
                let previous = (1..=8).find(|i| foreground(from + 8 - i)).unwrap();
                assert_eq!(after(neighbours, from), (from + next) % 8);
                assert_eq!(before(neighbours, from), (from + 8 - previous) % 8);
                let mut sides = 0;
                for direction in (1..next).map(|i| (from + i) % 8) {
                    sides |= match direction {
                        0 => EAST,
                        2 => NORTH,
                        4 => WEST,
                        6 => SOUTH,
                        _ => 0,
                    };
                }
                assert_eq!(sides_between(from, (from + next) % 8), sides);
            }
        }
    }

    #[test]
    fn steps_go_once_around() {
        let steps: Vec<_> = (0..8).map(step).collect();
        let [back, stay, ahead] = [u32::MAX, 0, 1];
        assert_eq!(
            steps,
            [
                (ahead, stay),
                (ahead, back),
                (stay, back),
                (back, back),
                (back, stay),
                (back, ahead),
                (stay, ahead),
                (ahead, ahead),
            ]
        );
    }
}
