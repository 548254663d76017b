//! Joins the runs of each tile, in shared memory.

use cuda_std::prelude::*;
use cuda_std::warp::WARP_SIZE;

use super::layout::{BLOCK, COLUMNS, TileWord, WIDTH, shared_runs};
use crate::image::equality::EqualityPlanes;
use crate::label::Connectivity;
use crate::label::tiles::half_runs::{HalfRuns, HalfTouching};
use crate::label::tiles::label::{
    POSITION, for_each_bit, for_each_run, hook_runs, join_runs, mark_roots, shorten_paths,
};
use crate::label::tiles::layout::TileLayout;
use crate::label::tiles::runs::{TileComponents, TileRunsMut};
use crate::primitives::block::{self, PrefixSum};
use crate::primitives::scan::ScanState;

/// Joins the runs of each tile. The first pixel of each region of a tile becomes a node of
/// `components.parents`, its own parent. Makes `scan` ready. Does not use `runs.sides`.
///
/// ```text
/// index the runs that start in the thread's word
/// hook: each run's parent is a run above that it touches, or itself
/// shorten all paths to one step
/// join the pairs of touching runs that are left
/// replace each root by the position of its first pixel, the first of its region in the tile
/// make these pixels nodes: each its own parent, with its bit set
/// write to `firsts` the position at each run's root
/// ```
///
/// # Safety
///
/// `planes` are of the layout's size, `runs` and `components` have their lengths for the
/// [`layout`](super::layout::layout), and `scan` is for the
/// [`chunks`](crate::label::number::chunks) of the image. Nothing else uses what the kernel writes
/// meanwhile. The launch has one block per tile, and [`RUN_BYTES`](super::layout::RUN_BYTES) of
/// dynamic shared memory.
#[kernel(block = BLOCK, min_blocks = 6)]
pub unsafe fn value_tiles_label(
    planes: EqualityPlanes<'_>,
    runs: TileRunsMut<'_>,
    components: TileComponents<'_>,
    scan: ScanState<'_>,
    layout: TileLayout,
    connectivity: Connectivity,
) {
    let run_offsets = shared_array![u32; BLOCK as usize];
    let run_starts = shared_array![u64; BLOCK as usize];
    let warp_counts = shared_array![u32; (BLOCK / WARP_SIZE) as usize];
    // SAFETY: the callers promise it.
    let parents = unsafe { shared_runs() };

    scan.make_ready(thread::index_1d());
    let t = thread::thread_idx_x();
    let word = TileWord::of(t, layout);

    // Index the runs.
    let pixels = word.pixels(planes);
    let starts = pixels.starts();
    let PrefixSum {
        before: offset,
        total,
    } = block::sum_of_threads(starts.count_ones(), warp_counts);
    run_offsets.st(t, offset);
    run_starts.st(t, starts);
    runs.offsets.st(word.tile * BLOCK + t, offset as u16);
    // planted: value-offset-barrier
    thread::sync_threads();
    let own = HalfRuns::of_word(starts, offset, 0);
    let above = if word.row == 0 {
        HalfRuns::of_word(0, 0, 0)
    } else {
        let i = t - COLUMNS;
        // A corner to the right is one only where a run starts above it.
        HalfRuns::of_word(run_starts.ld(i), run_offsets.ld(i), 0)
            .map(HalfRuns::with_starts_to_the_right)
    };
    let touching = word.touching_above(planes, pixels, connectivity);
    let touching = HalfTouching::of_word(touching, u64::MAX);
    let (low_touching, low_roots) = hook_runs(parents, own[0], above[0], touching[0]);
    let (high_touching, high_roots) = hook_runs(parents, own[1], above[1], touching[1]);
    // planted: value-hook-barrier
    thread::sync_threads();
    shorten_paths::<BLOCK>(parents, total);
    join_runs(parents, own[0], above[0], low_touching);
    join_runs(parents, own[1], above[1], high_touching);
    thread::sync_threads();

    // Replace roots by positions.
    let first = word.row * WIDTH + word.column * 64;
    let low_roots = mark_roots(parents, own[0], low_roots, first, 1);
    let high_roots = mark_roots(parents, own[1], high_roots, first + 32, 1);
    // planted: value-position-barrier
    thread::sync_threads();

    // Make the first pixels of the tile's regions nodes of the image's union-find. A region's first
    // run starts with its first pixel, in this thread's word.
    let word_pixel = word.y * layout.width + word.word_x * 64;
    let add_nodes = |first: u32, roots: u32| {
        for_each_bit(roots, |bit| {
            let pixel = first + bit;
            components.parents.st(pixel, pixel);
        });
    };
    add_nodes(word_pixel, low_roots);
    add_nodes(word_pixel + 32, high_roots);
    for_each_run::<BLOCK>(total, |run| {
        let mut value = parents.ld(run);
        while value & POSITION == 0 {
            value = parents.ld(value);
        }
        let at = word.tile * layout.tile_runs + run;
        runs.firsts.st(at, value as u16);
    });
    if word.word_x < layout.row_words && word.y < layout.height {
        let roots = u64::from(low_roots) | u64::from(high_roots) << 32;
        let at = word.y * layout.row_words + word.word_x;
        components.roots.st(at, roots);
    }
}
