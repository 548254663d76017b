//! Data races among threads of several blocks.

use cuda_std::emulator::Touch::{AtomicStore, Load, Store};
use cuda_std::emulator::{Emulator, EmulatorError, Fault, Touch};
use cuda_std::prelude::*;

use crate::support::{File, always, element, never, sometimes, xs};

const HERE: File = File("grid_races.rs", include_str!("grid_races.rs"));

/// Each block writes its 32 elements and the one after them.
///
/// # Safety
///
/// `out` has 32 elements per block, and one more.
#[kernel(block = 64)]
unsafe fn tiles_with_halo(out: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    let first = 32 * thread::block_idx_x();
    if t <= 32 {
        out.st(first + t, first + t); // @tile with halo
    }
}

/// Each block writes its 32 elements.
///
/// # Safety
///
/// As for `tiles_with_halo`.
#[kernel(block = 64)]
unsafe fn tiles(out: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    let first = 32 * thread::block_idx_x();
    let last_block = thread::block_idx_x() + 1 == thread::grid_dim_x();
    if t < 32 || t == 32 && last_block {
        out.st(first + t, first + t);
    }
}

/// Both blocks write the same value, which makes it no less a race.
#[test]
fn overlapping_tiles() {
    always(
        "tiles_with_halo",
        |gpu| {
            let mut out = gpu.alloc(65)?;
            // SAFETY: 65 elements for two blocks.
            unsafe { tiles_with_halo::launch(gpu, 2, out.view_mut()) }
        },
        |fault| {
            let race = HERE.race(
                fault,
                [(Store, "tile with halo"), (Store, "tile with halo")],
            );
            element(&race.place, "`out`", 32);
            let mut threads = race.threads.map(xs);
            threads.sort_unstable();
            assert_eq!(threads, [(0, 32), (1, 0)]);
        },
    );
    never(|gpu| {
        let mut out = gpu.alloc(65)?;
        // SAFETY: 65 elements for two blocks.
        unsafe { tiles::launch(gpu, 2, out.view_mut())? };
        assert_eq!(out.to_vec()?, (0..65).collect::<Vec<u32>>());
        Ok(())
    });
}

/// Counts how often each value occurs, with a load and a store.
///
/// # Safety
///
/// `x` has 32 elements per block, each less than `bins.len()`.
#[kernel(block = 32)]
unsafe fn histogram_without_atomics(x: View<'_, u32>, bins: ViewMut<'_, u32>) {
    let bin = x.ld(thread::index_1d());
    let count = bins.ld(bin); // @old count
    bins.st(bin, count + 1); // @new count
}

/// Counts how often each value occurs.
///
/// # Safety
///
/// As for `histogram_without_atomics`.
#[kernel(block = 32)]
unsafe fn histogram_with_atomics(x: View<'_, u32>, bins: ViewMut<'_, u32>) {
    bins.atomic_add(x.ld(thread::index_1d()), 1);
}

/// Each value occurs once per block: only different blocks race.
#[test]
fn histogram() {
    let x: Vec<u32> = (0..64).map(|i| (5 * i + 3) % 32).collect();
    always(
        "histogram_without_atomics",
        |gpu| {
            let (x, mut bins) = (gpu.upload(&x)?, gpu.alloc_zeroed(32)?);
            // SAFETY: 64 elements less than 32.
            unsafe { histogram_without_atomics::launch(gpu, 2, x.view(), bins.view_mut()) }
        },
        |fault| {
            let race = HERE.race(fault, [(Store, "new count"), (Load, "old count")]);
            let [writer, reader] = race.threads.map(xs);
            assert_eq!((writer.0 + reader.0, writer.1), (1, reader.1));
            element(&race.place, "`bins`", x[writer.1 as usize] as isize);
        },
    );
    never(|gpu| {
        let (x, mut bins) = (gpu.upload(&x)?, gpu.alloc_zeroed(32)?);
        // SAFETY: 64 elements less than 32.
        unsafe { histogram_with_atomics::launch(gpu, 2, x.view(), bins.view_mut())? };
        assert_eq!(bins.to_vec()?, [2u32; 32]);
        Ok(())
    });
}

