//! The vertical sides between foreground and background, and which border each belongs to.
//!
//! A pixel's **west side** is where it is foreground and its western neighbour is not; its
//! **east side** likewise. Every border passes at least one, each side belongs to exactly one
//! border, and in a row west and east sides alternate. So, scanning in raster order,
//!
//! - a west side that no border has passed yet begins an outer border, an east side a hole's;
//! - the last side before it in the row tells what the new border lies in.
//!
//! For the second, a border must be found by a side that it passes. Most sides are never asked
//! for: only those just before a pixel that, by its neighbours, might begin a border. Those
//! **queried** sides get a slot each, found by rank (population counts).

// `Sides::window` reads the words of a plane as bytes.
const _: () = assert!(cfg!(target_endian = "little"));

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use super::chains::{BorderId, Direction, NO_BORDER, STEPS};
use super::contours::BorderKind;
use super::neighbours::{EAST, WEST};
use crate::error::{Result, zeroed_vec};
use crate::image::{BinaryImage, WORD_BITS};
use crate::memory::advise_large_pages;

/// Which pixels may begin a border, seen from their neighbours.
#[derive(Clone, Copy)]
pub(super) enum Joined {
    /// Foreground pixels are joined over sides and corners.
    Eight,
    /// Foreground pixels are joined over sides only.
    Four,
}

/// A west or an east side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    West,
    East,
}

/// The sides of 64 pixels.
#[derive(Clone, Copy, bytemuck::Zeroable)]
struct WordSides {
    /// Sides that no border has passed yet.
    west: u64,
    east: u64,
    /// Sides whose border may be asked for.
    queried_west: u64,
    queried_east: u64,
}

/// Where a queried side keeps its border.
#[derive(Clone, Copy)]
pub(super) struct Slot(usize);

/// The most steps that [`Sides::straight`] gives: eight bytes, less the seven bits that the
/// place may be into the first, less the two neighbours.
pub(super) const MAX_STRAIGHT: usize = 55;

/// One row of background around the image, and one more because the neighbours are read as
/// whole bytes.
const SPARE_ROWS: usize = 2;

/// The image's pixels and sides as bit planes, each surrounded by background.
///
/// A pixel is a **place**: its bit's number in a plane. Rows are `stride` bits apart; at least
/// one spare bit ends each row, and [`SPARE_ROWS`] stand above and below, so that a foreground
/// pixel's neighbours are always there: at `place ± 1` and `place ± stride ± {0, 1}`.
pub(super) struct Sides {
    width: u32,
    row_words: usize,
    /// Foreground.
    pixels: Vec<u64>,
    /// The sides of each word's pixels, together because they are used together.
    sides: Vec<WordSides>,
    /// The number of queried sides before each row, and before each word in its row; a word's
    /// west sides come before its east sides.
    row_ranks: Vec<usize>,
    word_ranks: Vec<u32>,
    /// The border of each queried side, by rank. Atomic because borders may be followed on
    /// several threads, none of which reads what another wrote.
    borders: Vec<AtomicU32>,
}

impl Sides {
    /// Finds all sides of an image.
    pub(super) fn of(image: &BinaryImage, joined: Joined) -> Result<Self> {
        let (width, height) = (image.width(), image.height());
        let row_words = width as usize / WORD_BITS + 1;
        let words = row_words * (height as usize + 2 * SPARE_ROWS);
        let mut sides = Self {
            width,
            row_words,
            pixels: zeroed_vec(words, "the bit planes of borders")?,
            sides: zeroed_vec(words, "the bit planes of borders")?,
            row_ranks: zeroed_vec(height as usize + 2 * SPARE_ROWS, "the ranks of sides")?,
            word_ranks: zeroed_vec(words, "the ranks of sides")?,
            borders: Vec::new(),
        };
        // A walk up or down comes to another page with every row.
        advise_large_pages(&mut sides.pixels);
        advise_large_pages(&mut sides.sides);
        for y in 0..height {
            sides.find_row(y, image.row(y), joined);
        }
        let queried = sides.rank_queried();
        sides.borders = zeroed_vec(queried, "the borders of sides")?;
        Ok(sides)
    }

