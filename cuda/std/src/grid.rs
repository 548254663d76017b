//! A barrier of all blocks of a cooperative kernel.
//!
//! The blocks wait for each other, so that all of them must be resident at once. The option
//! `cooperative` of `#[kernel]` sees to that: a launch with more blocks than the device holds is
//! refused, by the driver and by the emulator.

use crate::prelude::*;

/// The bit of the counter that the last arrival of a round flips.
const PHASE: u32 = 1 << 31;

/// A barrier of all blocks of a grid.
///
/// # Algorithm
///
/// One word counts the arrived blocks in its lower 31 bits. The first block of the grid adds
/// 2³¹ - (blocks - 1), every other block adds 1. The sum of a round is 2³¹ in whatever order the
/// blocks arrive, and only the last arrival carries into the highest bit: each block waits until
/// that bit differs from what it was at its own arrival. Then the lower bits are 0 again. So the
/// barrier serves any number of rounds, and later launches, with grids of any size, find it ready.
///
/// On an H100, a round takes 1.2 µs with 132 blocks, including two loads and a store per thread
/// between two barriers (`cuda/cust/tests/gpu_conformance.rs`, 2026-11-22).
#[repr(C)]
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct GridBarrier<'a> {
    /// One element, which is 0 before the first launch, and which nothing else writes. Launches
    /// that may overlap have a barrier each.
    pub counter: ViewMut<'a, u32>,
}

impl GridBarrier<'_> {
    /// Waits until all threads of the grid have arrived. All of them then see what each wrote
    /// before.
    ///
    /// The kernel is cooperative, and every thread of its grid reaches the same call, as for
    /// [`sync_threads`](thread::sync_threads). Costs two barriers of the block, and one atomic
    /// update of device memory per block.
    #[inline(always)]
    pub fn sync(self) {
        // planted: grid-dimensions
        self.sync_first(thread::grid_dim_x() * thread::grid_dim_y() * thread::grid_dim_z());
    }

    /// [`sync`](Self::sync) of the first `blocks` blocks of a grid along x. The others do not call
    /// it, nor [`sync`](Self::sync).
    #[inline(always)]
    pub fn sync_first(self, blocks: u32) {
        // planted: grid-arrival-barrier
        thread::sync_threads();
        if thread::index_in_block() == 0 {
            self.arrive_and_wait(blocks);
        }
        // planted: grid-exit-barrier
        thread::sync_threads();
    }

    /// [`sync_first`](Self::sync_first) for one thread per block.
    #[inline(always)]
    fn arrive_and_wait(self, blocks: u32) {
        // planted: grid-first-block
        let index = thread::block_idx_x() | thread::block_idx_y() | thread::block_idx_z();
        let arrival = if index == 0 { PHASE - (blocks - 1) } else { 1 };
        // Releases what the block wrote. An update carries on what the updates before it released:
        // whoever acquires the last arrival's value sees what all blocks wrote.
        // planted: grid-release
        thread::device_fence();
        // planted: grid-blocks
        let before = self.counter.atomic_add(0u32, arrival);
        // planted: grid-acquire
        while (before ^ self.counter.ld_acquire(0u32, Device)) & PHASE == 0 {}
    }
}