/// The last block sums what all have written, without fences.
///
/// # Safety
///
/// `parts` has 32 elements per block, `arrived` and `sum` one.
#[kernel(block = 32)]
unsafe fn last_block_without_fences(
    parts: ViewMut<'_, u32>,
    arrived: ViewMut<'_, u32>,
    sum: ViewMut<'_, u32>,
) {
    let i = thread::index_1d();
    parts.st(i, i); // @last_block_without_fences writes
    thread::sync_threads();
    if thread::thread_idx_x() == 0 {
        let before = arrived.atomic_add(0u32, 1);
        if before + 1 == thread::grid_dim_x() {
            let mut total = 0;
            for k in 0..32 * thread::grid_dim_x() {
                total += parts.ld(k); // @last_block_without_fences reads
            }
            sum.st(0u32, total);
        }
    }
}

/// The last block sums what all have written, with a fence before the count only.
///
/// # Safety
///
/// As for `last_block_without_fences`.
#[kernel(block = 32)]
unsafe fn last_block_fence_before(
    parts: ViewMut<'_, u32>,
    arrived: ViewMut<'_, u32>,
    sum: ViewMut<'_, u32>,
) {
    let i = thread::index_1d();
    parts.st(i, i); // @last_block_fence_before writes
    thread::sync_threads();
    if thread::thread_idx_x() == 0 {
        thread::device_fence();
        let before = arrived.atomic_add(0u32, 1);
        if before + 1 == thread::grid_dim_x() {
            let mut total = 0;
            for k in 0..32 * thread::grid_dim_x() {
                total += parts.ld(k); // @last_block_fence_before reads
            }
            sum.st(0u32, total);
        }
    }
}

/// The last block sums what all have written, with a fence after the count only.
///
/// # Safety
///
/// As for `last_block_without_fences`.
#[kernel(block = 32)]
unsafe fn last_block_fence_after(
    parts: ViewMut<'_, u32>,
    arrived: ViewMut<'_, u32>,
    sum: ViewMut<'_, u32>,
) {
    let i = thread::index_1d();
    parts.st(i, i); // @last_block_fence_after writes
    thread::sync_threads();
    if thread::thread_idx_x() == 0 {
        let before = arrived.atomic_add(0u32, 1);
        if before + 1 == thread::grid_dim_x() {
            thread::device_fence();
            let mut total = 0;
            for k in 0..32 * thread::grid_dim_x() {
                total += parts.ld(k); // @last_block_fence_after reads
            }
            sum.st(0u32, total);
        }
    }
}

/// The last block sums what all have written, with fences at block scope only.
///
/// # Safety
///
/// As for `last_block_without_fences`.
#[kernel(block = 32)]
unsafe fn last_block_block_fences(
    parts: ViewMut<'_, u32>,
    arrived: ViewMut<'_, u32>,
    sum: ViewMut<'_, u32>,
) {
    let i = thread::index_1d();
    parts.st(i, i); // @last_block_block_fences writes
    thread::sync_threads();
    if thread::thread_idx_x() == 0 {
        thread::block_fence();
        let before = arrived.atomic_add(0u32, 1);
        if before + 1 == thread::grid_dim_x() {
            thread::block_fence();
            let mut total = 0;
            for k in 0..32 * thread::grid_dim_x() {
                total += parts.ld(k); // @last_block_block_fences reads
            }
            sum.st(0u32, total);
        }
    }
}

