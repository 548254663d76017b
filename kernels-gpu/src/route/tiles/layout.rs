//! How a grid is cut into tiles, and a net's part of the grid.

use cuda_std::prelude::*;

use crate::primitives::quotient;

/// Cells of a tile.
pub const TILE: u32 = 1 << LOG_TILE;
const LOG_TILE: u32 = 12;
/// Threads of a block, each with a patch of 4 × 4 cells of one layer.
pub const BLOCK: u32 = TILE / (PATCH * PATCH);
/// Side of a patch.
pub(in crate::route) const PATCH: u32 = 4;

/// How a grid is cut: a tile has 4096 cells in all layers together; its sides are powers of two.
///
/// | layers | tile |
/// |---|---|
/// | 1 | 64 × 64 |
/// | 2 | 64 × 32 |
/// | 3, 4 | 32 × 32 |
/// | 5 to 8 | 32 × 16 |
/// | 9 to 16 | 16 × 16 |
///
/// Tiles have indices row by row. A cell's place in its tile is `(layer · rows + y) · columns + x`.
/// Arrays with an element per cell are laid out tile by tile, and also have elements for cells of
/// tiles past the grid's end.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod)]
pub struct Tiling {
    /// The grid's width in cells.
    pub width: u32,
    /// The grid's height in cells.
    pub height: u32,
    /// Its layers.
    pub layers: u32,
    /// Tiles in a row.
    pub tiles_x: u32,
    /// Rows of tiles.
    pub tiles_y: u32,
    /// The width of a tile is 2 to this power.
    log_columns: u32,
    /// The height of a tile is 2 to this power.
    log_rows: u32,
}

impl Tiling {
    /// The tiling of a grid of 1 to 16 layers.
    #[must_use]
    pub const fn new(width: u32, height: u32, layers: u32) -> Self {
        let log_layers = layers.next_power_of_two().ilog2();
        let log_columns = (LOG_TILE - log_layers).div_ceil(2);
        let log_rows = LOG_TILE - log_layers - log_columns;
        Self {
            width,
            height,
            layers,
            tiles_x: width.div_ceil(1 << log_columns),
            tiles_y: height.div_ceil(1 << log_rows),
            log_columns,
            log_rows,
        }
    }

    /// Number of tiles.
    #[must_use]
    pub const fn tiles(self) -> u64 {
        self.tiles_x as u64 * self.tiles_y as u64
    }

    /// Columns of a tile.
    #[must_use]
    #[inline(always)]
    pub const fn columns(self) -> u32 {
        1 << self.log_columns
    }

    /// Rows of a tile.
    #[must_use]
    #[inline(always)]
    pub const fn rows(self) -> u32 {
        1 << self.log_rows
    }

    /// Cells of a tile in one layer.
    #[inline(always)]
    pub(super) const fn layer_cells(self) -> u32 {
        1 << (self.log_columns + self.log_rows)
    }

    /// Patches in a row of a tile.
    #[inline(always)]
    pub(super) const fn patch_columns(self) -> u32 {
        self.columns() / PATCH
    }

    /// Patches of a tile in one layer.
    #[inline(always)]
    pub(super) const fn layer_patches(self) -> u32 {
        self.layer_cells() / (PATCH * PATCH)
    }

    /// A cell's place in its tile.
    #[must_use]
    #[inline(always)]
    pub const fn place(self, x: u32, y: u32, layer: u32) -> u32 {
        let (column, row) = (x & (self.columns() - 1), y & (self.rows() - 1));
        (layer << self.log_rows | row) << self.log_columns | column
    }

    /// The index of a cell of the first layer among those of all tiles.
    #[inline(always)]
    pub(in crate::route) const fn index(self, x: u32, y: u32) -> u32 {
        let tile = (y >> self.log_rows) * self.tiles_x + (x >> self.log_columns);
        tile * TILE + self.place(x, y, 0)
    }

    /// The distance from a cell back to the cell on its left, in an array laid out tile by tile;
    /// `None` at the grid's edge. The cell is in column `tile_x` of tiles; `is_west` says whether
    /// it is in its tile's first column.
    #[inline(always)]
    pub(super) fn back_to_left(self, tile_x: u32, is_west: bool) -> Option<u32> {
        if !is_west {
            Some(1)
        } else if tile_x > 0 {
            // planted: route-left-edge
            Some(TILE - (self.columns() - 1))
        } else {
            None
        }
    }

    /// As [`back_to_left`](Self::back_to_left), to the cell above; the cell is in row `tile_y` of
    /// tiles.
    #[inline(always)]
    pub(super) fn back_to_above(self, tile_y: u32, is_north: bool) -> Option<u32> {
        if !is_north {
            Some(self.columns())
        } else if tile_y > 0 {
            Some(self.tiles_x * TILE - (self.rows() - 1) * self.columns())
        } else {
            None
        }
    }

    /// The column, row and layer of a place in the tile.
    #[must_use]
    #[inline(always)]
    pub const fn at_place(self, place: u32) -> (u32, u32, u32) {
        let line = place >> self.log_columns;
        (
            place & (self.columns() - 1),
            line & (self.rows() - 1),
            line >> self.log_rows,
        )
    }

