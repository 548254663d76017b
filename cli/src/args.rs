//! The command line.

use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use trazar::generate::Pattern;

use crate::failure::Failure;
use crate::stdout;

/// Label and trace very large binary images, and route nets on very large grids.
#[derive(Debug, Parser)]
#[command(
    name = "trazar",
    version,
    propagate_version = true,
    max_term_width = 100,
    arg_required_else_help = false,
    after_help = "\
Exit status:
  0    done
  1    failed: the image cannot be read, a pin cannot be reached, the output cannot be written, ...
  2    usage: options that do not exist, do not fit each other or do not fit the image
  141  whoever read the output went away (a closed pipe)"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Trace(TraceArgs),
    Label(LabelArgs),
    Route(RouteArgs),
    Generate(GenerateArgs),
    Info(InfoArgs),
}

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

    /// What the points are [default: centers; edges for GDSII]
    #[arg(long, value_name = "G")]
    pub(crate) geometry: Option<Geometry>,

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
  trazar label mask.png --connectivity 4 --json")]
pub(crate) struct LabelArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// File to write; its extension chooses the format: .npy or .png (a colour a component).
    /// '-' is standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,

    /// Format to write, whatever OUT's extension
    #[arg(long, value_name = "F", requires = "output")]
    pub(crate) format: Option<LabelFormat>,

    /// Which neighbours belong together: those at 4 sides, or at 4 corners too
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

const ROUTE_EXAMPLES: &str = "\
Examples:
  trazar route case.txt                          only what it costs
  trazar route case.txt -o tree.txt              the tree's cells: ROW COLUMN
  trazar route case.txt -o tree.json             paths, wires and cells
  trazar route case.txt -o tree.png              drawn over the grid
  trazar route case.txt --tree improved --json
  trazar route --right right.npy --down down.npy --pins pins.txt -o tree.svg";

const ROUTE_FORMAT: &str = "\
NET is text, in this order (rows, columns and layers count from 0):
  WIDTH HEIGHT [LAYERS]                 the grid's size in cells
  K                                     the number of the first net's pins
  Pin ROW COLUMN [LAYER]                K lines; '/' between the cells of a pin that has several
  Window ROW COLUMN ROWS COLUMNS        if the net's paths are to stay within
  Net K                                 if there is another net; then its Pin lines, and so on
  Vertical W W ...                      for each row: WIDTH - 1 weights, between column j and j + 1
  Horizontal W W ...                    for each row but the last: WIDTH weights, to the row below
  Via W W ...                           for each row: WIDTH weights, to the next layer
Vertical and Horizontal lines are repeated for each layer, the lowest first; Via lines stand between
two layers. A weight is a whole number up to 4294967294, or x for an edge that is blocked.

A net of two pins on 3 × 3 cells:
  3 3
  2
  Pin 1 1
  Pin 0 2
  Vertical 24 26
  Vertical 47 x
  Vertical 70 2
  Horizontal 33 68 51
  Horizontal 80 24 77

";

/// Join the pins of nets on a grid of weighted edges
///
/// One pin after the other, the nearest to the tree first, by a shortest path, which costs nothing
/// from then on: the tree of the report on parallel maze routing.
#[derive(Debug, clap::Args)]
#[command(
    after_help = ROUTE_EXAMPLES,
    after_long_help = [ROUTE_FORMAT, ROUTE_EXAMPLES].concat()
)]
pub(crate) struct RouteArgs {
    #[command(flatten)]
    pub(crate) input: NetInputArgs,

    /// File to write; its extension chooses the format: .txt, .json, .svg or .png. '-' is standard
    /// output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,

    /// Format to write, whatever OUT's extension
    #[arg(long, value_name = "F", requires = "output")]
    pub(crate) format: Option<RouteFormat>,

    /// Which tree
    #[arg(long, value_name = "T", default_value = "nearest")]
    pub(crate) tree: TreeKind,

