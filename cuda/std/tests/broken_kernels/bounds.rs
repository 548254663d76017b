//! Accesses outside memory or in another block's shared memory, and at addresses that are not
//! aligned.

use cuda_std::emulator::{Emulator, Event, Fault, Touch};
use cuda_std::prelude::*;

use crate::support::{File, always, element, never, xs};

const HERE: File = File("bounds.rs", include_str!("bounds.rs"));

/// Checks an access out of bounds by the thread `(block, thread)` to `index` of `len` elements.
#[track_caller]
fn out_of_bounds(
    fault: &Fault,
    (touch, mark): (Touch, &str),
    thread: (u32, u32),
    (view, at): (&str, isize),
    (elements, available): (usize, usize),
) {
    let Fault::OutOfBounds {
        event,
        place,
        count,
        len,
    } = fault
    else {
        panic!("not out of bounds");
    };
    HERE.event(event, touch, mark);
    assert_eq!(xs(event.thread), thread);
    element(place, view, at);
    assert_eq!((*count, *len), (elements, available));
}

/// Writes its number to each element, and to one more.
///
/// # Safety
///
/// `out` has `n` elements.
#[kernel(block = 64)]
unsafe fn fill_one_more(out: ViewMut<'_, u32>, n: u32) {
    let i = thread::index_1d();
    if i <= n {
        out.st(i, i); // @one more
    }
}

/// Writes its number to each element.
///
/// # Safety
///
/// `out` has `n` elements.
#[kernel(block = 64)]
unsafe fn fill_all(out: ViewMut<'_, u32>, n: u32) {
    let i = thread::index_1d();
    if i < n {
        out.st(i, i);
    }
}

#[test]
fn index_equal_to_the_length() {
    always(
        "fill_one_more",
        |gpu| {
            let mut out = gpu.alloc(100)?;
            // SAFETY: 100 elements; the emulator refuses what lies past them.
            unsafe { fill_one_more::launch(gpu, 2, out.view_mut(), 100) }
        },
        |fault| {
            let access = (Touch::Store, "one more");
            out_of_bounds(fault, access, (1, 36), ("`out`", 100), (1, 100));
        },
    );
    never(|gpu| {
        let mut out = gpu.alloc(100)?;
        // SAFETY: 100 elements.
        unsafe { fill_all::launch(gpu, 2, out.view_mut(), 100)? };
        assert_eq!(out.to_vec()?, (0..100).collect::<Vec<u32>>());
        Ok(())
    });
}

/// The difference of each element and the one before it, also before the first.
///
/// # Safety
///
/// `x` and `out` have a multiple of 64 elements, one per thread.
#[kernel(block = 64)]
unsafe fn differences_unguarded(x: View<'_, i32>, out: ViewMut<'_, i32>) {
    let i = thread::index_1d() as i32;
    out.st(i, x.ld(i) - x.ld(i - 1)); // @before the first
}

/// The difference of each element and the one before it.
///
/// # Safety
///
/// As for `differences_unguarded`.
#[kernel(block = 64)]
unsafe fn differences_guarded(x: View<'_, i32>, out: ViewMut<'_, i32>) {
    let i = thread::index_1d() as i32;
    let before = if i > 0 { x.ld(i - 1) } else { 0 };
    out.st(i, x.ld(i) - before);
}

#[test]
fn negative_index() {
    let x: Vec<i32> = (0..128).map(|i| i * i).collect();
    always(
        "differences_unguarded",
        |gpu| {
            let (x, mut out) = (gpu.upload(&x)?, gpu.alloc(128)?);
            // SAFETY: 128 elements each; the emulator refuses what lies before them.
            unsafe { differences_unguarded::launch(gpu, 2, x.view(), out.view_mut()) }
        },
        |fault| {
            let access = (Touch::Load, "before the first");
            out_of_bounds(fault, access, (0, 0), ("`x`", -1), (1, 128));
        },
    );
    never(|gpu| {
        let (x, mut out) = (gpu.upload(&x)?, gpu.alloc(128)?);
        // SAFETY: 128 elements each.
        unsafe { differences_guarded::launch(gpu, 2, x.view(), out.view_mut())? };
        assert!(
            (1..128)
                .zip(&out.to_vec()?[1..])
                .all(|(i, &d)| d == 2 * i - 1)
        );
        Ok(())
    });
}

