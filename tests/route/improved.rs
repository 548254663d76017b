//! Improved trees: never more expensive than the plain ones.

use std::time::Duration;

use proptest::prelude::*;
use trazar::Engine;
use trazar::route::{Effort, Net, Route, RouteOptions, RoutingGrid, TreeKind};
use trazar_test_support::grids::{Case, Recipe, case};
use trazar_test_support::route_oracle;
use trazar_test_support::threads::on_threads;

use crate::{THREADS, cases, route, say};

pub(crate) fn improved(grid: &RoutingGrid, net: &Net) -> Route {
    improved_by(Effort::Usual, grid, net)
}

fn improved_by(effort: Effort, grid: &RoutingGrid, net: &Net) -> Route {
    let options = RouteOptions::default()
        .tree(TreeKind::Improved)
        .effort(effort);
    let improved = Engine::cpu().route_net(grid, net, &options).unwrap();
    improved
        .verify(grid, net)
        .unwrap_or_else(|why| panic!("{why}: {net:?}"));
    improved
}

/// What most recipes here have in common: one net on one layer.
const USUAL: Recipe = Recipe {
    width: 12,
    height: 12,
    layers: 1,
    least: 1,
    most: 9,
    blocked: 0,
    preferred: false,
    nets: 1,
    pins: 2,
    pin_cells: 1,
    windows: false,
    seed: 0,
};

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
        // Enough for several sections.
        (5, 700, 1, 0),
        (6, 400, 2, 20),
    ] {
        let recipe = Recipe {
            width: 90,
            height: 110,
            layers,
            least: 0,
            blocked,
            preferred: layers > 1,
            nets: 3,
            pins,
            pin_cells: 3,
            windows: true,
            seed,
            ..USUAL
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

/// The plain tree may pass two cells of a pin, with a second way between them.
#[test]
fn paths_through_several_cells_of_a_pin() {
    for seed in 0..40 {
        let recipe = Recipe {
            width: 16,
            height: 24,
            layers: 3,
            least: 0,
            most: 2,
            blocked: 25,
            pins: 70,
            pin_cells: 3,
            seed,
            ..USUAL
        };
        let Case { grid, nets, .. } = recipe.draw();
        let better = improved(&grid, &nets[0]);
        assert!(
            better.cost() <= route(&grid, &nets[0]).cost(),
            "seed {seed}"
        );
    }
}

#[test]
fn more_effort_never_costs_more() {
    for seed in 0..12 {
        let recipe = Recipe {
            width: 50,
            height: 40,
            layers: 1 + seed as u32 % 2,
            most: [3, 90][seed as usize % 2],
            blocked: 10,
            nets: 2,
            pins: 40,
            pin_cells: 2,
            seed,
            ..USUAL
        };
        let Case { grid, nets, .. } = recipe.draw();
        for net in &nets {
            let by = |effort| improved_by(effort, &grid, net);
            let costs = [0, 10, 100, 300].map(|steps| by(Effort::Steps(steps)).cost());
            assert!(costs.is_sorted_by(|a, b| a >= b), "seed {seed}: {costs:?}");
            assert_eq!(
                by(Effort::Steps(100)),
                by(Effort::Steps(100)),
                "seed {seed}"
            );
            let plain = route(&grid, net).cost();
            let [none, some] = [Duration::ZERO, Duration::from_millis(30)];
            assert!(by(Effort::Time(none)).cost() <= plain, "seed {seed}");
            assert!(by(Effort::Time(some)).cost() <= plain, "seed {seed}");
            assert!(by(Effort::Time(Duration::from_millis(1))).cost() <= plain);
            say(&format!(
                "{} pins: {plain}, improved {costs:?}",
                net.pins.len()
            ));
        }
    }
}

/// Large nets, which several threads improve together, and small ones, which they share.
#[test]
fn trees_are_the_same_on_any_number_of_threads() {
    for (nets, pins, windows, most) in [
        (1, 30, false, 90),
        (1, 600, false, 90),
        // With many paths that cost the same.
        (1, 400, false, 2),
        (12, 9, true, 90),
    ] {
        let recipe = Recipe {
            width: 440,
            height: 330,
            most,
            pins,
            nets,
            windows,
            seed: 5,
            ..USUAL
        };
        let Case { grid, nets, .. } = recipe.draw();
        let options = RouteOptions::default().tree(TreeKind::Improved);
        let routes = || Engine::cpu().route(&grid, &nets, &options).unwrap();
        let one_by_one: Vec<Route> = nets.iter().map(|net| improved(&grid, net)).collect();
        for threads in THREADS {
            let found = on_threads(threads, routes);
            assert_eq!(found, one_by_one, "{threads} threads");
        }
    }
}

#[test]
fn improved_trees_are_near_the_optimum() {
    // Weights, layers, percentage blocked, pins.
    for (least, most, layers, blocked, pins) in [
        (1, 255, 1, 0, 7),
        (1, 3, 1, 0, 7),
        (1, 1, 1, 10, 8),
        (1, 9, 2, 10, 6),
        (0, 2, 1, 10, 7),
    ] {
        let mut count = 0;
        let mut optimal = 0;
        // In percent, of improved trees and plain ones.
        let mut sums = [0.0; 2];
        let mut worst = [0.0f64; 2];
        for seed in 0..120 {
            let recipe = Recipe {
                width: 14,
                height: 14,
                layers,
                least,
                most,
                blocked,
                pins,
                seed,
                ..USUAL
            };
            let Case { grid, nets, .. } = recipe.draw();
            let plain = route(&grid, &nets[0]);
            let optimum = match plain.unreached() {
                [] => route_oracle::steiner_cost(&grid, &nets[0]).unwrap(),
                _ => continue,
            };
            let better = improved(&grid, &nets[0]).cost();
            assert!(optimum <= better && better <= plain.cost(), "seed {seed}");
            if optimum == 0 {
                continue;
            }
            count += 1;
            optimal += u32::from(better == optimum);
            for (i, cost) in [better, plain.cost()].into_iter().enumerate() {
                let excess = (cost - optimum) as f64 / optimum as f64 * 100.0;
                sums[i] += excess;
                worst[i] = worst[i].max(excess);
            }
        }
        let [better, plain] = sums.map(|sum| sum / f64::from(count));
        say(&format!(
            "weights {least} to {most}, {layers} layers, {pins} pins: {optimal} of {count} \
             optimal, {better:.3} % above the optimum on average and {:.2} % at worst; plain \
             trees {plain:.3} and {:.2} %",
            worst[0], worst[1]
        ));
        assert!(better < 0.4 && better * 4.0 < plain && count > 50);
    }
}

#[test]
fn most_improved_trees_are_optimal() {
    let mut count = [0; 3];
    for seed in 0..300 {
        let recipe = Recipe {
            width: 12,
            height: 12,
            pins: 7,
            seed,
            ..USUAL
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
    assert!(improved > plain + 30 && improved > 275);
}
