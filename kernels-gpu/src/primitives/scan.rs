//! Exclusive prefix sum of `u32`, in one pass over memory.
//!
//! `output[i]` is the sum of `input[0..i]` modulo 2³². Every tile of 6144 elements is read once.
//! Its sum is published as soon as it is known. The tile is written once the sums of all tiles
//! before it are published.
//!
//! | | |
//! | --- | --- |
//! | launch | [`scan_init`](fn@scan_init) with [`status_len`]`(n)` threads, then [`scan_exclusive`](fn@scan_exclusive) with [`blocks`]`(n, multiprocessors)` blocks |
//! | reads | 4 bytes per element, once |
//! | writes | 4 bytes per element, once |
//! | also | 8 bytes of status per tile of 6144 elements, read by each block |
//!
//! # Algorithm
//!
//! The blocks are persistent: each takes tile after tile from a counter, and keeps three of them in
//! registers.
//!
//! | tile | was taken | in this round |
//! | --- | --- | --- |
//! | `far` | one round ago | its loads are issued |
//! | `next` | two rounds ago | its loads have arrived: its sum is published |
//! | `current` | three rounds ago | it is scanned, added to the sum of all earlier tiles, and stored |
//!
//! A block knows the sum of its previous tile and of all tiles before that one. It adds the sums of
//! the tiles between its previous tile and the current one, about as many as there are blocks. Warp
//! 0 reads them, 288 at a time, while the other warps scan. They were published a round ago, so
//! warp 0 seldom waits, and while it waits, `far` is being loaded. No tile waits for another tile's
//! *prefix*, unlike in a scan with decoupled look-back, where the prefix travels from tile to tile
//! (Duane Merrill and Michael Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back",
//! NVIDIA Technical Report NVR-2016-002, 2016).
//!
//! A warp holds six rows of 128 elements, 16 bytes per lane and row. Lane `l` holds elements `4l`
//! to `4l + 3` of each row. So the scan of a row is a scan of the lanes' sums, five shuffles,
//! without a transposition.
//!
//! No block waits for a block that has not started. Consider the block with the smallest `current`:
//! each earlier tile was taken by a block that has already published its sum, because otherwise
//! that block's `current` would be smaller.
//!
//! A tile's status is one 64-bit word, with both state and value. One relaxed store publishes both;
//! no fence is needed.
//!
//! On an H200, the scan moves 3.95 TB/s on 2²⁸ elements, 93 % of a device-to-device copy in the
//! same run. `docs/engineering/kernels.md` says what bounds it and what was tried.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::block;
use super::warp::inclusive_sum;

/// Threads per block.
const BLOCK: u32 = 256;
/// Warps per block.
const WARPS: u32 = BLOCK / WARP_SIZE;
/// Rows that a warp scans, each of 32 lanes with a vector of 4 elements.
const ROWS: u32 = 6;
/// Elements per row.
const ROW: u32 = WARP_SIZE * 4;
/// Elements that a block scans.
pub const TILE: u32 = WARPS * ROWS * ROW;
/// Blocks that a multiprocessor holds.
const BLOCKS_PER_MULTIPROCESSOR: u32 = 2;
/// The window: status words that a lane reads at a time.
const WINDOW: u32 = 9;

/// Status of a tile whose sum is not known yet. Otherwise the status has 1 in the upper half, and
/// the sum in the lower.
const UNKNOWN: u64 = 0;
/// No tile: an index larger than all.
const NONE: u32 = u32::MAX;

/// Number of tiles of an array of `n` elements.
#[must_use]
pub const fn tiles(n: u32) -> u32 {
    n.div_ceil(TILE)
}

/// The best number of blocks for `n` elements on a GPU with `multiprocessors` multiprocessors. Any
/// other number gives the same sums, but takes longer.
#[must_use]
pub const fn blocks(n: u32, multiprocessors: u32) -> u32 {
    let resident = multiprocessors * BLOCKS_PER_MULTIPROCESSOR;
    if tiles(n) < resident {
        tiles(n)
    } else {
        resident
    }
}

/// Length of `status` for an array of `n` elements.
#[must_use]
pub const fn status_len(n: u32) -> u32 {
    tiles(n)
}

/// The state through which the blocks of a scan share the work and their tiles' sums. The sizes are
/// the number of elements that are scanned.
#[repr(C)]
#[derive(Clone, Copy, Debug, KernelParam)]
#[lengths(u32, buffers = ScanBuffers)]
pub struct ScanState<'a> {
    /// The tiles' sums, once they are known.
    #[len(status_len(*sizes))]
    pub status: ViewMut<'a, u64>,
    /// One element: the next tile that a block takes.
    #[len(1)]
    pub ticket: ViewMut<'a, u32>,
}

