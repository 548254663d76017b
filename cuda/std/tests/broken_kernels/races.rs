//! Data races among the threads of one block.

use cuda_std::emulator::Touch::{self, AtomicStore, AtomicUpdate, Load, Store};
use cuda_std::prelude::*;
use cuda_std::warp::FULL_MASK;

use crate::support::{File, Race, always, element, never, xs};

const HERE: File = File("races.rs", include_str!("races.rs"));

/// The threads' numbers in block 0.
#[track_caller]
fn in_block_0(race: &Race) -> [u32; 2] {
    race.threads.map(|id| {
        let (block, t) = xs(id);
        assert_eq!(block, 0);
        t
    })
}

/// Doubles 64 elements in shared memory and reverses them, without a barrier between the two.
///
/// # Safety
///
/// `x` has 64 elements.
#[kernel(block = 64)]
unsafe fn double_and_reverse_at_once(x: ViewMut<'_, u32>) {
    let tile = shared_array![u32; 64]; // @doubled tile
    let t = thread::thread_idx_x();
    tile.st(t, x.ld(t));
    thread::sync_threads();
    tile.st(t, 2 * tile.ld(t)); // @double
    x.st(t, tile.ld(63 - t)); // @reverse
}

/// Doubles 64 elements in shared memory and reverses them.
///
/// # Safety
///
/// As for `double_and_reverse_at_once`.
#[kernel(block = 64)]
unsafe fn double_and_reverse(x: ViewMut<'_, u32>) {
    let tile = shared_array![u32; 64];
    let t = thread::thread_idx_x();
    tile.st(t, x.ld(t));
    thread::sync_threads();
    tile.st(t, 2 * tile.ld(t));
    thread::sync_threads();
    x.st(t, tile.ld(63 - t));
}

#[test]
fn no_barrier_between_write_and_read() {
    let x: Vec<u32> = (0..64).collect();
    always(
        "double_and_reverse_at_once",
        |gpu| {
            let mut x = gpu.upload(&x)?;
            // SAFETY: 64 elements.
            unsafe { double_and_reverse_at_once::launch(gpu, 1, x.view_mut()) }
        },
        |fault| {
            let race = HERE.race(fault, [(Store, "double"), (Load, "reverse")]);
            HERE.array(&race.place.view, "shared_array![u32; 64]", "doubled tile");
            let [writer, reader] = in_block_0(&race);
            assert_eq!((writer as isize, reader), (race.place.index, 63 - writer));
        },
    );
    never(|gpu| {
        let mut x = gpu.upload(&x)?;
        // SAFETY: 64 elements.
        unsafe { double_and_reverse::launch(gpu, 1, x.view_mut())? };
        assert!((0..64).zip(x.to_vec()?).all(|(t, v)| v == 2 * (63 - t)));
        Ok(())
    });
}

/// Passes values around a ring of threads, without a barrier between reading and the next round's
/// writing.
///
/// # Safety
///
/// `x` has 64 elements.
#[kernel(block = 64)]
unsafe fn ring_with_one_barrier(x: ViewMut<'_, u32>, rounds: u32) {
    let ring = shared_array![u32; 64]; // @ring
    let t = thread::thread_idx_x();
    let mut value = x.ld(t);
    for _ in 0..rounds {
        ring.st(t, value); // @next round
        thread::sync_threads();
        value = ring.ld((t + 1) % 64); // @this round
    }
    x.st(t, value);
}

/// Passes values around a ring of threads.
///
/// # Safety
///
/// As for `ring_with_one_barrier`.
#[kernel(block = 64)]
unsafe fn ring_with_two_barriers(x: ViewMut<'_, u32>, rounds: u32) {
    let ring = shared_array![u32; 64];
    let t = thread::thread_idx_x();
    let mut value = x.ld(t);
    for _ in 0..rounds {
        ring.st(t, value);
        thread::sync_threads();
        value = ring.ld((t + 1) % 64);
        thread::sync_threads();
    }
    x.st(t, value);
}