/// The last block sums what all have written, with a fence after the count that reaches the own
/// block only.
///
/// # Safety
///
/// As for `last_block_without_fences`.
#[kernel(block = 32)]
unsafe fn last_block_block_fence_after(
    parts: ViewMut<'_, u32>,
    arrived: ViewMut<'_, u32>,
    sum: ViewMut<'_, u32>,
) {
    let i = thread::index_1d();
    parts.st(i, i); // @last_block_block_fence_after writes
    thread::sync_threads();
    if thread::thread_idx_x() == 0 {
        thread::device_fence();
        let before = arrived.atomic_add(0u32, 1);
        if before + 1 == thread::grid_dim_x() {
            thread::block_fence();
            let mut total = 0;
            for k in 0..32 * thread::grid_dim_x() {
                total += parts.ld(k); // @last_block_block_fence_after reads
            }
            sum.st(0u32, total);
        }
    }
}

/// The last block sums what all have written; the count does not wait for the block's other
/// threads.
///
/// # Safety
///
/// As for `last_block_without_fences`.
#[kernel(block = 32)]
unsafe fn last_block_without_barrier(
    parts: ViewMut<'_, u32>,
    arrived: ViewMut<'_, u32>,
    sum: ViewMut<'_, u32>,
) {
    let i = thread::index_1d();
    parts.st(i, i); // @last_block_without_barrier writes

    if thread::thread_idx_x() == 0 {
        thread::device_fence();
        let before = arrived.atomic_add(0u32, 1);
        if before + 1 == thread::grid_dim_x() {
            thread::device_fence();
            let mut total = 0;
            for k in 0..32 * thread::grid_dim_x() {
                total += parts.ld(k); // @last_block_without_barrier reads
            }
            sum.st(0u32, total);
        }
    }
}

/// The last block sums what all have written.
///
/// # Safety
///
/// As for `last_block_without_fences`.
#[kernel(block = 32, cooperative)]
unsafe fn last_block(parts: ViewMut<'_, u32>, arrived: ViewMut<'_, u32>, sum: ViewMut<'_, u32>) {
    let i = thread::index_1d();
    parts.st(i, i);
    thread::sync_threads();
    if thread::thread_idx_x() == 0 {
        thread::device_fence();
        let before = arrived.atomic_add(0u32, 1);
        if before + 1 == thread::grid_dim_x() {
            thread::device_fence();
            let mut total = 0;
            for k in 0..32 * thread::grid_dim_x() {
                total += parts.ld(k);
            }
            sum.st(0u32, total);
        }
    }
}

type LastBlock = unsafe fn(
    &Emulator,
    u32,
    ViewMut<'_, u32>,
    ViewMut<'_, u32>,
    ViewMut<'_, u32>,
) -> Result<(), EmulatorError>;

fn last_block_sum(gpu: &Emulator, kernel: LastBlock) -> Result<u32, EmulatorError> {
    let mut parts = gpu.alloc_zeroed(128)?;
    let (mut arrived, mut sum) = (gpu.alloc_zeroed(1)?, gpu.alloc(1)?);
    // SAFETY: 32 elements for each of 4 blocks, and one each.
    unsafe { kernel(gpu, 4, parts.view_mut(), arrived.view_mut(), sum.view_mut())? };
    Ok(sum.to_vec()?[0])
}

/// The kernel's last block races with one that wrote before.
fn last_block_races(name: &'static str, kernel: LastBlock, same_block: bool) {
    let marks = [format!("{name} writes"), format!("{name} reads")];
    always(
        name,
        |gpu| last_block_sum(gpu, kernel).map(|_| ()),
        |fault| {
            let race = HERE.race(fault, [(Store, &marks[0]), (Load, &marks[1])]);
            let [(block, t), (last, reader)] = race.threads.map(xs);
            element(&race.place, "`parts`", (32 * block + t) as isize);
            assert_eq!(reader, 0);
            assert!(same_block || block != last);
        },
    );
}

/// As a kernel's launcher for `LastBlock`.
macro_rules! last_block_launch {
    ($name:ident) => {
        |gpu, grid, parts, arrived, sum| {
            // SAFETY: the caller's promise.
            unsafe { $name::launch(gpu, grid, parts, arrived, sum) }
        }
    };
}

