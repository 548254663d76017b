//! The division of an image into rectangles, and the stages that join them.

use cuda_std::prelude::*;

use crate::primitives::quotient;
use crate::trace::pixels::Raster;

/// Stands for no side, no fragment, no entry.
pub const NONE: u32 = u32::MAX;

/// The number of nodes of a pixel that borders enter over one side of a rectangle: they differ in
/// the two low bits of their codes.
pub(super) const CODES: u32 = 4;

/// The division of an image into rectangles, counted column by column.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod)]
pub struct TileGrid {
    /// NX, the number of rectangles along x: a power of two.
    pub columns: u32,
    /// NY, the number of rectangles along y: a power of two.
    pub rows: u32,
    /// The width of a rectangle, in pixels.
    pub tile_width: u32,
    /// The height of a rectangle, in pixels.
    pub tile_height: u32,
}

impl TileGrid {
    /// The division into `columns × rows` rectangles, at most as many as pixels.
    #[must_use]
    pub const fn new(raster: Raster, columns: u32, rows: u32) -> Self {
        Self {
            columns,
            rows,
            tile_width: raster.width.div_ceil(columns),
            tile_height: raster.height.div_ceil(rows),
        }
    }

    /// The number of rectangles.
    #[must_use]
    pub const fn tiles(self) -> u32 {
        self.columns * self.rows
    }

    /// The stages of connection, first to last.
    pub fn stages(self) -> impl Iterator<Item = Stage> {
        let stages = |along: u32, pairs| {
            (0..along.trailing_zeros()).map(move |stage| Stage {
                across: 1 << stage,
                pairs,
            })
        };
        stages(self.rows, Pairs::OneAboveTheOther).chain(stages(self.columns, Pairs::SideBySide))
    }

    /// The number of pairs of rectangles that a stage joins.
    #[must_use]
    pub const fn pairs(self, stage: Stage) -> u32 {
        self.tiles() / (2 * self.unit(stage))
    }

    /// The number of entries that a stage needs.
    #[must_use]
    pub const fn entries_len(self, raster: Raster, stage: Stage) -> usize {
        self.pairs(stage) as usize * self.pair_entries(raster, stage)
    }

    /// The number of tiles in each rectangle of a pair.
    #[inline(always)]
    pub(super) const fn unit(self, stage: Stage) -> u32 {
        match stage.pairs {
            Pairs::OneAboveTheOther => stage.across,
            Pairs::SideBySide => stage.across * self.rows,
        }
    }

    /// The number of entries of one pair.
    #[inline(always)]
    pub(super) const fn pair_entries(self, raster: Raster, stage: Stage) -> usize {
        let along = match stage.pairs {
            Pairs::OneAboveTheOther => self.tile_width,
            Pairs::SideBySide => raster.height,
        };
        2 * CODES as usize * along as usize
    }

    /// The pixels of `columns × rows` tiles, from the tile in column `column` and row `row` on.
    #[inline(always)]
    pub(super) fn rectangle(
        self,
        raster: Raster,
        column: u32,
        row: u32,
        columns: u32,
        rows: u32,
    ) -> Rectangle {
        // Below 2³²: a tile is at most as large as its image, and the last tiles end before twice
        // the image's size.
        let end = |tiles: u32, size: u32, end: u32| tiles.wrapping_mul(size).min(end);
        Rectangle {
            left: end(column, self.tile_width, raster.width),
            right: end(column + columns, self.tile_width, raster.width),
            top: end(row, self.tile_height, raster.height),
            bottom: end(row + rows, self.tile_height, raster.height),
        }
    }

    /// The column and the row of tile `tile`.
    #[inline(always)]
    pub(super) fn split(self, tile: u32) -> (u32, u32) {
        let column = quotient(tile, self.rows);
        (column, tile.wrapping_sub(column.wrapping_mul(self.rows)))
    }

    /// The pixels of tile `tile`.
    #[inline(always)]
    pub(super) fn tile(self, raster: Raster, tile: u32) -> Rectangle {
        let (column, row) = self.split(tile);
        self.rectangle(raster, column, row, 1, 1)
    }
}

/// How the two rectangles of a pair lie.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, KernelParam)]
pub enum Pairs {
    /// The second one below the first.
    OneAboveTheOther,
    /// The second one to the right of the first.
    SideBySide,
}

/// One launch of [`connect`](fn@super::connect::connect).
#[repr(C)]
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Stage {
    /// The number of tiles along each rectangle of a pair, in the direction in which the two lie.
    pub across: u32,
    /// How they lie.
    pub pairs: Pairs,
}

/// A rectangle of pixels.
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
