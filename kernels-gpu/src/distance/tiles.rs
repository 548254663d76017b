//! Relaxing tiles until all costs are final.

use cuda_std::prelude::*;

use super::layout::{BLOCK, GIVEN, TILE, Tile};
use super::patch::{KNIGHTS, NEAR, Patch, each, each8, moved, over_knight, over_near};
use super::queue::NOTHING;
use super::{Cost, CostSearch};

/// Finds all costs. Called by all threads of the grid.
///
/// ```text
/// set all costs to infinity, then those of the sources; mark their tiles
/// while tiles are marked or relaxed: take the block's nearest marked tile:
///     load it with its halo
///     lower its costs until none changes; store those that fell
///     mark the tiles beside it of which it can lower a cell
/// ```
#[inline(always)]
pub(super) fn work<P: Cost, const REACH: u32>(search: &CostSearch<'_, P>, tile: &Tile<P>) {
    let t = thread::thread_idx_x();
    let (stride, rows) = (search.raster.stride(), search.raster.rows());
    let mut y = thread::block_idx_x();
    while y < rows {
        let mut x = t;
        while x < stride {
            search.costs.st(y * stride + x, P::INFINITY.to_bits());
            x += BLOCK;
        }
        y += thread::grid_dim_x();
    }
    search.barrier.sync();
    let mut i = thread::index_1d();
    while i < search.start_places.len() as u32 {
        let (place, cost) = (search.start_places.ld(i), search.start_costs.ld(i));
        search.costs.atomic_min(place, cost);
        search.mark(search.raster.tile_of(place), P::from_bits(cost).priority());
        i += thread::grid_dim_x() * BLOCK;
    }
    search.barrier.sync();
    loop {
        let next = search.next(tile);
        if next == NOTHING {
            return;
        }
        settle::<P, REACH>(search, tile, next);
        // After the marks of all threads, and before shared memory is used again.
        thread::sync_threads();
        if t == 0 {
            search.release();
        }
    }
}

/// Relaxes a tile until none of its costs changes. Called by the whole block.
#[inline(always)]
fn settle<P: Cost, const REACH: u32>(search: &CostSearch<'_, P>, tile: &Tile<P>, index: u32) {
    let t = thread::thread_idx_x();
    let (shares, limit, stride) = (&search.shares, search.limit, search.raster.stride());
    let tiles_x = search.raster.tiles_x().max(1);
    let (row, column) = (index / tiles_x, index % tiles_x);
    // The place of the halo's first cell: halo and margin are of the same width.
    let (left, top) = (column * TILE, row * TILE);
    load::<P, REACH>(search, tile, left, top);
    if t < 9 {
        tile.words.st(GIVEN + t, NOTHING);
    }
    // planted: distance-load-barrier
    thread::sync_threads();

    let mut patch = Patch::load::<REACH>(tile, shares);
    let loaded = patch.costs();
    let mut changed = true;
    loop {
        let before = patch.costs();
        // Another cell of the patch may have a way on from what changed last.
        if patch.look(tile) | changed {
            patch.relax(limit);
        }
        if REACH == 2 {
            patch.relax_knights(tile, shares, limit);
        }
        changed = patch.show(tile, &before);
        if !thread::sync_threads_or(changed) {
            break;
        }
    }
    patch.each_lowered(&loaded, |x, y, cost| {
        let place = (top + y) * stride + left + x;
        // planted: distance-plain-store
        search.costs.st_relaxed(place, cost.to_bits(), Device);
    });
    give::<P, REACH>(search, tile);
    // After the stores of all threads, too.
    // planted: distance-give-barrier
    thread::sync_threads();
    if t < 9 {
        let priority = tile.words.ld(GIVEN + t);
        // Only cells of the raster are given costs, so the tile exists.
        if priority != NOTHING {
            search.mark((row + t / 3 - 1) * tiles_x + column + t % 3 - 1, priority);
        }
    }
}

/// Loads a tile with its halo. Cells past the margin are barriers.
#[inline(always)]
fn load<P: Cost, const REACH: u32>(
    search: &CostSearch<'_, P>,
    tile: &Tile<P>,
    left: u32,
    top: u32,
) {
    let side = TILE + 2 * REACH;
    let (stride, rows) = (search.raster.stride(), search.raster.rows());
    let mut i = thread::thread_idx_x();
    while i < side * side {
        let (x, y) = (i % side, i / side);
        let (mut friction, mut cost) = (P::INFINITY, P::INFINITY.to_bits());
        if left + x < stride && top + y < rows {
            let place = (top + y) * stride + left + x;
            friction = search.friction.ld(place);
            // The blocks of other tiles may lower those of the halo at the same time.
            // planted: distance-plain-load
            cost = search.costs.ld_relaxed(place, Device);
        }
        tile.friction.st(Tile::<P>::at(x, y), friction);
        tile.costs.st(Tile::<P>::at(x, y), cost);
        i += BLOCK;
    }
}

/// Finds the cells of the halo that this tile can lower, and notes the least of their new costs for
/// each of the tiles around.
///
/// A cell of the halo may have been lowered since it was loaded. Then its tile is marked in vain.
#[inline(always)]
fn give<P: Cost, const REACH: u32>(search: &CostSearch<'_, P>, tile: &Tile<P>) {
    let (shares, limit) = (&search.shares, search.limit);
    let inside = |x: u32, by: i32| moved(x, by).wrapping_sub(REACH) < TILE;
    let mut i = thread::thread_idx_x();
    while i < 4 * REACH * (TILE + REACH) {
        let (x, y) = halo_cell::<REACH>(i);
        let mut best = P::INFINITY;
        each8!(K, {
            if inside(x, NEAR[K].0) && inside(y, NEAR[K].1) {
                best = best.lower(over_near::<P, K>(tile, shares, x, y));
            }
        });
        if REACH == 2 {
            each8!(K, {
                if inside(x, KNIGHTS[K].0) && inside(y, KNIGHTS[K].1) {
                    best = best.lower(over_knight::<P, K>(tile, shares, x, y));
                }
            });
        }
        // planted: distance-give
        if best <= limit && best < tile.cost(x, y) {
            let part = |x: u32| u32::from(x >= REACH) + u32::from(x >= REACH + TILE);
            let given = GIVEN + part(y) * 3 + part(x);
            tile.words.atomic_min(given, best.priority());
        }
        i += BLOCK;
    }
}

/// Column and row of a cell of the halo: those above the tile, those below, those beside.
#[inline(always)]
fn halo_cell<const REACH: u32>(i: u32) -> (u32, u32) {
    let side = TILE + 2 * REACH;
    let beyond = |x: u32| if x < REACH { x } else { x + TILE };
    let above_and_below = 2 * REACH * side;
    if i < above_and_below {
        (i % side, beyond(i / side))
    } else {
        let i = i - above_and_below;
        (beyond(i % (2 * REACH)), REACH + i / (2 * REACH))
    }
}
