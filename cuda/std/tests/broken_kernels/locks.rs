//! Locks.

use cuda_std::emulator::Touch::{AtomicUpdate, FailedSwap, Load, Store};
use cuda_std::emulator::{Emulator, Fault, Schedule};
use cuda_std::prelude::*;

use crate::progress::deadlock;
use crate::support::{File, always, element, never, sometimes, xs};

const HERE: File = File("locks.rs", include_str!("locks.rs"));

/// Two blocks take two locks, in opposite orders.
///
/// # Safety
///
/// `locks` has two elements, `total` one; the grid has two blocks.
#[kernel(block = 1, zero_at_exit(locks))]
unsafe fn locks_in_opposite_order(locks: ViewMut<'_, u32>, total: ViewMut<'_, u32>) {
    let mine = thread::block_idx_x();
    let other = 1 - mine;
    while locks.atomic_cas(mine, 0, 1) != 0 {} // @own lock first
    while locks.atomic_cas(other, 0, 1) != 0 {} // @other lock second
    total.atomic_add(0u32, 1);
    locks.atomic_exch(other, 0);
    locks.atomic_exch(mine, 0);
}

/// Two blocks take two locks in one order.
///
/// # Safety
///
/// As for `locks_in_opposite_order`.
#[kernel(block = 1, zero_at_exit(locks))]
unsafe fn locks_in_one_order(locks: ViewMut<'_, u32>, total: ViewMut<'_, u32>) {
    while locks.atomic_cas(0u32, 0, 1) != 0 {}
    while locks.atomic_cas(1u32, 0, 1) != 0 {}
    total.atomic_add(0u32, 1);
    locks.atomic_exch(1u32, 0);
    locks.atomic_exch(0u32, 0);
}

#[test]
fn in_opposite_order() {
    sometimes(
        "locks_in_opposite_order",
        |gpu| {
            let (mut locks, mut total) = (gpu.upload(&[0; 2])?, gpu.upload(&[0])?);
            let (locks, total) = (locks.view_mut(), total.view_mut());
            // SAFETY: two elements and one, two blocks.
            unsafe { locks_in_opposite_order::launch(gpu, 2, locks, total) }
        },
        |fault| {
            let [spins] = deadlock(fault, (0, 2, 0)) else {
                panic!("one place");
            };
            HERE.waiting(spins, "atomic update", "other lock second");
        },
    );
    never(|gpu| {
        let (mut locks, mut total) = (gpu.upload(&[0; 2])?, gpu.upload(&[0])?);
        // SAFETY: two elements and one, two blocks.
        unsafe { locks_in_one_order::launch(gpu, 2, locks.view_mut(), total.view_mut())? };
        assert_eq!(total.to_vec()?, [2]);
        Ok(())
    });
}

/// All lanes of a warp take one lock in turn; each waits for the others before it gives it back.
///
/// # Safety
///
/// `lock` and `total` have one element.
#[kernel(block = 32, zero_at_exit(lock))]
unsafe fn barrier_under_a_lock(lock: ViewMut<'_, u32>, total: ViewMut<'_, u32>) {
    while lock.atomic_cas(0u32, 0, 1) != 0 {} // @lock of all lanes
    total.atomic_add(0u32, 1);
    thread::sync_threads(); // @under the lock
    lock.atomic_exch(0u32, 0);
}

/// All lanes of a warp take one lock in turn, and wait for the others after they have given it
/// back.
///
/// # Safety
///
/// As for `barrier_under_a_lock`.
#[kernel(block = 32, zero_at_exit(lock))]
unsafe fn barrier_after_a_lock(lock: ViewMut<'_, u32>, total: ViewMut<'_, u32>) {
    while lock.atomic_cas(0u32, 0, 1) != 0 {}
    total.atomic_add(0u32, 1);
    lock.atomic_exch(0u32, 0);
    thread::sync_threads();
}

