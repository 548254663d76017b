//! Adding cells to the tree, and offering them to the fields of the pins around them.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use crate::primitives::quotient;

use super::join::{BLOCK, CHUNK, Join, MOST_UNPLACED, WARPS, warp_least, word};
use super::while_walking::Layout;
use super::{CellXy, DistanceBound, Entry, Field, FieldBox, GRAIN, LIMIT, NetPlaces, Start};

/// The boxes of a thread's first two pins.
pub(super) type Mine = [FieldBox; 2];

/// The most cells that are offered by a few lanes, which leave the others of their warp to other
/// pins.
pub(super) const FEW: u32 = 8;
const _: () = assert!(4 * FEW == WARP_SIZE);
/// The pins to which a warp offers as many cells at once.
const PINS_AT_ONCE: u32 = WARP_SIZE / FEW;

/// No cell of a box.
pub(super) const OUTSIDE: u32 = u32::MAX;

/// The rectangle around cells: its first and last column, its first and last row.
#[derive(Clone, Copy)]
pub(super) struct Around {
    pub(super) left: u32,
    pub(super) right: u32,
    pub(super) top: u32,
    pub(super) bottom: u32,
}

impl Around {
    pub(super) const EMPTY: Self = Self {
        left: u32::MAX,
        right: 0,
        top: u32::MAX,
        bottom: 0,
    };

    /// The rectangle of columns and rows from a cell on.
    #[inline(always)]
    pub(super) const fn new(CellXy { x, y }: CellXy, columns: u32, rows: u32) -> Self {
        Self {
            left: x,
            right: x + columns - 1,
            top: y,
            bottom: y + rows - 1,
        }
    }

    /// Whether a box has cells of the rectangle.
    #[inline(always)]
    fn overlaps(self, extent: FieldBox) -> bool {
        extent.left <= self.right
            && self.left < extent.left + extent.columns()
            && extent.top <= self.bottom
            && self.top < extent.top + extent.rows()
    }
}

impl FieldBox {
    /// The index of a cell of the grid, or [`OUTSIDE`].
    #[inline(always)]
    pub(super) const fn index_of(&self, (x, y): (u32, u32)) -> u32 {
        let (column, row) = (x.wrapping_sub(self.left), y.wrapping_sub(self.top));
        if column < self.columns() && row < self.rows() {
            row * self.columns() + column
        } else {
            OUTSIDE
        }
    }
}

