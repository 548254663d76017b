//! A thread's patch of a tile: 4 × 4 cells of one layer, with their edges, in registers.

use cuda_std::prelude::*;

use super::layout::{Bounds, EAST, NORTH, PATCH, Tiling, WEST};
use super::{PathCost, Problem};

/// Four values side by side.
pub(in crate::route) type Row<T> = [T; PATCH as usize];
/// Four rows, one below the other.
pub(in crate::route) type Block4<T> = [Row<T>; PATCH as usize];

/// The index of a thread's patch.
#[derive(Clone, Copy)]
pub(in crate::route) struct PatchIndex {
    /// Its column, row and layer among the tile's patches.
    column: u32,
    pub(super) row: u32,
    pub(super) layer: u32,
    /// The place in the tile of its first cell.
    place: u32,
    /// Cells in a row of the tile.
    pub(super) pitch: u32,
    last_column: bool,
    pub(super) last_row: bool,
}

impl PatchIndex {
    #[inline(always)]
    pub(super) fn mine(tiling: Tiling) -> Self {
        let t = thread::thread_idx_x();
        let layer = t / tiling.layer_patches().max(1);
        let in_layer = t & (tiling.layer_patches() - 1);
        let columns = tiling.patch_columns();
        let (row, column) = (in_layer / columns.max(1), in_layer & (columns - 1));
        Self {
            column,
            row,
            layer,
            place: tiling.place(column * PATCH, row * PATCH, layer),
            pitch: tiling.columns(),
            last_column: column + 1 == columns,
            last_row: (row + 1) * PATCH == tiling.rows(),
        }
    }

    /// The index of the patch whose first cell is in column `x` and row `y` of a grid of one layer.
    #[inline(always)]
    pub(in crate::route) fn at(tiling: Tiling, x: u32, y: u32) -> Self {
        let (column, row) = (
            (x & (tiling.columns() - 1)) / PATCH,
            (y & (tiling.rows() - 1)) / PATCH,
        );
        Self {
            column,
            row,
            layer: 0,
            place: tiling.place(x, y, 0),
            pitch: tiling.columns(),
            last_column: (column + 1) * PATCH == tiling.columns(),
            last_row: (row + 1) * PATCH == tiling.rows(),
        }
    }

    /// The place of the first cell of row `i`.
    #[inline(always)]
    pub(super) const fn row_place(self, i: u32) -> u32 {
        self.place + i * self.pitch
    }

    /// Whether the patch lies on a side of the tile.
    #[inline(always)]
    pub(super) const fn is_at(self, side: u32) -> bool {
        match side {
            WEST => self.column == 0,
            NORTH => self.row == 0,
            EAST => self.last_column,
            _ => self.last_row,
        }
    }

    /// The index of the patch's four labels on a side, counted from the rim's start.
    #[inline(always)]
    pub(super) fn on_rim(self, tiling: Tiling, side: u32) -> u32 {
        let along = if side == WEST || side == EAST {
            self.layer * tiling.rows() + self.row * PATCH
        } else {
            self.layer * tiling.columns() + self.column * PATCH
        };
        tiling.side(side) + along
    }
}

/// The weights of a patch's edges. Edges that leave the net's window are blocked.
#[derive(Clone, Copy)]
pub(in crate::route) struct Edges {
    /// From each cell to the right, and from each cell down.
    pub(in crate::route) right: Block4<u32>,
    pub(in crate::route) down: Block4<u32>,
    /// From the cells of the first column to the left, and from those of the first row up.
    pub(in crate::route) left: Row<u32>,
    pub(in crate::route) up: Row<u32>,
    /// The index of the first weight from the patch's cells to the next layer. These weights are
    /// read when they are needed: registers are scarce.
    pub(super) via: u32,
}

/// Repeats its body with a constant of value 0, 1, 2 and 3.
macro_rules! each {
    ($i:ident, $body:expr) => {{
        {
            const $i: usize = 0;
            $body
        }
        {
            const $i: usize = 1;
            $body
        }
        {
            const $i: usize = 2;
            $body
        }
        {
            const $i: usize = 3;
            $body
        }
    }};
}

pub(in crate::route) use each;

/// Lowers each label to the candidate from its neighbour in another row.
#[inline(always)]
pub(super) fn across<L: PathCost>(from: Row<L>, to: &mut Row<L>, weights: Row<u32>) {
    each!(J, to[J] = to[J].min(from[J].step(weights[J])));
}

/// Lowers labels to candidates from the left, one after the other.
#[inline(always)]
fn rightwards<L: PathCost>(row: &mut Row<L>, weights: Row<u32>) {
    row[1] = row[1].min(row[0].step(weights[0]));
    row[2] = row[2].min(row[1].step(weights[1]));
    row[3] = row[3].min(row[2].step(weights[2]));
}

/// Lowers labels to candidates from the right, one after the other.
#[inline(always)]
fn leftwards<L: PathCost>(row: &mut Row<L>, weights: Row<u32>) {
    row[2] = row[2].min(row[3].step(weights[2]));
    row[1] = row[1].min(row[2].step(weights[1]));
    row[0] = row[0].min(row[1].step(weights[0]));
}

