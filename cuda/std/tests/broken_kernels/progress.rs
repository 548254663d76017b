//! Kernels that never end.

use cuda_std::emulator::{Emulator, EmulatorError, Fault, Waiting};
use cuda_std::prelude::*;

use crate::support::{File, always, element, never, sometimes, xs};

const HERE: File = File("progress.rs", include_str!("progress.rs"));

/// Checks the numbers of a deadlock; returns the threads that wait.
#[track_caller]
pub(crate) fn deadlock(fault: &Fault, counts: (usize, usize, u64)) -> &[Waiting] {
    let Fault::Deadlock {
        waiting,
        blocked,
        spinning,
        not_started,
    } = fault
    else {
        panic!("not a deadlock");
    };
    assert_eq!((*blocked, *spinning, *not_started), counts);
    waiting
}

/// The first thread waits for a flag that another one sets after a barrier, which needs the first.
///
/// # Safety
///
/// `flag` has one element.
#[kernel(block = 32)]
unsafe fn flag_behind_a_barrier(flag: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    if t == 0 {
        while flag.ld_acquire(0u32, Block) == 0 {} // @flag that nobody sets
    }
    thread::sync_threads(); // @barrier before the flag
    if t == 1 {
        flag.st_release(0u32, 1, Block);
    }
}

/// The first thread waits for a flag that another one sets before a barrier.
///
/// # Safety
///
/// As for `flag_behind_a_barrier`.
#[kernel(block = 32)]
unsafe fn flag_before_a_barrier(flag: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    if t == 1 {
        flag.st_release(0u32, 1, Block);
    }
    if t == 0 {
        while flag.ld_acquire(0u32, Block) == 0 {}
    }
    thread::sync_threads();
}

#[test]
fn flag_that_nobody_sets() {
    always(
        "flag_behind_a_barrier",
        |gpu| {
            let mut flag = gpu.upload(&[0])?;
            // SAFETY: one element.
            unsafe { flag_behind_a_barrier::launch(gpu, 1, flag.view_mut()) }
        },
        |fault| {
            let [spins, waits] = deadlock(fault, (31, 1, 0)) else {
                panic!("two places");
            };
            HERE.waiting(spins, "atomic load", "flag that nobody sets");
            HERE.waiting(waits, "sync_threads", "barrier before the flag");
            assert_eq!((xs(spins.thread), xs(waits.thread)), ((0, 0), (0, 1)));
        },
    );
    never(|gpu| {
        let mut flag = gpu.upload(&[0])?;
        // SAFETY: one element.
        unsafe { flag_before_a_barrier::launch(gpu, 1, flag.view_mut())? };
        assert_eq!(flag.to_vec()?, [1]);
        Ok(())
    });
}

/// One thread waits for its own flag, with plain loads that a compiler may even take out of the
/// loop.
///
/// # Safety
///
/// `flag` has one element.
#[kernel(block = 1)]
unsafe fn waits_plainly(flag: View<'_, u32>) {
    while flag.ld(0u32) == 0 {} // @plain flag
}

#[test]
fn plain_flag_that_nobody_sets() {
    let run = |seed| {
        let gpu = Emulator::new(seed);
        let flag = gpu.upload(&[0])?;
        // SAFETY: one element.
        unsafe { waits_plainly::launch(&gpu, 1, flag.view()) }
    };
    // One seed: finding it takes millions of loads.
    let error: EmulatorError = run(0).unwrap_err();
    let [spins] = deadlock(error.fault().expect("a fault"), (0, 1, 0)) else {
        panic!("one place");
    };
    HERE.waiting(spins, "load", "plain flag");
    never(|gpu| {
        let flag = gpu.upload(&[1])?;
        // SAFETY: one element.
        unsafe { waits_plainly::launch(gpu, 1, flag.view()) }
    });
}

/// The blocks wait for each other, as if all of them were resident at once.
///
/// # Safety
///
/// `values` has one element per block, `arrived` one, which is 0.
unsafe fn meet(values: ViewMut<'_, u32>, arrived: ViewMut<'_, u32>) {
    let (t, block) = (thread::thread_idx_x(), thread::block_idx_x());
    if t == 0 {
        values.st(block, block + 1);
        thread::device_fence();
        arrived.atomic_add(0u32, 1);
        while arrived.ld_relaxed(0u32, Device) < thread::grid_dim_x() {} // @grid barrier
        thread::device_fence();
    }
    thread::sync_threads(); // @behind the grid barrier
    if t == 0 {
        let next = values.ld((block + 1) % thread::grid_dim_x());
        arrived.atomic_add(0u32, next);
    }
}

