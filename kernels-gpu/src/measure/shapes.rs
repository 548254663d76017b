//! Sums of each label's pixels for axes, perimeters, Euler numbers and intensities, added to
//! [tables](super::shape_table) tile by tile.
//!
//! A tile is that of [`tiles`](super::tiles), and its labels are collected in the same table. What
//! a pixel adds to an outline or to an Euler number follows from the planes of equality, 64 pixels
//! at a time, a lane per row. Warps transpose these words, so that each lane has the bits of a
//! column. Then a lane goes through the stretches of equal pixels in its column: it reads a label
//! and counts bits once per stretch.
//!
//! The planes are kept in shared memory with the words and rows around the tile that its outlines
//! depend on: a border pixel's neighbours, and theirs.

use cuda_std::prelude::*;
use cuda_std::warp::WARP_SIZE;

use super::neighbours::{Neighbours, from_left};
#[cfg(not(target_arch = "nvptx64"))]
use super::shape_table::ShapeSizes;
use super::shape_table::{IntensityTally, SecondTally, ShapeTable};
use super::sums::wanted;
use super::table::LabelTable;
use super::tiles::{HEIGHT, PLACES, Stretch, Tile, TileTable, WIDTH, for_each_row};
use crate::image::bits::ValueBits;
use crate::image::equality::{EqualTo, EqualityPlanes, S};
use crate::primitives::warp::transposed;
use crate::trace::fragments::row_values::RowsOfValues;

/// Threads per block: one per column of the tile.
pub const BLOCK: u32 = WIDTH;
/// Words of a tile's row, with one to the left and one to the right.
const WORDS: u32 = WIDTH / 64 + 2;
/// Rows of a tile, with two above and one below.
const ROWS: u32 = HEIGHT + 3;
/// Words of a plane.
const PLANE: u32 = WORDS * ROWS;
/// Numbers of pixels that are counted: see [`ShapeTable::add_counts`].
pub(super) const COUNTS: u32 = 8;

const _: () = assert!(PLACES <= 256 && HEIGHT / 8 * WIDTH <= 4 * PLANE);

/// An image of intensities: the bits of its numbers. One of the views has them, the others are
/// empty; all are without intensities.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct Intensities<'a> {
    /// Numbers of 8 bits.
    pub bytes: View<'a, u8>,
    /// Numbers of 16 bits.
    pub halves: View<'a, u16>,
    /// Numbers of 32 bits.
    pub words: View<'a, u32>,
    /// Elements from the start of a row to the start of the next.
    pub pitch: u32,
    /// The bit of the sign, or 0.
    pub sign: u32,
}

/// The planes of a tile and what surrounds it, in shared memory.
#[derive(Clone, Copy)]
struct TilePlanes {
    /// E, S, SE and SW, one after the other, each column of words from top to bottom.
    beside: SharedView<u64>,
    /// The border pixels, in the same order.
    border: SharedView<u64>,
    /// The word and the row of the first element.
    first_word: u32,
    first_row: u32,
}

impl TilePlanes {
    /// The index of a word in a plane.
    #[inline(always)]
    const fn index(&self, word_x: u32, y: u32) -> u32 {
        word_x.wrapping_sub(self.first_word) * ROWS + y.wrapping_sub(self.first_row)
    }

