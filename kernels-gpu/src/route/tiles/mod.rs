//! Routing in tiles: distances, and whole trees, in one launch.
//!
//! A grid is cut into tiles of 4096 cells ([`Tiling`]). A block relaxes a tile in registers and
//! shared memory until none of its labels changes, publishes the labels along its sides, and marks
//! those tiles beside it whose labels these may lower. Labels only ever fall, so they end at the
//! exact distances, in whatever order tiles are relaxed. When no tile of a net is marked, the net's
//! labels are final. The block that finds this out advances the net: it joins the nearest pin, sets
//! the labels on its path to 0, and marks the tiles there. This repeats until all pins are joined.
//! Labels are never reset, and nothing is copied to the host in between.
//!
//! | kernel | does | launch |
//! |---|---|---|
//! | [`lay_out_weights`](fn@lay_out_weights) | lays weights out tile by tile | one thread per 4 cells of the tiles |
//! | [`lay_out_bytes`](fn@lay_out_bytes) | the same, for weights that are bytes | as above |
//! | [`route_start`](fn@route_start) | sets the state of nets that have not started | one thread per 4 words of labels, at least |
//! | [`route_tiles`](fn@route_tiles), [`route_tiles_u64`](fn@route_tiles_u64), [`route_layers`](fn@route_layers), [`route_layers_u64`](fn@route_layers_u64) | route all nets | [`blocks`] blocks of [`BLOCK`] threads |
//! | [`gather_paths`](fn@gather_paths) | copies the paths of all nets, without gaps | one thread per cell of a path |
//! | [`find_too_far`](fn@find_too_far), [`find_too_far_u64`](fn@find_too_far_u64) | finds whether the cost of some cell is too large for a label | one thread per label |
//! | [`gather_distances`](fn@gather_distances), [`gather_distances_u64`](fn@gather_distances_u64) | copies costs from tiles to rows | one thread per cell |
//!
//! # The blocks
//!
//! The blocks are persistent. Each slot (a tile of a net) has a word with the least priority of the
//! labels that the slots beside it give to it. A block looks for work in the words of its own
//! slots, the nearest labels first; if there is none, in the words of other blocks' slots. No block
//! waits for one that has not started: any number of blocks, even one, does all the work.
//!
//! Only labels up to the net's **bound** are wanted: the label of the nearest pin that is not
//! joined. A slot that is given larger labels waits until the bound has grown, and so does a patch
//! whose labels are all larger. So the distances from a new path are found only as far as the next
//! pin, not through the whole grid.
//!
//! | each of 256 threads has | |
//! |---|---|
//! | in registers | 4 × 4 labels of one layer and the weights of all their edges |
//! | from the lanes beside it | the labels left and right |
//! | through shared memory | the labels above and below, and in the layers above and below |
//!
//! A round relaxes the 24 inner edges of each patch forwards and backwards, then exchanges the
//! outer labels. So a distance travels at least four cells per round, and a round has only one
//! barrier.
//!
//! # Bytes
//! Relaxing a tile once reads 12 bytes per cell (weights and labels; 16 with layers) and writes 4,
//! nearly all of them in the L2 cache. Labels of 64 bits take 8 bytes more.
//!
//! # Files
//!
//! | file | stage |
//! |---|---|
//! | `layout.rs`, `path_cost.rs` | tiles, nets, slots and pins; the types of labels |
//! | `start.rs` | before routing: weights in tiles, the state of nets |
//! | `queue.rs` | which slot to relax next, and when a net's labels are final |
//! | `settle.rs` | relaxing a slot: `patch.rs` in registers, `exchange.rs` between patches, `rims.rs` between slots |
//! | `advance.rs` | joining pins: the nearest (`nearest.rs`) by its path (`retrace.rs`) |
//! | `gather.rs` | after routing: paths without gaps, costs in rows |

mod advance;
mod exchange;
mod gather;
pub(super) mod layout;
mod nearest;
pub(super) mod patch;
mod path_cost;
mod queue;
mod retrace;
mod rims;
mod settle;
mod start;

use cuda_std::prelude::*;
use cuda_std::warp::WARP_SIZE;

pub use gather::{
    find_too_far, find_too_far_u64, gather_distances, gather_distances_u64, gather_paths,
};
pub use layout::{Area, BLOCK, JoinedPin, PinCell, Slot, Span, TILE, Tiling};
pub use nearest::MAX_PIN_CELLS;
pub use path_cost::{MAX_U64_CELLS, PathCost};
pub use queue::{COUNTERS, NET_JOINED_PINS, NET_PATH_CELLS, NET_WORDS};
pub use start::{lay_out_bytes, lay_out_weights, route_start};