/// Doubles four elements per thread, the last four whole although they are fewer.
///
/// # Safety
///
/// `x` and `out` have `n` elements.
#[kernel(block = 32)]
unsafe fn double_by_fours(x: View<'_, u32>, out: ViewMut<'_, u32>, n: u32) {
    let i = 4 * thread::index_1d();
    if i < n {
        let values = x.ld_vector::<4>(i); // @tail of a vector
        for (k, value) in (0..).zip(values) {
            if i + k < n {
                out.st(i + k, 2 * value);
            }
        }
    }
}

/// Doubles four elements per thread; the last ones one by one.
///
/// # Safety
///
/// `x` and `out` have `n` elements.
#[kernel(block = 32)]
unsafe fn double_by_fours_and_ones(x: View<'_, u32>, out: ViewMut<'_, u32>, n: u32) {
    let i = 4 * thread::index_1d();
    if i + 4 <= n {
        out.st_vector(i, x.ld_vector::<4>(i).map(|value| 2 * value));
    } else {
        for k in i..n {
            out.st(k, 2 * x.ld(k));
        }
    }
}

#[test]
fn vector_past_the_end() {
    let x: Vec<u32> = (0..30).collect();
    always(
        "double_by_fours",
        |gpu| {
            let (x, mut out) = (gpu.upload(&x)?, gpu.alloc(30)?);
            // SAFETY: 30 elements each; the emulator refuses what lies past them.
            unsafe { double_by_fours::launch(gpu, 1, x.view(), out.view_mut(), 30) }
        },
        |fault| {
            let access = (Touch::Load, "tail of a vector");
            out_of_bounds(fault, access, (0, 7), ("`x`", 28), (4, 30));
        },
    );
    never(|gpu| {
        let (x, mut out) = (gpu.upload(&x)?, gpu.alloc(30)?);
        // SAFETY: 30 elements each.
        unsafe { double_by_fours_and_ones::launch(gpu, 1, x.view(), out.view_mut(), 30)? };
        assert!((0..30).zip(out.to_vec()?).all(|(i, v)| v == 2 * i));
        Ok(())
    });
}

/// Reverses each block's elements through dynamic shared memory.
///
/// # Safety
///
/// `x` has 64 elements per block, and the launch 256 bytes of dynamic shared memory.
#[kernel(block = 64)]
unsafe fn reverse_in_dynamic_memory(x: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    let i = thread::index_1d();
    // SAFETY: 64 elements of 4 bytes.
    let tile = unsafe { shared::dynamic_shared_mem::<u32>(0, 64) };
    tile.st(t, x.ld(i)); // @past dynamic memory
    thread::sync_threads();
    x.st(i, tile.ld(63 - t));
}

/// The result of `reverse_in_dynamic_memory` with `bytes` bytes, which are enough for `fit`
/// elements.
fn too_little_dynamic_memory(bytes: u32, fit: usize) {
    always(
        "reverse_in_dynamic_memory",
        |gpu| {
            let mut x = gpu.upload(&[1u32; 64])?;
            // SAFETY: 64 elements; the emulator refuses what lies past the shared memory.
            unsafe { reverse_in_dynamic_memory::launch_with_shared(gpu, 1, bytes, x.view_mut()) }
        },
        |fault| {
            let Fault::OutOfBounds {
                event,
                place,
                count,
                len,
            } = fault
            else {
                panic!("not out of bounds");
            };
            HERE.event(event, Touch::Store, "past dynamic memory");
            let (_, t) = xs(event.thread);
            element(place, "the dynamic shared memory", t as isize);
            assert!(t as usize >= fit);
            assert_eq!((*count, *len), (1, fit));
        },
    );
}

#[test]
fn past_dynamic_shared_memory() {
    too_little_dynamic_memory(128, 32);
    never(|gpu| {
        let mut x = gpu.upload(&(0..128).collect::<Vec<u32>>())?;
        // SAFETY: 64 elements for each of two blocks, 256 bytes for 64 elements.
        unsafe { reverse_in_dynamic_memory::launch_with_shared(gpu, 2, 256, x.view_mut())? };
        let expected: Vec<u32> = (0..64).rev().chain((64..128).rev()).collect();
        assert_eq!(x.to_vec()?, expected);
        Ok(())
    });
}

/// The host forgot to ask for dynamic shared memory.
#[test]
fn no_dynamic_shared_memory() {
    too_little_dynamic_memory(0, 0);
}

