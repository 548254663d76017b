//! Warp operations with wrong masks, or that some lanes do not reach.

use cuda_std::emulator::Touch::Store;
use cuda_std::emulator::{Emulator, EmulatorError, Fault, Waiting};
use cuda_std::prelude::*;
use cuda_std::warp::FULL_MASK;

use crate::support::{File, always, element, never, sometimes, xs};

const HERE: File = File("warps.rs", include_str!("warps.rs"));

/// Sums `n` elements of a warp; lanes past the end leave early.
///
/// # Safety
///
/// `x` has `n` elements, at most 32; `out` has one.
#[kernel(block = 32)]
unsafe fn sum_after_early_return(x: View<'_, u32>, out: ViewMut<'_, u32>, n: u32) {
    let lane = warp::lane_id();
    if lane >= n {
        return;
    }
    let sum = warp::warp_reduce_add(FULL_MASK, x.ld(lane)); // @sum of those left
    if lane == 0 {
        out.st(0u32, sum);
    }
}

/// Sums `n` elements of a warp, in which all lanes take part.
///
/// # Safety
///
/// As for `sum_after_early_return`.
#[kernel(block = 32)]
unsafe fn sum_of_all_lanes(x: View<'_, u32>, out: ViewMut<'_, u32>, n: u32) {
    let lane = warp::lane_id();
    let value = if lane < n { x.ld(lane) } else { 0 };
    let sum = warp::warp_reduce_add(FULL_MASK, value);
    if lane == 0 {
        out.st(0u32, sum);
    }
}

/// What a kernel of this module writes for 32 elements that count up from 1, of which it is told
/// 20.
fn first_20(gpu: &Emulator, kernel: OfTwenty) -> Result<Vec<u32>, EmulatorError> {
    let (x, mut out) = (gpu.upload(&(1..=32).collect::<Vec<u32>>())?, gpu.alloc(1)?);
    // SAFETY: 32 elements and one.
    unsafe { kernel(gpu, 1, x.view(), out.view_mut(), 20)? };
    out.to_vec()
}

type OfTwenty =
    unsafe fn(&Emulator, u32, View<'_, u32>, ViewMut<'_, u32>, u32) -> Result<(), EmulatorError>;

#[test]
fn mask_with_exited_lanes() {
    always(
        "sum_after_early_return",
        |gpu| {
            first_20(gpu, |gpu, grid, x, out, n| {
                // SAFETY: the caller's promise.
                unsafe { sum_after_early_return::launch(gpu, grid, x, out, n) }
            })
            .map(|_| ())
        },
        |fault| {
            let Fault::ExitedLane {
                waiting,
                mask,
                exited,
            } = fault
            else {
                panic!("no exited lane");
            };
            HERE.waiting(waiting, "warp_reduce_add", "sum of those left");
            assert!(xs(waiting.thread).1 < 20);
            assert_eq!(*mask, FULL_MASK);
            assert!(*exited != 0 && exited.trailing_zeros() >= 20);
        },
    );
    never(|gpu| {
        let sum = first_20(gpu, |gpu, grid, x, out, n| {
            // SAFETY: the caller's promise.
            unsafe { sum_of_all_lanes::launch(gpu, grid, x, out, n) }
        })?;
        assert_eq!(sum, [210]);
        Ok(())
    });
}

/// Sums each warp's elements in blocks of one warp and a half.
///
/// # Safety
///
/// `x` has 48 elements, `out` two.
#[kernel(block = 48)]
unsafe fn sums_of_48(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    let sum = warp::warp_reduce_add(FULL_MASK, x.ld(t)); // @half a warp
    if warp::lane_id() == 0 {
        out.st(t / 32, sum);
    }
}

/// Sums each warp's elements, with the mask of the warp's lanes.
///
/// # Safety
///
/// As for `sums_of_48`.
#[kernel(block = 48)]
unsafe fn sums_of_48_with_masks(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    let mask = if t < 32 { FULL_MASK } else { 0xffff };
    let sum = warp::warp_reduce_add(mask, x.ld(t));
    if warp::lane_id() == 0 {
        out.st(t / 32, sum);
    }
}

