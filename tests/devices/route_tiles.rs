//! Routing in tiles: several nets in one launch, windows, layers, distances, and costs that are too
//! large for a label.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;
use trazar::Error;
use trazar::gpu::{Gpu, GpuBuffer};
use trazar::route::{
    BLOCKED, Cell, DeviceGrid, DeviceRouteAlgorithm, DeviceRouteOptions, DeviceRouter, Net, Pin,
    RouteAlgorithm, RoutingGrid, Window,
};
use trazar_test_support::emulators::seed;
use trazar_test_support::grids::{Weights, net, random_grid};
use trazar_test_support::route_oracle::dijkstra;
use trazar_test_support::routes::mistake;
use trazar_test_support::seeds::Random;

use super::route::{assert_resident, on_cpu};
use super::{Device, PerDevice, check, setup};

/// Routes on a grid in the memory of `gpu`, and compares with the CPU.
fn check_nets<D: Device>(
    _device: &D,
    gpu: &D::Gpu,
    grid: &RoutingGrid,
    nets: &[Net],
) -> Result<(), TestCaseError> {
    let expected = on_cpu(grid, nets);
    let router = DeviceRouter::on(gpu.clone());
    let on_device = DeviceGrid::upload(gpu, grid)?;
    let options = DeviceRouteOptions::default().algorithm(DeviceRouteAlgorithm::Tiles);
    let found = router.route(&on_device, nets, &options);
    let mistake = mistake(found, &expected, RouteAlgorithm::Tiles);
    prop_assert_eq!(mistake, None, "not the CPU's routes; {}", D::notes(gpu));
    Ok(())
}

