//! Ring following along the sides of pixels, one ring after the other on one thread.
//!
//! A walk keeps foreground on its left: down along west sides, up along east sides. Where it meets
//! a corner at which two foreground pixels touch diagonally (a saddle), it turns left and so stays
//! with its pixel: pixels that only touch at a corner are not joined. A walk that reaches the same
//! saddle a second time has closed a loop there. The loop is cut off as a ring of its own, so no
//! ring passes a corner twice.
//!
//! ```text
//!   a saddle:   . #      seen from below, walking up between '#' and '.':
//!               # .      the walk turns left, back around the lower '#'
//! ```
//!
//! Each ring then starts at its topmost, then leftmost corner. That is the upper left corner of the
//! first pixel in raster order that the ring encloses, foreground for an outer ring and background
//! for a hole's. Time: linear in the number of words of the image plus the number of sides, except
//! for sorting the rings where saddles made loops.

use std::collections::HashMap;

use super::chains::{BorderId, Chains, Direction, STEPS};
use super::pixels::Pixels;
use super::sides::{Joined, Side, Sides, Slot};
use crate::error::Result;
use crate::image::BinaryImage;
use crate::memory::{collect, extend_from_slice, reserve};
use crate::progress::Progress;
use crate::trace::contours::BorderKind;

const EAST: Direction = 0;
const NORTH: Direction = 2;
const WEST: Direction = 4;
const SOUTH: Direction = 6;

/// A corner of pixels; `(x, y)` is the upper left corner of pixel `(x, y)`.
type Corner = (u32, u32);

/// Follows all rings of an image.
pub(super) fn follow_rings(image: &BinaryImage, progress: &Progress<'_>) -> Result<Chains> {
    let mut walk = RingWalk {
        sides: Sides::of(image, Joined::Four)?,
        rings: Chains::default(),
        steps: Vec::new(),
        slots: Vec::new(),
        saddles: Vec::new(),
        saddle_steps: HashMap::new(),
    };
    for y in 0..image.height() {
        let mut x = 0;
        while let Some(side) = walk.sides.next_unpassed(y, &mut x) {
            match side {
                Side::West => walk.follow((x, y), SOUTH)?,
                Side::East => walk.follow((x + 1, y + 1), NORTH)?,
            }
        }
        progress.report_followed(y, image.height())?;
    }
    let RingWalk { sides, rings, .. } = walk;
    sort(&rings, &sides)
}

/// A walk in progress, and the rings so far.
struct RingWalk {
    sides: Sides,
    rings: Chains,
    /// The steps since the start that are not yet part of a ring.
    steps: Vec<Direction>,
    /// The queried sides among them, each with the number of steps before it.
    slots: Vec<(usize, Slot)>,
    /// The saddles among them, in order, and how many steps lead to each.
    saddles: Vec<Corner>,
    saddle_steps: HashMap<Corner, usize>,
}

impl RingWalk {
    /// Walks from a corner in a direction until it comes back, and adds the rings.
    fn follow(&mut self, start: Corner, first: Direction) -> Result<()> {
        let (mut corner, mut heading) = (start, first);
        if is_saddle(self.sides.plane.corner(corner.0, corner.1)) {
            self.enter_saddle(start);
        }
        loop {
            self.pass(corner, heading)?;
            let (dx, dy) = STEPS[usize::from(heading)];
            corner = (
                corner.0.wrapping_add_signed(dx),
                corner.1.wrapping_add_signed(dy),
            );
            let pixels = self.sides.plane.corner(corner.0, corner.1);
            heading = TURN[pixels][usize::from(heading / 2)];
            if (corner, heading) == (start, first) {
                break;
            }
            if is_saddle(pixels) {
                match self.saddle_steps.get(&corner) {
                    Some(&steps_before) => self.cut(corner, steps_before)?,
                    None => self.enter_saddle(corner),
                }
            }
        }
        self.cut(start, 0)
    }

    fn enter_saddle(&mut self, corner: Corner) {
        self.saddles.push(corner);
        self.saddle_steps.insert(corner, self.steps.len());
    }

    /// Steps from `corner`, passing the side of a pixel if the step runs along one.
    fn pass(&mut self, (x, y): Corner, heading: Direction) -> Result<()> {
        let slot = match heading {
            SOUTH => self
                .sides
                .pass_side(self.sides.plane.place(x, y), Side::West),
            NORTH => self
                .sides
                .pass_side(self.sides.plane.place(x - 1, y - 1), Side::East),
            _ => None,
        };
        if let Some(slot) = slot {
            self.slots.push((self.steps.len(), slot));
        }
        if self.steps.len() == self.steps.capacity() {
            reserve(&mut self.steps, 1, "the steps of a ring")?;
        }
        self.steps.push(heading);
        Ok(())
    }

