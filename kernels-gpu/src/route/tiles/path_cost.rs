//! The labels of cells: the cost of the cheapest path from the tree, with what is needed to break
//! ties.

use core::ops::Range;

use cuda_std::prelude::*;
use cuda_std::{Atomic, warp::WarpShuffleValue};

/// The cost of a path, as the label of a cell. Labels are compared as numbers. A neighbour's label
/// and the weight of the edge between give a candidate.
///
/// Nothing wraps around: no candidate from a label up to [`UNREACHED`](PathCost::UNREACHED) exceeds
/// the type's range. A candidate over a blocked edge, or from an unreached cell, is no less than
/// `UNREACHED`, so it never replaces a label.
pub trait PathCost: Pod + Atomic + WarpShuffleValue + Ord {
    /// No path reaches the cell, or its cost is too large for the label.
    const UNREACHED: Self;
    /// The cell is on the tree.
    const TREE: Self;
    /// The costs that it holds.
    const COSTS: Range<u64>;
    /// The weight of an edge that is blocked or does not exist.
    const BLOCKED: u32;

    /// Converts a stored weight, `u32::MAX` for a blocked edge, for [`step`](PathCost::step). A
    /// weight that no label can hold is blocked.
    fn weight(stored: u32) -> u32;

    /// The candidate that this label gives to a neighbour over an edge of `weight`.
    fn step(self, weight: u32) -> Self;

    /// The cost.
    fn cost(self) -> u64;

    /// The label of a cost, without steps.
    fn from_cost(cost: u64) -> Self;

    /// A number that never falls as the cost grows, though it may drop low bits; less than 2³¹
    /// unless unreached.
    fn priority(self) -> u32;

    /// 0 if they are the same.
    fn bits_that_differ(a: Self, b: Self) -> u32;

    /// Four labels from element `i` on, a multiple of 4.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn load_row(view: ViewMut<'_, Self>, i: u32) -> [Self; 4];

    /// Stores four labels.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn store_row(view: ViewMut<'_, Self>, i: u32, row: [Self; 4]);

    /// Four labels of shared memory.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn load_shared_row(view: SharedView<Self>, i: u32) -> [Self; 4];

    /// Stores four labels in shared memory.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn store_shared_row(view: SharedView<Self>, i: u32, row: [Self; 4]);
}

/// Only the cost, below 2³¹ - 1: for grids without edges of weight 0.
impl PathCost for u32 {
    const UNREACHED: Self = u32::MAX >> 1;
    const TREE: Self = 0;
    const COSTS: Range<u64> = 0..Self::UNREACHED as u64;
    const BLOCKED: u32 = Self::UNREACHED;

    #[inline(always)]
    fn weight(stored: u32) -> u32 {
        stored.min(<Self as PathCost>::BLOCKED)
    }

    #[inline(always)]
    fn step(self, weight: u32) -> Self {
        self.wrapping_add(weight)
    }

    #[inline(always)]
    fn cost(self) -> u64 {
        u64::from(self)
    }

    #[inline(always)]
    fn from_cost(cost: u64) -> Self {
        cost as u32
    }

    #[inline(always)]
    fn priority(self) -> u32 {
        self
    }

    #[inline(always)]
    fn bits_that_differ(a: Self, b: Self) -> u32 {
        a ^ b
    }

    #[inline(always)]
    fn load_row(view: ViewMut<'_, Self>, i: u32) -> [Self; 4] {
        view.ld_vector(i)
    }

    #[inline(always)]
    fn store_row(view: ViewMut<'_, Self>, i: u32, row: [Self; 4]) {
        view.st_vector(i, row);
    }

    #[inline(always)]
    fn load_shared_row(view: SharedView<Self>, i: u32) -> [Self; 4] {
        view.ld_vector(i)
    }

    #[inline(always)]
    fn store_shared_row(view: SharedView<Self>, i: u32, row: [Self; 4]) {
        view.st_vector(i, row);
    }
}

/// Bits of the steps in a label of 64 bits.
const STEP_BITS: u32 = 28;
/// The most cells of a net's window if labels have 64 bits: a path has fewer steps.
pub const MAX_U64_CELLS: u64 = 1 << STEP_BITS;

/// The cost, below 2³⁵, and in the lowest 28 bits the steps: the least number of edges of weight 0
/// from the cell to one that an edge of weight more than 0 brings nearer to the tree, or that is on
/// the tree.
///
/// The smallest label is that of the cheapest path, and among these of the one with the fewest
/// steps. An edge of weight more than 0 resets the steps, and one of weight 0 adds one, so a
/// smaller label never gives a larger candidate.
impl PathCost for u64 {
    const UNREACHED: Self = 1 << 63;
    const TREE: Self = 0;
    const COSTS: Range<u64> = 0..Self::UNREACHED >> STEP_BITS;
    const BLOCKED: u32 = u32::MAX;

    #[inline(always)]
    fn weight(stored: u32) -> u32 {
        stored
    }

    #[inline(always)]
    fn step(self, weight: u32) -> Self {
        let further = (self >> STEP_BITS).wrapping_add(weight.into()) << STEP_BITS;
        match weight {
            // planted: route-steps
            0 => self.wrapping_add(1),
            <Self as PathCost>::BLOCKED => Self::UNREACHED,
            _ => further,
        }
    }

    #[inline(always)]
    fn cost(self) -> u64 {
        // planted: distance-wide
        self >> STEP_BITS
    }

    #[inline(always)]
    fn from_cost(cost: u64) -> Self {
        cost << STEP_BITS
    }

    #[inline(always)]
    fn priority(self) -> u32 {
        (self >> 32) as u32
    }

    #[inline(always)]
    fn bits_that_differ(a: Self, b: Self) -> u32 {
        (a ^ b) as u32 | ((a ^ b) >> 32) as u32
    }

    #[inline(always)]
    fn load_row(view: ViewMut<'_, Self>, i: u32) -> [Self; 4] {
        let ([a, b], [c, d]) = (view.ld_vector(i), view.ld_vector(i + 2));
        [a, b, c, d]
    }

    #[inline(always)]
    fn store_row(view: ViewMut<'_, Self>, i: u32, [a, b, c, d]: [Self; 4]) {
        view.st_vector(i, [a, b]);
        view.st_vector(i + 2, [c, d]);
    }

    #[inline(always)]
    fn load_shared_row(view: SharedView<Self>, i: u32) -> [Self; 4] {
        let ([a, b], [c, d]) = (view.ld_vector(i), view.ld_vector(i + 2));
        [a, b, c, d]
    }

    #[inline(always)]
    fn store_shared_row(view: SharedView<Self>, i: u32, [a, b, c, d]: [Self; 4]) {
        view.st_vector(i, [a, b]);
        view.st_vector(i + 2, [c, d]);
    }
}
