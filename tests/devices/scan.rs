//! Prefix sums, modulo 2³².

use proptest::prelude::*;
use proptest::sample::select;
use trazar::gpu::{Gpu, GpuBuffer, Pod, Scanner};
use trazar::{Backend, Error};
use trazar_test_support::emulators::seed;
use trazar_test_support::kernels::scan::{self, ScanState, TILE};

use super::{Device, PerDevice, check};

/// The exclusive prefix sums of `values`, and their total.
fn sums(values: &[u32]) -> (Vec<u32>, u32) {
    let mut sum = 0u32;
    let sums = values.iter().map(|&value| {
        let before = sum;
        sum = sum.wrapping_add(value);
        before
    });
    (sums.collect(), sum)
}

/// Values of several tiles, some of which are all 0, so that their sums are 0 too.
fn values() -> impl Strategy<Value = Vec<u32>> {
    let edges = [
        0,
        1,
        31,
        128,
        129,
        TILE - 1,
        TILE,
        TILE + 1,
        2 * TILE,
        5 * TILE + 3,
    ];
    let len = prop_oneof![select(edges.to_vec()), 0..=7 * TILE];
    let values = len.prop_flat_map(|len| proptest::collection::vec(any::<u32>(), len as usize));
    (values, any::<u8>()).prop_map(|(mut values, zeros)| {
        for (tile, i) in values.chunks_mut(TILE as usize).zip(0..8) {
            if zeros >> i & 1 != 0 {
                tile.fill(0);
            }
        }
        values
    })
}

/// Elements that are not set: the emulator knows, and a GPU gets `garbage`.
fn unset<G: Gpu, T: Pod>(gpu: &G, len: usize, garbage: T) -> Result<G::Buffer<T>, Error> {
    match G::BACKEND {
        Backend::Emulator => gpu.alloc(len),
        _ => gpu.upload(&vec![garbage; len]),
    }
}

/// Sums and total of `values` by that many blocks, within one buffer if `in_place`.
fn scan_by_blocks<G: Gpu>(
    gpu: &G,
    values: &[u32],
    blocks: u32,
    in_place: bool,
) -> Result<(Vec<u32>, u32), Error> {
    let n = u32::try_from(values.len()).expect("fewer than 2^32");
    let status_len = scan::status_len(n);
    let mut input = gpu.upload(values)?;
    let mut output = unset(gpu, values.len(), u32::MAX)?;
    let mut total = match n {
        0 => gpu.upload(&[0u32])?,
        _ => unset(gpu, 1, u32::MAX)?,
    };
    let mut status = unset(gpu, status_len as usize, u64::MAX)?;
    let mut ticket = unset(gpu, 1, u32::MAX)?;
    if n > 0 {
        let (from, to) = if in_place {
            let both = input.view_mut();
            (both.as_view(), both)
        } else {
            (input.view(), output.view_mut())
        };
        let state = ScanState {
            status: status.view_mut(),
            ticket: ticket.view_mut(),
        };
        let launcher = gpu.launcher();
        let total = total.view_mut();
        // SAFETY: lengths, alignment and order as the kernels ask for; any number of blocks will
        // do.
        unsafe {
            scan::scan_init::launch_threads(&launcher, status_len, state)?;
            scan::scan_exclusive::launch(&launcher, blocks, from, to, total, state, n)?;
        }
    }
    let sums = if in_place { &input } else { &output };
    Ok((sums.to_vec()?, total.to_vec()?[0]))
}

/// [`scan_by_blocks`], compared with the running sum.
fn assert_sums<G: Gpu>(gpu: &G, what: &str, values: &[u32], blocks: u32, in_place: bool) {
    let (found, found_total) = scan_by_blocks(gpu, values, blocks, in_place).unwrap();
    let (expected, total) = sums(values);
    assert_eq!(found.len(), values.len(), "{what}");
    let differs = (0..values.len()).find(|&i| found[i] != expected[i]);
    assert!(
        differs.is_none(),
        "not the CPU's sum: {what}, before {differs:?}"
    );
    assert_eq!(found_total, total, "not the CPU's total: {what}");
}

/// Irregular values whose sum overflows `u32` within a few elements.
fn irregular(n: usize) -> Vec<u32> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let values = (0..n).map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u32
    });
    values.collect()
}

/// One tile per block of a full launch.
fn wave<G: Gpu>(gpu: &G) -> usize {
    scan::blocks(u32::MAX, gpu.multiprocessors()) as usize * TILE as usize
}

pub(crate) fn prefix_sums<D: Device>(device: &D) {
    check::<D, _>(
        "prefix sums",
        30,
        &(values(), device.any()),
        |(values, gpu)| {
            let (expected, total) = sums(&values);
            let mut scanner = Scanner::new(&gpu, values.len() as u32)?;
            let mut input = gpu.upload(&values)?;
            let mut output = gpu.alloc(values.len())?;
            scanner.scan(&input, &mut output)?;
            prop_assert!(output.to_vec()? == expected, "not the CPU's sums");
            prop_assert_eq!(scanner.total().to_vec()?, [total], "not the CPU's total");
            scanner.scan_in_place(&mut input)?;
            prop_assert!(input.to_vec()? == expected, "not the CPU's sums, in place");
            prop_assert_eq!(
                scanner.into_total().to_vec()?,
                [total],
                "not the CPU's total"
            );
            Ok(())
        },
    );
}

