//! Routing by fields: nets whose pins are close together, ties, boxes that turn out too small, pins
//! that only a search finds.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;
use trazar::gpu::Gpu;
use trazar::hooks;
use trazar::route::{
    BLOCKED, Cell, DeviceGrid, DeviceRouteOptions, DeviceRouter, Fallback, FieldUse, Net, Pin,
    RouteAlgorithm, RoutingGrid, Window,
};
use trazar_test_support::emulators::seed;
use trazar_test_support::grids::{Weights, net, random_grid};
use trazar_test_support::routes::mistake;
use trazar_test_support::seeds::Random;

use super::route::on_cpu;
use super::{Device, PerDevice, check, setup};

/// Routes by fields, and compares with the CPU. Returns for each net how its pins were joined;
/// nothing if a cost was too large for fields, and had to be refused.
pub(crate) fn check_nets<G: Gpu>(
    gpu: &G,
    grid: &RoutingGrid,
    nets: &[Net],
) -> Result<Vec<FieldUse>, TestCaseError> {
    check_nets_by(&DeviceRouter::on(gpu.clone()), grid, nets)
}

/// The same by a given router.
pub(crate) fn check_nets_by<G: Gpu>(
    router: &DeviceRouter<G>,
    grid: &RoutingGrid,
    nets: &[Net],
) -> Result<Vec<FieldUse>, TestCaseError> {
    let expected = on_cpu(grid, nets);
    let on_device = DeviceGrid::upload(router.gpu(), grid)?;
    let found = router.route(&on_device, nets, &DeviceRouteOptions::default());
    let routes = found.as_deref().unwrap_or_default();
    let uses: Vec<_> = routes
        .iter()
        .filter_map(|route| route.field_use())
        .collect();
    prop_assert_eq!(uses.len(), routes.len());
    for (used, route) in uses.iter().zip(routes) {
        let joined = used.by_fields + used.by_searches + used.in_tiles;
        prop_assert_eq!(joined, route.connections().len());
        prop_assert!(used.in_tiles == 0 || used.fallback.is_some(), "{:?}", used);
    }
    let mistake = mistake(found, &expected, RouteAlgorithm::Fields);
    prop_assert_eq!(mistake, None, "not the CPU's routes");
    Ok(uses)
}

/// Enough shared memory for the largest boxes: their size decides which nets are for fields.
const ROOM: u32 = 227 << 10;

/// [`check_nets`] on cases that are not shrunk, with [`ROOM`] where the device can have it.
#[track_caller]
fn assert_nets<D: Device>(
    device: &D,
    what: &str,
    grid: &RoutingGrid,
    nets: &[Net],
) -> Vec<FieldUse> {
    let gpu = device.gpu(setup(seed()).shared_per_block(ROOM));
    match check_nets(&gpu, grid, nets) {
        Ok(uses) => uses,
        different => panic!("seed {}, {what}: {different:?}", seed()),
    }
}

/// [`assert_nets`], and compares how the pins were joined, on devices with [`ROOM`].
#[track_caller]
fn assert_uses<D: Device>(
    device: &D,
    what: &str,
    grid: &RoutingGrid,
    nets: &[Net],
    expected: &[FieldUse],
) {
    let uses = assert_nets(device, what, grid, nets);
    if has_room(device) {
        assert_eq!(uses, expected, "{what}");
    }
}

fn has_room<D: Device>(device: &D) -> bool {
    let gpu = device.gpu(setup(seed()).shared_per_block(ROOM));
    gpu.shared_per_block() >= ROOM
}

/// Checks that all `pins` are joined by fields.
fn by_fields_alone(pins: usize) -> FieldUse {
    let mut used = FieldUse::default();
    used.by_fields = pins;
    used
}

/// Weights without edges of weight 0, which fields do not support.
pub(crate) fn weights() -> impl Strategy<Value = Weights> {
    select(vec![
        Weights::Small,
        Weights::Even,
        Weights::Gaps,
        Weights::Large,
    ])
}