/// Two arrays in dynamic shared memory, of which the host counted the first only.
///
/// # Safety
///
/// The launch has 128 bytes of dynamic shared memory, and `out` 32 elements.
#[kernel(block = 32)]
unsafe fn second_dynamic_array(out: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    // SAFETY: 16 elements of 4 bytes each, the second after the first.
    let (a, b) = unsafe {
        (
            shared::dynamic_shared_mem::<u32>(0, 16),
            shared::dynamic_shared_mem::<u32>(64, 16),
        )
    };
    if t < 16 {
        a.st(t, t);
    } else {
        b.st(t - 16, t); // @second dynamic array
    }
    thread::sync_threads();
    out.st(t, a.ld(t % 16) + b.ld(t % 16));
}

#[test]
fn dynamic_array_that_starts_at_the_end() {
    always(
        "second_dynamic_array",
        |gpu| {
            let mut out = gpu.alloc(32)?;
            // SAFETY: 32 elements; the emulator refuses what lies past the shared memory.
            unsafe { second_dynamic_array::launch_with_shared(gpu, 1, 64, out.view_mut()) }
        },
        |fault| {
            let Fault::OutOfBounds { event, place, .. } = fault else {
                panic!("not out of bounds");
            };
            HERE.event(event, Touch::Store, "second dynamic array");
            let (_, t) = xs(event.thread);
            let view = "the dynamic shared memory from byte 64 on";
            element(place, view, t as isize - 16);
        },
    );
    never(|gpu| {
        let mut out = gpu.alloc(32)?;
        // SAFETY: 32 elements, 128 bytes for two arrays of 64.
        unsafe { second_dynamic_array::launch_with_shared(gpu, 1, 128, out.view_mut())? };
        assert!(
            (0..32)
                .zip(out.to_vec()?)
                .all(|(t, v)| v == 16 + 2 * (t % 16))
        );
        Ok(())
    });
}

/// Two arrays in dynamic shared memory: 16 counts of 4 bytes, and 16 sums of 8 from byte
/// `sums_from` on.
///
/// # Safety
///
/// The launch has 192 bytes of dynamic shared memory, and `out` 16 elements.
#[kernel(block = 16)]
unsafe fn two_dynamic_arrays(out: ViewMut<'_, u64>, sums_from: u32) {
    let t = thread::thread_idx_x();
    // SAFETY: 64 bytes.
    let counts = unsafe { shared::dynamic_shared_mem::<u32>(0, 16) }; // @counts
    // SAFETY: 128 bytes at a multiple of 8.
    let sums = unsafe { shared::dynamic_shared_mem::<u64>(sums_from as usize, 16) }; // @sums
    counts.st(t, t); // @count
    sums.st(t, 100); // @sum
    thread::sync_threads();
    out.st(t, sums.ld(t) + u64::from(counts.ld(t)));
}

/// The second array starts where half of the first one ends: the report names both.
#[test]
fn dynamic_arrays_that_overlap() {
    let run = |gpu: &Emulator, sums_from| {
        let mut out = gpu.alloc(16)?;
        // SAFETY: 16 elements, and 192 bytes.
        unsafe { two_dynamic_arrays::launch_with_shared(gpu, 1, 192, out.view_mut(), sums_from)? };
        out.to_vec()
    };
    always(
        "two_dynamic_arrays",
        |gpu| run(gpu, 32).map(drop),
        |fault| {
            let race = HERE.race(fault, [(Touch::Store, "count"), (Touch::Store, "sum")]);
            let view = race.place.view;
            let (_, both) = view.split_once(", where arrays overlap: ").expect(&view);
            let (first, second) = both.split_once(", and ").expect(both);
            let mut named = [first, second];
            named.sort_unstable();
            let [counts, sums] = named;
            assert!(
                counts.starts_with("[u32; 16] from byte 0 on, of "),
                "{view}"
            );
            HERE.place(counts, "counts");
            assert!(sums.starts_with("[u64; 16] from byte 32 on, of "), "{view}");
            HERE.place(sums, "sums");
        },
    );
    never(|gpu| {
        let expected: Vec<u64> = (100..116).collect();
        assert_eq!(run(gpu, 64)?, expected);
        Ok(())
    });
}

