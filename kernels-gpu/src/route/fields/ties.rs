//! Ties: which of several shortest paths to take, where walking down a field cannot decide it.
//!
//! The cells on shortest paths are those to which ways lead from the tree's nearest cells. The
//! block marks them in a rectangle around the ways' ends, with a bit per cell. In each round, warps
//! mark straight down and up, where each step goes twice as far as the one before; then each thread
//! marks along a row by an addition, whose carries run along cells with a way in that direction. If
//! rows are short, one warp does all that in registers. If a way leaves the rectangle, the block
//! starts again in a larger one, up to the whole box; a tie for which shared memory has no room
//! stays open. Then each marked cell gets as the next one its first marked neighbour, in the stated
//! order, that has a way to it, and a thread follows these from the pin to the tree, as in a walk.

use core::ops::{BitAnd, BitOr};

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE, WarpShuffleValue};

use super::join::{BLOCK, Join, STRETCH, WARPS, word};
use super::offer::{Around, OUTSIDE};
use super::while_walking::{Destination, Layout};
use super::{CellXy, DOWN, Entry, Field, GRAIN, LEFT, RIGHT, Start, UP, column_and_row, offset};
use crate::primitives::quotient;
use crate::route::tiles::patch::each;

/// How far ways may stray from the rectangle around their ends at first, and by what that grows.
const MARGIN: u32 = 4;
const GROWTH: u32 = 4;

// Planes of a rectangle, a bit per cell: for every 32 columns of a row there is one word of each
// plane, first those of the cells with a way left, up, right and down, by direction.
/// The plane of the marked cells.
const MARKED: u32 = 4;
const PLANES: u32 = 5;

/// A rectangle of a box; its cells have indices row by row.
#[derive(Clone, Copy)]
struct Rectangle {
    /// Its first column, a multiple of [`GRAIN`], and its first row.
    left: u32,
    top: u32,
    /// Its columns, a multiple of [`GRAIN`], and its rows.
    columns: u32,
    rows: u32,
}

impl Rectangle {
    #[inline(always)]
    const fn cells(self) -> u32 {
        self.columns * self.rows
    }

    /// The rectangle of its cells in the grid.
    #[inline(always)]
    const fn around(self, field: Field) -> Around {
        Around::new(
            field.extent.cell_in(self.left, self.top),
            self.columns,
            self.rows,
        )
    }

    /// Where its cells lie in the grid.
    #[inline(always)]
    fn layout(self, field: Field) -> Layout {
        Layout::new(field.extent.cell_in(self.left, self.top), self.columns)
    }

    /// The number of words per row and plane.
    #[inline(always)]
    const fn row_words(self) -> u32 {
        self.columns.div_ceil(32)
    }

    /// The number of words of all planes.
    #[inline(always)]
    const fn words(self) -> u32 {
        PLANES * self.row_words() * self.rows
    }

    /// The word of a plane that has the cell in a column and row, bit `column % 32`.
    #[inline(always)]
    const fn word(self, plane: u32, (column, row): (u32, u32)) -> u32 {
        (row * self.row_words() + column / 32) * PLANES + plane
    }
}

