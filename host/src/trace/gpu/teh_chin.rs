//! Teh and Chin's dominant points: from contours that have every point.

use trazar_kernels::primitives::ranked_bits::RankedBits;
use trazar_kernels::primitives::scan::{self, ScanState};
use trazar_kernels::trace::BLOCK;
use trazar_kernels::trace::teh_chin::measure::{MeasureBuffers, measure_cosines, measure_points};
use trazar_kernels::trace::teh_chin::rows::thin_rows;
use trazar_kernels::trace::teh_chin::suppress::{suppress_least_support, suppress_non_maxima};
use trazar_kernels::trace::teh_chin::walks::Walks;
use trazar_kernels::trace::teh_chin::write::{Dominant, write_dominant};
use trazar_kernels::trace::teh_chin::{
    self as kernel, Candidates, Curvature, KeptPoints, KeptPointsBuffers,
};

use super::DeviceContours;
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer, OnGpu, ScanBuffers, read_first};

/// The dominant points of `contours`, which have been traced with every point. Waits for their
/// number, and returns before they are written.
pub(super) fn dominant<G: Gpu>(
    gpu: &G,
    contours: DeviceContours<G>,
    curvature: Curvature,
) -> Result<DeviceContours<G>> {
    if contours.is_empty() {
        return Ok(contours);
    }
    let on = &gpu.launcher();
    // They fit 32 bits, as offsets do.
    let n = contours.point_count() as u32;
    let DeviceContours {
        mut points,
        offsets,
        ..
    } = contours;
    let walks = Walks {
        offsets: offsets.view(),
        points: n,
    };
    let mut measures = MeasureBuffers::alloc(&OnGpu(gpu.clone()), &n)?;
    let mut ticket = gpu.alloc(1)?;
    let mut kept = RankedPoints::new(gpu, n)?;
    // SAFETY: `contours` were traced on `gpu` with every point, and have one element per point or
    // per contour and one more. The lengths are those that the kernels ask for, and the kernels run
    // in order.
    unsafe {
        measure_points::launch_threads(
            on,
            n,
            points.view(),
            walks,
            measures.views(),
            ticket.view_mut(),
        )?;
        if curvature == Curvature::KCosine {
            measure_cosines::launch_threads(
                on,
                n,
                points.view(),
                walks,
                measures.regions.view(),
                measures.significance.view_mut(),
            )?;
        }
        suppress_non_maxima::launch(
            on,
            // planted: dominant-grid
            n.div_ceil(BLOCK),
            walks,
            measures.significance.view(),
            measures.regions.view_mut(),
            ticket.view_mut(),
        )?;
        let (kept_points, state) = kept.view_mut();
        let candidates = Candidates {
            significance: measures.significance.view(),
            regions: measures.regions.view(),
        };
        suppress_least_support::launch_threads(
            on,
            kernel::threads(n),
            walks,
            candidates,
            kept_points,
            state,
        )?;
        kept.scan(gpu)?;
        if curvature == Curvature::L1 {
            let mut thinned = RankedPoints::new(gpu, n)?;
            let (kept_points, state) = thinned.view_mut();
            thin_rows::launch_threads(
                on,
                kernel::threads(n),
                walks,
                candidates,
                kept.view(),
                points.view_mut(),
                kept_points,
                state,
            )?;
            thinned.scan(gpu)?;
            kept = thinned;
        }
    }
    // They are no longer needed, and the result may be large.
    drop(measures);
    let (points, offsets) = write(gpu, &points, &offsets, &kept)?;
    Ok(DeviceContours {
        points,
        offsets,
        ..contours
    })
}

/// Writes the kept points of contours, and the offsets of those.
fn write<G: Gpu>(
    gpu: &G,
    points: &G::Buffer<i32>,
    offsets: &G::Buffer<u32>,
    kept: &RankedPoints<G>,
) -> Result<(G::Buffer<i32>, G::Buffer<u32>)> {
    let count = read_first(&kept.total)?;
    let mut dominant = gpu.alloc(count as usize * 2)?;
    let mut dominant_offsets = gpu.alloc(offsets.len())?;
    // SAFETY: there is one offset per contour and one more, `kept` has a bit per point, and `count`
    // is the number of those that are kept.
    unsafe {
        write_dominant::launch_threads(
            &gpu.launcher(),
            (points.len() / 2) as u64 + 1,
            points.view(),
            offsets.view(),
            kept.view(),
            Dominant {
                points: dominant.view_mut(),
                offsets: dominant_offsets.view_mut(),
            },
        )?;
    }
    Ok((dominant, dominant_offsets))
}

/// Kept points as bits, with the number of kept points before each word.
struct RankedPoints<G: Gpu> {
    kept: KeptPointsBuffers<OnGpu<G>>,
    scan: ScanBuffers<G>,
    /// One element: the number of kept points.
    total: G::Buffer<u32>,
}

impl<G: Gpu> RankedPoints<G> {
    /// Memory for `points` points.
    fn new(gpu: &G, points: u32) -> Result<Self> {
        let memory = OnGpu(gpu.clone());
        Ok(Self {
            kept: KeptPointsBuffers::alloc(&memory, &points)?,
            scan: ScanBuffers::alloc(&memory, &kernel::words(points))?,
            total: gpu.alloc(1)?,
        })
    }

    /// For a kernel to write.
    fn view_mut(&mut self) -> (KeptPoints<'_>, ScanState<'_>) {
        (self.kept.views(), self.scan.views())
    }

    /// Turns the counts into ranks, and sums them into the total.
    ///
    /// # Safety
    /// A kernel has written the bits and counts and made the scan's state ready since they were
    /// allocated or scanned.
    unsafe fn scan(&mut self, gpu: &G) -> Result<()> {
        let counts = self.kept.counts.view_mut();
        let words = counts.len() as u32;
        // SAFETY: the kernel may scan in place. The state is ready by the caller's promise.
        unsafe {
            scan::scan_exclusive::launch(
                &gpu.launcher(),
                scan::blocks(words, gpu.multiprocessors()),
                counts.as_view(),
                counts,
                self.total.view_mut(),
                self.scan.views(),
                words,
            )
        }
    }

    /// For kernels to read, once scanned.
    fn view(&self) -> RankedBits<'_> {
        RankedBits {
            bits: self.kept.bits.view(),
            ranks: self.kept.counts.view(),
        }
    }
}
