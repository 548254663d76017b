//! Routing: low-cost trees that join pins on a grid of weighted edges.
//!
//! ```
//! use trazar::Engine;
//! use trazar::route::{Cell, Net, RouteOptions, RoutingGrid};
//!
//! // 3 × 3 cells and 2 pins.
//! let right = [24, 26, 47, 13, 70, 2];
//! let down = [33, 68, 51, 80, 24, 77];
//! let grid = RoutingGrid::from_edges(3, 3, &right, &down)?;
//! let net = Net::from_cells([Cell::at(1, 1), Cell::at(2, 0)]);
//! let route = Engine::cpu().route_net(&grid, &net, &RouteOptions::default())?;
//! assert_eq!(route.cost(), 64);
//! assert_eq!(route.cells(), [Cell::at(2, 0), Cell::at(1, 1), Cell::at(2, 1)]);
//! # Ok::<(), trazar::Error>(())
//! ```
//!
//! # What the tree is
//!
//! The tree is that of a report on parallel maze routing (王領崧, "Parallized Maze Routing", final
//! project report, no year given; steps a to e of its algorithm). It starts as the first pin. Then
//! the pin nearest to the tree is joined by a shortest path, which is free from then on, until all
//! pins are joined. A path costs the sum of the weights of its edges. The tree of two pins is
//! optimal; that of more pins costs at most twice the optimum.
//!
//! All algorithms give the same tree, cell by cell, on every backend and in every run. Ties
//! are decided as follows:
//!
//! - among pins at the same distance: the one with the smallest index, and its first nearest cell;
//! - among shortest paths: the one that, from the pin, steps to the first neighbour on a shortest
//!   path in the order left, up, right, down, layer below, layer above;
//! - a cell may have edges of weight 0 and no neighbour nearer to the tree: the path then takes the
//!   fewest such edges to a cell that has one or is on the tree, again by the first neighbour in
//!   that order.
//!
//! # Files
//!
//! | what | file |
//! |---|---|
//! | grid, its cells and edges by index | `grid.rs`, `extents.rs` |
//! | pins and nets, grid and nets together, the tree | `net.rs`, `case.rs`, `tree.rs` |
//! | nets that are independent, one after the other or at the same time | `net_by_net.rs` |
//! | nets that compete for edges | `negotiate/` |
//! | a cost for turns | `turns.rs` |
//! | on the CPU | `cpu/` |
//! | by kernels, on a GPU or the emulator | `gpu/`, and `route/` of the crate `trazar-kernels` |

mod case;
mod cell_bits;
pub(crate) mod cpu;
mod extents;
pub(crate) mod gpu;
mod grid;
pub(crate) mod negotiate;
mod net;
mod net_by_net;
mod tree;
pub(crate) mod turns;

pub use crate::geometry::{Cell, Window};
pub use case::RoutingCase;
pub use gpu::{DeviceGrid, DeviceRouter};
pub(crate) use grid::check_size;
pub use grid::{BLOCKED, Direction, MAX_LAYERS, RoutingGrid};
pub use negotiate::{EdgeCounts, Negotiated, NegotiationOptions, OverfullEdge, Round, UNLIMITED};
pub use net::{Net, Pin};
pub use tree::{Connection, Fallback, FieldUse, InvalidRoute, Route};

use std::time::Duration;

use crate::backend::Backend;
use crate::error::Result;
use crate::options::{names, setters};

/// The ways to route. All give the same trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RouteAlgorithm {
    /// Dijkstra's search with Dial's buckets, on one thread: one search for the whole tree,
    /// continued from every new path.
    Dijkstra,
    /// Sweeps along rows and columns until nothing changes, on one thread (`sweep` in the report).
    Sweep,
    /// As [`Sweep`](Self::Sweep), on all threads (`omp` in the report).
    SweepParallel,
    /// Sweeps by kernels, each line in rounds of doubled groups (`cuda` in the report).
    DivideConquer,
    /// Sweeps by kernels, each line by a prefix sum and a prefix minimum (described in the report,
    /// but not finished there).
    Prefix,
    /// Sweeps by kernels, each line by one scan of pairs of weight and distance.
    PrefixFused,
    /// Tiles of the grid, which kernels relax in shared memory, repeatedly as long as neighbouring
    /// tiles change.
    Tiles,
    /// Distances around each pin, which kernels find for all pins at once; pins are then joined by
    /// looking the distances up. For nets with close pins, on grids of one layer without edges of
    /// weight 0. Other nets, and pins too far apart, are searched in tiles.
    Fields,
}

