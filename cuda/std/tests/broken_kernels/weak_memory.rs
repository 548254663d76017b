//! Relaxed atomics that nothing orders: right while memory has one order of all accesses, and wrong
//! when it is weak.

use cuda_std::emulator::{Emulator, EmulatorError, Fault, Touch};
use cuda_std::prelude::*;

use crate::support::{File, always, element, never_when_weak, wrong_when_weak, xs};

const HERE: File = File("weak_memory.rs", include_str!("weak_memory.rs"));

/// How a pair of accesses is ordered.
mod order {
    pub(super) const NONE: u32 = 0;
    /// A fence between the writer's stores.
    pub(super) const WRITER: u32 = 1;
    /// A fence between the reader's loads.
    pub(super) const READER: u32 = 2;
    pub(super) const BOTH: u32 = WRITER | READER;
    /// A releasing store, and a load that acquires.
    pub(super) const RELEASE: u32 = 4;
}

fn fence_if(is: bool) {
    if is {
        thread::device_fence();
    }
}

/// Sums before each block by look-back, the state and the sum of a block in two words. Block 0 of
/// the tickets adds nothing.
///
/// # Safety
///
/// `ticket` has one element, `state`, `sums` and `before` one per block, the first two zeros.
#[kernel(block = 1)]
unsafe fn look_back(
    ticket: ViewMut<'_, u32>,
    state: ViewMut<'_, u32>,
    sums: ViewMut<'_, u32>,
    before: ViewMut<'_, u32>,
    order: u32,
) {
    let tile = ticket.atomic_add(0u32, 1);
    let mut sum = 0;
    if tile > 0 {
        while state.ld_relaxed(tile - 1, Device) == 0 {}
        fence_if(order & order::READER != 0);
        sum = sums.ld_relaxed(tile - 1, Device);
    }
    before.st(tile, sum);
    sums.st_relaxed(tile, sum + tile + 1, Device);
    fence_if(order & order::WRITER != 0);
    state.st_relaxed(tile, 1, Device);
}

fn run_look_back(gpu: &Emulator, order: u32) -> Result<Vec<u32>, EmulatorError> {
    let mut ticket = gpu.upload(&[0])?;
    let (mut state, mut sums) = (gpu.alloc_zeroed(6)?, gpu.alloc_zeroed(6)?);
    let mut before = gpu.alloc(6)?;
    let views = (ticket.view_mut(), state.view_mut(), sums.view_mut());
    // SAFETY: as the kernel asks, for 6 blocks.
    unsafe { look_back::launch(gpu, 6, views.0, views.1, views.2, before.view_mut(), order)? };
    before.to_vec()
}

#[test]
fn look_back_by_two_words() {
    let right = |sums: &Vec<u32>| sums[..] == [0, 1, 3, 6, 10, 15];
    for order in [order::NONE, order::WRITER, order::READER] {
        let by_default = wrong_when_weak("look_back", |gpu| run_look_back(gpu, order), right);
        assert!(by_default > 0);
    }
    never_when_weak(|gpu| run_look_back(gpu, order::BOTH), right);
}

/// Block 0 hands a number to block 1.
///
/// # Safety
///
/// `data`, `flag` and `out` have one element; the flag is 0, and the grid has two blocks.
#[kernel(block = 1, cooperative)]
unsafe fn message(
    data: ViewMut<'_, u32>,
    flag: ViewMut<'_, u32>,
    out: ViewMut<'_, u32>,
    order: u32,
) {
    if thread::block_idx_x() == 0 {
        data.st_relaxed(0u32, 42, Device);
        fence_if(order & order::WRITER != 0);
        if order == order::RELEASE {
            flag.st_release(0u32, 1, Device);
        } else {
            flag.st_relaxed(0u32, 1, Device);
        }
    } else {
        let flag = || {
            if order == order::RELEASE {
                flag.ld_acquire(0u32, Device)
            } else {
                flag.ld_relaxed(0u32, Device)
            }
        };
        while flag() == 0 {}
        fence_if(order & order::READER != 0);
        out.st(0u32, data.ld_relaxed(0u32, Device)); // @message
    }
}