#[test]
fn mask_with_absent_lanes() {
    always(
        "sums_of_48",
        |gpu| {
            let (x, mut out) = (gpu.upload(&[1; 48])?, gpu.alloc(2)?);
            // SAFETY: 48 elements and two.
            unsafe { sums_of_48::launch(gpu, 1, x.view(), out.view_mut()) }
        },
        |fault| {
            let Fault::AbsentLane {
                waiting,
                mask,
                absent,
            } = fault
            else {
                panic!("no absent lane");
            };
            HERE.waiting(waiting, "warp_reduce_add", "half a warp");
            assert!(xs(waiting.thread).1 >= 32);
            assert_eq!((*mask, *absent), (FULL_MASK, 0xffff_0000));
        },
    );
    never(|gpu| {
        let (x, mut out) = (gpu.upload(&[1; 48])?, gpu.alloc(2)?);
        // SAFETY: 48 elements and two.
        unsafe { sums_of_48_with_masks::launch(gpu, 1, x.view(), out.view_mut())? };
        assert_eq!(out.to_vec()?, [32, 16]);
        Ok(())
    });
}

/// Sums `n` elements of a warp; all lanes call, but the mask names those with elements.
///
/// # Safety
///
/// `x` has 32 elements, `out` has one.
#[kernel(block = 32)]
unsafe fn sum_called_by_all(x: View<'_, u32>, out: ViewMut<'_, u32>, n: u32) {
    let lane = warp::lane_id();
    let mask = (1 << n) - 1;
    let sum = warp::warp_reduce_add(mask, x.ld(lane)); // @called by all
    if lane == 0 {
        out.st(0u32, sum);
    }
}

/// Sums `n` elements of a warp; the lanes that the mask names call.
///
/// # Safety
///
/// As for `sum_called_by_all`.
#[kernel(block = 32)]
unsafe fn sum_called_by_some(x: View<'_, u32>, out: ViewMut<'_, u32>, n: u32) {
    let lane = warp::lane_id();
    let mask = (1 << n) - 1;
    if lane < n {
        let sum = warp::warp_reduce_add(mask, x.ld(lane));
        if lane == 0 {
            out.st(0u32, sum);
        }
    }
}

#[test]
fn caller_not_in_its_mask() {
    always(
        "sum_called_by_all",
        |gpu| {
            first_20(gpu, |gpu, grid, x, out, n| {
                // SAFETY: the caller's promise.
                unsafe { sum_called_by_all::launch(gpu, grid, x, out, n) }
            })
            .map(|_| ())
        },
        |fault| {
            let Fault::NotInMask { waiting, mask } = fault else {
                panic!("in its mask");
            };
            HERE.waiting(waiting, "warp_reduce_add", "called by all");
            assert!(xs(waiting.thread).1 >= 20);
            assert_eq!(*mask, 0xf_ffff);
        },
    );
    never(|gpu| {
        let sum = first_20(gpu, |gpu, grid, x, out, n| {
            // SAFETY: the caller's promise.
            unsafe { sum_called_by_some::launch(gpu, grid, x, out, n) }
        })?;
        assert_eq!(sum, [210]);
        Ok(())
    });
}

/// Sums `n` elements by shuffles down, as if all 32 lanes took part.
///
/// # Safety
///
/// `x` has `n` elements, at most 32; `out` has one.
#[kernel(block = 32)]
unsafe fn sum_by_shuffles_of_some(x: View<'_, u32>, out: ViewMut<'_, u32>, n: u32) {
    let lane = warp::lane_id();
    let mask = (1 << n) - 1;
    if lane < n {
        let mut sum = x.ld(lane);
        for step in [16, 8, 4, 2, 1] {
            sum += warp::warp_shuffle_down(mask, sum, step, 32).0; // @down from outside
        }
        if lane == 0 {
            out.st(0u32, sum);
        }
    }
}

/// Sums `n` elements by shuffles down, with zeros after them.
///
/// # Safety
///
/// As for `sum_by_shuffles_of_some`.
#[kernel(block = 32)]
unsafe fn sum_by_shuffles_of_all(x: View<'_, u32>, out: ViewMut<'_, u32>, n: u32) {
    let lane = warp::lane_id();
    let mut sum = if lane < n { x.ld(lane) } else { 0 };
    for step in [16, 8, 4, 2, 1] {
        sum += warp::warp_shuffle_down(FULL_MASK, sum, step, 32).0;
    }
    if lane == 0 {
        out.st(0u32, sum);
    }
}

