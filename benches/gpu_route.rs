//! Routing on the GPU, on grids of random weights from 1 to 255 (`TRAZAR_BENCH_WEIGHTS`) with pins
//! at random cells; the median of several runs by the host's clock. `cargo bench -p trazar-benches
//! --bench gpu_route`
//!
//! | table | contents |
//! |---|---|
//! | nets | one net: by fields on a grid in the GPU's memory; then each algorithm from host to host |
//! | distances | the distances of all cells from a corner, in the same two ways |
//! | batch | 1000 nets of 4 pins in windows of 64 × 64 cells of a grid of 4096 × 4096: all at once on the GPU, one after another on the CPU |
//! | report | the cases of 王領崧, "Parallized Maze Routing" (sic), undated project report, with its times on one core (`bfs`, `sweep`), many cores (`omp`) and a GPU (`cuda`) |
//!
//! Every result that is timed is compared with the CPU's or, where that takes too long, with the
//! other results.
//!
//! | variable | what it chooses |
//! |---|---|
//! | `TRAZAR_BENCH_SIDES=64,1024` | the sizes in the first table |
//! | `TRAZAR_BENCH_PINS=4,64` | the numbers of pins in the first table |
//! | `TRAZAR_BENCH_ALGORITHMS=prefix-fused,tiles` | the algorithms |
//! | `TRAZAR_BENCH_FIELDS=1024` | the sizes in the second table |
//! | `TRAZAR_BENCH_BATCH=0`, `TRAZAR_BENCH_REPORT=0` | leaves out that table |
//! | `TRAZAR_BENCH_CRITERION=0` | leaves out the measurements by criterion, which come last |
//! | `TRAZAR_BENCH_SECONDS=2` | work that takes longer runs once, and not at all for larger sides with as many pins |
//!
//! Without a GPU the bench says so and ends.

#[cfg(not(target_os = "macos"))]
mod table {
    use std::time::Instant;

    use criterion::{BenchmarkId, Criterion};
    use trazar::cuda::{Device, Queue};
    use trazar::error::{OptionError, OptionProblem};
    use trazar::route::{
        Cell, DeviceGrid, DeviceRouteOptions, DeviceRouter, DistanceOptions, Net, Route,
        RouteAlgorithm, RouteOptions, RoutingGrid, Window,
    };
    use trazar::{Engine, Error, Result};
    use trazar_bench_support::grids;
    use trazar_bench_support::report::{FEW_PINS, MANY_PINS};
    use trazar_bench_support::settings::{is_wanted, list, numbers};
    use trazar_test_support::seeds::Random;

    /// Runs of which the median is taken.
    const RUNS: usize = 5;

    /// The engine's algorithms that are wanted.
    fn algorithms(engine: &Engine) -> Result<Vec<RouteAlgorithm>> {
        let all = RouteAlgorithm::on(engine.backend());
        let names: Vec<_> = all.iter().map(|algorithm| algorithm.name()).collect();
        let wanted = list("TRAZAR_BENCH_ALGORITHMS", &names.join(","));
        let find = |name: &String| {
            let found = all.iter().find(|algorithm| algorithm.name() == name);
            found.copied().ok_or_else(|| {
                OptionError::new(
                    "TRAZAR_BENCH_ALGORITHMS",
                    OptionProblem::Malformed,
                    format!(
                        "TRAZAR_BENCH_ALGORITHMS: there is no `{name}`: there are {}",
                        names.join(", ")
                    ),
                )
                .into()
            })
        };
        wanted.iter().map(find).collect()
    }

    fn input(side: u32, pins: u32) -> Result<(RoutingGrid, Net)> {
        let most = numbers("TRAZAR_BENCH_WEIGHTS", "255")?;
        grids::square(side, most.first().copied().unwrap_or(1), pins)
    }

    /// The result of `work`, and the median time of some runs in milliseconds, after one run for
    /// warming up; the time of that run if it takes longer than `seconds`.
    fn median_ms<T>(seconds: f64, mut work: impl FnMut() -> Result<T>) -> Result<(T, f64)> {
        let mut run = || -> Result<(T, f64)> {
            let started = Instant::now();
            let found = work()?;
            Ok((found, started.elapsed().as_secs_f64()))
        };
        let (found, first) = run()?;
        if first > seconds {
            return Ok((found, first * 1e3));
        }
        let times = (0..RUNS).map(|_| Ok(run()?.1));
        let mut times = times.collect::<Result<Vec<f64>>>()?;
        times.sort_by(f64::total_cmp);
        Ok((found, times[RUNS / 2] * 1e3))
    }

    /// A column of a table: the cases that took too long, so that larger ones are left out.
    #[derive(Default)]
    struct Column(Vec<(u32, u32)>);

