//! Costs of travel on the GPU, the median of several runs by the host's clock: resident (friction
//! and results in the GPU's memory), and from host to host.
//! `cargo bench -p trazar-benches --bench gpu_distance`
//!
//! Every result that is timed is first compared, bit for bit, with that of all cores of the
//! processor, which is timed too. Times from host to host contain the check of the friction, its
//! copy to the GPU and the costs' copy back. The search is timed alone, in f32. Then whole calls
//! are, with the check of the friction: for costs alone, and for allocation and directions with
//! them.
//!
//! | variable | what it chooses |
//! |---|---|
//! | `TRAZAR_BENCH_SIDES=4096,8192` | the sizes |
//! | `TRAZAR_BENCH_KINDS=random,uniform,serpentine,upright,winding` | the rasters |
//! | `TRAZAR_BENCH_REPEATS=5` | the number of runs |
//! | `TRAZAR_BENCH_PTX=A,B` | PTX files with variants of the kernels, timed on resident data |
//!
//! Without a GPU the bench says so and ends.

use std::time::Instant;

use trazar::cuda::{Device, Queue};
use trazar::distance::{
    CostDistance, CostDistanceOptions, CostSurface, Costs, Neighbours, Precision, Sources,
};
use trazar::hooks::ResidentCosts;
use trazar::{DeviceDistances, DeviceSurface, Engine, Result, Samples};
use trazar_bench_support::settings::list;
use trazar_bench_support::timing::{MS_PER_S, median_ms};
use trazar_bench_support::variants::variants;

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

/// Compares costs with the processor's.
fn verify(expected: &CostDistance, found: &Costs, what: &str) {
    let cells = expected.width() as usize * expected.height() as usize;
    for i in 0..cells {
        let (expected, found) = (expected.costs().at(i), found.at(i));
        assert!(
            expected.to_bits() == found.to_bits(),
            "wrong cost of cell {i}: {what}"
        );
    }
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
    verify(&expected, found.costs(), "host to host");
    let ms = median_ms(repeats, || {
        gpu.cost_distance(&surface, &sources, options)?;
        Ok(())
    })?;
    println!(
        "{kind:<10} {side} x {side}  {} neighbours  {}  host to host {ms:>9.2} ms  \
         all cores {cpu:>9.1} ms",
        options.neighbours, options.precision
    );
    for variant in variants(&Device::open(0)?)? {
        resident(
            &variant.queue,
            &variant.name,
            &surface,
            (&expected, options),
        )?;
    }
    Ok(())
}

/// Times a queue's kernels on friction in the GPU's memory.
fn resident(
    queue: &Queue,
    name: &str,
    surface: &CostSurface<'_, f32>,
    (expected, options): (&CostDistance, &CostDistanceOptions),
) -> Result<()> {
    let repeats = list("TRAZAR_BENCH_REPEATS", "5")[0].parse().unwrap_or(5);
    let sources = Sources::from_cells([(0, 0)]);
    let mut search = f64::NAN;
    if options.precision == Precision::F32 {
        let mut costs = ResidentCosts::upload(queue, surface, &sources, options)?;
        search = median_ms(repeats, || {
            costs.find()?;
            queue.stream().synchronize()?;
            Ok(())
        })?;
        verify(expected, &Costs::F32(costs.to_host()?), name);
    }
    let with_ties = options.allocation(true).direction(true);
    let ties = Engine::cpu().cost_distance(surface, &sources, &with_ties)?;
    let distances = DeviceDistances::on(queue.clone());
    let on_gpu = DeviceSurface::upload(queue, surface)?;
    let found = distances.cost_distance(&on_gpu, &sources, &with_ties)?;
    verify(expected, &found.to_host()?, name);
    let (_, ids, codes) = found.into_parts();
    let (ids, codes) = (
        ids.map(|ids| ids.to_vec()),
        codes.map(|codes| codes.to_vec()),
    );
    assert!(
        ids.transpose()?.as_deref() == ties.allocation(),
        "wrong allocation: {name}"
    );
    assert!(
        codes.transpose()?.as_deref() == ties.direction(),
        "wrong directions: {name}"
    );
    let time = |options: &CostDistanceOptions| {
        median_ms(repeats, || {
            distances.cost_distance(&on_gpu, &sources, options)?;
            queue.stream().synchronize()?;
            Ok(())
        })
    };
    let (costs, all) = (time(options)?, time(&with_ties)?);
    let allocation = time(&options.allocation(true))?;
    let direction = time(&options.direction(true))?;
    println!(
        "           resident, {name}: search {search:>9.2} ms  costs {costs:>9.2} ms  with \
         allocation {allocation:>9.2} ms  with directions {direction:>9.2} ms  with both \
         {all:>9.2} ms"
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
