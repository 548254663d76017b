//! The conformance kernels and the prefix sum under the emulator.

use std::cell::RefCell;
use std::ffi::c_void;
use std::io::Write;

use cuda_std::Pod;
use cuda_std::emulator::{Buffer, Emulator, EmulatorError, Schedule, tally};
use cuda_std::launch::{KernelSpec, LaunchConfig, Launcher};
use trazar_conformance::check::{self, Device};

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
