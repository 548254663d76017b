//! Barriers that some threads of a block do not reach.

use cuda_std::emulator::{Fault, ThreadId};
use cuda_std::prelude::*;

use crate::support::{File, always, never, xs};

const HERE: File = File("barriers.rs", include_str!("barriers.rs"));

/// A divergent barrier: `what` at the mark waits in vain for a thread that has ended. Returns the x
/// coordinates of the two.
#[track_caller]
fn waits_for_ended(fault: &Fault, (what, mark): (&str, &str)) -> (u32, u32) {
    let Fault::DivergentBarrier {
        waiting,
        other,
        elsewhere: None,
    } = fault
    else {
        panic!("not a barrier that waits for an ended thread");
    };
    HERE.waiting(waiting, what, mark);
    of_one_block(waiting.thread, *other)
}

#[track_caller]
fn of_one_block(a: ThreadId, b: ThreadId) -> (u32, u32) {
    assert_eq!(a.block, b.block);
    (xs(a).1, xs(b).1)
}

/// A divergent barrier: threads wait at two of them. Returns the x coordinate of one at each, in
/// the order of the arguments.
#[track_caller]
fn waits_for_each_other(fault: &Fault, a: (&str, &str), b: (&str, &str)) -> (u32, u32) {
    let Fault::DivergentBarrier {
        waiting,
        other,
        elsewhere: Some((what, source)),
    } = fault
    else {
        panic!("not two barriers");
    };
    let (first, second) = of_one_block(waiting.thread, *other);
    let is_first = waiting.what == a.0 && waiting.source.expect("a place").line() < source.line();
    let (here, there) = if is_first { (a, b) } else { (b, a) };
    HERE.waiting(waiting, here.0, here.1);
    assert_eq!(*what, there.0);
    HERE.source(source, there.1);
    if is_first {
        (first, second)
    } else {
        (second, first)
    }
}

/// Sums two halves, with a barrier that only one of them reaches.
///
/// # Safety
///
/// `x` has 64 elements.
#[kernel(block = 64)]
unsafe fn barrier_in_branch(x: ViewMut<'_, u32>) {
    let tile = shared_array![u32; 64];
    let t = thread::thread_idx_x();
    tile.st(t, x.ld(t));
    if t < 32 {
        thread::sync_threads(); // @in a branch
        x.st(t, tile.ld(t) + tile.ld(t + 32));
    }
}

/// Sums two halves.
///
/// # Safety
///
/// As for `barrier_in_branch`.
#[kernel(block = 64)]
unsafe fn barrier_before_branch(x: ViewMut<'_, u32>) {
    let tile = shared_array![u32; 64];
    let t = thread::thread_idx_x();
    tile.st(t, x.ld(t));
    thread::sync_threads();
    if t < 32 {
        x.st(t, tile.ld(t) + tile.ld(t + 32));
    }
}

#[test]
fn in_a_branch() {
    always(
        "barrier_in_branch",
        |gpu| {
            let mut x = gpu.upload(&[1; 64])?;
            // SAFETY: 64 elements.
            unsafe { barrier_in_branch::launch(gpu, 1, x.view_mut()) }
        },
        |fault| {
            let (here, ended) = waits_for_ended(fault, ("sync_threads", "in a branch"));
            assert!(here < 32 && ended >= 32);
        },
    );
    never(|gpu| {
        let mut x = gpu.upload(&[1; 64])?;
        // SAFETY: 64 elements.
        unsafe { barrier_before_branch::launch(gpu, 1, x.view_mut())? };
        assert!(
            (0..64)
                .zip(x.to_vec()?)
                .all(|(t, v)| v == 1 + u32::from(t < 32))
        );
        Ok(())
    });
}

/// Reverses `n` elements per block; threads past the end leave early.
///
/// # Safety
///
/// `x` has `n` elements, at most 64.
#[kernel(block = 64)]
unsafe fn early_return(x: ViewMut<'_, u32>, n: u32) {
    let tile = shared_array![u32; 64];
    let t = thread::thread_idx_x();
    if t >= n {
        return;
    }
    tile.st(t, x.ld(t));
    thread::sync_threads(); // @after an early return
    x.st(t, tile.ld(n - 1 - t));
}

/// Reverses `n` elements per block.
///
/// # Safety
///
/// As for `early_return`.
#[kernel(block = 64)]
unsafe fn no_early_return(x: ViewMut<'_, u32>, n: u32) {
    let tile = shared_array![u32; 64];
    let t = thread::thread_idx_x();
    if t < n {
        tile.st(t, x.ld(t));
    }
    thread::sync_threads();
    if t < n {
        x.st(t, tile.ld(n - 1 - t));
    }
}

