//! Joining the pins of a net: the nearest, again and again, by what fields say.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::{
    Bid, Entry, Field, FieldNet, GRAIN, JOINED, LIMIT, MANY, NET_WORDS, Place, has_neighbour,
    offset, place_in, ties,
};
use crate::route::tiles::JoinedPin;

/// Threads of a block.
pub(super) const BLOCK: u32 = 512;
const WARPS: u32 = BLOCK / WARP_SIZE;
/// Cells of a path, or of a pin, that are offered to fields at a time.
const CHUNK: u32 = BLOCK;
/// How far a walk may stray from the rectangle between its ends before it leaves what the block has at hand.
const MARGIN: u32 = 10;
/// The most columns, and rows, of a box that the block has at hand.
const PART_SIDE: u32 = 124;
/// Set in the next cell if there are several.
const PART_TIE: u32 = 1 << 15;
/// The next cell is not at hand.
const OUTSIDE: u32 = PART_TIE - 1;
/// The most cells of a part. They are numbered by less than [`OUTSIDE`].
pub(super) const PART_CELLS: u32 = (PART_SIDE + GRAIN) * (PART_SIDE + GRAIN);
const _: () = assert!(PART_CELLS < OUTSIDE);

/// The dynamic shared memory of [`join_pins`](fn@join_pins) for nets of up to `pins` pins with boxes of up to `cells` cells, in bytes.
#[must_use]
pub const fn join_bytes(pins: u32, cells: u32) -> u32 {
    2 * part_cells(cells) + 2 * cells + 3 * 4 * pins
}

/// The most cells of boxes for which [`join_bytes`] gives no more than `bytes`.
#[must_use]
pub const fn join_cells(bytes: u32, pins: u32) -> u32 {
    let left = bytes.saturating_sub(3 * 4 * pins);
    // By what a part takes: twice the cells, or the most, or the cells.
    if left >= 4 * PART_CELLS {
        left / 4
    } else if left >= 3 * PART_CELLS {
        (left - 2 * PART_CELLS) / 2
    } else {
        left / 6
    }
}

/// What parts of boxes of up to `cells` cells take, and the boxes themselves: the rows of a part stand less than twice as far apart as
/// they are long.
#[inline(always)]
const fn part_cells(cells: u32) -> u32 {
    if 2 * cells < PART_CELLS {
        2 * cells
    } else if cells < PART_CELLS {
        PART_CELLS
    } else {
        cells
    }
}

/// Words of a block.
pub(super) mod word {
    /// Cells of the chunk.
    pub(in super::super) const COUNT: u32 = 0;
    /// Where the path goes on after it, as a number in the box; [`END`](super::END) if it does not.
    pub(in super::super) const NEXT: u32 = 1;
    /// Whether the path, as far as it was followed, is one of several.
    pub(in super::super) const TIE: u32 = 2;
    /// The rectangle around the chunk: first and last column, first and last row.
    pub(in super::super) const AROUND: u32 = 3;
    /// Pins on the list.
    pub(in super::super) const LISTED: u32 = 7;
    /// Cells in the queue of those on shortest paths.
    pub(in super::super) const QUEUED: u32 = 8;
    /// Whether such a path leaves what the block has at hand.
    pub(in super::super) const LEFT_PART: u32 = 9;
    /// The first and last column and row of where they begin.
    pub(in super::super) const BOUNDS: u32 = 10;
    pub(in super::super) const WORDS: u32 = 14;
}

/// No cell of a box.
pub(super) const END: u32 = u32::MAX;

