//! Tracking: all pieces of borders in each rectangle.

use trazar_kernels::trace::components::blocks;
use trazar_kernels::trace::tiles::grid::TileGrid;
use trazar_kernels::trace::tiles::sides::border_preprocessing;
use trazar_kernels::trace::tiles::track::{Fragment, Open, track_count, track_write};

use super::Work;
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer, Scanner, read_first, scan_counts};

/// What tracking gives.
pub(super) struct Tracked<G: Gpu> {
    pub(super) steps: G::Buffer<u8>,
    pub(super) fragments: G::Buffer<Fragment>,
    /// What continues each fragment.
    pub(super) next: G::Buffer<u32>,
    /// Of fragments in which a border is discovered, the side where it is.
    pub(super) keys: G::Buffer<u32>,
    /// The number of vertical sides before each word, and in which fragment each is passed.
    pub(super) sides_before: G::Buffer<u32>,
    pub(super) passed_by: G::Buffer<u32>,
    pub(super) open: G::Buffer<Open>,
    /// By rectangle: where its open borders begin, and how many there are.
    pub(super) first_open: G::Buffer<u32>,
    pub(super) open_counts: G::Buffer<u32>,
}

/// Follows the borders in each rectangle: counts first, then writes.
pub(super) fn track<G: Gpu>(
    work: &Work<'_, G>,
    grid: TileGrid,
    queued: &mut dyn FnMut(&'static str) -> Result<()>,
) -> Result<Tracked<G>> {
    let Work {
        gpu, image, labels, ..
    } = *work;
    let on = &gpu.launcher();
    let words = grid.raster.words();
    let tiles = grid.tiles();

    let mut border = gpu.alloc::<u64>(words as usize)?;
    let mut sides_before = gpu.alloc::<u32>(words as usize)?;
    // SAFETY: an element a word, as the kernel asks; the image is acquired.
    unsafe {
        border_preprocessing::launch(
            on,
            blocks(words),
            image.view(),
            border.view_mut(),
            sides_before.view_mut(),
            grid.raster,
        )?;
    }
    let sides = scan_counts(gpu, &mut sides_before)?;
    queued("preprocessing")?;

    let pixels = grid.raster.width as usize * grid.raster.height as usize;
    let mut marks = gpu.alloc::<u8>(pixels)?;
    // planted: rectangle-marks
    marks.fill(0)?;
    let mut first_fragments = gpu.alloc::<u32>(tiles as usize)?;
    let mut first_steps = gpu.alloc::<u32>(tiles as usize)?;
    let mut open_counts = gpu.alloc::<u32>(tiles as usize)?;
    // SAFETY: an element a word, a pixel or a rectangle, as the kernel asks; the marks are 0; image and labels are acquired.
    unsafe {
        track_count::launch(
            on,
            tiles,
            image.view(),
            border.view(),
            labels.view(),
            marks.view_mut(),
            first_fragments.view_mut(),
            first_steps.view_mut(),
            open_counts.view_mut(),
            grid,
        )?;
    }
    let fragment_count = scan_counts(gpu, &mut first_fragments)? as usize;
    let step_count = scan_counts(gpu, &mut first_steps)? as usize;
    let mut first_open = gpu.alloc::<u32>(tiles as usize)?;
    let mut scanner = Scanner::new(gpu, tiles)?;
    scanner.scan(&open_counts, &mut first_open)?;
    let open_count = read_first(scanner.total())? as usize;
    queued("tracking: counts")?;

    let mut passed_by = gpu.alloc(sides as usize)?;
    let mut steps = gpu.alloc(step_count)?;
    let mut fragments = gpu.alloc(fragment_count)?;
    let mut next = gpu.alloc(fragment_count)?;
    let mut keys = gpu.alloc(fragment_count)?;
    let mut open = gpu.alloc(open_count)?;
    // SAFETY: the kernels before have made the marks and the counts, which have been scanned, and the lengths are their
    // sums.
    unsafe {
        track_write::launch(
            on,
            tiles,
            image.view(),
            border.view(),
            labels.view(),
            marks.view_mut(),
            sides_before.view(),
            first_fragments.view(),
            first_steps.view(),
            first_open.view(),
            passed_by.view_mut(),
            steps.view_mut(),
            fragments.view_mut(),
            next.view_mut(),
            keys.view_mut(),
            open.view_mut(),
            grid,
        )?;
    }
    queued("tracking")?;
    Ok(Tracked {
        steps,
        fragments,
        next,
        keys,
        sides_before,
        passed_by,
        open,
        first_open,
        open_counts,
    })
}