impl ScanState<'_> {
    /// Makes the state ready for a scan; for kernels that run before a scan anyway. Called by at
    /// least [`status_len`] threads, each with its index `i`.
    #[inline(always)]
    pub fn make_ready(self, i: u32) {
        if (i as usize) < self.status.len() {
            self.status.st(i, UNKNOWN);
        }
        if i == 0 {
            self.ticket.st(0u32, 0);
        }
    }
}

/// Makes `state` ready for one [`scan_exclusive`](fn@scan_exclusive).
///
/// # Safety
///
/// The launch has a thread per element of `state.status`. Nothing else uses `state` meanwhile.
#[kernel(block = BLOCK)]
pub unsafe fn scan_init(state: ScanState<'_>) {
    state.make_ready(thread::index_1d());
}

/// Writes the exclusive prefix sums of `input` to `output`, and the sum of all `n` elements to
/// `total[0]`.
///
/// `input` and `output` may be the same memory.
///
/// ```text
/// while the block has a tile:
///     take a tile; load `far`
///     sum `next`, and publish its sum
///     warp 0: add the sums of the tiles between the last `current` and this one
///     scan `current`, add the sum of all tiles before it, and store it
///     current, next, far = next, far, the tile taken
/// ```
///
/// # Safety
///
/// `input` and `output` have at least `n` elements and start at multiples of 16 bytes; `total` has
/// one element. `state` is [ready](ScanState::make_ready). Nothing else uses the arrays meanwhile.
#[kernel(
    block = BLOCK,
    min_blocks = 2,
    len(
        input = n,
        output = n,
        total = 1,
        state = n,
    ),
)]
pub unsafe fn scan_exclusive(
    input: View<'_, u32>,
    output: ViewMut<'_, u32>,
    total: ViewMut<'_, u32>,
    state: ScanState<'_>,
    n: u32,
) {
    let ScanState { status, ticket } = state;
    let warp_sums = shared_array![u32; WARPS as usize];
    let prefix_before = shared_array![u32; 1];
    let ticket_taken = shared_array![u32; 1];

    let t = thread::thread_idx_x();
    let warp = t / WARP_SIZE;
    let lane = t % WARP_SIZE;
    let offset = warp * (ROWS * ROW) + lane * 4;
    let tiles = tiles(n);

    if t == 0 {
        ticket_taken.st(0u32, ticket.atomic_add(0u32, 1));
    }
    thread::sync_threads();
    let mut far = ticket_taken.ld(0u32);
    let mut next = NONE;
    let mut current = NONE;
    let mut next_rows = Rows::default();
    let mut current_rows = Rows::default();
    // The sum of the current tile, and the sum of its elements before this warp's rows.
    let mut tile_sum = 0u32;
    let mut warp_prefix = 0u32;
    // In warp 0: `known` is the sum of the first `known_tiles` tiles.
    let mut known_tiles = 0u32;
    let mut known = 0u32;

    while far < tiles || next < tiles || current < tiles {
        let mut taken = NONE;
        if t == 0 && far < tiles {
            taken = ticket.atomic_add(0u32, 1);
        }
        let mut far_rows = Rows::default();
        if far < tiles {
            far_rows = load_rows(input, far, offset, n);
        }

        let mut sum = 0u32;
        for row in &next_rows {
            for element in row {
                sum = sum.wrapping_add(*element);
            }
        }
        let sum = warp::warp_reduce_add(FULL_MASK, sum);
        let sums = block::sum_of_warps(sum, 0, warp_sums);
        let (next_warp_prefix, next_sum) = (sums.before, sums.total);
        if t == 0 && next < tiles {
            // planted: scan-early, scan-unknown, scan-plain-status
            status.st_relaxed(next, 1 << 32 | u64::from(next_sum), Device);
        }

        if warp == 0 {
            if current < tiles {
                known =
                    known.wrapping_add(sum_of_tiles(status.as_view(), known_tiles, current, lane));
                if lane == 0 {
                    prefix_before.st(0u32, known);
                }
                known = known.wrapping_add(tile_sum);
                known_tiles = current + 1;
                if lane == 0 && known_tiles == tiles {
                    total.st(0u32, known);
                }
            }
            if lane == 0 {
                ticket_taken.st(0u32, taken);
            }
        }
        scan_rows(&mut current_rows, warp_prefix, lane);
        // planted: scan-prefix-barrier
        thread::sync_threads();
        let taken = ticket_taken.ld(0u32);
        if current < tiles {
            let prefix = prefix_before.ld(0u32);
            for row in &mut current_rows {
                for element in row {
                    *element = element.wrapping_add(prefix);
                }
            }
            store_rows(output, current, offset, n, &current_rows);
        }

        (current, next, far) = (next, far, taken);
        (current_rows, next_rows) = (next_rows, far_rows);
        (warp_prefix, tile_sum) = (next_warp_prefix, next_sum);
    }
}

