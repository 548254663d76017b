//! Before routing: weights in tiles, and the state of nets that have not started.

use cuda_std::prelude::*;

use super::layout::{BLOCK, TILE, Tiling};
use super::queue::{BOUND, BUSY, NET_WORDS, NOTHING, OPEN};
use super::{Labels, Queue};
use crate::primitives::quotient;

/// Lays out tile by tile the weights given row by row and layer by layer. Edges past the grid's end
/// are blocked, `u32::MAX`. Sets `has_free[0]` to 1 if a weight is 0.
///
/// # Safety
///
/// `rows` has one weight per cell of the grid, `tiles` 4096 per tile, `has_free` one element. The
/// launch has a thread for each 4 elements of `tiles`. Nothing else uses `tiles` and `has_free`
/// meanwhile.
#[kernel(block = BLOCK)]
pub unsafe fn lay_out_weights(
    rows: View<'_, u32>,
    tiles: ViewMut<'_, u32>,
    has_free: ViewMut<'_, u32>,
    tiling: Tiling,
) {
    let first = thread::index_1d() * 4;
    if first as usize >= tiles.len() {
        return;
    }
    let weights = weights_of(tiling, first, |at| rows.ld(at));
    if weights[0].min(weights[1]).min(weights[2]).min(weights[3]) == 0 {
        has_free.atomic_or(0u32, 1);
    }
    tiles.st_vector(first, weights);
}

/// As [`lay_out_weights`](fn@lay_out_weights), for weights from 1 to 255, each given as a byte one
/// less than the weight. A byte of 255 is a blocked edge.
///
/// # Safety
///
/// `rows` has one byte per cell of the grid, `tiles` 4096 elements per tile. The launch has a
/// thread for each 4 of these. Nothing else uses `tiles` meanwhile.
#[kernel(block = BLOCK)]
pub unsafe fn lay_out_bytes(rows: View<'_, u8>, tiles: ViewMut<'_, u32>, tiling: Tiling) {
    let first = thread::index_1d() * 4;
    if first as usize >= tiles.len() {
        return;
    }
    let weight = |at: u32| {
        let byte = rows.ld(at);
        // planted: lay-out-blocked
        if byte == u8::MAX {
            u32::MAX
        } else {
            u32::from(byte) + 1
        }
    };
    tiles.st_vector(first, weights_of(tiling, first, weight));
}

/// The weights of four cells of the tiles, from `first` on: `weight` gives them by cell of the
/// grid. Those past its end are blocked.
#[inline(always)]
fn weights_of(tiling: Tiling, first: u32, weight: impl Fn(u32) -> u32) -> [u32; 4] {
    let tile = first / TILE;
    let tile_y = quotient(tile, tiling.tiles_x);
    let tile_x = tile - tile_y * tiling.tiles_x;
    let (column, row, layer) = tiling.at_place(first % TILE);
    let (x, y) = (
        tile_x * tiling.columns() + column,
        tile_y * tiling.rows() + row,
    );
    let mut weights = [u32::MAX; 4];
    if y < tiling.height && layer < tiling.layers {
        let at = (layer * tiling.height + y) * tiling.width + x;
        for (of_cell, i) in weights.iter_mut().zip(0..) {
            if x + i < tiling.width {
                *of_cell = weight(at + i);
            }
        }
    }
    weights
}

/// Makes everything ready for nets that have not started.
///
/// Labels are given as 32-bit words, and all become `unreached`: the two words of a 64-bit label,
/// the lower first; the same word twice for 32-bit labels.
///
/// # Safety
///
/// The views have the lengths that their fields ask for; `is_joined` has one element per pin. The
/// launch has a thread for each 4 words of labels and rims, and for each element of the others.
/// Nothing else uses any of them meanwhile.
#[kernel(block = BLOCK)]
pub unsafe fn route_start(
    labels: Labels<'_, u32>,
    queue: Queue<'_>,
    is_joined: ViewMut<'_, u32>,
    unreached: [u32; 2],
) {
    let i = thread::index_1d();
    let words = [unreached[0], unreached[1], unreached[0], unreached[1]];
    for view in [labels.cells, labels.rims] {
        if (i as usize) < view.len() / 4 {
            // With labels of 64 bits there may be more words than 32 bits count.
            view.st_vector(4 * i as usize, words);
        }
    }
    let set = |view: ViewMut<'_, u32>, value: u32| {
        if (i as usize) < view.len() {
            view.st(i, value);
        }
    };
    set(
        labels.pins,
        if i.is_multiple_of(2) {
            unreached[0]
        } else {
            unreached[1]
        },
    );
    set(queue.pending, NOTHING);
    set(queue.locks, 0);
    set(is_joined, 0);
    let nets = queue.nets.len() as u32 / NET_WORDS;
    set(queue.counters, if i == OPEN { nets } else { 0 });
    let word = match i % NET_WORDS {
        BUSY => 1,
        BOUND => u32::MAX >> 1,
        _ => 0,
    };
    set(queue.nets, word);
}
