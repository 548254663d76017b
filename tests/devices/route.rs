//! Routes, by every algorithm, path by path and cell by cell.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;
use trazar::error::Unavailable;
use trazar::gpu::Gpu;
use trazar::route::{
    BLOCKED, Cell, DeviceGrid, DeviceRouteAlgorithm, DeviceRouteOptions, DeviceRouter, Direction,
    Net, Pin, Route, RouteAlgorithm, RouteOptions, RoutingGrid, TreeKind, Window,
};
use trazar::{Engine, Error};
use trazar_test_support::emulators::seed;
use trazar_test_support::grids::{Weights, net, random_grid};
use trazar_test_support::kernels::SWEEP_CHUNK as CHUNK;
use trazar_test_support::routes::{mistake, on_device};

use super::{Device, PerDevice, check};

/// The CPU's routes.
pub(crate) fn on_cpu(grid: &RoutingGrid, nets: &[Net]) -> Vec<Route> {
    let routes = Engine::cpu().route(grid, nets, &RouteOptions::default());
    routes.unwrap()
}

/// Routes both ways and compares. Returns the CPU's routes.
fn check_routes<G: Gpu + Send + Sync + 'static>(
    gpu: &G,
    grid: &RoutingGrid,
    nets: &[Net],
    algorithm: RouteAlgorithm,
) -> Result<Vec<Route>, TestCaseError> {
    let expected = on_cpu(grid, nets);
    let options = RouteOptions::default().algorithm(algorithm);
    let found = Engine::on(gpu.clone()).route(grid, nets, &options);
    let mistake = mistake(found, &expected, algorithm);
    prop_assert_eq!(mistake, None, "not the CPU's routes");
    Ok(expected)
}

/// [`check_routes`] by every algorithm.
pub(crate) fn assert_routes<G: Gpu + Send + Sync + 'static>(
    gpu: &G,
    name: &str,
    grid: &RoutingGrid,
    nets: &[Net],
) {
    for &algorithm in on_device() {
        let same = check_routes(gpu, grid, nets, algorithm);
        assert!(same.is_ok(), "{name}, {algorithm:?}: {same:?}");
    }
}

/// Routes by fields and in tiles on a grid in the device's memory, several times on a GPU, and
/// compares with the CPU.
pub(crate) fn assert_resident<D: Device>(device: &D, name: &str, grid: &RoutingGrid, nets: &[Net]) {
    let expected = on_cpu(grid, nets);
    let router = DeviceRouter::on(device.gpu(seed()));
    let on_device = DeviceGrid::upload(router.gpu(), grid).unwrap();
    let runs = PerDevice {
        emulator: 1,
        gpu: 3,
    };
    for run in 0..runs.on::<D>() {
        for (algorithm, by) in [
            (RouteAlgorithm::Fields, DeviceRouteAlgorithm::Fields),
            (RouteAlgorithm::Tiles, DeviceRouteAlgorithm::Tiles),
        ] {
            let options = DeviceRouteOptions::default().algorithm(by);
            let found = router.route(&on_device, nets, &options);
            let mistake = mistake(found, &expected, algorithm);
            assert!(
                mistake.is_none(),
                "not the CPU's routes: {name}, {algorithm:?}, run {run}: {}",
                mistake.unwrap_or_default()
            );
        }
    }
}

fn algorithm() -> impl Strategy<Value = RouteAlgorithm> {
    select(on_device())
}

fn weights() -> impl Strategy<Value = Weights> {
    select(&Weights::ALL[..])
}

/// A grid of all kinds of weights, and a net on it.
fn grid_and_net(
    width: impl Strategy<Value = u32>,
    height: impl Strategy<Value = u32>,
    layers: u32,
    pins: usize,
) -> impl Strategy<Value = (RoutingGrid, Net)> {
    (width, height, 1..=layers, weights(), 0..=pins, any::<u64>()).prop_map(
        |(width, height, layers, weights, pins, seed)| {
            let grid = random_grid(width, height, layers, weights, seed);
            let net = net(&grid, pins, seed);
            (grid, net)
        },
    )
}

pub(crate) fn routes_on_small_grids<D: Device>(device: &D) {
    check::<D, _>(
        "routes on small grids",
        25,
        &(
            grid_and_net(1..=9u32, 1..=9u32, 3, 6),
            device.any(),
            algorithm(),
        ),
        |((grid, net), gpu, algorithm)| {
            check_routes(&gpu, &grid, &[net], algorithm)?;
            Ok(())
        },
    );
}

