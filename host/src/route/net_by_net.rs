//! Nets that are independent of each other: one after the other, or several at the same time.

use std::borrow::Cow;
use std::sync::atomic::Ordering;

use rayon::prelude::*;

use super::grid::RoutingGrid;
use super::net::Net;
use super::tree::Route;
use crate::error::Result;
use crate::geometry::{Cell, Window};
use crate::memory::{collect, extend_from_slice, push, reserve};
use crate::progress::Progress;
use crate::threads;

/// Names used in out-of-memory errors.
pub(super) const PATHS: &str = "the paths of a tree";
pub(super) const PINS: &str = "the cells of pins";

/// The cells of each pin of a net, as indices in the grid.
pub(crate) type PinCells = Vec<Vec<u32>>;

/// Paths that join pins to the first, as indices of cells.
#[derive(Debug, Default)]
pub(crate) struct Joined {
    pins: Vec<usize>,
    costs: Vec<u64>,
    ends: Vec<usize>,
    cells: Vec<u32>,
}

impl Joined {
    /// Joins `pin` by a path from it to the tree.
    pub(crate) fn push(&mut self, pin: usize, cost: u64, path: &[u32]) -> Result<()> {
        extend_from_slice(&mut self.cells, path, PATHS)?;
        push(&mut self.pins, pin, PATHS)?;
        push(&mut self.costs, cost, PATHS)?;
        push(&mut self.ends, self.cells.len(), PATHS)
    }

    /// The paths as pin, cost and cells.
    pub(crate) fn paths(&self) -> impl Iterator<Item = (usize, u64, &[u32])> {
        (0..self.pins.len()).map(|i| {
            let start = if i == 0 { 0 } else { self.ends[i - 1] };
            (
                self.pins[i],
                self.costs[i],
                &self.cells[start..self.ends[i]],
            )
        })
    }

    /// Keeps the first `count` paths only.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.pins.truncate(count);
        self.costs.truncate(count);
        self.ends.truncate(count);
        self.cells.truncate(self.ends.last().copied().unwrap_or(0));
    }

    /// The route of `net`. These paths are on `grid`, the part of the whole grid in `window`.
    pub(crate) fn into_route(self, net: &Net, grid: &RoutingGrid, window: Window) -> Result<Route> {
        let whole = |index: u32| window.to_whole(grid.cell(index));
        let cells = collect(self.cells.into_iter().map(whole), PATHS)?;
        Route::new(net, self.pins, self.costs, self.ends, cells)
    }
}

/// Name used in out-of-memory errors.
const ROUTES: &str = "the routes";

