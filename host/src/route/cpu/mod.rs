//! Routing on the CPU.
//!
//! | what | file |
//! |---|---|
//! | one pin after the other: the nearest, by distances from elsewhere | `nearest.rs` |
//! | from distances to a path | `retrace.rs` |
//! | distances and tree at once, on one core | `dijkstra.rs` |
//! | distances in tiles, on all cores | `tiles.rs` |
//! | costs of paths in 32 or 64 bits | `cost.rs` |
//! | distances by sweeps; by breadth-first search | `sweep.rs`; `breadth_first.rs` |
//! | a tree out of given edges | `spanning.rs` |
//! | better trees | `improve/` |

mod breadth_first;
mod cost;
mod dijkstra;
pub(crate) mod improve;
mod nearest;
pub(in crate::route) mod retrace;
pub(super) mod spanning;
mod sweep;
mod tiles;

use sweep::Threads;

use super::grid::{RoutingGrid, by_cell};
use super::net::Net;
use super::net_by_net::{PinCells, route_at_once, route_each};
use super::tree::Route;
use super::{DistanceAlgorithm, DistanceOptions, Distances, RouteAlgorithm};
use crate::backend::Backend;
use crate::error::Result;
use crate::geometry::Cell;
use crate::memory::collect;
use crate::progress::Progress;

/// Routes on the CPU.
pub(crate) fn route(
    grid: &RoutingGrid,
    nets: &[Net],
    algorithm: RouteAlgorithm,
    progress: &Progress<'_>,
) -> Result<Vec<Route>> {
    let sweep = |grid: &RoutingGrid, pins: &PinCells, threads, progress: &Progress<'_>| {
        nearest::connect(grid, pins, progress, |distances| {
            sweep::relax(grid, distances, threads)
        })
    };
    match algorithm {
        // All threads are at work on each net already.
        RouteAlgorithm::SweepParallel => {
            route_each(grid, nets, progress, |grid, pins, progress| {
                sweep(grid, pins, Threads::All, progress)
            })
        }
        RouteAlgorithm::Sweep => route_at_once(grid, nets, progress, |grid, pins, progress| {
            sweep(grid, pins, Threads::One, progress)
        }),
        _ => route_at_once(grid, nets, progress, dijkstra::connect),
    }
}

/// Routes along paths with the fewest edges.
pub(crate) fn route_fewest_edges(
    grid: &RoutingGrid,
    nets: &[Net],
    progress: &Progress<'_>,
) -> Result<Vec<Route>> {
    route_at_once(grid, nets, progress, breadth_first::connect)
}

/// The cost of the cheapest path from `sources` to each cell, on the CPU.
pub(crate) fn distances(
    grid: &RoutingGrid,
    sources: &[Cell],
    options: &DistanceOptions,
    progress: &Progress<'_>,
) -> Result<Distances> {
    let algorithm = options.algorithm.unwrap_or_else(|| usual(grid));
    algorithm.check_runs_on(Backend::Cpu)?;
    Net::of_sources(sources)?.check(0, grid.width(), grid.height(), grid.layers())?;
    let sources = sources.iter().map(|&cell| grid.index(cell));
    let sources: Vec<u32> = collect(sources, "the cells of sources")?;
    let sweep = |threads| -> Result<Vec<u64>> {
        let mut distances = by_cell(grid, "the distances")?;
        distances.fill(Distances::UNREACHED);
        for &cell in &sources {
            distances[cell as usize] = 0;
        }
        sweep::relax(grid, &mut distances, threads)?;
        Ok(distances)
    };
    let by_cell = match algorithm {
        DistanceAlgorithm::Sweep => sweep(Threads::One)?,
        DistanceAlgorithm::SweepParallel => sweep(Threads::All)?,
        DistanceAlgorithm::Tiles => tiles::distances(grid, &sources, progress)?,
        DistanceAlgorithm::Dijkstra => dijkstra::distances(grid, &sources)?,
    };
    Ok(Distances { by_cell })
}

/// The algorithm that is faster for a grid.
fn usual(grid: &RoutingGrid) -> DistanceAlgorithm {
    if crate::threads::are_worth_waking(grid.cell_count().into()) {
        DistanceAlgorithm::Tiles
    } else {
        DistanceAlgorithm::Dijkstra
    }
}
