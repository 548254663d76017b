//! Costs of travel on the GPU: equal to the processor's, bit for bit. Without a GPU each test says
//! that it was skipped; with `TRAZAR_REQUIRE_GPU=1` that is a failure. `TRAZAR_LARGE=1` adds 10,000
//! random rasters, and large ones.
#![cfg(not(target_os = "macos"))]

use trazar::Engine;
use trazar::distance::{CostDistanceOptions, Neighbours, Precision, Sources};
use trazar_test_support::friction::{Friction, KINDS};
use trazar_test_support::optional;
use trazar_test_support::seeds::{Random, seed_or};

/// `count` random rasters of every kind, with sides up to `most`.
fn check_random(gpu: &Engine, count: u32, most: u32) {
    let seed = seed_or(1);
    let random = &mut Random::new(seed);
    for i in 0..count {
        let (width, height) = (1 + random.below(most), 1 + random.below(most));
        let (width, height) = match random.below(16) {
            0 => (width * 4, 1),
            1 => (1, height * 4),
            _ => (width, height),
        };
        let kind = KINDS[i as usize % KINDS.len()];
        let difference = Friction::draw(kind, width, height, random).difference(gpu);
        assert_eq!(difference, None, "raster {i} of seed {seed}: {kind}");
    }
}

#[test]
fn random_costs() {
    if let Some(gpu) = optional::on_gpu("random_costs", Engine::cuda()) {
        check_random(&gpu, 500, 300);
    }
}

#[test]
fn racecheck_costs() {
    if let Some(gpu) = optional::on_gpu("racecheck_costs", Engine::cuda()) {
        check_random(&gpu, 9, 120);
    }
}

/// Passages along rows and along columns, which blocks follow from tile to tile.
#[test]
fn costs_along_passages() {
    let test = "costs_along_passages";
    let Some(gpu) = optional::on_gpu(test, Engine::cuda()) else {
        return;
    };
    for (kind, apart) in [("uniform", 4), ("reals", 4), ("reals", 1), ("reals", 7)] {
        for neighbours in [Neighbours::Four, Neighbours::Eight, Neighbours::Sixteen] {
            for (upright, precision) in [(false, Precision::F32), (true, Precision::F64)] {
                let seed = seed_or(1);
                let mut friction = Friction::draw(kind, 500, 300, &mut Random::new(seed));
                friction.wall_off(apart, upright);
                friction.options = CostDistanceOptions::default()
                    .neighbours(neighbours)
                    .precision(precision)
                    .allocation(true)
                    .direction(true);
                assert_eq!(friction.difference(&gpu), None, "{kind} of seed {seed}");
            }
        }
    }
}

/// Plateaus of many tiles: a field of zeros, and a passage of zeros.
#[test]
fn large_plateaus() {
    let test = "large_plateaus";
    let Some(gpu) = optional::on_gpu(test, Engine::cuda()) else {
        return;
    };
    for passage in [false, true] {
        for neighbours in [Neighbours::Four, Neighbours::Eight, Neighbours::Sixteen] {
            let seed = seed_or(1);
            let mut friction = Friction::draw("zeros", 700, 600, &mut Random::new(seed));
            if passage {
                friction.values.fill(0.0);
                friction.wall_off(4, false);
            }
            friction.options = CostDistanceOptions::default()
                .neighbours(neighbours)
                .allocation(true)
                .direction(true);
            assert_eq!(friction.difference(&gpu), None, "zeros of seed {seed}");
        }
    }
}

#[test]
fn many_random_costs() {
    let test = "many_random_costs";
    if !optional::large(test) {
        return;
    }
    let Some(gpu) = optional::on_gpu(test, Engine::cuda()) else {
        return;
    };
    check_random(&gpu, 10_000, 200);
    for kind in ["reals", "uniform", "serpentine", "barriers"] {
        let seed = seed_or(1);
        let mut friction = Friction::draw(kind, 4096, 4096, &mut Random::new(seed));
        friction.sources = Sources::from_cells([(0, 0)]);
        friction.values[0] = 1.0;
        for neighbours in [Neighbours::Eight, Neighbours::Sixteen] {
            for precision in [Precision::F32, Precision::F64] {
                friction.options = CostDistanceOptions::default()
                    .neighbours(neighbours)
                    .precision(precision)
                    .allocation(true)
                    .direction(true);
                assert_eq!(friction.difference(&gpu), None, "{kind} of seed {seed}");
            }
        }
    }
}