    /// What a path pays for each turn, on a grid of one layer
    #[arg(long, value_name = "N", default_value = "0")]
    pub(crate) turn_cost: u32,

    /// How to route; all algorithms but bfs give the same tree
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub(crate) algorithm: RouteAlgorithm,

    /// Leave out the pins that no path reaches, which are an error otherwise
    #[arg(long)]
    pub(crate) partial: bool,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Show the version, the devices and the algorithms
#[derive(Debug, clap::Args)]
pub(crate) struct InfoArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Make test images and nets
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = false)]
pub(crate) struct GenerateArgs {
    #[command(subcommand)]
    pub(crate) what: Generate,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Generate {
    Mask(MaskArgs),
    Net(NetArgs),
}

/// Make a binary image from a pattern
///
/// The same arguments give the same pixels on every machine.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trazar generate mask blobs -o blobs.png --size 4096 --seed 7
  trazar generate mask noise:0.3 -o noise.npy --size 1920x1080")]
pub(crate) struct MaskArgs {
    /// blobs, noise or noise:DENSITY, nested-rectangles, spiral, serpentine, hilbert, comb,
    /// checkerboard, dots, lattice or text
    #[arg(value_name = "PATTERN")]
    pub(crate) pattern: Pattern,

    /// File to write; its extension chooses the format: .png, .pbm or .npy. '-' is standard
    /// output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// Format to write, whatever OUT's extension
    #[arg(long, value_name = "F")]
    pub(crate) format: Option<ImageFormat>,

    /// Width and height in pixels
    #[arg(long, value_name = "WxH|N", default_value = "1024", value_parser = size)]
    pub(crate) size: (u32, u32),

    /// Which of the random images, for blobs, noise and text
    #[arg(long, value_name = "S", default_value = "0")]
    pub(crate) seed: u64,
}

/// Make a grid of random weights with nets of random pins
///
/// Weights are whole numbers, each as likely as the next; so are the places of pins, which are
/// distinct. Of several layers, wires run along x on the first and every second one after it, and
/// along y on the others; pins are on the first. The same arguments give the same grid on every
/// machine.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trazar generate net -o case.txt --size 1024 --pins 16 --seed 7
  trazar generate net -o case.txt --size 640x480 --pins 9 --weights 1..40
  trazar generate net -o case.txt --layers 4 --via 40 --blocked 0.05 --nets 100 --pins 4")]
pub(crate) struct NetArgs {
    /// File to write, as text. '-' is standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// Width and height in cells
    #[arg(long, value_name = "WxH|N", default_value = "1024", value_parser = size)]
    pub(crate) size: (u32, u32),

    /// Pins of each net
    #[arg(long, value_name = "K", default_value = "16")]
    pub(crate) pins: u32,

    /// Nets
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) nets: u32,

    /// The smallest and the largest weight
    #[arg(long, value_name = "A..B", default_value = "1..90", value_parser = weights)]
    pub(crate) weights: RangeInclusive<u32>,

    /// Layers, 1 to 16
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) layers: u32,

    /// What a via costs, with several layers [default: 90]
    #[arg(long, value_name = "N")]
    pub(crate) via: Option<u32>,

    /// The share of cells that no path may pass, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = finite)]
    pub(crate) blocked: f64,

    /// Which of the random grids
    #[arg(long, value_name = "S", default_value = "0")]
    pub(crate) seed: u64,
}

/// The grid and nets to read.
#[derive(Debug, clap::Args)]
pub(crate) struct NetInputArgs {
    /// Grid and nets to read, as text; --help describes the format. '-' is standard input
    #[arg(value_name = "NET", required_unless_present = "right")]
    pub(crate) net: Option<PathBuf>,

    /// The grid's weights instead, between neighbours in a row: .npy of shape (height, width - 1),
    /// u8, u16 or u32
    #[arg(long, value_name = "R.npy", conflicts_with = "net", requires_all = ["down", "pins"])]
    pub(crate) right: Option<PathBuf>,

