//! Shuffles, votes, matches and reductions.

use cuda_std::prelude::*;
use cuda_std::warp::FULL_MASK;

/// Threads of every kernel here.
pub const THREADS: u32 = 64;
/// Shuffles in [`shuffles`](fn@shuffles).
pub const SHUFFLES: u32 = 12;
/// Values per thread that [`votes`](fn@votes) writes.
pub const VOTES: u32 = 17;
/// Values per thread that [`reductions`](fn@reductions) writes.
pub const REDUCTIONS: u32 = 16;
/// The even lanes.
pub const EVEN: u32 = 0x5555_5555;

/// Writes the results of one shuffle.
#[inline(always)]
fn put(values: ViewMut<'_, u64>, flags: ViewMut<'_, u32>, slot: u32, (value, flag): (u64, bool)) {
    let at = slot * THREADS + thread::thread_idx_x();
    values.st(at, value);
    flags.st(at, u32::from(flag));
}

/// Every mode, at widths 32 and 8, on every type that shuffles can move.
///
/// # Safety
///
/// One block; `input` has [`THREADS`] elements, `values` and `flags` have [`SHUFFLES`] times as
/// many.
#[kernel(block = 64, f64)]
pub unsafe fn shuffles(input: View<'_, u64>, values: ViewMut<'_, u64>, flags: ViewMut<'_, u32>) {
    let wide = input.ld(thread::thread_idx_x());
    let v = wide as u32;
    let widen = |(value, flag): (u32, bool)| (u64::from(value), flag);
    put(
        values,
        flags,
        0,
        widen(warp::warp_shuffle_up(FULL_MASK, v, 3, 32)),
    );
    put(
        values,
        flags,
        1,
        widen(warp::warp_shuffle_up(FULL_MASK, v, 3, 8)),
    );
    put(
        values,
        flags,
        2,
        widen(warp::warp_shuffle_down(FULL_MASK, v, 5, 32)),
    );
    put(
        values,
        flags,
        3,
        widen(warp::warp_shuffle_down(FULL_MASK, v, 5, 8)),
    );
    put(
        values,
        flags,
        4,
        widen(warp::warp_shuffle_xor(FULL_MASK, v, 9, 32)),
    );
    put(
        values,
        flags,
        5,
        widen(warp::warp_shuffle_xor(FULL_MASK, v, 6, 8)),
    );
    put(
        values,
        flags,
        6,
        widen(warp::warp_shuffle_idx(FULL_MASK, v, 11, 32)),
    );
    put(
        values,
        flags,
        7,
        widen(warp::warp_shuffle_idx(FULL_MASK, v, 2, 8)),
    );
    let (value, flag) = warp::warp_shuffle_xor(FULL_MASK, v.cast_signed(), 1, 32);
    let (float, float_flag) = warp::warp_shuffle_down(FULL_MASK, f32::from_bits(v), 1, 32);
    put(
        values,
        flags,
        8,
        (
            u64::from(value.cast_unsigned()) << 32 | u64::from(float.to_bits()),
            flag == float_flag,
        ),
    );
    put(
        values,
        flags,
        9,
        warp::warp_shuffle_up(FULL_MASK, wide, 1, 32),
    );
    let (value, flag) = warp::warp_shuffle_down(FULL_MASK, wide.cast_signed(), 1, 16);
    put(values, flags, 10, (value.cast_unsigned(), flag));
    let (value, flag) = warp::warp_shuffle_xor(FULL_MASK, f64::from_bits(wide), 16, 32);
    put(values, flags, 11, (value.to_bits(), flag));
}