/// A home-made barrier of an ordinary launch's blocks, which need not be resident at once.
///
/// # Safety
///
/// As for `meet`.
#[kernel(block = 32)]
unsafe fn grid_barrier(values: ViewMut<'_, u32>, arrived: ViewMut<'_, u32>) {
    // SAFETY: the caller's promise.
    unsafe { meet(values, arrived) };
}

/// The same of a cooperative launch's blocks, which are.
///
/// # Safety
///
/// As for `meet`.
#[kernel(block = 32, cooperative)]
unsafe fn cooperative_grid_barrier(values: ViewMut<'_, u32>, arrived: ViewMut<'_, u32>) {
    // SAFETY: the caller's promise.
    unsafe { meet(values, arrived) };
}

#[test]
fn waiting_for_a_block_that_can_not_be_resident() {
    always(
        "grid_barrier",
        |gpu| {
            let gpu = &gpu.clone().with_resident_blocks(2);
            let (mut values, mut arrived) = (gpu.alloc(4)?, gpu.upload(&[0])?);
            // SAFETY: an element for each of 4 blocks, and one.
            unsafe { grid_barrier::launch(gpu, 4, values.view_mut(), arrived.view_mut()) }
        },
        |fault| {
            let [spins, waits] = deadlock(fault, (62, 2, 2)) else {
                panic!("two places");
            };
            HERE.waiting(spins, "atomic load", "grid barrier");
            HERE.waiting(waits, "sync_threads", "behind the grid barrier");
            assert_eq!(xs(spins.thread).1, 0);
        },
    );
    // The same kernel, with room for all blocks.
    never(|gpu| {
        let gpu = &gpu.clone().with_resident_blocks(4);
        let (mut values, mut arrived) = (gpu.alloc(4)?, gpu.upload(&[0])?);
        // SAFETY: an element for each of 4 blocks, and one.
        unsafe { grid_barrier::launch(gpu, 4, values.view_mut(), arrived.view_mut())? };
        assert_eq!(arrived.to_vec()?, [4 + 10]);
        Ok(())
    });
}

/// One block per multiprocessor: all are resident, as on a GPU.
#[test]
fn waiting_for_all_blocks_that_are_resident() {
    let run = |gpu: &Emulator| {
        let blocks = gpu.multiprocessors();
        let (mut values, mut arrived) = (gpu.alloc(blocks as usize)?, gpu.upload(&[0])?);
        // SAFETY: an element for each block, and one.
        unsafe {
            cooperative_grid_barrier::launch(gpu, blocks, values.view_mut(), arrived.view_mut())?;
        }
        assert_eq!(arrived.to_vec()?, [blocks + blocks * (blocks + 1) / 2]);
        Ok::<_, EmulatorError>(())
    };
    never(run);
    for multiprocessors in [1, 3, 60] {
        run(&Emulator::new(1).with_multiprocessors(multiprocessors)).unwrap();
    }
}

/// A home-made barrier that would fit is reported for some seeds all the same: an ordinary launch's
/// blocks may run one after the other.
#[test]
fn a_home_made_grid_barrier_that_fits() {
    sometimes(
        "grid_barrier",
        |gpu| {
            let (mut values, mut arrived) = (gpu.alloc(2)?, gpu.upload(&[0])?);
            // SAFETY: an element for each of 2 blocks, and one.
            unsafe { grid_barrier::launch(gpu, 2, values.view_mut(), arrived.view_mut()) }
        },
        |fault| {
            let [spins, waits] = deadlock(fault, (31, 1, 1)) else {
                panic!("two places");
            };
            HERE.waiting(spins, "atomic load", "grid barrier");
            HERE.waiting(waits, "sync_threads", "behind the grid barrier");
            assert!(
                fault.to_string().contains("only a cooperative launch"),
                "{fault}"
            );
        },
    );
}