/// Adds 1 to each element of a view.
///
/// # Safety
///
/// `x` has one element per thread at most.
#[kernel(block = 32)]
unsafe fn increment(x: ViewMut<'_, u64>) {
    let i = thread::index_1d();
    if (i as usize) < x.len() {
        x.st(i, x.ld(i) + 1); // @past the memory
    }
}

#[test]
fn view_longer_than_its_memory() {
    always(
        "increment",
        |gpu| {
            let mut x = gpu.upload(&[0u64; 20])?;
            // SAFETY: wrong, there are 20 elements: the emulator refuses those past them.
            let too_long = unsafe { ViewMut::from_raw_parts(x.as_mut_ptr(), 24) };
            // SAFETY: as above.
            unsafe { increment::launch(gpu, 1, too_long) }
        },
        |fault| {
            let Fault::OutOfBounds {
                event,
                place,
                count,
                len,
            } = fault
            else {
                panic!("not out of bounds");
            };
            HERE.event(event, Touch::Load, "past the memory");
            let (_, t) = xs(event.thread);
            element(place, "`x`", t as isize);
            assert!((20..24).contains(&t));
            assert_eq!((*count, *len), (1, 20));
        },
    );
    never(|gpu| {
        let mut x = gpu.upload(&[4u64; 20])?;
        // SAFETY: 20 elements.
        unsafe { increment::launch(gpu, 1, x.view_mut())? };
        assert_eq!(x.to_vec()?, [5; 20]);
        Ok(())
    });
}

/// Sums of neighbours in a tile that has no room for the last thread's neighbour.
///
/// # Safety
///
/// `x` has 65 elements, `out` 64.
#[kernel(block = 64)]
unsafe fn neighbours_without_halo(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let tile = shared_array![u32; 64]; // @tile without halo
    let t = thread::thread_idx_x();
    tile.st(t, x.ld(t));
    thread::sync_threads();
    out.st(t, tile.ld(t) + tile.ld(t + 1)); // @past the tile
}

/// Sums of neighbours in a tile.
///
/// # Safety
///
/// As for `neighbours_without_halo`.
#[kernel(block = 64)]
unsafe fn neighbours_with_halo(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let tile = shared_array![u32; 65];
    let t = thread::thread_idx_x();
    tile.st(t, x.ld(t));
    if t == 0 {
        tile.st(64u32, x.ld(64u32));
    }
    thread::sync_threads();
    out.st(t, tile.ld(t) + tile.ld(t + 1));
}

#[test]
fn past_a_shared_array() {
    let x: Vec<u32> = (0..65).collect();
    always(
        "neighbours_without_halo",
        |gpu| {
            let (x, mut out) = (gpu.upload(&x)?, gpu.alloc(64)?);
            // SAFETY: 65 and 64 elements; the emulator refuses what lies past the tile.
            unsafe { neighbours_without_halo::launch(gpu, 1, x.view(), out.view_mut()) }
        },
        |fault| {
            let Fault::OutOfBounds {
                event, place, len, ..
            } = fault
            else {
                panic!("not out of bounds");
            };
            HERE.event(event, Touch::Load, "past the tile");
            HERE.array(&place.view, "shared_array![u32; 64]", "tile without halo");
            assert_eq!((xs(event.thread), place.index, *len), ((0, 63), 64, 64));
        },
    );
    never(|gpu| {
        let (x, mut out) = (gpu.upload(&x)?, gpu.alloc(64)?);
        // SAFETY: 65 and 64 elements.
        unsafe { neighbours_with_halo::launch(gpu, 1, x.view(), out.view_mut())? };
        assert!((0..64).zip(out.to_vec()?).all(|(t, v)| v == 2 * t + 1));
        Ok(())
    });
}

/// Writes its column to each pixel, with row and column exchanged.
///
/// # Safety
///
/// `out` has 16 × 4 elements.
#[kernel(block = (16, 4))]
unsafe fn columns_transposed(out: ViewMut<'_, u32>) {
    let (x, y) = thread::index_2d();
    out.st(x * 16 + y, x); // @row and column
}

/// Writes its column to each pixel.
///
/// # Safety
///
/// As for `columns_transposed`.
#[kernel(block = (16, 4))]
unsafe fn columns(out: ViewMut<'_, u32>) {
    let (x, y) = thread::index_2d();
    out.st(y * 16 + x, x);
}