    /// Loads the planes. All threads of the block call it.
    #[inline(always)]
    fn load(&self, planes: EqualityPlanes<'_>, t: u32) {
        let mut i = t;
        while i < PLANE {
            let (row, word) = (i / WORDS, i % WORDS);
            let (word_x, y) = (
                self.first_word.wrapping_add(word),
                self.first_row.wrapping_add(row),
            );
            let EqualTo { e, s, se, sw } = planes.equal_to(word_x, y);
            let at = word * ROWS + row;
            self.beside.st(at, e);
            self.beside.st(PLANE + at, s);
            self.beside.st(2 * PLANE + at, se);
            self.beside.st(3 * PLANE + at, sw);
            i += BLOCK;
        }
        // planted: measure-planes-barrier
        thread::sync_threads();
        let mut i = t;
        while i < PLANE {
            let (word, row) = (i / ROWS, i % ROWS);
            // The first row's border pixels are not needed, nor is the first bit of the first word,
            // whose neighbour is not here.
            if row > 0 {
                let right = self.beside.ld(i);
                let left_word = if word > 0 {
                    self.beside.ld(i - ROWS)
                } else {
                    0
                };
                // planted: measure-planes-border
                let left = from_left(left_word, right);
                let (below, above) = (self.beside.ld(PLANE + i), self.beside.ld(PLANE + i - 1));
                self.border.st(i, !(right & left & below & above));
            }
            i += BLOCK;
        }
        thread::sync_threads();
    }
}

impl Neighbours for TilePlanes {
    #[inline(always)]
    fn equal_to(&self, word_x: u32, y: u32) -> EqualTo {
        let at = self.index(word_x, y);
        EqualTo {
            e: self.beside.ld(at),
            s: self.beside.ld(PLANE + at),
            se: self.beside.ld(2 * PLANE + at),
            sw: self.beside.ld(3 * PLANE + at),
        }
    }

    #[inline(always)]
    fn plane(&self, plane: u32, word_x: u32, y: u32) -> u64 {
        self.beside.ld(plane * PLANE + self.index(word_x, y))
    }

    #[inline(always)]
    fn border(&self, word_x: u32, y: u32) -> u64 {
        self.border.ld(self.index(word_x, y))
    }
}

/// What is summed up of a tile's labels, besides the [`TileTable`]. All sums of coordinates within
/// a tile fit 32 bits, and all counts 16.
#[derive(Clone, Copy)]
struct TileShapes {
    rr: SharedView<u32>,
    rc: SharedView<u32>,
    cc: SharedView<u32>,
    /// For each place four pairs of counts.
    counts: SharedView<u32>,
    sum_low: SharedView<u32>,
    sum_high: SharedView<u32>,
    squares_low: SharedView<u32>,
    squares_high: SharedView<u32>,
    /// `u32::MAX` minus the least intensity.
    least: SharedView<u32>,
    greatest: SharedView<u32>,
}

/// Adds to a number of 64 bits in two halves.
#[inline(always)]
fn add_wide(low: SharedView<u32>, high: SharedView<u32>, place: u32, value: u64) {
    let added = value as u32;
    let before = low.atomic_add(place, added);
    // planted: measure-intensity-carry
    let carry = u32::from(before.wrapping_add(added) < before);
    let upper = (value >> 32) as u32 + carry;
    if upper != 0 {
        high.atomic_add(place, upper);
    }
}

impl TileShapes {
    /// The block's sums, uninitialised.
    #[inline(always)]
    fn of_block() -> Self {
        Self {
            rr: shared_array![u32; PLACES as usize],
            rc: shared_array![u32; PLACES as usize],
            cc: shared_array![u32; PLACES as usize],
            counts: shared_array![u32; (PLACES * COUNTS / 2) as usize],
            sum_low: shared_array![u32; PLACES as usize],
            sum_high: shared_array![u32; PLACES as usize],
            squares_low: shared_array![u32; PLACES as usize],
            squares_high: shared_array![u32; PLACES as usize],
            least: shared_array![u32; PLACES as usize],
            greatest: shared_array![u32; PLACES as usize],
        }
    }

    /// Clears all sums.
    #[inline(always)]
    fn clear(self, t: u32) {
        let mut place = t;
        while place < PLACES {
            self.rr.st(place, 0);
            self.rc.st(place, 0);
            self.cc.st(place, 0);
            self.sum_low.st(place, 0);
            self.sum_high.st(place, 0);
            self.squares_low.st(place, 0);
            self.squares_high.st(place, 0);
            self.least.st(place, 0);
            self.greatest.st(place, 0);
            place += BLOCK;
        }
        let mut i = t;
        while i < PLACES * COUNTS / 2 {
            self.counts.st(i, 0);
            i += BLOCK;
        }
    }

