//! Exclusive prefix sum of `u32`, in one pass over memory.
//!
//! `output[i]` is the sum of `input[0..i]` modulo 2³². "Single-pass parallel prefix scan with decoupled
//! look-back" (Merrill and Garland, 2016): each block scans one tile, publishes the tile's sum, and then adds up
//! the sums of the tiles before it, looking back only as far as the nearest tile that already knows its prefix.
//!
//! | | |
//! | --- | --- |
//! | launch | [`scan_init`], then [`scan_exclusive`] with [`tiles`]`(n)` blocks of 256 threads |
//! | reads | 4 bytes per element, once |
//! | writes | 4 bytes per element, once |
//! | besides | 8 bytes of `status` per tile of 4096 elements |
//!
//! # How a tile goes
//!
//! 1. One thread takes the tile's number from a counter. The block's own index would not do: a tile waits for
//!    the tiles before it, and the hardware does not promise to start blocks in order.
//! 2. A warp loads four rows of 128 elements, 16 bytes per lane and row. Lane `l` holds elements `4l` to `4l + 3` of
//!    each row, so that a row's scan is a scan of the lanes' sums: five shuffles per row, and no transposition.
//! 3. The warps' sums meet in shared memory.
//! 4. Warp 0 publishes the tile's sum, looks back over 32 tiles at a time, and publishes the tile's prefix.
//! 5. Every thread adds tile prefix, warp prefix and row prefix to its elements and stores them.
//!
//! On an H200 it moves 2.7 TB/s on 2²⁸ elements, 63 % of a device-to-device copy in the same run; what bounds it is not
//! yet known. Tiles of 2048 to 12288 elements, wider look-back windows, sleeping between polls and the block's own index
//! for a ticket all gave 56 to 66 %, persistent blocks that load their next tile early 33 to 50 %.
//!
//! A tile's status is one 64-bit word, state and value together, so that one relaxed store publishes both and no
//! fence is needed. Before the first tile lie 32 words that say "prefix 0": the look-back needs no special case
//! at the start of the array.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

/// Threads per block.
const BLOCK: u32 = 256;
/// Warps per block.
const WARPS: u32 = BLOCK / WARP_SIZE;
/// Rows that a warp scans, each of 32 lanes with a vector of 4 elements.
const ROWS: u32 = 4;
/// Elements per row.
const ROW: u32 = WARP_SIZE * 4;
/// Elements that a block scans.
pub const TILE: u32 = WARPS * ROWS * ROW;
/// Words of `status` before the first tile's.
pub const PADDING: u32 = 32;

/// A tile of which nothing is known yet. Zero, so that the state needs no mask.
const STATE_EMPTY: u32 = 0;
/// The value is the sum of the tile's elements.
const STATE_SUM: u32 = 1;
/// The value is the sum of all elements up to the tile's end.
const STATE_PREFIX: u32 = 2;

/// Number of tiles of an array of `n` elements: the blocks to launch.
#[must_use]
pub const fn tiles(n: u32) -> u32 {
    n.div_ceil(TILE)
}

/// Length of `status` for an array of `n` elements.
#[must_use]
pub const fn status_len(n: u32) -> u32 {
    PADDING + tiles(n)
}

/// State and value as one word.
#[inline(always)]
fn pack(state: u32, value: u32) -> u64 {
    u64::from(state) << 32 | u64::from(value)
}

/// Element `i` of `status` before a scan.
#[inline(always)]
pub(crate) fn initial_status(i: u32) -> u64 {
    let state = if i < PADDING {
        STATE_PREFIX
    } else {
        STATE_EMPTY
    };
    pack(state, 0)
}

/// Makes `status` and `ticket` ready for one [`scan_exclusive`]. One thread per element of `status`.
///
/// # Safety
///
/// `ticket` has an element; nothing else uses `status` and `ticket` meanwhile.
#[kernel(block = 256)]
pub unsafe fn scan_init(status: ViewMut<'_, u64>, ticket: ViewMut<'_, u32>) {
    let i = thread::index_1d();
    if (i as usize) < status.len() {
        status.st(i, initial_status(i));
    }
    if i == 0 {
        ticket.st(0u32, 0);
    }
}