#[test]
fn last_block_with_no_fence() {
    let kernel: LastBlock = last_block_launch!(last_block_without_fences);
    last_block_races("last_block_without_fences", kernel, false);
    never(|gpu| {
        let sum = last_block_sum(gpu, last_block_launch!(last_block))?;
        assert_eq!(sum, (0..128).sum());
        Ok(())
    });
}

#[test]
fn last_block_with_a_fence_on_one_side() {
    let kernel: LastBlock = last_block_launch!(last_block_fence_before);
    last_block_races("last_block_fence_before", kernel, false);
    let kernel: LastBlock = last_block_launch!(last_block_fence_after);
    last_block_races("last_block_fence_after", kernel, false);
}

#[test]
fn last_block_with_fences_of_block_scope() {
    let kernel: LastBlock = last_block_launch!(last_block_block_fences);
    last_block_races("last_block_block_fences", kernel, false);
    let kernel: LastBlock = last_block_launch!(last_block_block_fence_after);
    last_block_races("last_block_block_fence_after", kernel, false);
}

#[test]
fn last_block_without_a_barrier_before_the_count() {
    let kernel: LastBlock = last_block_launch!(last_block_without_barrier);
    last_block_races("last_block_without_barrier", kernel, true);
}

/// Block 0 hands a number to block 1, with a flag that orders nothing.
///
/// # Safety
///
/// `data` and `flag` have one element, `out` one; the grid has two blocks.
#[kernel(block = 1)]
unsafe fn hand_over_relaxed(data: ViewMut<'_, u32>, flag: ViewMut<'_, u32>, out: ViewMut<'_, u32>) {
    if thread::block_idx_x() == 0 {
        data.st(0u32, 42); // @hand_over_relaxed data
        flag.st_relaxed(0u32, 1, Device);
    } else {
        while flag.ld_relaxed(0u32, Device) == 0 {}
        out.st(0u32, data.ld(0u32)); // @hand_over_relaxed read
    }
}

/// Block 0 hands a number to block 1, which does not acquire it.
///
/// # Safety
///
/// As for `hand_over_relaxed`.
#[kernel(block = 1)]
unsafe fn hand_over_relaxed_load(
    data: ViewMut<'_, u32>,
    flag: ViewMut<'_, u32>,
    out: ViewMut<'_, u32>,
) {
    if thread::block_idx_x() == 0 {
        data.st(0u32, 42); // @hand_over_relaxed_load data
        flag.st_release(0u32, 1, Device);
    } else {
        while flag.ld_relaxed(0u32, Device) == 0 {}
        out.st(0u32, data.ld(0u32)); // @hand_over_relaxed_load read
    }
}

/// Block 0 hands a number to block 1, without releasing it.
///
/// # Safety
///
/// As for `hand_over_relaxed`.
#[kernel(block = 1)]
unsafe fn hand_over_relaxed_store(
    data: ViewMut<'_, u32>,
    flag: ViewMut<'_, u32>,
    out: ViewMut<'_, u32>,
) {
    if thread::block_idx_x() == 0 {
        data.st(0u32, 42); // @hand_over_relaxed_store data
        flag.st_relaxed(0u32, 1, Device);
    } else {
        while flag.ld_acquire(0u32, Device) == 0 {}
        out.st(0u32, data.ld(0u32)); // @hand_over_relaxed_store read
    }
}

/// Block 0 hands a number to block 1 with a volatile flag, which orders nothing.
///
/// # Safety
///
/// As for `hand_over_relaxed`.
#[kernel(block = 1)]
unsafe fn hand_over_volatile(
    data: ViewMut<'_, u32>,
    flag: ViewMut<'_, u32>,
    out: ViewMut<'_, u32>,
) {
    if thread::block_idx_x() == 0 {
        data.st(0u32, 42); // @hand_over_volatile data
        flag.st_volatile(0u32, 1);
    } else {
        while flag.ld_volatile(0u32) == 0 {}
        out.st(0u32, data.ld(0u32)); // @hand_over_volatile read
    }
}