#[test]
fn no_barrier_between_read_and_next_write() {
    let x: Vec<u32> = (0..64).collect();
    always(
        "ring_with_one_barrier",
        |gpu| {
            let mut x = gpu.upload(&x)?;
            // SAFETY: 64 elements.
            unsafe { ring_with_one_barrier::launch(gpu, 1, x.view_mut(), 3) }
        },
        |fault| {
            let race = HERE.race(fault, [(Store, "next round"), (Load, "this round")]);
            HERE.array(&race.place.view, "shared_array![u32; 64]", "ring");
            let [writer, reader] = in_block_0(&race);
            assert_eq!(
                (writer as isize, (reader + 1) % 64),
                (race.place.index, writer)
            );
        },
    );
    never(|gpu| {
        let mut x = gpu.upload(&x)?;
        // SAFETY: 64 elements.
        unsafe { ring_with_two_barriers::launch(gpu, 1, x.view_mut(), 3)? };
        assert!((0..64).zip(x.to_vec()?).all(|(t, v)| v == (t + 3) % 64));
        Ok(())
    });
}

/// Inclusive prefix sum of 64 elements in place, as Hillis and Steele do with two arrays.
///
/// # Safety
///
/// `x` has 64 elements.
#[kernel(block = 64)]
unsafe fn scan_in_place(x: ViewMut<'_, u32>) {
    let sums = shared_array![u32; 64]; // @sums
    let t = thread::thread_idx_x();
    sums.st(t, x.ld(t));
    thread::sync_threads();
    for step in 0..6 {
        let distance = 1 << step;
        if t >= distance {
            let before = sums.ld(t - distance); // @before
            sums.st(t, sums.ld(t) + before); // @in place
        }
        thread::sync_threads();
    }
    x.st(t, sums.ld(t));
}

/// Inclusive prefix sum of 64 elements, with all reads before all writes.
///
/// # Safety
///
/// As for `scan_in_place`.
#[kernel(block = 64)]
unsafe fn scan_read_then_write(x: ViewMut<'_, u32>) {
    let sums = shared_array![u32; 64];
    let t = thread::thread_idx_x();
    sums.st(t, x.ld(t));
    thread::sync_threads();
    for step in 0..6 {
        let distance = 1 << step;
        let before = if t >= distance {
            sums.ld(t - distance)
        } else {
            0
        };
        thread::sync_threads();
        sums.st(t, sums.ld(t) + before);
        thread::sync_threads();
    }
    x.st(t, sums.ld(t));
}

#[test]
fn scan_in_one_array() {
    always(
        "scan_in_place",
        |gpu| {
            let mut x = gpu.upload(&[1u32; 64])?;
            // SAFETY: 64 elements.
            unsafe { scan_in_place::launch(gpu, 1, x.view_mut()) }
        },
        |fault| {
            let race = HERE.race(fault, [(Store, "in place"), (Load, "before")]);
            HERE.array(&race.place.view, "shared_array![u32; 64]", "sums");
            let [writer, reader] = in_block_0(&race);
            // In the first step already.
            assert_eq!((writer as isize, reader), (race.place.index, writer + 1));
        },
    );
    never(|gpu| {
        let mut x = gpu.upload(&[1u32; 64])?;
        // SAFETY: 64 elements.
        unsafe { scan_read_then_write::launch(gpu, 1, x.view_mut())? };
        assert_eq!(x.to_vec()?, (1..=64).collect::<Vec<u32>>());
        Ok(())
    });
}

/// Some thread whose element is `wanted` says so: they all write.
///
/// # Safety
///
/// `x` has 64 elements, `found` one.
#[kernel(block = 64)]
unsafe fn any_match_wins(x: View<'_, u32>, found: ViewMut<'_, u32>, wanted: u32) {
    let t = thread::thread_idx_x();
    if x.ld(t) == wanted {
        found.st(0u32, t); // @any match
    }
}

/// The first thread whose element is `wanted` says so.
///
/// # Safety
///
/// As for `any_match_wins`.
#[kernel(block = 64)]
unsafe fn first_match_wins(x: View<'_, u32>, found: ViewMut<'_, u32>, wanted: u32) {
    let t = thread::thread_idx_x();
    if x.ld(t) == wanted {
        found.atomic_min(0u32, t);
    }
}

