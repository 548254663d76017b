//! Growing a field: the labels of a box in shared memory, patch by patch.
//!
//! Patches of 4 × 4 cells are coloured like a chessboard. In each round the block relaxes the
//! listed patches of one colour, one thread per patch, until nothing changes in the patch. No two
//! of them are neighbours, so the labels they read do not change. A patch that can lower a label of
//! a neighbouring patch puts that patch on the list of the next round.

use cuda_std::prelude::*;

use super::{
    Boxes, CellXy, DOWN, DistanceBound, Entry, Field, FieldNet, GRAIN, LEFT, LIMIT, MANY, PinState,
    RIGHT, Seed, UP, column_and_row,
};
use crate::route::tiles::layout::{Bounds, PATCH};
use crate::route::tiles::patch::{self, Edges, PatchIndex, Row, each};
use crate::route::tiles::{PathCost, TiledGrid};

/// Threads of a block.
const BLOCK: u32 = 128;
/// The label of a cell that is not reached.
const UNREACHED: u32 = <u32 as PathCost>::UNREACHED;

/// The most cells of a box: its patches have indices of 16 bits.
pub const MAX_CELLS: u32 = (1 << 16) * PATCH * PATCH;

/// The dynamic shared memory of [`grow_fields`](fn@grow_fields) for boxes of up to `cells` cells,
/// in bytes.
#[must_use]
pub const fn grow_bytes(cells: u32) -> u32 {
    let patches = patches(cells);
    4 * cells + 4 * patches + 2 * 2 * patches.div_ceil(2)
}

#[inline(always)]
const fn patches(cells: u32) -> u32 {
    cells / (PATCH * PATCH)
}

/// A block's shared memory.
#[derive(Clone, Copy)]
struct BoxScratch {
    /// By cell of the box.
    labels: SharedView<u32>,
    /// By patch: the last round whose list has it.
    stamps: SharedView<u32>,
    /// The listed patches, by colour.
    lists: SharedView<u16>,
    /// See [`word`].
    words: SharedView<u32>,
}

/// Words of a block.
mod word {
    /// By round modulo 3: the number of patches on the round's list. While one round's list is
    /// read, the next one's grows, and the previous one's number becomes 0.
    pub(super) const COUNTS: u32 = 0;
    /// The reach of the field so far.
    pub(super) const REACH: u32 = 3;
    /// The least distance of the tree so far, and the first and last cell at that distance.
    pub(super) const NEAREST: u32 = 4;
    pub(super) const FIRST: u32 = 5;
    pub(super) const LAST: u32 = 6;
    pub(super) const COUNT: u32 = 7;
}

/// A pin whose field is growing, and the memory for it.
#[derive(Clone, Copy)]
struct Growth<'a> {
    grid: TiledGrid<'a>,
    net: FieldNet,
    field: Field,
    scratch: BoxScratch,
}

/// One of each side of a patch.
#[derive(Clone, Copy)]
struct Sides<T> {
    left: T,
    up: T,
    right: T,
    down: T,
}

