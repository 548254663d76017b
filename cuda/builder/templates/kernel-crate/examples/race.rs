//! A planted data race, and the emulator's report on it: `cargo run --example race`.
//!
//! The kernel is the one in `src/lib.rs`, without its last barrier: a thread may read its bin while
//! others still count.

use std::error::Error;

use cuda_std::emulator::{Emulator, EmulatorError};
use cuda_std::prelude::*;

/// # Safety
///
/// As for `histogram`; and the emulator alone may run it, which reports the race.
#[kernel(block = 256)]
pub unsafe fn racy_histogram(bytes: View<'_, u8>, counts: ViewMut<'_, u32>) {
    let bins = shared_array![u32; 256];
    let (t, i) = (thread::thread_idx_x(), thread::index_1d());
    bins.st(t, 0);
    thread::sync_threads();
    if (i as usize) < bytes.len() {
        bins.atomic_add(u32::from(bytes.ld(i)), 1);
    }
    counts.atomic_add(t, bins.ld(t));
}

/// Runs the kernel and returns the report.
pub fn report() -> Result<String, Box<dyn Error>> {
    let emulator = Emulator::new(0);
    let bytes = emulator.upload(b"a race found in ten lines")?;
    let mut counts = emulator.upload(&[0; 256])?;
    // SAFETY: this is the emulator, and `counts` has 256 elements.
    match unsafe { racy_histogram::launch(&emulator, 1, bytes.view(), counts.view_mut()) } {
        Err(EmulatorError::Launch(report)) => Ok(report.to_string()),
        other => Err(format!("the missing barrier went unnoticed: {other:?}").into()),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", report()?);
    Ok(())
}
