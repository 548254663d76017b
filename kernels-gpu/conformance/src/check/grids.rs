//! Expected results of [`crate::grids`].

use trazar_kernels::primitives::grid::GridBarrier;

use super::{Buffer, Device, equal, launched, numbers};
use crate::grids::{self, THREADS};

/// Grids of one block, of a few, and of as many as the device holds, one after the other with one
/// barrier, which no one resets.
pub(super) fn exchange<D: Device>(device: &D) -> Result<(), String> {
    const ROUNDS: u32 = 6;
    let resident = device.resident_blocks(&grids::exchange::SPEC);
    let counter = Buffer::new(device, &[0u32]);
    for blocks in [1, 3, resident, 2, resident] {
        let blocks = blocks.min(resident);
        let threads = blocks * THREADS;
        let mut expected: Vec<u32> = numbers(threads as usize)
            .iter()
            .map(|&v| v as u32)
            .collect();
        let values = Buffer::new(device, &expected);
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
        for round in 0..ROUNDS {
            let value = |i: u32| expected[i as usize];
            expected = (0..threads)
                .map(|i| {
                    let [next, distant] = grids::partners(i, threads);
                    grids::mixed(value(next), value(distant), round)
                })
                .collect();
        }
        equal(&format!("{blocks} blocks"), &values.read(), &expected)?;
    }
    Ok(())
}
