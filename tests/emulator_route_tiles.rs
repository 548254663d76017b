//! Routing in tiles under the emulator, in every order of the threads and with every number of
//! blocks: several nets in one launch, windows, layers, distances, and costs that are too large for
//! a label.
//!
//! Grids, nets and orders follow one seed, which a failure names; `TRAZAR_SEED` replaces it.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;
use trazar::emulator::{Emulator, Schedule};
use trazar::route::{
    BLOCKED, Cell, DeviceGrid, DeviceRouteAlgorithm, DeviceRouteOptions, DeviceRouter, Net, Pin,
    RouteAlgorithm, RouteOptions, RoutingGrid, Window,
};
use trazar::{Engine, Error};
use trazar_test_support::emulators::{check, emulator, emulator_of, seed, stale_loads};
use trazar_test_support::grids::{Weights, net, random_grid};
use trazar_test_support::route_oracle::dijkstra;
use trazar_test_support::routes::mistake;
use trazar_test_support::seeds::Random;

/// Routes on a grid in the device's memory, and compares with the CPU.
fn check_nets(emulator: &Emulator, grid: &RoutingGrid, nets: &[Net]) -> Result<(), TestCaseError> {
    let expected = Engine::cpu()
        .route(grid, nets, &RouteOptions::default())
        .unwrap();
    let router = DeviceRouter::on(emulator.clone());
    let on_device = DeviceGrid::upload(emulator, grid)?;
    let found = router.route(
        &on_device,
        nets,
        &DeviceRouteOptions::default().algorithm(DeviceRouteAlgorithm::Tiles),
    );
    let mistake = mistake(found, &expected, RouteAlgorithm::Tiles);
    prop_assert_eq!(
        mistake,
        None,
        "not the CPU's routes; {}",
        stale_loads(emulator)
    );
    Ok(())
}

/// [`check_nets`] on cases that are not shrunk.
#[track_caller]
fn assert_nets(what: &str, emulator: &Emulator, grid: &RoutingGrid, nets: &[Net]) {
    let same = check_nets(emulator, grid, nets);
    assert!(same.is_ok(), "seed {}, {what}: {same:?}", seed());
}

fn weights() -> impl Strategy<Value = Weights> {
    select(&Weights::ALL[..])
}

/// A net with random pins and a random window, which may be the whole grid.
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

/// Sides that are about as long as one or two tiles, of few layers and of many.
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

/// A limit of steps for one net on a small grid: several times what it takes, also when threads
/// stall.
const FEW_STEPS: u64 = 1 << 22;

/// Some blocks are far behind the others: no label of a net counts as final before all blocks that
/// lower labels are done.
#[test]
fn routes_while_blocks_are_late() {
    let sizes = [(66, 1), (130, 1), (1, 130), (66, 66)];

    for (order, (width, height)) in (seed()..).zip(sizes.into_iter().cycle().take(40)) {
        let grid = random_grid(width, height, 1, Weights::Small, order);
        let net = net(&grid, 6, order);
        // Some blocks must be resident to be late.
        let emulator = emulator_of(order)
            .with_schedule(Schedule::Priorities)
            .with_multiprocessors(4)
            .with_step_limit(FEW_STEPS);
        assert_nets(&format!("order {order}"), &emulator, &grid, &[net]);
    }
}

/// Blocks, warps and threads that stall between two steps, above all between two steps that others
/// see: a net's hold must be taken before the work that it protects, and before it is given back.
#[test]
fn routes_while_threads_stall() {
    let sizes = [(66, 1), (130, 1), (1, 130)];
    // About one order in a hundred shows a hold that is taken too late; with the usual seed, order
    // 52 does.
    let orders = seed() + 48..;
    for (order, (width, height)) in orders.zip(sizes.into_iter().cycle().take(12)) {
        let grid = random_grid(width, height, 1, Weights::Small, order);
        let net = net(&grid, 6, order);
        let emulator = emulator_of(order)
            .with_schedule(Schedule::Stalls)
            .with_multiprocessors(3)
            .with_step_limit(FEW_STEPS);
        assert_nets(&format!("order {order}"), &emulator, &grid, &[net]);
    }
}

