//! Sums of each label's pixels for axes, perimeters, Euler numbers and intensities, added to
//! [tables](super::shape_table) tile by tile.
//!
//! A lane goes down a column of the tile and compares each pixel with the one above, with the one
//! to its right, and across the two diagonals between them. It keeps the answers as words of 64
//! bits, a bit per row. What pixels add to an outline or to an Euler number follows from these
//! words and from those of the columns beside, for all rows at once. Then the lane goes through the
//! stretches of equal pixels in its column: it reads a label and counts bits once per stretch. The
//! tile's labels are collected in the table of [`tiles`](super::tiles).
//!
//! A tile overlaps those around it, since its outlines depend on more pixels than it counts: on a
//! border pixel's neighbours, and theirs. Within a block, warps overlap by a column, so that each
//! lane but the last has its right neighbour in its own warp.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::neighbours::outline_of;
#[cfg(not(target_arch = "nvptx64"))]
use super::shape_table::ShapeSizes;
use super::shape_table::{IntensityTally, SecondTally, ShapeTable};
use super::sums::wanted;
use super::table::LabelTable;
use super::tiles::{HEIGHT, PLACES, Stretch, Tile, TileTable, WIDTH};
use crate::image::bits::ValueBits;
use crate::primitives::quotient;
use crate::primitives::rows::for_each_row;
use crate::trace::fragments::row_values::RowsOfValues;
use crate::trace::pixels::Raster;

/// Threads per block.
pub const BLOCK: u32 = 128;
/// Columns of a warp that have their right neighbours.
const WARP_COLUMNS: u32 = WARP_SIZE - 1;
/// Columns of a tile that have their right neighbours.
const COLUMNS: u32 = BLOCK / WARP_SIZE * WARP_COLUMNS;
/// Rows above a tile, and columns to its left, that its outlines depend on. The image's first tiles
/// have none.
const RIM: u32 = 2;
/// Columns and rows of a tile. Its last outlines depend on one more, which has neighbours, too.
const ACROSS: u32 = COLUMNS - RIM - 1;
const DOWN: u32 = (HEIGHT - 1) - RIM - 1;
/// Rows of a half of a column.
const HALF: u32 = HEIGHT / 2;
/// Numbers of pixels that are counted: see [`ShapeTable::add_counts`].
pub(super) const COUNTS: u32 = 8;

const _: () = assert!(PLACES <= 256 && COLUMNS < WIDTH && HALF == u32::BITS);

/// Blocks for an image of `width × height` pixels.
#[must_use]
pub const fn blocks(width: u32, height: u32) -> u64 {
    tiles(width, ACROSS) as u64 * tiles(height, DOWN) as u64
}

/// The number of tiles along a side.
#[inline(always)]
const fn tiles(side: u32, step: u32) -> u32 {
    let beyond_rim = side.saturating_sub(RIM).div_ceil(step);
    if beyond_rim == 0 { 1 } else { beyond_rim }
}

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

/// Part of an image: what a block reads for its tile.
#[derive(Clone, Copy)]
struct Window {
    /// The first pixel that it reads.
    first: Tile,
    /// The rows and columns that it reads and that are the tile's, as ranges.
    rows: [u32; 2],
    columns: [u32; 2],
}

impl Window {
    /// This block's window.
    #[inline(always)]
    fn of_block(raster: Raster) -> Self {
        let across = tiles(raster.width, ACROSS);
        let tile_y = quotient(thread::block_idx_x(), across);
        let tile_x = thread::block_idx_x() - tile_y * across;
        let first = Tile {
            left: tile_x * ACROSS,
            top: tile_y * DOWN,
        };
        // planted: measure-window-rim
        let begin = |tile: u32| if tile == 0 { 0 } else { RIM };
        let end = |before: u32, side: u32, step: u32| (RIM + step).min(side.saturating_sub(before));
        Self {
            rows: [begin(tile_y), end(first.top, raster.height, DOWN)],
            columns: [begin(tile_x), end(first.left, raster.width, ACROSS)],
            first,
        }
    }
}