/// Differences to the lane before, in the upper half of a warp.
///
/// # Safety
///
/// `x` has 32 elements.
#[kernel(block = 32)]
unsafe fn differences_in_the_upper_half(x: ViewMut<'_, u32>) {
    let lane = warp::lane_id();
    if lane >= 16 {
        let value = x.ld(lane);
        let (before, _) = warp::warp_shuffle_up(0xffff_0000, value, 1, 32); // @up from outside
        x.st(lane, value - before);
    }
}

/// Exchanges the halves of a warp, where the lower half asks alone.
///
/// # Safety
///
/// `x` has 32 elements.
#[kernel(block = 32)]
unsafe fn exchange_asked_by_half(x: ViewMut<'_, u32>) {
    let lane = warp::lane_id();
    if lane < 16 {
        let (other, _) = warp::warp_shuffle_xor(0xffff, x.ld(lane), 16, 32); // @xor from outside
        x.st(lane, other);
    }
}

/// Broadcasts lane 0's element to the upper half of a warp.
///
/// # Safety
///
/// `x` has 32 elements.
#[kernel(block = 32)]
unsafe fn broadcast_to_the_upper_half(x: ViewMut<'_, u32>) {
    let lane = warp::lane_id();
    if lane >= 16 {
        let value = x.ld(lane);
        let (first, _) = warp::warp_shuffle_idx(0xffff_0000, value, 0, 32); // @idx from outside
        x.st(lane, first);
    }
}

/// The three shuffles in segments of 16 lanes: they stay in the half that asks.
///
/// # Safety
///
/// `x` has 32 elements.
#[kernel(block = 32)]
unsafe fn shuffles_in_segments(x: ViewMut<'_, u32>) {
    let lane = warp::lane_id();
    if lane >= 16 {
        let value = x.ld(lane);
        let (before, valid) = warp::warp_shuffle_up(0xffff_0000, value, 1, 16);
        let (other, _) = warp::warp_shuffle_xor(0xffff_0000, value, 8, 16);
        let (first, _) = warp::warp_shuffle_idx(0xffff_0000, value, 0, 16);
        x.st(
            lane,
            10_000 * u32::from(valid) + 100 * before + other + first,
        );
    }
}

#[track_caller]
fn inactive(fault: &Fault, (what, mark): (&str, &str), wanted_mask: u32, pair: (u32, u32)) {
    let Fault::InactiveLane {
        waiting,
        mask,
        lane,
    } = fault
    else {
        panic!("all lanes take part");
    };
    HERE.waiting(waiting, what, mark);
    assert_eq!(*mask, wanted_mask);
    assert_eq!((xs(waiting.thread).1, *lane), pair);
}

#[test]
fn shuffle_down_from_outside_the_mask() {
    always(
        "sum_by_shuffles_of_some",
        |gpu| {
            first_20(gpu, |gpu, grid, x, out, n| {
                // SAFETY: the caller's promise.
                unsafe { sum_by_shuffles_of_some::launch(gpu, grid, x, out, n) }
            })
            .map(|_| ())
        },
        |fault| {
            let call = ("warp_shuffle_down", "down from outside");
            inactive(fault, call, 0xf_ffff, (4, 20));
        },
    );
    never(|gpu| {
        let sum = first_20(gpu, |gpu, grid, x, out, n| {
            // SAFETY: the caller's promise.
            unsafe { sum_by_shuffles_of_all::launch(gpu, grid, x, out, n) }
        })?;
        assert_eq!(sum, [210]);
        Ok(())
    });
}