/// A net and its state.
#[derive(Clone, Copy)]
pub(super) struct Join<'a> {
    nets: View<'a, FieldNet>,
    /// The net's number.
    number: u32,
    first_pin: u32,
    pins: u32,
    fields: View<'a, Field>,
    pub(super) pin_cells: View<'a, Place>,
    pub(super) tree: ViewMut<'a, u32>,
    pub(super) entries: View<'a, u32>,
    paths: ViewMut<'a, u32>,
    /// By pin of the net, as [`join_pins`](fn@join_pins) has them for all nets.
    bids: SharedView<u32>,
    starts: SharedView<u32>,
    /// Pins near a path.
    list: SharedView<u32>,
    /// By cell of the part of a box that is at hand, as half words: the next cell on the way down. While a tie is resolved, other
    /// half words: see `ties.rs`.
    pub(super) part: SharedView<u32>,
    /// Cells of a box.
    pub(super) queue: SharedView<u16>,
    /// Columns and rows of a chunk of cells.
    xs: SharedView<u32>,
    ys: SharedView<u32>,
    /// By warp: its least bid, and whose it is.
    warp_keys: SharedView<u64>,
    /// See [`word`].
    pub(super) words: SharedView<u32>,
}

/// The part of a box that the block has at hand: for each cell, row by row, the next one on the way down.
#[derive(Clone, Copy)]
struct Part {
    /// Its first column and row in the box, its columns, a multiple of [`GRAIN`] like the first, and its rows.
    left: u32,
    top: u32,
    columns: u32,
    rows: u32,
    /// Its rows stand 2 to this power apart.
    log_pitch: u32,
}

impl Part {
    /// The column and row of its cell `at`.
    #[inline(always)]
    const fn place(self, at: u32) -> (u32, u32) {
        (at & ((1 << self.log_pitch) - 1), at >> self.log_pitch)
    }

    /// The number in the box of its cell `at`.
    #[inline(always)]
    fn number(self, at: u32, field: Field) -> u32 {
        let (column, row) = self.place(at);
        (self.top + row) * field.columns() + self.left + column
    }

    /// What its rows take.
    #[inline(always)]
    const fn len(self) -> u32 {
        self.rows << self.log_pitch
    }
}

