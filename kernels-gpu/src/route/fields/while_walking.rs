//! Offering the cells of a path to fields while a thread still follows it.
//!
//! The thread queues the cells, and tells from time to time how many there are. The other warps ask
//! the fields for their distances: a warp per field, or half a warp if there are more fields. Pins
//! get nearer only once the thread has reached the path's end, since a walk may meet a tie that it
//! cannot decide.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::join::{BLOCK, Join, WARPS, word};
use super::offer::OUTSIDE;
use super::{CellXy, Entry, FieldBox, LIMIT, Start};
use crate::primitives::quotient;

/// The number of cells after which the thread tells how many there are: half a warp offers as many
/// at a time.
const AT_ONCE: u32 = WARP_SIZE / 2;

/// How far a walk has come: the number of cells that are queued, and these bits.
mod progress {
    /// The walk has ended.
    pub(super) const ENDED: u32 = 1 << 31;
    /// The path is complete.
    pub(super) const COMPLETE: u32 = 1 << 30;
    /// The bits of the number.
    pub(super) const CELLS: u32 = COMPLETE - 1;
}

/// Where cells with indices row by row lie in the grid.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    /// The first column and row.
    first: CellXy,
    /// The distance between rows, less than 2¹⁶.
    pitch: u32,
    /// 2³² divided by it, rounded up.
    inverse: u32,
}

impl Layout {
    /// Rows that are `pitch` apart, 2 at least, from a cell on.
    #[inline(always)]
    pub(super) fn new(first: CellXy, pitch: u32) -> Self {
        Self {
            first,
            pitch,
            inverse: quotient(u32::MAX, pitch) + 1,
        }
    }

    /// Rows that are 2 to the power of `log_pitch` apart, which is 1 to 15, from a cell on.
    #[inline(always)]
    pub(super) const fn of_power(first: CellXy, log_pitch: u32) -> Self {
        Self {
            first,
            pitch: 1 << log_pitch,
            inverse: 1 << (u32::BITS - log_pitch),
        }
    }

    /// Cell `at`, less than 2¹⁶: with these limits, the rounded quotient is exact.
    #[inline(always)]
    pub(super) const fn cell(self, at: u32) -> CellXy {
        let row = ((at as u64 * self.inverse as u64) >> 32) as u32;
        CellXy {
            x: self.first.x + at - row * self.pitch,
            y: self.first.y + row,
        }
    }
}

/// Where the cells of a path go.
#[derive(Clone, Copy)]
pub(super) struct Destination {
    /// The word that counts the fields on the list: see [`word::NEAR`].
    pub(super) near: u32,
    /// The number of the path's first cell among those of the net's paths.
    pub(super) first: u32,
    /// Whether they are queued from the pin to the tree.
    pub(super) is_from_pin: bool,
}