impl Growth<'_> {
    /// The cells that paths may use: the part of the box in the window.
    #[inline(always)]
    fn bounds(&self) -> Bounds {
        let window = self.net.bounds();
        Bounds {
            left: window.left.max(self.field.left),
            top: window.top.max(self.field.top),
            right: window.right.min(self.field.left + self.field.columns()),
            bottom: window.bottom.min(self.field.top + self.field.rows()),
        }
    }

    #[inline(always)]
    fn patch_columns(&self) -> u32 {
        self.field.columns() / PATCH
    }

    /// Puts a patch on the list of `round`, unless it is already there.
    #[inline(always)]
    fn push(&self, patch: u32, round: u32) {
        let BoxScratch {
            stamps,
            lists,
            words,
            ..
        } = self.scratch;
        // planted: field-stamp
        if stamps.atomic_exch(patch, round) != round {
            let place = words.atomic_add(word::COUNTS + round % 3, 1);
            lists.st(self.list(round) + place, patch as u16);
        }
    }

    /// The index at which the list of a round begins.
    #[inline(always)]
    fn list(&self, round: u32) -> u32 {
        round % 2 * patches(self.field.cells()).div_ceil(2)
    }

    /// Sets the labels of the pin to 0, all others to [`UNREACHED`].
    #[inline(always)]
    fn start(&self, pin_cells: View<'_, CellXy>) {
        let t = thread::thread_idx_x();
        let field = self.field;
        let mut i = t * 4;
        while i < field.cells() {
            self.scratch.labels.st_vector(i, [UNREACHED; 4]);
            i += BLOCK * 4;
        }
        let mut i = t;
        while i < patches(field.cells()) {
            self.scratch.stamps.st(i, u32::MAX);
            i += BLOCK;
        }
        if t < word::COUNT {
            let value = match t {
                word::REACH | word::NEAREST => LIMIT,
                word::FIRST => u32::MAX,
                _ => 0,
            };
            self.scratch.words.st(t, value);
        }
        thread::sync_threads();
        let mut i = field.first_cell + t;
        while i < field.end_cell {
            let cell = pin_cells.ld(i);
            let index = field.index_of(cell);
            // A pin may contain a cell twice.
            self.scratch.labels.st_relaxed(index, 0, Block);
            let (column, row) = ((cell.x - field.left) / PATCH, (cell.y - field.top) / PATCH);
            self.push(row * self.patch_columns() + column, (row + column) % 2);
            i += BLOCK;
        }
        thread::sync_threads();
    }

    /// Relaxes until no label below the reach changes.
    #[inline(always)]
    fn relax(&self) {
        let t = thread::thread_idx_x();
        let words = self.scratch.words;
        let mut round = 0;
        loop {
            let count = words.ld(word::COUNTS + round % 3);
            if count == 0 && words.ld(word::COUNTS + (round + 1) % 3) == 0 {
                return;
            }
            if t == 0 {
                words.st(word::COUNTS + (round + 2) % 3, 0);
            }
            let mut i = t;
            while i < count {
                let patch = self.scratch.lists.ld(self.list(round) + i);
                self.relax_patch(patch.into(), round + 1);
                i += BLOCK;
            }
            // planted: field-round
            thread::sync_threads();
            round += 1;
        }
    }

    /// Relaxes a patch until nothing changes in it, and puts the patches whose labels it can lower
    /// on the list of `next`.
    ///
    /// ```text
    /// load the patch's labels and edges, and the labels around it
    /// lower its outer labels to the candidates from around
    /// relax the patch until nothing changes; store its labels
    /// at a side of the box where the window continues: lower the reach to the least label
    /// for each neighbouring patch that gets a lower label within the reach: list it
    /// ```
    #[inline(always)]
    fn relax_patch(&self, patch: u32, next: u32) {
        let (field, tiling) = (self.field, self.grid.tiling);
        let (pitch, shared) = (field.columns(), self.scratch.labels);
        let (column, row) = column_and_row(patch, self.patch_columns());
        let (x, y) = (field.left + column * PATCH, field.top + row * PATCH);
        let tile = (x / tiling.columns(), y / tiling.rows());
        let in_tile = PatchIndex::at(tiling, x, y);
        let edges = Edges::load::<u32>(
            self.grid.right,
            self.grid.down,
            tiling,
            self.bounds(),
            tile,
            in_tile,
        );

        let first = row * PATCH * pitch + column * PATCH;
        let has = Sides {
            left: column > 0,
            up: row > 0,
            right: (column + 1) * PATCH < field.columns(),
            down: (row + 1) * PATCH < field.rows(),
        };
        let (mut labels, around) = self.load_patch(first, has);
        let before = labels;
        let right_edges: Row<u32> = [
            edges.right[0][3],
            edges.right[1][3],
            edges.right[2][3],
            edges.right[3][3],
        ];
        each!(I, {
            labels[I][0] = labels[I][0].min(around.left[I].step(edges.left[I]));
            labels[I][3] = labels[I][3].min(around.right[I].step(right_edges[I]));
        });
        each!(J, {
            // planted: field-edges
            labels[0][J] = labels[0][J].min(around.up[J].step(edges.up[J]));
            labels[3][J] = labels[3][J].min(around.down[J].step(edges.down[3][J]));
        });
        loop {
            let last = labels;
            patch::relax(&mut labels, &edges);
            if !patch::differ(&labels, &last) {
                break;
            }
        }
        if patch::differ(&labels, &before) {
            each!(I, shared.st_vector(first + I as u32 * pitch, labels[I]));
        }

        let sides = Sides {
            left: [labels[0][0], labels[1][0], labels[2][0], labels[3][0]],
            up: labels[0],
            right: [labels[0][3], labels[1][3], labels[2][3], labels[3][3]],
            down: labels[3],
        };
        let reach = self.lower_reach(&sides, has);
        // Labels beyond the reach are not wanted.
        let gives = |side: Row<u32>, weights: Row<u32>, others: Row<u32>| {
            let one = |i: usize| {
                let given = side[i].step(weights[i]);
                given < others[i] && given <= reach
            };
            one(0) | one(1) | one(2) | one(3)
        };
        let columns = self.patch_columns();
        if has.left && gives(sides.left, edges.left, around.left) {
            self.push(patch - 1, next);
        }
        if has.up && gives(sides.up, edges.up, around.up) {
            self.push(patch - columns, next);
        }
        if has.right && gives(sides.right, right_edges, around.right) {
            self.push(patch + 1, next);
        }
        if has.down && gives(sides.down, edges.down[3], around.down) {
            self.push(patch + columns, next);
        }
    }

    /// The labels of the patch whose first label is element `first`, and those beside it, where the
    /// box `has` any.
    #[inline(always)]
    fn load_patch(&self, first: u32, has: Sides<bool>) -> ([Row<u32>; 4], Sides<Row<u32>>) {
        let (pitch, shared) = (self.field.columns(), self.scratch.labels);
        let mut labels = [[UNREACHED; 4]; 4];
        let mut around = Sides {
            left: [UNREACHED; 4],
            up: [UNREACHED; 4],
            right: [UNREACHED; 4],
            down: [UNREACHED; 4],
        };
        each!(I, {
            let at = first + I as u32 * pitch;
            labels[I] = shared.ld_vector(at);
            if has.left {
                around.left[I] = shared.ld(at - 1);
            }
            if has.right {
                around.right[I] = shared.ld(at + PATCH);
            }
        });
        if has.up {
            around.up = shared.ld_vector(first - pitch);
        }
        if has.down {
            around.down = shared.ld_vector(first + PATCH * pitch);
        }
        (labels, around)
    }

    /// Lowers the reach to the least label of a patch where the box ends and the window does not.
    /// Returns the reach.
    #[inline(always)]
    fn lower_reach(&self, sides: &Sides<Row<u32>>, has: Sides<bool>) -> u32 {
        let (field, window, words) = (self.field, self.net, self.scratch.words);
        let least = |side: Row<u32>| side[0].min(side[1]).min(side[2].min(side[3]));
        let mut open = UNREACHED;
        if !has.left && field.left > window.left {
            open = open.min(least(sides.left));
        }
        if !has.up && field.top > window.top {
            open = open.min(least(sides.up));
        }
        // planted: field-reach
        if !has.right && field.left + field.columns() < window.right {
            open = open.min(least(sides.right));
        }
        if !has.down && field.top + field.rows() < window.bottom {
            open = open.min(least(sides.down));
        }
        let reach = words.ld_relaxed(word::REACH, Block);
        if open < reach {
            words.atomic_min(word::REACH, open).min(open)
        } else {
            reach
        }
    }

    /// Writes the field, and finds its pin's distance from the tree: the bound, and the cell at
    /// which the path begins.
    #[inline(always)]
    fn write(&self, tree: View<'_, u32>, entries: ViewMut<'_, u32>) -> (DistanceBound, u32) {
        let t = thread::thread_idx_x();
        let (field, words) = (self.field, self.scratch.words);
        let reach = words.ld(word::REACH);
        // The least distance of the tree's cells that this thread sees, and the first and last cell
        // at that distance.
        let (mut nearest, mut first, mut last) = (LIMIT, u32::MAX, 0);
        let mut cell = t * GRAIN;
        while cell < field.cells() {
            let (column, row) = column_and_row(cell, field.columns());
            let (labels, entry) = self.entries(cell, row, column, reach);
            entries.st_vector(field.first_entry + cell, entry);
            let (x, y) = (field.left + column, field.top + row);
            if y < self.net.bottom && y >= self.net.top && x < self.net.right {
                // A box begins at most three columns before the window, in the same word.
                let bits = tree.ld(self.net.word(x, y)) >> (x % 32);
                each!(J, {
                    let index = cell + J as u32;
                    if bits >> J & 1 != 0 && labels[J] < reach {
                        // planted: grow-first-seen
                        if labels[J] < nearest {
                            nearest = labels[J];
                            first = index;
                        }
                        if labels[J] == nearest {
                            last = index;
                        }
                    }
                });
            }
            cell += BLOCK * GRAIN;
        }
        if nearest < LIMIT {
            words.atomic_min(word::NEAREST, nearest);
        }
        thread::sync_threads();
        let least = words.ld(word::NEAREST);
        if least < LIMIT && nearest == least {
            words.atomic_min(word::FIRST, first);
            words.atomic_max(word::LAST, last);
        }
        thread::sync_threads();
        if least == LIMIT {
            return (DistanceBound::at_least(reach), 0);
        }
        let (first, last) = (words.ld(word::FIRST), words.ld(word::LAST));
        // planted: grow-several
        let many = if first == last { 0 } else { MANY };
        (DistanceBound::exactly(least), first | many)
    }

    /// The labels of four cells, and their entries: from `cell` on, which is in row `row` and
    /// column `column` of the box.
    #[inline(always)]
    fn entries(&self, cell: u32, row: u32, column: u32, reach: u32) -> (Row<u32>, Row<u32>) {
        let (field, tiling, shared) = (self.field, self.grid.tiling, self.scratch.labels);
        let pitch = field.columns();
        let labels: Row<u32> = shared.ld_vector(cell);
        if labels[0].min(labels[1]).min(labels[2].min(labels[3])) >= reach {
            return (labels, [Entry::NONE.0; 4]);
        }
        let (x, y) = (field.left + column, field.top + row);
        let (mut left, mut right) = (UNREACHED, UNREACHED);
        let (mut up, mut down) = ([UNREACHED; 4], [UNREACHED; 4]);
        let mut left_edge = u32::MAX;
        let mut up_edges = [u32::MAX; 4];
        let at = tiling.index(x, y);
        if column > 0 {
            left = shared.ld(cell - 1);
            left_edge = self.grid.right.ld(tiling.index(x - 1, y));
        }
        if column + GRAIN < field.columns() {
            right = shared.ld(cell + GRAIN);
        }
        if row > 0 {
            up = shared.ld_vector(cell - pitch);
            up_edges = self.grid.down.ld_vector(tiling.index(x, y - 1));
        }
        if row + 1 < field.rows() {
            down = shared.ld_vector(cell + pitch);
        }
        let right_edges: Row<u32> = self.grid.right.ld_vector(at);
        let down_edges: Row<u32> = self.grid.down.ld_vector(at);
        let lefts = [left, labels[0], labels[1], labels[2]];
        let rights = [labels[1], labels[2], labels[3], right];
        let left_edges = [left_edge, right_edges[0], right_edges[1], right_edges[2]];
        let mut entries = [Entry::NONE.0; 4];
        each!(J, {
            let here = labels[J];
            if here < reach {
                let mut ways = 0;
                let mut offer = |from: u32, weight: u32, direction: u32| {
                    if from.step(u32::weight(weight)) == here {
                        ways |= 1 << direction;
                    }
                };
                offer(lefts[J], left_edges[J], LEFT);
                offer(up[J], up_edges[J], UP);
                offer(rights[J], right_edges[J], RIGHT);
                offer(down[J], down_edges[J], DOWN);
                entries[J] = Entry::new(here, ways).0;
            }
        });
        (labels, entries)
    }
}