/// Up to four nets at once, some in windows, some with many pins.
pub(crate) fn routes_of_random_nets<D: Device>(device: &D) {
    let case = (
        1..=70u32,
        1..=70u32,
        weights(),
        1..=4u64,
        any::<u64>(),
        device.any(),
    );
    check::<D, _>(
        "random nets by fields",
        40,
        &case,
        |(width, height, weights, nets, seed, gpu)| {
            let grid = random_grid(width, height, 1, weights, seed);
            let mut random = Random::new(seed);
            let nets: Vec<_> = (0..nets)
                .map(|i| {
                    let pins = [0, 1, 2, 5, 12][random.below(5) as usize];
                    let net = net(&grid, pins, seed ^ i);
                    let Some(first) = net.pins.first().map(|pin| pin.cells[0]) else {
                        return net;
                    };
                    if random.below(2) == 0 {
                        return net;
                    }
                    // A window around all pins in one half of the grid.
                    let keep = |cell: &Cell| (cell.x * 2 < width) == (first.x * 2 < width);
                    let half = (width - 1) / 2 + 1;
                    let (x, width) = if first.x * 2 < width {
                        (0, half)
                    } else {
                        (half, width - half)
                    };
                    let pins = net
                        .pins
                        .into_iter()
                        .filter(|pin| pin.cells.iter().all(keep));
                    let window = Window {
                        x,
                        y: 0,
                        width,
                        height,
                    };
                    Net::new(pins).within(window)
                })
                .collect();
            let router = DeviceRouter::on(gpu);
            // Each block may grow several fields.
            let router = match random.below(2) {
                0 => hooks::with_field_labels(router, 0),
                _ => router,
            };
            // Initial boxes may be smaller than those of small nets usually are.
            let router = match random.below(2) {
                0 => hooks::with_many_cells(router, 0),
                _ => router,
            };
            check_nets_by(&router, &grid, &nets).map(|_| ())
        },
    );
}

/// Close pins, ties, boxes that grow: on a case that is small enough for a sanitizer to check every
/// access.
pub(crate) fn routes_by_fields<D: Device>(device: &D) {
    let ((width, height), part) = PerDevice {
        emulator: ((50, 37), 6),
        gpu: ((150, 110), 1),
    }
    .on::<D>();
    for (weights, pins) in [
        (Weights::Small, 60 / part),
        (Weights::Even, 40 / part),
        (Weights::Gaps, 90 / part),
    ] {
        let grid = random_grid(width, height, 1, weights, 21);
        let nets = [net(&grid, pins, 22), net(&grid, pins / 2, 23)];
        let gpu = device.gpu(setup(seed()).shared_per_block(ROOM));
        let uses = check_nets(&gpu, &grid, &nets);
        let uses = uses.unwrap_or_else(|error| panic!("{weights:?}, {pins} pins: {error}"));
        let by_fields: Vec<_> = uses.iter().map(|used| used.by_fields).collect();
        // Not by tiles alone, if blocks can hold the boxes of pins with several cells.
        assert!(
            !has_room(device) || by_fields.iter().all(|&joined| joined > 0),
            "{by_fields:?}"
        );
    }
}

/// Boxes of every size that fits a GPU's shared memory, for pins that are close enough for the
/// smallest one.
pub(crate) fn routes_with_any_shared_memory<D: Device>(device: &D) {
    let grid = random_grid(70, 50, 1, Weights::Small, seed());
    let net = net(&grid, 40, seed());
    for kib in [48, 64, 99, 163] {
        let gpu = device.gpu(setup(seed()).shared_per_block(kib << 10));
        let same = check_nets(&gpu, &grid, std::slice::from_ref(&net));
        assert!(same.is_ok(), "seed {}, {kib} KiB: {same:?}", seed());
    }
}

/// Many pins in two corners of a long grid: the boxes are sized for pins that are spread evenly,
/// and do not reach across.
fn two_corners(weights: Weights, far: usize) -> (RoutingGrid, Net) {
    let grid = random_grid(300, 12, 1, weights, seed());
    let mut random = Random::new(seed());
    let cells = (0..40 + far).map(|i| {
        let start = if i < 40 { 0 } else { 280 };
        Cell::at(start + random.below(20), random.below(12))
    });
    let mut net = Net::from_cells(cells.collect::<Vec<_>>());
    // The first pin has a cell half-way.
    net.pins[0].cells.push(Cell::at(150, 6));
    (grid, net)
}

