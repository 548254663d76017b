//! Reads of memory that nothing has written.

use cuda_std::emulator::{Event, Fault, Place, Touch};
use cuda_std::prelude::*;

use crate::support::{File, always, element, never, xs};

const HERE: File = File("initialisation.rs", include_str!("initialisation.rs"));

#[track_caller]
fn uninitialised<'a>(fault: &'a Fault, touch: Touch, mark: &str) -> (&'a Event, &'a Place) {
    let Fault::Uninitialised { event, place } = fault else {
        panic!("not uninitialised");
    };
    HERE.event(event, touch, mark);
    (event, place)
}

/// Sums 64 elements in shared memory, of which only `n` are written.
///
/// # Safety
///
/// `x` has `n` elements, at most 64; `out` has one.
#[kernel(block = 64)]
unsafe fn sum_of_some(x: View<'_, u32>, out: ViewMut<'_, u32>, n: u32) {
    let tile = shared_array![u32; 64]; // @partly written tile
    let t = thread::thread_idx_x();
    if t < n {
        tile.st(t, x.ld(t));
    }
    thread::sync_threads();
    if t == 0 {
        let mut sum = 0;
        for i in 0..64u32 {
            sum += tile.ld(i); // @past what was written
        }
        out.st(0u32, sum);
    }
}

/// Sums `n` elements in shared memory, with zeros after them.
///
/// # Safety
///
/// As for `sum_of_some`.
#[kernel(block = 64)]
unsafe fn sum_of_some_and_zeros(x: View<'_, u32>, out: ViewMut<'_, u32>, n: u32) {
    let tile = shared_array![u32; 64];
    let t = thread::thread_idx_x();
    tile.st(t, if t < n { x.ld(t) } else { 0 });
    thread::sync_threads();
    if t == 0 {
        let mut sum = 0;
        for i in 0..64u32 {
            sum += tile.ld(i);
        }
        out.st(0u32, sum);
    }
}

#[test]
fn partly_written_shared_array() {
    always(
        "sum_of_some",
        |gpu| {
            let (x, mut out) = (gpu.upload(&[1u32; 40])?, gpu.alloc(1)?);
            // SAFETY: 40 elements and one.
            unsafe { sum_of_some::launch(gpu, 1, x.view(), out.view_mut(), 40) }
        },
        |fault| {
            let (event, place) = uninitialised(fault, Touch::Load, "past what was written");
            HERE.array(&place.view, "shared_array![u32; 64]", "partly written tile");
            assert_eq!((xs(event.thread), place.index), ((0, 0), 40));
        },
    );
    never(|gpu| {
        let (x, mut out) = (gpu.upload(&[1u32; 40])?, gpu.alloc(1)?);
        // SAFETY: 40 elements and one.
        unsafe { sum_of_some_and_zeros::launch(gpu, 1, x.view(), out.view_mut(), 40)? };
        assert_eq!(out.to_vec()?, [40]);
        Ok(())
    });
}

/// Reverses 64 elements through shared memory, without a barrier between writing and reading.
///
/// # Safety
///
/// `x` has 64 elements.
#[kernel(block = 64)]
unsafe fn reverse_at_once(x: ViewMut<'_, u32>) {
    let tile = shared_array![u32; 64];
    let t = thread::thread_idx_x();
    tile.st(t, x.ld(t));
    x.st(t, tile.ld(63 - t)); // @before anyone wrote
}

/// Reverses 64 elements through shared memory.
///
/// # Safety
///
/// As for `reverse_at_once`.
#[kernel(block = 64)]
unsafe fn reverse(x: ViewMut<'_, u32>) {
    let tile = shared_array![u32; 64];
    let t = thread::thread_idx_x();
    tile.st(t, x.ld(t));
    thread::sync_threads();
    x.st(t, tile.ld(63 - t));
}

