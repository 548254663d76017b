//! Views in structs: checked as plain views are, and named by their fields.

use cuda_std::emulator::Touch::{Load, Store};
use cuda_std::emulator::{Emulator, Fault, QueueWork};
use cuda_std::launch::ParamKind;
use cuda_std::prelude::*;

use crate::support::{File, always, element, never, xs};

const HERE: File = File("structs.rs", include_str!("structs.rs"));

/// The extents of a problem: plain data.
#[repr(C)]
#[derive(Clone, Copy, Pod)]
struct Extents {
    width: u32,
    height: u32,
}

/// What is done with the sums.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, KernelParam)]
enum Mode {
    Replace,
    Add,
}

/// Where results go.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
struct Output<'a, T: Pod> {
    /// One per row.
    sums: ViewMut<'a, T>,
    /// One.
    locks: ViewMut<'a, u32>,
}

/// Rows to add up.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
struct Problem<'a, T: Pod> {
    extents: Extents,
    mode: Mode,
    /// `width · height` values.
    labels: View<'a, T>,
    output: Output<'a, T>,
}

impl<T: Pod> Problem<'_, T> {
    fn value(&self, x: u32, y: u32) -> T {
        self.labels.ld(y * self.extents.width + x) // @load of a label
    }
}

/// Adds up rows; one thread per row.
///
/// # Safety
///
/// The views have the lengths that their fields ask for.
#[kernel(block = 32)]
unsafe fn sums_of_rows(problem: Problem<'_, u32>) {
    let y = thread::index_1d();
    if y < problem.extents.height {
        let mut sum = match problem.mode {
            Mode::Replace => 0,
            Mode::Add => problem.output.sums.ld(y), // @load of a sum
        };
        for x in 0..problem.extents.width {
            sum += problem.value(x, y);
        }
        problem.output.sums.st(y, sum);
    }
}

/// Adds up rows; one thread per value, which all write the row's sum.
///
/// # Safety
///
/// As for `sums_of_rows`.
#[kernel(block = 32)]
unsafe fn sums_that_race(problem: Problem<'_, u32>) {
    let y = thread::block_idx_x();
    let x = thread::thread_idx_x();
    if x < problem.extents.width {
        let value = problem.value(x, y);
        problem.output.sums.st(y, value); // @store by all
    }
}

/// Takes the lock, which it does not give back if asked to keep it.
///
/// # Safety
///
/// The lock is one element.
#[kernel(block = 1, zero_at_exit(output.locks))]
unsafe fn takes_a_lock(output: Output<'_, u32>, keep: u32) {
    while output.locks.atomic_cas(0u32, 0, 1) != 0 {}
    if keep == 0 {
        output.locks.atomic_exch(0u32, 0);
    }
}

/// Launches `sums_of_rows` for 8 rows of 4 ones, of which `labels` are there.
fn sum(
    gpu: &Emulator,
    mode: Mode,
    labels: usize,
) -> Result<Vec<u32>, cuda_std::emulator::EmulatorError> {
    let labels = gpu.upload(&vec![1u32; labels])?;
    let (mut sums, mut locks) = (gpu.alloc(8)?, gpu.upload(&[0])?);
    let problem = Problem {
        extents: Extents {
            width: 4,
            height: 8,
        },
        mode,
        labels: labels.view(),
        output: Output {
            sums: sums.view_mut(),
            locks: locks.view_mut(),
        },
    };
    // SAFETY: what is too short or unwritten is to be found.
    unsafe { sums_of_rows::launch(gpu, 1, problem)? };
    sums.to_vec()
}

#[test]
fn the_views_of_a_struct_are_listed() {
    let [param] = sums_of_rows::SPEC.params else {
        panic!("one parameter");
    };
    assert_eq!((param.name, param.ty), ("problem", "Problem<'_, u32>"));
    assert_eq!((param.size, param.align), (64, 8));
    let ParamKind::Struct([extents, mode, labels, output]) = param.kind else {
        panic!("four fields");
    };
    assert_eq!((extents.offset, extents.kind), (0, ParamKind::Value));
    assert_eq!((mode.offset, mode.kind), (8, ParamKind::Value));
    let view = |writes| ParamKind::View { element: 4, writes };
    assert_eq!((labels.name, labels.ty), ("labels", "View<'a, T>"));
    assert_eq!((labels.offset, labels.kind), (16, view(false)));
    let ParamKind::Struct([sums, locks]) = output.kind else {
        panic!("two fields");
    };
    assert_eq!((output.offset, sums.offset, locks.offset), (32, 0, 16));
    assert_eq!((sums.kind, locks.kind), (view(true), view(true)));
    assert_eq!(takes_a_lock::SPEC.zero_at_exit, ["output.locks"]);
}

