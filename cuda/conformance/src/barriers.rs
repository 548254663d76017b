//! Block barriers and shared memory.

use cuda_std::prelude::*;

/// Threads of every kernel here.
pub const THREADS: u32 = 128;

/// Reverses a block's elements through static shared memory. A compiler may merge the two `if`s on
/// one condition around a barrier, wrongly: see `cuda_builder`'s README.
///
/// # Safety
///
/// `input` and `out` have [`THREADS`] elements per block.
#[kernel(block = 128)]
pub unsafe fn reverse_static(input: View<'_, u32>, out: ViewMut<'_, u32>, lower_half: u32) {
    let cells = shared_array![u32; THREADS as usize];
    let t = thread::thread_idx_x();
    let first = thread::block_idx_x() * THREADS;
    cells.st(t, input.ld(first + t));
    if lower_half != 0 && t < THREADS / 2 {
        cells.st(t, cells.ld(t) + 1000);
    }
    thread::sync_threads();
    if lower_half != 0 && t < THREADS / 2 {
        cells.atomic_add(THREADS - 1 - t, 1);
    }
    thread::sync_threads();
    out.st(first + t, cells.ld(THREADS - 1 - t));
}

/// Reverses two arrays of different types through dynamic shared memory, and reports its size.
///
/// # Safety
///
/// One block with `12 * THREADS` bytes of dynamic shared memory; `narrow` and `wide` have
/// [`THREADS`] elements, `size` has one.
#[kernel(block = 128)]
pub unsafe fn reverse_dynamic(
    narrow: ViewMut<'_, u32>,
    wide: ViewMut<'_, u64>,
    size: ViewMut<'_, u32>,
) {
    // SAFETY: the launch's promise: room for both arrays.
    let (wide_cells, narrow_cells) = unsafe {
        (
            shared::dynamic_shared_mem::<u64>(0, THREADS as usize),
            shared::dynamic_shared_mem::<u32>(8 * THREADS as usize, THREADS as usize),
        )
    };
    let t = thread::thread_idx_x();
    narrow_cells.st(t, narrow.ld(t));
    wide_cells.st(t, wide.ld(t));
    thread::sync_threads();
    narrow.st(t, narrow_cells.ld(THREADS - 1 - t));
    wide.st(t, wide_cells.ld(THREADS - 1 - t));
    if t == 0 {
        size.st(0, shared::dynamic_shared_size());
    }
}

/// The barriers that also count or combine a predicate: in `out[3 * THREADS]`, counts, ands, ors.
///
/// # Safety
///
/// One block; `input` has [`THREADS`] elements, `out` three times as many.
#[kernel(block = 128)]
pub unsafe fn voting_barriers(input: View<'_, u32>, out: ViewMut<'_, u32>, below: u32) {
    let t = thread::thread_idx_x();
    let predicate = input.ld(t) < below;
    let count = thread::sync_threads_count(predicate);
    let and = thread::sync_threads_and(predicate);
    let or = thread::sync_threads_or(predicate);
    out.st(t, count);
    out.st(THREADS + t, u32::from(and));
    out.st(2 * THREADS + t, u32::from(or));
}