/// [`check_nets`] on cases that are not shrunk.
#[track_caller]
pub(crate) fn assert_nets<D: Device>(
    device: &D,
    what: &str,
    gpu: &D::Gpu,
    grid: &RoutingGrid,
    nets: &[Net],
) {
    let same = check_nets(device, gpu, grid, nets);
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
pub(crate) fn routes_of_several_nets_in_one_launch<D: Device>(device: &D) {
    let sizes = prop_oneof![
        (side(), 1..=5u32),
        (1..=5u32, side()),
        (60..=70u32, 60..=70u32)
    ];
    let case = (sizes, weights(), 0..=8usize, any::<u64>(), device.any());
    check::<D, _>(
        "several nets in one launch",
        40,
        &case,
        |((width, height), weights, nets, seed, gpu)| {
            let grid = random_grid(width, height, 1, weights, seed);
            let mut random = Random::new(seed);
            let nets: Vec<_> = (0..nets as u64)
                .map(|i| net_in_window(&grid, random.below(6) as usize, seed ^ i))
                .collect();
            check_nets(device, &gpu, &grid, &nets)
        },
    );
}

/// Nets in windows of many sizes.
pub(crate) fn routes_of_many_nets_in_one_launch<D: Device>(device: &D) {
    let ((width, height), largest, nets) = PerDevice {
        emulator: ((40, 30), 10, 3),
        gpu: ((1000, 700), 200, 50),
    }
    .on::<D>();
    for weights in [Weights::Gaps, Weights::Few] {
        let grid = random_grid(width, height, 2, weights, 13);
        let mut random = Random::new(14);
        let nets: Vec<_> = (0..nets)
            .map(|_| {
                let size = [1 + random.below(largest), 1 + random.below(largest)];
                let window = Window {
                    x: random.below(width - size[0]),
                    y: random.below(height - size[1]),
                    width: size[0],
                    height: size[1],
                };
                let pins = random.below(9);
                let mut cell = || {
                    let (x, y) = (random.below(window.width), random.below(window.height));
                    Cell::at(window.x + x, window.y + y).on(random.below(2))
                };
                Net::from_cells((0..pins).map(|_| cell()).collect::<Vec<_>>()).within(window)
            })
            .collect();
        assert_resident(device, &format!("{weights:?}"), &grid, &nets);
    }
}

/// On a device with one multiprocessor, where one block does everything, and on one with almost as
/// many as there are slots.
pub(crate) fn routes_on_any_number_of_multiprocessors<D: Device>(device: &D) {
    let grid = random_grid(66, 66, 1, Weights::Small, seed());
    // Fifteen nets, of four tiles each. Few blocks do as much with few nets.
    let nets: Vec<_> = (0..15).map(|i| net(&grid, 2, seed() + i)).collect();
    let few = PerDevice {
        emulator: [3, 4],
        gpu: [15, 15],
    };
    let [one, three] = few.on::<D>();
    for (multiprocessors, of) in [(1, one), (3, three), (60, 15)] {
        let gpu = device.gpu(setup(seed()).multiprocessors(multiprocessors));
        let what = format!("{multiprocessors} multiprocessors");
        assert_nets(device, &what, &gpu, &grid, &nets[..of]);
    }
}

/// A tile that waits because a nearer pin was found meanwhile, and that no other path reaches: it
/// must be woken when the bound has grown, also if the bound then equals the distance at its edge,
/// as it does where two pins are equally far.
pub(crate) fn routes_into_tiles_that_wait<D: Device>(device: &D) {
    // Cell 63 is at a distance of 117 from 180, and so is 250 from 195.
    let weight = |x, _| if x == 200 { 63 } else { 1 };
    let grid = RoutingGrid::from_fn(320, 1, weight, |_, _| BLOCKED).unwrap();
    let net = |x: [u32; 4]| Net::from_cells(x.map(|x| Cell::at(x, 0)));
    let equal = [net([180, 195, 63, 250]), net([180, 195, 250, 63])];
    for order in seed()..seed() + 6 {
        for blocks in [1, 2, 4] {
            for net in &equal {
                let gpu = device.gpu(setup(order).multiprocessors(4).resident_blocks(blocks));
                let what = format!("order {order}, {blocks} blocks");
                assert_nets(device, &what, &gpu, &grid, std::slice::from_ref(net));
            }
        }
    }
}

/// Grids of more than one tile with every number of layers; the layers of a tile are a power of
/// two. On the emulator, those next to a power of two, and one of the others.
pub(crate) fn routes_in_every_number_of_layers<D: Device>(device: &D) {
    let others = [6, 7, 10, 11, 12, 13, 14, 15];
    let drawn = others[(seed() % 8) as usize];
    let left_out = PerDevice {
        emulator: &others[..],
        gpu: &[],
    }
    .on::<D>();
    for layers in (1..=16).filter(|layers| *layers == drawn || !left_out.contains(layers)) {
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
        assert_nets(device, &what, &device.gpu(order), &grid, &nets);
    }
}

/// Windows that begin and end in the middle of tiles, of patches, and where tiles meet.
pub(crate) fn routes_within_windows_that_cut_tiles<D: Device>(device: &D) {
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
    let blocks = PerDevice {
        emulator: &[2, 5][..],
        gpu: &[1, 2, 5],
    };
    for (order, &blocks) in (seed()..).zip(blocks.on::<D>()) {
        let gpu = device.gpu(setup(order).multiprocessors(blocks));
        assert_nets(device, &format!("{blocks} blocks"), &gpu, &grid, &nets);
    }
}

/// Pins that are equal, that share cells, that have more cells than a block has threads, and that
/// no path reaches, some of them only in part.
pub(crate) fn routes_of_unusual_pins<D: Device>(device: &D) {
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
    assert_nets(device, "unusual pins", &device.gpu(seed()), &grid, &nets);
}

/// Costs that exceed labels of 32 bits, without any edge of weight 0: tiles change to labels of 64
/// bits.
pub(crate) fn routes_past_two_to_the_31<D: Device>(device: &D) {
    // 64 edges of 2²⁵ - 1 and five more cost 2³¹ - 2, 2³¹ - 1 and 2³¹.
    for last in [58, 59, 60] {
        let row = |x, _| match x {
            0..64 => (1 << 25) - 1,
            68 => last,
            _ => 1,
        };
        let grid = RoutingGrid::from_fn(70, 1, row, |_, _| BLOCKED).unwrap();
        let net = Net::from_cells([Cell::at(0, 0), Cell::at(69, 0)]);
        assert_nets(
            device,
            &format!("last {last}"),
            &device.gpu(seed()),
            &grid,
            &[net],
        );
    }
}

/// A path that costs 2³⁵ - 1 is found; one that costs 2³⁵ is refused; where no path leads to a pin,
/// costs elsewhere do not matter.
pub(crate) fn costs_that_no_label_holds<D: Device>(device: &D) {
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
        assert_nets(
            device,
            &what,
            &device.gpu(seed()),
            &row(last),
            &[net(cells)],
        );
    }
    let gpu = device.gpu(seed());
    let router = DeviceRouter::on(gpu.clone());
    let far = DeviceGrid::upload(&gpu, &row(16)).unwrap();
    assert!(matches!(
        router.distances(&far, &[Cell::at(0, 0)]),
        Err(Error::CostTooLarge { .. })
    ));
    let found = router.route(&far, &[net(&[0, 9])], &DeviceRouteOptions::default());
    assert!(matches!(found, Err(Error::CostTooLarge { .. })));
}

