//! `trazar label`.

use std::io::Write;
use std::path::Path;

use serde_json::json;
use trazar::formats::{self, ReadImage};
use trazar::{Backend, Engine, Job, LabelAlgorithm, LabelOptions, Labels};

use crate::args::{LabelArgs, LabelFormat, RunArgs};
use crate::facts::{Facts, count};
use crate::failure::Failure;
use crate::image;
use crate::label_bands;
use crate::output;
use crate::paths::{check_distinct, is_stdout};
use crate::run_job::{self, Steps};

/// The job, its options checked.
pub(crate) struct Label<'a> {
    args: &'a LabelArgs,
    format: Option<LabelFormat>,
    options: LabelOptions,
}

#[derive(Clone, Copy)]
pub(crate) enum Output {
    Labels(LabelFormat),
    Statistics,
}

impl<'a> Label<'a> {
    pub(crate) fn new(args: &'a LabelArgs) -> Result<Self, Failure> {
        let format = output::format(args.output.as_deref(), args.format)?;
        check(args)?;
        let options = LabelOptions::default()
            .connectivity(args.connectivity.into())
            .statistics(args.stats.is_some())
            .algorithm(args.algorithm.map(Into::into));
        Ok(Self {
            args,
            format,
            options,
        })
    }
}

impl Label<'_> {
    /// Labels the image: at once, or in bands if the memory is limited.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match self.args.input.memory {
            Some(memory) => label_bands::run(self.args, self.format, &self.options, memory),
            None => run_job::run(self),
        }
    }
}

impl Steps for Label<'_> {
    const NAME: &'static str = "label";
    type Input = ReadImage;
    type Found = Labels;
    type Output = Output;

    fn run_args(&self) -> &RunArgs {
        &self.args.run
    }

    fn backends(&self) -> Option<&'static [Backend]> {
        self.options.algorithm.map(LabelAlgorithm::backends)
    }

    fn read(&self) -> Result<ReadImage, Failure> {
        image::read(&self.args.input, &self.args.run, false)
    }

    fn input_path(&self) -> &Path {
        &self.args.input.image
    }

    fn outputs(&self) -> Vec<(Output, &Path)> {
        let labels = self.format.map(Output::Labels);
        let statistics = self.args.stats.as_deref();
        labels
            .zip(self.args.output.as_deref())
            .into_iter()
            .chain(statistics.map(|path| (Output::Statistics, path)))
            .collect()
    }

    fn size(&self, input: &ReadImage) -> Job {
        Job::label(&input.image)
    }

    fn work(&self, engine: &Engine, input: &ReadImage) -> trazar::Result<Labels> {
        engine.label(&input.image, &self.options)
    }

    fn write(
        &self,
        output: Output,
        _input: &mut ReadImage,
        labels: &Labels,
        out: &mut dyn Write,
    ) -> trazar::Result<()> {
        match output {
            Output::Labels(LabelFormat::Npy) => formats::write_labels_npy(labels, out),
            Output::Labels(LabelFormat::Png) => formats::write_labels_png(labels, out),
            Output::Statistics => formats::write_statistics_csv(labels, out),
        }
    }

    fn algorithm(&self, engine: &Engine, _: &ReadImage) -> &'static str {
        engine.label_algorithm(&self.options).name()
    }

    fn input_facts(&self, input: &ReadImage) -> Facts {
        image::facts(&self.args.input, input, None)
    }

    fn found_facts(&self, labels: &Labels) -> Facts {
        Facts {
            text: count(labels.count().into(), "component", "components"),
            values: json!({ "components": labels.count() }),
        }
    }
}

/// Refuses options that do not go together.
fn check(args: &LabelArgs) -> Result<(), Failure> {
    args.run.check()?;
    let outputs = [
        ("-o", args.output.as_deref()),
        ("--stats", args.stats.as_deref()),
    ];
    let paths = outputs.iter().filter_map(|&(_, path)| path);
    let to_stdout = paths.filter(|path| is_stdout(path)).count();
    if to_stdout + usize::from(args.run.json) > 1 {
        return Err(Failure::usage(
            "only one of -o -, --stats - and --json can have standard output",
        ));
    }
    check_distinct(&[("IMAGE", Some(&args.input.image))], &outputs)
}
