//! The emulator as a device: seeds, launches one after the other, buffers, threads of the host.

use cuda_std::emulator::{Emulator, EmulatorError, Fault, Schedule, tally};
use cuda_std::prelude::*;

use crate::support::SCHEDULES;

/// Adds `x` to `sums`, in which blocks overlap by one element.
///
/// # Safety
///
/// `x` has 32 elements per block, `sums` 31 per block and one more.
#[kernel(block = 32)]
unsafe fn overlapping_sums(x: View<'_, u32>, sums: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    let place = 31 * thread::block_idx_x() + t;
    sums.atomic_add(0u32, 0);
    sums.st(place, sums.ld(place) + x.ld(thread::index_1d()));
}

/// Counts the threads.
///
/// # Safety
///
/// `count` has one element.
#[kernel(block = 64)]
unsafe fn count_threads(count: ViewMut<'_, u32>) {
    count.atomic_add(0u32, 1);
}

/// Writes `value` to the first `n` elements.
///
/// # Safety
///
/// `out` has `n` elements.
#[kernel(block = 32)]
unsafe fn fill(out: ViewMut<'_, u32>, value: u32, n: u32) {
    let i = thread::index_1d();
    if i < n {
        out.st(i, value);
    }
}

fn race(gpu: &Emulator) -> EmulatorError {
    let x = gpu.upload(&[1; 128]).unwrap();
    let mut sums = gpu.upload(&[0; 125]).unwrap();
    // SAFETY: 32 elements for each of 4 blocks, and 31 and one.
    unsafe { overlapping_sums::launch(gpu, 4, x.view(), sums.view_mut()) }.unwrap_err()
}

#[track_caller]
fn count(gpu: &Emulator, blocks: u32) {
    let mut count = gpu.upload(&[0]).unwrap();
    // SAFETY: one element.
    unsafe { count_threads::launch(gpu, blocks, count.view_mut()) }.unwrap();
    assert_eq!(count.to_vec().unwrap(), [64 * blocks]);
}

#[test]
fn the_seed_of_a_report_replays_it() {
    let mut reports = Vec::new();
    for schedule in SCHEDULES {
        for seed in 100..120 {
            let error = race(&Emulator::new(seed).with_schedule(schedule));
            let EmulatorError::Launch(report) = &error else {
                panic!("not a launch");
            };
            let again = Emulator::new(report.seed).with_schedule(schedule);
            assert_eq!(race(&again), error);
            if schedule != Schedule::InOrder {
                reports.push((report.steps, format!("{}", report.fault)));
            }
        }
    }
    // Other seeds are other orders.
    reports.sort_unstable();
    reports.dedup();
    assert!(reports.len() > 30, "{} different reports", reports.len());
}

#[test]
fn launches_before_do_not_matter() {
    for seed in 0..8 {
        let after = |others: &[u32]| {
            let gpu = Emulator::new(seed);
            for &blocks in others {
                count(&gpu, blocks);
            }
            race(&gpu)
        };
        let error = after(&[1, 30]);
        assert_eq!(after(&[12, 2]), error);
        let EmulatorError::Launch(report) = &error else {
            panic!("not a launch");
        };
        assert_eq!((report.launch, report.seed), (2, seed));
        assert!(
            error
                .to_string()
                .contains(&format!("seed {seed}, launch 2"))
        );
    }
}

#[test]
fn a_fault_leaves_the_device_usable() {
    let gpu = Emulator::new(5);
    let mut kept = gpu.upload(&[7; 40]).unwrap();
    let first = race(&gpu);
    count(&gpu, 3);
    assert_eq!(kept.to_vec().unwrap(), [7; 40]);
    // SAFETY: 40 elements.
    unsafe { fill::launch(&gpu, 2, kept.view_mut(), 9, 40) }.unwrap();
    assert_eq!(kept.to_vec().unwrap(), [9; 40]);
    let EmulatorError::Launch(report) = race(&gpu) else {
        panic!("not a launch");
    };
    assert_eq!(report.launch, 3);
    assert_ne!(first, EmulatorError::Launch(report));
}

#[test]
fn launches_that_were_refused_count_too() {
    let gpu = Emulator::new(0);
    let mut out = gpu.upload(&[0; 4]).unwrap();
    // SAFETY: nothing runs.
    let error = unsafe { fill::launch(&gpu, 0, out.view_mut(), 1, 4) }.unwrap_err();
    assert_eq!(error.fault().unwrap().kind(), "bad launch");
    let EmulatorError::Launch(report) = race(&gpu) else {
        panic!("not a launch");
    };
    assert_eq!(report.launch, 1);
}