use exchange::Exchange;
use patch::PatchIndex;
use queue::Item;
use rims::Beyond;

/// Warps of a block.
const WARPS: u32 = BLOCK / WARP_SIZE;
/// Blocks that a multiprocessor holds.
const BLOCKS_PER_MULTIPROCESSOR: u32 = 1;

/// The number of blocks to launch for `slots` slots. Any other number gives the same result, but
/// later.
#[must_use]
pub const fn blocks(slots: u32, multiprocessors: u32) -> u32 {
    let resident = multiprocessors * BLOCKS_PER_MULTIPROCESSOR;
    if slots < resident { slots } else { resident }
}

/// The sizes from which the lengths of [`Labels`], [`Queue`] and [`Trees`] follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteSizes {
    /// Slots: tiles of nets.
    pub slots: u32,
    /// Labels along the sides of a slot: [`Tiling::rim`].
    pub rim: u32,
    /// Blocks of the launch that routes.
    pub blocks: u32,
    /// Nets.
    pub nets: u32,
    /// Pins of all nets.
    pub pins: usize,
    /// Cells of all pins.
    pub pin_cells: usize,
    /// Room for the cells of paths.
    pub path_cells: u32,
}

/// Nets to route on a grid, and the state of routing. Slots and pins are indexed through all nets;
/// `L` is the type of labels.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(RouteSizes)]
pub struct Problem<'a, L: PathCost> {
    /// The grid.
    #[len(())]
    pub grid: TiledGrid<'a>,
    /// The nets.
    #[len(())]
    pub nets: Nets<'a>,
    /// The known distances from the nets' trees.
    #[len(*sizes)]
    pub labels: Labels<'a, L>,
    /// The work that is left.
    #[len(*sizes)]
    pub queue: Queue<'a>,
    /// The trees, as far as they have grown.
    #[len(*sizes)]
    pub trees: Trees<'a>,
}

/// A grid's weights, laid out tile by tile: 4096 per tile.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct TiledGrid<'a> {
    /// By cell: the weight of the edge to the right.
    #[len(self.tiling.tiles() * TILE)]
    pub right: View<'a, u32>,
    /// By cell: the weight of the edge down.
    #[len(self.tiling.tiles() * TILE)]
    pub down: View<'a, u32>,
    /// By cell: the weight of the via to the next layer. Empty if there is one layer.
    #[len(self.vias())]
    pub via: View<'a, u32>,
    /// How the grid is cut into tiles.
    pub tiling: Tiling,
}

#[cfg(not(target_arch = "nvptx64"))]
impl TiledGrid<'_> {
    /// The number of cells, with those that pad tiles, that have a via's weight.
    fn vias(&self) -> u64 {
        match self.tiling.layers {
            1 => 0,
            _ => self.tiling.tiles() * u64::from(TILE),
        }
    }
}

/// Nets, and the cells of their pins in the order of their slots.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct Nets<'a> {
    /// By net.
    pub areas: View<'a, Area>,
    /// By slot; one more than there are slots.
    pub slots: View<'a, Slot>,
    /// The cells of all pins, slot by slot. Each is in its net's window.
    pub pin_cells: View<'a, PinCell>,
    /// By pin: where its cells begin in `cell_places`. One more than there are pins.
    pub pin_starts: View<'a, u32>,
    /// The index in `pin_cells` of each pin's cells, one pin after the other.
    #[len(self.pin_cells.len())]
    pub cell_places: View<'a, u32>,
}

/// Labels of cells, which only ever fall.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(RouteSizes, buffers = LabelBuffers)]
pub struct Labels<'a, L: Pod> {
    /// By slot and place in the tile.
    #[len(sizes.slots * TILE)]
    pub cells: ViewMut<'a, L>,
    /// By slot: the labels along its sides, as seen by the slots beside it.
    #[len(sizes.slots * sizes.rim)]
    pub rims: ViewMut<'a, L>,
    /// By cell of [`Nets::pin_cells`]: its label when its slot was last relaxed;
    /// [`UNREACHED`](PathCost::UNREACHED) once its pin is joined.
    #[len(sizes.pin_cells)]
    pub pins: ViewMut<'a, L>,
}

