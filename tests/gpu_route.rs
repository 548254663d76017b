//! Routes on the GPU equal routes on the CPU. Without a GPU each test says that it was skipped;
//! with `TRAZAR_REQUIRE_GPU=1` that is a failure.
//!
//! `TRAZAR_LARGE=1` adds grids of up to 4096 × 4096 cells.
#![cfg(not(target_os = "macos"))]

use trazar::cuda::{Device, Queue};
use trazar::gpu::Gpu;
use trazar::route::{
    BLOCKED, Cell, DeviceGrid, DeviceRouteAlgorithm, DeviceRouteOptions, DeviceRouter, Direction,
    Net, Pin, Route, RouteAlgorithm, RouteOptions, RoutingGrid, Window,
};
use trazar::{Engine, Error};
use trazar_test_support::grids::{Weights, net, random_grid};
use trazar_test_support::optional;
use trazar_test_support::route_oracle::dijkstra;
use trazar_test_support::routes::{mistake, on_device};
use trazar_test_support::seeds::Random;

/// A router on the GPU; `None`, with a line that says so, if there is none.
fn router(test: &str) -> Option<DeviceRouter<Queue>> {
    let opened = Device::open(0).map_err(Error::from);
    optional::on_gpu(test, opened.and_then(|device| DeviceRouter::new(&device)))
}

fn on_cpu(grid: &RoutingGrid, nets: &[Net]) -> Vec<Route> {
    let routes = Engine::cpu().route(grid, nets, &RouteOptions::default());
    routes.unwrap()
}

/// Routes by every algorithm on the GPU, and compares with the CPU.
fn check(router: &DeviceRouter<Queue>, name: &str, grid: &RoutingGrid, nets: &[Net]) {
    let expected = on_cpu(grid, nets);
    for &algorithm in on_device() {
        let found = Engine::on(router.gpu().clone()).route(
            grid,
            nets,
            &RouteOptions::default().algorithm(algorithm),
        );
        let mistake = mistake(found, &expected, algorithm);
        assert!(
            mistake.is_none(),
            "{name}, {algorithm:?}: {}",
            mistake.unwrap_or_default()
        );
    }
}

/// Routes by fields and in tiles on a grid in the GPU's memory, several times, and compares with
/// the CPU.
fn check_resident(router: &DeviceRouter<Queue>, name: &str, grid: &RoutingGrid, nets: &[Net]) {
    let expected = on_cpu(grid, nets);
    let on_device = DeviceGrid::upload(router.gpu(), grid).unwrap();
    for run in 0..3 {
        for (algorithm, found) in [
            (
                RouteAlgorithm::Fields,
                router.route(&on_device, nets, &DeviceRouteOptions::default()),
            ),
            (
                RouteAlgorithm::Tiles,
                router.route(
                    &on_device,
                    nets,
                    &DeviceRouteOptions::default().algorithm(DeviceRouteAlgorithm::Tiles),
                ),
            ),
        ] {
            let mistake = mistake(found, &expected, algorithm);
            assert!(
                mistake.is_none(),
                "{name}, {algorithm:?}, run {run}: {}",
                mistake.unwrap_or_default()
            );
        }
    }
}