    #[inline(always)]
    fn add_second(self, place: u32, [rr, rc, cc]: [u32; 3]) {
        self.rr.atomic_add(place, rr);
        self.rc.atomic_add(place, rc);
        self.cc.atomic_add(place, cc);
    }

    #[inline(always)]
    fn second(self, place: u32) -> [u32; 3] {
        [self.rr.ld(place), self.rc.ld(place), self.cc.ld(place)]
    }

    /// Adds four pairs of counts.
    #[inline(always)]
    fn add_counts(self, place: u32, counts: [u32; COUNTS as usize]) {
        let [a, b, c, d, e, f, g, h] = counts;
        let add = |i: u32, low: u32, high: u32| {
            let pair = low | high << 16;
            if pair != 0 {
                self.counts.atomic_add(i * PLACES + place, pair);
            }
        };
        add(0, a, b);
        add(1, c, d);
        add(2, e, f);
        add(3, g, h);
    }

    #[inline(always)]
    fn counts(self, place: u32) -> [u32; COUNTS as usize] {
        let pair = |i: u32| self.counts.ld(i * PLACES + place);
        let (ab, cd, ef, gh) = (pair(0), pair(1), pair(2), pair(3));
        let low = |pair: u32| pair & 0xffff;
        [
            low(ab),
            ab >> 16,
            low(cd),
            cd >> 16,
            low(ef),
            ef >> 16,
            low(gh),
            gh >> 16,
        ]
    }

    /// Adds sums of intensities. Those of numbers of up to 16 bits fit 32 bits.
    #[inline(always)]
    fn add_intensities<const WIDE: bool>(
        self,
        place: u32,
        tally: &IntensityTally,
        with_squares: bool,
    ) {
        if WIDE {
            add_wide(self.sum_low, self.sum_high, place, tally.sum);
        } else {
            self.sum_low.atomic_add(place, tally.sum as u32);
        }
        if with_squares {
            add_wide(self.squares_low, self.squares_high, place, tally.squares);
        }
        self.least.atomic_max(place, u32::MAX - tally.least);
        self.greatest.atomic_max(place, tally.greatest);
    }

    #[inline(always)]
    fn intensities(self, place: u32) -> IntensityTally {
        let wide = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        IntensityTally {
            sum: wide(self.sum_low.ld(place), self.sum_high.ld(place)),
            squares: wide(self.squares_low.ld(place), self.squares_high.ld(place)),
            least: u32::MAX - self.least.ld(place),
            greatest: self.greatest.ld(place),
        }
    }
}

/// The places of the stretches of the thread's column, by the last row of each: a byte per row,
/// eight rows per word.
#[derive(Clone, Copy)]
struct KeptPlaces {
    words: SharedView<u64>,
    t: u32,
}

impl KeptPlaces {
    const ROWS_PER_WORD: u32 = 8;

    #[inline(always)]
    const fn index(self, row: u32) -> u32 {
        row / Self::ROWS_PER_WORD * WIDTH + self.t
    }

    #[inline(always)]
    fn clear(self) {
        let mut row = 0;
        while row < HEIGHT {
            self.words.st(self.index(row), 0);
            row += Self::ROWS_PER_WORD;
        }
    }

    /// Keeps the place of the stretch that ends in a row.
    #[inline(always)]
    fn keep(self, row: u32, place: u32) {
        let at = self.index(row);
        let bits = u64::from(place) << (row % Self::ROWS_PER_WORD * 8);
        self.words.st(at, self.words.ld(at) | bits);
    }

    #[inline(always)]
    fn place(self, row: u32) -> u32 {
        let word = self.words.ld(self.index(row));
        // planted: measure-intensity-place
        (word >> (row % Self::ROWS_PER_WORD * 8)) as u32 & 0xff
    }
}