#[test]
fn other_shuffles_from_outside_the_mask() {
    let x: Vec<u32> = (0..32).collect();
    always(
        "differences_in_the_upper_half",
        |gpu| {
            let mut x = gpu.upload(&x)?;
            // SAFETY: 32 elements.
            unsafe { differences_in_the_upper_half::launch(gpu, 1, x.view_mut()) }
        },
        |fault| {
            let call = ("warp_shuffle_up", "up from outside");
            inactive(fault, call, 0xffff_0000, (16, 15));
        },
    );
    always(
        "exchange_asked_by_half",
        |gpu| {
            let mut x = gpu.upload(&x)?;
            // SAFETY: 32 elements.
            unsafe { exchange_asked_by_half::launch(gpu, 1, x.view_mut()) }
        },
        |fault| {
            let call = ("warp_shuffle_xor", "xor from outside");
            inactive(fault, call, 0xffff, (0, 16));
        },
    );
    always(
        "broadcast_to_the_upper_half",
        |gpu| {
            let mut x = gpu.upload(&x)?;
            // SAFETY: 32 elements.
            unsafe { broadcast_to_the_upper_half::launch(gpu, 1, x.view_mut()) }
        },
        |fault| {
            let call = ("warp_shuffle_idx", "idx from outside");
            inactive(fault, call, 0xffff_0000, (16, 0));
        },
    );
    never(|gpu| {
        let mut x = gpu.upload(&x)?;
        // SAFETY: 32 elements.
        unsafe { shuffles_in_segments::launch(gpu, 1, x.view_mut())? };
        let expected = |lane: u32| match lane {
            0..16 => lane,
            16 => 1600 + 24 + 16,
            _ => 10_000 + 100 * (lane - 1) + (lane ^ 8) + 16,
        };
        assert!(
            (0..32)
                .zip(x.to_vec()?)
                .all(|(lane, v)| v == expected(lane))
        );
        Ok(())
    });
}

/// Checks two lanes of block 0 that wait for each other; returns their numbers and masks, the one
/// at `a` first.
#[track_caller]
fn mismatch(fault: &Fault, a: (&str, &str), b: (&str, &str)) -> [(u32, u32); 2] {
    let Fault::WarpMismatch { first, second } = fault else {
        panic!("no mismatch");
    };
    let lane = |of: &(Waiting, u32)| (xs(of.0.thread).1, of.1);
    let (first, second) = if first.0.what == a.0 {
        (first, second)
    } else {
        (second, first)
    };
    HERE.waiting(&first.0, a.0, a.1);
    HERE.waiting(&second.0, b.0, b.1);
    [lane(first), lane(second)]
}

/// Whether a lane's element equals that of both its neighbours, asked with a mask of the three.
///
/// # Safety
///
/// `x` and `out` have 32 elements.
#[kernel(block = 32)]
unsafe fn votes_of_neighbours(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let lane = warp::lane_id();
    let mask = ((0b111u64 << lane) >> 1) as u32;
    let equal = warp::warp_match_any_32(mask, x.ld(lane)); // @mask of neighbours
    out.st(lane, (equal == mask).into());
}

/// Whether a lane's element equals that of both its neighbours, asked with the mask of all.
///
/// # Safety
///
/// As for `votes_of_neighbours`.
#[kernel(block = 32)]
unsafe fn votes_of_all(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let lane = warp::lane_id();
    let mask = ((0b111u64 << lane) >> 1) as u32;
    let equal = warp::warp_match_any_32(FULL_MASK, x.ld(lane));
    out.st(lane, (equal & mask == mask).into());
}

#[test]
fn lanes_with_different_masks() {
    always(
        "votes_of_neighbours",
        |gpu| {
            let (x, mut out) = (gpu.upload(&[7; 32])?, gpu.alloc(32)?);
            // SAFETY: 32 elements each.
            unsafe { votes_of_neighbours::launch(gpu, 1, x.view(), out.view_mut()) }
        },
        |fault| {
            let call = ("warp_match_any_32", "mask of neighbours");
            let [(a, mask_a), (b, mask_b)] = mismatch(fault, call, call);
            assert_eq!(a.abs_diff(b), 1);
            let mask = |lane| ((0b111u64 << lane) >> 1) as u32;
            assert_eq!((mask_a, mask_b), (mask(a), mask(b)));
        },
    );
    never(|gpu| {
        let (x, mut out) = (gpu.upload(&[7; 32])?, gpu.alloc(32)?);
        // SAFETY: 32 elements each.
        unsafe { votes_of_all::launch(gpu, 1, x.view(), out.view_mut())? };
        assert_eq!(out.to_vec()?, [1; 32]);
        Ok(())
    });
}

/// The lower half of a warp sums, the upper half looks for the largest: both with all lanes in the
/// mask.
///
/// # Safety
///
/// `x` has 32 elements, `out` two.
#[kernel(block = 32)]
unsafe fn sum_or_largest_of_all(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let lane = warp::lane_id();
    let result = if lane < 16 {
        warp::warp_reduce_add(FULL_MASK, x.ld(lane)) // @sum of a half
    } else {
        warp::warp_reduce_max(FULL_MASK, x.ld(lane)) // @largest of a half
    };
    if lane.is_multiple_of(16) {
        out.st(lane / 16, result);
    }
}