/// Compares the distances of all cells in tiles with those of a plain search on the CPU.
fn check_distances(router: &DeviceRouter<Queue>, grid: &RoutingGrid, sources: &[Cell]) {
    let on_device = DeviceGrid::upload(router.gpu(), grid).unwrap();
    let found = router.distances(&on_device, sources).unwrap();
    let (found, expected) = (found.to_vec().unwrap(), dijkstra(grid, sources));
    let differs = found.iter().zip(&expected).position(|(a, b)| a != b);
    assert_eq!(found.len(), expected.len());
    assert!(
        differs.is_none(),
        "{:?}: {:?}, not {:?}",
        differs.map(|i| grid.cell(i as u32)),
        differs.map(|i| found[i]),
        differs.map(|i| expected[i])
    );
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

/// Few pins, and many; three layers; free edges; many shortest paths.
#[test]
fn routes_on_resident_grids() {
    let Some(router) = router("routes_on_resident_grids") else {
        return;
    };
    for (layers, weights, pins) in [
        (1, Weights::Small, 16),
        (1, Weights::Small, 300),
        (1, Weights::Even, 300),
        (1, Weights::Gaps, 1500),
        (1, Weights::Even, 4000),
        (1, Weights::Few, 40),
        (1, Weights::FreeOrBlocked, 40),
        (3, Weights::Gaps, 16),
        (3, Weights::Few, 16),
    ] {
        let grid = random_grid(1000, 700, layers, weights, 11);
        let name = format!("{layers} layers, {weights:?}, {pins} pins");
        check_resident(&router, &name, &grid, &[net(&grid, pins, 12)]);
    }
}

/// Fields alone, on a case that is small enough for a sanitizer to check every access: close pins,
/// ties, boxes that grow.
#[test]
fn routes_by_fields() {
    let Some(router) = router("routes_by_fields") else {
        return;
    };
    for (weights, pins) in [
        (Weights::Small, 60),
        (Weights::Even, 40),
        (Weights::Gaps, 90),
    ] {
        let grid = random_grid(150, 110, 1, weights, 21);
        let nets = [net(&grid, pins, 22), net(&grid, pins / 2, 23)];
        let expected = on_cpu(&grid, &nets);
        let on_device = DeviceGrid::upload(router.gpu(), &grid).unwrap();
        let found = router.route(&on_device, &nets, &DeviceRouteOptions::default());
        let used = found.iter().flatten().filter_map(|route| route.field_use());
        let by_fields: Vec<_> = used.map(|used| used.by_fields).collect();
        let mistake = mistake(found, &expected, RouteAlgorithm::Fields);
        assert_eq!(mistake, None, "{weights:?}, {pins} pins");
        // Not by tiles alone, if blocks can hold the boxes of pins with several cells.
        let holds = router.gpu().shared_per_block() >= 200 << 10;
        assert!(
            !holds || by_fields.iter().all(|&joined| joined > 0),
            "{by_fields:?}"
        );
    }
}

/// Fifty nets in windows of many sizes, in one launch.
#[test]
fn routes_many_nets_in_one_launch() {
    let Some(router) = router("routes_many_nets_in_one_launch") else {
        return;
    };
    for weights in [Weights::Gaps, Weights::Few] {
        let grid = random_grid(1000, 700, 2, weights, 13);
        let mut random = Random::new(14);
        let nets: Vec<_> = (0..50)
            .map(|_| {
                let (width, height) = (1 + random.below(200), 1 + random.below(200));
                let window = Window {
                    x: random.below(1000 - width),
                    y: random.below(700 - height),
                    width,
                    height,
                };
                let pins = random.below(9);
                let mut cell = || {
                    let (x, y) = (random.below(width), random.below(height));
                    Cell::at(window.x + x, window.y + y).on(random.below(2))
                };
                Net::from_cells((0..pins).map(|_| cell()).collect::<Vec<_>>()).within(window)
            })
            .collect();
        check_resident(&router, &format!("{weights:?}"), &grid, &nets);
    }
}

/// As [`routes_many_nets_in_one_launch`], but small enough for `compute-sanitizer --tool
/// racecheck`, which checks every access to shared memory, to end within minutes.
fn racecheck_many_nets(test: &str, layers: u32) {
    let Some(router) = router(test) else {
        return;
    };
    let (width, height) = (100, 70);
    let grid = random_grid(width, height, layers, Weights::Gaps, 31);
    let mut random = Random::new(32);
    let nets: Vec<_> = (0..24)
        .map(|_| {
            let window = Window {
                x: random.below(width - 30),
                y: random.below(height - 30),
                width: 30,
                height: 30,
            };
            let mut cell = || {
                let (x, y) = (random.below(30), random.below(30));
                Cell::at(window.x + x, window.y + y).on(random.below(layers))
            };
            Net::from_cells([cell(), cell(), cell()]).within(window)
        })
        .collect();
    let expected = on_cpu(&grid, &nets);
    let on_device = DeviceGrid::upload(router.gpu(), &grid).unwrap();
    let found = router.route(
        &on_device,
        &nets,
        &DeviceRouteOptions::default().algorithm(DeviceRouteAlgorithm::Tiles),
    );
    assert_eq!(mistake(found, &expected, RouteAlgorithm::Tiles), None);
}

#[test]
fn racecheck_many_nets_in_tiles() {
    racecheck_many_nets("racecheck_many_nets_in_tiles", 1);
}

#[test]
fn racecheck_many_nets_in_tiles_of_layers() {
    racecheck_many_nets("racecheck_many_nets_in_tiles_of_layers", 2);
}

/// Nets without pins, and no nets.
#[test]
fn routes_of_nothing() {
    let Some(router) = router("routes_of_nothing") else {
        return;
    };
    let grid = random_grid(100, 90, 1, Weights::Small, 1);
    let twice = Pin::new(vec![Cell::at(5, 5); 2]);
    let alone = Net::new([twice]);
    for nets in [vec![], vec![Net::default()], vec![Net::default(), alone]] {
        check_resident(&router, "nothing", &grid, &nets);
    }
}

#[test]
fn distances_in_tiles() {
    let Some(router) = router("distances_in_tiles") else {
        return;
    };
    for (layers, weights) in [(1, Weights::Gaps), (2, Weights::Few), (5, Weights::Small)] {
        let grid = random_grid(300, 200, layers, weights, 15);
        let mut random = Random::new(16);
        let sources = [0; 3].map(|_| grid.cell(random.below(grid.cell_count())));
        check_distances(&router, &grid, &sources);
    }
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
                layer.block(Cell::at(x, y)).unwrap();
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

/// A path back and forth through the whole grid that costs more than 2³².
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
    let grid = random_grid(4096, 4096, 1, Weights::Small, 9);
    check_distances(&router, &grid, &[Cell::at(0, 0)]);
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
