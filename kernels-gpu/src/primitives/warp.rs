//! Operations of a whole warp: all its 32 threads call them together.

use cuda_std::warp::{FULL_MASK, WARP_SIZE, warp_shuffle_idx, warp_shuffle_up, warp_shuffle_xor};

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

/// Transposes a matrix of 32 × 32 bits. Each lane gives a row and gets a column: bit `i` of lane
/// `j` becomes bit `j` of lane `i`.
///
/// Takes five shuffles.
#[inline(always)]
#[must_use]
pub fn transposed(row: u32, lane: u32) -> u32 {
    let mut bits = row;
    let (mut distance, mut low) = (WARP_SIZE / 2, 0x0000_ffff);
    while distance > 0 {
        // The halves off the diagonal are exchanged, in blocks of twice the distance.
        let (other, _) = warp_shuffle_xor(FULL_MASK, bits, distance, WARP_SIZE);
        // planted: transpose-half
        bits = if lane & distance == 0 {
            bits & low | (other & low) << distance
        } else {
            bits & !low | (other & !low) >> distance
        };
        distance /= 2;
        low ^= low << distance;
    }
    bits
}
