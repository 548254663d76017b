//! Routing by fields: first the distances around every pin, for all pins at once; then the pins of
//! a net are joined one after the other by looking distances up, without waiting for searches.
//!
//! If pins are close together, a search from the tree reaches the nearest of them after a few
//! tiles, and joining it is mostly waiting, since these tiles must be relaxed one after the other.
//! But the distance of a pin from the tree is that of the tree from the pin, and the distances from
//! a pin do not change while the tree grows. So
//!
//! 1. each pin gets a **field**: its distance to each cell around it. One block computes it; the
//!    pins are independent of each other;
//! 2. one block per net keeps the distance of each pin from the tree. It takes the nearest pin,
//!    walks down that pin's field from the tree to the pin, and offers the cells of the path to the
//!    fields of the pins around it.
//!
//! A field covers a rectangle, its **box**, and knows only the paths in it. A path that leaves the
//! box costs at least the field's **reach**: the least label on those sides of the box beyond which
//! the grid continues. So a field holds distances below its reach. If the tree is not within the
//! reach of a pin, all that is known of the pin is that it is no nearer than its reach. A pin may
//! be joined if it is nearer than the reach of each such pin. If it is not, the kernel stops, and
//! says so; the host continues with larger boxes, or with a search.
//!
//! | kernel | does | launch |
//! |---|---|---|
//! | [`grow_fields`](fn@grow_fields) | fields, and their pins' distances from the tree | blocks of 128 threads, each for one pin after another; [`grow_bytes`] of shared memory |
//! | [`grow_wide_fields`](fn@grow_wide_fields) | the same for boxes of [`WIDE_CELLS`] or more | blocks of 384 threads |
//! | [`join_pins`](fn@join_pins) | trees, as far as fields reach | one block of 512 threads per net; [`join_bytes`] of shared memory |
//!
//! # Ties
//! The module `route` of the host's crate states which of several shortest paths is taken: seen
//! from the pin, the one that goes to the first neighbour on a shortest path, in a fixed order. A
//! walk down a field goes the other way, from the tree to the pin. If there is only one shortest
//! path, both find it: each cell of a field names the neighbours through which shortest paths reach
//! it, and the walk takes the only one. The walk also decides a few ties (`walk.rs`). The whole
//! block decides where there are many, where a path begins with one, or where several cells of the
//! tree are as near (`ties.rs`).
//!
//! # Limits
//! Grids of one layer without edges of weight 0, and costs below [`LIMIT`]; larger costs are beyond
//! every reach.
//!
//! # Bytes
//! Per cell of a field, 4 bytes are written; while it grows, 12 bytes of edges are read some two
//! times, mostly from the L2 cache, and 4 bytes of labels read and written, mostly in the L1 cache.
//! Per cell of a path, 4 bytes are read for each field that it lies in.

mod grow;
mod join;
mod offer;
mod ties;
mod walk;
mod while_walking;

use cuda_std::prelude::*;

use super::tiles::JoinedPin;
use super::tiles::layout::Bounds;
use crate::primitives::quotient;

pub use grow::{Growing, WIDE_CELLS, grow_bytes, grow_cells, grow_fields, grow_wide_fields};
pub use join::{MOST_UNPLACED, PART_CELLS, join_bytes, join_capacity, join_pins};

/// Fields hold costs below this.
pub const LIMIT: u32 = (1 << 28) - 1;
/// The sides of a box are multiples of this.
pub const GRAIN: u32 = 4;
/// A cell of the grid.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod)]
pub struct CellXy {
    /// Its column.
    pub x: u32,
    /// Its row.
    pub y: u32,
}

/// The box of a field.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod)]
pub struct FieldBox {
    /// Its first column, a multiple of [`GRAIN`].
    pub left: u32,
    /// Its first row, also a multiple of [`GRAIN`].
    pub top: u32,
    /// Its columns, plus 2¹⁶ times its rows, both multiples of [`GRAIN`].
    pub size: u32,
    /// The index of its first cell among the cells of all fields, a multiple of 4. Cells are stored
    /// row by row.
    pub first_entry: u32,
}