impl Join<'_> {
    /// Adds a chunk's cells to the tree's bits, and stores their columns and rows in shared memory,
    /// for the time after the next barrier. Each thread has at most one of the cells. Called by the
    /// whole block.
    #[inline(always)]
    fn show(&self, count: u32, CellXy { x, y }: CellXy) {
        let t = thread::thread_idx_x();
        if t < count {
            self.xs.st(t, x);
            self.ys.st(t, y);
            self.add_to_tree(CellXy { x, y });
        }
    }

    /// Adds a cell to the tree's bits.
    #[inline(always)]
    pub(super) fn add_to_tree(&self, CellXy { x, y }: CellXy) {
        self.tree.atomic_or(self.net().word(x, y), 1 << (x % 32));
    }

    /// The rectangle around a chunk of [`FEW`] cells or less that has been walked. Each warp looks
    /// for itself.
    #[inline(always)]
    fn around_walked(&self, count: u32, layout: Layout) -> Around {
        // FEW lanes find each side of the rectangle: the first ones the least column, the next ones
        // the greatest, as the least complement, the others the rows.
        let (lane, side) = (warp::lane_id() % FEW, warp::lane_id() / FEW);
        let mut least = u32::MAX;
        if lane < count {
            let CellXy { x, y } = layout.cell(self.queue.ld(lane).into());
            let place = if side < 2 { x } else { y };
            least = if side % 2 == 0 { place } else { !place };
        }
        let mut distance = FEW / 2;
        while distance > 0 {
            least = least.min(warp::warp_shuffle_xor(FULL_MASK, least, distance, WARP_SIZE).0);
            distance /= 2;
        }
        // planted: around-side
        let of = |side: u32| warp::warp_shuffle_idx(FULL_MASK, least, side * FEW, WARP_SIZE).0;
        Around {
            left: of(0),
            right: !of(1),
            top: of(2),
            bottom: !of(3),
        }
    }

    /// Notes the rectangle around a chunk's cells, for the time after the next barrier. Each thread
    /// has at most one of the cells. Called by the whole block.
    #[inline(always)]
    fn note_around(&self, count: u32, CellXy { x, y }: CellXy) {
        let t = thread::thread_idx_x();
        let warp = t / WARP_SIZE * WARP_SIZE;
        if warp < count {
            let or = |value: u32, other: u32| if t < count { value } else { other };
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
    }

    /// Adds a chunk of cells to the tree, at most one per thread, and offers them to the fields of
    /// the pins around them. If they are [`FEW`] or less and have just been walked, `walked` is the
    /// layout of the part at hand. Called by the whole block, after a barrier; ends with one, after
    /// which a thread makes the words ready for the next chunk.
    #[inline(always)]
    pub(super) fn add(&self, count: u32, cell: CellXy, walked: Option<Layout>) {
        let t = thread::thread_idx_x();
        self.show(count, cell);
        let around = if let Some(layout) = walked {
            self.around_walked(count, layout)
        } else {
            self.note_around(count, cell);
            // planted: join-show
            thread::sync_threads();
            self.around()
        };
        let are_placed = self.pins > MOST_UNPLACED && count <= FEW;
        if !are_placed {
            self.list(around);
        }
        // planted: join-list
        thread::sync_threads();
        if are_placed {
            self.offer_to_placed(around, count);
        } else {
            let listed = self.words.ld(word::LISTED);
            let mut i = t / WARP_SIZE;
            while i < listed {
                self.offer(i, listed, count);
                i += 2 * WARPS;
            }
        }
        thread::sync_threads();
        if t == 0 {
            self.forget_chunk();
        }
    }

    /// The boxes of this thread's first two pins, in a net without places.
    #[inline(always)]
    pub(super) fn mine(&self) -> Mine {
        let are_unplaced = self.pins <= MOST_UNPLACED;
        let of = |pin: u32| match pin < self.pins && are_unplaced {
            true => self.field(pin).extent,
            false => FieldBox::default(),
        };
        let t = thread::thread_idx_x();
        [of(t), of(t + BLOCK)]
    }

    /// Lists the pins whose boxes have cells of a rectangle, and that are not joined, except one.
    /// Only for nets without places. `mine` is what [`mine`](Self::mine) gives, `counter` the word
    /// that counts the listed pins.
    #[inline(always)]
    pub(super) fn list_near(
        &self,
        around: Around,
        [first, second]: Mine,
        except: u32,
        counter: u32,
    ) {
        let t = thread::thread_idx_x();
        let list = |pin: u32, extent: FieldBox| {
            let is_open = || self.distance_bounds.ld(pin) != DistanceBound::JOINED;
            if around.overlaps(extent) && pin != except && is_open() {
                let cell = self.words.atomic_add(counter, 1);
                self.list.st(cell, pin);
            }
        };
        list(t, first);
        list(t + BLOCK, second);
        let mut pin = t + 2 * BLOCK;
        while pin < self.pins {
            list(pin, self.field(pin).extent);
            pin += BLOCK;
        }
    }

    /// Lists the pins whose boxes have cells of a rectangle, and that are not joined.
    #[inline(always)]
    fn list(&self, around: Around) {
        let t = thread::thread_idx_x();
        if self.pins <= MOST_UNPLACED {
            self.list_near(around, self.mine(), u32::MAX, word::LISTED);
            return;
        }
        let list = |pin: u32, extent: FieldBox| {
            if around.overlaps(extent) && self.distance_bounds.ld(pin) != DistanceBound::JOINED {
                let cell = self.words.atomic_add(word::LISTED, 1);
                self.list.st(cell, pin);
            }
        };
        let net = self.places.nets.ld(self.net_index);
        let mut row = t / WARP_SIZE;
        while row < self.rows_of(net, around) {
            let (mut at, end) = self.row_of(net, around, row);
            at += warp::lane_id();
            while at < end {
                list(self.places.pins.ld(at), self.places.boxes.ld(at));
                at += WARP_SIZE;
            }
            row += WARPS;
        }
    }

    /// The first and the last row of buckets whose boxes may have cells of a rectangle.
    #[inline(always)]
    fn bucket_rows(&self, net: NetPlaces, around: Around) -> (u32, u32) {
        let top = self.net().top / GRAIN * GRAIN;
        // planted: places-reach
        let first = around.top.saturating_sub(top + net.box_rows - 1);
        let last = around.bottom - top;
        (first >> net.log_side, last >> net.log_side)
    }

    /// The number of these rows, and one for the boxes that are in no bucket.
    #[inline(always)]
    fn rows_of(&self, net: NetPlaces, around: Around) -> u32 {
        let (first, last) = self.bucket_rows(net, around);
        last - first + 2
    }

    /// Where the boxes of such a row begin and end.
    #[inline(always)]
    fn row_of(&self, net: NetPlaces, around: Around, row: u32) -> (u32, u32) {
        let bucket = |i: u32| self.places.buckets.ld(net.first_bucket + i);
        let (first, last) = self.bucket_rows(net, around);
        if first + row > last {
            // planted: places-large
            return (bucket(net.rows * net.columns), net.end);
        }
        let start = (first + row) * net.columns;
        let left = self.net().left / GRAIN * GRAIN;
        let from = around.left.saturating_sub(left + net.box_columns - 1);
        let to = around.right - left;
        (
            bucket(start + (from >> net.log_side)),
            bucket(start + (to >> net.log_side) + 1),
        )
    }

    /// Offers a chunk of few cells to the fields around them. Called by the whole block.
    #[inline(always)]
    fn offer_to_placed(&self, around: Around, count: u32) {
        let warp = thread::thread_idx_x() / WARP_SIZE;
        let net = self.places.nets.ld(self.net_index);
        let rows = self.rows_of(net, around);
        // Several warps share a row, if there are enough.
        let share = quotient(WARPS, rows).max(1);
        let (mut row, step) = (quotient(warp, share), quotient(WARPS, share));
        let part = warp - row * share;
        while row < rows {
            let (start, end) = self.row_of(net, around, row);
            let mut at = start + part * PINS_AT_ONCE;
            while at < end {
                self.offer_few(at + warp::lane_id() / FEW, end, around, count);
                at += share * PINS_AT_ONCE;
            }
            row += step;
        }
    }

    /// Offers a chunk of few cells to a placed pin's field, a lane for each cell. Called by a whole
    /// warp, for several pins at once, those before `end`.
    #[inline(always)]
    fn offer_few(&self, at: u32, end: u32, around: Around, count: u32) {
        let lane = warp::lane_id() % FEW;
        let (mut extent, mut pin) = (FieldBox::default(), 0);
        if at < end {
            extent = self.places.boxes.ld(at);
            pin = self.places.pins.ld(at);
        }
        let mut best = Nearest::NONE;
        if around.overlaps(extent) && lane < count {
            best.add(self.key(extent, (self.xs.ld(lane), self.ys.ld(lane))));
        }
        let nearest = warp_least(best.key, FEW);
        let also = warp::warp_vote_ballot(FULL_MASK, best.has_other(nearest));
        let lanes = ((1 << FEW) - 1) << (warp::lane_id() - lane);
        if lane == 0 {
            self.offered_key(pin, nearest, also & lanes != 0);
        }
    }

    /// Makes the words ready for another chunk. Called by one thread.
    #[inline(always)]
    pub(super) fn forget_chunk(&self) {
        self.words.st(word::LISTED, 0);
        self.set_around(Around::EMPTY);
    }

    /// The rectangle around the chunk.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn around(&self) -> Around {
        let of = |i: u32| self.words.ld(word::AROUND + i);
        Around {
            left: of(0),
            right: of(1),
            top: of(2),
            bottom: of(3),
        }
    }

    /// Sets the rectangle around the chunk. Called by one thread.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn set_around(&self, around: Around) {
        self.words.st(word::AROUND, around.left);
        self.words.st(word::AROUND + 1, around.right);
        self.words.st(word::AROUND + 2, around.top);
        self.words.st(word::AROUND + 3, around.bottom);
    }

    /// Offers the chunk's cells to the field of pin `i` of the list, and to that of another one,
    /// [`WARPS`] further on, if there is one, so that loads for both are in flight together. Called
    /// by a whole warp.
    #[inline(always)]
    fn offer(&self, i: u32, listed: u32, count: u32) {
        const HALF: u32 = WARP_SIZE / 2;
        let lane = warp::lane_id();
        let field = self.field(self.list.ld(i));
        let mut other_field = Field::default();
        if i + WARPS < listed {
            other_field = self.field(self.list.ld(i + WARPS));
        }
        let (mut best, mut other_best) = (Nearest::NONE, Nearest::NONE);
        let mut c = lane;
        while c < count {
            let cell = (self.xs.ld(c), self.ys.ld(c));
            let keys = [
                self.key(field.extent, cell),
                self.key(other_field.extent, cell),
            ];
            best.add(keys[0]);
            other_best.add(keys[1]);
            c += WARP_SIZE;
        }
        // Each half of the warp looks for the nearest cell to one of the pins.
        let is_first = lane < HALF;
        let (mine, theirs) = if is_first {
            (best.key, other_best.key)
        } else {
            (other_best.key, best.key)
        };
        let theirs = warp::warp_shuffle_xor(FULL_MASK, theirs, HALF, WARP_SIZE).0;
        // planted: offer-half
        let nearest = warp_least(mine.min(theirs), HALF);
        let others = warp::warp_shuffle_xor(FULL_MASK, nearest, HALF, WARP_SIZE).0;
        let (of_first, of_other) = if is_first {
            (nearest, others)
        } else {
            (others, nearest)
        };
        let many = warp::warp_vote_any(FULL_MASK, best.has_other(of_first));
        let others_many = warp::warp_vote_any(FULL_MASK, other_best.has_other(of_other));
        if lane == 0 {
            self.offered_key(self.list.ld(i), nearest, many);
        }
        if lane == HALF && i + WARPS < listed {
            self.offered_key(self.list.ld(i + WARPS), nearest, others_many);
        }
    }

    /// Does what [`offered`](Self::offered) does for the nearest cell's [`key`](Self::key).
    #[inline(always)]
    fn offered_key(&self, pin: u32, nearest: u64, many: bool) {
        self.offered(pin, (nearest >> 32) as u32, Start(nearest as u32), many);
    }

    /// The distance in a field's box of a cell of the grid, above the cell as a [`Start`]; the
    /// largest number if the box does not have the cell.
    #[inline(always)]
    fn key(&self, extent: FieldBox, (x, y): (u32, u32)) -> u64 {
        let index = extent.index_of((x, y));
        let is_in = index != OUTSIDE;
        // Loaded in either case, because a branch would wait for earlier loads.
        let loaded = if is_in { index } else { 0 };
        let entry = Entry(self.entries.ld(extent.first_entry + loaded));
        if is_in {
            u64::from(entry.distance()) << 32 | u64::from(Start::new(index, entry).0)
        } else {
            u64::MAX
        }
    }

    /// Notes how far a pin is from the nearest cell of a chunk, and the cell, or whether `is_many`
    /// cells are as near. Called by one thread.
    #[inline(always)]
    pub(super) fn offered(&self, pin: u32, distance: u32, start: Start, is_many: bool) {
        if distance >= LIMIT {
            return;
        }
        let bound = DistanceBound::exactly(distance);
        let before = self.distance_bounds.ld(pin);
        // planted: offered-joined
        if before == DistanceBound::JOINED {
            return;
        }
        if bound < before {
            self.lower(pin, bound);
            self.starts.st(pin, start.or_others(is_many));
        } else if bound == before {
            let known = self.starts.ld(pin);
            if known.only() != start || is_many {
                self.starts.st(pin, known.or_others(true));
            }
        }
    }

    /// Adds the cells from `start` to `end` to the tree. Called by the whole block, after a
    /// barrier; ends with one.
    #[inline(always)]
    pub(super) fn add_all(&self, cells: View<'_, CellXy>, mut start: u32, end: u32) {
        let t = thread::thread_idx_x();
        while start < end {
            let count = (end - start).min(CHUNK);
            let mut cell = CellXy::default();
            if t < count {
                cell = cells.ld(start + t);
            }
            // After the last chunk's threads are done with the words.
            thread::sync_threads();
            self.add(count, cell, None);
            start += count;
        }
    }
}

/// The nearest of some cells to a pin.
#[derive(Clone, Copy)]
struct Nearest {
    /// Its [key](Join::key).
    key: u64,
    /// Whether others are as near.
    has_others: bool,
}

impl Nearest {
    const NONE: Self = Self {
        key: u64::MAX,
        has_others: false,
    };

    /// Takes a cell into account. The same cell may come several times.
    #[inline(always)]
    fn add(&mut self, key: u64) {
        if key >> 32 < self.key >> 32 {
            *self = Self {
                key,
                has_others: false,
            };
        } else if key >> 32 == self.key >> 32 && key != self.key {
            self.key = self.key.min(key);
            self.has_others = true;
        }
    }

    /// Whether there is another cell as near as the nearest of all.
    #[inline(always)]
    const fn has_other(self, nearest: u64) -> bool {
        self.key >> 32 == nearest >> 32 && (self.has_others || self.key != nearest)
    }
}
