//! The tiles to relax, and when none is left.
//!
//! Each tile has a word with the least priority of the costs that the tiles beside it give to it.
//! A tile belongs to one block, which alone takes it when it is marked, so that no tile needs a
//! lock. All blocks are resident, so a marked tile is relaxed, whatever the others do. Each block
//! takes the nearest of its marked tiles first.
//!
//! There is one **hold** for each marked tile and for each block that relaxes tiles. A block marks
//! tiles only while it relaxes one. So once there is no hold, there never is one again, and
//! all costs are final.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::layout::{BLOCK, CostRaster, TILE};

/// A tile's word if it is not marked.
pub(super) const NOTHING: u32 = u32::MAX;
/// The number of words in shared memory that a block keeps of the queue.
pub(super) const WORDS: usize = 16;
/// The index among them of the tile that a block takes.
const NEXT: u32 = 0;
/// The first of nine words, one for each tile of the 3 × 3 around the block's tile: the least
/// priority of what it gives to that tile.
const GIVEN: u32 = 1;
/// The index in [`TileQueue::counters`] of the number of holds.
const HOLDS: u32 = 0;
/// Of so many vain searches for a marked tile, one looks whether there are holds.
const PATIENCE: u32 = 8;

/// The sizes from which the lengths of a [`TileQueue`] follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileQueueSizes {
    /// Tiles of the raster.
    pub tiles: u32,
    /// Blocks of the launch.
    pub blocks: u32,
}

/// The tiles to relax.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(TileQueueSizes, buffers = TileQueueBuffers)]
pub struct TileQueue<'a> {
    /// A word per tile, those of a block side by side, and one per block as padding. `u32::MAX`
    /// before the launch, and after it.
    #[len(sizes.tiles + sizes.blocks)]
    pub pending: ViewMut<'a, u32>,
    /// The number of holds, 0 before the launch and after it.
    #[len(1, zeroed)]
    pub counters: ViewMut<'a, u32>,
}

impl TileQueue<'_> {
    /// The number of tiles' words that belong to each block.
    #[inline(always)]
    fn words_per_block(raster: CostRaster) -> u32 {
        raster.tiles().div_ceil(thread::grid_dim_x().max(1))
    }

    /// The index of a tile's word.
    #[inline(always)]
    fn word_of(raster: CostRaster, tile: u32) -> u32 {
        let blocks = thread::grid_dim_x().max(1);
        tile % blocks * Self::words_per_block(raster) + tile / blocks
    }

    /// Marks a tile, which gets costs of this priority. What the block wrote before its last
    /// barrier is visible to the block that takes the tile. Called by one thread.
    #[inline(always)]
    pub(super) fn mark(&self, raster: CostRaster, tile: u32, priority: u32) {
        // Before the tile can be taken and relaxed, and its hold given back.
        self.counters.atomic_add(HOLDS, 1);
        // planted: distance-mark-fence
        thread::device_fence();
        let word = Self::word_of(raster, tile);
        if self.pending.atomic_min(word, priority) != NOTHING {
            self.release();
        }
    }

    /// Gives back a hold. Called by one thread.
    #[inline(always)]
    pub(super) fn release(&self) {
        self.counters.atomic_add(HOLDS, u32::MAX);
    }

    /// Waits until one of the block's tiles is marked, and takes it with its hold, or returns
    /// [`NOTHING`] if all costs are final. Called by the whole block, with its [`WORDS`].
    #[inline(always)]
    pub(super) fn next(&self, raster: CostRaster, words: SharedView<u32>) -> u32 {
        let t = thread::thread_idx_x();
        if t < WARP_SIZE {
            let first = thread::block_idx_x() * Self::words_per_block(raster);
            let mut idle = 0u32;
            let mut found = self.nearest(raster, first);
            while found == NOTHING {
                idle = idle.wrapping_add(1);
                if idle.is_multiple_of(PATIENCE) {
                    let none = t == 0 && self.counters.ld_relaxed(HOLDS, Device) == 0;
                    if warp::warp_vote_any(FULL_MASK, none) {
                        break;
                    }
                }
                found = self.nearest(raster, first);
            }
            if t == 0 {
                let mut tile = NOTHING;
                if found != NOTHING {
                    self.pending.atomic_exch(first + found, NOTHING);
                    thread::device_fence();
                    tile = found * thread::grid_dim_x() + thread::block_idx_x();
                }
                words.st(NEXT, tile);
            }
        }
        thread::sync_threads();
        words.ld(NEXT)
    }

    /// A number other than [`NOTHING`] if this thread sees that one of the block's tiles is marked.
    /// All threads of the block see all of its tiles. Returns before the number is read from
    /// memory, which is so when it is used.
    #[inline(always)]
    pub(super) fn least_mark(&self, raster: CostRaster) -> u32 {
        let words = Self::words_per_block(raster);
        let first = thread::block_idx_x() * words;
        let t = thread::thread_idx_x();
        let mut least = NOTHING;
        if t < words {
            least = self.pending.ld_relaxed(first + t, Device);
        }
        let mut i = t + BLOCK;
        while i < words {
            least = least.min(self.pending.ld_relaxed(first + i, Device));
            i += BLOCK;
        }
        least
    }

    /// Which of the block's words, which begin at `first`, has the least priority; [`NOTHING`] if
    /// no tile is marked. Called by a whole warp.
    #[inline(always)]
    fn nearest(&self, raster: CostRaster, first: u32) -> u32 {
        let words = Self::words_per_block(raster);
        let lane = thread::thread_idx_x() % WARP_SIZE;
        let (mut least, mut at) = (NOTHING, 0);
        let mut i = lane;
        while i < words {
            let word = self.pending.ld_relaxed(first + i, Device);
            if word < least {
                (least, at) = (word, i);
            }
            i += WARP_SIZE;
        }
        let best = warp::warp_reduce_min(FULL_MASK, least);
        if best == NOTHING {
            return NOTHING;
        }
        let lanes = warp::warp_vote_ballot(FULL_MASK, least == best);
        warp::warp_shuffle_idx(FULL_MASK, at, lanes.trailing_zeros(), WARP_SIZE).0
    }

    /// Marks the tiles around the one at a row and a column to which it gives something, or
    /// returns the way to that tile, in rows and columns, if it is just one and `may_go_on`.
    /// `words` has what [`note_given`] has noted, with a barrier in between. Called by the whole
    /// block.
    #[inline(always)]
    pub(super) fn mark_around(
        &self,
        raster: CostRaster,
        (row, column): (u32, u32),
        words: SharedView<u32>,
        may_go_on: bool,
    ) -> Option<(i32, i32)> {
        let t = thread::thread_idx_x();
        let lane = t % WARP_SIZE;
        let priority = if lane < 9 {
            words.ld(GIVEN + lane)
        } else {
            NOTHING
        };
        let given = warp::warp_vote_ballot(FULL_MASK, priority != NOTHING);
        // planted: distance-go-on
        if !may_go_on || given.count_ones() != 1 {
            // Only cells of the raster are given costs, so the tiles exist.
            if t < 9 && priority != NOTHING {
                let tile = (row + t / 3 - 1) * raster.tiles_x() + column + t % 3 - 1;
                self.mark(raster, tile, priority);
            }
            return None;
        }
        let next = given.trailing_zeros() as i32;
        Some((next / 3 - 1, next % 3 - 1))
    }
}

