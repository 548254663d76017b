//! The GPU's routes under the emulator: equal to the CPU's, path by path and cell by cell, in every
//! order of the threads.
//!
//! Grids, nets and orders follow one seed, which a failure names; `TRAZAR_SEED` replaces it.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;
use trazar::emulator::Emulator;
use trazar::error::Unavailable;
use trazar::route::{
    BLOCKED, Cell, DeviceRouter, Net, Pin, RouteAlgorithm, RouteOptions, RoutingGrid, TreeKind,
    Window,
};
use trazar::{Backend, Engine, Error};
use trazar_test_support::emulators::{check, emulator, emulator_of, seed};
use trazar_test_support::grids::{Weights, net, random_grid};
use trazar_test_support::kernels::SWEEP_CHUNK as CHUNK;
use trazar_test_support::routes::{mistake, on_device};

/// Routes both ways and compares.
fn check_routes(
    emulator: &Emulator,
    grid: &RoutingGrid,
    nets: &[Net],
    algorithm: RouteAlgorithm,
) -> Result<(), TestCaseError> {
    let expected = Engine::cpu()
        .route(grid, nets, &RouteOptions::default())
        .unwrap();
    let router = DeviceRouter::on(emulator.clone());
    let found = Engine::on(router.gpu().clone()).route(
        grid,
        nets,
        &RouteOptions::default().algorithm(algorithm),
    );
    let mistake = mistake(found, &expected, algorithm);
    prop_assert_eq!(mistake, None, "not the CPU's routes");
    Ok(())
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

#[test]
fn routes_on_small_grids() {
    check(
        "routes on small grids",
        25,
        &(
            grid_and_net(1..=9u32, 1..=9u32, 3, 6),
            emulator(),
            algorithm(),
        ),
        |((grid, net), emulator, algorithm)| check_routes(&emulator, &grid, &[net], algorithm),
    );
}

/// Lines that are about as long as a warp, two warps and a chunk.
#[test]
fn routes_along_long_lines() {
    let sides = || select(vec![31, 32, 33, 63, 64, 65, 255, 256, 257, 520]);
    let wide = grid_and_net(sides(), 1..=2u32, 2, 3);
    let high = grid_and_net(1..=2u32, sides(), 2, 3);
    check(
        "routes along long lines",
        12,
        &(prop_oneof![wide, high], emulator(), algorithm()),
        |((grid, net), emulator, algorithm)| check_routes(&emulator, &grid, &[net], algorithm),
    );
}

/// Distances that are carried from chunk to chunk, with blocked edges in all of them.
#[test]
fn routes_from_chunk_to_chunk() {
    for &algorithm in on_device() {
        for (width, height, weights) in [
            (270, 1, Weights::Small),
            (1, 270, Weights::Small),
            (270, 2, Weights::Gaps),
            (2, 270, Weights::Gaps),
        ] {
            let grid = random_grid(width, height, 1, weights, seed());
            let ends = [(0, 0), (width - 1, height - 1)];
            let mut net = net(&grid, 2, seed());
            net.pins
                .extend(ends.map(|(x, y)| Pin::from(Cell::at(x, y))));
            let same = check_routes(&emulator_of(seed()), &grid, &[net], algorithm);
            assert!(same.is_ok(), "{algorithm:?}, {width} x {height}: {same:?}");
        }
    }
}

/// The tree begins at the first cell of a line's second chunk, seen from either end. This cell has
/// its own distance, and also gets the one that the previous chunk carries over.
#[test]
fn routes_from_the_start_of_a_second_chunk() {
    let length = CHUNK + 2;
    let sweeps = on_device().iter().filter(|&&algorithm| {
        ![RouteAlgorithm::Fields, RouteAlgorithm::Tiles].contains(&algorithm)
    });
    for &algorithm in sweeps {
        for (width, height) in [(length, 1), (1, length)] {
            let grid = random_grid(width, height, 1, Weights::Small, seed());
            let at = |way: u32| match width {
                1 => Cell::at(0, way),
                _ => Cell::at(way, 0),
            };
            let forwards = [CHUNK, CHUNK + 1];
            let nets = [forwards, forwards.map(|way| length - 1 - way)];
            let nets = nets.map(|ways| Net::from_cells(ways.map(at)));
            let same = check_routes(&Emulator::new(seed()), &grid, &nets, algorithm);
            assert!(same.is_ok(), "{algorithm:?}, {width} x {height}: {same:?}");
        }
    }
}

/// More than one group of lines in both directions, and paths through several patches.
#[test]
fn routes_across_groups_of_lines() {
    for (order, &algorithm) in (seed()..).zip(on_device()) {
        for (width, height, weights) in [(35, 20, Weights::Small), (9, 36, Weights::Large)] {
            let grid = random_grid(width, height, 1, weights, order);
            let corners = [(0, 0), (width - 1, height - 1), (width - 1, 0)];
            let net = Net::from_cells(corners.map(|(x, y)| Cell::at(x, y)));
            let same = check_routes(&emulator_of(order), &grid, &[net], algorithm);
            assert!(same.is_ok(), "{algorithm:?}, order {order}: {same:?}");
        }
    }
}

/// All edges have weight 0: all distances are 0, and only the number of steps decides.
#[test]
fn routes_over_free_edges_alone() {
    let grid = RoutingGrid::uniform(36, 18, 0).unwrap();
    let cells = [(2, 17), (35, 3), (0, 0)];
    let net = Net::from_cells(cells.map(|(x, y)| Cell::at(x, y)));
    for &algorithm in on_device() {
        let same = check_routes(
            &emulator_of(seed()),
            &grid,
            std::slice::from_ref(&net),
            algorithm,
        );
        assert!(same.is_ok(), "{algorithm:?}: {same:?}");
    }
}

/// A path that goes back and forth through the whole grid: its distances exceed 2³² (and the limit
/// of tiles), and it takes many sweeps.
#[test]
fn routes_through_a_maze_of_heavy_edges() {
    let heavy = BLOCKED - 1;
    let wall = |x, y: u32| x != if y.is_multiple_of(2) { 10 } else { 0 };
    let grid = RoutingGrid::from_fn(
        11,
        12,
        |_, _| heavy,
        |x, y| if wall(x, y) { BLOCKED } else { heavy },
    )
    .unwrap();
    let net = Net::from_cells([Cell::at(0, 0), Cell::at(0, 11)]);
    for &algorithm in on_device() {
        let nets = std::slice::from_ref(&net);
        let same = check_routes(&emulator_of(seed()), &grid, nets, algorithm);
        assert!(same.is_ok(), "{algorithm:?}: {same:?}");
    }
}

/// Several nets: on the whole grid, in windows, without pins; pins that cannot be reached, that
/// share cells, that are joined at several cells.
#[test]
fn routes_of_several_nets() {
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
        let emulator = emulator_of(seed());
        let same = check_routes(&emulator, &grid, &nets, algorithm);
        assert!(same.is_ok(), "{algorithm:?}: {same:?}");
        let options = RouteOptions::default().algorithm(algorithm);
        let routes = Engine::on(emulator).route(&grid, &nets, &options);
        assert_eq!(routes.unwrap()[2].unreached(), [1, 3]);
    }
}

/// More cells of pins than one block has threads, and than all blocks have that search for the
/// nearest pin.
#[test]
fn routes_to_the_nearest_of_many_cells() {
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
        let emulator = emulator_of(seed() + u64::from(n));
        let same = check_routes(&emulator, &grid, &[net], RouteAlgorithm::PrefixFused);
        assert!(same.is_ok(), "{n}: {same:?}");
    }
}

#[test]
fn what_the_device_does_not_do_is_said() {
    let grid = RoutingGrid::uniform(3, 3, 1).unwrap();
    let router = DeviceRouter::on(emulator_of(1));
    let inside = Net::from_cells([Cell::at(0, 0), Cell::at(2, 2)]);
    assert!(matches!(
        Engine::on(router.gpu().clone()).route(
            &grid,
            std::slice::from_ref(&inside),
            &RouteOptions::default().algorithm(RouteAlgorithm::Dijkstra)
        ),
        Err(Error::Unavailable(Unavailable::Algorithm {
            algorithm: "dijkstra",
            backend: Backend::Emulator,
            ..
        }))
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
