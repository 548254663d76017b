//! Growing a field: the labels of a box, patch by patch.
//!
//! The labels lie in global memory, where a block has the same place for one field after another.
//! Only its own threads use them, so the L1 cache answers for the patches that are being relaxed,
//! as fast as shared memory would, and boxes may be larger than either.
//!
//! Patches of 4 × 4 cells are coloured like a chessboard. In each round the block relaxes listed
//! patches of one colour, one thread per patch, until nothing changes in the patch. No two of them
//! are neighbours, so the labels they read do not change. A patch that can lower a label of a
//! neighbouring patch puts that patch on the list of the next round, with the label that it offers.
//!
//! A patch whose offer is far above the least one of its round waits for another: its labels would
//! be lowered again soon. How far is adjusted to give all threads work. In a box of 524 × 524 cells
//! with random weights, a patch is then relaxed 1.6 times, instead of 4.9.

use cuda_std::prelude::*;

use super::{
    Boxes, CellXy, DOWN, DistanceBound, Entry, Field, FieldNet, GRAIN, LEFT, LIMIT, PinState,
    RIGHT, Seed, Start, UP, column_and_row,
};
use crate::route::tiles::layout::{Bounds, PATCH};
use crate::route::tiles::patch::{self, Edges, PatchIndex, Row, each};
use crate::route::tiles::{PathCost, TiledGrid};

/// Threads of a block that grows fields, and of one that grows wide fields. On a multiprocessor
/// there are three of the former, and one of the latter.
const BLOCK: u32 = 128;
const WIDE_BLOCK: u32 = 384;
/// The least cells of wide fields' boxes.
pub const WIDE_CELLS: u32 = 1 << 17;
/// The label of a cell that is not reached.
const UNREACHED: u32 = <u32 as PathCost>::UNREACHED;

/// The most cells of a box: its patches have indices of 16 bits.
const MAX_CELLS: u32 = (1 << 16) * PATCH * PATCH;

/// The dynamic shared memory of [`grow_fields`](fn@grow_fields) for boxes of up to `cells` cells,
/// in bytes.
#[must_use]
pub const fn grow_bytes(cells: u32) -> u32 {
    let patches = patches(cells);
    4 * patches + 3 * 2 * patches.div_ceil(2)
}

/// The most cells for which [`grow_bytes`] gives no more than `bytes`.
#[must_use]
pub const fn grow_cells(bytes: u32) -> u32 {
    let patches = bytes.saturating_sub(3) / 7;
    if patches < MAX_CELLS / (PATCH * PATCH) {
        patches * PATCH * PATCH
    } else {
        MAX_CELLS
    }
}

#[inline(always)]
const fn patches(cells: u32) -> u32 {
    cells / (PATCH * PATCH)
}

/// The labels of a box, row by row.
#[derive(Clone, Copy)]
struct Labels<'a> {
    /// Those of all blocks.
    all: ViewMut<'a, u32>,
    first: u32,
}

impl Labels<'_> {
    #[inline(always)]
    fn ld(self, cell: u32) -> u32 {
        self.all.ld(self.first + cell)
    }

    /// The labels of four cells side by side, from a multiple of 4 on.
    #[inline(always)]
    fn row(self, cell: u32) -> Row<u32> {
        self.all.ld_vector(self.first + cell)
    }

    #[inline(always)]
    fn st_row(self, cell: u32, row: Row<u32>) {
        self.all.st_vector(self.first + cell, row);
    }
}

/// A block's shared memory.
#[derive(Clone, Copy)]
struct BoxScratch {
    /// By patch: the least label that it was offered since it was listed; [`UNREACHED`] if it is
    /// not listed.
    offers: SharedView<u32>,
    /// By round modulo 3: the listed patches.
    lists: SharedView<u16>,
    /// See [`word`].
    words: SharedView<u32>,
}

/// Words of a block.
mod word {
    /// By round modulo 4: the number of patches on the round's list. While one round's list is
    /// read, those of the next two grow, and the previous one's number becomes 0.
    pub(super) const COUNTS: u32 = 0;
    /// By round modulo 4: the least offer to a patch on the round's list.
    pub(super) const LEAST: u32 = 4;
    /// By round modulo 3: the number of patches that wait for the next round but one.
    pub(super) const WAITING: u32 = 8;
    /// The reach of the field so far.
    pub(super) const REACH: u32 = 11;
    /// The least distance of the tree so far, and the first and last cell at that distance.
    pub(super) const NEAREST: u32 = 12;
    pub(super) const FIRST: u32 = 13;
    pub(super) const LAST: u32 = 14;
    pub(super) const COUNT: u32 = 15;
}