/// A pin and its field.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod)]
pub struct Field {
    /// Its box. A net's first pin needs no field, and has a box without cells.
    pub extent: FieldBox,
    /// A cell of the pin.
    pub cell: CellXy,
    /// The index of the pin's first cell among those of all pins.
    pub first_cell: u32,
    /// The index after its last cell's.
    pub end_cell: u32,
}

/// A pin whose field is to grow.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod)]
pub struct Seed {
    /// The pin.
    pub pin: u32,
    /// Its net.
    pub net: u32,
}

/// A net.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod)]
pub struct FieldNet {
    /// The first column of its window.
    pub left: u32,
    /// The first row of its window.
    pub top: u32,
    /// The column after its window's last.
    pub right: u32,
    /// The row after its window's last.
    pub bottom: u32,
    /// Its first pin.
    pub first_pin: u32,
    /// The pin after its last.
    pub end_pin: u32,
    /// The first word of its tree's bits: [`FieldNet::tree_words`].
    pub first_word: u32,
    /// The first cell of its paths.
    pub first_path: u32,
    /// The first of the cells that are added to its tree before pins are joined.
    pub first_added: u32,
    /// The cell after the last of these.
    pub end_added: u32,
}

/// The result for a net.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod)]
pub struct NetResult {
    /// The number of its pins that were joined.
    pub joined_pins: u32,
    /// The number of cells of their paths.
    pub path_cells: u32,
    /// Whether the nearest pin's path has a tie for which shared memory has no room.
    pub has_open_tie: u32,
}

/// Nets, and the boxes of their pins.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct Boxes<'a> {
    /// By net. A net's window lies in the grid.
    pub nets: View<'a, FieldNet>,
    /// By pin, the pins of all nets one after the other.
    pub fields: View<'a, Field>,
    /// The cells of all pins; a pin's cells lie in its box.
    pub pin_cells: View<'a, CellXy>,
}

/// Where the pins of nets of many pins are: sorted by the **bucket** that has the corner of a pin's
/// box, its first column and row. Buckets are squares of cells, row by row; after those come pins
/// whose boxes are larger than the net's usual ones.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct PinPlaces<'a> {
    /// By net.
    pub nets: View<'a, NetPlaces>,
    /// By bucket: the index of its first pin in the views below, and after the last bucket one
    /// more.
    pub buckets: View<'a, u32>,
    /// The boxes of pins.
    pub boxes: View<'a, FieldBox>,
    /// The pins, counted from the net's first.
    pub pins: View<'a, u32>,
}

/// The buckets of a net, if it has more than [`MOST_UNPLACED`] pins.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod)]
pub struct NetPlaces {
    /// The binary logarithm of a bucket's side.
    pub log_side: u32,
    /// Buckets per row. Buckets cover the window, from multiples of [`GRAIN`] on.
    pub columns: u32,
    /// Rows of buckets.
    pub rows: u32,
    /// The first of its buckets.
    pub first_bucket: u32,
    /// The most columns of boxes in buckets, at least 1.
    pub box_columns: u32,
    /// The most rows of boxes in buckets, at least 1.
    pub box_rows: u32,
    /// The end of the larger boxes, which begin after the last bucket's.
    pub end: u32,
}

/// What is known of the pins' distances from their trees: in each view, one element per pin.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct PinState<'a> {
    /// The distance, or a lower bound of it.
    pub distance_bounds: ViewMut<'a, DistanceBound>,
    /// Where the pin's path begins: [`Start`].
    pub starts: ViewMut<'a, Start>,
}

/// The trees of nets.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct GrowingTrees<'a> {
    /// The cells that become part of trees before pins are joined: [`FieldNet::first_added`].
    pub added: View<'a, CellXy>,
    /// By net: [`FieldNet::tree_words`] words.
    pub words: ViewMut<'a, u32>,
}

/// The results of joining pins.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct JoinOutput<'a> {
    /// By net.
    pub nets: ViewMut<'a, NetResult>,
    /// By pin: from a net's first pin on, its joined pins in the order of joining, and the ends of
    /// their paths.
    pub joined: ViewMut<'a, JoinedPin>,
    /// By net, from [`FieldNet::first_path`] on: the cells of its paths, by index in the net's
    /// window. Each path begins on the tree. A net has room for each cell of its window, and for
    /// one more per pin.
    pub paths: ViewMut<'a, u32>,
}

