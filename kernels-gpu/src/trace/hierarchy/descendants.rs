//! The number of borders below each border.
//!
//! Borders with children are listed, and count their children without children. Then, in rounds,
//! they add their counts to those of their ancestors.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::{BLOCK, Borders};
use crate::primitives::grid::{Grid, each};
use crate::primitives::list_ranking::{END, element, jumped_from, next};
use crate::primitives::sort;
use crate::primitives::warp::inclusive_sum;
use crate::primitives::warp_list::WarpList;
use crate::trace::borders::{NO_BORDER, count};

/// Elements of a warp's list of borders with children: those put in before it is full, and one more
/// per lane.
const WARP_LIST: u32 = 4 * WARP_SIZE;

/// What a border with children knows of the borders below and above it.
#[derive(Clone, Copy)]
pub(super) struct Known {
    /// The border's rank, or [`NO_BORDER`] for none.
    rank: u32,
    size: u32,
    /// The ancestor that its size is added to, or [`END`].
    ancestor: u32,
    /// Its link after one more round.
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

    /// Lists the borders with children, in any order, for the rounds; adds the others to their
    /// parents' sizes. All threads of the grid call it, before a barrier.
    #[inline(always)]
    pub(super) fn list_parents(
        &self,
        grid: Grid<'_, BLOCK>,
        list: ViewMut<'_, u32>,
        counters: ViewMut<'_, u32>,
        memory: SharedView<u32>,
    ) {
        const { assert!(WARP_LIST * (BLOCK / WARP_SIZE) <= sort::WARP_DIGITS) };
        let mut parents = WarpList::new(memory, WARP_LIST);
        let mut sums = RunSums::new(self.to.sizes, 0);
        let families = |ranks| each(ranks, |i| self.family(i));
        grid.for_each_in_warps(self.count, families, |i, (parent, has_children)| {
            let is_counted = !has_children && i < self.count;
            sums.add(parent, is_counted.into());
            if has_children {
                self.to.list.st(i, element(link_to(parent), 0));
                self.to.told.st(self.told_in(0, i), 0);
                self.to.told.st(self.told_in(1, i), 0);
                self.to.told.st(self.told_in(2, i), 0);
            }
            parents.put(has_children, i);
            // planted: hierarchy-list-full
            if parents.count() > WARP_LIST - WARP_SIZE {
                parents.append_to(list, counters, count::PARENTS);
            }
        });
        parents.append_to(list, counters, count::PARENTS);
        sums.finish();
    }

    /// What the borders with these ranks know before a round; a rank may be [`NO_BORDER`]. `list`
    /// has links to the ancestors 2ᵏ levels up.
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

    /// One round for a border with children: adds its size to its ancestor's. `to` gets a link
    /// twice as far as the one before; returns whether there is such a link. Called by all lanes of
    /// a warp.
    #[inline(always)]
    pub(super) fn tell(
        &self,
        known: Known,
        round: u32,
        to: ViewMut<'_, u64>,
        sums: &mut RunSums<'_>,
    ) -> bool {
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
        sums.add(ancestor, size);
        next(jumped) != END
    }

    /// The sums that borders are told in a round.
    #[inline(always)]
    pub(super) fn told_sums(&self, round: u32) -> RunSums<'_> {
        RunSums::new(self.to.told, self.told_in(round, 0))
    }

    /// The size of the subtree at rank `i` after the last of `rounds` rounds.
    #[inline(always)]
    pub(super) fn size(&self, i: u32, rounds: u32) -> u32 {
        if self.to.first_children.ld(i) == NO_BORDER {
            1
        } else {
            self.told_size(i, rounds)
        }
    }

    /// The size of the subtree at rank `i`, which has children, as far as it is known before a
    /// round.
    #[inline(always)]
    fn told_size(&self, i: u32, round: u32) -> u32 {
        // With what it was told in the previous round.
        self.to.sizes.ld(i) + self.to.told.ld(self.told_in(round + 2, i))
    }

    /// The element in which the border with rank `i` is told its sum of a round.
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

/// Sums of consecutive values that a warp adds to elements of an array.
///
/// Siblings lie side by side, and millions may have one parent: consecutive values for one element
/// are added as one sum.
pub(super) struct RunSums<'a> {
    to: ViewMut<'a, u32>,
    /// The offset of the elements in the array.
    first: usize,
    /// The element that the last values went to, or [`END`].
    last: u32,
    /// Their sum.
    sum: u32,
}

impl<'a> RunSums<'a> {
    #[inline(always)]
    const fn new(to: ViewMut<'a, u32>, first: usize) -> Self {
        Self {
            to,
            first,
            last: END,
            sum: 0,
        }
    }

    /// Adds each lane's value to the element `at`, unless that is [`END`]; the sum may reach the
    /// array later. All lanes of the warp call it.
    #[inline(always)]
    fn add(&mut self, at: u32, value: u32) {
        let lane = thread::thread_idx_x() % WARP_SIZE;
        let (mut before, _) = warp::warp_shuffle_up(FULL_MASK, at, 1, WARP_SIZE);
        if lane == 0 {
            before = self.last;
        }
        let begins = before != at;
        let first_lanes = warp::warp_vote_ballot(FULL_MASK, begins);
        let through = inclusive_sum(value, lane);
        if first_lanes == 0 {
            let (sum, _) = warp::warp_shuffle_idx(FULL_MASK, through, WARP_SIZE - 1, WARP_SIZE);
            self.sum += sum;
            return;
        }
        // Each first lane adds the sum of the run before its own, which began in an earlier lane or
        // before all of them.
        let through_before = through - value;
        let earlier = first_lanes & warp::lanemask_lt();
        let begin = 31 - (earlier | 1).leading_zeros();
        let (at_begin, _) = warp::warp_shuffle_idx(FULL_MASK, through_before, begin, WARP_SIZE);
        let carried = if earlier == 0 { self.sum } else { 0 };
        if begins {
            self.add_to(before, through_before - at_begin + carried);
        }
        let last_begin = 31 - first_lanes.leading_zeros();
        let (at_last, _) = warp::warp_shuffle_idx(FULL_MASK, through_before, last_begin, WARP_SIZE);
        let (all, _) = warp::warp_shuffle_idx(FULL_MASK, through, WARP_SIZE - 1, WARP_SIZE);
        let (last, _) = warp::warp_shuffle_idx(FULL_MASK, at, WARP_SIZE - 1, WARP_SIZE);
        self.sum = all - at_last;
        self.last = last;
    }

    /// Adds the sum that has not reached the array yet. All lanes of the warp call it.
    #[inline(always)]
    pub(super) fn finish(self) {
        if thread::thread_idx_x().is_multiple_of(WARP_SIZE) {
            self.add_to(self.last, self.sum);
        }
    }

    #[inline(always)]
    fn add_to(&self, at: u32, sum: u32) {
        if at != END && sum != 0 {
            // planted: sizes-plain-add
            self.to.atomic_add(self.first + at as usize, sum);
        }
    }
}