/// A pin whose field is growing, and the memory for it, in a block of `THREADS` threads.
#[derive(Clone, Copy)]
struct Growth<'a, const THREADS: u32> {
    grid: TiledGrid<'a>,
    net: FieldNet,
    field: Field,
    labels: Labels<'a>,
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

impl<const THREADS: u32> Growth<'_, THREADS> {
    /// The cells that paths may use: the part of the box in the window.
    #[inline(always)]
    fn bounds(&self) -> Bounds {
        let (window, extent) = (self.net.bounds(), self.field.extent);
        Bounds {
            left: window.left.max(extent.left),
            top: window.top.max(extent.top),
            right: window.right.min(extent.left + extent.columns()),
            bottom: window.bottom.min(extent.top + extent.rows()),
        }
    }

    #[inline(always)]
    fn patch_columns(&self) -> u32 {
        self.field.columns() / PATCH
    }

    /// Offers a label to a patch, which goes on the list of `round`, unless it is already there.
    #[inline(always)]
    fn offer(&self, patch: u32, label: u32, round: u32) {
        let before = self.scratch.offers.atomic_min(patch, label);
        // planted: field-listed
        if before == UNREACHED {
            self.list_patch(patch, round);
        }
        self.lower_least(label, round);
    }

    /// Puts a patch on the list of `round`.
    #[inline(always)]
    fn list_patch(&self, patch: u32, round: u32) {
        let place = self.scratch.words.atomic_add(word::COUNTS + round % 4, 1);
        self.scratch
            .lists
            .st(self.list(round) + place, patch as u16);
    }

    /// Lowers the least offer to a patch on the list of `round`.
    #[inline(always)]
    fn lower_least(&self, label: u32, round: u32) {
        let (words, least) = (self.scratch.words, word::LEAST + round % 4);
        if label < words.ld_relaxed(least, Block) {
            words.atomic_min(least, label);
        }
    }

    /// The index at which the list of a round begins.
    #[inline(always)]
    fn list(&self, round: u32) -> u32 {
        round % 3 * patches(self.field.extent.cells()).div_ceil(2)
    }

    /// Sets the labels of the pin to 0, all others to [`UNREACHED`].
    #[inline(always)]
    fn start(&self, pin_cells: View<'_, CellXy>) {
        let t = thread::thread_idx_x();
        let field = self.field;
        let mut i = t * 4;
        while i < field.extent.cells() {
            self.labels.st_row(i, [UNREACHED; 4]);
            i += THREADS * 4;
        }
        let mut i = t;
        while i < patches(field.extent.cells()) {
            self.scratch.offers.st(i, UNREACHED);
            i += THREADS;
        }
        if t < word::COUNT {
            let value = match t {
                word::LEAST..word::WAITING | word::FIRST => u32::MAX,
                word::REACH | word::NEAREST => LIMIT,
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
            let Labels { all, first } = self.labels;
            all.st_relaxed(first + index, 0, Block);
            let (column, row) = field.place_of(cell);
            let (column, row) = (column / PATCH, row / PATCH);
            self.offer(row * self.patch_columns() + column, 0, (row + column) % 2);
            i += THREADS;
        }
        thread::sync_threads();
    }

    /// Relaxes until no label below the reach changes.
    #[inline(always)]
    fn relax(&self) {
        let t = thread::thread_idx_x();
        let BoxScratch {
            words,
            offers,
            lists,
        } = self.scratch;
        let (mut round, mut listed_before) = (0, 0);
        let mut ahead = self.first_ahead();
        loop {
            let listed = words.ld(word::COUNTS + round % 4);
            if listed == 0 && words.ld(word::COUNTS + (round + 1) % 4) == 0 {
                return;
            }
            if round > 0 {
                let waiting = words.ld(word::WAITING + (round - 1) % 3);
                ahead = adjusted(ahead, listed_before - waiting, waiting, THREADS);
            }
            let bound = words.ld(word::LEAST + round % 4).wrapping_add(ahead);
            if t == 0 {
                words.st(word::COUNTS + (round + 3) % 4, 0);
                words.st(word::LEAST + (round + 3) % 4, u32::MAX);
                words.st(word::WAITING + (round + 1) % 3, 0);
            }
            let mut i = t;
            while i < listed {
                let patch = u32::from(lists.ld(self.list(round) + i));
                let label = offers.ld(patch);
                if label <= bound {
                    offers.st(patch, UNREACHED);
                    self.relax_patch(patch, round + 1);
                } else if label <= words.ld_relaxed(word::REACH, Block) {
                    // planted: field-waits
                    self.list_patch(patch, round + 2);
                    self.lower_least(label, round + 2);
                    words.atomic_add(word::WAITING + round % 3, 1);
                } else {
                    offers.st(patch, UNREACHED);
                }
                i += THREADS;
            }
            // planted: field-round
            thread::sync_threads();
            listed_before = listed;
            round += 1;
        }
    }

    /// By how much offers may exceed a round's least one at first: about what a path across a few
    /// patches costs, judged by one edge.
    #[inline(always)]
    fn first_ahead(&self) -> u32 {
        let tiling = self.grid.tiling;
        let CellXy { x, y } = self.field.cell;
        let weight = self.grid.right.ld(tiling.index(x, y));
        16 * weight.clamp(1, LIMIT / 16)
    }

    /// Relaxes a patch until nothing changes in it, and offers labels to the patches around it,
    /// which are then on the list of `next`.
    ///
    /// ```text
    /// load the patch's labels and edges, and the labels around it
    /// lower its outer labels to the candidates from around
    /// relax the patch until nothing changes; store its labels
    /// at a side of the box where the window continues: lower the reach to the least label
    /// for each neighbouring patch that gets a lower label within the reach: offer the least
    /// ```
    #[inline(always)]
    fn relax_patch(&self, patch: u32, next: u32) {
        let (field, tiling) = (self.field, self.grid.tiling);
        let pitch = field.columns();
        let (column, row) = column_and_row(patch, self.patch_columns());
        let CellXy { x, y } = field.extent.cell_in(column * PATCH, row * PATCH);
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
            each!(I, self.labels.st_row(first + I as u32 * pitch, labels[I]));
        }

        let sides = Sides {
            left: [labels[0][0], labels[1][0], labels[2][0], labels[3][0]],
            up: labels[0],
            right: [labels[0][3], labels[1][3], labels[2][3], labels[3][3]],
            down: labels[3],
        };
        let reach = self.lower_reach(&sides, has);
        let offer = |has: bool, to: u32, side: Row<u32>, weights: Row<u32>, others: Row<u32>| {
            let one = |i: usize| {
                let given = side[i].step(weights[i]);
                if given < others[i] { given } else { UNREACHED }
            };
            let least = one(0).min(one(1)).min(one(2).min(one(3)));
            // Labels beyond the reach are not wanted.
            if has && least <= reach {
                self.offer(to, least, next);
            }
        };
        let columns = self.patch_columns();
        let (left, up) = (patch.wrapping_sub(1), patch.wrapping_sub(columns));
        offer(has.left, left, sides.left, edges.left, around.left);
        offer(has.up, up, sides.up, edges.up, around.up);
        offer(has.right, patch + 1, sides.right, right_edges, around.right);
        offer(
            has.down,
            patch + columns,
            sides.down,
            edges.down[3],
            around.down,
        );
    }

    /// The labels of the patch whose first label is element `first`, and those beside it, where the
    /// box `has` any.
    #[inline(always)]
    fn load_patch(&self, first: u32, has: Sides<bool>) -> ([Row<u32>; 4], Sides<Row<u32>>) {
        let (pitch, stored) = (self.field.columns(), self.labels);
        let mut labels = [[UNREACHED; 4]; 4];
        let mut around = Sides {
            left: [UNREACHED; 4],
            up: [UNREACHED; 4],
            right: [UNREACHED; 4],
            down: [UNREACHED; 4],
        };
        each!(I, {
            let at = first + I as u32 * pitch;
            labels[I] = stored.row(at);
            if has.left {
                around.left[I] = stored.ld(at - 1);
            }
            if has.right {
                around.right[I] = stored.ld(at + PATCH);
            }
        });
        if has.up {
            around.up = stored.row(first - pitch);
        }
        if has.down {
            around.down = stored.row(first + PATCH * pitch);
        }
        (labels, around)
    }

    /// Lowers the reach to the least label of a patch where the box ends and the window does not.
    /// Returns the reach.
    #[inline(always)]
    fn lower_reach(&self, sides: &Sides<Row<u32>>, has: Sides<bool>) -> u32 {
        let (extent, window, words) = (self.field.extent, self.net, self.scratch.words);
        let least = |side: Row<u32>| side[0].min(side[1]).min(side[2].min(side[3]));
        let mut open = UNREACHED;
        if !has.left && extent.left > window.left {
            open = open.min(least(sides.left));
        }
        if !has.up && extent.top > window.top {
            open = open.min(least(sides.up));
        }
        // planted: field-reach
        if !has.right && extent.left + extent.columns() < window.right {
            open = open.min(least(sides.right));
        }
        if !has.down && extent.top + extent.rows() < window.bottom {
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
    fn write(&self, tree: View<'_, u32>, entries: ViewMut<'_, u32>) -> (DistanceBound, Start) {
        let t = thread::thread_idx_x();
        let (field, words) = (self.field, self.scratch.words);
        let reach = words.ld(word::REACH);
        // The least distance of the tree's cells that this thread sees, and the first and last cell
        // at that distance.
        let (mut nearest, mut first, mut last) = (LIMIT, Start(u32::MAX), Start(0));
        let mut cell = t * GRAIN;
        while cell < field.extent.cells() {
            let (column, row) = column_and_row(cell, field.columns());
            let (labels, entry) = self.entries(cell, row, column, reach);
            entries.st_vector(field.extent.first_entry + cell, entry);
            let CellXy { x, y } = field.extent.cell_in(column, row);
            if y < self.net.bottom && y >= self.net.top && x < self.net.right {
                // A box begins at most three columns before the window, in the same word.
                let bits = tree.ld(self.net.word(x, y)) >> (x % 32);
                each!(J, {
                    let start = Start::new(cell + J as u32, Entry(entry[J]));
                    if bits >> J & 1 != 0 && labels[J] < reach {
                        // planted: grow-first-seen
                        if labels[J] < nearest {
                            nearest = labels[J];
                            (first, last) = (start, start);
                        }
                        if labels[J] == nearest {
                            first = Start(first.0.min(start.0));
                            last = Start(last.0.max(start.0));
                        }
                    }
                });
            }
            cell += THREADS * GRAIN;
        }
        if nearest < LIMIT {
            words.atomic_min(word::NEAREST, nearest);
        }
        thread::sync_threads();
        let least = words.ld(word::NEAREST);
        if least < LIMIT && nearest == least {
            words.atomic_min(word::FIRST, first.0);
            words.atomic_max(word::LAST, last.0);
        }
        thread::sync_threads();
        if least == LIMIT {
            return (DistanceBound::at_least(reach), Start(0));
        }
        let (first, last) = (words.ld(word::FIRST), words.ld(word::LAST));
        // planted: grow-several
        let is_many = first != last;
        (
            DistanceBound::exactly(least),
            Start(first).or_others(is_many),
        )
    }

    /// The labels of four cells, and their entries: from `cell` on, which is in row `row` and
    /// column `column` of the box.
    #[inline(always)]
    fn entries(&self, cell: u32, row: u32, column: u32, reach: u32) -> (Row<u32>, Row<u32>) {
        let (field, tiling, stored) = (self.field, self.grid.tiling, self.labels);
        let pitch = field.columns();
        let labels = stored.row(cell);
        if labels[0].min(labels[1]).min(labels[2].min(labels[3])) >= reach {
            return (labels, [Entry::NONE.0; 4]);
        }
        let CellXy { x, y } = field.extent.cell_in(column, row);
        let (mut left, mut right) = (UNREACHED, UNREACHED);
        let (mut up, mut down) = ([UNREACHED; 4], [UNREACHED; 4]);
        let mut left_edge = u32::MAX;
        let mut up_edges = [u32::MAX; 4];
        let at = tiling.index(x, y);
        if column > 0 {
            left = stored.ld(cell - 1);
            left_edge = self.grid.right.ld(tiling.index(x - 1, y));
        }
        if column + GRAIN < field.columns() {
            right = stored.ld(cell + GRAIN);
        }
        if row > 0 {
            up = stored.row(cell - pitch);
            up_edges = self.grid.down.ld_vector(tiling.index(x, y - 1));
        }
        if row + 1 < field.rows() {
            down = stored.row(cell + pitch);
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

/// How far offers may exceed the least one of a round, after a round that relaxed `relaxed` patches
/// and let `waiting` wait.
#[inline(always)]
const fn adjusted(ahead: u32, relaxed: u32, waiting: u32, threads: u32) -> u32 {
    if relaxed > threads {
        ahead.div_ceil(2)
    } else if relaxed < threads / 2 && waiting > relaxed {
        if ahead < LIMIT / 2 { 2 * ahead } else { LIMIT }
    } else {
        ahead
    }
}

/// What fields grow from, and what is known of them then.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct Growing<'a> {
    /// Different pins of the boxes, with their nets.
    pub grown: View<'a, Seed>,
    /// The trees' words.
    pub tree: View<'a, u32>,
    /// The fields: one element per cell of the boxes.
    pub entries: ViewMut<'a, u32>,
    /// For each block, the labels of a box.
    pub labels: ViewMut<'a, u32>,
}

/// See [`grow_fields`](fn@grow_fields).
///
/// # Safety
///
/// That of the kernel.
#[inline(always)]
unsafe fn grow<const THREADS: u32>(
    grid: TiledGrid<'_>,
    boxes: Boxes<'_>,
    growing: Growing<'_>,
    pins: PinState<'_>,
    most_cells: u32,
    words: SharedView<u32>,
) {
    let labels = Labels {
        all: growing.labels,
        first: thread::block_idx_x() * most_cells,
    };
    let mut index = thread::block_idx_x();
    while index < growing.grown.len() as u32 {
        let Seed { pin, net } = growing.grown.ld(index);
        let field = boxes.fields.ld(pin);
        let patches = patches(field.extent.cells()) as usize;
        // SAFETY: the launch has that much: `grow_bytes`.
        let scratch = unsafe {
            BoxScratch {
                offers: shared::dynamic_shared_mem(0, patches),
                lists: shared::dynamic_shared_mem(4 * patches, 3 * patches.div_ceil(2)),
                words,
            }
        };
        let growth = Growth::<THREADS> {
            grid,
            net: boxes.nets.ld(net),
            field,
            labels,
            scratch,
        };
        growth.start(boxes.pin_cells);
        growth.relax();
        let (bound, start) = growth.write(growing.tree, growing.entries);
        if thread::thread_idx_x() == 0 {
            pins.distance_bounds.st(pin, bound);
            pins.starts.st(pin, start);
        }
        // The next field takes the same memory.
        // planted: field-next
        thread::sync_threads();
        index += thread::grid_dim_x();
    }
}

/// Grows the fields of the pins `grown`, and finds the pins' distances from their trees. Each block
/// grows one field after another, in `most_cells` of the `labels`.
///
/// # Safety
///
/// - `growing` has what it states for these `boxes`; no box has more than `most_cells` cells, a
///   multiple of 4; `most_cells` labels for each block are fewer than 2³² together.
/// - The launch has [`grow_bytes`] of dynamic shared memory.
/// - Nothing else uses what is written meanwhile.
#[kernel(block = BLOCK, min_blocks = 3, len(grid = ()))]
pub unsafe fn grow_fields(
    grid: TiledGrid<'_>,
    boxes: Boxes<'_>,
    growing: Growing<'_>,
    pins: PinState<'_>,
    most_cells: u32,
) {
    let words = shared_array![u32; word::COUNT as usize];
    // SAFETY: the caller's promise.
    unsafe { grow::<BLOCK>(grid, boxes, growing, pins, most_cells, words) }
}

/// [`grow_fields`](fn@grow_fields) with more threads, for boxes from [`WIDE_CELLS`] on.
///
/// # Safety
///
/// That of [`grow_fields`](fn@grow_fields).
#[kernel(block = WIDE_BLOCK, min_blocks = 1, len(grid = ()))]
pub unsafe fn grow_wide_fields(
    grid: TiledGrid<'_>,
    boxes: Boxes<'_>,
    growing: Growing<'_>,
    pins: PinState<'_>,
    most_cells: u32,
) {
    let words = shared_array![u32; word::COUNT as usize];
    // SAFETY: the caller's promise.
    unsafe { grow::<WIDE_BLOCK>(grid, boxes, growing, pins, most_cells, words) }
}