/// Forgets what was given to the tiles around. Called by the whole block, with a barrier before
/// [`note_given`].
#[inline(always)]
pub(super) fn forget_given(words: SharedView<u32>) {
    let t = thread::thread_idx_x();
    if t < 9 {
        words.st(GIVEN + t, NOTHING);
    }
}

/// Notes that a cell of the halo, at a column and a row of the tile with its halo, is given
/// something of this priority.
#[inline(always)]
pub(super) fn note_given<const REACH: u32>(
    words: SharedView<u32>,
    (x, y): (u32, u32),
    priority: u32,
) {
    let part = |x: u32| u32::from(x >= REACH) + u32::from(x >= REACH + TILE);
    words.atomic_min(GIVEN + part(y) * 3 + part(x), priority);
}

/// Threads that look at the halo on one side of a tile: whole warps, whose lanes have the same
/// steps to take.
const SIDE_THREADS: u32 = BLOCK / 4;

/// Calls `visit` with column and row, in the tile with its halo, of this thread's cells of the
/// halo.
#[inline(always)]
pub(super) fn each_of_halo<const REACH: u32>(mut visit: impl FnMut(u32, u32)) {
    let side = thread::thread_idx_x() / SIDE_THREADS;
    let mut i = thread::thread_idx_x() % SIDE_THREADS;
    while let Some((x, y)) = halo_cell::<REACH>(side, i) {
        visit(x, y);
        i += SIDE_THREADS;
    }
}

/// Column and row of cell `i` of the halo on a side: above the tile, below, on the left, on the
/// right. `None` past the last one.
#[inline(always)]
fn halo_cell<const REACH: u32>(side: u32, i: u32) -> Option<(u32, u32)> {
    let beyond = side % 2 * (TILE + REACH);
    if side < 2 {
        let width = TILE + 2 * REACH;
        (i < REACH * width).then_some((i % width, beyond + i / width))
    } else {
        (i < REACH * TILE).then_some((beyond + i % REACH, REACH + i / REACH))
    }
}
