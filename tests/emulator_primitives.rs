//! The building blocks of a grid by themselves, at the sizes where they change their ways: the
//! stable sort, the barrier, and the loop that loads ahead.
//!
//! Keys and orders of threads follow one seed, which a failure names; `TRAZAR_SEED` replaces it.

use cuda_std::grid::GridBarrier;
use cuda_std::prelude::*;
use trazar::emulator::{Emulator, Schedule};
use trazar_test_support::emulators::{emulator_of, say, seed};
use trazar_test_support::kernels::grid::{Grid, ScanMemory, for_each_loaded};
use trazar_test_support::kernels::partition::Group;
use trazar_test_support::kernels::scan;
use trazar_test_support::kernels::sort::{self, Pairs, SortMemory, sort_pairs};
use trazar_test_support::seeds::Random;

/// Pairs of a tile, and the most tiles whose counts are not scanned.
const TILE: u32 = sort::TILE;
const FEW_TILES: u32 = sort::FEW_TILES;

/// Sorts `n` pairs around a group of `group_count`, whose first index is `group_first`.
///
/// # Safety
///
/// As [`sort_pairs`] says; `block_sums` has one element per block. Nothing else uses these
/// meanwhile.
#[kernel(block = sort::BLOCK, cooperative)]
unsafe fn sort_alone(
    pairs: Pairs<'_>,
    n: u32,
    group_first: u32,
    group_count: u32,
    bits: u32,
    barrier: GridBarrier<'_>,
    block_sums: ViewMut<'_, u32>,
) {
    let memory = SortMemory {
        warps: shared_array![u32; sort::WARP_DIGITS as usize],
        scan: ScanMemory {
            block_sums,
            warp_sums: shared_array![u32; (sort::BLOCK / 32) as usize],
        },
    };
    let group = Group {
        first: group_first,
        count: group_count,
    };
    let Some(grid) = Grid::for_work(barrier, n) else {
        return;
    };
    sort_pairs(grid, pairs, n, group, bits, memory);
}

/// The first block adds up tiles while the others publish them, some after it has looked.
///
/// # Safety
///
/// `status` has `end` elements, which are 0; `out` has one. Nothing else uses them
/// meanwhile.
#[kernel(block = 32, cooperative)]
unsafe fn sum_while_published(
    status: ViewMut<'_, u64>,
    first: u32,
    end: u32,
    out: ViewMut<'_, u32>,
) {
    let lane = thread::thread_idx_x();
    match thread::block_idx_x() {
        0 => {
            let sum = scan::sum_of_tiles(status.as_view(), first, end, lane);
            if lane == 0 {
                out.st(0u32, sum);
            }
        }
        block => {
            let tile = (block - 1) * 32 + lane;
            if tile < end {
                status.st_relaxed(tile, 1 << 32 | u64::from(tile * tile), Device);
            }
        }
    }
}

#[test]
fn sums_of_tiles_that_are_published_meanwhile() {
    for order in seed()..seed() + 6 {
        for (first, end) in [(0, 1), (0, 31), (5, 130), (3, 420)] {
            let blocks = 1 + u32::div_ceil(end, 32);
            let emulator = emulator_of(order).with_multiprocessors(blocks);
            let mut status = emulator.upload(&vec![0u64; end as usize]).unwrap();
            let mut out = emulator.alloc(1).unwrap();
            let (views, sum) = (status.view_mut(), out.view_mut());
            // SAFETY: as the kernel asks.
            unsafe { sum_while_published::launch(&emulator, blocks, views, first, end, sum) }
                .unwrap();
            let expected: u32 = (first..end).map(|tile| tile * tile).sum();
            let what = format!("order {order}, tiles {first} to {end}");
            assert_eq!(
                out.to_vec().unwrap(),
                [expected],
                "not the CPU's sum, {what}"
            );
        }
    }
}

