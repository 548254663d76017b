//! Significances and regions of support.
//!
//! Decisions agree with the CPU's to the bit: doubles and one single as in OpenCV, each product and
//! sum rounded separately (LLVM emits `mul.rn` and `add.rn`, which are never fused).

use cuda_std::math::sqrt;
use cuda_std::prelude::*;

use super::search::first_where;
use super::walks::{WalkPlace, Walks};
use super::{DROPPED, UNDECIDED};
use crate::trace::BLOCK;

/// Points and their steps.
#[derive(Clone, Copy)]
struct Curve<'a> {
    /// x and y of each point.
    points: View<'a, i32>,
}

/// For a region of support of k points to either side: the chord's squared length, and the product
/// of the chord's length and the point's distance from it.
#[derive(Clone, Copy)]
struct Bow {
    chord: i64,
    height: i64,
}

impl Curve<'_> {
    #[inline(always)]
    fn point(&self, index: u32) -> [i32; 2] {
        // Indices of coordinates may pass 2³².
        self.points.ldg_vector(index as usize * 2)
    }

    /// The vectors from a point to those `j` steps before and after it.
    #[inline(always)]
    fn arms(&self, place: WalkPlace, j: u32) -> [[i32; 2]; 2] {
        let [x, y] = self.point(place.index());
        place.around(j).map(|index| {
            let [other_x, other_y] = self.point(index);
            [other_x - x, other_y - y]
        })
    }

    /// The change of direction at a point, in eighths of a turn, 0 to 4.
    #[inline(always)]
    fn turn(&self, place: WalkPlace) -> u32 {
        let [before, after] = self.arms(place, 1);
        let step_in = [-before[0], -before[1]];
        let dot = step_in[0] * after[0] + step_in[1] * after[1];
        // Between a diagonal step and another one, the angle is odd.
        let is_odd = (step_in[0] + step_in[1] + after[0] + after[1]) & 1;
        (2 - dot.signum() * (2 - is_odd)).cast_unsigned()
    }

    #[inline(always)]
    fn bow(&self, place: WalkPlace, k: u32) -> Bow {
        let [before, after] = self.arms(place, k);
        let product = |a: i32, b: i32| i64::from(a) * i64::from(b);
        let span = [after[0] - before[0], after[1] - before[1]];
        Bow {
            chord: product(span[0], span[0]) + product(span[1], span[1]),
            height: product(before[1], span[0]) - product(before[0], span[1]),
        }
    }

    /// Whether the region of support ends at `k`, if it has not ended before. It ends at half the
    /// walk's length at the latest: there the chord is no longer than before.
    #[inline(always)]
    fn region_ends(&self, place: WalkPlace, k: u32) -> bool {
        let here = self.bow(place, k);
        let further = self.bow(place, k + 1);
        // Compares height / chord. OpenCV subtracts, and looks at the sign.
        let falling = here.height as f64 * further.chord as f64;
        let rising = further.height as f64 * here.chord as f64;
        here.chord >= further.chord
            // planted: region-flat
            || (here.height > 0 && falling <= rising)
            // planted: region-negative
            || (here.height < 0 && falling >= rising)
    }

    /// The [cosine](cosine_between) between the arms of length `j`.
    #[inline(always)]
    fn cosine(&self, place: WalkPlace, j: u32) -> u32 {
        let [[ax, ay], [bx, by]] = self.arms(place, j);
        cosine_between(ax, ay, bx, by)
    }

    /// Whether the search for the largest cosine ends `shrunk` steps below the region of support,
    /// if it has not ended before: there the arms have no length, or the cosine does not grow.
    #[inline(always)]
    fn cosine_ends(&self, place: WalkPlace, shrunk: u32, support: u32) -> bool {
        let j = support - shrunk;
        let before = if shrunk > 0 {
            self.cosine(place, j + 1)
        } else {
            0
        };
        // planted: cosine-equal
        self.cosine(place, j) <= before
    }
}

