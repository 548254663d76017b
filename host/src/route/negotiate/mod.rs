//! Nets that compete for edges: negotiated congestion.
//!
//! Each edge has a capacity, the number of nets that may use it. Nets are routed as if edges could
//! be shared, but an edge that more nets want than it has room for costs more: at once, by each net
//! too many, and from round to round, as long as it stays overfull. Paths that use an overfull edge
//! are routed again, until there is none. This is the negotiation of PathFinder (Larry McMurchie
//! and Carl Ebeling, "PathFinder: A Negotiation-Based Performance-Driven Router for FPGAs", FPGA
//! 1995).
//!
//! | what | file |
//! |---|---|
//! | capacities and usage | `counts.rs` |
//! | what an edge costs: weight, present use, history | `edges.rs` |
//! | windows, and the order of a round's nets | `schedule.rs` |
//! | what a path costs at least | `estimate.rs` |
//! | the tree of one net, pin by pin | `growing.rs` |
//! | on the processor: the search for a path | `search.rs`, `queue.rs` |
//! | on the processor: the way back | `retrace.rs` |
//! | on a GPU: trees of many nets | `device.rs`, and `route/negotiate/` of `trazar-kernels` |
//! | round by round | `rounds.rs` |
//! | the nets of a batch change their trees | `entering.rs` |
//!
//! A round routes its nets in batches, each on all threads or by one launch. The nets of a batch
//! are searched by the same costs, each as if it alone had given up its paths. Then they change
//! their trees one after the other; a net whose new paths cost more by then than when they were
//! found keeps its tree, and is searched again in the next batch. So the result is nearly that of
//! routing the nets one by one. (When all nets of a batch gave up their paths first, they took each
//! other's places, and overflow grew from round to round.) The size of a batch follows from the
//! number of nets and not from that of threads, and the choice among paths that are equally cheap
//! from costs alone (`retrace.rs`), so the result is the same everywhere.

mod counts;
mod device;
mod edges;
mod entering;
mod estimate;
mod growing;
mod queue;
mod retrace;
mod rounds;
mod schedule;
mod search;

pub use counts::{EdgeCounts, UNLIMITED};

use super::grid::RoutingGrid;
use super::net::Net;
use super::tree::Route;
use crate::error::Result;
use crate::geometry::Cell;
use crate::gpu::Gpu;
use crate::options::setters;
use crate::progress::Progress;

/// How nets negotiate.
///
/// ```
/// use trazar::route::NegotiationOptions;
///
/// assert_eq!(NegotiationOptions::default().rounds(20).margin, 8);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct NegotiationOptions {
    /// The most rounds; 100 by default. With 0, nothing is routed.
    pub rounds: u32,
    /// How far a path may leave the box around its ends, in cells; 8 by default. If there is no
    /// way, it may leave the box around the net's pins as far. The margin grows by half when a net
    /// finds no way, or stays on overfull edges for 5 rounds.
    pub margin: u32,
}

impl Default for NegotiationOptions {
    fn default() -> Self {
        Self {
            rounds: 100,
            margin: 8,
        }
    }
}

setters! {
    NegotiationOptions {
        rounds: u32,
        margin: u32,
    }
}

/// See [`Engine::negotiate`](crate::Engine::negotiate): on all threads of the processor.
pub(crate) fn negotiate(
    grid: &RoutingGrid,
    capacities: &EdgeCounts,
    nets: &[Net],
    options: &NegotiationOptions,
    progress: &Progress<'_>,
) -> Result<Negotiated> {
    let searcher = |_: &_| Ok(search::OnThreads::default());
    rounds::negotiate(grid, capacities, nets, options, progress, searcher)
}

/// The same on `gpu`, where the paths are found; all else is done by the processor.
pub(crate) fn negotiate_on<G: Gpu>(
    gpu: &G,
    grid: &RoutingGrid,
    capacities: &EdgeCounts,
    nets: &[Net],
    options: &NegotiationOptions,
    progress: &Progress<'_>,
) -> Result<Negotiated> {
    let searcher = |estimates: &_| device::OnDevice::new(gpu, grid, estimates);
    rounds::negotiate(grid, capacities, nets, options, progress, searcher)
}

/// What [`Engine::negotiate`](crate::Engine::negotiate) has found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Negotiated {
    /// The tree of each net. Its costs are sums of weights, without what overfull edges cost.
    pub routes: Vec<Route>,
    /// The number of nets that use each edge.
    pub usage: EdgeCounts,
    /// The edges that are still overfull, by layer, row and column; none if the negotiation has
    /// come to its end.
    pub overfull: Vec<OverfullEdge>,
    /// The rounds, from the first.
    pub rounds: Vec<Round>,
}

impl Negotiated {
    /// By how many nets edges are overfull, in all.
    pub fn overflow(&self) -> u64 {
        let each = self.overfull.iter();
        each.map(|edge| u64::from(edge.usage - edge.capacity)).sum()
    }

    /// The number of edges within layers that the trees have, each counted once per net.
    pub fn wire_length(&self) -> u64 {
        let wires = [self.usage.rights(), self.usage.downs()];
        wires.into_iter().flatten().copied().map(u64::from).sum()
    }

    /// The number of vias that the trees have.
    pub fn vias(&self) -> u64 {
        self.usage.vias().iter().copied().map(u64::from).sum()
    }
}

/// One round of a negotiation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Round {
    /// The number of nets that were routed.
    pub nets: usize,
    /// How many of these were routed at the same time.
    pub at_once: usize,
    /// By how many nets edges were overfull after the round, in all.
    pub overflow: u64,
    /// The number of these edges.
    pub overfull_edges: usize,
}

/// An edge that more nets use than it has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OverfullEdge {
    /// Its left, upper or lower cell.
    pub from: Cell,
    /// Its other cell.
    pub to: Cell,
    /// The number of nets that use it.
    pub usage: u32,
    /// The number that may.
    pub capacity: u32,
}
