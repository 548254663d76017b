//! Launches with impossible shapes, another block's shared memory, and panics.

use cuda_std::emulator::Touch::{Load, ReadOnlyLoad, Store};
use cuda_std::emulator::{Emulator, EmulatorError, Fault};
use cuda_std::prelude::*;

use crate::support::{File, always, element, never, xs};

const HERE: File = File("arguments.rs", include_str!("arguments.rs"));

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
            HERE.event(event, Load, "read of another block's tile");
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

/// Reverses 64 elements through global memory, read through the read-only cache after a barrier.
///
/// # Safety
///
/// `x` and `scratch` have 64 elements.
#[kernel(block = 64)]
unsafe fn reads_its_writes_read_only(x: ViewMut<'_, u32>, scratch: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    scratch.st(t, x.ld(t)); // @written scratch
    thread::sync_threads();
    x.st(t, scratch.as_view().ldg(63 - t)); // @read-only scratch
}

/// Reverses 64 elements through global memory.
///
/// # Safety
///
/// As for `reads_its_writes_read_only`.
#[kernel(block = 64)]
unsafe fn reads_its_writes(x: ViewMut<'_, u32>, scratch: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    scratch.st(t, x.ld(t));
    thread::sync_threads();
    x.st(t, scratch.ld(63 - t));
}

/// Doubles each element in place, read through the read-only cache.
///
/// # Safety
///
/// `x` and `out` have 64 elements.
#[kernel(block = 64)]
unsafe fn doubles_read_only(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    let value = x.ldg(t); // @read-only input
    out.st(t, 2 * value); // @written output
}

#[test]
fn read_only_load_of_what_the_kernel_wrote() {
    let x: Vec<u32> = (0..64).collect();
    always(
        "reads_its_writes_read_only",
        |gpu| {
            let (mut x, mut scratch) = (gpu.upload(&x)?, gpu.alloc(64)?);
            let (x, scratch) = (x.view_mut(), scratch.view_mut());
            // SAFETY: 64 elements each.
            unsafe { reads_its_writes_read_only::launch(gpu, 1, x, scratch) }
        },
        |fault| {
            let Fault::ReadOnlyWritten { place, load, store } = fault else {
                panic!("not read-only");
            };
            HERE.event(load, ReadOnlyLoad, "read-only scratch");
            HERE.event(store, Store, "written scratch");
            let (reader, writer) = (xs(load.thread).1, xs(store.thread).1);
            element(place, "`scratch`", writer as isize);
            assert_eq!(reader, 63 - writer);
        },
    );
    never(|gpu| {
        let (mut x, mut scratch) = (gpu.upload(&x)?, gpu.alloc(64)?);
        // SAFETY: 64 elements each.
        unsafe { reads_its_writes::launch(gpu, 1, x.view_mut(), scratch.view_mut())? };
        assert_eq!(x.to_vec()?, (0..64).rev().collect::<Vec<u32>>());
        Ok(())
    });
}

/// The output of a kernel that reads its input as read-only is the input.
#[test]
fn read_only_load_of_what_the_kernel_writes_later() {
    let x: Vec<u32> = (0..64).collect();
    always(
        "doubles_read_only",
        |gpu| {
            let mut x = gpu.upload(&x)?;
            // SAFETY: 64 elements; that the two views are one memory is what is tested.
            let same = unsafe { View::from_raw_parts(x.as_ptr(), 64) };
            // SAFETY: as above.
            unsafe { doubles_read_only::launch(gpu, 1, same, x.view_mut()) }
        },
        |fault| {
            let Fault::ReadOnlyWritten { place, load, store } = fault else {
                panic!("not read-only");
            };
            HERE.event(load, ReadOnlyLoad, "read-only input");
            HERE.event(store, Store, "written output");
            assert_eq!(load.thread, store.thread);
            element(place, "`x` or `out`", xs(load.thread).1 as isize);
        },
    );
    never(|gpu| {
        let (x, mut out) = (gpu.upload(&x)?, gpu.alloc(64)?);
        // SAFETY: 64 elements each.
        unsafe { doubles_read_only::launch(gpu, 1, x.view(), out.view_mut())? };
        assert!((0..64).zip(out.to_vec()?).all(|(t, v)| v == 2 * t));
        Ok(())
    });
}