/// Block 0 hands a number to block 1.
///
/// # Safety
///
/// As for `hand_over_relaxed`.
#[kernel(block = 1, cooperative)]
unsafe fn hand_over(data: ViewMut<'_, u32>, flag: ViewMut<'_, u32>, out: ViewMut<'_, u32>) {
    if thread::block_idx_x() == 0 {
        data.st(0u32, 42);
        flag.st_release(0u32, 1, Device);
    } else {
        while flag.ld_acquire(0u32, Device) == 0 {}
        out.st(0u32, data.ld(0u32));
    }
}

/// Block 0 hands a number to block 1, which waits with plain loads.
///
/// # Safety
///
/// As for `hand_over_relaxed`.
#[kernel(block = 1)]
unsafe fn hand_over_plain_load(
    data: ViewMut<'_, u32>,
    flag: ViewMut<'_, u32>,
    out: ViewMut<'_, u32>,
) {
    if thread::block_idx_x() == 0 {
        data.st(0u32, 42);
        flag.st_release(0u32, 1, Device); // @hand_over_plain_load raise
    } else {
        while flag.ld(0u32) == 0 {} // @hand_over_plain_load wait
        out.st(0u32, data.ld(0u32));
    }
}

type HandOver = LastBlock;

fn handed_over(gpu: &Emulator, kernel: HandOver) -> Result<u32, EmulatorError> {
    let (mut data, mut flag, mut out) = (gpu.upload(&[0])?, gpu.upload(&[0])?, gpu.alloc(1)?);
    // SAFETY: one element each, two blocks.
    unsafe { kernel(gpu, 2, data.view_mut(), flag.view_mut(), out.view_mut())? };
    Ok(out.to_vec()?[0])
}

fn hand_over_races(name: &'static str, kernel: HandOver) {
    let marks = [format!("{name} data"), format!("{name} read")];
    always(
        name,
        |gpu| handed_over(gpu, kernel).map(|_| ()),
        |fault| {
            let race = HERE.race(fault, [(Store, &marks[0]), (Load, &marks[1])]);
            element(&race.place, "`data`", 0);
            assert_eq!(race.threads.map(xs), [(0, 0), (1, 0)]);
        },
    );
}

#[test]
fn flag_that_orders_nothing() {
    hand_over_races("hand_over_relaxed", last_block_launch!(hand_over_relaxed));
    hand_over_races("hand_over_volatile", last_block_launch!(hand_over_volatile));
    never(|gpu| {
        assert_eq!(handed_over(gpu, last_block_launch!(hand_over))?, 42);
        Ok(())
    });
}

#[test]
fn release_or_acquire_alone() {
    let kernel: LastBlock = last_block_launch!(hand_over_relaxed_load);
    hand_over_races("hand_over_relaxed_load", kernel);
    let kernel: LastBlock = last_block_launch!(hand_over_relaxed_store);
    hand_over_races("hand_over_relaxed_store", kernel);
}

#[test]
fn spinning_on_a_plain_load() {
    always(
        "hand_over_plain_load",
        |gpu| handed_over(gpu, last_block_launch!(hand_over_plain_load)).map(|_| ()),
        |fault| {
            let marks = ["hand_over_plain_load raise", "hand_over_plain_load wait"];
            let race = HERE.race(fault, [(AtomicStore, marks[0]), (Load, marks[1])]);
            element(&race.place, "`flag`", 0);
            assert_eq!(race.threads.map(xs), [(0, 0), (1, 0)]);
        },
    );
}

/// Each block takes a number and writes it, except the first block to arrive, which reads what the
/// others have written, if they have arrived already.
///
/// # Safety
///
/// `turns` has one element, `results` one per block.
#[kernel(block = 1)]
unsafe fn peeks_at_results(turns: ViewMut<'_, u32>, results: ViewMut<'_, u32>) {
    let block = thread::block_idx_x();
    if block == 0 {
        if turns.ld_relaxed(0u32, Device) > 0 {
            results.st(0u32, results.ld(1u32)); // @peek
        } else {
            results.st(0u32, 0);
        }
    } else {
        results.st(block, block); // @result
        turns.atomic_add(0u32, 1);
    }
}

