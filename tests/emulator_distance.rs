//! Costs of travel under the emulator: equal to the processor's, bit for bit, in every order of the
//! threads.

use proptest::prelude::*;
use proptest::sample::select;
use trazar::distance::{
    CellSize, CostDistanceOptions, CostSurface, Neighbours, Precision, Source, StepCost,
};
use trazar::emulator::{Emulator, Schedule};
use trazar::hooks::ResidentCosts;
use trazar::{Engine, Samples};
use trazar_test_support::emulators::{check, say, seed};
use trazar_test_support::friction::{Friction, KINDS};
use trazar_test_support::seeds::Random;

/// Emulators with a few resident blocks; launches of knight's moves take many steps.
fn emulator(seed: u64, schedule: Schedule) -> Emulator {
    Emulator::new(seed)
        .with_step_limit(1 << 27)
        .with_schedule(schedule)
        .with_resident_blocks(1 + (seed % 3) as u32)
}

#[test]
fn costs_of_random_rasters() {
    let schedules = vec![
        Schedule::Mixed,
        Schedule::Random,
        Schedule::Priorities,
        Schedule::Stalls,
        Schedule::InOrder,
    ];
    let raster = (1..71u32, 1..71u32, select(&KINDS[..]), any::<u64>());
    check(
        "costs of random rasters",
        60,
        &(raster, any::<u64>(), select(schedules)),
        |((width, height, kind, drawn), order, schedule)| {
            let friction = Friction::draw(kind, width, height, &mut Random::new(drawn));
            let engine = Engine::on(emulator(order, schedule));
            let difference = friction.difference(&engine);
            prop_assert!(difference.is_none(), "{kind}: {}", difference.unwrap());
            Ok(())
        },
    );
}

/// Sides that are borders of tiles, or next to them, with all neighbours and both precisions.
#[test]
fn costs_at_the_borders_of_tiles() {
    let mut order = seed();
    for (width, height) in [
        (1, 1),
        (32, 32),
        (33, 31),
        (34, 66),
        (1, 100),
        (100, 1),
        (65, 33),
    ] {
        for neighbours in [Neighbours::Four, Neighbours::Eight, Neighbours::Sixteen] {
            for precision in [Precision::F32, Precision::F64] {
                order += 1;
                let kind = KINDS[order as usize % KINDS.len()];
                let mut friction = Friction::draw(kind, width, height, &mut Random::new(order));
                friction.options = friction.options.neighbours(neighbours).precision(precision);
                let engine = Engine::on(emulator(order, Schedule::Mixed));
                let difference = friction.difference(&engine);
                assert_eq!(difference, None, "{kind}, seed {order}");
            }
        }
    }
    say(
        "costs at the borders of tiles",
        "all neighbours and precisions",
    );
}

/// Allocation and directions where many paths tie: plateaus of several tiles, with all neighbours
/// and both precisions, and sources of several ids.
#[test]
fn ties_of_all_kinds() {
    let mut order = seed();
    for kind in ["few", "zeros", "uniform", "swallowed", "barriers"] {
        for neighbours in [Neighbours::Four, Neighbours::Eight, Neighbours::Sixteen] {
            for precision in [Precision::F32, Precision::F64] {
                order += 1;
                let random = &mut Random::new(order);
                let (width, height) = (20 + random.below(40), 20 + random.below(40));
                let mut friction = Friction::draw(kind, width, height, random);
                friction.options = CostDistanceOptions::default()
                    .neighbours(neighbours)
                    .precision(precision)
                    .allocation(true)
                    .direction(true);
                let engine = Engine::on(emulator(order, Schedule::Mixed));
                let difference = friction.difference(&engine);
                assert_eq!(difference, None, "{kind}, seed {order}");
            }
        }
    }
    say("ties of all kinds", "all neighbours and precisions");
}

