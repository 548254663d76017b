//! Lists in shared memory, one per warp.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

/// The list of a warp, in its part of the block's memory. All lanes of the warp call its methods
/// together.
pub struct WarpList<T> {
    memory: SharedView<T>,
    /// The first element of the warp's part.
    first: u32,
    count: u32,
}

impl<T: Pod> WarpList<T> {
    /// An empty list in `memory`, which has `len` elements per warp.
    #[inline(always)]
    #[must_use]
    pub fn new(memory: SharedView<T>, len: u32) -> Self {
        Self {
            memory,
            first: thread::thread_idx_x() / WARP_SIZE * len,
            count: 0,
        }
    }

    /// The number of elements in the list.
    #[inline(always)]
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Adds the values of some lanes. The warp's part has room for one more per lane.
    #[inline(always)]
    pub fn put(&mut self, is_put: bool, value: T) {
        let lanes = warp::warp_vote_ballot(FULL_MASK, is_put);
        if is_put {
            let before = (lanes & warp::lanemask_lt()).count_ones();
            self.memory.st(self.first + self.count + before, value);
        }
        self.count += lanes.count_ones();
    }

    /// Removes the last value per lane; `none` for lanes beyond the first value.
    #[inline(always)]
    pub fn take(&mut self, lane: u32, none: T) -> T {
        // planted: previous-aside-put
        warp::sync_warp(FULL_MASK);
        let taken = self.count.min(WARP_SIZE);
        self.count -= taken;
        let value = if lane < taken {
            self.memory.ld(self.first + self.count + lane)
        } else {
            none
        };
        // The values are read before others are put in their places.
        // planted: previous-aside-taken
        warp::sync_warp(FULL_MASK);
        value
    }

    /// Appends all values to `list`, whose length is element `length` of `counters`, and empties
    /// the warp's list.
    #[inline(always)]
    pub fn append_to(&mut self, list: ViewMut<'_, T>, counters: ViewMut<'_, u32>, length: u32) {
        if self.count == 0 {
            return;
        }
        let lane = thread::thread_idx_x() % WARP_SIZE;
        let mut at = 0;
        if lane == 0 {
            // planted: hierarchy-list-plain
            at = counters.atomic_add(length, self.count);
        }
        let (at, _) = warp::warp_shuffle_idx(FULL_MASK, at, 0, WARP_SIZE);
        // planted: hierarchy-list-put
        warp::sync_warp(FULL_MASK);
        let mut i = lane;
        while i < self.count {
            list.st(at + i, self.memory.ld(self.first + i));
            i += WARP_SIZE;
        }
        // All are read before others are put in their places.
        // planted: hierarchy-list-read
        warp::sync_warp(FULL_MASK);
        self.count = 0;
    }
}