/// As `peeks_at_results`, with the accesses ordered.
///
/// # Safety
///
/// As for `peeks_at_results`.
#[kernel(block = 1)]
unsafe fn peeks_at_released_results(turns: ViewMut<'_, u32>, results: ViewMut<'_, u32>) {
    let block = thread::block_idx_x();
    if block == 0 {
        if turns.ld_acquire(0u32, Device) > 0 {
            results.st(0u32, results.ld(1u32));
        } else {
            results.st(0u32, 0);
        }
    } else {
        results.st(block, block);
        thread::device_fence();
        turns.atomic_add(0u32, 1);
    }
}

/// Only schedules in which block 1 comes first take the wrong path.
#[test]
fn race_on_a_path_that_few_schedules_take() {
    sometimes(
        "peeks_at_results",
        |gpu| {
            let (mut turns, mut results) = (gpu.upload(&[0])?, gpu.upload(&[0; 2])?);
            // SAFETY: one element, and one per block.
            unsafe { peeks_at_results::launch(gpu, 2, turns.view_mut(), results.view_mut()) }
        },
        |fault| {
            let race = HERE.race(fault, [(Store, "result"), (Load, "peek")]);
            element(&race.place, "`results`", 1);
            assert_eq!(race.threads.map(xs), [(1, 0), (0, 0)]);
        },
    );
    never(|gpu| {
        let (mut turns, mut results) = (gpu.upload(&[0])?, gpu.upload(&[0; 2])?);
        let (turns, results_view) = (turns.view_mut(), results.view_mut());
        // SAFETY: one element, and one per block.
        unsafe { peeks_at_released_results::launch(gpu, 2, turns, results_view)? };
        let results = results.to_vec()?;
        assert!(results[0] <= 1 && results[1] == 1);
        Ok(())
    });
}

/// Each block writes a number, and releases and acquires a flag in its own shared memory: that
/// tells another block nothing.
///
/// # Safety
///
/// `data` has one element per block, `out` too; the grid has two blocks.
#[kernel(block = 1)]
unsafe fn flag_in_shared_memory(data: ViewMut<'_, u32>, out: ViewMut<'_, u32>) {
    let flag = shared_array![u32; 1];
    let block = thread::block_idx_x();
    flag.st(0u32, 1);
    let mut told = flag.ld_acquire(0u32, Device);
    if block == 1 {
        told += data.ld(0u32); // @data of block 0
    }
    data.st(block, 7); // @data of a block
    flag.st_release(0u32, 2, Device);
    out.st(block, told);
}

/// Each block writes a number and reads its own.
///
/// # Safety
///
/// As for `flag_in_shared_memory`.
#[kernel(block = 1)]
unsafe fn flag_in_shared_memory_alone(data: ViewMut<'_, u32>, out: ViewMut<'_, u32>) {
    let flag = shared_array![u32; 1];
    let block = thread::block_idx_x();
    flag.st(0u32, 1);
    let told = flag.ld_acquire(0u32, Device);
    data.st(block, 7);
    flag.st_release(0u32, 2, Device);
    out.st(block, told + data.ld(block));
}

