//! Teh and Chin's dominant points of closed walks, which have a point per step: C.-H. Teh and R. T.
//! Chin, "On the Detection of Dominant Points on Digital Curves", IEEE TPAMI 11(8), 1989, as OpenCV
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
//! | [`measure_points`](fn@measure::measure_points) | turns and regions of support | 8 bytes, and 8 per point of the region; 8 bytes |
//! | [`measure_cosines`](fn@measure::measure_cosines) | for [`Curvature::KCosine`], cosines | 4 bytes, and the points of the region while the cosine grows; 4 bytes where the walk turns |
//! | [`suppress_non_maxima`](fn@suppress::suppress_non_maxima) | pass 1 | 4 bytes, and 8 per point of half the region; 4 bytes if the region is larger than 1 |
//! | [`suppress_least_support`](fn@suppress::suppress_least_support) | pass 2 | 8 bytes; 2 bits |
//! | [`thin_rows`](fn@rows::thin_rows) | pass 3 | 2 bits, and 16 bytes per row of two; 2 bits |
//! | [`write_dominant`](fn@write::write_dominant) | copies the dominant points | 2 bits, and 8 bytes if it is dominant; the same 8 bytes |
//!
//! All kernels have one thread per point. After each kernel that writes bits, a scan ranks them for
//! pass 3 and for the copy.
//!
//! # What is sequential in the passes, and why threads give the same result
//!
//! In OpenCV each pass runs along the walk and drops a point at once: for later points its
//! significance is 0. So whether a point stays depends on the decisions about earlier points.
//!
//! In pass 1, it depends only on more significant points, because others suppress nothing, dropped
//! or not. So a chain of points that wait for each other rises in significance. For `L1` it has at
//! most three links, since significances are 1 to 4. For `KCosine` it has at most as many as there
//! are different cosines on its way: at most 6 on blobs, noise and masks, and 334 along the
//! diagonals of a checkerboard of 2048², where regions have up to 1023 points. Each thread waits
//! for the earlier points that it needs; the blocks of these have started, because blocks take the
//! points [in order](fn@suppress::suppress_non_maxima).
//!
//! In pass 2, a chain rises in significance too, and its points have regions of 1, where cosines
//! also have only four values. One thread looks at the whole chain, of at most five points.
//!
//! Pass 3 depends on the ends of a row, and on whether it is the walk's first or last row. The
//! ranks say whether all points back to the walk's start, or on to its end, survive.
//!
//! # Time
//!
//! The time is the sum of the regions of support, as on the CPU: 1 to 3 per point on blobs, noise
//! and masks. At worst it is quadratic in a walk's length, along digital lines whose steps repeat:
//! 410 per point on the border of a triangle with one side of slope 1/2 and 4096 steps. A thread
//! searches the first few steps of its point's region alone, and a longer region with its warp, 32
//! steps at a time (`search.rs`). So a thread takes at most a few more steps than the longest
//! region of its warp has points. A region ends where its chord stops growing.

pub mod measure;
pub mod rows;
pub mod suppress;
pub mod walks;
pub mod write;

mod search;

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE, warp_vote_ballot};

/// The meaning of a point's significance.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, KernelParam)]
pub enum Curvature {
    /// The change of direction at the point, in eighths of a turn.
    L1,
    /// The cosine at the point of the angle spanned by its region of support.
    KCosine,
}

/// In place of a region: the point is dropped, or was never a candidate.
const DROPPED: u32 = u32::MAX >> 1;
/// Set in the region of a point that pass 1 has not decided. The other bits are its region of
/// support.
const UNDECIDED: u32 = 1 << 31;

/// Points that are still candidates. The sizes are the number of points.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(u32)]
pub struct Candidates<'a> {
    /// Larger where the walk bends more.
    #[len(*sizes)]
    pub significance: View<'a, u32>,
    /// The number of points of the region of support to either side, or `DROPPED`. 0 for a walk's
    /// only point.
    #[len(*sizes)]
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
    fn remaining(&self, point: u32) -> u32 {
        if self.contains(point) {
            self.significance.ldg(point)
        } else {
            0
        }
    }
}

/// Points that stay, one bit per point and one for the end. The sizes are the number of points.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(u32, buffers = KeptPointsBuffers)]
pub struct KeptPoints<'a> {
    /// The bits.
    #[len(words(*sizes))]
    pub bits: ViewMut<'a, u32>,
    /// The number of bits set in each word, to be scanned.
    #[len(words(*sizes))]
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
