//! Ties: which of several shortest paths to take.
//!
//! The cells on shortest paths are those to which ways lead from the tree's nearest cells. The
//! block marks them, following all ways down the field at once, in a rectangle around the ways'
//! ends. If a way leaves the rectangle, the block starts again in a larger one, up to the whole
//! box; a tie for which shared memory has no room stays open. From the pin, a warp then climbs: at
//! each cell to the first marked neighbour, in the stated order, with a way to the cell.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::join::{BLOCK, Join, word};
use super::{
    CellXy, DOWN, Entry, Field, GRAIN, LEFT, MANY, RIGHT, UP, column_and_row, has_neighbour, offset,
};

// A cell's half word: what the block knows of it.

// The lowest four bits are its ways.
/// The cell is on a shortest path.
const MARKED: u32 = 1 << 4;
/// The cell is one of the tree's nearest to the pin.
const START: u32 = 1 << 5;
/// One of its ways leaves the rectangle at hand.
const LEAVES: u32 = 1 << 6;

/// How far ways may stray from the rectangle around their ends at first, and by what that grows.
const MARGIN: u32 = 8;
const GROWTH: u32 = 4;
/// Cells that a thread marks one after the other before it takes from the queue again.
const STRETCH: u32 = 8;

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

    /// The index in the box of a cell of the rectangle.
    #[inline(always)]
    fn in_box(self, index: u32, field: Field) -> u32 {
        let (column, row) = column_and_row(index, self.columns);
        (self.top + row) * field.columns() + self.left + column
    }

    /// The index in the rectangle of a cell of the box, which lies in it.
    #[inline(always)]
    fn of_box(self, index: u32, field: Field) -> u32 {
        let (column, row) = column_and_row(index, field.columns());
        (row - self.top) * self.columns + column - self.left
    }

    /// The index of a cell's neighbour in a direction.
    #[inline(always)]
    const fn neighbour(self, index: u32, direction: u32) -> u32 {
        index.wrapping_add(offset(direction, self.columns))
    }
}

