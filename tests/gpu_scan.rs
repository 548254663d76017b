//! The prefix sum on a GPU equals the running sum on the CPU. Without a GPU each test says that it
//! was skipped; with `TRAZAR_REQUIRE_GPU=1` that is a failure.
#![cfg(not(target_os = "macos"))]

use std::time::Instant;

use trazar::cuda::{CudaError, Device, Module, ModuleQueue};
use trazar_test_support::kernels::PTX;
use trazar_test_support::kernels::scan::{self, ScanState, TILE};
use trazar_test_support::optional;

/// The GPU; `None`, with a line that says so, if there is none.
fn gpu(test: &str) -> Option<Device> {
    optional::on_gpu(test, Device::open(0).map_err(trazar::Error::from))
}

/// A stream of `device` with the library's kernels.
fn queue_on(device: &Device) -> Result<ModuleQueue, CudaError> {
    let module = Module::from_ptx(device, PTX)?;
    ModuleQueue::new(&device.stream()?, &module)
}

/// The result of one scan.
struct Scanned {
    sums: Vec<u32>,
    total: u32,
}

/// Scans `values` with `blocks` blocks, within one buffer if `in_place`.
fn scan_on(
    queue: &ModuleQueue,
    values: &[u32],
    blocks: u32,
    in_place: bool,
) -> Result<Scanned, CudaError> {
    let stream = queue.stream();
    let n = u32::try_from(values.len()).expect("fewer than 2^32");
    let mut input = stream.upload(values)?;
    let mut output = stream.alloc::<u32>(values.len())?;
    let mut total = stream.upload(&[0u32])?;
    let mut status = stream.alloc::<u64>(scan::status_len(n) as usize)?;
    let mut ticket = stream.alloc::<u32>(1)?;
    output.fill_bytes(0xff)?;
    status.fill_bytes(0xff)?;
    ticket.fill_bytes(0xff)?;
    if n > 0 {
        let (from, to) = if in_place {
            let both = input.view_mut();
            (both.as_view(), both)
        } else {
            (input.view(), output.view_mut())
        };
        // SAFETY: lengths, alignment and order are those that the kernels require.
        unsafe {
            let state = ScanState {
                status: status.view_mut(),
                ticket: ticket.view_mut(),
            };
            scan::scan_init::launch_threads(queue, scan::status_len(n), state)?;
            scan::scan_exclusive::launch(queue, blocks, from, to, total.view_mut(), state, n)?;
        }
    }
    let sums = if in_place { &input } else { &output };
    Ok(Scanned {
        sums: sums.to_vec()?,
        total: total.to_vec()?[0],
    })
}

/// Compares a scan with the running sum on the CPU, modulo 2³².
fn compare(what: &str, values: &[u32], found: &Scanned) {
    let mut sum = 0u32;
    assert_eq!(found.sums.len(), values.len(), "{what}");
    for (i, (&value, &found)) in values.iter().zip(&found.sums).enumerate() {
        assert_eq!(found, sum, "{what}: sum of the elements before {i}");
        sum = sum.wrapping_add(value);
    }
    assert_eq!(found.total, sum, "{what}: total");
}

/// Irregular values whose sum overflows `u32` within a few elements.
fn random(n: usize) -> impl Iterator<Item = u32> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    (0..n).map(move |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u32
    })
}

#[test]
fn scan_equals_the_cpu() -> Result<(), CudaError> {
    let Some(device) = gpu("scan") else {
        return Ok(());
    };
    let queue = queue_on(&device)?;
    let multiprocessors = device.info().multiprocessors;
    let tile = TILE as usize;
    // A wave: one tile per block of a full launch.
    let wave = scan::blocks(u32::MAX, multiprocessors) as usize * tile;
    let mut lengths = vec![0, 1, 2, 3, 4, 5, 31, 127, 128, 129];
    for around in [tile, 2 * tile, 287 * tile, 289 * tile, wave, 3 * wave] {
        lengths.extend([around - 1, around, around + 1]);
    }
    for n in lengths {
        let values: Vec<u32> = random(n).collect();
        let blocks = scan::blocks(n as u32, multiprocessors);
        compare(
            &format!("{n}"),
            &values,
            &scan_on(&queue, &values, blocks, false)?,
        );
        compare(
            &format!("{n} in place"),
            &values,
            &scan_on(&queue, &values, blocks, true)?,
        );
    }
    // With these values a sum that is added twice, left out, or carried into the neighbouring state
    // is seen.
    let n = 3 * wave + 77;
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
        let blocks = scan::blocks(n as u32, multiprocessors);
        compare(name, &values, &scan_on(&queue, &values, blocks, false)?);
    }
    // Any number of blocks is allowed: one, fewer than fit, and one per tile, most of which start
    // when no tile is left.
    let values: Vec<u32> = random(300 * tile + 5).collect();
    for blocks in [1, 2, 7, multiprocessors, 301, 5000] {
        let what = format!("{blocks} blocks");
        compare(&what, &values, &scan_on(&queue, &values, blocks, false)?);
    }
    Ok(())
}

#[test]
fn scan_of_many_elements() -> Result<(), CudaError> {
    let Some(device) = gpu("large scan") else {
        return Ok(());
    };
    let n = (1 << 28) + 3;
    if device.memory()?.free < 3 * 4 * n {
        optional::skipped("large scan", "less than 3 GiB of device memory are free");
        return Ok(());
    }
    let queue = queue_on(&device)?;
    let values: Vec<u32> = random(n).collect();
    let blocks = scan::blocks(n as u32, device.info().multiprocessors);
    let start = Instant::now();
    let found = scan_on(&queue, &values, blocks, false)?;
    println!("{:.1?} with both copies", start.elapsed());
    compare("2^28 + 3", &values, &found);
    Ok(())
}

/// The same input many times: the order of the blocks differs each time.
#[test]
fn scans_repeat() -> Result<(), CudaError> {
    let Some(device) = gpu("repeated scan") else {
        return Ok(());
    };
    let queue = queue_on(&device)?;
    let values: Vec<u32> = random(5_000_001).collect();
    let blocks = scan::blocks(5_000_001, device.info().multiprocessors);
    for round in 0..50 {
        let found = scan_on(&queue, &values, blocks + round % 5, round % 2 == 0)?;
        compare(&format!("round {round}"), &values, &found);
    }
    Ok(())
}