/// The sum of the elements of tiles `first` to `end` (exclusive), once all of them are published.
/// Called by all threads of one warp.
#[inline(always)]
pub fn sum_of_tiles(status: View<'_, u64>, first: u32, end: u32, lane: u32) -> u32 {
    let read = |word: u64, tile: u32| {
        if tile < end && word == UNKNOWN {
            status.ld_relaxed(tile, Device)
        } else {
            word
        }
    };
    let mut sum = 0u32;
    let mut at = first;
    while at < end {
        let tile = |i: u32| at + lane + i * WARP_SIZE;
        let mut words = [UNKNOWN; WINDOW as usize];
        loop {
            // All loads of a round are issued before the first result is needed: a load from the L2
            // cache takes longer than issuing them all. (In a loop, LLVM would keep the array in
            // memory.)
            words = [
                read(words[0], tile(0)),
                read(words[1], tile(1)),
                read(words[2], tile(2)),
                // planted: scan-window-word
                read(words[3], tile(3)),
                read(words[4], tile(4)),
                read(words[5], tile(5)),
                read(words[6], tile(6)),
                read(words[7], tile(7)),
                read(words[8], tile(8)),
            ];
            let mut some_missing = false;
            for (word, i) in words.iter().zip(0..) {
                some_missing |= tile(i) < end && *word == UNKNOWN;
            }
            if !warp::warp_vote_any(FULL_MASK, some_missing) {
                break;
            }
        }
        for word in &words {
            sum = sum.wrapping_add(*word as u32);
        }
        // planted: scan-window
        at += WINDOW * WARP_SIZE;
    }
    warp::warp_reduce_add(FULL_MASK, sum)
}

/// A thread's part of a tile: one vector of each of its warp's rows.
type Rows = [[u32; 4]; ROWS as usize];

/// Turns the warp's rows into their exclusive prefix sums, plus `before`.
#[inline(always)]
fn scan_rows(rows: &mut Rows, before: u32, lane: u32) {
    let mut before = before;
    for row in rows {
        let sum = row[0]
            .wrapping_add(row[1])
            .wrapping_add(row[2])
            .wrapping_add(row[3]);
        let inclusive = inclusive_sum(sum, lane);
        let mut prefix = before.wrapping_add(inclusive).wrapping_sub(sum);
        for element in row {
            let value = *element;
            *element = prefix;
            prefix = prefix.wrapping_add(value);
        }
        // planted: scan-lane
        before = before
            .wrapping_add(warp::warp_shuffle_idx(FULL_MASK, inclusive, WARP_SIZE - 1, WARP_SIZE).0);
    }
}

/// Loads this thread's part of a tile; zeros past the array's end.
#[inline(always)]
fn load_rows(input: View<'_, u32>, tile: u32, offset: u32, n: u32) -> Rows {
    let start = tile * TILE + offset;
    let left = n - tile * TILE;
    let mut rows = Rows::default();
    if left >= TILE {
        for (row, r) in rows.iter_mut().zip(0..) {
            *row = input.ld_vector(start + r * ROW);
        }
    } else {
        for (row, r) in rows.iter_mut().zip(0..) {
            for (element, e) in row.iter_mut().zip(0..) {
                // planted: scan-end
                if offset + r * ROW + e < left {
                    *element = input.ld(start + r * ROW + e);
                }
            }
        }
    }
    rows
}

/// Stores this thread's part of a tile, up to the array's end.
#[inline(always)]
fn store_rows(output: ViewMut<'_, u32>, tile: u32, offset: u32, n: u32, rows: &Rows) {
    let start = tile * TILE + offset;
    let left = n - tile * TILE;
    if left >= TILE {
        for (row, r) in rows.iter().zip(0..) {
            output.st_vector(start + r * ROW, *row);
        }
    } else {
        for (row, r) in rows.iter().zip(0..) {
            for (element, e) in row.iter().zip(0..) {
                if offset + r * ROW + e < left {
                    output.st(start + r * ROW + e, *element);
                }
            }
        }
    }
}