/// A search takes the tree to the other corner, and fields continue there.
pub(crate) fn routes_between_corners<D: Device>(device: &D) {
    for weights in [Weights::Small, Weights::Even, Weights::Gaps] {
        for far in [1, 20] {
            let (grid, net) = two_corners(weights, far);
            assert_nets(device, &format!("{weights:?}, {far} far"), &grid, &[net]);
        }
    }
}

/// Pairs of pins, with edges between the pairs that cost more than a field can hold.
pub(crate) fn pairs_far_apart() -> (RoutingGrid, Net) {
    let (pairs, apart) = (19, 4);
    let mut grid = random_grid(pairs * apart, 2, 1, Weights::Small, seed());
    for x in (apart - 1..pairs * apart - 1).step_by(apart as usize) {
        for y in 0..2 {
            grid.set_right(Cell::at(x, y), 1 << 28).unwrap();
        }
    }
    let pairs = (0..pairs).map(|i| apart * i);
    let net = Net::from_cells(pairs.flat_map(|x| [Cell::at(x, 0), Cell::at(x + 1, 1)]));
    (grid, net)
}

/// A net that needs more searches than the fields allow, so that tiles route the rest.
pub(crate) fn routes_of_pairs_far_apart<D: Device>(device: &D) {
    let (grid, net) = pairs_far_apart();
    let used = assert_nets(device, "pairs", &grid, &[net])[0];
    if !has_room(device) {
        return;
    }
    assert_eq!(used.fallback, Some(Fallback::Searches));
    assert!(
        used.by_fields > 0 && used.by_searches > 0 && used.in_tiles > 0,
        "{used:?}"
    );
}

/// Pins in a row, on a grid where steps along columns cost next to nothing: fields reach much less
/// far along the row than the distances between pins suggest, and all pins get larger boxes.
pub(crate) fn routes_with_boxes_that_are_too_small<D: Device>(device: &D) {
    let (width, height, pins) = (300, 110, 20);
    let right = vec![50; (width as usize - 1) * height as usize];
    let down = vec![1; width as usize * (height as usize - 1)];
    let grid = RoutingGrid::from_edges(width, height, &right, &down).unwrap();
    let net = Net::from_cells((0..pins).map(|i| Cell::at(36 + 12 * i, height / 2)));
    let gpu = device.gpu(setup(seed()).shared_per_block(ROOM));
    let router = hooks::with_many_cells(DeviceRouter::on(gpu), 0);
    let uses = check_nets_by(&router, &grid, &[net]).unwrap();
    if has_room(device) {
        assert_eq!(uses, [by_fields_alone(pins as usize - 1)]);
    }
}

/// More than 1024 pins, which is two for each thread of a block: the pins after these are offered
/// the tree's cells as well. No path leads to most of the pins, so that few are joined.
pub(crate) fn routes_of_more_pins_than_threads_have_at_hand<D: Device>(device: &D) {
    let side = 30;
    let mut random = Random::new(seed());
    let mut weight = || 10 + random.below(3);
    let (right, down): (Vec<u32>, Vec<u32>) =
        (0..side * (side - 1)).map(|_| (weight(), weight())).unzip();
    let mut grid = RoutingGrid::from_edges(side, side, &right, &down).unwrap();
    let nowhere = Cell::at(side - 1, side - 1);
    grid.block(nowhere).unwrap();
    // Each near pin but the first is reached from the previous one.
    let cells = std::iter::once(Cell::at(0, 0))
        .chain(std::iter::repeat_n(nowhere, 1100))
        .chain((1..9).map(|x| Cell::at(x, 0)));
    let nets = [Net::from_cells(cells)];
    assert_uses(device, "many pins", &grid, &nets, &[by_fields_alone(8)]);
}

