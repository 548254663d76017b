//! How a walk finds its next step: from the planes, or looked up in a byte per pixel.
//!
//! Where a border goes next is hard to predict, and a branch on it is mispredicted every few steps.
//! A step that is looked up has no branches. But the bytes of all pixels with sides must be found
//! first, which pays in strips with many sides only.

use std::marker::PhantomData;
use std::ops::Range;

use super::super::neighbours::{EAST, WEST};
use super::super::pixels::{Pixels, SPARE_ROWS};
use super::super::sides::Marks;
use super::super::walk::{Node, Step, Walk, of_moves};
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
pub(super) struct FromPlanes<'a, K> {
    walk: &'a K,
    /// Distances to the next node's place, by move.
    offsets: [isize; 10],
}

impl<'a, K: Walk> FromPlanes<'a, K> {
    pub(super) fn new<P: Pixels>(walk: &'a K, plane: &P) -> Self {
        let offsets = of_moves(plane.neighbour_offsets());
        Self { walk, offsets }
    }
}

impl<K: Walk> NextNode for FromPlanes<'_, K> {
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
pub(super) struct FromWays<'a, K> {
    of_pixels: &'a [u16],
    /// By the node's code and its pixel's ways. As each step waits for the one before, they are
    /// found by one load.
    moves: &'a [PackedMove; MOVES],
    walk: PhantomData<K>,
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

impl<K: Walk> NextNode for FromWays<'_, K> {
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
    /// By place, for pixels with sides: the pixel's [ways](Walk::ways) in the lower byte, and in
    /// the upper one its marked sides, as a set.
    of_pixels: Vec<u16>,
    moves: Option<Box<[PackedMove; MOVES]>>,
}

/// One row in this many is sampled to decide whether finding the ways pays.
const SAMPLED_ROWS: usize = 16;

impl Ways {
    /// Finds the ways of the pixels of some rows, if there are enough sides for them to pay.
    pub(super) fn find<'a, P: Pixels, K: Walk>(
        &'a mut self,
        walk: &K,
        plane: &P,
        marks: &Marks,
        rows: Range<usize>,
    ) -> Result<Option<FromWays<'a, K>>> {
        if !is_dense::<P, K>(plane, rows.clone()) {
            return Ok(None);
        }
        self.of_rows(walk, plane, marks, rows).map(Some)
    }

    /// Finds the ways of the pixels of some rows.
    fn of_rows<'a, P: Pixels, K: Walk>(
        &'a mut self,
        walk: &K,
        plane: &P,
        marks: &Marks,
        rows: Range<usize>,
    ) -> Result<FromWays<'a, K>> {
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
            let bytes = bytes_of(walk.ways(at, [above, row, below]));
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
            moves: self.moves.get_or_insert_with(|| moves::<K>(plane)),
            walk: PhantomData,
        })
    }
}

/// The moves of a walk in a plane.
fn moves<K: Walk>(plane: &impl Pixels) -> Box<[PackedMove; MOVES]> {
    let distances = of_moves(plane.neighbour_offsets());
    let mut moves = Box::new([PackedMove(0); MOVES]);
    for (i, packed) in moves.iter_mut().enumerate() {
        let step = K::step_by_ways((i & 255) as u8, (i >> 8) as u8);
        *packed = PackedMove::new(step, distances[usize::from(step.to)]);
    }
    moves
}

/// Whether the words with vertical sides in some rows have as many on average as it takes for the
/// ways to pay.
fn is_dense<P: Pixels, K: Walk>(plane: &P, rows: Range<usize>) -> bool {
    let (mut sides, mut words) = (0, 0);
    for row in rows.step_by(SAMPLED_ROWS) {
        for at in row * plane.row_words()..(row + 1) * plane.row_words() {
            let (west, east) = plane.row(at).vertical_sides();
            sides += west.count_ones() + east.count_ones();
            words += u32::from(west | east != 0);
        }
    }
    sides >= K::DENSE * words.max(1)
}

