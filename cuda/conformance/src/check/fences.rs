//! Expected results of [`crate::fences`].

use super::{Buffer, Device, equal, launched};
use crate::fences::{self, WAYS, WORDS};

pub(super) fn hand_over<D: Device>(device: &D) -> Result<(), String> {
    for way in 0..WAYS {
        let data = Buffer::new(device, &[u32::MAX; WORDS as usize]);
        let out = Buffer::new(device, &[u32::MAX; WORDS as usize]);
        let state = Buffer::new(device, &[0u32; 2]);
        // SAFETY: lengths as the kernel asks.
        let result = unsafe {
            fences::hand_over::launch(
                device,
                2,
                data.view_mut(),
                out.view_mut(),
                state.view_mut(),
                way,
            )
        };
        launched(result)?;
        let expected: Vec<u32> = (0..WORDS).map(|t| 7 * t + way).collect();
        equal(&format!("way {way}"), &out.read(), &expected)?;
    }
    Ok(())
}

pub(super) fn hand_over_in_block<D: Device>(device: &D) -> Result<(), String> {
    let data = Buffer::new(device, &[u32::MAX; 2 * WORDS as usize]);
    let out = Buffer::new(device, &[u32::MAX; 2 * WORDS as usize]);
    let (fenced, released) = (Buffer::new(device, &[0u32]), Buffer::new(device, &[0u64]));
    // SAFETY: lengths as the kernel asks.
    launched(unsafe {
        fences::hand_over_in_block::launch(
            device,
            1,
            data.view_mut(),
            out.view_mut(),
            fenced.view_mut(),
            released.view_mut(),
        )
    })?;
    let expected: Vec<u32> = (0..WORDS)
        .map(|l| 3 * l)
        .chain((0..WORDS).map(|l| 5 * l))
        .collect();
    equal("handed over", &out.read(), &expected)
}