    impl Column {
        /// Prints the time of `work`, and compares the route with the expected one, if there is one
        /// yet; otherwise it is the expected one from now on.
        fn measure(
            &mut self,
            (side, pins): (u32, u32),
            seconds: f64,
            expected: &mut Option<Route>,
            work: impl FnMut() -> Result<Route>,
        ) -> Result<()> {
            if self.0.iter().any(|&(s, p)| side >= s && pins >= p) {
                print!(" - |");
                return Ok(());
            }
            let (route, ms) = median_ms(seconds, work)?;
            if ms > seconds * 1e3 {
                self.0.push((side, pins));
            }
            let expected = expected.get_or_insert_with(|| route.clone());
            assert!(route == *expected, "wrong route: side {side}, {pins} pins");
            print!(" {ms:.3} |");
            Ok(())
        }
    }

    /// The columns of a table of nets: the CPU, fields on a grid in the GPU's memory, and the
    /// algorithms from host to host.
    struct Nets<'a> {
        router: &'a DeviceRouter<Queue>,
        gpu: &'a Engine,
        algorithms: &'a [RouteAlgorithm],
        seconds: f64,
        cpu: Column,
        resident: Column,
        from_host: Vec<Column>,
    }

    impl<'a> Nets<'a> {
        fn new(
            router: &'a DeviceRouter<Queue>,
            gpu: &'a Engine,
            algorithms: &'a [RouteAlgorithm],
            seconds: f64,
            more: &[&str],
        ) -> Self {
            let cpu = RouteAlgorithm::on(trazar::Backend::Cpu)[0].name();
            let names: Vec<_> = algorithms.iter().map(|a| a.name()).collect();
            let cpu = format!("{cpu} (CPU)");
            let first = ["side", "pins", &cpu, "fields, resident"];
            let all = [&first[..], &names, more].concat();
            println!("| {} |\n|{}", all.join(" | "), " --- |".repeat(all.len()));
            Self {
                router,
                gpu,
                algorithms,
                seconds,
                cpu: Column::default(),
                resident: Column::default(),
                from_host: algorithms.iter().map(|_| Column::default()).collect(),
            }
        }

        /// Prints a row, without the end of its line.
        fn row(&mut self, case: (u32, u32)) -> Result<()> {
            let (side, pins) = case;
            let (grid, net) = input(side, pins)?;
            let mut expected = None;
            print!("| {side} | {pins} |");
            let on_cpu = || Engine::cpu().route_net(&grid, &net, &RouteOptions::default());
            self.cpu
                .measure(case, self.seconds, &mut expected, on_cpu)?;
            let on_device = DeviceGrid::upload(self.router.gpu(), &grid)?;
            let nets = std::slice::from_ref(&net);
            let resident = || {
                Ok(self
                    .router
                    .route(&on_device, nets, &DeviceRouteOptions::default())?
                    .remove(0))
            };
            self.resident
                .measure(case, self.seconds, &mut expected, resident)?;
            drop(on_device);
            for (&algorithm, column) in self.algorithms.iter().zip(&mut self.from_host) {
                let options = RouteOptions::default().algorithm(algorithm);
                let from_host = || self.gpu.route_net(&grid, &net, &options);
                column.measure(case, self.seconds, &mut expected, from_host)?;
            }
            Ok(())
        }
    }

    /// Distances of all cells.
    fn distances(router: &DeviceRouter<Queue>, seconds: f64) -> Result<()> {
        println!("\n| side | dijkstra (CPU) | tiles, resident | tiles | Mcell/s, resident |");
        println!("|{}", " --- |".repeat(5));
        for side in numbers("TRAZAR_BENCH_FIELDS", "1024,4096")? {
            let (grid, _) = input(side, 0)?;
            let source = [Cell::at(0, 0)];
            let (expected, on_cpu) = median_ms(seconds, || {
                Engine::cpu().distances(&grid, &source, &DistanceOptions::default())
            })?;
            let expected = expected.as_slice();
            let on_device = DeviceGrid::upload(router.gpu(), &grid)?;
            let (found, resident) = median_ms(seconds, || {
                let distances = router.distances(&on_device, &source)?;
                router.gpu().stream().synchronize()?;
                Ok(distances)
            })?;
            assert!(found.to_vec()? == expected, "wrong distances: side {side}");
            drop(found);
            drop(on_device);
            let (found, from_host) = median_ms(seconds, || {
                let on_device = DeviceGrid::upload(router.gpu(), &grid)?;
                Ok(router.distances(&on_device, &source)?.to_vec()?)
            })?;
            assert!(found == expected, "wrong distances: side {side}");
            let rate = f64::from(grid.cell_count()) / resident / 1e3;
            println!("| {side} | {on_cpu:.1} | {resident:.3} | {from_host:.3} | {rate:.0} |");
        }
        Ok(())
    }

    /// Many small nets at once.
    fn batch(router: &DeviceRouter<Queue>, seconds: f64) -> Result<()> {
        const SIDE: u32 = 4096;
        const WINDOW: u32 = 64;
        let (grid, _) = input(SIDE, 0)?;
        let mut random = Random::new(3);
        let mut number = |limit| random.below(limit);
        let mut net = || {
            let (x, y) = (number(SIDE - WINDOW), number(SIDE - WINDOW));
            let cells = [0; 4].map(|_| Cell::at(x + number(WINDOW), y + number(WINDOW)));
            Net::from_cells(cells).within(Window {
                x,
                y,
                width: WINDOW,
                height: WINDOW,
            })
        };
        let nets: Vec<_> = (0..1000).map(|_| net()).collect();
        let options = RouteOptions::default();
        let (expected, cpu) = median_ms(seconds, || Engine::cpu().route(&grid, &nets, &options))?;
        let on_device = DeviceGrid::upload(router.gpu(), &grid)?;
        let (found, resident) = median_ms(seconds, || {
            router.route(&on_device, &nets, &DeviceRouteOptions::default())
        })?;
        assert!(found == expected, "wrong routes: batch");
        let (found, from_host) = median_ms(seconds, || {
            Engine::on(router.gpu().clone()).route(
                &grid,
                &nets,
                &RouteOptions::default().algorithm(RouteAlgorithm::on(trazar::Backend::Cuda)[0]),
            )
        })?;
        assert!(found == expected, "wrong routes: batch from the host");
        println!(
            "\n1000 nets of 4 pins in windows of {WINDOW} x {WINDOW} cells of {SIDE} x {SIDE}.\n"
        );
        println!("| CPU, one after the other | at once, resident | at once |");
        println!("|{}", " --- |".repeat(3));
        println!("| {cpu:.3} | {resident:.3} | {from_host:.3} |");
        Ok(())
    }

    /// Nets and distances on grids in the GPU's memory, by criterion's statistics.
    fn by_criterion(router: &DeviceRouter<Queue>) -> Result<()> {
        let mut criterion = Criterion::default().configure_from_args();
        let mut group = criterion.benchmark_group("gpu route");
        group.sample_size(10);
        for (side, pins) in [(256, 16), (1024, 16), (1024, 700), (4096, 16)] {
            let (grid, net) = input(side, pins)?;
            let on_device = DeviceGrid::upload(router.gpu(), &grid)?;
            let nets = [net];
            let size = format!("{side} x {side}");
            group.bench_function(BenchmarkId::new(format!("tiles {pins} pins"), &size), |b| {
                b.iter(|| router.route(&on_device, &nets, &DeviceRouteOptions::default()));
            });
            // Distances do not depend on the pins.
            if pins != 16 {
                continue;
            }
            group.bench_function(BenchmarkId::new("distances", &size), |b| {
                b.iter(|| {
                    let distances = router.distances(&on_device, &[Cell::at(0, 0)])?;
                    router.gpu().stream().synchronize()?;
                    Ok::<_, Error>(distances)
                });
            });
        }
        group.finish();
        criterion.final_summary();
        Ok(())
    }

    pub(crate) fn print() -> Result<()> {
        let device = match Device::open(0) {
            Ok(device) => device,
            Err(error) => {
                println!("gpu_route: skipped: {error}");
                return Ok(());
            }
        };
        let gpu = Engine::cuda()?;
        let router = DeviceRouter::new(&device)?;
        let algorithms = algorithms(&gpu)?;
        let seconds = numbers("TRAZAR_BENCH_SECONDS", "2")?;
        let seconds = seconds.first().copied().unwrap_or(2.0);
        println!("{}. Milliseconds.\n", device.info().name);
        let mut nets = Nets::new(&router, &gpu, &algorithms, seconds, &[]);
        for side in numbers("TRAZAR_BENCH_SIDES", "256,512,1024,2048,4096,8192")? {
            for pins in numbers("TRAZAR_BENCH_PINS", "2,16,100,1000,10000")? {
                nets.row((side, pins))?;
                println!();
            }
        }
        distances(&router, seconds)?;
        if is_wanted("TRAZAR_BENCH_BATCH") {
            batch(&router, seconds)?;
        }
        if is_wanted("TRAZAR_BENCH_REPORT") {
            println!("\nThe cases of the report, and its times on its own machine.\n");
            let theirs = [
                "report: bfs",
                "report: sweep",
                "report: omp",
                "report: cuda",
            ];
            let mut nets = Nets::new(&router, &gpu, &algorithms, seconds, &theirs);
            for case in FEW_PINS.iter().chain(&MANY_PINS) {
                nets.row((case.side, case.pins))?;
                for time in case.seconds {
                    match time {
                        Some(seconds) => print!(" {:.1} |", seconds * 1e3),
                        None => print!(" > 600000 |"),
                    }
                }
                println!();
            }
        }
        if is_wanted("TRAZAR_BENCH_CRITERION") {
            by_criterion(&router)?;
        }
        Ok(())
    }
}

#[cfg(not(target_os = "macos"))]
fn main() -> trazar::Result<()> {
    table::print()
}

#[cfg(target_os = "macos")]
fn main() {
    println!("gpu_route: skipped: macOS has no CUDA");
}