/// Which pixels of a column equal some neighbours: a bit per row, the first row in the least
/// significant one. Pixels without a label equal each other.
#[derive(Clone, Copy)]
struct Equal<T> {
    /// Pixels with a label.
    live: T,
    /// Those that equal the pixel to the right.
    right: T,
    /// Those that equal the pixel above.
    above: T,
    /// Those that equal the pixel above to the right.
    rising: T,
    /// Rows whose pixel to the right equals the pixel above.
    falling: T,
}

/// The labels of a row, in the lane's column and in the one to its right.
#[derive(Clone, Copy, Default)]
struct RowLabels {
    here: u32,
    right: u32,
}

/// Compares the pixels of up to [`HALF`] rows of a column. `label` makes a label of what is loaded
/// of a row. `above` has the labels of the row above the first, then of the last one. All lanes of
/// the warp call it.
#[inline(always)]
fn compare_half<T: Default>(
    height: u32,
    lane: u32,
    load: impl Fn(u32) -> T,
    mut label: impl FnMut(T, u32) -> u32,
    above: &mut RowLabels,
) -> Equal<u32> {
    let mut equal = Equal {
        live: 0,
        right: 0,
        above: 0,
        rising: 0,
        falling: 0,
    };
    let mut bit = 1u32;
    for_each_row(height, load, |loaded: T, y: u32| {
        let here = label(loaded, y);
        // The last lane gets the first one's label, and what it finds with it is not used.
        let (right, _) = warp::warp_shuffle_idx(FULL_MASK, here, lane + 1, WARP_SIZE);
        let if_equal = |a: u32, b: u32| if a == b { bit } else { 0 };
        equal.live |= if here != 0 { bit } else { 0 };
        equal.right |= if_equal(here, right);
        equal.above |= if_equal(here, above.here);
        equal.rising |= if_equal(here, above.right);
        // planted: measure-falling
        equal.falling |= if_equal(right, above.here);
        *above = RowLabels { here, right };
        bit <<= 1;
    });
    equal
}

impl Equal<u64> {
    #[inline(always)]
    const fn of_halves(upper: Equal<u32>, lower: Equal<u32>) -> Self {
        const fn both(upper: u32, lower: u32) -> u64 {
            // planted: measure-shape-halves
            upper as u64 | (lower as u64) << HALF
        }
        Self {
            live: both(upper.live, lower.live),
            right: both(upper.right, lower.right),
            above: both(upper.above, lower.above),
            rising: both(upper.rising, lower.rising),
            falling: both(upper.falling, lower.falling),
        }
    }

    /// Those of a column without labels; no pixel equals another.
    const NONE: Self = Self {
        live: 0,
        right: 0,
        above: 0,
        rising: 0,
        falling: 0,
    };

    /// The pixels of the column that equal the one below; unknown for the last row.
    #[inline(always)]
    const fn below(&self) -> u64 {
        self.above >> 1
    }

    /// The pixels with a side on which the neighbour is not equal, given the column to the left;
    /// unknown for the last row.
    #[inline(always)]
    const fn border(&self, left: &Self) -> u64 {
        // planted: measure-column-border
        !(self.right & left.right & self.above & self.below())
    }
}

/// Words of the columns of a block, in shared memory, by which they know of each other.
#[derive(Clone, Copy)]
struct SharedColumns {
    words: SharedView<u64>,
}