/// Two tiles of 32 KiB.
///
/// # Safety
///
/// `x` has 32 elements.
#[kernel(block = 32)]
unsafe fn two_large_tiles(x: ViewMut<'_, u32>) {
    let a = shared_array![u32; 8192];
    let b = shared_array![u32; 8192]; // @second large tile
    let t = thread::thread_idx_x();
    a.st(t, x.ld(t));
    b.st(t, a.ld(t) + 1);
    x.st(t, b.ld(t));
}

/// Two tiles of 16 KiB.
///
/// # Safety
///
/// As for `two_large_tiles`.
#[kernel(block = 32)]
unsafe fn two_small_tiles(x: ViewMut<'_, u32>) {
    let a = shared_array![u32; 4096];
    let b = shared_array![u32; 4096]; // @second small tile
    let t = thread::thread_idx_x();
    a.st(t, x.ld(t));
    b.st(t, a.ld(t) + 1);
    x.st(t, b.ld(t));
}

#[track_caller]
fn too_much_shared(fault: &Fault, mark: &str, sizes: (usize, usize)) {
    let Fault::TooMuchShared {
        thread,
        source,
        bytes,
        limit,
    } = fault
    else {
        panic!("not too much");
    };
    HERE.source(source, mark);
    assert_eq!(xs(*thread).0, 0);
    assert_eq!((*bytes, *limit), sizes);
}

#[test]
fn more_shared_memory_than_there_is() {
    always(
        "two_large_tiles",
        |gpu| {
            let mut x = gpu.upload(&[1; 32])?;
            // SAFETY: 32 elements.
            unsafe { two_large_tiles::launch(gpu, 1, x.view_mut()) }
        },
        |fault| too_much_shared(fault, "second large tile", (64 << 10, 48 << 10)),
    );
    never(|gpu| {
        let mut x = gpu.upload(&[1; 64])?;
        // SAFETY: 32 elements.
        unsafe { two_small_tiles::launch(gpu, 1, x.view_mut())? };
        Ok(())
    });
}

/// Static and dynamic arrays share one memory.
#[test]
fn more_static_and_dynamic_memory_than_there_is() {
    always(
        "two_small_tiles",
        |gpu| {
            let gpu = &gpu.clone().with_shared_per_block(227 << 10);
            let mut x = gpu.upload(&[1; 32])?;
            // SAFETY: 32 elements.
            unsafe { two_small_tiles::launch_with_shared(gpu, 1, 200 << 10, x.view_mut()) }
        },
        |fault| too_much_shared(fault, "second small tile", (32 << 10, 27 << 10)),
    );
    always(
        "two_small_tiles",
        |gpu| {
            let gpu = &gpu.clone().with_shared_per_block(48 << 10);
            let mut x = gpu.upload(&[1; 32])?;
            // SAFETY: 32 elements.
            unsafe { two_small_tiles::launch_with_shared(gpu, 1, 17 << 10, x.view_mut()) }
        },
        |fault| too_much_shared(fault, "second small tile", (32 << 10, 31 << 10)),
    );
    never(|gpu| {
        let mut x = gpu.upload(&[1; 32])?;
        // On every device: the block's shared memory without the static arrays.
        let dynamic = gpu.shared_per_block() - (32 << 10);
        // SAFETY: 32 elements.
        unsafe { two_small_tiles::launch_with_shared(gpu, 1, dynamic, x.view_mut()) }
    });
}

/// A launch that asks for more dynamic shared memory than this device has, though others have it.
#[test]
fn more_dynamic_memory_than_the_device_has() {
    for kib in [48, 64, 99, 163, 227] {
        let launch = |gpu: &Emulator, bytes| {
            let gpu = &gpu.clone().with_shared_per_block(kib << 10);
            let mut x = gpu.upload(&[1; 32])?;
            // SAFETY: 32 elements.
            unsafe { table_of_four::launch_with_shared(gpu, 1, bytes, x.view_mut()) }
        };
        always(
            "table_of_four",
            |gpu| launch(gpu, (kib << 10) + 1),
            |fault| {
                let Fault::BadLaunch { why } = fault else {
                    panic!("not a bad launch");
                };
                let text = format!("this device has at most {}", kib << 10);
                assert!(why.ends_with(&text), "{why}");
            },
        );
        never(|gpu| launch(gpu, kib << 10));
    }
}

