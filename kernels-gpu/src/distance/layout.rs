//! The raster with its margin, its tiles, and a tile in shared memory.

use cuda_std::prelude::*;

use super::Cost;
#[cfg(not(target_arch = "nvptx64"))]
use super::queue::TileQueueSizes;
use crate::primitives::quotient;

/// Columns and rows of a tile.
pub const TILE: u32 = 32;
/// Threads per block: one for 2 × 2 cells of a tile.
pub const BLOCK: u32 = TILE * TILE / 4;
/// Patches of a tile along a row.
pub(super) const PATCHES: u32 = TILE / 2;

/// Rows of a tile with the widest halo.
const ROWS: u32 = TILE + 4;
/// The distance in shared memory between two rows of a tile's even columns, or of its odd ones.
/// They are apart so that the threads of a warp, which have every second column of two patches'
/// rows, use all banks.
const PITCH: u32 = 24;
/// Places in shared memory for a tile with its halo.
pub(super) const PLACES: usize = (2 * ROWS * PITCH) as usize;

/// A raster with a margin of barriers on all sides, row by row in memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod)]
pub struct CostRaster {
    /// Cells per row, without the margin; at least 1.
    pub width: u32,
    /// Rows, without the margin; at least 1.
    pub height: u32,
    /// The margin's width.
    pub margin: u32,
}

impl CostRaster {
    /// Places per row, with the margin.
    #[inline(always)]
    pub(super) const fn stride(self) -> u32 {
        self.width + 2 * self.margin
    }

    /// Rows, with the margin.
    #[inline(always)]
    pub(super) const fn rows(self) -> u32 {
        self.height + 2 * self.margin
    }

    /// Places, with the margin: below 2³².
    #[must_use]
    pub const fn places(self) -> u64 {
        self.stride() as u64 * self.rows() as u64
    }

    /// Tiles along a row.
    #[inline(always)]
    pub(super) const fn tiles_x(self) -> u32 {
        self.width.div_ceil(TILE)
    }

    /// Tiles along a column.
    #[inline(always)]
    pub(super) const fn tiles_y(self) -> u32 {
        self.height.div_ceil(TILE)
    }

    /// The number of tiles.
    #[must_use]
    pub const fn tiles(self) -> u32 {
        self.tiles_x() * self.tiles_y()
    }

    /// The tile of the cell at a place.
    #[inline(always)]
    pub(super) fn tile_of(self, place: u32) -> u32 {
        let y = quotient(place, self.stride());
        let x = place - y * self.stride();
        (y - self.margin) / TILE * self.tiles_x() + (x - self.margin) / TILE
    }

    /// The sizes of the queue for a launch of `blocks` blocks.
    #[cfg(not(target_arch = "nvptx64"))]
    #[must_use]
    pub const fn queue_sizes(self, blocks: u32) -> TileQueueSizes {
        TileQueueSizes {
            tiles: self.tiles(),
            blocks,
        }
    }
}

/// A tile with its halo, in a block's shared memory. Column and row 0 are those of the halo.
#[derive(Clone, Copy)]
pub(super) struct Tile<P: Cost> {
    pub(super) friction: SharedView<P>,
    pub(super) costs: SharedView<P::Bits>,
    /// What the block keeps of the queue.
    pub(super) words: SharedView<u32>,
}

impl<P: Cost> Tile<P> {
    /// The index of a cell in shared memory.
    #[inline(always)]
    pub(super) const fn at(x: u32, y: u32) -> u32 {
        (x & 1) * (ROWS * PITCH) + y * PITCH + x / 2
    }

    /// A cell's friction.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn friction(&self, x: u32, y: u32) -> P {
        self.friction.ld(Self::at(x, y))
    }

    /// A cell's cost, which its thread may lower at the same time.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn cost(&self, x: u32, y: u32) -> P {
        P::from_bits(self.costs.ld_relaxed(Self::at(x, y), Block))
    }
}
