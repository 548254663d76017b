//! Relaxing tiles until all costs are final.

use cuda_std::prelude::*;
use cuda_std::warp::WARP_SIZE;

use super::carry::carry;
use super::layout::{BLOCK, TILE, Tile};
use super::load::Cells;
use super::patch::{KNIGHTS, NEAR, Patch, each, each8, moved, over_knight, over_near, patch_costs};
use super::queue::{NOTHING, each_of_halo, forget_given, note_given};
use super::{Cost, CostSearch};

/// Finds all costs. Called by all threads of the grid.
///
/// ```text
/// set all costs to infinity, then those of the sources; mark their tiles
/// while tiles are marked or relaxed: take the block's nearest marked tile:
///     load it with its halo
///     lower its costs until none changes; store those that fell
///     if it can lower cells of just one tile beside it, and no tile of the block is marked:
///         go on with that one
///     else mark the tiles beside it whose cells it can lower
/// ```
///
/// So a block may relax a tile of another block's, even while that block relaxes it, from costs
/// that have fallen since it loaded them. Each of the two ends with costs that no step within the
/// tile lowers, and so does the lesser of both, cell by cell, which is what the atomic minimum
/// leaves in memory: a step from the lesser of two costs leads to a sum that the same block has not
/// exceeded. And a block gives the tiles around whatever is less than the costs that it knows of,
/// which are no less than those in memory.
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
        let tile = search.raster.tile_of(place);
        let priority = P::from_bits(cost).priority();
        search.queue.mark(search.raster, tile, priority);
        i += thread::grid_dim_x() * BLOCK;
    }
    search.barrier.sync();
    loop {
        let next = search.queue.next(search.raster, tile.words);
        if next == NOTHING {
            return;
        }
        let mut visit = Visit::new::<REACH>(search, next);
        while visit.settle::<REACH>(search, tile) {}
        // After the marks of all threads, and before shared memory is used again.
        thread::sync_threads();
        if t == 0 {
            search.queue.release();
        }
    }
}

/// A tile that a block relaxes.
struct Visit<P> {
    /// The tile's row and column among the tiles.
    row: u32,
    column: u32,
    /// Rows and columns from the tile that the block has come from, one at most; 0 and 0 if it has
    /// taken a marked tile.
    way: (i32, i32),
    cells: Cells<P>,
}

impl<P: Cost> Visit<P> {
    /// Begins to load a tile.
    #[inline(always)]
    fn new<const REACH: u32>(search: &CostSearch<'_, P>, index: u32) -> Self {
        let tiles_x = search.raster.tiles_x().max(1);
        let (row, column) = (index / tiles_x, index % tiles_x);
        Self {
            row,
            column,
            way: (0, 0),
            // The place of the halo's first cell: halo and margin are of the same width.
            cells: Cells::read::<REACH>(search, column * TILE, row * TILE),
        }
    }

    /// Whether the block has come from a tile that shares a side with this one.
    #[inline(always)]
    fn is_straight(&self) -> bool {
        (self.way.0 == 0) != (self.way.1 == 0)
    }

    /// Relaxes the tile until none of its costs changes. Then goes on to a tile beside it, and
    /// returns true, or marks the tiles beside it, and returns false. Called by the whole block.
    #[inline(always)]
    fn settle<const REACH: u32>(&mut self, search: &CostSearch<'_, P>, tile: &Tile<P>) -> bool {
        let t = thread::thread_idx_x();
        let (shares, limit, stride) = (&search.shares, search.limit, search.raster.stride());
        self.cells.write::<REACH>(tile);
        // planted: distance-load-barrier
        thread::sync_threads();

        forget_given(tile.words);
        let loaded = patch_costs::<P, REACH>(tile);
        if REACH == 1 && self.is_straight() {
            thread::sync_threads();
            if t < WARP_SIZE {
                carry::<P, REACH>(tile, shares, limit, (self.way.1, self.way.0));
            }
            // planted: distance-carry-barrier
            thread::sync_threads();
        }
        // What is read here has come when the costs no longer change. Searches with knight's moves
        // have no registers left for it, and never go on.
        let marked = if REACH == 1 {
            search.queue.least_mark(search.raster)
        } else {
            NOTHING
        };
        let ahead = self.read_ahead::<REACH>(search);

        let mut patch = Patch::load::<REACH>(tile, shares);
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
        let (left, top) = (self.column * TILE, self.row * TILE);
        patch.each_lowered(&loaded, |x, y, cost| {
            let place = (top + y) * stride + left + x;
            // Another block may relax the tile at the same time.
            // planted: distance-plain-store
            search.costs.atomic_min(place, cost.to_bits());
        });
        give::<P, REACH>(search, tile);
        // After the stores of all threads, too.
        // planted: distance-give-barrier
        let waiting = thread::sync_threads_or(marked != NOTHING);
        self.go_on::<REACH>(search, tile, waiting, ahead)
    }

    /// Begins to load the next tile straight on, if the block has come straight here; not with
    /// knight's moves.
    #[inline(always)]
    fn read_ahead<const REACH: u32>(&mut self, search: &CostSearch<'_, P>) -> bool {
        let row = self.row.wrapping_add_signed(self.way.0);
        let column = self.column.wrapping_add_signed(self.way.1);
        let exists = column < search.raster.tiles_x() && row < search.raster.tiles_y();
        let ahead = REACH == 1 && self.is_straight() && exists;
        if ahead {
            self.cells = Cells::read::<REACH>(search, column * TILE, row * TILE);
        }
        ahead
    }

    /// Goes on to the tile to which this one has given costs, and returns true, if there is just
    /// one and the block has no other tile to relax: `waiting` says whether it has. Otherwise marks
    /// all of these tiles. `ahead` says whether the next one straight on is being loaded.
    #[inline(always)]
    fn go_on<const REACH: u32>(
        &mut self,
        search: &CostSearch<'_, P>,
        tile: &Tile<P>,
        waiting: bool,
        ahead: bool,
    ) -> bool {
        let at = (self.row, self.column);
        let may_go_on = REACH == 1 && !waiting;
        let queue = &search.queue;
        let Some(way) = queue.mark_around(search.raster, at, tile.words, may_go_on) else {
            return false;
        };
        self.row = self.row.wrapping_add_signed(way.0);
        self.column = self.column.wrapping_add_signed(way.1);
        if ahead && way == self.way {
            self.cells.lower::<REACH>(tile, (way.1, way.0));
        } else {
            self.cells = Cells::read::<REACH>(search, self.column * TILE, self.row * TILE);
        }
        self.way = way;
        // Before shared memory is used again.
        // planted: distance-go-on-barrier
        thread::sync_threads();
        true
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
    each_of_halo::<REACH>(|x, y| {
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
            note_given::<REACH>(tile.words, (x, y), best.priority());
        }
    });
}
