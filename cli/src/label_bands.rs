//! `trazar label --memory`: an image labelled band by band.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use trazar::formats::{self, ImageBands, ReadOptions};
use trazar::label::{BandLabels, BandSource, LabelNumber};
use trazar::{BinaryImage, Engine, Job, LabelAlgorithm, LabelOptions};

use crate::args::{Device, LabelArgs, LabelFormat};
use crate::facts::{Facts, count};
use crate::failure::Failure;
use crate::image::{self, Described};
use crate::output::Destination;
use crate::paths::source;
use crate::progress::Progress;
use crate::start::Start;
use crate::summary::{Seconds, Summary};

/// Labels the image named by `args`, which must be checked.
pub(crate) fn run(
    args: &LabelArgs,
    format: Option<LabelFormat>,
    options: &LabelOptions,
    memory: u64,
) -> Result<(), Failure> {
    check(args, format, options)?;
    let input = &args.input;
    let about = |error| Failure::about(&input.image, error);
    let read = ReadOptions::default()
        .threshold(input.threshold)
        .invert(input.invert);
    let start = Start::begin(&args.run, options.algorithm.map(LabelAlgorithm::backends))?;
    let started = Instant::now();
    let bands = ImageBands::open(source(&input.image), &read).map_err(about)?;
    // A pipe has been read to its end.
    let opening = started.elapsed();
    let bands = Timed {
        bands,
        spent: opening,
        only_below: false,
    };
    let size = (bands.width(), bands.height());
    let pixels = u64::from(size.0) * u64::from(size.1);
    let (mut engine, start_seconds) = start.finish(|| Job::LabelBands { pixels });
    // The chosen device may need more memory than the processor.
    let is_chosen = args.run.device == Device::Auto && options.algorithm.is_none();
    if is_chosen
        && engine
            .label_rows_within(&bands, &options.components, memory)
            .is_err()
    {
        engine = Engine::cpu();
    }
    // Bands take no algorithm: one that is named must be of the device.
    if let Some(algorithm) = options.algorithm {
        algorithm.check_runs_on(engine.backend()).map_err(about)?;
    }
    let mut outputs = open_outputs(args)?;

    let quiet = args.run.quiet;
    let (engine, progress) = Progress::watch(engine, "label", quiet);
    let started = Instant::now();
    let band_labels = engine.label_bands(bands, &options.components, memory);
    let mut band_labels = band_labels.map_err(about)?;
    let components = band_labels.count();
    let described = described(&band_labels);
    let height = described.height;
    let only_below = band_labels.source().only_below;
    image::warn_of_threshold(only_below, described.threshold, &args.run);
    let rows = band_labels.rows();
    let mut writing = Duration::ZERO;
    if !outputs.is_empty() {
        match u32::try_from(components) {
            Ok(_) => write::<u32>(&mut band_labels, &mut outputs, &mut writing),
            Err(_) => write::<u64>(&mut band_labels, &mut outputs, &mut writing),
        }
        .map_err(|failed| match failed {
            Failed::Labelling(error) => about(error),
            Failed::Writing(failure) => failure,
        })?;
    }
    let all = opening + started.elapsed();
    drop(progress);
    let reading = band_labels.source().spent;

    let mut written = Vec::new();
    for (_, path, destination) in outputs {
        destination.commit()?;
        written.push(path.display().to_string());
    }
    Summary {
        job: "label",
        device: engine.backend().name(),
        algorithm: engine.label_algorithm(options).name(),
        input: described.facts(input),
        found: Facts {
            text: count(components, "component", "components"),
            values: json!({ "components": components }),
        }
        .in_bands(height, rows),
        list: None::<(&str, ())>,
        seconds: Seconds {
            start: start_seconds,
            read: reading.as_secs_f64(),
            work: all.saturating_sub(reading + writing).as_secs_f64(),
            write: writing.as_secs_f64(),
        },
        written,
    }
    .say(&args.run)
}

/// Opens the destinations that `args` name.
fn open_outputs(args: &LabelArgs) -> Result<Vec<Opened<'_>>, Failure> {
    let mut outputs = Vec::new();
    for (output, path) in [
        (Output::Labels, args.output.as_deref()),
        (Output::Statistics, args.stats.as_deref()),
    ] {
        if let Some(path) = path {
            outputs.push((output, path, Destination::open(path)?));
        }
    }
    Ok(outputs)
}

/// The image, after the first pass.
fn described(band_labels: &BandLabels<Timed>) -> Described {
    let bands = &band_labels.source().bands;
    Described {
        width: bands.width(),
        height: bands.height(),
        kind: bands.kind(),
        threshold: bands.threshold(),
        foreground: band_labels.foreground_count(),
        notes: image::notes(bands.notes(), None),
    }
}

/// What is written, and where.
type Opened<'a> = (Output, &'a Path, Destination);

#[derive(Clone, Copy)]
enum Output {
    Labels,
    Statistics,
}

/// Why the second pass ends early.
enum Failed {
    Labelling(trazar::Error),
    Writing(Failure),
}

/// Labels and writes band after band, and adds the time of writing to `writing`.
fn write<T: LabelNumber>(
    band_labels: &mut BandLabels<Timed>,
    outputs: &mut [Opened<'_>],
    writing: &mut Duration,
) -> Result<(), Failed> {
    while let Some(band) = band_labels.next_band::<T>().map_err(Failed::Labelling)? {
        let started = Instant::now();
        for (output, _, destination) in outputs.iter_mut() {
            // The progress bar is that of the whole job.
            let filled = destination.fill(true, |out| match output {
                Output::Labels => formats::write_band_labels_npy(&band, out),
                Output::Statistics => formats::write_band_statistics_csv(&band, out),
            });
            filled.map_err(Failed::Writing)?;
        }
        *writing += started.elapsed();
    }
    Ok(())
}

/// A file, and the time that reading it took so far.
struct Timed {
    bands: ImageBands,
    spent: Duration,
    /// Whether the threshold leaves no foreground, after the first pass.
    only_below: bool,
}

impl BandSource for Timed {
    fn width(&self) -> u32 {
        self.bands.width()
    }

    fn height(&self) -> u32 {
        self.bands.height()
    }

    fn next_band(&mut self, rows: u32) -> trazar::Result<Option<BinaryImage>> {
        let started = Instant::now();
        let band = self.bands.next_band(rows);
        self.spent += started.elapsed();
        self.only_below = self.bands.only_below_threshold();
        band
    }

    fn rewind(&mut self) -> trazar::Result<()> {
        self.bands.rewind()
    }

    fn decoding_bytes(&self) -> u64 {
        self.bands.decoding_bytes()
    }
}

/// Refuses options that bands do not support.
fn check(
    args: &LabelArgs,
    format: Option<LabelFormat>,
    options: &LabelOptions,
) -> Result<(), Failure> {
    if matches!(
        options.algorithm,
        Some(LabelAlgorithm::Sequential | LabelAlgorithm::Direct)
    ) {
        return Err(Failure::usage(
            "--memory labels on all cores, or in tiles on a GPU: leave --algorithm out",
        ));
    }
    if args.run.repeat.get() > 1 {
        return Err(Failure::usage(
            "--memory and --repeat do not go together: leave one out",
        ));
    }
    if format == Some(LabelFormat::Png) {
        return Err(Failure::usage(
            "--memory writes labels as .npy: use an OUT that ends in .npy, or --format npy",
        ));
    }
    Ok(())
}
