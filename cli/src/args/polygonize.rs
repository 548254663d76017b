//! The arguments of `trazar polygonize`.

use std::path::PathBuf;

use clap::ValueEnum;

use super::label::Connectivity;
use super::numbers::{bytes, finite};
use super::place::{Coordinates, NoDataArg, no_data};
use super::values::values;
use super::{GdsArgs, RunArgs};

/// Make polygons of a raster's regions of equal value
///
/// A region is what is connected and has one value. The polygons run along the pixels' edges: they
/// are valid, neighbours share their edges exactly, and areas are pixel counts.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trazar polygonize classes.tif                      only count
  trazar polygonize classes.tif -o classes.geojson   in the file's coordinates
  trazar polygonize classes.tif -o classes.fgb --min-area 10
  trazar polygonize classes.tif -o classes.geojson --simplify 1.5
  trazar polygonize labels.npy -o cells.geojson --nodata 0
  trazar polygonize classes.png -o layers.gds --pixel-size 5
  trazar polygonize country.tif -o country.fgb --memory 2GiB
  trazar polygonize classes.tif -o - --format geojsonl --quiet | head -n 1")]
pub(crate) struct PolygonizeArgs {
    /// Raster to read, one value per pixel: TIFF, PNG (grey or indices), PGM, or .npy (2-D; bool,
    /// u8, u16, u32, i16, i32, i64, f32, or f64 with values that are f32). '-' is standard input
    #[arg(value_name = "RASTER")]
    pub(crate) raster: PathBuf,

    /// File to write; its extension chooses the format: .geojson, .geojsonl (a feature per line),
    /// .geojsons (a GeoJSON text sequence), .fgb (FlatGeobuf), .gds (a layer per value) or .svg.
    /// '-' is standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,

    /// Format to write, whatever OUT's extension
    #[arg(long, value_name = "F", requires = "output")]
    pub(crate) format: Option<RegionFormat>,

    /// Which neighbours of equal value are connected: those at the 4 sides, or also those at the 4
    /// corners
    #[arg(long, value_name = "N", default_value = "4")]
    pub(crate) connectivity: Connectivity,

    /// Leave out pixels with value V, as having no data; none leaves out no pixel. NaN is always
    /// left out [default: the file's no-data value]
    #[arg(long, value_name = "V", value_parser = no_data, allow_negative_numbers = true)]
    pub(crate) nodata: Option<NoDataArg>,

    /// Leave out regions of fewer than N pixels
    #[arg(long, value_name = "N", default_value = "0")]
    pub(crate) min_area: u64,

    /// Leave out the holes of regions: polygons then cover the regions in their holes as well
    #[arg(long)]
    pub(crate) fill_holes: bool,

    /// Leave out corners of the polygons, up to a tolerance T of 0 or more: pixels, or with
    /// visvalingam square pixels. Common borders of neighbours stay the same, nothing crosses,
    /// and corners where regions meet stay. Areas in the output stay pixel counts
    #[arg(long, value_name = "T", value_parser = finite, allow_negative_numbers = true)]
    pub(crate) simplify: Option<f64>,

    /// Which corners --simplify leaves out
    #[arg(
        long,
        value_name = "M",
        requires = "simplify",
        default_value = "douglas-peucker"
    )]
    pub(crate) simplify_method: SimplifyMethod,

    /// The output's coordinates [default: world, if the file is a GeoTIFF with a transform]
    #[arg(long, value_name = "C")]
    pub(crate) coordinates: Option<Coordinates>,

    /// Read and trace the raster in bands, with at most about SIZE of memory (such as 2GiB). The
    /// output is the same. The rings are kept in a temporary file in the output's folder
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) memory: Option<u64>,

    #[command(flatten)]
    pub(crate) run: RunArgs,

    #[command(flatten)]
    pub(crate) gds: GdsArgs,
}

values! { SimplifyMethod => trazar::regions::SimplifyMethod {
    /// Those that are less than T from the line
    DouglasPeucker => Self::DouglasPeucker,
    /// Those whose triangle with both neighbours is at most T, the smallest first
    Visvalingam => Self::Visvalingam,
}}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum RegionFormat {
    /// Polygons with value, region and area
    Geojson,
    /// One feature per line
    Geojsonl,
    /// A GeoJSON text sequence (RFC 8142)
    Geojsons,
    /// FlatGeobuf
    Fgb,
    /// A layout, GDSII, with one layer per value
    Gds,
    /// A picture to zoom into, with a colour per value
    Svg,
}

impl RegionFormat {
    /// Whether its coordinates may be those of a CRS.
    pub(crate) fn is_of_world(self) -> bool {
        !matches!(self, Self::Gds | Self::Svg)
    }

    /// Whether it can name the CRS.
    pub(crate) fn names_crs(self) -> bool {
        matches!(self, Self::Geojson | Self::Fgb)
    }
}