#[test]
fn row_and_column_exchanged() {
    always(
        "columns_transposed",
        |gpu| {
            let mut out = gpu.alloc(64)?;
            // SAFETY: 64 elements; the emulator refuses what lies past them.
            unsafe { columns_transposed::launch(gpu, 1, out.view_mut()) }
        },
        |fault| {
            let Fault::OutOfBounds {
                event, place, len, ..
            } = fault
            else {
                panic!("not out of bounds");
            };
            HERE.event(event, Touch::Store, "row and column");
            let Dim3 { x, y, z } = event.thread.thread;
            element(place, "`out`", (16 * x + y) as isize);
            assert!(x >= 4 && z == 0);
            assert_eq!(*len, 64);
        },
    );
    never(|gpu| {
        let mut out = gpu.alloc(64)?;
        // SAFETY: 64 elements.
        unsafe { columns::launch(gpu, 1, out.view_mut())? };
        assert!((0..64).zip(out.to_vec()?).all(|(i, v)| v == i % 16));
        Ok(())
    });
}

/// Sums of pairs, read from every place instead of every second.
///
/// # Safety
///
/// `x` has 64 elements, `out` 32.
#[kernel(block = 32)]
unsafe fn pairs_at_odd_places(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    let [a, b] = x.ld_vector::<2>(t); // @odd place
    out.st(t, a + b);
}

/// Sums of pairs.
///
/// # Safety
///
/// As for `pairs_at_odd_places`.
#[kernel(block = 32)]
unsafe fn pairs(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    let [a, b] = x.ld_vector::<2>(2 * t);
    out.st(t, a + b);
}

/// Checks a misaligned load by a thread of block 0; returns the event, and its address modulo 256.
#[track_caller]
fn misaligned<'a>(fault: &'a Fault, mark: &str, view: &str, wanted: usize) -> (&'a Event, usize) {
    let Fault::Misaligned {
        event,
        place,
        address,
        alignment,
    } = fault
    else {
        panic!("not misaligned");
    };
    HERE.event(event, Touch::Load, mark);
    element(place, view, xs(event.thread).1 as isize);
    assert_eq!(*alignment, wanted);
    (event, *address)
}

#[test]
fn vector_at_an_odd_index() {
    let x: Vec<u32> = (0..64).collect();
    always(
        "pairs_at_odd_places",
        |gpu| {
            let (x, mut out) = (gpu.upload(&x)?, gpu.alloc(32)?);
            // SAFETY: 64 and 32 elements; the emulator refuses misaligned accesses.
            unsafe { pairs_at_odd_places::launch(gpu, 1, x.view(), out.view_mut()) }
        },
        |fault| {
            let (event, address) = misaligned(fault, "odd place", "`x`", 8);
            let (_, t) = xs(event.thread);
            assert_eq!((t % 2, address), (1, 4 * t as usize));
        },
    );
    never(|gpu| {
        let (x, mut out) = (gpu.upload(&x)?, gpu.alloc(32)?);
        // SAFETY: 64 and 32 elements.
        unsafe { pairs::launch(gpu, 1, x.view(), out.view_mut())? };
        assert!((0..32).zip(out.to_vec()?).all(|(t, v)| v == 4 * t + 1));
        Ok(())
    });
}

/// Copies numbers.
///
/// # Safety
///
/// `x` and `out` have 32 elements.
#[kernel(block = 32)]
unsafe fn copy_numbers(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    out.st(t, x.ld(t)); // @cast view
}

/// Numbers after a header of six bytes, cast where they are; and after a header of eight.
#[test]
fn cast_view() {
    let run = |gpu: &cuda_std::emulator::Emulator, header: usize| {
        let mut bytes = vec![0u8; header];
        bytes.extend((0..32u32).flat_map(u32::to_ne_bytes));
        let bytes = gpu.upload(&bytes)?;
        let mut out = gpu.alloc(32)?;
        let start = bytes.as_ptr().wrapping_add(header).cast::<u32>();
        // SAFETY: 32 numbers after the header; whether they are aligned is what is tested.
        let x = unsafe { View::from_raw_parts(start, 32) };
        // SAFETY: 32 elements each.
        unsafe { copy_numbers::launch(gpu, 1, x, out.view_mut())? };
        out.to_vec()
    };
    always(
        "copy_numbers",
        |gpu| run(gpu, 6).map(|_| ()),
        |fault| {
            let (event, address) = misaligned(fault, "cast view", "`x`", 4);
            assert_eq!(address, 6 + 4 * xs(event.thread).1 as usize);
        },
    );
    never(|gpu| {
        assert_eq!(run(gpu, 8)?, (0..32).collect::<Vec<u32>>());
        Ok(())
    });
}