/// The work that is left.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(RouteSizes, buffers = QueueBuffers)]
pub struct Queue<'a> {
    /// One word per slot, plus one per block of the launch that routes: the least priority of the
    /// labels that the slots beside the slot give to it.
    #[len(sizes.slots + sizes.blocks)]
    pub pending: ViewMut<'a, u32>,
    /// One word per slot: whether a block has taken it.
    #[len(sizes.slots)]
    pub locks: ViewMut<'a, u32>,
    /// Counters of the whole launch.
    #[len(COUNTERS)]
    pub counters: ViewMut<'a, u32>,
    /// The words of each net.
    #[len(sizes.nets * NET_WORDS)]
    pub nets: ViewMut<'a, u32>,
}

/// The trees of the nets.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(RouteSizes, buffers = TreeBuffers)]
pub struct Trees<'a> {
    /// By pin: whether it is joined.
    #[len(sizes.pins)]
    pub is_joined: ViewMut<'a, u32>,
    /// By pin: from a net's first pin on, its joined pins in the order of joining.
    #[len(sizes.pins, zeroed)]
    pub joined: ViewMut<'a, JoinedPin>,
    /// The cells of all paths, as indices of labels; a net's from [`Area::first_path`] on.
    #[len(sizes.path_cells)]
    pub paths: ViewMut<'a, u32>,
}

#[cfg(not(target_arch = "nvptx64"))]
impl<L: PathCost> Problem<'_, L> {
    /// The sizes of a launch of `blocks` blocks.
    fn sizes(&self, blocks: u32) -> RouteSizes {
        RouteSizes {
            slots: self.slot_count(),
            rim: self.grid.tiling.rim(),
            blocks,
            nets: self.net_count(),
            pins: self.nets.pin_starts.len().saturating_sub(1),
            pin_cells: self.nets.pin_cells.len(),
            path_cells: self.trees.paths.len() as u32,
        }
    }
}

impl<L: PathCost> Problem<'_, L> {
    #[inline(always)]
    fn net_count(&self) -> u32 {
        self.nets.areas.len() as u32
    }

    #[inline(always)]
    fn slot_count(&self) -> u32 {
        self.queue.locks.len() as u32
    }
}

/// A block's shared memory.
struct Shared<L> {
    exchange: Exchange<L>,
    beyond: Beyond<L>,
    /// By warp: the keys of the nearest cell of a pin and of the next nearest.
    best: SharedView<u64>,
    /// Words that one thread shares with all; from 8 on, words that each warp shares.
    words: SharedView<u32>,
}

/// Relaxes slots and advances nets until all nets are done.
#[inline(always)]
fn work<L: PathCost, const LAYERED: bool>(problem: &Problem<'_, L>, shared: &Shared<L>) {
    let t = thread::thread_idx_x();
    let patch = PatchIndex::mine(problem.grid.tiling);
    loop {
        let (net, start) = match problem.next(shared) {
            Item::Finished => return,
            Item::Start(net) => {
                thread::sync_threads();
                (net, true)
            }
            Item::Slot(slot) => {
                let (net, advances) = settle::settle::<L, LAYERED>(problem, shared, patch, slot);
                if !advances {
                    continue;
                }
                if t == 0 {
                    problem.hold(net);
                }
                (net, false)
            }
        };
        advance::advance::<L, LAYERED>(problem, shared, net, start);
    }
}

/// The kernels that route, by type of label and whether there are several layers.
macro_rules! route_kernels {
    ($($(#[$doc:meta])* $name:ident: $label:ty, $layered:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        ///
        /// [`route_start`](fn@route_start) has run on `problem`. Nothing else uses what is written
        /// meanwhile.
        #[kernel(
            block = BLOCK,
            min_blocks = 1,
            zero_at_exit(problem.queue.locks),
            len(problem = problem.sizes(grid.x)),
        )]
        pub unsafe fn $name(problem: Problem<'_, $label>) {
            let tiling = problem.grid.tiling;
            let shared = Shared {
                exchange: Exchange { rows: shared_array![$label; TILE as usize], tiling },
                beyond: Beyond { rims: shared_array![$label; 1024], tiling },
                best: shared_array![u64; 16],
                words: shared_array![u32; 48],
            };
            work::<$label, $layered>(&problem, &shared);
        }
    )*};
}
route_kernels! {
    /// Routes nets on a grid of one layer, with labels of 32 bits.
    route_tiles: u32, false;
    /// Routes nets on a grid of one layer, with labels of 64 bits.
    route_tiles_u64: u64, false;
    /// Routes nets on a grid of several layers, with labels of 32 bits.
    route_layers: u32, true;
    /// Routes nets on a grid of several layers, with labels of 64 bits.
    route_layers_u64: u64, true;
}