/// `n` keys that differ in these bits alone, many of them equal, and one that has all.
fn keys(random: &mut Random, n: u32, bits: u32) -> Vec<u32> {
    let others = random.below(u32::MAX) & !bits;
    // Half of them from a few values, in all digits.
    let few = [0, 1, bits, bits / 2, bits / 3, bits & 0xff];
    let mut keys: Vec<u32> = (0..n)
        .map(|_| match random.below(2) {
            0 => few[random.below(few.len() as u32) as usize],
            _ => random.below(u32::MAX),
        })
        .map(|key| key & bits | others)
        .collect();
    let at = random.below(n) as usize;
    keys[at] = bits | others;
    keys
}

/// Sorts `n` keys by these bits around a group, which is `None` for no pairs, and compares with the
/// sort of Rust's library.
fn check_sort(emulator: &Emulator, blocks: u32, n: u32, bits: u32, group: Option<Group>) {
    /// What the group's place holds before the sort and after it.
    const UNTOUCHED: u32 = 0xdead_beef;
    let name = format!(
        "{n} keys by bits {bits:#x}, {blocks} blocks, group of {:?}, order {}",
        group.map(|group| (group.first, group.count)),
        emulator.seed()
    );
    let mut random = Random::new(seed() ^ u64::from(n) << 32 ^ u64::from(bits));
    let keys = keys(&mut random, n, bits);
    let group = group.unwrap_or(Group::NONE);
    let mut expected: Vec<(u32, u32)> = keys.iter().copied().zip(0..).collect();
    expected.sort_by_key(|&(key, _)| key);
    // The group is in both arrays, and stays.
    let around = |values: &mut dyn Iterator<Item = u32>| -> Vec<u32> {
        let mut all: Vec<u32> = values.collect();
        let at = group.first.min(n) as usize;
        all.splice(at..at, std::iter::repeat_n(UNTOUCHED, group.count as usize));
        all
    };
    let unsorted = [around(&mut keys.iter().copied()), around(&mut (0..n))];
    let expected = [
        around(&mut expected.iter().map(|&(key, _)| key)),
        around(&mut expected.iter().map(|&(_, value)| value)),
    ];
    let upload = |values: &[u32]| emulator.upload(values).unwrap();
    let empty = vec![UNTOUCHED; unsorted[0].len()];
    let mut first = unsorted.each_ref().map(|values| upload(values));
    let mut second = [(); 2].map(|()| upload(&empty));
    let mut counts = emulator.alloc(sort::counts_len(n) as usize).unwrap();
    let mut barrier = emulator.alloc_zeroed(1).unwrap();
    let mut block_sums = emulator.alloc(blocks as usize).unwrap();
    let pairs = {
        let [keys, values] = &mut first;
        let [other_keys, other_values] = &mut second;
        let pairs = Pairs {
            keys: keys.view_mut(),
            values: values.view_mut(),
            other_keys: other_keys.view_mut(),
            other_values: other_values.view_mut(),
            counts: counts.view_mut(),
        };
        // Where the pairs have to be is where they are.
        pairs.unsorted(bits)
    };
    // SAFETY: `pairs` has the pairs where `unsorted` says, and memory for `n` with the group.
    unsafe {
        sort_alone::launch(
            emulator,
            blocks,
            pairs,
            n,
            group.first,
            group.count,
            bits,
            GridBarrier {
                counter: barrier.view_mut(),
            },
            block_sums.view_mut(),
        )
    }
    .unwrap_or_else(|error| panic!("{name}: {error}"));
    let digits = bits.to_le_bytes().into_iter().filter(|&digit| digit != 0);
    let sorted = if digits.count().is_multiple_of(2) {
        first
    } else {
        second
    };
    let found = sorted.map(|values| values.to_vec().unwrap());
    for (found, expected) in found.iter().zip(&expected) {
        let at = (0..expected.len()).find(|&at| found[at] != expected[at]);
        assert!(at.is_none(), "{name}: not the CPU's order, at {at:?}");
    }
}

