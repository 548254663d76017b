//! Expected results of [`crate::warps`].

use super::{Buffer, Device, equal, launched, numbers};
use crate::warps::{self, EVEN, REDUCTIONS, SHUFFLES, THREADS, VOTES};

const N: usize = THREADS as usize;

/// The lane that a shuffle reads, if it lies in the segment.
fn source(mode: &str, lane: u32, by: u32, width: u32) -> Option<u32> {
    let first = lane / width * width;
    match mode {
        "up" => lane.checked_sub(by).filter(|&from| from >= first),
        "down" => Some(lane + by).filter(|&from| from < first + width),
        "xor" => Some(lane ^ by).filter(|&from| from < first + width),
        _ => Some(first + by % width),
    }
}

pub(super) fn shuffles<D: Device>(device: &D) -> Result<(), String> {
    let input = numbers(N);
    let shuffle = |mode, by, width| {
        let input = &input;
        (0..THREADS).map(move |t| {
            let from = source(mode, t % 32, by, width);
            (
                input[(t / 32 * 32 + from.unwrap_or(t % 32)) as usize],
                u32::from(from.is_some()),
            )
        })
    };
    let mut expected: Vec<(u64, u32)> = Vec::new();
    let narrow_shuffles = [
        ("up", 3, 32),
        ("up", 3, 8),
        ("down", 5, 32),
        ("down", 5, 8),
        ("xor", 9, 32),
        ("xor", 6, 8),
        ("idx", 11, 32),
        ("idx", 2, 8),
    ];
    for (mode, by, width) in narrow_shuffles {
        expected.extend(shuffle(mode, by, width).map(|(value, flag)| (value & 0xffff_ffff, flag)));
    }
    let pairs = shuffle("xor", 1, 32).zip(shuffle("down", 1, 32));
    expected.extend(pairs.map(|((a, a_flag), (b, b_flag))| {
        (a << 32 | b & 0xffff_ffff, u32::from(a_flag == b_flag))
    }));
    expected.extend(shuffle("up", 1, 32));
    expected.extend(shuffle("down", 1, 16));
    expected.extend(shuffle("xor", 16, 32));
    assert_eq!(expected.len(), N * SHUFFLES as usize);

    let input = Buffer::new(device, &input);
    let values = Buffer::new(device, &vec![u64::MAX; expected.len()]);
    let flags = Buffer::new(device, &vec![u32::MAX; expected.len()]);
    // SAFETY: lengths as the kernel asks.
    launched(unsafe {
        warps::shuffles::launch(device, 1, input.view(), values.view_mut(), flags.view_mut())
    })?;
    let (expected_values, expected_flags): (Vec<_>, Vec<_>) = expected.into_iter().unzip();
    equal("flags", &flags.read(), &expected_flags)?;
    equal("values", &values.read(), &expected_values)
}

pub(super) fn votes<D: Device>(device: &D) -> Result<(), String> {
    // Few values, so that lanes match; in the second warp all are odd.
    let input: Vec<u32> = numbers(N)
        .iter()
        .enumerate()
        .map(|(t, &v)| (v >> 40) as u32 % 5 * 2 + u32::from(t >= 32 || v % 3 == 0))
        .collect();
    let mut expected = vec![0u32; N * VOTES as usize];
    for t in 0..N {
        let (lane, warp) = (t % 32, &input[t / 32 * 32..][..32]);
        let mask = |of: &dyn Fn(usize, u32) -> bool| {
            warp.iter()
                .enumerate()
                .fold(0u32, |mask, (l, &v)| mask | u32::from(of(l, v)) << l)
        };
        let odd = mask(&|_, v| v % 2 == 1);
        let equal_lanes = mask(&|_, v| v == input[t]);
        let all_equal = t >= 32 || mask(&|_, v| v == input[0]) == u32::MAX;
        let match_all = if all_equal { u32::MAX ^ 1 } else { 0 };
        let even = t % 2 == 0;
        let row = [
            u32::from(odd == u32::MAX),
            1,
            u32::from(odd != 0),
            0,
            odd,
            equal_lanes,
            equal_lanes,
            match_all,
            match_all,
            lane as u32,
            mask(&|l, _| l < lane),
            mask(&|l, _| l <= lane),
            mask(&|l, _| l > lane),
            mask(&|l, _| l >= lane),
            1,
            if even { odd & EVEN } else { 0 },
            if even { equal_lanes & EVEN } else { 0 },
        ];
        for (slot, value) in row.into_iter().enumerate() {
            expected[slot * N + t] = value;
        }
    }
    let input = Buffer::new(device, &input);
    let out = Buffer::new(device, &vec![0xdead_beefu32; expected.len()]);
    // SAFETY: lengths as the kernel asks.
    launched(unsafe { warps::votes::launch(device, 1, input.view(), out.view_mut()) })?;
    equal("votes", &out.read(), &expected)
}

pub(super) fn reductions<D: Device>(device: &D) -> Result<(), String> {
    let input: Vec<u32> = numbers(N).iter().map(|&v| (v >> 20) as u32).collect();
    let mut expected = vec![0u32; N * REDUCTIONS as usize];
    for t in 0..N {
        let warp = &input[t / 32 * 32..][..32];
        for (half, step) in [(0, 1), (1, 2)] {
            if t % step != 0 {
                continue;
            }
            let values = || warp.iter().copied().step_by(step);
            let signed = || values().map(u32::cast_signed);
            let row = [
                values().fold(0, u32::wrapping_add),
                values().fold(u32::MAX, u32::min),
                values().fold(0, u32::max),
                signed().fold(i32::MAX, i32::min).cast_unsigned(),
                signed().fold(i32::MIN, i32::max).cast_unsigned(),
                values().fold(u32::MAX, |a, b| a & b),
                values().fold(0, |a, b| a | b),
                values().fold(0, |a, b| a ^ b),
            ];
            for (slot, value) in row.into_iter().enumerate() {
                expected[(half * 8 + slot) * N + t] = value;
            }
        }
    }
    let input = Buffer::new(device, &input);
    let out = Buffer::new(device, &vec![0u32; expected.len()]);
    // SAFETY: lengths as the kernel asks.
    launched(unsafe { warps::reductions::launch(device, 1, input.view(), out.view_mut()) })?;
    equal("reductions", &out.read(), &expected)
}

pub(super) fn warp_barrier<D: Device>(device: &D) -> Result<(), String> {
    let input: Vec<u32> = (0..THREADS).map(|t| 1000 + t).collect();
    let expected: Vec<u32> = (0..N).map(|t| input[t ^ 31]).collect();
    let (input, out) = (
        Buffer::new(device, &input),
        Buffer::new(device, &vec![0u32; N]),
    );
    // SAFETY: lengths as the kernel asks.
    launched(unsafe { warps::warp_barrier::launch(device, 1, input.view(), out.view_mut()) })?;
    equal("exchanged", &out.read(), &expected)
}
