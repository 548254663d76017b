//! Operations of a whole warp: all its 32 threads call them together.

use cuda_std::warp::{FULL_MASK, WARP_SIZE, warp_shuffle_idx, warp_shuffle_up};

use super::block::PrefixSum;

/// The sum, modulo 2³², of the values of this lane, `lane`, and of the lanes before it.
///
/// Takes five shuffles.
#[inline(always)]
#[must_use]
pub fn inclusive_sum(value: u32, lane: u32) -> u32 {
    let mut sum = value;
    let mut distance = 1;
    while distance < WARP_SIZE {
        let (before, _) = warp_shuffle_up(FULL_MASK, sum, distance, WARP_SIZE);
        if lane >= distance {
            sum = sum.wrapping_add(before);
        }
        distance *= 2;
    }
    sum
}

/// The prefix sum of one `value` per lane, in the order of the lanes.
///
/// Takes six shuffles.
#[inline(always)]
#[must_use]
pub fn sum_of_lanes(value: u32, lane: u32) -> PrefixSum {
    let through = inclusive_sum(value, lane);
    let (total, _) = warp_shuffle_idx(FULL_MASK, through, WARP_SIZE - 1, WARP_SIZE);
    PrefixSum {
        before: through.wrapping_sub(value),
        total,
    }
}