/// The lower half of a warp sums, the upper half looks for the largest.
///
/// # Safety
///
/// As for `sum_or_largest_of_all`.
#[kernel(block = 32)]
unsafe fn sum_or_largest(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let lane = warp::lane_id();
    let result = if lane < 16 {
        warp::warp_reduce_add(0xffff, x.ld(lane))
    } else {
        warp::warp_reduce_max(0xffff_0000, x.ld(lane))
    };
    if lane.is_multiple_of(16) {
        out.st(lane / 16, result);
    }
}

#[test]
fn lanes_in_different_operations() {
    let x: Vec<u32> = (0..32).collect();
    always(
        "sum_or_largest_of_all",
        |gpu| {
            let (x, mut out) = (gpu.upload(&x)?, gpu.alloc(2)?);
            // SAFETY: 32 elements and two.
            unsafe { sum_or_largest_of_all::launch(gpu, 1, x.view(), out.view_mut()) }
        },
        |fault| {
            let sum = ("warp_reduce_add", "sum of a half");
            let largest = ("warp_reduce_max", "largest of a half");
            let [(low, _), (high, mask)] = mismatch(fault, sum, largest);
            assert!(low < 16 && high >= 16 && mask == FULL_MASK);
        },
    );
    never(|gpu| {
        let (x, mut out) = (gpu.upload(&x)?, gpu.alloc(2)?);
        // SAFETY: 32 elements and two.
        unsafe { sum_or_largest::launch(gpu, 1, x.view(), out.view_mut())? };
        assert_eq!(out.to_vec()?, [120, 31]);
        Ok(())
    });
}

/// Counts odd elements, asking all lanes from a branch that some of them take; the others return.
///
/// # Safety
///
/// `x` has 32 elements, `out` one.
#[kernel(block = 32)]
unsafe fn ballot_in_branch(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let lane = warp::lane_id();
    if x.ld(lane) % 2 == 1 {
        let odd = warp::warp_vote_ballot(FULL_MASK, true); // @ballot in a branch
        if lane == odd.trailing_zeros() {
            out.st(0u32, odd.count_ones());
        }
    }
}

/// Counts odd elements, asking all lanes from a branch that some of them take; the others wait for
/// the block.
///
/// # Safety
///
/// As for `ballot_in_branch`.
#[kernel(block = 32)]
unsafe fn ballot_before_barrier(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let lane = warp::lane_id();
    if x.ld(lane) % 2 == 1 {
        let odd = warp::warp_vote_ballot(FULL_MASK, true); // @ballot of some
        if lane == odd.trailing_zeros() {
            out.st(0u32, odd.count_ones());
        }
    }
    thread::sync_threads(); // @barrier of the others
}

/// Counts odd elements, asking all lanes before the branch.
///
/// # Safety
///
/// As for `ballot_in_branch`.
#[kernel(block = 32)]
unsafe fn ballot_before_branch(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let lane = warp::lane_id();
    let is_odd = x.ld(lane) % 2 == 1;
    let odd = warp::warp_vote_ballot(FULL_MASK, is_odd);
    if is_odd && lane == odd.trailing_zeros() {
        out.st(0u32, odd.count_ones());
    }
    thread::sync_threads();
}

