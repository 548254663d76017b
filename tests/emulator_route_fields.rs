//! Routing by fields under the emulator: nets whose pins stand close, ties, boxes that turn out too small, pins that only a search
//! finds, whatever the order of the threads.
//!
//! Grids, nets and orders follow one seed, which a failure names: `TRAZAR_SEED` gives another.

#[allow(dead_code, reason = "the images are for other tests")]
mod emulated;
#[allow(dead_code, reason = "the other algorithms are for other tests")]
mod routes;

use emulated::{check, emulator, emulator_of, seed};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;
use routes::{Random, Weights, mistake, net, random_grid};
use trazar::Engine;
use trazar::emulator::Emulator;
use trazar::route::{
    BLOCKED, Cell, DeviceGrid, DeviceRouter, Net, Pin, RouteAlgorithm, RouteOptions, RoutingGrid,
    Window,
};

/// Routes by fields, and compares with the CPU.
fn check_nets(emulator: &Emulator, grid: &RoutingGrid, nets: &[Net]) -> Result<(), TestCaseError> {
    let expected = Engine::cpu()
        .route(grid, nets, &RouteOptions::default())
        .unwrap();
    let router = DeviceRouter::on(emulator.clone());
    let on_device = DeviceGrid::upload(emulator, grid)?;
    let found = router.route(&on_device, nets);
    prop_assert_eq!(mistake(found, &expected, RouteAlgorithm::Fields), None);
    Ok(())
}

/// [`check_nets`] for what is drawn once, with boxes as large as they get: how large decides which of its nets are for fields.
#[track_caller]
fn assert_nets(what: &str, grid: &RoutingGrid, nets: &[Net]) {
    let emulator = emulator_of(seed()).with_shared_per_block(227 << 10);
    let same = check_nets(&emulator, grid, nets);
    assert!(same.is_ok(), "seed {}, {what}: {same:?}", seed());
}

/// Weights without free edges: grids that fields are for.
fn weights() -> impl Strategy<Value = Weights> {
    select(vec![
        Weights::Small,
        Weights::Even,
        Weights::Gaps,
        Weights::Large,
    ])
}

/// Up to four nets at once, some in windows, some of many pins.
#[test]
fn routes_of_random_nets() {
    let case = (
        1..=70u32,
        1..=70u32,
        weights(),
        1..=4u64,
        any::<u64>(),
        emulator(),
    );
    check(
        "random nets by fields",
        40,
        &case,
        |(width, height, weights, nets, seed, emulator)| {
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
                    // A window around all that lie in one half of the grid.
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
                    Net {
                        pins: pins.collect(),
                        window: Some(window),
                    }
                })
                .collect();
            check_nets(&emulator, &grid, &nets)
        },
    );
}

/// Boxes of every size that a GPU's shared memory gives, for pins so close that the smallest is enough.
#[test]
fn routes_with_any_shared_memory() {
    let grid = random_grid(70, 50, 1, Weights::Small, seed());
    let net = net(&grid, 40, seed());
    for kib in [48, 64, 99, 163] {
        let emulator = emulator_of(seed()).with_shared_per_block(kib << 10);
        let same = check_nets(&emulator, &grid, std::slice::from_ref(&net));
        assert!(same.is_ok(), "seed {}, {kib} KiB: {same:?}", seed());
    }
}

/// Many pins in two corners of a grid that is long, so that boxes, made for pins that are spread evenly, do not reach across.
fn two_corners(weights: Weights, far: usize) -> (RoutingGrid, Net) {
    let grid = random_grid(300, 12, 1, weights, seed());
    let mut random = Random::new(seed());
    let cells = (0..40 + far).map(|i| {
        let start = if i < 40 { 0 } else { 280 };
        Cell::at(start + random.below(20), random.below(12))
    });
    let mut net = Net::from_cells(cells.collect::<Vec<_>>());
    // The first pin has a cell on the way.
    net.pins[0].cells.push(Cell::at(150, 6));
    (grid, net)
}

/// The tree reaches the other corner by a search, and goes on there by fields.
#[test]
fn routes_between_corners() {
    for weights in [Weights::Small, Weights::Even, Weights::Gaps] {
        for far in [1, 20] {
            let (grid, net) = two_corners(weights, far);
            assert_nets(&format!("{weights:?}, {far} far"), &grid, &[net]);
        }
    }
}

/// More searches than a net may need before all of it is left to them: pairs of pins, far from each other.
#[test]
fn routes_of_pairs_far_apart() {
    let grid = random_grid(380, 2, 1, Weights::Small, seed());
    // 19 pairs, and many pins in one place, so that boxes are small.
    let pairs = (0..19).flat_map(|i| [Cell::at(20 * i, 0), Cell::at(20 * i + 1, 1)]);
    let crowd = (0..100).map(|i| Cell::at(i % 4, i % 2));
    let net = Net::from_cells(pairs.chain(crowd));
    assert_nets("pairs", &grid, &[net]);
}