impl SharedColumns {
    /// Exchanges the words of column `c`, unless the lane is its warp's last one, which has no
    /// neighbour to the right. Returns the words of the column to the left, and the border pixels
    /// of the columns to the left, here and to the right. All threads of the block call it.
    #[inline(always)]
    fn exchange(self, own: &Equal<u64>, c: u32, is_last: bool) -> (Equal<u64>, [u64; 3]) {
        if !is_last {
            self.words.st(c, own.right);
            self.words.st(WIDTH + c, own.rising);
            self.words.st(2 * WIDTH + c, own.falling);
        }
        // planted: measure-columns-barrier
        thread::sync_threads();
        let mut left = Equal::NONE;
        if c > 0 {
            left.right = self.words.ld(c - 1);
            left.rising = self.words.ld(WIDTH + c - 1);
            left.falling = self.words.ld(2 * WIDTH + c - 1);
        }
        let border = own.border(&left);
        if !is_last {
            self.words.st(3 * WIDTH + c, border);
        }
        // planted: measure-border-barrier
        thread::sync_threads();
        let mut borders = [0, border, 0];
        if c > 0 {
            borders[0] = self.words.ld(3 * WIDTH + c - 1);
        }
        if c + 1 < COLUMNS {
            borders[2] = self.words.ld(3 * WIDTH + c + 1);
        }
        (left, borders)
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
    /// The first row that is looked at, and the number of rows.
    first: u32,
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
        let [mut starts, mut with_place, mut without] =
            [self.starts, self.with_place, self.without].map(|rows| rows >> self.first);
        // Rows below the image begin and end nothing.
        for_each_row(self.height, load, |bits: u32, y: u32| {
            if starts & 1 != 0 {
                of_stretch = IntensityTally::NONE;
                begin = self.first + y;
            }
            // planted: measure-intensity-sign
            of_stretch.add(bits ^ self.sign, self.sign, self.with_squares);
            // planted: measure-intensity-end
            if with_place & 1 != 0 {
                let place = self.kept.place(self.first + y);
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

/// The bits by which a column's pixels are counted, a bit per row.
#[derive(Clone, Copy)]
struct PixelBits {
    /// Pixels at which runs begin.
    runs: u64,
    /// Those that equal the pixel below.
    below: u64,
    /// Those that equal the pixel below to the right, and below to the left.
    slanted: [u64; 2],
    squares: u64,
    diagonals: [u64; 2],
    outline: [u64; 3],
}

impl PixelBits {
    /// Those of a column, given what the column to the left has, and the border pixels to the left,
    /// here and to the right. Only bits that are asked for are found.
    #[inline(always)]
    fn of(own: &Equal<u64>, left: &Equal<u64>, borders: [u64; 3], bits: u32) -> Self {
        let below = own.below();
        let slanted = [own.falling >> 1, left.rising >> 1];
        let mut all = Self {
            runs: 0,
            below,
            slanted: [0; 2],
            squares: 0,
            diagonals: [0; 2],
            outline: [0; 3],
        };
        if bits & wanted::PAIRS != 0 {
            all.runs = !left.right;
            all.slanted = slanted;
            all.squares = own.right & below & slanted[0];
            all.diagonals = [
                slanted[0] & !own.right & !below,
                // planted: measure-shape-left
                slanted[1] & !left.right & !below,
            ];
        }
        if bits & wanted::OUTLINE != 0 {
            let [border_left, border, border_right] = borders;
            let sides = [
                own.right & border_right,
                left.right & border_left,
                own.above & border << 1,
                below & border >> 1,
            ];
            let corners = [
                own.rising & border_right << 1,
                // planted: measure-shape-corner
                left.falling & border_left << 1,
                slanted[0] & border_right >> 1,
                slanted[1] & border_left >> 1,
            ];
            all.outline = outline_of(border, sides, corners);
        }
        all
    }

    /// The numbers of a stretch's pixels, as [`ShapeTable::add_counts`] takes them.
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

/// An image of labels.
#[derive(Clone, Copy)]
struct Labels<'a, T: ValueBits> {
    values: RowsOfValues<'a, T>,
    background: View<'a, T>,
    mask: View<'a, u64>,
    raster: Raster,
    /// The greatest value that is a label.
    most: u64,
    /// Labels from 1 to this number have slots. There are fewer than 2³⁰.
    slots: u32,
}

impl<T: ValueBits + Default> Labels<'_, T> {
    /// A value as a number of 32 bits: 0 if it is above `most`, and the greatest one if it does not
    /// fit.
    #[inline(always)]
    fn number(value: T, most: u64) -> u32 {
        let value = value.equal_bits();
        if size_of::<T>() <= size_of::<u32>() {
            let most = most.min(u32::MAX.into()) as u32;
            let value = value as u32;
            if value <= most { value } else { 0 }
        } else if value <= most {
            value.min(u32::MAX.into()) as u32
        } else {
            0
        }
    }

    #[inline(always)]
    fn is_masked_out(&self, x: u32, y: u32) -> bool {
        let word = y * self.raster.row_words + x / 64;
        // planted: measure-shape-mask
        self.mask.ldg(word) >> (x % 64) & 1 == 0
    }

    /// Compares the pixels of column `x`, from row `top` on. All lanes of the warp call it.
    #[inline(always)]
    fn compare_column(&self, table: LabelTable<'_>, x: u32, top: u32, lane: u32) -> Equal<u64> {
        let height = HEIGHT.min(self.raster.height.saturating_sub(top));
        // Columns to the right of the image have no labels.
        let (most, x) = if x < self.raster.width {
            (self.most, x)
        } else {
            (0, self.raster.width - 1)
        };
        let mut greatest = 0;
        let mut label = |loaded: T, y: u32| {
            let mut number = Self::number(loaded, most);
            if !self.mask.is_empty() && y < height && self.is_masked_out(x, top + y) {
                number = 0;
            }
            greatest = greatest.max(number);
            if number <= self.slots { number } else { 0 }
        };
        let mut above = RowLabels::default();
        let upper = compare_half(
            height.min(HALF),
            lane,
            |y| self.values.at(x, top + y),
            &mut label,
            &mut above,
        );
        let lower = compare_half(
            height.saturating_sub(HALF),
            lane,
            |y| self.values.at(x, top + HALF + y),
            |loaded, y| label(loaded, HALF + y),
            &mut above,
        );
        if greatest > self.slots {
            self.note_beyond(table, x, top, height);
        }
        Equal::of_halves(upper, lower)
    }

    /// Notes the greatest label of a column, if it has no slot; background is none.
    #[inline(always)]
    fn note_beyond(&self, table: LabelTable<'_>, x: u32, top: u32, height: u32) {
        let mut greatest = 0;
        let mut y = top;
        while y < top + height {
            let value = self.values.at(x, y);
            let number = Self::number(value, self.most);
            let masked_out = !self.mask.is_empty() && self.is_masked_out(x, y);
            if number > greatest && !masked_out && !self.is_background(value) {
                greatest = number;
            }
            y += 1;
        }
        if greatest > self.slots {
            table.note_beyond(greatest.into());
        }
    }

    #[inline(always)]
    fn is_background(&self, value: T) -> bool {
        let mut i = 0;
        while i < self.background.len() as u32 {
            if self.background.ldg(i).equal_bits() == value.equal_bits() {
                return true;
            }
            i += 1;
        }
        false
    }
}

/// Sums up the labels of a tile.
#[inline(always)]
fn sum_tile<T: ValueBits + Default>(
    labels: Labels<'_, T>,
    intensities: Intensities<'_>,
    bits: u32,
    table: LabelTable<'_>,
    shapes: ShapeTable<'_>,
) {
    let t = thread::thread_idx_x();
    let lane = t % WARP_SIZE;
    let Window {
        first,
        rows: [first_row, end_row],
        columns: [first_column, end_column],
    } = Window::of_block(labels.raster);
    let all = TileSums {
        tile: first,
        own: TileTable::of_block(),
        sums: TileShapes::of_block(),
        table,
        shapes,
        bits,
    };
    if table.is_given_up(labels.raster, t) {
        return;
    }
    all.own.clear(t);
    all.sums.clear(t);
    let c = t / WARP_SIZE * WARP_COLUMNS + lane;
    let is_last = lane == WARP_COLUMNS;
    let x = first.left + c;
    let equal = labels.compare_column(table, x, first.top, lane);
    let shared = SharedColumns {
        words: shared_array![u64; (HEIGHT / KeptPlaces::ROWS_PER_WORD * WIDTH) as usize],
    };
    // Its barriers are also those between clearing the tables and their use.
    let (left, borders) = shared.exchange(&equal, c, is_last);
    let column = PixelBits::of(&equal, &left, borders, bits);
    let kept = KeptPlaces {
        words: shared.words,
        t,
    };
    if bits & wanted::INTENSITIES != 0 {
        // Other lanes have read the columns, whose memory places are kept in.
        // planted: measure-intensity-barrier
        thread::sync_threads();
        kept.clear();
    }
    let is_own = !is_last && first_column <= c && c < end_column && first_row < end_row;
    let mut own_rows = 0;
    if is_own {
        own_rows = rows_of(first_row, end_row);
    }
    let all_starts = equal.live & own_rows & (!equal.above | 1 << first_row);
    // The label of the stretch that begins in a row.
    let label_at = |begin: u32| labels.values.at(x, first.top + begin).equal_bits() as u32;
    // The last rows of stretches whose labels have places, and of the others.
    let (mut with_place, mut without) = (0u64, 0u64);
    let mut starts = all_starts;
    while starts != 0 {
        let begin = starts.trailing_zeros();
        starts &= starts - 1;
        let ends = !column.below & u64::MAX << begin;
        // planted: measure-shape-end
        let end = (ends.trailing_zeros() + 1).min(end_row);
        let stretch = Stretch { x: c, begin, end };
        match all.add(label_at(begin), stretch, column.count(rows_of(begin, end))) {
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
            starts: all_starts,
            with_place,
            without,
            first: first_row,
            height: if is_own { end_row - first_row } else { 0 },
            sign: intensities.sign,
            with_squares: bits & wanted::SQUARES != 0,
        };
        let beyond = |begin: u32, of_stretch: &IntensityTally| {
            shapes.add_intensities(label_at(begin) - 1, of_stretch);
        };
        intensities.add_column(of_column, x, first.top + first_row, beyond);
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
        /// bits. Labels are the values from 1 to `most`; the greatest without a slot that is not
        /// background is noted. Once that label has no slot in the largest table either, blocks
        /// that begin add nothing. `bits` are those of [`wanted`] that the tables have memory for.
        ///
        /// Launch: [`blocks`] blocks. Reads each value 1.1 times, 1 bit per pixel of a mask, once
        /// more a value per column of a label in a tile, and each intensity once, and adds some 100
        /// bytes per tile and label.
        ///
        /// # Safety
        ///
        /// `values` has an element for each pixel, rows `pitch` elements apart, and so has one of
        /// the views of `intensities` if `bits` ask for intensities. `mask` has the words of a
        /// binary image of the same size, or none. The image has fewer than 2³¹ pixels, and as many
        /// times the square of its longer side are below 2⁶⁴. Other threads may add to the tables
        /// meanwhile, but not read them.
        #[kernel(block = BLOCK, len(table = table.slots(), shapes = of(table, bits)))]
        pub unsafe fn $name(
            values: RowsOfValues<'_, $t>,
            background: View<'_, $t>,
            mask: View<'_, u64>,
            raster: Raster,
            intensities: Intensities<'_>,
            most: u64,
            bits: u32,
            table: LabelTable<'_>,
            shapes: ShapeTable<'_>,
        ) {
            let labels = Labels {
                values,
                background,
                mask,
                raster,
                most,
                slots: table.slots(),
            };
            sum_tile(labels, intensities, bits, table, shapes);
        }
    };
}

shapes_kernel!(sum_shapes_of_u8, u8, "8");
shapes_kernel!(sum_shapes_of_u16, u16, "16");
shapes_kernel!(sum_shapes_of_u32, u32, "32");
shapes_kernel!(sum_shapes_of_u64, u64, "64");
