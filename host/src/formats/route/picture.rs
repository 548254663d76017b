//! Colours, wires and shades, for all pictures of trees.

use crate::Result;
use crate::memory::reserve;
use crate::route::{BLOCKED, Cell, Route, RoutingCase, RoutingGrid};

/// The colours of trees: by net if there are several nets, otherwise by layer.
pub(super) const COLOURS: [[u8; 3]; 8] = [
    [214, 39, 40],
    [31, 119, 180],
    [44, 140, 44],
    [240, 120, 10],
    [148, 80, 190],
    [0, 150, 160],
    [200, 60, 150],
    [130, 90, 70],
];

/// The colour of cells with all edges blocked.
pub(super) const BLOCKED_CELL: [u8; 3] = [74, 80, 92];

/// The colour of pins that no path reaches.
pub(super) const UNREACHED: [u8; 3] = [255, 220, 0];

/// The index in [`COLOURS`] for the wires of a net on a layer.
pub(super) fn colour(case: &RoutingCase, net: usize, layer: u32) -> usize {
    match case.nets.len() {
        0 | 1 => layer as usize % COLOURS.len(),
        _ => net % COLOURS.len(),
    }
}

/// A part of a path on one layer, as a polyline.
pub(super) struct Wire {
    pub(super) layer: u32,
    pub(super) corners: Vec<Cell>,
}

/// The wires of a tree, and the cells from which its vias lead to the next layer.
pub(super) fn wires(route: &Route) -> (Vec<Wire>, Vec<Cell>) {
    let mut wires: Vec<Wire> = Vec::new();
    let mut vias = Vec::new();
    for (from, to) in route.segments() {
        if from.layer != to.layer {
            let (lower, upper) = (from.layer.min(to.layer), from.layer.max(to.layer));
            vias.extend((lower..upper).map(|layer| from.on(layer)));
            continue;
        }
        match wires.last_mut() {
            Some(wire) if wire.corners.last() == Some(&from) => wire.corners.push(to),
            _ => wires.push(Wire {
                layer: from.layer,
                corners: vec![from, to],
            }),
        }
    }
    (wires, vias)
}

/// The cost of each column and row as a shade. The cost is the mean weight of the unblocked edges
/// there, on all layers and without vias. Shades are from 0 for no cost to `most` for the largest
/// cost, and `most + 1` if all edges are blocked.
pub(super) fn shades(grid: &RoutingGrid, most: u8) -> Result<Vec<u8>> {
    let area = grid.width() as usize * grid.height() as usize;
    let mut means: Vec<f32> = Vec::new();
    reserve(&mut means, area, "the picture")?;
    means.extend((0..area).map(|at| mean(grid, at, area)));
    let largest = means.iter().copied().fold(0.0, f32::max);
    let shade = |mean: f32| match mean {
        // All edges are blocked.
        mean if mean.is_nan() => most + 1,
        0.0 => 0,
        mean => (f32::from(most) * mean / largest).round() as u8,
    };
    let mut shades = Vec::new();
    reserve(&mut shades, area, "the picture")?;
    shades.extend(means.into_iter().map(shade));
    Ok(shades)
}

/// The mean weight of the edges at `at`, the index of a column and row; NaN if all are blocked.
fn mean(grid: &RoutingGrid, at: usize, area: usize) -> f32 {
    let width = grid.width() as usize;
    let (mut sum, mut count) = (0.0, 0.0);
    for layer in 0..grid.layers() as usize {
        let cell = layer * area + at;
        // `before` is the edge from the previous cell. For the first cell of a row, that is the
        // last cell of the row above, whose edge to the right is blocked. The same holds for rows
        // and layers.
        for (weights, step) in [(grid.rights(), 1), (grid.downs(), width)] {
            let before = cell.checked_sub(step).map_or(BLOCKED, |cell| weights[cell]);
            for weight in [before, weights[cell]] {
                if weight != BLOCKED {
                    sum += weight as f32;
                    count += 1.0;
                }
            }
        }
    }
    sum / count
}