impl Join<'_> {
    /// Has thread 0 follow a path ([`tell`](Self::tell), [`end`](Self::end)), while a warp makes
    /// the pin one of those that are joined. Given a destination, it also offers the cells to the
    /// fields on the list, and once the path is complete, adds them to the tree and writes them.
    /// Called by the whole block, after a barrier; ends with one.
    #[inline(always)]
    pub(super) fn follow_and_offer(
        &self,
        pin: u32,
        layout: Layout,
        destination: Option<Destination>,
        follow: impl FnOnce(),
    ) {
        let t = thread::thread_idx_x();
        if t == 0 {
            follow();
        }
        if t / WARP_SIZE == 1 {
            self.set_joined(pin);
            // planted: walk-set
            warp::sync_warp(FULL_MASK);
            if t == WARP_SIZE {
                self.words.st_release(word::IS_JOINED, 1, Block);
            }
        }
        if let Some(destination) = destination {
            if t >= WARP_SIZE {
                self.offer_walked(layout, self.words.ld(destination.near));
            } else {
                // planted: walk-settle
                warp::sync_warp(FULL_MASK);
                self.settle(layout, destination);
            }
        }
        thread::sync_threads();
    }

    /// Makes the words ready for following a path. Called by one thread.
    #[inline(always)]
    pub(super) fn forget_walk(&self) {
        self.words.st(word::PROGRESS, 0);
        self.words.st(word::IS_JOINED, 0);
    }

    /// Tells the other warps that `count` cells of the path are queued, if that is [`AT_ONCE`] more
    /// than they were told before.
    #[inline(always)]
    pub(super) fn tell(&self, count: u32, told: &mut u32) {
        if count - *told >= AT_ONCE {
            *told = count;
            // planted: walk-progress
            self.words.st_release(word::PROGRESS, count, Block);
        }
    }

    /// Tells the other warps that all `count` cells are queued, and whether they are a whole path.
    #[inline(always)]
    pub(super) fn end(&self, count: u32, is_complete: bool) {
        let complete = if is_complete { progress::COMPLETE } else { 0 };
        // The pin has to be marked as joined before any other pin gets nearer: they may be of the
        // same group.
        // planted: walk-joined
        while self.words.ld_acquire(word::IS_JOINED, Block) == 0 {}
        let progress = count | complete | progress::ENDED;
        self.words.st_release(word::PROGRESS, progress, Block);
    }

    /// Writes the cells of a complete path, and adds them to the tree. Called by the warp of the
    /// thread that has followed it.
    #[inline(always)]
    fn settle(&self, layout: Layout, to: Destination) {
        let progress = self.words.ld_relaxed(word::PROGRESS, Block);
        if progress & progress::COMPLETE == 0 {
            return;
        }
        let count = progress & progress::CELLS;
        let mut i = warp::lane_id();
        while i < count {
            let cell = layout.cell(self.queue.ld(i).into());
            let place = if to.is_from_pin { count - 1 - i } else { i };
            self.write(to.first + place, cell);
            self.add_to_tree(cell);
            i += WARP_SIZE;
        }
    }

    /// Offers the cells of a walk, while it goes on, to the fields of the listed pins, which get
    /// nearer if the walk turns out to be the whole path. Called by all warps but the first, whole.
    #[inline(always)]
    fn offer_walked(&self, layout: Layout, listed: u32) {
        // The binary logarithm of the lanes per field.
        let log_team = WARP_SIZE.ilog2() - u32::from(listed >= WARPS);
        let team = 1 << log_team;
        let lane = warp::lane_id() % team;
        let first_lane = warp::lane_id() - lane;
        let lanes = FULL_MASK >> (WARP_SIZE - team) << first_lane;
        let mut i = (thread::thread_idx_x() - WARP_SIZE) >> log_team;
        loop {
            // The lanes of a warp go on together.
            let is_listed = i < listed;
            if !warp::warp_vote_any(FULL_MASK, is_listed) {
                return;
            }
            let (mut pin, mut extent) = (0, FieldBox::default());
            if is_listed {
                pin = self.list.ld(i);
                extent = self.field(pin).extent;
            }
            let (mut distance, mut start, mut is_many) = (LIMIT, 0, false);
            let mut c = lane;
            let walked = loop {
                let walked = self.wait_for_cell(c - lane + team - 1);
                if c >= walked & progress::CELLS {
                    break walked;
                }
                let CellXy { x, y } = layout.cell(self.queue.ld(c).into());
                let index = extent.index_of((x, y));
                if index != OUTSIDE {
                    let entry = Entry(self.entries.ld(extent.first_entry + index));
                    if entry.distance() <= distance {
                        // A path has no cell twice.
                        is_many = entry.distance() == distance;
                        (distance, start) = (entry.distance(), Start::new(index, entry).0);
                    }
                }
                c += team;
            };
            if !warp::warp_vote_all(FULL_MASK, walked & progress::COMPLETE != 0) {
                return;
            }
            let least = team_least(distance, team);
            let nearest = warp::warp_vote_ballot(FULL_MASK, distance == least) & lanes;
            let many = warp::warp_vote_ballot(FULL_MASK, is_many && distance == least) & lanes;
            let from = nearest.trailing_zeros();
            let start = warp::warp_shuffle_idx(FULL_MASK, start, from, WARP_SIZE).0;
            if is_listed && lane == 0 {
                // planted: walk-many
                let is_many = many != 0 || !nearest.is_power_of_two();
                self.offered(pin, least, Start(start), is_many);
            }
            i += (BLOCK - WARP_SIZE) >> log_team;
        }
    }

    /// Waits until cell number `c` of a path is queued, or the last one is; returns the
    /// [`progress`].
    #[inline(always)]
    fn wait_for_cell(&self, c: u32) -> u32 {
        loop {
            let walked = self.words.ld_acquire(word::PROGRESS, Block);
            if walked & progress::ENDED != 0 || c < walked & progress::CELLS {
                return walked;
            }
        }
    }
}

/// The least of each `team` lanes of a warp, in all of them.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn team_least(mut value: u32, team: u32) -> u32 {
    let other = warp::warp_shuffle_xor(FULL_MASK, value, AT_ONCE, WARP_SIZE).0;
    if team > AT_ONCE {
        value = value.min(other);
    }
    let mut distance = AT_ONCE / 2;
    while distance > 0 {
        // planted: walk-half
        value = value.min(warp::warp_shuffle_xor(FULL_MASK, value, distance, WARP_SIZE).0);
        distance /= 2;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Around each row's first and last cell, where a quotient that is not exact would show.
    #[test]
    fn cells_have_the_rows_of_a_division() {
        let first = CellXy { x: 7, y: 1000 };
        for pitch in 2..1 << 16 {
            let layout = Layout::new(first, pitch);
            let starts = (0..1 << 16).step_by(pitch as usize);
            for at in starts.flat_map(|start: u32| [start.saturating_sub(1), start]) {
                let CellXy { x, y } = layout.cell(at);
                let expected = (7 + at % pitch, 1000 + at / pitch);
                assert_eq!(
                    (x, y),
                    expected,
                    "cell {at}, {pitch} to a row: not the oracle's"
                );
            }
        }
        for log_pitch in 1..16 {
            let (layout, other) = (
                Layout::of_power(first, log_pitch),
                Layout::new(first, 1 << log_pitch),
            );
            assert_eq!((layout.pitch, layout.inverse), (other.pitch, other.inverse));
        }
    }
}
