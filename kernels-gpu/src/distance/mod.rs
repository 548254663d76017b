//! Costs of travel on a raster of friction: the least cost from the sources to every cell, the
//! source that it is least from, and the way back.
//!
//! The raster is cut into tiles of [`TILE`] × [`TILE`] cells. A block loads a tile and a halo of
//! cells around it into shared memory, lowers the tile's costs until none changes, stores those
//! that fell, and marks the tiles beside it whose cells it can lower. If there is just one, the
//! block may go on with it at once. Costs only ever fall, and only to the sum of a path, so they
//! end at the least sums, in whatever order tiles are relaxed. All of it is one cooperative launch:
//! nothing returns to the host in between.
//!
//! | kernel | does |
//! |---|---|
//! | [`relax_costs_f32`](fn@relax_costs_f32), [`relax_costs_f64`](fn@relax_costs_f64) | costs for 4 or 8 neighbours |
//! | [`relax_knights_f32`](fn@relax_knights_f32), [`relax_knights_f64`](fn@relax_knights_f64) | costs for 16 neighbours |
//! | those of [`ties`] | allocation and directions from the costs |
//! | those of [`spread`] | the least value along tight steps |
//!
//! | | |
//! |---|---|
//! | launch | cooperative, [`BLOCK`] threads per block, any number of blocks that are resident together |
//! | memory | friction and costs, 8 bytes per cell together (16 in f64), and 4 bytes per tile |
//! | relaxing a tile once reads | friction and costs of 34 × 34 cells, or 36 × 36 for knight's moves: about 9 bytes per cell, mostly in the L2 cache; 18 in f64 |
//! | and writes | the costs that fell |
//!
//! The operations of a step, and their order, are those that `docs/distances.md` states, each
//! rounded once, so that the costs are the processor's, bit for bit.
//!
//! # Files
//!
//! | file | stage |
//! |---|---|
//! | `cost.rs`, `layout.rs` | the two precisions; the raster, tiles, and a tile in shared memory |
//! | `queue.rs` | which tile to relax next, and when all costs are final |
//! | `tiles.rs` | start values; relaxing a tile; going on to a tile beside it, or marking those |
//! | `load.rs` | loading a tile with its halo |
//! | `carry.rs` | costs straight through a tile |
//! | `patch.rs` | the four cells of a thread |
//! | `ties.rs` | tight steps; allocation and directions before and after the tiles |
//! | `spread.rs` | ids, and layers of plateaus, along tight steps in tiles |
//! | `raster.rs` | friction into the raster with its margin, and costs out of it |

mod carry;
mod cost;
mod layout;
mod load;
mod patch;
mod queue;
mod raster;
pub mod spread;
pub mod ties;
mod tiles;

use cuda_std::grid::GridBarrier;
use cuda_std::prelude::*;

pub use cost::Cost;
pub use layout::{BLOCK, CostRaster, TILE};
#[cfg(not(target_arch = "nvptx64"))]
pub use queue::TileQueueBuffers;
pub use queue::{TileQueue, TileQueueSizes};
pub use raster::{
    find_barriers_f32, find_barriers_f64, finish_f32, finish_f64, place_f32_as_f32,
    place_f32_as_f64, place_f64_as_f32, place_f64_as_f64, place_u8_as_f32, place_u8_as_f64,
    place_u16_as_f32, place_u16_as_f64, place_u32_as_f32, place_u32_as_f64,
};

use layout::{PLACES, Tile};
use queue::WORDS;
use tiles::work;

/// The number of [`CostSearch::shares`].
pub const SHARES: usize = 5;

/// A search for the least costs of travel.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(u32)]
pub struct CostSearch<'a, P: Cost> {
    /// By place: the friction; infinity for barriers.
    #[len(self.raster.places())]
    pub friction: View<'a, P>,
    /// By place: the bits of the least cost, infinity if nothing reaches the cell.
    #[len(self.raster.places())]
    pub costs: ViewMut<'a, P::Bits>,
    /// The places at which paths start, none of which is a barrier.
    pub start_places: View<'a, u32>,
    /// The bits of what each of them starts with, which is at most `limit`.
    #[len(self.start_places.len())]
    pub start_costs: View<'a, P::Bits>,
    /// The barrier of the grid.
    #[len(())]
    pub barrier: GridBarrier<'a>,
    /// The tiles to relax. `sizes` is the number of blocks.
    #[len(self.raster.queue_sizes(*sizes))]
    pub queue: TileQueue<'a>,
    /// What the friction of the crossed cells is multiplied with: in a step along a row, along a
    /// column, along a diagonal, and in a knight's move along a row and along a column. Infinity
    /// for steps that are not taken.
    pub shares: [P; SHARES],
    /// The largest cost to be found.
    pub limit: P,
    /// The raster. Its margin is 1, and 2 for knight's moves.
    pub raster: CostRaster,
}

/// The kernels, by precision and by how far a step leads.
macro_rules! cost_kernels {
    ($($(#[$doc:meta])* $name:ident: $cost:ty, $reach:literal, ($($option:tt)*);)*) => {$(
        $(#[$doc])*
        ///
        /// Launch: cooperative, any number of blocks that are resident together.
        ///
        /// # Safety
        ///
        /// The margin of `search.raster` is as wide as a step is long, and the friction there is
        /// infinite, as it is nowhere at `search.start_places`, which are inside the margin. No
        /// number is NaN or negative. The counters of `search.queue` are 0, and its words
        /// `u32::MAX`. Nothing else uses what is written meanwhile.
        #[kernel(block = BLOCK, cooperative, $($option)*, len(search = grid.x))]
        pub unsafe fn $name(search: CostSearch<'_, $cost>) {
            let tile = Tile {
                friction: shared_array![$cost; PLACES],
                costs: shared_array![<$cost as Cost>::Bits; PLACES],
                words: shared_array![u32; WORDS],
            };
            work::<$cost, $reach>(&search, &tile);
        }
    )*};
}
cost_kernels! {
    /// Finds the least costs for 4 or 8 neighbours in f32.
    relax_costs_f32: f32, 1, (min_blocks = 2);
    /// Finds the least costs for 16 neighbours in f32.
    relax_knights_f32: f32, 2, (min_blocks = 2, barriers = 9);
    /// Finds the least costs for 4 or 8 neighbours in f64.
    relax_costs_f64: f64, 1, (min_blocks = 1, f64);
    /// Finds the least costs for 16 neighbours in f64.
    relax_knights_f64: f64, 2, (min_blocks = 1, f64, barriers = 9);
}
