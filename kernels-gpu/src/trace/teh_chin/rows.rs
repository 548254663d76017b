//! Pass 3: unbroken rows of survivors.

use cuda_std::prelude::*;

use super::walks::{WalkPlace, Walks};
use super::{Candidates, KeptPoints};
use crate::primitives::ranked_bits::RankedBits;
use crate::primitives::scan::ScanState;
use crate::trace::BLOCK;

/// Thins rows of adjacent survivors: of three or more, the ends stay; of two, the more significant
/// one, or among equals the one with the smaller region of support. A walk of survivors only stays
/// whole.
///
/// A row that runs over the start of the walk is treated as in OpenCV. Its part from the start on
/// stays whole, and of the part before the start only the first point stays. If both parts are
/// single points, the start stays, and in the place of the last point the winner of the two. If the
/// start wins, it is there twice: then it is also written to `points` in the last point's place.
/// Where thinning begins, a row of three or more keeps its second point too: the row that begins at
/// the start or, after two single points there, the row after the start's.
///
/// Makes the scan's state ready for [`KeptPoints::counts`]. Launch: [`threads`](super::threads)
/// threads.
///
/// # Safety
///
/// `candidates` are as measured, and `survivors` those of
/// [`suppress_least_support`](fn@super::suppress::suppress_least_support), whose counts have been
/// scanned. `points` has x and y of each point. `kept` and `scan` are for [`words`](super::words)
/// words. Nothing else uses these three meanwhile.
#[kernel(
    block = BLOCK,
    len(
        candidates = walks.points,
        survivors = walks.points + 1,
        points = 2 * walks.points,
        kept = walks.points,
        scan = kept.counts.len() as u32,
    ),
)]
pub unsafe fn thin_rows(
    walks: Walks<'_>,
    candidates: Candidates<'_>,
    survivors: RankedBits<'_>,
    points: ViewMut<'_, i32>,
    kept: KeptPoints<'_>,
    scan: ScanState<'_>,
) {
    let i = thread::index_1d();
    scan.make_ready(i);
    let place = walks.place(i);
    let mut keep = false;
    if i < walks.points && survivors.contains(i) {
        let rows = Rows::of(survivors, place);
        keep = rows.keep(candidates, place.at);
        // planted: row-start-twice
        if rows.parts == Parts::Single && place.at == place.len - 1 {
            let start = place.first;
            if !candidates.is_first_of_two(i, start) {
                let point: [i32; 2] = points.ld_vector(start as usize * 2);
                points.st_vector(i as usize * 2, point);
            }
        }
    }
    kept.write(i, keep);
}

impl Candidates<'_> {
    /// Whether, of two consecutive points, the first one stays.
    #[inline(always)]
    fn is_first_of_two(&self, first: u32, second: u32) -> bool {
        let [s1, s2] = [first, second].map(|point| self.significance.ldg(point));
        // planted: row-of-two
        s1 > s2 || (s1 == s2 && self.regions.ldg(first) <= self.regions.ldg(second))
    }
}

/// The parts of a row that runs over the start of its walk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parts {
    /// No row runs over the start.
    None,
    /// One point before the start, and the start.
    Single,
    /// One of the parts is longer.
    Longer,
}

/// The survivors of one walk. Points are numbered along the walk.
#[derive(Clone, Copy)]
struct Rows<'a> {
    survivors: RankedBits<'a>,
    /// The index of the walk's first point.
    first: u32,
    /// The number of its points.
    len: u32,
    /// The numbers of survivors before the walk and on it.
    before: u32,
    count: u32,
    parts: Parts,
}

impl<'a> Rows<'a> {
    #[inline(always)]
    fn of(survivors: RankedBits<'a>, place: WalkPlace) -> Self {
        let WalkPlace { first, len, .. } = place;
        let before = survivors.rank(first);
        let mut rows = Rows {
            survivors,
            first,
            len,
            before,
            count: survivors.rank(first + len) - before,
            parts: Parts::None,
        };
        if rows.contains(0) && rows.contains(len - 1) {
            rows.parts = if len > 2 && !rows.contains(1) && !rows.contains(len - 2) {
                Parts::Single
            } else {
                Parts::Longer
            };
        }
        rows
    }

    /// Whether the walk has a point with this number, and it survives.
    #[inline(always)]
    fn contains(self, at: u32) -> bool {
        at < self.len && self.survivors.contains(self.first + at)
    }

    /// Whether the survivor `at` stays.
    #[inline(always)]
    fn keep(self, candidates: Candidates<'_>, at: u32) -> bool {
        let point = self.first + at;
        let before = self.survivors.rank(point) - self.before;
        // The number before 0 wraps around and is larger than all.
        let follows = self.contains(at.wrapping_sub(1));
        let goes_on = self.contains(at + 1);
        match self.parts {
            // All points before it survive, or all of the walk.
            // planted: row-leading
            Parts::Longer if before == at => return true,
            // All points after it survive.
            // planted: row-trailing
            Parts::Longer if self.count - before == self.len - at => return !follows,
            _ => {}
        }
        match (follows, goes_on) {
            (false, false) => true,
            (false, true) => self.contains(at + 2) || candidates.is_first_of_two(point, point + 1),
            (true, false) => {
                self.contains(at.wrapping_sub(2)) || !candidates.is_first_of_two(point - 1, point)
            }
            (true, true) => match self.parts {
                // planted: row-second
                Parts::None => at == 1,
                // planted: row-second-single
                Parts::Single => before == 2,
                Parts::Longer => false,
            },
        }
    }
}
