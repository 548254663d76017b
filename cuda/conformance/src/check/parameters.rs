//! Expected results of [`crate::parameters`].

use super::{Buffer, Device, equal, launched, numbers};
use crate::parameters::{self, Column, Extents, Step, Table};

pub(super) fn structured<D: Device>(device: &D) -> Result<(), String> {
    let doubles = numbers(1000);
    let bytes: Vec<u8> = doubles.iter().map(|&v| (v >> 56) as u8).collect();
    let extents = Extents {
        count: 1000,
        shift: [3, 999],
    };
    let (byte_scale, double_scale) = (77u8, 0x1234_5678_9abc_def1u64);
    for (step, first) in [(Step::Add, 0u32), (Step::Multiply, 1)] {
        let (mut expected_bytes, mut expected_doubles) = (vec![0u8; 1000], vec![0u64; 1000]);
        for i in 0..1000 {
            let to = (i + usize::from(extents.shift[first as usize])) % 1000;
            (expected_bytes[to], expected_doubles[to]) = match step {
                Step::Add => (
                    bytes[i].wrapping_add(byte_scale),
                    doubles[i].wrapping_add(double_scale),
                ),
                Step::Multiply => (
                    bytes[i].wrapping_mul(byte_scale),
                    doubles[i].wrapping_mul(double_scale),
                ),
            };
        }
        let (b, d) = (Buffer::new(device, &bytes), Buffer::new(device, &doubles));
        let (b_out, d_out) = (
            Buffer::new(device, &[0u8; 1000]),
            Buffer::new(device, &[0u64; 1000]),
        );
        let handled = Buffer::new(device, &[0u32]);
        let table = Table {
            extents,
            step,
            bytes: Column {
                input: b.view(),
                output: b_out.view_mut(),
                scale: byte_scale,
            },
            doubles: Column {
                input: d.view(),
                output: d_out.view_mut(),
                scale: double_scale,
            },
            handled: handled.view_mut(),
        };
        // SAFETY: lengths as the fields ask.
        launched(unsafe { parameters::structured::launch_threads(device, 1000u32, table, first) })?;
        // A launch of no threads does nothing. SAFETY: as above.
        launched(unsafe { parameters::structured::launch_threads(device, 0u32, table, first) })?;
        equal("bytes", &b_out.read(), &expected_bytes)?;
        equal("doubles", &d_out.read(), &expected_doubles)?;
        equal("handled", &handled.read(), &[1000])?;
    }
    Ok(())
}