/// Finds the path to take, from the pin to the tree, and returns the number of its cells, which
/// [`path_cell`] then gives; 0 if shared memory has no room for the ways. The tree is `cost` away,
/// at `start` and perhaps at other cells. See [`Join::follow_and_offer`]. `was_walked` says whether
/// a walk for the same pin was given up. Called by the whole block, after a barrier; ends with one.
#[inline(always)]
pub(super) fn resolve(
    join: &Join<'_>,
    pin: u32,
    start: Start,
    cost: u32,
    destination: Option<Destination>,
    was_walked: bool,
) -> u32 {
    let t = thread::thread_idx_x();
    let words = join.words;
    if was_walked && t == 0 {
        join.forget_chunk();
        join.forget_walk();
        forget_near(join, destination);
    }
    if start.is_many() {
        find_starts(join, join.field(pin), cost);
    } else if was_walked {
        thread::sync_threads();
    }
    let mut margin = MARGIN;
    loop {
        // Read again instead of passed on, because registers are scarce.
        let field = join.field(pin);
        let part = around(join, field, start, margin);
        // planted: tie-capacity
        let is_large = part.cells() > join.capacity || 4 * part.words() > join.capacity;
        // planted: tie-starts
        let are_many = start.is_many() && words.ld(word::QUEUED) > starts_capacity(join);
        if is_large || are_many {
            words.st_relaxed(word::OPEN_TIE, 1, Block);
            thread::sync_threads();
            return 0;
        }
        // Loaded in time for listing fields.
        let mine = join.mine();
        load(join, field, part, start);
        if let Some(to) = destination {
            join.list_near(part.around(field), mine, pin, to.near);
        }
        thread::sync_threads();
        if start.is_many() {
            mark_starts(join, field, part);
            thread::sync_threads();
        }
        if !mark(join, part) {
            note_next_cells(join, part);
            thread::sync_threads();
            join.follow_and_offer(pin, part.layout(join.field(pin)), destination, || {
                let count = climb(join, join.field(pin), part);
                words.st(word::COUNT, count);
                words.st(word::BOUNDS, part.left);
                words.st(word::BOUNDS + 1, part.columns);
                words.st(word::BOUNDS + 2, part.top);
                join.end(count, count > 0);
            });
            // No thread writes this word before another barrier.
            return words.ld(word::COUNT);
        }
        margin *= GROWTH;
        if t == 0 {
            forget_near(join, destination);
        }
        thread::sync_threads();
    }
}

/// Forgets the pins that have been listed for a destination. Called by one thread.
#[inline(always)]
fn forget_near(join: &Join<'_>, destination: Option<Destination>) {
    if let Some(to) = destination {
        join.words.st(to.near, 0);
    }
}

/// Cell `i` of the path that [`resolve`] has found, as an index in the box.
#[inline(always)]
pub(super) fn path_cell(join: &Join<'_>, field: Field, i: u32) -> u32 {
    let bound = |i: u32| join.words.ld(word::BOUNDS + i);
    let (column, row) = column_and_row(join.queue.ld(i).into(), bound(1));
    (bound(2) + row) * field.columns() + bound(0) + column
}

/// How many starts there is room for: in the second half of the queue's memory. The first half has
/// the planes.
#[inline(always)]
fn starts_capacity(join: &Join<'_>) -> u32 {
    join.capacity / 4
}

/// The starts, as indices in the box.
#[inline(always)]
fn starts(join: &Join<'_>) -> SharedView<u32> {
    let capacity = starts_capacity(join) as usize;
    // SAFETY: the queue has `4 * capacity` elements of two bytes at least, and begins at a multiple
    // of 4; this is its second half.
    unsafe {
        SharedView::from_raw_parts(
            join.queue.as_mut_ptr().cast::<u32>().add(capacity),
            capacity,
        )
    }
}

/// Lists the tree's nearest cells (starts), as indices in the box, as far as there is room, counts
/// all of them, and notes the rectangle around them. Called by the whole block; ends with a
/// barrier.
#[inline(always)]
fn find_starts(join: &Join<'_>, field: Field, cost: u32) {
    let t = thread::thread_idx_x();
    if t == 0 {
        join.words.st(word::QUEUED, 0);
        join.words.st(word::BOUNDS, field.columns());
        join.words.st(word::BOUNDS + 1, 0);
        join.words.st(word::BOUNDS + 2, field.rows());
        join.words.st(word::BOUNDS + 3, 0);
    }
    thread::sync_threads();
    // The words of the tree in the box's rows: eight threads per row.
    let net = join.net();
    let first_word = field.extent.left / 32;
    let end_word = (field.extent.left + field.columns())
        .min(net.right)
        .div_ceil(32);
    let mut row = t / 8;
    while row < field.rows() {
        let y = field.extent.top + row;
        let mut word = first_word + t % 8;
        while word < end_word && y >= net.top && y < net.bottom {
            let mut bits = join.tree.ld_relaxed(net.word(word * 32, y), Block);
            while bits != 0 {
                // Four cells at a time, whose entries are loaded together.
                let mut next = || {
                    let x = word * 32 + bits.trailing_zeros();
                    let index = match bits {
                        0 => OUTSIDE,
                        _ => field.extent.index_of((x, y)),
                    };
                    bits &= bits.wrapping_sub(1);
                    index
                };
                let indices = [next(), next(), next(), next()];
                let is_start = indices.map(|index| {
                    let loaded = if index == OUTSIDE { 0 } else { index };
                    let entry = Entry(join.entries.ld(field.extent.first_entry + loaded));
                    index != OUTSIDE && entry.distance() == cost
                });
                each!(I, {
                    if is_start[I] {
                        push_start(join, field, indices[I]);
                    }
                });
            }
            word += 8;
        }
        row += BLOCK / 8;
    }
    thread::sync_threads();
}

