//! Trees that cost less than the plain one.
//!
//! It starts from two trees: the plain one, and one from shortest paths between neighbouring pins
//! (`voronoi.rs`). Each is improved by moves (`exchange.rs`) as long as that helps, both at once,
//! and large ones by sections (`sections.rs`). Then they are merged, a tree is taken from their
//! union, and improved by moves again. From there, steps lead out of the local optimum and to
//! better ones (`shake.rs`) until the budget is spent (`budget.rs`). Several threads try steps on
//! copies of the tree (`copies.rs`). The result is the cheapest of the four trees, or the plain
//! tree itself if none is cheaper.
//!
//! Ties between nearest cells, and between shortest paths, are decided by the cells' indices. So
//! what a move or a step does depends on the tree alone, and is the same on each copy.
//!
//! The tree's regions, kept up to date by `diagram.rs`, tell what moves cost (`links.rs`).
//! `paths.rs` has the tree itself, `pieces.rs` what it is divided into.

mod budget;
#[cfg(test)]
mod check;
mod copies;
mod diagram;
mod exchange;
mod groups;
mod links;
mod paths;
mod pieces;
mod sections;
mod shake;
mod voronoi;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use crate::Result;
use crate::geometry::Window;
use crate::memory::{collect, extend, push};
use crate::progress::Progress;
use crate::route::Effort;
use crate::route::cpu::spanning;
use crate::route::grid::RoutingGrid;
use crate::route::net::Net;
use crate::route::net_by_net::{Joined, MOST_BYTES, PATHS, PINS, PinCells, at_once};
use crate::route::tree::Route;
use crate::threads;
use budget::Budget;
use copies::Copies;
use exchange::{Exchange, Move};
use groups::Groups;

/// An edge as its two cells.
type Edge = (u32, u32);

/// Name used in out-of-memory errors.
const TREE: &str = "the cells of a tree";

/// The memory that a tree, or a copy of it, takes per cell while it is improved.
const COPY_BYTES: u64 = 21;

/// The memory that a net takes per cell: that of two trees.
const CELL_BYTES: u64 = 2 * COPY_BYTES;

