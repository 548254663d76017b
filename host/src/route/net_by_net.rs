//! One net after the other, each independent of the others.

use std::borrow::Cow;

use super::grid::RoutingGrid;
use super::net::Net;
use super::tree::Route;
use crate::error::Result;
use crate::geometry::{Cell, Window};
use crate::memory::{collect, push, reserve};

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
        reserve(&mut self.cells, path.len(), PATHS)?;
        self.cells.extend_from_slice(path);
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

    /// The sum of all costs.
    pub(crate) fn cost(&self) -> u64 {
        self.costs.iter().sum()
    }

    /// The route of `net`. These paths are on `grid`, the part of the whole grid in `window`.
    pub(crate) fn into_route(self, net: &Net, grid: &RoutingGrid, window: Window) -> Result<Route> {
        let whole = |index: u32| {
            let cell = grid.cell(index);
            Cell {
                x: cell.x + window.x,
                y: cell.y + window.y,
                ..cell
            }
        };
        let cells = collect(self.cells.into_iter().map(whole), PATHS)?;
        Route::new(net, self.pins, self.costs, self.ends, cells)
    }
}

/// Routes nets, one after the other. `connect` joins the pins of one net on a whole grid.
pub(crate) fn route_each(
    grid: &RoutingGrid,
    nets: &[Net],
    mut connect: impl FnMut(&RoutingGrid, &PinCells) -> Result<Joined>,
) -> Result<Vec<Route>> {
    // All checks come before any work.
    let windows = Net::check_all(nets, grid.width(), grid.height(), grid.layers())?;
    let mut routes = Vec::new();
    reserve(&mut routes, nets.len(), "the routes")?;
    for (net, window) in nets.iter().zip(windows) {
        let part = match window == Window::of(grid) {
            true => Cow::Borrowed(grid),
            false => Cow::Owned(grid.crop(window)?),
        };
        let index = |cell: &Cell| {
            part.index(Cell {
                x: cell.x - window.x,
                y: cell.y - window.y,
                ..*cell
            })
        };
        let mut pins = PinCells::new();
        reserve(&mut pins, net.pins.len(), PINS)?;
        for pin in &net.pins {
            pins.push(collect(pin.cells.iter().map(index), PINS)?);
        }
        routes.push(connect(&part, &pins)?.into_route(net, &part, window)?);
    }
    Ok(routes)
}
