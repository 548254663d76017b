//! Breadth-first search: the path with the fewest edges, whatever its cost. This is the search of
//! the report cited in [the module `route`](crate::route).

use super::nearest::nearest;
use super::retrace::UNREACHED;
use crate::Result;
use crate::memory::{collect, extend, push};
use crate::progress::Progress;
use crate::route::grid::RoutingGrid;
use crate::route::grid::by_cell;
use crate::route::net_by_net::{Joined, PINS, PinCells};

/// Joins the pins one after the other, with new distances for each pin. A distance is the least
/// cost among the paths from the tree with the fewest edges. Such a path is not the shortest if one
/// with more edges is cheaper, so neither the order of the pins nor their paths are those of the
/// exact algorithms.
///
/// Among several such paths it takes the one that, from the pin, steps to the first neighbour in
/// the order of the module `route`.
///
/// # Cost
/// The cells times the pins.
pub(super) fn connect(
    grid: &RoutingGrid,
    pins: &PinCells,
    progress: &Progress<'_>,
) -> Result<Joined> {
    let mut joined = Joined::default();
    let Some(root) = pins.first() else {
        return Ok(joined);
    };
    let mut costs: Vec<u64> = by_cell(grid, "the distances")?;
    let mut levels: Vec<u32> = by_cell(grid, "the levels")?;
    let mut tree: Vec<u32> = collect(root.iter().copied(), PINS)?;
    let mut open: Vec<usize> = collect(1..pins.len(), PINS)?;
    while !open.is_empty() {
        progress.report((pins.len() - open.len()) as u64, pins.len() as u64)?;
        search(grid, &tree, &mut costs, &mut levels)?;
        let Some((cost, at, start)) = nearest(pins, &open, &costs) else {
            break;
        };
        let mut path = collect([start], PINS)?;
        let mut cell = start;
        while levels[cell as usize] > 0 {
            let mut neighbours = grid.neighbours(cell);
            let back = neighbours.find(|&(next, weight)| {
                levels[next as usize] == levels[cell as usize] - 1
                    && costs[next as usize] + u64::from(weight) == costs[cell as usize]
            });
            let Some((next, _)) = back else { break };
            push(&mut path, next, PINS)?;
            cell = next;
        }
        let pin = open.remove(at);
        joined.push(pin, cost, &path)?;
        extend(&mut tree, path, PINS)?;
        extend(&mut tree, pins[pin].iter().copied(), PINS)?;
    }
    Ok(joined)
}

/// Finds the level of each reached cell, which is the fewest edges from `tree` to it, and the cost
/// of the cheapest path with that many edges.
fn search(grid: &RoutingGrid, tree: &[u32], costs: &mut [u64], levels: &mut [u32]) -> Result<()> {
    costs.fill(UNREACHED);
    levels.fill(u32::MAX);
    for &cell in tree {
        costs[cell as usize] = 0;
        levels[cell as usize] = 0;
    }
    let mut front = collect(tree.iter().copied(), PINS)?;
    let mut next_front = Vec::new();
    for level in 1.. {
        if front.is_empty() {
            break;
        }
        for &cell in &front {
            let here = costs[cell as usize];
            for (next, weight) in grid.neighbours(cell) {
                let reached = &mut levels[next as usize];
                if *reached == u32::MAX {
                    *reached = level;
                    push(&mut next_front, next, "the cells of a level")?;
                }
                if *reached == level {
                    let cost = &mut costs[next as usize];
                    *cost = (*cost).min(here + u64::from(weight));
                }
            }
        }
        std::mem::swap(&mut front, &mut next_front);
        next_front.clear();
    }
    Ok(())
}