#[test]
fn barrier_while_a_lock_is_held() {
    always(
        "barrier_under_a_lock",
        |gpu| {
            let (mut lock, mut total) = (gpu.upload(&[0])?, gpu.upload(&[0])?);
            let (lock, total) = (lock.view_mut(), total.view_mut());
            // SAFETY: one element each.
            unsafe { barrier_under_a_lock::launch(gpu, 1, lock, total) }
        },
        |fault| {
            let waiting = deadlock(fault, (1, 31, 0));
            assert_eq!(waiting.len(), 2);
            for one in waiting {
                match one.what {
                    "sync_threads" => HERE.waiting(one, "sync_threads", "under the lock"),
                    _ => HERE.waiting(one, "atomic update", "lock of all lanes"),
                }
            }
        },
    );
    never(|gpu| {
        let (mut lock, mut total) = (gpu.upload(&[0])?, gpu.upload(&[0])?);
        // SAFETY: one element each.
        unsafe { barrier_after_a_lock::launch(gpu, 1, lock.view_mut(), total.view_mut())? };
        assert_eq!(total.to_vec()?, [32]);
        Ok(())
    });
}

/// Takes the lock, and takes it again in what could be a function that also needs it.
///
/// # Safety
///
/// `lock` has one element.
#[kernel(block = 1)]
unsafe fn takes_its_lock_twice(lock: ViewMut<'_, u32>) {
    while lock.atomic_cas(0u32, 0, 1) != 0 {}
    while lock.atomic_cas(0u32, 0, 1) != 0 {} // @once more
    lock.atomic_exch(0u32, 0);
}

/// Takes the lock once.
///
/// # Safety
///
/// As for `takes_its_lock_twice`.
#[kernel(block = 1)]
unsafe fn takes_its_lock_once(lock: ViewMut<'_, u32>) {
    while lock.atomic_cas(0u32, 0, 1) != 0 {}
    lock.atomic_exch(0u32, 0);
}

#[test]
fn taken_twice() {
    always(
        "takes_its_lock_twice",
        |gpu| {
            let mut lock = gpu.upload(&[0])?;
            // SAFETY: one element.
            unsafe { takes_its_lock_twice::launch(gpu, 1, lock.view_mut()) }
        },
        |fault| {
            let [spins] = deadlock(fault, (0, 1, 0)) else {
                panic!("one place");
            };
            HERE.waiting(spins, "atomic update", "once more");
            assert_eq!(xs(spins.thread), (0, 0));
        },
    );
    never(|gpu| {
        let mut lock = gpu.upload(&[0])?;
        // SAFETY: one element.
        unsafe { takes_its_lock_once::launch(gpu, 1, lock.view_mut())? };
        assert_eq!(lock.to_vec()?, [0]);
        Ok(())
    });
}

/// Takes a lock for each element and keeps it if the element is negative.
///
/// # Safety
///
/// `x` and `locks` have an element per block.
#[kernel(block = 1, zero_at_exit(locks))]
unsafe fn keeps_a_lock_on_one_path(x: ViewMut<'_, i32>, locks: ViewMut<'_, u32>) {
    let i = thread::block_idx_x();
    while locks.atomic_cas(i, 0, 1) != 0 {} // @lock that is kept
    if x.ld(i) < 0 {
        return;
    }
    x.st(i, 2 * x.ld(i));
    locks.atomic_exch(i, 0);
}

/// Takes a lock for each element and gives it back on each path.
///
/// # Safety
///
/// As for `keeps_a_lock_on_one_path`.
#[kernel(block = 1, zero_at_exit(locks))]
unsafe fn keeps_no_lock(x: ViewMut<'_, i32>, locks: ViewMut<'_, u32>) {
    let i = thread::block_idx_x();
    while locks.atomic_cas(i, 0, 1) != 0 {}
    if x.ld(i) >= 0 {
        x.st(i, 2 * x.ld(i));
    }
    locks.atomic_exch(i, 0);
}