fn run_message(gpu: &Emulator, order: u32) -> Result<u32, EmulatorError> {
    let (mut data, mut flag) = (gpu.upload(&[7])?, gpu.upload(&[0])?);
    let mut out = gpu.alloc(1)?;
    let (data, flag) = (data.view_mut(), flag.view_mut());
    // SAFETY: as the kernel asks.
    unsafe { message::launch(gpu, 2, data, flag, out.view_mut(), order)? };
    Ok(out.to_vec()?[0])
}

#[test]
fn message_passing() {
    let right = |&out: &u32| out == 42;
    for order in [order::NONE, order::WRITER, order::READER] {
        let by_default = wrong_when_weak("message", |gpu| run_message(gpu, order), right);
        assert!(by_default > 0);
    }
    for order in [order::BOTH, order::RELEASE] {
        never_when_weak(|gpu| run_message(gpu, order), right);
    }
}

/// Seeds alone, with all else drawn, show it often: memory is weak for half of them.
#[test]
fn message_passing_by_default() {
    const SEEDS: u64 = 80;
    let wrong = (0..SEEDS).filter(|&seed| {
        let result = run_message(&Emulator::new(seed), order::NONE);
        result.expect("no fault") != 42
    });
    let wrong = wrong.count();
    println!("wrong for {wrong} of {SEEDS} seeds");
    assert!(wrong >= 30);
}

/// If nothing was written before the message, a stale load reads uninitialised memory.
#[test]
fn message_into_fresh_memory() {
    let run = |gpu: &Emulator, order| {
        let (mut data, mut flag) = (gpu.alloc(1)?, gpu.upload(&[0])?);
        let mut out = gpu.alloc(1)?;
        let (data, flag) = (data.view_mut(), flag.view_mut());
        // SAFETY: as the kernel asks.
        let done = unsafe { message::launch(gpu, 2, data, flag, out.view_mut(), order) };
        match done {
            Err(error) => {
                let Some(Fault::Uninitialised { event, place }) = error.fault() else {
                    panic!("{error}");
                };
                HERE.source(event.source, "message");
                element(place, "`data`", 0);
                assert_eq!(xs(event.thread), (1, 0));
                assert!(error.to_string().contains(" stale load"));
                Ok(0)
            }
            Ok(()) => Ok(out.to_vec()?[0]),
        }
    };
    let right = |&out: &u32| out == 42;
    wrong_when_weak("message", |gpu| run(gpu, order::NONE), right);
    never_when_weak(|gpu| run(gpu, order::BOTH), right);
}

/// Thread 0 hands a number to thread 1 in shared memory, by volatile accesses.
///
/// # Safety
///
/// `out` has one element.
#[kernel(block = 2)]
unsafe fn message_in_shared_memory(out: ViewMut<'_, u32>, order: u32) {
    let words = shared_array![u32; 2];
    let t = thread::thread_idx_x();
    words.st(t, 0);
    thread::sync_threads();
    if t == 0 {
        words.st_volatile(0u32, 42);
        if order & order::WRITER != 0 {
            thread::block_fence();
        }
        words.st_volatile(1u32, 1);
    } else {
        while words.ld_volatile(1u32) == 0 {}
        if order & order::READER != 0 {
            thread::block_fence();
        }
        out.st(0u32, words.ld_volatile(0u32));
    }
}

#[test]
fn message_passing_in_shared_memory() {
    let run = |gpu: &Emulator, order| {
        let mut out = gpu.alloc(1)?;
        // SAFETY: one element.
        unsafe { message_in_shared_memory::launch(gpu, 1, out.view_mut(), order)? };
        Ok(out.to_vec()?[0])
    };
    let right = |&out: &u32| out == 42;
    for order in [order::NONE, order::WRITER, order::READER] {
        wrong_when_weak("message_in_shared_memory", |gpu| run(gpu, order), right);
    }
    never_when_weak(|gpu| run(gpu, order::BOTH), right);
}