    /// Weights between neighbours in a column: .npy of shape (height - 1, width)
    #[arg(long, value_name = "D.npy", requires = "right")]
    pub(crate) down: Option<PathBuf>,

    /// Weights between layers, where the other two are of shape (layers, ...): .npy of shape
    /// (layers - 1, height, width)
    #[arg(long, value_name = "V.npy", requires = "right")]
    pub(crate) via: Option<PathBuf>,

    /// Text with a line for each pin: ROW COLUMN, or ROW COLUMN LAYER
    #[arg(long, value_name = "PINS", requires = "right")]
    pub(crate) pins: Option<PathBuf>,
}

/// What to read.
#[derive(Debug, clap::Args)]
pub(crate) struct InputArgs {
    /// Image to read: PNG, PBM/PGM/PPM, BMP, TIFF, or .npy (2-D; bool, u8, u16, i16, i32,
    /// f32 or f64). '-' is standard input
    #[arg(value_name = "IMAGE")]
    pub(crate) image: PathBuf,

    /// Foreground is what is above T, in the samples' own scale [default: 127 for 8-bit samples,
    /// 32767 for 16-bit, 0 for signed 16-bit and 32-bit, 0.5 for floats; 1 or true is foreground
    /// for 1-bit and bool]
    #[arg(long, value_name = "T", value_parser = finite, allow_negative_numbers = true)]
    pub(crate) threshold: Option<f64>,

    /// Swap foreground and background
    #[arg(long)]
    pub(crate) invert: bool,
}

/// How to run, and what to say.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// Where to run
    #[arg(long, value_name = "D", default_value = "auto")]
    pub(crate) device: Device,

    /// Which of the emulator's orders of threads [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Run the work N times and report the fastest, for measuring
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) repeat: NonZeroU32,

    /// Print the summary as JSON on standard output
    #[arg(long)]
    pub(crate) json: bool,

    /// Print nothing but errors (and the summary that --json asks for)
    #[arg(short, long)]
    pub(crate) quiet: bool,
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

    /// Most vertices of a boundary, 4 to 8190; what has more is divided. Older programs take no
    /// more than 4094 [default: 4094]
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
    /// The first of the options that was given.
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

fn finite(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err("not a finite number".into()),
    }
}

fn size(text: &str) -> Result<(u32, u32), String> {
    let (width, height) = text.split_once(['x', 'X']).unwrap_or((text, text));
    match (width.parse(), height.parse()) {
        (Ok(0), Ok(_)) | (Ok(_), Ok(0)) => Err("both sides must be at least 1".into()),
        (Ok(width), Ok(height)) => Ok((width, height)),
        _ => Err("not a size: give N or WIDTHxHEIGHT".into()),
    }
}