#[test]
fn several_writers_of_one_result() {
    let x: Vec<u32> = (0..64).map(|i| i % 20).collect();
    always(
        "any_match_wins",
        |gpu| {
            let (x, mut found) = (gpu.upload(&x)?, gpu.upload(&[u32::MAX])?);
            // SAFETY: 64 elements and one.
            unsafe { any_match_wins::launch(gpu, 1, x.view(), found.view_mut(), 7) }
        },
        |fault| {
            let race = HERE.race(fault, [(Store, "any match"), (Store, "any match")]);
            element(&race.place, "`found`", 0);
            assert!(in_block_0(&race).iter().all(|t| t % 20 == 7));
        },
    );
    never(|gpu| {
        let (x, mut found) = (gpu.upload(&x)?, gpu.upload(&[u32::MAX])?);
        // SAFETY: 64 elements and one.
        unsafe { first_match_wins::launch(gpu, 1, x.view(), found.view_mut(), 7)? };
        assert_eq!(found.to_vec()?, [7]);
        Ok(())
    });
}

/// Sum of 64 elements, where the last warp does without barriers because it runs "in lockstep".
///
/// # Safety
///
/// `x` has 64 elements, `out` one.
#[kernel(block = 32)]
unsafe fn sum_in_lockstep(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let sums = shared_array![u32; 64]; // @sums of a warp
    let t = thread::thread_idx_x();
    sums.st(t, x.ld(t));
    sums.st(t + 32, x.ld(t + 32));
    thread::sync_threads();
    let mut half = 32;
    while half > 0 {
        let other = sums.ld(t + half); // @other half
        if t < half {
            sums.st(t, sums.ld(t) + other); // @this half
        }
        half /= 2;
    }
    if t == 0 {
        out.st(0u32, sums.ld(0u32));
    }
}

/// Sum of 64 elements in a warp.
///
/// # Safety
///
/// As for `sum_in_lockstep`.
#[kernel(block = 32)]
unsafe fn sum_with_sync_warp(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let sums = shared_array![u32; 64];
    let t = thread::thread_idx_x();
    sums.st(t, x.ld(t));
    sums.st(t + 32, x.ld(t + 32));
    thread::sync_threads();
    let mut half = 32;
    while half > 0 {
        let other = sums.ld(t + half);
        warp::sync_warp(FULL_MASK);
        if t < half {
            sums.st(t, sums.ld(t) + other);
        }
        warp::sync_warp(FULL_MASK);
        half /= 2;
    }
    if t == 0 {
        out.st(0u32, sums.ld(0u32));
    }
}

#[test]
fn warp_in_lockstep() {
    let x: Vec<u32> = (0..64).collect();
    always(
        "sum_in_lockstep",
        |gpu| {
            let (x, mut out) = (gpu.upload(&x)?, gpu.alloc(1)?);
            // SAFETY: 64 elements and one.
            unsafe { sum_in_lockstep::launch(gpu, 1, x.view(), out.view_mut()) }
        },
        |fault| {
            let race = HERE.race(fault, [(Store, "this half"), (Load, "other half")]);
            HERE.array(&race.place.view, "shared_array![u32; 64]", "sums of a warp");
            let [writer, _] = in_block_0(&race);
            assert_eq!(writer as isize, race.place.index);
        },
    );
    never(|gpu| {
        let (x, mut out) = (gpu.upload(&x)?, gpu.alloc(1)?);
        // SAFETY: 64 elements and one.
        unsafe { sum_with_sync_warp::launch(gpu, 1, x.view(), out.view_mut())? };
        assert_eq!(out.to_vec()?, [63 * 32]);
        Ok(())
    });
}