#[test]
fn past_the_end_of_a_field() {
    always(
        "sums_of_rows",
        |gpu| sum(gpu, Mode::Replace, 17).map(drop),
        |fault| {
            let Fault::OutOfBounds {
                event,
                place,
                count: 1,
                len: 17,
            } = fault
            else {
                panic!("not out of bounds");
            };
            HERE.event(event, Load, "load of a label");
            assert_eq!(place.view, "`problem.labels`");
            assert!(xs(event.thread).1 >= 4);
        },
    );
    never(|gpu| {
        assert_eq!(sum(gpu, Mode::Replace, 32)?, [4; 8]);
        Ok(())
    });
}

#[test]
fn a_field_that_nothing_has_written() {
    always(
        "sums_of_rows",
        |gpu| sum(gpu, Mode::Add, 32).map(drop),
        |fault| {
            let Fault::Uninitialised { event, place } = fault else {
                panic!("not uninitialised");
            };
            HERE.event(event, Load, "load of a sum");
            assert_eq!(place.view, "`problem.output.sums`");
        },
    );
}

#[test]
fn a_race_on_a_field() {
    let run = |gpu: &Emulator, width| {
        let labels = gpu.upload(&[1u32; 32])?;
        let (mut sums, mut locks) = (gpu.alloc(32)?, gpu.upload(&[0])?);
        let problem = Problem {
            extents: Extents { width, height: 1 },
            mode: Mode::Replace,
            labels: labels.view(),
            output: Output {
                sums: sums.view_mut(),
                locks: locks.view_mut(),
            },
        };
        // SAFETY: the lengths are right; the race is to be found.
        unsafe { sums_that_race::launch(gpu, 1, problem) }
    };
    always(
        "sums_that_race",
        |gpu| run(gpu, 2),
        |fault| {
            let stores = [(Store, "store by all"), (Store, "store by all")];
            let race = HERE.race(fault, stores);
            element(&race.place, "`problem.output.sums`", 0);
        },
    );
    never(|gpu| run(gpu, 1));
}

/// Memory of another device, in a field.
#[test]
fn a_field_of_another_device() {
    always(
        "takes_a_lock",
        |gpu| {
            let other = Emulator::new(1);
            let (mut sums, mut locks) = (gpu.alloc(1)?, other.upload(&[0])?);
            let output = Output {
                sums: sums.view_mut(),
                locks: locks.view_mut(),
            };
            // SAFETY: one element; that it is another device's is to be found.
            unsafe { takes_a_lock::launch(gpu, 1, output, 0) }
        },
        |fault| {
            let Fault::NotDeviceMemory { place, .. } = fault else {
                panic!("of this device");
            };
            element(place, "`output.locks`", 0);
        },
    );
}

#[test]
fn a_field_that_is_not_zero_at_exit() {
    let run = |gpu: &Emulator, keep| {
        let (mut sums, mut locks) = (gpu.alloc(1)?, gpu.upload(&[0])?);
        let output = Output {
            sums: sums.view_mut(),
            locks: locks.view_mut(),
        };
        // SAFETY: one element.
        unsafe { takes_a_lock::launch(gpu, 1, output, keep) }
    };
    always(
        "takes_a_lock",
        |gpu| run(gpu, 1),
        |fault| {
            let Fault::NotZeroAtExit { place, last } = fault else {
                panic!("zero at exit");
            };
            element(place, "`output.locks`", 0);
            assert!(last.is_some());
        },
    );
    never(|gpu| run(gpu, 0));
}

/// A field's buffer belongs to another queue, which has not been waited for.
#[test]
fn a_field_of_another_queue() {
    let run = |gpu: &Emulator, acquires: bool| {
        let (mut sums, mut locks) = (gpu.alloc(1)?, gpu.upload(&[0])?);
        let other = gpu.another_queue();
        if acquires {
            other.acquire(&locks)?;
        }
        let output = Output {
            sums: sums.view_mut(),
            locks: locks.view_mut(),
        };
        // SAFETY: one element.
        let launched = unsafe { takes_a_lock::launch(&other, 1, output, 0) };
        other.release(&locks)?;
        launched
    };
    always(
        "takes_a_lock",
        |gpu| run(gpu, false),
        |fault| {
            let Fault::StreamOrder(unordered) = fault else {
                panic!("in order");
            };
            let QueueWork::Launch { argument, .. } = &unordered.now.1 else {
                panic!("not a launch");
            };
            assert!(argument.starts_with("output."), "{argument}");
        },
    );
    never(|gpu| run(gpu, true));
}