#[test]
fn buffers_of_the_wrong_length() {
    let gpu = Emulator::new(0);
    let mut buffer = gpu.upload(&[1u16, 2, 3]).unwrap();
    let wrong = |given| Err(EmulatorError::WrongLength { buffer: 3, given });
    assert_eq!(buffer.write(&[1, 2]), wrong(2));
    assert_eq!(buffer.write(&[1; 4]), wrong(4));
    assert_eq!(buffer.read(&mut [0; 2]), wrong(2));
    assert_eq!(buffer.read(&mut []), wrong(0));
    assert_eq!(buffer.to_vec().unwrap(), [1, 2, 3]);
    assert_eq!((buffer.len(), buffer.is_empty()), (3, false));
    let text = wrong(2).unwrap_err().to_string();
    assert!(
        text.contains("2 elements") && text.contains("buffer of 3"),
        "{text}"
    );
}

#[test]
fn buffers_that_nothing_has_written() {
    let gpu = Emulator::new(0);
    let mut buffer = gpu.alloc::<u32>(10).unwrap();
    let unwritten = |index| Err(EmulatorError::ReadUninitialised { index, len: 10 });
    assert_eq!(buffer.to_vec(), unwritten(0));
    // SAFETY: 10 elements.
    unsafe { fill::launch(&gpu, 1, buffer.view_mut(), 3, 6) }.unwrap();
    assert_eq!(buffer.to_vec(), unwritten(6));
    let text = buffer.to_vec().unwrap_err().to_string();
    assert!(
        text.contains("element 6") && text.contains("of 10"),
        "{text}"
    );
    // SAFETY: 10 elements.
    unsafe { fill::launch(&gpu, 1, buffer.view_mut(), 4, 10) }.unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [4; 10]);
    let empty = gpu.alloc::<u32>(0).unwrap();
    assert_eq!(empty.to_vec().unwrap(), []);
    assert!(empty.is_empty());
}

#[test]
fn buffers_larger_than_memory() {
    let gpu = Emulator::new(0);
    // More bytes than an address space has, than `usize` counts, and than an allocation may have.
    for len in [
        isize::MAX as usize - 511,
        usize::MAX / 8 + 1,
        usize::MAX / 8,
    ] {
        let error = gpu.alloc::<u8>(len).map(|_| ());
        if len > isize::MAX as usize / 2 {
            assert_eq!(error, Err(EmulatorError::OutOfMemory { bytes: len }));
        }
        let error = gpu.alloc::<[u64; 2]>(len).unwrap_err();
        assert!(matches!(error, EmulatorError::OutOfMemory { .. }));
        assert!(error.to_string().contains("no memory"));
    }
    count(&gpu, 1);
}

#[test]
fn several_host_threads_with_a_device_each() {
    let alone = race(&Emulator::new(3));
    std::thread::scope(|scope| {
        for n in 0..4 {
            let alone = &alone;
            scope.spawn(move || {
                for _ in 0..10 {
                    assert_eq!(race(&Emulator::new(3)), *alone);
                    count(&Emulator::new(n), 4);
                }
            });
        }
    });
}

#[test]
fn several_host_threads_with_one_device() {
    let gpu = Emulator::new(3);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let gpu = gpu.clone();
            scope.spawn(move || {
                for blocks in 1..10 {
                    count(&gpu, blocks);
                    let fault = race(&gpu);
                    assert!(matches!(fault.fault(), Some(Fault::DataRace { .. })));
                }
            });
        }
    });
    let EmulatorError::Launch(report) = race(&gpu) else {
        panic!("not a launch");
    };
    assert_eq!(report.launch, 4 * 9 * 2);
}

#[test]
fn a_buffer_of_another_device_is_not_this_ones() {
    let (gpu, other) = (Emulator::new(0), Emulator::new(0));
    let mut theirs = other.upload(&[0]).unwrap();
    // SAFETY: one element, of another device: the emulator refuses it.
    let error = unsafe { count_threads::launch(&gpu, 1, theirs.view_mut()) }.unwrap_err();
    assert!(matches!(error.fault(), Some(Fault::NotDeviceMemory { .. })));
    // A clone is the same device.
    // SAFETY: one element.
    unsafe { count_threads::launch(&other.clone(), 1, theirs.view_mut()) }.unwrap();
    assert_eq!(theirs.to_vec().unwrap(), [64]);
}

#[test]
fn what_was_emulated_is_counted() {
    let before = tally();
    count(&Emulator::new(0), 5);
    let after = tally();
    let launches = |tally: &cuda_std::emulator::Tally| {
        tally
            .kernels
            .get("count_threads")
            .copied()
            .unwrap_or_default()
    };
    assert!(launches(&after) > launches(&before));
    assert!(after.threads >= before.threads + 5 * 64);
    assert!(after.steps > before.steps);
    assert!(after.to_string().starts_with("emulated "));
}
