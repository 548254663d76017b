//! How long the emulator takes for a kernel of many blocks: `cargo bench -p trazar-cuda-std --bench
//! emulator -- [BLOCKS…]`. `benches/evidence/kernels.cu` has the same kernel, for a GPU.

use std::error::Error;
use std::time::Instant;

use cuda_std::emulator::Emulator;
use cuda_std::prelude::*;

/// Reverses tiles of 64 elements through shared memory.
///
/// # Safety
///
/// `x` and `out` have 64 elements per block.
#[kernel(block = 64)]
unsafe fn reverse_tiles(x: View<'_, u32>, out: ViewMut<'_, u32>) {
    let tile = shared_array![u32; 64];
    let (t, i) = (thread::thread_idx_x(), thread::index_1d());
    tile.st(t, x.ld(i));
    thread::sync_threads();
    out.st(i, tile.ld(63 - t));
}

/// The seconds of a launch, with the emulator's own choice of schedules.
fn seconds(seed: u64, blocks: u32) -> Result<f64, Box<dyn Error>> {
    let emulator = Emulator::new(seed);
    let values: Vec<u32> = (0..64 * blocks).collect();
    let x = emulator.upload(&values)?;
    let mut out = emulator.alloc(values.len())?;
    let start = Instant::now();
    // SAFETY: 64 elements per block.
    unsafe { reverse_tiles::launch(&emulator, blocks, x.view(), out.view_mut())? };
    let seconds = start.elapsed().as_secs_f64();
    let reversed: Vec<u32> = values
        .chunks(64)
        .flat_map(|tile| tile.iter().rev().copied())
        .collect();
    assert_eq!(out.to_vec()?, reversed);
    Ok(seconds)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut sizes: Vec<u32> = std::env::args()
        .filter_map(|word| word.parse().ok())
        .collect();
    if sizes.is_empty() {
        sizes = vec![16, 256, 4096];
    }
    for blocks in sizes {
        // Many blocks take half a minute, and differ less from seed to seed.
        let seeds = if blocks > 10_000 { 1 } else { 5 };
        let times = (0..seeds).map(|seed| seconds(seed, blocks));
        let mut times = times.collect::<Result<Vec<_>, _>>()?;
        times.sort_unstable_by(f64::total_cmp);
        let median = times[times.len() / 2];
        println!("reverse_tiles: {blocks} blocks, {seeds} seeds, median {median:.6} s");
    }
    Ok(())
}
