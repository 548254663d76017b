//! Adding cells to the tree, and offering them to the fields of the pins around them.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::join::{BLOCK, CHUNK, Join, WARPS, warp_least, word};
use super::{CellXy, DistanceBound, Entry, Field, LIMIT, MANY};

/// The fields of a thread's first two pins.
pub(super) type Mine = [Field; 2];

impl Join<'_> {
    /// Shares the columns and rows of a chunk's cells with the block; this thread has at most one.
    /// Called by the whole block; ends with a barrier.
    #[inline(always)]
    fn show(&self, count: u32, CellXy { x, y }: CellXy) {
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

    /// Adds a chunk of cells to the tree, at most one per thread, and offers them to the fields of
    /// the pins around them. Called by the whole block, after a barrier; ends with one.
    #[inline(always)]
    pub(super) fn add(&self, count: u32, cell: CellXy, mine: Mine) {
        let t = thread::thread_idx_x();
        self.show(count, cell);
        let around = |i: u32| self.words.ld(word::AROUND + i);
        let (left, right, top, bottom) = (around(0), around(1), around(2), around(3));
        let list = |pin: u32, field: Field| {
            let overlaps = field.left <= right
                && left < field.left + field.columns()
                && field.top <= bottom
                && top < field.top + field.rows();
            if overlaps && self.distance_bounds.ld(pin) != DistanceBound::JOINED {
                let cell = self.words.atomic_add(word::LISTED, 1);
                self.list.st(cell, pin);
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

    /// Makes the words ready for another chunk. Called by one thread.
    #[inline(always)]
    pub(super) fn forget_chunk(&self) {
        self.words.st(word::LISTED, 0);
        self.words.st(word::AROUND, u32::MAX);
        self.words.st(word::AROUND + 1, 0);
        self.words.st(word::AROUND + 2, u32::MAX);
        self.words.st(word::AROUND + 3, 0);
    }

    /// Offers the chunk's cells to a pin's field. Called by a whole warp.
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
                let index = y * field.columns() + x;
                let distance = Entry(self.entries.ld(field.first_entry + index)).distance();
                let key = u64::from(distance) << 32 | u64::from(index);
                if key >> 32 < best >> 32 {
                    (best, many) = (key, false);
                } else if key >> 32 == best >> 32 && key != best {
                    // A chunk may contain a cell twice.
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
            let (bound, before) = (
                DistanceBound::exactly(distance),
                self.distance_bounds.ld(pin),
            );
            let many = if many { MANY } else { 0 };
            let start = nearest as u32;
            if bound < before {
                self.distance_bounds.st(pin, bound);
                self.starts.st(pin, start | many);
            } else if bound == before {
                let known = self.starts.ld(pin);
                if known & !MANY != start || many != 0 {
                    self.starts.st(pin, known | MANY);
                }
            }
        }
    }

    /// Adds the cells from `start` to `end` to the tree. Called by the whole block, after a
    /// barrier; ends with one.
    #[inline(always)]
    pub(super) fn add_all(&self, cells: View<'_, CellXy>, mut start: u32, end: u32, mine: Mine) {
        let t = thread::thread_idx_x();
        while start < end {
            let count = (end - start).min(CHUNK);
            let mut cell = CellXy::default();
            if t < count {
                cell = cells.ld(start + t);
            }
            // After the last chunk's threads are done with the words.
            thread::sync_threads();
            self.add(count, cell, mine);
            start += count;
        }
    }
}