/// Votes and matches over all lanes, and over the even lanes in a branch; lane numbers and masks.
///
/// # Safety
///
/// One block; `input` has [`THREADS`] elements, `out` has [`VOTES`] times as many.
#[kernel(block = 64)]
pub unsafe fn votes(input: View<'_, u32>, out: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    let v = input.ld(t);
    let odd_value = v % 2 == 1;
    let wide = u64::from(v) << 32 | 7;
    out.st(t, u32::from(warp::warp_vote_all(FULL_MASK, odd_value)));
    out.st(
        THREADS + t,
        u32::from(warp::warp_vote_all(FULL_MASK, v < 1000)),
    );
    out.st(
        2 * THREADS + t,
        u32::from(warp::warp_vote_any(FULL_MASK, odd_value)),
    );
    out.st(
        3 * THREADS + t,
        u32::from(warp::warp_vote_any(FULL_MASK, v >= 1000)),
    );
    out.st(
        4 * THREADS + t,
        warp::warp_vote_ballot(FULL_MASK, odd_value),
    );
    out.st(5 * THREADS + t, warp::warp_match_any_32(FULL_MASK, v));
    out.st(6 * THREADS + t, warp::warp_match_any_64(FULL_MASK, wide));
    // All lanes of the second warp have one value.
    let same = if t < 32 { v } else { 5 };
    let (mask, all) = warp::warp_match_all_32(FULL_MASK, same);
    out.st(7 * THREADS + t, mask ^ u32::from(all));
    let (mask, all) = warp::warp_match_all_64(FULL_MASK, u64::from(same) << 32);
    out.st(8 * THREADS + t, mask ^ u32::from(all));
    out.st(9 * THREADS + t, warp::lane_id());
    out.st(10 * THREADS + t, warp::lanemask_lt());
    out.st(11 * THREADS + t, warp::lanemask_le());
    out.st(12 * THREADS + t, warp::lanemask_gt());
    out.st(13 * THREADS + t, warp::lanemask_ge());
    // A hint alone, but this lane is in it for certain.
    out.st(14 * THREADS + t, warp::activemask() >> warp::lane_id() & 1);
    let mut ballot = 0;
    let mut any = 0;
    if t.is_multiple_of(2) {
        ballot = warp::warp_vote_ballot(EVEN, odd_value);
        any = warp::warp_match_any_32(EVEN, v);
    }
    out.st(15 * THREADS + t, ballot);
    out.st(16 * THREADS + t, any);
}

/// Reductions over all lanes, and over the even lanes in a branch.
///
/// # Safety
///
/// One block; `input` has [`THREADS`] elements, `out` has [`REDUCTIONS`] times as many.
#[kernel(block = 64)]
pub unsafe fn reductions(input: View<'_, u32>, out: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    let v = input.ld(t);
    reduce(FULL_MASK, v, out, t);
    if t.is_multiple_of(2) {
        reduce(EVEN, v, out, 8 * THREADS + t);
    }
}

/// The eight reductions over `mask`.
#[inline(always)]
fn reduce(mask: u32, v: u32, out: ViewMut<'_, u32>, at: u32) {
    out.st(at, warp::warp_reduce_add(mask, v));
    out.st(at + THREADS, warp::warp_reduce_min(mask, v));
    out.st(at + 2 * THREADS, warp::warp_reduce_max(mask, v));
    out.st(
        at + 3 * THREADS,
        warp::warp_reduce_min_i32(mask, v.cast_signed()).cast_unsigned(),
    );
    out.st(
        at + 4 * THREADS,
        warp::warp_reduce_max_i32(mask, v.cast_signed()).cast_unsigned(),
    );
    out.st(at + 5 * THREADS, warp::warp_reduce_and(mask, v));
    out.st(at + 6 * THREADS, warp::warp_reduce_or(mask, v));
    out.st(at + 7 * THREADS, warp::warp_reduce_xor(mask, v));
}

/// Lanes exchange values through shared memory, with a barrier of their warp alone.
///
/// # Safety
///
/// One block; `input` and `out` have [`THREADS`] elements.
#[kernel(block = 64)]
pub unsafe fn warp_barrier(input: View<'_, u32>, out: ViewMut<'_, u32>) {
    let cells = shared_array![u32; THREADS as usize];
    let t = thread::thread_idx_x();
    cells.st(t, input.ld(t));
    warp::sync_warp(FULL_MASK);
    out.st(t, cells.ld(t ^ 31));
}