/// Routes nets, one after the other. `connect` joins the pins of one net on a whole grid.
pub(crate) fn route_each(
    grid: &RoutingGrid,
    nets: &[Net],
    progress: &Progress<'_>,
    mut connect: impl FnMut(&RoutingGrid, &PinCells, &Progress<'_>) -> Result<Joined>,
) -> Result<Vec<Route>> {
    // All checks come before any work.
    let windows = Net::check_all(nets, grid.width(), grid.height(), grid.layers())?;
    let mut routes = Vec::new();
    reserve(&mut routes, nets.len(), ROUTES)?;
    for (i, (net, window)) in (0..).zip(nets.iter().zip(windows)) {
        let route = progress.part(i..i + 1, nets.len() as u64, |progress| {
            route_one(grid, net, window, |grid, pins| {
                connect(grid, pins, progress)
            })
        });
        routes.push(route?);
    }
    Ok(routes)
}

/// As [`route_each`], with as many nets at the same time as there are threads and as memory for
/// their searches allows. The routes, and the error if there is one, do not depend on the number
/// of threads.
pub(crate) fn route_at_once(
    grid: &RoutingGrid,
    nets: &[Net],
    progress: &Progress<'_>,
    connect: impl Fn(&RoutingGrid, &PinCells, &Progress<'_>) -> Result<Joined> + Sync,
) -> Result<Vec<Route>> {
    /// What a search takes.
    const CELL_BYTES: u64 = 24;
    at_once(
        grid,
        nets,
        CELL_BYTES,
        progress,
        |_, grid, pins, progress| connect(grid, pins, progress),
    )
}

/// The memory that searches take at the same time. A single net may take more.
pub(crate) const MOST_BYTES: u64 = 3 << 30;

/// A net whose turn it is.
pub(crate) struct Turn {
    /// Its index.
    pub(crate) net: usize,
    /// The number of nets that are routed at the same time.
    pub(crate) at_once: usize,
}

/// As [`route_at_once`], for a search that takes `cell_bytes` per cell of the net's window.
/// `connect` is told which net it is.
pub(crate) fn at_once(
    grid: &RoutingGrid,
    nets: &[Net],
    cell_bytes: u64,
    progress: &Progress<'_>,
    connect: impl Fn(Turn, &RoutingGrid, &PinCells, &Progress<'_>) -> Result<Joined> + Sync,
) -> Result<Vec<Route>> {
    let windows = Net::check_all(nets, grid.width(), grid.height(), grid.layers())?;
    let cells = |window: &Window| {
        u64::from(window.width) * u64::from(window.height) * u64::from(grid.layers())
    };
    // Nets of fewer than two pins search nothing.
    let searched = nets
        .iter()
        .zip(&windows)
        .filter(|(net, _)| net.pins.len() > 1);
    let searched = searched.map(|(_, window)| cells(window));
    let all = searched.fold(0, u64::saturating_add);
    if nets.len() < 2 || !threads::are_worth_waking(all) {
        let mut next = 0..;
        return route_each(grid, nets, progress, |grid, pins, progress| {
            let net = next.next().unwrap_or_default();
            connect(Turn { net, at_once: 1 }, grid, pins, progress)
        });
    }
    let largest = windows.iter().map(cells).max().unwrap_or(1);
    let fit = MOST_BYTES / largest.saturating_mul(cell_bytes).max(1);
    let threads = rayon::current_num_threads();
    let at_once = usize::try_from(fit).unwrap_or(threads);
    let at_once = at_once.clamp(1, threads.min(nets.len()));
    let group = group(nets.len(), at_once);
    let mut found: Vec<Option<Result<Route>>> = Vec::new();
    reserve(&mut found, nets.len(), ROUTES)?;
    found.resize_with(nets.len(), || None);
    progress.of_many(nets.len() as u64, |of_net, done| {
        found
            .par_iter_mut()
            .zip(nets.par_iter().zip(&windows))
            .enumerate()
            .with_min_len(group)
            .with_max_len(group)
            .for_each(|(net, (found, (pins, &window)))| {
                let turn = Turn { net, at_once };
                let connect =
                    |grid: &RoutingGrid, pins: &PinCells| connect(turn, grid, pins, of_net);
                *found = Some(route_one(grid, pins, window, connect));
                done.fetch_add(1, Ordering::Relaxed);
            });
    });
    let mut routes = Vec::new();
    reserve(&mut routes, nets.len(), ROUTES)?;
    // The error of the first net that has one.
    for route in found.into_iter().flatten() {
        routes.push(route?);
    }
    Ok(routes)
}

/// How many of `count` nets, or parts of one, a thread takes as a group, so that no more than
/// `at_once` are routed at the same time.
pub(crate) fn group(count: usize, at_once: usize) -> usize {
    match at_once >= rayon::current_num_threads() {
        true => 1,
        false => count.div_ceil(at_once),
    }
}

/// Routes `net` on the part of the grid in `window`.
fn route_one(
    grid: &RoutingGrid,
    net: &Net,
    window: Window,
    connect: impl FnOnce(&RoutingGrid, &PinCells) -> Result<Joined>,
) -> Result<Route> {
    let part = match window == Window::of(grid) {
        true => Cow::Borrowed(grid),
        false => Cow::Owned(grid.crop(window)?),
    };
    let index = |&cell: &Cell| part.index(window.to_part(cell));
    let mut pins = PinCells::new();
    reserve(&mut pins, net.pins.len(), PINS)?;
    for pin in &net.pins {
        pins.push(collect(pin.cells.iter().map(index), PINS)?);
    }
    connect(&part, &pins)?.into_route(net, &part, window)
}
