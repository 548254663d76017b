//! A thread's coordinates in its block and grid, barriers, and fences.

use crate::backend;

macro_rules! registers {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[must_use]
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn $name() -> u32 {
            backend::$name()
        }
    )*};
}

registers! {
    /// This thread's x coordinate in its block.
    thread_idx_x;
    /// This thread's y coordinate in its block.
    thread_idx_y;
    /// This thread's z coordinate in its block.
    thread_idx_z;
    /// The block's x coordinate in the grid.
    block_idx_x;
    /// The block's y coordinate in the grid.
    block_idx_y;
    /// The block's z coordinate in the grid.
    block_idx_z;
    /// Threads per block along x.
    block_dim_x;
    /// Threads per block along y.
    block_dim_y;
    /// Threads per block along z.
    block_dim_z;
    /// Blocks in the grid along x.
    grid_dim_x;
    /// Blocks in the grid along y.
    grid_dim_y;
    /// Blocks in the grid along z.
    grid_dim_z;
}

/// This thread's index along x in the whole grid: `block_idx_x * block_dim_x + thread_idx_x`.
///
/// Wraps around in grids of more than 2³² threads along x.
#[must_use]
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn index_1d() -> u32 {
    block_idx_x()
        .wrapping_mul(block_dim_x())
        .wrapping_add(thread_idx_x())
}

/// This thread's coordinates (x, y) in the whole grid.
#[must_use]
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn index_2d() -> (u32, u32) {
    (
        index_1d(),
        block_idx_y()
            .wrapping_mul(block_dim_y())
            .wrapping_add(thread_idx_y()),
    )
}

/// This thread's index in its block, with x varying fastest.
#[must_use]
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn index_in_block() -> u32 {
    thread_idx_x() + block_dim_x() * (thread_idx_y() + block_dim_y() * thread_idx_z())
}

/// Waits until every thread of the block has arrived. All of them then see every thread's earlier
/// writes.
///
/// Every thread of the block must reach the same call: a call inside a branch that only some
/// threads take hangs the block.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn sync_threads() {
    backend::sync_threads();
}

/// [`sync_threads`], and returns the number of the block's threads whose `predicate` is true.
#[must_use]
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn sync_threads_count(predicate: bool) -> u32 {
    backend::sync_threads_count(predicate)
}

/// [`sync_threads`], and returns whether `predicate` is true in all of the block's threads.
#[must_use]
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn sync_threads_and(predicate: bool) -> bool {
    backend::sync_threads_and(predicate)
}

/// [`sync_threads`], and returns whether `predicate` is true in any of the block's threads.
#[must_use]
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn sync_threads_or(predicate: bool) -> bool {
    backend::sync_threads_or(predicate)
}

/// Orders this thread's memory accesses for the other threads of its block (`__threadfence_block`).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn block_fence() {
    backend::block_fence();
}

/// Orders this thread's memory accesses for all threads of the device (`__threadfence`).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn device_fence() {
    backend::device_fence();
}

/// Orders this thread's memory accesses for the device, other devices and the host
/// (`__threadfence_system`).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn system_fence() {
    backend::system_fence();
}

/// Sleeps for 0 to 2 · `nanoseconds`, at most a millisecond. For spin loops.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn nanosleep(nanoseconds: u32) {
    backend::nanosleep(nanoseconds);
}