/// What a lane needs to sum up the intensities of its column.
struct ColumnIntensities {
    sums: TileShapes,
    kept: KeptPlaces,
    /// The first rows of stretches.
    starts: u64,
    /// The last rows of stretches of labels that have a place, and of those that have none.
    with_place: u64,
    without: u64,
    /// The rows of the column.
    height: u32,
    sign: u32,
    with_squares: bool,
}

impl ColumnIntensities {
    /// Adds the intensities that `load` gives for each row to the sums in their stretches' places.
    /// Calls `beyond` with the first row of a stretch without a place, and its sums.
    #[inline(always)]
    fn add<const WIDE: bool>(
        self,
        load: impl Fn(u32) -> u32,
        beyond: impl Fn(u32, &IntensityTally),
    ) {
        let mut of_stretch = IntensityTally::NONE;
        let mut begin = 0;
        let (mut starts, mut with_place, mut without) =
            (self.starts, self.with_place, self.without);
        // Rows below the image begin and end nothing.
        for_each_row(self.height, load, |bits: u32, y: u32| {
            if starts & 1 != 0 {
                of_stretch = IntensityTally::NONE;
                begin = y;
            }
            // planted: measure-intensity-sign
            of_stretch.add(bits ^ self.sign, self.sign, self.with_squares);
            // planted: measure-intensity-end
            if with_place & 1 != 0 {
                let place = self.kept.place(y);
                self.sums
                    .add_intensities::<WIDE>(place, &of_stretch, self.with_squares);
            } else if without & 1 != 0 {
                beyond(begin, &of_stretch);
            }
            starts >>= 1;
            with_place >>= 1;
            without >>= 1;
        });
    }
}

/// The sum of the squares of the numbers below `n`, which is at most [`HEIGHT`].
#[inline(always)]
const fn squares_below(n: u32) -> u32 {
    n * n.wrapping_sub(1) * (2 * n).wrapping_sub(1) / 6
}

/// Sums of squared rows, of rows times columns, and of squared columns of a stretch.
#[inline(always)]
const fn second_of(stretch: Stretch) -> [u32; 3] {
    let Stretch { x, begin, end } = stretch;
    [
        // planted: measure-shape-squares
        squares_below(end) - squares_below(begin),
        stretch.rows() * x,
        stretch.area() * x * x,
    ]
}

/// The bits by which pixels are counted: of the warp's pixels in a row, or of a lane's in a column,
/// whose row 0 is in the least significant bit.
#[derive(Clone, Copy)]
struct PixelBits<T> {
    /// Valid pixels.
    valid: T,
    /// Those that equal the pixel below.
    below: T,
    /// Those at which runs begin.
    runs: T,
    /// Those that equal the pixel below to the right, and below to the left.
    slanted: [T; 2],
    squares: T,
    diagonals: [T; 2],
    outline: [T; 3],
}

impl PixelBits<u64> {
    /// The first rows of its stretches.
    #[inline(always)]
    const fn starts(&self) -> u64 {
        self.valid & !(self.below << 1)
    }

    /// The row after the last of the stretch that begins in a row.
    #[inline(always)]
    fn end(&self, begin: u32) -> u32 {
        let ends = !self.below & u64::MAX << begin;
        // planted: measure-shape-end
        (ends.trailing_zeros() + 1).min(HEIGHT)
    }

    /// The numbers of the stretch's pixels, as [`ShapeTable::add_counts`] takes them.
    #[inline(always)]
    const fn count(&self, rows: u64) -> [u32; COUNTS as usize] {
        [
            (self.runs & rows).count_ones(),
            (self.below & rows).count_ones(),
            (self.slanted[0] & rows).count_ones() + (self.slanted[1] & rows).count_ones(),
            (self.squares & rows).count_ones(),
            // planted: measure-shape-diagonals
            (self.diagonals[0] & rows).count_ones() + (self.diagonals[1] & rows).count_ones(),
            (self.outline[0] & rows).count_ones(),
            (self.outline[1] & rows).count_ones(),
            (self.outline[2] & rows).count_ones(),
        ]
    }
}

