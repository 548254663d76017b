//! The division of an image into rectangles, and the stages that join them.

use cuda_std::prelude::*;

use crate::primitives::quotient;
use crate::trace::pixels::Raster;

/// Nothing: no side, no fragment, no entry.
pub const NONE: u32 = u32::MAX;

/// Numbers of entries into a pixel over one side of a rectangle: the two low bits of their nodes' codes.
pub(super) const CODES: u32 = 4;

/// An image, how its borders go, and its rectangles, counted column by column.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod)]
pub struct TileGrid {
    /// The image's size.
    pub raster: Raster,
    /// NX, the number of rectangles along x: a power of two.
    pub columns: u32,
    /// NY, the number of rectangles along y: a power of two.
    pub rows: u32,
    /// Pixels in a row of a rectangle.
    pub tile_width: u32,
    /// Rows of a rectangle.
    pub tile_height: u32,
    /// Whether borders go along the pixels' edges: 0 or 1.
    pub edges: u32,
}

impl TileGrid {
    /// The grid of an image in `columns × rows` rectangles, of which there are at most as many as pixels.
    #[must_use]
    pub const fn new(raster: Raster, columns: u32, rows: u32, edges: bool) -> Self {
        Self {
            raster,
            columns,
            rows,
            tile_width: raster.width.div_ceil(columns),
            tile_height: raster.height.div_ceil(rows),
            edges: edges as u32,
        }
    }

    /// Rectangles: blocks of [`track_count`](fn@track_count) and [`track_write`](fn@track_write).
    #[must_use]
    pub const fn tiles(self) -> u32 {
        self.columns * self.rows
    }

    /// The stages of connection, first to last.
    pub fn stages(self) -> impl Iterator<Item = Stage> {
        let stages = |along: u32, vertical| {
            (0..along.trailing_zeros()).map(move |stage| Stage {
                across: 1 << stage,
                vertical,
            })
        };
        stages(self.rows, 1).chain(stages(self.columns, 0))
    }

    /// The pairs of rectangles that a stage joins: blocks of [`connect`](fn@connect).
    #[must_use]
    pub const fn pairs(self, stage: Stage) -> u32 {
        self.tiles() / (2 * self.unit(stage))
    }

    /// Length of `entries` for a stage.
    #[must_use]
    pub const fn entries_len(self, stage: Stage) -> usize {
        self.pairs(stage) as usize * self.pair_entries(stage)
    }

    /// The rectangles that make up one of a pair.
    pub(super) const fn unit(self, stage: Stage) -> u32 {
        if stage.vertical != 0 {
            stage.across
        } else {
            stage.across * self.rows
        }
    }

    /// The entries of a pair.
    pub(super) const fn pair_entries(self, stage: Stage) -> usize {
        let along = if stage.vertical != 0 {
            self.tile_width
        } else {
            self.raster.height
        };
        2 * CODES as usize * along as usize
    }

    /// The pixels of the rectangles from column and row on, so many of them along x and y.
    #[inline(always)]
    pub(super) fn rectangle(self, column: u32, row: u32, columns: u32, rows: u32) -> Rectangle {
        // Below 2³²: a tile is at most its image, and the last ones reach less than twice as far.
        let end = |tiles: u32, size: u32, end: u32| tiles.wrapping_mul(size).min(end);
        Rectangle {
            left: end(column, self.tile_width, self.raster.width),
            right: end(column + columns, self.tile_width, self.raster.width),
            top: end(row, self.tile_height, self.raster.height),
            bottom: end(row + rows, self.tile_height, self.raster.height),
        }
    }

    #[inline(always)]
    pub(super) const fn pixel(self, x: u32, y: u32) -> u32 {
        y.wrapping_mul(self.raster.width).wrapping_add(x)
    }
}

/// One launch of [`connect`](fn@connect): joins rectangles of `across` along one side.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod)]
pub struct Stage {
    /// How many of the first rectangles lie along the side on which a pair is joined.
    pub across: u32,
    /// Whether the pairs lie one above the other, not side by side: 0 or 1.
    pub vertical: u32,
}

/// Some pixels.
#[derive(Clone, Copy)]
pub(super) struct Rectangle {
    pub(super) left: u32,
    pub(super) right: u32,
    pub(super) top: u32,
    pub(super) bottom: u32,
}

impl Rectangle {
    #[inline(always)]
    pub(super) const fn contains(self, x: u32, y: u32) -> bool {
        // planted: rectangle-edge
        self.left <= x && x < self.right && self.top <= y && y < self.bottom
    }
}

/// The pixels of rectangle `tile`.
#[inline(always)]
pub(super) fn tile_rectangle(grid: TileGrid, tile: u32) -> Rectangle {
    let column = quotient(tile, grid.rows);
    let row = tile.wrapping_sub(column.wrapping_mul(grid.rows));
    grid.rectangle(column, row, 1, 1)
}
