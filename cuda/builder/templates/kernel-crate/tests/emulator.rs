//! Runs the kernels in the emulator. It checks every access, and its seed draws the order of
//! threads: each seed is another test.

use cuda_std::emulator::Emulator;
use {{crate_name}}::histogram;

/// The kernel's result in the order of threads that `seed` draws.
fn counts(bytes: &[u8], seed: u64) -> Vec<u32> {
    let emulator = Emulator::new(seed);
    let bytes = emulator.upload(bytes).expect("copied");
    let mut counts = emulator.upload(&[0u32; 256]).expect("copied");
    // SAFETY: `counts` has 256 elements.
    let launched = unsafe {
        histogram::launch_threads(&emulator, bytes.len(), bytes.view(), counts.view_mut())
    };
    // A fault's report names the kernel, the threads, the element and the lines.
    launched.unwrap_or_else(|fault| panic!("{fault}"));
    counts.to_vec().expect("copied")
}

#[test]
fn the_histogram_is_right_in_many_orders() {
    // One byte, and one byte less and more than a block has threads.
    for len in [1, 255, 256, 257, 1000] {
        let bytes: Vec<u8> = (0..len).map(|i: u32| (i * i % 251) as u8).collect();
        let mut expected = vec![0; 256];
        for &byte in &bytes {
            expected[usize::from(byte)] += 1;
        }
        for seed in 0..16 {
            assert_eq!(counts(&bytes, seed), expected, "{len} bytes, seed {seed}");
        }
    }
}
