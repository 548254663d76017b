//! `cargo bench --bench route`: routing on the CPU.
//!
//! First two tables with the sizes and pins of the report on parallel maze routing, its times beside ours, in seconds, on grids
//! with random weights of the same range; an algorithm is left out where it would take more than some 10 seconds. Then, by
//! criterion: from corner to corner, which settles nearly all cells, in cells a second, beside the crates `petgraph` and
//! `pathfinding` on the same grid; and nets by their number of pins.
//!
//! `TRAZAR_BENCH_SIDES=256,8192` chooses the sizes for the corners, `TRAZAR_BENCH_PINS=2,10000` the numbers of pins on
//! 1024 × 1024 cells; `TRAZAR_BENCH_TABLES=0` leaves the tables out, `TRAZAR_BENCH_CRITERION=0` what comes after.

mod grids;

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use petgraph::csr::Csr;
use trazar::route::{BLOCKED, Cell, RouteAlgorithm, RouteOptions, RoutingGrid, TreeKind};
use trazar::{Engine, Result};

/// Width, height, pins, and the report's seconds by `bfs`, `sweep`, `omp` and `cuda`; none above 10 minutes.
type Row = (u32, u32, u32, [Option<f64>; 4]);

const FEW_PINS: [Row; 9] = [
    (
        256,
        256,
        4,
        [Some(0.0945), Some(0.3579), Some(0.1331), Some(0.0289)],
    ),
    (
        256,
        256,
        8,
        [Some(0.2104), Some(0.6984), Some(0.2658), Some(0.057)],
    ),
    (
        256,
        256,
        16,
        [Some(0.3708), Some(1.4031), Some(0.5179), Some(0.1176)],
    ),
    (
        512,
        512,
        4,
        [Some(0.5953), Some(6.0169), Some(1.5856), Some(0.2339)],
    ),
    (
        512,
        512,
        8,
        [Some(1.3021), Some(11.2363), Some(2.9808), Some(0.3885)],
    ),
    (
        512,
        512,
        16,
        [Some(2.6955), Some(24.3993), Some(6.4435), Some(0.8476)],
    ),
    (
        1024,
        1024,
        4,
        [Some(6.629), Some(70.5602), Some(20.0804), Some(1.9302)],
    ),
    (
        1024,
        1024,
        8,
        [Some(11.0103), Some(135.697), Some(37.5864), Some(3.7695)],
    ),
    (
        1024,
        1024,
        16,
        [Some(22.2053), Some(292.951), Some(79.7602), Some(8.0401)],
    ),
];

const MANY_PINS: [Row; 10] = [
    (
        64,
        64,
        4,
        [Some(0.003), Some(0.0075), Some(0.0049), Some(0.0024)],
    ),
    (
        100,
        100,
        10,
        [Some(0.023), Some(0.0538), Some(0.0236), Some(0.0116)],
    ),
    (
        200,
        200,
        40,
        [Some(0.4144), Some(1.1289), Some(0.4281), Some(0.1875)],
    ),
    (
        256,
        256,
        65,
        [Some(1.0675), Some(4.2704), Some(1.5903), Some(0.3318)],
    ),
    (
        350,
        350,
        120,
        [Some(3.8009), Some(24.6705), Some(8.2991), Some(1.4413)],
    ),
    (
        500,
        500,
        250,
        [Some(20.949), Some(264.568), Some(65.1752), Some(6.5087)],
    ),
    (
        512,
        512,
        260,
        [Some(23.8469), Some(271.663), Some(72.8673), Some(6.2595)],
    ),
    (
        750,
        750,
        560,
        [Some(117.231), None, Some(533.454), Some(29.2559)],
    ),
    (1024, 1024, 700, [Some(442.846), None, None, Some(109.943)]),
    (1024, 1024, 450, [Some(278.178), None, None, Some(84.3711)]),
];