#[test]
fn kept_at_exit() {
    always(
        "keeps_a_lock_on_one_path",
        |gpu| {
            let (mut x, mut locks) = (gpu.upload(&[1, 2, -3, 4])?, gpu.upload(&[0; 4])?);
            let (x, locks) = (x.view_mut(), locks.view_mut());
            // SAFETY: an element for each of 4 blocks.
            unsafe { keeps_a_lock_on_one_path::launch(gpu, 4, x, locks) }
        },
        |fault| {
            let Fault::NotZeroAtExit {
                place,
                last: Some(last),
            } = fault
            else {
                panic!("all zero");
            };
            element(place, "`locks`", 2);
            HERE.event(last, AtomicUpdate, "lock that is kept");
            assert_eq!(xs(last.thread), (2, 0));
        },
    );
    never(|gpu| {
        let (mut x, mut locks) = (gpu.upload(&[1, 2, -3, 4])?, gpu.upload(&[0; 4])?);
        // SAFETY: an element for each of 4 blocks.
        unsafe { keeps_no_lock::launch(gpu, 4, x.view_mut(), locks.view_mut())? };
        assert_eq!(x.to_vec()?, [2, 4, -3, 8]);
        Ok(())
    });
}

/// Adds 1 to a number under a lock that orders nothing.
///
/// # Safety
///
/// `lock` and `total` have one element.
#[kernel(block = 1, zero_at_exit(lock))]
unsafe fn lock_without_fences(lock: ViewMut<'_, u32>, total: ViewMut<'_, u32>) {
    while lock.atomic_cas(0u32, 0, 1) != 0 {}
    let before = total.ld(0u32); // @read under a lock
    total.st(0u32, before + 1); // @written under a lock
    lock.atomic_exch(0u32, 0);
}

/// Adds 1 to a number under a lock, without a fence before the lock is given back.
///
/// # Safety
///
/// As for `lock_without_fences`.
#[kernel(block = 1, zero_at_exit(lock))]
unsafe fn lock_with_one_fence(lock: ViewMut<'_, u32>, total: ViewMut<'_, u32>) {
    while lock.atomic_cas(0u32, 0, 1) != 0 {}
    thread::device_fence();
    let before = total.ld(0u32); // @read after a fence
    total.st(0u32, before + 1); // @written before no fence
    lock.atomic_exch(0u32, 0);
}

/// Adds 1 to a number under a lock.
///
/// # Safety
///
/// As for `lock_without_fences`.
#[kernel(block = 1, zero_at_exit(lock))]
unsafe fn lock_with_fences(lock: ViewMut<'_, u32>, total: ViewMut<'_, u32>) {
    while lock.atomic_cas(0u32, 0, 1) != 0 {}
    thread::device_fence();
    let before = total.ld(0u32);
    total.st(0u32, before + 1);
    thread::device_fence();
    lock.atomic_exch(0u32, 0);
}

#[test]
fn without_fences() {
    always(
        "lock_without_fences",
        |gpu| {
            let (mut lock, mut total) = (gpu.upload(&[0])?, gpu.upload(&[0])?);
            let (lock, total) = (lock.view_mut(), total.view_mut());
            // SAFETY: one element each.
            unsafe { lock_without_fences::launch(gpu, 3, lock, total) }
        },
        |fault| {
            let accesses = [(Store, "written under a lock"), (Load, "read under a lock")];
            element(&HERE.race(fault, accesses).place, "`total`", 0);
        },
    );
    always(
        "lock_with_one_fence",
        |gpu| {
            let (mut lock, mut total) = (gpu.upload(&[0])?, gpu.upload(&[0])?);
            let (lock, total) = (lock.view_mut(), total.view_mut());
            // SAFETY: one element each.
            unsafe { lock_with_one_fence::launch(gpu, 3, lock, total) }
        },
        |fault| {
            let accesses = [
                (Store, "written before no fence"),
                (Load, "read after a fence"),
            ];
            element(&HERE.race(fault, accesses).place, "`total`", 0);
        },
    );
    never(|gpu| {
        let (mut lock, mut total) = (gpu.upload(&[0])?, gpu.upload(&[0])?);
        // SAFETY: one element each.
        unsafe { lock_with_fences::launch(gpu, 3, lock.view_mut(), total.view_mut())? };
        assert_eq!(total.to_vec()?, [3]);
        Ok(())
    });
}

