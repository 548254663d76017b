//! Operations of a whole block: all its threads call them together.
//!
//! The block extends only along x and consists of whole warps. Each operation exchanges values in a
//! shared array that the caller provides. The caller puts a barrier between two uses of the same
//! array.

use cuda_std::prelude::*;
use cuda_std::warp::WARP_SIZE;

use super::warp;

/// A prefix sum over the threads or the warps of a block, modulo 2³², as one of them sees it.
#[derive(Clone, Copy)]
pub struct PrefixSum {
    /// The sum of the values before this thread's or warp's.
    pub before: u32,
    /// The sum of all values.
    pub total: u32,
}

/// The prefix sum of one `value` per thread, in the order of the threads. Takes one barrier.
///
/// `warp_sums` has one element per warp of the block.
#[inline(always)]
#[must_use]
pub fn sum_of_threads(value: u32, warp_sums: SharedView<u32>) -> PrefixSum {
    let lane = thread::thread_idx_x() % WARP_SIZE;
    let through = warp::inclusive_sum(value, lane);
    let warps = sum_of_warps(through, WARP_SIZE - 1, warp_sums);
    PrefixSum {
        before: warps.before.wrapping_add(through.wrapping_sub(value)),
        total: warps.total,
    }
}

/// The prefix sum of one value per warp, in the order of the warps: the `value` of the warp's lane
/// `from_lane`. Takes one barrier.
///
/// `warp_sums` has one element per warp of the block.
#[inline(always)]
#[must_use]
pub fn sum_of_warps(value: u32, from_lane: u32, warp_sums: SharedView<u32>) -> PrefixSum {
    let t = thread::thread_idx_x();
    let (warp, lane) = (t / WARP_SIZE, t % WARP_SIZE);
    if lane == from_lane {
        warp_sums.st(warp, value);
    }
    // planted: block-sum-barrier, block-sum-branch, scan-sum-barrier
    thread::sync_threads();
    let mut before = 0;
    let mut total = 0u32;
    for other in 0..warp_sums.len() as u32 {
        if other == warp {
            before = total;
        }
        total = total.wrapping_add(warp_sums.ld(other));
    }
    PrefixSum { before, total }
}