/// Exchanges neighbours through shared memory; a shuffle in between is no barrier.
///
/// # Safety
///
/// `x` has 32 elements.
#[kernel(block = 32)]
unsafe fn exchange_after_shuffle(x: ViewMut<'_, u32>) {
    let tile = shared_array![u32; 32]; // @tile around a shuffle
    let lane = warp::lane_id();
    tile.st(lane, x.ld(lane)); // @before the shuffle
    let (other, _) = warp::warp_shuffle_xor(FULL_MASK, lane, 1, 32);
    x.st(lane, tile.ld(other)); // @after the shuffle
}

/// Exchanges neighbours through shared memory; a vote in between is no barrier.
///
/// # Safety
///
/// As for `exchange_after_shuffle`.
#[kernel(block = 32)]
unsafe fn exchange_after_vote(x: ViewMut<'_, u32>) {
    let tile = shared_array![u32; 32]; // @tile around a vote
    let lane = warp::lane_id();
    tile.st(lane, x.ld(lane)); // @before the vote
    let all = warp::warp_vote_ballot(FULL_MASK, true);
    x.st(lane, tile.ld((lane ^ 1) & all)); // @after the vote
}

/// Exchanges neighbours through shared memory; only the first half of the warp waits.
///
/// # Safety
///
/// As for `exchange_after_shuffle`.
#[kernel(block = 32)]
unsafe fn exchange_with_half_a_barrier(x: ViewMut<'_, u32>) {
    let tile = shared_array![u32; 32]; // @tile of both halves
    let lane = warp::lane_id();
    tile.st(lane, x.ld(31 - lane));
    warp::sync_warp(FULL_MASK);
    tile.st(lane, x.ld(lane)); // @both halves
    if lane < 16 {
        warp::sync_warp(0xffff);
    }
    x.st(lane, tile.ld(lane ^ 16)); // @from the other half
}

/// Exchanges neighbours through shared memory.
///
/// # Safety
///
/// As for `exchange_after_shuffle`.
#[kernel(block = 32)]
unsafe fn exchange_after_sync_warp(x: ViewMut<'_, u32>, distance: u32) {
    let tile = shared_array![u32; 32];
    let lane = warp::lane_id();
    tile.st(lane, x.ld(lane));
    warp::sync_warp(FULL_MASK);
    x.st(lane, tile.ld(lane ^ distance));
}

type Exchange = unsafe fn(
    &cuda_std::emulator::Emulator,
    u32,
    ViewMut<'_, u32>,
) -> Result<(), cuda_std::emulator::EmulatorError>;

/// `kernel` writes at `before` and reads at `after`, from the lane at `distance`.
fn races_in_a_warp(
    (name, kernel): (&'static str, Exchange),
    tile: &str,
    (before, after): (&str, &str),
    distance: u32,
) {
    let x: Vec<u32> = (0..32).collect();
    always(
        name,
        |gpu| {
            let mut x = gpu.upload(&x)?;
            // SAFETY: 32 elements.
            unsafe { kernel(gpu, 1, x.view_mut()) }
        },
        |fault| {
            let race = HERE.race(fault, [(Store, before), (Load, after)]);
            HERE.array(&race.place.view, "shared_array![u32; 32]", tile);
            let [writer, reader] = in_block_0(&race);
            assert_eq!(
                (writer as isize, reader),
                (race.place.index, writer ^ distance)
            );
        },
    );
    never(|gpu| {
        let mut x = gpu.upload(&x)?;
        // SAFETY: 32 elements.
        unsafe { exchange_after_sync_warp::launch(gpu, 1, x.view_mut(), distance)? };
        assert!((0..32).zip(x.to_vec()?).all(|(t, v)| v == t ^ distance));
        Ok(())
    });
}

#[test]
fn shuffle_taken_for_a_barrier() {
    races_in_a_warp(
        ("exchange_after_shuffle", |gpu, grid, x| {
            // SAFETY: the caller's promise.
            unsafe { exchange_after_shuffle::launch(gpu, grid, x) }
        }),
        "tile around a shuffle",
        ("before the shuffle", "after the shuffle"),
        1,
    );
}

#[test]
fn vote_taken_for_a_barrier() {
    races_in_a_warp(
        ("exchange_after_vote", |gpu, grid, x| {
            // SAFETY: the caller's promise.
            unsafe { exchange_after_vote::launch(gpu, grid, x) }
        }),
        "tile around a vote",
        ("before the vote", "after the vote"),
        1,
    );
}

#[test]
fn sync_warp_of_half_the_lanes() {
    races_in_a_warp(
        ("exchange_with_half_a_barrier", |gpu, grid, x| {
            // SAFETY: the caller's promise.
            unsafe { exchange_with_half_a_barrier::launch(gpu, grid, x) }
        }),
        "tile of both halves",
        ("both halves", "from the other half"),
        16,
    );
}

/// The first thread raises a flag atomically; the others look at it as if it were any number.
///
/// # Safety
///
/// `flag` has one element, `out` 64.
#[kernel(block = 64)]
unsafe fn flag_read_plainly(flag: ViewMut<'_, u32>, out: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    if t == 0 {
        flag.st_relaxed(0u32, 1, Block); // @raise
    }
    out.st(t, flag.ld(0u32)); // @look
}