    /// Fills row `y` of all planes; the row above must have its pixels already.
    fn find_row(&mut self, y: u32, row: &[u64], joined: Joined) {
        let n = self.row_words;
        let first = (y as usize + SPARE_ROWS) * n;
        let (above, this) = self.pixels[first - n..first + n].split_at_mut(n);
        this[..row.len()].copy_from_slice(row);

        // Pixels whose western (or eastern) neighbour is foreground, with carries.
        let mut above_carry = 0;
        let mut carry = 0;
        for i in 0..n {
            let pixels = this[i];
            let next = this.get(i + 1).copied().unwrap_or(0);
            let from_west = pixels << 1 | carry;
            let from_east = pixels >> 1 | next << 63;
            carry = pixels >> 63;
            self.sides[first + i].west = pixels & !from_west;
            self.sides[first + i].east = pixels & !from_east;

            let north = above[i];
            let above_next = above.get(i + 1).copied().unwrap_or(0);
            let corners = (north << 1 | above_carry) | (north >> 1 | above_next << 63);
            above_carry = north >> 63;
            let joined_above = match joined {
                Joined::Eight => north | corners,
                Joined::Four => north,
            };
            // An outer border begins at a first pixel of a run with nothing above it.
            let mut may_begin_outer = pixels & !from_west & !joined_above;
            while may_begin_outer != 0 {
                let bit = may_begin_outer.trailing_zeros() as usize;
                may_begin_outer &= may_begin_outer - 1;
                if let Some(x) = last_one_before(this, i * WORD_BITS + bit) {
                    self.sides[first + x / WORD_BITS].queried_east |= 1 << (x % WORD_BITS);
                }
            }
            // A hole begins at a first background pixel after a run, with foreground above it.
            let mut may_begin_hole = !pixels & from_west & north;
            while may_begin_hole != 0 {
                let bit = may_begin_hole.trailing_zeros() as usize;
                may_begin_hole &= may_begin_hole - 1;
                let x = run_start(this, i * WORD_BITS + bit - 1);
                self.sides[first + x / WORD_BITS].queried_west |= 1 << (x % WORD_BITS);
            }
        }
    }

    /// Counts the queried sides before each row and word; returns their number.
    fn rank_queried(&mut self) -> usize {
        let n = self.row_words;
        let mut rank = 0;
        for row in 0..self.row_ranks.len() {
            self.row_ranks[row] = rank;
            let mut in_row = 0;
            for i in row * n..(row + 1) * n {
                self.word_ranks[i] = in_row;
                let sides = &self.sides[i];
                in_row += sides.queried_west.count_ones() + sides.queried_east.count_ones();
            }
            rank += in_row as usize;
        }
        rank
    }

    /// Bits between a pixel and the one below it.
    pub(super) fn stride(&self) -> usize {
        self.row_words * WORD_BITS
    }

    /// A plane of the pixels that a border passes: foreground with background to the W, N, E or S.
    /// Rows are [`stride`](Self::stride) bits apart, and pixel `(x, y)` is bit `x` of row `y`.
    pub(super) fn border_pixels(&self) -> Result<Vec<u64>> {
        let n = self.row_words;
        let rows = self.row_ranks.len() - 2 * SPARE_ROWS;
        let mut plane: Vec<u64> = zeroed_vec(rows * n, "the plane of border pixels")?;
        advise_large_pages(&mut plane);
        let pixels = &self.pixels;
        plane.par_chunks_mut(n).enumerate().for_each(|(y, row)| {
            let first = (y + SPARE_ROWS) * n;
            for (i, word) in row.iter_mut().enumerate() {
                let at = first + i;
                let inside_vertically = pixels[at - n] & pixels[at + n];
                let WordSides { west, east, .. } = self.sides[at];
                *word = west | east | pixels[at] & !inside_vertically;
            }
        });
        Ok(plane)
    }

    /// The pixel at a place.
    pub(super) fn coordinates(&self, place: usize) -> (u32, u32) {
        let (y, x) = (place / self.stride(), place % self.stride());
        (x as u32, (y - SPARE_ROWS) as u32)
    }

    /// The place of pixel `(x, y)`.
    pub(super) fn place(&self, x: u32, y: u32) -> usize {
        (y as usize + SPARE_ROWS) * self.stride() + x as usize
    }

    /// How far the places of a pixel's neighbours are from its own.
    pub(super) fn neighbour_offsets(&self) -> [isize; 8] {
        let stride = self.stride() as isize;
        STEPS.map(|(dx, dy)| dx as isize + dy as isize * stride)
    }