/// The bits of rows `begin` to before `end`, which is above `begin`.
#[inline(always)]
const fn rows_of(begin: u32, end: u32) -> u64 {
    u64::MAX << begin & u64::MAX >> (64 - end)
}

/// A half of a word: the bits of a warp's columns.
#[inline(always)]
const fn half(word: u64, which: u32) -> u32 {
    (word >> (32 * which)) as u32
}

/// The bits of one row.
#[inline(always)]
fn row_bits(
    planes: EqualityPlanes<'_>,
    own: &TilePlanes,
    bits: u32,
    (word_x, which): (u32, u32),
    y: u32,
) -> PixelBits<u32> {
    let valid = planes.valid(word_x, y);
    let (mut runs, mut pairs, mut outline) = (0, [0; 6], [0; 3]);
    let below = own.plane(S, word_x, y);
    if bits & wanted::PAIRS != 0 {
        runs = valid & !own.left(word_x, y);
        pairs = own.pairs(word_x, y);
    }
    if bits & wanted::OUTLINE != 0 {
        outline = own.outline(word_x, y);
    }
    PixelBits {
        valid: half(valid, which),
        below: half(below, which),
        runs: half(runs, which),
        slanted: [half(pairs[1], which), half(pairs[2], which)],
        squares: half(pairs[3], which),
        diagonals: [half(pairs[4], which), half(pairs[5], which)],
        outline: [
            half(outline[0], which),
            half(outline[1], which),
            half(outline[2], which),
        ],
    }
}

/// The bits of the lane's column. All lanes of the warp call it.
#[inline(always)]
fn column_bits(
    planes: EqualityPlanes<'_>,
    own: &TilePlanes,
    bits: u32,
    word: (u32, u32),
    top: u32,
    lane: u32,
) -> PixelBits<u64> {
    let upper = row_bits(planes, own, bits, word, top + lane);
    let lower = row_bits(planes, own, bits, word, top + WARP_SIZE + lane);
    let column = |upper: u32, lower: u32| {
        // planted: measure-shape-transpose
        u64::from(transposed(upper, lane)) | u64::from(transposed(lower, lane)) << 32
    };
    let mut all = PixelBits {
        valid: column(upper.valid, lower.valid),
        below: column(upper.below, lower.below),
        runs: 0,
        slanted: [0; 2],
        squares: 0,
        diagonals: [0; 2],
        outline: [0; 3],
    };
    if bits & wanted::PAIRS != 0 {
        all.runs = column(upper.runs, lower.runs);
        all.slanted = [
            column(upper.slanted[0], lower.slanted[0]),
            column(upper.slanted[1], lower.slanted[1]),
        ];
        all.squares = column(upper.squares, lower.squares);
        all.diagonals = [
            column(upper.diagonals[0], lower.diagonals[0]),
            column(upper.diagonals[1], lower.diagonals[1]),
        ];
    }
    if bits & wanted::OUTLINE != 0 {
        all.outline = [
            column(upper.outline[0], lower.outline[0]),
            column(upper.outline[1], lower.outline[1]),
            column(upper.outline[2], lower.outline[2]),
        ];
    }
    all
}

/// Where the sums of a tile's labels are: in shared memory for those that have places there, else
/// in device memory.
#[derive(Clone, Copy)]
struct TileSums<'a> {
    tile: Tile,
    own: TileTable,
    sums: TileShapes,
    table: LabelTable<'a>,
    shapes: ShapeTable<'a>,
    /// The sums that are wanted.
    bits: u32,
}