/// Nets of more than 4096 pins: those around a path are found by their places. No path leads to
/// most of them, so that few are joined. Pins of several cells have larger boxes than the others.
/// The window begins at an odd column and an odd row.
pub(crate) fn routes_of_many_close_pins<D: Device>(device: &D) {
    let (width, height) = (60, 42);
    let weights = PerDevice {
        emulator: &[Weights::Even][..],
        gpu: &[Weights::Small, Weights::Even, Weights::Gaps],
    };
    for &weights in weights.on::<D>() {
        let mut random = Random::new(seed());
        let mut grid = random_grid(width, height, 1, weights, seed());
        let part = PerDevice {
            emulator: 6,
            gpu: width,
        }
        .on::<D>();
        for (x, y) in (part + 2..width).flat_map(|x| (0..height).map(move |y| (x, y))) {
            grid.block(Cell::at(x, y)).unwrap();
        }
        let window = Window {
            x: 3,
            y: 1,
            width: width - 3,
            height: height - 3,
        };
        let mut draw = |columns: std::ops::Range<u32>| {
            let column = columns.start + random.below(columns.end - columns.start);
            Cell::at(column, window.y + random.below(window.height))
        };
        let mut pins: Vec<_> = (0..4200).map(|_| Pin::new([draw(3..width)])).collect();
        pins[0] = Pin::new([draw(3..part)]);
        for pin in (1..4200).step_by(300) {
            pins[pin] = Pin::new([draw(3..part), draw(3..part), draw(3..part)]);
        }
        let nets = [
            Net::new(pins).within(window),
            Net::from_cells((0..9).map(|i| Cell::at(i, i))),
        ];
        let uses = assert_nets(device, &format!("{weights:?}"), &grid, &nets);
        assert!(!has_room(device) || uses[0].by_fields > 20, "{uses:?}");
    }
}

/// Pins on 24 × 20 cells, four apart.
pub(crate) fn close_pins(number: u32) -> Net {
    Net::from_cells((0..number).map(|i| Cell::at(i % 6 * 4, i / 6 * 4)))
}

/// Where fields do not join all pins of a net, the route says why.
pub(crate) fn what_is_left_to_tiles_is_said<D: Device>(device: &D) {
    let close = close_pins;
    let grid = random_grid(24, 20, 1, Weights::Even, seed());
    let nets = [close(30), Net::default(), close(1)];
    let whole = [by_fields_alone(29), by_fields_alone(0), by_fields_alone(0)];
    assert_uses(device, "close", &grid, &nets, &whole);

    let left = |fallback| {
        let mut used = FieldUse::default();
        used.in_tiles = 3;
        used.fallback = Some(fallback);
        used
    };
    let nothing = by_fields_alone(0);
    let nets = [close(4), Net::default()];
    let layers = random_grid(24, 20, 2, Weights::Even, seed());
    let uses = [left(Fallback::Layers), nothing];
    assert_uses(device, "layers", &layers, &nets, &uses);
    let mut free = grid.clone();
    free.set_right(Cell::at(20, 19), 0).unwrap();
    let uses = [left(Fallback::FreeEdges), nothing];
    assert_uses(device, "free edges", &free, &nets, &uses);

    // A pin with cells that no box can hold; another net fits.
    let (width, height) = (1000, 530);
    let large = RoutingGrid::uniform(width, height, 1).unwrap();
    let mut wide = close(4);
    wide.pins[3].cells.push(Cell::at(width - 1, height - 1));
    let window = Window {
        x: 0,
        y: 0,
        width: 24,
        height: 20,
    };
    let nets = [wide, close(30).within(window)];
    let uses = [left(Fallback::FarApart), whole[0]];
    assert_uses(device, "a wide pin", &large, &nets, &uses);
}

