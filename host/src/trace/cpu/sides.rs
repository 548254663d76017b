//! The vertical sides of regions, and which border each belongs to.
//!
//! A pixel's **west side** is where it belongs to a region and its western neighbour not to the
//! same; its **east side** likewise. Every border passes at least one, each side belongs to exactly
//! one border, and in a row the west and east sides of a region alternate. So, scanning in raster
//! order,
//!
//! - a west side that no border has passed yet begins an outer border, an east side a hole's;
//! - the last side of its region before it in the row tells which border the new one lies in.
//!
//! For both, most sides don't matter. A region begins only with a run that has nothing of the
//! region above it, and a hole only below pixels of its region: the sides there are **starts**. For
//! the latter, a border must be found by a side that it passes: only the sides just before starts
//! are **queried**. Each of these has a slot, found by rank (population counts).

use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use bytemuck::Zeroable;
use rayon::prelude::*;
use trazar_kernels::trace::node_bits::BesideBits;

use super::chains::{BorderId, NO_BORDER};
use super::neighbours::{EAST, WEST};
use super::pixels::{Pixels, SPARE_ROWS, Strips};
use super::plane::Plane;
use crate::error::Result;
use crate::image::{BinaryImage, WORD_BITS};
use crate::memory::{advise_large_pages, reserve, zeroed_vec};
use crate::trace::Band;
use crate::trace::contours::BorderKind;

/// Which neighbours join foreground pixels, and so which pixels may begin a border.
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
#[derive(Clone, Copy, Zeroable)]
struct WordSides {
    /// Starts that no border has passed yet.
    start_west: u64,
    start_east: u64,
    /// Sides whose border may be asked for.
    queried_west: u64,
    queried_east: u64,
}

/// Where a queried side keeps its border.
#[derive(Clone, Copy)]
pub(super) struct Slot(usize);

/// Pixels and sides as bit planes, each surrounded by background as a [`Plane`] is.
pub(super) struct Sides<P = Plane> {
    /// The pixels and their neighbours.
    pub(super) plane: P,
    marks: Marks,
}

/// The sides that borders have passed so far, by the words of a [`Plane`].
pub(super) struct Marks {
    width: u32,
    row_words: usize,
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

impl<P: Pixels> Sides<P> {
    /// Room for the sides of `height` rows of `strips`.
    pub(super) fn with_room<S: Strips<Pixels = P>>(strips: &S, height: u32) -> Result<Self> {
        let plane = strips.room(height)?;
        let words = plane.row_words() * (height as usize + 2 * SPARE_ROWS);
        let mut marks = Marks {
            width: strips.width(),
            row_words: plane.row_words(),
            sides: zeroed_vec(words, "the bit planes of borders")?,
            row_ranks: zeroed_vec(height as usize + 2 * SPARE_ROWS, "the ranks of sides")?,
            word_ranks: zeroed_vec(words, "the ranks of sides")?,
            borders: Vec::new(),
        };
        // A walk up or down touches another page in every row.
        advise_large_pages(&mut marks.sides);
        Ok(Self { plane, marks })
    }

    /// Finds all sides in some rows, at most as many as there is room for. The planes have these
    /// rows, from their row 0 on, and the rows above and below them; they have no others.
    pub(super) fn find<S: Strips<Pixels = P>>(
        &mut self,
        strips: &S,
        rows: Range<u32>,
        joined: Joined,
    ) -> Result<()> {
        let marks = &mut self.marks;
        strips.load(&mut self.plane, &rows, |pixels, y| {
            marks.find_row(pixels, y, joined);
        });
        let queried = marks.rank_queried(SPARE_ROWS..SPARE_ROWS + rows.len());
        marks.borders.clear();
        reserve(&mut marks.borders, queried, "the borders of sides")?;
        marks.borders.resize_with(queried, AtomicU32::default);
        Ok(())
    }

    /// The pixels, and the mutable marks.
    pub(super) fn split(&mut self) -> (&P, &mut Marks) {
        (&self.plane, &mut self.marks)
    }
}

impl Sides {
    /// Finds all sides of an image.
    pub(super) fn of(image: &BinaryImage, joined: Joined) -> Result<Self> {
        let band = Band::whole(image);
        let mut sides = Self::with_room(&band, image.height())?;
        sides.find(&band, 0..image.height(), joined)?;
        Ok(sides)
    }