impl TileSums<'_> {
    /// Adds a stretch of a label, with what it counts. Returns the label's place, if it has one.
    #[inline(always)]
    fn add(self, label: u32, stretch: Stretch, counts: [u32; COUNTS as usize]) -> Option<u32> {
        let second = second_of(stretch);
        let place = self.own.place(label);
        if let Some(place) = place {
            self.own.add(place, stretch);
            if self.bits & wanted::SECOND != 0 {
                self.sums.add_second(place, second);
            }
            self.sums.add_counts(place, counts);
        } else {
            let area = stretch.area();
            let moments = [area, stretch.rows(), area * stretch.x];
            let second = SecondTally::of(self.tile, moments, second);
            self.table.add(label - 1, &self.tile.tally(stretch));
            self.shapes.add_second(label - 1, &second);
            self.shapes.add_counts(label - 1, counts);
        }
        place
    }

    /// Adds the sums in shared memory to those in device memory.
    #[inline(always)]
    fn add_to_tables(self, t: u32) {
        let (own, sums) = (self.own, self.sums);
        let mut place = t;
        while place < PLACES {
            let label = own.labels.ld(place);
            if label != 0 {
                let moments = [
                    own.areas.ld(place),
                    own.rows.ld(place),
                    own.columns.ld(place),
                ];
                let second = SecondTally::of(self.tile, moments, sums.second(place));
                self.table.add(label - 1, &self.tile.tally_of(own, place));
                self.shapes.add_second(label - 1, &second);
                self.shapes.add_counts(label - 1, sums.counts(place));
                if self.bits & wanted::INTENSITIES != 0 {
                    self.shapes
                        .add_intensities(label - 1, &sums.intensities(place));
                }
            }
            place += BLOCK;
        }
    }
}

impl Intensities<'_> {
    /// Adds those of column `x` of a tile whose first row is `top`.
    #[inline(always)]
    fn add_column(
        self,
        column: ColumnIntensities,
        x: u32,
        top: u32,
        beyond: impl Fn(u32, &IntensityTally),
    ) {
        let first = top as usize * self.pitch as usize + x as usize;
        let at = |y: u32| first + y as usize * self.pitch as usize;
        if !self.bytes.is_empty() {
            column.add::<false>(|y| self.bytes.ldg(at(y)).into(), beyond);
        } else if !self.halves.is_empty() {
            column.add::<false>(|y| self.halves.ldg(at(y)).into(), beyond);
        } else {
            column.add::<true>(|y| self.words.ldg(at(y)), beyond);
        }
    }
}

