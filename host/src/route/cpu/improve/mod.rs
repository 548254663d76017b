//! Trees that cost less than the plain one.
//!
//! The start is the plain tree, or a cheaper one that grows from another pin; and a tree from
//! shortest paths between neighbouring pins (`voronoi.rs`). Each of the two is improved piece by
//! piece (`exchange.rs`) as long as that helps. Then they are merged, a tree is taken from their
//! union, and improved again. From there, steps lead out of the local optimum and to better ones
//! (`shake.rs`) until the budget is spent (`budget.rs`). The cheapest of the four is the result, or
//! the plain tree itself if none is cheaper.
//!
//! The tree's regions, kept up to date by `diagram.rs`, tell what moves cost; `paths.rs` has the
//! tree itself.

mod budget;
#[cfg(test)]
mod check;
mod diagram;
mod exchange;
mod paths;
mod shake;
mod voronoi;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::Result;
use crate::geometry::Cell;
use crate::memory::{collect, extend, push};
use crate::progress::Progress;
use crate::route::Effort;
use crate::route::cpu::{dijkstra, spanning};
use crate::route::grid::RoutingGrid;
use crate::route::net::Net;
use crate::route::net_by_net::{Joined, PATHS, PINS, PinCells, route_each};
use crate::route::tree::Route;
use crate::threads;
use budget::Budget;
use exchange::Exchange;

/// An edge as its two cells.
type Edge = (u32, u32);

/// Name used in out-of-memory errors.
const TREE: &str = "the cells of a tree";

/// The number of other pins that trees grow from.
const ROOTS: usize = 4;

/// Improves `plain`, the plain trees of `nets`. Pins that these do not reach stay unjoined.
///
/// # Cost
/// 41 bytes per cell of the window (48 while trees grow from four other pins at the same time), and
/// 48 per edge between regions; ten searches over all its cells, and many small ones.
pub(crate) fn improve(
    grid: &RoutingGrid,
    nets: &[Net],
    plain: Vec<Route>,
    effort: Effort,
    progress: &Progress<'_>,
) -> Result<Vec<Route>> {
    let begin = Instant::now();
    let mut sources = nets.iter().zip(&plain).enumerate();
    let improved = route_each(grid, nets, progress, |part, pins, progress| {
        let Some((done, (net, plain))) = sources.next() else {
            return Ok(Joined::default());
        };
        // There is nothing to improve, or no pin to join.
        if plain.cost() == 0 {
            return Ok(Joined::default());
        }
        let corner = net.window.map_or((0, 0), |window| (window.x, window.y));
        let index = |cell: Cell| {
            part.index(Cell {
                x: cell.x - corner.0,
                y: cell.y - corner.1,
                ..cell
            })
        };
        let edges = plain.edges().map(|(a, b)| (index(a), index(b)));
        let edges = collect(edges, PATHS)?;
        let mut reached = PinCells::new();
        for (pin, cells) in pins.iter().enumerate() {
            if plain.unreached().binary_search(&pin).is_err() {
                push(&mut reached, collect(cells.iter().copied(), PINS)?, PINS)?;
            }
        }
        let deadline = match effort {
            // Each net has an equal share of the time, and what those before it have left.
            Effort::Time(time) => {
                let share = (done as f64 + 1.0) / nets.len() as f64;
                let until = Duration::try_from_secs_f64(time.as_secs_f64() * share).ok();
                // A time that ends beyond what a clock tells has no end.
                until.and_then(|until| begin.checked_add(until))
            }
            Effort::Usual | Effort::Steps(_) => None,
        };
        let budget = Budget::new(effort, part, pins.len(), deadline);
        let trees = improved_trees(part, &reached, &edges, &budget, progress)?;
        let mut best: Option<Joined> = None;
        for edges in trees {
            let tree = spanning::joined_over(part, pins, &edges)?;
            if best.as_ref().is_none_or(|best| tree.cost() < best.cost()) {
                best = Some(tree);
            }
        }
        Ok(best.unwrap_or_default())
    })?;
    let cheaper = |(plain, mut improved): (Route, Route)| {
        if improved.cost() < plain.cost() && improved.unreached() == plain.unreached() {
            improved.field_use = plain.field_use;
            improved
        } else {
            plain
        }
    };
    collect(plain.into_iter().zip(improved).map(cheaper), "the routes")
}