/// The blocks have the same shared memory, one after the other: the flag of one is not that of the
/// other.
#[test]
fn flag_in_the_memory_of_an_earlier_block() {
    always(
        "flag_in_shared_memory",
        |gpu| {
            let gpu = &gpu.clone().with_resident_blocks(1);
            let (mut data, mut out) = (gpu.upload(&[0; 2])?, gpu.alloc(2)?);
            // SAFETY: an element for each of two blocks.
            unsafe { flag_in_shared_memory::launch(gpu, 2, data.view_mut(), out.view_mut()) }
        },
        |fault| {
            let accesses = [(Store, "data of a block"), (Load, "data of block 0")];
            let race = HERE.race(fault, accesses);
            element(&race.place, "`data`", 0);
            assert_eq!(race.threads.map(xs), [(0, 0), (1, 0)]);
        },
    );
    never(|gpu| {
        let gpu = &gpu.clone().with_resident_blocks(1);
        let (mut data, mut out) = (gpu.upload(&[0; 2])?, gpu.alloc(2)?);
        // SAFETY: an element for each of two blocks.
        unsafe { flag_in_shared_memory_alone::launch(gpu, 2, data.view_mut(), out.view_mut())? };
        assert_eq!(out.to_vec()?, [8; 2]);
        Ok(())
    });
}

/// Block 0 hands 32 numbers to block 1, whose first thread waits for them; the others don't wait
/// for that one.
///
/// # Safety
///
/// `data` and `out` have 32 elements, `flag` one; the grid has two blocks.
#[kernel(block = 32, cooperative)]
unsafe fn first_thread_waits_alone(
    data: ViewMut<'_, u32>,
    flag: ViewMut<'_, u32>,
    out: ViewMut<'_, u32>,
) {
    let t = thread::thread_idx_x();
    if thread::block_idx_x() == 0 {
        data.st(t, t); // @numbers for a block
        thread::sync_threads();
        if t == 0 {
            flag.st_release(0u32, 1, Device);
        }
    } else {
        if t == 0 {
            while flag.ld_acquire(0u32, Device) == 0 {}
        }
        out.st(t, data.ld(t)); // @numbers of a block
    }
}

/// Block 0 hands 32 numbers to block 1, whose first thread waits for them, and the others for that
/// one.
///
/// # Safety
///
/// As for `first_thread_waits_alone`.
#[kernel(block = 32, cooperative)]
unsafe fn first_thread_waits_for_all(
    data: ViewMut<'_, u32>,
    flag: ViewMut<'_, u32>,
    out: ViewMut<'_, u32>,
) {
    let t = thread::thread_idx_x();
    if thread::block_idx_x() == 0 {
        data.st(t, t);
        thread::sync_threads();
        if t == 0 {
            flag.st_release(0u32, 1, Device);
        }
    } else {
        if t == 0 {
            while flag.ld_acquire(0u32, Device) == 0 {}
        }
        thread::sync_threads();
        out.st(t, data.ld(t));
    }
}

#[test]
fn no_barrier_after_the_wait_of_one_thread() {
    always(
        "first_thread_waits_alone",
        |gpu| {
            let (mut data, mut flag) = (gpu.upload(&[0; 32])?, gpu.upload(&[0])?);
            let mut out = gpu.alloc(32)?;
            let (data, flag) = (data.view_mut(), flag.view_mut());
            // SAFETY: 32 elements and one, two blocks.
            unsafe { first_thread_waits_alone::launch(gpu, 2, data, flag, out.view_mut()) }
        },
        |fault| {
            let accesses = [(Store, "numbers for a block"), (Load, "numbers of a block")];
            let race = HERE.race(fault, accesses);
            let [(block, writer), (other, reader)] = race.threads.map(xs);
            element(&race.place, "`data`", writer as isize);
            assert_eq!((block, other, reader), (0, 1, writer));
            assert!(reader > 0);
        },
    );
    never(|gpu| {
        let (mut data, mut flag) = (gpu.upload(&[0; 32])?, gpu.upload(&[0])?);
        let mut out = gpu.alloc(32)?;
        let (data, flag) = (data.view_mut(), flag.view_mut());
        // SAFETY: 32 elements and one, two blocks.
        unsafe { first_thread_waits_for_all::launch(gpu, 2, data, flag, out.view_mut())? };
        assert_eq!(out.to_vec()?, (0..32).collect::<Vec<u32>>());
        Ok(())
    });
}

