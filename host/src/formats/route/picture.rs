//! What pictures of trees have in common.

use crate::Result;
use crate::memory::reserve;
use crate::route::{BLOCKED, Cell, Route, RoutingCase, RoutingGrid};

/// The colours of trees: by net where there are several, else by layer.
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

/// The colour of cells all of whose edges are blocked.
pub(super) const BLOCKED_CELL: [u8; 3] = [74, 80, 92];

/// The colour of pins that no path reaches.
pub(super) const UNREACHED: [u8; 3] = [255, 220, 0];

/// The number of the colour in [`COLOURS`] of what is on a layer of a net.
pub(super) fn colour(case: &RoutingCase, net: usize, layer: u32) -> usize {
    match case.nets.len() {
        0 | 1 => layer as usize % COLOURS.len(),
        _ => net % COLOURS.len(),
    }
}

/// A polyline on one layer: the corners of a path's part there.
pub(super) struct Wire {
    pub(super) layer: u32,
    pub(super) corners: Vec<Cell>,
}

/// The wires of a tree, and the cells that its vias join to the next layer.
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

/// What stepping on a cell costs, as a shade for each column and row: the mean weight of the edges there that are not blocked, of
/// all layers and without vias, from 0 for nothing to `most` for the largest mean; `most + 1` where all are blocked.
pub(super) fn shades(grid: &RoutingGrid, most: u8) -> Result<Vec<u8>> {
    let area = grid.width() as usize * grid.height() as usize;
    let mut means: Vec<f32> = Vec::new();
    reserve(&mut means, area, "the picture")?;
    means.extend((0..area).map(|at| mean(grid, at, area)));
    let largest = means.iter().copied().fold(0.0, f32::max);
    let shade = |mean: f32| match mean {
        // No edge, so no mean.
        mean if mean.is_nan() => most + 1,
        0.0 => 0,
        mean => (f32::from(most) * mean / largest).round() as u8,
    };
    let mut shades = Vec::new();
    reserve(&mut shades, area, "the picture")?;
    shades.extend(means.into_iter().map(shade));
    Ok(shades)
}

/// The mean weight of the edges at column and row number `at`; NaN if there is none.
fn mean(grid: &RoutingGrid, at: usize, area: usize) -> f32 {
    let width = grid.width() as usize;
    let (mut sum, mut count) = (0.0, 0.0);
    for layer in 0..grid.layers() as usize {
        let cell = layer * area + at;
        // The last cell of a row has no edge to the right, so the one before the first of the next has none either; so it is with
        // rows and layers.
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