/// The cosine between two vectors, as bits in the same order as cosines; 0 if one vector has no
/// length.
///
/// Not inlined: with the division and the root, each use would take more registers than there are.
#[inline(never)]
fn cosine_between(ax: i32, ay: i32, bx: i32, by: i32) -> u32 {
    let [ax, ay, bx, by] = [ax, ay, bx, by].map(f64::from);
    let (a2, b2) = (ax * ax + ay * ay, bx * bx + by * by);
    if a2 == 0.0 || b2 == 0.0 {
        return 0;
    }
    let cosine = ((ax * bx + ay * by) / sqrt(a2 * b2)) as f32;
    // Above 0, where floats are in the order of their bits.
    ((f64::from(cosine) + 1.1) as f32).to_bits()
}

/// The results of the kernels here. The sizes are the number of points.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(u32, buffers = MeasureBuffers)]
pub struct Measures<'a> {
    /// As [`Candidates::significance`](super::Candidates::significance).
    #[len(*sizes)]
    pub significance: ViewMut<'a, u32>,
    /// As [`Candidates::regions`](super::Candidates::regions), but some points are left for
    /// [`suppress_non_maxima`](fn@super::suppress::suppress_non_maxima) to decide.
    #[len(*sizes)]
    pub regions: ViewMut<'a, u32>,
}

/// Measures the turn, as significance, and the region of support of each point where its walk
/// turns, and drops the others. Makes `ticket` ready for
/// [`suppress_non_maxima`](fn@super::suppress::suppress_non_maxima). Launch: one thread per point.
///
/// # Safety
///
/// `points` has x and y of each of the walks' points, and starts at a multiple of 8 bytes; each
/// point is one of the eight neighbours of the one before it on its closed walk. `ticket` has one
/// element, and `measures` one per point in each view; nothing else uses them meanwhile.
#[kernel(block = BLOCK, f64, len(points = 2 * walks.points, measures = walks.points, ticket = 1))]
pub unsafe fn measure_points(
    points: View<'_, i32>,
    walks: Walks<'_>,
    measures: Measures<'_>,
    ticket: ViewMut<'_, u32>,
) {
    let i = thread::index_1d();
    if i == 0 {
        ticket.st(0u32, 0);
    }
    let curve = Curve { points };
    let place = walks.place(i);
    let is_point = i < walks.points;
    // planted: dominant-only-point
    let is_only = place.len == 1;
    let mut turn = 0;
    if is_point && !is_only {
        turn = curve.turn(place);
    }
    let end = if turn != 0 { place.len } else { 0 };
    let support = first_where(place, 1, end, |place, k, _| curve.region_ends(place, k));
    if is_point {
        let region = if is_only {
            0
        } else if turn == 0 {
            DROPPED
        } else if support > 1 {
            support | UNDECIDED
        } else {
            support
        };
        measures.significance.st(i, turn);
        measures.regions.st(i, region);
    }
}

/// Replaces turns by cosines, as bits in the same order: the largest cosine met while the arms
/// shrink from the region of support, for as long as it grows; 0 if there is none. Launch: one
/// thread per point.
///
/// # Safety
///
/// `points` and `walks` are those of [`measure_points`](fn@measure_points), and `regions` is its
/// result. `significance` has one element per point, and nothing else uses it meanwhile.
#[kernel(
    block = BLOCK,
    f64,
    len(points = 2 * walks.points, regions = walks.points, significance = walks.points),
)]
pub unsafe fn measure_cosines(
    points: View<'_, i32>,
    walks: Walks<'_>,
    regions: View<'_, u32>,
    significance: ViewMut<'_, u32>,
) {
    let i = thread::index_1d();
    let curve = Curve { points };
    let place = walks.place(i);
    let mut support = 0;
    if i < walks.points {
        let region = regions.ldg(i);
        if region != DROPPED {
            support = region & !UNDECIDED;
        }
    }
    let shrunk = first_where(place, 0, support, |place, shrunk, support| {
        curve.cosine_ends(place, shrunk, support)
    });
    if support > 0 {
        // The cosine of the last arms before the end.
        let largest = if shrunk > 0 {
            curve.cosine(place, support - shrunk + 1)
        } else {
            0
        };
        significance.st(i, largest);
    }
}