#[inline(always)]
fn push_start(join: &Join<'_>, field: Field, index: u32) {
    let place = join.words.atomic_add(word::QUEUED, 1);
    if place < starts_capacity(join) {
        starts(join).st(place, index);
    }
    let (column, row) = column_and_row(index, field.columns());
    join.words.atomic_min(word::BOUNDS, column);
    join.words.atomic_max(word::BOUNDS + 1, column);
    join.words.atomic_min(word::BOUNDS + 2, row);
    join.words.atomic_max(word::BOUNDS + 3, row);
}

/// The rectangle around the starts and a cell of the pin, with a margin.
#[inline(always)]
fn around(join: &Join<'_>, field: Field, start: Start, margin: u32) -> Rectangle {
    let only = column_and_row(start.index(), field.columns());
    let bound = |i: u32| match start.is_many() {
        true => join.words.ld(word::BOUNDS + i),
        false if i < 2 => only.0,
        false => only.1,
    };
    let span = |low: u32, high: u32, pin: u32, len: u32| {
        let start = low.min(pin).max(margin) - margin;
        let start = start - start % GRAIN;
        let end = (high.max(pin) + margin + 1)
            .next_multiple_of(GRAIN)
            .min(len);
        (start, end - start)
    };
    let (column, row) = field.place_of(field.cell);
    let (left, columns) = span(bound(0), bound(1), column, field.columns());
    let (top, rows) = span(bound(2), bound(3), row, field.rows());
    Rectangle {
        left,
        top,
        columns,
        rows,
    }
}

/// The planes' words, in the first half of the queue's memory.
#[inline(always)]
fn planes(join: &Join<'_>) -> SharedView<u32> {
    // SAFETY: the queue has `capacity` elements of two bytes at least, and begins at a multiple of
    // 4; this is its first half.
    unsafe {
        let words = join.capacity / 4;
        SharedView::from_raw_parts(join.queue.as_mut_ptr().cast(), words as usize)
    }
}

/// Loads the ways of all cells of a rectangle, and clears their marks. A single known start is
/// marked.
#[inline(always)]
fn load(join: &Join<'_>, field: Field, part: Rectangle, start: Start) {
    let (mut start_column, mut start_row) = (0, u32::MAX);
    if !start.is_many() {
        let (column, row) = column_and_row(start.index(), field.columns());
        (start_column, start_row) = (column - part.left, row - part.top);
    }
    // SAFETY: the same memory as bytes.
    let bytes = unsafe {
        let len = 4 * planes(join).len();
        SharedView::<u8>::from_raw_parts(join.queue.as_mut_ptr().cast(), len)
    };
    // A thread loads eight cells at a time. All bytes of each word are written.
    let row_bytes = 4 * part.row_words();
    let mut i = thread::thread_idx_x();
    while i < row_bytes * part.rows {
        let row = quotient(i, row_bytes);
        let column = (i - row * row_bytes) * 8;
        let entries = |column: u32| -> [u32; 4] {
            if column < part.columns {
                let at = (part.top + row) * field.columns() + part.left + column;
                join.entries.ld_vector(field.extent.first_entry + at)
            } else {
                [Entry::NONE.0; 4]
            }
        };
        let all = [entries(column), entries(column + GRAIN)];
        let ways = all.map(|entries| {
            let [a, b, c, d] = entries.map(|entry| Entry(entry).ways());
            a | b << 4 | c << 8 | d << 12
        });
        let ways = ways[0] | ways[1] << 16;
        let byte = |plane: u32| 4 * part.word(plane, (column, row)) + column % 32 / 8;
        bytes.st(byte(LEFT), every_fourth(ways >> LEFT));
        bytes.st(byte(UP), every_fourth(ways >> UP));
        bytes.st(byte(RIGHT), every_fourth(ways >> RIGHT));
        bytes.st(byte(DOWN), every_fourth(ways >> DOWN));
        let is_start = row == start_row && start_column / 8 == column / 8;
        // planted: tie-only
        let marks = u32::from(is_start) << (start_column % 8);
        bytes.st(byte(MARKED), marks as u8);
        i += BLOCK;
    }
}

