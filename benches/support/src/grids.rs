//! The grids and nets that the benches of routing run on: the same for the same size in every run.

use trazar::Result;
use trazar::route::{Cell, Net, RoutingGrid};
use trazar_test_seeds::Random;

/// The largest weight in the large cases of the report (see [`report`](crate::report)).
const WEIGHTS: u32 = 90;

/// A grid of `width` × `height` cells with weights from 1 to 90.
///
/// # Errors
/// There is no grid of this size.
pub fn grid(width: u32, height: u32) -> Result<RoutingGrid> {
    let mut right = Random::new(1);
    let mut down = Random::new(2);
    RoutingGrid::from_fn(
        width,
        height,
        |_, _| 1 + right.below(WEIGHTS),
        |_, _| 1 + down.below(WEIGHTS),
    )
}

/// A net of `pins` pins of one cell each.
pub fn net(grid: &RoutingGrid, pins: u32) -> Net {
    let mut random = Random::new(3);
    let mut pin = || Cell::at(random.below(grid.width()), random.below(grid.height()));
    Net::from_cells((0..pins).map(|_| pin()))
}

/// A net of the first and the last cell.
pub fn corners(grid: &RoutingGrid) -> Net {
    let last = Cell::at(grid.width() - 1, grid.height() - 1);
    Net::from_cells([Cell::at(0, 0), last])
}

/// A square grid with weights from 1 to `most`, and a net of `pins` pins of one cell each, as the
/// benches on the GPU have them.
///
/// # Errors
/// There is no grid of this size.
pub fn square(side: u32, most: u32, pins: u32) -> Result<(RoutingGrid, Net)> {
    let mut random = Random::new(1);
    let mut edges = |n: u32| -> Vec<u32> { (0..n).map(|_| 1 + random.below(most)).collect() };
    let (right, down) = (edges((side - 1) * side), edges(side * (side - 1)));
    let grid = RoutingGrid::from_edges(side, side, &right, &down)?;
    let mut random = Random::new(2);
    let pins = (0..pins).map(|_| grid.cell(random.below(side * side)));
    let net = Net::from_cells(pins);
    Ok((grid, net))
}
