//! Routing against a plain oracle, on random grids and on awkward ones; what it refuses; the report's cases.
//!
//! `TRAZAR_DATA` names a folder with the report's cases and answers, in `route/case*.txt` and `.out`.

mod route_oracle;
mod routing;
mod seeds;

use std::io::Write;
use std::path::Path;

use proptest::prelude::*;
use route_oracle::Tree;
use routing::{Case, Recipe, assert_same, case};
use trazar::route::{
    BLOCKED, Cell, MAX_LAYERS, Net, Pin, Route, RouteAlgorithm, RouteOptions, RoutingGrid,
    TreeKind, Window,
};
use trazar::{Device, Engine, Error};

fn exact_algorithms() -> impl Iterator<Item = RouteAlgorithm> {
    let all = RouteAlgorithm::on(Device::Cpu).iter().copied();
    all.filter(|algorithm| algorithm.is_exact())
}

fn by(algorithm: RouteAlgorithm) -> RouteOptions {
    RouteOptions {
        algorithm: Some(algorithm),
        ..RouteOptions::default()
    }
}

fn route(grid: &RoutingGrid, net: &Net) -> Route {
    let route = Engine::cpu().route_net(grid, net, &RouteOptions::default());
    route.unwrap()
}

/// Compares all exact algorithms with the oracle.
fn check_oracle(Case { grid, nets, recipe }: &Case) {
    let expected: Vec<Tree> = nets
        .iter()
        .map(|net| route_oracle::tree(grid, net))
        .collect();
    for algorithm in exact_algorithms() {
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
        for algorithm in exact_algorithms() {
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
            let bfs = Engine::cpu().route_net(grid, net, &by(RouteAlgorithm::Bfs)).unwrap();
            bfs.verify(grid, net).unwrap_or_else(|why| panic!("{why}: {net:?} of {recipe:?}"));
            let exact = route(grid, net);
            assert_eq!(bfs.unreached(), exact.unreached());
            // To the first pin that is joined, no path is cheaper than the exact one, and none to that cell has fewer edges.
            if let (Some(path), Some(first)) = (bfs.connections().next(), exact.connections().next()) {
                assert!(path.cost >= first.cost, "{net:?} of {recipe:?}");
                let pins = vec![net.pins[0].clone(), path.cells[0].into()];
                let two = route(&units, &Net { pins, window: net.window });
                assert_eq!(path.cells.len() as u64 - 1, two.cost(), "{net:?} of {recipe:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn turns_cost_what_they_should(case in case(10), turn in 1u32..120) {
        let Case { grid, nets, recipe } = &case;
        if grid.layers() > 1 {
            return Ok(());
        }
        for net in nets {
            let mut found: Option<Route> = None;
            for algorithm in exact_algorithms() {
                let options = RouteOptions { turn_cost: turn, ..by(algorithm) };
                let route = Engine::cpu().route_net(grid, net, &options).unwrap();
                assert_eq!(found.get_or_insert_with(|| route.clone()), &route);
            }
            let found = found.unwrap();
            found.verify(grid, net).unwrap_or_else(|why| panic!("{why}: {turn}, {net:?} of {recipe:?}"));
            assert_eq!(found.unreached(), route(grid, net).unreached());
            assert_eq!(found.turn_cost(), turns(&found, net) * u64::from(turn));
            let options = RouteOptions { turn_cost: turn, tree: TreeKind::Improved, ..RouteOptions::default() };
            let better = Engine::cpu().route_net(grid, net, &options).unwrap();
            better.verify(grid, net).unwrap_or_else(|why| panic!("{why}: {turn}, {net:?} of {recipe:?}"));
            assert_eq!(better.unreached(), found.unreached());
            assert!(better.cost() <= found.cost(), "{turn}, {net:?} of {recipe:?}");
            if net.pins.len() == 2 {
                let cheapest = route_oracle::cost_with_turns(grid, net, turn.into());
                assert_eq!(found.cost(), cheapest.unwrap_or(0), "{turn}, {net:?} of {recipe:?}");
            }
        }
    }
}

fn improved(grid: &RoutingGrid, net: &Net) -> Route {
    let options = RouteOptions {
        tree: TreeKind::Improved,
        ..RouteOptions::default()
    };
    let improved = Engine::cpu().route_net(grid, net, &options).unwrap();
    improved
        .verify(grid, net)
        .unwrap_or_else(|why| panic!("{why}: {net:?}"));
    improved
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn improved_trees_lie_between_the_optimum_and_the_plain_ones(case in case(9)) {
        let Case { grid, nets, recipe } = &case;
        for net in nets {
            let plain = route(grid, net);
            let better = improved(grid, net);
            let what = format!("{net:?} of {recipe:?}");
            assert!(better.cost() <= plain.cost(), "{what}");
            assert_eq!(better.unreached(), plain.unreached(), "{what}");
            assert_eq!(better, improved(grid, net), "{what}");
            if net.pins.len() <= 5 && plain.unreached().is_empty() {
                let optimum = route_oracle::steiner_cost(grid, net).unwrap();
                assert!(optimum <= better.cost(), "{optimum}, {}: {what}", better.cost());
                if net.pins.len() == 2 {
                    assert_eq!(optimum, better.cost(), "{what}");
                }
            }
        }
    }

    #[test]
    fn larger_improved_trees_hold(case in case(40)) {
        for net in &case.nets {
            assert!(improved(&case.grid, net).cost() <= route(&case.grid, net).cost());
        }
    }
}

#[test]
fn improved_trees_of_many_pins_hold() {
    for (seed, pins, layers, blocked) in [
        (1, 150, 1, 0),
        (2, 90, 2, 0),
        (3, 60, 1, 20),
        (4, 40, 3, 20),
    ] {
        let recipe = Recipe {
            width: 90,
            height: 110,
            layers,
            least: 0,
            most: 9,
            blocked,
            preferred: layers > 1,
            nets: 3,
            pins,
            pin_cells: 3,
            windows: true,
            seed,
        };
        let Case { grid, nets, .. } = recipe.draw();
        let options = RouteOptions {
            tree: TreeKind::Improved,
            ..RouteOptions::default()
        };
        let routes = Engine::cpu().route(&grid, &nets, &options).unwrap();
        for (better, net) in routes.iter().zip(&nets) {
            let plain = route(&grid, net);
            better.verify(&grid, net).unwrap();
            assert_eq!(better.unreached(), plain.unreached());
            assert!(better.cost() <= plain.cost());
            say(&format!(
                "{} pins: {}, improved {}",
                net.pins.len(),
                plain.cost(),
                better.cost()
            ));
        }
    }
}

#[test]
fn most_improved_trees_are_optimal() {
    let mut count = [0; 3];
    for seed in 0..300 {
        let recipe = Recipe {
            width: 12,
            height: 12,
            layers: 1,
            least: 1,
            most: 9,
            blocked: 0,
            preferred: false,
            nets: 1,
            pins: 7,
            pin_cells: 1,
            windows: false,
            seed,
        };
        let Case { grid, nets, .. } = recipe.draw();
        let optimum = route_oracle::steiner_cost(&grid, &nets[0]).unwrap();
        let costs = [
            optimum,
            improved(&grid, &nets[0]).cost(),
            route(&grid, &nets[0]).cost(),
        ];
        for (count, cost) in count.iter_mut().zip(costs) {
            *count += u32::from(cost == optimum);
        }
    }
    let [all, improved, plain] = count;
    say(&format!(
        "of {all} trees {improved} improved and {plain} plain ones are optimal"
    ));
    assert!(improved > plain + 30 && improved > 270);
}

/// The cells, but for those of pins, with edges along both axes.
fn turns(route: &Route, net: &Net) -> u64 {
    let is_pin = |cell: &Cell| net.pins.iter().any(|pin| pin.cells.contains(cell));
    let turns = |cell: &Cell| {
        let has = |along_x: bool| {
            let mut edges = route.edges();
            edges.any(|(a, b)| (a == *cell || b == *cell) && (a.y == b.y) == along_x)
        };
        !is_pin(cell) && has(true) && has(false)
    };
    route.cells().iter().filter(|cell| turns(cell)).count() as u64
}

#[test]
fn turns_are_saved_where_they_cost() {
    // A staircase of weight 1 beside straight ways of weight 2.
    let step = |x: u32, y: u32, along_x: bool| {
        if x == y && along_x || x == y + 1 && !along_x {
            1
        } else {
            2
        }
    };
    let grid =
        RoutingGrid::from_fn(6, 6, |x, y| step(x, y, true), |x, y| step(x, y, false)).unwrap();
    let net = Net::from_cells([Cell::at(0, 0), Cell::at(5, 5)]);
    let cost = |turn_cost: u32| {
        let options = RouteOptions {
            turn_cost,
            ..RouteOptions::default()
        };
        let route = Engine::cpu().route_net(&grid, &net, &options).unwrap();
        route.verify(&grid, &net).unwrap();
        (route.cost(), route.turn_cost())
    };
    assert_eq!(cost(0), (10, 0));
    assert_eq!(cost(1), (19, 1));
    assert_eq!(cost(50), (68, 50));
}

#[test]
fn costs_of_turns_that_make_no_sense_are_refused() {
    let layer = RoutingGrid::uniform(2, 2, 1).unwrap();
    let layers = RoutingGrid::stack(&[layer.clone(), layer.clone()], &[1; 4]).unwrap();
    let options = |turn_cost| RouteOptions {
        turn_cost,
        ..RouteOptions::default()
    };
    for (grid, turn_cost) in [(&layers, 1), (&layer, u32::MAX)] {
        let error = Engine::cpu()
            .route(grid, &[], &options(turn_cost))
            .unwrap_err();
        assert!(matches!(error, Error::InvalidOption(_)), "{error}");
    }
    // A pin on the layer that routing with turns adds is still outside.
    let net = Net::from_cells([Cell::at(0, 0), Cell::at(1, 1).on(1)]);
    let error = Engine::cpu()
        .route(&layer, &[net], &options(1))
        .unwrap_err();
    assert!(matches!(error, Error::PinOutside { .. }), "{error}");
}

#[test]
fn breadth_first_search_is_not_exact() {
    // One expensive edge, or three of weight 1 around it.
    let mut grid = RoutingGrid::uniform(2, 2, 1).unwrap();
    grid.set_right(Cell::at(0, 0), 90).unwrap();
    let net = Net::from_cells([Cell::at(0, 0), Cell::at(1, 0)]);
    let bfs = Engine::cpu()
        .route_net(&grid, &net, &by(RouteAlgorithm::Bfs))
        .unwrap();
    assert_eq!((bfs.cost(), route(&grid, &net).cost()), (90, 3));
    // Of the paths with the fewest edges the cheapest.
    let mut grid = RoutingGrid::uniform(3, 2, 5).unwrap();
    grid.set_down(Cell::at(1, 0), 4).unwrap();
    let net = Net::from_cells([Cell::at(0, 0), Cell::at(2, 1)]);
    let bfs = Engine::cpu()
        .route_net(&grid, &net, &by(RouteAlgorithm::Bfs))
        .unwrap();
    assert_eq!(bfs.cost(), 14);
    assert!(bfs.cells().contains(&Cell::at(1, 1)));
}

#[test]
fn two_pins_get_the_cheapest_path() {
    // Around the expensive middle; ties go left before up, seen from the pin.
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
        for algorithm in exact_algorithms() {
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

#[test]
fn the_largest_weights_add_up() {
    let grid = RoutingGrid::uniform(1000, 2, BLOCKED - 1).unwrap();
    let net = Net::from_cells([Cell::at(0, 0), Cell::at(999, 1)]);
    for algorithm in exact_algorithms() {
        let route = Engine::cpu()
            .route_net(&grid, &net, &by(algorithm))
            .unwrap();
        assert_eq!(route.cost(), 1000 * u64::from(BLOCKED - 1));
    }
}

#[test]
fn bad_grids_are_refused() {
    let weights = |result: trazar::Result<RoutingGrid>| match result.unwrap_err() {
        Error::WeightCount { needed, given, .. } => (needed, given),
        other => panic!("{other}"),
    };
    let empty = [(0, 0), (0, 3), (3, 0)];
    for (width, height) in empty {
        let error = RoutingGrid::uniform(width, height, 1).unwrap_err();
        assert!(matches!(error, Error::EmptyGrid { .. }), "{error}");
        let error = RoutingGrid::from_edges(width, height, &[], &[]).unwrap_err();
        assert!(matches!(error, Error::EmptyGrid { .. }), "{error}");
    }
    for (width, height) in [(1 << 16, 1 << 16), (u32::MAX, 1), (u32::MAX, u32::MAX)] {
        let error = RoutingGrid::uniform(width, height, 1).unwrap_err();
        assert!(matches!(error, Error::GridTooLarge { .. }), "{error}");
    }
    assert_eq!(
        weights(RoutingGrid::from_edges(3, 2, &[1; 3], &[1; 3])),
        (4, 3)
    );
    assert_eq!(
        weights(RoutingGrid::from_edges(3, 2, &[1; 5], &[1; 3])),
        (4, 5)
    );
    assert_eq!(
        weights(RoutingGrid::from_edges(3, 2, &[1; 4], &[1; 4])),
        (3, 4)
    );
    let layer = RoutingGrid::uniform(3, 2, 1).unwrap();
    let two = RoutingGrid::stack(&[layer.clone(), layer.clone()], &[1; 6]).unwrap();
    assert_eq!(
        weights(RoutingGrid::stack(&[layer.clone(), layer.clone()], &[1; 5])),
        (6, 5)
    );
    let other = RoutingGrid::uniform(2, 3, 1).unwrap();
    for layers in [
        vec![],
        vec![layer.clone(), other],
        vec![layer.clone(), two],
        vec![layer.clone(); MAX_LAYERS as usize + 1],
    ] {
        let vias = vec![1; 6 * layers.len().saturating_sub(1)];
        let error = RoutingGrid::stack(&layers, &vias).unwrap_err();
        assert!(matches!(error, Error::InvalidOption(_)), "{error}");
    }
    let vias = vec![1; 6 * (MAX_LAYERS as usize - 1)];
    let most = RoutingGrid::stack(&vec![layer; MAX_LAYERS as usize], &vias).unwrap();
    assert_eq!(most.layers(), MAX_LAYERS);
}

/// Setters, getters and parts of a grid, where there is no such cell or edge: in a release build as
/// well, nothing wraps around into another row, and no edge leads off the grid.
#[test]
fn cells_and_edges_that_are_not_on_the_grid_are_refused() {
    let layer = RoutingGrid::uniform(4, 3, 10).unwrap();
    let whole = RoutingGrid::stack(&[layer.clone(), layer], &[10; 12]).unwrap();
    let far = u32::MAX;
    let outside = [
        Cell::at(4, 0),
        Cell::at(0, 3),
        Cell::at(0, 0).on(2),
        Cell::at(far, 1),
        Cell::at(1, far),
        Cell::at(1, 1).on(far),
        // Whose number would be that of a cell, modulo 2³².
        Cell::at(far - 3, 1),
        Cell::at(0, 1 << 30),
        Cell::at(far, far).on(far),
    ];
    type Set = fn(&mut RoutingGrid, Cell, u32) -> trazar::Result<()>;
    type Get = fn(&RoutingGrid, Cell) -> u32;
    let sets: [Set; 4] = [
        RoutingGrid::set_right,
        RoutingGrid::set_down,
        RoutingGrid::set_via,
        |grid, cell, _| grid.block(cell),
    ];
    let gets: [Get; 4] = [
        RoutingGrid::right,
        RoutingGrid::down,
        RoutingGrid::via,
        RoutingGrid::index,
    ];
    let mut grid = whole.clone();
    for cell in outside {
        for set in sets {
            let error = set(&mut grid, cell, 1).unwrap_err();
            let about = matches!(
                error,
                Error::CellOutside { cell: c, width: 4, height: 3, layers: 2 } if c == cell
            );
            assert!(about, "{error}");
        }
        for get in gets {
            let got = std::panic::catch_unwind(|| get(&whole, cell));
            assert!(got.is_err(), "{cell}: {got:?}");
        }
    }
    assert!(std::panic::catch_unwind(|| whole.cell(24)).is_err());
    assert_eq!(
        grid.set_down(Cell::at(4, 0), 1).unwrap_err().to_string(),
        "there is no cell at row 0, column 4: the grid has 3 rows, 4 columns and 2 layers, \
         counted from 0"
    );
    // Edges that lead off the grid.
    for (set, cell, to) in [
        (sets[0], Cell::at(3, 1), "to the right"),
        (sets[1], Cell::at(1, 2).on(1), "down"),
        (sets[2], Cell::at(1, 1).on(1), "to the next layer"),
    ] {
        for weight in [1, BLOCKED] {
            let error = set(&mut grid, cell, weight).unwrap_err();
            let about = matches!(
                error,
                Error::EdgeOutside { cell: c, towards, .. } if (c, towards) == (cell, to)
            );
            assert!(about, "{error}");
        }
    }
    assert_eq!(
        grid.set_right(Cell::at(3, 1), 1).unwrap_err().to_string(),
        "there is no edge to the right from row 1, column 3: the grid has 3 rows, 4 columns and \
         2 layers, counted from 0"
    );
    assert!(grid == whole, "nothing was set");
    let window = |x, y, width, height| Window {
        x,
        y,
        width,
        height,
    };
    for outside in [
        window(0, 0, 5, 3),
        window(0, 0, 4, 4),
        window(3, 0, 2, 1),
        window(1, 1, 0, 1),
        window(1, 1, 1, 0),
        window(far, 0, 2, 1),
        window(0, far, 1, 2),
    ] {
        let error = whole.crop(outside).unwrap_err();
        let about = matches!(error, Error::PartOutside { window, .. } if window == outside);
        assert!(about, "{error}");
    }
    assert!(whole.crop(window(3, 2, 1, 1)).is_ok());
    // What is on the grid is set, and nothing else.
    let at = |x, y, layer| Cell::at(x, y).on(layer);
    grid.set_right(at(2, 1, 0), 1).unwrap();
    grid.set_down(at(3, 1, 1), 2).unwrap();
    grid.set_via(at(3, 2, 0), 3).unwrap();
    assert_eq!(grid.right(at(2, 1, 0)), 1);
    assert_eq!(grid.down(at(3, 1, 1)), 2);
    assert_eq!(grid.via(at(3, 2, 0)), 3);
    for cell in (0..24).map(|number| whole.cell(number)) {
        let mut grid = whole.clone();
        grid.block(cell).unwrap();
        let differs = |at: Cell| {
            [
                grid.right(at) != whole.right(at),
                grid.down(at) != whole.down(at),
                grid.via(at) != whole.via(at),
            ]
        };
        for other in (0..24).map(|number| whole.cell(number)) {
            let is = |there: bool| there && whole.contains(cell);
            let same = (other.y, other.layer) == (cell.y, cell.layer);
            let right = is(same && other.x < 3 && (other.x == cell.x || other.x + 1 == cell.x));
            let same = (other.x, other.layer) == (cell.x, cell.layer);
            let down = is(same && other.y < 2 && (other.y == cell.y || other.y + 1 == cell.y));
            let via = (other.x, other.y) == (cell.x, cell.y) && other.layer == 0;
            assert_eq!(differs(other), [right, down, via], "{cell}, {other}");
        }
    }
}

/// As many pins as a careless file has: more than half of the cells, ties everywhere, cells that
/// several pins share, a pin of very many cells. What is done for each pin must not grow with the
/// number of pins: this would take minutes.
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
    // Every cell in several pins, and one pin of all cells.
    let all = Pin {
        cells: (0..cells).map(cell).collect(),
    };
    let mut shared = Net::from_cells((0..400_000).map(|i| cell(i / 2)));
    shared.pins.insert(200_000, all);
    let found = route(&grid, &shared);
    assert_eq!(found.connections().len(), 400_000);
    assert_eq!(found.cost(), 0);
    found.verify(&grid, &shared).unwrap();
}

#[test]
fn nets_that_are_not_on_the_grid_are_refused() {
    let grid = RoutingGrid::uniform(4, 3, 1).unwrap();
    let good = Net::from_cells([Cell::at(0, 0), Cell::at(3, 2)]);
    let refused = |net: Net| {
        let nets = [good.clone(), net];
        let result = Engine::cpu().route(&grid, &nets, &RouteOptions::default());
        result.unwrap_err()
    };
    let window = |x, y, width, height| Window {
        x,
        y,
        width,
        height,
    };
    for cell in [Cell::at(4, 0), Cell::at(0, 3), Cell::at(0, 0).on(1)] {
        let error = refused(Net::from_cells([Cell::at(0, 0), cell]));
        let place = matches!(error, Error::PinOutside { net: 1, pin: 1, cell: c, .. } if c == cell);
        assert!(place, "{error}");
    }
    let error = refused(good.clone().within(window(0, 0, 4, 2)));
    assert!(
        matches!(error, Error::PinOutside { net: 1, pin: 1, .. }),
        "{error}"
    );
    assert_eq!(
        error.to_string(),
        "net 1: pin 1 is at row 2, column 3, outside of rows 0 to 1 and columns 0 to 3 of 1 layers"
    );
    for outside in [
        window(0, 0, 5, 3),
        window(0, 0, 4, 4),
        window(1, 0, 4, 3),
        window(0, 0, 0, 3),
        window(0, 0, 4, 0),
        window(u32::MAX, 0, u32::MAX, 3),
        window(0, u32::MAX, 4, 1),
    ] {
        let error = refused(good.clone().within(outside));
        assert!(
            matches!(error, Error::WindowOutside { net: 1, .. }),
            "{error}"
        );
    }
    let mut empty = good.clone();
    empty.pins.push(Pin { cells: vec![] });
    let error = refused(empty);
    assert!(
        matches!(error, Error::PinWithoutCells { net: 1, pin: 2 }),
        "{error}"
    );
}

#[test]
fn algorithms_of_other_devices_are_refused() {
    let grid = RoutingGrid::uniform(2, 2, 1).unwrap();
    for &algorithm in RouteAlgorithm::on(Device::Cuda) {
        let error = Engine::cpu().route(&grid, &[], &by(algorithm)).unwrap_err();
        assert!(matches!(error, Error::Unavailable(_)), "{error}");
        assert!(error.to_string().contains(algorithm.name()), "{error}");
    }
}

#[test]
fn verification_finds_planted_errors() {
    let grid = RoutingGrid::uniform(5, 5, 3).unwrap();
    let net = Net::from_cells([Cell::at(0, 0), Cell::at(4, 0), Cell::at(2, 4)]);
    let good = route(&grid, &net);
    good.verify(&grid, &net).unwrap();
    let other_weights = RoutingGrid::uniform(5, 5, 4).unwrap();
    good.verify(&other_weights, &net).unwrap_err();
    let mut blocked = grid.clone();
    blocked.block(Cell::at(2, 2)).unwrap();
    good.verify(&blocked, &net).unwrap_err();
    let mut moved = net.clone();
    moved.pins[2] = Cell::at(1, 4).into();
    good.verify(&grid, &moved).unwrap_err();
    let mut more = net.clone();
    more.pins.push(Cell::at(2, 2).into());
    good.verify(&grid, &more).unwrap_err();
    let mut other_root = net.clone();
    other_root.pins[0] = Cell::at(0, 1).into();
    good.verify(&grid, &other_root).unwrap_err();
}

/// The report's trees, cell by cell, cost this much.
const REPORT_COSTS: [u64; 5] = [1217, 2041, 11921, 22018, 36467];

#[test]
fn the_reports_cases_cost_no_more_than_its_trees() {
    let Some(data) = std::env::var_os("TRAZAR_DATA") else {
        say("the_reports_cases_cost_no_more_than_its_trees: skipped: TRAZAR_DATA is not set");
        return;
    };
    for number in 1..=6 {
        let folder = Path::new(&data).join("route");
        let (grid, net) = read_case(&folder.join(format!("case{number}.txt")));
        let answer = read_cells(&folder.join(format!("case{number}.out")));
        let report = spanning_cost(&grid, &net, &answer);
        if let Some(&cost) = REPORT_COSTS.get(number - 1) {
            assert_eq!(report, cost, "case {number}");
        }
        let found = route(&grid, &net);
        // Sweeps take long on the large ones.
        for algorithm in exact_algorithms().filter(|_| number <= 3) {
            let other = Engine::cpu().route_net(&grid, &net, &by(algorithm));
            assert_eq!(other.unwrap(), found, "case {number}, {}", algorithm.name());
        }
        found.verify(&grid, &net).unwrap();
        assert_eq!(found.unreached(), [0; 0]);
        let better = improved(&grid, &net).cost();
        let plain = found.cost();
        say(&format!(
            "case {number}: {plain}, improved {better}, the report {report}"
        ));
        assert!(better < plain && better < report, "case {number}");
        assert!(
            found.cost() * 1000 <= report * 1003,
            "case {number}: {} against {report}",
            found.cost()
        );
    }
}

/// Prints a line that the test harness does not hide.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// A grid and its net in the report's text format.
fn read_case(path: &Path) -> (RoutingGrid, Net) {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let mut numbers = |word: &str| -> Vec<u32> {
        let line = lines.next().unwrap().strip_prefix(word).unwrap();
        let numbers = line.split_whitespace().map(|n| n.parse().unwrap());
        numbers.collect()
    };
    let [width, height] = numbers("")[..] else {
        panic!("{}: not `W H`", path.display());
    };
    let count = numbers("")[0];
    let pins: Vec<Cell> = (0..count)
        .map(|_| numbers("Pin "))
        .map(|at| Cell::at(at[1], at[0]))
        .collect();
    let right: Vec<u32> = (0..height).flat_map(|_| numbers("Vertical")).collect();
    let down: Vec<u32> = (1..height).flat_map(|_| numbers("Horizontal")).collect();
    let grid = RoutingGrid::from_edges(width, height, &right, &down).unwrap();
    (grid, Net::from_cells(pins))
}

/// The cells of an answer, a row and a column on each line.
fn read_cells(path: &Path) -> Vec<Cell> {
    let text = std::fs::read_to_string(path).unwrap();
    let numbers: Vec<u32> = text
        .split_whitespace()
        .map(|n| n.parse().unwrap())
        .collect();
    numbers
        .chunks_exact(2)
        .map(|at| Cell::at(at[1], at[0]))
        .collect()
}

/// The cost of a smallest spanning tree (Prim) over `cells`, which hold all pins.
fn spanning_cost(grid: &RoutingGrid, net: &Net, cells: &[Cell]) -> u64 {
    let mut apart: std::collections::BTreeSet<Cell> = cells.iter().copied().collect();
    assert!(net.pins.iter().all(|pin| apart.contains(&pin.cells[0])));
    let mut border = std::collections::BinaryHeap::new();
    let mut total = 0;
    border.push((std::cmp::Reverse(0), cells[0]));
    while let Some((std::cmp::Reverse(weight), cell)) = border.pop() {
        if !apart.remove(&cell) {
            continue;
        }
        total += u64::from(weight);
        let Cell { x, y, .. } = cell;
        let mut reach = |weight: u32, next: Cell| {
            if weight != BLOCKED {
                border.push((std::cmp::Reverse(weight), next));
            }
        };
        reach(grid.right(cell), Cell::at(x + 1, y));
        reach(grid.down(cell), Cell::at(x, y + 1));
        if x > 0 {
            reach(grid.right(Cell::at(x - 1, y)), Cell::at(x - 1, y));
        }
        if y > 0 {
            reach(grid.down(Cell::at(x, y - 1)), Cell::at(x, y - 1));
        }
    }
    assert!(apart.is_empty(), "cells that hang together");
    total
}