/// The first thread reads what its partner has not written yet.
#[test]
fn first_use_without_a_barrier() {
    let x: Vec<u32> = (0..64).collect();
    always(
        "reverse_at_once",
        |gpu| {
            let mut x = gpu.upload(&x)?;
            // SAFETY: 64 elements.
            unsafe { reverse_at_once::launch(gpu, 1, x.view_mut()) }
        },
        |fault| {
            let (event, place) = uninitialised(fault, Touch::Load, "before anyone wrote");
            assert_eq!(place.index, 63 - xs(event.thread).1 as isize);
        },
    );
    never(|gpu| {
        let mut x = gpu.upload(&x)?;
        // SAFETY: 64 elements.
        unsafe { reverse::launch(gpu, 1, x.view_mut())? };
        assert_eq!(x.to_vec()?, (0..64).rev().collect::<Vec<u32>>());
        Ok(())
    });
}

/// Adds `x` to `sums`.
///
/// # Safety
///
/// `x` and `sums` have an element per thread.
#[kernel(block = 32)]
unsafe fn accumulate(x: View<'_, f32>, sums: ViewMut<'_, f32>) {
    let i = thread::index_1d();
    sums.st(i, sums.ld(i) + x.ld(i)); // @sum that nobody set
}

#[test]
fn accumulator_that_the_host_did_not_clear() {
    always(
        "accumulate",
        |gpu| {
            let (x, mut sums) = (gpu.upload(&[1.5f32; 64])?, gpu.alloc::<f32>(64)?);
            // SAFETY: 64 elements each.
            unsafe { accumulate::launch(gpu, 2, x.view(), sums.view_mut()) }
        },
        |fault| {
            let (event, place) = uninitialised(fault, Touch::Load, "sum that nobody set");
            let (block, t) = xs(event.thread);
            element(place, "`sums`", (32 * block + t) as isize);
        },
    );
    never(|gpu| {
        let (x, mut sums) = (gpu.upload(&[1.5f32; 64])?, gpu.alloc_zeroed::<f32>(64)?);
        // SAFETY: 64 elements each.
        unsafe { accumulate::launch(gpu, 2, x.view(), sums.view_mut())? };
        assert_eq!(sums.to_vec()?, [1.5; 64]);
        Ok(())
    });
}

/// Counts the values of `x`.
///
/// # Safety
///
/// `x` has an element per thread, each less than `bins.len()`.
#[kernel(block = 32)]
unsafe fn histogram(x: View<'_, u32>, bins: ViewMut<'_, u32>) {
    bins.atomic_add(x.ld(thread::index_1d()), 1); // @bin that nobody set
}

#[test]
fn atomic_add_to_bins_that_the_host_did_not_clear() {
    let x: Vec<u32> = (0..64).map(|i| i % 8).collect();
    always(
        "histogram",
        |gpu| {
            let (x, mut bins) = (gpu.upload(&x)?, gpu.alloc::<u32>(8)?);
            // SAFETY: 64 elements less than 8.
            unsafe { histogram::launch(gpu, 2, x.view(), bins.view_mut()) }
        },
        |fault| {
            let (event, place) = uninitialised(fault, Touch::AtomicUpdate, "bin that nobody set");
            element(place, "`bins`", (xs(event.thread).1 % 8) as isize);
        },
    );
    never(|gpu| {
        let (x, mut bins) = (gpu.upload(&x)?, gpu.alloc_zeroed::<u32>(8)?);
        // SAFETY: 64 elements less than 8.
        unsafe { histogram::launch(gpu, 2, x.view(), bins.view_mut())? };
        assert_eq!(bins.to_vec()?, [8; 8]);
        Ok(())
    });
}

/// Counts the values of `x` in shared memory, which is not set to 0 first.
///
/// # Safety
///
/// `x` has an element per thread, each less than 8; `bins` has 8 elements.
#[kernel(block = 64)]
unsafe fn shared_histogram_not_cleared(x: View<'_, u32>, bins: ViewMut<'_, u32>) {
    let counts = shared_array![u32; 8]; // @counts not cleared
    let t = thread::thread_idx_x();
    counts.atomic_add(x.ld(thread::index_1d()), 1); // @shared bin that nobody set
    thread::sync_threads();
    if t < 8 {
        bins.atomic_add(t, counts.ld(t));
    }
}

