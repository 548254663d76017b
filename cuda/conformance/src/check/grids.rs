//! Expected results of [`crate::grids`].

use cuda_std::grid::GridBarrier;

use super::{Buffer, Device, equal, launched, numbers};
use crate::grids::{self, THREADS};

/// What [`grids::exchange()`] makes of `values` in a number of rounds.
#[must_use]
pub fn exchanged(mut values: Vec<u32>, rounds: u32) -> Vec<u32> {
    let threads = values.len() as u32;
    for round in 0..rounds {
        let value = |i: u32| values[i as usize];
        values = (0..threads)
            .map(|i| {
                let [next, distant] = grids::partners(i, threads);
                grids::mixed(value(next), value(distant), round)
            })
            .collect();
    }
    values
}

/// Grids of one block, of a few, and of as many as the device holds, one after the other with one
/// barrier, which no one resets.
pub(super) fn exchange<D: Device>(device: &D) -> Result<(), String> {
    const ROUNDS: u32 = 6;
    let resident = device.resident_blocks(&grids::exchange::SPEC);
    let counter = Buffer::new(device, &[0u32]);
    for blocks in [1, 3, resident, 2, resident] {
        let blocks = blocks.min(resident);
        let threads = blocks * THREADS;
        let start: Vec<u32> = numbers(threads as usize)
            .iter()
            .map(|&v| v as u32)
            .collect();
        let values = Buffer::new(device, &start);
        let other = Buffer::new(device, &vec![u32::MAX; threads as usize]);
        let barrier = GridBarrier {
            counter: counter.view_mut(),
        };
        // SAFETY: lengths as the kernel asks, and every launch leaves the barrier ready.
        launched(unsafe {
            grids::exchange::launch(
                device,
                blocks,
                values.view_mut(),
                other.view_mut(),
                barrier,
                ROUNDS,
            )
        })?;
        let expected = exchanged(start, ROUNDS);
        equal(&format!("{blocks} blocks"), &values.read(), &expected)?;
    }
    Ok(())
}
