//! The dominant points, one after the other.

use cuda_std::prelude::*;

use crate::primitives::ranked_bits::RankedBits;
use crate::trace::BLOCK;

/// The arrays for the points that are kept. The sizes are the number of walks and 1.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(usize)]
pub struct Dominant<'a> {
    /// x and y of each point that is kept. Their number is known on the device only.
    #[len(0, align = 8)]
    pub points: ViewMut<'a, i32>,
    /// The number of kept points before each walk, and the total.
    #[len(*sizes)]
    pub offsets: ViewMut<'a, u32>,
}

/// Copies the points that are kept, and writes their number before each walk. Launch: one thread
/// per point and one for the end.
///
/// # Safety
///
/// `offsets` are those of walks, none of them empty; `points` has x and y of each of their points,
/// and `kept` one bit per point and one for the end; its counts have been scanned. `dominant` has
/// room for the kept points, and for as many offsets as `offsets`; nothing else uses it meanwhile.
#[kernel(block = BLOCK, len(kept = (points.len() / 2) as u32 + 1, dominant = offsets.len()))]
pub unsafe fn write_dominant(
    points: View<'_, i32>,
    offsets: View<'_, u32>,
    kept: RankedBits<'_>,
    dominant: Dominant<'_>,
) {
    let i = thread::index_1d();
    // There are at least as many points as walks, so a thread for each offset.
    // planted: dominant-offsets
    if (i as usize) < offsets.len() {
        dominant.offsets.st(i, kept.rank(offsets.ldg(i)));
    }
    if i as usize * 2 < points.len() && kept.contains(i) {
        // Indices of coordinates may pass 2³².
        let point: [i32; 2] = points.ldg_vector(i as usize * 2);
        dominant.points.st_vector(kept.rank(i) as usize * 2, point);
    }
}