/// Around the borders of tiles, with each number of passes, by one block and by several.
#[test]
fn sorts_of_few_tiles() {
    const SIZES: [u32; 6] = [
        TILE - 1,
        TILE,
        TILE + 1,
        2 * TILE - 1,
        2 * TILE,
        2 * TILE + 1,
    ];
    let mut order = 100 * seed();
    for (i, n) in SIZES.into_iter().enumerate() {
        for (j, bits) in [0xff, 0x1ff, 0x1_ffff, u32::MAX].into_iter().enumerate() {
            order += 1;
            let blocks = if (i + j) % 2 == 0 { 1 } else { 3 };
            let emulator = emulator_of(order).with_resident_blocks(blocks);
            check_sort(&emulator, blocks, n, bits, None);
        }
    }
    say("sorts of few tiles", &format!("orders up to {order}"));
}

/// Keys that differ in any of the four digits.
#[test]
fn sorts_by_some_digits() {
    let mut order = 200 * seed();
    for digits in 0..16u8 {
        let of_digits = [0x12, 0xff, 0x80, 0x01];
        let bits = std::array::from_fn(|i| {
            if digits >> i & 1 != 0 {
                of_digits[i]
            } else {
                0
            }
        });
        let bits = u32::from_le_bytes(bits);
        order += 1;
        let emulator = emulator_of(order).with_resident_blocks(2);
        check_sort(&emulator, 2, TILE + 1, bits, None);
    }
    say("sorts by some digits", &format!("orders up to {order}"));
}

/// The bits of keys up to a largest one.
#[test]
fn bits_up_to_the_largest_key() {
    for largest in [0, 1, 2, 3, 4, 255, 256, 1 << 31, u32::MAX] {
        let bits = sort::bits_up_to(largest);
        let smallest_above = u64::from(bits) + 1;
        assert!(largest <= bits && smallest_above.is_power_of_two());
        assert!(bits == 0 || bits / 2 < largest, "{largest}: {bits:#x}");
    }
}

/// As many tiles as every block adds up by itself, and one more, whose counts are scanned.
#[test]
fn sorts_of_many_tiles() {
    for (order, n) in (seed()..).zip([FEW_TILES * TILE, FEW_TILES * TILE + 1]) {
        for blocks in [1, 3] {
            // The quickest order: others are for few tiles.
            let emulator = emulator_of(order).with_schedule(Schedule::InOrder);
            check_sort(
                &emulator.with_resident_blocks(blocks),
                blocks,
                n,
                0xff,
                None,
            );
        }
    }
}

/// A group at the beginning, inside a tile, and at the end stays where it is.
#[test]
fn sorts_around_a_group() {
    let n = TILE + 100;
    for (order, first) in (seed()..).zip([0, 1, 700, TILE, n - 1, n]) {
        let emulator = emulator_of(order).with_resident_blocks(2);
        let group = Group { first, count: 33 };
        check_sort(&emulator, 2, n, 0xffff, Some(group));
    }
}

/// Threads per block of [`meet`].
const MEETING: u32 = 32;

/// The index of this thread's block in a grid of any dimensions, and the number of blocks.
fn block_of_grid() -> (u32, u32) {
    let (x, y, z) = (
        thread::grid_dim_x(),
        thread::grid_dim_y(),
        thread::grid_dim_z(),
    );
    let row = thread::block_idx_z() * y + thread::block_idx_y();
    (row * x + thread::block_idx_x(), x * y * z)
}

