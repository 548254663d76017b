//! What comes before routing: weights in tiles, and the state of nets that have not started.

use cuda_std::prelude::*;

use super::layout::{TILE, Tiling};
use super::queue::{self, NET_WORDS};
use crate::primitives::quotient;

/// Lays out weights that stand row by row, layer by layer, tile by tile; what lies past the grid's end is blocked, `u32::MAX`.
/// Sets `has_free[0]` to 1 if one of them is 0.
///
/// # Safety
///
/// `rows` has a weight for each cell of the grid, `tiles` 4096 for each tile, `has_free` an element; nothing else uses `tiles` and
/// `has_free` meanwhile.
#[kernel(block = 256)]
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
        for (weight, i) in weights.iter_mut().zip(0..) {
            if x + i < tiling.width {
                *weight = rows.ld(at + i);
            }
        }
    }
    if weights[0].min(weights[1]).min(weights[2]).min(weights[3]) == 0 {
        has_free.atomic_or(0u32, 1);
    }
    tiles.st_vector(first, weights);
}

/// Makes everything ready for nets that have not started. Labels, rims and pins' labels are given as 32-bit words, all of which
/// become `unreached`, the lower half of a label of 64 bits first.
///
/// # Safety
///
/// With S slots, N nets and P pins of C cells: `labels` has 4096 labels for each slot, `rims` [`rim`](Tiling::rim), `pin_labels` C;
/// `pending` has S and an element for each block of the launch that routes, `locks` S elements; `counters` [`COUNTERS`], `net_words`
/// [`NET_WORDS`] for each net; `is_joined` P. Nothing else uses any of them meanwhile. There is a thread for each 4 words of labels
/// and rims, and for each element of the others.
#[kernel(block = 256)]
pub unsafe fn route_start(
    labels: ViewMut<'_, u32>,
    rims: ViewMut<'_, u32>,
    pin_labels: ViewMut<'_, u32>,
    pending: ViewMut<'_, u32>,
    locks: ViewMut<'_, u32>,
    counters: ViewMut<'_, u32>,
    net_words: ViewMut<'_, u32>,
    is_joined: ViewMut<'_, u32>,
    unreached: [u32; 2],
) {
    let i = thread::index_1d();
    let words = [unreached[0], unreached[1], unreached[0], unreached[1]];
    for view in [labels, rims] {
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
        pin_labels,
        if i.is_multiple_of(2) {
            unreached[0]
        } else {
            unreached[1]
        },
    );
    set(pending, queue::NOTHING);
    set(locks, 0);
    set(is_joined, 0);
    let nets = net_words.len() as u32 / NET_WORDS;
    set(counters, if i == queue::OPEN { nets } else { 0 });
    let word = match i % NET_WORDS {
        queue::BUSY => 1,
        queue::BOUND => u32::MAX >> 1,
        _ => 0,
    };
    set(net_words, word);
}
