//! Spreading values along tight steps: each cell gets the least value of a cell from which a chain
//! of tight steps leads to it, with something added per step.
//!
//! Values only ever fall, so they end at the least in whatever order tiles are relaxed, as costs
//! do. Tiles come from the same queue as those of the costs, in the order of the costs of the cells
//! that are given values: tight steps lead from lesser costs to greater ones, or between equal
//! ones.

use cuda_std::grid::GridBarrier;
use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::layout::{BLOCK, PLACES, TILE, Tile};
use super::load::{CELLS, cell};
use super::patch::{KNIGHTS, NEAR, each, each6, each8, first_cell, moved};
use super::queue::{NOTHING, WORDS, each_of_halo, forget_given, note_given};
use super::{Cost, CostRaster, TileQueue};

/// The value of a cell that has none.
pub(super) const NO_VALUE: u32 = u32::MAX;

/// Values that spread along tight steps.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(u32)]
pub struct Spread<'a, P: Cost> {
    /// By place: the tight steps that lead into the cell; bit `k` for the one from the neighbour
    /// in the direction of code `k + 1`. 0 in the margin.
    #[len(self.raster.places())]
    pub steps: View<'a, u16>,
    /// By place: the value, `u32::MAX` for none.
    #[len(self.raster.places())]
    pub values: ViewMut<'a, u32>,
    /// By place: the bits of the cost.
    #[len(self.raster.places())]
    pub costs: View<'a, P::Bits>,
    /// The barrier of the grid.
    #[len(())]
    pub barrier: GridBarrier<'a>,
    /// The tiles to relax. `sizes` is the number of blocks.
    #[len(self.raster.queue_sizes(*sizes))]
    pub queue: TileQueue<'a>,
    /// What is added to a value per step.
    pub added: u32,
    /// The raster. Its margin is 1, and 2 for knight's moves.
    pub raster: CostRaster,
}