/// On a device with one multiprocessor, where one block does everything, and on one with almost as
/// many as there are slots.
#[test]
fn routes_on_any_number_of_multiprocessors() {
    let grid = random_grid(66, 66, 1, Weights::Small, seed());
    // Fifteen nets, of four tiles each.
    let nets: Vec<_> = (0..15).map(|i| net(&grid, 2, seed() + i)).collect();
    for multiprocessors in [1, 3, 60] {
        let emulator = emulator_of(seed()).with_multiprocessors(multiprocessors);
        let what = format!("{multiprocessors} multiprocessors");
        assert_nets(&what, &emulator, &grid, &nets);
    }
}

/// A tile that waits because a nearer pin was found meanwhile, and that no other path reaches: it
/// must be woken when the bound has grown, also if the bound then equals the distance at its edge,
/// as it does where two pins are equally far.
#[test]
fn routes_into_tiles_that_wait() {
    // Cell 63 is at a distance of 117 from 180, and so is 250 from 195.
    let weight = |x, _| if x == 200 { 63 } else { 1 };
    let grid = RoutingGrid::from_fn(320, 1, weight, |_, _| BLOCKED).unwrap();
    let net = |x: [u32; 4]| Net::from_cells(x.map(|x| Cell::at(x, 0)));
    let equal = [net([180, 195, 63, 250]), net([180, 195, 250, 63])];
    for order in seed()..seed() + 6 {
        for blocks in [1, 2, 4] {
            for net in &equal {
                let emulator = emulator_of(order)
                    .with_multiprocessors(4)
                    .with_resident_blocks(blocks);
                let what = format!("order {order}, {blocks} blocks");
                assert_nets(&what, &emulator, &grid, std::slice::from_ref(net));
            }
        }
    }
}

/// Grids of more than one tile with every number of layers; the layers of a tile are a power of
/// two.
#[test]
fn routes_in_every_number_of_layers() {
    for layers in 1..=16u32 {
        let order = seed() + u64::from(layers);
        let (columns, rows) = match layers {
            1 => (64, 64),
            2 => (64, 32),
            3..=4 => (32, 32),
            5..=8 => (32, 16),
            _ => (16, 16),
        };
        let size = [(columns + 3, 2), (2, rows + 3), (columns + 1, rows + 1)];
        let (width, height) = size[layers as usize % 3];
        let weights = Weights::ALL[layers as usize % 4];
        let grid = random_grid(width, height, layers, weights, order);
        // Also from the first corner of the first layer to the last corner of the last one.
        let mut whole = net(&grid, 2, order);
        let end = Cell::at(width - 1, height - 1).on(layers - 1);
        whole.pins.extend([Cell::at(0, 0), end].map(Pin::from));
        let nets = [whole, net_in_window(&grid, 3, order)];
        let what = format!("{width} x {height} x {layers}, {weights:?}");
        assert_nets(&what, &emulator_of(order), &grid, &nets);
    }
}

/// Windows that begin and end in the middle of tiles, of patches, and where tiles meet.
#[test]
fn routes_within_windows_that_cut_tiles() {
    let grid = random_grid(131, 70, 1, Weights::Few, seed());
    let window = |x, y, width, height| Window {
        x,
        y,
        width,
        height,
    };
    let windows = [
        window(0, 0, 131, 70),
        window(63, 0, 2, 70),
        window(64, 64, 64, 6),
        window(1, 63, 130, 3),
        window(5, 69, 126, 1),
        window(62, 61, 5, 5),
        window(128, 0, 3, 70),
        window(127, 69, 1, 1),
        window(3, 5, 61, 60),
    ];
    let nets = windows.map(|window| {
        let (right, bottom) = (window.x + window.width - 1, window.y + window.height - 1);
        let corners = [
            (window.x, window.y),
            (right, bottom),
            (right, window.y),
            (window.x, bottom),
        ];
        Net::from_cells(corners.map(|(x, y)| Cell::at(x, y))).within(window)
    });
    for (order, blocks) in (seed()..).zip([1, 2, 5]) {
        let emulator = emulator_of(order).with_multiprocessors(blocks);
        assert_nets(&format!("{blocks} blocks"), &emulator, &grid, &nets);
    }
}

