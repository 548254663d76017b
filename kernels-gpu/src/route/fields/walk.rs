//! Walking down a field from the tree to the pin, through a part of its box in shared memory: the
//! part **at hand**.

use cuda_std::prelude::*;

use super::join::{BLOCK, CHUNK, END, Join, WIDE_PART_CELLS, word};
use super::{Entry, Field, GRAIN, column_and_row, has_neighbour, offset};

/// How far a walk may stray from the rectangle between its ends before it leaves the part at hand.
const MARGIN: u32 = 10;
/// The most columns, and the most rows, of a part, and where there is memory for
/// [`WIDE_PART_CELLS`].
const SIDE: u32 = 124;
const WIDE_SIDE: u32 = 252;

// A cell's half word: twice the difference between the index of the next cell on the way down and
// its own, and 1 more if there are several next cells.

/// There is no next cell.
const HERE: u32 = 0;
/// The next cell is not at hand.
const OUTSIDE: u32 = 1 << 15;
// The largest difference is the distance between two rows.
const _: () = assert!(2 * (WIDE_SIDE + GRAIN) < OUTSIDE);

/// The part of a box at hand: for each cell, row by row, the next one on the way down.
#[derive(Clone, Copy)]
pub(super) struct Part {
    /// Its first column and row in the box, and its columns and rows. The first column and the
    /// number of columns are multiples of [`GRAIN`].
    left: u32,
    top: u32,
    columns: u32,
    rows: u32,
    /// The distance between its rows is 2 to this power.
    log_pitch: u32,
}

impl Part {
    /// The column and row of its cell `at`.
    #[inline(always)]
    const fn place(self, at: u32) -> (u32, u32) {
        (at & ((1 << self.log_pitch) - 1), at >> self.log_pitch)
    }

    /// The index in the box of its cell `at`.
    #[inline(always)]
    pub(super) fn index(self, at: u32, field: Field) -> u32 {
        let (column, row) = self.place(at);
        (self.top + row) * field.columns() + self.left + column
    }

    /// The memory that its rows take, in half words.
    #[inline(always)]
    const fn len(self) -> u32 {
        self.rows << self.log_pitch
    }
}

impl Join<'_> {
    /// The part of a pin's box around the way from the cell with index `from` to the pin. The walk
    /// will rarely leave it.
    #[inline(always)]
    fn part(&self, field: Field, from: u32) -> Part {
        let (column, row) = column_and_row(from, field.columns());
        let pin = field.cell;
        let (pin_column, pin_row) = (pin.x - field.left, pin.y - field.top);
        let span = |from: u32, to: u32, len: u32, most: u32| {
            let (low, high) = (from.min(to), from.max(to));
            let (mut start, mut end) = (low.max(MARGIN) - MARGIN, (high + MARGIN + 1).min(len));
            if end - start > most {
                // As many as there is room for, with the cell in the middle.
                start = from.max(most / 2) - most / 2;
                end = (start + most).min(len);
            }
            start -= start % GRAIN;
            (start, end.next_multiple_of(GRAIN) - start)
        };
        let memory = 2 * self.part.len() as u32;
        let is_wide = memory >= WIDE_PART_CELLS;
        let most = if is_wide { WIDE_SIDE } else { SIDE };
        let (left, columns) = span(column, pin_column, field.columns(), most);
        let log_pitch = u32::BITS - (columns - 1).leading_zeros();
        let most = if is_wide {
            most.min((memory >> log_pitch) - GRAIN)
        } else {
            most
        };
        let (top, rows) = span(row, pin_row, field.rows(), most);
        Part {
            left,
            top,
            columns,
            rows,
            log_pitch,
        }
    }

    /// Stores the next cell on the way down for each cell of a part of a pin's box. Called by the
    /// whole block.
    #[inline(always)]
    fn load(&self, field: Field, part: Part) {
        // Up to four loads wait together.
        let stride = BLOCK * GRAIN;
        let mut at = thread::thread_idx_x() * GRAIN;
        while at < part.len() {
            let entries = |at: u32| {
                if part.place(at).0 >= part.columns || at >= part.len() {
                    return [Entry::NONE.0; 4];
                }
                self.entries
                    .ld_vector(field.first_entry + part.index(at, field))
            };
            let all = [
                entries(at),
                entries(at + stride),
                entries(at + 2 * stride),
                entries(at + 3 * stride),
            ];
            let [a, b, c, d] = all;
            self.note(part, at, a);
            self.note(part, at + stride, b);
            self.note(part, at + 2 * stride, c);
            self.note(part, at + 3 * stride, d);
            at += 4 * stride;
        }
    }

    /// Stores the next cells of the four cells from `at` on, if the part has these.
    #[inline(always)]
    fn note(&self, part: Part, at: u32, entries: [u32; 4]) {
        if at >= part.len() {
            return;
        }
        let (column, row) = part.place(at);
        let next = |i: u32, entry: Entry| {
            let (column, ways) = (column + i, entry.ways());
            if ways == 0 {
                return HERE;
            }
            let direction = ways.trailing_zeros();
            let is_in = has_neighbour(direction, (column, row), (part.columns, part.rows));
            // planted: join-tie
            let tie = u32::from(ways & (ways - 1) != 0);
            let step = offset(direction, 1 << part.log_pitch).wrapping_mul(2);
            // planted: join-outside
            let next = if is_in { step } else { OUTSIDE };
            next & 0xffff | tie
        };
        let [a, b, c, d] = entries;
        let nexts = [
            next(0, Entry(a)) | next(1, Entry(b)) << 16,
            next(2, Entry(c)) | next(3, Entry(d)) << 16,
        ];
        self.part.st_vector(at / 2, nexts);
    }

    /// Follows the ways of a part of a box down from a cell, to the pin, out of the part, or for a
    /// chunk. Called by one thread.
    #[inline(always)]
    fn follow(&self, field: Field, part: Part, from: u32) {
        // SAFETY: the same memory as half words.
        let nexts = unsafe {
            SharedView::<u16>::from_raw_parts(self.part.as_mut_ptr().cast(), 2 * self.part.len())
        };
        let (column, row) = column_and_row(from, field.columns());
        let mut at = (row - part.top) << part.log_pitch | (column - part.left);
        let (mut count, mut ties) = (0, 0);
        let is_last = loop {
            self.queue.st(count, at as u16);
            count += 1;
            let next = u32::from(nexts.ld(at));
            ties |= next;
            let step = next & !1;
            if step == HERE || step == OUTSIDE || count == CHUNK {
                break step == HERE;
            }
            at = at.wrapping_add((step as u16 as i16 >> 1) as u32);
        };
        let mut after = END;
        if !is_last {
            // Looked up in the field itself: the next cell may be outside the part.
            let index = part.index(at, field);
            let entry = Entry(self.entries.ld(field.first_entry + index));
            after = index.wrapping_add(offset(entry.ways().trailing_zeros(), field.columns()));
        }
        self.words.st(word::COUNT, count);
        self.words.st(word::NEXT, after);
        let tie = self.words.ld(word::TIE) | ties & 1;
        self.words.st(word::TIE, tie);
    }

    /// Follows a chunk of a pin's path from a cell on. Called by the whole block, after a barrier;
    /// ends with one.
    #[inline(always)]
    pub(super) fn walk(&self, field: Field, from: u32) -> Part {
        let part = self.part(field, from);
        self.load(field, part);
        thread::sync_threads();
        if thread::thread_idx_x() == 0 {
            self.follow(field, part, from);
        }
        thread::sync_threads();
        part
    }
}
