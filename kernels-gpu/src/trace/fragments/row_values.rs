//! The previous border of each outer border among those of its own value.
//!
//! Before the first pixel of an outer border, other pixels of its value may lie in its row. The
//! last of them is the end of a run, and the border that passes the E side there is the previous
//! one. In a binary image, the run's end is read from its words. Here, a warp goes through the
//! row's runs from left to right, 32 at a time, and keeps the beginning of the last run of each
//! value in a hash table.
//!
//! A place of the table holds a column, and the value there is the place's key. So the table needs
//! 4 bytes per place whatever the type of the values is.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::Parts;
use super::join::{Chains, Join};
use super::key::key_in_word;
use super::source::{Source, TracedValues};
use crate::image::bits::ValueBits;
use crate::primitives::warp::inclusive_sum;
use crate::trace::borders::{FoundBorders, count};
use crate::trace::node_walk::NamedNode;
use crate::trace::options::Approximation;

/// Threads per block.
pub const BLOCK: u32 = 128;
/// Warps per block. Each takes a row.
pub const WARPS: u32 = BLOCK / WARP_SIZE;
/// Elements of a warp's queue: those of the last runs that wait, and one more per lane.
const QUEUE: u32 = 2 * WARP_SIZE;
/// Set in a run's beginning if an outer border begins there.
const OUTER: u32 = 1 << 31;
/// A place of a table without a column.
const EMPTY: u32 = u32::MAX;
/// The fewest places of a table.
const FEWEST_PLACES: u32 = 64;

/// Numbers of warps, and of places in the table of each: from these follow the lengths of
/// [`RowTables`].
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowTableSizes {
    /// Blocks of the launch.
    pub blocks: u32,
    /// Places of each warp's table.
    pub places: u32,
}

/// The warps' tables.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(RowTableSizes, buffers = RowTableBuffers)]
pub struct RowTables<'a> {
    /// Per warp, a power of two of places.
    #[len(u64::from(sizes.blocks) * u64::from(WARPS) * u64::from(sizes.places))]
    pub columns: ViewMut<'a, u32>,
    /// This number of places.
    pub places: u32,
}

/// The number of places with which a table of a row of `runs` runs is at most half full.
#[inline(always)]
const fn places_for(runs: u32) -> u32 {
    // No row has 2³¹ runs.
    const MOST: u32 = 1 << 31;
    if runs > MOST / 2 {
        return MOST;
    }
    // The next power of two from twice the number on.
    let places = 1 << (u32::BITS - (2 * runs).saturating_sub(1).leading_zeros());
    if places < FEWEST_PLACES {
        FEWEST_PLACES
    } else {
        places
    }
}

/// The number of places that a table needs for any row of `width` pixels.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub const fn most_places(width: u32) -> u32 {
    places_for(width)
}

/// The values of an image, in rows.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct RowsOfValues<'a, T: Pod> {
    /// Row after row.
    pub values: View<'a, T>,
    /// Elements from the start of a row to the start of the next.
    pub pitch: u32,
}

impl<T: Pod> RowsOfValues<'_, T> {
    /// The value of pixel `(x, y)`.
    #[inline(always)]
    pub(crate) fn at(&self, x: u32, y: u32) -> T {
        self.values
            .ldg(y as usize * self.pitch as usize + x as usize)
    }
}

impl<T: ValueBits> RowsOfValues<'_, T> {
    /// Its bits, the same for equal values.
    #[inline(always)]
    fn bits(&self, x: u32, y: u32) -> u64 {
        self.at(x, y).equal_bits()
    }
}

/// A row whose runs a warp goes through.
struct Row<'a, T: Pod> {
    values: RowsOfValues<'a, T>,
    y: u32,
    /// All warps' tables, and the first place of this warp's.
    columns: ViewMut<'a, u32>,
    table: usize,
    /// Places of the table, a power of two.
    places: u32,
}

impl<T: ValueBits> Row<'_, T> {
    /// Empties the table. All lanes of the warp call it.
    #[inline(always)]
    fn clear(&self, lane: u32) {
        let mut i = lane;
        while i < self.places {
            self.columns.st(self.table + i as usize, EMPTY);
            i += WARP_SIZE;
        }
        warp::sync_warp(FULL_MASK);
    }

    /// Puts column `x` in the place of its value, whose bits are `bits`. Returns the column that
    /// was there, or [`EMPTY`]. Of the lanes that call it together, each has another value.
    #[inline(always)]
    fn replace(&self, bits: u64, x: u32) -> u32 {
        // Fibonacci hashing: the highest bits of the product.
        let product = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut place = (product >> 32) as u32 >> (self.places.leading_zeros() + 1);
        loop {
            let at = self.table + place as usize;
            let mut column = self.columns.ld_relaxed(at, Device);
            if column == EMPTY {
                column = self.columns.atomic_cas(at, EMPTY, x);
                if column == EMPTY {
                    return EMPTY;
                }
            }
            if self.values.bits(column, self.y) == bits {
                self.columns.st_relaxed(at, x, Device);
                return column;
            }
            place = (place + 1) & (self.places - 1);
        }
    }
}