    /// A plane of the pixels that a border passes: foreground with background to the W, N, E or S.
    /// Rows are [`stride`](Plane::stride) bits apart, and pixel `(x, y)` is bit `x` of row `y`.
    pub(super) fn border_pixels(&self) -> Result<Vec<u64>> {
        let n = self.plane.row_words;
        let rows = self.marks.row_ranks.len() - 2 * SPARE_ROWS;
        let mut plane: Vec<u64> = zeroed_vec(rows * n, "the plane of border pixels")?;
        advise_large_pages(&mut plane);
        let pixels = &self.plane.words;
        plane.par_chunks_mut(n).enumerate().for_each(|(y, row)| {
            let first = (y + SPARE_ROWS) * n;
            for (i, word) in row.iter_mut().enumerate() {
                let at = first + i;
                let inside_vertically = pixels[at - n] & pixels[at + n];
                let beside = self.plane.row(at);
                *word = pixels[at] & !(beside.west & beside.east & inside_vertically);
            }
        });
        Ok(plane)
    }

    /// As [`Marks::next_unpassed`].
    pub(super) fn next_unpassed(&self, y: u32, x: &mut u32) -> Option<Side> {
        self.marks.next_unpassed(y, x)
    }

    /// As [`Marks::pass`].
    #[inline]
    pub(super) fn pass(&mut self, place: usize, passed: u8, border: BorderId) {
        self.marks.pass(place, passed, border);
    }

    /// As [`Marks::set_border_of_sides`].
    #[inline]
    pub(super) fn set_border_of_sides(&self, place: usize, passed: u8, border: BorderId) {
        self.marks.set_border_of_sides(place, passed, border);
    }

    /// Marks one side as passed; returns its slot if it is queried, for [`Self::set_border`].
    #[inline]
    pub(super) fn pass_side(&mut self, place: usize, side: Side) -> Option<Slot> {
        self.marks.pass_side(place, side)
    }

    /// Sets the border that passes a queried side.
    pub(super) fn set_border(&self, slot: Slot, border: BorderId) {
        self.marks.set_border(slot, border);
    }

    /// As [`Marks::border_before`].
    pub(super) fn border_before(&self, kind: BorderKind, x: u32, y: u32) -> BorderId {
        self.marks.border_before(&self.plane, kind, x, y)
    }

