//! Operations of a whole warp: all its 32 threads call them together.

use cuda_std::warp::{FULL_MASK, WARP_SIZE, warp_shuffle_up};

/// The sum, modulo 2³², of the values of this lane, which is `lane`, and of the lanes before it.
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
