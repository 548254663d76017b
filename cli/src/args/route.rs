//! The arguments of `trazar route`.

use std::path::PathBuf;

use clap::ValueEnum;
use trazar::route::Effort;

use super::RunArgs;
use super::values::values;

const ROUTE_EXAMPLES: &str = "\
Examples:
  trazar route case.txt                          only the cost
  trazar route case.txt -o tree.txt              the tree's cells: ROW COLUMN
  trazar route case.txt -o tree.json             paths, wires and cells
  trazar route case.txt -o tree.png              drawn over the grid
  trazar route case.txt --tree improved --json
  trazar route case.txt --improve 5s             the best tree found in 5 seconds
  trazar route design.cap --nets design.net -o design.route
  trazar route --right right.npy --down down.npy --pins pins.txt -o tree.svg";

const ROUTE_FORMAT: &str = "\
NET is text, in this order (rows, columns and layers count from 0):
  WIDTH HEIGHT [LAYERS]                 the grid's size in cells
  K                                     the number of the first net's pins
  Pin ROW COLUMN [LAYER]                K lines; '/' between the cells of a pin that has several
  Window ROW COLUMN ROWS COLUMNS        if the net's paths must stay within one
  Net K                                 if there is another net; then its Pin lines, and so on
  Vertical W W ...                      for each row: WIDTH - 1 weights, between column j and j + 1
  Horizontal W W ...                    for each row but the last: WIDTH weights, to the row below
  Via W W ...                           for each row: WIDTH weights, to the next layer
Vertical and Horizontal lines are repeated for each layer, the lowest first; Via lines stand between
two layers. A weight is a whole number up to 4294967294, or x for an edge that is blocked.
With capacities, nets compete for edges. These follow as further lines VerticalCapacity,
HorizontalCapacity and ViaCapacity, in the same order as the weights: how many nets may use an edge,
or x for any number. They are then all routed again and again until no edge has too many nets, or
for --rounds rounds.

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
/// The tree starts as the first pin. Then, again and again, a shortest path joins the pin that is
/// nearest to the tree; the cells of the tree cost nothing. Nets do not influence each other,
/// unless the grid has capacities.
#[derive(Debug, clap::Args)]
#[command(
    after_help = ROUTE_EXAMPLES,
    after_long_help = [ROUTE_FORMAT, ROUTE_EXAMPLES].concat()
)]
pub(crate) struct RouteArgs {
    #[command(flatten)]
    pub(crate) input: NetInputArgs,

    /// File to write; its extension chooses the format: .txt, .json, .svg, .png or .route. '-' is
    /// standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,

    /// Format to write, whatever OUT's extension
    #[arg(long, value_name = "F", requires = "output")]
    pub(crate) format: Option<RouteFormat>,

    /// Which tree
    #[arg(long, value_name = "T", default_value = "nearest")]
    pub(crate) tree: TreeKind,

    /// Look for improved trees, as --tree improved does, for a number of steps per net (200), or
    /// for a time that all nets share (5s, 2min)
    #[arg(long, value_name = "BUDGET", value_parser = effort, conflicts_with = "tree")]
    pub(crate) improve: Option<Effort>,

    /// The cost of each turn of a path, on a grid of one layer
    #[arg(long, value_name = "N", default_value = "0")]
    pub(crate) turn_cost: u32,

    /// How to route; all algorithms give the same tree
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub(crate) algorithm: RouteAlgorithm,

    /// The most rounds in which nets that compete for edges are routed; only with capacities
    #[arg(long, value_name = "N", default_value = "100")]
    pub(crate) rounds: u32,

    /// Leave out pins that no path reaches; without this option they are an error
    #[arg(long)]
    pub(crate) partial: bool,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

impl RouteArgs {
    /// Which tree the options ask for.
    pub(crate) fn tree_kind(&self) -> TreeKind {
        match self.improve {
            Some(_) => TreeKind::Improved,
            None => self.tree,
        }
    }
}

/// Steps, or time with its unit.
fn effort(text: &str) -> Result<Effort, String> {
    if let Ok(steps) = text.parse() {
        return Ok(Effort::Steps(steps));
    }
    humantime::parse_duration(text)
        .map(Effort::Time)
        .map_err(|_| {
            "expected a number of steps, such as 200, or a time with its unit, such as 5s".into()
        })
}

/// The grid and nets to read.
#[derive(Debug, clap::Args)]
pub(crate) struct NetInputArgs {
    /// Grid and nets to read, as text; --help describes the format. '-' is standard input
    #[arg(value_name = "NET", required_unless_present = "right")]
    pub(crate) net: Option<PathBuf>,

    /// Nets of the ISPD 2024 contest, .net, for the grid NET, which is then a .cap file of the
    /// contest
    #[arg(long, value_name = "NETS", requires = "net")]
    pub(crate) nets: Option<PathBuf>,

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

    /// Text with one line per pin: ROW COLUMN, or ROW COLUMN LAYER
    #[arg(long, value_name = "PINS", requires = "right")]
    pub(crate) pins: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum RouteFormat {
    /// The tree's cells, one line ROW COLUMN for each
    Txt,
    /// Connections, wires and cells
    Json,
    /// A picture to zoom into
    Svg,
    /// The tree drawn over the cells' costs; of nets that compete, how full the edges are
    Png,
    /// Straight wires and vias of each net, as in the ISPD 2024 contest
    Route,
}

values! { TreeKind => Option<trazar::route::TreeKind> {
    /// The nearest pin joins the tree, again and again
    Nearest => Some(trazar::route::TreeKind::Nearest),
    /// Two trees, improved piece by piece and merged: never more expensive, often cheaper
    Improved => Some(trazar::route::TreeKind::Improved),
    /// Paths with the fewest edges, whatever they cost, by breadth-first search on the CPU
    FewestEdges => None,
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
    /// By GPU kernels, distances around all pins at once; pins that are too far apart by tiles
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
