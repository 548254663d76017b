//! `trazar label`.

use std::time::Instant;

use serde_json::json;
use trazar::formats;
use trazar::{Job, LabelOptions};

use crate::args::{LabelAlgorithm, LabelArgs, LabelFormat};
use crate::failure::Failure;
use crate::image;
use crate::output::{self, Destination};
use crate::progress::Progress;
use crate::repeat;
use crate::start::Start;
use crate::summary::{Facts, Seconds, Summary, count};

pub(crate) fn run(args: &LabelArgs) -> Result<(), Failure> {
    let format = match &args.output {
        Some(path) => Some(output::format(path, args.format)?),
        None => None,
    };
    check(args)?;
    let options = LabelOptions {
        connectivity: args.connectivity.into(),
        statistics: args.stats.is_some(),
        algorithm: args.algorithm.map(Into::into),
    };

    let algorithm = options.algorithm;
    let start = Start::begin(&args.run, algorithm.map(trazar::LabelAlgorithm::devices))?;
    let (read, read_seconds) = image::read(&args.input, &args.run, false)?;
    let output = args.output.as_deref().map(Destination::open).transpose()?;
    let stats = args.stats.as_deref().map(Destination::open).transpose()?;

    let (engine, start_seconds) = start.finish(|| Job::label(&read.image));
    let (engine, progress) = Progress::watch(engine, "label", args.run.quiet);
    let (labels, work_seconds) =
        repeat::fastest(args.run.repeat, || engine.label(&read.image, &options))
            .map_err(|error| Failure::about(&args.input.image, error))?;
    drop(progress);

    let started = Instant::now();
    let mut ready = Vec::new();
    if let (Some(mut destination), Some(format), Some(path)) = (output, format, &args.output) {
        destination.fill(args.run.quiet, |out| match format {
            LabelFormat::Npy => formats::write_labels_npy(&labels, out),
            LabelFormat::Png => formats::write_labels_png(&labels, out),
        })?;
        ready.push((destination, path));
    }
    if let (Some(mut destination), Some(path)) = (stats, &args.stats) {
        destination.fill(args.run.quiet, |out| {
            formats::write_statistics(&labels, out)
        })?;
        ready.push((destination, path));
    }
    // Only once both are complete; should the second not take its place, the first already has.
    let mut written = Vec::new();
    for (destination, path) in ready {
        destination.commit()?;
        written.push(path.display().to_string());
    }
    Summary {
        input: image::facts(&args.input, &read),
        device: engine.device().name(),
        algorithm: LabelAlgorithm::name_of(engine.label_algorithm(&options)),
        found: Facts {
            text: count(labels.count().into(), "component", "components"),
            values: json!({ "components": labels.count() }),
        },
        routes: None,
        work: "label",
        seconds: Seconds {
            start: start_seconds,
            read: read_seconds,
            work: work_seconds,
            write: started.elapsed().as_secs_f64(),
        },
        written,
    }
    .say(&args.run)
}

/// Refuses options that do not go together.
fn check(args: &LabelArgs) -> Result<(), Failure> {
    args.run.check()?;
    let outputs = [args.output.as_deref(), args.stats.as_deref()];
    let to_stdout = outputs
        .into_iter()
        .flatten()
        .filter(|p| output::is_stdout(p));
    let wanted = to_stdout.count() + usize::from(args.run.json);
    if wanted > 1 {
        return Err(Failure::usage(
            "only one of -o -, --stats - and --json can have standard output",
        ));
    }
    output::check_distinct(
        &[("IMAGE", Some(&args.input.image))],
        &[
            ("-o", args.output.as_deref()),
            ("--stats", args.stats.as_deref()),
        ],
    )
}
