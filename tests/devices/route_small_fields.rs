//! Routing by small fields: nets whose pins are a few cells apart. Larger fields join the pins that
//! small fields do not reach.

use proptest::prelude::*;
use trazar::hooks;
use trazar::route::{Cell, DeviceRouter, Net, Pin, RoutingGrid, Window};
use trazar_test_support::grids::random_grid;
use trazar_test_support::seeds::Random;

use super::route_fields::{check_nets_by, weights};
use super::{Device, PerDevice, check};

/// A net of pins of one cell in a part of the grid, with an area of about `spread` cells for each.
/// The first pin may have several cells.
fn dense_net(grid: &RoutingGrid, spread: u32, most: u32, random: &mut Random) -> Net {
    let mut span = |len: u32| {
        let first = random.below(len);
        (first, 1 + random.below(len - first))
    };
    let (mut x, mut width) = span(grid.width());
    let (mut y, mut height) = span(grid.height());
    if random.below(2) == 0 {
        (x, width, y, height) = (0, grid.width(), 0, grid.height());
    }
    let window = Window {
        x,
        y,
        width,
        height,
    };
    let pins = (width * height / spread).clamp(2, most);
    let mut cell = || Cell::at(x + random.below(width), y + random.below(height));
    let mut pins: Vec<_> = (0..pins).map(|_| Pin::from(cell())).collect();
    pins[0] = Pin::new((0..1 + pins.len() % 3).map(|_| cell()));
    Net::new(pins).within(window)
}

/// Up to three nets at once, of pins that are so close that most of them are joined by small
/// fields, or so far apart that few are.
pub(crate) fn routes_of_dense_pins<D: Device>(device: &D) {
    let case = (
        1..=70u32,
        1..=70u32,
        weights(),
        1..=3u32,
        any::<u64>(),
        device.any(),
    );
    let most_pins = PerDevice {
        emulator: 60,
        gpu: 2000,
    };
    let most = most_pins.on::<D>();
    check::<D, _>(
        "dense pins",
        40,
        &case,
        |(width, height, weights, nets, seed, gpu)| {
            let grid = random_grid(width, height, 1, weights, seed);
            let mut random = Random::new(seed);
            let nets: Vec<_> = (0..nets)
                .map(|_| {
                    let spread = [1, 2, 5, 9, 20, 27, 40][random.below(7) as usize];
                    dense_net(&grid, spread, most, &mut random)
                })
                .collect();
            let router = hooks::with_dense_pins(DeviceRouter::on(gpu), 2);
            check_nets_by(&router, &grid, &nets).map(|_| ())
        },
    );
}