/// Counts the values of `x` in shared memory.
///
/// # Safety
///
/// As for `shared_histogram_not_cleared`.
#[kernel(block = 64)]
unsafe fn shared_histogram(x: View<'_, u32>, bins: ViewMut<'_, u32>) {
    let counts = shared_array![u32; 8];
    let t = thread::thread_idx_x();
    if t < 8 {
        counts.st(t, 0);
    }
    thread::sync_threads();
    counts.atomic_add(x.ld(thread::index_1d()), 1);
    thread::sync_threads();
    if t < 8 {
        bins.atomic_add(t, counts.ld(t));
    }
}

#[test]
fn atomic_add_to_shared_bins_that_nobody_cleared() {
    let x: Vec<u32> = (0..128).map(|i| i % 8).collect();
    always(
        "shared_histogram_not_cleared",
        |gpu| {
            let (x, mut bins) = (gpu.upload(&x)?, gpu.alloc_zeroed::<u32>(8)?);
            // SAFETY: 128 elements less than 8.
            unsafe { shared_histogram_not_cleared::launch(gpu, 2, x.view(), bins.view_mut()) }
        },
        |fault| {
            let mark = "shared bin that nobody set";
            let (event, place) = uninitialised(fault, Touch::AtomicUpdate, mark);
            HERE.array(&place.view, "shared_array![u32; 8]", "counts not cleared");
            assert_eq!(place.index, (xs(event.thread).1 % 8) as isize);
        },
    );
    never(|gpu| {
        let (x, mut bins) = (gpu.upload(&x)?, gpu.alloc_zeroed::<u32>(8)?);
        // SAFETY: 128 elements less than 8.
        unsafe { shared_histogram::launch(gpu, 2, x.view(), bins.view_mut())? };
        assert_eq!(bins.to_vec()?, [16; 8]);
        Ok(())
    });
}

/// Looks up squares in a table that only the first block fills.
///
/// # Safety
///
/// `out` has 32 elements per block.
#[kernel(block = 32)]
unsafe fn table_of_the_first_block(out: ViewMut<'_, u32>) {
    let table = shared_array![u32; 32]; // @table
    let t = thread::thread_idx_x();
    if thread::block_idx_x() == 0 {
        table.st(t, t * t);
    }
    thread::sync_threads();
    out.st(thread::index_1d(), table.ld(31 - t)); // @table of another block
}

/// Looks up squares in a table that each block fills.
///
/// # Safety
///
/// As for `table_of_the_first_block`.
#[kernel(block = 32)]
unsafe fn table_of_each_block(out: ViewMut<'_, u32>) {
    let table = shared_array![u32; 32];
    let t = thread::thread_idx_x();
    table.st(t, t * t);
    thread::sync_threads();
    out.st(thread::index_1d(), table.ld(31 - t));
}

/// With one resident block, all blocks use the same shared memory in turn, as on a multiprocessor.
#[test]
fn shared_memory_of_an_earlier_block() {
    always(
        "table_of_the_first_block",
        |gpu| {
            let gpu = &gpu.clone().with_resident_blocks(1);
            let mut out = gpu.alloc(128)?;
            // SAFETY: 32 elements for each of 4 blocks.
            unsafe { table_of_the_first_block::launch(gpu, 4, out.view_mut()) }
        },
        |fault| {
            let (event, place) = uninitialised(fault, Touch::Load, "table of another block");
            HERE.array(&place.view, "shared_array![u32; 32]", "table");
            let (block, t) = xs(event.thread);
            assert!(block > 0);
            assert_eq!(place.index, 31 - t as isize);
        },
    );
    never(|gpu| {
        let gpu = &gpu.clone().with_resident_blocks(1);
        let mut out = gpu.alloc(128)?;
        // SAFETY: 32 elements for each of 4 blocks.
        unsafe { table_of_each_block::launch(gpu, 4, out.view_mut())? };
        let square = |i: u32| (31 - i % 32) * (31 - i % 32);
        assert!((0..128).zip(out.to_vec()?).all(|(i, v)| v == square(i)));
        Ok(())
    });
}
