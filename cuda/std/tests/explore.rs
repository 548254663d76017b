//! Every schedule of small kernels, within bounds: what a broken kernel gets wrong is found, and
//! the same choices show it again; its repaired twin is right under all of them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use cuda_std::emulator::{
    Bounds, Choices, Emulator, EmulatorError, ExploreError, Explored, Schedule,
};
use cuda_std::prelude::*;

/// Explores `run`, whose result must be `right`.
fn explore<T: PartialEq + std::fmt::Debug>(
    bounds: Bounds,
    run: impl Fn(&Emulator) -> Result<T, EmulatorError>,
    right: impl Fn(&T) -> bool,
) -> Result<Explored, ExploreError<String>> {
    let gpu = Emulator::new(0).with_resident_blocks(4);
    let checked = |gpu: &Emulator| match run(gpu) {
        Ok(result) if right(&result) => Ok(()),
        Ok(result) => Err(format!("wrong: {result:?}")),
        Err(error) => Err(error.to_string()),
    };
    let explored = gpu.explore(bounds, checked);
    println!("{explored:?}");
    if let Err(ExploreError::Failed { choices, error, .. }) = &explored {
        // The text alone says how to repeat it, on a device of any other schedule and seed.
        let text = choices.to_string();
        let again: Choices = text.parse().expect("the choices");
        assert_eq!(again, *choices);
        let gpu = gpu.clone().with_schedule(Schedule::InOrder);
        assert_eq!(gpu.repeat(&again, checked), Err(error.clone()), "{text}");
    }
    explored
}

/// The run fails within these bounds, and not with one preemption less.
#[track_caller]
fn fails<T: PartialEq + std::fmt::Debug>(
    bounds: Bounds,
    run: impl Fn(&Emulator) -> Result<T, EmulatorError>,
    right: impl Fn(&T) -> bool,
) -> String {
    if let Some(preemptions) = bounds.preemptions.checked_sub(1) {
        let mut fewer = bounds;
        fewer.preemptions = preemptions;
        assert!(explore(fewer, &run, &right).expect("right").is_complete);
    }
    let start = Instant::now();
    match explore(bounds, run, right) {
        Err(ExploreError::Failed {
            error, schedule, ..
        }) => {
            // benches/evidence/emulator.py reads it.
            let seconds = start.elapsed().as_secs_f64();
            println!("first report: schedule {schedule}, {seconds:.6} s: {error}");
            error
        }
        other => panic!("not found: {other:?}"),
    }
}

/// The run is right within these bounds, which have that number of schedules.
#[track_caller]
fn passes<T: PartialEq + std::fmt::Debug>(
    bounds: Bounds,
    schedules: u64,
    run: impl Fn(&Emulator) -> Result<T, EmulatorError>,
    right: impl Fn(&T) -> bool,
) {
    let explored = explore(bounds, run, right).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        (explored.schedules, explored.is_complete),
        (schedules, true)
    );
}

/// Each of two threads adds 1, atomically or not.
///
/// # Safety
///
/// `count` has one element.
#[kernel(block = 2)]
unsafe fn add(count: ViewMut<'_, u32>, is_atomic: u32) {
    if is_atomic != 0 {
        count.atomic_add(0u32, 1);
    } else {
        let before = count.ld_relaxed(0u32, Device);
        count.st_relaxed(0u32, before + 1, Device);
    }
}

fn run_add(gpu: &Emulator, is_atomic: u32) -> Result<u32, EmulatorError> {
    let mut count = gpu.upload(&[0])?;
    // SAFETY: one element.
    unsafe { add::launch(gpu, 1, count.view_mut(), is_atomic)? };
    Ok(count.to_vec()?[0])
}

#[test]
fn a_lost_update() {
    let right = |&count: &u32| count == 2;
    let strong = |preemptions| Bounds::preemptions(preemptions).stale_loads(0);
    let error = fails(strong(1), |gpu| run_add(gpu, 0), right);
    assert_eq!(error, "wrong: 1");
    // Either thread is first, and not preempted; or preempted before its update; or the other one is
    // then preempted as well.
    passes(strong(4), 6, |gpu| run_add(gpu, 1), right);
}