fn weights(text: &str) -> Result<RangeInclusive<u32>, String> {
    text.split_once("..")
        .and_then(|(least, most)| Some(least.parse().ok()?..=most.parse().ok()?))
        .ok_or_else(|| "not a range of weights: give A..B, numbers from 0 to 4294967294".into())
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
    /// Polygons with holes, in pixel coordinates
    Geojson,
    /// A layout, GDSII
    Gds,
    /// The contours drawn over the image
    Png,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum LabelFormat {
    /// An array of uint32 of shape (height, width)
    Npy,
    /// A colour for each component
    Png,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum RouteFormat {
    /// The tree's cells, a line ROW COLUMN each
    Txt,
    /// Connections, wires and cells
    Json,
    /// A picture to zoom into
    Svg,
    /// Drawn over what the cells cost
    Png,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum ImageFormat {
    /// 1-bit grey
    Png,
    /// Binary PBM, foreground white
    Pbm,
    /// An array of bool of shape (height, width)
    Npy,
}

/// An argument's values, and what they are in the library.
macro_rules! values {
    ($name:ident => $type:ty { $($(#[$meta:meta])* $value:ident => $to:expr,)* }) => {
        #[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
        pub(crate) enum $name {
            $($(#[$meta])* $value,)*
        }

        impl From<$name> for $type {
            fn from(value: $name) -> Self {
                match value {
                    $($name::$value => $to,)*
                }
            }
        }

        impl $name {
            /// The name that the command line takes for `value`.
            #[allow(dead_code)]
            pub(crate) fn name_of(value: $type) -> String {
                Self::value_variants()
                    .iter()
                    .find(|&&variant| <$type>::from(variant) == value)
                    .and_then(ValueEnum::to_possible_value)
                    .map_or_else(|| "other".into(), |name| name.get_name().into())
            }

            /// All names that the command line takes.
            #[allow(dead_code)]
            pub(crate) fn names() -> Vec<String> {
                Self::value_variants()
                    .iter()
                    .filter_map(ValueEnum::to_possible_value)
                    .map(|name| name.get_name().into())
                    .collect()
            }
        }
    };
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
    /// In tiles of the image, joined pairwise: on all cores, or by GPU kernels
    Tiles => Self::Tiles,
    /// All borders at once, their starts found by union-find: on all cores, or by GPU kernels
    Components => Self::Components,
}}

values! { LabelAlgorithm => trazar::LabelAlgorithm {
    /// On one thread
    Sequential => Self::Sequential,
    /// On all cores
    Parallel => Self::Parallel,
    /// By GPU kernels, in tiles
    Tiles => Self::Tiles,
    /// By GPU kernels, one thread a pixel
    Direct => Self::Direct,
}}

values! { TreeKind => trazar::route::TreeKind {
    /// The report's: the nearest pin, again and again
    Nearest => Self::Nearest,
    /// Never dearer, often cheaper: several trees, the best improved piece by piece
    Improved => Self::Improved,
}}

values! { RouteAlgorithm => Option<trazar::route::RouteAlgorithm> {
    /// The first that the device has
    Auto => None,
    /// Dijkstra's search, on one thread
    Dijkstra => Some(trazar::route::RouteAlgorithm::Dijkstra),
    /// Sweeps along rows and columns, on one thread
    Sweep => Some(trazar::route::RouteAlgorithm::Sweep),
    /// The same on all cores
    SweepParallel => Some(trazar::route::RouteAlgorithm::SweepParallel),
    /// Breadth-first search, not exact: the cheapest of the paths with the fewest edges
    Bfs => Some(trazar::route::RouteAlgorithm::Bfs),
    /// By GPU kernels, distances around each pin at once; what lies too far apart in tiles
    Fields => Some(trazar::route::RouteAlgorithm::Fields),
    /// By GPU kernels, tiles in shared memory
    Tiles => Some(trazar::route::RouteAlgorithm::Tiles),
    /// By GPU kernels, sweeps in rounds of doubled groups
    DivideConquer => Some(trazar::route::RouteAlgorithm::DivideConquer),
    /// By GPU kernels, sweeps by a prefix sum and a prefix minimum
    Prefix => Some(trazar::route::RouteAlgorithm::Prefix),
    /// By GPU kernels, sweeps by one scan of pairs
    PrefixFused => Some(trazar::route::RouteAlgorithm::PrefixFused),
}}

values! { Connectivity => trazar::Connectivity {
    /// Sides
    #[value(name = "4")]
    Four => Self::Four,
    /// Sides and corners
    #[value(name = "8")]
    Eight => Self::Eight,
}}

/// Where to run.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum Device {
    /// A GPU where there is one, it has the algorithm and is faster for a job of this kind and size;
    /// else the processor
    Auto,
    /// This machine's processor
    Cpu,
    /// The first NVIDIA GPU
    Cuda,
    /// The GPU's kernels on the processor, checked and slow: for small images
    Emulator,
}

impl RunArgs {
    /// Refuses options that do not go together.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.seed.is_some() && self.device != Device::Emulator {
            return Err(Failure::usage(
                "--seed is the emulator's: use it with --device emulator",
            ));
        }
        if self.json {
            // Before any work.
            stdout::open()?;
        }
        Ok(())
    }
}