/// Checks a load of memory that is not the device's.
#[track_caller]
fn not_device_memory(fault: &Fault) {
    let Fault::NotDeviceMemory { event, place } = fault else {
        panic!("not about other memory");
    };
    HERE.event(event, Touch::Load, "cast view");
    element(place, "`x`", xs(event.thread).1 as isize);
}

#[test]
fn host_memory() {
    let host: Vec<u32> = (0..32).collect();
    always(
        "copy_numbers",
        |gpu| {
            let mut out = gpu.alloc(32)?;
            // SAFETY: 32 elements, but of the host: the emulator refuses them.
            let x = unsafe { View::from_raw_parts(host.as_ptr(), 32) };
            // SAFETY: as above.
            unsafe { copy_numbers::launch(gpu, 1, x, out.view_mut()) }
        },
        not_device_memory,
    );
    never(|gpu| {
        let (x, mut out) = (gpu.upload(&host)?, gpu.alloc(32)?);
        // SAFETY: 32 elements each.
        unsafe { copy_numbers::launch(gpu, 1, x.view(), out.view_mut())? };
        assert_eq!(out.to_vec()?, host);
        Ok(())
    });
}

#[test]
fn freed_memory() {
    always(
        "copy_numbers",
        |gpu| {
            let mut out = gpu.alloc(32)?;
            let freed = gpu.upload(&[1u32; 32])?.as_ptr();
            // SAFETY: 32 elements that were freed: the emulator refuses them.
            let x = unsafe { View::from_raw_parts(freed, 32) };
            // SAFETY: as above.
            unsafe { copy_numbers::launch(gpu, 1, x, out.view_mut()) }
        },
        not_device_memory,
    );
    never(|gpu| {
        let (x, mut out) = (gpu.upload(&[1u32; 32])?, gpu.alloc(32)?);
        // SAFETY: 32 elements each.
        unsafe { copy_numbers::launch(gpu, 1, x.view(), out.view_mut())? };
        assert_eq!(out.to_vec()?, [1; 32]);
        Ok(())
    });
}

/// Copies the first element to all; an empty view has none.
///
/// # Safety
///
/// `x` has an element, `out` 32.
#[kernel(block = 32)]
unsafe fn copy_the_first(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    out.st(thread::thread_idx_x(), x.ld(0u32)); // @first of none
}

/// Copies the first element to all, and 0 if there is none.
///
/// # Safety
///
/// `out` has 32 elements.
#[kernel(block = 32)]
unsafe fn copy_the_first_or_zero(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let value = if x.is_empty() { 0 } else { x.ld(0u32) };
    out.st(thread::thread_idx_x(), value);
}

#[test]
fn empty_view() {
    always(
        "copy_the_first",
        |gpu| {
            let (x, mut out) = (gpu.alloc(0)?, gpu.alloc(32)?);
            // SAFETY: 32 elements; the emulator refuses what the other view does not have.
            unsafe { copy_the_first::launch(gpu, 1, x.view(), out.view_mut()) }
        },
        |fault| {
            let Fault::OutOfBounds {
                event, place, len, ..
            } = fault
            else {
                panic!("not out of bounds");
            };
            HERE.event(event, Touch::Load, "first of none");
            element(place, "`x`", 0);
            assert_eq!(*len, 0);
        },
    );
    never(|gpu| {
        let (x, mut out) = (gpu.alloc(0)?, gpu.alloc(32)?);
        // SAFETY: 32 elements.
        unsafe { copy_the_first_or_zero::launch(gpu, 1, x.view(), out.view_mut())? };
        assert_eq!(out.to_vec()?, [0; 32]);
        Ok(())
    });
}

/// Copies the element two places before, also for the first two.
///
/// # Safety
///
/// `x` and `out` have 32 elements.
#[kernel(block = 32)]
unsafe fn copy_from_before(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x() as i32;
    if t != 1 {
        out.st(t, x.ld(t - 2)); // @two before
    }
}

/// Copies the element two places before, and 0 if there is none.
///
/// # Safety
///
/// As for `copy_from_before`.
#[kernel(block = 32)]
unsafe fn copy_from_before_or_zero(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x() as i32;
    out.st(t, if t >= 2 { x.ld(t - 2) } else { 0 });
}

