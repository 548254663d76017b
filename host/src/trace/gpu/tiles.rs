//! Borders by tiles.

use std::mem::swap;

use trazar_kernels::trace::components::blocks;
use trazar_kernels::trace::tiles::{self, Fragment, Grid, NONE, Open, Position, Turns};

use super::{Arranged, Found, Work, first, scan};
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer, Scanner};
use crate::trace::tiles_of;

/// By default, rectangles have at least this many pixels along a side, and fewer than twice as many: a large image then has
/// more rectangles than a GPU has warps.
const DEFAULT_SIDE: u32 = 64;

/// Borders, in pieces.
pub(super) struct Borders<G: Gpu> {
    pub(super) found: Found<G>,
    grid: Grid,
    /// The codes of steps, fragment by fragment.
    steps: G::Buffer<u8>,
    fragments: G::Buffer<Fragment>,
    positions: G::Buffer<Position>,
    /// None if every step is a point.
    turns: G::Buffer<Turns>,
}

/// What tracking gives.
struct Tracked<G: Gpu> {
    steps: G::Buffer<u8>,
    fragments: G::Buffer<Fragment>,
    /// What continues each fragment.
    next: G::Buffer<u32>,
    /// Of fragments in which a border is discovered, the side where it is.
    keys: G::Buffer<u32>,
    /// The number of vertical sides before each word, and in which fragment each is passed.
    sides_before: G::Buffer<u32>,
    passed_by: G::Buffer<u32>,
    open: G::Buffer<Open>,
    /// By rectangle: where its open borders begin, and how many there are.
    first_open: G::Buffer<u32>,
    open_counts: G::Buffer<u32>,
}

