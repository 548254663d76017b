//! Blocks that wait for each other: the barrier of a grid.

use cuda_std::grid::GridBarrier;
use cuda_std::prelude::*;

/// Threads per block.
pub const THREADS: u32 = 64;

/// `rounds` rounds, in which each thread replaces its value by [`mixed`] of two others, the next
/// thread's and one of a distant block. The values go back and forth between `values` and `other`:
/// after an even number of rounds they are in `values`.
///
/// # Safety
///
/// `values` and `other` have [`THREADS`] elements per block; `barrier` is as it was left by the
/// last launch, or 0. Nothing else uses them meanwhile.
#[kernel(block = THREADS, cooperative)]
pub unsafe fn exchange(
    values: ViewMut<'_, u32>,
    other: ViewMut<'_, u32>,
    barrier: GridBarrier<'_>,
    rounds: u32,
) {
    let i = thread::index_1d();
    let threads = thread::grid_dim_x() * THREADS;
    let (mut from, mut to) = (values, other);
    for round in 0..rounds {
        let [next, distant] = partners(i, threads);
        to.st(i, mixed(from.ld(next), from.ld(distant), round));
        barrier.sync();
        (from, to) = (to, from);
    }
}

/// The threads whose values thread `i` of `threads` mixes.
#[inline(always)]
#[must_use]
pub fn partners(i: u32, threads: u32) -> [u32; 2] {
    let within = |at: u32| if at < threads { at } else { at - threads };
    [within(i + 1), within(i + threads / 2)]
}

/// A value of two others.
#[inline(always)]
#[must_use]
pub const fn mixed(next: u32, distant: u32, round: u32) -> u32 {
    next.wrapping_mul(0x9e37_79b1).rotate_left(7) ^ distant.wrapping_add(round)
}