/// Counts under a lock that is given back with a plain store.
///
/// # Safety
///
/// `lock` and `total` have one element.
#[kernel(block = 1, zero_at_exit(lock))]
unsafe fn unlocks_plainly(lock: ViewMut<'_, u32>, total: ViewMut<'_, u32>) {
    while lock.atomic_cas(0u32, 0, 1) != 0 {} // @try to lock
    total.atomic_add(0u32, 1);
    lock.st(0u32, 0); // @plain unlock
}

/// Counts under a lock that is given back atomically.
///
/// # Safety
///
/// As for `unlocks_plainly`.
#[kernel(block = 1, zero_at_exit(lock))]
unsafe fn unlocks_atomically(lock: ViewMut<'_, u32>, total: ViewMut<'_, u32>) {
    while lock.atomic_cas(0u32, 0, 1) != 0 {}
    total.atomic_add(0u32, 1);
    lock.st_release(0u32, 0, Device);
}

#[test]
fn given_back_with_a_plain_store() {
    always(
        "unlocks_plainly",
        |gpu| {
            let (mut lock, mut total) = (gpu.upload(&[0])?, gpu.upload(&[0])?);
            let (lock, total) = (lock.view_mut(), total.view_mut());
            // SAFETY: one element each.
            unsafe { unlocks_plainly::launch(gpu, 2, lock, total) }
        },
        |fault| {
            let Fault::DataRace { first, second, .. } = fault else {
                panic!("not a data race");
            };
            let failed = [first, second]
                .iter()
                .any(|event| event.touch == FailedSwap);
            let swap = if failed { FailedSwap } else { AtomicUpdate };
            let race = HERE.race(fault, [(Store, "plain unlock"), (swap, "try to lock")]);
            element(&race.place, "`lock`", 0);
        },
    );
    never(|gpu| {
        let (mut lock, mut total) = (gpu.upload(&[0])?, gpu.upload(&[0])?);
        // SAFETY: one element each.
        unsafe { unlocks_atomically::launch(gpu, 2, lock.view_mut(), total.view_mut())? };
        assert_eq!(total.to_vec()?, [2]);
        Ok(())
    });
}

/// Counts once for each of two blocks, under a lock that nobody gives back. Who finds it taken puts
/// its work off, and tries again.
///
/// # Safety
///
/// `lock` and `done` have one element, which is 0, `work` has two; the grid has two blocks.
#[kernel(block = 32, cooperative)]
unsafe fn puts_off_for_ever(
    lock: ViewMut<'_, u32>,
    work: ViewMut<'_, u32>,
    done: ViewMut<'_, u32>,
) {
    let t = thread::thread_idx_x();
    let mine = thread::block_idx_x();
    let mut open = true;
    while open {
        if t == 0 && work.atomic_exch(mine, 0) != 0 {
            let taken = lock.atomic_exch(0u32, 1) == 0; // @lock that is leaked
            if taken {
                done.atomic_add(0u32, 1);
            } else {
                work.atomic_exch(mine, 1);
            }
        }
        open = thread::sync_threads_or(t == 0 && done.ld_relaxed(0u32, Device) < 2);
    }
}

/// The same, and gives the lock back.
///
/// # Safety
///
/// As for `puts_off_for_ever`.
#[kernel(block = 32, cooperative)]
unsafe fn puts_off_for_a_while(
    lock: ViewMut<'_, u32>,
    work: ViewMut<'_, u32>,
    done: ViewMut<'_, u32>,
) {
    let t = thread::thread_idx_x();
    let mine = thread::block_idx_x();
    let mut open = true;
    while open {
        if t == 0 && work.atomic_exch(mine, 0) != 0 {
            if lock.atomic_exch(0u32, 1) == 0 {
                done.atomic_add(0u32, 1);
                lock.atomic_exch(0u32, 0);
            } else {
                work.atomic_exch(mine, 1);
            }
        }
        open = thread::sync_threads_or(t == 0 && done.ld_relaxed(0u32, Device) < 2);
    }
}

