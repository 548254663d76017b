//! Launches with impossible shapes, without arguments, and of blocks that need more shared memory
//! than there is.

use cuda_std::emulator::{Emulator, EmulatorError, Fault};
use cuda_std::prelude::*;

use crate::panics::table_of_four;
use crate::support::{File, always, never, xs};

const HERE: File = File("launches.rs", include_str!("launches.rs"));

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