/// A host that does not know a view's length claims the largest.
#[test]
fn negative_index_into_a_view_without_end() {
    always(
        "copy_from_before",
        |gpu| {
            let (x, mut out) = (gpu.upload(&[1; 32])?, gpu.alloc(32)?);
            // SAFETY: wrong, there are 32 elements: the emulator refuses all others.
            let endless = unsafe { View::from_raw_parts(x.as_ptr(), usize::MAX) };
            // SAFETY: as above.
            unsafe { copy_from_before::launch(gpu, 1, endless, out.view_mut()) }
        },
        |fault| {
            let Fault::OutOfBounds { event, place, .. } = fault else {
                panic!("not out of bounds");
            };
            HERE.event(event, Touch::Load, "two before");
            assert_eq!(xs(event.thread), (0, 0));
            element(place, "`x`", -2);
        },
    );
    never(|gpu| {
        let (x, mut out) = (gpu.upload(&[1; 32])?, gpu.alloc(32)?);
        // SAFETY: 32 elements each.
        unsafe { copy_from_before_or_zero::launch(gpu, 1, x.view(), out.view_mut())? };
        assert_eq!(out.to_vec()?[..4], [0, 0, 1, 1]);
        Ok(())
    });
}

/// Block 1 reads the shared memory of block 0, which has published its address.
///
/// # Safety
///
/// `address` has one element, which is 0, `out` one; the grid has two blocks.
#[kernel(block = 1)]
unsafe fn reads_another_blocks_tile(address: ViewMut<'_, u64>, out: ViewMut<'_, u32>) {
    let tile = shared_array![u32; 8]; // @tile of block 0
    if thread::block_idx_x() == 0 {
        tile.st(3u32, 42);
        let told = tile.as_ptr().expose_provenance() as u64;
        address.st_release(0u32, told, Device);
    } else {
        let mut told = 0;
        while told == 0 {
            told = address.ld_acquire(0u32, Device);
        }
        let theirs = core::ptr::with_exposed_provenance_mut(told as usize);
        // SAFETY: wrong, it is another block's memory: the emulator refuses it.
        let theirs = unsafe { SharedView::<u32>::from_raw_parts(theirs, 8) };
        out.st(0u32, theirs.ld(3u32)); // @read of another block's tile
    }
}

/// Block 1 reads what block 0 has copied to global memory.
///
/// # Safety
///
/// `message` has one element, which is 0, `out` one; the grid has two blocks.
#[kernel(block = 1, cooperative)]
unsafe fn reads_another_blocks_message(message: ViewMut<'_, u64>, out: ViewMut<'_, u32>) {
    if thread::block_idx_x() == 0 {
        message.st_release(0u32, 42, Device);
    } else {
        let mut told = 0;
        while told == 0 {
            told = message.ld_acquire(0u32, Device);
        }
        out.st(0u32, told as u32);
    }
}

#[test]
fn shared_memory_of_another_block() {
    always(
        "reads_another_blocks_tile",
        |gpu| {
            let (mut address, mut out) = (gpu.upload(&[0])?, gpu.alloc(1)?);
            let (address, out) = (address.view_mut(), out.view_mut());
            // SAFETY: one element each, two blocks; the emulator refuses the foreign memory.
            unsafe { reads_another_blocks_tile::launch(gpu, 2, address, out) }
        },
        |fault| {
            let Fault::ForeignSharedMemory {
                event,
                place,
                owner,
            } = fault
            else {
                panic!("not foreign");
            };
            HERE.event(event, Touch::Load, "read of another block's tile");
            HERE.array(&place.view, "shared_array![u32; 8]", "tile of block 0");
            assert_eq!((xs(event.thread), place.index), ((1, 0), 3));
            assert_eq!((owner.x, owner.y, owner.z), (0, 0, 0));
        },
    );
    never(|gpu| {
        let (mut message, mut out) = (gpu.upload(&[0])?, gpu.alloc(1)?);
        let (message, view) = (message.view_mut(), out.view_mut());
        // SAFETY: one element each, two blocks.
        unsafe { reads_another_blocks_message::launch(gpu, 2, message, view)? };
        assert_eq!(out.to_vec()?, [42]);
        Ok(())
    });
}
