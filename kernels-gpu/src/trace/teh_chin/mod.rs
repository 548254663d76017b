//! Teh and Chin's dominant points of closed walks that have every point: C.-H. Teh and R. T. Chin,
//! "On the Detection of Dominant Points on Digital Curves", IEEE TPAMI 11(8), 1989, as OpenCV
//! chooses them from version 4.10 on.
//!
//! A point where the walk turns has a *significance* and a *region of support*: k points to either
//! side. Of these points,
//! 1. those are dropped that are less significant than one in half their region,
//! 2. then those of region 1 that are not more significant than both their neighbours,
//! 3. then, for [`Curvature::L1`], the inner points of unbroken rows of survivors.
//!
//! | kernel | does | reads, writes per point |
//! | --- | --- | --- |
//! | [`measure_points`](fn@measure::measure_points) | significances and regions | 8 bytes and the points of the region; 8 bytes |
//! | [`suppress_non_maxima`](fn@suppress::suppress_non_maxima) | pass 1 | 4 bytes, and 8 per point of half the region; 4 bytes if the region is larger than 1 |
//! | [`suppress_least_support`](fn@suppress::suppress_least_support) | pass 2 | 8 bytes; 2 bits |
//! | [`thin_rows`](fn@rows::thin_rows) | pass 3 | 2 bits, and 16 bytes per row of two; 2 bits |
//! | [`write_dominant`](fn@write::write_dominant) | copies the dominant points | 2 bits, and 8 bytes if it is dominant; the same 8 bytes |
//!
//! All have one thread per point. A scan follows each kernel that writes bits, whose ranks pass 3
//! and the copy read.
//!
//! # What is sequential in the passes, and why threads give the same
//!
//! In OpenCV each pass runs along the walk and drops a point at once: it counts as significance 0
//! for the points after it. So whether a point stays depends on what has become of points before
//! it. In pass 1, only on those that are more significant, as others drop nothing, dropped or not:
//! a chain of points that wait for each other rises in significance. For `L1` it has at most three
//! links (significances are 1 to 4), for `KCosine` as many as there are different cosines on the
//! way. A thread waits for the points before it, which
//! [`suppress_non_maxima`](fn@suppress::suppress_non_maxima) starts first. In pass 2, a chain has
//! at most four points, which one thread looks at. Pass 3 depends on the ends of a row, and on
//! whether it is the walk's first or last, which ranks say.
//!
//! # Time
//!
//! The sum of the regions of support, as on the CPU: at worst quadratic in the length of a walk,
//! along lines whose steps repeat, such as those of slope 1/2. A region is searched by one thread
//! for [a few points](search) and then by its warp, 32 points at a time. It ends where its chord
//! stops growing.

pub mod measure;
pub mod rows;
pub mod suppress;
pub mod walks;
pub mod write;

mod search;

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE, warp_vote_ballot};

/// What a point's significance is.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, KernelParam)]
pub enum Curvature {
    /// The change of direction at the point, in eighths of a turn.
    L1,
    /// The cosine at the point of the angle spanned by its region of support.
    KCosine,
}

/// The region of a point that is dropped, or has never been a candidate.
const DROPPED: u32 = u32::MAX >> 1;
/// Set in the region of a point that pass 1 has not decided on. The other bits are its region of
/// support.
const UNDECIDED: u32 = 1 << 31;

/// Points that are still candidates, one element per point in each view.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct Candidates<'a> {
    /// Larger where the walk bends more.
    pub significance: View<'a, u32>,
    /// The number of points of the region of support to either side, or that the point is dropped.
    /// 0 if it is its walk's only one.
    pub regions: View<'a, u32>,
}

impl Candidates<'_> {
    /// Whether a point has not been dropped before this kernel.
    #[inline(always)]
    fn contains(&self, point: u32) -> bool {
        self.regions.ldg(point) != DROPPED
    }

    /// A point's significance; 0 if it is dropped.
    #[inline(always)]
    fn significance(&self, point: u32) -> u32 {
        if self.contains(point) {
            self.significance.ldg(point)
        } else {
            0
        }
    }
}

/// Points that stay, as one bit per point and one word more: [`words`] elements in each view.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct KeptPoints<'a> {
    /// The bits.
    pub bits: ViewMut<'a, u32>,
    /// The number of bits in each word, to be scanned.
    pub counts: ViewMut<'a, u32>,
}

impl KeptPoints<'_> {
    /// Writes the bits of a warp's points, of which this thread has `point`. Called by all threads
    /// of the warp.
    #[inline(always)]
    fn write(self, point: u32, keep: bool) {
        let bits = warp_vote_ballot(FULL_MASK, keep);
        let word = point / WARP_SIZE;
        // planted: dominant-words
        if point.is_multiple_of(WARP_SIZE) && (word as usize) < self.bits.len() {
            self.bits.st(word, bits);
            self.counts.st(word, bits.count_ones());
        }
    }
}

/// The number of words of one bit for each of `points` points and for the end after them.
#[must_use]
pub const fn words(points: u32) -> u32 {
    points / WARP_SIZE + 1
}

/// The number of threads of kernels that write [`KeptPoints`].
#[must_use]
pub const fn threads(points: u32) -> u64 {
    words(points) as u64 * WARP_SIZE as u64
}