/// Writes the exclusive prefix sums of `input` to `output`, and the sum of all `n` elements to `total[0]`.
///
/// `input` and `output` may be the same memory.
///
/// # Safety
///
/// `input` and `output` have at least `n` elements and start at multiples of 16 bytes; `total` and `ticket` have
/// an element, `status` has [`status_len`]`(n)`; [`scan_init`] has run on `status` and `ticket`; the grid has
/// [`tiles`]`(n)` blocks; nothing else uses any of them meanwhile.
#[kernel(block = 256)]
pub unsafe fn scan_exclusive(
    input: View<'_, u32>,
    output: ViewMut<'_, u32>,
    total: ViewMut<'_, u32>,
    status: ViewMut<'_, u64>,
    ticket: ViewMut<'_, u32>,
    n: u32,
) {
    let tile_number = shared_array![u32; 1];
    let warp_sums = shared_array![u32; WARPS as usize];
    let tile_prefix = shared_array![u32; 1];

    let t = thread::thread_idx_x();
    let warp = t / WARP_SIZE;
    let lane = t % WARP_SIZE;

    if t == 0 {
        tile_number.st(0u32, ticket.atomic_add(0u32, 1));
    }
    thread::sync_threads();
    let tile = tile_number.ld(0u32);

    let tile_start = tile * TILE;
    let start = tile_start + warp * (ROWS * ROW) + lane * 4;
    let whole = n - tile_start >= TILE;
    let mut rows = load_rows(input, start, n, whole);

    // Each row's elements become exclusive prefix sums within the warp's 512 elements.
    let mut warp_sum = 0u32;
    for row in &mut rows {
        let sum = row[0]
            .wrapping_add(row[1])
            .wrapping_add(row[2])
            .wrapping_add(row[3]);
        let inclusive = warp_inclusive_sum(sum, lane);
        let mut prefix = warp_sum.wrapping_add(inclusive).wrapping_sub(sum);
        for element in row {
            let value = *element;
            *element = prefix;
            prefix = prefix.wrapping_add(value);
        }
        warp_sum = warp_sum
            .wrapping_add(warp::warp_shuffle_idx(FULL_MASK, inclusive, WARP_SIZE - 1, WARP_SIZE).0);
    }
    if lane == 0 {
        warp_sums.st(warp, warp_sum);
    }
    thread::sync_threads();

    let mut warp_prefix = 0u32;
    let mut tile_sum = 0u32;
    for other in 0..WARPS {
        if other == warp {
            warp_prefix = tile_sum;
        }
        tile_sum = tile_sum.wrapping_add(warp_sums.ld(other));
    }
    if warp == 0 {
        let prefix = publish_and_look_back(status, tile, tile_sum, lane);
        if lane == 0 {
            tile_prefix.st(0u32, prefix);
            if n - tile_start <= TILE {
                total.st(0u32, prefix.wrapping_add(tile_sum));
            }
        }
    }
    thread::sync_threads();

    let prefix = tile_prefix.ld(0u32).wrapping_add(warp_prefix);
    for row in &mut rows {
        for element in row {
            *element = element.wrapping_add(prefix);
        }
    }
    store_rows(output, start, n, whole, &rows);
}

/// Publishes the tile's sum, adds up what lies before the tile, and publishes the tile's prefix. Returns the sum
/// of all elements before the tile. For one whole warp.
#[inline(always)]
pub(crate) fn publish_and_look_back(
    status: ViewMut<'_, u64>,
    tile: u32,
    tile_sum: u32,
    lane: u32,
) -> u32 {
    let own = tile + PADDING;
    if lane == 0 {
        status.st_relaxed(own, pack(STATE_SUM, tile_sum), Device);
    }
    // Lane 0 looks at the tile just before this one, lane 31 at the one 32 before.
    let mut at = own - 1 - lane;
    let mut prefix = 0u32;
    loop {
        let (state, value) = loop {
            let word = status.ld_relaxed(at, Device);
            let state = (word >> 32) as u32;
            if warp::warp_vote_all(FULL_MASK, state != STATE_EMPTY) {
                break (state, word as u32);
            }
        };
        let prefixes = warp::warp_vote_ballot(FULL_MASK, state == STATE_PREFIX);
        // The nearest tile that knows its prefix ends the search: what lies farther is in its value.
        let nearest = prefixes.trailing_zeros();
        let counted = if lane <= nearest { value } else { 0 };
        prefix = prefix.wrapping_add(warp::warp_reduce_add(FULL_MASK, counted));
        if prefixes != 0 {
            break;
        }
        at -= WARP_SIZE;
    }
    if lane == 0 {
        status.st_relaxed(
            own,
            pack(STATE_PREFIX, prefix.wrapping_add(tile_sum)),
            Device,
        );
    }
    prefix
}

/// The sum of the values of this lane and the lanes before it.
#[inline(always)]
pub(crate) fn warp_inclusive_sum(value: u32, lane: u32) -> u32 {
    let mut sum = value;
    let mut distance = 1;
    while distance < WARP_SIZE {
        let (before, _) = warp::warp_shuffle_up(FULL_MASK, sum, distance, WARP_SIZE);
        if lane >= distance {
            sum = sum.wrapping_add(before);
        }
        distance *= 2;
    }
    sum
}

/// This lane's part of its warp's rows; zero past the array's end.
#[inline(always)]
fn load_rows(input: View<'_, u32>, start: u32, n: u32, whole: bool) -> [[u32; 4]; ROWS as usize] {
    let mut rows = [[0; 4]; ROWS as usize];
    if whole {
        for (row, r) in rows.iter_mut().zip(0..) {
            *row = input.ld_vector(start + r * ROW);
        }
    } else {
        for (row, r) in rows.iter_mut().zip(0..) {
            for (element, e) in row.iter_mut().zip(0..) {
                let at = start + r * ROW + e;
                if at < n {
                    *element = input.ld(at);
                }
            }
        }
    }
    rows
}

/// Stores this lane's part of its warp's rows, up to the array's end.
#[inline(always)]
fn store_rows(
    output: ViewMut<'_, u32>,
    start: u32,
    n: u32,
    whole: bool,
    rows: &[[u32; 4]; ROWS as usize],
) {
    if whole {
        for (row, r) in rows.iter().zip(0..) {
            output.st_vector(start + r * ROW, *row);
        }
    } else {
        for (row, r) in rows.iter().zip(0..) {
            for (element, e) in row.iter().zip(0..) {
                let at = start + r * ROW + e;
                if at < n {
                    output.st(at, *element);
                }
            }
        }
    }
}
