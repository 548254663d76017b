//! Stable sort of pairs by a 32-bit key: one pass per digit of 8 bits, from the lowest. Digits that
//! are the same in all keys take no pass.
//!
//! In a pass, the blocks of a cooperative grid count each digit in each tile of 2048 pairs, wait
//! for each other, and move the pairs. The counts are ordered by digit and then by tile, so that
//! their scan gives the place of each tile's first pair of each digit. If tiles are few, each block
//! adds up the counts that it needs; otherwise the grid scans all of them.
//!
//! Per pair and pass, 12 bytes are read and 8 written; per tile and pass, 1 KiB of counts is
//! written and read.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::block;
use super::grid::{Grid, ScanMemory, each, zip};
use super::partition::Group;

/// Bits of a digit.
const DIGIT_BITS: u32 = 8;
/// Values of a digit.
const DIGITS: u32 = 1 << DIGIT_BITS;
/// Threads per block: one per value of a digit.
pub const BLOCK: u32 = DIGITS;
/// Warps per block.
const WARPS: u32 = BLOCK / WARP_SIZE;
/// Pairs per lane.
const ROUNDS: u32 = 8;
/// Pairs per warp.
const WARP_PAIRS: u32 = ROUNDS * WARP_SIZE;
/// Pairs per tile.
pub const TILE: u32 = WARPS * WARP_PAIRS;
/// The most tiles whose counts each block adds up by itself.
pub const FEW_TILES: u32 = 64;
/// Length of [`SortMemory::warps`].
pub const WARP_DIGITS: u32 = WARPS * DIGITS;

/// The number of tiles of `n` pairs.
const fn tiles(n: u32) -> u32 {
    n.div_ceil(TILE)
}

/// Length of [`Pairs::counts`] for `n` pairs.
#[must_use]
pub const fn counts_len(n: u32) -> u32 {
    tiles(n) * DIGITS
}

/// The bits in which keys up to `largest` may differ.
#[inline(always)]
#[must_use]
pub const fn bits_up_to(largest: u32) -> u32 {
    if largest == 0 {
        0
    } else {
        u32::MAX >> largest.leading_zeros()
    }
}

/// The number of passes that sort keys that differ in these bits.
#[inline(always)]
const fn passes(bits: u32) -> u32 {
    let mut passes = 0;
    let mut shift = 0;
    while shift < u32::BITS {
        if digit(bits, shift) != 0 {
            passes += 1;
        }
        shift += DIGIT_BITS;
    }
    passes
}

/// The digit of `key` that begins at bit `shift`.
#[inline(always)]
const fn digit(key: u32, shift: u32) -> u32 {
    key >> shift & (DIGITS - 1)
}

/// Pairs to sort, and the memory to sort them in. The sizes are the number of pairs.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(u32, buffers = PairsBuffers)]
pub struct Pairs<'a> {
    /// The keys.
    #[len(*sizes)]
    pub keys: ViewMut<'a, u32>,
    /// The values.
    #[len(*sizes)]
    pub values: ViewMut<'a, u32>,
    /// Keys after every other pass.
    #[len(*sizes)]
    pub other_keys: ViewMut<'a, u32>,
    /// Their values.
    #[len(*sizes)]
    pub other_values: ViewMut<'a, u32>,
    /// The number of each digit in each tile.
    #[len(counts_len(*sizes), align = 16)]
    pub counts: ViewMut<'a, u32>,
}

impl Pairs<'_> {
    /// The arrays exchanged: each pass moves the pairs to the other arrays.
    #[inline(always)]
    #[must_use]
    pub const fn swapped(self) -> Self {
        Self {
            keys: self.other_keys,
            values: self.other_values,
            other_keys: self.keys,
            other_values: self.values,
            counts: self.counts,
        }
    }

    /// The pairs as [`sort_pairs`] by these bits expects them: in `keys` and `values` of the
    /// result.
    #[inline(always)]
    #[must_use]
    pub const fn unsorted(self, bits: u32) -> Self {
        // planted: sort-parity
        if passes(bits).is_multiple_of(2) {
            self
        } else {
            self.swapped()
        }
    }
}