pub(crate) fn routes_on_random_grids<D: Device>(device: &D) {
    let (sizes, pins) = PerDevice {
        emulator: (&[(1, 1, 1), (4, 3, 2)][..], &[0, 2][..]),
        gpu: (
            &[
                (1, 1, 1),
                (1, 70, 2),
                (300, 1, 1),
                (31, 65, 3),
                (257, 255, 2),
                (513, 300, 1),
                (20, 20, 16),
            ],
            &[0, 1, 2, 7, 30],
        ),
    }
    .on::<D>();
    let gpu = device.gpu(seed());
    for (seed, &(width, height, layers)) in (1..).zip(sizes) {
        for weights in Weights::ALL {
            let grid = random_grid(width, height, layers, weights, seed);
            let nets: Vec<_> = pins
                .iter()
                .map(|&pins| net(&grid, pins, seed + pins as u64))
                .collect();
            let name = format!("{width} x {height} x {layers}, {weights:?}, seed {seed}");
            assert_routes(&gpu, &name, &grid, &nets);
        }
    }
}

/// Few pins, and many; three layers; free edges; many shortest paths.
pub(crate) fn routes_on_resident_grids<D: Device>(device: &D) {
    let ((width, height), cases) = PerDevice {
        emulator: (
            (30, 20),
            &[(1, Weights::Small, 6), (3, Weights::Few, 3)][..],
        ),
        gpu: (
            (1000, 700),
            &[
                (1, Weights::Small, 16),
                (1, Weights::Small, 300),
                (1, Weights::Even, 300),
                (1, Weights::Gaps, 1500),
                (1, Weights::Even, 4000),
                (1, Weights::Few, 40),
                (1, Weights::FreeOrBlocked, 40),
                (3, Weights::Gaps, 16),
                (3, Weights::Few, 16),
            ],
        ),
    }
    .on::<D>();
    for &(layers, weights, pins) in cases {
        let grid = random_grid(width, height, layers, weights, 11);
        let name = format!("{layers} layers, {weights:?}, {pins} pins");
        assert_resident(device, &name, &grid, &[net(&grid, pins, 12)]);
    }
}

/// A net in a window, beside one on the whole grid.
pub(crate) fn routes_within_a_window<D: Device>(device: &D) {
    let ((width, height), pins, window, middle) = PerDevice {
        emulator: ((12, 9), 2, [3, 2, 6, 5], (6, 5)),
        gpu: ((1000, 700), 16, [100, 50, 333, 444], (250, 300)),
    }
    .on::<D>();
    let grid = random_grid(width, height, 1, Weights::Small, 3);
    let whole = net(&grid, pins, 5);
    let window = Window {
        x: window[0],
        y: window[1],
        width: window[2],
        height: window[3],
    };
    let end = (window.x + window.width - 1, window.y + window.height - 1);
    let cells = [(window.x, window.y), end, middle];
    let part = Net::from_cells(cells.map(|(x, y)| Cell::at(x, y))).within(window);
    let gpu = device.gpu(seed());
    assert_routes(&gpu, "a window", &grid, &[whole, part]);
}

