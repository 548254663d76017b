//! Routing on the CPU against a plain oracle, on random grids and on awkward ones.

mod distances;
mod improved;
mod ispd;
mod negotiate;
mod nets;
mod refused;
mod report;
mod turns;

use std::io::Write;

use proptest::prelude::*;
use trazar::generate::RandomNets;
use trazar::route::{
    BLOCKED, Cell, DistanceAlgorithm, DistanceOptions, Distances, Net, Pin, Route, RouteAlgorithm,
    RouteOptions, RoutingGrid,
};
use trazar::{Backend, Engine};
use trazar_test_support::grids::{Case, case};
use trazar_test_support::route_oracle::{self, Tree};
use trazar_test_support::routes::assert_same;
use trazar_test_support::seeds;

fn algorithms() -> impl Iterator<Item = RouteAlgorithm> {
    RouteAlgorithm::on(Backend::Cpu).iter().copied()
}

fn fewest_edges(grid: &RoutingGrid, net: &Net) -> Route {
    let routes = Engine::cpu().route_fewest_edges(grid, std::slice::from_ref(net));
    routes.unwrap().remove(0)
}

fn by(algorithm: RouteAlgorithm) -> RouteOptions {
    RouteOptions::default().algorithm(algorithm)
}

fn route(grid: &RoutingGrid, net: &Net) -> Route {
    let route = Engine::cpu().route_net(grid, net, &RouteOptions::default());
    route.unwrap()
}

/// The numbers of threads on which results must be the same.
const THREADS: [usize; 4] = [1, 2, 3, 8];

/// Prints a line that the test harness does not capture.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Compares all algorithms with the oracle.
fn check_oracle(Case { grid, nets, recipe }: &Case) {
    let expected: Vec<Tree> = nets
        .iter()
        .map(|net| route_oracle::tree(grid, net))
        .collect();
    for algorithm in algorithms() {
        let routes = Engine::cpu().route(grid, nets, &by(algorithm)).unwrap();
        assert_eq!(routes.len(), nets.len());
        for ((route, expected), net) in routes.iter().zip(&expected).zip(nets) {
            let what = format!("{} of {net:?} of {recipe:?}", algorithm.name());
            assert_eq!(&Tree::from(route), expected, "{what}");
            route
                .verify(grid, net)
                .unwrap_or_else(|why| panic!("{why}: {what}"));
            let costs = route.connections().map(|path| path.cost);
            assert_eq!(route.cost(), costs.sum::<u64>(), "{what}");
        }
    }
}

fn cases(cases: u32) -> ProptestConfig {
    seeds::config(cases, 1961)
}

