//! Emulators, and how cases are run on them.
//!
//! A comparison with the CPU that fails says "not the CPU's": `.ci/planted_errors.py` recognizes a
//! wrong result by these words.

use std::io::Write;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{TestCaseError, TestRunner};
use trazar::emulator::{Emulator, Schedule, tally};
use trazar_test_seeds as seeds;

/// Steps after which a launch is stopped: four times the 4.2 million steps of the longest one.
const MOST_STEPS: u64 = 1 << 24;

/// The seed of the tests that run on emulators.
pub fn seed() -> u64 {
    seeds::seed_or(1)
}

/// An emulator that stops launches that do not end.
pub fn emulator_of(seed: u64) -> Emulator {
    Emulator::new(seed).with_step_limit(MOST_STEPS)
}

/// [`emulator_of`] with one to three resident blocks, by the seed. Cooperative launches then have
/// no more, so that a small image is traced quickly.
pub fn small_emulator(seed: u64) -> Emulator {
    emulator_of(seed).with_resident_blocks(1 + (seed % 3) as u32)
}

/// Runs `test` on `cases` random values, and says so with [`say`].
///
/// # Panics
/// A case fails, which is then printed with the seed.
pub fn check<S: Strategy>(
    name: &str,
    cases: u32,
    values: &S,
    test: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let config = seeds::config(cases, seed());
    let cases = config.cases;
    let result = TestRunner::new(config).run(values, test);
    say(name, &format!("{cases} cases of seed {}", seed()));
    if let Err(error) = result {
        panic!("seed {}: {error}", seed());
    }
}

/// Where loads have returned stale values under `emulator`, for the message about a wrong result.
pub fn stale_loads(emulator: &Emulator) -> String {
    let loads = emulator.stale_loads().into_iter();
    let loads: Vec<_> = loads
        .map(|(source, count)| format!("{count} at {source}"))
        .collect();
    if loads.is_empty() {
        "no stale loads".into()
    } else {
        format!("stale loads: {}", loads.join(", "))
    }
}

/// Prints what the test `name` did, and all that was emulated so far, on a line that the test
/// harness does not capture.
pub fn say(name: &str, what: &str) {
    let _ = writeln!(std::io::stdout(), "{name}: {what}; so far {}", tally());
}

/// Emulators with every kind of schedule and several numbers of resident blocks.
pub fn emulator() -> impl Strategy<Value = Emulator> {
    let schedules = vec![
        Schedule::Mixed,
        Schedule::Random,
        Schedule::Priorities,
        Schedule::Stalls,
        Schedule::InOrder,
    ];
    let resident = prop_oneof![Just(None), (1..5u32).prop_map(Some)];
    (any::<u64>(), select(schedules), resident).prop_map(|(seed, schedule, resident)| {
        let emulator = emulator_of(seed).with_schedule(schedule);
        match resident {
            Some(blocks) => emulator.with_resident_blocks(blocks),
            None => emulator,
        }
    })
}