const OURS: [(&str, RouteAlgorithm, TreeKind); 5] = [
    ("bfs", RouteAlgorithm::Bfs, TreeKind::Nearest),
    ("sweep", RouteAlgorithm::Sweep, TreeKind::Nearest),
    (
        "sweep-parallel",
        RouteAlgorithm::SweepParallel,
        TreeKind::Nearest,
    ),
    ("dijkstra", RouteAlgorithm::Dijkstra, TreeKind::Nearest),
    ("improved", RouteAlgorithm::Dijkstra, TreeKind::Improved),
];

/// What a run may be expected to take.
const MOST_SECONDS: f64 = 10.0;

fn options(algorithm: RouteAlgorithm, tree: TreeKind) -> RouteOptions {
    RouteOptions {
        algorithm: Some(algorithm),
        tree,
        ..RouteOptions::default()
    }
}

fn table(rows: &[Row]) -> Result<()> {
    let seconds = |seconds: Option<f64>| seconds.map_or("-".to_owned(), |s| format!("{s:.4}"));
    print!("| width | height | pins | report: bfs | sweep | omp | cuda ");
    for (name, ..) in OURS {
        print!("| {}{name} ", if name == "bfs" { "ours: " } else { "" });
    }
    println!("| cost | improved |");
    println!("{}|", "| --- ".repeat(9 + OURS.len()));
    // By algorithm: the seconds of the last row for each unit of work, which is an upper estimate for larger rows.
    let mut rates = [0.0f64; OURS.len()];
    for &(width, height, pins, report) in rows {
        let grid = grids::grid(width, height)?;
        let net = grids::net(&grid, pins);
        print!("| {width} | {height} | {pins} ");
        for time in report {
            print!("| {} ", seconds(time));
        }
        let mut costs = [None; OURS.len()];
        for (i, (_, algorithm, tree)) in OURS.into_iter().enumerate() {
            let cells = f64::from(width) * f64::from(height);
            let work = match algorithm {
                RouteAlgorithm::Dijkstra => cells,
                RouteAlgorithm::Bfs => cells * f64::from(pins),
                _ => cells * f64::from(width + height) * f64::from(pins).sqrt(),
            };
            if rates[i] * work > MOST_SECONDS {
                print!("| - ");
                continue;
            }
            let started = Instant::now();
            let route = Engine::cpu().route_net(&grid, &net, &options(algorithm, tree))?;
            let time = started.elapsed().as_secs_f64();
            rates[i] = time / work;
            costs[i] = Some(route.cost());
            print!("| {} ", seconds(Some(time)));
            // What is timed is right.
            if let Err(why) = route.verify(&grid, &net) {
                panic!("{}: {why}", algorithm.name());
            }
            if algorithm.is_exact() && tree == TreeKind::Nearest {
                let plain = costs[1..4].iter().flatten();
                assert!(plain.clone().all(|cost| *cost == route.cost()));
            }
        }
        let cost = |i: usize| costs[i].map_or("-".to_owned(), |cost| cost.to_string());
        println!("| {} | {} |", cost(3), cost(4));
    }
    println!();
    Ok(())
}

/// The grid for petgraph, in its compact form.
fn compact(grid: &RoutingGrid) -> Csr<(), u32, petgraph::Directed, u32> {
    let mut edges = Vec::new();
    for number in 0..grid.cell_count() {
        let cell = grid.cell(number);
        let Cell { x, y, .. } = cell;
        let mut add = |to: Cell, weight: u32| {
            if weight != BLOCKED {
                edges.push((number, grid.index(to), weight));
            }
        };
        if y > 0 {
            add(Cell::at(x, y - 1), grid.down(Cell::at(x, y - 1)));
        }
        if x > 0 {
            add(Cell::at(x - 1, y), grid.right(Cell::at(x - 1, y)));
        }
        if x + 1 < grid.width() {
            add(Cell::at(x + 1, y), grid.right(cell));
        }
        if y + 1 < grid.height() {
            add(Cell::at(x, y + 1), grid.down(cell));
        }
    }
    Csr::from_sorted_edges(&edges).expect("edges in order")
}

