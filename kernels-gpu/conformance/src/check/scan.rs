//! The product's prefix sum, on lengths around every boundary of its tiles.

use trazar_kernels::primitives::scan::{self, ScanState, TILE};

use super::{Buffer, Device, equal, launched, numbers};

pub(super) fn check<D: Device>(device: &D) -> Result<(), String> {
    // One tile, several windows of the look-back, and lengths that are no multiple of a vector.
    let lengths = [
        1,
        2,
        31,
        129,
        4095,
        TILE,
        TILE + 1,
        3 * TILE - 3,
        33 * TILE,
        70 * TILE + 1234,
    ];
    for n in lengths {
        let input: Vec<u32> = numbers(n as usize)
            .iter()
            .map(|&v| (v >> 33) as u32)
            .collect();
        let mut sum = 0u32;
        let expected: Vec<u32> = input
            .iter()
            .map(|&v| {
                let before = sum;
                sum = sum.wrapping_add(v);
                before
            })
            .collect();
        let from = Buffer::new(device, &input);
        let to = Buffer::new(device, &vec![u32::MAX; n as usize]);
        let total = Buffer::new(device, &[0u32]);
        let status = Buffer::new(device, &vec![u64::MAX; scan::status_len(n) as usize]);
        let ticket = Buffer::new(device, &[u32::MAX]);
        let state = ScanState {
            status: status.view_mut(),
            ticket: ticket.view_mut(),
        };
        // SAFETY: lengths, alignment and order as the kernels ask.
        unsafe {
            launched(scan::scan_init::launch_threads(
                device,
                scan::status_len(n),
                state,
            ))?;
            launched(scan::scan_exclusive::launch(
                device,
                scan::tiles(n),
                from.view(),
                to.view_mut(),
                total.view_mut(),
                state,
                n,
            ))?;
        }
        equal(&format!("sums of {n}"), &to.read(), &expected)?;
        equal(&format!("total of {n}"), &total.read(), &[sum])?;
    }
    Ok(())
}