names! { RouteAlgorithm, "algorithm" {
    Dijkstra => "dijkstra",
    Sweep => "sweep",
    SweepParallel => "sweep-parallel",
    DivideConquer => "divide-conquer",
    Prefix => "prefix",
    PrefixFused => "prefix-fused",
    Tiles => "tiles",
    Fields => "fields",
} }

impl RouteAlgorithm {
    /// The backends that run it.
    pub fn backends(self) -> &'static [Backend] {
        match self {
            Self::Dijkstra | Self::Sweep | Self::SweepParallel => &[Backend::Cpu],
            Self::DivideConquer | Self::Prefix | Self::PrefixFused | Self::Tiles | Self::Fields => {
                &[Backend::Cuda, Backend::Emulator]
            }
        }
    }

    /// The algorithms that run on `backend`, first the one that an [`Engine`](crate::Engine)
    /// chooses.
    pub fn on(backend: Backend) -> &'static [Self] {
        match backend {
            Backend::Cpu => &[Self::Dijkstra, Self::Sweep, Self::SweepParallel],
            Backend::Cuda | Backend::Emulator => &[
                Self::Fields,
                Self::Tiles,
                Self::DivideConquer,
                Self::Prefix,
                Self::PrefixFused,
            ],
        }
    }

    /// Refuses a backend that does not run it.
    ///
    /// # Errors
    /// [`Error::Unavailable`](crate::Error::Unavailable), which names the algorithms that the
    /// backend runs.
    pub fn check_runs_on(self, backend: Backend) -> Result<()> {
        let others = Self::on(backend).iter().map(|other| other.name());
        backend.check_runs("routing", self.name(), self.backends(), others)
    }
}

/// The cost of the cheapest path to each cell of a grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distances {
    pub(crate) by_cell: Vec<u64>,
}

impl Distances {
    /// The distance of a cell that no path reaches.
    pub const UNREACHED: u64 = u64::MAX;

    /// By cell index: the sum of the weights of the edges of the cheapest path, or
    /// [`UNREACHED`](Self::UNREACHED).
    pub fn as_slice(&self) -> &[u64] {
        &self.by_cell
    }

    /// The same as a vector.
    pub fn into_vec(self) -> Vec<u64> {
        self.by_cell
    }
}

/// The ways to compute [distances](crate::Engine::distances). All give the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DistanceAlgorithm {
    /// As [`RouteAlgorithm::Dijkstra`].
    Dijkstra,
    /// As [`RouteAlgorithm::Sweep`].
    Sweep,
    /// As [`RouteAlgorithm::SweepParallel`].
    SweepParallel,
    /// Tiles of the grid. On the processor, all threads search them, each with buckets of its own;
    /// elsewhere as [`RouteAlgorithm::Tiles`].
    Tiles,
}

names! { DistanceAlgorithm, "algorithm" {
    Dijkstra => "dijkstra",
    Sweep => "sweep",
    SweepParallel => "sweep-parallel",
    Tiles => "tiles",
} }

impl DistanceAlgorithm {
    /// The backends that run it.
    pub fn backends(self) -> &'static [Backend] {
        match self {
            Self::Dijkstra | Self::Sweep | Self::SweepParallel => &[Backend::Cpu],
            Self::Tiles => &[Backend::Cpu, Backend::Cuda, Backend::Emulator],
        }
    }

    /// The algorithms that run on `backend`. On the processor, an [`Engine`](crate::Engine) chooses
    /// tiles for grids of 2¹⁷ cells or more, if there are several threads, and Dijkstra's search
    /// for others.
    pub fn on(backend: Backend) -> &'static [Self] {
        match backend {
            Backend::Cpu => Self::ALL,
            Backend::Cuda | Backend::Emulator => &[Self::Tiles],
        }
    }

    /// Refuses a backend that does not run it.
    ///
    /// # Errors
    /// [`Error::Unavailable`](crate::Error::Unavailable), which names the algorithms that the
    /// backend runs.
    pub fn check_runs_on(self, backend: Backend) -> Result<()> {
        let others = Self::on(backend).iter().map(|other| other.name());
        backend.check_runs("distance", self.name(), self.backends(), others)
    }
}

