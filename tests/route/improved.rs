//! Improved trees: never more expensive than the plain ones.

use proptest::prelude::*;
use trazar::Engine;
use trazar::route::{Net, Route, RouteOptions, RoutingGrid, TreeKind};
use trazar_test_support::grids::{Case, Recipe, case};
use trazar_test_support::route_oracle;

use crate::{cases, route, say};

pub(crate) fn improved(grid: &RoutingGrid, net: &Net) -> Route {
    let options = RouteOptions::default().tree(TreeKind::Improved);
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
        let options = RouteOptions::default().tree(TreeKind::Improved);
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