/// All go on, round and round, and memory changes, back and forth: nobody gets what was leaked.
#[test]
fn leaked_while_others_try_again() {
    // One schedule: finding it takes millions of steps.
    let gpu = Emulator::new(1);
    let (mut lock, mut work) = (gpu.upload(&[0]).unwrap(), gpu.upload(&[1; 2]).unwrap());
    let mut done = gpu.upload(&[0]).unwrap();
    let (lock, work) = (lock.view_mut(), work.view_mut());
    // SAFETY: one element, two and one, two blocks.
    let error = unsafe { puts_off_for_ever::launch(&gpu, 2, lock, work, done.view_mut()) };
    let error = error.unwrap_err();
    println!("{error}");
    let Some(Fault::Livelock { waiting, .. }) = error.fault() else {
        panic!("no livelock");
    };
    // The thread that tries to take the lock, the value that it finds, and the thread that took it.
    let tries = waiting
        .iter()
        .find(|one| {
            one.seen
                .as_ref()
                .is_some_and(|seen| seen.place.view == "`lock`")
        })
        .expect("a place");
    HERE.waiting(tries, "atomic update", "lock that is leaked");
    let seen = tries.seen.as_ref().unwrap();
    assert_eq!((seen.place.index, seen.value), (0, Some(1)));
    let (holder, source) = seen.last.expect("a holder");
    HERE.source(source, "lock that is leaked");
    assert_eq!(xs(holder), (1 - xs(tries.thread).0, 0));
    never(|gpu| {
        let (mut lock, mut work) = (gpu.upload(&[0])?, gpu.upload(&[1; 2])?);
        let mut done = gpu.upload(&[0])?;
        let (view, lock, work) = (done.view_mut(), lock.view_mut(), work.view_mut());
        // SAFETY: one element, two and one, two blocks.
        unsafe { puts_off_for_a_while::launch(gpu, 2, lock, work, view)? };
        assert_eq!(done.to_vec()?, [2]);
        Ok(())
    });
}

/// Words of the kernels that count holds: the holds, whether there is something to do, what was
/// done.
const HOLDS: u32 = 0;
const SHOWN: u32 = 1;
const DONE: u32 = 2;
/// Parts of what there is to do.
const PARTS: u32 = 2000;

/// Block 0 shows that there is something to do, which needs a hold; block 1 does it and gives the
/// hold back. Who gives back the last adds what was done to `sum`.
#[inline(always)]
fn count_holds(words: ViewMut<'_, u32>, sum: ViewMut<'_, u32>, hold_first: bool) {
    if thread::block_idx_x() == 0 {
        if hold_first {
            words.atomic_add(HOLDS, 1);
        }
        words.atomic_exch(SHOWN, 1);
        if !hold_first {
            words.atomic_add(HOLDS, 1);
        }
        words.atomic_add(DONE, 1);
    } else {
        while words.atomic_exch(SHOWN, 0) == 0 {}
        for _ in 0..PARTS {
            words.atomic_add(DONE, 1);
        }
    }
    thread::device_fence();
    if words.atomic_add(HOLDS, u32::MAX) == 1 {
        thread::device_fence();
        sum.atomic_add(0u32, words.ld_relaxed(DONE, Device));
    }
}

/// Takes the hold when what it is for can be seen already: another block may have given it back by
/// then.
///
/// # Safety
///
/// `words` has three elements, 1, 0 and 0, `sum` one; the grid has two blocks.
#[kernel(block = 1, cooperative)]
unsafe fn holds_what_it_has_shown(words: ViewMut<'_, u32>, sum: ViewMut<'_, u32>) {
    count_holds(words, sum, false);
}

