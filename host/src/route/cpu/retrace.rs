//! From distances to a path.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::Result;
use crate::memory::{collect, push, reserve_in_map};
use crate::route::grid::RoutingGrid;

/// The distance of a cell that no path reaches.
pub(in crate::route) const UNREACHED: u64 = u64::MAX;

/// The path from the cell `from` to the tree, both ends included, by the preferences of the module
/// `route`. `from` must have a finite distance. `distance` gives the cost of the shortest paths
/// from the tree.
pub(in crate::route) fn path(
    grid: &RoutingGrid,
    distance: impl Fn(u32) -> u64,
    on_tree: impl Fn(u32) -> bool,
    from: u32,
) -> Result<Vec<u32>> {
    let nearer = |at: u32| {
        let here = distance(at);
        let mut neighbours = grid.neighbours(at);
        neighbours.find(|&(next, weight)| {
            weight > 0 && distance(next).checked_add(weight.into()) == Some(here)
        })
    };
    let mut path = collect([from], PATH)?;
    let mut at = from;
    while !on_tree(at) {
        if let Some((next, _)) = nearer(at) {
            push(&mut path, next, PATH)?;
            at = next;
        } else {
            let is_exit = |cell: u32| on_tree(cell) || nearer(cell).is_some();
            for cell in over_plateau(grid, at, is_exit)? {
                push(&mut path, cell, PATH)?;
                at = cell;
            }
        }
    }
    Ok(path)
}

/// Name used in out-of-memory errors.
const PATH: &str = "a path";

/// The cells after `from` on the way to the nearest exit over edges of weight 0.
fn over_plateau(grid: &RoutingGrid, from: u32, is_exit: impl Fn(u32) -> bool) -> Result<Vec<u32>> {
    let free = |at: u32| {
        let neighbours = grid.neighbours(at).filter(|&(_, weight)| weight == 0);
        neighbours.map(|(next, _)| next)
    };
    // Away from `from`, until a step reaches exits.
    let mut steps_from = HashMap::from([(from, 0)]);
    let mut front = vec![from];
    let mut steps = 0;
    while !front.is_empty() && !front.iter().any(|&cell| is_exit(cell)) {
        steps += 1;
        let mut next_front = Vec::new();
        for next in front.iter().flat_map(|&cell| free(cell)) {
            reserve_in_map(&mut steps_from, PATH)?;
            if let Entry::Vacant(entry) = steps_from.entry(next) {
                entry.insert(steps);
                push(&mut next_front, next, PATH)?;
            }
        }
        front = next_front;
    }
    // Back from the exits: the cells on the way to one.
    front.retain(|&cell| is_exit(cell));
    let mut layers = vec![front];
    for step in (1..steps).rev() {
        let last = layers.last().into_iter().flatten();
        let layer = last
            .flat_map(|&cell| free(cell))
            .filter(|cell| steps_from.get(cell) == Some(&step));
        let mut layer: Vec<u32> = collect(layer, PATH)?;
        layer.sort_unstable();
        layer.dedup();
        push(&mut layers, layer, PATH)?;
    }
    let mut way = Vec::new();
    let mut at = from;
    for layer in layers.iter_mut().rev() {
        layer.sort_unstable();
        let Some(next) = free(at).find(|cell| layer.binary_search(cell).is_ok()) else {
            break;
        };
        push(&mut way, next, PATH)?;
        at = next;
    }
    Ok(way)
}