#[test]
fn ballot_in_a_branch() {
    let x: Vec<u32> = (0..32).collect();
    always(
        "ballot_in_branch",
        |gpu| {
            let (x, mut out) = (gpu.upload(&x)?, gpu.alloc(1)?);
            // SAFETY: 32 elements and one.
            unsafe { ballot_in_branch::launch(gpu, 1, x.view(), out.view_mut()) }
        },
        |fault| {
            let Fault::ExitedLane {
                waiting, exited, ..
            } = fault
            else {
                panic!("no exited lane");
            };
            HERE.waiting(waiting, "warp_vote_ballot", "ballot in a branch");
            assert_eq!(xs(waiting.thread).1 % 2, 1);
            assert_eq!(exited & 0xaaaa_aaaa, 0);
        },
    );
    always(
        "ballot_before_barrier",
        |gpu| {
            let (x, mut out) = (gpu.upload(&x)?, gpu.alloc(1)?);
            // SAFETY: 32 elements and one.
            unsafe { ballot_before_barrier::launch(gpu, 1, x.view(), out.view_mut()) }
        },
        |fault| {
            let Fault::Deadlock {
                waiting,
                blocked: 32,
                spinning: 0,
                not_started: 0,
            } = fault
            else {
                panic!("not all of the warp waits");
            };
            // The first lane of each place.
            let [even, odd] = &waiting[..] else {
                panic!("two places");
            };
            HERE.waiting(even, "sync_threads", "barrier of the others");
            HERE.waiting(odd, "warp_vote_ballot", "ballot of some");
            assert_eq!((xs(even.thread), xs(odd.thread)), ((0, 0), (0, 1)));
        },
    );
    never(|gpu| {
        let (x, mut out) = (gpu.upload(&x)?, gpu.alloc(1)?);
        // SAFETY: 32 elements and one.
        unsafe { ballot_before_branch::launch(gpu, 1, x.view(), out.view_mut())? };
        assert_eq!(out.to_vec()?, [16]);
        Ok(())
    });
}

/// Counts odd elements; whoever is first among the lanes that are active writes.
///
/// # Safety
///
/// `x` has 32 elements, `out` one.
#[kernel(block = 32)]
unsafe fn count_by_activemask(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let lane = warp::lane_id();
    if x.ld(lane) % 2 == 1 {
        let odd = warp::activemask();
        if lane == odd.trailing_zeros() {
            out.st(0u32, odd.count_ones()); // @first of the active
        }
    }
}

/// Broadcasts the first lane's element to the lanes of a branch that are active.
///
/// # Safety
///
/// `x` has 32 elements.
#[kernel(block = 32)]
unsafe fn broadcast_by_activemask(x: ViewMut<'_, u32>) {
    let lane = warp::lane_id();
    if lane < 16 {
        let value = x.ld(lane);
        let (first, _) = warp::warp_shuffle_idx(warp::activemask(), value, 0, 32); // @active lanes
        x.st(lane, first);
    }
}

/// Broadcasts the first lane's element to the lanes of a branch.
///
/// # Safety
///
/// As for `broadcast_by_activemask`.
#[kernel(block = 32)]
unsafe fn broadcast_by_ballot(x: ViewMut<'_, u32>) {
    let lane = warp::lane_id();
    let mask = warp::warp_vote_ballot(FULL_MASK, lane < 16);
    if lane < 16 {
        let (first, _) = warp::warp_shuffle_idx(mask, x.ld(lane), 0, 32);
        x.st(lane, first);
    }
}

#[test]
fn activemask_taken_for_the_lanes_of_a_branch() {
    let x: Vec<u32> = (1..=32).collect();
    sometimes(
        "count_by_activemask",
        |gpu| {
            let (x, mut out) = (gpu.upload(&x)?, gpu.alloc(1)?);
            // SAFETY: 32 elements and one.
            unsafe { count_by_activemask::launch(gpu, 1, x.view(), out.view_mut()) }
        },
        |fault| {
            let mark = "first of the active";
            let race = HERE.race(fault, [(Store, mark), (Store, mark)]);
            element(&race.place, "`out`", 0);
            assert!(race.threads.iter().all(|&id| xs(id).1.is_multiple_of(2)));
        },
    );
    sometimes(
        "broadcast_by_activemask",
        |gpu| {
            let mut x = gpu.upload(&x)?;
            // SAFETY: 32 elements.
            unsafe { broadcast_by_activemask::launch(gpu, 1, x.view_mut()) }
        },
        |fault| {
            let Fault::InactiveLane {
                waiting,
                mask,
                lane: 0,
            } = fault
            else {
                panic!("lane 0 takes part");
            };
            HERE.waiting(waiting, "warp_shuffle_idx", "active lanes");
            assert_eq!(mask & 0xffff_0001, 0);
        },
    );
    never(|gpu| {
        let mut x = gpu.upload(&x)?;
        // SAFETY: 32 elements.
        unsafe { broadcast_by_ballot::launch(gpu, 1, x.view_mut())? };
        assert_eq!(x.to_vec()?[..16], [1; 16]);
        Ok(())
    });
}