/// The runs of a row that wait until there is one per lane, in a warp's part of a block's memory.
/// All lanes of the warp call its methods together.
struct Queue {
    memory: SharedView<u32>,
    /// The first element of the warp's part.
    start: u32,
    /// The number of runs that wait.
    waiting: u32,
}

/// A word of a row.
#[derive(Clone, Copy)]
struct Word {
    /// The column of its first pixel.
    first: u32,
    /// The pixels at which runs begin.
    begin: u64,
    /// The pixels at which borders start, and the number of borders that start before the word.
    starts: u64,
    before: u32,
}

impl Queue {
    /// Puts in the beginnings of a word's runs, and takes out as many as there are lanes.
    #[inline(always)]
    fn put<T: ValueBits>(
        &mut self,
        row: &Row<'_, T>,
        join: Join<'_, u32, TracedValues<'_>>,
        borders: FoundBorders<'_>,
        word: Word,
    ) {
        let lane = thread::thread_idx_x() % WARP_SIZE;
        let mut half = 0;
        while half < 64 {
            let bit = half + lane;
            let is_begin = word.begin >> bit & 1 != 0;
            let lanes = warp::warp_vote_ballot(FULL_MASK, is_begin);
            half += WARP_SIZE;
            if lanes == 0 {
                continue;
            }
            if is_begin {
                let mut item = word.first + bit;
                if word.starts >> bit & 1 != 0 {
                    let below = (1u64 << bit) - 1;
                    let number = word.before + (word.starts & below).count_ones();
                    // planted: row-values-kind
                    if borders.kinds.ld(number) == 0 {
                        item |= OUTER;
                    }
                }
                let at = self.waiting + (lanes & warp::lanemask_lt()).count_ones();
                self.memory.st(self.start + at, item);
            }
            self.waiting += lanes.count_ones();
            // planted: row-values-put
            warp::sync_warp(FULL_MASK);
            if self.waiting >= WARP_SIZE {
                link_runs(
                    row,
                    join,
                    borders,
                    self.memory.ld(self.start + lane),
                    WARP_SIZE,
                );
                self.waiting -= WARP_SIZE;
                let mut rest = 0;
                if lane < self.waiting {
                    rest = self.memory.ld(self.start + WARP_SIZE + lane);
                }
                // planted: row-values-move
                warp::sync_warp(FULL_MASK);
                if lane < self.waiting {
                    self.memory.st(self.start + lane, rest);
                }
            }
        }
    }

    /// Takes out what is left.
    #[inline(always)]
    fn finish<T: ValueBits>(
        &mut self,
        row: &Row<'_, T>,
        join: Join<'_, u32, TracedValues<'_>>,
        borders: FoundBorders<'_>,
    ) {
        let lane = thread::thread_idx_x() % WARP_SIZE;
        let mut item = 0;
        if lane < self.waiting {
            item = self.memory.ld(self.start + lane);
        }
        link_runs(row, join, borders, item, self.waiting);
        self.waiting = 0;
    }
}

/// Goes through the rows in which outer borders begin, each warp through every `warps`-th row.
#[inline(always)]
fn link_rows<T: ValueBits>(
    values: RowsOfValues<'_, T>,
    join: Join<'_, u32, TracedValues<'_>>,
    borders: FoundBorders<'_>,
    tables: RowTables<'_>,
    memory: SharedView<u32>,
) {
    let image = join.image;
    let raster = image.raster();
    let t = thread::thread_idx_x();
    let (warp, lane) = (t / WARP_SIZE, t % WARP_SIZE);
    let warps = thread::grid_dim_x() * WARPS;
    let own = thread::block_idx_x() * WARPS + warp;
    let found = join.parts.counters.ld(count::BORDERS);
    let starts_before = |word: u32| {
        if word < raster.words() {
            join.parts.starts_before.ld(word)
        } else {
            found
        }
    };
    let mut y = own;
    while y < raster.height {
        let first_word = y * raster.row_words;
        // planted: row-values-skip
        if starts_before(first_word) == starts_before(first_word + raster.row_words) {
            y += warps;
            continue;
        }
        let mut runs = 0;
        let mut word_x = lane;
        while word_x < raster.row_words {
            runs += image.planes.run_starts(word_x, y).count_ones();
            word_x += WARP_SIZE;
        }
        let (runs, _) = warp::warp_shuffle_idx(FULL_MASK, inclusive_sum(runs, lane), 31, WARP_SIZE);
        let row = Row {
            values,
            y,
            columns: tables.columns,
            table: own as usize * tables.places as usize,
            places: places_for(runs),
        };
        row.clear(lane);

        let mut queue = Queue {
            memory,
            start: warp * QUEUE,
            waiting: 0,
        };
        let mut first = 0;
        while first < raster.row_words {
            // Each lane loads a word; then all of them go through one after the other.
            let own_word = first + lane;
            let (mut own_begin, mut own_starts, mut own_before) = (0, 0, 0);
            if own_word < raster.row_words {
                own_begin = image.planes.run_starts(own_word, y);
                own_before = starts_before(first_word + own_word);
                if starts_before(first_word + own_word + 1) != own_before {
                    own_starts = join.starts(own_word, y);
                }
            }
            let mut of_lane = 0;
            while of_lane < WARP_SIZE {
                let (begin, _) = warp::warp_shuffle_idx(FULL_MASK, own_begin, of_lane, WARP_SIZE);
                let (starts, _) = warp::warp_shuffle_idx(FULL_MASK, own_starts, of_lane, WARP_SIZE);
                let (before, _) = warp::warp_shuffle_idx(FULL_MASK, own_before, of_lane, WARP_SIZE);
                let word = Word {
                    first: (first + of_lane) * 64,
                    begin,
                    starts,
                    before,
                };
                queue.put(&row, join, borders, word);
                of_lane += 1;
            }
            first += WARP_SIZE;
        }
        queue.finish(&row, join, borders);
        y += warps;
    }
}