/// A grid of this length and breadth after some quarter turns, and where its cells are then. The
/// edges of the cell `dear` cost `weight`, all others 1.
pub(super) fn turned_grid(
    turns: u32,
    (length, breadth): (u32, u32),
    dear: (u32, u32),
    weight: u32,
) -> (RoutingGrid, impl Fn(u32, u32) -> (u32, u32)) {
    let at = move |x: u32, y: u32| match turns {
        0 => (x, y),
        1 => (breadth - 1 - y, x),
        2 => (length - 1 - x, breadth - 1 - y),
        _ => (y, length - 1 - x),
    };
    let (width, height) = if turns.is_multiple_of(2) {
        (length, breadth)
    } else {
        (breadth, length)
    };
    let dear = at(dear.0, dear.1);
    let weight = |here, there| {
        if here == dear || there == dear {
            weight
        } else {
            1
        }
    };
    let grid = RoutingGrid::from_fn(
        width,
        height,
        |x, y| weight((x, y), (x + 1, y)),
        |x, y| weight((x, y), (x, y + 1)),
    )
    .unwrap();
    (grid, at)
}

/// A pin far from the tree, by cheap edges, and a pin in its midst, by expensive ones: the first is
/// nearer, though its box does not reach the tree, which may be on any side of it.
pub(crate) fn routes_to_what_boxes_do_not_reach<D: Device>(device: &D) {
    for turns in 0..4 {
        let (grid, at) = turned_grid(turns, (40, 3), (36, 1), 100);
        let dear = at(36, 1);
        let mut random = Random::new(seed());
        let mut crowd = || at(34 + random.below(6), random.below(3));
        let pins = std::iter::repeat_with(&mut crowd)
            .filter(|&pin| pin != dear)
            .take(40);
        let pins: Vec<_> = pins.chain([dear, at(0, 1)]).collect();
        let net = Net::from_cells(pins.into_iter().map(|(x, y)| Cell::at(x, y)));
        assert_nets(device, &format!("{turns} turns"), &grid, &[net]);
    }
}

/// Fields that grow again when there is a tree already: they take its nearest cell, which is not
/// the first one that they see, and of two equally near cells the one that paths prefer.
pub(crate) fn routes_from_fields_that_grow_again<D: Device>(device: &D) {
    let grid = RoutingGrid::uniform(24, 24, 1).unwrap();
    let net = |root: &[(u32, u32)], pin: (u32, u32)| {
        let root = root.iter().map(|&(x, y)| Cell::at(x, y));
        // With many pins on the tree, boxes are small at first.
        let crowd = std::iter::repeat_n(Cell::at(3, 1), 60).map(Pin::from);
        let pins = std::iter::once(Pin::new(root)).chain(crowd);
        Net::new(pins.chain([Cell::at(pin.0, pin.1).into()]))
    };
    // A pin's path prefers left to up.
    let nets = [
        net(&[(3, 1), (12, 2), (2, 12)], (12, 12)),
        net(&[(3, 1), (8, 2), (9, 2), (10, 2), (11, 2)], (12, 12)),
        net(&[(3, 1), (12, 2), (12, 3)], (12, 13)),
    ];
    let uses = [by_fields_alone(61); 3];
    assert_uses(device, "fields that grow again", &grid, &nets, &uses);
}

/// Pins that no path reaches, that only expensive paths reach, and that are on the tree from the
/// start.
pub(crate) fn routes_to_what_is_far_or_nowhere<D: Device>(device: &D) {
    let mut grid = random_grid(60, 20, 1, Weights::Small, seed());
    for y in 0..20 {
        grid.set_right(Cell::at(29, y), BLOCKED).unwrap();
        grid.set_right(Cell::at(49, y), BLOCKED - 1).unwrap();
    }
    let mut random = Random::new(seed());
    let cells: Vec<Cell> = (0..12)
        .map(|_| Cell::at(random.below(60), random.below(20)))
        .collect();
    let apart = Net::from_cells(cells);
    // All pins, from either end.
    let dear = Net::from_cells([(55, 3), (32, 3), (40, 17), (57, 12)].map(|(x, y)| Cell::at(x, y)));
    // A cell of several pins, and of one pin twice.
    let cell = Cell::at(10, 10);
    let pin = |cells: &[Cell]| Pin::new(cells.to_vec());
    let same = Net::new([
        pin(&[cell]),
        pin(&[Cell::at(20, 3), cell, cell]),
        pin(&[cell]),
        pin(&[Cell::at(21, 3)]),
    ]);
    assert_nets(device, "far or nowhere", &grid, &[apart, dear, same]);
}

