//! Several queues of one device: uses of a buffer that nothing orders.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cuda_std::emulator::{Buffer, Emulator, EmulatorError, Fault, QueueWork, Unordered};
use cuda_std::prelude::*;

use crate::support::{always, never};

/// Adds one to each of 32 elements.
///
/// # Safety
///
/// `values` has 32 elements.
#[kernel(block = 32)]
unsafe fn add_one(values: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    values.st(t, values.ld(t) + 1);
}

/// Doubles 32 elements.
///
/// # Safety
///
/// `values` and `doubles` have 32 elements.
#[kernel(block = 32)]
unsafe fn double(values: View<'_, u32>, doubles: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    doubles.st(t, 2 * values.ld(t));
}

fn add(on: &Emulator, values: &mut Buffer<u32>) -> Result<(), EmulatorError> {
    // SAFETY: 32 elements.
    unsafe { add_one::launch(on, 1, values.view_mut()) }
}

/// Doubles `values` into a buffer of the queue's own.
fn doubled(on: &Emulator, values: &Buffer<u32>) -> Result<Buffer<u32>, EmulatorError> {
    let mut doubles = on.alloc(32)?;
    // SAFETY: 32 elements each.
    unsafe { double::launch(on, 1, values.view(), doubles.view_mut())? };
    Ok(doubles)
}

fn launch(kernel: &'static str) -> QueueWork {
    QueueWork::Launch {
        kernel,
        argument: "values".into(),
    }
}

#[track_caller]
fn unordered(fault: &Fault) -> Unordered {
    let Fault::StreamOrder(unordered) = fault else {
        panic!("not about queues");
    };
    assert_eq!((unordered.bytes, unordered.home), (128, 0));
    (**unordered).clone()
}

#[test]
fn no_acquire() {
    always(
        "add_one",
        |gpu| {
            let mut values = gpu.upload(&[1; 32])?;
            let error = add(&gpu.another_queue(), &mut values).unwrap_err();
            let text = error.to_string();
            assert!(
                text.contains(
                    "stream order: a buffer of 128 bytes that belongs to queue 0: queue 0 writes \
                     it, and queue 1 launches `add_one` with it as `values` without waiting for \
                     that: `acquire` it on queue 1 before the second"
                ),
                "{text}"
            );
            Err(error)
        },
        |fault| {
            let found = unordered(fault);
            assert_eq!(found.before, (0, QueueWork::Write));
            assert_eq!(found.now, (1, launch("add_one")));
            assert!(found.is_released);
        },
    );
    never(|gpu| {
        let mut values = gpu.upload(&[1; 32])?;
        let other = gpu.another_queue();
        other.acquire(&values)?;
        add(&other, &mut values)?;
        other.release(&values)?;
        add(gpu, &mut values)?;
        assert_eq!(values.to_vec()?, [3; 32]);
        Ok(())
    });
}

/// What the first queue does after the second acquired the buffer is not waited for.
#[test]
fn an_early_acquire() {
    always(
        "double",
        |gpu| {
            // The first launch's number is to be 0.
            let mut values = gpu.alloc(32)?;
            let other = gpu.another_queue();
            other.acquire(&values)?;
            values.fill(7)?;
            doubled(&other, &values).map(drop)
        },
        |fault| {
            let found = unordered(fault);
            assert_eq!(found.before, (0, QueueWork::Write));
            assert_eq!(found.now, (1, launch("double")));
        },
    );
    never(|gpu| {
        let mut values = gpu.alloc(32)?;
        let other = gpu.another_queue();
        values.fill(7)?;
        other.acquire(&values)?;
        assert_eq!(doubled(&other, &values)?.to_vec()?, [14; 32]);
        other.release(&values)
    });
}

/// A buffer after a launch on another queue, without a release.
fn not_released(gpu: &Emulator) -> Buffer<u32> {
    let mut values = gpu.upload(&[1; 32]).unwrap();
    let other = gpu.another_queue();
    other.acquire(&values).unwrap();
    add(&other, &mut values).unwrap();
    values
}

#[track_caller]
fn lacks_release(error: &EmulatorError, now: QueueWork) {
    let found = match error {
        EmulatorError::StreamOrder(unordered) => (**unordered).clone(),
        error => unordered(error.fault().expect("a fault")),
    };
    assert_eq!(found.before, (1, launch("add_one")));
    assert_eq!(found.now, (0, now));
    assert!(!found.is_released);
    let text = error.to_string();
    assert!(
        text.contains("`release` it on queue 1 after the first"),
        "{text}"
    );
}

#[test]
fn no_release() {
    let gpu = Emulator::new(0);
    let mut values = not_released(&gpu);
    lacks_release(&values.to_vec().unwrap_err(), QueueWork::Read);
    lacks_release(&values.fill(0).unwrap_err(), QueueWork::Write);
    lacks_release(&values.write(&[0; 32]).unwrap_err(), QueueWork::Write);
    lacks_release(&add(&gpu, &mut values).unwrap_err(), launch("add_one"));
    // Another queue that acquires it waits for the first queue, but that one has not waited.
    let third = gpu.another_queue();
    third.acquire(&values).unwrap();
    let error = add(&third, &mut values).unwrap_err();
    assert!(error.to_string().contains("`release` it on queue 1"));
}