/// Takes the hold first.
///
/// # Safety
///
/// As for `holds_what_it_has_shown`.
#[kernel(block = 1, cooperative)]
unsafe fn holds_what_it_will_show(words: ViewMut<'_, u32>, sum: ViewMut<'_, u32>) {
    count_holds(words, sum, true);
}

/// Between two steps of one thread, another has to take thousands: only a stall right there shows
/// it.
#[test]
fn hold_taken_too_late() {
    let wrong = |schedule| {
        let run = |seed: &u64| {
            let gpu = Emulator::new(*seed).with_schedule(schedule);
            let mut words = gpu.upload(&[1, 0, 0]).unwrap();
            let mut sum = gpu.upload(&[0]).unwrap();
            let (words, view) = (words.view_mut(), sum.view_mut());
            // SAFETY: three elements and one, two blocks.
            unsafe { holds_what_it_has_shown::launch(&gpu, 2, words, view) }.unwrap();
            sum.to_vec().unwrap() != [PARTS + 1]
        };
        (0..32).filter(run).count()
    };
    let found = wrong(Schedule::Stalls);
    println!(
        "{found} of 32 with stalls, {} without",
        wrong(Schedule::Random)
    );
    assert!(found >= 4, "{found} of 32");
    assert_eq!(
        wrong(Schedule::Random),
        0,
        "this is not what the test is for"
    );
    never(|gpu| {
        let (mut words, mut sum) = (gpu.upload(&[1, 0, 0])?, gpu.upload(&[0])?);
        let (words, view) = (words.view_mut(), sum.view_mut());
        // SAFETY: three elements and one, two blocks.
        unsafe { holds_what_it_will_show::launch(gpu, 2, words, view)? };
        assert_eq!(sum.to_vec()?, [PARTS + 1]);
        Ok(())
    });
}

/// The kernel has not leaked the lock: it was never set to 0.
#[test]
fn held_before_the_kernel() {
    always(
        "keeps_no_lock",
        |gpu| {
            let (mut x, mut locks) = (gpu.upload(&[1; 4])?, gpu.upload(&[0, 0, 0, 1])?);
            let (x, locks) = (x.view_mut(), locks.view_mut());
            // SAFETY: an element for each of 3 blocks.
            unsafe { keeps_no_lock::launch(gpu, 3, x, locks) }
        },
        |fault| {
            let Fault::NotZeroAtExit { place, last: None } = fault else {
                panic!("written");
            };
            element(place, "`locks`", 3);
        },
    );
}

/// Block 0 has something to add and leaves it to whoever has the lock, having tried to take it;
/// block 1 has it.
///
/// # Safety
///
/// `lock` has one element, 1; `note` and `total` have one; the grid has two blocks.
#[kernel(block = 1, cooperative)]
unsafe fn counts_on_a_failed_swap(
    lock: ViewMut<'_, u32>,
    note: ViewMut<'_, u32>,
    total: ViewMut<'_, u32>,
) {
    if thread::block_idx_x() == 0 {
        note.st(0u32, 5); // @note for the lock's owner
        thread::device_fence();
        let _ = lock.atomic_cas(0u32, 0, 1);
    } else {
        let _ = lock.ld_relaxed(0u32, Device);
        thread::device_fence();
        total.st(0u32, note.ld(0u32)); // @look at the note
    }
}

/// Block 0 leaves a sign in the lock that it has something to add; block 1, which has the lock,
/// waits for that.
///
/// # Safety
///
/// As for `counts_on_a_failed_swap`.
#[kernel(block = 1, cooperative)]
unsafe fn leaves_a_sign(lock: ViewMut<'_, u32>, note: ViewMut<'_, u32>, total: ViewMut<'_, u32>) {
    if thread::block_idx_x() == 0 {
        note.st(0u32, 5);
        thread::device_fence();
        // It succeeds: the block that has the lock does not change it.
        assert_eq!(lock.atomic_cas(0u32, 1, 3), 1);
    } else {
        // Each fails, and is a load.
        while lock.atomic_cas(0u32, 7, 8) != 3 {}
        thread::device_fence();
        total.st(0u32, note.ld(0u32));
    }
}

