//! Expected results of [`crate::thread_indices`].

use super::{Buffer, Device, equal, launched};
use crate::thread_indices::{VALUES, indices};

pub(super) fn check<D: Device>(device: &D) -> Result<(), String> {
    let (grid, block) = ([3u32, 2, 4], [8u32, 4, 2]);
    let mut expected = Vec::new();
    for bz in 0..grid[2] {
        for by in 0..grid[1] {
            for bx in 0..grid[0] {
                for tz in 0..block[2] {
                    for ty in 0..block[1] {
                        for tx in 0..block[0] {
                            expected.extend([tx, ty, tz, bx, by, bz]);
                            expected.extend(block);
                            expected.extend(grid);
                            expected.extend([bx * block[0] + tx, by * block[1] + ty]);
                            expected.push(tx + block[0] * (ty + block[1] * tz));
                        }
                    }
                }
            }
        }
    }
    assert_eq!(expected.len() % VALUES as usize, 0);
    let out = Buffer::new(device, &vec![u32::MAX; expected.len()]);
    // SAFETY: a row per thread.
    launched(unsafe { indices::launch(device, (grid[0], grid[1], grid[2]), out.view_mut()) })?;
    equal("indices", &out.read(), &expected)
}
