//! Expected results of [`crate::atomics`].

use super::{Buffer, Device, equal, launched, numbers};
use crate::atomics::{self, OPERATIONS, THREADS};

const N: usize = THREADS as usize;

macro_rules! operations {
    ($name:ident: $t:ty) => {
        pub(super) fn $name<D: Device>(device: &D) -> Result<(), String> {
            let random = numbers(2 * N);
            let before: Vec<$t> = random[..N].iter().map(|&v| (v >> 7) as $t).collect();
            let operands: Vec<$t> = random[N..].iter().map(|&v| (v >> 9) as $t).collect();
            let after: Vec<$t> = (0..N)
                .map(|t| {
                    let (old, operand) = (before[t], operands[t]);
                    match t as u32 % OPERATIONS {
                        0 => old.wrapping_add(operand),
                        1 => old.min(operand),
                        2 => old.max(operand),
                        3 => old & operand,
                        4 => old | operand,
                        5 => old ^ operand,
                        6 => operand,
                        _ if t < N / 2 => operand,
                        _ => old,
                    }
                })
                .collect();
            let cells = Buffer::new(device, &before);
            let operands = Buffer::new(device, &operands);
            let returned = Buffer::new(device, &vec![0 as $t; N]);
            let mismatches = Buffer::new(device, &[0u32]);
            // SAFETY: lengths as the kernel asks.
            launched(unsafe {
                atomics::$name::launch(
                    device,
                    1,
                    cells.view_mut(),
                    operands.view(),
                    returned.view_mut(),
                    mismatches.view_mut(),
                )
            })?;
            equal("returned", &returned.read(), &before)?;
            equal("in memory", &cells.read(), &after)?;
            equal(
                "differences between global and shared memory",
                &mismatches.read(),
                &[0],
            )
        }
    };
}
operations!(operations_u32: u32);
operations!(operations_i32: i32);
operations!(operations_u64: u64);

pub(super) fn contended<D: Device>(device: &D) -> Result<(), String> {
    let blocks = 33;
    let threads = blocks * THREADS;
    let cells = Buffer::new(device, &[0u32, 0, u32::MAX, 0, 0, 0]);
    let tickets = Buffer::new(device, &vec![0u32; threads as usize]);
    // SAFETY: lengths as the kernel asks.
    launched(unsafe {
        atomics::contended::launch(device, blocks, cells.view_mut(), tickets.view_mut())
    })?;
    // Each bit is flipped by threads / 32 = 66 threads: an even number.
    equal(
        "cells",
        &cells.read(),
        &[threads, threads, 0, threads - 1, u32::MAX, 0],
    )?;
    equal("tickets", &tickets.read(), &vec![1; threads as usize])
}