/// Grows the fields of the pins `grown`, one per block, and finds the pins' distances from their
/// trees.
///
/// # Safety
///
/// - `grown` are different pins of `boxes`, one for each block, and their nets.
/// - `tree` has the trees' words, and `entries` one element per cell of the boxes.
/// - The launch has [`grow_bytes`] of dynamic shared memory.
/// - Nothing else uses what is written meanwhile.
#[kernel(block = BLOCK, min_blocks = 3, len(grid = ()))]
pub unsafe fn grow_fields(
    grid: TiledGrid<'_>,
    boxes: Boxes<'_>,
    grown: View<'_, Seed>,
    tree: View<'_, u32>,
    entries: ViewMut<'_, u32>,
    pins: PinState<'_>,
) {
    let Seed { pin, net } = grown.ld(thread::block_idx_x());
    let field = boxes.fields.ld(pin);
    let cells = field.cells() as usize;
    let patches = patches(field.cells()) as usize;
    // SAFETY: the launch has that much: `grow_bytes`.
    let scratch = unsafe {
        BoxScratch {
            labels: shared::dynamic_shared_mem(0, cells),
            stamps: shared::dynamic_shared_mem(4 * cells, patches),
            lists: shared::dynamic_shared_mem(4 * (cells + patches), 2 * patches.div_ceil(2)),
            words: shared_array![u32; word::COUNT as usize],
        }
    };
    let growth = Growth {
        grid,
        net: boxes.nets.ld(net),
        field,
        scratch,
    };
    growth.start(boxes.pin_cells);
    growth.relax();
    let (bound, start) = growth.write(tree, entries);
    if thread::thread_idx_x() == 0 {
        pins.distance_bounds.st(pin, bound);
        pins.starts.st(pin, start);
    }
}
