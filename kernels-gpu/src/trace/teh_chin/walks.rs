//! Closed walks stored one after the other, and the places of points on them.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE, warp_reduce_or, warp_shuffle_idx, warp_vote_ballot};

/// The ranges of closed walks in an array of points.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct Walks<'a> {
    /// The index of each walk's first point, then the number of points. No walk is empty.
    pub offsets: View<'a, u32>,
    /// The number of points.
    pub points: u32,
}

/// A point of a closed walk.
#[derive(Clone, Copy)]
pub(super) struct WalkPlace {
    /// The index of the walk's first point.
    pub(super) first: u32,
    /// The number of the walk's points.
    pub(super) len: u32,
    /// The number of points before this one on the walk.
    pub(super) at: u32,
}

impl WalkPlace {
    /// The point's index.
    #[inline(always)]
    pub(super) const fn index(self) -> u32 {
        self.first + self.at
    }

    /// The indices of the points `j` steps before and after this one; `j` is at most the walk's
    /// length.
    #[inline(always)]
    pub(super) const fn around(self, j: u32) -> [u32; 2] {
        let WalkPlace { first, len, at } = self;
        let before = if j <= at { at - j } else { at + (len - j) };
        let after = if j < len - at { at + j } else { j - (len - at) };
        [first + before, first + after]
    }

    /// The place held by lane `lane` of this warp. Called by all threads of the warp.
    #[inline(always)]
    pub(super) fn of_lane(self, lane: u32) -> Self {
        let of_lane = |value| warp_shuffle_idx(FULL_MASK, value, lane, WARP_SIZE).0;
        WalkPlace {
            first: of_lane(self.first),
            len: of_lane(self.len),
            at: of_lane(self.at),
        }
    }
}

impl Walks<'_> {
    /// The place of the point with index `i`; for an index past all points, some place on or after
    /// the last walk. Called by all threads of a warp, with consecutive indices from a multiple of
    /// 32 on.
    #[inline(always)]
    pub(super) fn place(self, i: u32) -> WalkPlace {
        let count = self.offsets.len() as u32 - 1;
        let lane = i % WARP_SIZE;
        let base = i - lane;
        let mut walk = self.walk_of_warp(base, lane, count);
        // One bit for each lane at whose point a later walk begins.
        let next = walk + 1 + lane;
        let mut begins = 0;
        if next < count {
            let begin = self.offsets.ldg(next) - base;
            // planted: dominant-walk-begins
            if begin < WARP_SIZE {
                begins = 1 << begin;
            }
        }
        let begins = warp_reduce_or(FULL_MASK, begins);
        let up_to_lane = u32::MAX >> (WARP_SIZE - 1 - lane);
        walk += (begins & up_to_lane).count_ones();
        let first = self.offsets.ldg(walk);
        WalkPlace {
            first,
            len: self.offsets.ldg(walk + 1) - first,
            at: i - first,
        }
    }

    /// The last of `count` walks that begins at the point `base` or before. The warp tries 32
    /// walks at a time: log₃₂ `count` rounds.
    #[inline(always)]
    fn walk_of_warp(self, base: u32, lane: u32, count: u32) -> u32 {
        // The result is one of the `left` walks from `walk` on.
        let (mut walk, mut left) = (0, count);
        while left > 1 {
            let stride = left.div_ceil(WARP_SIZE);
            let ahead = lane * stride;
            let begins = ahead < left && self.offsets.ldg(walk + ahead) <= base;
            // The first one always does.
            let ahead = (warp_vote_ballot(FULL_MASK, begins).count_ones() - 1) * stride;
            walk += ahead;
            // planted: dominant-walk-search
            left = stride.min(left - ahead);
        }
        walk
    }
}
