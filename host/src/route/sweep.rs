//! Distances by sweeps along rows, columns and vias, until nothing changes.

use super::RoutingGrid;
use super::retrace::UNREACHED;

/// Makes distances exact: each is at least that of a neighbour plus the edge between them afterwards, on one thread.
pub(super) fn relax(grid: &RoutingGrid, distances: &mut [u64]) {
    loop {
        let mut changed = false;
        let width = grid.width() as usize;
        let height = grid.height() as usize;
        for (row, weights) in distances
            .chunks_exact_mut(width)
            .zip(grid.rights().chunks_exact(width))
        {
            for x in 1..width {
                changed |= lower(row, x - 1, x, weights[x - 1]);
            }
            for x in (1..width).rev() {
                changed |= lower(row, x, x - 1, weights[x - 1]);
            }
        }
        // Whole rows at a time: the columns of a layer side by side.
        for (layer, weights) in distances
            .chunks_exact_mut(width * height)
            .zip(grid.downs().chunks_exact(width * height))
        {
            for at in width..width * height {
                changed |= lower(layer, at - width, at, weights[at - width]);
            }
            for at in (width..width * height).rev() {
                changed |= lower(layer, at, at - width, weights[at - width]);
            }
        }
        if grid.layers() > 1 {
            let area = width * height;
            for at in area..distances.len() {
                changed |= lower(distances, at - area, at, grid.vias()[at - area]);
            }
            for at in (area..distances.len()).rev() {
                changed |= lower(distances, at, at - area, grid.vias()[at - area]);
            }
        }
        if !changed {
            return;
        }
    }
}

/// Lowers the distance of cell `to` to that of `from` and an edge of `weight`, if that is less.
fn lower(distances: &mut [u64], from: usize, to: usize, weight: u32) -> bool {
    if weight == super::BLOCKED || distances[from] == UNREACHED {
        return false;
    }
    let through = distances[from] + u64::from(weight);
    if through < distances[to] {
        distances[to] = through;
        return true;
    }
    false
}
