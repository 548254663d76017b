//! Routing on the GPU: one net on a grid of random weights from 1 to 255, its pins at random places, from the host's memory to
//! the host's memory; median of several runs by the host's clock. `cargo bench --bench gpu_route`
//!
//! Each result that is timed is compared with that of the CPU's default algorithm first, which is timed too. The last table has
//! the sizes and numbers of pins of the report on maze routing, with its own times for many cores (`omp`) and its GPU (`cuda`).
//!
//! `TRAZAR_BENCH_SIDES=64,1024` chooses the sizes of the first table, `TRAZAR_BENCH_PINS=4,64` the numbers of pins;
//! `TRAZAR_BENCH_ALGORITHMS=prefix-fused,tiles` the algorithms; `TRAZAR_BENCH_REPORT=0` leaves the report's table out. What takes
//! more than `TRAZAR_BENCH_SECONDS` (5) is run once. Without a GPU it says so and ends.

#[cfg(target_os = "linux")]
mod table {
    use std::time::Instant;

    use trazar::cuda::Device;
    use trazar::route::{Net, Route, RouteAlgorithm, RouteOptions, RoutingGrid};
    use trazar::{Engine, Error, Result};

    /// Runs that a median is of.
    const RUNS: usize = 5;

    /// The report's cases: side, pins, and its seconds by OpenMP and by CUDA.
    const REPORT: [(u32, usize, Option<f64>, f64); 19] = [
        (256, 4, Some(0.1331), 0.0289),
        (256, 8, Some(0.2658), 0.057),
        (256, 16, Some(0.5179), 0.1176),
        (512, 4, Some(1.5856), 0.2339),
        (512, 8, Some(2.9808), 0.3885),
        (512, 16, Some(6.4435), 0.8476),
        (1024, 4, Some(20.0804), 1.9302),
        (1024, 8, Some(37.5864), 3.7695),
        (1024, 16, Some(79.7602), 8.0401),
        (64, 4, Some(0.0049), 0.0024),
        (100, 10, Some(0.0236), 0.0116),
        (200, 40, Some(0.4281), 0.1875),
        (256, 65, Some(1.5903), 0.3318),
        (350, 120, Some(8.2991), 1.4413),
        (500, 250, Some(65.1752), 6.5087),
        (512, 260, Some(72.8673), 6.2595),
        (750, 560, Some(533.454), 29.2559),
        (1024, 700, None, 109.943),
        (1024, 450, None, 84.3711),
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
        let mut edges = |n: u32| -> Vec<u32> { (0..n).map(|_| 1 + weight(255)).collect() };
        let (right, down) = (edges((side - 1) * side), edges(side * (side - 1)));
        let grid = RoutingGrid::from_edges(side, side, &right, &down)?;
        let mut number = random(2);
        let cells: Vec<_> = (0..pins).map(|_| grid.cell(number(side * side))).collect();
        Ok((grid, Net::from_cells(cells)))
    }

    /// The route, and the median time of some runs in milliseconds, after one for warming up; that one's if it takes long.
    fn median_ms(
        engine: &Engine,
        grid: &RoutingGrid,
        net: &Net,
        algorithm: Option<RouteAlgorithm>,
        seconds: f64,
    ) -> Result<(Route, f64)> {
        let options = RouteOptions {
            algorithm,
            ..RouteOptions::default()
        };
        let run = || -> Result<(Route, f64)> {
            let started = Instant::now();
            let route = engine.route_net(grid, net, &options)?;
            Ok((route, started.elapsed().as_secs_f64()))
        };
        let (route, first) = run()?;
        if first > seconds {
            return Ok((route, first * 1e3));
        }
        let times = (0..RUNS).map(|_| Ok(run()?.1));
        let mut times = times.collect::<Result<Vec<f64>>>()?;
        times.sort_by(f64::total_cmp);
        Ok((route, times[RUNS / 2] * 1e3))
    }

    /// Prints a row: the CPU's time, and those of the algorithms on the GPU.
    fn row(
        gpu: &Engine,
        algorithms: &[RouteAlgorithm],
        (side, pins): (u32, usize),
        seconds: f64,
    ) -> Result<()> {
        let (grid, net) = input(side, pins)?;
        let (expected, ms) = median_ms(&Engine::cpu(), &grid, &net, None, seconds)?;
        print!("| {side} | {pins} | {} | {ms:.3} |", expected.cost());
        for &algorithm in algorithms {
            match median_ms(gpu, &grid, &net, Some(algorithm), seconds) {
                Ok((route, ms)) => {
                    assert!(
                        route == expected,
                        "wrong route: {side} x {side}, {pins} pins, {}",
                        algorithm.name()
                    );
                    print!(" {ms:.3} |");
                }
                Err(Error::Unavailable(_)) => print!(" - |"),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn header(algorithms: &[RouteAlgorithm], more: &str) {
        let cpu = RouteAlgorithm::on(trazar::Device::Cpu)[0].name();
        let names: Vec<_> = algorithms.iter().map(|a| a.name()).collect();
        println!(
            "| side | pins | cost | {cpu} (CPU) | {} |{more}",
            names.join(" | ")
        );
        let columns = 4 + names.len() + more.matches('|').count();
        println!("|{}", " --- |".repeat(columns));
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
        let algorithms = algorithms(&gpu)?;
        let seconds = numbers("TRAZAR_BENCH_SECONDS", "5")?;
        let seconds = seconds.first().copied().unwrap_or(5.0);
        println!("{}. Milliseconds, from host to host.\n", device.info().name);
        header(&algorithms, "");
        for side in numbers("TRAZAR_BENCH_SIDES", "64,128,256,512,1024")? {
            for pins in numbers("TRAZAR_BENCH_PINS", "2,16,256")? {
                row(&gpu, &algorithms, (side, pins), seconds)?;
                println!();
            }
        }
        if std::env::var_os("TRAZAR_BENCH_REPORT").is_none_or(|value| value != "0") {
            println!("\nThe cases of the report, and its times on its own machine.\n");
            header(&algorithms, " report: omp | report: cuda |");
            for (side, pins, omp, cuda) in REPORT {
                row(&gpu, &algorithms, (side, pins), seconds)?;
                match omp {
                    Some(omp) => print!(" {:.1} |", omp * 1e3),
                    None => print!(" > 600000 |"),
                }
                println!(" {:.1} |", cuda * 1e3);
            }
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