/// Finds the path to take, from the pin to the tree, and returns the number of its cells, which
/// [`path_cell`] then gives; 0 if shared memory has no room for the ways. The tree is `cost` away,
/// at `start` and perhaps at other cells. Called by the whole block, after a barrier; ends with
/// one.
#[inline(always)]
pub(super) fn resolve(join: &Join<'_>, field: Field, start: u32, cost: u32) -> u32 {
    let t = thread::thread_idx_x();
    let words = join.words;
    let mut margin = MARGIN;
    loop {
        if t == 0 {
            words.st(word::QUEUED, 0);
            words.st(word::LEFT_PART, 0);
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
        let is_large = part.cells() > join.capacity;
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
        mark(join, part);
        if words.ld(word::LEFT_PART) == 0 {
            if t < WARP_SIZE {
                let count = climb(join, field, part);
                if t == 0 {
                    words.st(word::QUEUED, count);
                    words.st(word::BOUNDS, part.left);
                    words.st(word::BOUNDS + 1, part.columns);
                    words.st(word::BOUNDS + 2, part.top);
                }
            }
            thread::sync_threads();
            return words.ld(word::QUEUED);
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

/// How many starts there is room for: in the second half of the queue's memory, so that their
/// indices in the rectangle may be queued from its beginning.
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
    let first_word = field.left / 32;
    let end_word = (field.left + field.columns()).min(net.right).div_ceil(32);
    let mut row = t / 8;
    while row < field.rows() {
        let y = field.top + row;
        let mut word = first_word + t % 8;
        while word < end_word && y >= net.top && y < net.bottom {
            let mut bits = join.tree.ld_relaxed(net.word(word * 32, y), Block);
            while bits != 0 {
                let x = word * 32 + bits.trailing_zeros();
                bits &= bits - 1;
                if x.wrapping_sub(field.left) < field.columns() {
                    let index = field.index_of(CellXy { x, y });
                    let entry = Entry(join.entries.ld(field.first_entry + index));
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
    let pin = field.cell;
    let (left, columns) = span(bound(0), bound(1), pin.x - field.left, field.columns());
    let (top, rows) = span(bound(2), bound(3), pin.y - field.top, field.rows());
    Rectangle {
        left,
        top,
        columns,
        rows,
    }
}

/// Loads the field's entries of a rectangle.
#[inline(always)]
fn load(join: &Join<'_>, field: Field, part: Rectangle) {
    // Up to four loads are in flight together.
    let stride = BLOCK * GRAIN;
    let mut index = thread::thread_idx_x() * GRAIN;
    while index < part.cells() {
        let entries = |index: u32| -> [u32; 4] {
            if index < part.cells() {
                let at = part.in_box(index, field);
                join.entries.ld_vector(field.first_entry + at)
            } else {
                [Entry::NONE.0; 4]
            }
        };
        let all = [
            entries(index),
            entries(index + stride),
            entries(index + 2 * stride),
            entries(index + 3 * stride),
        ];
        let [a, b, c, d] = all;
        note(join, part, index, a);
        note(join, part, index + stride, b);
        note(join, part, index + 2 * stride, c);
        note(join, part, index + 3 * stride, d);
        index += 4 * stride;
    }
}

/// Stores the half words of four cells of a rectangle, from `index` on, if it has them.
#[inline(always)]
fn note(join: &Join<'_>, part: Rectangle, index: u32, entries: [u32; 4]) {
    if index >= part.cells() {
        return;
    }
    let (column, row) = column_and_row(index, part.columns);
    let bit = |is: bool, direction: u32| u32::from(is) << direction;
    let outside = bit(row == 0, UP) | bit(row + 1 == part.rows, DOWN);
    let code = |i: u32, entry: Entry| {
        let column = column + i;
        let outside = outside | bit(column == 0, LEFT) | bit(column + 1 == part.columns, RIGHT);
        let ways = entry.ways();
        let leaves = if ways & outside != 0 { LEAVES } else { 0 };
        ways & !outside | leaves
    };
    let [a, b, c, d] = entries;
    let codes = [
        code(0, Entry(a)) | code(1, Entry(b)) << 16,
        code(2, Entry(c)) | code(3, Entry(d)) << 16,
    ];
    join.part.st_vector(index / 2, codes);
}

/// A cell's half word, once no thread writes any more.
#[inline(always)]
fn code(join: &Join<'_>, index: u32) -> u32 {
    join.part.ld(index / 2) >> (index % 2 * 16) & 0xffff
}

/// Sets bits in a cell's half word; returns its previous value.
#[inline(always)]
fn set(join: &Join<'_>, index: u32, bits: u32) -> u32 {
    let shift = index % 2 * 16;
    // planted: tie-mark
    join.part.atomic_or(index / 2, bits << shift) >> shift & 0xffff
}

/// Marks the starts, and queues their indices in the rectangle.
#[inline(always)]
fn mark_starts(join: &Join<'_>, field: Field, part: Rectangle, count: u32) {
    let starts = starts(join);
    let mut i = thread::thread_idx_x();
    while i < count {
        let index = part.of_box(starts.ld(i), field);
        set(join, index, MARKED | START);
        join.queue.st(i, index as u16);
        i += BLOCK;
    }
}

/// Marks all cells to which ways lead from the queued ones. Called by the whole block; ends with a
/// barrier.
///
/// A thread follows one way, for a stretch at most, as long as it is the first to come there, and
/// queues the cells where other ways branch off.
#[inline(always)]
fn mark(join: &Join<'_>, part: Rectangle) {
    let words = join.words;
    let mut done = 0;
    loop {
        thread::sync_threads();
        let queued = words.ld(word::QUEUED);
        thread::sync_threads();
        if done == queued {
            return;
        }
        let push = |index: u32| {
            let place = words.atomic_add(word::QUEUED, 1);
            join.queue.st(place, index as u16);
        };
        let mut i = done + thread::thread_idx_x();
        while i < queued {
            let mut at = u32::from(join.queue.ld(i));
            let mut here = set(join, at, MARKED);
            let mut steps = 0;
            loop {
                if here & LEAVES != 0 {
                    words.st_relaxed(word::LEFT_PART, 1, Block);
                }
                // All at once, so that the results are waited for together.
                let mark = |direction: u32| {
                    if here >> direction & 1 != 0 {
                        set(join, part.neighbour(at, direction), MARKED)
                    } else {
                        MARKED
                    }
                };
                let were = (mark(LEFT), mark(UP), mark(RIGHT), mark(DOWN));
                // The last neighbour that was not marked, and its previous half word.
                let mut next = None;
                let mut take = |direction: u32, was: u32| {
                    if was & MARKED == 0 {
                        if let Some((other, _)) = next {
                            push(other);
                        }
                        next = Some((part.neighbour(at, direction), was));
                    }
                };
                take(LEFT, were.0);
                take(UP, were.1);
                take(RIGHT, were.2);
                take(DOWN, were.3);
                let Some((index, was)) = next else {
                    break;
                };
                steps += 1;
                if steps == STRETCH {
                    push(index);
                    break;
                }
                (at, here) = (index, was);
            }
            i += BLOCK;
        }
        done = queued;
    }
}

/// Climbs from the pin's first marked cell to the tree, and returns the number of cells on the way.
/// The queue then has the cells, as indices in the rectangle. Called by a whole warp.
#[inline(always)]
fn climb(join: &Join<'_>, field: Field, part: Rectangle) -> u32 {
    // Lanes 0 to 3 look in one direction each; the other lanes repeat these.
    let lane = warp::lane_id();
    let direction = lane % 4;
    let mut cell = field.first_cell;
    let mut at = pin_cell(join, field, part, cell);
    while cell + 1 < field.end_cell && (at >= part.cells() || code(join, at) & MARKED == 0) {
        cell += 1;
        at = pin_cell(join, field, part, cell);
    }
    let (mut column, mut row) = column_and_row(at, part.columns);
    let mut count = 0;
    loop {
        if lane == 0 {
            join.queue.st(count, at as u16);
        }
        count += 1;
        if code(join, at) & START != 0 {
            return count;
        }
        let back = MARKED | 1 << (direction ^ 2);
        let is_in = has_neighbour(direction, (column, row), (part.columns, part.rows));
        let leads_here = is_in && code(join, part.neighbour(at, direction)) & back == back;
        // planted: tie-order
        let first = warp::warp_vote_ballot(FULL_MASK, leads_here).trailing_zeros();
        if first > DOWN {
            // Not reached: each marked cell has a marked one above it, or is on the tree.
            return count;
        }
        at = part.neighbour(at, first);
        if first % 2 == LEFT {
            column = column.wrapping_add(offset(first, 1));
        } else {
            row = row.wrapping_add(offset(first, 1));
        }
    }
}

/// The index of a pin's cell in a rectangle; past the rectangle's cells if the cell is not in it.
#[inline(always)]
fn pin_cell(join: &Join<'_>, field: Field, part: Rectangle, cell: u32) -> u32 {
    let CellXy { x, y } = join.boxes.pin_cells.ld(cell);
    let column = x.wrapping_sub(field.left + part.left);
    let row = y.wrapping_sub(field.top + part.top);
    if column < part.columns && row < part.rows {
        row * part.columns + column
    } else {
        u32::MAX
    }
}
