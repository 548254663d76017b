//! Safe code holds views on the host, and can't follow them there: every access panics, before the
//! address is used.
#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use cuda_std::emulator::Emulator;
use cuda_std::prelude::*;

/// Whether `access` panics, and says where views can be followed.
fn refuses<R>(access: impl FnOnce() -> R) -> bool {
    let Err(payload) = catch_unwind(AssertUnwindSafe(access)) else {
        return false;
    };
    let message = payload.downcast_ref::<&str>().expect("a message");
    message.contains("only inside a running kernel") && message.contains("through the buffer")
}

#[test]
fn reads_are_refused() {
    let gpu = Emulator::new(0);
    let buffer = gpu.upload(&[1u32, 2, 3, 4]).unwrap();
    let view = buffer.view();
    assert!(refuses(|| view.ld(0u32)));
    assert!(refuses(|| view.ldg(0u32)));
    assert!(refuses(|| view.ld_vector::<4>(0u32)));
    assert!(refuses(|| view.ldg_vector::<4>(0u32)));
    assert!(refuses(|| view.ld_volatile(0u32)));
    assert!(refuses(|| view.ld_relaxed(0u32, Device)));
    assert!(refuses(|| view.ld_acquire(0u32, Device)));
    // Out of bounds there is nothing either.
    assert!(refuses(|| view.ld(4u32)));
    assert_eq!(view.len(), 4);
}

#[test]
fn writes_are_refused() {
    let gpu = Emulator::new(0);
    let mut buffer = gpu.upload(&[1u32, 2, 3, 4]).unwrap();
    let view = buffer.view_mut();
    assert!(refuses(|| view.ld(0u32)));
    assert!(refuses(|| view.as_view().ld(0u32)));
    assert!(refuses(|| view.st(0u32, 7)));
    assert!(refuses(|| view.st_vector(0u32, [7; 4])));
    assert!(refuses(|| view.st_volatile(0u32, 7)));
    assert!(refuses(|| view.st_relaxed(0u32, 7, Device)));
    assert!(refuses(|| view.st_release(0u32, 7, Device)));
    assert!(refuses(|| view.atomic_add(0u32, 7)));
    assert!(refuses(|| view.atomic_exch(0u32, 7)));
    assert!(refuses(|| view.atomic_cas(0u32, 1, 7)));
    assert_eq!(buffer.to_vec().unwrap(), [1, 2, 3, 4]);
}

/// `ViewMut` is `Copy`, `Send` and `Sync`, and `st` takes `&self`: all of these would write one
/// element at once.
#[test]
fn threads_that_share_a_view_do_not_race() {
    let gpu = Emulator::new(0);
    let mut buffer = gpu.upload(&[0u64]).unwrap();
    let view = buffer.view_mut();
    let all_refused = AtomicBool::new(true);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let refused = refuses(|| view.st(0u32, u64::MAX));
                all_refused.fetch_and(refused, Ordering::Relaxed);
            });
        }
        let refused = refuses(|| view.ld(0u32));
        all_refused.fetch_and(refused, Ordering::Relaxed);
    });
    assert!(all_refused.into_inner());
    assert_eq!(buffer.to_vec().unwrap(), [0]);
}

/// Memory that a block shares exists only while the block runs.
#[test]
fn shared_memory_is_refused() {
    let declared = catch_unwind(|| {
        let tile = shared_array![u32; 8];
        tile.st(0u32, 1);
    });
    let payload = declared.unwrap_err();
    let message = payload.downcast_ref::<String>().expect("a message");
    assert!(
        message.contains("only on the device or under the emulator"),
        "{message}"
    );
}
