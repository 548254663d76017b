//! A thread's patch of a tile: 4 × 4 cells of one layer, with their edges, in registers.

use cuda_std::prelude::*;
use cuda_std::warp::FULL_MASK;

use super::layout::{Area, BLOCK, Bounds, EAST, NORTH, PATCH, SOUTH, Tiling, WEST};
use super::{Label, Problem};

/// Four values side by side.
pub(in crate::route) type Row<T> = [T; PATCH as usize];
/// Four rows, one below the other.
pub(in crate::route) type Block4<T> = [Row<T>; PATCH as usize];

/// Which patch a thread has.
#[derive(Clone, Copy)]
pub(in crate::route) struct Seat {
    /// Its column, row and layer among the tile's patches.
    column: u32,
    row: u32,
    layer: u32,
    /// The place in the tile of its first cell.
    place: u32,
    /// Cells in a row of the tile.
    pitch: u32,
    last_column: bool,
    last_row: bool,
}

impl Seat {
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

    /// Of the patch whose first cell is in column `x` and row `y` of a grid of one layer.
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
    const fn is_at(self, side: u32) -> bool {
        match side {
            WEST => self.column == 0,
            NORTH => self.row == 0,
            EAST => self.last_column,
            _ => self.last_row,
        }
    }

    /// Where the patch's four labels are in the rim of a side, counted from the rim's start.
    #[inline(always)]
    fn on_rim(self, tiling: Tiling, side: u32) -> u32 {
        let along = if side == WEST || side == EAST {
            self.layer * tiling.rows() + self.row * PATCH
        } else {
            self.layer * tiling.columns() + self.column * PATCH
        };
        tiling.side(side) + along
    }
}

/// The weights of a patch's edges; to outside of the net's window they are blocked.
#[derive(Clone, Copy)]
pub(in crate::route) struct Edges {
    /// From each cell to the right, and down.
    pub(in crate::route) right: Block4<u32>,
    pub(in crate::route) down: Block4<u32>,
    /// From the cells of the first column to the left; from those of the first row up.
    pub(in crate::route) left: Row<u32>,
    pub(in crate::route) up: Row<u32>,
    /// Where those from the patch's cells to the next layer begin. They are read when they are needed: registers are scarce.
    via: u32,
}

/// Does something for the numbers 0 to 3, as constants.
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
fn across<L: Label>(from: Row<L>, to: &mut Row<L>, weights: Row<u32>) {
    each!(J, to[J] = to[J].min(from[J].step(weights[J])));
}

/// Lowers labels to candidates from the left, one after the other.
#[inline(always)]
fn rightwards<L: Label>(row: &mut Row<L>, weights: Row<u32>) {
    row[1] = row[1].min(row[0].step(weights[0]));
    row[2] = row[2].min(row[1].step(weights[1]));
    row[3] = row[3].min(row[2].step(weights[2]));
}

/// Lowers labels to candidates from the right, one after the other.
#[inline(always)]
fn leftwards<L: Label>(row: &mut Row<L>, weights: Row<u32>) {
    row[2] = row[2].min(row[3].step(weights[2]));
    row[1] = row[1].min(row[2].step(weights[1]));
    row[0] = row[0].min(row[1].step(weights[0]));
}

impl Edges {
    /// Those of the patch `seat` of the tile at column and row `tile` of tiles. Edges that do not lie within `bounds` are blocked.
    #[inline(always)]
    pub(in crate::route) fn load<L: Label>(
        right: View<'_, u32>,
        down: View<'_, u32>,
        tiling: Tiling,
        bounds: Bounds,
        tile: (u32, u32),
        seat: Seat,
    ) -> Self {
        let number = tile.1 * tiling.tiles_x + tile.0;
        let first = number * super::TILE;
        let mut edges = Self {
            right: [[L::BLOCKED; 4]; 4],
            down: [[L::BLOCKED; 4]; 4],
            left: [L::BLOCKED; 4],
            up: [L::BLOCKED; 4],
            via: first + seat.place,
        };
        each!(I, {
            let at = first + seat.row_place(I as u32);
            edges.right[I] = right.ld_vector(at);
            edges.down[I] = down.ld_vector(at);
        });
        // The last column of the patch, or of the tile, on the left.
        if seat.column > 0 {
            each!(I, {
                let at = first + seat.row_place(I as u32);
                edges.left[I] = right.ld(at - 1);
            });
        } else if tile.0 > 0 {
            each!(I, {
                let at = first - super::TILE + seat.row_place(I as u32);
                // planted: route-left-edge
                edges.left[I] = right.ld(at + (tiling.columns() - 1));
            });
        }
        if seat.row > 0 {
            edges.up = down.ld_vector(first + seat.place - seat.pitch);
        } else if tile.1 > 0 {
            let north = first - tiling.tiles_x * super::TILE;
            let last_row = (tiling.rows() - 1) * seat.pitch;
            edges.up = down.ld_vector(north + seat.place + last_row);
        }
        edges.prepare::<L>();
        edges.keep_within::<L>(bounds, tiling, tile, seat);
        edges
    }

