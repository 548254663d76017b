//! Expected results of [`crate::memory`].

use super::{Buffer, Device, equal, launched, numbers};
use crate::memory::{self, Shape};

pub(super) fn plain<D: Device>(device: &D) -> Result<(), String> {
    let shape = Shape {
        count: 1000,
        add: [3, 500],
        scale: 0x1_0000_0001,
    };
    let input: Vec<u32> = numbers(1024).iter().map(|&v| (v >> 34) as u32).collect();
    let mut expected = vec![7u64; 1024];
    for (i, value) in expected.iter_mut().enumerate().take(1000) {
        *value = (u64::from(input[i]) + u64::from(shape.add[i % 2])) * shape.scale;
    }
    let (input, out) = (
        Buffer::new(device, &input),
        Buffer::new(device, &[7u64; 1024]),
    );
    // SAFETY: lengths as the kernel asks.
    launched(unsafe { memory::plain::launch(device, 16, input.view(), out.view_mut(), shape) })?;
    equal("out", &out.read(), &expected)
}

pub(super) fn vectors_16<D: Device>(device: &D) -> Result<(), String> {
    let add = 0x1_0203u32;
    let doubles = numbers(128);
    let bytes: Vec<u8> = doubles.iter().flat_map(|v| v.to_le_bytes()).collect();
    let halves: Vec<u16> = bytes
        .chunks(2)
        .map(|b| u16::from_le_bytes([b[0], b[1]]))
        .collect();
    let words: Vec<u32> = doubles
        .iter()
        .flat_map(|&v| [v as u32, (v >> 32) as u32])
        .collect();
    let (b, h) = (Buffer::new(device, &bytes), Buffer::new(device, &halves));
    let (w, d) = (Buffer::new(device, &words), Buffer::new(device, &doubles));
    // SAFETY: lengths and alignment as the kernel asks.
    launched(unsafe {
        memory::vectors_16::launch(
            device,
            1,
            b.view_mut(),
            h.view_mut(),
            w.view_mut(),
            d.view_mut(),
            add,
        )
    })?;
    let add_u8: Vec<u8> = bytes.iter().map(|v| v.wrapping_add(add as u8)).collect();
    let add_u16: Vec<u16> = halves.iter().map(|v| v.wrapping_add(add as u16)).collect();
    let add_u32: Vec<u32> = (0..256)
        .map(|i: usize| words[i ^ 4].wrapping_add(add))
        .collect();
    let add_u64: Vec<u64> = doubles
        .iter()
        .map(|v| v.wrapping_add(u64::from(add)))
        .collect();
    equal("u8", &b.read(), &add_u8)?;
    equal("u16", &h.read(), &add_u16)?;
    equal("u32", &w.read(), &add_u32)?;
    equal("u64", &d.read(), &add_u64)
}

pub(super) fn vectors_8<D: Device>(device: &D) -> Result<(), String> {
    let words: Vec<u32> = numbers(128).iter().map(|&v| v as u32).collect();
    let buffer = Buffer::new(device, &words);
    // SAFETY: lengths and alignment as the kernel asks.
    launched(unsafe { memory::vectors_8::launch(device, 1, buffer.view_mut()) })?;
    let expected: Vec<u32> = (0..128).map(|i: usize| words[i ^ 1]).collect();
    equal("swapped", &buffer.read(), &expected)
}

pub(super) fn read_only<D: Device>(device: &D) -> Result<(), String> {
    let doubles = numbers(128);
    let bytes: Vec<u8> = doubles.iter().flat_map(|v| v.to_be_bytes()).collect();
    let halves: Vec<u16> = bytes
        .chunks(2)
        .map(|b| u16::from_le_bytes([b[1], b[0]]))
        .collect();
    let words: Vec<u32> = doubles
        .iter()
        .flat_map(|&v| [(v >> 32) as u32, v as u32])
        .collect();
    let mut expected = Vec::new();
    for t in 0..64 {
        let sum = u64::from(bytes[t])
            .wrapping_add(u64::from(halves[t]).wrapping_mul(3))
            .wrapping_add(u64::from(words[t]).wrapping_mul(5))
            .wrapping_add(doubles[t].wrapping_mul(7))
            .wrapping_add(
                u64::from(words[4 * t..][..4].iter().fold(0, |a, b| a ^ b)).wrapping_mul(11),
            )
            .wrapping_add(u64::from(words[2 * t] ^ words[2 * t + 1]).wrapping_mul(13))
            .wrapping_add((doubles[2 * t] ^ doubles[2 * t + 1]).wrapping_mul(17));
        expected.push(sum);
    }
    let (b, h) = (Buffer::new(device, &bytes), Buffer::new(device, &halves));
    let (w, d) = (Buffer::new(device, &words), Buffer::new(device, &doubles));
    let out = Buffer::new(device, &[0u64; 64]);
    // SAFETY: lengths and alignment as the kernel asks.
    launched(unsafe {
        memory::read_only::launch(
            device,
            1,
            b.view(),
            h.view(),
            w.view(),
            d.view(),
            out.view_mut(),
        )
    })?;
    equal("sums", &out.read(), &expected)
}

pub(super) fn scoped<D: Device>(device: &D) -> Result<(), String> {
    let wide: Vec<u64> = numbers(64).iter().map(|&v| v >> 1).collect();
    let narrow: Vec<u32> = wide.iter().map(|&v| v as u32 >> 1).collect();
    let signed: Vec<i32> = (0..64).collect();
    let (n, w) = (Buffer::new(device, &narrow), Buffer::new(device, &wide));
    let s = Buffer::new(device, &signed);
    // SAFETY: lengths as the kernel asks.
    launched(unsafe {
        memory::scoped::launch(device, 1, n.view_mut(), w.view_mut(), s.view_mut())
    })?;
    equal(
        "u32",
        &n.read(),
        &narrow.iter().map(|&v| v + 127).collect::<Vec<_>>(),
    )?;
    equal(
        "u64",
        &w.read(),
        &wide.iter().map(|&v| v + 127).collect::<Vec<_>>(),
    )?;
    equal(
        "i32",
        &s.read(),
        &signed.iter().map(|&v| v - 1).collect::<Vec<_>>(),
    )
}