impl Edges {
    /// The edges of patch `patch` of the tile in column and row `tile` of tiles. Edges that do not
    /// lie within `bounds` are blocked.
    #[inline(always)]
    pub(in crate::route) fn load<L: PathCost>(
        right: View<'_, u32>,
        down: View<'_, u32>,
        tiling: Tiling,
        bounds: Bounds,
        tile: (u32, u32),
        patch: PatchIndex,
    ) -> Self {
        let index = tile.1 * tiling.tiles_x + tile.0;
        let first = index * super::TILE;
        let mut edges = Self {
            right: [[L::BLOCKED; 4]; 4],
            down: [[L::BLOCKED; 4]; 4],
            left: [L::BLOCKED; 4],
            up: [L::BLOCKED; 4],
            via: first + patch.place,
        };
        each!(I, {
            let at = first + patch.row_place(I as u32);
            edges.right[I] = right.ld_vector(at);
            edges.down[I] = down.ld_vector(at);
        });
        if let Some(back) = tiling.back_to_left(tile.0, patch.column == 0) {
            each!(I, {
                edges.left[I] = right.ld(first + patch.row_place(I as u32) - back);
            });
        }
        if let Some(back) = tiling.back_to_above(tile.1, patch.row == 0) {
            edges.up = down.ld_vector(first + patch.place - back);
        }
        edges.prepare::<L>();
        edges.keep_within::<L>(bounds, tiling, tile, patch);
        edges
    }

    /// Converts stored weights to those that labels step by.
    #[inline(always)]
    fn prepare<L: PathCost>(&mut self) {
        each!(I, {
            each!(J, {
                self.right[I][J] = L::weight(self.right[I][J]);
                self.down[I][J] = L::weight(self.down[I][J]);
            });
            self.left[I] = L::weight(self.left[I]);
            self.up[I] = L::weight(self.up[I]);
        });
    }

    /// Blocks the edges that do not lie within `bounds`.
    #[inline(always)]
    fn keep_within<L: PathCost>(
        &mut self,
        bounds: Bounds,
        tiling: Tiling,
        tile: (u32, u32),
        patch: PatchIndex,
    ) {
        let (x, y) = (tile.0 * tiling.columns(), tile.1 * tiling.rows());
        let inside = x > bounds.left
            && y > bounds.top
            && x + tiling.columns() < bounds.right
            && y + tiling.rows() < bounds.bottom;
        if inside {
            return;
        }
        let (x, y) = (x + patch.column * PATCH, y + patch.row * PATCH);
        // planted: route-window
        let column = |j: u32| (x + j).wrapping_sub(bounds.left) < bounds.right - bounds.left;
        let row = |i: u32| (y + i).wrapping_sub(bounds.top) < bounds.bottom - bounds.top;
        let only = |weight: u32, within: bool| if within { weight } else { L::BLOCKED };
        // A neighbour to the left of column 0 would be column 2³² - 1, which no window has.
        let before = |start: u32, from: u32| start > from;
        each!(I, {
            let i = I as u32;
            each!(J, {
                let j = J as u32;
                let here = row(i) && column(j);
                self.right[I][J] = only(self.right[I][J], here && column(j + 1));
                self.down[I][J] = only(self.down[I][J], here && row(i + 1));
            });
            self.left[I] = only(self.left[I], row(i) && column(0) && before(x, bounds.left));
            // planted: route-window-top
            self.up[I] = only(self.up[I], column(i) && row(0) && before(y, bounds.top));
        });
    }
}

/// Relaxes a patch's own edges, to the right and down, then back.
#[inline(always)]
pub(in crate::route) fn relax<L: PathCost>(labels: &mut Block4<L>, edges: &Edges) {
    rightwards(&mut labels[0], edges.right[0]);
    let [a, b, c, d] = labels;
    across(*a, b, edges.down[0]);
    rightwards(b, edges.right[1]);
    across(*b, c, edges.down[1]);
    rightwards(c, edges.right[2]);
    across(*c, d, edges.down[2]);
    rightwards(d, edges.right[3]);
    leftwards(d, edges.right[3]);
    across(*d, c, edges.down[2]);
    leftwards(c, edges.right[2]);
    across(*c, b, edges.down[1]);
    leftwards(b, edges.right[1]);
    across(*b, a, edges.down[0]);
    leftwards(a, edges.right[0]);
}

/// Whether any labels of two patches differ.
#[inline(always)]
pub(in crate::route) fn differ<L: PathCost>(a: &Block4<L>, b: &Block4<L>) -> bool {
    // Rows in parallel: the results within a row wait for each other.
    let row = |i: usize| {
        let (a, b) = (a[i], b[i]);
        L::bits_that_differ(a[0], b[0])
            | L::bits_that_differ(a[1], b[1])
            | L::bits_that_differ(a[2], b[2])
            | L::bits_that_differ(a[3], b[3])
    };
    (row(0) | row(1)) | (row(2) | row(3)) != 0
}

/// The smallest of a patch's labels.
#[inline(always)]
pub(in crate::route) fn least<L: PathCost>(labels: &Block4<L>) -> L {
    let row = |i: usize| {
        let [a, b, c, d] = labels[i];
        a.min(b).min(c.min(d))
    };
    row(0).min(row(1)).min(row(2).min(row(3)))
}

/// Loads this thread's labels of a slot.
#[inline(always)]
pub(super) fn load<L: PathCost>(
    problem: &Problem<'_, L>,
    slot: u32,
    patch: PatchIndex,
) -> Block4<L> {
    let mut labels = [[L::UNREACHED; 4]; 4];
    each!(
        I,
        labels[I] = L::load_row(
            problem.labels.cells,
            slot * super::TILE + patch.row_place(I as u32)
        )
    );
    labels
}

/// Stores this thread's labels of a slot.
#[inline(always)]
pub(super) fn store<L: PathCost>(
    problem: &Problem<'_, L>,
    slot: u32,
    patch: PatchIndex,
    labels: &Block4<L>,
) {
    each!(
        I,
        L::store_row(
            problem.labels.cells,
            slot * super::TILE + patch.row_place(I as u32),
            labels[I]
        )
    );
}