/// A path of more cells than a block handles at a time, in a grid like a comb; and a pin of as many
/// cells.
pub(crate) fn routes_along_long_paths<D: Device>(device: &D) {
    let (width, height) = (60, 60);
    let mut grid = RoutingGrid::uniform(width, height, 3).unwrap();
    // Walls between columns, open at one end.
    for x in 0..width - 1 {
        for y in 0..height {
            let open = if x % 2 == 0 { height - 1 } else { 0 };
            if y != open {
                grid.set_right(Cell::at(x, y), BLOCKED).unwrap();
            }
        }
    }
    let wide = Pin::new((0..height).flat_map(|y| (20..40).map(move |x| Cell::at(x, y))));
    let ends = Net::from_cells([Cell::at(0, 0), Cell::at(width - 1, 0)]);
    let mut across = ends.clone();
    across.pins.insert(1, wide);
    // The second path begins at the end of the first.
    let along = [
        Cell::at(0, 0),
        Cell::at(width - 5, 30),
        Cell::at(width - 1, 0),
    ];
    let nets = [ends, across, Net::from_cells(along)];
    assert_nets(device, "a comb", &grid, &nets);
    // No wall between the last columns, so that many paths are the shortest.
    for y in 0..height {
        grid.set_right(Cell::at(width - 2, y), 3).unwrap();
    }
    let ends = Net::from_cells([Cell::at(0, 0), Cell::at(width - 1, height - 1)]);
    assert_nets(device, "a comb with ties", &grid, &[ends]);
}

/// All shortest paths tie, and lead around a wall: out of the rectangle in which ties are looked
/// for first, whose columns fill whole words, or nearly, and whose rows are those of two bands.
pub(crate) fn routes_around_a_wall<D: Device>(device: &D) {
    let (from, to, far, wall) = (8, 70, 78, 60);
    // The rectangle has 12 columns more than these.
    for across in [16, 20, 24, 48, 52, 56] {
        let end = from + across + 12;
        for turn in 0..4 {
            // Mirrored, and with rows for columns.
            let at = |x: u32, y: u32| {
                let x = if turn & 1 == 0 { x } else { end + 5 - x };
                if turn & 2 == 0 {
                    Cell::at(x, y)
                } else {
                    Cell::at(y, x)
                }
            };
            let size = at(if turn & 1 == 0 { end + 5 } else { 0 }, far);
            let mut grid = RoutingGrid::uniform(size.x + 1, size.y + 1, 5).unwrap();
            for x in 0..end {
                grid.block(at(x, wall)).unwrap();
            }
            let net = Net::from_cells([at(from, from), at(from + across, to)]);
            let what = format!("{across} columns, turn {turn}");
            assert_uses(device, &what, &grid, &[net], &[by_fields_alone(1)]);
        }
    }
}

/// Equal weights and a few long walls: many shortest paths, far from straight.
pub(crate) fn routes_around_random_walls<D: Device>(device: &D) {
    let case = (20..=100u32, 20..=100u32, any::<u64>(), device.any());
    check::<D, _>(
        "nets around walls by fields",
        20,
        &case,
        |(width, height, seed, gpu)| {
            let mut random = Random::new(seed);
            let mut grid = RoutingGrid::uniform(width, height, 1).unwrap();
            for _ in 0..=random.below(3) {
                // From one side of the grid, or along a part of a line.
                let is_row = random.below(2) == 0;
                let (along, across) = if is_row {
                    (width, height)
                } else {
                    (height, width)
                };
                let line = random.below(across);
                let start = [0, random.below(along)][random.below(2) as usize];
                for i in start..random.below(along) {
                    let (x, y) = if is_row { (i, line) } else { (line, i) };
                    grid.block(Cell::at(x, y)).unwrap();
                }
            }
            let nets = [2, 3].map(|pins| net(&grid, pins, seed ^ pins as u64));
            check_nets(&gpu, &grid, &nets).map(|_| ())
        },
    );
}