/// Bits 0, 4, 8 and so on of a word, packed into a byte.
#[inline(always)]
const fn every_fourth(bits: u32) -> u8 {
    let bits = bits & 0x1111_1111;
    let bits = (bits | bits >> 3) & 0x0303_0303;
    let bits = (bits | bits >> 6) & 0x000f_000f;
    (bits | bits >> 12) as u8
}

/// Marks the starts that [`find_starts`] has listed. [`load`] marks a single known start.
#[inline(always)]
fn mark_starts(join: &Join<'_>, field: Field, part: Rectangle) {
    let (starts, count) = (starts(join), join.words.ld(word::QUEUED));
    let mut i = thread::thread_idx_x();
    while i < count {
        let (column, row) = column_and_row(starts.ld(i), field.columns());
        let (column, row) = (column - part.left, row - part.top);
        let word = part.word(MARKED, (column, row));
        // planted: tie-mark
        planes(join).atomic_or(word, 1 << (column % 32));
        i += BLOCK;
    }
}

/// Marks all cells to which ways lead from marked ones, and returns whether a way leaves the
/// rectangle. Called by the whole block, after a barrier; ends with one.
#[inline(always)]
fn mark(join: &Join<'_>, part: Rectangle) -> bool {
    let t = thread::thread_idx_x();
    if part.columns <= u64::BITS && part.rows <= WARP_SIZE * u32::BITS {
        if t < WARP_SIZE {
            if part.columns <= u32::BITS {
                mark_narrow::<u32>(join, part);
            } else {
                mark_narrow::<u64>(join, part);
            }
        }
        thread::sync_threads();
    } else {
        loop {
            let mut has_marked = mark_columns(join, part);
            // planted: tie-columns
            thread::sync_threads();
            let mut row = t;
            while row < part.rows {
                has_marked |= mark_row(join, part, row);
                row += BLOCK;
            }
            // planted: tie-rounds
            if !thread::sync_threads_or(has_marked) {
                break;
            }
        }
    }
    let mut leaves = 0;
    let mut row = t;
    while row < part.rows {
        let marked = |plane: u32, column: u32| marked(join, part, plane, (column, row));
        let mut column = 0;
        while column < part.columns {
            if row == 0 {
                leaves |= marked(UP, column);
            }
            if row + 1 == part.rows {
                leaves |= marked(DOWN, column);
            }
            column += 32;
        }
        let last = part.columns - 1;
        leaves |= marked(LEFT, 0) & 1 | marked(RIGHT, last) >> (last % 32) & 1;
        row += BLOCK;
    }
    thread::sync_threads_or(leaves != 0)
}

/// A bit for each column of a row.
trait Row: WarpShuffleValue + PartialEq + BitAnd<Output = Self> + BitOr<Output = Self> {
    /// The bits of two words; of `low` alone if the type has 32.
    fn new(low: u32, high: u32) -> Self;
    fn words(self) -> [u32; 2];
    fn reversed(self) -> Self;
    /// Does what [`along`] does for a whole row.
    fn along(self, ways: Self) -> Self;
}

macro_rules! row {
    ($bits:ty) => {
        impl Row for $bits {
            #[inline(always)]
            fn new(low: u32, high: u32) -> Self {
                (u64::from(low) | u64::from(high) << 32) as Self
            }

            #[inline(always)]
            fn words(self) -> [u32; 2] {
                [self as u32, (u64::from(self) >> 32) as u32]
            }

            #[inline(always)]
            fn reversed(self) -> Self {
                self.reverse_bits()
            }

            #[inline(always)]
            fn along(self, ways: Self) -> Self {
                self | (ways.wrapping_add(self & ways) ^ ways)
            }
        }
    };
}
row!(u32);
row!(u64);