/// A drop that comes too early is all that tells of it, so it panics.
#[test]
fn a_drop_without_a_release() {
    let values = not_released(&Emulator::new(0));
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(values)));
    let payload = dropped.unwrap_err();
    let message = payload.downcast_ref::<String>().expect("a message");
    assert!(
        message.contains("queue 0 frees it without waiting for that: `release` it on queue 1"),
        "{message}"
    );
}

/// Adds one to 32 elements, and reads what is past them.
///
/// # Safety
///
/// `values` has 32 elements. The kernel reads 33, which the emulator refuses.
#[kernel(block = 32)]
unsafe fn add_past_the_end(values: ViewMut<'_, u32>) {
    let i = thread::index_1d();
    values.st(i, values.ld(i + 1) + 1);
}

/// A launch's error leaves by `?` while another queue's work on the buffers is not waited for: the
/// caller gets the error, not a panic of the buffers that are dropped meanwhile.
#[test]
fn an_error_outlives_the_drops_on_its_way() {
    let run = |gpu: &Emulator, fails: fn(&Emulator, &mut Buffer<u32>) -> _| {
        let mut values = gpu.upload(&[1; 32])?;
        let other = gpu.another_queue();
        other.acquire(&values)?;
        add(&other, &mut values)?;
        fails(&other, &mut values)?;
        other.release(&values)
    };
    let gpu = Emulator::new(0);
    let error = run(&gpu, |gpu, values| {
        // SAFETY: the emulator refuses what lies past the elements.
        unsafe { add_past_the_end::launch(gpu, 1, values.view_mut()) }
    });
    let fault = error.as_ref().unwrap_err().fault().expect("a fault");
    assert_eq!(fault.kind(), "data race", "{fault}");

    // The errors of copies and allocations do too.
    let run_again = |fails| run(&Emulator::new(0), fails).unwrap_err();
    let error = run_again(|_, values| values.write(&[0; 31]));
    assert!(
        matches!(error, EmulatorError::WrongLength { .. }),
        "{error}"
    );
    let error = run_again(|_, values| values.to_vec().map(drop));
    assert!(matches!(error, EmulatorError::StreamOrder(_)), "{error}");
    let error = run_again(|gpu, _| gpu.alloc::<u32>(32)?.to_vec().map(drop));
    let EmulatorError::ReadUninitialised { .. } = error else {
        panic!("{error}");
    };
    let error = run_again(|gpu, _| gpu.alloc::<u64>(usize::MAX / 16).map(drop));
    assert!(
        matches!(error, EmulatorError::OutOfMemory { .. }),
        "{error}"
    );
}

/// Queues that only read may do so at the same time; the next that writes waits for all of them.
#[test]
fn readers_overlap() {
    let gpu = Emulator::new(0);
    let mut values = gpu.upload(&[4; 32]).unwrap();
    let readers = [gpu.another_queue(), gpu.another_queue()];
    for reader in &readers {
        reader.acquire(&values).unwrap();
    }
    for reader in &readers {
        assert_eq!(doubled(reader, &values).unwrap().to_vec().unwrap(), [8; 32]);
    }
    assert_eq!(values.to_vec().unwrap(), [4; 32]);
    readers[0].release(&values).unwrap();
    let error = values.fill(0).unwrap_err();
    assert!(error.to_string().contains("`release` it on queue 2"));
    readers[1].release(&values).unwrap();
    values.fill(0).unwrap();
}

/// One wait covers all work of the other queue, and everything that it had waited for itself.
#[test]
fn waits_are_passed_on() {
    let gpu = Emulator::new(0);
    let (second, third) = (gpu.another_queue(), gpu.another_queue());
    let mut values = gpu.upload(&[1; 32]).unwrap();
    second.acquire(&values).unwrap();
    let doubles = doubled(&second, &values).unwrap();
    third.acquire(&doubles).unwrap();
    add(&third, &mut values).unwrap();
    third.release(&values).unwrap();
    third.release(&doubles).unwrap();
    assert_eq!(values.to_vec().unwrap(), [2; 32]);
}

#[test]
fn a_buffer_of_another_emulator() {
    let (gpu, other) = (Emulator::new(0), Emulator::new(0));
    let values = gpu.upload(&[1; 32]).unwrap();
    assert_eq!(other.acquire(&values), Err(EmulatorError::OtherDevice));
    assert_eq!(other.release(&values), Err(EmulatorError::OtherDevice));
    // Its memory belongs to another device.
    let error = doubled(&other, &values).unwrap_err();
    assert_eq!(error.fault().unwrap().kind(), "not device memory");
}

/// A launch holds the device's memory: launches, copies and drops of other threads wait for its
/// end.
#[test]
fn threads_launch_one_after_the_other() {
    let gpu = Emulator::new(0);
    let mut values = gpu.upload(&[0; 32]).unwrap();
    let all = values.view_mut();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    // SAFETY: 32 elements; the emulator runs one launch at a time.
                    unsafe { add_one::launch(&gpu, 1, all) }.unwrap();
                    assert_eq!(gpu.upload(&[5; 32]).unwrap().to_vec().unwrap(), [5; 32]);
                }
            });
        }
    });
    assert_eq!(values.to_vec().unwrap(), [200; 32]);
}
