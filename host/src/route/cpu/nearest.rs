//! One pin after the other: the nearest pin is joined by a shortest path, which is free from then
//! on.

use super::retrace::{self, UNREACHED};
use crate::Result;
use crate::memory::collect;
use crate::progress::Progress;
use crate::route::grid::{RoutingGrid, by_cell};
use crate::route::net_by_net::{Joined, PINS, PinCells};

/// Joins the pins by distances that `relax` completes. It is given an upper bound of each cell's
/// distance from the tree, 0 on the tree, and makes the distances exact.
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
    let mut open: Vec<usize> = collect(1..pins.len(), PINS)?;
    while !open.is_empty() {
        progress.report((pins.len() - open.len()) as u64, pins.len() as u64)?;
        relax(&mut distances)?;
        let Some((cost, at, start)) = nearest(pins, &open, &distances) else {
            break;
        };
        let distance = |cell: u32| distances[cell as usize];
        let path = retrace::path(grid, distance, |cell| on_tree[cell as usize] != 0, start)?;
        let pin = open.remove(at);
        joined.push(pin, cost, &path)?;
        add(&mut distances, &mut on_tree, &path);
        add(&mut distances, &mut on_tree, &pins[pin]);
    }
    Ok(joined)
}

/// The nearest reached pin of `open`: its distance, its index in `open`, and its cell. Among pins
/// at the same distance it is the one with the smallest index, and among its cells the first.
/// `open` must be in ascending order.
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
