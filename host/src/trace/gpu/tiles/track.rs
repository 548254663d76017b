//! Tracking: all pieces of borders in each rectangle.

use trazar_kernels::trace::tiles::grid::TileGrid;
use trazar_kernels::trace::tiles::sides::border_preprocessing;
use trazar_kernels::trace::tiles::track::{
    Preprocessed, TileCountBuffers, TileStarts, TrackedBuffers, TrackedSizes, track_count,
    track_write,
};

use super::Work;
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer, OnGpu, Scanner, read_first, scan_counts};

/// The result of tracking.
pub(super) struct Tracked<G: Gpu> {
    pub(super) borders: TrackedBuffers<OnGpu<G>>,
    /// For each word, the number of vertical sides before it.
    pub(super) sides_before: G::Buffer<u32>,
    /// For each rectangle, where its open borders begin, and how many there are.
    pub(super) first_open: G::Buffer<u32>,
    pub(super) open_counts: G::Buffer<u32>,
}

/// Follows the borders in each rectangle: counts first, then writes.
pub(super) fn track<G: Gpu>(
    work: &Work<'_, G>,
    grid: TileGrid,
    queued: &mut dyn FnMut(&'static str) -> Result<()>,
) -> Result<Tracked<G>> {
    let Work { gpu, raster, .. } = *work;
    let on = &gpu.launcher();
    let tiles = grid.tiles();

    let Sides {
        border,
        before: sides_before,
        count: sides,
    } = preprocess(work)?;
    queued("preprocessing")?;

    let mut marks = gpu.alloc::<u8>(raster.width as usize * raster.height as usize)?;
    // planted: rectangle-marks
    marks.fill(0)?;
    let memory = OnGpu(gpu.clone());
    let mut counts = TileCountBuffers::alloc(&memory, &tiles)?;
    // SAFETY: one element per word, pixel or rectangle, as the kernel asks; the marks are 0; image
    // and labels are acquired.
    unsafe {
        track_count::launch_threads(
            on,
            tiles,
            work.image(),
            grid,
            border.view(),
            marks.view_mut(),
            counts.views(),
        )?;
    }
    let fragment_count = scan_counts(gpu, &mut counts.fragments)?;
    let step_count = scan_counts(gpu, &mut counts.steps)?;
    let mut first_open = gpu.alloc::<u32>(tiles as usize)?;
    let mut scanner = Scanner::new(gpu, tiles)?;
    scanner.scan(&counts.open, &mut first_open)?;
    let open_count = read_first(scanner.total())?;
    queued("tracking: counts")?;

    let sizes = TrackedSizes {
        sides,
        fragments: fragment_count,
        steps: step_count,
        open: open_count,
    };
    let mut borders = TrackedBuffers::alloc(&memory, &sizes)?;
    // SAFETY: the kernels before have made the marks and the counts, which have been scanned, and
    // the lengths are the counts' sums.
    unsafe {
        track_write::launch_threads(
            on,
            tiles,
            work.image(),
            grid,
            Preprocessed {
                border: border.view(),
                sides_before: sides_before.view(),
            },
            marks.view_mut(),
            TileStarts {
                fragments: counts.fragments.view(),
                steps: counts.steps.view(),
                open: first_open.view(),
            },
            borders.views(),
        )?;
    }
    queued("tracking")?;
    Ok(Tracked {
        borders,
        sides_before,
        first_open,
        open_counts: counts.open,
    })
}

/// The vertical sides of an image, where borders are followed.
struct Sides<G: Gpu> {
    /// Per word of the image, the pixels at which borders may be.
    border: G::Buffer<u64>,
    /// Per word of the image, the number of vertical sides before it.
    before: G::Buffer<u32>,
    count: u32,
}

/// Finds the sides.
fn preprocess<G: Gpu>(work: &Work<'_, G>) -> Result<Sides<G>> {
    let gpu = work.gpu;
    let words = work.raster.words();
    let mut border = gpu.alloc::<u64>(words as usize)?;
    let mut before = gpu.alloc::<u32>(words as usize)?;
    // SAFETY: one element per word, as the kernel asks; the image is acquired.
    unsafe {
        border_preprocessing::launch_threads(
            &gpu.launcher(),
            words,
            work.image().pixels,
            border.view_mut(),
            before.view_mut(),
        )?;
    }
    let count = scan_counts(gpu, &mut before)?;
    Ok(Sides {
        border,
        before,
        count,
    })
}