/// A stack of three nodes, by their indices from 1 on; 0 is its end. Thread 0 takes a node and
/// keeps it. Thread 1 takes two and puts the first one back.
///
/// # Safety
///
/// `head` has one element, the first node and, in the upper half, the number of changes so far,
/// which is 0; `next` has four elements, `taken` two zeros.
#[kernel(block = 2)]
unsafe fn stack(
    head: ViewMut<'_, u64>,
    next: ViewMut<'_, u32>,
    taken: ViewMut<'_, u32>,
    counts_changes: u32,
) {
    let step = u64::from(counts_changes) << 32;
    let take = || loop {
        let old = head.ld_acquire(0u32, Device);
        let node = old as u32;
        if node == 0 {
            break 0;
        }
        let rest = next.ld_relaxed(node, Device);
        thread::device_fence();
        let new = u64::from(rest) | (old & !0xffff_ffff).wrapping_add(step);
        if head.atomic_cas(0u32, old, new) == old {
            break node;
        }
    };
    let put = |node: u32| loop {
        let old = head.ld_relaxed(0u32, Device);
        next.st_relaxed(node, old as u32, Device);
        thread::device_fence();
        let new = u64::from(node) | (old & !0xffff_ffff).wrapping_add(step);
        if head.atomic_cas(0u32, old, new) == old {
            break;
        }
    };
    let t = thread::thread_idx_x();
    if t == 0 {
        taken.st(0u32, take());
    } else {
        let first = take();
        taken.st(1u32, take());
        if first != 0 {
            put(first);
        }
    }
}

/// The nodes taken, and those that are left.
fn run_stack(gpu: &Emulator, counts_changes: u32) -> Result<Vec<u32>, EmulatorError> {
    let (mut head, mut next) = (gpu.upload(&[1u64])?, gpu.upload(&[0u32, 2, 3, 0])?);
    let mut taken = gpu.upload(&[0; 2])?;
    let views = (head.view_mut(), next.view_mut(), taken.view_mut());
    // SAFETY: as the kernel asks.
    unsafe { stack::launch(gpu, 1, views.0, views.1, views.2, counts_changes)? };
    let mut nodes = taken.to_vec()?;
    let next = next.to_vec()?;
    let mut node = head.to_vec()?[0] as u32;
    while node != 0 && nodes.len() < 6 {
        nodes.push(node);
        node = next[node as usize];
    }
    Ok(nodes)
}

/// Thread 0 reads the first node and the second. Before it swaps, thread 1 takes both and puts the
/// first one back: the swap succeeds, and the second node is there twice.
#[test]
fn a_stack_with_the_aba_error() {
    let right = |nodes: &Vec<u32>| {
        let mut sorted = nodes.clone();
        sorted.sort_unstable();
        sorted == [1, 2, 3]
    };
    let bounds = Bounds::preemptions(1).stale_loads(0);
    let error = fails(bounds, |gpu| run_stack(gpu, 0), right);
    assert!(error.starts_with("wrong: "), "{error}");
    let bounds = Bounds::preemptions(3);
    passes(bounds, 597, |gpu| run_stack(gpu, 1), right);
}

/// Block 0 hands a number to block 1, which takes it if it is there.
///
/// # Safety
///
/// `data`, `flag` and `out` have one element; the flag is 0, and the grid has two blocks.
#[kernel(block = 1)]
unsafe fn message(
    data: ViewMut<'_, u32>,
    flag: ViewMut<'_, u32>,
    out: ViewMut<'_, u32>,
    is_ordered: u32,
) {
    if thread::block_idx_x() == 0 {
        data.st_relaxed(0u32, 42, Device);
        if is_ordered != 0 {
            flag.st_release(0u32, 1, Device);
        } else {
            flag.st_relaxed(0u32, 1, Device);
        }
    } else {
        let load = || {
            if is_ordered != 0 {
                flag.ld_acquire(0u32, Device)
            } else {
                flag.ld_relaxed(0u32, Device)
            }
        };
        while load() == 0 {}
        out.st(0u32, data.ld_relaxed(0u32, Device));
    }
}

