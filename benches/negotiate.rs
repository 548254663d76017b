//! `cargo bench -p trazar-benches --bench negotiate`: nets that compete for edges, on all cores, or
//! on a GPU.
//!
//! A row for each batch of [`CompetingNets`]: the time, the rounds, the overflow after the first
//! and the last, and the share of the wires' capacities that the trees use in the end. Trees
//! without overflow exist for each batch.
//!
//! | variable | is |
//! |---|---|
//! | `TRAZAR_BENCH_THREADS=1,16` | the numbers of threads; all by default |
//! | `TRAZAR_BENCH_GPU=1` | on a GPU |
//! | `TRAZAR_BENCH_SMALLEST=1024`, `TRAZAR_BENCH_LARGEST=256` | leave out other grids |
//! | `TRAZAR_BENCH_DEMAND=80` | the percentage of the capacities that trees need; 90 by default |
//! | `TRAZAR_BENCH_ROUNDS=20` | the most rounds; 100 by default |
//! | `TRAZAR_BENCH_SHOW=1` | prints the rounds of a batch once it has ended |

use std::time::Instant;

use trazar::generate::CompetingNets;
use trazar::route::NegotiationOptions;
use trazar::{Engine, Result};
use trazar_bench_support::settings::numbers;

/// Side, nets, pins per net, and the side of the square around them.
const BATCHES: [(u32, u32, u32, u32); 4] = [
    (128, 400, 4, 48),
    (256, 1000, 4, 96),
    (512, 4000, 4, 128),
    (1024, 10_000, 6, 256),
];

fn main() -> Result<()> {
    let one = |name, usual| -> Result<u32> {
        Ok(numbers(name, usual)?.first().copied().unwrap_or_default())
    };
    let demand = f64::from(one("TRAZAR_BENCH_DEMAND", "90")?) / 100.0;
    let largest = one("TRAZAR_BENCH_LARGEST", "4294967295")?;
    let smallest = one("TRAZAR_BENCH_SMALLEST", "0")?;
    let show_rounds = one("TRAZAR_BENCH_SHOW", "0")? > 0;
    let rounds = one("TRAZAR_BENCH_ROUNDS", "100")?;
    let engine = match one("TRAZAR_BENCH_GPU", "0")? {
        0 => Engine::cpu(),
        _ => Engine::cuda()?,
    };
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let threads: Vec<usize> = numbers("TRAZAR_BENCH_THREADS", &all.to_string())?;
    println!(
        "| cells | nets | pins | demand | threads | seconds | rounds | overflow, first round | \
         overflow, last round | overfull edges | wire length | vias | share of capacities |"
    );
    println!("{}|", "| ---: ".repeat(13));
    for (side, nets, pins, reach) in BATCHES {
        if side > largest || side < smallest {
            continue;
        }
        let batch = CompetingNets::default().width(side).height(side).nets(nets);
        let case = batch.pins(pins).reach(reach).demand(demand).generate(1)?;
        let Some(capacities) = &case.capacities else {
            continue;
        };
        let wires = capacities.rights().iter().chain(capacities.downs());
        let capacity: u64 = wires.map(|&capacity| u64::from(capacity)).sum();
        for &threads in &threads {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().expect("threads");
            let options = NegotiationOptions::default().rounds(rounds);
            let started = Instant::now();
            let found =
                pool.install(|| engine.negotiate(&case.grid, capacities, &case.nets, &options))?;
            let seconds = started.elapsed().as_secs_f64();
            if show_rounds {
                for round in &found.rounds {
                    println!("{round:?}");
                }
            }
            println!(
                "| {side} × {side} × 4 | {nets} | {pins} | {demand} | {threads} | {seconds:.2} \
                 | {} | {} | {} | {} | {} | {} | {:.2} |",
                found.rounds.len(),
                found.rounds.first().map_or(0, |round| round.overflow),
                found.overflow(),
                found.overfull.len(),
                found.wire_length(),
                found.vias(),
                found.wire_length() as f64 / capacity as f64,
            );
            // A wrong tree is worth no time.
            for (route, net) in found.routes.iter().zip(&case.nets) {
                if let Err(why) = route.verify(&case.grid, net) {
                    panic!("{why}");
                }
            }
        }
    }
    Ok(())
}