/// The neighbours of a cell, for pathfinding, which keeps no graph.
fn successors(grid: &RoutingGrid, number: u32) -> impl Iterator<Item = (u32, u64)> {
    let (width, at) = (grid.width(), number as usize);
    let before = |weights: &[u32], step: u32| {
        let to = number.checked_sub(step)?;
        Some((to, weights[to as usize]))
    };
    [
        before(grid.rights(), 1),
        before(grid.downs(), width),
        Some((number.wrapping_add(1), grid.rights()[at])),
        Some((number.wrapping_add(width), grid.downs()[at])),
    ]
    .into_iter()
    .flatten()
    .filter(|&(_, weight)| weight != BLOCKED)
    .map(|(to, weight)| (to, weight.into()))
}

fn list(variable: &str, default: &str) -> Vec<u32> {
    std::env::var(variable)
        .unwrap_or_else(|_| default.to_owned())
        .split(',')
        .map(|item| item.trim().parse().expect("a number"))
        .collect()
}

/// From the first to the last cell, by us and by others.
fn corners(criterion: &mut Criterion) -> Result<()> {
    let mut group = criterion.benchmark_group("route corners");
    group
        .sampling_mode(SamplingMode::Flat)
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_secs(1));
    for side in list("TRAZAR_BENCH_SIDES", "256,1024") {
        let grid = grids::grid(side, side)?;
        let net = grids::corners(&grid);
        let size = format!("{side} x {side}");
        group.throughput(Throughput::Elements(grid.cell_count().into()));
        let options = options(RouteAlgorithm::Dijkstra, TreeKind::Nearest);
        let engine = Engine::cpu();
        let cost = engine.route_net(&grid, &net, &options)?.cost();
        group.bench_function(BenchmarkId::new("trazar dijkstra", &size), |bencher| {
            bencher.iter(|| engine.route_net(&grid, &net, &options));
        });
        group.bench_function(BenchmarkId::new("trazar, all cells", &size), |bencher| {
            bencher.iter(|| engine.distances(&grid, &[Cell::at(0, 0)]));
        });

        let graph = compact(&grid);
        let last = grid.cell_count() - 1;
        let search = || petgraph::algo::dijkstra(&graph, 0, Some(last), |e| u64::from(*e.weight()));
        assert_eq!(search()[&last], cost, "petgraph");
        group.bench_function(BenchmarkId::new("petgraph dijkstra", &size), |bencher| {
            bencher.iter_with_large_drop(search);
        });

        let search = || {
            pathfinding::directed::dijkstra::dijkstra(
                &0,
                |&cell| successors(&grid, cell),
                |&cell| cell == last,
            )
        };
        let found = search().map(|(_, cost)| cost);
        assert_eq!(found, Some(cost), "pathfinding");
        group.bench_function(BenchmarkId::new("pathfinding dijkstra", &size), |bencher| {
            bencher.iter_with_large_drop(search);
        });
    }
    group.finish();
    Ok(())
}

/// Nets by their number of pins.
fn pins(criterion: &mut Criterion) -> Result<()> {
    let mut group = criterion.benchmark_group("route pins");
    group
        .sampling_mode(SamplingMode::Flat)
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_secs(1));
    let grid = grids::grid(1024, 1024)?;
    group.throughput(Throughput::Elements(grid.cell_count().into()));
    let engine = Engine::cpu();
    for pins in list("TRAZAR_BENCH_PINS", "2,16,256,700,10000") {
        let net = grids::net(&grid, pins);
        let options = options(RouteAlgorithm::Dijkstra, TreeKind::Nearest);
        group.bench_function(BenchmarkId::new("trazar dijkstra", pins), |bencher| {
            bencher.iter_with_large_drop(|| engine.route_net(&grid, &net, &options));
        });
    }
    group.finish();
    Ok(())
}

fn wanted(variable: &str) -> bool {
    std::env::var_os(variable).is_none_or(|value| value != "0")
}

fn main() -> Result<()> {
    if wanted("TRAZAR_BENCH_TABLES") {
        table(&FEW_PINS)?;
        table(&MANY_PINS)?;
    }
    if wanted("TRAZAR_BENCH_CRITERION") {
        let mut criterion = Criterion::default().configure_from_args();
        corners(&mut criterion)?;
        pins(&mut criterion)?;
        criterion.final_summary();
    }
    Ok(())
}