proptest! {
    #![proptest_config(cases(4000))]

    #[test]
    fn small_grids_match_the_oracle(case in case(9)) {
        check_oracle(&case);
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn larger_grids_are_the_same_by_all_algorithms(case in case(130)) {
        for algorithm in algorithms() {
            assert_same(&Engine::cpu(), &case, algorithm);
        }
    }

    #[test]
    fn middle_grids_match_the_oracle(case in case(24)) {
        check_oracle(&case);
    }
}

/// The grid with weight 1 on all edges that are not blocked.
fn with_unit_weights(grid: &RoutingGrid) -> RoutingGrid {
    let mut grid = grid.clone();
    for number in 0..grid.cell_count() {
        let cell = grid.cell(number);
        if grid.right(cell) != BLOCKED {
            grid.set_right(cell, 1).unwrap();
        }
        if grid.down(cell) != BLOCKED {
            grid.set_down(cell, 1).unwrap();
        }
        if grid.via(cell) != BLOCKED {
            grid.set_via(cell, 1).unwrap();
        }
    }
    grid
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn breadth_first_trees_hold_and_first_paths_have_the_fewest_edges(case in case(12)) {
        let Case { grid, nets, recipe } = &case;
        let units = with_unit_weights(grid);
        for net in nets {
            let bfs = fewest_edges(grid, net);
            let verified = bfs.verify(grid, net);
            verified.unwrap_or_else(|why| panic!("{why}: {net:?} of {recipe:?}"));
            let exact = route(grid, net);
            assert_eq!(bfs.unreached(), exact.unreached());
            // The path to the first pin that is joined costs no less than the exact one, and no
            // path to that cell has fewer edges.
            let first = (bfs.connections().next(), exact.connections().next());
            if let (Some(path), Some(first)) = first {
                assert!(path.cost >= first.cost, "{net:?} of {recipe:?}");
                let pins = vec![net.pins[0].clone(), path.cells[0].into()];
                let two = route(&units, &Net::new(pins).within(net.window));
                assert_eq!(path.cells.len() as u64 - 1, two.cost(), "{net:?} of {recipe:?}");
            }
        }
    }
}

#[test]
fn breadth_first_search_is_not_exact() {
    // One expensive edge, or three of weight 1 around it.
    let mut grid = RoutingGrid::uniform(2, 2, 1).unwrap();
    grid.set_right(Cell::at(0, 0), 90).unwrap();
    let net = Net::from_cells([Cell::at(0, 0), Cell::at(1, 0)]);
    let bfs = fewest_edges(&grid, &net);
    assert_eq!((bfs.cost(), route(&grid, &net).cost()), (90, 3));
    // It finds the cheapest of the paths with the fewest edges.
    let mut grid = RoutingGrid::uniform(3, 2, 5).unwrap();
    grid.set_down(Cell::at(1, 0), 4).unwrap();
    let net = Net::from_cells([Cell::at(0, 0), Cell::at(2, 1)]);
    let bfs = fewest_edges(&grid, &net);
    assert_eq!(bfs.cost(), 14);
    assert!(bfs.cells().contains(&Cell::at(1, 1)));
}

#[test]
fn two_pins_get_the_cheapest_path() {
    // The path goes around the expensive middle; among equal ones, left comes before up, seen from
    // the pin.
    let mut grid = RoutingGrid::uniform(3, 3, 1).unwrap();
    for (x, y) in [(0, 1), (1, 1)] {
        grid.set_right(Cell::at(x, y), 9).unwrap();
    }
    let net = Net::from_cells([Cell::at(0, 0), Cell::at(2, 2)]);
    let route = route(&grid, &net);
    assert_eq!(route.cost(), 4);
    let path = route.connections().next().unwrap();
    let cells = [(2, 2), (1, 2), (0, 2), (0, 1), (0, 0)].map(|(x, y)| Cell::at(x, y));
    assert_eq!(path.cells, cells);
}

#[test]
fn the_nearest_pin_is_first_and_of_equal_ones_the_smallest_number() {
    let grid = RoutingGrid::uniform(9, 1, 5).unwrap();
    let net = Net::from_cells([4, 8, 2, 6, 4].map(|x| Cell::at(x, 0)));
    let route = route(&grid, &net);
    let paths: Vec<_> = route.connections().map(|p| (p.pin, p.cost)).collect();
    assert_eq!(paths, [(4, 0), (2, 10), (3, 10), (1, 10)]);
    assert_eq!(
        route.cells(),
        (2..9).map(|x| Cell::at(x, 0)).collect::<Vec<_>>()
    );
}

#[test]
fn a_path_may_go_on_from_another_cell_of_a_pin() {
    // Pin 1 bridges a wall.
    let mut grid = RoutingGrid::uniform(5, 2, 1).unwrap();
    for y in 0..2 {
        grid.set_right(Cell::at(2, y), BLOCKED).unwrap();
    }
    let mut net = Net::from_cells([Cell::at(0, 0), Cell::at(2, 0), Cell::at(4, 0)]);
    assert_eq!(route(&grid, &net).unreached(), [2]);
    net.pins[1].cells.push(Cell::at(3, 1));
    let route = route(&grid, &net);
    route.verify(&grid, &net).unwrap();
    assert_eq!((route.cost(), route.unreached()), (4, &[][..]));
}

/// So far apart that the search's queue makes its buckets wider, twice or more: costs along a line
/// are sums of weights. Pins come in an order in which later searches begin at small costs again.
#[test]
fn costs_beyond_the_queues_buckets() {
    const LENGTH: u32 = 40_000;
    let weight = |x: u32, _| 900 + x * 7919 % 124;
    let grid = RoutingGrid::from_fn(LENGTH, 1, weight, |_, _| BLOCKED).unwrap();
    let pins = [0, LENGTH - 1, 30_000, 29_990];
    let net = Net::from_cells(pins.map(|x| Cell::at(x, 0)));
    let cost = |from: u32, to: u32| (from..to).map(|x| u64::from(weight(x, 0))).sum::<u64>();
    let expected = [
        (3, cost(0, 29_990)),
        (2, cost(29_990, 30_000)),
        (1, cost(30_000, LENGTH - 1)),
    ];
    let found = route(&grid, &net);
    let found: Vec<_> = found.connections().map(|p| (p.pin, p.cost)).collect();
    assert_eq!(found, expected);
    let distances = Engine::cpu()
        .distances(
            &grid,
            &[Cell::at(5, 0)],
            &DistanceOptions::default().algorithm(DistanceAlgorithm::Dijkstra),
        )
        .unwrap();
    for x in [0, 4, 5, 6, 20_000, LENGTH - 1] {
        let expected = cost(x.min(5), x.max(5));
        assert_eq!(distances.as_slice()[x as usize], expected, "{x}");
    }
}

#[test]
fn nets_of_few_pins_have_trees_without_edges() {
    let grid = RoutingGrid::uniform(4, 4, 7).unwrap();
    let at = Cell::at(1, 2);
    for (pins, cells) in [
        (vec![], vec![]),
        (vec![at], vec![at]),
        (vec![at, at, at], vec![at]),
    ] {
        let net = Net::from_cells(pins);
        for algorithm in algorithms() {
            let route = Engine::cpu()
                .route_net(&grid, &net, &by(algorithm))
                .unwrap();
            assert_eq!(route.cost(), 0);
            assert_eq!(route.cells(), cells);
            assert_eq!(route.edges().count(), 0);
            assert_eq!(route.connections().len(), net.pins.len().max(1) - 1);
            route.verify(&grid, &net).unwrap();
        }
    }
    let none = Engine::cpu().route(&grid, &[], &RouteOptions::default());
    assert_eq!(none.unwrap(), []);
}

/// Every algorithm computes the same distances.
#[test]
fn distances_by_every_algorithm() {
    let case = RandomNets::default()
        .width(70)
        .height(40)
        .layers(2)
        .blocked(0.2);
    let grid = case.pins(1).generate(3).unwrap().grid;
    let sources = [Cell::at(0, 0), Cell::at(69, 39).on(1)];
    let by = |algorithm| {
        let options = DistanceOptions::default().algorithm(algorithm);
        Engine::cpu().distances(&grid, &sources, &options)
    };
    let expected = Engine::cpu().distances(&grid, &sources, &DistanceOptions::default());
    let expected = expected.unwrap();
    assert!(
        expected
            .as_slice()
            .iter()
            .any(|&d| d > 0 && d != Distances::UNREACHED)
    );
    for &algorithm in DistanceAlgorithm::on(Backend::Cpu) {
        assert_eq!(by(algorithm).unwrap(), expected, "{algorithm:?}");
    }
}

#[test]
fn the_largest_weights_add_up() {
    let grid = RoutingGrid::uniform(1000, 2, BLOCKED - 1).unwrap();
    let net = Net::from_cells([Cell::at(0, 0), Cell::at(999, 1)]);
    for algorithm in algorithms() {
        let route = Engine::cpu()
            .route_net(&grid, &net, &by(algorithm))
            .unwrap();
        assert_eq!(route.cost(), 1000 * u64::from(BLOCKED - 1));
    }
}

/// Very many pins: more than half of the cells, ties everywhere, cells that several pins share, a
/// pin of very many cells. The work per pin must not grow with the number of pins, or this test
/// would take minutes.
#[test]
fn routes_of_very_many_pins() {
    let side = 400;
    let cells = side * side;
    let weight = |x: u32, y: u32| 1 + (x * 7 + y * 13 + x * y) % 5;
    let grid = RoutingGrid::from_fn(side, side, weight, |x, y| weight(y, x)).unwrap();
    // 7919 and the number of cells have no divisor in common.
    let cell = |i: u32| grid.cell((i % cells) * 7919 % cells);
    let many = Net::from_cells((0..100_000).map(cell));
    let found = route(&grid, &many);
    assert_eq!(found.connections().len(), 99_999);
    assert_eq!(found.unreached(), [0; 0]);
    found.verify(&grid, &many).unwrap();
    // Every cell is in several pins, and one pin has all cells.
    let all = Pin::new((0..cells).map(cell));
    let mut shared = Net::from_cells((0..400_000).map(|i| cell(i / 2)));
    shared.pins.insert(200_000, all);
    let found = route(&grid, &shared);
    assert_eq!(found.connections().len(), 400_000);
    assert_eq!(found.cost(), 0);
    found.verify(&grid, &shared).unwrap();
}