/// Marks all cells to which ways lead from marked ones, in a rectangle of at most as many columns
/// as `R` has bits, and of at most 32 bands of 32 rows. Called by a whole warp.
#[inline(always)]
fn mark_narrow<R: Row>(join: &Join<'_>, part: Rectangle) {
    let bands = part.rows.div_ceil(WARP_SIZE);
    // A bit per band, set if the band may have cells to mark.
    let all = u32::MAX >> (u32::BITS - bands);
    let mut pending = all;
    while pending != 0 {
        let band = pending.trailing_zeros();
        pending &= pending - 1;
        let has_marked = mark_band::<R>(join, part, band * WARP_SIZE);
        // planted: tie-bands
        let beside = (has_marked & 1) << band >> 1 | (has_marked >> 31) << band << 1;
        pending |= beside & all;
        // The next band is read after other lanes have stored their rows of this one.
        warp::sync_warp(FULL_MASK);
    }
}

/// Marks all cells in 32 rows, from `top` on, to which ways lead from marked ones there and in the
/// rows beside them; returns a bit for each row, set if it has more marked cells now. Each lane has
/// a row in registers. Called by a whole warp.
#[inline(always)]
fn mark_band<R: Row>(join: &Join<'_>, part: Rectangle, top: u32) -> u32 {
    let planes = planes(join);
    let row = top + warp::lane_id();
    let has_words = [row < part.rows, row < part.rows && part.columns > u32::BITS];
    let bits = |plane: u32| {
        two_words::<R>(has_words, |column| {
            planes.ld(part.word(plane, (column, row)))
        })
    };
    let (left, up, right, down) = (bits(LEFT).reversed(), bits(UP), bits(RIGHT), bits(DOWN));
    let first = bits(MARKED);
    let mut marks = first;
    // The cells of the first or last row that are marked from outside the band.
    let lane = warp::lane_id();
    let mut beyond = R::new(0, 0);
    if lane == 0 {
        beyond = two_words(has_words, |column| marked_above(join, part, (column, row)));
    } else if lane == WARP_SIZE - 1 {
        beyond = two_words(has_words, |column| marked_below(join, part, (column, row)));
    }
    marks = marks | beyond;
    loop {
        let before = marks;
        let after = (onward(marks, down) | backward(marks, up)).along(right);
        marks = after.reversed().along(left).reversed();
        if !warp::warp_vote_any(FULL_MASK, marks != before) {
            break;
        }
    }
    let has_marked = marks != first;
    let [low, high] = marks.words();
    if has_marked && has_words[0] {
        planes.st(part.word(MARKED, (0, row)), low);
    }
    if has_marked && has_words[1] {
        planes.st(part.word(MARKED, (32, row)), high);
    }
    warp::warp_vote_ballot(FULL_MASK, has_marked)
}

/// Marks the cells to which ways lead straight from marked ones in rows before, where each lane of
/// a warp has a row and its ways to the row of the next lane. Called by a whole warp.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn onward<R: Row>(marks: R, ways: R) -> R {
    straight(marks, ways, |row, rows| {
        warp::warp_shuffle_up(FULL_MASK, row, rows, WARP_SIZE).0
    })
}

/// Does what [`onward`] does, from row to row of the lanes before.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn backward<R: Row>(marks: R, ways: R) -> R {
    straight(marks, ways, |row, rows| {
        warp::warp_shuffle_down(FULL_MASK, row, rows, WARP_SIZE).0
    })
}

/// Marks the cells to which ways lead straight from marked ones, where `before` gives another
/// lane's row, a number of rows before this lane's.
///
/// Each step goes twice as far as the one before. A lane that has no row so far before it gets its
/// own, which changes nothing.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn straight<R: Row>(mut marks: R, ways: R, before: impl Fn(R, u32) -> R) -> R {
    // The cells to which ways lead straight from `rows` rows before.
    let mut from = before(ways, 1);
    let mut rows = 1;
    while rows < WARP_SIZE {
        marks = marks | before(marks, rows) & from;
        // planted: tie-doubling
        from = from & before(from, rows);
        rows *= 2;
    }
    marks
}

/// A row from the words of columns 0 and 32, where it has these.
#[inline(always)]
fn two_words<R: Row>(has: [bool; 2], word: impl Fn(u32) -> u32) -> R {
    let low = if has[0] { word(0) } else { 0 };
    let high = if has[1] { word(32) } else { 0 };
    R::new(low, high)
}

