//! Distances of all cells: tiles on several threads, against one core's search, sweeps and closed
//! forms.

use proptest::prelude::*;
use trazar::route::{BLOCKED, Cell, DistanceAlgorithm, DistanceOptions, Distances, RoutingGrid};
use trazar::{Backend, Engine};
use trazar_test_support::grids::{Weights, case, random_grid};
use trazar_test_support::seeds::{Random, seed_or};
use trazar_test_support::threads::on_threads;

use super::{THREADS, cases};

fn by(
    grid: &RoutingGrid,
    sources: &[Cell],
    algorithm: impl Into<Option<DistanceAlgorithm>>,
) -> Distances {
    let options = DistanceOptions::default().algorithm(algorithm);
    Engine::cpu().distances(grid, sources, &options).unwrap()
}

/// Every algorithm on every number of threads gives `expected`.
fn check(grid: &RoutingGrid, sources: &[Cell], expected: &[u64], what: &str) {
    let same = |found: Distances, by: &str| {
        let other = found
            .as_slice()
            .iter()
            .zip(expected)
            .position(|(a, b)| a != b);
        if let Some(cell) = other {
            panic!(
                "{what}: {by} gives {} for cell {}, not {}",
                found.as_slice()[cell],
                grid.cell(cell as u32),
                expected[cell]
            );
        }
        assert_eq!(found.as_slice().len(), expected.len(), "{what}: {by}");
    };
    same(by(grid, sources, DistanceAlgorithm::Dijkstra), "one core");
    for threads in THREADS {
        let found = on_threads(threads, || by(grid, sources, DistanceAlgorithm::Tiles));
        same(found, &format!("tiles on {threads} threads"));
    }
}

fn check_against_sweeps(grid: &RoutingGrid, sources: &[Cell], what: &str) {
    let expected = by(grid, sources, DistanceAlgorithm::Sweep);
    check(grid, sources, expected.as_slice(), what);
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn tiles_match_sweeps(case in case(200), many in 1..5u32, seed: u64) {
        let mut random = Random::new(seed);
        let sources: Vec<Cell> = (0..many)
            .map(|_| case.grid.cell(random.below(case.grid.cell_count())))
            .collect();
        check_against_sweeps(&case.grid, &sources, &format!("{:?}", case.recipe));
    }
}

/// All kinds of weights, on rows, columns and sides around those of tiles, with few and with many
/// layers.
#[test]
fn tiles_match_sweeps_at_the_edges_of_tiles() {
    let seed = seed_or(31);
    println!("seed {seed}");
    let sizes = [
        (1, 1, 1),
        (300, 1, 1),
        (1, 300, 2),
        (64, 64, 1),
        (65, 63, 3),
        (129, 128, 4),
        (33, 31, 5),
        (32, 64, 16),
        (97, 70, 16),
    ];
    for (number, (width, height, layers)) in (0..).zip(sizes) {
        for (kind, weights) in (0..).zip(Weights::ALL) {
            let drawn = seed + 100 * number + kind;
            let grid = random_grid(width, height, layers, weights, drawn);
            let mut random = Random::new(drawn);
            let sources = [0, 1].map(|_| grid.cell(random.below(grid.cell_count())));
            let what = format!("{width} × {height} × {layers}, {weights:?}, seed {drawn}");
            check_against_sweeps(&grid, &sources, &what);
        }
    }
}

/// One way through all cells: from row to row, at the right and the left end in turn.
#[test]
fn a_maze_with_one_path() {
    let (width, height) = (150, 131);
    let down = |x, y| {
        let end = if y % 2 == 0 { width - 1 } else { 0 };
        if x == end { 3 } else { BLOCKED }
    };
    let grid = RoutingGrid::from_fn(width, height, |_, _| 2, down).unwrap();
    let expected: Vec<u64> = (0..grid.cell_count())
        .map(|number| {
            let Cell { x, y, .. } = grid.cell(number);
            let along = if y % 2 == 0 { x } else { width - 1 - x };
            u64::from(y) * (2 * u64::from(width - 1) + 3) + 2 * u64::from(along)
        })
        .collect();
    check(&grid, &[Cell::at(0, 0)], &expected, "maze");
}

/// Weights along each axis that depend on the place along it alone, so that a cell's distance is
/// their sum: with the largest weights, far above 32 bits, and with some of 0.
#[test]
fn sums_along_axes() {
    let seed = seed_or(32);
    println!("seed {seed}");
    let mut random = Random::new(seed);
    for (width, height, most) in [(400, 400, 1000), (400, 330, BLOCKED - 1), (70, 2000, 2)] {
        let mut weights = |count: u32| -> Vec<u32> {
            let weights = (1..count).map(|_| random.below(most));
            weights.collect()
        };
        let (along, across) = (weights(width), weights(height));
        let grid = RoutingGrid::from_fn(
            width,
            height,
            |x, _| along[x as usize],
            |_, y| across[y as usize],
        )
        .unwrap();
        let from = Cell::at(width / 3, height / 2);
        let sum = |weights: &[u32], a: u32, b: u32| -> u64 {
            let between = &weights[a.min(b) as usize..a.max(b) as usize];
            between.iter().map(|&weight| u64::from(weight)).sum()
        };
        let expected: Vec<u64> = (0..grid.cell_count())
            .map(|number| {
                let Cell { x, y, .. } = grid.cell(number);
                sum(&along, x, from.x) + sum(&across, y, from.y)
            })
            .collect();
        let what = format!("{width} × {height}, weights below {most}");
        check(&grid, &[from], &expected, &what);
        // The engine's choice, which depends on the size and the threads.
        for threads in THREADS {
            let found = on_threads(threads, || by(&grid, &[from], None));
            assert!(found.as_slice() == expected, "{what}, {threads} threads");
        }
    }
}

/// Distances on a part of the grid that is cut off from the rest.
#[test]
fn what_no_path_reaches() {
    let mut grid = RoutingGrid::uniform(200, 200, 5).unwrap();
    for y in 0..200 {
        grid.set_right(Cell::at(99, y), BLOCKED).unwrap();
    }
    let found = by(&grid, &[Cell::at(0, 0)], DistanceAlgorithm::Tiles);
    for number in 0..grid.cell_count() {
        let Cell { x, y, .. } = grid.cell(number);
        let expected = if x < 100 {
            5 * u64::from(x + y)
        } else {
            Distances::UNREACHED
        };
        assert_eq!(found.as_slice()[number as usize], expected, "{x}, {y}");
    }
}

#[test]
fn the_processor_runs_all_algorithms() {
    let on = DistanceAlgorithm::on(Backend::Cpu);
    assert_eq!(on, DistanceAlgorithm::ALL);
    for algorithm in on {
        assert!(algorithm.backends().contains(&Backend::Cpu));
    }
}