/// The shared memory that a block sorts in.
#[derive(Clone, Copy)]
pub struct SortMemory<'a> {
    /// Per warp and digit, the number of the warp's pairs, later the place of its next pair:
    /// [`WARP_DIGITS`] elements.
    pub warps: SharedView<u32>,
    /// For scans.
    pub scan: ScanMemory<'a>,
}

/// Sorts `n` pairs by their keys, which differ in these bits alone, from where [`Pairs::unsorted`]
/// says to `keys` and `values`. Pairs with the same key keep their order. The pairs are stored
/// around `group`, which is not touched and has a key of its own: smaller keys end up before it.
///
/// All threads of a cooperative grid call it, after a barrier that follows the last write to the
/// pairs. There is a barrier after the last write to the result.
#[inline(always)]
pub fn sort_pairs(
    grid: Grid<'_, BLOCK>,
    pairs: Pairs<'_>,
    n: u32,
    group: Group,
    bits: u32,
    memory: SortMemory<'_>,
) {
    let tiles = tiles(n);
    let mut from = pairs.unsorted(bits);
    let mut shift = 0;
    while shift < u32::BITS {
        // planted: sort-digit
        if digit(bits, shift) == 0 {
            shift += DIGIT_BITS;
            continue;
        }
        let pass = Pass {
            pairs: from,
            n,
            group,
            shift,
        };
        let mut tile = grid.block();
        while tile < tiles {
            pass.count_digits(tile, memory);
            tile += grid.blocks();
        }
        grid.sync();
        // planted: sort-many-tiles
        if tiles > FEW_TILES {
            grid.scan(pairs.counts, counts_len(n), |_| (), memory.scan);
            grid.sync();
        }
        let mut tile = grid.block();
        while tile < tiles {
            pass.scatter(tile, memory);
            tile += grid.blocks();
        }
        // planted: sort-pass-barrier
        grid.sync();
        from = from.swapped();
        // planted: sort-passes
        shift += DIGIT_BITS;
    }
}

/// The arguments of a pass.
#[derive(Clone, Copy)]
struct Pass<'a> {
    /// The pairs, which go to the other arrays.
    pairs: Pairs<'a>,
    n: u32,
    group: Group,
    shift: u32,
}

