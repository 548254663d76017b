//! The measuring itself.

use std::time::Instant;

use super::cases::Case;
use super::devices::{Device, Devices};
use super::digest::Found;
use super::results::{Measured, Seconds, median};
use crate::args::name;
use crate::failure::Failure;
use crate::progress::Progress;

/// All jobs take turns this often.
const ROUNDS: usize = 5;
/// The most runs of one job in a round.
const MOST_RUNS: usize = 40;
/// The share of the time for the first runs and for copies, about.
const OVERHEAD: f64 = 0.25;

/// A job on an input and a device, and its times so far.
struct Entry<'a> {
    case: &'a Case,
    device: &'a Device,
    found: Found,
    /// How often to run it in a round.
    runs: usize,
    rounds: Vec<Vec<f64>>,
}

/// Measures all cases on all devices, in about `budget` seconds, or in the time of a few runs of
/// each.
pub(super) fn measure(
    cases: &[Case],
    devices: &Devices,
    budget: f64,
    quiet: bool,
) -> Result<Vec<Measured>, Failure> {
    let progress = Progress::new("bench", quiet);
    let report = progress.share();
    let shown = |done: usize, of: usize| {
        if let Some(report) = &report {
            let _ = report(done as f64 / of as f64);
        }
    };
    let total = cases.len() * devices.all.len();
    let steps = total * (ROUNDS + 1);
    let share = budget * (1.0 - OVERHEAD) / total.max(1) as f64 / ROUNDS as f64;
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for case in cases {
        let mut expected: Option<(Found, &str)> = None;
        for device in &devices.all {
            shown(entries.len(), steps);
            let Some((found, seconds)) = first_run(case, device)? else {
                continue;
            };
            match &expected {
                Some((expected, other)) if *expected != found => {
                    return Err(Failure::Failed(format!(
                        "{} of {}: the results on {other} and {} differ: {}, {}. This is a bug: \
                         please report it",
                        name(&case.job),
                        case.input,
                        device.name,
                        expected.text,
                        found.text
                    )));
                }
                Some(_) => {}
                None => expected = Some((found.clone(), &device.name)),
            }
            entries.push(Entry {
                case,
                device,
                found,
                runs: ((share / seconds) as usize).clamp(1, MOST_RUNS),
                rounds: Vec::new(),
            });
        }
    }
    for round in 0..ROUNDS {
        for (i, entry) in entries.iter_mut().enumerate() {
            shown(total * (round + 1) + i, steps);
            let times = (0..entry.runs).map(|_| entry.case.time(entry.device));
            let times: trazar::Result<Vec<f64>> = times.collect();
            entry.rounds.push(times?);
        }
    }
    let mut measured: Vec<Measured> = Vec::new();
    for entry in entries {
        let bytes = entry.case.bytes + entry.found.bytes;
        let copied = measured
            .last()
            .filter(|last| last.input == entry.case.input && last.bytes == bytes);
        let copy_seconds = match copied {
            Some(last) => last.copy_seconds,
            None => copy_seconds(bytes)?,
        };
        measured.push(entry.measured(bytes, copy_seconds));
    }
    Ok(measured)
}

/// The result of a case, and the time of a second run; `None` if the device does not do this job.
fn first_run(case: &Case, device: &Device) -> Result<Option<(Found, f64)>, Failure> {
    match device.run(|engine| (case.look)(engine)) {
        Err(trazar::Error::Unavailable(_)) => Ok(None),
        Err(error) => Err(error.into()),
        Ok(found) => Ok(Some((found, case.time(device)?))),
    }
}

impl Case {
    /// The seconds of one run.
    fn time(&self, device: &Device) -> trazar::Result<f64> {
        device.run(|engine| (self.time)(engine))
    }
}

impl Entry<'_> {
    fn measured(self, bytes: u64, copy_seconds: f64) -> Measured {
        Measured {
            job: name(&self.case.job),
            input: self.case.input.clone(),
            device: self.device.name.clone(),
            found: self.found.text,
            pixels: self.case.pixels,
            bytes,
            runs: self.rounds.iter().map(Vec::len).sum(),
            seconds: Seconds::of_rounds(&self.rounds),
            copy_seconds,
        }
    }
}

/// The median time of a copy of that many bytes by this thread.
fn copy_seconds(bytes: u64) -> Result<f64, Failure> {
    let len = usize::try_from(bytes).unwrap_or(usize::MAX);
    let filled = |value: u8| -> trazar::Result<Vec<u8>> {
        let mut vec = Vec::new();
        vec.try_reserve_exact(len)
            .map_err(|_| trazar::Error::out_of_memory("a copy to compare with", bytes))?;
        vec.resize(len, value);
        Ok(vec)
    };
    let (from, mut to) = (filled(1)?, filled(2)?);
    let times = (0..7).map(|_| {
        let started = Instant::now();
        to.copy_from_slice(std::hint::black_box(&from));
        std::hint::black_box(&to);
        started.elapsed().as_secs_f64()
    });
    // A copy of nothing takes no time, and nothing can be compared with it.
    Ok(median(times.collect()).max(1e-9))
}