    /// Makes a ring of the steps after the first `steps_before`; they begin and end at `corner`.
    fn cut(&mut self, corner: Corner, steps_before: usize) -> Result<()> {
        let id = self.rings.next_id()?;
        let ring = &mut self.steps[steps_before..];
        let (start, rotation) = topmost_leftmost(corner, ring);
        ring.rotate_left(rotation);
        let kind = match ring[0] {
            SOUTH => BorderKind::Outer,
            _ => BorderKind::Hole,
        };
        let next = ring.iter().cycle().skip(1);
        self.rings.turns += ring.iter().zip(next).filter(|(a, b)| a != b).count();
        extend_from_slice(&mut self.rings.steps, ring, "the steps of rings")?;
        self.steps.truncate(steps_before);

        while let Some((_, slot)) = self.slots.pop_if(|(step, _)| *step >= steps_before) {
            self.sides.set_border(slot, id);
        }
        let saddle_steps = &mut self.saddle_steps;
        while let Some(saddle) = self
            .saddles
            .pop_if(|saddle| saddle_steps[saddle] >= steps_before)
        {
            saddle_steps.remove(&saddle);
        }

        self.rings.add(start, kind)
    }
}

/// The topmost, then leftmost corner of a closed walk from `corner`, and how many steps lead to
/// it.
fn topmost_leftmost(mut corner: Corner, steps: &[Direction]) -> (Corner, usize) {
    let (mut best, mut steps_to_best) = (corner, 0);
    for (i, &step) in steps.iter().enumerate() {
        if (corner.1, corner.0) < (best.1, best.0) {
            (best, steps_to_best) = (corner, i);
        }
        let (dx, dy) = STEPS[usize::from(step)];
        corner = (
            corner.0.wrapping_add_signed(dx),
            corner.1.wrapping_add_signed(dy),
        );
    }
    (best, steps_to_best)
}

/// Puts rings into the order of their starts, and finds their parents.
fn sort(rings: &Chains, sides: &Sides) -> Result<Chains> {
    let key = |id: BorderId| {
        let (x, y) = rings.borders[id as usize].start;
        (y, x)
    };
    let mut order = Vec::new();
    reserve(&mut order, rings.borders.len(), "the order of rings")?;
    order.extend(0..rings.borders.len() as BorderId);
    order.sort_unstable_by_key(|&id| key(id));
    let mut places = collect(order.iter().copied(), "the order of rings")?;
    for (place, &id) in order.iter().enumerate() {
        places[id as usize] = place as BorderId;
    }

    let mut sorted = Chains {
        turns: rings.turns,
        ..Chains::default()
    };
    reserve(&mut sorted.steps, rings.steps.len(), "the steps of rings")?;
    for &id in &order {
        sorted.steps.extend_from_slice(rings.steps(id));
        let ring = id as usize;
        sorted.add(rings.borders[ring].start, rings.nesting.kinds[ring])?;
    }
    sorted.find_parents(|kind, (x, y)| {
        let before = match kind {
            BorderKind::Outer => sides.border_before(kind, x, y),
            BorderKind::Hole => sides.border_before(kind, x - 1, y),
        };
        places.get(before as usize).copied().unwrap_or(before)
    })?;
    Ok(sorted)
}

/// The four pixels around a corner, as bits (see [`Plane::corner`](super::plane::Plane::corner)).
const NW: usize = 1;
const NE: usize = 2;
const SW: usize = 4;
const SE: usize = 8;

/// Whether two foreground pixels touch diagonally at a corner with these pixels.
fn is_saddle(pixels: usize) -> bool {
    pixels == NW | SE || pixels == NE | SW
}

/// The heading in which a corner is left, by the set of pixels around it and half the heading in
/// which it is reached.
static TURN: [[Direction; 4]; 16] = {
    let mut table = [[0; 4]; 16];
    let mut pixels = 0;
    while pixels < 16 {
        let mut i = 0;
        while i < 4 {
            let heading = 2 * i as Direction;
            let (left, right) = match heading {
                EAST => (NE, SE),
                NORTH => (NW, NE),
                WEST => (SW, NW),
                _ => (SE, SW),
            };
            table[pixels][i] = if pixels & left == 0 {
                (heading + 2) % 8
            } else if pixels & right == 0 {
                heading
            } else {
                (heading + 6) % 8
            };
            i += 1;
        }
        pixels += 1;
    }
    table
};