    /// As [`border_before`](Self::border_before), with the column of the side's pixel.
    pub(super) fn border_and_column_before(
        &self,
        kind: BorderKind,
        x: u32,
        y: u32,
    ) -> Option<(BorderId, u32)> {
        let marks = &self.marks;
        let (place, side) = marks.side_before(&self.plane, kind, x, y)?;
        let border = marks.borders[marks.slot(place, side).0].load(Relaxed);
        Some((border, (place % self.plane.stride()) as u32))
    }
}

impl Joined {
    /// The pixels at which an outer border may begin: first pixels of a run with nothing of their
    /// region above it. Only the run's pixels up to the word's end are looked at.
    #[inline(always)]
    pub(super) fn may_begin_outer(self, row: BesideBits, above: BesideBits) -> u64 {
        let joined_above = match self {
            Self::Eight => above.here | above.west | above.east,
            Self::Four => above.here,
        };
        let first = row.here & !row.west & !joined_above;
        ends_in(first, row.east & !joined_above, !joined_above)
    }
}

/// The pixels to the E of which a hole may begin: from there on, all pixels above belong to the
/// region, until the region comes again in the row. Only the pixels up to the word's end are looked
/// at. `above_east` are the pixels of the row above whose E neighbours belong to the same region.
#[inline(always)]
fn may_begin_hole(row: BesideBits, above: BesideBits, above_east: impl FnOnce() -> u64) -> u64 {
    // The hole comes right after a run's last pixel, with the region to the NE of that.
    let last = row.here & !row.east & above.east;
    if last == 0 {
        return 0;
    }
    // The region comes again below one of the pixels, or diagonally below the last one.
    let below = above.here & row.here;
    let below_right = (above.west & row.here) >> 1 | 1 << (WORD_BITS - 1);
    let first = last << 1;
    let kept = ends_in(first, above_east() & !below, below | below_right);
    kept >> 1 | last & 1 << (WORD_BITS - 1)
}

/// Those of the bits `first` from which ones of `on` lead to one of `ends`, or to the word's end.
#[inline(always)]
fn ends_in(mut first: u64, on: u64, ends: u64) -> u64 {
    let mut kept = 0;
    while first != 0 {
        let bit = first.trailing_zeros();
        first &= first - 1;
        let end = bit + (!(on >> bit)).trailing_zeros();
        let ends_there = ends.checked_shr(end).unwrap_or(1) & 1;
        kept |= ends_there << bit;
    }
    kept
}

impl Marks {
    /// Finds the sides of row `y`, spare rows included.
    fn find_row<P: Pixels>(&mut self, pixels: &P, y: usize, joined: Joined) {
        let row_words = self.row_words;
        let first = y * row_words;
        let sides = &mut self.sides;
        pixels.for_each_word(y, |i, word| {
            let Some((row, above)) = word else {
                sides[first + i] = WordSides::zeroed();
                return;
            };
            let mut may_begin_outer = joined.may_begin_outer(row, above);
            let above_east = || pixels.row(first + i - row_words).east;
            let mut may_begin_hole = may_begin_hole(row, above, above_east);
            sides[first + i] = WordSides {
                start_west: may_begin_outer,
                start_east: may_begin_hole,
                queried_west: 0,
                queried_east: 0,
            };
            while may_begin_outer != 0 {
                let bit = may_begin_outer.trailing_zeros() as usize;
                may_begin_outer &= may_begin_outer - 1;
                let before = pixels.side_before(BorderKind::Outer, i * WORD_BITS + bit, y);
                if let Some(x) = before {
                    sides[first + x / WORD_BITS].queried_east |= 1 << (x % WORD_BITS);
                }
            }
            while may_begin_hole != 0 {
                let bit = may_begin_hole.trailing_zeros() as usize;
                may_begin_hole &= may_begin_hole - 1;
                let before = pixels.side_before(BorderKind::Hole, i * WORD_BITS + bit, y);
                if let Some(x) = before {
                    sides[first + x / WORD_BITS].queried_west |= 1 << (x % WORD_BITS);
                }
            }
        });
    }

    /// Counts the queried sides before each of some rows, and before each word in them; returns
    /// their number.
    fn rank_queried(&mut self, rows: Range<usize>) -> usize {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("popcnt") {
            // SAFETY: the processor has the feature, as just asked.
            return unsafe { self.rank_queried_popcnt(rows) };
        }
        self.rank_queried_anywhere(rows)
    }

    /// As [`rank_queried`](Self::rank_queried), with an instruction that counts bits. Contours of
    /// blobs take 4 to 6 % less time in all.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "popcnt")]
    fn rank_queried_popcnt(&mut self, rows: Range<usize>) -> usize {
        self.rank_queried_anywhere(rows)
    }

