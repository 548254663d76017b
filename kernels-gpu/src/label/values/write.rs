//! Writes every pixel's label.

use cuda_std::prelude::*;

use super::layout::{BLOCK, ROW_HALVES, ROWS, TileWord, WIDTH, shared_runs};
use crate::image::equality::EqualityPlanes;
use crate::label::number::Numbering;
use crate::label::tiles::layout::TileLayout;
use crate::label::tiles::runs::TileRuns;
use crate::label::tiles::write::{HalfRuns, Tile};

/// Half words per tile, and threads per block: one for each.
const HALVES: u32 = ROWS * ROW_HALVES;

/// Writes the labels over the nodes.
///
/// # Safety
///
/// `planes`, `runs` and `layout` are those of
/// [`value_tiles_label`](fn@super::label::value_tiles_label), and `numbering` is of the roots that
/// [`tiles_flatten`](fn@crate::label::tiles::flatten::tiles_flatten) has left. `labels` is its
/// array `parents` and starts at a multiple of 16 bytes; nothing else uses it meanwhile. The launch
/// has one block per tile, and [`RUN_BYTES`](super::layout::RUN_BYTES) of dynamic shared memory.
#[kernel(block = HALVES, min_blocks = 5)]
pub unsafe fn value_tiles_write(
    planes: EqualityPlanes<'_>,
    runs: TileRuns<'_>,
    numbering: Numbering<'_>,
    labels: ViewMut<'_, u32>,
    layout: TileLayout,
) {
    let halves = HalfRuns {
        bits: shared_array![u32; HALVES as usize],
        covered: shared_array![u32; HALVES as usize],
        starts: shared_array![u32; HALVES as usize],
        offsets: shared_array![u32; HALVES as usize],
    };
    let last_end = shared_array![u32; 1];
    // SAFETY: the callers promise it.
    let run_labels = unsafe { shared_runs() };

    let t = thread::thread_idx_x();
    let word = TileWord::of(t / 2, layout);
    let pixels = word.pixels(planes);
    let starts = pixels.starts();
    let first = u32::from(runs.offsets.ldg(word.tile * BLOCK + t / 2));
    let shift = t % 2 * 32;
    let before = (starts & ((1 << shift) - 1)).count_ones();
    let (bits, own) = ((pixels.valid >> shift) as u32, (starts >> shift) as u32);
    // planted: value-write-half
    let offset = first + before;
    halves.bits.st(t, bits);
    halves.covered.st(t, bits);
    halves.starts.st(t, own);
    halves.offsets.st(t, offset);
    if t == HALVES - 1 {
        last_end.st(0, offset + own.count_ones());
    }
    // planted: value-write-barrier
    thread::sync_threads();

    let tile = Tile::<HALVES, true> {
        halves,
        run_labels,
        labels,
        layout,
        x: word.tile_x,
        first_pixel: word.tile_y * ROWS * layout.width + word.tile_x * WIDTH,
    };
    let firsts = word.tile * layout.tile_runs;
    let number = |root| numbering.number(root);
    tile.label_runs(runs, firsts, last_end.ld(0), number);
    tile.write(layout.height - word.tile_y * ROWS);
}
