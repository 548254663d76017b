//! The pin to join next, by reduction: the nearest pin. Ties go to the first pin, and to its first
//! cell.
//!
//! The cells of all pins are stored one pin after the other, so the least index belongs to the
//! first pin and its first cell.
//!
//! | kernel | launch | reads, writes |
//! | --- | --- | --- |
//! | [`nearest_find`](fn@nearest_find) | [`blocks`]`(n)` blocks of [`BLOCK`] threads | 16 bytes per cell of a pin; 12 bytes per block |
//! | [`nearest_select`](fn@nearest_select) | one block of [`BLOCK`] threads | 12 bytes per block of the first kernel |

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::{BLOCK, Pins, UNREACHED};

/// In place of an index: no cell.
pub const NONE: u32 = u32::MAX;

/// Warps of a block.
const WARPS: u32 = BLOCK / WARP_SIZE;

/// The most blocks that share the search.
const MAX_BLOCKS: u32 = 512;

/// Blocks that search `n` cells of pins, at least one.
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

    /// The least of a block, in each lane of its first warp. Called once, by the whole block.
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

/// The results of the blocks of [`nearest_find`](fn@nearest_find). The sizes are the number of
/// blocks.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(u32, buffers = BlockBestBuffers)]
pub struct BlockBests<'a> {
    /// The least distance; [`UNREACHED`] if there is none.
    #[len(*sizes)]
    pub distances: ViewMut<'a, u64>,
    /// The index, among the pins' cells, of the cell at that distance; [`NONE`] if there is none.
    #[len(*sizes)]
    pub indices: ViewMut<'a, u32>,
}

/// The pins that were chosen: in each view, one element per round.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct Chosen<'a> {
    /// The index, among the pins' cells, of the chosen pin's nearest cell; [`NONE`] if no pin was
    /// reached.
    pub found: ViewMut<'a, u32>,
    /// Its distance.
    #[len(self.found.len())]
    pub costs: ViewMut<'a, u64>,
}

/// Finds, for each block, the nearest cell of its share of the cells of pins that are not joined.
///
/// # Safety
///
/// `distances` has one element per cell of the grid, `is_joined` one per pin, and `best` one per
/// block. Nothing else uses `best` meanwhile.
#[kernel(block = BLOCK, len(pins = (), best = grid.x))]
pub unsafe fn nearest_find(
    distances: View<'_, u64>,
    pins: Pins<'_>,
    is_joined: View<'_, u32>,
    best: BlockBests<'_>,
) {
    let n = pins.cells.len() as u32;
    let threads = thread::grid_dim_x() * BLOCK;
    let mut least = Best::NONE;
    let mut index = thread::index_1d();
    while index < n {
        if is_joined.ldg(pins.owners.ldg(index)) == 0 {
            let distance = distances.ldg(pins.cells.ldg(index));
            least = least.or(Best { distance, index });
        }
        index += threads;
    }
    let least = least.of_block();
    if thread::thread_idx_x() == 0 {
        best.distances.st(thread::block_idx_x(), least.distance);
        best.indices.st(thread::block_idx_x(), least.index);
    }
}

/// Chooses the nearest of the cells that the blocks have found, writes it as that of `round`, and
/// joins its pin. If no remaining pin is reached, the index is [`NONE`].
///
/// # Safety
///
/// [`nearest_find`](fn@nearest_find) has run with this `best`, these `pins` and `is_joined`;
/// `chosen` has more than `round` elements. The launch has one block. Nothing else uses `chosen`
/// and `is_joined` meanwhile.
#[kernel(block = BLOCK, len(best = best.indices.len() as u32, pins = (), chosen = ()))]
pub unsafe fn nearest_select(
    best: BlockBests<'_>,
    pins: Pins<'_>,
    is_joined: ViewMut<'_, u32>,
    chosen: Chosen<'_>,
    round: u32,
) {
    let n = best.indices.len() as u32;
    let mut least = Best::NONE;
    let mut at = thread::thread_idx_x();
    while at < n {
        least = least.or(Best {
            distance: best.distances.ld(at),
            index: best.indices.ld(at),
        });
        at += BLOCK;
    }
    let least = least.of_block();
    if thread::thread_idx_x() == 0 {
        let reached = least.distance != UNREACHED;
        chosen
            .found
            .st(round, if reached { least.index } else { NONE });
        chosen.costs.st(round, least.distance);
        if reached {
            is_joined.st(pins.owners.ldg(least.index), 1);
        }
    }
}