    /// The place of the neighbour in a direction.
    pub(super) fn neighbour(&self, place: usize, direction: Direction) -> usize {
        let (dx, dy) = STEPS[usize::from(direction)];
        place.wrapping_add_signed(dx as isize + dy as isize * self.stride() as isize)
    }

    /// The 3 × 3 pixels around the one at `place`, as bits: 0 to 2 the row above from W to E, 3
    /// to 5 the pixel's row, 6 to 8 the row below.
    #[inline]
    pub(super) fn window(&self, place: usize) -> usize {
        let (place, stride) = (place - 1, self.stride());
        self.three(place - stride) | self.three(place) << 3 | self.three(place + stride) << 6
    }

    /// The pixels around the upper left corner of pixel `(x, y)`, as bits: 0 NW, 1 NE, 2 SW,
    /// 3 SE.
    #[inline]
    pub(super) fn corner(&self, x: u32, y: u32) -> usize {
        let place = self.place(x, y) - 1;
        self.three(place - self.stride()) & 3 | (self.three(place) & 3) << 2
    }

    /// Three pixels from `place` on, as bits 0 to 2.
    fn three(&self, place: usize) -> usize {
        let bytes: &[u8] = bytemuck::cast_slice(&self.pixels);
        let two_bytes = u16::from_le_bytes([bytes[place / 8], bytes[place / 8 + 1]]);
        usize::from(two_bytes >> (place % 8) & 7)
    }

    /// How many steps, at most [`MAX_STRAIGHT`], a walk that has come to `place` straight from
    /// the W (or E) goes on straight to the E, direction 0 (or W, direction 4): as long as there
    /// is foreground ahead and only background in the row on its right hand, below (or above).
    #[inline]
    pub(super) fn straight(&self, place: usize, direction: u8) -> usize {
        let row_bits = self.stride();
        let steps = if direction == 0 {
            let ahead = !self.bits_from(place + 1);
            let beside = self.bits_from(place + row_bits - 1);
            // A step needs the three pixels beside it.
            ahead
                .trailing_zeros()
                .min(beside.trailing_zeros().saturating_sub(2))
        } else {
            let ahead = !self.bits_to(place - 1);
            let beside = self.bits_to(place - row_bits + 1);
            ahead
                .leading_zeros()
                .min(beside.leading_zeros().saturating_sub(2))
        };
        (steps as usize).min(MAX_STRAIGHT)
    }

    /// The bits of the foreground plane from `place` on, at bit 0; at least 57 of them.
    fn bits_from(&self, place: usize) -> u64 {
        self.eight_bytes(place / 8) >> (place % 8)
    }

    /// The bits of the foreground plane up to `place`, at bit 63; at least 57 of them.
    fn bits_to(&self, place: usize) -> u64 {
        self.eight_bytes(place / 8 - 7) << (7 - place % 8)
    }

    fn eight_bytes(&self, byte: usize) -> u64 {
        let bytes: &[u8] = bytemuck::cast_slice(&self.pixels);
        let eight: [u8; 8] = std::array::from_fn(|i| bytes[byte + i]);
        u64::from_le_bytes(eight)
    }

    /// The first side of row `y`, from column `*x` on, that no border has passed; `*x` becomes
    /// its column. A pixel's west side comes before its east side.
    pub(super) fn next_unpassed(&self, y: u32, x: &mut u32) -> Option<Side> {
        let first = (y as usize + SPARE_ROWS) * self.row_words;
        let mut i = *x as usize / WORD_BITS;
        let mut from = !0 << (*x as usize % WORD_BITS);
        while i < self.row_words {
            let WordSides { west, east, .. } = self.sides[first + i];
            let unpassed = (west | east) & from;
            if unpassed != 0 {
                let bit = unpassed.trailing_zeros() as usize;
                *x = (i * WORD_BITS + bit) as u32;
                return Some(if west >> bit & 1 == 1 {
                    Side::West
                } else {
                    Side::East
                });
            }
            i += 1;
            from = !0;
        }
        *x = self.width;
        None
    }

    /// Marks the sides of the pixel at `place` that `border` passes, of which only those to the
    /// west and east count.
    #[inline]
    pub(super) fn pass(&mut self, place: usize, passed: u8, border: BorderId) {
        let (word, bit) = (place / WORD_BITS, place % WORD_BITS);
        let sides = &mut self.sides[word];
        sides.west &= !(u64::from(passed & WEST != 0) << bit);
        sides.east &= !(u64::from(passed & EAST != 0) << bit);
        self.set_border_of_sides(place, passed, border);
    }