pub(crate) fn prefix_sums_around_the_sizes_of_tiles_and_waves<D: Device>(device: &D) {
    let gpu = device.gpu(seed());
    let (tile, wave) = (TILE as usize, wave(&gpu));
    let mut lengths = vec![0, 1, 2, 3, 4, 5, 31, 127, 128, 129];
    let around = PerDevice {
        emulator: vec![tile],
        gpu: vec![tile, 2 * tile, 287 * tile, 289 * tile, wave, 3 * wave],
    };
    for around in around.on::<D>() {
        lengths.extend([around - 1, around, around + 1]);
    }
    for n in lengths {
        let values = irregular(n);
        let blocks = scan::blocks(n as u32, gpu.multiprocessors());
        assert_sums(&gpu, &format!("{n}"), &values, blocks, false);
        assert_sums(&gpu, &format!("{n} in place"), &values, blocks, true);
    }
}

pub(crate) fn arrays_of_another_length_are_refused<D: Device>(device: &D) {
    let gpu = device.gpu(seed());
    let mut scanner = Scanner::new(&gpu, 40).unwrap();
    let mut right = gpu.upload(&[1; 40]).unwrap();
    for len in [0, 39, 41] {
        let mut wrong = gpu.upload(&vec![1; len]).unwrap();
        let refused = |result: trazar::Result<()>| {
            let Err(Error::LengthMismatch { needed, given, .. }) = result else {
                panic!("{result:?}");
            };
            assert_eq!((needed, given), (40, len));
        };
        refused(scanner.scan(&right, &mut wrong));
        refused(scanner.scan(&wrong, &mut right));
        refused(scanner.scan_in_place(&mut wrong));
    }
}

/// With these values a sum that is added twice, left out, or carried into the neighbouring state is
/// seen.
pub(crate) fn prefix_sums_of_patterns<D: Device>(device: &D) {
    let gpu = device.gpu(seed());
    let whole = PerDevice {
        emulator: 3 * TILE as usize,
        gpu: 3 * wave(&gpu),
    };
    let n = whole.on::<D>() + 77;
    type Value = fn(usize) -> u32;
    let patterns: [(&str, Value); 5] = [
        ("zeros", |_| 0),
        ("ones", |_| 1),
        ("largest", |_| u32::MAX),
        ("one in the first tile", |i| u32::from(i == 7)),
        ("2^31, alternating", |i| (i as u32 & 1) << 31),
    ];
    for (name, value) in patterns {
        let values: Vec<u32> = (0..n).map(value).collect();
        let blocks = scan::blocks(n as u32, gpu.multiprocessors());
        assert_sums(&gpu, name, &values, blocks, false);
    }
}

/// Any number of blocks gives the sums, also if only some of them are resident at once, and if most
/// of them start when no tile is left.
pub(crate) fn prefix_sums_by_any_number_of_blocks<D: Device>(device: &D) {
    let values = values().prop_filter("not empty", |values| !values.is_empty());
    check::<D, _>(
        "prefix sums by any number of blocks",
        30,
        &(values, 1..10u32, device.any()),
        |(values, blocks, gpu)| {
            let (found, found_total) = scan_by_blocks(&gpu, &values, blocks, false)?;
            let (expected, total) = sums(&values);
            prop_assert!(found == expected, "not the CPU's sums");
            prop_assert_eq!(found_total, total, "not the CPU's total");
            Ok(())
        },
    );
    let gpu = device.gpu(seed());
    let (tiles, numbers) = PerDevice {
        emulator: (4, vec![1, 7]),
        gpu: (300, vec![1, 2, 7, gpu.multiprocessors(), 301, 5000]),
    }
    .on::<D>();
    let values = irregular(tiles * TILE as usize + 5);
    for blocks in numbers {
        assert_sums(&gpu, &format!("{blocks} blocks"), &values, blocks, false);
    }
}

/// The same input many times: the order of the blocks differs each time.
pub(crate) fn prefix_sums_repeat<D: Device>(device: &D) {
    let gpu = device.gpu(seed());
    let (n, rounds) = PerDevice {
        emulator: (2 * TILE + 1, 4),
        gpu: (5_000_001, 50),
    }
    .on::<D>();
    let values = irregular(n as usize);
    let blocks = scan::blocks(n, gpu.multiprocessors());
    for round in 0..rounds {
        let what = format!("round {round}");
        assert_sums(&gpu, &what, &values, blocks + round % 5, round % 2 == 0);
    }
}

/// Look-back over more tiles than a warp reads at a time, by a block that starts late.
pub(crate) fn prefix_sums_by_a_block_that_comes_late<D: Device>(device: &D) {
    let before = 2 * 288 + 3;
    let n = before * TILE + TILE + 1;
    let values: Vec<u32> = (0..n).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    // The status words that earlier blocks have published.
    let mut status = vec![0; scan::status_len(n) as usize];
    let tiles = values.chunks(TILE as usize).take(before as usize);
    for (status, tile) in status.iter_mut().zip(tiles) {
        *status = 1 << 32 | u64::from(sums(tile).1);
    }
    let gpu = device.gpu(seed());
    let input = gpu.upload(&values).unwrap();
    let mut output = gpu.alloc_zeroed(values.len()).unwrap();
    let mut total = gpu.alloc(1).unwrap();
    let mut status = gpu.upload(&status).unwrap();
    let mut ticket = gpu.upload(&[before]).unwrap();
    let state = ScanState {
        status: status.view_mut(),
        ticket: ticket.view_mut(),
    };
    // SAFETY: lengths and alignment as the kernel asks for; the state is as it leaves it on the
    // way.
    unsafe {
        scan::scan_exclusive::launch(
            &gpu.launcher(),
            1,
            input.view(),
            output.view_mut(),
            total.view_mut(),
            state,
            n,
        )
    }
    .unwrap();
    let (expected, sum) = sums(&values);
    let late = (before * TILE) as usize..;
    assert!(
        output.to_vec().unwrap()[late.clone()] == expected[late],
        "not the CPU's sums"
    );
    assert_eq!(total.to_vec().unwrap(), [sum], "not the CPU's total");
}