/// Writes its number to each pixel, as if there were one block.
///
/// # Safety
///
/// `out` has 16 × 8 elements for 2 × 2 blocks.
#[kernel(block = (8, 4))]
unsafe fn pixels_of_one_block(out: ViewMut<'_, u32>) {
    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    out.st(16 * y + x, 16 * y + x); // @pixel of one block
}

/// Writes its number to each pixel.
///
/// # Safety
///
/// As for `pixels_of_one_block`.
#[kernel(block = (8, 4))]
unsafe fn pixels_of_all_blocks(out: ViewMut<'_, u32>) {
    let (x, y) = thread::index_2d();
    out.st(16 * y + x, 16 * y + x);
}

/// The coordinates of both threads and both blocks are right, in two dimensions.
#[test]
fn forgotten_block_index() {
    always(
        "pixels_of_one_block",
        |gpu| {
            let mut out = gpu.alloc(128)?;
            // SAFETY: 16 × 8 elements.
            unsafe { pixels_of_one_block::launch(gpu, (2, 2), out.view_mut()) }
        },
        |fault| {
            let mark = "pixel of one block";
            let race = HERE.race(fault, [(Store, mark), (Store, mark)]);
            let [a, b] = race.threads;
            assert_eq!((a.thread, a.thread.z, a.block.z), (b.thread, 0, 0));
            assert_ne!(a.block, b.block);
            assert!(a.block.x < 2 && a.block.y < 2 && a.thread.x < 8 && a.thread.y < 4);
            let index = (16 * a.thread.y + a.thread.x) as isize;
            element(&race.place, "`out`", index);
        },
    );
    never(|gpu| {
        let mut out = gpu.alloc(128)?;
        // SAFETY: 16 × 8 elements.
        unsafe { pixels_of_all_blocks::launch(gpu, (2, 2), out.view_mut())? };
        assert_eq!(out.to_vec()?, (0..128).collect::<Vec<u32>>());
        Ok(())
    });
}

/// Each block adds 1 to the sum, some of them by a narrower atomic on its lower half.
///
/// # Safety
///
/// `sum` has one element, and `half` is its lower half, which the blocks use whose number modulo 2
/// is `using_half`.
#[kernel(block = 1)]
unsafe fn sum_by_two_widths(sum: ViewMut<'_, u64>, half: ViewMut<'_, u32>, using_half: u32) {
    if thread::block_idx_x() % 2 == using_half {
        half.atomic_add(0u32, 1); // @narrow add
    } else {
        sum.atomic_add(0u32, 1); // @wide add
    }
}

#[test]
fn atomics_of_two_widths() {
    let run = |gpu: &Emulator, using_half| {
        let mut sum = gpu.upload(&[0u64])?;
        let half: *mut u32 = sum.as_mut_ptr().cast();
        // SAFETY: the emulator's memory, aligned, which outlives the launch; the emulator checks
        // what the threads do with it.
        let half = unsafe { ViewMut::from_raw_parts(half, 1) };
        // SAFETY: one element, and its half.
        unsafe { sum_by_two_widths::launch(gpu, 4, sum.view_mut(), half, using_half)? };
        sum.to_vec()
    };
    always(
        "sum_by_two_widths",
        |gpu| run(gpu, 1).map(drop),
        |fault| {
            let Fault::MixedWidths {
                first,
                second,
                bytes,
                ..
            } = fault
            else {
                panic!("not about widths");
            };
            let narrow_first = bytes.0 == 4;
            let marks = ["wide add", "narrow add"];
            assert_eq!(*bytes, if narrow_first { (4, 8) } else { (8, 4) });
            HERE.event(first, Touch::AtomicUpdate, marks[usize::from(narrow_first)]);
            HERE.event(
                second,
                Touch::AtomicUpdate,
                marks[usize::from(!narrow_first)],
            );
            assert!(fault.to_string().contains("not atomic to each other"));
        },
    );
    never(|gpu| {
        assert_eq!(run(gpu, 2)?, [4]);
        Ok(())
    });
}
