//! Passes 1 and 2: suppression of points by others.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, warp_vote_any};

use super::search::first_where;
use super::walks::Walks;
use super::{Candidates, DROPPED, KeptPoints, UNDECIDED};
use crate::primitives::scan::ScanState;
use crate::trace::BLOCK;

/// Pass 1: drops a point if another within half its region of support is more significant, and has
/// not been dropped before the walk comes to the point. Launch: one thread per point.
///
/// Later points of the walk are still as measured when a point's turn comes. For an earlier and
/// more significant point, the thread needs to know whether it has been dropped, and waits until
/// its region says so. No thread waits for a later point, and blocks take the points in order, from
/// `ticket`. So the blocks of all points that are waited for have started, and the first undecided
/// point waits for none.
///
/// ```text
/// take the block's points from `ticket`
/// drop the point if a later one within half its region is stronger
/// until every point of the warp is decided:
///     go on to the first earlier, stronger point that is not dropped
///     if there is none: keep the point
///     if that point is known to stay: drop the point
///     else: look again
/// ```
///
/// # Safety
///
/// `significance`, `regions` and `ticket` are as the kernels of [`measure`](mod@super::measure)
/// leave them for the points of `walks`. Nothing else uses `regions` and `ticket` meanwhile.
#[kernel(block = BLOCK, len(significance = walks.points, regions = walks.points, ticket = 1))]
pub unsafe fn suppress_non_maxima(
    walks: Walks<'_>,
    significance: View<'_, u32>,
    regions: ViewMut<'_, u32>,
    ticket: ViewMut<'_, u32>,
) {
    let taken = shared_array![u32; 1];
    let t = thread::thread_idx_x();
    if t == 0 {
        taken.st(0u32, ticket.atomic_add(0u32, 1));
    }
    // planted: dominant-ticket-barrier
    thread::sync_threads();
    // planted: dominant-ticket
    let i = taken.ld(0u32) * BLOCK + t;
    let place = walks.place(i);
    let mut support = 0;
    let mut is_undecided = false;
    if i < walks.points {
        let region = regions.ld(i);
        is_undecided = region & UNDECIDED != 0;
        support = region & !UNDECIDED;
    }
    let end = if is_undecided { support / 2 + 1 } else { 0 };

    let is_stronger = |other: u32, point: u32| significance.ldg(other) > significance.ldg(point);
    let later = first_where(place, 1, end, |place, j, _| {
        let point = place.index();
        // planted: dominant-later
        let holds = |other| other > point && is_stronger(other, point);
        let [before, after] = place.around(j);
        holds(before) || holds(after)
    });
    if later < end {
        regions.st_relaxed(i, DROPPED, Device);
        is_undecided = false;
    }

    // The region of `other` if it is earlier than `point` and stronger. Any other point counts as
    // dropped: it suppresses nothing.
    let region_of = |other: u32, point: u32| {
        if other < point && is_stronger(other, point) {
            // planted: dominant-plain-region
            regions.ld_relaxed(other, Device)
        } else {
            DROPPED
        }
    };
    // At fewer steps than `j`, earlier points suppress nothing.
    let mut j = 1;
    while warp_vote_any(FULL_MASK, is_undecided) {
        let to = if is_undecided { end } else { j };
        j = first_where(place, j, to, |place, j, _| {
            let [before, after] = place.around(j);
            let point = place.index();
            region_of(before, point) != DROPPED || region_of(after, point) != DROPPED
        });
        if is_undecided {
            let mut is_suppressed = false;
            if j < end {
                // Undecided regions are larger than `DROPPED`; regions of points that stay are
                // smaller.
                let [before, after] = place.around(j);
                // planted: dominant-wait
                is_suppressed = region_of(before, i).min(region_of(after, i)) < DROPPED;
            }
            if is_suppressed || j == end {
                let region = if is_suppressed { DROPPED } else { support };
                // planted: dominant-plain-store
                regions.st_relaxed(i, region, Device);
                is_undecided = false;
            }
        }
    }
}

/// Pass 2: keeps those points of region 1 that are more significant than both their neighbours.
/// Makes the scan's state ready for [`KeptPoints::counts`]. Launch: [`threads`](super::threads)
/// threads.
///
/// # Safety
///
/// `candidates` are as [`suppress_non_maxima`](fn@suppress_non_maxima) leaves them for the points
/// of `walks`. `kept` and `scan` are for [`words`](super::words) words, and nothing else uses the
/// two meanwhile.
#[kernel(
    block = BLOCK,
    len(candidates = walks.points, kept = walks.points, scan = kept.counts.len() as u32),
)]
pub unsafe fn suppress_least_support(
    walks: Walks<'_>,
    candidates: Candidates<'_>,
    kept: KeptPoints<'_>,
    scan: ScanState<'_>,
) {
    let i = thread::index_1d();
    // planted: dominant-scan-ready
    scan.make_ready(i);
    let place = walks.place(i);
    let mut keep = false;
    if i < walks.points && candidates.contains(i) {
        let last = place.first + (place.len - 1);
        keep = stays(candidates, place.first, last, i);
    }
    kept.write(i, keep);
}

/// Whether pass 2 keeps a candidate of the walk from `first` to `last`.
#[inline(always)]
fn stays(candidates: Candidates<'_>, first: u32, last: u32, point: u32) -> bool {
    let mut point = point;
    // Whether the answer for the original `point` is the opposite of that for the current one.
    let mut is_opposite = false;
    loop {
        if candidates.regions.ldg(point) != 1 {
            return !is_opposite;
        }
        let own = candidates.significance.ldg(point);
        // After the last point comes the first, which is already decided.
        let after = if point < last {
            candidates.remaining(point + 1)
        } else if first_stays(candidates, first, last) {
            candidates.remaining(first)
        } else {
            0
        };
        if own <= after {
            return is_opposite;
        }
        let before = if point > first { point - 1 } else { last };
        if own > candidates.remaining(before) {
            return !is_opposite;
        }
        // When the first point's turn comes, the last one is still as measured.
        if point == first {
            return is_opposite;
        }
        // The point stays if the one before it does not. That one is more significant; points of
        // region 1 have one of four significances, so there are at most five rounds.
        // planted: least-chain
        is_opposite = !is_opposite;
        point = before;
    }
}

/// Whether pass 2 keeps the first point of a walk of two points or more. When its turn comes, its
/// neighbours are still as measured.
#[inline(always)]
fn first_stays(candidates: Candidates<'_>, first: u32, last: u32) -> bool {
    if !candidates.contains(first) {
        return false;
    }
    let neighbours = candidates
        .remaining(last)
        .max(candidates.remaining(first + 1));
    // planted: least-wrap
    candidates.regions.ldg(first) != 1 || candidates.significance.ldg(first) > neighbours
}
