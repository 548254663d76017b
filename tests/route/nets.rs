//! Many nets at the same time: the routes of one after the other, on any number of threads.

use trazar::Engine;
use trazar::generate::RandomNets;
use trazar::route::{Net, RouteOptions, Window};
use trazar_test_support::seeds::{Random, seed_or};
use trazar_test_support::threads::on_threads;

use super::{THREADS, algorithms, by, route};

#[test]
fn many_nets_have_the_routes_of_each_alone() {
    let seed = seed_or(41);
    let mut random = Random::new(seed);
    let grid = RandomNets::default().width(150).height(140).layers(2);
    let case = grid.nets(24).pins(5).blocked(0.1).generate(seed).unwrap();
    // Some in windows; together more cells than it takes for threads to be woken.
    let nets: Vec<Net> = (0..)
        .zip(&case.nets)
        .map(|(i, net)| {
            let xs = || net.pins.iter().map(|pin| pin.cells[0].x);
            let ys = || net.pins.iter().map(|pin| pin.cells[0].y);
            let (x, y) = (xs().min().unwrap(), ys().min().unwrap());
            let window = Window {
                x,
                y,
                width: xs().max().unwrap() - x + 1,
                height: ys().max().unwrap() - y + 1,
            };
            let is_in_window = i % 3 > 0 || random.below(2) == 0;
            net.clone().within(is_in_window.then_some(window))
        })
        .collect();
    let alone: Vec<_> = nets.iter().map(|net| route(&case.grid, net)).collect();
    for algorithm in algorithms() {
        for threads in THREADS {
            let routes = on_threads(threads, || {
                Engine::cpu()
                    .route(&case.grid, &nets, &by(algorithm))
                    .unwrap()
            });
            assert!(routes == alone, "{} on {threads} threads", algorithm.name());
        }
    }
    // In another order, and by the fewest edges.
    let reversed: Vec<Net> = nets.iter().rev().cloned().collect();
    let options = RouteOptions::default();
    let mut routes = on_threads(3, || {
        Engine::cpu()
            .route(&case.grid, &reversed, &options)
            .unwrap()
    });
    routes.reverse();
    assert!(routes == alone);
    let fewest = |threads| {
        on_threads(threads, || {
            Engine::cpu().route_fewest_edges(&case.grid, &nets).unwrap()
        })
    };
    let expected = fewest(1);
    for threads in THREADS {
        assert!(fewest(threads) == expected, "{threads} threads");
    }
}

#[test]
fn a_call_with_many_nets_can_be_cancelled() {
    use std::ops::ControlFlow;
    use std::sync::atomic::{AtomicU32, Ordering};

    let case = RandomNets::default().width(150).height(140).nets(24);
    let case = case.pins(5).generate(seed_or(42)).unwrap();
    let calls = AtomicU32::new(0);
    let calls = std::sync::Arc::new(calls);
    let counted = calls.clone();
    let engine = Engine::cpu().with_progress(move |share| {
        assert!((0.0..=1.0).contains(&share), "{share}");
        match counted.fetch_add(1, Ordering::Relaxed) {
            20.. => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    let found = on_threads(2, || {
        engine.route(&case.grid, &case.nets, &RouteOptions::default())
    });
    assert!(matches!(found, Err(trazar::Error::Cancelled)), "{found:?}");
    assert!(calls.load(Ordering::Relaxed) >= 21);
}
