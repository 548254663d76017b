//! Expected results of [`crate::barriers`].

use super::{Buffer, Device, equal, launched, numbers};
use crate::barriers::{self, THREADS};

const N: usize = THREADS as usize;

pub(super) fn reverse_static<D: Device>(device: &D) -> Result<(), String> {
    let blocks = 5;
    let input: Vec<u32> = (0..blocks * THREADS).map(|i| 3 * i).collect();
    for lower_half in [0, 1] {
        let mut expected = Vec::new();
        for block in input.chunks(N) {
            let mut cells = block.to_vec();
            if lower_half != 0 {
                for t in 0..N / 2 {
                    cells[t] += 1000;
                    cells[N - 1 - t] += 1;
                }
            }
            expected.extend(cells.iter().rev());
        }
        let (from, out) = (
            Buffer::new(device, &input),
            Buffer::new(device, &vec![0u32; input.len()]),
        );
        // SAFETY: lengths as the kernel asks.
        launched(unsafe {
            barriers::reverse_static::launch(
                device,
                blocks,
                from.view(),
                out.view_mut(),
                lower_half,
            )
        })?;
        equal("reversed", &out.read(), &expected)?;
    }
    Ok(())
}

pub(super) fn reverse_dynamic<D: Device>(device: &D) -> Result<(), String> {
    let wide = numbers(N);
    let narrow: Vec<u32> = wide.iter().map(|&v| v as u32).collect();
    let wide_buffer = Buffer::new(device, &wide);
    let narrow_buffer = Buffer::new(device, &narrow);
    let size = Buffer::new(device, &[0u32]);
    // SAFETY: lengths and dynamic shared memory as the kernel asks.
    launched(unsafe {
        barriers::reverse_dynamic::launch_with_shared(
            device,
            1,
            12 * THREADS,
            narrow_buffer.view_mut(),
            wide_buffer.view_mut(),
            size.view_mut(),
        )
    })?;
    equal("size", &size.read(), &[12 * THREADS])?;
    equal(
        "narrow",
        &narrow_buffer.read(),
        &narrow.into_iter().rev().collect::<Vec<_>>(),
    )?;
    equal(
        "wide",
        &wide_buffer.read(),
        &wide.into_iter().rev().collect::<Vec<_>>(),
    )
}

pub(super) fn voting_barriers<D: Device>(device: &D) -> Result<(), String> {
    let input: Vec<u32> = (0..THREADS).collect();
    let buffer = Buffer::new(device, &input);
    for below in [0, 1, 77, THREADS] {
        let out = Buffer::new(device, &vec![u32::MAX; 3 * N]);
        // SAFETY: lengths as the kernel asks.
        launched(unsafe {
            barriers::voting_barriers::launch(device, 1, buffer.view(), out.view_mut(), below)
        })?;
        let mut expected = vec![below; N];
        expected.extend(vec![u32::from(below == THREADS); N]);
        expected.extend(vec![u32::from(below > 0); N]);
        equal("count, and, or", &out.read(), &expected)?;
    }
    Ok(())
}