    /// The number of labels along the west side of a tile, as along the east side: its rows, in all
    /// layers.
    #[inline(always)]
    pub(super) const fn upright_rim(self) -> u32 {
        TILE >> self.log_columns
    }

    /// The number of labels along the north side of a tile, as along the south side: its columns,
    /// in all layers.
    #[inline(always)]
    pub(super) const fn level_rim(self) -> u32 {
        TILE >> self.log_rows
    }

    /// The number of labels along all sides of a tile, in all layers.
    #[must_use]
    #[inline(always)]
    pub const fn rim(self) -> u32 {
        2 * (self.upright_rim() + self.level_rim())
    }

    /// The index in the rim at which a side begins: west, north, east or south.
    #[inline(always)]
    pub(super) const fn side(self, side: u32) -> u32 {
        // West and east, then north and south.
        match side {
            WEST => 0,
            EAST => self.upright_rim(),
            NORTH => 2 * self.upright_rim(),
            _ => 2 * self.upright_rim() + self.level_rim(),
        }
    }
}

/// Sides of a tile. The opposite of a side is two further on.
pub(super) const WEST: u32 = 0;
pub(super) const NORTH: u32 = 1;
pub(super) const EAST: u32 = 2;
pub(super) const SOUTH: u32 = 3;

/// A net's part of the grid, its pins, and where its results go.
///
/// It has a **slot** for each tile that its window touches, row by row, with 4096 labels, a rim,
/// and a word in the queue.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod)]
pub struct Area {
    /// Its first slot.
    pub first_slot: u32,
    /// Column and row of the tile of its first slot.
    pub tile_x: u32,
    /// See `tile_x`.
    pub tile_y: u32,
    /// Tiles in a row of its slots.
    pub tiles_x: u32,
    /// Rows of its slots.
    pub tiles_y: u32,
    /// The window's first column.
    pub left: u32,
    /// The window's first row.
    pub top: u32,
    /// The column after the window's last.
    pub right: u32,
    /// The row after the window's last.
    pub bottom: u32,
    /// Its first pin, from which the tree grows.
    pub first_pin: u32,
    /// The pin after its last.
    pub end_pin: u32,
    /// The first of its pins' cells.
    pub first_cell: u32,
    /// The cell after the last of its pins' cells.
    pub end_cell: u32,
    /// The first cell of its paths.
    pub first_path: u32,
}

/// A slot's net, and the first cell of a pin in the slot.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod)]
pub struct Slot {
    /// The index of its net.
    pub net: u32,
    /// Its first cell of a pin. Its last one is just before the next slot's first.
    pub first_cell: u32,
}

/// A cell at which a pin may be reached. These cells are stored slot by slot.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod)]
pub struct PinCell {
    /// The index of its label.
    pub label: u32,
    /// Its pin, by index among the pins of all nets.
    pub pin: u32,
    /// Its place among the cells of its net's pins, pin by pin.
    pub rank: u32,
}

/// A pin that was joined.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod)]
pub struct JoinedPin {
    /// The cost of its path.
    pub cost: u64,
    /// Its index among the pins of all nets.
    pub pin: u32,
    /// The end of its path among its net's paths.
    pub end: u32,
}

/// A net's paths: their place in the array with room for each net, and in the array without gaps.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod)]
pub struct Span {
    /// The first cell's place.
    pub from: u32,
    /// Its place without gaps.
    pub to: u32,
}

/// A rectangle of the grid's cells.
#[derive(Clone, Copy)]
pub(in crate::route) struct Bounds {
    /// Its first column, and its first row.
    pub(in crate::route) left: u32,
    pub(in crate::route) top: u32,
    /// The column after its last, and the row after its last.
    pub(in crate::route) right: u32,
    pub(in crate::route) bottom: u32,
}

impl Area {
    /// The window.
    #[inline(always)]
    pub(super) const fn bounds(self) -> Bounds {
        Bounds {
            left: self.left,
            top: self.top,
            right: self.right,
            bottom: self.bottom,
        }
    }

    /// The column and row of a slot's tile in the grid.
    #[inline(always)]
    pub(super) fn tile_of(self, slot: u32) -> (u32, u32) {
        let local = slot.wrapping_sub(self.first_slot);
        let y = quotient(local, self.tiles_x);
        (
            self.tile_x
                .wrapping_add(local.wrapping_sub(y.wrapping_mul(self.tiles_x))),
            self.tile_y.wrapping_add(y),
        )
    }

    /// The slot beside `slot`, whose tile is `(x, y)`, on a side; `slot` itself if there is none.
    #[inline(always)]
    pub(super) fn beside(self, slot: u32, (x, y): (u32, u32), side: u32) -> u32 {
        let (x, y) = (x.wrapping_sub(self.tile_x), y.wrapping_sub(self.tile_y));
        match side {
            WEST if x > 0 => slot - 1,
            EAST if x + 1 < self.tiles_x => slot + 1,
            NORTH if y > 0 => slot - self.tiles_x,
            SOUTH if y + 1 < self.tiles_y => slot + self.tiles_x,
            _ => slot,
        }
    }
}