/// The first thread raises a flag, and after a barrier the others see it.
///
/// # Safety
///
/// As for `flag_read_plainly`.
#[kernel(block = 64)]
unsafe fn flag_read_after_barrier(flag: ViewMut<'_, u32>, out: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    if t == 0 {
        flag.st_relaxed(0u32, 1, Block);
    }
    thread::sync_threads();
    out.st(t, flag.ld(0u32));
}

#[test]
fn plain_load_against_atomic_store() {
    always(
        "flag_read_plainly",
        |gpu| {
            let (mut flag, mut out) = (gpu.upload(&[0u32])?, gpu.alloc(64)?);
            // SAFETY: one element and 64.
            unsafe { flag_read_plainly::launch(gpu, 1, flag.view_mut(), out.view_mut()) }
        },
        |fault| {
            let race = HERE.race(fault, [(AtomicStore, "raise"), (Load, "look")]);
            element(&race.place, "`flag`", 0);
            assert_eq!(in_block_0(&race)[0], 0);
        },
    );
    never(|gpu| {
        let (mut flag, mut out) = (gpu.upload(&[0u32])?, gpu.alloc(64)?);
        // SAFETY: one element and 64.
        unsafe { flag_read_after_barrier::launch(gpu, 1, flag.view_mut(), out.view_mut())? };
        assert_eq!(out.to_vec()?, [1; 64]);
        Ok(())
    });
}

/// The first thread sets a counter to zero while others may count already.
///
/// # Safety
///
/// `count` has one element.
#[kernel(block = 64)]
unsafe fn count_without_barrier(count: ViewMut<'_, u32>) {
    if thread::thread_idx_x() == 0 {
        count.st(0u32, 0); // @reset
    }
    count.atomic_add(0u32, 1); // @count
}

/// The first thread sets a counter to zero, then all count.
///
/// # Safety
///
/// As for `count_without_barrier`.
#[kernel(block = 64)]
unsafe fn count_after_barrier(count: ViewMut<'_, u32>) {
    if thread::thread_idx_x() == 0 {
        count.st(0u32, 0);
    }
    thread::sync_threads();
    count.atomic_add(0u32, 1);
}

#[test]
fn plain_store_against_atomic_add() {
    always(
        "count_without_barrier",
        |gpu| {
            let mut count = gpu.upload(&[9u32])?;
            // SAFETY: one element.
            unsafe { count_without_barrier::launch(gpu, 1, count.view_mut()) }
        },
        |fault| {
            let race = HERE.race(fault, [(Store, "reset"), (AtomicUpdate, "count")]);
            element(&race.place, "`count`", 0);
            assert_eq!(in_block_0(&race)[0], 0);
        },
    );
    never(|gpu| {
        let mut count = gpu.upload(&[9u32])?;
        // SAFETY: one element.
        unsafe { count_after_barrier::launch(gpu, 1, count.view_mut())? };
        assert_eq!(count.to_vec()?, [64]);
        Ok(())
    });
}