impl FieldNet {
    /// The number of words of its tree: for each row of its window a bit per column, from a
    /// multiple of 32 on.
    #[must_use]
    pub const fn tree_words(&self) -> u64 {
        self.row_words() as u64 * (self.bottom - self.top) as u64
    }

    #[inline(always)]
    const fn row_words(&self) -> u32 {
        self.right.div_ceil(32) - self.left / 32
    }

    /// The word of the tree with the bit of column `x`, bit `x % 32`, in row `y`.
    #[inline(always)]
    const fn word(&self, x: u32, y: u32) -> u32 {
        self.first_word + (y - self.top) * self.row_words() + (x / 32 - self.left / 32)
    }

    #[inline(always)]
    const fn bounds(&self) -> Bounds {
        Bounds {
            left: self.left,
            top: self.top,
            right: self.right,
            bottom: self.bottom,
        }
    }
}

impl FieldBox {
    /// The size of a box of `columns` columns and `rows` rows, each less than 2¹⁶.
    #[must_use]
    pub const fn size(columns: u32, rows: u32) -> u32 {
        columns | rows << 16
    }

    /// Its columns.
    #[must_use]
    #[inline(always)]
    pub const fn columns(&self) -> u32 {
        self.size & 0xffff
    }

    /// Its rows.
    #[must_use]
    #[inline(always)]
    pub const fn rows(&self) -> u32 {
        self.size >> 16
    }

    /// Its cells.
    #[must_use]
    #[inline(always)]
    pub const fn cells(&self) -> u32 {
        self.columns() * self.rows()
    }

    /// The cell of the grid in one of its columns and rows.
    #[inline(always)]
    const fn cell_in(&self, column: u32, row: u32) -> CellXy {
        CellXy {
            x: self.left + column,
            y: self.top + row,
        }
    }
}

impl Field {
    /// The columns of its box.
    #[must_use]
    #[inline(always)]
    pub const fn columns(&self) -> u32 {
        self.extent.columns()
    }

    /// The rows of its box.
    #[must_use]
    #[inline(always)]
    pub const fn rows(&self) -> u32 {
        self.extent.rows()
    }

    /// The column and row in its box of a cell.
    #[inline(always)]
    const fn place_of(&self, cell: CellXy) -> (u32, u32) {
        (cell.x - self.extent.left, cell.y - self.extent.top)
    }

    /// The index in its box of a cell.
    #[inline(always)]
    const fn index_of(&self, cell: CellXy) -> u32 {
        let (column, row) = self.place_of(cell);
        row * self.columns() + column
    }

    /// The cell with an index in its box.
    #[inline(always)]
    fn cell_at(&self, index: u32) -> CellXy {
        let (column, row) = column_and_row(index, self.columns());
        self.extent.cell_in(column, row)
    }
}

/// The column and row of an index, counted row by row.
#[inline(always)]
pub(in crate::route) fn column_and_row(index: u32, columns: u32) -> (u32, u32) {
    let row = quotient(index, columns);
    (index - row * columns, row)
}

/// A cell of a field: its distance from the pin, and the neighbours through which shortest paths
/// reach it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry(u32);

impl Entry {
    /// Beyond the field's reach.
    const NONE: Self = Self(u32::MAX);

    /// `ways` has bit `d` for direction `d`.
    #[inline(always)]
    const fn new(distance: u32, ways: u32) -> Self {
        Self(distance << 4 | ways)
    }

    /// The distance; [`LIMIT`] if there is none.
    #[inline(always)]
    const fn distance(self) -> u32 {
        self.0 >> 4
    }

    /// The directions of the neighbours through which shortest paths reach the cell, as bits; none
    /// at the pin itself, and none beyond the reach.
    #[inline(always)]
    const fn ways(self) -> u32 {
        if self.0 == Self::NONE.0 {
            0
        } else {
            self.0 & 15
        }
    }

    /// Whether the cell has several ways.
    #[inline(always)]
    const fn is_tie(self) -> bool {
        let ways = self.ways();
        ways & ways.wrapping_sub(1) != 0
    }
}