/// A message by way of a third block, which only the order of all three makes visible.
///
/// # Safety
///
/// `words` has two zeros, `out` one element; the grid has three blocks.
#[kernel(block = 32, cooperative)]
unsafe fn message_by_way_of_another(words: ViewMut<'_, u32>, out: ViewMut<'_, u32>, order: u32) {
    match thread::block_idx_x() {
        // Two values, of which the second follows from the first.
        0 if thread::thread_idx_x() == 0 => {
            words.atomic_add(0u32, 1);
            words.atomic_add(0u32, 1);
        }
        1 => {
            if thread::thread_idx_x() == 7 {
                while words.ld_relaxed(0u32, Device) < 2 {}
            }
            thread::sync_threads();
            if thread::thread_idx_x() == 31 {
                fence_if(order & order::WRITER != 0);
                words.st_relaxed(1u32, 1, Device);
            }
        }
        2 if thread::thread_idx_x() == 0 => {
            while words.ld_relaxed(1u32, Device) == 0 {}
            fence_if(order & order::READER != 0);
            out.st(0u32, words.ld_relaxed(0u32, Device));
        }
        _ => {}
    }
}

#[test]
fn message_by_way_of_a_third_block() {
    let run = |gpu: &Emulator, order| {
        let (mut words, mut out) = (gpu.upload(&[0; 2])?, gpu.alloc(1)?);
        let (words, view) = (words.view_mut(), out.view_mut());
        // SAFETY: as the kernel asks.
        unsafe { message_by_way_of_another::launch(gpu, 3, words, view, order)? };
        Ok(out.to_vec()?[0])
    };
    let right = |&out: &u32| out == 2;
    for order in [order::NONE, order::WRITER, order::READER] {
        wrong_when_weak("message_by_way_of_another", |gpu| run(gpu, order), right);
    }
    never_when_weak(|gpu| run(gpu, order::BOTH), right);
}

/// Two blocks announce themselves, and then look whether the other one has.
///
/// # Safety
///
/// `here` has two zeros, `seen` two elements; the grid has two blocks.
#[kernel(block = 1)]
unsafe fn store_buffering(here: ViewMut<'_, u32>, seen: ViewMut<'_, u32>, order: u32) {
    let mine = thread::block_idx_x();
    if order == order::RELEASE {
        here.st_release(mine, 1, Device);
        seen.st(mine, here.ld_acquire(1 - mine, Device));
    } else {
        here.st_relaxed(mine, 1, Device);
        fence_if(order == order::BOTH || order == order::WRITER && mine == 0);
        seen.st(mine, here.ld_relaxed(1 - mine, Device));
    }
}

#[test]
fn both_look_before_the_other_is_seen() {
    let run = |gpu: &Emulator, order| {
        let (mut here, mut seen) = (gpu.upload(&[0; 2])?, gpu.alloc(2)?);
        // SAFETY: as the kernel asks.
        unsafe { store_buffering::launch(gpu, 2, here.view_mut(), seen.view_mut(), order)? };
        seen.to_vec()
    };
    let right = |seen: &Vec<u32>| *seen != [0, 0];
    // Release and acquire order only what one of them has seen of the other.
    for order in [order::NONE, order::WRITER, order::RELEASE] {
        wrong_when_weak("store_buffering", |gpu| run(gpu, order), right);
    }
    never_when_weak(|gpu| run(gpu, order::BOTH), right);
}

/// As `store_buffering` for two warps of a block, whose first lanes speak for lanes that a barrier
/// has told them of.
///
/// # Safety
///
/// `seen` has two elements.
#[kernel(block = 64)]
unsafe fn store_buffering_in_a_block(seen: ViewMut<'_, u32>, order: u32) {
    let here = shared_array![u32; 2];
    let t = thread::thread_idx_x();
    if t < 2 {
        here.st(t, 0);
    }
    thread::sync_threads();
    let (warp, lane) = (t / 32, t % 32);
    if lane == 9 {
        here.st_relaxed(warp, 1, Block);
    }
    warp::sync_warp(u32::MAX);
    if lane == 0 && order == order::BOTH {
        thread::block_fence();
    }
    warp::sync_warp(u32::MAX);
    if lane == 20 {
        seen.st(warp, here.ld_relaxed(1 - warp, Block));
    }
}

#[test]
fn both_warps_look_before_the_other_is_seen() {
    let run = |gpu: &Emulator, order| {
        let mut seen = gpu.alloc(2)?;
        // SAFETY: two elements.
        unsafe { store_buffering_in_a_block::launch(gpu, 1, seen.view_mut(), order)? };
        seen.to_vec()
    };
    let right = |seen: &Vec<u32>| *seen != [0, 0];
    let broken = |gpu: &Emulator| run(gpu, order::NONE);
    wrong_when_weak("store_buffering_in_a_block", broken, right);
    never_when_weak(|gpu| run(gpu, order::BOTH), right);
}

