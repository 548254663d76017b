//! A kernel of one's own, tested without a GPU: the emulator runs it thread by thread and reports a
//! planted data race.
//!
//! ```sh
//! cargo run --release --example own_kernel
//! ```
//!
//! `docs/emulator.md` lists what the emulator reports. `cargo kernels new` writes a crate of
//! kernels outside this workspace, which `cargo kernels build` compiles for a GPU: see
//! `docs/a-race-in-ten-lines.md` and `cuda/builder/README.md`.

use std::error::Error;

use cuda_std::emulator::{Emulator, EmulatorError};
use cuda_std::prelude::*;

/// Threads per block.
const BLOCK: u32 = 64;

/// Reverses each chunk of 64 elements in place; one block per chunk, one thread per element.
///
/// Reads and writes every element of `values` once: 8 bytes per element.
///
/// # Safety
/// `values` has 64 elements per block, and nothing else uses them during the launch.
#[kernel(block = 64)]
pub unsafe fn reverse(values: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    let chunk = thread::block_idx_x() * BLOCK;
    let value = values.ld(chunk + BLOCK - 1 - t);
    thread::sync_threads();
    values.st(chunk + t, value);
}

/// [`reverse`] without its barrier: a thread may write an element that another one has yet to read.
///
/// # Safety
/// As for [`reverse`].
#[kernel(block = 64)]
pub unsafe fn reverse_too_early(values: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    let chunk = thread::block_idx_x() * BLOCK;
    let value = values.ld(chunk + BLOCK - 1 - t);
    values.st(chunk + t, value);
}

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Vec<u32> = (0..2 * BLOCK).collect();

    // The seed chooses the order in which threads run, so that each seed is another test.
    for seed in 0..16 {
        let emulator = Emulator::new(seed);
        let mut values = emulator.upload(&numbers)?;
        // SAFETY: two blocks, and 64 elements for each of them.
        unsafe { reverse::launch(&emulator, 2u32, values.view_mut())? };
        let reversed = values.to_vec()?;
        assert!(
            reversed[..64].iter().rev().eq(&numbers[..64]),
            "seed {seed}"
        );
        assert!(
            reversed[64..].iter().rev().eq(&numbers[64..]),
            "seed {seed}"
        );
    }
    println!("`reverse` is right in 16 orders");

    let emulator = Emulator::new(0);
    let mut values = emulator.upload(&numbers)?;
    // SAFETY: as above; the emulator reports the missing barrier, and no memory is harmed.
    match unsafe { reverse_too_early::launch(&emulator, 2u32, values.view_mut()) } {
        Err(EmulatorError::Launch(report)) if report.fault.kind() == "data race" => {
            println!("`reverse_too_early` is not: {report}");
        }
        other => return Err(format!("the missing barrier went unnoticed: {other:?}").into()),
    }
    Ok(())
}