/// Directions, in the order in which paths, seen from their pins, prefer them. The opposite of a
/// direction is two further on.
pub(in crate::route) const LEFT: u32 = 0;
pub(in crate::route) const UP: u32 = 1;
pub(in crate::route) const RIGHT: u32 = 2;
pub(in crate::route) const DOWN: u32 = 3;

/// The index of a cell's neighbour in a direction minus that of the cell, wrapping around, if rows
/// are `pitch` apart.
///
/// Without branches, like the next function: the lanes of a warp differ in their directions.
#[inline(always)]
const fn offset(direction: u32, pitch: u32) -> u32 {
    let unit = if direction % 2 == LEFT { 1 } else { pitch };
    if direction < RIGHT {
        unit.wrapping_neg()
    } else {
        unit
    }
}

/// Whether a rectangle of `columns` columns and `rows` rows has the neighbour of a cell in a
/// direction.
#[inline(always)]
const fn has_neighbour(
    direction: u32,
    (column, row): (u32, u32),
    (columns, rows): (u32, u32),
) -> bool {
    let (at, len) = if direction % 2 == LEFT {
        (column, columns)
    } else {
        (row, rows)
    };
    at != if direction < RIGHT { 0 } else { len - 1 }
}

/// What is known of a pin's distance from the tree: the distance, or, if the pin's field does not
/// reach the tree, that it is no less than the field's reach.
///
/// Bounds compare by distance; at the same distance, an inexact bound comes first. A joined pin
/// comes after all others.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod)]
pub struct DistanceBound(u32);

impl DistanceBound {
    /// The pin is joined.
    pub const JOINED: Self = Self(u32::MAX);

    /// The distance is `distance`, less than [`LIMIT`].
    #[inline(always)]
    const fn exactly(distance: u32) -> Self {
        Self(distance << 1 | 1)
    }

    /// The distance is `reach` or more.
    #[inline(always)]
    const fn at_least(reach: u32) -> Self {
        Self(reach << 1)
    }

    /// The distance, if it is known and the pin is not joined.
    #[inline(always)]
    const fn distance(self) -> Option<u32> {
        if self.0 == Self::JOINED.0 || self.0.is_multiple_of(2) {
            None
        } else {
            Some(self.0 >> 1)
        }
    }

    /// The bound in the host's form.
    #[cfg(not(target_arch = "nvptx64"))]
    #[must_use]
    pub const fn nearness(self) -> Nearness {
        match self.distance() {
            _ if self.0 == Self::JOINED.0 => Nearness::Joined,
            Some(distance) => Nearness::At(distance),
            None => Nearness::AtLeast(self.0 >> 1),
        }
    }
}

/// A [`DistanceBound`], for the host.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nearness {
    /// The pin is on the tree.
    Joined,
    /// Its distance from the tree.
    At(u32),
    /// Its distance is this or more.
    AtLeast(u32),
}

/// The cell at which a pin's path begins, the tree's nearest one: its index in the pin's box, and
/// whether the path is a tie there.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod)]
pub struct Start(u32);

impl Start {
    /// Set if several ways lead from the cell to the pin. No box has as many cells.
    const TIE: u32 = 1 << 30;
    /// Set if the path may begin at other cells as well.
    const MANY: u32 = 1 << 31;

    /// The only cell, which has this index and entry.
    #[inline(always)]
    const fn new(index: u32, entry: Entry) -> Self {
        Self(if entry.is_tie() {
            index | Self::TIE
        } else {
            index
        })
    }

    /// This cell, or if `is_many`, this one or others.
    #[inline(always)]
    const fn or_others(self, is_many: bool) -> Self {
        Self(if is_many { self.0 | Self::MANY } else { self.0 })
    }

    /// One of the cells, as if it were the only one.
    #[inline(always)]
    const fn only(self) -> Self {
        Self(self.0 & !Self::MANY)
    }

    /// Whether the path may begin at other cells as well.
    #[inline(always)]
    const fn is_many(self) -> bool {
        self.0 & Self::MANY != 0
    }

    /// Whether the path is not known from its beginning.
    #[inline(always)]
    const fn is_tie(self) -> bool {
        self.0 & (Self::MANY | Self::TIE) != 0
    }

    /// The index of the cell.
    #[inline(always)]
    const fn index(self) -> u32 {
        self.0 & !(Self::MANY | Self::TIE)
    }
}