/// Two layers with preferred directions, with obstacles.
pub(crate) fn routes_on_layers_with_directions<D: Device>(device: &D) {
    let ((width, height), step, pins) = PerDevice {
        emulator: ((12, 10), 4, 2),
        gpu: ((500, 400), 20, 40),
    }
    .on::<D>();
    let layer = |direction, seed| {
        let mut layer = random_grid(width, height, 1, Weights::Small, seed);
        for y in (step / 2..height - step / 2).step_by(step as usize) {
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
    let gpu = device.gpu(seed());
    assert_routes(&gpu, "two layers", &grid, &[net(&grid, pins, 9)]);
}

/// Nets without pins, and no nets.
pub(crate) fn routes_of_nothing<D: Device>(device: &D) {
    let grid = random_grid(100, 90, 1, Weights::Small, 1);
    let twice = Pin::new(vec![Cell::at(5, 5); 2]);
    let alone = Net::new([twice]);
    for nets in [vec![], vec![Net::default()], vec![Net::default(), alone]] {
        assert_resident(device, "nothing", &grid, &nets);
    }
}

/// Lines that are about as long as a warp, two warps and a chunk.
pub(crate) fn routes_along_long_lines<D: Device>(device: &D) {
    let sides = || select(vec![31, 32, 33, 63, 64, 65, 255, 256, 257, 520]);
    let wide = grid_and_net(sides(), 1..=2u32, 2, 3);
    let high = grid_and_net(1..=2u32, sides(), 2, 3);
    check::<D, _>(
        "routes along long lines",
        8,
        &(prop_oneof![wide, high], device.any(), algorithm()),
        |((grid, net), gpu, algorithm)| {
            check_routes(&gpu, &grid, &[net], algorithm)?;
            Ok(())
        },
    );
}

/// The algorithms that sweep along lines, chunk by chunk.
fn sweeps() -> impl Iterator<Item = RouteAlgorithm> {
    let others = [RouteAlgorithm::Fields, RouteAlgorithm::Tiles];
    let all = on_device().iter().copied();
    all.filter(move |algorithm| !others.contains(algorithm))
}

/// Distances that are carried from chunk to chunk, also with blocked edges in all of them.
pub(crate) fn routes_from_chunk_to_chunk<D: Device>(device: &D) {
    for algorithm in sweeps() {
        for (width, height, weights) in [(270, 1, Weights::Small), (2, 270, Weights::Gaps)] {
            let grid = random_grid(width, height, 1, weights, seed());
            let ends = [(0, 0), (width - 1, height - 1)];
            let mut net = net(&grid, 2, seed());
            net.pins
                .extend(ends.map(|(x, y)| Pin::from(Cell::at(x, y))));
            let same = check_routes(&device.gpu(seed()), &grid, &[net], algorithm);
            assert!(same.is_ok(), "{algorithm:?}, {width} x {height}: {same:?}");
        }
    }
}

/// The tree begins at the first cell of a line's second chunk, seen from either end. This cell has
/// its own distance, and also gets the one that the previous chunk carries over.
pub(crate) fn routes_from_the_start_of_a_second_chunk<D: Device>(device: &D) {
    let length = CHUNK + 2;
    for algorithm in sweeps() {
        for (width, height) in [(length, 1), (1, length)] {
            let grid = random_grid(width, height, 1, Weights::Small, seed());
            let at = |way: u32| match width {
                1 => Cell::at(0, way),
                _ => Cell::at(way, 0),
            };
            let forwards = [CHUNK, CHUNK + 1];
            let nets = [forwards, forwards.map(|way| length - 1 - way)];
            let nets = nets.map(|ways| Net::from_cells(ways.map(at)));
            let same = check_routes(&device.gpu(seed()), &grid, &nets, algorithm);
            assert!(same.is_ok(), "{algorithm:?}, {width} x {height}: {same:?}");
        }
    }
}

/// More than one group of lines in both directions, and paths through several patches.
pub(crate) fn routes_across_groups_of_lines<D: Device>(device: &D) {
    for (order, &algorithm) in (seed()..).zip(on_device()) {
        for (width, height, weights) in [(35, 20, Weights::Small), (9, 36, Weights::Large)] {
            let grid = random_grid(width, height, 1, weights, order);
            let corners = [(0, 0), (width - 1, height - 1), (width - 1, 0)];
            let net = Net::from_cells(corners.map(|(x, y)| Cell::at(x, y)));
            let same = check_routes(&device.gpu(order), &grid, &[net], algorithm);
            assert!(same.is_ok(), "{algorithm:?}, order {order}: {same:?}");
        }
    }
}

/// All edges have weight 0: all distances are 0, and only the number of steps decides.
pub(crate) fn routes_over_free_edges_alone<D: Device>(device: &D) {
    let grid = RoutingGrid::uniform(36, 18, 0).unwrap();
    let cells = [(2, 17), (35, 3), (0, 0)];
    let net = Net::from_cells(cells.map(|(x, y)| Cell::at(x, y)));
    for &algorithm in on_device() {
        let same = check_routes(
            &device.gpu(seed()),
            &grid,
            std::slice::from_ref(&net),
            algorithm,
        );
        assert!(same.is_ok(), "{algorithm:?}: {same:?}");
    }
}

/// A path that goes back and forth through the whole grid: its distances exceed 2³² (and the limit
/// of tiles), and it takes many sweeps.
pub(crate) fn routes_through_a_maze_of_heavy_edges<D: Device>(device: &D) {
    let (width, height) = PerDevice {
        emulator: (11, 12),
        gpu: (200, 150),
    }
    .on::<D>();
    let heavy = BLOCKED - 1;
    let gap = |y: u32| if y.is_multiple_of(2) { width - 1 } else { 0 };
    let down = |x, y| if x == gap(y) { heavy } else { BLOCKED };
    let grid = RoutingGrid::from_fn(width, height, |_, _| heavy, down).unwrap();
    let ends = [(0, 0), (0, height - 1)];
    let half_way = (width / 2, height / 2 + 2);
    let cells = ends.into_iter().chain([half_way]);
    for pins in [2, 3] {
        let cells = cells.clone().take(pins);
        let net = Net::from_cells(cells.map(|(x, y)| Cell::at(x, y)));
        let gpu = device.gpu(seed());
        assert_routes(&gpu, &format!("maze, {pins} pins"), &grid, &[net]);
    }
}

/// Several nets: on the whole grid, in windows, without pins; pins that cannot be reached, that
/// share cells, that are joined at several cells.
pub(crate) fn routes_of_several_nets<D: Device>(device: &D) {
    let mut grid = random_grid(14, 9, 2, Weights::Small, seed());
    for y in 0..9 {
        for layer in 0..2 {
            grid.block(Cell::at(10, y).on(layer)).unwrap();
        }
    }
    let window = Window {
        x: 3,
        y: 2,
        width: 5,
        height: 6,
    };
    let all_of_row = Pin::new((0..10).map(|x| Cell::at(x, 4)));
    let nets = [
        Net::default(),
        Net::from_cells([Cell::at(1, 1)]),
        Net::from_cells([
            Cell::at(1, 1),
            Cell::at(12, 3),
            Cell::at(9, 8),
            Cell::at(13, 0),
        ]),
        Net::from_cells([Cell::at(3, 2), Cell::at(7, 7), Cell::at(3, 7)]).within(window),
        Net::new([
            Cell::at(0, 0).into(),
            all_of_row.clone(),
            all_of_row,
            Cell::at(9, 8).on(1).into(),
            Cell::at(9, 8).on(1).into(),
        ]),
    ];
    for &algorithm in on_device() {
        let gpu = device.gpu(seed());
        let same = check_routes(&gpu, &grid, &nets, algorithm);
        let same = same.unwrap_or_else(|error| panic!("{algorithm:?}: {error}"));
        assert_eq!(same[2].unreached(), [1, 3]);
    }
}

/// More cells of pins than one block has threads, and than all blocks have that search for the
/// nearest pin.
pub(crate) fn routes_to_the_nearest_of_many_cells<D: Device>(device: &D) {
    let grid = random_grid(20, 15, 1, Weights::Small, seed());
    let cell = |i: u32| grid.cell(i % grid.cell_count());
    let large = |first: u32, n: u32| Pin::new((0..n).map(|i| cell(first + 7 * i)));
    for n in [250, 256, 257, 140_000] {
        let net = Net::new([
            cell(0).into(),
            large(290, 2),
            large(150, n),
            cell(299).into(),
        ]);
        let gpu = device.gpu(seed() + u64::from(n));
        let same = check_routes(&gpu, &grid, &[net], RouteAlgorithm::PrefixFused);
        assert!(same.is_ok(), "{n}: {same:?}");
    }
}

pub(crate) fn what_the_device_does_not_do_is_said<D: Device>(device: &D) {
    let grid = RoutingGrid::uniform(3, 3, 1).unwrap();
    let router = DeviceRouter::on(device.gpu(1));
    let inside = Net::from_cells([Cell::at(0, 0), Cell::at(2, 2)]);
    assert!(matches!(
        Engine::on(router.gpu().clone()).route(
            &grid,
            std::slice::from_ref(&inside),
            &RouteOptions::default().algorithm(RouteAlgorithm::Dijkstra)
        ),
        Err(Error::Unavailable(Unavailable::Algorithm {
            algorithm: "dijkstra",
            backend,
            ..
        })) if backend == D::Gpu::BACKEND
    ));
    // What an engine does on the processor.
    for options in [
        RouteOptions::default().tree(TreeKind::Improved),
        RouteOptions::default().turn_cost(1),
        RouteOptions::default().algorithm(RouteAlgorithm::Prefix),
    ] {
        let engine = Engine::on(router.gpu().clone());
        let routes = engine.route(&grid, std::slice::from_ref(&inside), &options);
        let route = &routes.unwrap()[0];
        assert_eq!(route.cost() - route.turn_cost(), 4, "{options:?}");
    }
    let outside = Net::from_cells([Cell::at(0, 0), Cell::at(3, 2)]);
    assert!(matches!(
        Engine::on(router.gpu().clone()).route(
            &grid,
            &[outside],
            &RouteOptions::default().algorithm(RouteAlgorithm::Prefix)
        ),
        Err(Error::PinOutside { net: 0, pin: 1, .. })
    ));
}