/// Finds all borders, with `tiles` rectangles along x and y, or a number of them that suits the image's size.
pub(super) fn find<G: Gpu>(
    work: &Work<'_, G>,
    tiles: Option<(u32, u32)>,
    queued: &mut dyn FnMut(&'static str) -> Result<()>,
) -> Result<Borders<G>> {
    let raster = work.raster;
    let (columns, rows) = tiles_of(raster.width, raster.height, tiles, DEFAULT_SIDE)?;
    let grid = Grid::new(raster, columns, rows, work.edges != 0);
    let mut tracked = track(work, grid, queued)?;
    connect(work.gpu, &mut tracked, grid)?;
    queued("connection")?;
    let borders = order(work, tracked, grid)?;
    queued("discoveries")?;
    Ok(borders)
}

/// Follows the borders in each rectangle: counts first, then writes.
fn track<G: Gpu>(
    work: &Work<'_, G>,
    grid: Grid,
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
        tiles::border_preprocessing::launch(
            on,
            blocks(words),
            image.view(),
            border.view_mut(),
            sides_before.view_mut(),
            grid.raster,
        )?;
    }
    let sides = scan(gpu, &mut sides_before)?;
    queued("preprocessing")?;

    let pixels = grid.raster.width as usize * grid.raster.height as usize;
    let mut marks = gpu.alloc::<u8>(pixels)?;
    // planted: rectangle-marks
    marks.fill(1)?;
    let mut first_fragments = gpu.alloc::<u32>(tiles as usize)?;
    let mut first_steps = gpu.alloc::<u32>(tiles as usize)?;
    let mut open_counts = gpu.alloc::<u32>(tiles as usize)?;
    // SAFETY: an element a word, a pixel or a rectangle, as the kernel asks; the marks are 1; image and labels are acquired.
    unsafe {
        tiles::track_count::launch(
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
    let fragment_count = scan(gpu, &mut first_fragments)? as usize;
    let step_count = scan(gpu, &mut first_steps)? as usize;
    let mut first_open = gpu.alloc::<u32>(tiles as usize)?;
    let mut scanner = Scanner::new(gpu, tiles)?;
    scanner.scan(&open_counts, &mut first_open)?;
    let open_count = first(scanner.total())? as usize;
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
        tiles::track_write::launch(
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

/// Joins the rectangles until one is left, in which every border is closed.
fn connect<G: Gpu>(gpu: &G, tracked: &mut Tracked<G>, grid: Grid) -> Result<()> {
    let Tracked {
        next,
        keys,
        open,
        first_open,
        open_counts,
        ..
    } = tracked;
    let mut joined = gpu.alloc(open.len())?;
    let most_entries = grid.stages().map(|stage| grid.entries_len(stage)).max();
    let mut entries = gpu.alloc(most_entries.unwrap_or(0))?;
    entries.fill(NONE)?;
    for stage in grid.stages() {
        // SAFETY: the lengths are those that the kernel asks for; stages follow each other as the grid says, with the lists
        // exchanged, and each leaves the entries as they were.
        unsafe {
            tiles::connect::launch(
                &gpu.launcher(),
                grid.pairs(stage),
                open.view(),
                joined.view_mut(),
                first_open.view(),
                open_counts.view_mut(),
                entries.view_mut(),
                next.view_mut(),
                keys.view_mut(),
                grid,
                stage,
            )?;
        }
        // planted: rectangle-stages
        swap(open, &mut joined);
    }
    Ok(())
}

/// Puts the borders, all of which are closed, into the order of their discovery, and finds where their steps are.
fn order<G: Gpu>(work: &Work<'_, G>, tracked: Tracked<G>, grid: Grid) -> Result<Borders<G>> {
    let gpu = work.gpu;
    let on = &gpu.launcher();
    let Tracked {
        steps,
        fragments,
        next,
        keys,
        sides_before,
        passed_by,
        ..
    } = tracked;
    let n = fragments.len() as u32;
    // planted: rectangle-discovered
    let mut discovered = gpu.alloc_zeroed(passed_by.len())?;
    if n > 0 {
        // SAFETY: an element a fragment, and a vertical side, as the kernel asks.
        unsafe {
            tiles::mark_discoveries::launch(on, blocks(n), keys.view(), discovered.view_mut(), n)?;
        }
    }
    let count = scan(gpu, &mut discovered)?;
    let borders = count as usize;
    let mut leaders = gpu.alloc(borders)?;
    let mut positions = gpu.alloc(n as usize)?;
    let mut turns = gpu.alloc(if work.simple == 0 { 0 } else { n as usize })?;
    let mut kinds = gpu.alloc(borders)?;
    let mut lengths = gpu.alloc(borders)?;
    let mut befores = gpu.alloc(borders)?;
    if n > 0 {
        // SAFETY: an element a fragment or a border each, as the kernels ask, which run in their order. Where there are
        // fragments, there are borders.
        unsafe {
            tiles::list_borders::launch(
                on,
                blocks(n),
                keys.view(),
                discovered.view(),
                leaders.view_mut(),
                n,
            )?;
            tiles::rank_fragments::launch(
                on,
                blocks(count),
                steps.view(),
                fragments.view(),
                next.view(),
                keys.view(),
                leaders.view(),
                positions.view_mut(),
                kinds.view_mut(),
                lengths.view_mut(),
                count,
                grid.edges,
            )?;
            tiles::find_before::launch(
                on,
                blocks(count),
                fragments.view(),
                keys.view(),
                leaders.view(),
                positions.view(),
                sides_before.view(),
                passed_by.view(),
                befores.view_mut(),
                count,
                grid,
            )?;
            if work.simple != 0 {
                tiles::count_turns::launch(
                    on,
                    blocks(n),
                    steps.view(),
                    fragments.view(),
                    positions.view(),
                    turns.view_mut(),
                    n,
                )?;
                tiles::rank_turns::launch(
                    on,
                    blocks(count),
                    next.view(),
                    leaders.view(),
                    turns.view_mut(),
                    lengths.view_mut(),
                    count,
                )?;
            }
        }
    }
    Ok(Borders {
        found: Found {
            count,
            kinds,
            lengths,
            befores,
        },
        grid,
        steps,
        fragments,
        positions,
        turns,
    })
}

/// Writes the points of the borders that are kept.
pub(super) fn write<G: Gpu>(
    work: &Work<'_, G>,
    borders: &Borders<G>,
    arranged: &Arranged<G>,
) -> Result<G::Buffer<i32>> {
    let mut points = work.gpu.alloc(arranged.points as usize * 2)?;
    if arranged.points == 0 {
        return Ok(points);
    }
    let n = borders.fragments.len() as u32;
    // SAFETY: the kernels before have made what is read, and there is room for all points of the borders that have a place.
    unsafe {
        tiles::write_points::launch(
            &work.gpu.launcher(),
            blocks(n),
            borders.steps.view(),
            borders.fragments.view(),
            borders.positions.view(),
            borders.turns.view(),
            arranged.places.view(),
            arranged.offsets.view(),
            points.view_mut(),
            n,
            work.simple,
            borders.grid,
        )?;
    }
    Ok(points)
}
