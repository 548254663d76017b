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

use super::layout::{BLOCK, Tile};
use super::{Cost, CostSearch};

/// A tile's word if it is not marked.
pub(super) const NOTHING: u32 = u32::MAX;
/// The index in [`Tile::words`] of the tile that a block takes.
pub(super) const NEXT: u32 = 0;
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

impl<P: Cost> CostSearch<'_, P> {
    /// The number of tiles' words that belong to each block.
    #[inline(always)]
    fn words_per_block(&self) -> u32 {
        self.raster.tiles().div_ceil(thread::grid_dim_x().max(1))
    }

    /// The index of a tile's word.
    #[inline(always)]
    fn word_of(&self, tile: u32) -> u32 {
        let blocks = thread::grid_dim_x().max(1);
        tile % blocks * self.words_per_block() + tile / blocks
    }

    /// Marks a tile, which gets costs of this priority. What the block wrote before its last
    /// barrier is visible to the block that takes the tile. Called by one thread.
    #[inline(always)]
    pub(super) fn mark(&self, tile: u32, priority: u32) {
        // Before the tile can be taken and relaxed, and its hold given back.
        self.queue.counters.atomic_add(HOLDS, 1);
        // planted: distance-mark-fence
        thread::device_fence();
        let word = self.word_of(tile);
        if self.queue.pending.atomic_min(word, priority) != NOTHING {
            self.release();
        }
    }

    /// Gives back a hold. Called by one thread.
    #[inline(always)]
    pub(super) fn release(&self) {
        self.queue.counters.atomic_add(HOLDS, u32::MAX);
    }

    /// Waits until one of the block's tiles is marked, and takes it with its hold, or returns
    /// [`NOTHING`] if all costs are final. Called by the whole block.
    #[inline(always)]
    pub(super) fn next(&self, shared: &Tile<P>) -> u32 {
        let t = thread::thread_idx_x();
        if t < WARP_SIZE {
            let first = thread::block_idx_x() * self.words_per_block();
            let mut idle = 0u32;
            let mut found = self.nearest(first);
            while found == NOTHING {
                idle = idle.wrapping_add(1);
                if idle.is_multiple_of(PATIENCE) {
                    let none = t == 0 && self.queue.counters.ld_relaxed(HOLDS, Device) == 0;
                    if warp::warp_vote_any(FULL_MASK, none) {
                        break;
                    }
                }
                found = self.nearest(first);
            }
            if t == 0 {
                let mut tile = NOTHING;
                if found != NOTHING {
                    self.queue.pending.atomic_exch(first + found, NOTHING);
                    thread::device_fence();
                    tile = found * thread::grid_dim_x() + thread::block_idx_x();
                }
                shared.words.st(NEXT, tile);
            }
        }
        thread::sync_threads();
        shared.words.ld(NEXT)
    }

    /// A number other than [`NOTHING`] if this thread sees that one of the block's tiles is marked.
    /// All threads of the block see all of its tiles. Returns before the number is read from
    /// memory, which is so when it is used.
    #[inline(always)]
    pub(super) fn least_mark(&self) -> u32 {
        let words = self.words_per_block();
        let first = thread::block_idx_x() * words;
        let t = thread::thread_idx_x();
        let mut least = NOTHING;
        if t < words {
            least = self.queue.pending.ld_relaxed(first + t, Device);
        }
        let mut i = t + BLOCK;
        while i < words {
            least = least.min(self.queue.pending.ld_relaxed(first + i, Device));
            i += BLOCK;
        }
        least
    }

    /// Which of the block's words, which begin at `first`, has the least priority; [`NOTHING`] if
    /// no tile is marked. Called by a whole warp.
    #[inline(always)]
    fn nearest(&self, first: u32) -> u32 {
        let words = self.words_per_block();
        let lane = thread::thread_idx_x() % WARP_SIZE;
        let (mut least, mut at) = (NOTHING, 0);
        let mut i = lane;
        while i < words {
            let word = self.queue.pending.ld_relaxed(first + i, Device);
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
}