/// Copies the element before, whose index wraps around for the first.
///
/// # Safety
///
/// `x` and `out` have 32 elements.
#[kernel(block = 32)]
unsafe fn index_that_wraps(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    let before = t - 1; // @wrapping index
    out.st(t, if t > 0 { x.ld(before) } else { 0 });
}

/// Copies the element before.
///
/// # Safety
///
/// As for `index_that_wraps`.
#[kernel(block = 32)]
unsafe fn index_that_does_not_wrap(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    out.st(t, if t > 0 { x.ld(t - 1) } else { 0 });
}

/// Looks values up in an array of four.
///
/// # Safety
///
/// `x` has 32 elements.
#[kernel(block = 32)]
unsafe fn table_of_four(x: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    let table = [3, 1, 4, 1];
    let place = x.ld(t) as usize;
    x.st(t, table[place]); // @past the table
}

/// A panic of the thread in block 0 at the mark, with that message.
#[track_caller]
fn panicked(fault: &Fault, t: u32, text: &str, mark: &str) {
    let Fault::Panic { thread, message } = fault else {
        panic!("no panic");
    };
    assert_eq!(xs(*thread), (0, t));
    let (what, place) = message.split_once(", at ").expect("a place");
    assert_eq!(what, text);
    HERE.place(place, mark);
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "overflow goes unnoticed")]
fn overflow() {
    let x: Vec<u32> = (1..=32).collect();
    always(
        "index_that_wraps",
        |gpu| {
            let (x, mut out) = (gpu.upload(&x)?, gpu.alloc(32)?);
            // SAFETY: 32 elements each.
            unsafe { index_that_wraps::launch(gpu, 1, x.view(), out.view_mut()) }
        },
        |fault| {
            let text = "attempt to subtract with overflow";
            panicked(fault, 0, text, "wrapping index");
        },
    );
    never(|gpu| {
        let (x, mut out) = (gpu.upload(&x)?, gpu.alloc(32)?);
        // SAFETY: 32 elements each.
        unsafe { index_that_does_not_wrap::launch(gpu, 1, x.view(), out.view_mut())? };
        assert_eq!(out.to_vec()?, (0..32).collect::<Vec<u32>>());
        Ok(())
    });
}

#[test]
fn array_index() {
    let mut x: Vec<u32> = (0..32).map(|i| i % 4).collect();
    never(|gpu| {
        let mut x = gpu.upload(&x)?;
        // SAFETY: 32 elements.
        unsafe { table_of_four::launch(gpu, 1, x.view_mut())? };
        assert_eq!(x.to_vec()?, [3, 1, 4, 1].repeat(8));
        Ok(())
    });
    x[7] = 4;
    always(
        "table_of_four",
        |gpu| {
            let mut x = gpu.upload(&x)?;
            // SAFETY: 32 elements.
            unsafe { table_of_four::launch(gpu, 1, x.view_mut()) }
        },
        |fault| {
            let text = "index out of bounds: the len is 4 but the index is 4";
            panicked(fault, 7, text, "past the table");
        },
    );
}

/// Launches a kernel from a kernel.
///
/// # Safety
///
/// `x` has 32 elements.
#[kernel(block = 1)]
unsafe fn launches_a_kernel(x: ViewMut<'_, u32>) {
    // SAFETY: the caller's promise.
    let error = unsafe { table_of_four::launch(&Emulator::new(0), 1, x) }.unwrap_err();
    panic!("{error}"); // @nested launch
}

#[test]
fn launch_from_a_kernel() {
    always(
        "launches_a_kernel",
        |gpu| {
            let mut x = gpu.upload(&[0; 32])?;
            // SAFETY: 32 elements.
            unsafe { launches_a_kernel::launch(gpu, 1, x.view_mut()) }
        },
        |fault| {
            let Fault::Panic { message, .. } = fault else {
                panic!("no panic");
            };
            assert!(message.contains("a kernel runs on this thread, and can't launch another"));
        },
    );
}