/// A pin that the tree is not near, by cheap edges, and one in its midst, by dear ones: the first is the nearer one, though its box does
/// not reach the tree, which may be on any side of it.
#[test]
fn routes_to_what_boxes_do_not_reach() {
    let (length, breadth) = (40, 3);
    for turns in 0..4 {
        // A quarter turn for each.
        let at = |x: u32, y: u32| match turns {
            0 => (x, y),
            1 => (breadth - 1 - y, x),
            2 => (length - 1 - x, breadth - 1 - y),
            _ => (y, length - 1 - x),
        };
        let (width, height) = if turns % 2 == 0 {
            (length, breadth)
        } else {
            (breadth, length)
        };
        let dear = at(36, 1);
        let weight = |here: (u32, u32), there: (u32, u32)| {
            if here == dear || there == dear {
                100
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
        let mut random = Random::new(seed());
        let mut crowd = || at(34 + random.below(6), random.below(3));
        let pins = std::iter::repeat_with(&mut crowd)
            .filter(|&pin| pin != dear)
            .take(40);
        let pins: Vec<_> = pins.chain([dear, at(0, 1)]).collect();
        let net = Net::from_cells(pins.into_iter().map(|(x, y)| Cell::at(x, y)));
        assert_nets(&format!("{turns} turns"), &grid, &[net]);
    }
}

/// Pins that no path reaches, that only expensive paths reach, and that are on the tree from the start.
#[test]
fn routes_to_what_is_far_or_nowhere() {
    let mut grid = random_grid(60, 20, 1, Weights::Small, seed());
    for y in 0..20 {
        grid.set_right(Cell::at(29, y), BLOCKED);
        grid.set_right(Cell::at(49, y), BLOCKED - 1);
    }
    let mut random = Random::new(seed());
    let cells: Vec<Cell> = (0..12)
        .map(|_| Cell::at(random.below(60), random.below(20)))
        .collect();
    let apart = Net::from_cells(cells);
    // All of them, from either side.
    let dear = Net::from_cells([(55, 3), (32, 3), (40, 17), (57, 12)].map(|(x, y)| Cell::at(x, y)));
    // A cell of several pins, and of one pin twice.
    let cell = Cell::at(10, 10);
    let pin = |cells: &[Cell]| Pin {
        cells: cells.to_vec(),
    };
    let same = Net {
        pins: vec![
            pin(&[cell]),
            pin(&[Cell::at(20, 3), cell, cell]),
            pin(&[cell]),
            pin(&[Cell::at(21, 3)]),
        ],
        window: None,
    };
    assert_nets("far or nowhere", &grid, &[apart, dear, same]);
}

/// A path of more cells than the block tells itself at a time, in a grid like a comb; and a pin of as many cells.
#[test]
fn routes_along_long_paths() {
    let (width, height) = (60, 60);
    let mut grid = RoutingGrid::uniform(width, height, 3).unwrap();
    // Walls between columns, open at one end.
    for x in 0..width - 1 {
        for y in 0..height {
            let open = if x % 2 == 0 { height - 1 } else { 0 };
            if y != open {
                grid.set_right(Cell::at(x, y), BLOCKED);
            }
        }
    }
    let wide = Pin {
        cells: (0..height)
            .flat_map(|y| (20..40).map(move |x| Cell::at(x, y)))
            .collect(),
    };
    let ends = Net::from_cells([Cell::at(0, 0), Cell::at(width - 1, 0)]);
    let mut across = ends.clone();
    across.pins.insert(1, wide);
    assert_nets("a comb", &grid, &[ends, across]);
}

/// The whole grid is one tie.
#[test]
fn routes_where_all_paths_tie() {
    let grid = RoutingGrid::uniform(50, 40, 7).unwrap();
    let mut random = Random::new(seed());
    let mut cell = || Cell::at(random.below(50), random.below(40));
    let net = Net::from_cells((0..10).map(|_| cell()));
    // Ties between the cells of a pin, too.
    let square = Pin {
        cells: vec![
            Cell::at(31, 21),
            Cell::at(30, 20),
            Cell::at(30, 21),
            Cell::at(31, 20),
        ],
    };
    let corners = [(0, 0), (49, 39), (0, 39), (49, 0)].map(|(x, y)| Pin::from(Cell::at(x, y)));
    let around = Net {
        pins: corners.into_iter().chain([square]).collect(),
        window: None,
    };
    assert_nets("ties", &grid, &[net, around]);
    // One cell of the tree to the left, one above, as far from the pin, and one way from each.
    let corridor = |x: u32, y: u32| if x == 5 || y == 5 { 1 } else { 50 };
    let grid = RoutingGrid::from_fn(
        9,
        9,
        |x, y| corridor(x, y).max(corridor(x + 1, y)),
        |x, y| corridor(x, y).max(corridor(x, y + 1)),
    );
    let fork = Net {
        pins: vec![
            Pin {
                cells: vec![Cell::at(5, 0), Cell::at(0, 5)],
            },
            Pin::from(Cell::at(5, 5)),
        ],
        window: None,
    };
    assert_nets("two ways", &grid.unwrap(), &[fork]);
}
