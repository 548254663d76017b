//! The grids and nets that the benches of routing run on: the same for the same size in every run.

use trazar::Result;
use trazar::route::{Cell, Net, RoutingGrid};

/// Weights of the report's large cases.
const WEIGHTS: u32 = 90;

/// A grid of `width` × `height` cells with weights from 1 to 90.
pub(crate) fn grid(width: u32, height: u32) -> Result<RoutingGrid> {
    let mut right = Random(1);
    let mut down = Random(2);
    RoutingGrid::from_fn(
        width,
        height,
        |_, _| 1 + right.below(WEIGHTS),
        |_, _| 1 + down.below(WEIGHTS),
    )
}

/// A net of that many pins of one cell each.
pub(crate) fn net(grid: &RoutingGrid, pins: u32) -> Net {
    let mut random = Random(3);
    let mut pin = || Cell::at(random.below(grid.width()), random.below(grid.height()));
    Net::from_cells((0..pins).map(|_| pin()))
}

/// A net of the first and the last cell.
pub(crate) fn corners(grid: &RoutingGrid) -> Net {
    let last = Cell::at(grid.width() - 1, grid.height() - 1);
    Net::from_cells([Cell::at(0, 0), last])
}

/// SplitMix64.
struct Random(u64);

impl Random {
    /// A number from 0 to `end - 1`.
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        ((u128::from(bits) * u128::from(end)) >> 64) as u32
    }
}