#[test]
fn launch_with_a_shape_that_can_not_be() {
    let config = |grid, block, dynamic_shared| LaunchConfig {
        grid,
        block,
        dynamic_shared,
    };
    let block = Dim3::from(32);
    let shapes: [(LaunchConfig, &str); 7] = [
        (config(Dim3::from(0), block, 0), "its grid is 0 × 1 × 1"),
        (
            config(Dim3::from((3, 0)), block, 0),
            "its grid is 3 × 0 × 1",
        ),
        (
            config(Dim3::from(1), Dim3::from(64), 0),
            "32 × 1 × 1 threads",
        ),
        (
            config(Dim3::from(1), Dim3::from(0), 0),
            "its block is 0 × 1 × 1",
        ),
        (config(Dim3::from(1), block, 228 << 10), "233472 bytes"),
        (config(Dim3::from((1, 65536)), block, 0), "65535"),
        (config(Dim3::from((1, 1, 65536)), block, 0), "65535"),
    ];
    for (shape, text) in shapes {
        always(
            "table_of_four",
            |gpu| {
                let mut x = gpu.upload(&[0; 32])?;
                let x = x.view_mut();
                // SAFETY: the kernel's one argument; nothing runs.
                unsafe { gpu.launch(&table_of_four::SPEC, shape, &[(&raw const x).cast()]) }
            },
            |fault| {
                let Fault::BadLaunch { why } = fault else {
                    panic!("not a bad launch");
                };
                assert!(why.contains(text), "{why}");
            },
        );
    }
    never(|gpu| {
        let mut x = gpu.upload(&[0; 32])?;
        let most = gpu.shared_per_block();
        let (x, shape) = (x.view_mut(), config(Dim3::from(1), block, most));
        // SAFETY: the kernel's one argument, of 32 elements.
        unsafe { gpu.launch(&table_of_four::SPEC, shape, &[(&raw const x).cast()]) }
    });
}

/// Threads per block of `counts_threads`.
const COUNTED: u32 = 48;

/// Counts the threads.
///
/// # Safety
///
/// `count` has one element.
#[kernel(block = COUNTED)]
unsafe fn counts_threads(count: ViewMut<'_, u32>) {
    count.atomic_add(0u32, 1);
}

#[test]
fn launch_of_a_number_of_threads() {
    assert_eq!(counts_threads::SPEC.block, Dim3::from(COUNTED));
    never(|gpu| {
        for (threads, expected) in [(0usize, 0), (1, 48), (48, 48), (49, 96), (100, 144)] {
            let mut count = gpu.upload(&[0])?;
            // SAFETY: one element.
            unsafe { counts_threads::launch_threads(gpu, threads, count.view_mut())? };
            assert_eq!(count.to_vec()?, [expected]);
        }
        Ok(())
    });
    // A grid has at most 2³¹ - 1 blocks along x.
    for threads in [u64::from(COUNTED) << 31, 1 << 38, u64::MAX] {
        always(
            "counts_threads",
            |gpu| {
                let mut count = gpu.upload(&[0])?;
                // SAFETY: one element.
                unsafe { counts_threads::launch_threads(gpu, threads, count.view_mut()) }
            },
            |fault| {
                let Fault::BadLaunch { why } = fault else {
                    panic!("not a bad launch");
                };
                assert!(why.contains("2147483647 at most"), "{why}");
            },
        );
    }
}

#[test]
fn launch_without_its_arguments() {
    always(
        "table_of_four",
        |gpu: &Emulator| -> Result<(), EmulatorError> {
            let shape = LaunchConfig {
                grid: Dim3::from(1),
                block: Dim3::from(32),
                dynamic_shared: 0,
            };
            // SAFETY: nothing runs.
            unsafe { gpu.launch(&table_of_four::SPEC, shape, &[]) }
        },
        |fault| {
            let why = "it takes 1 arguments, and 0 were given".into();
            assert_eq!(*fault, Fault::BadLaunch { why });
        },
    );
}
