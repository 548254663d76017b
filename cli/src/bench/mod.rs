//! `trazar bench`.

mod against;
mod cases;
mod devices;
mod digest;
mod machine;
mod markdown;
mod results;
mod rounds;
mod svg;

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::args::{BenchArgs, BenchFormat, BenchJob};
use crate::failure::Failure;
use crate::output::{self, Destination};
use crate::paths::{Named, check_distinct, is_stdout};
use crate::printable::printable;
use crate::{stderr, stdout};
use against::Changes;
use devices::Devices;
use machine::Machine;
use results::Results;

pub(crate) fn run(args: &BenchArgs) -> Result<(), Failure> {
    let outputs = check(args)?;
    if args.json {
        stdout::open()?;
    }
    let old = args.against.as_deref().map(read).transpose()?;
    let devices = Devices::open(&args.device)?;
    let cases = match &args.file {
        Some(file) => cases::of_file(args.job, file)?,
        None => cases::generated(args.job, &args.size)?,
    };
    let mut destinations = Vec::new();
    for &(format, path) in &outputs {
        destinations.push((format, Destination::open(path)?));
    }

    let measured = rounds::measure(&cases, &devices, args.time, args.quiet)?;
    let results = Results {
        trazar: env!("CARGO_PKG_VERSION").into(),
        date: machine::now(),
        machine: Machine::this(&devices),
        results: measured,
    };
    let changes = old.map(|old| Changes::between(&old, &results));

    for (format, destination) in &mut destinations {
        destination.fill(args.quiet, |out| write(*format, &results, out))?;
    }
    for (_, destination) in destinations {
        destination.commit()?;
    }
    if args.json {
        stdout::write(format!("{}\n", results.to_json()))?;
    } else if !args.quiet {
        stdout::write(results.to_text())?;
    }
    report(changes.as_ref(), args)
}

/// Refuses options that do not go together. Returns the outputs with their formats.
fn check(args: &BenchArgs) -> Result<Vec<(BenchFormat, &Path)>, Failure> {
    if args.file.is_some() && args.job == BenchJob::All {
        return Err(Failure::usage(
            "a file is for one job: name it before the file, as in `trazar bench trace FILE`",
        ));
    }
    let mut outputs = Vec::new();
    for path in &args.output {
        if is_stdout(path) {
            return Err(Failure::usage(
                "-o - is not possible: --json prints the results on standard output",
            ));
        }
        outputs.push((output::by_extension(path)?, path.as_path()));
    }
    let inputs: [Named<'_>; 2] = [
        ("FILE", args.file.as_deref()),
        ("--against", args.against.as_deref()),
    ];
    let named: Vec<Named<'_>> = outputs
        .iter()
        .map(|&(_, path)| ("-o", Some(path)))
        .collect();
    check_distinct(&inputs, &named)?;
    Ok(outputs)
}

/// The results of an earlier run.
fn read(path: &Path) -> Result<Results, Failure> {
    let failed = |error: String| Failure::Failed(format!("{}: {error}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| {
        failed(format!(
            "not what `trazar bench -o OUT.json` writes ({error})"
        ))
    })
}

fn write(format: BenchFormat, results: &Results, out: &mut dyn Write) -> trazar::Result<()> {
    let text = match format {
        BenchFormat::Json => results.to_json(),
        BenchFormat::Md => markdown::render(results),
        BenchFormat::Svg => svg::render(results),
    };
    Ok(writeln!(out, "{}", text.trim_end())?)
}

/// Says what changed, and fails if something got slower.
fn report(changes: Option<&Changes>, args: &BenchArgs) -> Result<(), Failure> {
    let Some(changes) = changes else {
        return Ok(());
    };
    if !args.quiet {
        for line in changes.lines() {
            stderr::say(printable(line));
        }
    }
    match changes.slower() {
        0 => Ok(()),
        slower => Err(Failure::Failed(format!(
            "{slower} of {} got slower",
            changes.compared()
        ))),
    }
}
