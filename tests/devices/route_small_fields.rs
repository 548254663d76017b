//! Routing by small fields: nets whose pins are a few cells apart. Larger fields join the pins that
//! small fields do not reach.

use proptest::prelude::*;
use trazar::gpu::Gpu;
use trazar::hooks;
use trazar::route::{BLOCKED, Cell, DeviceRouter, Net, Pin, RoutingGrid, Window};
use trazar_test_support::emulators::seed;
use trazar_test_support::grids::{Weights, random_grid};
use trazar_test_support::seeds::Random;

use super::route_fields::{check_nets_by, turned_grid, weights};
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
    // The longest side of a grid, and the most pins of a net. (On the emulator, other tests have
    // pins as far away as a far field reaches.)
    let most = PerDevice {
        emulator: (40u32, 28),
        gpu: (70, 2000),
    };
    let (most_side, most_pins) = most.on::<D>();
    let case = (
        1..=most_side,
        1..=most_side,
        weights(),
        1..=3u32,
        any::<u64>(),
        device.any(),
    );
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
                    dense_net(&grid, spread, most_pins, &mut random)
                })
                .collect();
            let router = hooks::with_dense_pins(DeviceRouter::on(gpu), 2);
            check_nets_by(&router, &grid, &nets).map(|_| ())
        },
    );
}

/// Routes nets of any number of pins by small fields, if they are dense, and compares with the CPU.
#[track_caller]
fn assert_nets<D: Device>(device: &D, what: &str, grid: &RoutingGrid, nets: &[Net]) {
    assert_nets_by(&small_field_router(device), what, grid, nets);
}

/// A router that tries small fields for nets of any number of pins.
fn small_field_router<D: Device>(device: &D) -> DeviceRouter<D::Gpu> {
    hooks::with_dense_pins(DeviceRouter::on(device.gpu(seed())), 2)
}

/// Routes nets by a given router, and compares with the CPU.
#[track_caller]
fn assert_nets_by<G: Gpu>(router: &DeviceRouter<G>, what: &str, grid: &RoutingGrid, nets: &[Net]) {
    if let Err(error) = check_nets_by(router, grid, nets) {
        panic!("seed {}, {what}: {error:?}", seed());
    }
}

/// A pin on the tree, then one that is some steps from it, and others as far by one edge.
fn net_of_equally_far(tree: Cell, pin: Cell, other: Cell, others: usize) -> Net {
    let pins = [tree, tree, pin];
    Net::from_cells(pins.into_iter().chain([other].repeat(others)))
}

/// The tree is at the end of a pin's square, or beyond, on any side. Other pins are as far from it,
/// but come later.
pub(crate) fn routes_to_what_squares_do_not_reach<D: Device>(device: &D) {
    // With few others, squares are larger. Far fields reach 64 cells.
    let near = [(11, 18), (12, 18), (13, 18), (15, 3), (16, 3), (17, 3)];
    let far = [(31, 3), (63, 3), (64, 3), (65, 3)];
    for (steps, others) in near.into_iter().chain(far) {
        for turns in 0..4 {
            let (grid, at) = turned_grid(turns, (steps + 4, 3), (2, 0), steps);
            let cell = |x, y| {
                let (x, y) = at(x, y);
                Cell::at(x, y)
            };
            let [tree, pin, other] = [cell(2, 1), cell(2 + steps, 1), cell(2, 0)];
            let net = net_of_equally_far(tree, pin, other, others);
            let what = format!("{steps} steps, {turns} turns");
            assert_nets(device, &what, &grid, &[net]);
        }
    }
    // A line leads out of a square by a single cell.
    for (steps, turns) in (11..=14).flat_map(|steps| (0..4).map(move |turns| (steps, turns))) {
        let (grid, at) = turned_grid(turns, (steps + 2, 1), (0, 0), steps);
        let [other, tree, pin] = [0, 1, 1 + steps].map(|x| {
            let (x, y) = at(x, 0);
            Cell::at(x, y)
        });
        let net = net_of_equally_far(tree, pin, other, 18);
        let what = format!("a line of {steps} steps, {turns} turns");
        assert_nets(device, &what, &grid, &[net]);
    }
    // Two cells of the tree are as far from a pin as its far field reaches.
    let grid = RoutingGrid::uniform(73, 2, 1).unwrap();
    let pins = [(6, 1), (7, 0), (70, 1)].map(|(x, y)| Cell::at(x, y));
    let net = Net::from_cells(pins.into_iter().chain([pins[0]; 4]));
    assert_nets(device, "two ends", &grid, &[net]);
}

/// Nets of several sizes by the same router, which keeps memory for their lists.
pub(crate) fn routes_of_dense_nets_by_one_router<D: Device>(device: &D) {
    let router = small_field_router(device);
    let mut random = Random::new(seed());
    for side in [20, 5, 30, 1, 24] {
        let grid_seed = u64::from(random.below(u32::MAX));
        let grid = random_grid(side, side, 1, Weights::Small, grid_seed);
        let cells = (0..side * side / 9 + 2).map(|_| {
            let (x, y) = (random.below(side), random.below(side));
            Cell::at(x, y)
        });
        let net = Net::from_cells(cells);
        assert_nets_by(&router, &format!("side {side}"), &grid, &[net]);
    }
}

