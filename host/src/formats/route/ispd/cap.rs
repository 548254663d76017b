//! Grids with capacities: `.cap`.

use std::path::Path;

use crate::Result;
use crate::formats::route::lines::{Line, Lines};
use crate::memory::push;
use crate::route::{
    BLOCKED, Direction, EdgeCounts, MAX_LAYERS, RoutingGrid, UNLIMITED, check_size,
};

/// The largest weight, for costs that are not all whole numbers up to it.
const MAX_WEIGHT: f64 = 65_536.0;
/// Name used in out-of-memory errors.
const LENGTHS: &str = "the lengths of edges";

pub(super) fn read(path: &Path) -> Result<(RoutingGrid, EdgeCounts)> {
    let mut lines = Lines::open(path)?;
    let (width, height, layers) = read_size(&mut lines)?;
    lines.allow_weights(width.max(height));
    let mut line = lines.expect("the costs of wires and vias")?;
    let wire_cost = line.decimal("cost of a unit of length")?;
    let via_cost = line.decimal("cost of a via")?;
    while !line.is_done() {
        line.decimal("cost of overflow in a layer")?;
    }
    let across = read_lengths(&mut lines, width - 1, "columns")?;
    let down = read_lengths(&mut lines, height - 1, "rows")?;
    let weights = Weights::new(wire_cost, via_cost, across.iter().chain(&down).copied());
    let mut grid = RoutingGrid::blocked(width, height, layers)?;
    let mut capacities = EdgeCounts::zero(&grid)?;
    let (w, h) = (width as usize, height as usize);
    for layer in 0..layers as usize {
        let direction = read_layer(&mut lines, layer)?;
        let [rights, downs, vias] = grid.weights_mut();
        let [right_counts, down_counts, via_counts] = capacities.counts_mut();
        for y in 0..h {
            let what = format_args!("line {y} (of {h}, from 0) of the capacities of layer {layer}");
            let mut line = lines.expect(what)?;
            let row = (layer * h + y) * w;
            for x in 0..w {
                let count = read_capacity(&mut line, x, w)?;
                let (weights_of, counts, weight) = match direction {
                    Direction::Horizontal => {
                        let weight = across.get(x).map(|&length| weights.of_wire(length));
                        (&mut *rights, &mut *right_counts, weight)
                    }
                    Direction::Vertical => {
                        let weight = down.get(y).map(|&length| weights.of_wire(length));
                        (&mut *downs, &mut *down_counts, weight)
                    }
                };
                if let Some(weight) = weight
                    && count > 0
                {
                    weights_of[row + x] = weight;
                    counts[row + x] = count;
                }
            }
            line.finish(format_args!("the {w} capacities of the line"))?;
            if layer + 1 < layers as usize {
                vias[row..][..w].fill(weights.of_via());
                via_counts[row..][..w].fill(UNLIMITED);
            }
        }
    }
    lines.finish()?;
    Ok((grid, capacities))
}

/// Reads the first line: width, height and layers.
fn read_size(lines: &mut Lines<'_>) -> Result<(u32, u32, u32)> {
    let mut line = lines.expect("the numbers of layers, columns and rows")?;
    let layers = line.number("number of layers", 1..=MAX_LAYERS)?;
    let width = line.number("number of columns", 1..=u32::MAX)?;
    let height = line.number("number of rows", 1..=u32::MAX)?;
    check_size(width.into(), height.into(), layers).map_err(|error| line.error(error))?;
    line.finish("layers, columns and rows")?;
    let cells = u128::from(width) * u128::from(height) * u128::from(layers);
    // A capacity takes at least a digit and a separator.
    let what = format_args!("capacities of {width} × {height} cells in {layers} layers");
    lines.check_holds(2 * cells, what)?;
    Ok((width, height, layers))
}

/// Reads a line of `count` lengths of edges between `between`.
fn read_lengths(lines: &mut Lines<'_>, count: u32, between: &str) -> Result<Vec<f64>> {
    let what = format_args!("the {count} lengths between {between}");
    let mut line = lines.expect(what)?;
    let mut lengths = Vec::new();
    for _ in 0..count {
        push(&mut lengths, line.decimal("length of an edge")?, LENGTHS)?;
    }
    line.finish(what)?;
    Ok(lengths)
}

/// Reads a layer's name, direction and shortest wire.
fn read_layer(lines: &mut Lines<'_>, layer: usize) -> Result<Direction> {
    let mut line = lines.expect(format_args!("the name of layer {layer}"))?;
    line.text("name of a layer")?;
    let direction = line.number("direction of a layer (0 along x, 1 along y)", 0..=1)?;
    line.decimal("shortest wire of a layer")?;
    line.finish("name, direction and shortest wire of a layer")?;
    Ok(match direction {
        0 => Direction::Horizontal,
        _ => Direction::Vertical,
    })
}

/// Takes a capacity, the one with index `x` of `width`, without its fraction.
fn read_capacity(line: &mut Line<'_>, x: usize, width: usize) -> Result<u32> {
    if line.is_done() {
        return Err(line.error(format_args!(
            "the line has {x} capacities: it needs {width}"
        )));
    }
    // `UNLIMITED` is no number of tracks.
    Ok((line.decimal("capacity")? as u32).min(UNLIMITED - 1))
}

/// Whole weights in proportion to costs.
struct Weights {
    wire_cost: f64,
    via_cost: f64,
    factor: f64,
}

impl Weights {
    fn new(wire_cost: f64, via_cost: f64, lengths: impl Iterator<Item = f64>) -> Self {
        let (mut largest, mut are_whole) = (via_cost, via_cost.fract() == 0.0);
        for length in lengths {
            let cost = wire_cost * length;
            largest = largest.max(cost);
            are_whole &= cost.fract() == 0.0;
        }
        let fits = are_whole && largest <= MAX_WEIGHT;
        let factor = match fits || largest == 0.0 {
            true => 1.0,
            false => MAX_WEIGHT / largest,
        };
        Self {
            wire_cost,
            via_cost,
            factor,
        }
    }

    fn of_wire(&self, length: f64) -> u32 {
        self.of(self.wire_cost * length)
    }

    fn of_via(&self) -> u32 {
        self.of(self.via_cost)
    }

    fn of(&self, cost: f64) -> u32 {
        // A cost that is not finite is that of a length that is too large; so is its weight.
        ((cost * self.factor).round().max(1.0) as u32).min(BLOCKED - 1)
    }
}
