//! Paths that pay for their turns.

use proptest::prelude::*;
use trazar::Engine;
use trazar::route::{Cell, Net, Route, RouteOptions, RoutingGrid, TreeKind};
use trazar_test_support::grids::{Case, case};
use trazar_test_support::route_oracle;

use crate::{algorithms, by, cases, route};

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
            for algorithm in algorithms() {
                let options = by(algorithm).turn_cost(turn);
                let route = Engine::cpu().route_net(grid, net, &options).unwrap();
                assert_eq!(found.get_or_insert_with(|| route.clone()), &route);
            }
            let found = found.unwrap();
            let what = format!("{turn}, {net:?} of {recipe:?}");
            found.verify(grid, net).unwrap_or_else(|why| panic!("{why}: {what}"));
            assert_eq!(found.unreached(), route(grid, net).unreached());
            assert_eq!(found.turn_cost(), turns(&found, net) * u64::from(turn));
            let options = RouteOptions::default().turn_cost(turn).tree(TreeKind::Improved);
            let better = Engine::cpu().route_net(grid, net, &options).unwrap();
            better.verify(grid, net).unwrap_or_else(|why| panic!("{why}: {what}"));
            assert_eq!(better.unreached(), found.unreached());
            assert!(better.cost() <= found.cost(), "{what}");
            if net.pins.len() == 2 {
                let cheapest = route_oracle::cost_with_turns(grid, net, turn.into());
                assert_eq!(found.cost(), cheapest.unwrap_or(0), "{what}");
            }
        }
    }
}

/// The number of cells with edges along both axes, without the cells of pins.
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
        let options = RouteOptions::default().turn_cost(turn_cost);
        let route = Engine::cpu().route_net(&grid, &net, &options).unwrap();
        route.verify(&grid, &net).unwrap();
        (route.cost(), route.turn_cost())
    };
    assert_eq!(cost(0), (10, 0));
    assert_eq!(cost(1), (19, 1));
    assert_eq!(cost(50), (68, 50));
}
