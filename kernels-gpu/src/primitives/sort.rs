//! Stable sort of pairs by a 32-bit key: one pass per digit of 8 bits, from the lowest.
//!
//! | kernel | does | reads | writes |
//! | --- | --- | --- | --- |
//! | [`count_digits`](fn@count_digits) | counts each digit in each tile | 4 bytes per pair | 1 KiB per tile |
//! | [`scatter`](fn@scatter) | moves the pairs | 8 bytes per pair, 1 KiB per tile | 8 bytes per pair |
//!
//! The counts are ordered by digit and then by tile, so that their scan, between the two kernels,
//! is the place of each tile's first pair of each digit. Both kernels have [`tiles`]`(n)` blocks.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

/// Bits of a digit.
pub const DIGIT_BITS: u32 = 8;
/// Values of a digit.
const DIGITS: u32 = 1 << DIGIT_BITS;
/// Threads per block: one per value of a digit.
const BLOCK: u32 = DIGITS;
/// Warps per block.
const WARPS: u32 = BLOCK / WARP_SIZE;
/// Pairs per lane.
const ROUNDS: u32 = 8;
/// Pairs per warp.
const WARP_PAIRS: u32 = ROUNDS * WARP_SIZE;
/// Pairs per tile.
pub const TILE: u32 = WARPS * WARP_PAIRS;

/// The number of tiles of `n` pairs.
#[must_use]
pub const fn tiles(n: u32) -> u32 {
    n.div_ceil(TILE)
}

/// Length of `counts` for `n` pairs.
#[must_use]
pub const fn counts_len(n: u32) -> u32 {
    tiles(n) * DIGITS
}

/// The number of passes that sort keys up to `largest`.
#[must_use]
pub const fn passes(largest: u32) -> u32 {
    (u32::BITS - largest.leading_zeros()).div_ceil(DIGIT_BITS)
}

/// The digit of `key` that begins at bit `shift`.
#[inline(always)]
const fn digit(key: u32, shift: u32) -> u32 {
    key >> shift & (DIGITS - 1)
}

/// Counts each digit in each tile: `counts[digit * tiles + tile]`.
///
/// # Safety
///
/// `keys` has `n` elements, `counts` has [`counts_len`]`(n)`. Nothing else uses `counts` meanwhile.
/// `shift` is below 32. The launch has [`tiles`]`(n)` blocks.
#[kernel(block = BLOCK)]
pub unsafe fn count_digits(keys: View<'_, u32>, counts: ViewMut<'_, u32>, n: u32, shift: u32) {
    let sums = shared_array![u32; DIGITS as usize];
    let t = thread::thread_idx_x();
    let tile = thread::block_idx_x();
    sums.st(t, 0);
    // planted: sort-zero-barrier
    thread::sync_threads();
    let mut round = 0;
    while round < ROUNDS {
        let i = tile * TILE + round * DIGITS + t;
        if i < n {
            // planted: sort-plain-count
            sums.atomic_add(digit(keys.ldg(i), shift), 1);
        }
        round += 1;
    }
    thread::sync_threads();
    counts.st(t * thread::grid_dim_x() + tile, sums.ld(t));
}

/// Moves each pair to its place by one digit. Pairs with the same digit keep their order.
///
/// # Safety
///
/// `keys`, `values`, `new_keys` and `new_values` have `n` elements; nothing else uses the latter
/// two meanwhile. `places` is the scan of the counts of [`count_digits`](fn@count_digits) for these
/// keys and this `shift`. The launch has [`tiles`]`(n)` blocks.
#[kernel(block = BLOCK)]
pub unsafe fn scatter(
    keys: View<'_, u32>,
    values: View<'_, u32>,
    places: View<'_, u32>,
    new_keys: ViewMut<'_, u32>,
    new_values: ViewMut<'_, u32>,
    n: u32,
    shift: u32,
) {
    // Per warp and digit: the number of the warp's pairs, and later the place of its next pair.
    let warps = shared_array![u32; (WARPS * DIGITS) as usize];
    let t = thread::thread_idx_x();
    let (warp, lane) = (t / WARP_SIZE, t % WARP_SIZE);
    let tile = thread::block_idx_x();
    let first = tile * TILE + warp * WARP_PAIRS + lane;
    let mine = warp * DIGITS;
    let mut other = 0;
    while other < WARPS {
        warps.st(other * DIGITS + t, 0);
        other += 1;
    }
    thread::sync_threads();
    let mut round = 0;
    while round < ROUNDS {
        let i = first + round * WARP_SIZE;
        if i < n {
            warps.atomic_add(mine + digit(keys.ldg(i), shift), 1);
        }
        round += 1;
    }
    thread::sync_threads();
    let mut place = places.ldg(t * thread::grid_dim_x() + tile);
    other = 0;
    while other < WARPS {
        let count = warps.ld(other * DIGITS + t);
        warps.st(other * DIGITS + t, place);
        place += count;
        other += 1;
    }
    thread::sync_threads();
    round = 0;
    while round < ROUNDS {
        let i = first + round * WARP_SIZE;
        let key = if i < n { keys.ldg(i) } else { 0 };
        // Lanes past the end have a digit of their own.
        let own = if i < n { digit(key, shift) } else { DIGITS };
        let peers = warp::warp_match_any_32(FULL_MASK, own);
        // planted: sort-order
        let before = (peers & warp::lanemask_lt()).count_ones();
        if i < n {
            let at = warps.ld(mine + own) + before;
            new_keys.st(at, key);
            new_values.st(at, values.ldg(i));
        }
        // planted: sort-read-sync
        warp::sync_warp(FULL_MASK);
        if i < n && before == 0 {
            let next = warps.ld(mine + own) + peers.count_ones();
            warps.st(mine + own, next);
        }
        // planted: sort-round-sync
        warp::sync_warp(FULL_MASK);
        round += 1;
    }
}
