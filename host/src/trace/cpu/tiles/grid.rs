//! The division of an image into rectangles.

use std::ops::Range;

use crate::error::Result;
use crate::trace::TileCounts;

/// By default, rectangles have at least this many pixels along a side, and fewer than twice as
/// many: the marks of one stay in a core's cache.
const DEFAULT_SIDE: u32 = 512;

/// Rectangles of one size, NX along x and NY along y. Those at the right and lower end may reach
/// past the image, or lie outside it, on background.
#[derive(Debug)]
pub(super) struct TileGrid {
    width: u32,
    height: u32,
    /// NX and NY, powers of two.
    pub(super) columns: u32,
    pub(super) rows: u32,
    tile_width: u32,
    tile_height: u32,
}

/// The pixels of a rectangle.
#[derive(Clone, Debug)]
pub(super) struct Rectangle {
    pub(super) x: Range<u32>,
    pub(super) y: Range<u32>,
}

impl Rectangle {
    pub(super) fn contains(&self, x: u32, y: u32) -> bool {
        self.x.contains(&x) && self.y.contains(&y)
    }
}

impl TileGrid {
    /// # Errors
    /// Those of [`TileCounts::for_image`].
    pub(super) fn new(width: u32, height: u32, tiles: TileCounts) -> Result<Self> {
        let (columns, rows) = tiles.for_image(width, height, DEFAULT_SIDE)?;
        Ok(Self {
            width,
            height,
            columns,
            rows,
            tile_width: width.div_ceil(columns),
            tile_height: height.div_ceil(rows),
        })
    }

    /// The number of rectangles.
    pub(super) fn len(&self) -> usize {
        self.columns as usize * self.rows as usize
    }

    /// Rectangle `index`, counted row by row.
    pub(super) fn tile(&self, index: usize) -> Rectangle {
        let columns = self.columns as usize;
        let (column, row) = ((index % columns) as u32, (index / columns) as u32);
        self.rectangle(column..column + 1, row..row + 1)
    }

    /// Some columns and rows of rectangles.
    pub(super) fn rectangle(&self, columns: Range<u32>, rows: Range<u32>) -> Rectangle {
        let end = |tiles: u32, size: u32, end: u32| tiles.saturating_mul(size).min(end);
        let along = |tiles: Range<u32>, size, last| {
            end(tiles.start, size, last)..end(tiles.end, size, last)
        };
        Rectangle {
            x: along(columns, self.tile_width, self.width),
            y: along(rows, self.tile_height, self.height),
        }
    }

    /// The index of the rectangle with pixel `(x, y)`.
    pub(super) fn tile_at(&self, x: u32, y: u32) -> usize {
        let (column, row) = (x / self.tile_width, y / self.tile_height);
        row as usize * self.columns as usize + column as usize
    }
}
