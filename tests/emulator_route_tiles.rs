//! Routing in tiles under the emulator: several nets in one launch, windows, layers, distances, and costs that are too large for a
//! label, whatever the order of the threads and the number of blocks.
//!
//! Grids, nets and orders follow one seed, which a failure names: `TRAZAR_SEED` gives another.

#[allow(dead_code, reason = "the images are for other tests")]
mod emulated;
#[allow(dead_code, reason = "the other algorithms are for other tests")]
mod routes;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use emulated::{check, emulator, seed};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;
use routes::{Random, Weights, mistake, net, random_grid};
use trazar::emulator::{Emulator, Schedule};
use trazar::route::{
    BLOCKED, Cell, DeviceGrid, DeviceRouter, Net, Pin, RouteAlgorithm, RouteOptions, RoutingGrid,
    Window,
};
use trazar::{Engine, Error};

/// Routes on a grid that stays on the device, and compares with the CPU.
fn check_nets(
    emulator: &Emulator,
    grid: &RoutingGrid,
    nets: &[Net],
) -> Result<(), TestCaseError> {
    let expected = Engine::cpu()
        .route(grid, nets, &RouteOptions::default())
        .unwrap();
    let router = DeviceRouter::on(emulator.clone());
    let on_device = DeviceGrid::upload(emulator, grid)?;
    let found = router.route(&on_device, nets);
    prop_assert_eq!(mistake(found, &expected, RouteAlgorithm::Tiles), None);
    Ok(())
}

/// [`check_nets`] for what is drawn once.
#[track_caller]
fn assert_nets(what: &str, emulator: &Emulator, grid: &RoutingGrid, nets: &[Net]) {
    let same = check_nets(emulator, grid, nets);
    assert!(same.is_ok(), "seed {}, {what}: {same:?}", seed());
}

fn weights() -> impl Strategy<Value = Weights> {
    select(&Weights::ALL[..])
}

/// A net whose pins and window are drawn, some windows being the whole grid.
fn net_in_window(grid: &RoutingGrid, pins: usize, seed: u64) -> Net {
    let mut random = Random::new(seed);
    let mut stretch = |length: u32| {
        let (a, b) = (random.below(length), random.below(length));
        (a.min(b), a.abs_diff(b) + 1)
    };
    let ((x, width), (y, height)) = (stretch(grid.width()), stretch(grid.height()));
    let window = Window {
        x,
        y,
        width,
        height,
    };
    if random.below(4) == 0 {
        return net(grid, pins, seed);
    }
    let part = grid.crop(window).unwrap();
    let mut net = net(&part, pins, seed);
    for cell in net.pins.iter_mut().flat_map(|pin| &mut pin.cells) {
        (cell.x, cell.y) = (cell.x + x, cell.y + y);
    }
    net.within(window)
}

/// Sides about as long as one or two tiles of few and of many layers.
fn side() -> impl Strategy<Value = u32> {
    select(vec![
        1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129,
    ])
}

/// Up to eight nets at once.
#[test]
fn routes_of_several_nets_in_one_launch() {
    let sizes = prop_oneof![
        (side(), 1..=5u32),
        (1..=5u32, side()),
        (60..=70u32, 60..=70u32)
    ];
    let case = (sizes, weights(), 0..=8usize, any::<u64>(), emulator());
    check(
        "several nets in one launch",
        40,
        &case,
        |((width, height), weights, nets, seed, emulator)| {
            let grid = random_grid(width, height, 1, weights, seed);
            let mut random = Random::new(seed);
            let nets: Vec<_> = (0..nets as u64)
                .map(|i| net_in_window(&grid, random.below(6) as usize, seed ^ i))
                .collect();
            check_nets(&emulator, &grid, &nets)
        },
    );
}
