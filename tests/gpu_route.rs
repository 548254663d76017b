//! Routes on the GPU equal routes on the CPU. Without a GPU each test says that it was skipped; with `TRAZAR_REQUIRE_GPU=1` that
//! is a failure.
//!
//! `TRAZAR_LARGE=1` adds grids of up to 4096 × 4096 cells.
#![cfg(target_os = "linux")]

#[allow(dead_code, reason = "the masks are for other tests")]
mod optional;
mod routes;

use routes::{Weights, difference, net, on_device, random_grid};
use trazar::cuda::{Device, Queue};
use trazar::route::{
    BLOCKED, Cell, DeviceRouter, Direction, Net, RouteOptions, RoutingGrid, Window,
};
use trazar::{Engine, Error};

/// A router on the GPU, or none, which is said.
fn router(test: &str) -> Option<DeviceRouter<Queue>> {
    let opened = Device::open(0).map_err(Error::from);
    optional::on_gpu(test, opened.and_then(|device| DeviceRouter::new(&device)))
}

/// Routes on both and compares, by every algorithm.
fn check(router: &DeviceRouter<Queue>, name: &str, grid: &RoutingGrid, nets: &[Net]) {
    let expected = Engine::cpu().route(grid, nets, &RouteOptions::default());
    let expected = expected.unwrap();
    for &algorithm in on_device() {
        let found = router.route_from_host(grid, nets, algorithm).unwrap();
        let difference = difference(&found, &expected);
        assert!(
            difference.is_none(),
            "{name}, {algorithm:?}: {}",
            difference.unwrap_or_default()
        );
    }
}

#[test]
fn routes_on_random_grids() {
    let Some(router) = router("routes_on_random_grids") else {
        return;
    };
    let sizes = [
        (1, 1, 1),
        (1, 70, 2),
        (300, 1, 1),
        (31, 65, 3),
        (257, 255, 2),
        (513, 300, 1),
        (20, 20, 16),
    ];
    for (seed, (width, height, layers)) in (1..).zip(sizes) {
        for weights in Weights::ALL {
            let grid = random_grid(width, height, layers, weights, seed);
            let nets = [0, 1, 2, 7, 30].map(|pins| net(&grid, pins, seed + pins as u64));
            let name = format!("{width} x {height} x {layers}, {weights:?}, seed {seed}");
            check(&router, &name, &grid, &nets);
        }
    }
}

#[test]
fn routes_on_a_larger_grid() {
    let Some(router) = router("routes_on_a_larger_grid") else {
        return;
    };
    let grid = random_grid(1000, 700, 1, Weights::Small, 3);
    let whole = net(&grid, 16, 5);
    let window = Window {
        x: 100,
        y: 50,
        width: 333,
        height: 444,
    };
    let cells = [(100, 50), (432, 493), (250, 300)];
    let part = Net::from_cells(cells.map(|(x, y)| Cell::at(x, y))).within(window);
    check(&router, "1000 x 700", &grid, &[whole, part]);
}

/// Two layers with preferred directions, with obstacles.
#[test]
fn routes_on_layers_with_directions() {
    let Some(router) = router("routes_on_layers_with_directions") else {
        return;
    };
    let (width, height) = (500, 400);
    let layer = |direction, seed| {
        let mut layer = random_grid(width, height, 1, Weights::Small, seed);
        for y in (10..390).step_by(20) {
            for x in y / 3..y {
                layer.block(Cell::at(x, y));
            }
        }
        layer.with_direction(direction)
    };
    let layers = [
        layer(Direction::Horizontal, 1),
        layer(Direction::Vertical, 2),
    ];
    let vias = vec![300; (width * height) as usize];
    let grid = RoutingGrid::stack(&layers, &vias).unwrap();
    check(&router, "two layers", &grid, &[net(&grid, 40, 9)]);
}

/// A path back and forth through the whole grid, whose cost passes 2³².
#[test]
fn routes_through_a_maze_of_heavy_edges() {
    let Some(router) = router("routes_through_a_maze_of_heavy_edges") else {
        return;
    };
    let heavy = BLOCKED - 1;
    let gap = |y: u32| if y.is_multiple_of(2) { 199 } else { 0 };
    let down = |x, y| if x == gap(y) { heavy } else { BLOCKED };
    let grid = RoutingGrid::from_fn(200, 150, |_, _| heavy, down).unwrap();
    let net = Net::from_cells([Cell::at(0, 0), Cell::at(0, 149), Cell::at(100, 77)]);
    check(&router, "maze", &grid, &[net]);
}

#[test]
fn large_grids() {
    if !optional::large("large_grids") {
        return;
    }
    let Some(router) = router("large_grids") else {
        return;
    };
    for (side, pins) in [(1024, 700), (2048, 64), (4096, 16)] {
        let grid = random_grid(side, side, 1, Weights::Small, 7);
        let net = net(&grid, pins, 8);
        check(
            &router,
            &format!("{side} x {side}, {pins} pins"),
            &grid,
            &[net],
        );
    }
}