/// Prefix sum of one element per block, in which a block waits for the one before it.
///
/// # Safety
///
/// `x` and `sums` have one element per block; those of `sums` are 0, those of `x` are not.
#[kernel(block = 1)]
unsafe fn look_back_by_index(x: View<'_, u32>, sums: ViewMut<'_, u32>) {
    let block = thread::block_idx_x();
    let mut before = 0;
    if block > 0 {
        while before == 0 {
            before = sums.ld_acquire(block - 1, Device); // @block before
        }
    }
    sums.st_release(block, before + x.ld(block), Device);
}

/// Prefix sum of one element per block, in which a block takes a ticket and waits for the one
/// before.
///
/// # Safety
///
/// As for `look_back_by_index`, and `tickets` has one element, which is 0.
#[kernel(block = 1)]
unsafe fn look_back_by_ticket(x: View<'_, u32>, sums: ViewMut<'_, u32>, tickets: ViewMut<'_, u32>) {
    let ticket = tickets.atomic_add(0u32, 1);
    let mut before = 0;
    if ticket > 0 {
        while before == 0 {
            before = sums.ld_acquire(ticket - 1, Device);
        }
    }
    sums.st_release(ticket, before + x.ld(ticket), Device);
}

/// Blocks start in no particular order: the one before may not have started, and can't.
#[test]
fn look_back_by_block_index() {
    sometimes(
        "look_back_by_index",
        |gpu| {
            let gpu = &gpu.clone().with_resident_blocks(2);
            let (x, mut sums) = (gpu.upload(&[1; 8])?, gpu.upload(&[0; 8])?);
            // SAFETY: an element for each of 8 blocks.
            unsafe { look_back_by_index::launch(gpu, 8, x.view(), sums.view_mut()) }
        },
        |fault| {
            let Fault::Deadlock { not_started, .. } = fault else {
                panic!("not a deadlock");
            };
            let [spins] = deadlock(fault, (0, 2, *not_started)) else {
                panic!("one place");
            };
            assert!(*not_started > 0);
            HERE.waiting(spins, "atomic load", "block before");
        },
    );
    never(|gpu| {
        let gpu = &gpu.clone().with_resident_blocks(2);
        let (x, mut sums) = (gpu.upload(&[1; 8])?, gpu.upload(&[0; 8])?);
        let mut tickets = gpu.upload(&[0])?;
        let (view, tickets) = (sums.view_mut(), tickets.view_mut());
        // SAFETY: an element for each of 8 blocks.
        unsafe { look_back_by_ticket::launch(gpu, 8, x.view(), view, tickets)? };
        assert_eq!(sums.to_vec()?, (1..=8).collect::<Vec<u32>>());
        Ok(())
    });
}

/// Counts to `last`, but steps over it.
///
/// # Safety
///
/// `count` has one element.
#[kernel(block = 1)]
unsafe fn counts_past_the_end(count: ViewMut<'_, u32>, last: u32) {
    while count.atomic_add(0u32, 2) != last {} // @step over
}

/// Counts to `last`.
///
/// # Safety
///
/// As for `counts_past_the_end`.
#[kernel(block = 1)]
unsafe fn counts_to_the_end(count: ViewMut<'_, u32>, last: u32) {
    while count.atomic_add(0u32, 2) < last {}
}

/// With any number of resident blocks, also a single one, beside which no other can run.
#[test]
fn more_steps_than_allowed() {
    for blocks in [1, 2] {
        always(
            "counts_past_the_end",
            |gpu| {
                let gpu = &gpu.clone().with_step_limit(5000);
                let mut count = gpu.upload(&[0])?;
                // SAFETY: one element.
                unsafe { counts_past_the_end::launch(gpu, blocks, count.view_mut(), 99) }
            },
            |fault| {
                let Fault::StepLimit { steps, running } = fault else {
                    panic!("not the step limit");
                };
                assert_eq!((*steps, running.len()), (5000, 1));
                HERE.waiting(&running[0], "atomic update", "step over");
                element(&running[0].seen.as_ref().unwrap().place, "`count`", 0);
            },
        );
        never(|gpu| {
            let gpu = &gpu.clone().with_step_limit(5000);
            let mut count = gpu.upload(&[0])?;
            // SAFETY: one element.
            unsafe { counts_to_the_end::launch(gpu, blocks, count.view_mut(), 99)? };
            assert_eq!(count.to_vec()?, [102 + 2 * (blocks - 1)]);
            Ok(())
        });
    }
}