/// Pins that are equal, that share cells, that have more cells than a block has threads, and that
/// no path reaches, some of them only in part.
#[test]
fn routes_of_unusual_pins() {
    let mut grid = random_grid(70, 20, 1, Weights::Small, seed());
    for y in 0..20 {
        grid.block(Cell::at(66, y)).unwrap();
    }
    let row = |y: u32, from: u32, to: u32| Pin::new((from..to).map(|x| Cell::at(x, y)));
    let cell = |x, y| Pin::from(Cell::at(x, y));
    let all = Pin::new((0..1280).map(|i| Cell::at(i % 64, i / 64)));
    let twice = Pin::new(vec![Cell::at(9, 9); 3]);
    let nets = [
        vec![],
        vec![cell(5, 5)],
        vec![cell(68, 5), cell(69, 6), cell(5, 5)],
        vec![
            cell(5, 5),
            cell(5, 5),
            cell(68, 1),
            cell(5, 5),
            row(19, 0, 60),
        ],
        vec![twice.clone(), row(3, 0, 70), row(3, 30, 66), twice],
        vec![cell(0, 0), all, cell(69, 19), cell(65, 19)],
    ];
    let nets = nets.map(Net::new);
    assert_nets("unusual pins", &emulator_of(seed()), &grid, &nets);
}

/// Costs that exceed labels of 32 bits, without any edge of weight 0: tiles change to labels of 64
/// bits.
#[test]
fn routes_past_two_to_the_31() {
    // 64 edges of 2²⁵ - 1 and five more cost 2³¹ - 2, 2³¹ - 1 and 2³¹.
    for last in [58, 59, 60] {
        let row = |x, _| match x {
            0..64 => (1 << 25) - 1,
            68 => last,
            _ => 1,
        };
        let grid = RoutingGrid::from_fn(70, 1, row, |_, _| BLOCKED).unwrap();
        let net = Net::from_cells([Cell::at(0, 0), Cell::at(69, 0)]);
        assert_nets(&format!("last {last}"), &emulator_of(seed()), &grid, &[net]);
    }
}

/// A path that costs 2³⁵ - 1 is found; one that costs 2³⁵ is refused; where no path leads to a pin,
/// costs elsewhere do not matter.
#[test]
fn costs_that_no_label_holds() {
    let row = |last: u32| {
        // Eight edges of 2³² - 2 and one of 16 are 2³⁵.
        let weight = move |x, _| match x {
            0..8 => BLOCKED - 1,
            8 => last,
            _ => BLOCKED,
        };
        RoutingGrid::from_fn(11, 1, weight, |_, _| BLOCKED).unwrap()
    };
    let net = |x: &[u32]| Net::from_cells(x.iter().map(|&x| Cell::at(x, 0)));
    for (last, cells) in [
        (15, &[0, 9][..]),
        (16, &[0, 9]),
        (16, &[0, 9, 10]),
        (15, &[0, 9, 10]),
        (16, &[0, 10]),
        (16, &[0, 1, 9]),
        (16, &[0, 8, 10]),
    ] {
        let what = format!("{last}, {cells:?}");
        assert_nets(&what, &emulator_of(seed()), &row(last), &[net(cells)]);
    }
    let emulator = emulator_of(seed());
    let router = DeviceRouter::on(emulator.clone());
    let far = DeviceGrid::upload(&emulator, &row(16)).unwrap();
    assert!(matches!(
        router.distances(&far, &[Cell::at(0, 0)]),
        Err(Error::CostTooLarge { .. })
    ));
    let found = router.route(&far, &[net(&[0, 9])], &DeviceRouteOptions::default());
    assert!(matches!(found, Err(Error::CostTooLarge { .. })));
}

