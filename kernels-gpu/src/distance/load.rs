//! Loading a tile with its halo.

use cuda_std::prelude::*;

use super::layout::{BLOCK, TILE, Tile};
use super::patch::{each, each6};
use super::{Cost, CostSearch};

/// The most cells that a thread loads.
pub(super) const CELLS: usize = 6;

/// What a thread loads of a tile with its halo: every [`BLOCK`]th cell. They are loads from memory
/// until they are used, all under way at the same time.
pub(super) struct Cells<P> {
    friction: [P; CELLS],
    costs: [P; CELLS],
}

/// Column and row of cell `k` of the thread, in the tile with its halo; `None` past the last one.
#[inline(always)]
pub(super) fn cell<const REACH: u32>(k: usize) -> Option<(u32, u32)> {
    let side = TILE + 2 * REACH;
    let i = thread::thread_idx_x() + k as u32 * BLOCK;
    (k as u32 * BLOCK < side * side && i < side * side).then_some((i % side, i / side))
}

impl<P: Cost> Cells<P> {
    /// Reads a tile, whose halo's first cell is at column `left` and row `top` of the raster with
    /// its margin. Cells past the margin are barriers.
    #[inline(always)]
    pub(super) fn read<const REACH: u32>(search: &CostSearch<'_, P>, left: u32, top: u32) -> Self {
        let (stride, rows) = (search.raster.stride(), search.raster.rows());
        let mut cells = Self {
            friction: [P::INFINITY; CELLS],
            costs: [P::INFINITY; CELLS],
        };
        each6!(K, {
            if let Some((x, y)) = cell::<REACH>(K)
                && left + x < stride
                && top + y < rows
            {
                let place = (top + y) * stride + left + x;
                cells.friction[K] = search.friction.ld(place);
                // The blocks of other tiles may lower them at the same time.
                // planted: distance-plain-load
                cells.costs[K] = P::from_bits(search.costs.ld_relaxed(place, Device));
            }
        });
        cells
    }

    /// Takes over what a tile that has been relaxed since knows of this one, which is `columns` and
    /// `rows` tiles further.
    #[inline(always)]
    pub(super) fn lower<const REACH: u32>(&mut self, tile: &Tile<P>, (columns, rows): (i32, i32)) {
        let side = TILE + 2 * REACH;
        each6!(K, {
            if let Some((x, y)) = cell::<REACH>(K) {
                let x = x.wrapping_add_signed(columns * TILE as i32);
                let y = y.wrapping_add_signed(rows * TILE as i32);
                if x < side && y < side {
                    // planted: distance-handed-over
                    self.costs[K] = self.costs[K].lower(tile.cost(x, y));
                }
            }
        });
    }

    /// Writes them to shared memory.
    #[inline(always)]
    pub(super) fn write<const REACH: u32>(&self, tile: &Tile<P>) {
        each6!(K, {
            if let Some((x, y)) = cell::<REACH>(K) {
                tile.friction.st(Tile::<P>::at(x, y), self.friction[K]);
                tile.costs.st(Tile::<P>::at(x, y), self.costs[K].to_bits());
            }
        });
    }
}