/// Two blocks write; two look at both words, in opposite orders.
///
/// # Safety
///
/// `words` has two zeros, `seen` four elements; the grid has four blocks.
#[kernel(block = 1)]
unsafe fn two_observers(words: ViewMut<'_, u32>, seen: ViewMut<'_, u32>, order: u32) {
    let block = thread::block_idx_x();
    if block < 2 {
        words.st_relaxed(block, 1, Device);
    } else {
        let first = block - 2;
        if order == order::RELEASE {
            seen.st(2 * first, words.ld_acquire(first, Device));
        } else {
            seen.st(2 * first, words.ld_relaxed(first, Device));
        }
        fence_if(order == order::BOTH);
        seen.st(2 * first + 1, words.ld_relaxed(1 - first, Device));
    }
}

#[test]
fn observers_of_two_writes() {
    let run = |gpu: &Emulator, order| {
        let (mut words, mut seen) = (gpu.upload(&[0; 2])?, gpu.alloc(4)?);
        // SAFETY: as the kernel asks.
        unsafe { two_observers::launch(gpu, 4, words.view_mut(), seen.view_mut(), order)? };
        seen.to_vec()
    };
    // Each has seen one write and not the other, as if the other came later.
    let right = |seen: &Vec<u32>| *seen != [1, 0, 1, 0];
    for order in [order::NONE, order::RELEASE] {
        wrong_when_weak("two_observers", |gpu| run(gpu, order), right);
    }
    never_when_weak(|gpu| run(gpu, order::BOTH), right);
}

/// Block 0 counts up in one word, or in two, one after the other. The other blocks' threads note
/// what they see: of the one word again and again, and again after a barrier; of two words, the
/// second before the first.
///
/// # Safety
///
/// `words` has two zeros, `wrong` has one.
#[kernel(block = 8)]
unsafe fn watch(words: ViewMut<'_, u32>, wrong: ViewMut<'_, u32>, order: u32) {
    const LAST: u32 = 12;
    let t = thread::thread_idx_x();
    if thread::block_idx_x() == 0 {
        if t == 0 {
            for i in 1..=LAST {
                words.st_relaxed(0u32, i, Device);
                fence_if(order & order::WRITER != 0);
                words.st_relaxed(1u32, i, Device);
            }
        }
        return;
    }
    let seen = shared_array![u32; 1];
    let mut at_least = 0;
    for _ in 0..LAST {
        let now = words.ld_relaxed(0u32, Device);
        let backwards = now < at_least;
        if t == 5 {
            seen.st(0u32, now);
        }
        thread::sync_threads();
        // Nobody sees less than another one has seen before the barrier.
        at_least = seen.ld(0u32).max(now);
        let backwards = backwards | (words.ld_relaxed(0u32, Device) < at_least);
        if order != order::NONE {
            let second = words.ld_relaxed(1u32, Device);
            fence_if(order & order::READER != 0);
            if words.ld_relaxed(0u32, Device) < second {
                wrong.st_relaxed(0u32, 2, Device);
            }
        }
        if backwards {
            wrong.st_relaxed(0u32, 1, Device);
        }
        thread::sync_threads();
    }
}

/// Each thread, and who knows of its loads, sees an element go forwards; whether two elements agree
/// is another matter.
#[test]
fn values_go_forwards() {
    let run = |gpu: &Emulator, order| {
        let (mut words, mut wrong) = (gpu.upload(&[0; 2])?, gpu.upload(&[0])?);
        // SAFETY: as the kernel asks.
        unsafe { watch::launch(gpu, 3, words.view_mut(), wrong.view_mut(), order)? };
        Ok(wrong.to_vec()?[0])
    };
    let right = |&wrong: &u32| wrong == 0;
    for order in [order::NONE, order::BOTH] {
        never_when_weak(|gpu| run(gpu, order), right);
    }
    for order in [order::WRITER, order::READER] {
        wrong_when_weak(
            "watch",
            |gpu| run(gpu, order),
            |&wrong| {
                assert_ne!(wrong, 1, "an element went backwards");
                wrong == 0
            },
        );
    }
}