    #[inline(always)]
    fn rank_queried_anywhere(&mut self, rows: Range<usize>) -> usize {
        let n = self.row_words;
        let mut rank = 0;
        for row in rows {
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

    /// The first start of row `y`, from column `*x` on, that no border has passed; `*x` becomes
    /// its column. A pixel's west side comes before its east side.
    pub(super) fn next_unpassed(&self, y: u32, x: &mut u32) -> Option<Side> {
        let first = (y as usize + SPARE_ROWS) * self.row_words;
        let mut i = *x as usize / WORD_BITS;
        let mut from = !0 << (*x as usize % WORD_BITS);
        while i < self.row_words {
            let sides = &self.sides[first + i];
            let unpassed = (sides.start_west | sides.start_east) & from;
            if unpassed != 0 {
                let bit = unpassed.trailing_zeros() as usize;
                *x = (i * WORD_BITS + bit) as u32;
                return Some(if sides.start_west >> bit & 1 == 1 {
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

    /// The W and the E sides of a word's pixels that are starts or queried: those that must be
    /// [passed](Self::pass).
    #[inline(always)]
    pub(super) fn marked(&self, word: usize) -> [u64; 2] {
        let sides = &self.sides[word];
        [
            sides.start_west | sides.queried_west,
            sides.start_east | sides.queried_east,
        ]
    }

    /// Marks the sides of the pixel at `place` that `border` passes; only [marked](Self::marked)
    /// ones count.
    #[inline]
    pub(super) fn pass(&mut self, place: usize, passed: u8, border: BorderId) {
        let (word, bit) = (place / WORD_BITS, 1 << (place % WORD_BITS));
        let sides = &mut self.sides[word];
        if passed & WEST != 0 {
            sides.start_west &= !bit;
        }
        if passed & EAST != 0 {
            sides.start_east &= !bit;
        }
        self.set_border_of_sides(place, passed, border);
    }

    /// Sets the border that passes some sides of the pixel at `place`; kept for queried sides.
    #[inline(always)]
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

    /// Marks one side as passed; returns its slot if it is queried, for [`Self::set_border`].
    #[inline]
    fn pass_side(&mut self, place: usize, side: Side) -> Option<Slot> {
        let (word, bit) = (place / WORD_BITS, 1 << (place % WORD_BITS));
        let sides = &mut self.sides[word];
        let (unpassed, queried) = match side {
            Side::West => (&mut sides.start_west, sides.queried_west),
            Side::East => (&mut sides.start_east, sides.queried_east),
        };
        *unpassed &= !bit;
        (queried & bit != 0).then(|| self.slot(place, side))
    }

    /// Sets the border that passes a queried side.
    fn set_border(&self, slot: Slot, border: BorderId) {
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

    /// The border of the last side before the one at which a border begins. An outer border begins
    /// at the west side of pixel `(x, y)`, after the east side of the run before; a hole begins at
    /// the pixel's east side, after the west side of its run. [`NO_BORDER`] if there is none.
    ///
    /// The side must have been passed by a border.
    pub(super) fn border_before<P: Pixels>(
        &self,
        plane: &P,
        kind: BorderKind,
        x: u32,
        y: u32,
    ) -> BorderId {
        let before = self.side_before(plane, kind, x, y);
        before.map_or(NO_BORDER, |(place, side)| {
            self.borders[self.slot(place, side).0].load(Relaxed)
        })
    }

    /// As [`border_before`](Self::border_before), also for a side at which no border begins; the
    /// result may then be [`NO_BORDER`].
    pub(super) fn border_before_any<P: Pixels>(
        &self,
        plane: &P,
        kind: BorderKind,
        x: u32,
        y: u32,
    ) -> BorderId {
        match self.side_before(plane, kind, x, y) {
            Some((place, side)) if self.is_queried(place, side) => {
                self.borders[self.slot(place, side).0].load(Relaxed)
            }
            _ => NO_BORDER,
        }
    }

    fn is_queried(&self, place: usize, side: Side) -> bool {
        let sides = &self.sides[place / WORD_BITS];
        let queried = match side {
            Side::West => sides.queried_west,
            Side::East => sides.queried_east,
        };
        queried >> (place % WORD_BITS) & 1 == 1
    }

    /// The last side before the one at which a border begins, and the place of its pixel.
    fn side_before<P: Pixels>(
        &self,
        plane: &P,
        kind: BorderKind,
        x: u32,
        y: u32,
    ) -> Option<(usize, Side)> {
        let row = y as usize + SPARE_ROWS;
        let x = plane.side_before(kind, x as usize, row)?;
        let side = match kind {
            BorderKind::Outer => Side::East,
            BorderKind::Hole => Side::West,
        };
        Some((row * self.row_words * WORD_BITS + x, side))
    }
}

#[cfg(test)]
mod tests {
    use super::super::values::ValuePlanes;
    use super::*;
    use crate::image::{Samples, ValueImage};
    use crate::seeds::{Random, seed_or};
    use crate::trace::ValueBand;

    /// Values in rows; 0 is background.
    struct Picture {
        width: u32,
        height: u32,
        values: Vec<u8>,
    }

    impl Picture {
        fn get(&self, x: i64, y: i64) -> u8 {
            let inside = 0..i64::from(self.width);
            if !inside.contains(&x) || !(0..i64::from(self.height)).contains(&y) {
                return 0;
            }
            self.values[(y * i64::from(self.width) + x) as usize]
        }

        /// Whether two pixels are of one value, and not background.
        fn same(&self, (x, y): (i64, i64), other: (i64, i64)) -> bool {
            self.get(x, y) != 0 && self.get(x, y) == self.get(other.0, other.1)
        }

        /// [`Joined::may_begin_outer`], pixel by pixel.
        fn may_begin_outer(&self, x: i64, y: i64, joined: Joined) -> bool {
            if self.get(x, y) == 0 || self.same((x, y), (x - 1, y)) {
                return false;
            }
            let above: &[i64] = match joined {
                Joined::Four => &[0],
                Joined::Eight => &[-1, 0, 1],
            };
            let mut at = x;
            loop {
                if above.iter().any(|dx| self.same((at, y), (at + dx, y - 1))) {
                    return false;
                }
                let goes_on = self.same((at, y), (at + 1, y));
                if !goes_on || at % 64 == 63 {
                    return true;
                }
                at += 1;
            }
        }

        /// [`may_begin_hole`], pixel by pixel.
        fn may_begin_hole(&self, x: i64, y: i64) -> bool {
            if self.same((x, y), (x + 1, y)) || !self.same((x, y), (x + 1, y - 1)) {
                return false;
            }
            let mut at = x;
            while at % 64 != 63 {
                at += 1;
                if self.same((at, y - 1), (at, y)) || at % 64 == 63 {
                    return true;
                }
                if !self.same((at, y - 1), (at + 1, y - 1)) {
                    return self.same((at, y - 1), (at + 1, y));
                }
            }
            true
        }

        fn check<S: Strips>(&self, strip: S, joined: Joined) -> [usize; 2] {
            let mut sides = Sides::with_room(&strip, self.height).unwrap();
            sides.find(&strip, 0..self.height, joined).unwrap();
            let mut found = [0; 2];
            for y in 0..self.height {
                for x in 0..self.width {
                    let place = sides.plane.place(x, y);
                    let word = &sides.marks.sides[place / WORD_BITS];
                    let starts = [word.start_west, word.start_east]
                        .map(|starts| starts >> (place % WORD_BITS) & 1 == 1);
                    let (i, j) = (i64::from(x), i64::from(y));
                    let expected = [
                        self.may_begin_outer(i, j, joined),
                        self.may_begin_hole(i, j),
                    ];
                    assert_eq!(starts, expected, "({x}, {y})");
                    found = [0, 1].map(|k| found[k] + usize::from(starts[k]));
                }
            }
            found
        }
    }

    #[test]
    fn borders_may_begin_where_nothing_of_their_region_is_above() {
        let mut random = Random::new(seed_or(61));
        let mut found = [0; 2];
        for _ in 0..60 {
            let (width, height) = (1 + random.below(200), 1 + random.below(20));
            let (values, share) = (1 + random.below(3), 1 + random.below(9));
            let values = (0..width * height).map(|_| match random.below(10) < share {
                true => 1 + random.below(values) as u8,
                false => 0,
            });
            let mut picture = Picture {
                width,
                height,
                values: values.collect(),
            };
            for joined in [Joined::Four, Joined::Eight] {
                let samples = Samples::new(width, height, &picture.values).unwrap();
                let image = ValueImage::new(samples).unwrap().background(0).unwrap();
                let planes = ValuePlanes::of(&ValueBand::new(&image, 0)).unwrap();
                let of_values = picture.check(&planes, joined);
                found = [0, 1].map(|k| found[k] + of_values[k]);
            }
            picture
                .values
                .iter_mut()
                .for_each(|value| *value = (*value).min(1));
            let bits =
                BinaryImage::from_fn(width, height, |x, y| picture.get(x.into(), y.into()) != 0);
            let bits = bits.unwrap();
            for joined in [Joined::Four, Joined::Eight] {
                picture.check(Band::whole(&bits), joined);
            }
        }
        assert!(found.iter().all(|&count| count > 1000), "{found:?}");
    }
}
