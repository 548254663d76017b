//! How many borders are below each border.
//!
//! Borders that have children are listed, and count those of their children that have none. Then
//! they tell their ancestors what they have counted, in rounds.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::Borders;
use crate::primitives::grid::each;
use crate::primitives::list_ranking::{END, element, jumped_from, next};
use crate::primitives::warp::inclusive_sum;
use crate::trace::borders::{NO_BORDER, count};

/// What a border with children knows of those below it and above it.
#[derive(Clone, Copy)]
pub(super) struct Known {
    /// The border's rank, or [`NO_BORDER`] for none.
    rank: u32,
    size: u32,
    /// The ancestor that it tells its size, or [`END`].
    ancestor: u32,
    /// The link after one more round.
    jumped: u64,
}

impl Borders<'_> {
    /// The parent of the border with rank `i`, or [`NO_BORDER`], and whether the border has
    /// children; neither for ranks past the last one.
    #[inline(always)]
    pub(super) fn family(&self, i: u32) -> (u32, bool) {
        if i >= self.count {
            return (NO_BORDER, false);
        }
        let first = self.to.first_children.ld(i);
        (self.to.parents.ld(i), first != NO_BORDER)
    }

    /// Adds the border with rank `i` to `list` if it has children; otherwise its parent counts it.
    /// Called by all lanes of a warp with consecutive ranks, also past the last one.
    #[inline(always)]
    pub(super) fn list_parent(
        &self,
        i: u32,
        (parent, has_children): (u32, bool),
        list: ViewMut<'_, u32>,
        counters: ViewMut<'_, u32>,
    ) {
        let is_counted = !has_children && i < self.count;
        add_by_runs(self.to.sizes, 0, parent, u32::from(is_counted));
        let lanes = warp::warp_vote_ballot(FULL_MASK, has_children);
        if lanes == 0 {
            return;
        }
        let before = (lanes & warp::lanemask_lt()).count_ones();
        let mut first = 0;
        if has_children && before == 0 {
            // planted: hierarchy-list-plain
            first = counters.atomic_add(count::PARENTS, lanes.count_ones());
        }
        let (first, _) =
            warp::warp_shuffle_idx(FULL_MASK, first, lanes.trailing_zeros(), WARP_SIZE);
        if has_children {
            list.st(first + before, i);
            self.to.list.st(i, element(link_to(parent), 0));
            self.to.told.st(self.told_in(0, i), 0);
            self.to.told.st(self.told_in(1, i), 0);
            self.to.told.st(self.told_in(2, i), 0);
        }
    }

    /// What the borders with four ranks, or [`NO_BORDER`], know before a round. `list` has links to
    /// the ancestors 2ᵏ levels up.
    #[inline(always)]
    pub(super) fn known(&self, ranks: [u32; 4], round: u32, list: ViewMut<'_, u64>) -> [Known; 4] {
        let known = each(ranks, |rank| {
            if rank == NO_BORDER {
                (rank, 0, element(END, 0))
            } else {
                (rank, self.told_size(rank, round), list.ld(rank))
            }
        });
        each(known, |(rank, size, link)| Known {
            rank,
            size,
            ancestor: next(link),
            jumped: jumped_from(link, list.as_view()),
        })
    }

    /// One round of counting the borders below one that has children. `to` gets links twice as far
    /// as those before. Whether there are any of these. Called by all lanes of a warp.
    #[inline(always)]
    pub(super) fn tell(&self, known: Known, round: u32, to: ViewMut<'_, u64>) -> bool {
        let Known {
            rank,
            size,
            ancestor,
            jumped,
        } = known;
        if rank != NO_BORDER {
            self.to.sizes.st(rank, size);
            // planted: hierarchy-told-zero
            self.to.told.st(self.told_in(round + 1, rank), 0);
            to.st(rank, jumped);
        }
        add_by_runs(self.to.told, self.told_in(round, 0), ancestor, size);
        next(jumped) != END
    }

    /// The number of borders in the part of the forest of the border with rank `i`, after a number
    /// of rounds that told all of it.
    #[inline(always)]
    pub(super) fn size(&self, i: u32, rounds: u32) -> u32 {
        if self.to.first_children.ld(i) == NO_BORDER {
            1
        } else {
            self.told_size(i, rounds)
        }
    }

    /// The number of borders in the part of the forest of the border with rank `i`, which has
    /// children, as far as it is known before a round.
    #[inline(always)]
    fn told_size(&self, i: u32, round: u32) -> u32 {
        // With what was told in the round before.
        self.to.sizes.ld(i) + self.to.told.ld(self.told_in(round + 2, i))
    }

    /// Where the border with rank `i` is told something in a round.
    #[inline(always)]
    fn told_in(&self, round: u32, i: u32) -> usize {
        (round % 3) as usize * self.count as usize + i as usize
    }
}

/// A border's link to its parent, which may be [`NO_BORDER`].
#[inline(always)]
pub(super) const fn link_to(parent: u32) -> u32 {
    const { assert!(NO_BORDER == END) };
    parent
}

/// Adds each lane's value to the element `first + at` of `to`, unless `at` is [`END`]. All lanes of
/// a warp call it.
///
/// Siblings lie side by side, and thousands may have one parent: each run of lanes with the same
/// element adds to it once.
#[inline(always)]
fn add_by_runs(to: ViewMut<'_, u32>, first: usize, at: u32, value: u32) {
    let lane = thread::thread_idx_x() % WARP_SIZE;
    let (before, _) = warp::warp_shuffle_up(FULL_MASK, at, 1, WARP_SIZE);
    let begins = lane == 0 || before != at;
    let first_lanes = warp::warp_vote_ballot(FULL_MASK, begins);
    let through = inclusive_sum(value, lane);
    // The first lane of the lane's own run.
    let begin = 31 - (first_lanes & (u32::MAX >> (31 - lane))).leading_zeros();
    let (at_begin, _) = warp::warp_shuffle_idx(FULL_MASK, through - value, begin, WARP_SIZE);
    let ends = lane == WARP_SIZE - 1 || first_lanes >> (lane + 1) & 1 != 0;
    let sum = through - at_begin;
    if ends && at != END && sum != 0 {
        // planted: sizes-plain-add
        to.atomic_add(first + at as usize, sum);
    }
}