/// Improves `plain`, the plain trees of `nets`. Pins that these do not reach stay unjoined.
///
/// As many nets are improved at the same time as there are threads and as memory allows.
///
/// # Cost
/// Per net: [`CELL_BYTES`] per cell of the window, and 96 per edge between regions; four searches
/// over all its cells, and many small ones. A net with several threads takes up to [`MOST_BYTES`]
/// for sections and copies of its tree as well.
pub(crate) fn improve(
    grid: &RoutingGrid,
    nets: &[Net],
    plain: Vec<Route>,
    effort: Effort,
    progress: &Progress<'_>,
) -> Result<Vec<Route>> {
    let begin = Instant::now();
    let end = match effort {
        // A time that ends beyond what a clock tells has no end.
        Effort::Time(time) => begin.checked_add(time),
        Effort::Usual | Effort::Steps(_) => None,
    };
    let begun = AtomicUsize::new(0);
    let improved = at_once(
        grid,
        nets,
        CELL_BYTES,
        progress,
        |turn, part, pins, progress| {
            // Each net has an equal share of the time that is left.
            let to_begin = nets.len() - begun.fetch_add(1, Relaxed);
            let deadline = end.map(|end| {
                let now = Instant::now();
                let left = end.saturating_duration_since(now);
                let share = (turn.at_once as f64 / to_begin as f64).min(1.0);
                now + left.mul_f64(share)
            });
            let (net, plain) = (&nets[turn.net], &plain[turn.net]);
            // There is nothing to improve, or no pin to join.
            if plain.cost() == 0 {
                return Ok(Joined::default());
            }
            let budget = Budget::new(effort, part, pins.len(), deadline);
            let copies = copies(part, turn.at_once).min(budget.at_once());
            let limits = (&budget, copies);
            improve_net(part, pins, (net, plain), limits, progress)
        },
    )?;
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

/// The most copies of a net's tree, if `at_once` nets are improved at the same time.
fn copies(grid: &RoutingGrid, at_once: usize) -> usize {
    /// More take longer to make than they save.
    const MOST_COPIES: usize = 8;
    let cells = u64::from(grid.cell_count());
    // Steps set about three labels per cell.
    if !threads::are_worth_waking(3 * cells) {
        return 1;
    }
    let fit = MOST_BYTES / (COPY_BYTES * cells * at_once as u64);
    let fit = usize::try_from(fit).unwrap_or(usize::MAX);
    let threads = rayon::current_num_threads() / at_once;
    threads.min(fit).clamp(1, MOST_COPIES)
}

/// Improves `plain`, the plain tree of `net`, whose pins on `grid` are `pins`.
fn improve_net(
    grid: &RoutingGrid,
    pins: &PinCells,
    (net, plain): (&Net, &Route),
    limits: (&Budget, usize),
    progress: &Progress<'_>,
) -> Result<Joined> {
    let window = net.window.unwrap_or(Window::of(grid));
    let index = |cell| grid.index(window.to_part(cell));
    let edges = plain.edges().map(|(a, b)| (index(a), index(b)));
    let edges = collect(edges, PATHS)?;
    let mut reached = PinCells::new();
    for (pin, cells) in pins.iter().enumerate() {
        if plain.unreached().binary_search(&pin).is_err() {
            push(&mut reached, collect(cells.iter().copied(), PINS)?, PINS)?;
        }
    }
    let trees = improved_trees(grid, &reached, &edges, limits, progress)?;
    let cost = |edges: &Vec<Edge>| edges.iter().map(|&(a, b)| weight(grid, a, b)).sum::<u64>();
    let cheapest = trees.into_iter().min_by_key(cost).unwrap_or_default();
    spanning::joined_over(grid, pins, &cheapest)
}

/// The weight of the edge between two cells; 0 if there is none.
fn weight(grid: &RoutingGrid, from: u32, to: u32) -> u64 {
    grid.weight_between(from, to).unwrap_or(0).into()
}

/// Four improved trees of a net, as their edges, from the edges of its plain tree.
fn improved_trees(
    grid: &RoutingGrid,
    pins: &PinCells,
    plain: &[Edge],
    (budget, copies): (&Budget, usize),
    progress: &Progress<'_>,
) -> Result<[Vec<Edge>; 4]> {
    // Without edges between cells of one pin, through which a path may pass: there would be two
    // ways between these cells.
    let start = spanning::joined_over(grid, pins, plain)?;
    let groups = &Groups::new(pins)?;
    let improved = |start: &Joined, progress: &Progress<'_>| {
        let by_sections = sections::improve(grid, pins, start, budget, progress)?;
        by_sections.map_or_else(
            || Improved::of(grid, groups, &edges_of(start)?, budget, progress),
            Ok,
        )
    };
    // The shares of the stages, in tenths.
    progress.report(0, 10)?;
    let (first, second) = progress.part(0..5, 10, |progress| {
        progress.both(
            threads::are_worth_waking(grid.cell_count().into()),
            |progress| improved(&start, progress),
            |progress| {
                let between =
                    progress.part(0..1, 5, |progress| voronoi::tree(grid, pins, progress))?;
                progress.part(1..5, 5, |progress| improved(&between, progress))
            },
        )
    })?;
    let mut both = collect(first.edges.iter().copied(), PATHS)?;
    extend(&mut both, second.edges.iter().copied(), PATHS)?;
    let merged = edges_of(&spanning::joined_over(grid, pins, &both)?)?;
    let mut exchange = Exchange::new(grid, groups)?;
    exchange.remember(first.failed.into_iter().chain(second.failed))?;
    let third = progress.part(5..6, 10, |progress| {
        exchange.improve(&merged, budget, progress)
    })?;
    let mut copies = Copies::new(exchange, copies)?;
    let last = progress.part(6..10, 10, |progress| copies.shake(budget, progress))?;
    Ok([first.edges, second.edges, third, last])
}

/// A tree that was improved.
struct Improved {
    edges: Vec<Edge>,
    /// Moves that did not pay.
    failed: Vec<Move>,
}

impl Improved {
    /// Improves the tree of `edges` by moves.
    fn of(
        grid: &RoutingGrid,
        groups: &Groups,
        edges: &[Edge],
        budget: &Budget,
        progress: &Progress<'_>,
    ) -> Result<Self> {
        let mut exchange = Exchange::new(grid, groups)?;
        Ok(Self {
            edges: exchange.improve(edges, budget, progress)?,
            failed: collect(exchange.failed(), TREE)?,
        })
    }
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