fn run_message(gpu: &Emulator, is_ordered: u32) -> Result<u32, EmulatorError> {
    let (mut data, mut flag) = (gpu.upload(&[7])?, gpu.upload(&[0])?);
    let mut out = gpu.alloc(1)?;
    let (data, flag) = (data.view_mut(), flag.view_mut());
    // SAFETY: as the kernel asks.
    unsafe { message::launch(gpu, 2, data, flag, out.view_mut(), is_ordered)? };
    Ok(out.to_vec()?[0])
}

#[test]
fn relaxed_message_passing() {
    let right = |&out: &u32| out == 42;
    // It takes a stale load, and no preemption.
    let error = fails(Bounds::preemptions(0), |gpu| run_message(gpu, 0), right);
    assert_eq!(error, "wrong: 7");
    let strong = Bounds::preemptions(2).stale_loads(0);
    let explored = explore(strong, |gpu| run_message(gpu, 0), right);
    assert!(explored.expect("right").is_complete);
    let bounds = Bounds::preemptions(2).stale_loads(2);
    passes(bounds, 69, |gpu| run_message(gpu, 1), right);
}

/// A barrier of all blocks that each block counts itself into.
///
/// # Safety
///
/// `arrived` has one element, 0.
#[kernel(block = 1)]
unsafe fn grid_barrier(arrived: ViewMut<'_, u32>) {
    arrived.atomic_add(0u32, 1);
    while arrived.ld_relaxed(0u32, Device) < thread::grid_dim_x() {}
}

/// The same, launched so that all blocks are in flight.
///
/// # Safety
///
/// As for `grid_barrier`.
#[kernel(block = 1, cooperative)]
unsafe fn cooperative_grid_barrier(arrived: ViewMut<'_, u32>) {
    arrived.atomic_add(0u32, 1);
    while arrived.ld_relaxed(0u32, Device) < thread::grid_dim_x() {}
}

/// The blocks would fit, but nothing promises that they run at the same time.
#[test]
fn a_home_made_grid_barrier() {
    let run = |gpu: &Emulator, cooperative| {
        let mut arrived = gpu.upload(&[0])?;
        // SAFETY: one element, which is 0.
        unsafe {
            if cooperative {
                cooperative_grid_barrier::launch(gpu, 2, arrived.view_mut())?;
            } else {
                grid_barrier::launch(gpu, 2, arrived.view_mut())?;
            }
        }
        Ok(arrived.to_vec()?[0])
    };
    let right = |&arrived: &u32| arrived == 2;
    let error = fails(Bounds::preemptions(0), |gpu| run(gpu, false), right);
    assert!(error.contains("`grid_barrier`: deadlock: "), "{error}");
    assert!(error.contains("1 blocks have not started"), "{error}");
    passes(Bounds::preemptions(2), 70, |gpu| run(gpu, true), right);
}

/// What is not the emulator's choice is noticed, and so is the limit on runs.
#[test]
fn explorations_that_end_early() {
    let mut calls = 0;
    let explored = Emulator::new(0).explore(Bounds::preemptions(1), |gpu| {
        calls += 1;
        run_add(gpu, u32::from(calls == 2)).map(drop)
    });
    assert!(
        matches!(explored, Err(ExploreError::NotRepeatable { .. })),
        "{explored:?}"
    );

    let limited = Bounds::preemptions(2).runs(3);
    let explored = Emulator::new(0).explore(limited, |gpu| run_add(gpu, 1).map(drop));
    assert!(!explored.expect("no failure").is_complete);

    // A panic leaves no trace in later runs.
    let explored = catch_unwind(AssertUnwindSafe(|| {
        Emulator::new(0).explore(Bounds::preemptions(1), |gpu| {
            assert_eq!(run_add(gpu, 0)?, 2);
            Ok::<(), EmulatorError>(())
        })
    }));
    assert!(explored.is_err());

    for text in ["3", "3:", "a:1", "3:1 3:1", "4:1 3:1"] {
        let error = text.parse::<Choices>().unwrap_err();
        assert!(error.to_string().contains("such as `3:1`"), "{error}");
    }
}