/// Adds its left neighbour to each element, in place.
///
/// # Safety
///
/// `x` has 64 elements.
#[kernel(block = 64)]
unsafe fn stencil_in_place(x: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    if t > 0 {
        let left = x.ld(t - 1); // @left neighbour
        x.st(t, x.ld(t) + left); // @own element
    }
}

/// Adds its left neighbour to each element; all read before any writes.
///
/// # Safety
///
/// As for `stencil_in_place`.
#[kernel(block = 64)]
unsafe fn stencil_through_barrier(x: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    let left = if t > 0 { x.ld(t - 1) } else { 0 };
    thread::sync_threads();
    x.st(t, x.ld(t) + left);
}

#[test]
fn stencil_in_its_own_input() {
    always(
        "stencil_in_place",
        |gpu| {
            let mut x = gpu.upload(&[1u32; 64])?;
            // SAFETY: 64 elements.
            unsafe { stencil_in_place::launch(gpu, 1, x.view_mut()) }
        },
        |fault| {
            let race = HERE.race(fault, [(Store, "own element"), (Load, "left neighbour")]);
            let [writer, reader] = in_block_0(&race);
            element(&race.place, "`x`", writer as isize);
            assert_eq!(reader, writer + 1);
        },
    );
    never(|gpu| {
        let mut x = gpu.upload(&[1u32; 64])?;
        // SAFETY: 64 elements.
        unsafe { stencil_through_barrier::launch(gpu, 1, x.view_mut())? };
        assert!(
            (0..64)
                .zip(x.to_vec()?)
                .all(|(t, v)| v == 1 + u32::from(t > 0))
        );
        Ok(())
    });
}

/// Reads numbers of 8 bytes whose halves other threads write.
///
/// # Safety
///
/// `words` has 64 elements and `wide` are the same ones, as pairs; `out` has 32.
#[kernel(block = 64)]
unsafe fn halves_and_wholes(words: ViewMut<'_, u32>, wide: View<'_, u64>, out: ViewMut<'_, u64>) {
    let t = thread::thread_idx_x();
    words.st(t, t); // @half
    if t < 32 {
        out.st(t, wide.ld(t)); // @whole
    }
}

/// Reads numbers of 8 bytes whose halves other threads have written.
///
/// # Safety
///
/// As for `halves_and_wholes`.
#[kernel(block = 64)]
unsafe fn halves_then_wholes(words: ViewMut<'_, u32>, wide: View<'_, u64>, out: ViewMut<'_, u64>) {
    let t = thread::thread_idx_x();
    words.st(t, t);
    thread::sync_threads();
    if t < 32 {
        out.st(t, wide.ld(t));
    }
}

/// The accesses have different sizes, and the views different names.
#[test]
fn accesses_that_overlap_in_part() {
    let wide = |words: *const u32| {
        // SAFETY: the tests' 64 words, aligned to 256 bytes.
        unsafe { View::<u64>::from_raw_parts(words.cast(), 32) }
    };
    always(
        "halves_and_wholes",
        |gpu| {
            let (mut words, mut out) = (gpu.upload(&[0u32; 64])?, gpu.alloc(32)?);
            let wide = wide(words.as_ptr());
            // SAFETY: 64 words, and 32 elements.
            unsafe { halves_and_wholes::launch(gpu, 1, words.view_mut(), wide, out.view_mut()) }
        },
        |fault| {
            let race = HERE.race(fault, [(Store, "half"), (Touch::Load, "whole")]);
            assert_eq!(race.place.view, "`words` or `wide`");
            let [writer, reader] = in_block_0(&race);
            assert_eq!(writer / 2, reader);
        },
    );
    never(|gpu| {
        let (mut words, mut out) = (gpu.upload(&[0u32; 64])?, gpu.alloc(32)?);
        let wide = wide(words.as_ptr());
        // SAFETY: 64 words, and 32 elements.
        unsafe { halves_then_wholes::launch(gpu, 1, words.view_mut(), wide, out.view_mut())? };
        let pair = |t: u64| (2 * t) | (2 * t + 1) << 32;
        assert!((0..32).zip(out.to_vec()?).all(|(t, v)| v == pair(t)));
        Ok(())
    });
}