#[test]
fn after_an_early_return() {
    let x: Vec<u32> = (0..50).collect();
    always(
        "early_return",
        |gpu| {
            let mut x = gpu.upload(&x)?;
            // SAFETY: 50 elements.
            unsafe { early_return::launch(gpu, 1, x.view_mut(), 50) }
        },
        |fault| {
            let (here, ended) = waits_for_ended(fault, ("sync_threads", "after an early return"));
            assert!(here < 50 && ended >= 50);
        },
    );
    never(|gpu| {
        let mut x = gpu.upload(&x)?;
        // SAFETY: 50 elements.
        unsafe { no_early_return::launch(gpu, 1, x.view_mut(), 50)? };
        assert_eq!(x.to_vec()?, (0..50).rev().collect::<Vec<u32>>());
        Ok(())
    });
}

/// Even and odd threads do different work, each with a barrier of its own.
///
/// # Safety
///
/// `x` has 64 elements.
#[kernel(block = 64)]
unsafe fn two_barriers(x: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    if t.is_multiple_of(2) {
        x.st(t, 2 * x.ld(t));
        thread::sync_threads(); // @of the even
    } else {
        x.st(t, 3 * x.ld(t));
        thread::sync_threads(); // @of the odd
    }
}

/// Even and odd threads do different work, with one barrier.
///
/// # Safety
///
/// As for `two_barriers`.
#[kernel(block = 64)]
unsafe fn one_barrier(x: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    if t.is_multiple_of(2) {
        x.st(t, 2 * x.ld(t));
    } else {
        x.st(t, 3 * x.ld(t));
    }
    thread::sync_threads();
}

#[test]
fn one_in_each_branch() {
    always(
        "two_barriers",
        |gpu| {
            let mut x = gpu.upload(&[1; 64])?;
            // SAFETY: 64 elements.
            unsafe { two_barriers::launch(gpu, 1, x.view_mut()) }
        },
        |fault| {
            let even = ("sync_threads", "of the even");
            let odd = ("sync_threads", "of the odd");
            let (a, b) = waits_for_each_other(fault, even, odd);
            assert_eq!((a % 2, b % 2), (0, 1));
        },
    );
    never(|gpu| {
        let mut x = gpu.upload(&[1; 64])?;
        // SAFETY: 64 elements.
        unsafe { one_barrier::launch(gpu, 1, x.view_mut())? };
        assert!((0..64).zip(x.to_vec()?).all(|(t, v)| v == 2 + t % 2));
        Ok(())
    });
}

/// Sums `counts[t]` elements of 1, with a barrier in each round: threads have different numbers of
/// rounds.
///
/// # Safety
///
/// `counts` and `out` have 64 elements.
#[kernel(block = 64)]
unsafe fn own_trip_count(counts: View<'_, u32>, out: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    let mut sum = 0;
    for _ in 0..counts.ld(t) {
        sum += 1;
        thread::sync_threads(); // @own trip count
    }
    out.st(t, sum);
}

/// Sums `counts[t]` elements of 1, with as many rounds as the longest needs.
///
/// # Safety
///
/// As for `own_trip_count`, and no count is larger than `most`.
#[kernel(block = 64)]
unsafe fn common_trip_count(counts: View<'_, u32>, out: ViewMut<'_, u32>, most: u32) {
    let t = thread::thread_idx_x();
    let mut sum = 0;
    for round in 0..most {
        if round < counts.ld(t) {
            sum += 1;
        }
        thread::sync_threads();
    }
    out.st(t, sum);
}

#[test]
fn in_a_loop_with_different_trip_counts() {
    let counts: Vec<u32> = (0..64).map(|t| 2 + t % 2).collect();
    always(
        "own_trip_count",
        |gpu| {
            let (counts, mut out) = (gpu.upload(&counts)?, gpu.alloc(64)?);
            // SAFETY: 64 elements each.
            unsafe { own_trip_count::launch(gpu, 1, counts.view(), out.view_mut()) }
        },
        |fault| {
            let (here, ended) = waits_for_ended(fault, ("sync_threads", "own trip count"));
            assert_eq!((here % 2, ended % 2), (1, 0));
        },
    );
    never(|gpu| {
        let (counts_there, mut out) = (gpu.upload(&counts)?, gpu.alloc(64)?);
        // SAFETY: 64 elements each, none larger than 3.
        unsafe { common_trip_count::launch(gpu, 1, counts_there.view(), out.view_mut(), 3)? };
        assert_eq!(out.to_vec()?, counts);
        Ok(())
    });
}

/// Halves each number until it is 1; a thread that is done leaves the loop, and waits at the
/// barrier after it.
///
/// # Safety
///
/// `x` and `rounds` have 64 elements; no element of `x` is 0.
#[kernel(block = 64)]
unsafe fn leaves_when_done(x: View<'_, u32>, rounds: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    let (mut value, mut count) = (x.ld(t), 0);
    loop {
        if value == 1 {
            break;
        }
        value /= 2;
        count += 1;
        thread::sync_threads(); // @in the loop
    }
    thread::sync_threads(); // @behind the loop
    rounds.st(t, count);
}

