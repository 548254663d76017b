//! One pin after the other: the nearest is joined by a shortest path, which costs nothing from then on.

use super::grid::by_cell;
use super::retrace::{self, UNREACHED};
use super::{Cell, Net, Route, RoutingGrid, Window};
use crate::Result;
use crate::engine::Progress;

/// The cells of each pin of a net, by number.
pub(crate) type PinCells = Vec<Vec<u32>>;

/// Paths that join pins to the first, by numbers of cells.
#[derive(Debug, Default)]
pub(crate) struct Joined {
    pins: Vec<usize>,
    costs: Vec<u64>,
    ends: Vec<usize>,
    cells: Vec<u32>,
}

impl Joined {
    /// Joins `pin` by a path from it to the tree.
    pub(super) fn push(&mut self, pin: usize, cost: u64, path: &[u32]) {
        self.cells.extend_from_slice(path);
        self.pins.push(pin);
        self.costs.push(cost);
        self.ends.push(self.cells.len());
    }

    /// The paths as pin, cost and cells.
    pub(super) fn paths(&self) -> impl Iterator<Item = (usize, u64, &[u32])> {
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
    pub(super) fn cost(&self) -> u64 {
        self.costs.iter().sum()
    }

    /// The route of `net`, of which this is on `grid`, the part of the whole grid in `window`.
    pub(super) fn into_route(self, net: &Net, grid: &RoutingGrid, window: Window) -> Route {
        let whole = |number: u32| {
            let cell = grid.cell(number);
            Cell {
                x: cell.x + window.x,
                y: cell.y + window.y,
                ..cell
            }
        };
        let cells = self.cells.into_iter().map(whole).collect();
        Route::new(net, self.pins, self.costs, self.ends, cells)
    }
}

/// Joins the pins by distances that `relax` completes: it is given the distance of each cell from the tree or more, 0 on the tree,
/// and makes them exact.
pub(super) fn connect(
    grid: &RoutingGrid,
    pins: &PinCells,
    progress: &Progress<'_>,
    mut relax: impl FnMut(&mut [u64]) -> Result<()>,
) -> Result<Joined> {
    let mut joined = Joined::default();
    let Some(root) = pins.first() else {
        return Ok(joined);
    };
    let mut distances: Vec<u64> = by_cell(grid, "the distances")?;
    distances.fill(UNREACHED);
    let mut on_tree: Vec<u8> = by_cell(grid, "the tree's cells")?;
    let add = |distances: &mut [u64], on_tree: &mut [u8], cells: &[u32]| {
        for &cell in cells {
            distances[cell as usize] = 0;
            on_tree[cell as usize] = 1;
        }
    };
    add(&mut distances, &mut on_tree, root);
    let mut open: Vec<usize> = (1..pins.len()).collect();
    while !open.is_empty() {
        progress.report((pins.len() - open.len()) as u64, pins.len() as u64);
        relax(&mut distances)?;
        let Some((cost, at, start)) = nearest(pins, &open, &distances) else {
            break;
        };
        let distance = |cell: u32| distances[cell as usize];
        let path = retrace::path(grid, distance, |cell| on_tree[cell as usize] != 0, start);
        let pin = open.remove(at);
        joined.push(pin, cost, &path);
        add(&mut distances, &mut on_tree, &path);
        add(&mut distances, &mut on_tree, &pins[pin]);
    }
    Ok(joined)
}

/// Of the pins `open` the nearest that is reached, of those the one with the smallest number, of its cells the first: its distance,
/// its place in `open`, and the cell. `open` is in order.
pub(super) fn nearest(
    pins: &PinCells,
    open: &[usize],
    distances: &[u64],
) -> Option<(u64, usize, u32)> {
    let cells = open.iter().enumerate().flat_map(|(at, &pin)| {
        let cells = pins[pin].iter();
        cells.map(move |&cell| (distances[cell as usize], at, cell))
    });
    // The first of several.
    let nearest = cells.min_by_key(|&(distance, ..)| distance);
    nearest.filter(|&(distance, ..)| distance != UNREACHED)
}