/// Four improved trees of a net, as their edges, from the edges of its plain tree.
fn improved_trees(
    grid: &RoutingGrid,
    pins: &PinCells,
    plain: &[Edge],
    budget: &Budget,
    progress: &Progress<'_>,
) -> Result<[Vec<Edge>; 4]> {
    // Without edges between cells of one pin, through which a path may pass: there would be two
    // ways between these cells.
    let mut start = spanning::joined_over(grid, pins, plain)?;
    // The shares of the stages, in tenths.
    progress.report(0, 10)?;
    let rooted = progress.part(0..2, 10, |progress| {
        from_other_roots(grid, pins, budget, progress)
    })?;
    for rooted in rooted {
        let rooted = spanning::joined_over(grid, pins, &edges_of(&rooted)?)?;
        if rooted.cost() < start.cost() {
            start = rooted;
        }
    }
    let start = edges_of(&start)?;
    let between = progress.part(2..3, 10, |progress| voronoi::tree(grid, pins, progress))?;
    let mut exchange = Exchange::new(grid, pins)?;
    let first = progress.part(3..4, 10, |progress| {
        exchange.improve(&start, budget, progress)
    })?;
    let second = progress.part(4..5, 10, |progress| {
        exchange.improve(&between, budget, progress)
    })?;
    let mut both = collect(first.iter().copied(), PATHS)?;
    extend(&mut both, second.iter().copied(), PATHS)?;
    let merged = edges_of(&spanning::joined_over(grid, pins, &both)?)?;
    let third = progress.part(5..6, 10, |progress| {
        exchange.improve(&merged, budget, progress)
    })?;
    progress.part(6..10, 10, |progress| exchange.shake(budget, progress))?;
    Ok([first, second, third, exchange.edges()?])
}

/// Trees that join the nearest pin first and grow from pins other than the first.
fn from_other_roots(
    grid: &RoutingGrid,
    pins: &[Vec<u32>],
    budget: &Budget,
    progress: &Progress<'_>,
) -> Result<Vec<Joined>> {
    let roots = ROOTS.min(pins.len().saturating_sub(1));
    // Each search reports once for each pin that joins; they may run at the same time.
    let joined = AtomicU64::new(0);
    let most = (roots * pins.len()) as u64;
    let report = |_: f64| progress.flow(joined.fetch_add(1, Relaxed).min(most), most);
    let rooted = |i: usize| {
        if budget.is_over() {
            return Ok(None);
        }
        let mut from_root = PinCells::new();
        for cells in pins {
            push(&mut from_root, collect(cells.iter().copied(), PINS)?, PINS)?;
        }
        from_root.rotate_left(i * pins.len() / (roots + 1));
        dijkstra::connect(grid, &from_root, &Progress(Some(&report))).map(Some)
    };
    let rooted: Vec<Result<Option<Joined>>> =
        match threads::are_worth_waking(u64::from(grid.cell_count()) * roots as u64) {
            true => (1..=roots).into_par_iter().map(rooted).collect(),
            false => (1..=roots).map(rooted).collect(),
        };
    rooted.into_iter().filter_map(Result::transpose).collect()
}

/// One more than the largest weight; 0 if there is no open edge.
fn heaviest(grid: &RoutingGrid) -> u32 {
    let weights = [grid.rights(), grid.downs(), grid.vias()];
    let weights = weights.into_iter().flatten();
    // A blocked edge becomes 0.
    let heaviest = weights.map(|&weight| weight.wrapping_add(1)).max();
    heaviest.unwrap_or(0)
}

/// The edges of all paths.
fn edges_of(joined: &Joined) -> Result<Vec<Edge>> {
    let edges = joined
        .paths()
        .flat_map(|(_, _, cells)| cells.windows(2).map(|pair| (pair[0], pair[1])));
    collect(edges, PATHS)
}
