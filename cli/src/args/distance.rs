//! The arguments of `trazar distance`.

use std::path::PathBuf;

use clap::ValueEnum;

use super::RunArgs;
use super::numbers::finite;
use super::values::values;

const EXAMPLES: &str = "\
Examples:
  trazar distance friction.tif --sources points.csv -o cost.tif
  trazar distance friction.tif --sources roads.tif -o cost.tif -o cost.png --max-cost 5000
  trazar distance friction.tif --sources wells.csv -o cost.tif --allocation nearest.tif
  trazar distance friction.npy --sources start.csv --path-to ends.csv -o paths.geojson";

const FILES: &str = "\
FRICTION is one number per cell, 0 or more: what travel costs there per unit of length. NaN,
infinity and the file's no-data value are barriers.

SOURCES and CELLS are CSV with a header: row,column (counted from 0), or x,y in the coordinates of
FRICTION's transform. SOURCES may have the columns id (from 1 on; by default numbered) and cost (at
the start). SOURCES may also be a raster of FRICTION's size: cells that are not 0 are sources, and
their values the ids.

Directions are codes: 0 at sources, else where the previous cell of the path is, clockwise from 1,
right, to 8, upper right; 9 to 16 are knight's moves; 255 where nothing reaches.

";

/// Compute the least cost of travel from sources to every cell of a raster of friction
///
/// A step costs the mean friction of its cells times its length. The result is the same, bit for
/// bit, from every algorithm.
#[derive(Debug, clap::Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = [FILES, EXAMPLES].concat()
)]
pub(crate) struct DistanceArgs {
    /// Raster of friction to read: TIFF, .npy, PNG or PGM
    #[arg(value_name = "FRICTION")]
    pub(crate) friction: PathBuf,

    /// Where paths start: .csv, or a raster of ids; --help describes both
    #[arg(long, value_name = "SOURCES")]
    pub(crate) sources: PathBuf,

    /// File to write; its extension chooses what: .tif or .npy (costs), .png (a picture of them),
    /// .geojson (paths). May be given several times
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Vec<PathBuf>,

    /// File for the id of the source that each cell is reached from: .tif or .npy
    #[arg(long, value_name = "OUT")]
    pub(crate) allocation: Option<PathBuf>,

    /// File for the directions back to the source: .tif or .npy
    #[arg(long, value_name = "OUT")]
    pub(crate) direction: Option<PathBuf>,

    /// Find the paths to these cells: .csv
    #[arg(long, value_name = "CELLS")]
    pub(crate) path_to: Option<PathBuf>,

    /// The cells that a step leads to
    #[arg(long, value_name = "N", default_value = "8")]
    pub(crate) neighbours: Neighbours,

    /// Leave out cells that cost more
    #[arg(long, value_name = "COST", value_parser = finite, allow_negative_numbers = true)]
    pub(crate) max_cost: Option<f64>,

    /// The cell's width and height: W,H or one number [default: those of FRICTION's transform, or
    /// 1]
    #[arg(long, value_name = "SIZE", value_parser = sides)]
    pub(crate) cell_size: Option<(f64, f64)>,

    /// The numbers in which costs are computed
    #[arg(long, value_name = "P", default_value = "f32")]
    pub(crate) precision: Precision,

    /// How to compute them; all algorithms give the same costs
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub(crate) algorithm: DistanceAlgorithm,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

fn sides(text: &str) -> Result<(f64, f64), String> {
    let (width, height) = text.split_once(',').unwrap_or((text, text));
    match (finite(width), finite(height)) {
        (Ok(width), Ok(height)) if width > 0.0 && height > 0.0 => Ok((width, height)),
        _ => Err("not a cell's size: give W,H or one number, greater than 0".into()),
    }
}

/// What is written to one file.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum CostFormat {
    /// GeoTIFF with the transform and the coordinate system of the friction
    Tif,
    /// The same as `tif`
    #[value(hide = true)]
    Tiff,
    /// A NumPy array
    Npy,
    /// A picture with a colour map
    Png,
    /// Paths
    Geojson,
}

values! { Neighbours => trazar::distance::Neighbours {
    /// Those that share a side
    #[value(name = "4")]
    Four => Self::Four,
    /// Those that share a side or a corner
    #[value(name = "8")]
    Eight => Self::Eight,
    /// Those, and knight's moves
    #[value(name = "16")]
    Sixteen => Self::Sixteen,
}}

values! { Precision => trazar::distance::Precision {
    /// 32 bits
    F32 => Self::F32,
    /// 64 bits: the costs of scikit-image's `MCP_Geometric`, bit for bit
    F64 => Self::F64,
}}

values! { DistanceAlgorithm => Option<trazar::distance::DistanceAlgorithm> {
    /// The faster one for the raster's size
    Auto => None,
    /// Dijkstra's search, on one thread
    Dijkstra => Some(trazar::distance::DistanceAlgorithm::Dijkstra),
    /// Buckets of cells of similar cost, on one thread
    Buckets => Some(trazar::distance::DistanceAlgorithm::Buckets),
    /// Tiles of the raster on all threads
    Tiles => Some(trazar::distance::DistanceAlgorithm::Tiles),
}}
