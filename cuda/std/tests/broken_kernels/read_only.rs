//! Loads through the read-only cache of memory that the kernel writes.

use cuda_std::emulator::Fault;
use cuda_std::emulator::Touch::{ReadOnlyLoad, Store};
use cuda_std::prelude::*;

use crate::support::{File, always, element, never, xs};

const HERE: File = File("read_only.rs", include_str!("read_only.rs"));

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
