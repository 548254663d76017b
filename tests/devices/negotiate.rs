//! Nets that compete for edges: the trees of the processor, edge by edge, and its rounds.
//!
//! The processor finds a path by one search and goes back through what that search has not seen.
//! The device labels all cells on cheapest paths first. So two algorithms decide between ties.

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use trazar::Engine;
use trazar::generate::CompetingNets;
use trazar::gpu::Gpu;
use trazar::route::{
    Cell, EdgeCounts, Negotiated, NegotiationOptions, Net, Pin, RoutingCase, RoutingGrid, Window,
};
use trazar_test_support::competing::any_case;
use trazar_test_support::emulators::seed;
use trazar_test_support::seeds::Random;

use super::{Device, PerDevice, check, setup};

/// Negotiates on a device, and compares with the processor. Returns what both have found.
fn check_case<G: Gpu + Send + Sync + 'static>(
    gpu: &G,
    case: &RoutingCase,
    options: &NegotiationOptions,
) -> Result<Negotiated, TestCaseError> {
    let capacities = case.capacities.as_ref().expect("capacities");
    let by = |engine: Engine| engine.negotiate(&case.grid, capacities, &case.nets, options);
    let (expected, found) = (by(Engine::cpu())?, by(Engine::on(gpu.clone()))?);
    for (net, (found, expected)) in found.routes.iter().zip(&expected.routes).enumerate() {
        prop_assert_eq!(found, expected, "not the CPU's tree of net {}", net);
    }
    prop_assert_eq!(&found, &expected, "not the CPU's result");
    Ok(found)
}

/// [`check_case`] on a case that is not shrunk.
#[track_caller]
fn assert_case<D: Device>(
    device: &D,
    what: &str,
    case: &RoutingCase,
    options: &NegotiationOptions,
) -> Negotiated {
    match check_case(&device.gpu(setup(seed())), case, options) {
        Ok(found) => found,
        Err(different) => panic!("seed {}, {what}: {different}", seed()),
    }
}

/// Few cells, weights that are often equal, edges for no net, some or all, pins of several cells.
pub(crate) fn negotiations_of_random_nets<D: Device>(device: &D) {
    let case = (any_case(), 0..4u32, device.any());
    check::<D, _>("competing nets", 60, &case, |(case, margin, gpu)| {
        let options = NegotiationOptions::default().rounds(6).margin(margin);
        check_case(&gpu, &case, &options)?;
        Ok(())
    });
}

/// As in the benchmarks: many rounds, in which nets give up edges, until nothing is overfull.
pub(crate) fn negotiations_of_nets_with_a_solution<D: Device>(device: &D) {
    let sides = PerDevice {
        emulator: &[(24, 18, 24), (30, 16, 30)][..],
        gpu: &[(24, 18, 24), (60, 50, 150), (128, 128, 400), (400, 90, 900)][..],
    };
    for (i, &(width, height, nets)) in sides.on::<D>().iter().enumerate() {
        let case = CompetingNets::default()
            .width(width)
            .height(height)
            .nets(nets);
        let case = case
            .layers(2 + i as u32 % 3)
            .pins(3 + i as u32 % 3)
            .reach(16)
            .demand(0.8);
        let case = case.generate(seed() + i as u64).expect("a case");
        let options = NegotiationOptions::default().rounds(30);
        let found = assert_case(device, &format!("{width} × {height}"), &case, &options);
        assert!(found.rounds.len() > 1, "nothing to negotiate");
    }
}