/// A failed compare-and-swap releases nothing, whatever fence was before it; as a load, it meets
/// what others have released.
#[test]
fn failed_swap_is_no_release() {
    always(
        "counts_on_a_failed_swap",
        |gpu| {
            let (mut lock, mut note) = (gpu.upload(&[1])?, gpu.upload(&[0])?);
            let (lock, note) = (lock.view_mut(), note.view_mut());
            let mut total = gpu.alloc(1)?;
            // SAFETY: as the kernel asks.
            unsafe { counts_on_a_failed_swap::launch(gpu, 2, lock, note, total.view_mut()) }
        },
        |fault| {
            let accesses = [
                (Store, "note for the lock's owner"),
                (Load, "look at the note"),
            ];
            let race = HERE.race(fault, accesses);
            element(&race.place, "`note`", 0);
            assert_eq!(race.threads.map(xs), [(0, 0), (1, 0)]);
        },
    );
    never(|gpu| {
        let (mut lock, mut note) = (gpu.upload(&[1])?, gpu.upload(&[0])?);
        let (lock, note) = (lock.view_mut(), note.view_mut());
        let mut total = gpu.alloc(1)?;
        // SAFETY: as the kernel asks.
        unsafe { leaves_a_sign::launch(gpu, 2, lock, note, total.view_mut())? };
        assert_eq!(total.to_vec()?, [5]);
        Ok(())
    });
}

/// Every thread reads an element, one of them by a compare-and-swap, which fails, of what has
/// `never` been there.
///
/// # Safety
///
/// `x` has one element, `out` one per thread.
#[kernel(block = 64)]
unsafe fn reads_by_a_swap(x: ViewMut<'_, u32>, out: ViewMut<'_, u32>, never: u32) {
    let t = thread::thread_idx_x();
    let value = if t == 33 {
        x.atomic_cas(0u32, never, 1) // @swap among loads
    } else {
        x.ld(0u32) // @load beside a swap
    };
    out.st(t, value);
}

/// A failed compare-and-swap is no write; one that succeeds is.
#[test]
fn failed_swap_is_no_write() {
    let run = |gpu: &cuda_std::emulator::Emulator, never| {
        let (mut x, mut out) = (gpu.upload(&[4])?, gpu.alloc(64)?);
        // SAFETY: as the kernel asks.
        unsafe { reads_by_a_swap::launch(gpu, 1, x.view_mut(), out.view_mut(), never)? };
        assert_eq!(out.to_vec()?, [4; 64]);
        Ok(())
    };
    always(
        "reads_by_a_swap",
        |gpu| run(gpu, 4),
        |fault| {
            let accesses = [
                (AtomicUpdate, "swap among loads"),
                (Load, "load beside a swap"),
            ];
            element(&HERE.race(fault, accesses).place, "`x`", 0);
        },
    );
    never(|gpu| run(gpu, 3));
}

/// Thread 0 takes the lock and keeps it; thread 1 then tries in vain.
///
/// # Safety
///
/// `lock` has one zero.
#[kernel(block = 2, zero_at_exit(lock))]
unsafe fn keeps_a_lock_that_another_wants(lock: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    if t == 0 {
        lock.atomic_cas(0u32, 0, 1); // @taken for good
    }
    thread::sync_threads();
    if t == 1 {
        lock.atomic_cas(0u32, 0, 1);
    }
}

/// The thread that tried has not leaked the lock.
#[test]
fn kept_and_tried() {
    always(
        "keeps_a_lock_that_another_wants",
        |gpu| {
            let mut lock = gpu.upload(&[0])?;
            // SAFETY: one element.
            unsafe { keeps_a_lock_that_another_wants::launch(gpu, 1, lock.view_mut()) }
        },
        |fault| {
            let Fault::NotZeroAtExit {
                last: Some(last), ..
            } = fault
            else {
                panic!("all zero");
            };
            HERE.event(last, AtomicUpdate, "taken for good");
            assert_eq!(xs(last.thread), (0, 0));
        },
    );
}
