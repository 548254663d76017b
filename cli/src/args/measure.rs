//! The arguments of `trazar measure`.

use std::path::PathBuf;

use clap::ValueEnum;
use trazar::measure::Property;

use super::RunArgs;

/// Measure the labels of an image, as a table
///
/// Each positive value is a label, and all of its pixels are one object; 0 and negative values are
/// background. Properties are named and defined as in scikit-image's regionprops_table.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trazar measure labels.npy                        only count
  trazar measure labels.tif -o cells.csv
  trazar measure labels.png --intensity image.tif -o cells.csv \\
    --properties label,area,perimeter,intensity_mean
  trazar measure labels.npy -o - --quiet | head -n 3")]
pub(crate) struct MeasureArgs {
    /// Label image to read, one integer per pixel: .npy (2-D), TIFF, PNG (grey or indices) or PGM.
    /// '-' is standard input
    #[arg(value_name = "LABELS")]
    pub(crate) labels: PathBuf,

    /// Image of intensities to read, of the same size; also of floating-point numbers
    #[arg(long, value_name = "IMAGE")]
    pub(crate) intensity: Option<PathBuf>,

    /// Table to write, .csv. '-' is standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,

    /// Format to write, whatever OUT's extension
    #[arg(long, value_name = "F", requires = "output")]
    pub(crate) format: Option<TableFormat>,

    /// Properties to measure, in the order of the table's columns; all stands for every property
    /// that the input allows
    #[arg(
        long,
        value_name = "P,…",
        value_delimiter = ',',
        value_parser = property,
        default_value = "label,area,bbox,centroid"
    )]
    pub(crate) properties: Vec<Asked>,

    /// Distance between rows and between columns: one number, or two
    #[arg(
        long,
        value_name = "S[,S]",
        value_delimiter = ',',
        num_args = 1,
        default_value = "1"
    )]
    pub(crate) spacing: Vec<f64>,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// One of the values of `--properties`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asked {
    Property(Property),
    All,
}

fn property(text: &str) -> Result<Asked, trazar::Error> {
    match text {
        "all" => Ok(Asked::All),
        name => name.parse().map(Asked::Property),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum TableFormat {
    /// A line per label, after a line of names
    Csv,
}
