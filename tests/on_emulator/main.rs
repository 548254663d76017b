//! The suite of the devices on the emulator, in many orders of the threads, and what only the
//! emulator can show: schedules that no GPU has at will, and allocations that fail.

use proptest::prelude::*;
use trazar::emulator::Emulator;
use trazar_test_support::emulators::{emulator, emulator_of, small_emulator, stale_loads};

#[path = "../devices/mod.rs"]
mod devices;
mod schedules;
mod watched;

use devices::{Device, Setup};

/// Emulators, of which there is always one more.
struct Emulators;

impl Device for Emulators {
    type Gpu = Emulator;

    fn open(_test: &str) -> Option<Self> {
        Some(Self)
    }

    fn gpu(&self, setup: impl Into<Setup>) -> Emulator {
        let setup = setup.into();
        let mut emulator = emulator_of(setup.order);
        if let Some(number) = setup.multiprocessors {
            emulator = emulator.with_multiprocessors(number);
        }
        if let Some(number) = setup.resident_blocks {
            emulator = emulator.with_resident_blocks(number);
        }
        if let Some(bytes) = setup.shared_per_block {
            emulator = emulator.with_shared_per_block(bytes);
        }
        emulator
    }

    fn small(&self, order: u64) -> Emulator {
        small_emulator(order)
    }

    fn any(&self) -> impl Strategy<Value = Emulator> {
        emulator()
    }

    fn another_queue(gpu: &Emulator) -> Emulator {
        gpu.another_queue()
    }

    fn notes(gpu: &Emulator) -> String {
        stale_loads(gpu)
    }
}

devices::suite!(crate::Emulators);