/// A way that winds through rows of eight cells, some with more steps than a key has room for. The
/// other pins are beside its start.
pub(crate) fn routes_along_winding_ways<D: Device>(device: &D) {
    let (width, height) = (9, 6);
    for steps in [8, 22, 23, 24, 25, 31, 46] {
        let right = |x, y| match (x, y) {
            (0, 0) => steps,
            (0, _) => BLOCKED,
            _ => 1,
        };
        // Even rows lead to the right, the others back.
        let down = |x, y| match (x, y % 2) {
            (8, 0) | (1, 1) => 1,
            _ => BLOCKED,
        };
        let grid = RoutingGrid::from_fn(width, height, right, down).unwrap();
        let (row, column) = (steps / 8, steps % 8);
        let x = if row % 2 == 0 { 1 + column } else { 8 - column };
        let net = net_of_equally_far(Cell::at(1, 0), Cell::at(x, row), Cell::at(0, 0), 20);
        assert_nets(device, &format!("{steps} steps"), &grid, &[net]);
    }
}

/// Costs around the largest that a key has room for.
pub(crate) fn routes_by_dear_edges<D: Device>(device: &D) {
    let mut random = Random::new(seed());
    for limit in [1, 2, 3, 4, 5, 9] {
        let most = (1 << 17) / limit + 1;
        let weight = |random: &mut Random| most - random.below(4);
        let (width, height) = (12, 9);
        let edges = (width * height) as usize;
        let mut draw = |count| (0..count).map(|_| weight(&mut random)).collect::<Vec<_>>();
        let right = draw(edges - height as usize);
        let down = draw(edges - width as usize);
        let grid = RoutingGrid::from_edges(width, height, &right, &down).unwrap();
        let mut cell = || Cell::at(random.below(width), random.below(height));
        let net = Net::from_cells((0..20).map(|_| cell()).collect::<Vec<_>>());
        assert_nets(device, &format!("a {limit}th"), &grid, &[net]);
    }
}

/// A net with many pins near each cell, and one with enough pins for several levels of ranks. No
/// path leads to most pins of the second net.
pub(crate) fn routes_of_many_dense_pins<D: Device>(device: &D) {
    let mut grid = random_grid(16, 16, 1, Weights::Small, seed());
    let mut random = Random::new(seed());
    let nowhere = Cell::at(15, 15);
    grid.block(nowhere).unwrap();
    let mut net = |count, far| {
        let cells = (0..count).map(|_| Cell::at(random.below(15), random.below(15)));
        let cells: Vec<_> = cells.collect();
        let (tree, others) = cells.split_first().expect("pins");
        let far = std::iter::repeat_n(nowhere, far);
        Net::from_cells(
            std::iter::once(*tree)
                .chain(far)
                .chain(others.iter().copied()),
        )
    };
    let nets = [net(150, 0), net(80, 1000)];
    assert_nets(device, "many pins", &grid, &nets);
}

/// A pin with a cell beside the tree, which is not its first one.
pub(crate) fn routes_of_dense_pins_with_several_cells<D: Device>(device: &D) {
    let grid = RoutingGrid::uniform(12, 12, 1).unwrap();
    let mut net = Net::from_cells((0..20).map(|i| Cell::at(5 + i % 7, 3 + i / 7)));
    net.pins[0].cells[0] = Cell::at(0, 0);
    net.pins[9].cells.push(Cell::at(0, 1));
    assert_nets(device, "several cells", &grid, &[net]);
}

/// Groups of pins at both ends of a strip, so far apart that no square reaches from one to the
/// other, and some farther than a far field does.
pub(crate) fn routes_between_groups<D: Device>(device: &D) {
    let mut random = Random::new(seed());
    for gap in [9, 14, 22, 40, 63, 64, 65, 66, 90] {
        let (width, height) = (gap + 12, 5);
        let weights = [Weights::Small, Weights::Even][random.below(2) as usize];
        let grid = random_grid(width, height, 1, weights, u64::from(random.below(u32::MAX)));
        let mut group = |from: u32| -> Vec<Cell> {
            let cells = (0..12).map(|_| Cell::at(from + random.below(6), random.below(height)));
            cells.collect()
        };
        let (left, right) = (group(0), group(gap + 6));
        // The tree begins in a group, or alone in the middle.
        let middle = [Cell::at(3 + gap / 2, 2)];
        let nets = [
            Net::from_cells(left.iter().chain(&right).copied()),
            Net::from_cells(middle.iter().chain(&right).chain(&left).copied()),
        ];
        assert_nets(device, &format!("a gap of {gap}"), &grid, &nets);
    }
}

/// A line of cells, whose end is too far from the tree at first. Once the pin behind its first edge
/// is joined, the end is 19 cells from the tree, and so nearer than a pin that is joined at five
/// more than that edge costs. But no square reaches that far. Where the edge costs 40, the far
/// field has grown twice by then.
pub(crate) fn routes_to_pins_that_the_tree_comes_near<D: Device>(device: &D) {
    for first in [20, 40] {
        let right = |x, y| match (x, y) {
            (0, 1) => first,
            (_, 1) => 1,
            _ => BLOCKED,
        };
        let down = |x, y| match (x, y) {
            (0, 0) => first + 5,
            _ => BLOCKED,
        };
        let grid = RoutingGrid::from_fn(24, 3, right, down).unwrap();
        let net = Net::from_cells([(0, 1), (20, 1), (1, 1), (0, 0)].map(|(x, y)| Cell::at(x, y)));
        assert_nets(device, &format!("a line after {first}"), &grid, &[net]);
    }
}
