//! Routing on the GPU, on grids of random weights from 1 to 255 (`TRAZAR_BENCH_WEIGHTS`) with pins at random places; median of several runs by the host's
//! clock. `cargo bench --bench gpu_route`
//!
//! | table | what |
//! |---|---|
//! | nets | one net: by fields on a grid that stays on the GPU; then each algorithm from the host's memory to the host's |
//! | distances | those of all cells, from a corner, likewise |
//! | batch | 1000 nets of 4 pins in windows of 64 × 64 cells of a grid of 4096 × 4096: all at once; one after the other on the CPU |
//! | report | the cases of the report on maze routing, with its own times for one core (`bfs`, `sweep`), many (`omp`) and its GPU (`cuda`) |
//!
//! All results that are timed are compared with the CPU's, or, where that takes too long, with each other.
//!
//! `TRAZAR_BENCH_SIDES=64,1024` chooses the sizes of the first table, `TRAZAR_BENCH_PINS=4,64` the numbers of pins;
//! `TRAZAR_BENCH_ALGORITHMS=prefix-fused,tiles` the algorithms; `TRAZAR_BENCH_FIELDS=1024` the sizes of the second table;
//! `TRAZAR_BENCH_BATCH=0`, `TRAZAR_BENCH_REPORT=0` and `TRAZAR_BENCH_CRITERION=0` leave out the other tables and what comes last,
//! the first two by criterion. What takes more than `TRAZAR_BENCH_SECONDS` (2) is run once, and not at all for larger sides with as
//! many pins. Without a GPU it says so and ends.

#[cfg(target_os = "linux")]
mod table {
    use std::time::Instant;

    use criterion::{BenchmarkId, Criterion};
    use trazar::cuda::{Device, Queue};
    use trazar::route::{
        Cell, DeviceGrid, DeviceRouter, Net, Route, RouteAlgorithm, RouteOptions, RoutingGrid,
        Window,
    };
    use trazar::{Engine, Error, Result};

    /// Runs that a median is of.
    const RUNS: usize = 5;

    /// The report's cases: side, pins, and its seconds by `bfs`, `sweep`, `omp` and `cuda`; what it stopped is infinite.
    const REPORT: [(u32, usize, [f64; 4]); 19] = [
        (256, 4, [0.0945, 0.3579, 0.1331, 0.0289]),
        (256, 8, [0.2104, 0.6984, 0.2658, 0.057]),
        (256, 16, [0.3708, 1.4031, 0.5179, 0.1176]),
        (512, 4, [0.5953, 6.0169, 1.5856, 0.2339]),
        (512, 8, [1.3021, 11.2363, 2.9808, 0.3885]),
        (512, 16, [2.6955, 24.3993, 6.4435, 0.8476]),
        (1024, 4, [6.629, 70.5602, 20.0804, 1.9302]),
        (1024, 8, [11.0103, 135.697, 37.5864, 3.7695]),
        (1024, 16, [22.2053, 292.951, 79.7602, 8.0401]),
        (64, 4, [0.003, 0.0075, 0.0049, 0.0024]),
        (100, 10, [0.023, 0.0538, 0.0236, 0.0116]),
        (200, 40, [0.4144, 1.1289, 0.4281, 0.1875]),
        (256, 65, [1.0675, 4.2704, 1.5903, 0.3318]),
        (350, 120, [3.8009, 24.6705, 8.2991, 1.4413]),
        (500, 250, [20.949, 264.568, 65.1752, 6.5087]),
        (512, 260, [23.8469, 271.663, 72.8673, 6.2595]),
        (750, 560, [117.231, f64::INFINITY, 533.454, 29.2559]),
        (1024, 700, [442.846, f64::INFINITY, f64::INFINITY, 109.943]),
        (1024, 450, [278.178, f64::INFINITY, f64::INFINITY, 84.3711]),
    ];

    fn list(variable: &str, default: &str) -> Vec<String> {
        std::env::var(variable)
            .unwrap_or_else(|_| default.to_owned())
            .split(',')
            .map(|item| item.trim().to_owned())
            .filter(|item| !item.is_empty())
            .collect()
    }

    fn numbers<T: std::str::FromStr>(variable: &str, default: &str) -> Result<Vec<T>> {
        let number = |item: &String| {
            item.parse().map_err(|_| {
                Error::InvalidOption(format!(
                    "{variable}: `{item}` is not a number: give some, with commas between them"
                ))
            })
        };
        list(variable, default).iter().map(number).collect()
    }