/// Transposes eight words into 64 bytes: byte `i` consists of bit `i` of each word.
#[inline(always)]
fn bytes_of(words: [u64; 8]) -> [u64; 8] {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: all processors of the architecture have SSE2.
        unsafe { sse2::bytes_of(words) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let around = trazar_kernels::trace::node_bits::Around::of_connected(0, words);
        std::array::from_fn(|i| around.neighbourhoods(8 * i as u32))
    }
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::{
        __m128i, _mm_and_si128, _mm_set1_epi64x, _mm_slli_epi64, _mm_srli_epi64, _mm_unpackhi_epi8,
        _mm_unpacklo_epi8, _mm_xor_si128,
    };

    #[target_feature(enable = "sse2")]
    #[inline]
    pub(super) fn bytes_of(words: [u64; 8]) -> [u64; 8] {
        // The words' bytes are a matrix, which three perfect shuffles transpose.
        let mut rows: [__m128i; 4] = bytemuck::cast(words);
        for _ in 0..3 {
            let [a, b, c, d] = rows;
            rows = [
                _mm_unpacklo_epi8(a, c),
                _mm_unpackhi_epi8(a, c),
                _mm_unpacklo_epi8(b, d),
                _mm_unpackhi_epi8(b, d),
            ];
        }
        // Then each eight bytes, as a matrix of bits, are transposed, two matrices at a time.
        for bits in &mut rows {
            *bits = exchange::<7>(*bits, 0x00aa_00aa_00aa_00aa);
            *bits = exchange::<14>(*bits, 0x0000_cccc_0000_cccc);
            *bits = exchange::<28>(*bits, 0x0000_0000_f0f0_f0f0);
        }
        bytemuck::cast(rows)
    }

    /// Exchanges the bits of `mask` with those `SHIFT` further up.
    #[target_feature(enable = "sse2")]
    #[inline]
    fn exchange<const SHIFT: i32>(bits: __m128i, mask: i64) -> __m128i {
        let swap = _mm_xor_si128(bits, _mm_srli_epi64::<SHIFT>(bits));
        let swap = _mm_and_si128(swap, _mm_set1_epi64x(mask));
        _mm_xor_si128(bits, _mm_xor_si128(swap, _mm_slli_epi64::<SHIFT>(swap)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::neighbours::side_in;
    use super::super::super::pixels::Strips;
    use super::super::super::saddles::Saddles;
    use super::super::super::sides::{Joined, Sides};
    use super::super::super::values::ValuePlanes;
    use super::super::super::walk::{Centers, Edges};
    use super::*;
    use crate::generate::noise;
    use crate::image::{Samples, ValueImage};
    use crate::trace::{Band, ValueBand};

    #[test]
    fn bytes_have_a_bit_of_each_word() {
        let image = noise(512, 1, 0.5, 3).unwrap();
        let words: [u64; 8] = image.row(0)[..8].try_into().unwrap();
        let bytes = bytes_of(words);
        for (i, &byte) in bytemuck::bytes_of(&bytes).iter().enumerate() {
            for (k, word) in words.iter().enumerate() {
                let [of_byte, of_word] = [u64::from(byte) >> k & 1, word >> i & 1];
                assert_eq!(of_byte, of_word, "bit {i} of word {k}");
            }
        }
    }

    /// Compares the steps of all nodes; returns the number of nodes.
    fn check<P: Pixels, K: Walk>(walk: &K, plane: &P, marks: &Marks, rows: u32) -> usize {
        let mut ways = Ways::default();
        let inner = SPARE_ROWS..SPARE_ROWS + rows as usize;
        let by_ways: FromWays<'_, K> = ways.of_rows(walk, plane, marks, inner.clone()).unwrap();
        let from_planes = FromPlanes::new(walk, plane);
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

    /// Compares all steps over centers and along edges, with saddles of a band or not.
    fn check_strip<S: Strips>(strip: S, saddles: &[Saddles]) -> usize {
        let rows = strip.height();
        let marked = |joined| {
            let mut sides = Sides::with_room(&strip, rows).unwrap();
            sides.find(&strip, 0..rows, joined).unwrap();
            sides
        };
        let mut sides = marked(Joined::Eight);
        let (plane, marks) = sides.split();
        let mut nodes = check(&Centers { plane }, plane, marks, rows);
        for saddles in saddles {
            let mut sides = marked(saddles.joins());
            let (plane, marks) = sides.split();
            nodes += check(&Edges::new(plane, saddles, 0), plane, marks, rows);
        }
        nodes
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
            let (open, _) = Saddles::of_band(band).unwrap();
            let closed = Saddles::of(Band::whole(&own)).unwrap();
            let mut nodes = check_strip(band, &[open, Saddles::all_joined()]);
            nodes += check_strip(Band::whole(&own), &[closed]);

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
            let saddles = Saddles::of(&planes).unwrap();
            nodes += check_strip(&planes, &[saddles, Saddles::all_joined()]);
            assert!(nodes > 0 || density < 0.5, "seed {seed}");
        }
    }
}