impl Join<'_> {
    /// The net. It is read again where it is needed: registers are scarce.
    #[inline(always)]
    pub(super) fn net(&self) -> FieldNet {
        self.nets.ld(self.number)
    }

    #[inline(always)]
    fn field(&self, pin: u32) -> Field {
        self.fields.ld(self.first_pin + pin)
    }

    /// The least bid, and the first pin that has it. For a whole block; passes a barrier.
    #[inline(always)]
    fn nearest(&self) -> (u32, u32) {
        let t = thread::thread_idx_x();
        let mut least = u64::MAX;
        let mut pin = t;
        while pin < self.pins {
            let key = u64::from(self.bids.ld(pin)) << 32 | u64::from(pin);
            least = least.min(key);
            pin += BLOCK;
        }
        let least = warp_least(least, WARP_SIZE);
        if t.is_multiple_of(WARP_SIZE) {
            self.warp_keys.st(t / WARP_SIZE, least);
        }
        thread::sync_threads();
        let least = warp_least(self.warp_keys.ld(t % WARPS), WARPS);
        ((least >> 32) as u32, least as u32)
    }

    /// The part of a pin's box around the way from the cell with number `from` to the pin, which the walk will hardly leave.
    #[inline(always)]
    fn part(&self, field: Field, from: u32) -> Part {
        let (column, row) = place_in(from, field.columns());
        let pin = field.place;
        let (pin_column, pin_row) = (pin.x - field.left, pin.y - field.top);
        let span = |from: u32, to: u32, len: u32| {
            let (low, high) = (from.min(to), from.max(to));
            let (mut start, mut end) = (low.max(MARGIN) - MARGIN, (high + MARGIN + 1).min(len));
            if end - start > PART_SIDE {
                // As much as there is room for, with the cell in the middle.
                start = from.max(PART_SIDE / 2) - PART_SIDE / 2;
                end = (start + PART_SIDE).min(len);
            }
            start -= start % GRAIN;
            (start, end.next_multiple_of(GRAIN) - start)
        };
        let (left, columns) = span(column, pin_column, field.columns());
        let (top, rows) = span(row, pin_row, field.rows());
        Part {
            left,
            top,
            columns,
            rows,
            log_pitch: u32::BITS - (columns - 1).leading_zeros(),
        }
    }

    /// Notes the next cell on the way down for each cell of a part of a pin's box. For a whole block.
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
                    .ld_vector(field.first_entry + part.number(at, field))
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

    /// Notes the next cells of the four from `at` on, if the part has them.
    #[inline(always)]
    fn note(&self, part: Part, at: u32, entries: [u32; 4]) {
        if at >= part.len() {
            return;
        }
        let (column, row) = part.place(at);
        let next = |i: u32, entry: Entry| {
            let (here, column, ways) = (at + i, column + i, entry.ways());
            if ways == 0 {
                return here;
            }
            let direction = ways.trailing_zeros();
            let is_in = has_neighbour(direction, (column, row), (part.columns, part.rows));
            let next = here.wrapping_add(offset(direction, 1 << part.log_pitch));
            // planted: join-tie
            let tie = if ways & (ways - 1) != 0 { PART_TIE } else { 0 };
            // planted: join-outside
            if is_in { next | tie } else { OUTSIDE | tie }
        };
        let [a, b, c, d] = entries;
        let nexts = [
            next(0, Entry(a)) | next(1, Entry(b)) << 16,
            next(2, Entry(c)) | next(3, Entry(d)) << 16,
        ];
        self.part.st_vector(at / 2, nexts);
    }

    /// Follows the ways of a part of a box from a cell of it down to the pin, or out of the part, or for a chunk. For one thread.
    #[inline(always)]
    fn follow(&self, field: Field, part: Part, from: u32) {
        // SAFETY: the same memory as half words.
        let nexts = unsafe {
            SharedView::<u16>::from_raw_parts(self.part.as_mut_ptr().cast(), 2 * self.part.len())
        };
        let (column, row) = place_in(from, field.columns());
        let mut at = (row - part.top) << part.log_pitch | (column - part.left);
        let (mut count, mut ties) = (0, 0);
        let next = loop {
            self.queue.st(count, at as u16);
            count += 1;
            let next = u32::from(nexts.ld(at));
            ties |= next;
            let next = next & (PART_TIE - 1);
            if next == at || next == OUTSIDE || count == CHUNK {
                break next;
            }
            at = next;
        };
        let mut after = END;
        if next != at {
            // By the field itself: the part may not have it.
            let number = part.number(at, field);
            let entry = Entry(self.entries.ld(field.first_entry + number));
            after = number.wrapping_add(offset(entry.ways().trailing_zeros(), field.columns()));
        }
        self.words.st(word::COUNT, count);
        self.words.st(word::NEXT, after);
        let tie = self.words.ld(word::TIE) | ties & PART_TIE;
        self.words.st(word::TIE, tie);
    }

    /// Follows a chunk of a pin's path from a cell on. For a whole block, after a barrier; passes one at the end.
    #[inline(always)]
    fn walk(&self, field: Field, from: u32) -> Part {
        let part = self.part(field, from);
        self.load(field, part);
        thread::sync_threads();
        if thread::thread_idx_x() == 0 {
            self.follow(field, part, from);
        }
        thread::sync_threads();
        part
    }

    /// Tells the block the columns and rows of a chunk's cells, of which this thread has one at most. For a whole block; passes a
    /// barrier at the end.
    #[inline(always)]
    fn show(&self, count: u32, Place { x, y }: Place) {
        let t = thread::thread_idx_x();
        let warp = t / WARP_SIZE * WARP_SIZE;
        if warp < count {
            let has = t < count;
            if has {
                self.xs.st(t, x);
                self.ys.st(t, y);
                self.tree.atomic_or(self.net().word(x, y), 1 << (x % 32));
            }
            let or = |value: u32, other: u32| if has { value } else { other };
            let around = [
                warp::warp_reduce_min(FULL_MASK, or(x, u32::MAX)),
                warp::warp_reduce_max(FULL_MASK, or(x, 0)),
                warp::warp_reduce_min(FULL_MASK, or(y, u32::MAX)),
                warp::warp_reduce_max(FULL_MASK, or(y, 0)),
            ];
            if t == warp {
                self.words.atomic_min(word::AROUND, around[0]);
                self.words.atomic_max(word::AROUND + 1, around[1]);
                self.words.atomic_min(word::AROUND + 2, around[2]);
                self.words.atomic_max(word::AROUND + 3, around[3]);
            }
        }
        // planted: join-show
        thread::sync_threads();
    }

    /// Adds a chunk of cells to the tree, of which this thread has one at most, and offers them to the fields of the pins around them.
    /// For a whole block, after a barrier; passes one at the end.
    #[inline(always)]
    fn add(&self, count: u32, place: Place, mine: Mine) {
        let t = thread::thread_idx_x();
        self.show(count, place);
        let around = |i: u32| self.words.ld(word::AROUND + i);
        let (left, right, top, bottom) = (around(0), around(1), around(2), around(3));
        let list = |pin: u32, field: Field| {
            let overlaps = field.left <= right
                && left < field.left + field.columns()
                && field.top <= bottom
                && top < field.top + field.rows();
            if overlaps && self.bids.ld(pin) != JOINED {
                let place = self.words.atomic_add(word::LISTED, 1);
                self.list.st(place, pin);
            }
        };
        list(t, mine[0]);
        list(t + BLOCK, mine[1]);
        let mut pin = t + 2 * BLOCK;
        while pin < self.pins {
            list(pin, self.field(pin));
            pin += BLOCK;
        }
        // planted: join-list
        thread::sync_threads();
        let listed = self.words.ld(word::LISTED);
        let mut i = t / WARP_SIZE;
        while i < listed {
            self.offer(self.list.ld(i), count);
            i += WARPS;
        }
        thread::sync_threads();
        if t == 0 {
            self.forget_chunk();
        }
    }

    /// Makes the words ready for another chunk. For one thread.
    #[inline(always)]
    fn forget_chunk(&self) {
        self.words.st(word::LISTED, 0);
        self.words.st(word::AROUND, u32::MAX);
        self.words.st(word::AROUND + 1, 0);
        self.words.st(word::AROUND + 2, u32::MAX);
        self.words.st(word::AROUND + 3, 0);
    }

    /// Offers the chunk's cells to a pin's field. For a whole warp.
    #[inline(always)]
    fn offer(&self, pin: u32, count: u32) {
        let lane = warp::lane_id();
        let field = self.field(pin);
        let (mut best, mut many) = (u64::MAX, false);
        let mut i = lane;
        while i < count {
            let x = self.xs.ld(i).wrapping_sub(field.left);
            let y = self.ys.ld(i).wrapping_sub(field.top);
            if x < field.columns() && y < field.rows() {
                let number = y * field.columns() + x;
                let distance = Entry(self.entries.ld(field.first_entry + number)).distance();
                let key = u64::from(distance) << 32 | u64::from(number);
                if key >> 32 < best >> 32 {
                    (best, many) = (key, false);
                } else if key >> 32 == best >> 32 && key != best {
                    // The same cell may be there twice.
                    (best, many) = (best.min(key), true);
                }
            }
            i += WARP_SIZE;
        }
        let nearest = warp_least(best, WARP_SIZE);
        let distance = (nearest >> 32) as u32;
        let also = best >> 32 == nearest >> 32 && (many || best != nearest);
        let many = warp::warp_vote_any(FULL_MASK, also);
        if lane == 0 && distance < LIMIT {
            let (bid, before) = (Bid::known(distance), self.bids.ld(pin));
            let many = if many { MANY } else { 0 };
            let start = nearest as u32;
            if bid < before {
                self.bids.st(pin, bid);
                self.starts.st(pin, start | many);
            } else if bid == before {
                let known = self.starts.ld(pin);
                if known & !MANY != start || many != 0 {
                    self.starts.st(pin, known | MANY);
                }
            }
        }
    }

    /// Adds the cells from `start` to `end` to the tree. For a whole block, after a barrier; passes one at the end.
    #[inline(always)]
    fn add_all(&self, cells: View<'_, Place>, mut start: u32, end: u32, mine: Mine) {
        let t = thread::thread_idx_x();
        while start < end {
            let count = (end - start).min(CHUNK);
            let mut place = Place::default();
            if t < count {
                place = cells.ld(start + t);
            }
            // After what the last chunk has left.
            thread::sync_threads();
            self.add(count, place, mine);
            start += count;
        }
    }

    /// Joins pins until none is left, or none is known to be the nearest. How many, and the cells of their paths.
    #[inline(always)]
    fn run(&self, added: View<'_, Place>, joined: ViewMut<'_, JoinedPin>) -> (u32, u32) {
        let t = thread::thread_idx_x();
        let of = |pin: u32| match pin < self.pins {
            true => self.field(pin),
            false => Field::default(),
        };
        let mine = [of(t), of(t + BLOCK)];
        let (mut count, mut end) = (0, 0);
        // Cells that belong to the tree, besides those of paths.
        let mut cells = added;
        let (mut first_cell, mut end_cell) = {
            let net = self.net();
            (net.first_added, net.end_added)
        };
        loop {
            self.add_all(cells, first_cell, end_cell, mine);
            let (bid, pin) = self.nearest();
            let Some(cost) = Bid::distance(bid) else {
                return (count, end);
            };
            if t == 0 {
                self.bids.st(pin, JOINED);
                self.words.st(word::TIE, 0);
            }
            end = self.join(pin, cost, end, mine);
            let field = self.field(pin);
            if t == 0 {
                let record = JoinedPin {
                    cost: cost.into(),
                    pin: self.first_pin + pin,
                    end,
                };
                joined.st(self.first_pin + count, record);
            }
            count += 1;
            cells = self.pin_cells;
            // The only cell of a pin is its path's last.
            first_cell = field.first_cell;
            end_cell = match field.end_cell {
                // planted: join-cells
                end if end - first_cell == 1 => first_cell,
                end => end,
            };
        }
    }

    /// Writes a pin's path, from `end` on, and adds it to the tree; where it ends. For a whole block; passes a barrier at the end.
    ///
    /// It is followed to its end first, for ties. Most are one chunk, which is there then.
    #[inline(always)]
    fn join(&self, pin: u32, cost: u32, mut end: u32, mine: Mine) -> u32 {
        let t = thread::thread_idx_x();
        let field = self.field(pin);
        let start = self.starts.ld(pin);
        let mut from = start & !MANY;
        // planted: join-many
        let (mut is_looking, mut is_short) = (start & MANY == 0, true);
        // Of a path that was found from the pin: the cells that are left.
        let mut left = 0;
        if !is_looking {
            left = ties::resolve(self, field, start, cost);
        }
        loop {
            let mut part = None;
            let (mut next, mut count) = (END, left.min(CHUNK));
            if left == 0 {
                part = Some(self.walk(field, from));
                next = self.words.ld(word::NEXT);
                count = self.words.ld(word::COUNT);
            }
            if is_looking {
                if next != END {
                    is_short = false;
                    from = next;
                    continue;
                }
                is_looking = false;
                from = start;
                if self.words.ld(word::TIE) != 0 {
                    left = ties::resolve(self, field, start, cost);
                    continue;
                }
                if !is_short {
                    continue;
                }
            }
            let mut place = Place::default();
            if t < count {
                let number = match part {
                    Some(part) => part.number(self.queue.ld(t).into(), field),
                    None => self.queue.ld(left - 1 - t).into(),
                };
                place = field.place(number);
                let net = self.net();
                let (x, y) = (place.x - net.left, place.y - net.top);
                let number = y * (net.right - net.left) + x;
                self.paths.st(net.first_path + end + t, number);
            }
            end += count;
            self.add(count, place, mine);
            left -= left.min(count);
            if next == END && left == 0 {
                return end;
            }
            from = next;
        }
    }
}

