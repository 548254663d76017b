//! Random images and emulators, and how cases of them are run.
//!
//! A comparison with the CPU that fails says "not the CPU's": `.ci/planted_errors.py` knows a wrong
//! result by these words.

use std::io::Write;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{TestCaseError, TestRunner};
use trazar::BinaryImage;
use trazar::emulator::{Emulator, Schedule, tally};
use trazar::generate::Pattern;

#[path = "../seeds/mod.rs"]
mod seeds;

/// Steps that a launch may take here: four times the 4.2 million that the longest takes.
const MOST_STEPS: u64 = 1 << 24;

/// The seed of all that is random here.
pub(crate) fn seed() -> u64 {
    seeds::seed_or(1)
}

/// An emulator whose launches end, if not by themselves.
pub(crate) fn emulator_of(seed: u64) -> Emulator {
    Emulator::new(seed).with_step_limit(MOST_STEPS)
}

/// Checks `cases` values; says which, and what was emulated so far, where the test runner's capture does not hide it.
pub(crate) fn check<S: Strategy>(
    name: &str,
    cases: u32,
    values: &S,
    test: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let result = TestRunner::new(seeds::config(cases, seed())).run(values, test);
    say(name, &format!("{cases} cases of seed {}", seed()));
    if let Err(error) = result {
        panic!("seed {}: {error}", seed());
    }
}

/// Where loads have returned stale values under an emulator: to be said when a result is wrong.
#[allow(dead_code, reason = "not for all tests")]
pub(crate) fn stale_loads(emulator: &Emulator) -> String {
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

pub(crate) fn say(name: &str, what: &str) {
    let _ = writeln!(std::io::stdout(), "{name}: {what}; so far {}", tally());
}

/// Sides, often near those of words, tiles and warps.
pub(crate) fn side(largest: u32) -> impl Strategy<Value = u32> {
    let edges = [
        1, 2, 16, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257,
    ];
    let edges: Vec<u32> = edges.into_iter().filter(|&edge| edge <= largest).collect();
    prop_oneof![select(edges), 1..=largest]
}

/// Noise of every density, and every pattern.
pub(crate) fn noise_or_pattern() -> impl Strategy<Value = Pattern> {
    prop_oneof![
        (0..=100u32).prop_map(|percent| Pattern::Noise {
            density: f64::from(percent) / 100.0
        }),
        select(&Pattern::ALL[..]),
    ]
}

/// Noise of every density, and every pattern, also inverted.
pub(crate) fn image() -> impl Strategy<Value = BinaryImage> {
    (
        noise_or_pattern(),
        side(300),
        side(200),
        any::<u64>(),
        any::<bool>(),
    )
        .prop_map(|(pattern, width, height, seed, inverted)| {
            let mut image = pattern.generate(width, height, seed).unwrap();
            if inverted {
                image.invert();
            }
            image
        })
}

/// Orders of threads, devices, and numbers of blocks that are in flight at once.
pub(crate) fn emulator() -> impl Strategy<Value = Emulator> {
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
