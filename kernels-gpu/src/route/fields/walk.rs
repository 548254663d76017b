//! Walking down a field from the tree to the pin, through a part of its box in shared memory: the
//! part **at hand**.
//!
//! One thread walks, and each step waits for the one before. So a step is little more than a load:
//! a cell has the index of the next one, or its own where the thread has to look closer. The thread
//! checks for that only after several steps, since it then stays at the cell.
//!
//! # Ties
//! At a cell with several ways, the thread follows two of them until they meet, stepping on from
//! the end that is farther from the pin. Where they meet, the first direction as seen from the pin
//! decides, and the cell keeps the better way alone. Ties on the ways are decided first. This is
//! for few ties: after [`MOST_TIE_STEPS`] steps the thread gives up, as it does where ways leave
//! the part, and `ties.rs` decides.

use cuda_std::prelude::*;

use super::join::{BLOCK, CHUNK, END, Join, STRETCH, WIDE_PART_CELLS, word};
use super::offer::{Around, Mine};
use super::while_walking::{Destination, Layout};
use super::{DOWN, Entry, Field, GRAIN, LEFT, RIGHT, UP, column_and_row, has_neighbour, offset};

/// How far a walk may stray from the rectangle between its ends before it leaves the part at hand.
const MARGIN: u32 = 10;
/// The most columns, and the most rows, of a part, and where there is memory for
/// [`WIDE_PART_CELLS`].
const SIDE: u32 = 124;
const WIDE_SIDE: u32 = 252;

/// The most steps that are taken to decide a tie. Each tie that has to be decided first counts as
/// [`STEPS_OF_TIE`].
const MOST_TIE_STEPS: u32 = 256;
const STEPS_OF_TIE: u32 = 64;

// The half words of a part are indices of its cells.
const _: () = assert!((WIDE_SIDE + GRAIN) * (WIDE_SIDE + GRAIN) <= 1 << 16);