/// Notes the beginnings of up to 32 runs, one per lane in their order, and finds the previous
/// borders of the outer borders that begin there. The first `count` lanes have a run.
#[inline(always)]
fn link_runs<T: ValueBits>(
    row: &Row<'_, T>,
    join: Join<'_, u32, TracedValues<'_>>,
    borders: FoundBorders<'_>,
    item: u32,
    count: u32,
) {
    let lane = thread::thread_idx_x() % WARP_SIZE;
    let y = row.y;
    let (x, has_run) = (item & !OUTER, lane < count);
    let bits = if has_run { row.values.bits(x, y) } else { 0 };
    let with_runs = warp::warp_vote_ballot(FULL_MASK, has_run);
    // planted: row-values-lanes
    let peers = warp::warp_match_any_64(FULL_MASK, bits) & with_runs;
    let last = 31 - (peers | 1).leading_zeros();
    let mut earlier = EMPTY;
    if has_run && lane == last {
        earlier = row.replace(bits, x);
    }
    // What the last lane of a value has found is what lies before the first one.
    let (earlier, _) = warp::warp_shuffle_idx(FULL_MASK, earlier, last, WARP_SIZE);
    let before = peers & warp::lanemask_lt();
    let (beside, _) =
        warp::warp_shuffle_idx(FULL_MASK, x, 31 - (before | 1).leading_zeros(), WARP_SIZE);
    // planted: row-values-before
    let previous_run = if before == 0 { earlier } else { beside };
    if has_run && item & OUTER != 0 && previous_run != EMPTY {
        let image = join.image;
        let x_end = image.planes.run_end(previous_run, y);
        let node = NamedNode {
            x: x_end,
            y,
            kind: image.kind_at_east(x_end, y),
        };
        let previous = join.passing(node, |i| join.of_fragment(i), |i| join.of_closed(i));
        let word = y * image.raster().row_words + x / 64;
        let [key, _] = key_in_word(word, x % 64, false);
        borders.previous_in_row.st(join.number(key), previous);
    }
    // The table is looked up before others write to it.
    warp::sync_warp(FULL_MASK);
}

/// Defines the kernel for a type of values.
macro_rules! link_kernel {
    ($name:ident, $t:ty, $what:literal) => {
        #[doc = concat!("Finds the previous border of each outer border, for values of ")]
        #[doc = concat!($what, ".")]
        ///
        /// Launch: any number of blocks, whose warps take rows. Reads the planes of the rows in
        /// which borders begin, twice, the value of each run there, and some 100 bytes per outer
        /// border; writes 12 bytes per run there, and 4 per outer border.
        ///
        /// # Safety
        ///
        /// [`join_value_contours`](fn@super::join::join_value_contours) has made `parts`, `chains`
        /// and `borders` for `image`. `values` has an element for each pixel, rows `pitch` elements
        /// apart. Nothing else uses `borders` and `tables` meanwhile.
        #[kernel(
            block = BLOCK,
            min_blocks = 6,
            len(
                image = (),
                parts = parts.value_sizes(image.planes.raster),
                chains = parts.value_join_sizes(image.planes.raster, 0),
                borders = parts.value_sizes(image.planes.raster).borders(),
                tables = RowTableSizes {
                    blocks: grid.x,
                    places: tables.places.max(most_places(image.planes.raster.width)),
                },
            ),
        )]
        pub unsafe fn $name(
            values: RowsOfValues<'_, $t>,
            image: TracedValues<'_>,
            approximation: Approximation,
            parts: Parts<'_>,
            chains: Chains<'_>,
            borders: FoundBorders<'_>,
            tables: RowTables<'_>,
        ) {
            let queue = shared_array![u32; (QUEUE * WARPS) as usize];
            let join = Join::<u32, _>::new(image, approximation, parts, chains);
            link_rows(values, join, borders, tables, queue);
        }
    };
}

link_kernel!(link_outer_borders_of_u8, u8, "8 bits");
link_kernel!(link_outer_borders_of_u16, u16, "16 bits");
link_kernel!(link_outer_borders_of_u32, u32, "32 bits");
link_kernel!(link_outer_borders_of_u64, u64, "64 bits");
link_kernel!(
    link_outer_borders_of_f32,
    f32,
    "floating-point numbers of 32 bits"
);