/// The marked cells that have a way in a direction, in the word of a column and row.
#[inline(always)]
fn marked(join: &Join<'_>, part: Rectangle, direction: u32, at: (u32, u32)) -> u32 {
    let planes = planes(join);
    planes.ld_relaxed(part.word(MARKED, at), Block) & planes.ld(part.word(direction, at))
}

/// The marked cells of the row above that have a way down, in the word of a column.
#[inline(always)]
fn marked_above(join: &Join<'_>, part: Rectangle, (column, row): (u32, u32)) -> u32 {
    if row > 0 {
        marked(join, part, DOWN, (column, row - 1))
    } else {
        0
    }
}

/// The marked cells of the row below that have a way up, in the word of a column.
#[inline(always)]
fn marked_below(join: &Join<'_>, part: Rectangle, (column, row): (u32, u32)) -> u32 {
    if row + 1 < part.rows {
        marked(join, part, UP, (column, row + 1))
    } else {
        0
    }
}

/// Marks all cells to which ways lead straight down or up from marked ones; returns whether this
/// lane has marked any. Called by the whole block: a warp for 32 columns and one of the directions,
/// so that two warps mark the same cells at the same time.
#[inline(always)]
fn mark_columns(join: &Join<'_>, part: Rectangle) -> bool {
    let mut has_marked = false;
    let mut i = thread::thread_idx_x() / WARP_SIZE;
    while i < 2 * part.row_words() {
        let direction = if i.is_multiple_of(2) { DOWN } else { UP };
        has_marked |= mark_column(join, part, i / 2 * u32::BITS, direction);
        i += WARPS;
    }
    has_marked
}

/// Marks all cells of a word's columns to which ways lead straight down or up from marked ones, 32
/// rows at a time; returns whether this lane has marked any. Called by a whole warp.
#[inline(always)]
fn mark_column(join: &Join<'_>, part: Rectangle, column: u32, direction: u32) -> bool {
    let planes = planes(join);
    let lane = warp::lane_id();
    let mut has_marked = false;
    // The cells of the next row to which ways lead from the rows before.
    let mut carry = 0;
    // Rows are counted in the direction of the ways.
    let mut first = 0;
    while first < part.rows {
        let i = first + lane;
        let row = if direction == DOWN {
            i
        } else {
            (part.rows - 1).wrapping_sub(i)
        };
        let (mut before, mut ways) = (0, 0);
        if i < part.rows {
            before = planes.ld_relaxed(part.word(MARKED, (column, row)), Block);
            ways = planes.ld(part.word(direction, (column, row)));
        }
        let marks = if lane == 0 { before | carry } else { before };
        let after = onward(marks, ways);
        if after != before && i < part.rows {
            planes.atomic_or(part.word(MARKED, (column, row)), after);
            has_marked = true;
        }
        // planted: tie-carry
        carry = warp::warp_shuffle_idx(FULL_MASK, after & ways, WARP_SIZE - 1, WARP_SIZE).0;
        first += WARP_SIZE;
    }
    has_marked
}

/// Marks the cells of a row to which ways lead along it from marked ones. Returns whether it marked
/// any.
#[inline(always)]
fn mark_row(join: &Join<'_>, part: Rectangle, row: u32) -> bool {
    let planes = planes(join);
    let mut has_marked = false;
    let mut set = |column: u32, before: u32, after: u32| {
        if after != before {
            planes.st(part.word(MARKED, (column, row)), after);
            has_marked = true;
        }
    };
    // To the right, from word to word.
    let (mut column, mut carry) = (0, false);
    while column < part.columns {
        let before = planes.ld(part.word(MARKED, (column, row)));
        let ways = planes.ld(part.word(RIGHT, (column, row)));
        let after;
        (after, carry) = along(before, ways, carry);
        set(column, before, after);
        column += 32;
    }
    // To the left.
    let mut carry = false;
    while column > 0 {
        column -= 32;
        let before = planes.ld(part.word(MARKED, (column, row)));
        let ways = planes.ld(part.word(LEFT, (column, row)));
        let after;
        (after, carry) = along(before.reverse_bits(), ways.reverse_bits(), carry);
        set(column, before, after.reverse_bits());
    }
    has_marked
}

