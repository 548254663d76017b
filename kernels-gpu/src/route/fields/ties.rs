//! Ties: which of several shortest paths to take, where walking down a field cannot decide it.
//!
//! The cells on shortest paths are those to which ways lead from the tree's nearest cells. The
//! block marks them in a rectangle around the ways' ends, with a bit per cell. Each thread has a
//! row: round by round, it takes over what the rows beside it mark, and marks along its row by an
//! addition, whose carries run along cells with a way in that direction. If rows are short, one
//! warp does that in registers. If a way leaves the rectangle, the block starts again in a larger
//! one, up to the whole box; a tie for which shared memory has no room stays open. Then each marked
//! cell gets as the next one its first marked neighbour, in the stated order, that has a way to it,
//! and a thread follows these from the pin to the tree, as in a walk.

use core::ops::{BitAnd, BitOr};

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE, WarpShuffleValue};

use super::join::{BLOCK, Join, STRETCH, word};
use super::offer::Around;
use super::while_walking::{Destination, Layout};
use super::{CellXy, DOWN, Entry, Field, GRAIN, LEFT, MANY, RIGHT, UP, column_and_row, offset};
use crate::primitives::quotient;

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
/// at `start` and perhaps at other cells. See [`Join::follow_and_offer`]. Called by the whole
/// block, after a barrier; ends with one.
#[inline(always)]
pub(super) fn resolve(
    join: &Join<'_>,
    pin: u32,
    start: u32,
    cost: u32,
    destination: Option<Destination>,
) -> u32 {
    // Read again instead of passed on, because registers are scarce.
    let field = join.field(pin);
    let t = thread::thread_idx_x();
    let words = join.words;
    let mut margin = MARGIN;
    loop {
        if t == 0 {
            join.forget_chunk();
            join.forget_walk();
            if let Some(to) = destination {
                // A walk may have listed pins.
                words.st(to.near, 0);
            }
            words.st(word::QUEUED, 0);
            words.st(word::BOUNDS, field.columns());
            words.st(word::BOUNDS + 1, 0);
            words.st(word::BOUNDS + 2, field.rows());
            words.st(word::BOUNDS + 3, 0);
        }
        thread::sync_threads();
        find_starts(join, field, start, cost);
        thread::sync_threads();
        let part = around(join, field, margin);
        let starts = words.ld(word::QUEUED);
        // planted: tie-capacity
        let is_large = part.cells() > join.capacity || 4 * part.words() > join.capacity;
        // planted: tie-starts
        let are_many = starts > starts_capacity(join);
        if is_large || are_many {
            words.st_relaxed(word::OPEN_TIE, 1, Block);
            thread::sync_threads();
            return 0;
        }
        load(join, field, part);
        thread::sync_threads();
        mark_starts(join, field, part, starts);
        thread::sync_threads();
        if !mark(join, part) {
            note_next_cells(join, part);
            if let Some(to) = destination {
                join.list_near(part.around(join.field(pin)), join.mine(), pin, to.near);
            }
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
        thread::sync_threads();
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
/// all of them, and notes the rectangle around them.
#[inline(always)]
fn find_starts(join: &Join<'_>, field: Field, start: u32, cost: u32) {
    let t = thread::thread_idx_x();
    if start & MANY == 0 {
        if t == 0 {
            push_start(join, field, start);
        }
        return;
    }
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
                let x = word * 32 + bits.trailing_zeros();
                bits &= bits - 1;
                if x.wrapping_sub(field.extent.left) < field.columns() {
                    let index = field.index_of(CellXy { x, y });
                    let entry = Entry(join.entries.ld(field.extent.first_entry + index));
                    if entry.distance() == cost {
                        push_start(join, field, index);
                    }
                }
            }
            word += 8;
        }
        row += BLOCK / 8;
    }
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
fn around(join: &Join<'_>, field: Field, margin: u32) -> Rectangle {
    let bound = |i: u32| join.words.ld(word::BOUNDS + i);
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

/// Loads the ways of all cells of a rectangle, and clears their marks.
#[inline(always)]
fn load(join: &Join<'_>, field: Field, part: Rectangle) {
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
        bytes.st(byte(MARKED), 0);
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

/// Marks the starts.
#[inline(always)]
fn mark_starts(join: &Join<'_>, field: Field, part: Rectangle, count: u32) {
    let starts = starts(join);
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
            let mut has_marked = false;
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
    loop {
        let (above, is_there) = warp::warp_shuffle_up(FULL_MASK, marks & down, 1, WARP_SIZE);
        let above = if is_there { above } else { beyond };
        let (below, is_there) = warp::warp_shuffle_down(FULL_MASK, marks & up, 1, WARP_SIZE);
        let below = if is_there { below } else { beyond };
        let before = marks;
        let after = (marks | above | below).along(right);
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

/// Marks each cell of a row to which a way leads from a marked cell in this row or in a row beside
/// it. Returns whether it marked any.
#[inline(always)]
fn mark_row(join: &Join<'_>, part: Rectangle, row: u32) -> bool {
    let planes = planes(join);
    let mut has_marked = false;
    let mut set = |column: u32, before: u32, after: u32| {
        if after != before {
            planes.st_relaxed(part.word(MARKED, (column, row)), after, Block);
            has_marked = true;
        }
    };
    // To the right, from word to word.
    let (mut column, mut carry) = (0, false);
    while column < part.columns {
        let before = planes.ld_relaxed(part.word(MARKED, (column, row)), Block);
        let at = (column, row);
        let marks = before | marked_above(join, part, at) | marked_below(join, part, at);
        let ways = planes.ld(part.word(RIGHT, (column, row)));
        let after;
        (after, carry) = along(marks, ways, carry);
        set(column, before, after);
        column += 32;
    }
    // To the left.
    let mut carry = false;
    while column > 0 {
        column -= 32;
        let before = planes.ld_relaxed(part.word(MARKED, (column, row)), Block);
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
