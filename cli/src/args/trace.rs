//! The arguments of `trazar trace`.

use std::path::PathBuf;

use clap::ValueEnum;

use super::numbers::finite;
use super::place::Coordinates;
use super::values::values;
use super::{InputArgs, RunArgs};

/// Trace the borders of an image's components and holes
///
/// The same contours, in the same order and with the same hierarchy as cv2.findContours; or
/// exact polygons along the pixels' edges.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trazar trace mask.png                          only count
  trazar trace mask.png -o contours.json         points and hierarchy
  trazar trace mask.png -o overlay.png           drawn over the image
  trazar trace mask.png -o layout.gds --pixel-size 5 --layer 10
  trazar trace mask.npy -o - --format geojson --geometry edges | jq .
  trazar trace photo.png --threshold 40 --json")]
pub(crate) struct TraceArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// File to write; its extension chooses the format: .json, .svg, .geojson, .gds or .png.
    /// '-' is standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,

    /// Format to write, whatever OUT's extension
    #[arg(long, value_name = "F", requires = "output")]
    pub(crate) format: Option<ContourFormat>,

    /// Which borders, and how they are linked
    #[arg(long, value_name = "R")]
    pub(crate) retrieval: Option<Retrieval>,

    /// Which points of a border
    #[arg(long, value_name = "A", default_value = "simple")]
    pub(crate) approximation: Approximation,

    /// Where the points lie: polygons of edges are always valid, those of centers often not
    /// [default: centers; edges for GDSII]
    #[arg(long, value_name = "G")]
    pub(crate) geometry: Option<Geometry>,

    /// The coordinates of GeoJSON; other formats are in pixels [default: world, if the file is a
    /// GeoTIFF with a transform]
    #[arg(long, value_name = "C")]
    pub(crate) coordinates: Option<Coordinates>,

    /// How to trace; all algorithms give the same result
    #[arg(long, value_name = "NAME")]
    pub(crate) algorithm: Option<TraceAlgorithm>,

    /// Tiles along x and y for the algorithm tiles, powers of two [default: by the image's size]
    #[arg(long, value_name = "NX,NY", value_parser = tiles)]
    pub(crate) tiles: Option<(u32, u32)>,

    #[command(flatten)]
    pub(crate) run: RunArgs,

    #[command(flatten)]
    pub(crate) gds: GdsArgs,
}

/// How to write GDSII.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "GDSII")]
pub(crate) struct GdsArgs {
    /// Layer, 0 to 32767 [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(..=32767))]
    pub(crate) layer: Option<u16>,

    /// Datatype, 0 to 32767 [default: 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(..=32767))]
    pub(crate) datatype: Option<u16>,

    /// Database unit in metres [default: 1e-9]
    #[arg(long, value_name = "METRES", value_parser = finite)]
    pub(crate) dbu: Option<f64>,

    /// User unit in metres, what lengths are shown in [default: 1e-6]
    #[arg(long, value_name = "METRES", value_parser = finite)]
    pub(crate) user_unit: Option<f64>,

    /// Side of a pixel in nanometres, a whole number of database units [default: 1 database
    /// unit]
    #[arg(long, value_name = "NM", value_parser = finite)]
    pub(crate) pixel_size: Option<f64>,

    /// Most vertices of a boundary, 4 to 8190; one with more is divided. Older programs read at
    /// most 4094 [default: 4094]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(4..=8190))]
    pub(crate) max_vertices: Option<u16>,

    /// Name of the cell [default: TOP]
    #[arg(long, value_name = "NAME")]
    pub(crate) cell: Option<String>,

    /// Name of the library [default: TRAZAR]
    #[arg(long, value_name = "NAME")]
    pub(crate) library: Option<String>,
}

impl GdsArgs {
    /// The first option that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        [
            (self.layer.is_some(), "--layer"),
            (self.datatype.is_some(), "--datatype"),
            (self.dbu.is_some(), "--dbu"),
            (self.user_unit.is_some(), "--user-unit"),
            (self.pixel_size.is_some(), "--pixel-size"),
            (self.max_vertices.is_some(), "--max-vertices"),
            (self.cell.is_some(), "--cell"),
            (self.library.is_some(), "--library"),
        ]
        .into_iter()
        .find_map(|(given, name)| given.then_some(name))
    }
}

fn tiles(text: &str) -> Result<(u32, u32), String> {
    let number = |text: &str| text.parse().ok().filter(|n: &u32| n.is_power_of_two());
    text.split_once(',')
        .and_then(|(columns, rows)| Some((number(columns)?, number(rows)?)))
        .ok_or_else(|| "not two numbers of tiles: give NX,NY, each a power of two".into())
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum ContourFormat {
    /// Points and hierarchy, as cv2.findContours lays them out
    Json,
    /// A picture to zoom into
    Svg,
    /// Polygons with holes
    Geojson,
    /// A layout, GDSII
    Gds,
    /// The contours drawn over the image
    Png,
}

values! { Retrieval => trazar::Retrieval {
    /// The outer borders that lie inside no hole
    External => Self::External,
    /// All borders, not linked
    List => Self::List,
    /// Outer borders with their holes
    Ccomp => Self::Ccomp,
    /// The whole nesting (the default)
    Tree => Self::Tree,
}}

values! { Approximation => trazar::Approximation {
    /// Every step
    None => Self::None,
    /// Where the direction changes
    Simple => Self::Simple,
    /// Teh and Chin's dominant points, 1-curvature
    #[value(name = "tc89-l1")]
    Tc89L1 => Self::TehChinL1,
    /// Teh and Chin's dominant points, k-cosine
    #[value(name = "tc89-kcos")]
    Tc89Kcos => Self::TehChinKCos,
}}

values! { Geometry => trazar::Geometry {
    /// Centers of pixels
    Centers => Self::Centers,
    /// Corners, along the edges: the polygon's area is the pixel count
    Edges => Self::Edges,
}}

values! { TraceAlgorithm => trazar::TraceAlgorithm {
    /// One border after the other, on one thread
    Suzuki => Self::Suzuki,
    /// In strips of the image, borders that cross them joined from fragments: on all cores
    Fragments => Self::Fragments,
    /// In tiles of the image, joined pairwise: on all cores, or by GPU kernels
    Tiles => Self::Tiles,
    /// All borders at once, their starts found by union-find: on all cores, or by GPU kernels
    Components => Self::Components,
}}
