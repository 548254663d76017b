//! How a walk finds its next step: from the planes, or looked up in a byte per pixel.
//!
//! Where a border goes next is hard to predict, and a branch on it is mispredicted every few steps.
//! A step that is looked up has no branches. But the bytes of all pixels with sides must be found
//! first, which pays in strips with many sides only.

use std::ops::Range;

use super::super::neighbours::{EAST, WEST};
use super::super::pixels::{Pixels, SPARE_ROWS};
use super::super::sides::Marks;
use super::super::transpose::bytes_of;
use super::super::walk::{Centers, Node, Step, Walk};
use crate::error::Result;
use crate::image::WORD_BITS;
use crate::memory::{advise_large_pages, zeroed_vec};

/// The most steps that are appended at a time.
pub(super) const MOST_STEPS: usize = 16;

/// From a node of a strip to the next one.
pub(super) trait NextNode {
    /// The number of steps that are appended at a time, at most [`MOST_STEPS`]. After as many
    /// horizontal ones, a straight run is looked for.
    const STEPS: usize;

    /// The next node, the step to it, and whether it passes sides that are
    /// [marked](Marks::marked) or may be.
    fn next(&self, node: Node) -> (Node, Step, bool);
}

/// From the planes of pixels.
pub(super) struct FromPlanes<'a, P> {
    walk: &'a Centers<'a, P>,
    /// Distances to the next node's place, by direction.
    offsets: [isize; 8],
}

impl<'a, P: Pixels> FromPlanes<'a, P> {
    pub(super) fn new(walk: &'a Centers<'a, P>) -> Self {
        let offsets = walk.plane.neighbour_offsets();
        Self { walk, offsets }
    }
}

impl<P: Pixels> NextNode for FromPlanes<'_, P> {
    const STEPS: usize = 1;

    #[inline(always)]
    fn next(&self, node: Node) -> (Node, Step, bool) {
        let step = self.walk.step(node);
        let next = Node {
            place: node
                .place
                .wrapping_add_signed(self.offsets[usize::from(step.to)]),
            code: step.next,
        };
        (next, step, step.passed & (WEST | EAST) != 0)
    }
}

/// From the pixels' [`Ways`].
pub(super) struct FromWays<'a> {
    of_pixels: &'a [u16],
    /// By the node's code and its pixel's ways. As each step waits for the one before, they are
    /// found by one load.
    moves: &'a [PackedMove; MOVES],
}

/// As many as there are codes of nodes and ways of pixels.
const MOVES: usize = 8 << 8;

/// A step and the distance to the next node's place.
#[derive(Clone, Copy)]
struct PackedMove(i64);

impl PackedMove {
    /// The bits of a step.
    const STEP_BITS: u32 = 16;

    fn new(step: Step, distance: isize) -> Self {
        let Step {
            direction,
            passed,
            to,
            next,
        } = step;
        let step = [direction, passed, to, next];
        let step = (0..).zip(step).map(|(i, part)| i64::from(part) << (4 * i));
        Self((distance as i64) << Self::STEP_BITS | step.sum::<i64>())
    }

    #[inline(always)]
    fn distance(self) -> isize {
        (self.0 >> Self::STEP_BITS) as isize
    }

    #[inline(always)]
    fn step(self) -> Step {
        let part = |i: u32| (self.0 >> (4 * i)) as u8 & 15;
        Step {
            direction: part(0),
            passed: part(1),
            to: part(2),
            next: part(3),
        }
    }
}

impl NextNode for FromWays<'_> {
    const STEPS: usize = MOST_STEPS;

    #[inline(always)]
    fn next(&self, node: Node) -> (Node, Step, bool) {
        let [ways, marked] = self.of_pixels[node.place].to_le_bytes();
        let found = self.moves[usize::from(node.code & 7) << 8 | usize::from(ways)];
        let step = found.step();
        let next = Node {
            place: node.place.wrapping_add_signed(found.distance()),
            code: step.next,
        };
        (next, step, marked & step.passed != 0)
    }
}

/// Memory for the ways of the strips of an image or a band.
#[derive(Default)]
pub(super) struct Ways {
    /// By place, for pixels with sides: the pixel's [ways](Centers::ways) in the lower byte, and in
    /// the upper one its marked sides, as a set.
    of_pixels: Vec<u16>,
    moves: Option<Box<[PackedMove; MOVES]>>,
}

/// One row in this many is sampled to decide whether finding the ways pays.
const SAMPLED_ROWS: usize = 16;

impl Ways {
    /// Finds the ways of the pixels of some rows, if there are enough sides for them to pay.
    pub(super) fn find<'a, P: Pixels>(
        &'a mut self,
        plane: &P,
        marks: &Marks,
        rows: Range<usize>,
    ) -> Result<Option<FromWays<'a>>> {
        if !is_dense(plane, rows.clone()) {
            return Ok(None);
        }
        self.of_rows(plane, marks, rows).map(Some)
    }

    /// Finds the ways of the pixels of some rows.
    fn of_rows<'a, P: Pixels>(
        &'a mut self,
        plane: &P,
        marks: &Marks,
        rows: Range<usize>,
    ) -> Result<FromWays<'a>> {
        let places = plane.stride() * (rows.end + SPARE_ROWS);
        if self.of_pixels.len() < places {
            self.of_pixels = Vec::new();
            self.of_pixels = zeroed_vec(places, "the ways of pixels")?;
            // A walk up or down touches another page in every row.
            advise_large_pages(&mut self.of_pixels);
        }
        let words = rows.start * plane.row_words()..rows.end * plane.row_words();
        let ways = &mut self.of_pixels[words.start * WORD_BITS..words.end * WORD_BITS];
        for (at, ways) in words.zip(ways.chunks_exact_mut(WORD_BITS)) {
            let row = plane.row(at);
            if row.here == 0 {
                continue;
            }
            let [above, below] = [plane.above(at), plane.below(at)];
            let inside = row.west & row.east & above.here & below.here;
            if row.here & !inside == 0 {
                // Borders pass pixels with sides only.
                continue;
            }
            let bytes = bytes_of(Centers::<P>::ways([above, row, below]));
            for (to, &byte) in ways.iter_mut().zip(bytemuck::bytes_of(&bytes)) {
                *to = u16::from(byte);
            }
            for (mut marked, side) in marks.marked(at).into_iter().zip([WEST, EAST]) {
                while marked != 0 {
                    ways[marked.trailing_zeros() as usize] |= u16::from(side) << 8;
                    marked &= marked - 1;
                }
            }
        }
        Ok(FromWays {
            of_pixels: &self.of_pixels,
            moves: self.moves.get_or_insert_with(|| moves(plane)),
        })
    }
}

