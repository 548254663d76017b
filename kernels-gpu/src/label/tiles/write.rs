//! Writes every pixel's label.

use cuda_std::prelude::*;

use super::layout::{BLOCK, COLUMNS, ROWS, TileLayout, TileWord, WIDTH, split};
use super::runs::TileRuns;
use crate::label::number::Numbering;
use crate::primitives::bits::starts;

/// Writes the labels over the nodes.
///
/// A tile with many runs is written in bands of rows, so that the labels of one band's runs fit
/// into shared memory.
///
/// # Safety
///
/// `image`, `runs` and `layout` are those of [`tiles_label`](fn@super::label::tiles_label), and
/// `numbering` is of the roots that [`tiles_flatten`](fn@super::flatten::tiles_flatten) has left.
/// `labels` is its array `parents` and starts at a multiple of 16 bytes; nothing else uses it
/// meanwhile. The launch has one block per tile.
#[kernel(block = BLOCK, min_blocks = 6)]
pub unsafe fn tiles_write(
    image: View<'_, u64>,
    runs: TileRuns<'_>,
    numbering: Numbering<'_>,
    labels: ViewMut<'_, u32>,
    layout: TileLayout,
) {
    /// Halves of words per row of a tile, and per tile.
    const ROW_HALVES: u32 = 2 * COLUMNS;
    const HALVES: usize = 2 * BLOCK as usize;
    /// Rows of a band, where a tile is written in bands.
    const BAND: u32 = 16;
    /// The most runs of a band.
    const BAND_RUNS: u32 = BAND * WIDTH / 2;

    let bits = shared_array![u32; HALVES];
    let run_starts = shared_array![u32; HALVES];
    // For each half, the index of its first run.
    let run_offsets = shared_array![u32; HALVES + 1];
    let run_labels = shared_array![u32; BAND_RUNS as usize];

    let t = thread::thread_idx_x();
    let TileWord {
        tile,
        tile_x,
        tile_y,
        row,
        column,
        y,
        word_x,
        inside,
        index,
    } = TileWord::of_thread(layout);
    // planted: write-return
    let here = if inside { image.ldg(index) } else { 0 };
    let left = if inside && column > 0 {
        image.ldg(index - 1)
    } else {
        0
    };
    let own_starts = starts(here, left >> 63);
    let offset = u32::from(runs.offsets.ldg(tile * BLOCK + t));
    bits.st(2 * t, here as u32);
    bits.st(2 * t + 1, (here >> 32) as u32);
    run_starts.st(2 * t, own_starts as u32);
    run_starts.st(2 * t + 1, (own_starts >> 32) as u32);
    run_offsets.st(2 * t, offset);
    run_offsets.st(2 * t + 1, offset + (own_starts as u32).count_ones());
    if t == BLOCK - 1 {
        run_offsets.st(2 * BLOCK, offset + own_starts.count_ones());
    }
    thread::sync_threads();

    let tile_firsts = tile * layout.tile_runs;
    let tile_pixel = tile_y * ROWS * layout.width + tile_x * WIDTH;
    let total = run_offsets.ld(2 * BLOCK);
    // planted: write-band-runs
    let band = if total <= BAND_RUNS { ROWS } else { BAND };
    let mut top = 0;
    loop {
        let bottom = top + band;
        let band_start = run_offsets.ld(top * ROW_HALVES);
        let band_end = run_offsets.ld(bottom * ROW_HALVES);

        // The labels of the runs that start with the first pixel of a component of the tile.
        if row >= top && row < bottom {
            let mut rest = own_starts;
            let mut run = offset;
            while rest != 0 {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                let position = row * WIDTH + column * 64 + bit;
                if u32::from(runs.firsts.ldg(tile_firsts + run)) == position {
                    // planted: write-read-only
                    let root = labels.ld(y * layout.width + word_x * 64 + bit);
                    run_labels.st(run - band_start, numbering.number(root));
                }
                run += 1;
            }
        }
        // planted: write-first-barrier
        thread::sync_threads();

        // The labels of the other runs.
        let mut i = band_start + t;
        while i < band_end {
            let (first_row, first_column) = split(runs.firsts.ldg(tile_firsts + i).into());
            // planted: write-band-edge
            if first_row < top {
                // The pixel lies in a band above: its label is written already.
                let label = labels.ld(tile_pixel + first_row * layout.width + first_column);
                run_labels.st(i - band_start, label);
            } else {
                let half = first_row * ROW_HALVES + first_column / 32;
                let before = run_starts.ld(half) & low_bits(first_column % 32);
                let first = run_offsets.ld(half) + before.count_ones();
                if first != i {
                    run_labels.st(i - band_start, run_labels.ld(first - band_start));
                }
            }
            i += BLOCK;
        }
        // planted: write-label-barrier
        thread::sync_threads();

        // The labels of all pixels.
        // planted: write-last-rows
        let mut end = layout.height - tile_y * ROWS;
        if end > bottom {
            end = bottom;
        }
        // planted: write-vector
        if layout.width.is_multiple_of(4) {
            // Four pixels per thread: 512 bytes per warp.
            let x = t % 64 * 4;
            let shift = x % 32;
            if tile_x * WIDTH + x < layout.width {
                let mut row = top + t / 64;
                while row < end {
                    let half = row * ROW_HALVES + x / 32;
                    let four = bits.ld(half) >> shift & 15;
                    let mut value = [0; 4];
                    if four != 0 {
                        let starts = run_starts.ld(half);
                        // The last run that starts before these pixels; wraps around if there is
                        // none.
                        let mut run = (run_offsets.ld(half)
                            + (starts & low_bits(shift)).count_ones())
                        .wrapping_sub(band_start + 1);
                        let starts = starts >> shift;
                        for (value, i) in value.iter_mut().zip(0..) {
                            run = run.wrapping_add(starts >> i & 1);
                            if four >> i & 1 != 0 {
                                *value = run_labels.ld(run);
                            }
                        }
                    }
                    labels.st_vector(tile_pixel + row * layout.width + x, value);
                    row += 4;
                }
            }
        } else if tile_x * WIDTH + t < layout.width {
            let mut row = top;
            while row < end {
                let half = row * ROW_HALVES + t / 32;
                let mut value = 0;
                if bits.ld(half) >> (t % 32) & 1 != 0 {
                    let through = run_starts.ld(half) & (u32::MAX >> (31 - t % 32));
                    let run = run_offsets.ld(half) + through.count_ones() - 1;
                    value = run_labels.ld(run - band_start);
                }
                labels.st(tile_pixel + row * layout.width + t, value);
                row += 1;
            }
        }
        top = bottom;
        if top >= ROWS {
            break;
        }
        // The next band overwrites `run_labels`, and reads labels written here.
        // planted: write-band-barrier
        thread::sync_threads();
    }
}

/// A mask of the `count` lowest bits; `count` is below 32.
#[inline(always)]
const fn low_bits(count: u32) -> u32 {
    (1 << count) - 1
}