/// Costs that become too large for a label over a via, up or down.
pub(crate) fn costs_that_no_label_holds_across_vias<D: Device>(device: &D) {
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
            let gpu = device.gpu(seed());
            assert_nets(device, &what, &gpu, &grid, &[Net::from_cells(ends)]);
            let on_device = DeviceGrid::upload(&gpu, &grid).unwrap();
            let found = DeviceRouter::on(gpu).distances(&on_device, &ends[..1]);
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

pub(crate) fn distances_to_all_cells<D: Device>(device: &D) {
    let sizes = prop_oneof![
        (side(), 1..=5u32, 1..=5u32),
        (1..=5u32, side(), 1..=5u32),
        (60..=70u32, 60..=70u32, 1..=2u32),
        (15..=20u32, 15..=20u32, 9..=16u32),
    ];
    let case = (sizes, weights(), 0..=4u32, any::<u64>(), device.any());
    check::<D, _>(
        "distances",
        30,
        &case,
        |((width, height, layers), weights, sources, seed, gpu)| {
            let grid = random_grid(width, height, layers, weights, seed);
            let mut random = Random::new(seed);
            let cells = grid.cell_count();
            let sources: Vec<_> = (0..=sources)
                .map(|_| grid.cell(random.below(cells)))
                .collect();
            let expected = dijkstra(&grid, &sources);
            let largest = expected.iter().filter(|&&cost| cost < u64::MAX).max();
            let on_device = DeviceGrid::upload(&gpu, &grid)?;
            let found = DeviceRouter::on(gpu.clone()).distances(&on_device, &sources);
            if largest.is_some_and(|&cost| cost >= 1 << 35) {
                let refused = matches!(found, Err(Error::CostTooLarge { .. }));
                prop_assert!(refused, "{:?}", found);
                return Ok(());
            }
            prop_assert_eq!(
                found?.to_vec()?,
                expected,
                "not the CPU's distances; {}",
                D::notes(&gpu)
            );
            Ok(())
        },
    );
    let large = PerDevice {
        emulator: &[][..],
        gpu: &[(1, Weights::Gaps), (2, Weights::Few), (5, Weights::Small)],
    };
    for &(layers, weights) in large.on::<D>() {
        let grid = random_grid(300, 200, layers, weights, 15);
        let mut random = Random::new(16);
        let sources = [0; 3].map(|_| grid.cell(random.below(grid.cell_count())));
        assert_distances(&device.gpu(seed()), &grid, &sources);
    }
}

/// Compares the distances of all cells in tiles with those of a plain search on the CPU.
pub(crate) fn assert_distances<G: Gpu>(gpu: &G, grid: &RoutingGrid, sources: &[Cell]) {
    let on_device = DeviceGrid::upload(gpu, grid).unwrap();
    let found = DeviceRouter::on(gpu.clone())
        .distances(&on_device, sources)
        .unwrap();
    let (found, expected) = (found.to_vec().unwrap(), dijkstra(grid, sources));
    let differs = found.iter().zip(&expected).position(|(a, b)| a != b);
    assert_eq!(found.len(), expected.len());
    assert!(
        differs.is_none(),
        "not the CPU's distances: {:?}: {:?}, not {:?}",
        differs.map(|i| grid.cell(i as u32)),
        differs.map(|i| found[i]),
        differs.map(|i| expected[i])
    );
}

/// A row of cells whose far end costs 11 times 2^30.
pub(crate) fn distances_past_two_to_the_32<D: Device>(device: &D) {
    let grid = RoutingGrid::uniform(12, 1, 1 << 30).unwrap();
    let sources = [Cell::at(0, 0)];
    let gpu = device.gpu(seed());
    let on_device = DeviceGrid::upload(&gpu, &grid).unwrap();
    let router = DeviceRouter::on(gpu);
    let found = router.distances(&on_device, &sources).unwrap();
    let expected = dijkstra(&grid, &sources);
    assert_eq!(expected[11], 11 << 30);
    assert_eq!(found.to_vec().unwrap(), expected, "not the CPU's distances");
}
