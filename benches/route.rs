//! `cargo bench -p trazar-benches --bench route`: routing on the CPU.
//!
//! First two tables with the sizes and pins of 王領崧, "Parallized Maze Routing" (sic), undated
//! project report, its times beside ours, in seconds, on grids with random weights of the same
//! range. An algorithm is left out where it would take more than some 10 seconds. Then, by
//! criterion: from corner to corner, which settles nearly all cells, in cells per second, beside
//! the crates `petgraph` and `pathfinding` on the same grid; and nets by their number of pins.
//!
//! `TRAZAR_BENCH_SIDES=256,8192` chooses the sizes of the grids from corner to corner,
//! `TRAZAR_BENCH_PINS=2,10000` the numbers of pins on 1024 × 1024 cells; `TRAZAR_BENCH_TABLES=0`
//! leaves out the tables, `TRAZAR_BENCH_CRITERION=0` the measurements by criterion.

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use petgraph::csr::Csr;
use trazar::route::{
    BLOCKED, Cell, DistanceAlgorithm, DistanceOptions, RouteAlgorithm, RouteOptions, RoutingGrid,
    TreeKind,
};
use trazar::{Engine, Result};
use trazar_bench_support::grids;
use trazar_bench_support::report::{Case, FEW_PINS, MANY_PINS};
use trazar_bench_support::settings::{is_wanted, numbers};

/// Each with its options; `None` is breadth-first search.
const OURS: [(&str, Option<(RouteAlgorithm, TreeKind)>); 5] = [
    ("fewest edges", None),
    ("sweep", Some((RouteAlgorithm::Sweep, TreeKind::Nearest))),
    (
        "sweep-parallel",
        Some((RouteAlgorithm::SweepParallel, TreeKind::Nearest)),
    ),
    (
        "dijkstra",
        Some((RouteAlgorithm::Dijkstra, TreeKind::Nearest)),
    ),
    (
        "improved",
        Some((RouteAlgorithm::Dijkstra, TreeKind::Improved)),
    ),
];

/// The longest time that a run may be expected to take.
const MOST_SECONDS: f64 = 10.0;

fn options(algorithm: RouteAlgorithm, tree: TreeKind) -> RouteOptions {
    RouteOptions::default().algorithm(algorithm).tree(tree)
}

fn table(cases: &[Case]) -> Result<()> {
    let seconds = |seconds: Option<f64>| seconds.map_or("-".to_owned(), |s| format!("{s:.4}"));
    print!("| width | height | pins | report: bfs | sweep | omp | cuda ");
    for (i, (name, _)) in OURS.into_iter().enumerate() {
        print!("| {}{name} ", if i == 0 { "ours: " } else { "" });
    }
    println!("| cost | improved |");
    println!("{}|", "| --- ".repeat(9 + OURS.len()));
    // For each algorithm, the seconds of the last row per unit of work: an upper estimate for
    // larger rows.
    let mut rates = [0.0f64; OURS.len()];
    for case in cases {
        let (side, pins) = (case.side, case.pins);
        let grid = grids::grid(side, side)?;
        let net = grids::net(&grid, pins);
        print!("| {side} | {side} | {pins} ");
        for time in case.seconds {
            print!("| {} ", seconds(time));
        }
        let mut costs = [None; OURS.len()];
        for (i, (name, way)) in OURS.into_iter().enumerate() {
            let cells = f64::from(side) * f64::from(side);
            let work = match way {
                Some((RouteAlgorithm::Dijkstra, _)) => cells,
                None => cells * f64::from(pins),
                Some(_) => cells * f64::from(2 * side) * f64::from(pins).sqrt(),
            };
            if rates[i] * work > MOST_SECONDS {
                print!("| - ");
                continue;
            }
            let started = Instant::now();
            let route = match way {
                Some((algorithm, tree)) => {
                    Engine::cpu().route_net(&grid, &net, &options(algorithm, tree))?
                }
                None => Engine::cpu()
                    .route_fewest_edges(&grid, std::slice::from_ref(&net))?
                    .swap_remove(0),
            };
            let time = started.elapsed().as_secs_f64();
            rates[i] = time / work;
            costs[i] = Some(route.cost());
            print!("| {} ", seconds(Some(time)));
            // A wrong route is worth no time.
            if let Err(why) = route.verify(&grid, &net) {
                panic!("{name}: {why}");
            }
            if matches!(way, Some((_, TreeKind::Nearest))) {
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

/// From the first to the last cell, by this library and by others.
fn corners(criterion: &mut Criterion) -> Result<()> {
    let mut group = criterion.benchmark_group("route corners");
    group
        .sampling_mode(SamplingMode::Flat)
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_secs(1));
    for side in numbers("TRAZAR_BENCH_SIDES", "256,1024")? {
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
        for (name, algorithm) in [
            ("trazar, all cells", DistanceAlgorithm::Dijkstra),
            ("trazar, all cells on all cores", DistanceAlgorithm::Tiles),
        ] {
            let options = DistanceOptions::default().algorithm(algorithm);
            group.bench_function(BenchmarkId::new(name, &size), |bencher| {
                bencher.iter(|| engine.distances(&grid, &[Cell::at(0, 0)], &options));
            });
        }

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
    for pins in numbers("TRAZAR_BENCH_PINS", "2,16,256,700,10000")? {
        let net = grids::net(&grid, pins);
        let options = options(RouteAlgorithm::Dijkstra, TreeKind::Nearest);
        group.bench_function(BenchmarkId::new("trazar dijkstra", pins), |bencher| {
            bencher.iter_with_large_drop(|| engine.route_net(&grid, &net, &options));
        });
    }
    group.finish();
    Ok(())
}

fn main() -> Result<()> {
    if is_wanted("TRAZAR_BENCH_TABLES") {
        table(&FEW_PINS)?;
        table(&MANY_PINS)?;
    }
    if is_wanted("TRAZAR_BENCH_CRITERION") {
        let mut criterion = Criterion::default().configure_from_args();
        corners(&mut criterion)?;
        pins(&mut criterion)?;
        criterion.final_summary();
    }
    Ok(())
}