/// A window that takes the straight way from a net.
pub(crate) fn negotiations_within_windows<D: Device>(device: &D) {
    let grid = RoutingGrid::uniform(12, 9, 1).expect("a grid");
    let capacities = EdgeCounts::uniform(&grid, 1, 0).expect("capacities");
    let window = |y: u32, height: u32| Window {
        x: 1,
        y,
        width: 10,
        height,
    };
    let net = Net::from_cells([Cell::at(1, 4), Cell::at(9, 4), Cell::at(5, 4)]);
    let nets = [
        net.clone(),
        net.clone().within(window(4, 1)),
        net.within(window(3, 5)),
    ];
    let case = RoutingCase::new(grid, nets).with_capacities(capacities);
    let options = NegotiationOptions::default().margin(1);
    let found = assert_case(device, "windows", &case, &options);
    assert_eq!(found.overflow(), 0);
}

/// Pins behind walls: the path leaves the box around its ends; a pin of two cells leads around a
/// wall, to a pin that there was no path to before.
pub(crate) fn negotiations_around_walls<D: Device>(device: &D) {
    let size = PerDevice {
        emulator: 21,
        gpu: 120,
    };
    let size = size.on::<D>();
    let layer = RoutingGrid::uniform(size, size, 2).expect("a grid");
    let vias = vec![3; (size * size) as usize];
    let mut grid = RoutingGrid::stack(&[layer.clone(), layer], &vias).expect("layers");
    let wall = size / 2;
    for layer in 0..2 {
        for y in 0..size {
            let cell = Cell { x: wall, y, layer };
            grid.set_right(cell, trazar::route::BLOCKED)
                .expect("an edge");
        }
    }
    let cell = |x: u32, y: u32, layer: u32| Cell { x, y, layer };
    let far = size - 1;
    let beside = Pin::new([cell(wall, far, 0), cell(wall + 1, far, 1)]);
    let nets = [
        Net::new([
            Pin::new([cell(0, 0, 0)]),
            Pin::new([cell(wall + 1, 0, 0)]),
            beside,
            Pin::new([cell(far, far, 1)]),
        ]),
        // No way at all.
        Net::from_cells([cell(1, 1, 0), cell(size - 2, 1, 0), cell(1, size - 1, 1)]),
    ];
    let capacities = EdgeCounts::uniform(&grid, 1, 1).expect("capacities");
    // The way around a second wall, whose end lies outside the box around a path's ends.
    let mut with_gap = grid.clone();
    let gap = cell(wall, size - 1, 0);
    with_gap.set_right(gap, 2).expect("an edge");
    for (what, grid, unreached) in [("a wall", grid, 1), ("a wall with a gap", with_gap, 0)] {
        let case = RoutingCase::new(grid, nets.clone()).with_capacities(capacities.clone());
        let options = NegotiationOptions::default().margin(1).rounds(20);
        let found = assert_case(device, what, &case, &options);
        assert_eq!(found.routes[0].unreached(), [0_usize; 0], "{what}");
        assert_eq!(found.routes[1].unreached().len(), unreached, "{what}");
    }
}

/// More pins than a block has warps, and as many on the same cell.
pub(crate) fn negotiations_of_many_pins<D: Device>(device: &D) {
    let counts = PerDevice {
        emulator: &[40][..],
        gpu: &[40, 700][..],
    };
    for &pins in counts.on::<D>() {
        let (width, height) = (30, 22);
        let mut random = Random::new(seed());
        let mut grid = RoutingGrid::uniform(width, height, 1).expect("a grid");
        for index in 0..grid.cell_count() {
            let cell = grid.cell(index);
            if cell.x + 1 < width {
                grid.set_right(cell, 1 + random.below(5) as u32)
                    .expect("an edge");
            }
        }
        let mut cell = || Cell::at(random.below(30) as u32, random.below(22) as u32);
        let nets = [(); 2].map(|()| {
            let cells: Vec<_> = (0..pins).map(|_| cell()).collect();
            Net::from_cells(cells)
        });
        let capacities = EdgeCounts::uniform(&grid, 1, 0).expect("capacities");
        let case = RoutingCase::new(grid, nets).with_capacities(capacities);
        let options = NegotiationOptions::default().rounds(3);
        assert_case(device, &format!("{pins} pins"), &case, &options);
    }
}