/// Each thread adds to a number, by an update that must see the last value, and then looks whether
/// all have.
///
/// # Safety
///
/// `count` has one zero, `left` one element per block.
#[kernel(block = 8, cooperative)]
unsafe fn last_block(count: ViewMut<'_, u32>, left: ViewMut<'_, u32>) {
    count.atomic_add(0u32, 1);
    thread::sync_threads();
    // What the thread's own block has added is certainly seen.
    let own = count.ld_relaxed(0u32, Device) >= 8;
    let mut now = count.ld_relaxed(0u32, Device);
    while count.atomic_cas(0u32, now, now + 1) != now {
        now = count.ld_relaxed(0u32, Device);
    }
    while count.ld_relaxed(0u32, Device) < 2 * 8 * thread::grid_dim_x() {}
    if thread::thread_idx_x() == 0 {
        left.st(thread::block_idx_x(), u32::from(!own));
    }
}

/// No false alarm and no endless loop: stale loads come to an end, and updates are never stale.
#[test]
fn updates_see_the_last_value() {
    never_when_weak(
        |gpu| {
            let (mut count, mut left) = (gpu.upload(&[0])?, gpu.alloc(3)?);
            // SAFETY: as the kernel asks.
            unsafe { last_block::launch(gpu, 3, count.view_mut(), left.view_mut())? };
            Ok((count.to_vec()?, left.to_vec()?))
        },
        |(count, left)| count[..] == [2 * 8 * 3] && left[..] == [0; 3],
    );
}

/// Thread 0 writes a word four times. Both threads read its halves meanwhile, or after a barrier.
///
/// # Safety
///
/// `whole` has one element, zero; `out` has two.
#[kernel(block = 2)]
unsafe fn halves(whole: ViewMut<'_, u64>, out: ViewMut<'_, u64>, has_barrier: u32) {
    // SAFETY: the same memory, as two halves.
    let half = unsafe { ViewMut::<u32>::from_raw_parts(whole.as_mut_ptr().cast(), 2) };
    let t = thread::thread_idx_x();
    if t == 0 {
        for i in 1..=4 {
            whole.st_relaxed(0u32, i << 32 | i, Device); // @whole
        }
    }
    if has_barrier != 0 {
        thread::sync_threads();
    }
    if t == 1 || has_barrier != 0 {
        let low = half.ld_relaxed(0u32, Device); // @half
        let high = half.ld_relaxed(1u32, Device);
        out.st(t, u64::from((low, high) == (4, 4)));
    }
}

/// Halves and the whole are atomic to each other where a barrier orders them alone, and then
/// nothing that is read is stale.
#[test]
fn values_of_mixed_sizes_need_an_order() {
    let run = |gpu: &Emulator, has_barrier| {
        let (mut whole, mut out) = (gpu.upload(&[0u64])?, gpu.alloc(2)?);
        // SAFETY: as the kernel asks.
        unsafe { halves::launch(gpu, 1, whole.view_mut(), out.view_mut(), has_barrier)? };
        out.to_vec()
    };
    always(
        "halves",
        |gpu| run(gpu, 0).map(drop),
        |fault| {
            let Fault::MixedWidths {
                place,
                first,
                second,
                ..
            } = fault
            else {
                panic!("not about widths");
            };
            HERE.pair(
                place,
                [first, second],
                [(Touch::AtomicStore, "whole"), (Touch::AtomicLoad, "half")],
            );
        },
    );
    never_when_weak(|gpu| run(gpu, 1), |right| right[..] == [1, 1]);
}

/// The stale loads are listed; there are none if memory is not weak.
#[test]
fn stale_loads_are_told() {
    let mut told = 0;
    for seed in 0..32 {
        let gpu = Emulator::new(seed).with_weak_memory(true);
        let out = run_message(&gpu, order::NONE).unwrap();
        let stale = gpu.stale_loads();
        for &(source, count) in &stale {
            assert!(count > 0 && source.file().ends_with("weak_memory.rs"));
        }
        if out != 42 {
            told += 1;
            let is = |&(source, _): &(_, u64)| HERE.is_at(source, "message");
            assert!(stale.iter().any(is), "{stale:?}");
        }
        let gpu = Emulator::new(seed).with_weak_memory(false);
        assert_eq!(run_message(&gpu, order::NONE), Ok(42));
        assert_eq!(gpu.stale_loads(), []);
    }
    assert!(told > 0);
}