/// Counts with plain accesses for ever.
///
/// # Safety
///
/// `count` has one element.
#[kernel(block = 1)]
unsafe fn counts_plainly(count: ViewMut<'_, u32>) {
    while count.ld(0u32) < 2_000_000_000 {
        count.st(0u32, (count.ld(0u32) + 1) % 1000);
    }
}

#[test]
fn endless_loop_of_plain_accesses() {
    let gpu = Emulator::new(1).with_step_limit(20);
    let mut count = gpu.upload(&[0]).unwrap();
    // SAFETY: one element.
    let error = unsafe { counts_plainly::launch(&gpu, 1, count.view_mut()) }.unwrap_err();
    assert!(matches!(
        error.fault(),
        Some(Fault::StepLimit { steps: 20, .. })
    ));
}

/// Follows links to the one that points at itself. If there is none, it goes round for ever.
///
/// # Safety
///
/// `links` has at least one element, each an index into it; `end` has one.
#[kernel(block = 1)]
unsafe fn follow_links(links: View<'_, u32>, end: ViewMut<'_, u32>) {
    let mut at = 0;
    while links.ldg(at) != at {
        at = links.ldg(at);
    }
    end.st(0u32, at);
}

/// With read-only loads, of more places than the emulator remembers.
#[test]
fn links_that_go_round() {
    let follow = |links: &[u32]| {
        let gpu = Emulator::new(3);
        let links = gpu.upload(links)?;
        let mut end = gpu.alloc(1)?;
        // SAFETY: every link is an index.
        unsafe { follow_links::launch(&gpu, 1, links.view(), end.view_mut())? };
        Ok::<_, EmulatorError>(end.to_vec()?[0])
    };
    let mut links: Vec<u32> = (1..=100_000).collect();
    *links.last_mut().unwrap() = 99_999;
    assert_eq!(follow(&links), Ok(99_999));
    *links.last_mut().unwrap() = 7;
    let error = follow(&links).unwrap_err();
    let [spins] = deadlock(error.fault().unwrap(), (0, 1, 0)) else {
        panic!("one thread spins");
    };
    assert_eq!(spins.what, "load");
}

/// Looks for a number among those of each thread, until any thread has found it.
///
/// # Safety
///
/// `x` has `each` elements per thread, `found` one.
#[kernel(block = 32)]
unsafe fn search_until_found(x: View<'_, u32>, found: ViewMut<'_, u32>, each: u32, wanted: u32) {
    let first = each * thread::index_1d();
    for i in first..first + each {
        if found.ld_relaxed(0u32, Device) != u32::MAX {
            return;
        }
        if x.ld(i) == wanted {
            found.atomic_min(0u32, i);
        }
    }
}

/// The largest of all elements.
///
/// # Safety
///
/// `x` has `each` elements per thread, `largest` one.
#[kernel(block = 32)]
unsafe fn largest_of_all(x: View<'_, u32>, largest: ViewMut<'_, u32>, each: u32) {
    let first = each * thread::index_1d();
    for i in first..first + each {
        largest.atomic_max(0u32, x.ld(i));
    }
}

/// No false alarm: almost all updates change nothing.
#[test]
fn long_search_for_the_largest() {
    let gpu = Emulator::new(0);
    let x: Vec<u32> = (0..64 * 3000).rev().collect();
    let (x, mut largest) = (gpu.upload(&x).unwrap(), gpu.upload(&[0]).unwrap());
    // SAFETY: 3000 elements for each thread of two blocks, and one.
    unsafe { largest_of_all::launch(&gpu, 2, x.view(), largest.view_mut(), 3000) }.unwrap();
    assert_eq!(largest.to_vec().unwrap(), [64 * 3000 - 1]);
}

/// No false alarm: the threads look at the flag again and again, and nothing changes for long, but
/// they get on.
#[test]
fn long_search_with_a_flag() {
    let x: Vec<u32> = (0..64 * 1500).collect();
    for wanted in [u32::MAX, 40 * 1500 + 1400] {
        let gpu = Emulator::new(wanted.into());
        let (x, mut found) = (gpu.upload(&x).unwrap(), gpu.upload(&[u32::MAX]).unwrap());
        let (x, view) = (x.view(), found.view_mut());
        // SAFETY: 1500 elements for each thread of two blocks, and one.
        unsafe { search_until_found::launch(&gpu, 2, x, view, 1500, wanted) }.unwrap();
        assert_eq!(found.to_vec().unwrap(), [wanted]);
    }
}