/// The part of a box at hand: for each cell, row by row, the index of the next one on the way down,
/// as a half word; its own if that is not at hand, or if there are none or several.
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

    /// Its cell in a column and row of the box.
    #[inline(always)]
    const fn at(self, (column, row): (u32, u32)) -> u32 {
        (row - self.top) << self.log_pitch | (column - self.left)
    }

    /// Where its cells lie in the grid.
    #[inline(always)]
    const fn layout(self, field: Field) -> Layout {
        Layout::of_power(field.extent.cell_in(self.left, self.top), self.log_pitch)
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

    /// The index in the box of its cell `at`.
    #[inline(always)]
    fn index(self, at: u32, field: Field) -> u32 {
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
    /// The part of a pin's box around the way from a cell to the pin. Walks rarely leave it.
    #[inline(always)]
    fn part(&self, field: Field, (column, row): (u32, u32)) -> Part {
        let (pin_column, pin_row) = field.place_of(field.cell);
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

    /// Stores the next cell on the way down for each cell of a part of a pin's box, and the
    /// entries, if there is room. Called by the whole block.
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
                    .ld_vector(field.extent.first_entry + part.index(at, field))
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

    /// Stores the next cells and entries of the four cells from `at` on, if the part has these.
    #[inline(always)]
    fn note(&self, part: Part, at: u32, entries: [u32; 4]) {
        if at >= part.len() {
            return;
        }
        let (column, row) = part.place(at);
        // The ways that leave the part.
        let mut out = 0;
        if column == 0 {
            out |= 1 << LEFT;
        }
        if column + GRAIN == part.columns {
            out |= 1 << RIGHT << CELL_BITS[3];
        }
        if row == 0 {
            out |= (1 << UP) * FIRST_WAYS;
        }
        if row + 1 == part.rows {
            out |= (1 << DOWN) * FIRST_WAYS;
        }
        self.part
            .st_vector(at / 2, next_cells(entries, out, at, part.log_pitch));
        if self.keeps_entries(part) {
            self.kept_entries().st_vector(at, entries);
        }
    }

    /// Whether there is room for the entries of a part's cells.
    #[inline(always)]
    fn keeps_entries(&self, part: Part) -> bool {
        part.len() <= self.kept_entries().len() as u32
    }

    /// The entries of the part at hand, by cell: in the queue's memory, after a chunk.
    #[inline(always)]
    fn kept_entries(&self) -> SharedView<u32> {
        let len = (self.capacity.max(CHUNK) - CHUNK) / 2;
        let entries = self.queue.as_mut_ptr().wrapping_add(CHUNK as usize);
        // SAFETY: the queue has `capacity` elements of two bytes at least, and begins at a multiple
        // of 16; these are the ones after a chunk, if there are any.
        unsafe { SharedView::from_raw_parts(entries.cast(), len as usize) }
    }

    /// The next cells of the part at hand, by cell.
    #[inline(always)]
    fn next_cells(&self) -> SharedView<u16> {
        // SAFETY: the same memory as half words.
        unsafe { SharedView::from_raw_parts(self.part.as_mut_ptr().cast(), 2 * self.part.len()) }
    }

    /// The cell after a cell.
    #[inline(always)]
    fn next(&self, at: u32) -> u32 {
        self.next_cells().ld(at).into()
    }

    /// Takes up to [`STRETCH`] steps from a cell. Queues it and the following ones from number
    /// `count` on, [`STRETCH`] elements in any case. Returns where it is then, the number of steps,
    /// and whether it took all of them; if not, the last cell is queued, too.
    #[inline(always)]
    pub(super) fn stretch(&self, mut at: u32, count: u32) -> (u32, u32, bool) {
        let (mut i, mut moves, mut moved) = (0, 0, false);
        while i < STRETCH {
            self.queue.st(count + i, at as u16);
            let next = self.next(at);
            moved = next != at;
            at = next;
            moves += u32::from(moved);
            i += 1;
        }
        // A cell that is its own next one stays so.
        (at, moves, moved)
    }

    /// Follows the ways of a part of a box down from a cell, to the pin, out of the part, or for a
    /// chunk. Called by one thread, which `tells` how far it is.
    #[inline(always)]
    fn follow(&self, field: Field, part: Part, mut at: u32, tells: bool) {
        let (mut count, mut told) = (0, 0);
        let (mut after, mut has_open_tie) = (END, false);
        loop {
            if count + STRETCH > CHUNK.min(self.capacity) {
                after = part.index(at, field);
                break;
            }
            let (moves, goes_on);
            (at, moves, goes_on) = self.stretch(at, count);
            if goes_on {
                count += STRETCH;
                if tells {
                    self.tell(count, &mut told);
                }
                continue;
            }
            count += moves;
            let index = part.index(at, field);
            if index == field.index_of(field.cell) {
                count += 1;
                break;
            }
            let entry = if self.keeps_entries(part) {
                self.kept_entries().ld(at)
            } else {
                self.entries.ld(field.extent.first_entry + index)
            };
            let entry = Entry(entry);
            if !entry.is_tie() {
                count += 1;
                let ways = entry.ways();
                // planted: join-outside
                if ways != 0 {
                    after = index.wrapping_add(offset(ways.trailing_zeros(), field.columns()));
                }
                break;
            }
            if !self.decide(part, at) {
                has_open_tie = true;
                break;
            }
        }
        self.words.st(word::COUNT, count);
        self.words.st(word::NEXT, after);
        self.words.st(word::TIE, has_open_tie.into());
        if tells {
            self.end(count, after == END && !has_open_tie);
        }
    }

    /// Decides a tie in the part at hand, and those on which it depends; returns whether it could.
    /// Called by one thread.
    #[inline(always)]
    fn decide(&self, part: Part, tie: u32) -> bool {
        if !self.keeps_entries(part) {
            return false;
        }
        let (mut at, mut steps) = (tie, 0);
        while steps < MOST_TIE_STEPS {
            match self.decide_one(part, at, &mut steps) {
                None => return false,
                Some(other) if other != at => {
                    at = other;
                    steps += STEPS_OF_TIE;
                }
                Some(_) if at == tie => return true,
                Some(_) => at = tie,
            }
        }
        false
    }

    /// Decides a tie, and returns its cell; or returns the cell of a tie that has to be decided
    /// first; or nothing, if a way leaves the part or ends at another cell of the pin, or after too
    /// many steps.
    #[inline(always)]
    fn decide_one(&self, part: Part, at: u32, steps: &mut u32) -> Option<u32> {
        let pitch = 1 << part.log_pitch;
        let entry = |at: u32| Entry(self.kept_entries().ld(at));
        let is_in =
            |direction: u32| has_neighbour(direction, part.place(at), (part.columns, part.rows));
        let mut others = entry(at).ways();
        let mut best = others.trailing_zeros();
        if !is_in(best) {
            return None;
        }
        others &= others - 1;
        while others != 0 {
            let other = others.trailing_zeros();
            others &= others - 1;
            if !is_in(other) {
                return None;
            }
            // The last step on each of the two ways, and the cell to which it led.
            let mut lasts = (offset(best, pitch), offset(other, pitch));
            let mut cells = (at.wrapping_add(lasts.0), at.wrapping_add(lasts.1));
            while cells.0 != cells.1 {
                *steps += 1;
                if *steps >= MOST_TIE_STEPS {
                    return None;
                }
                let is_first = entry(cells.0).distance() >= entry(cells.1).distance();
                let cell = if is_first { cells.0 } else { cells.1 };
                let next = self.next(cell);
                if next == cell {
                    return entry(cell).is_tie().then_some(cell);
                }
                let step = next.wrapping_sub(cell);
                if is_first {
                    (cells.0, lasts.0) = (next, step);
                } else {
                    (cells.1, lasts.1) = (next, step);
                }
            }
            // planted: walk-order
            if order_of(lasts.1) < order_of(lasts.0) {
                best = other;
            }
        }
        let next = at.wrapping_add(offset(best, pitch));
        self.next_cells().st(at, next as u16);
        Some(at)
    }

    /// Follows a chunk of a pin's path from a cell on, and returns where its cells lie. See
    /// [`follow_and_offer`](Self::follow_and_offer). Called by the whole block, after a barrier;
    /// ends with one.
    #[inline(always)]
    pub(super) fn walk(
        &self,
        pin: u32,
        field: Field,
        from: u32,
        destination: Option<Destination>,
        mine: Mine,
    ) -> Layout {
        let from = column_and_row(from, field.columns());
        let part = self.part(field, from);
        self.load(field, part);
        if let Some(to) = destination {
            self.list_near(part.around(field), mine, pin, to.near);
        }
        // planted: walk-loaded
        thread::sync_threads();
        let layout = part.layout(field);
        self.follow_and_offer(pin, layout, destination, || {
            self.follow(field, part, part.at(from), destination.is_some());
        });
        layout
    }
}

/// Where the ways of a part's four consecutive cells are in one word: an even and an odd cell at
/// the same bits of its halves.
const CELL_BITS: [u32; 4] = [0, 16, 4, 20];
/// The first way of each of these cells, and of the first two.
const FIRST_WAYS: u32 = 0x0011_0011;
const FIRST_WAYS_OF_TWO: u32 = 0x0001_0001;
/// The first and third way of each of the four cells, and the first two.
const EVERY_SECOND: u32 = 5 * FIRST_WAYS;
const FIRST_TWO: u32 = 3 * FIRST_WAYS;

/// The next cells of four consecutive cells, from cell `at` of a part on, as half words, given the
/// cells' entries and the ways `out` of the part.
#[inline(always)]
fn next_cells(entries: [u32; 4], out: u32, at: u32, log_pitch: u32) -> [u32; 2] {
    let [a, b, c, d] = entries;
    // A cell beyond the reach has all ways, as if it had a tie.
    let ways = (a & 15) << CELL_BITS[0]
        | (b & 15) << CELL_BITS[1]
        | (c & 15) << CELL_BITS[2]
        | (d & 15) << CELL_BITS[3];
    // The number of ways of each cell, and the cells that have one.
    let pairs = ways - ((ways >> 1) & EVERY_SECOND);
    let count = (pairs & FIRST_TWO) + ((pairs >> 2) & FIRST_TWO);
    // planted: join-tie
    let single = count & !(count >> 1) & FIRST_WAYS;
    // planted: join-part
    let ways = ways & !out;
    let way = |direction: u32| (ways >> direction) & single;
    let (left, up, right, down) = (way(LEFT), way(UP), way(RIGHT), way(DOWN));
    // The sum of the cells' steps, each times the place of its bit.
    let steps = |bits: u32| {
        let across = (right & bits).wrapping_sub(left & bits);
        let along = (down & bits).wrapping_sub(up & bits);
        across.wrapping_add(along << log_pitch)
    };
    let first = at * FIRST_WAYS_OF_TWO + (1 << 16);
    let others = steps(FIRST_WAYS_OF_TWO << CELL_BITS[2]) as i32 >> CELL_BITS[2];
    [
        first.wrapping_add(steps(FIRST_WAYS_OF_TWO)),
        (first + 2 * FIRST_WAYS_OF_TWO).wrapping_add(others as u32),
    ]
}

/// The order of steps to a cell, by the directions from which they come: from the left (one cell
/// on), from above (a row on), from the right, from below.
#[inline(always)]
const fn order_of(step: u32) -> u32 {
    if step as i32 > 0 {
        step
    } else {
        (1 << 31) | step.wrapping_neg()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Entry;
    use super::*;

    /// The next cell, one cell at a time: that of its only way, unless the way leaves the part.
    fn next_cell(entry: u32, out: u32, at: u32, log_pitch: u32) -> u32 {
        let ways = Entry(entry).ways();
        if !ways.is_power_of_two() || ways & out != 0 {
            return at;
        }
        at.wrapping_add(offset(ways.trailing_zeros(), 1 << log_pitch))
    }

    /// All combinations of ways, in the middle and in two corners of parts of several pitches.
    #[test]
    fn next_cells_of_four_are_those_of_each() {
        for log_pitch in [2, 5, 8] {
            let pitch = 1 << log_pitch;
            for (at, borders) in [
                (0, 0b1011),
                (pitch + 4 % pitch, 0),
                (65_532 % (pitch * pitch), 0b1110),
            ] {
                for all in 0..1_u32 << 16 {
                    let out = [borders | 1, borders, borders, borders | 4];
                    let ways = [0, 4, 8, 12].map(|shift| (all >> shift) & 15);
                    // A cell without ways is the pin's; one with all of them is beyond the reach.
                    let entries = ways.map(|ways| match ways {
                        15 => Entry::NONE.0,
                        _ => 77 << 4 | ways,
                    });
                    let word = (0..4).map(|i| out[i] << CELL_BITS[i]).sum();
                    let expected = [0, 1, 2, 3].map(|i: u32| {
                        next_cell(entries[i as usize], out[i as usize], at + i, log_pitch)
                    });
                    let found = next_cells(entries, word, at, log_pitch);
                    let found = [
                        found[0] & 0xffff,
                        found[0] >> 16,
                        found[1] & 0xffff,
                        found[1] >> 16,
                    ];
                    assert_eq!(found, expected, "ways {ways:?} at {at}: not the oracle's");
                }
            }
        }
    }
}