/// In each of `rounds` rounds, every thread sends a value made of its number and the round to a
/// thread of another block. `sums` gets the sum of the values that each thread received.
///
/// # Safety
///
/// `received` and `sums` have [`MEETING`] elements per block. Nothing else uses these and the
/// barrier meanwhile.
#[kernel(block = MEETING, cooperative)]
unsafe fn meet(
    received: ViewMut<'_, u32>,
    sums: ViewMut<'_, u32>,
    barrier: GridBarrier<'_>,
    rounds: u32,
) {
    let t = thread::thread_idx_x();
    let (block, blocks) = block_of_grid();
    let own = block * MEETING + t;
    let mut sum = 0;
    for round in 0..rounds {
        let other = (block + 1 + round) % blocks * MEETING + t;
        received.st(other, (own + 1) * (round + 1));
        barrier.sync();
        sum += received.ld(own);
        barrier.sync();
    }
    sums.st(own, sum);
}

/// The barrier is of all blocks, whatever the dimensions of the grid, and is ready for the next
/// grid.
#[test]
fn barriers_of_grids_of_any_dimensions() {
    const ROUNDS: u32 = 3;
    for order in 8 * seed()..8 * seed() + 8 {
        let emulator = emulator_of(order).with_resident_blocks(12);
        let mut counter = emulator.alloc_zeroed(1).unwrap();
        for grid in [
            (4, 3, 1),
            (1, 5, 1),
            (12, 1, 1),
            (2, 1, 3),
            (1, 1, 4),
            (2, 3, 2),
        ] {
            let blocks = grid.0 * grid.1 * grid.2;
            let threads = blocks * MEETING;
            let mut received = emulator.alloc(threads as usize).unwrap();
            let mut sums = emulator.alloc(threads as usize).unwrap();
            let barrier = GridBarrier {
                counter: counter.view_mut(),
            };
            // SAFETY: one element per thread.
            unsafe {
                meet::launch(
                    &emulator,
                    grid,
                    received.view_mut(),
                    sums.view_mut(),
                    barrier,
                    ROUNDS,
                )
            }
            .unwrap_or_else(|error| panic!("{grid:?}, order {order}: {error}"));
            let expected: Vec<u32> = (0..threads)
                .map(|i| {
                    let (block, t) = (i / MEETING, i % MEETING);
                    let sender = |round| (block + ROUNDS * blocks - 1 - round) % blocks;
                    let received = |round| (sender(round) * MEETING + t + 1) * (round + 1);
                    (0..ROUNDS).map(received).sum()
                })
                .collect();
            let found = sums.to_vec().unwrap();
            assert!(
                found == expected,
                "{grid:?}, order {order}: not the CPU's sums"
            );
        }
    }
}

/// Few indices up to the largest that 32 bits hold: none of those past them begins again at 0.
#[test]
fn loops_that_load_ahead_end_below_2_32() {
    for stride in [1 << 28, 1 << 29, (1 << 30) - 1] {
        for first in [0, 1, stride / 2, stride - 1] {
            for count in [0, 1, stride, 3 * stride, 1 << 31, u32::MAX - 1, u32::MAX] {
                let name = format!("from {first} by {stride} up to {count}");
                let expected: Vec<u64> = (u64::from(first)..u64::from(count))
                    .step_by(stride as usize)
                    .collect();
                let is_index = |i: u32| expected.contains(&i.into());
                let mut found = Vec::new();
                let load = |four: [u32; 4]| {
                    // What is past the last index is replaced by the first of the four.
                    for (ahead, i) in (0..).zip(four) {
                        let wanted = u64::from(four[0]) + ahead * u64::from(stride);
                        let wanted = if wanted < count.into() {
                            wanted
                        } else {
                            four[0].into()
                        };
                        assert_eq!(u64::from(i), wanted, "{name}: not the CPU's index to load");
                    }
                    four
                };
                for_each_loaded((first, stride), count, load, |i, loaded| {
                    assert_eq!(i, loaded, "{name}: not the CPU's index of what was loaded");
                    assert!(is_index(i), "{name}: {i} is not the CPU's index");
                    found.push(u64::from(i));
                    assert!(found.len() <= expected.len(), "{name}: not the CPU's end");
                });
                assert_eq!(found, expected, "{name}: not the CPU's indices");
            }
        }
    }
}