/// Sums up the labels of a tile.
#[inline(always)]
fn sum_tile<T: ValueBits>(
    values: RowsOfValues<'_, T>,
    planes: EqualityPlanes<'_>,
    intensities: Intensities<'_>,
    most: u64,
    bits: u32,
    table: LabelTable<'_>,
    shapes: ShapeTable<'_>,
) {
    let raster = planes.raster;
    let t = thread::thread_idx_x();
    let lane = t % WARP_SIZE;
    let tile = Tile::of_block(raster);
    let all = TileSums {
        tile,
        own: TileTable::of_block(),
        sums: TileShapes::of_block(),
        table,
        shapes,
        bits,
    };
    all.own.clear(t);
    all.sums.clear(t);
    let word_x = tile.left / 64 + t / 64;
    let of_tile = TilePlanes {
        beside: shared_array![u64; 4 * PLANE as usize],
        border: shared_array![u64; PLANE as usize],
        first_word: (tile.left / 64).wrapping_sub(1),
        first_row: tile.top.wrapping_sub(2),
    };
    // Its barriers are also those between clearing the tables and their use.
    of_tile.load(planes, t);
    let word = (word_x, t / WARP_SIZE % 2);
    let column = column_bits(planes, &of_tile, bits, word, tile.top, lane);
    let x = tile.left + t;
    // The label of the stretch that begins in a row; 0 if it is none.
    let label_at = |begin: u32| {
        let value = values.at(x, tile.top + begin).equal_bits();
        if value > most {
            return 0;
        }
        if value > table.slots().into() {
            table.beyond.atomic_max(0, value);
            return 0;
        }
        value as u32
    };
    let kept = KeptPlaces {
        words: of_tile.beside,
        t,
    };
    if bits & wanted::INTENSITIES != 0 {
        // Other lanes have read the planes, whose memory places are kept in.
        // planted: measure-intensity-barrier
        thread::sync_threads();
        kept.clear();
    }
    // The last rows of stretches whose labels have places, and of the others.
    let (mut with_place, mut without) = (0u64, 0u64);
    let mut starts = column.starts();
    while starts != 0 {
        let begin = starts.trailing_zeros();
        starts &= starts - 1;
        let end = column.end(begin);
        let label = label_at(begin);
        if label == 0 {
            continue;
        }
        let stretch = Stretch { x: t, begin, end };
        match all.add(label, stretch, column.count(rows_of(begin, end))) {
            Some(place) if bits & wanted::INTENSITIES != 0 => {
                kept.keep(end - 1, place);
                with_place |= 1 << (end - 1);
            }
            Some(_) => {}
            None => without |= 1 << (end - 1),
        }
    }
    if bits & wanted::INTENSITIES != 0 {
        let of_column = ColumnIntensities {
            sums: all.sums,
            kept,
            starts: column.starts(),
            with_place,
            without,
            height: if x < raster.width {
                tile.height(raster)
            } else {
                0
            },
            sign: intensities.sign,
            with_squares: bits & wanted::SQUARES != 0,
        };
        let beyond = |begin: u32, of_stretch: &IntensityTally| {
            let label = label_at(begin);
            if label != 0 {
                shapes.add_intensities(label - 1, of_stretch);
            }
        };
        intensities.add_column(of_column, x, tile.top, beyond);
    }
    // planted: measure-shape-barrier
    thread::sync_threads();
    all.add_to_tables(t);
}

/// The sizes of what is summed up besides a table.
#[cfg(not(target_arch = "nvptx64"))]
const fn of(table: LabelTable<'_>, bits: u32) -> ShapeSizes {
    ShapeSizes {
        slots: table.slots(),
        wanted: bits,
    }
}

/// Defines the kernel for a type of labels.
macro_rules! shapes_kernel {
    ($name:ident, $t:ty, $what:literal) => {
        #[doc = concat!("Adds the pixels of each tile to its labels' sums, for labels of ", $what)]
        /// bits. Labels are the values from 1 to `most`; the greatest without a slot is noted.
        /// `bits` are those of [`wanted`] that the tables have memory for.
        ///
        /// Launch: [`tiles::blocks`](super::tiles::blocks) blocks. Reads 5 bits per pixel, a value
        /// per column of a label in a tile, and each intensity once, and adds some 100 bytes per
        /// tile and label.
        ///
        /// # Safety
        ///
        /// `planes` are those of `values`, which has an element for each pixel, rows `pitch`
        /// elements apart, and so has one of the views of `intensities` if `bits` ask for intensities.
        /// The image has fewer than 2³¹ pixels, and as many times the square of its longer side are
        /// below 2⁶⁴. Other threads may add to the tables meanwhile, but not read them.
        #[kernel(block = BLOCK, len(planes = (), table = table.slots(), shapes = of(table, bits)))]
        pub unsafe fn $name(
            values: RowsOfValues<'_, $t>,
            planes: EqualityPlanes<'_>,
            intensities: Intensities<'_>,
            most: u64,
            bits: u32,
            table: LabelTable<'_>,
            shapes: ShapeTable<'_>,
        ) {
            sum_tile(values, planes, intensities, most, bits, table, shapes);
        }
    };
}

shapes_kernel!(sum_shapes_of_u8, u8, "8");
shapes_kernel!(sum_shapes_of_u16, u16, "16");
shapes_kernel!(sum_shapes_of_u32, u32, "32");
shapes_kernel!(sum_shapes_of_u64, u64, "64");