/// How to compute distances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DistanceOptions {
    /// How to compute them; `None` leaves the choice to the engine.
    pub algorithm: Option<DistanceAlgorithm>,
}

setters! {
    DistanceOptions {
        algorithm: impl Into<Option<DistanceAlgorithm>>,
    }
}

impl DistanceOptions {
    /// The algorithm to use on `backend`.
    ///
    /// # Errors
    /// [`Error::Unavailable`](crate::Error::Unavailable) for an algorithm of another backend.
    pub(crate) fn algorithm_on(&self, backend: Backend) -> Result<DistanceAlgorithm> {
        let algorithm = self.algorithm.unwrap_or(DistanceAlgorithm::on(backend)[0]);
        algorithm.check_runs_on(backend)?;
        Ok(algorithm)
    }
}

/// Which tree to make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TreeKind {
    /// The tree of the report (see [the module](self)): it joins the nearest pin, again and again.
    #[default]
    Nearest,
    /// A better tree, where one is found: two trees, improved piece by piece on the processor, and
    /// merged. It never costs more than [`Nearest`](Self::Nearest), and takes about 15 times as
    /// long.
    Improved,
}

names! { TreeKind, "tree" {
    Nearest => "nearest",
    Improved => "improved",
} }

/// How long to look for [improved](TreeKind::Improved) trees. Whatever the effort, two trees are
/// first improved by moves until none helps, and merged. Then come steps, each of which removes a
/// few neighbouring pieces of the tree, joins the parts in another order, and improves the tree
/// there; a step that makes the tree cost more is taken back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Effort {
    /// As many steps as take about as long as three searches of the grid, or some milliseconds if
    /// that is more; 72 steps and 6 per pin at most. The tree is the same in every run.
    #[default]
    Usual,
    /// This many steps for each net. The tree is the same in every run.
    Steps(u32),
    /// As many steps as this time permits; nets share it equally. When it is over, moves end, too,
    /// and the tree is the best one so far, at worst the nearest one. How good it is depends on the
    /// machine.
    Time(Duration),
}

/// How to route.
///
/// ```
/// use trazar::{RouteOptions, TreeKind};
///
/// let options = RouteOptions::default().tree(TreeKind::Improved);
/// assert_eq!(options.turn_cost, 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RouteOptions {
    /// Which tree to make.
    pub tree: TreeKind,
    /// How long to look for an [improved](TreeKind::Improved) tree.
    pub effort: Effort,
    /// The cost of each cell at which the tree turns or branches, other than cells of pins, on a
    /// grid of one layer. (With layers that have preferred directions, a turn takes a via.) Two
    /// pins get the cheapest path.
    pub turn_cost: u32,
    /// How to compute it; `None` leaves the choice to the engine.
    pub algorithm: Option<RouteAlgorithm>,
}

setters! {
    RouteOptions {
        tree: TreeKind,
        effort: Effort,
        turn_cost: u32,
        algorithm: impl Into<Option<RouteAlgorithm>>,
    }
}

impl RouteOptions {
    /// The algorithm to use on `backend`.
    pub(crate) fn algorithm_on(&self, backend: Backend) -> RouteAlgorithm {
        self.algorithm.unwrap_or(RouteAlgorithm::on(backend)[0])
    }
}

/// The ways to route that a [`DeviceRouter`] has, on grids that stay in a GPU's memory. Both give
/// the same trees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceRouteAlgorithm {
    /// As [`RouteAlgorithm::Fields`].
    #[default]
    Fields,
    /// As [`RouteAlgorithm::Tiles`].
    Tiles,
}

names! { DeviceRouteAlgorithm, "algorithm" {
    Fields => "fields",
    Tiles => "tiles",
} }

/// How a [`DeviceRouter`] routes. It makes [nearest](TreeKind::Nearest) trees without a cost of
/// turns: an [`Engine`](crate::Engine) does the rest on the processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DeviceRouteOptions {
    /// How to compute the trees.
    pub algorithm: DeviceRouteAlgorithm,
}

setters! {
    DeviceRouteOptions {
        algorithm: DeviceRouteAlgorithm,
    }
}
