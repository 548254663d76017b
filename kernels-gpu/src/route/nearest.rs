//! The pin to join next: the least of distance, pin and order of its cells, by reduction.
//!
//! The cells of all pins stand one pin after the other, so that the least index is that of the smallest pin and its first cell.
//!
//! | kernel | launch | reads, writes |
//! | --- | --- | --- |
//! | [`nearest_find`](fn@nearest_find) | [`blocks`]`(n)` blocks of 256 threads | 16 bytes a cell of a pin; 12 bytes a block |
//! | [`nearest_select`](fn@nearest_select) | one block of 256 threads | 12 bytes a block of the first |

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::{BLOCK, UNREACHED};

/// The index of a cell where there is none.
pub const NONE: u32 = u32::MAX;

/// Warps of a block.
const WARPS: u32 = BLOCK / WARP_SIZE;

/// The most blocks that share the search.
const MAX_BLOCKS: u32 = 512;

/// Blocks that search `n` cells of pins, one at least.
#[must_use]
pub const fn blocks(n: u32) -> u32 {
    let blocks = n.div_ceil(BLOCK);
    if blocks == 0 {
        1
    } else if blocks > MAX_BLOCKS {
        MAX_BLOCKS
    } else {
        blocks
    }
}

/// A distance, and the index of a pin's cell that has it.
#[derive(Clone, Copy)]
struct Best {
    distance: u64,
    index: u32,
}

impl Best {
    const NONE: Self = Self {
        distance: UNREACHED,
        index: NONE,
    };

    /// The lesser one.
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        // planted: nearest-tie
        let less = other.distance < self.distance
            || other.distance == self.distance && other.index < self.index;
        if less { other } else { self }
    }

    /// The least of a warp, in every lane.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn of_warp(mut self) -> Self {
        let mut mask = WARP_SIZE / 2;
        while mask > 0 {
            self = self.or(Self {
                distance: warp::warp_shuffle_xor(FULL_MASK, self.distance, mask, WARP_SIZE).0,
                index: warp::warp_shuffle_xor(FULL_MASK, self.index, mask, WARP_SIZE).0,
            });
            mask /= 2;
        }
        self
    }

    /// The least of a block, in each lane of its first warp. For a whole block, once.
    #[inline(always)]
    fn of_block(self) -> Self {
        let distances = shared_array![u64; WARPS as usize];
        let indices = shared_array![u32; WARPS as usize];
        let t = thread::thread_idx_x();
        let (warp, lane) = (t / WARP_SIZE, t % WARP_SIZE);
        let best = self.of_warp();
        if lane == 0 {
            distances.st(warp, best.distance);
            indices.st(warp, best.index);
        }
        thread::sync_threads();
        let mut best = Self::NONE;
        if lane < WARPS {
            best = Self {
                distance: distances.ld(lane),
                index: indices.ld(lane),
            };
        }
        best.of_warp()
    }
}

/// Finds, for each block, the nearest of its share of the cells of pins that are not joined.
///
/// # Safety
///
/// `pin_cells` are cells of the grid whose `distances` these are, and `owners` their pins; `is_joined` has an element for each
/// pin; `best_distances` and `best_indices` have one for each block; nothing else uses these two meanwhile.
#[kernel(block = 256)]
pub unsafe fn nearest_find(
    distances: View<'_, u64>,
    pin_cells: View<'_, u32>,
    owners: View<'_, u32>,
    is_joined: View<'_, u32>,
    best_distances: ViewMut<'_, u64>,
    best_indices: ViewMut<'_, u32>,
) {
    let n = pin_cells.len() as u32;
    let threads = thread::grid_dim_x() * BLOCK;
    let mut best = Best::NONE;
    let mut index = thread::index_1d();
    while index < n {
        if is_joined.ldg(owners.ldg(index)) == 0 {
            let distance = distances.ldg(pin_cells.ldg(index));
            best = best.or(Best { distance, index });
        }
        index += threads;
    }
    let best = best.of_block();
    if thread::thread_idx_x() == 0 {
        best_distances.st(thread::block_idx_x(), best.distance);
        best_indices.st(thread::block_idx_x(), best.index);
    }
}

/// Chooses the nearest of what the blocks found: `found[round]` becomes its index and `costs[round]` its distance; its pin is
/// joined. If no pin is left that is reached, the index is [`NONE`].
///
/// # Safety
///
/// [`nearest_find`](fn@nearest_find) has run with these `owners` and `is_joined`; `found` and `costs` have more than `round` elements;
/// nothing else uses these and `is_joined` meanwhile; the launch has one block.
#[kernel(block = 256)]
pub unsafe fn nearest_select(
    best_distances: View<'_, u64>,
    best_indices: View<'_, u32>,
    owners: View<'_, u32>,
    is_joined: ViewMut<'_, u32>,
    found: ViewMut<'_, u32>,
    costs: ViewMut<'_, u64>,
    round: u32,
) {
    let n = best_indices.len() as u32;
    let mut best = Best::NONE;
    let mut at = thread::thread_idx_x();
    while at < n {
        best = best.or(Best {
            distance: best_distances.ldg(at),
            index: best_indices.ldg(at),
        });
        at += BLOCK;
    }
    let best = best.of_block();
    if thread::thread_idx_x() == 0 {
        let reached = best.distance != UNREACHED;
        found.st(round, if reached { best.index } else { NONE });
        costs.st(round, best.distance);
        if reached {
            is_joined.st(owners.ldg(best.index), 1);
        }
    }
}