/// A plateau that winds through many tiles, so that layers and ids do.
#[test]
fn plateaus_along_passages() {
    let mut order = seed();
    for neighbours in [Neighbours::Four, Neighbours::Eight, Neighbours::Sixteen] {
        for upright in [false, true] {
            order += 1;
            let mut friction = Friction::draw("uniform", 140, 24, &mut Random::new(order));
            friction.values.fill(0.0);
            friction.wall_off(4, upright);
            // The largest id; or two sources of one cell, and one that is too late.
            let (x, y) = (friction.width - 1, friction.height - 1);
            friction.sources = match upright {
                true => [Source::new(x, y, u32::MAX)].into_iter().collect(),
                false => [
                    Source::new(0, 0, 3),
                    Source::new(0, 0, 5),
                    Source::new(x, y, 1).start_cost(1.0),
                ]
                .into_iter()
                .collect(),
            };
            friction.options = CostDistanceOptions::default()
                .neighbours(neighbours)
                .allocation(true)
                .direction(true);
            let gpu = emulator(order, Schedule::Mixed).with_resident_blocks(5);
            let difference = friction.difference(&Engine::on(gpu));
            assert_eq!(difference, None, "upright {upright}, seed {order}");
        }
    }
    say("plateaus along passages", "all neighbours");
}

/// Algorithms are the processor's, and so are costs of the cells that steps enter.
#[test]
fn what_kernels_do_not_compute_is_refused() {
    let mut friction = Friction::draw("uniform", 5, 4, &mut Random::new(1));
    for options in [
        CostDistanceOptions::default().step_cost(StepCost::Entered),
        CostDistanceOptions::default().algorithm(trazar::distance::DistanceAlgorithm::Tiles),
    ] {
        friction.options = options;
        let error = friction.solve(&Engine::emulator(0)).unwrap_err();
        assert!(matches!(error, trazar::Error::Unavailable(_)), "{error}");
    }
}

/// Steps whose lengths f32 rounds to 0 or to infinity are refused in f32, and found in f64.
#[test]
fn cells_of_extreme_sizes() {
    let mut friction = Friction::draw("uniform", 5, 4, &mut Random::new(1));
    for side in [1e-60, 1e60] {
        let options = CostDistanceOptions::default().cell_size(CellSize { x: side, y: side });
        friction.options = options;
        let error = friction.solve(&Engine::emulator(0)).unwrap_err();
        assert!(
            matches!(error, trazar::Error::InvalidOption(_)),
            "{side}: {error}"
        );
        friction.options = options.precision(Precision::F64);
        let difference = friction.difference(&Engine::emulator(0));
        assert!(difference.is_none(), "{side}: {}", difference.unwrap());
    }
}

/// A launch leaves its queue as it found it: the next one finds the same costs.
#[test]
fn resident_searches_repeat() {
    let friction = Friction::draw("maze", 40, 70, &mut Random::new(seed()));
    let options = CostDistanceOptions::default();
    let surface = CostSurface::new(Samples::new(40, 70, &friction.values).unwrap());
    let gpu = emulator(seed() + 2, Schedule::Mixed);
    let mut search = ResidentCosts::upload(&gpu, &surface, &friction.sources, &options).unwrap();
    let expected = Engine::cpu()
        .cost_distance(&surface, &friction.sources, &options)
        .unwrap();
    for run in 0..3 {
        search.find().unwrap();
        let found = search.to_host().unwrap();
        let bits = |costs: &[f32]| costs.iter().map(|cost| cost.to_bits()).collect::<Vec<_>>();
        let expected = expected.costs().as_f32().unwrap();
        assert!(
            bits(&found) == bits(expected),
            "not the CPU's costs in run {run}"
        );
    }
}

/// Blocks follow passages from tile to tile, also around corners.
#[test]
fn costs_along_passages() {
    let mut order = seed();
    // (Uniform costs in F32 are those of the plateaus, above.)
    for (kind, precision) in [("reals", Precision::F32), ("uniform", Precision::F64)] {
        for neighbours in [Neighbours::Four, Neighbours::Eight, Neighbours::Sixteen] {
            for upright in [false, true] {
                order += 1;
                let mut friction = Friction::draw(kind, 140, 24, &mut Random::new(order));
                friction.wall_off(4, upright);
                friction.options = CostDistanceOptions::default()
                    .neighbours(neighbours)
                    .precision(precision)
                    .allocation(upright)
                    .direction(!upright);
                let gpu = emulator(order, Schedule::Mixed).with_resident_blocks(5);
                let difference = friction.difference(&Engine::on(gpu));
                assert_eq!(difference, None, "{kind}, upright {upright}, seed {order}");
            }
        }
    }
    say("costs along passages", "all neighbours");
}