/// Costs that become too large for a label over a via, up or down.
#[test]
fn costs_that_no_label_holds_across_vias() {
    // Edges of one layer, then a via: 2³¹ - 1, which needs labels of 64 bits; 2³⁵ - 1 and 2³⁵.
    for (edges, weight, via) in [
        (64, (1 << 25) - 1, 63),
        (8, BLOCKED - 1, 15),
        (8, BLOCKED - 1, 16),
    ] {
        let width = edges + 1;
        let wires = RoutingGrid::from_fn(width, 1, |_, _| weight, |_, _| BLOCKED).unwrap();
        let none = RoutingGrid::uniform(width, 1, BLOCKED).unwrap();
        let mut vias = vec![BLOCKED; width as usize];
        vias[edges as usize] = via;
        for (from, to, layers) in [(0, 1, [&wires, &none]), (1, 0, [&none, &wires])] {
            let grid = RoutingGrid::stack(&layers.map(RoutingGrid::clone), &vias).unwrap();
            let ends = [Cell::at(0, 0).on(from), Cell::at(edges, 0).on(to)];
            let what = format!("{edges} edges, a via of {via} from layer {from}");
            let emulator = Emulator::new(seed());
            assert_nets(&what, &emulator, &grid, &[Net::from_cells(ends)]);
            let on_device = DeviceGrid::upload(&emulator, &grid).unwrap();
            let found = DeviceRouter::on(emulator).distances(&on_device, &ends[..1]);
            let expected = dijkstra(&grid, &ends[..1]);
            match found {
                Ok(found) => assert_eq!(found.to_vec().unwrap(), expected, "{what}"),
                Err(error) => {
                    let too_large = matches!(error, Error::CostTooLarge { .. });
                    assert!(too_large && via == 16, "{what}: {error}");
                }
            }
        }
    }
}

#[test]
fn distances_to_all_cells() {
    let sizes = prop_oneof![
        (side(), 1..=5u32, 1..=5u32),
        (1..=5u32, side(), 1..=5u32),
        (60..=70u32, 60..=70u32, 1..=2u32),
        (15..=20u32, 15..=20u32, 9..=16u32),
    ];
    let case = (sizes, weights(), 0..=4u32, any::<u64>(), emulator());
    check(
        "distances",
        30,
        &case,
        |((width, height, layers), weights, sources, seed, emulator)| {
            let grid = random_grid(width, height, layers, weights, seed);
            let mut random = Random::new(seed);
            let cells = grid.cell_count();
            let sources: Vec<_> = (0..=sources)
                .map(|_| grid.cell(random.below(cells)))
                .collect();
            let expected = dijkstra(&grid, &sources);
            let largest = expected.iter().filter(|&&cost| cost < u64::MAX).max();
            let on_device = DeviceGrid::upload(&emulator, &grid)?;
            let found = DeviceRouter::on(emulator.clone()).distances(&on_device, &sources);
            if largest.is_some_and(|&cost| cost >= 1 << 35) {
                let refused = matches!(found, Err(Error::CostTooLarge { .. }));
                prop_assert!(refused, "{:?}", found);
                return Ok(());
            }
            prop_assert_eq!(
                found?.to_vec()?,
                expected,
                "not the CPU's distances; {}",
                stale_loads(&emulator)
            );
            Ok(())
        },
    );
}

/// A row of cells whose far end costs 11 times 2^30.
#[test]
fn distances_past_two_to_the_32() {
    let grid = RoutingGrid::uniform(12, 1, 1 << 30).unwrap();
    let sources = [Cell::at(0, 0)];
    let emulator = Emulator::new(seed());
    let on_device = DeviceGrid::upload(&emulator, &grid).unwrap();
    let router = DeviceRouter::on(emulator);
    let found = router.distances(&on_device, &sources).unwrap();
    let expected = dijkstra(&grid, &sources);
    assert_eq!(expected[11], 11 << 30);
    assert_eq!(found.to_vec().unwrap(), expected, "not the CPU's distances");
}

/// Two tiles are taken, and the first, with a source in its middle, is done when the second is half
/// done. What the first then gives to the second must be what the second reads when it takes more,
/// though memory is weak.
#[test]
fn distances_that_come_while_a_tile_is_taken() {
    let grid = random_grid(128, 2, 1, Weights::Small, seed());
    let sources = [40, 127].map(|x| Cell::at(x, 1));
    let expected = dijkstra(&grid, &sources);
    let mut stale = 0;
    for order in seed()..seed() + 32 {
        let emulator = Emulator::new(order)
            .with_schedule(Schedule::Random)
            .with_weak_memory(true);
        let on_device = DeviceGrid::upload(&emulator, &grid).unwrap();
        let router = DeviceRouter::on(emulator.clone());
        let found = router.distances(&on_device, &sources).unwrap();
        let same = found.to_vec().unwrap() == expected;
        let stale_lines = stale_loads(&emulator);
        assert!(
            same,
            "not the CPU's distances, order {order}: {stale_lines}"
        );
        stale += emulator.stale_loads().len();
    }
    assert!(stale > 0, "nothing was read while it was written");
}