    /// From weights as they are stored to those that labels step by.
    #[inline(always)]
    fn prepare<L: Label>(&mut self) {
        each!(I, {
            each!(J, {
                self.right[I][J] = L::weight(self.right[I][J]);
                self.down[I][J] = L::weight(self.down[I][J]);
            });
            self.left[I] = L::weight(self.left[I]);
            self.up[I] = L::weight(self.up[I]);
        });
    }

    /// Blocks what does not lie within `bounds`.
    #[inline(always)]
    fn keep_within<L: Label>(
        &mut self,
        bounds: Bounds,
        tiling: Tiling,
        tile: (u32, u32),
        seat: Seat,
    ) {
        let (x, y) = (tile.0 * tiling.columns(), tile.1 * tiling.rows());
        let inside = x > bounds.left
            && y > bounds.top
            && x + tiling.columns() < bounds.right
            && y + tiling.rows() < bounds.bottom;
        if inside {
            return;
        }
        let (x, y) = (x + seat.column * PATCH, y + seat.row * PATCH);
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

/// Writes the way on from each cell of a tile, see [`Way`]: to the first neighbour that the cell's label comes from. For a whole
/// block; `beyond` has been read, and a barrier passed.
///
/// Four cells side by side at a time, with what is around them from memory: in registers, all of it would leave too few for the
/// rest. What lies outside of the net's window is unreached, so that no label comes from there.
#[inline(always)]
pub(super) fn write_ways<L: Label, const LAYERED: bool>(
    problem: &Problem<'_, L>,
    slot: u32,
    tile: (u32, u32),
    beyond: &Beyond<L>,
    ways: SharedView<u16>,
) {
    let tiling = problem.tiling;
    let (columns, rows) = (tiling.columns(), tiling.rows());
    let first = (tile.1 * tiling.tiles_x + tile.0) * super::TILE;
    let labels = slot * super::TILE;
    let mut place = thread::thread_idx_x() * PATCH;
    while place < super::TILE {
        let (column, row, layer) = tiling.at_place(place);
        let (at, edge) = (labels + place, first + place);
        let here = L::load_row(problem.labels, at);

        let (is_west, is_east) = (column == 0, column + PATCH == columns);
        let (is_north, is_south) = (row == 0, row + 1 == rows);
        let (upright, level) = (layer * rows + row, layer * columns + column);
        let left = if is_west {
            beyond.at(WEST, upright)
        } else {
            problem.labels.ld(at - 1)
        };
        let right = if is_east {
            beyond.at(EAST, upright)
        } else {
            problem.labels.ld(at + PATCH)
        };
        let up = if is_north {
            beyond.row_at(NORTH, level)
        } else {
            L::load_row(problem.labels, at - columns)
        };
        let down = if is_south {
            beyond.row_at(SOUTH, level)
        } else {
            L::load_row(problem.labels, at + columns)
        };
        let mut left_edge = u32::MAX;
        if !is_west {
            left_edge = problem.right.ld(edge - 1);
        } else if tile.0 > 0 {
            left_edge = problem.right.ld(edge - super::TILE + (columns - 1));
        }
        let mut up_edges = [u32::MAX; 4];
        if !is_north {
            up_edges = problem.down.ld_vector(edge - columns);
        } else if tile.1 > 0 {
            let north = edge - tiling.tiles_x * super::TILE;
            up_edges = problem.down.ld_vector(north + (rows - 1) * columns);
        }
        let right_edges: Row<u32> = problem.right.ld_vector(edge);
        let down_edges: Row<u32> = problem.down.ld_vector(edge);

        let mut way = [Way::END; 4];
        let mut offer = |j: usize, from: L, weight: u32, next: u32| {
            // planted: route-order
            if from.step(L::weight(weight)) == here[j] {
                way[j] = next;
            }
        };
        // The last of the neighbours, in the order of preference, comes first.
        if LAYERED {
            let layer_cells = tiling.layer_cells();
            if layer + 1 < tiling.layers {
                let from = L::load_row(problem.labels, at + layer_cells);
                let vias: Row<u32> = problem.via.ld_vector(edge);
                each!(
                    J,
                    offer(J, from[J], vias[J], place + J as u32 + layer_cells)
                );
            }
            if layer > 0 {
                let from = L::load_row(problem.labels, at - layer_cells);
                let vias: Row<u32> = problem.via.ld_vector(edge - layer_cells);
                each!(
                    J,
                    offer(J, from[J], vias[J], place + J as u32 - layer_cells)
                );
            }
        }
        let beyond_or = |is: bool, side: u32, next: u32| if is { Way::BEYOND + side } else { next };
        each!(J, {
            let next = beyond_or(is_south, SOUTH, place + J as u32 + columns);
            offer(J, down[J], down_edges[J], next);
        });
        let rights = [here[1], here[2], here[3], right];
        each!(J, {
            let next = beyond_or(J == 3 && is_east, EAST, place + J as u32 + 1);
            offer(J, rights[J], right_edges[J], next);
        });
        each!(J, {
            let next = beyond_or(is_north, NORTH, (place + J as u32).wrapping_sub(columns));
            offer(J, up[J], up_edges[J], next);
        });
        let lefts = [left, here[0], here[1], here[2]];
        let left_edges = [left_edge, right_edges[0], right_edges[1], right_edges[2]];
        each!(J, {
            let next = beyond_or(J == 0 && is_west, WEST, (place + J as u32).wrapping_sub(1));
            offer(J, lefts[J], left_edges[J], next);
        });
        each!(J, {
            // What is on the tree, or not reached, comes from nowhere.
            let stays = here[J] == L::TREE || here[J] >= L::UNREACHED;
            let way = if stays { Way::END } else { way[J] };
            ways.st(place + J as u32, way as u16);
        });
        place += BLOCK * PATCH;
    }
}

/// Where a path goes on from a cell: to the place in the tile of the next, or one of these.
pub(super) struct Way;

impl Way {
    /// This and the number of a side: to the tile beyond it.
    pub(super) const BEYOND: u32 = 0x8000;
    /// Nowhere: the cell is on the tree.
    pub(super) const END: u32 = 0xffff;
}

/// Where the patches of a block show each other their labels: 4 rows of each, or twice the first and the last.
pub(super) struct Exchange<L> {
    pub(super) rows: SharedView<L>,
    pub(super) tiling: Tiling,
}

impl<L: Label> Exchange<L> {
    /// The same memory, for the ways on from the tile's cells: while no labels are shown.
    #[inline(always)]
    pub(super) fn ways(&self) -> SharedView<u16> {
        // SAFETY: there are `TILE` labels of 4 bytes or more.
        unsafe { SharedView::from_raw_parts(self.rows.as_mut_ptr().cast(), super::TILE as usize) }
    }

    /// Where a row stands: those of all patches side by side.
    #[inline(always)]
    fn at(row: u32, thread: u32) -> u32 {
        (row * BLOCK + thread) * PATCH
    }

    /// Shows this thread's labels. `turn` changes from 0 to 1 and back: without layers, what is shown in one turn may still be
    /// read in the next.
    #[inline(always)]
    pub(super) fn show<const LAYERED: bool>(&self, labels: &Block4<L>, turn: u32) {
        let t = thread::thread_idx_x();
        if LAYERED {
            each!(
                I,
                L::store_shared_row(self.rows, Self::at(I as u32, t), labels[I])
            );
        } else {
            L::store_shared_row(self.rows, Self::at(2 * turn, t), labels[0]);
            L::store_shared_row(self.rows, Self::at(2 * turn + 1, t), labels[3]);
        }
    }

    /// Lowers a patch's labels to what those around it give, which the others have shown in this turn, before a barrier. For whole
    /// warps.
    #[inline(always)]
    pub(super) fn take_in<const LAYERED: bool>(
        &self,
        problem: &Problem<'_, L>,
        labels: &mut Block4<L>,
        edges: &Edges,
        seat: Seat,
        turn: u32,
    ) {
        let t = thread::thread_idx_x();
        let columns = self.tiling.patch_columns();
        let (first, last) = if LAYERED {
            (0, 3)
        } else {
            (2 * turn, 2 * turn + 1)
        };
        if seat.row > 0 {
            let up = L::load_shared_row(self.rows, Self::at(last, t - columns));
            across(up, &mut labels[0], edges.up);
        }
        if !seat.last_row {
            let down = L::load_shared_row(self.rows, Self::at(first, t + columns));
            across(down, &mut labels[3], edges.down[3]);
        }
        // The lanes beside this one hold what is to the left and right.
        each!(I, {
            let row = &mut labels[I];
            let (left, is_left) = warp::warp_shuffle_up(FULL_MASK, row[3], 1, columns);
            let (right, is_right) = warp::warp_shuffle_down(FULL_MASK, row[0], 1, columns);
            if is_left {
                row[0] = row[0].min(left.step(edges.left[I]));
            }
            if is_right {
                row[3] = row[3].min(right.step(edges.right[I][3]));
            }
        });
        if LAYERED {
            self.take_in_layers(problem, labels, edges, seat);
        }
    }

    /// Whether a patch's labels differ from what it has shown; with layers, which show all rows. It takes fewer registers than to keep
    /// them.
    #[inline(always)]
    pub(super) fn differs(&self, labels: &Block4<L>) -> bool {
        let t = thread::thread_idx_x();
        let mut bits = 0;
        each!(I, {
            let shown = L::load_shared_row(self.rows, Self::at(I as u32, t));
            each!(J, bits |= L::bits_that_differ(shown[J], labels[I][J]));
        });
        bits != 0
    }

    /// Lowers a patch's labels to what those in the layers below and above give, which the others have shown.
    #[inline(always)]
    fn take_in_layers(
        &self,
        problem: &Problem<'_, L>,
        labels: &mut Block4<L>,
        edges: &Edges,
        seat: Seat,
    ) {
        let t = thread::thread_idx_x();
        let patches = self.tiling.layer_patches();
        let weights = |at: u32| {
            let [a, b, c, d] = problem.via.ld_vector(at);
            [L::weight(a), L::weight(b), L::weight(c), L::weight(d)]
        };
        // Below, then above. (A number of times that the compiler does not know: unrolled, it would load all before it uses any, and
        // registers are scarce.)
        let mut above = 0;
        while above < self.tiling.layers.min(2) {
            let (is, other, via) = if above == 0 {
                let cells = self.tiling.layer_cells();
                (
                    seat.layer > 0,
                    t.wrapping_sub(patches),
                    edges.via.wrapping_sub(cells),
                )
            } else {
                // planted: route-layer-stride
                (t + patches < BLOCK, t + patches, edges.via)
            };
            if is {
                each!(I, {
                    let row = L::load_shared_row(self.rows, Self::at(I as u32, other));
                    across(row, &mut labels[I], weights(via + I as u32 * seat.pitch));
                });
            }
            above += 1;
        }
    }
}

/// The labels beyond the sides of a tile, in shared memory: each patch at a side has put those there that it asks for.
pub(super) struct Beyond<L> {
    pub(super) rims: SharedView<L>,
    pub(super) tiling: Tiling,
}

impl<L: Label> Beyond<L> {
    /// Lowers a patch's labels to what those beyond the tile's sides give.
    #[inline(always)]
    pub(super) fn take_in(&self, labels: &mut Block4<L>, edges: &Edges, seat: Seat) {
        let row = |side: u32| L::load_shared_row(self.rims, seat.on_rim(self.tiling, side));
        if seat.is_at(WEST) {
            let left = row(WEST);
            each!(
                I,
                labels[I][0] = labels[I][0].min(left[I].step(edges.left[I]))
            );
        }
        if seat.is_at(NORTH) {
            across(row(NORTH), &mut labels[0], edges.up);
        }
        if seat.is_at(EAST) {
            let right = row(EAST);
            each!(
                I,
                labels[I][3] = labels[I][3].min(right[I].step(edges.right[I][3]))
            );
        }
        if seat.is_at(SOUTH) {
            across(row(SOUTH), &mut labels[3], edges.down[3]);
        }
    }

    /// The label at a place along a side.
    #[inline(always)]
    fn at(&self, side: u32, along: u32) -> L {
        self.rims.ld(self.tiling.side(side) + along)
    }

    /// Four labels along a side.
    #[inline(always)]
    fn row_at(&self, side: u32, along: u32) -> Row<L> {
        L::load_shared_row(self.rims, self.tiling.side(side) + along)
    }

    /// Reads what the neighbours of a slot have published.
    #[inline(always)]
    pub(super) fn read(
        &self,
        problem: &Problem<'_, L>,
        area: Area,
        slot: u32,
        tile: (u32, u32),
        seat: Seat,
    ) {
        let tiling = self.tiling;
        let one = |side: u32| {
            if seat.is_at(side) {
                let other = area.beside(slot, tile, side);
                let mut row = [L::UNREACHED; 4];
                if other != slot {
                    // planted: route-opposite
                    let opposite =
                        seat.on_rim(tiling, side) - tiling.side(side) + tiling.side((side + 2) % 4);
                    let at = other * tiling.rim() + opposite;
                    each!(I, row[I] = problem.rims.ld_relaxed(at + I as u32, Device));
                }
                L::store_shared_row(self.rims, seat.on_rim(tiling, side), row);
            }
        };
        one(WEST);
        one(NORTH);
        one(EAST);
        one(SOUTH);
    }
}

/// Relaxes a patch's own edges, right and down and then back.
#[inline(always)]
pub(in crate::route) fn relax<L: Label>(labels: &mut Block4<L>, edges: &Edges) {
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

/// Whether any of a patch's labels differ.
#[inline(always)]
pub(in crate::route) fn differ<L: Label>(a: &Block4<L>, b: &Block4<L>) -> bool {
    // Rows side by side: the answers of a row wait for each other.
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
pub(in crate::route) fn least<L: Label>(labels: &Block4<L>) -> L {
    let row = |i: usize| {
        let [a, b, c, d] = labels[i];
        a.min(b).min(c.min(d))
    };
    row(0).min(row(1)).min(row(2).min(row(3)))
}

/// Loads this thread's labels of a slot.
#[inline(always)]
pub(super) fn load<L: Label>(problem: &Problem<'_, L>, slot: u32, seat: Seat) -> Block4<L> {
    let mut labels = [[L::UNREACHED; 4]; 4];
    each!(
        I,
        labels[I] = L::load_row(
            problem.labels,
            slot * super::TILE + seat.row_place(I as u32)
        )
    );
    labels
}

/// Stores this thread's labels of a slot.
#[inline(always)]
pub(super) fn store<L: Label>(problem: &Problem<'_, L>, slot: u32, seat: Seat, labels: &Block4<L>) {
    each!(
        I,
        L::store_row(
            problem.labels,
            slot * super::TILE + seat.row_place(I as u32),
            labels[I]
        )
    );
}

/// Publishes the labels along the tile's sides. For each side: the priority of the smallest label that they give beyond it, where
/// that is less than was read there; or `u32::MAX`.
#[inline(always)]
pub(super) fn publish<L: Label>(
    problem: &Problem<'_, L>,
    slot: u32,
    seat: Seat,
    labels: &Block4<L>,
    edges: &Edges,
    beyond: &Beyond<L>,
) -> Row<u32> {
    let tiling = problem.tiling;
    let [a, b, c, d] = *labels;
    let right = edges.right;
    let one = |side: u32, row: Row<L>, weights: Row<u32>| {
        let mut gives = u32::MAX;
        if seat.is_at(side) {
            let on_rim = seat.on_rim(tiling, side);
            let at = slot * tiling.rim() + on_rim;
            let others = L::load_shared_row(beyond.rims, on_rim);
            each!(I, {
                problem.rims.st_relaxed(at + I as u32, row[I], Device);
                let given = row[I].step(weights[I]);
                if given < others[I] {
                    gives = gives.min(given.priority());
                }
            });
        }
        gives
    };
    let rights = [right[0][3], right[1][3], right[2][3], right[3][3]];
    [
        one(WEST, [a[0], b[0], c[0], d[0]], edges.left),
        one(NORTH, a, edges.up),
        one(EAST, [a[3], b[3], c[3], d[3]], rights),
        one(SOUTH, d, edges.down[3]),
    ]
}
