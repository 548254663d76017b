//! The arguments of `trazar bench`.

use std::path::PathBuf;

use clap::ValueEnum;

/// Measure each job on each device of this machine, and a copy of as many bytes
///
/// Inputs are generated, or read from a file. Each job is done on one core, on all cores, and on
/// the first GPU if there is one, with the input and the result on the host. The results of all
/// devices must be equal. The jobs are run in turns, so that other load on the machine affects all
/// of them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trazar bench                                  all jobs, on generated inputs
  trazar bench trace my.tif                     one job, on a file
  trazar bench label --size 16384 --time 20
  trazar bench -o new.json -o new.svg --against old.json

The table:
  runs    how often the job was done
  median  of the times of all runs
  spread  from the least to the greatest median of the five turns
  copies  how many times the median is that of a copy, by one core, of as many bytes as the job
          reads and returns

Against:
  What got slower or faster by more than 3 % and beyond the spreads of both files is listed.
  If something got slower, the exit status is 1.")]
pub(crate) struct BenchArgs {
    /// Which job
    #[arg(value_name = "JOB", default_value = "all")]
    pub(crate) job: BenchJob,

    /// File to do the job on, in a format that the command JOB reads
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Sides of the generated images, rasters and grids
    #[arg(
        long,
        value_name = "N,...",
        value_delimiter = ',',
        default_value = "1024,4096",
        value_parser = clap::value_parser!(u32).range(1..=65_536)
    )]
    pub(crate) size: Vec<u32>,

    /// Where to run [default: all devices that are present]
    #[arg(long, value_name = "D,...", value_delimiter = ',')]
    pub(crate) device: Vec<BenchDevice>,

    /// About how long to measure, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(crate) time: f64,

    /// File to write, more than one if repeated; its extension chooses the format: .json, .md or
    /// .svg
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Vec<PathBuf>,

    /// Compare with the .json file of an earlier run
    #[arg(long, value_name = "OLD")]
    pub(crate) against: Option<PathBuf>,

    /// Print the results as JSON on standard output
    #[arg(long)]
    pub(crate) json: bool,

    /// Print nothing but errors (and the results that --json asks for)
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("not a number of seconds from 0 to 86400".into()),
    }
}

/// A job to measure.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum BenchJob {
    All,
    Label,
    Trace,
    Polygonize,
    Measure,
    Distance,
    Route,
}

/// Where to run.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum BenchDevice {
    /// One core of the processor
    #[value(name = "core")]
    Core,
    /// All cores
    Cpu,
    /// The first NVIDIA GPU
    Cuda,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum BenchFormat {
    /// All figures, for --against
    Json,
    /// Tables
    Md,
    /// A picture: times as bars
    Svg,
}
