//! Costs of travel on the GPU, the median of several runs by the host's clock: resident (friction
//! and costs in the GPU's memory, f32 only), and from host to host.
//! `cargo bench -p trazar-benches --bench gpu_distance`
//!
//! Every result that is timed is first compared, bit for bit, with that of all cores of the
//! processor, which is timed too. Times from host to host contain the check of the friction, its
//! copy to the GPU and the costs' copy back.
//!
//! | variable | what it chooses |
//! |---|---|
//! | `TRAZAR_BENCH_SIDES=4096,8192` | the sizes |
//! | `TRAZAR_BENCH_KINDS=random,uniform,serpentine,upright,winding` | the rasters |
//! | `TRAZAR_BENCH_REPEATS=5` | the number of runs |
//!
//! Without a GPU the bench says so and ends.

use std::time::Instant;

use trazar::cuda::{Device, Queue};
use trazar::distance::{CostDistanceOptions, CostSurface, Neighbours, Precision, Sources};
use trazar::hooks::ResidentCosts;
use trazar::{Engine, Result, Samples};
use trazar_bench_support::settings::list;
use trazar_bench_support::timing::{MS_PER_S, median_ms};

/// The rasters: `serpentine` and `upright` are passages of equal friction along rows and along
/// columns, `winding` one of random friction.
const KINDS: [&str; 5] = ["random", "uniform", "serpentine", "upright", "winding"];

fn friction(kind: &str, side: u32) -> Vec<f32> {
    let mut state = 1u64;
    let mut random = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        1.0 + (state >> 40) as f32 / 16777216.0 * 9.0
    };
    // Walls 4 cells wide and apart, with a gap of 4 cells at alternating ends.
    let is_wall = |x: u32, y: u32| match (y / 4 % 2, y / 8 % 2) {
        (1, 0) => x + 4 < side,
        (1, 1) => x >= 4,
        _ => false,
    };
    let cells = (0..side * side).map(|i| (i % side, i / side));
    let cells = cells.map(|(x, y)| match kind {
        "random" => random(),
        "uniform" => 1.0,
        "serpentine" | "winding" if is_wall(x, y) => f32::INFINITY,
        "upright" if is_wall(y, x) => f32::INFINITY,
        "winding" => random(),
        _ => 1.0,
    });
    cells.collect()
}

fn bench(gpu: &Engine, kind: &str, side: u32, options: &CostDistanceOptions) -> Result<()> {
    let repeats = list("TRAZAR_BENCH_REPEATS", "5")[0].parse().unwrap_or(5);
    let values = friction(kind, side);
    let surface = CostSurface::new(Samples::new(side, side, &values)?);
    let sources = Sources::from_cells([(0, 0)]);
    let started = Instant::now();
    let expected = Engine::cpu().cost_distance(&surface, &sources, options)?;
    let cpu = started.elapsed().as_secs_f64() * MS_PER_S;
    let found = gpu.cost_distance(&surface, &sources, options)?;
    for i in 0..values.len() {
        let (expected, found) = (expected.costs().at(i), found.costs().at(i));
        assert!(
            expected.to_bits() == found.to_bits(),
            "wrong cost of cell {i}"
        );
    }
    let ms = median_ms(repeats, || {
        gpu.cost_distance(&surface, &sources, options)?;
        Ok(())
    })?;
    let mut resident = f64::NAN;
    if options.precision == Precision::F32 {
        let queue = Queue::open(&Device::open(0)?)?;
        let mut costs = ResidentCosts::upload(&queue, &surface, &sources, options)?;
        resident = median_ms(repeats, || {
            costs.find()?;
            queue.stream().synchronize()?;
            Ok(())
        })?;
    }
    println!(
        "{kind:<10} {side} x {side}  {} neighbours  {}  resident {resident:>9.2} ms  \
         host to host {ms:>9.2} ms  all cores {cpu:>9.1} ms",
        options.neighbours, options.precision
    );
    Ok(())
}

fn main() -> Result<()> {
    let gpu = match Engine::cuda() {
        Ok(gpu) => gpu,
        Err(error) => {
            println!("no GPU: {error}");
            return Ok(());
        }
    };
    for side in list("TRAZAR_BENCH_SIDES", "4096") {
        let side = side.parse().expect("a side in TRAZAR_BENCH_SIDES");
        for kind in list("TRAZAR_BENCH_KINDS", &KINDS.join(",")) {
            for (neighbours, precision) in [
                (Neighbours::Eight, Precision::F32),
                (Neighbours::Eight, Precision::F64),
                (Neighbours::Sixteen, Precision::F32),
            ] {
                let options = CostDistanceOptions::default()
                    .neighbours(neighbours)
                    .precision(precision);
                bench(&gpu, &kind, side, &options)?;
            }
        }
    }
    Ok(())
}
