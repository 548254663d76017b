//! The arguments of `trazar label`.

use std::path::PathBuf;

use clap::ValueEnum;

use super::values::values;
use super::{InputArgs, RunArgs};

/// Label an image's connected components
///
/// Components are numbered 1, 2, ... in raster order of their first pixels, as
/// scipy.ndimage.label numbers them; background is 0.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trazar label mask.png                          only count
  trazar label mask.png -o labels.npy            an array of uint32, (height, width)
  trazar label mask.png -o labels.png --stats components.csv
  trazar label mask.png --connectivity 4 --json
  trazar label huge.tif -o labels.npy --memory 2GiB   for images larger than the memory")]
pub(crate) struct LabelArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// File to write; its extension chooses the format: .npy or .png (one colour per component).
    /// '-' is standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,

    /// Format to write, whatever OUT's extension
    #[arg(long, value_name = "F", requires = "output")]
    pub(crate) format: Option<LabelFormat>,

    /// Which neighbours are connected: those at the 4 sides, or also those at the 4 corners
    #[arg(long, value_name = "N", default_value = "8")]
    pub(crate) connectivity: Connectivity,

    /// CSV file to write with each component's area, bounding box and centroid
    #[arg(long, value_name = "OUT.csv")]
    pub(crate) stats: Option<PathBuf>,

    /// How to label; all algorithms give the same result
    #[arg(long, value_name = "NAME")]
    pub(crate) algorithm: Option<LabelAlgorithm>,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum LabelFormat {
    /// An array of uint32 of shape (height, width)
    Npy,
    /// A colour for each component
    Png,
}

values! { Connectivity => trazar::Connectivity {
    /// Sides
    #[value(name = "4")]
    Four => Self::Four,
    /// Sides and corners
    #[value(name = "8")]
    Eight => Self::Eight,
}}

values! { LabelAlgorithm => trazar::LabelAlgorithm {
    /// On one thread
    Sequential => Self::Sequential,
    /// On all cores
    Parallel => Self::Parallel,
    /// By GPU kernels, in tiles
    Tiles => Self::Tiles,
    /// By GPU kernels, one thread per pixel
    Direct => Self::Direct,
}}