/// A grid with ties everywhere.
pub(crate) fn routes_where_all_paths_tie<D: Device>(device: &D) {
    let grid = RoutingGrid::uniform(50, 40, 7).unwrap();
    let mut random = Random::new(seed());
    let mut cell = || Cell::at(random.below(50), random.below(40));
    let net = Net::from_cells((0..10).map(|_| cell()));
    // Ties between the cells of a pin as well.
    let square = Pin::new([
        Cell::at(31, 21),
        Cell::at(30, 20),
        Cell::at(30, 21),
        Cell::at(31, 20),
    ]);
    let corners = [(0, 0), (49, 39), (0, 39), (49, 0)].map(|(x, y)| Pin::from(Cell::at(x, y)));
    let around = Net::new(corners.into_iter().chain([square]));
    // Two cells of the tree in one row, equally far from the pin.
    let pair = Net::new([
        Pin::new([Cell::at(22, 10), Cell::at(28, 10)]),
        Pin::from(Cell::at(25, 14)),
    ]);
    assert_nets(device, "ties", &grid, &[net, around, pair]);
    // One cell of the tree to the left and one above, equally far from the pin, with one path from
    // each.
    let corridor = |x: u32, y: u32| if x == 5 || y == 5 { 1 } else { 50 };
    let grid = RoutingGrid::from_fn(
        9,
        9,
        |x, y| corridor(x, y).max(corridor(x + 1, y)),
        |x, y| corridor(x, y).max(corridor(x, y + 1)),
    );
    let fork = Net::new([
        Pin::new([Cell::at(5, 0), Cell::at(0, 5)]),
        Pin::from(Cell::at(5, 5)),
    ]);
    assert_nets(device, "two ways", &grid.unwrap(), &[fork]);
}

/// Boxes of more cells than a block can hold while it joins pins, and than indices of 16 bits
/// count: paths through several parts of a box, and ties in a part of it.
pub(crate) fn routes_in_wide_boxes<D: Device>(device: &D) {
    let (width, height) = (440, 300);
    let grid = random_grid(width, height, 1, Weights::Small, seed());
    let corners = [(3, 5), (430, 290), (435, 7), (200, 150)];
    let net = |cells: &[(u32, u32)]| Net::from_cells(cells.iter().map(|&(x, y)| Cell::at(x, y)));
    assert_uses(
        device,
        "corners",
        &grid,
        &[net(&corners)],
        &[by_fields_alone(3)],
    );
    let even = RoutingGrid::uniform(width, height, 3).unwrap();
    let near = [(250, 200), (300, 260), (230, 290), (251, 201)];
    assert_uses(device, "ties", &even, &[net(&near)], &[by_fields_alone(3)]);
}

/// Ties that a block has no room for: a search decides between the paths, and fields continue.
pub(crate) fn routes_with_ties_that_stay_open<D: Device>(device: &D) {
    let one_search = |by_fields: usize| {
        let mut used = by_fields_alone(by_fields);
        used.by_searches = 1;
        used
    };
    // Many paths across a large rectangle.
    let (width, height) = (300, 260);
    let grid = RoutingGrid::uniform(width, height, 3).unwrap();
    let corners = [(0, 0), (299, 259), (290, 250)].map(|(x, y)| Cell::at(x, y));
    let net = Net::from_cells(corners);
    assert_uses(device, "a large rectangle", &grid, &[net], &[one_search(1)]);
    // Many cells of the tree at the same distance.
    let side = 64;
    let grid = RoutingGrid::uniform(side, side, 3).unwrap();
    let columns = |first: u32| {
        let columns = (first..side).step_by(2);
        Pin::new(columns.flat_map(|x| (0..side).map(move |y| Cell::at(x, y))))
    };
    let net = Net::new([columns(0), columns(1)]);
    assert_uses(device, "columns", &grid, &[net], &[one_search(0)]);
}