/// The moves of a walk in a plane.
fn moves<P: Pixels>(plane: &P) -> Box<[PackedMove; MOVES]> {
    let distances = plane.neighbour_offsets();
    let mut moves = Box::new([PackedMove(0); MOVES]);
    for (i, packed) in moves.iter_mut().enumerate() {
        let step = Centers::<P>::step_by_ways((i & 255) as u8, (i >> 8) as u8);
        *packed = PackedMove::new(step, distances[usize::from(step.to)]);
    }
    moves
}

/// Whether the words with vertical sides in some rows have as many on average as it takes for the
/// ways to pay.
fn is_dense<P: Pixels>(plane: &P, rows: Range<usize>) -> bool {
    let (mut sides, mut words) = (0, 0);
    for row in rows.step_by(SAMPLED_ROWS) {
        for at in row * plane.row_words()..(row + 1) * plane.row_words() {
            let (west, east) = plane.row(at).vertical_sides();
            sides += west.count_ones() + east.count_ones();
            words += u32::from(west | east != 0);
        }
    }
    sides >= Centers::<P>::DENSE * words.max(1)
}

#[cfg(test)]
mod tests {
    use super::super::super::neighbours::side_in;
    use super::super::super::pixels::Strips;
    use super::super::super::sides::{Joined, Sides};
    use super::super::super::values::ValuePlanes;
    use super::*;
    use crate::generate::noise;
    use crate::image::{Samples, ValueImage};
    use crate::trace::{Band, ValueBand};

    /// Compares the steps of all nodes; returns the number of nodes.
    fn check<P: Pixels>(plane: &P, marks: &Marks, rows: u32) -> usize {
        let walk = &Centers { plane };
        let mut ways = Ways::default();
        let inner = SPARE_ROWS..SPARE_ROWS + rows as usize;
        let by_ways = ways.of_rows(plane, marks, inner.clone()).unwrap();
        let from_planes = FromPlanes::new(walk);
        let mut nodes = 0;
        for at in inner.start * plane.row_words()..inner.end * plane.row_words() {
            let row = plane.row(at);
            let sides = [
                (0, row.east),
                (2, plane.above(at).here),
                (4, row.west),
                (6, plane.below(at).here),
            ];
            for (aside, joined) in sides {
                let mut pixels = row.here & !joined;
                while pixels != 0 {
                    let bit = pixels.trailing_zeros();
                    pixels &= pixels - 1;
                    let place = at * WORD_BITS + bit as usize;
                    let Some(code) = walk.node_at(place, aside) else {
                        continue;
                    };
                    let node = Node { place, code };
                    let (expected, expected_step, _) = from_planes.next(node);
                    let (next, step, is_marked) = by_ways.next(node);
                    assert_eq!((next, step), (expected, expected_step), "{node:?}");
                    let [west, east] = marks.marked(at).map(|marked| marked >> bit & 1 == 1);
                    let passes = |side| step.passed & side_in(side) != 0;
                    assert_eq!(
                        is_marked,
                        passes(4) && west || passes(0) && east,
                        "{node:?}"
                    );
                    nodes += 1;
                }
            }
        }
        nodes
    }

    /// Compares all steps of a strip.
    fn check_strip<S: Strips>(strip: S) -> usize {
        let rows = strip.height();
        let mut sides = Sides::with_room(&strip, rows).unwrap();
        sides.find(&strip, 0..rows, Joined::Eight).unwrap();
        let (plane, marks) = sides.split();
        check(plane, marks, rows)
    }

    #[test]
    fn steps_are_those_of_the_planes() {
        for seed in 0..60u64 {
            let (width, rows) = (1 + (seed * 37 % 200) as u32, 1 + (seed * 7 % 23) as u32);
            let density = [0.2, 0.5, 0.8][seed as usize % 3];
            let image = noise(width, rows + 2, density, seed).unwrap();
            let own = crate::BinaryImage::from_fn(width, rows, |x, y| image.get(x, y + 1)).unwrap();
            let band = Band::new(&own, 1)
                .with_above(image.row(0))
                .with_below(image.row(rows + 1));
            let mut nodes = check_strip(band) + check_strip(Band::whole(&own));

            let values: Vec<u8> = (0..rows * width)
                .map(|i| {
                    let pixel = |more| image.get(i % width, i / width + more);
                    u8::from(pixel(0)) + u8::from(pixel(1)) * u8::from(pixel(2))
                })
                .collect();
            let samples = Samples::new(width, rows, &values).unwrap();
            let values = ValueImage::new(samples).unwrap();
            let values = values.background(0).unwrap();
            let planes = ValuePlanes::of(&ValueBand::new(&values, 0)).unwrap();
            nodes += check_strip(&planes);
            assert!(nodes > 0 || density < 0.5, "seed {seed}");
        }
    }
}
