//! The image that a job reads.

use std::path::PathBuf;

use super::numbers::{bytes, finite};
use super::place::{NoDataArg, no_data};

/// What to read.
#[derive(Debug, clap::Args)]
pub(crate) struct InputArgs {
    /// Image to read: PNG, PBM/PGM/PPM, BMP, TIFF, or .npy (2-D; bool, u8, u16, i16, i32,
    /// f32 or f64). '-' is standard input
    #[arg(value_name = "IMAGE")]
    pub(crate) image: PathBuf,

    /// Samples above T are foreground, in the samples' own scale [default: 127 for 8-bit samples,
    /// 32767 for 16-bit, 0 for signed 16-bit and 32-bit, 0.5 for floats; 1 or true is foreground
    /// for 1-bit and bool]
    #[arg(long, value_name = "T", value_parser = finite, allow_negative_numbers = true)]
    pub(crate) threshold: Option<f64>,

    /// Swap foreground and background
    #[arg(long)]
    pub(crate) invert: bool,

    /// Pixels with value V have no data and are background, whatever --invert says; nan stands for
    /// NaN, and none for no value [default: the file's no-data value]
    #[arg(long, value_name = "V", value_parser = no_data, allow_negative_numbers = true)]
    pub(crate) nodata: Option<NoDataArg>,

    /// Work on the image in bands of rows, with at most about SIZE of memory (512MiB, 2GiB, ...),
    /// for images larger than the memory
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) memory: Option<u64>,
}