    /// Says which border passes some sides of the pixel at `place`; kept for the queried ones.
    #[inline]
    pub(super) fn set_border_of_sides(&self, place: usize, passed: u8, border: BorderId) {
        let (word, bit) = (place / WORD_BITS, place % WORD_BITS);
        let sides = &self.sides[word];
        if passed & WEST != 0 && sides.queried_west >> bit & 1 == 1 {
            self.set_border(self.slot(place, Side::West), border);
        }
        if passed & EAST != 0 && sides.queried_east >> bit & 1 == 1 {
            self.set_border(self.slot(place, Side::East), border);
        }
    }

    /// Marks one side as passed; gives its slot if it is queried, for [`Self::set_border`].
    #[inline]
    pub(super) fn pass_side(&mut self, place: usize, side: Side) -> Option<Slot> {
        let (word, bit) = (place / WORD_BITS, 1 << (place % WORD_BITS));
        let sides = &mut self.sides[word];
        let (unpassed, queried) = match side {
            Side::West => (&mut sides.west, sides.queried_west),
            Side::East => (&mut sides.east, sides.queried_east),
        };
        *unpassed &= !bit;
        (queried & bit != 0).then(|| self.slot(place, side))
    }

    /// Says which border passes a queried side.
    pub(super) fn set_border(&self, slot: Slot, border: BorderId) {
        self.borders[slot.0].store(border, Relaxed);
    }

    /// The slot of a queried side among `borders`.
    fn slot(&self, place: usize, side: Side) -> Slot {
        let (word, bit) = (place / WORD_BITS, place % WORD_BITS);
        let below = (1u64 << bit) - 1;
        let sides = &self.sides[word];
        let in_word = match side {
            Side::West => (sides.queried_west & below).count_ones(),
            Side::East => {
                sides.queried_west.count_ones() + (sides.queried_east & below).count_ones()
            }
        };
        Slot(self.row_ranks[word / self.row_words] + (self.word_ranks[word] + in_word) as usize)
    }

    /// The border of the last side before the one that a border begins at: for an outer border
    /// at the west side of pixel `(x, y)` the east side of the run before, for a hole at
    /// the pixel's east side the west side of its run. [`NO_BORDER`] if there is none.
    ///
    /// The side must have been passed by a border.
    pub(super) fn border_before(&self, kind: BorderKind, x: u32, y: u32) -> BorderId {
        let before = self.border_and_column_before(kind, x, y);
        before.map_or(NO_BORDER, |(border, _)| border)
    }

    /// As [`border_before`](Self::border_before), with the column of the side's pixel.
    pub(super) fn border_and_column_before(
        &self,
        kind: BorderKind,
        x: u32,
        y: u32,
    ) -> Option<(BorderId, u32)> {
        let first = (y as usize + SPARE_ROWS) * self.row_words;
        let row = &self.pixels[first..][..self.row_words];
        let (x, side) = match kind {
            BorderKind::Outer => (last_one_before(row, x as usize)?, Side::East),
            BorderKind::Hole => (run_start(row, x as usize), Side::West),
        };
        let Slot(slot) = self.slot(first * WORD_BITS + x, side);
        Some((self.borders[slot].load(Relaxed), x as u32))
    }
}

/// The last 1 of a row before bit `x`.
fn last_one_before(row: &[u64], x: usize) -> Option<usize> {
    let (mut i, bit) = (x / WORD_BITS, x % WORD_BITS);
    let mut word = row[i] & ((1 << bit) - 1);
    while word == 0 {
        i = i.checked_sub(1)?;
        word = row[i];
    }
    Some(i * WORD_BITS + 63 - word.leading_zeros() as usize)
}

/// The first bit of the run of ones that ends at or after bit `x`, which is 1.
fn run_start(row: &[u64], x: usize) -> usize {
    let (mut i, bit) = (x / WORD_BITS, x % WORD_BITS);
    let mut zeros = !row[i] & ((1 << bit) - 1);
    while zeros == 0 {
        if i == 0 {
            return 0;
        }
        i -= 1;
        zeros = !row[i];
    }
    i * WORD_BITS + 64 - zeros.leading_zeros() as usize
}
