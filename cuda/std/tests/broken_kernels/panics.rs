//! Kernels that panic.

use cuda_std::emulator::{Emulator, Fault};
use cuda_std::prelude::*;

use crate::support::{File, always, never, xs};

const HERE: File = File("panics.rs", include_str!("panics.rs"));

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
pub(crate) unsafe fn table_of_four(x: ViewMut<'_, u32>) {
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