    /// The engine's algorithms that are wanted.
    fn algorithms(engine: &Engine) -> Result<Vec<RouteAlgorithm>> {
        let all = RouteAlgorithm::on(engine.device());
        let names: Vec<_> = all.iter().map(|algorithm| algorithm.name()).collect();
        let wanted = list("TRAZAR_BENCH_ALGORITHMS", &names.join(","));
        let find = |name: &String| {
            let found = all.iter().find(|algorithm| algorithm.name() == name);
            found.copied().ok_or_else(|| {
                Error::InvalidOption(format!(
                    "TRAZAR_BENCH_ALGORITHMS: there is no `{name}`: there are {}",
                    names.join(", ")
                ))
            })
        };
        wanted.iter().map(find).collect()
    }

    /// Numbers that follow a seed: SplitMix64 (Steele, Lea and Flood, 2014).
    fn random(mut state: u64) -> impl FnMut(u32) -> u32 {
        move |limit| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((u128::from(z ^ z >> 31) * u128::from(limit)) >> 64) as u32
        }
    }

    fn input(side: u32, pins: usize) -> Result<(RoutingGrid, Net)> {
        let mut weight = random(1);
        let most = numbers("TRAZAR_BENCH_WEIGHTS", "255")?;
        let most = most.first().copied().unwrap_or(1);
        let mut edges = |n: u32| -> Vec<u32> { (0..n).map(|_| 1 + weight(most)).collect() };
        let (right, down) = (edges((side - 1) * side), edges(side * (side - 1)));
        let grid = RoutingGrid::from_edges(side, side, &right, &down)?;
        let mut number = random(2);
        let cells: Vec<_> = (0..pins).map(|_| grid.cell(number(side * side))).collect();
        Ok((grid, Net::from_cells(cells)))
    }

    /// What a measurement found, and the median time of some runs in milliseconds, after one for warming up; that one's if it takes
    /// longer than `seconds`.
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

    /// A column of a table: cases that took too long, so that larger ones are left out.
    #[derive(Default)]
    struct Column(Vec<(u32, usize)>);

    impl Column {
        /// Prints the time of `work`; checks the route, or keeps it for those that follow.
        fn measure(
            &mut self,
            (side, pins): (u32, usize),
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

    /// The columns of a table of nets: the CPU, fields on a resident grid, and the algorithms from the host.
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
            let cpu = RouteAlgorithm::on(trazar::Device::Cpu)[0].name();
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

        /// Prints a row, without its end.
        fn row(&mut self, case: (u32, usize)) -> Result<()> {
            let (side, pins) = case;
            let (grid, net) = input(side, pins)?;
            let mut expected = None;
            print!("| {side} | {pins} |");
            let on_cpu = || Engine::cpu().route_net(&grid, &net, &RouteOptions::default());
            self.cpu
                .measure(case, self.seconds, &mut expected, on_cpu)?;
            let on_device = DeviceGrid::upload(self.router.gpu(), &grid)?;
            let nets = std::slice::from_ref(&net);
            let resident = || Ok(self.router.route(&on_device, nets)?.remove(0));
            self.resident
                .measure(case, self.seconds, &mut expected, resident)?;
            drop(on_device);
            for (&algorithm, column) in self.algorithms.iter().zip(&mut self.from_host) {
                let options = RouteOptions {
                    algorithm: Some(algorithm),
                    ..RouteOptions::default()
                };
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
            let (expected, on_cpu) =
                median_ms(seconds, || Engine::cpu().distances(&grid, &source))?;
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
        let mut number = random(3);
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
        let (found, resident) = median_ms(seconds, || router.route(&on_device, &nets))?;
        assert!(found == expected, "wrong routes: batch");
        let (found, from_host) = median_ms(seconds, || {
            router.route_from_host(&grid, &nets, RouteAlgorithm::on(trazar::Device::Cuda)[0])
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

    /// Nets and distances on resident grids, by criterion's statistics.
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
                b.iter(|| router.route(&on_device, &nets));
            });
            // Whatever the pins.
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

    fn is_wanted(variable: &str) -> bool {
        std::env::var_os(variable).is_none_or(|value| value != "0")
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
            for (side, pins, times) in REPORT {
                nets.row((side, pins))?;
                for time in times {
                    match time.is_finite() {
                        true => print!(" {:.1} |", time * 1e3),
                        false => print!(" > 600000 |"),
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

#[cfg(target_os = "linux")]
fn main() -> trazar::Result<()> {
    table::print()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("gpu_route: skipped: GPUs are used on Linux only");
}
