//! Trees of nets that compete for edges: one block per net, each in its own window, all by the same
//! costs of edges.
//!
//! The pin with the least estimated distance from the tree is next. A cheapest path to it is
//! searched for in the box around it and the tree's nearest cell, with a margin, and if there is
//! none, in all of the net's window. The path and the pin become part of the tree.
//!
//! | file | has |
//! |---|---|
//! | `tree.rs` | the pin that is next, and what becomes part of the tree |
//! | `search.rs` | the search, and the path back |
//!
//! | kernel | does | launch |
//! |---|---|---|
//! | [`grow_trees`](fn@grow_trees) | trees | one block of [`BLOCK`] threads per net |
//! | [`set_costs`](fn@set_costs) | changes costs of edges | one thread per edge |
//!
//! # Ties
//! Seen from the pin, a path goes to the first neighbour that is on a cheapest path, in the order
//! of [`step_order`]. That is also the host's rule, so the trees are the same.
//!
//! # Bytes
//! Per path and cell of its box, 8 bytes are written. Per relaxed cell and neighbour, 4 bytes of
//! costs and 8 of labels are read, mostly from the L2 cache.

mod search;
mod tree;

use cuda_std::prelude::*;

use super::GridSize;
use search::{Searching, Shared};
use tree::{Growing, Next};

/// Threads of a block that grows a tree.
pub const BLOCK: u32 = 512;
/// The kinds of edges of a cell: to the right, down, to the next layer.
pub const KINDS: u32 = 3;
/// The steps from a cell: right, down, left, up, to the next layer, to the last.
pub const STEPS: u32 = 6;
/// The cost of an edge that no path may take.
pub const NONE: u32 = u32::MAX;
/// A window has fewer cells than this on all layers, so that labels have 61 bits.
pub const MAX_CELLS: u32 = 1 << 29;
/// The layers for which bounds of vias' costs are given.
pub const LAYERS: u32 = 16;
/// The directions in which a path has yet to go, as bits: along x (1), along y (2).
pub const NEEDS: u32 = 4;
/// Windows begin at multiples of this many cells of the scratch memory.
pub const GRAIN: u32 = 32;
/// The lists of cells that a search needs.
pub const LISTS: u32 = 3;

/// A net, and what it has of its tree.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod)]
pub struct CompetingNet {
    /// No path leaves this window.
    pub window: Area,
    /// By how much the box in which a path is searched for exceeds the path's ends.
    pub margin: u32,
    /// The first cell of its window in the scratch memory, a multiple of [`GRAIN`].
    pub first_cell: u32,
    /// The first element of its tree among those of all trees. There is room for the cells that the
    /// tree has, those of its pins and those of its window.
    pub first_tree: u32,
    /// The first of the cells that its tree has already.
    pub first_source: u32,
    /// Their number, at least 1.
    pub sources: u32,
    /// Its first pin.
    pub first_pin: u32,
    /// The pin after its last.
    pub end_pin: u32,
    /// The first of the edges that cost it something else.
    pub first_special: u32,
    /// The edge after the last of these.
    pub end_special: u32,
}

/// A rectangle of a grid, on all layers.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod)]
pub struct Area {
    /// Its first column.
    pub left: u32,
    /// Its first row.
    pub top: u32,
    /// Its columns.
    pub width: u32,
    /// Its rows.
    pub height: u32,
}

/// A pin that is to join a tree.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod)]
pub struct CompetingPin {
    /// The box around its cells: the least column, row and layer.
    pub low: [u32; 3],
    /// The greatest column, row and layer.
    pub high: [u32; 3],
    /// The first of its cells.
    pub first_cell: u32,
    /// The cell after its last.
    pub end_cell: u32,
}

/// An edge that costs one net something else than all others.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Pod)]
pub struct SpecialCost {
    /// Its left, upper or lower cell, by index in the grid.
    pub cell: u32,
    /// Its kind.
    pub kind: u32,
    /// What it costs.
    pub cost: u32,
}

/// A path that joined a pin.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod)]
pub struct JoinedPath {
    /// What it costs.
    pub cost: u64,
    /// The pin, counted from the net's first.
    pub pin: u32,
    /// The number of its cells.
    pub cells: u32,
}

/// What was found for a net.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod)]
pub struct GrownTree {
    /// The number of paths.
    pub paths: u32,
    /// The first of the cells that the tree has got: for each path, its cells from the pin on, then
    /// the pin's cells.
    pub first: u32,
    /// The number of these cells.
    pub cells: u32,
}

/// The edges of a grid: three per cell, one of each kind.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct EdgeCosts<'a> {
    /// By cell and kind: what an edge costs, [`NONE`] if it is not to be used.
    #[len(self.size.cells() as usize * KINDS as usize)]
    pub costs: View<'a, u32>,
    /// By the layers of a path's ends and the directions in which it goes: what its vias cost at
    /// least.
    #[len(LAYERS * LAYERS * NEEDS)]
    pub vias: View<'a, u64>,
    /// What an edge along x costs at least.
    pub step_x: u64,
    /// What an edge along y costs at least.
    pub step_y: u64,
    /// The grid's size.
    pub size: GridSize,
    /// By layer, two bits each: whether it has edges along x (1) and y (2) that are to be used.
    pub serves: u32,
}

