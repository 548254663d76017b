//! The conformance kernels under the emulator.

use std::cell::RefCell;
use std::ffi::c_void;
use std::io::Write;

use cuda_std::Pod;
use cuda_std::emulator::{Buffer, Emulator, EmulatorError, Fault, Schedule, tally};
use cuda_std::grid::GridBarrier;
use cuda_std::launch::{KernelSpec, LaunchConfig, Launcher};
use trazar_conformance::check::{self, Device};
use trazar_conformance::grids::{self, THREADS};

/// An emulator for the checks.
struct Checked {
    emulator: Emulator,
    memory: RefCell<Vec<Buffer<u8>>>,
}

impl Launcher for Checked {
    type Error = EmulatorError;

    unsafe fn launch(
        &self,
        spec: &'static KernelSpec,
        config: LaunchConfig,
        args: &[*const c_void],
    ) -> Result<(), EmulatorError> {
        // SAFETY: the caller's promise, passed on.
        unsafe { self.emulator.launch(spec, config, args) }
    }
}

impl Device for Checked {
    fn upload<T: Pod>(&self, data: &[T]) -> *mut T {
        // SAFETY: plain data has no padding; the length in bytes is the slice's.
        let bytes = unsafe { std::slice::from_raw_parts(data.as_ptr().cast(), size_of_val(data)) };
        let mut buffer = self.emulator.upload::<u8>(bytes).expect("memory");
        let address = buffer.as_mut_ptr();
        self.memory.borrow_mut().push(buffer);
        address.cast()
    }

    fn download<T: Pod>(&self, from: *const T, len: usize) -> Vec<T> {
        let memory = self.memory.borrow();
        let buffer = memory
            .iter()
            .find(|buffer| buffer.as_ptr() == from.cast())
            .expect("an upload's address");
        let raw = buffer.to_vec().expect("written memory");
        assert_eq!(raw.len(), len * size_of::<T>());
        (0..len)
            // SAFETY: element `i` lies within the bytes, any bytes are a valid `Pod`, and they need
            // no alignment.
            .map(|i| unsafe { raw.as_ptr().cast::<T>().add(i).read_unaligned() })
            .collect()
    }

    fn resident_blocks(&self, spec: &'static KernelSpec) -> u32 {
        self.emulator.resident_blocks(spec, 0)
    }
}

#[test]
fn every_facility_of_cuda_std_works() {
    let schedules = [
        Schedule::Random,
        Schedule::Priorities,
        Schedule::Mixed,
        Schedule::InOrder,
    ];
    let mut failures = Vec::new();
    for seed in 0..3 {
        for schedule in schedules {
            for (name, check) in check::all::<Checked>() {
                let checked = Checked {
                    emulator: Emulator::new(seed).with_schedule(schedule),
                    memory: RefCell::default(),
                };
                if let Err(why) = check(&checked) {
                    failures.push(format!("{name}, seed {seed}, {schedule:?}: {why}"));
                }
            }
        }
    }
    let _ = writeln!(std::io::stdout(), "conformance: {}", tally());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The barrier of a grid alone, in more orders than the test of everything has, half of them with
/// weak memory.
#[test]
fn blocks_wait_for_each_other() {
    let check = check::all::<Checked>()
        .into_iter()
        .find_map(|(name, check)| (name == "barrier of a grid").then_some(check))
        .expect("a check of this name");
    for seed in 0..24 {
        for schedule in [Schedule::Random, Schedule::Priorities, Schedule::Mixed] {
            let emulator = Emulator::new(seed)
                .with_resident_blocks(1 + seed as u32 % 5)
                .with_schedule(schedule)
                .with_weak_memory(seed % 2 == 0);
            let checked = Checked {
                emulator,
                memory: RefCell::default(),
            };
            if let Err(why) = check(&checked) {
                panic!("seed {seed}, {schedule:?}: {why}");
            }
        }
    }
}

#[test]
fn a_grid_that_is_not_resident_is_refused() {
    let emulator = Emulator::new(0).with_resident_blocks(3);
    assert_eq!(emulator.resident_blocks(&grids::exchange::SPEC, 0), 3);
    let values = vec![0u32; 4 * THREADS as usize];
    let mut values = [(); 2].map(|()| emulator.upload(&values).expect("memory"));
    let mut counter = emulator.upload(&[0u32]).expect("memory");
    let mut launch = |blocks| {
        let [values, other] = &mut values;
        let barrier = GridBarrier {
            counter: counter.view_mut(),
        };
        // SAFETY: room for four blocks, and the barrier is 0 or as a launch left it.
        unsafe {
            grids::exchange::launch(
                &emulator,
                blocks,
                values.view_mut(),
                other.view_mut(),
                barrier,
                2,
            )
        }
    };
    assert_eq!(launch(3), Ok(()));
    let error = launch(4).expect_err("a grid of four blocks");
    let fault = error.fault().expect("a fault");
    let (blocks, resident) = (4, 3);
    assert_eq!(*fault, Fault::NotResident { blocks, resident });
    assert_eq!(
        fault.to_string(),
        "grid not resident: the kernel is cooperative, and of the 4 blocks of its grid, 3 can be \
         resident at once"
    );
}