/// Halves each number until it is 1; the threads leave the loop together.
///
/// # Safety
///
/// As for `leaves_when_done`.
#[kernel(block = 64)]
unsafe fn leaves_when_all_are_done(x: View<'_, u32>, rounds: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    let (mut value, mut count) = (x.ld(t), 0);
    while thread::sync_threads_or(value != 1) {
        if value != 1 {
            value /= 2;
            count += 1;
        }
    }
    rounds.st(t, count);
}

#[test]
fn in_a_loop_that_some_leave() {
    let x: Vec<u32> = (0..64).map(|t| 1 << (t % 4)).collect();
    always(
        "leaves_when_done",
        |gpu| {
            let (x, mut rounds) = (gpu.upload(&x)?, gpu.alloc(64)?);
            // SAFETY: 64 elements each, none 0.
            unsafe { leaves_when_done::launch(gpu, 1, x.view(), rounds.view_mut()) }
        },
        |fault| {
            let inside = ("sync_threads", "in the loop");
            let behind = ("sync_threads", "behind the loop");
            let (inside, behind) = waits_for_each_other(fault, inside, behind);
            assert!(inside % 4 > 0 && behind.is_multiple_of(4));
        },
    );
    never(|gpu| {
        let (x, mut rounds) = (gpu.upload(&x)?, gpu.alloc(64)?);
        // SAFETY: 64 elements each, none 0.
        unsafe { leaves_when_all_are_done::launch(gpu, 1, x.view(), rounds.view_mut())? };
        assert!(
            (0..64)
                .zip(rounds.to_vec()?)
                .all(|(t, v): (u32, u32)| v == t % 4)
        );
        Ok(())
    });
}

/// Counts the threads with even numbers while the odd ones wait at a barrier of another kind.
///
/// # Safety
///
/// `out` has 64 elements.
#[kernel(block = 64)]
unsafe fn two_kinds(out: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    let mut count = 0;
    if t.is_multiple_of(2) {
        count = thread::sync_threads_count(true); // @counting
    } else {
        thread::sync_threads(); // @not counting
    }
    out.st(t, count);
}

/// Counts the threads with even numbers.
///
/// # Safety
///
/// As for `two_kinds`.
#[kernel(block = 64)]
unsafe fn one_kind(out: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    out.st(t, thread::sync_threads_count(t.is_multiple_of(2)));
}

#[test]
fn of_two_kinds() {
    always(
        "two_kinds",
        |gpu| {
            let mut out = gpu.alloc(64)?;
            // SAFETY: 64 elements.
            unsafe { two_kinds::launch(gpu, 1, out.view_mut()) }
        },
        |fault| {
            let counting = ("sync_threads_count", "counting");
            let other = ("sync_threads", "not counting");
            let (a, b) = waits_for_each_other(fault, counting, other);
            assert_eq!((a % 2, b % 2), (0, 1));
        },
    );
    never(|gpu| {
        let mut out = gpu.alloc(64)?;
        // SAFETY: 64 elements.
        unsafe { one_kind::launch(gpu, 1, out.view_mut())? };
        assert_eq!(out.to_vec()?, [32; 64]);
        Ok(())
    });
}

/// Whether any thread has a large element; those with small ones don't ask.
///
/// # Safety
///
/// `x` and `out` have 64 elements.
#[kernel(block = 64)]
unsafe fn barrier_after_and(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    let value = x.ld(t);
    let any = value > 10 && thread::sync_threads_or(value > 20); // @not evaluated by all
    out.st(t, any.into());
}

/// Whether any thread has a large element.
///
/// # Safety
///
/// As for `barrier_after_and`.
#[kernel(block = 64)]
unsafe fn barrier_before_and(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    let value = x.ld(t);
    let any = thread::sync_threads_or(value > 20) && value > 10;
    out.st(t, any.into());
}

#[test]
fn in_an_expression_that_not_all_evaluate() {
    let x: Vec<u32> = (0..64).collect();
    always(
        "barrier_after_and",
        |gpu| {
            let (x, mut out) = (gpu.upload(&x)?, gpu.alloc(64)?);
            // SAFETY: 64 elements each.
            unsafe { barrier_after_and::launch(gpu, 1, x.view(), out.view_mut()) }
        },
        |fault| {
            let (here, ended) = waits_for_ended(fault, ("sync_threads_or", "not evaluated by all"));
            assert!(here > 10 && ended <= 10);
        },
    );
    never(|gpu| {
        let (x, mut out) = (gpu.upload(&x)?, gpu.alloc(64)?);
        // SAFETY: 64 elements each.
        unsafe { barrier_before_and::launch(gpu, 1, x.view(), out.view_mut())? };
        assert!(
            (0..64)
                .zip(out.to_vec()?)
                .all(|(t, v)| v == u32::from(t > 10))
        );
        Ok(())
    });
}