macro_rules! spread_kernels {
    ($($(#[$doc:meta])* $name:ident: $cost:ty, $reach:literal, ($($option:tt)*);)*) => {$(
        $(#[$doc])*
        ///
        /// Launch: cooperative, any number of blocks that are resident together. Relaxing a tile
        /// once reads 6 bytes per cell of the tile and its halo, and writes the values that fell.
        /// Before, each tile is read once.
        ///
        /// # Safety
        ///
        /// The margin of `spread.raster` is as wide as a step is long; `spread.steps` has no bit
        /// for steps from or into it. What the longest chain of steps adds is at most 2³² - 2. The
        /// counters of `spread.queue` are 0, and its words `u32::MAX`. Nothing else uses what is
        /// written meanwhile.
        #[kernel(block = BLOCK, cooperative, $($option)*, len(spread = grid.x))]
        pub unsafe fn $name(spread: Spread<'_, $cost>) {
            let tile = Values {
                values: shared_array![u32; PLACES],
                steps: shared_array![u32; PLACES],
                words: shared_array![u32; WORDS],
            };
            spread.work::<$reach>(&tile);
        }
    )*};
}
spread_kernels! {
    /// Spreads values along steps to 4 or 8 neighbours, in the order of costs in f32.
    spread_f32: f32, 1, (min_blocks = 2);
    /// Spreads values along steps to 16 neighbours, in the order of costs in f32.
    spread_knights_f32: f32, 2, (min_blocks = 2);
    /// Spreads values along steps to 4 or 8 neighbours, in the order of costs in f64.
    spread_f64: f64, 1, (min_blocks = 2, f64);
    /// Spreads values along steps to 16 neighbours, in the order of costs in f64.
    spread_knights_f64: f64, 2, (min_blocks = 2, f64);
}

/// A tile with its halo, in a block's shared memory, at the indices of [`Tile::at`].
struct Values {
    values: SharedView<u32>,
    steps: SharedView<u32>,
    /// What the block keeps of the queue.
    words: SharedView<u32>,
}

/// The index of a cell in shared memory.
const fn at(x: u32, y: u32) -> u32 {
    Tile::<f32>::at(x, y)
}

impl Values {
    /// A cell's value, which its thread may lower at the same time.
    #[inline(always)]
    fn value(&self, x: u32, y: u32) -> u32 {
        self.values.ld_relaxed(at(x, y), Block)
    }

    /// The least value that a cell gets over these steps from cells that `is_known`, which takes
    /// columns and rows to them.
    #[inline(always)]
    fn over<const REACH: u32>(
        &self,
        (x, y): (u32, u32),
        steps: u32,
        added: u32,
        is_known: impl Fn(i32, i32) -> bool,
    ) -> u32 {
        let mut least = NO_VALUE;
        macro_rules! look {
            ($first:literal, $offsets:ident) => {
                each8!(K, {
                    const STEP: (i32, i32) = $offsets[K];
                    if steps >> ($first + K) & 1 != 0 && is_known(STEP.0, STEP.1) {
                        least = least.min(self.value(moved(x, STEP.0), moved(y, STEP.1)));
                    }
                });
            };
        }
        look!(0, NEAR);
        if REACH == 2 {
            look!(8, KNIGHTS);
        }
        least.saturating_add(added)
    }
}

/// The four cells of a thread: those of a [`Patch`](super::patch::Patch).
struct Own {
    /// Column and row of the first one, in the tile with its halo.
    x: u32,
    y: u32,
    steps: [u32; 4],
    values: [u32; 4],
}

impl Own {
    /// Those of a tile that is in shared memory.
    #[inline(always)]
    fn load<const REACH: u32>(tile: &Values) -> Self {
        let (x, y) = first_cell::<REACH>();
        let mut own = Self {
            x: x + 1,
            y: y + 1,
            steps: [0; 4],
            values: [NO_VALUE; 4],
        };
        each!(I, {
            let (x, y) = own.cell(I);
            own.steps[I] = tile.steps.ld(at(x, y));
            own.values[I] = tile.value(x, y);
        });
        own
    }

    /// Column and row of cell `i`, in the tile with its halo.
    #[inline(always)]
    const fn cell(&self, i: usize) -> (u32, u32) {
        (self.x + (i % 2) as u32, self.y + (i / 2) as u32)
    }

    /// What cell `i` gets over the steps into it.
    #[inline(always)]
    fn over<const REACH: u32>(&self, i: usize, tile: &Values, added: u32) -> u32 {
        tile.over::<REACH>(self.cell(i), self.steps[i], added, |_, _| true)
    }

    /// Lowers the values of the cells, in turn and then back, and returns whether one fell.
    #[inline(always)]
    fn relax<const REACH: u32>(&mut self, tile: &Values, added: u32) -> bool {
        let mut changed = false;
        macro_rules! relax {
            ($($i:literal)*) => {$(
                let value = self.over::<REACH>($i, tile, added);
                if value < self.values[$i] {
                    changed = true;
                    self.values[$i] = value;
                    let (x, y) = self.cell($i);
                    // Others may be reading it: the value from before serves them as well.
                    tile.values.st_relaxed(at(x, y), value, Block);
                }
            )*};
        }
        relax!(0 1 2 3 2 1 0);
        changed
    }
}

impl<P: Cost> Spread<'_, P> {
    /// Finds all values. Called by all threads of the grid.
    #[inline(always)]
    fn work<const REACH: u32>(&self, tile: &Values) {
        let mut index = thread::block_idx_x();
        while index < self.raster.tiles() {
            self.mark_if_lowered::<REACH>(tile, index);
            index += thread::grid_dim_x();
        }
        self.barrier.sync();
        loop {
            let next = self.queue.next(self.raster, tile.words);
            if next == NOTHING {
                return;
            }
            let (mut row, mut column) = self.row_and_column(next);
            while let Some(way) = self.settle::<REACH>(tile, (row, column)) {
                row = row.wrapping_add_signed(way.0);
                column = column.wrapping_add_signed(way.1);
            }
            // After the marks of all threads, and before shared memory is used again.
            thread::sync_threads();
            if thread::thread_idx_x() == 0 {
                self.queue.release();
            }
        }
    }

    #[inline(always)]
    fn row_and_column(&self, index: u32) -> (u32, u32) {
        let tiles_x = self.raster.tiles_x().max(1);
        (index / tiles_x, index % tiles_x)
    }

    /// Loads a tile with its halo. Called by the whole block.
    #[inline(always)]
    fn load<const REACH: u32>(&self, tile: &Values, (row, column): (u32, u32)) {
        let (left, top) = (column * TILE, row * TILE);
        let (stride, rows) = (self.raster.stride(), self.raster.rows());
        // All loads are under way at the same time.
        let mut values = [NO_VALUE; CELLS];
        let mut steps = [0; CELLS];
        each6!(K, {
            if let Some((x, y)) = cell::<REACH>(K)
                && left + x < stride
                && top + y < rows
            {
                let place = (top + y) * stride + left + x;
                steps[K] = self.steps.ld(place);
                // The blocks of other tiles may lower them at the same time.
                // planted: spread-plain-load
                values[K] = self.values.ld_relaxed(place, Device);
            }
        });
        each6!(K, {
            if let Some((x, y)) = cell::<REACH>(K) {
                tile.values.st(at(x, y), values[K]);
                tile.steps.st(at(x, y), steps[K].into());
            }
        });
        // planted: spread-load-barrier
        thread::sync_threads();
    }

    /// The place of a cell of a tile.
    #[inline(always)]
    fn place(&self, (row, column): (u32, u32), (x, y): (u32, u32)) -> u32 {
        (row * TILE + y) * self.raster.stride() + column * TILE + x
    }

    /// The priority of what a cell gets.
    #[inline(always)]
    fn priority(&self, place: u32) -> u32 {
        P::from_bits(self.costs.ld(place)).priority()
    }

    /// Marks a tile if the value of one of its cells can be lowered. Called by the whole block.
    #[inline(always)]
    fn mark_if_lowered<const REACH: u32>(&self, tile: &Values, index: u32) {
        let at = self.row_and_column(index);
        self.load::<REACH>(tile, at);
        let own = Own::load::<REACH>(tile);
        let mut priority = NOTHING;
        each!(I, {
            // planted: spread-begin
            if own.over::<REACH>(I, tile, self.added) < own.values[I] {
                priority = priority.min(self.priority(self.place(at, own.cell(I))));
            }
        });
        let least = warp::warp_reduce_min(FULL_MASK, priority);
        if thread::thread_idx_x().is_multiple_of(WARP_SIZE) && least != NOTHING {
            self.queue.mark(self.raster, index, least);
        }
        // Before shared memory is used again.
        // planted: spread-begin-barrier
        thread::sync_threads();
    }

    /// Relaxes the tile at a row and a column until none of its values changes. Then returns the
    /// way to the tile to which the block goes on, or marks the tiles around to which this one
    /// gives values. Called by the whole block.
    #[inline(always)]
    fn settle<const REACH: u32>(&self, tile: &Values, at: (u32, u32)) -> Option<(i32, i32)> {
        forget_given(tile.words);
        self.load::<REACH>(tile, at);
        let marked = self.queue.least_mark(self.raster);
        let mut own = Own::load::<REACH>(tile);
        let loaded = own.values;
        while thread::sync_threads_or(own.relax::<REACH>(tile, self.added)) {}
        each!(I, {
            if own.values[I] < loaded[I] {
                let place = self.place(at, own.cell(I));
                // Another block may relax the tile at the same time.
                // planted: spread-plain-store
                self.values.atomic_min(place, own.values[I]);
            }
        });
        self.give::<REACH>(tile, at);
        // After the stores of all threads, too.
        // planted: spread-give-barrier
        let waiting = thread::sync_threads_or(marked != NOTHING);
        let queue = &self.queue;
        let way = queue.mark_around(self.raster, at, tile.words, !waiting);
        if way.is_some() {
            // Before shared memory is used again.
            // planted: spread-go-on-barrier
            thread::sync_threads();
        }
        way
    }

    /// Finds the cells of the halo that this tile can lower, and notes the least of their costs for
    /// each of the tiles around.
    ///
    /// A cell of the halo may have been lowered since it was loaded. Then its tile is marked in
    /// vain.
    #[inline(always)]
    fn give<const REACH: u32>(&self, tile: &Values, at_tile: (u32, u32)) {
        let inside = |x: u32, by: i32| moved(x, by).wrapping_sub(REACH) < TILE;
        each_of_halo::<REACH>(|x, y| {
            let steps = tile.steps.ld(at(x, y));
            let is_own = |columns, rows| inside(x, columns) && inside(y, rows);
            let value = tile.over::<REACH>((x, y), steps, self.added, is_own);
            // planted: spread-give
            if value < tile.value(x, y) {
                let priority = self.priority(self.place(at_tile, (x, y)));
                note_given::<REACH>(tile.words, (x, y), priority);
            }
        });
    }
}