/// Marks all cells that marked cells reach, where each bit of `ways` is a way to the next higher
/// bit. `carry` says whether a way leads to the lowest bit; the returned one, whether a way leads
/// beyond the highest.
///
/// The carry of an added bit runs to the end of consecutive ways. So a bit of the sum differs from
/// that of the ways if the cell is marked or a carry arrives, but not if both are the case.
#[inline(always)]
const fn along(marks: u32, ways: u32, carry: bool) -> (u32, bool) {
    let marks = marks | carry as u32;
    let (sum, carry) = ways.overflowing_add(marks & ways);
    (marks | (sum ^ ways), carry)
}

/// Notes for each marked cell the first marked neighbour with a way to it, in the order of
/// directions; the cell itself if there is none. Indices fit in 16 bits: a rectangle has at most
/// 2¹⁶ cells. Called by the whole block.
#[inline(always)]
fn note_next_cells(join: &Join<'_>, part: Rectangle) {
    // Four cells at a time.
    let quads = part.columns / GRAIN;
    let mut i = thread::thread_idx_x();
    while i < quads * part.rows {
        let row = quotient(i, quads);
        let column = (i - row * quads) * GRAIN;
        let at = (column, row);
        let marks = planes(join).ld(part.word(MARKED, at));
        if marks >> (column % 32) & 15 != 0 {
            let from_left = marked(join, part, RIGHT, at) << 1;
            let from_right = marked(join, part, LEFT, at) >> 1;
            let word = column / 32;
            let of_last = match word {
                0 => 0,
                _ => marked(join, part, RIGHT, (32 * word - 1, row)) >> 31,
            };
            let of_next = match 32 * word + 32 {
                next if next < part.columns => marked(join, part, LEFT, (next, row)) << 31,
                _ => 0,
            };
            let (above, below) = (marked_above(join, part, at), marked_below(join, part, at));
            let (left, right) = (from_left | of_last, from_right | of_next);
            let first = row * part.columns + column;
            let next = |i: u32| {
                let is = |bits: u32| bits >> (column % 32 + i) & 1 != 0;
                // planted: tie-order
                let direction = if is(left) {
                    LEFT
                } else if is(above) {
                    UP
                } else if is(right) {
                    RIGHT
                } else if is(below) {
                    DOWN
                } else {
                    return first + i;
                };
                (first + i).wrapping_add(offset(direction, part.columns))
            };
            let all = [next(0) | next(1) << 16, next(2) | next(3) << 16];
            join.part.st_vector(first / 2, all);
        }
        i += BLOCK;
    }
}

/// Climbs from the pin's first marked cell to the tree, and returns the number of cells on the way;
/// 0 if there is no room for them. The queue then has the cells, as indices in the rectangle.
/// Called by one thread.
#[inline(always)]
fn climb(join: &Join<'_>, field: Field, part: Rectangle) -> u32 {
    let mut cell = field.first_cell;
    while cell + 1 < field.end_cell && !is_marked(join, part, pin_place(join, field, part, cell)) {
        cell += 1;
    }
    let (column, row) = pin_place(join, field, part, cell);
    let (mut at, mut count, mut told) = (row * part.columns + column, 0, 0);
    while count + STRETCH <= join.capacity {
        let (moves, goes_on);
        (at, moves, goes_on) = join.stretch(at, count);
        if !goes_on {
            return count + moves + 1;
        }
        count += STRETCH;
        join.tell(count, &mut told);
    }
    join.words.st_relaxed(word::OPEN_TIE, 1, Block);
    0
}

/// Whether the cell in a column and row is in the rectangle, and marked.
#[inline(always)]
fn is_marked(join: &Join<'_>, part: Rectangle, (column, row): (u32, u32)) -> bool {
    let is_in = column < part.columns && row < part.rows;
    is_in && planes(join).ld(part.word(MARKED, (column, row))) >> (column % 32) & 1 != 0
}

/// The column and row in a rectangle of a pin's cell, which wrap around if it is not in it.
#[inline(always)]
fn pin_place(join: &Join<'_>, field: Field, part: Rectangle, cell: u32) -> (u32, u32) {
    let CellXy { x, y } = join.boxes.pin_cells.ld(cell);
    (
        x.wrapping_sub(field.extent.left + part.left),
        y.wrapping_sub(field.extent.top + part.top),
    )
}