/// The nets whose trees are to grow.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct CompetingNets<'a> {
    /// One per block.
    pub nets: View<'a, CompetingNet>,
    /// The cells that the trees have already, by index in the grid.
    pub sources: View<'a, u32>,
    /// The pins that are to join the trees.
    pub pins: View<'a, CompetingPin>,
    /// The cells of these, by index in the grid.
    pub pin_cells: View<'a, u32>,
    /// By net, sorted: edges that cost it something else.
    pub special: View<'a, SpecialCost>,
}

/// The memory of searches.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct SearchScratch<'a> {
    /// By cell of the windows: a label, and where the cell is listed.
    pub words: ViewMut<'a, u64>,
    /// A bit per cell.
    #[len(self.words.len().div_ceil(32))]
    pub marks: ViewMut<'a, u32>,
    /// [`LISTS`] lists of a window's cells.
    #[len(LISTS as usize * self.words.len())]
    pub lists: ViewMut<'a, u32>,
}

/// The trees.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct CompetingTrees<'a> {
    /// The cells of trees, by index in the grid.
    pub cells: ViewMut<'a, u32>,
    /// By pin: its estimated distance from the tree.
    pub distances: ViewMut<'a, u64>,
    /// By pin: the cell of the tree that has this distance, counted from the tree's first.
    #[len(self.distances.len())]
    pub nearest: ViewMut<'a, u32>,
    /// By net.
    pub grown: ViewMut<'a, GrownTree>,
    /// By pin: the paths of each net, from its first pin on.
    #[len(self.distances.len())]
    pub paths: ViewMut<'a, JoinedPath>,
    /// The cells that the trees have got, one tree after the other. It has as many elements as
    /// `cells`.
    #[len(self.cells.len())]
    pub new_cells: ViewMut<'a, u32>,
    /// Their number: one element.
    #[len(1)]
    pub count: ViewMut<'a, u32>,
}

/// The steps from a cell in the order in which they are tried, four bits each, the first lowest:
/// those along a layer that lead towards `near`, with the step `came` first if it is among them,
/// else the one along x; then vias, that towards `near` first; then the other steps along the
/// layer. Cells are given by column, row and layer.
#[must_use]
#[inline(always)]
pub const fn step_order(cell: [u32; 3], near: [u32; 3], came: u32) -> u32 {
    let x = if near[0] < cell[0] { 2 } else { 0 };
    let y = if near[1] < cell[1] { 3 } else { 1 };
    let (other_x, other_y) = (2 - x, 4 - y);
    let via = if near[2] < cell[2] { 5 } else { 4 };
    let vias = via | (9 - via) << 4;
    match (near[0] != cell[0], near[1] != cell[1]) {
        (true, true) if came == y => y | x << 4 | vias << 8 | other_x << 16 | other_y << 20,
        (true, true) => x | y << 4 | vias << 8 | other_x << 16 | other_y << 20,
        (true, false) => x | vias << 4 | other_x << 12 | y << 16 | other_y << 20,
        (false, true) => y | vias << 4 | x << 12 | other_x << 16 | other_y << 20,
        (false, false) => vias | x << 8 | other_x << 12 | y << 16 | other_y << 20,
    }
}

/// Grows the tree of each net until all pins are joined that can be.
///
/// # Safety
///
/// - Windows are on the grid and have less than [`MAX_CELLS`] cells on all layers. They do not
///   overlap in `scratch`, which has all of them; nor do the trees in `trees`. Sources are in the
///   windows of their nets.
/// - The cells of pins are in the windows of their nets and in the pins' boxes; each pin has some.
///   Special edges are on the grid, and sorted by cell and kind.
/// - The costs of vias and steps are such that an estimate never exceeds the cost of a path, and
///   falls along an edge by no more than the edge's cost. No edge costs 0.
/// - `count` is 0, and `trees` has as many distances as there are pins. Nothing else uses what is
///   written meanwhile.
#[kernel(
    block = BLOCK,
    min_blocks = 1,
    len(edges = (), scratch = (), trees = ())
)]
pub unsafe fn grow_trees(
    edges: EdgeCosts<'_>,
    nets: CompetingNets<'_>,
    scratch: SearchScratch<'_>,
    trees: CompetingTrees<'_>,
) {
    let shared = Shared {
        counts: shared_array![u32; search::count::ALL as usize],
        costs: shared_array![u64; search::cost::ALL as usize],
        vias: shared_array![u64; (LAYERS * NEEDS) as usize],
    };
    let net = nets.nets.ld(thread::block_idx_x());
    let mut growing = Growing::new(edges, nets, trees, net, shared);
    while let Next::Search { pin, near, area } = growing.next() {
        let searching = Searching {
            edges,
            nets,
            scratch,
            net,
            pin: nets.pins.ld(net.first_pin + pin),
            area,
            near,
            shared,
        };
        let best = searching.run(growing.tree());
        let mut cells = 0;
        if best != u64::MAX {
            cells = searching.retrace(best, trees.cells, growing.end());
        }
        growing.take(pin, best, cells, area);
    }
    growing.finish();
}

/// Sets the costs of some edges, by their numbers. An edge that is given twice has the same cost
/// both times.
///
/// # Safety
///
/// The numbers are indices of `costs`. Nothing else uses `costs` meanwhile.
#[kernel(block = 256, len(values = edges.len()))]
pub unsafe fn set_costs(edges: View<'_, u64>, values: View<'_, u32>, costs: ViewMut<'_, u32>) {
    let i = thread::index_1d();
    if i < edges.len() as u32 {
        costs.st_relaxed(edges.ld(i) as usize, values.ld(i), Device);
    }
}