impl Pass<'_> {
    /// The elements `first`, `first + stride` and so on, one per round; 0 past the last element.
    /// All loads are in flight at once.
    #[inline(always)]
    fn load(&self, values: ViewMut<'_, u32>, first: u32, stride: u32) -> [u32; ROUNDS as usize] {
        const { assert!(ROUNDS == 8) };
        let [a, b, c, d] = self.load_four(values, first, stride);
        let [e, f, g, h] = self.load_four(values, first + 4 * stride, stride);
        [a, b, c, d, e, f, g, h]
    }

    /// The first four of these.
    #[inline(always)]
    fn load_four(&self, values: ViewMut<'_, u32>, first: u32, stride: u32) -> [u32; 4] {
        each([0, 1, 2, 3], |round| {
            let i = first + round * stride;
            if i < self.n {
                values.ld(self.group.around(i))
            } else {
                0
            }
        })
    }

    /// Counts each digit in a tile: `counts[digit * tiles + tile]`.
    #[inline(always)]
    fn count_digits(&self, tile: u32, memory: SortMemory<'_>) {
        let Self {
            pairs, n, shift, ..
        } = *self;
        let sums = memory.warps;
        let t = thread::thread_idx_x();
        let first = tile * TILE + t;
        let keys = self.load(pairs.keys, first, DIGITS);
        sums.st(t, 0);
        // planted: sort-zero-barrier
        thread::sync_threads();
        let mut round = 0;
        while round < ROUNDS {
            if first + round * DIGITS < n {
                // planted: sort-plain-count
                sums.atomic_add(digit(keys[round as usize], shift), 1);
            }
            round += 1;
        }
        thread::sync_threads();
        pairs.counts.st(t * tiles(n) + tile, sums.ld(t));
    }

    /// Moves each pair of a tile to its place by one digit.
    ///
    /// ```text
    /// count the pairs of each warp and digit
    /// per digit: the place of the tile's first pair; from it, that of each warp's first pair
    /// each warp, 32 pairs at a time:
    ///     the lanes with the same digit move their pairs to consecutive places
    ///     the first of them advances the warp's place for the digit
    /// ```
    #[inline(always)]
    fn scatter(&self, tile: u32, memory: SortMemory<'_>) {
        let Self {
            pairs,
            n,
            group,
            shift,
        } = *self;
        let warps = memory.warps;
        let t = thread::thread_idx_x();
        let (warp, lane) = (t / WARP_SIZE, t % WARP_SIZE);
        let first = tile * TILE + warp * WARP_PAIRS + lane;
        let mine = warp * DIGITS;
        let keys = self.load(pairs.keys, first, WARP_SIZE);
        let mut other = 0;
        while other < WARPS {
            warps.st(other * DIGITS + t, 0);
            other += 1;
        }
        thread::sync_threads();
        let mut round = 0;
        while round < ROUNDS {
            if first + round * WARP_SIZE < n {
                warps.atomic_add(mine + digit(keys[round as usize], shift), 1);
            }
            round += 1;
        }
        thread::sync_threads();
        let mut place = first_place(pairs.counts, tiles(n), tile, memory);
        other = 0;
        while other < WARPS {
            let count = warps.ld(other * DIGITS + t);
            warps.st(other * DIGITS + t, place);
            place += count;
            other += 1;
        }
        thread::sync_threads();
        // Keys are loaded again, from the cache, instead of being kept in registers.
        let mut round = 0;
        while round < ROUNDS {
            let first = first + round * WARP_SIZE;
            let load = |values| self.load_four(values, first, WARP_SIZE);
            let four = zip(load(pairs.keys), load(pairs.values));
            let mut i = first;
            each(four, |(key, value)| {
                // Lanes past the end have a digit of their own.
                let own = if i < n { digit(key, shift) } else { DIGITS };
                let peers = warp::warp_match_any_32(FULL_MASK, own);
                // planted: sort-order
                let before = (peers & warp::lanemask_lt()).count_ones();
                if i < n {
                    let at = group.around(warps.ld(mine + own) + before);
                    pairs.other_keys.st(at, key);
                    pairs.other_values.st(at, value);
                }
                // planted: sort-read-sync
                warp::sync_warp(FULL_MASK);
                if i < n && before == 0 {
                    let next = warps.ld(mine + own) + peers.count_ones();
                    warps.st(mine + own, next);
                }
                // planted: sort-round-sync
                warp::sync_warp(FULL_MASK);
                i += WARP_SIZE;
            });
            round += 4;
        }
        // All places are read before the counts of the next tile begin.
        // planted: sort-tile-barrier
        thread::sync_threads();
    }
}

/// The place of a tile's first pair with this thread's digit.
#[inline(always)]
fn first_place(counts: ViewMut<'_, u32>, tiles: u32, tile: u32, memory: SortMemory<'_>) -> u32 {
    let t = thread::thread_idx_x();
    // planted: sort-few-tiles
    if tiles > FEW_TILES {
        return counts.ld(t * tiles + tile);
    }
    let (mut all, mut before) = (0, 0);
    let mut other = 0;
    while other < tiles {
        let count = counts.ld(t * tiles + other);
        all += count;
        before += if other < tile { count } else { 0 };
        other += 1;
    }
    block::sum_of_threads(all, memory.scan.warp_sums).before + before
}