/// The fields of a thread's first two pins.
type Mine = [Field; 2];

/// The least of the first `lanes` lanes of a warp, or of each such group, in all of them.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn warp_least(mut key: u64, lanes: u32) -> u64 {
    let mut distance = lanes / 2;
    while distance > 0 {
        key = key.min(warp::warp_shuffle_xor(FULL_MASK, key, distance, WARP_SIZE).0);
        distance /= 2;
    }
    key
}

/// Makes the cells that are given part of the tree of the net of each block, and joins its pins to it, as far as fields reach.
///
/// By net, `net_words` say how many were joined, and how many cells their paths have; by its first pin and the order of joining, `joined` has
/// the pins, and where their paths end, which begin on the tree. Their cells are numbered through the net's window. What is known
/// of the other pins stays in `bids` and `starts`: the kernel may run again, for what is left.
///
/// # Safety
///
/// [`grow_fields`](fn@super::grow_fields) has run for all pins of `nets` but the first of each, with this `tree`; the bid of the first is
/// [`JOINED`]; the launch has [`join_bytes`] of dynamic shared memory for the most pins of a net, one at least, and `most_cells`, a multiple of 16, which
/// no box has more cells than. No edge weighs 0. By net, `paths` has room for each cell of its window and one more for each pin, `net_words` [`NET_WORDS`] elements. Nothing else uses what is written meanwhile.
#[kernel(block = 512, min_blocks = 1)]
pub unsafe fn join_pins(
    nets: View<'_, FieldNet>,
    fields: View<'_, Field>,
    pin_cells: View<'_, Place>,
    added: View<'_, Place>,
    tree: ViewMut<'_, u32>,
    entries: View<'_, u32>,
    bids: ViewMut<'_, u32>,
    starts: ViewMut<'_, u32>,
    net_words: ViewMut<'_, u32>,
    joined: ViewMut<'_, JoinedPin>,
    paths: ViewMut<'_, u32>,
    most_cells: u32,
) {
    let t = thread::thread_idx_x();
    let number = thread::block_idx_x();
    let net = nets.ld(number);
    let pins = net.end_pin - net.first_pin;
    let (cells, part) = (most_cells as usize, part_cells(most_cells) as usize);
    let row = |i: usize| {
        let before = 2 * (part + cells) + 4 * pins as usize * i;
        // SAFETY: the launch has half words for the part and for the cells, and three words for each pin of the most: `join_bytes`.
        unsafe { shared::dynamic_shared_mem(before, pins as usize) }
    };
    let join = Join {
        nets,
        number,
        first_pin: net.first_pin,
        pins,
        fields,
        pin_cells,
        tree,
        entries,
        paths,
        bids: row(0),
        starts: row(1),
        list: row(2),
        // SAFETY: as for the rows.
        part: unsafe { shared::dynamic_shared_mem(0, part / 2) },
        // SAFETY: as for the rows.
        queue: unsafe { shared::dynamic_shared_mem(2 * part, cells) },
        xs: shared_array![u32; CHUNK as usize],
        ys: shared_array![u32; CHUNK as usize],
        warp_keys: shared_array![u64; WARPS as usize],
        words: shared_array![u32; word::WORDS as usize],
    };
    let mut pin = t;
    while pin < pins {
        join.bids.st(pin, bids.ld(net.first_pin + pin));
        join.starts.st(pin, starts.ld(net.first_pin + pin));
        pin += BLOCK;
    }
    if t == 0 {
        join.forget_chunk();
    }
    thread::sync_threads();
    let (count, end) = join.run(added, joined);
    if t == 0 {
        net_words.st(number * NET_WORDS, count);
        net_words.st(number * NET_WORDS + 1, end);
    }
    let mut pin = t;
    while pin < pins {
        bids.st(net.first_pin + pin, join.bids.ld(pin));
        starts.st(net.first_pin + pin, join.starts.ld(pin));
        pin += BLOCK;
    }
}
