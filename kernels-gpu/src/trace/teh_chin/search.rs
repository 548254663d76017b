//! Searches along a walk, one per thread: short, or as long as the walk.

use cuda_std::warp::{FULL_MASK, WARP_SIZE, lane_id, warp_shuffle_idx, warp_vote_ballot};

use super::walks::WalkPlace;

/// The number of steps that a thread tries before its warp helps.
const ALONE: u32 = 8;

/// The first `j` from `from` up to `to`, excluded, for which `holds(place, j, to)`, or else `to`;
/// `from` if it is not less than `to`. Called by all threads of a warp, each with its own `place`
/// and range. For a `j` after the first one, `holds` may return anything.
///
/// A thread tries [`ALONE`] steps. Searches that last longer are then taken one by one, by the
/// whole warp, 32 steps at a time.
#[inline(always)]
pub(super) fn first_where(
    place: WalkPlace,
    from: u32,
    to: u32,
    holds: impl Fn(WalkPlace, u32, u32) -> bool,
) -> u32 {
    let alone = to.min(from + ALONE);
    let mut at = from;
    while at < alone && !holds(place, at, to) {
        at += 1;
    }
    let lane = lane_id();
    let mut longer = warp_vote_ballot(FULL_MASK, at == alone && alone < to);
    while longer != 0 {
        let owner = longer.trailing_zeros();
        longer &= longer - 1;
        let place = place.of_lane(owner);
        let [mut j, to] = [at, to].map(|j| warp_shuffle_idx(FULL_MASK, j, owner, WARP_SIZE).0);
        loop {
            let left = to - j;
            // planted: dominant-warp-end
            let found = warp_vote_ballot(FULL_MASK, lane < left && holds(place, j + lane, to));
            if found != 0 {
                // planted: dominant-warp-first
                j += found.trailing_zeros();
                break;
            }
            if left <= WARP_SIZE {
                j = to;
                break;
            }
            j += WARP_SIZE;
        }
        if lane == owner {
            at = j;
        }
    }
    at
}
