//! Stable partition of pairs by one key: those with the key, and the others around them.
//!
//! If most keys are equal, each pass of a sort moves most pairs, though they could go to their
//! final places at once.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::block::sum_of_warps;
use super::grid::{Grid, ScanMemory, each};
use super::sort::Pairs;

/// Stands for no key.
pub const NO_KEY: u32 = u32::MAX;

/// The range of the pairs with one key among sorted pairs.
#[derive(Clone, Copy)]
pub struct Group {
    /// The index of the first one.
    pub first: u32,
    /// Their number.
    pub count: u32,
}

impl Group {
    /// No pairs.
    pub const NONE: Self = Self {
        first: u32::MAX,
        count: 0,
    };

    /// The index among all pairs of the one with index `i` among those with other keys.
    #[inline(always)]
    #[must_use]
    pub const fn around(self, i: u32) -> u32 {
        if i < self.first { i } else { i + self.count }
    }
}

/// The key of most of the first `n` pairs, or [`NO_KEY`], judged by a sample of 128. All lanes of a
/// warp call it; all warps get the same result.
#[inline(always)]
#[must_use]
pub fn common_key(keys: ViewMut<'_, u32>, n: u32) -> u32 {
    let lane = warp::lane_id();
    let distance = n / (4 * WARP_SIZE);
    let sample = [0, 1, 2, 3].map(|part| keys.ld((part * WARP_SIZE + lane) * distance));
    let peers = warp::warp_match_any_32(FULL_MASK, sample[0]).count_ones();
    let in_groups = warp::warp_vote_ballot(FULL_MASK, peers > WARP_SIZE / 3);
    if in_groups == 0 {
        return NO_KEY;
    }
    // There may be two such keys, at most one of which has most pairs. If the sample's first part
    // has the other one first, sorting only takes longer.
    let lane = in_groups.trailing_zeros();
    let (key, _) = warp::warp_shuffle_idx(FULL_MASK, sample[0], lane, WARP_SIZE);
    let [a, b, c, d] =
        sample.map(|other| warp::warp_vote_ballot(FULL_MASK, other == key).count_ones());
    if a + b + c + d > 2 * WARP_SIZE {
        key
    } else {
        NO_KEY
    }
}

/// The lanes of a warp with certain keys, one bit per lane.
#[derive(Clone, Copy)]
struct Lanes {
    /// Those with another key.
    others: u32,
    /// Those with a smaller key.
    smaller: u32,
}

/// Moves `n` pairs. Pairs with the key `common`, if any, go to their final places among sorted
/// pairs, in `sorted`. The others go, in their order, to the places around them, in `unsorted`,
/// which may be the same memory. `keys` has the keys of the pairs; `value` gives a pair's value by
/// its index. Returns the range of the pairs with the key.
///
/// All threads of a cooperative grid call it, after a barrier that follows the last write to
/// `keys`. `smaller` is an array element that is 0; it gets the number of smaller keys. The
/// function waits for all blocks once; the caller puts another barrier before the first use of the
/// result. Reads 8 bytes per pair and writes 8.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub fn partition<const THREADS: u32>(
    grid: Grid<'_, THREADS>,
    keys: ViewMut<'_, u32>,
    n: u32,
    common: u32,
    value: impl Fn(u32) -> u32,
    sorted: Pairs<'_>,
    unsorted: Pairs<'_>,
    smaller: (ViewMut<'_, u32>, u32),
    memory: ScanMemory<'_>,
) -> Group {
    let t = thread::thread_idx_x();
    let load = |at| each(at, |i| if i < n { keys.ld(i) } else { common });
    let lanes = |key| Lanes {
        others: warp::warp_vote_ballot(FULL_MASK, key != common),
        smaller: warp::warp_vote_ballot(FULL_MASK, key < common),
    };
    let (mut others, mut less) = (0, 0);
    grid.for_each_in_warps(n, load, |_, key| {
        let lanes = lanes(key);
        others += lanes.others.count_ones();
        less += lanes.smaller.count_ones();
    });
    if warp::lane_id() == 0 && less > 0 {
        // planted: partition-plain-add
        smaller.0.atomic_add(smaller.1, less);
    }
    let in_block = sum_of_warps(others, 0, memory.warp_sums);
    if t == 0 {
        memory.block_sums.st(grid.block(), in_block.total);
    }
    // planted: partition-barrier
    grid.sync();
    let mut before = in_block.before;
    let mut all = 0;
    let mut block = 0;
    while block < grid.blocks() {
        let sum = memory.block_sums.ld(block);
        before += if block < grid.block() { sum } else { 0 };
        all += sum;
        block += 1;
    }
    let group = Group {
        first: smaller.0.ld(smaller.1),
        count: n - all,
    };
    grid.for_each_in_warps(n, load, |i, key| {
        let others = lanes(key).others;
        let others_before = before + (others & warp::lanemask_lt()).count_ones();
        before += others.count_ones();
        if i < n {
            // planted: partition-order
            let (to, at) = if key == common {
                // planted: partition-sorted
                (sorted, group.first + (i - others_before))
            } else {
                (unsorted, group.around(others_before))
            };
            to.keys.st(at, key);
            to.values.st(at, value(i));
        }
    });
    group
}
