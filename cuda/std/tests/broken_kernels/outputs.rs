//! Mistakes that break no rule of the memory model: nothing is reported, but under some schedules
//! the output is wrong.

use cuda_std::prelude::*;
use cuda_std::warp::FULL_MASK;

use crate::support::{never, sometimes_wrong};

/// Counts the threads with an atomic load and an atomic store, between which others count too.
///
/// # Safety
///
/// `count` has one element.
#[kernel(block = 64)]
unsafe fn load_and_store_count(count: ViewMut<'_, u32>) {
    let before = count.ld_relaxed(0u32, Device);
    count.st_relaxed(0u32, before + 1, Device);
}

/// Counts the threads.
///
/// # Safety
///
/// As for `load_and_store_count`.
#[kernel(block = 64)]
unsafe fn add_count(count: ViewMut<'_, u32>) {
    count.atomic_add(0u32, 1);
}

#[test]
fn lost_updates() {
    sometimes_wrong(
        "load_and_store_count",
        |gpu| {
            let mut count = gpu.upload(&[0])?;
            // SAFETY: one element.
            unsafe { load_and_store_count::launch(gpu, 2, count.view_mut())? };
            count.to_vec()
        },
        &[128],
    );
    never(|gpu| {
        let mut count = gpu.upload(&[0])?;
        // SAFETY: one element.
        unsafe { add_count::launch(gpu, 2, count.view_mut())? };
        assert_eq!(count.to_vec()?, [128]);
        Ok(())
    });
}

/// Sum of 64 elements with volatile accesses, as if a warp ran in lockstep.
///
/// # Safety
///
/// `x` has 64 elements, `out` one.
#[kernel(block = 32)]
unsafe fn volatile_sum(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let sums = shared_array![u32; 64];
    let t = thread::thread_idx_x();
    sums.st(t, x.ld(t));
    sums.st(t + 32, x.ld(t + 32));
    thread::sync_threads();
    for half in [32, 16, 8, 4, 2, 1] {
        let sum = sums.ld_volatile(t) + sums.ld_volatile(t + half);
        sums.st_volatile(t, sum);
    }
    if t == 0 {
        out.st(0u32, sums.ld_volatile(0u32));
    }
}

/// Sum of 64 elements with volatile accesses, and with barriers of the warp.
///
/// # Safety
///
/// As for `volatile_sum`.
#[kernel(block = 32)]
unsafe fn volatile_sum_with_sync_warp(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let sums = shared_array![u32; 64];
    let t = thread::thread_idx_x();
    sums.st(t, x.ld(t));
    sums.st(t + 32, x.ld(t + 32));
    thread::sync_threads();
    for half in [32, 16, 8, 4, 2, 1] {
        let sum = sums.ld_volatile(t) + sums.ld_volatile(t + half);
        warp::sync_warp(FULL_MASK);
        sums.st_volatile(t, sum);
        warp::sync_warp(FULL_MASK);
    }
    if t == 0 {
        out.st(0u32, sums.ld_volatile(0u32));
    }
}

#[test]
fn volatile_accesses_in_lockstep() {
    let x: Vec<u32> = (0..64).collect();
    sometimes_wrong(
        "volatile_sum",
        |gpu| {
            let (x, mut out) = (gpu.upload(&x)?, gpu.alloc(1)?);
            // SAFETY: 64 elements and one.
            unsafe { volatile_sum::launch(gpu, 1, x.view(), out.view_mut())? };
            out.to_vec()
        },
        &[63 * 32],
    );
    never(|gpu| {
        let (x, mut out) = (gpu.upload(&x)?, gpu.alloc(1)?);
        // SAFETY: 64 elements and one.
        unsafe { volatile_sum_with_sync_warp::launch(gpu, 1, x.view(), out.view_mut())? };
        assert_eq!(out.to_vec()?, [63 * 32]);
        Ok(())
    });
}

/// Takes an element from a pool if there is one left, which another thread may take first.
///
/// # Safety
///
/// `left` has one element, `taken` 64.
#[kernel(block = 64)]
unsafe fn looks_then_takes(left: ViewMut<'_, i32>, taken: ViewMut<'_, i32>) {
    let t = thread::thread_idx_x();
    let mut mine = 0;
    if left.ld_relaxed(0u32, Device) > 0 {
        mine = left.atomic_add(0u32, -1);
    }
    taken.st(t, mine);
}

/// Takes an element from a pool if there is one left.
///
/// # Safety
///
/// As for `looks_then_takes`.
#[kernel(block = 64)]
unsafe fn takes_if_left(left: ViewMut<'_, i32>, taken: ViewMut<'_, i32>) {
    let t = thread::thread_idx_x();
    let mut there = left.ld_relaxed(0u32, Device);
    while there > 0 {
        let found = left.atomic_cas(0u32, there, there - 1);
        if found == there {
            break;
        }
        there = found;
    }
    taken.st(t, there.max(0));
}

#[test]
fn check_then_act() {
    sometimes_wrong(
        "looks_then_takes",
        |gpu| {
            let (mut left, mut taken) = (gpu.upload(&[10])?, gpu.alloc(64)?);
            // SAFETY: one element and 64.
            unsafe { looks_then_takes::launch(gpu, 1, left.view_mut(), taken.view_mut())? };
            left.to_vec()
        },
        &[0],
    );
    never(|gpu| {
        let (mut left, mut taken) = (gpu.upload(&[10])?, gpu.alloc(64)?);
        // SAFETY: one element and 64.
        unsafe { takes_if_left::launch(gpu, 1, left.view_mut(), taken.view_mut())? };
        assert_eq!(left.to_vec()?, [0]);
        let mut taken = taken.to_vec()?;
        taken.sort_unstable();
        assert_eq!(taken[54..], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        Ok(())
    });
}
