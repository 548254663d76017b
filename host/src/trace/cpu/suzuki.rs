//! Border following over pixel centers, one border after the other on one thread.
//!
//! S. Suzuki, K. Abe, "Topological structural analysis of digitized binary images by border
//! following", CVGIP 30 (1985). It is the reference for every other tracing engine.
//!
//! ```text
//! for each side in raster order that no border has passed:
//!     west side: begin an outer border at its pixel p0, with `aside` = W
//!     east side: begin a hole border at its pixel p0,   with `aside` = E
//!     b0 = the first foreground neighbour of p0, clockwise from just after `aside`
//!     (none: the border is that one pixel)
//!     p, back = p0, b0
//!     repeat
//!         step in the first direction counter-clockwise from just after `back` that leads to
//!         foreground; the background neighbours met on the way are a gap of p, and the border
//!         passes p's west or east side if the gap holds it
//!     until the step leads from p0's neighbour at b0 into p0
//! ```
//!
//! A pixel's eight neighbours are read from the bit plane in three reads. A table maps them, with
//! the way back, to the next step and the sides passed. Time: linear in the number of words of the
//! image plus the number of steps.

use super::chains::{BorderId, Chains, Direction, opposite};
use super::neighbours::{EAST, NEXT, WEST, first_clockwise, turn_direction, turn_sides};
use super::pixels::{MAX_STRAIGHT, Pixels};
use super::sides::{Joined, Side, Sides};
use crate::error::Result;
use crate::image::BinaryImage;
use crate::memory::reserve;
use crate::progress::Progress;
use crate::trace::contours::BorderKind;

/// Follows all borders of an image.
pub(super) fn follow_borders(image: &BinaryImage, progress: &Progress<'_>) -> Result<Chains> {
    let mut sides = Sides::of(image, Joined::Eight)?;
    let mut chains = Chains::default();
    for y in 0..image.height() {
        let mut x = 0;
        while let Some(side) = sides.next_unpassed(y, &mut x) {
            let kind = match side {
                Side::West => BorderKind::Outer,
                Side::East => BorderKind::Hole,
            };
            let id = chains.next_id()?;
            chains.turns += follow(&mut sides, x, y, kind, id, &mut chains.steps)?;
            chains.add((x, y), kind)?;
        }
        progress.report_followed(y, image.height())?;
    }
    chains.find_parents(|kind, (x, y)| sides.border_before(kind, x, y))?;
    Ok(chains)
}

/// Follows one border from pixel `(x, y)`, passes its sides, and appends its steps. Returns the
/// number of points where it turns; a single pixel counts as one.
fn follow(
    sides: &mut Sides,
    x: u32,
    y: u32,
    kind: BorderKind,
    id: BorderId,
    steps: &mut Vec<Direction>,
) -> Result<usize> {
    let start = sides.plane.place(x, y);
    let aside = match kind {
        BorderKind::Outer => 4,
        BorderKind::Hole => 0,
    };
    let Some(first_back) = first_clockwise(sides.plane.window(start), aside) else {
        sides.pass(start, WEST | EAST, id);
        return Ok(1);
    };
    let offsets = sides.plane.neighbour_offsets();

    let (mut place, mut back) = (start, first_back);
    let mut turns = 0;
    loop {
        let turn = NEXT[sides.plane.window(place)][usize::from(back)];
        sides.pass(place, turn_sides(turn), id);
        let direction = turn_direction(turn);
        let turned = direction != opposite(back);
        turns += usize::from(turned);
        if steps.capacity() - steps.len() <= MAX_STRAIGHT {
            reserve(steps, MAX_STRAIGHT + 1, "the chain codes of borders")?;
        }
        steps.push(direction);
        place = place.wrapping_add_signed(offsets[usize::from(direction)]);
        back = opposite(direction);
        if !turned && (direction == 0 || direction == 4) {
            // Horizontal runs are long in layouts. A run may end at the start but not go through
            // it: a border starts where it has background to its W (outer) or E (hole).
            let straight = sides.plane.straight(place, direction);
            steps.resize(steps.len() + straight, direction);
            place = place.wrapping_add_signed(straight as isize * offsets[usize::from(direction)]);
        }
        if place == start && back == first_back {
            return Ok(turns);
        }
    }
}
