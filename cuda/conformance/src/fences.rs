//! One thread hands data to another: fences, releases and acquires, and sleeping while waiting.

use cuda_std::prelude::*;

/// Words that are handed over.
pub const WORDS: u32 = 32;
/// Ways to hand over.
pub const WAYS: u32 = 5;

/// The block that comes first writes `data`, then raises `flag`; the other waits for the flag and
/// copies `data` to `out`. The data is kept before the flag by, depending on `way`: 0 a device
/// fence, 1 a system fence, 2 release and acquire at device scope, 3 at system scope, 4 a device
/// fence around volatile accesses.
///
/// # Safety
///
/// Two blocks; `data` and `out` have [`WORDS`] elements; `state` has two, which are 0.
#[kernel(block = 32)]
pub unsafe fn hand_over(
    data: ViewMut<'_, u32>,
    out: ViewMut<'_, u32>,
    state: ViewMut<'_, u32>,
    way: u32,
) {
    let first_come = shared_array![u32; 1];
    let t = thread::thread_idx_x();
    if t == 0 {
        first_come.st(0, state.atomic_add(0, 1));
    }
    thread::sync_threads();
    if first_come.ld(0) == 0 {
        data.st(t, 7 * t + way);
        // The data of all lanes comes before the flag that one of them raises.
        warp::sync_warp(warp::FULL_MASK);
        if t == 0 {
            raise(state, way);
        }
    } else {
        if t == 0 {
            while !raised(state, way) {
                thread::nanosleep(100);
            }
        }
        warp::sync_warp(warp::FULL_MASK);
        out.st(t, data.ld(t));
    }
}

#[inline(always)]
fn raise(state: ViewMut<'_, u32>, way: u32) {
    match way {
        0 => {
            thread::device_fence();
            state.st_relaxed(1, 1, Device);
        }
        1 => {
            thread::system_fence();
            state.st_relaxed(1, 1, System);
        }
        2 => state.st_release(1, 1, Device),
        3 => state.st_release(1, 1, System),
        _ => {
            thread::device_fence();
            state.st_volatile(1, 1);
        }
    }
}

#[inline(always)]
fn raised(state: ViewMut<'_, u32>, way: u32) -> bool {
    match way {
        0 => {
            let raised = state.ld_relaxed(1, Device) != 0;
            thread::device_fence();
            raised
        }
        1 => {
            let raised = state.ld_relaxed(1, System) != 0;
            thread::system_fence();
            raised
        }
        2 => state.ld_acquire(1, Device) != 0,
        3 => state.ld_acquire(1, System) != 0,
        _ => {
            let raised = state.ld_volatile(1) != 0;
            thread::device_fence();
            raised
        }
    }
}

/// [`hand_over`](fn@hand_over) between two warps of one block: by a block fence, then by release
/// and acquire at block scope on 64-bit words. In global memory, since `compute-sanitizer`'s
/// racecheck, which watches shared memory, knows only barriers.
///
/// # Safety
///
/// One block; `data` and `out` have twice [`WORDS`] elements; `fenced` and `released` have one,
/// which is 0.
#[kernel(block = 64)]
pub unsafe fn hand_over_in_block(
    data: ViewMut<'_, u32>,
    out: ViewMut<'_, u32>,
    fenced: ViewMut<'_, u32>,
    released: ViewMut<'_, u64>,
) {
    let lane = warp::lane_id();
    if thread::thread_idx_x() < 32 {
        data.st(lane, 3 * lane);
        data.st(WORDS + lane, 5 * lane);
        warp::sync_warp(warp::FULL_MASK);
        if lane == 0 {
            thread::block_fence();
            fenced.st_relaxed(0, 1, Block);
            released.st_release(0, 1 << 40, Block);
        }
    } else {
        if lane == 0 {
            while fenced.ld_relaxed(0, Block) == 0 {}
            thread::block_fence();
            while released.ld_acquire(0, Block) == 0 {}
        }
        warp::sync_warp(warp::FULL_MASK);
        out.st(lane, data.ld(lane));
        out.st(WORDS + lane, data.ld(WORDS + lane));
    }
}
