//! What random tests draw from, how a run is repeated, and how a test says that it is skipped.
//!
//! Each test has a seed of its own, the same in every run. `TRAZAR_SEED=N` replaces the seeds of
//! all tests, and `TRAZAR_CASES=N` multiplies the numbers of cases that are drawn. A test that
//! fails prints the command that runs it again with the same seed.

use std::cell::Cell;
use std::io::Write;
use std::path::Path;
use std::sync::Once;

use proptest::test_runner::{Config, RngSeed};

thread_local! {
    /// The seed of the test on this thread.
    static SEED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// The seed in `TRAZAR_SEED`, or `usual` without one. The test on this thread draws from it.
///
/// # Panics
/// `TRAZAR_SEED` is not a whole number.
pub fn seed_or(usual: u64) -> u64 {
    let seed = given("TRAZAR_SEED").unwrap_or(usual);
    SEED.set(Some(seed));
    say_how_to_repeat();
    seed
}

/// The whole number in an environment variable, if it is set.
fn given<T: std::str::FromStr>(name: &str) -> Option<T> {
    let given = std::env::var(name).ok()?;
    let number = given.parse().ok();
    Some(number.unwrap_or_else(|| panic!("{name} is a whole number, not {given:?}")))
}

/// How often the usual number of cases is drawn: the number in `TRAZAR_CASES`, or 1.
fn times() -> u32 {
    given("TRAZAR_CASES").unwrap_or(1)
}

/// `cases` cases, times `TRAZAR_CASES`, drawn from [`seed_or`]. A case that fails is shrunk and
/// printed.
///
/// # Panics
/// `TRAZAR_SEED` or `TRAZAR_CASES` is not a whole number.
pub fn config(cases: u32, usual: u64) -> Config {
    Config {
        cases: cases.saturating_mul(times()),
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed_or(usual)),
        ..Config::default()
    }
}

/// Random numbers that depend on a seed alone, on every machine: SplitMix64 (G. L. Steele, D. Lea
/// and C. H. Flood, *Fast splittable pseudorandom number generators*, 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number, less than `limit`.
    pub fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        ((u128::from(bits) * u128::from(limit)) >> 64) as u32
    }
}

/// Makes each panic of a test that has a seed print the command that repeats the test.
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

/// The command that runs the test on this thread again.
fn command(seed: u64) -> String {
    // Cargo sets it for the tests that it runs. Without it, the package is the suite.
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_else(|_| "trazar-suite".into());
    let target = match binary() {
        Some(name) if name != package.replace('-', "_") => format!("--test {name}"),
        _ => "--lib".into(),
    };
    let package = match package.as_str() {
        "trazar-suite" => String::new(),
        package => format!("-p {package} "),
    };
    let thread = std::thread::current();
    // With one thread, all tests run on the first.
    let name = thread.name().filter(|&name| name != "main");
    let name = name.map(|name| format!(" -- --exact {name}"));
    let name = name.unwrap_or_default();
    // As it is given: it may be what is wrong.
    let cases = match std::env::var("TRAZAR_CASES") {
        Ok(times) => format!("TRAZAR_CASES={times} "),
        Err(_) => String::new(),
    };
    format!("TRAZAR_SEED={seed} {cases}cargo test {package}{target}{name}")
}

/// The test binary's name, without the hash that Cargo appends.
fn binary() -> Option<String> {
    let path = std::env::current_exe().ok()?;
    let name = path.file_stem().and_then(|name| Path::new(name).to_str())?;
    let name = name.rsplit_once('-').map_or(name, |(name, _hash)| name);
    Some(name.to_owned())
}

/// Says that `test` is skipped, on a line that the test harness does not capture.
pub fn skipped(test: &str, why: &str) {
    let _ = writeln!(std::io::stdout(), "{test}: skipped: {why}");
}
