//! Where all that tests draw comes from, and how a run is repeated.
//!
//! Each test has a seed of its own, the same in every run. `TRAZAR_SEED=N` is the seed of all of them instead. A test that
//! fails says how to run it once more with the seed that it had.

use std::cell::Cell;
use std::sync::Once;

use proptest::test_runner::{Config, RngSeed};

thread_local! {
    /// What the test on this thread has drawn from.
    static SEED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// `TRAZAR_SEED`, or without it `usual`.
pub(crate) fn seed_or(usual: u64) -> u64 {
    let seed = match std::env::var("TRAZAR_SEED") {
        Ok(given) => given
            .parse()
            .unwrap_or_else(|_| panic!("TRAZAR_SEED is a whole number, not {given:?}")),
        Err(_) => usual,
    };
    SEED.set(Some(seed));
    say_how_to_repeat();
    seed
}

/// `cases` cases, drawn from [`seed_or`]. A failing one is printed, and shrunk.
pub(crate) fn config(cases: u32, usual: u64) -> Config {
    Config {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed_or(usual)),
        ..Config::default()
    }
}

/// Has every panic of a test with a seed followed by the command that repeats it.
fn say_how_to_repeat() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            before(info);
            if let Some(seed) = SEED.get() {
                eprintln!("to repeat it: {}", command(seed));
            }
        }));
    });
}

/// What runs the test on this thread once more.
fn command(seed: u64) -> String {
    // This is set for tests that are crates of their own.
    let target = match option_env!("CARGO_TARGET_TMPDIR") {
        Some(_) => concat!("--test ", env!("CARGO_CRATE_NAME")),
        None => "--lib",
    };
    let package = match env!("CARGO_PKG_NAME") {
        "trazar-suite" => "",
        _ => concat!("-p ", env!("CARGO_PKG_NAME"), " "),
    };
    let thread = std::thread::current();
    // With one thread, all tests run on the first.
    let name = thread.name().filter(|&name| name != "main");
    let name = name.map(|name| format!(" -- --exact {name}"));
    let name = name.unwrap_or_default();
    format!("TRAZAR_SEED={seed} cargo test {package}{target}{name}")
}
