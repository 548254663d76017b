//! The GPU's borders under the emulator: equal to the processor's, whatever the order of the threads.
//!
//! Images and orders follow one seed, which a failure names: `TRAZAR_SEED` gives another.

use std::io::Write;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use trazar::emulator::{Emulator, Schedule, tally};
use trazar::generate::Pattern;
use trazar::{
    Approximation, BinaryImage, Contours, Device, Engine, Error, Geometry, Retrieval,
    TraceAlgorithm, TraceOptions,
};

/// The seed of all that is random here.
fn seed() -> u64 {
    let given = std::env::var("TRAZAR_SEED").ok();
    given.map_or(1, |seed| seed.parse().expect("TRAZAR_SEED is a number"))
}

/// Checks `cases` values; says which, and what was emulated so far, where the test runner's capture does not hide it.
fn check<S: Strategy>(name: &str, cases: u32, values: &S, test: impl Fn(S::Value)) {
    let config = Config {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed()),
        ..Config::default()
    };
    let result = TestRunner::new(config).run(values, |value| {
        test(value);
        Ok(())
    });
    say(name, &format!("{cases} cases of seed {}", seed()));
    if let Err(error) = result {
        panic!("seed {}: {error}", seed());
    }
}

fn say(name: &str, what: &str) {
    let _ = writeln!(std::io::stdout(), "{name}: {what}; so far {}", tally());
}

/// Noise of every density, and every pattern, also inverted.
fn image() -> impl Strategy<Value = BinaryImage> {
    let pattern = prop_oneof![
        (0..=100u32).prop_map(|percent| Pattern::Noise {
            density: f64::from(percent) / 100.0
        }),
        select(&Pattern::ALL[..]),
    ];
    let side = || prop_oneof![select(&[1, 2, 31, 32, 63, 64, 65, 129][..]), 1..=70u32];
    (pattern, side(), side(), any::<u64>(), any::<bool>()).prop_map(
        |(pattern, width, height, seed, inverted)| {
            let mut image = pattern.generate(width, height, seed).unwrap();
            if inverted {
                image.invert();
            }
            image
        },
    )
}

/// Powers of two: how many tiles there are, if the image has as many pixels.
fn tiles() -> impl Strategy<Value = (u32, u32)> {
    let along = || (0..=7u32).prop_map(|log| 1 << log);
    (along(), along())
}

fn emulator() -> impl Strategy<Value = Emulator> {
    let schedules = vec![
        Schedule::Mixed,
        Schedule::Random,
        Schedule::Priorities,
        Schedule::InOrder,
    ];
    (any::<u64>(), select(schedules))
        .prop_map(|(seed, schedule)| Emulator::new(seed).with_schedule(schedule))
}

fn options() -> impl Strategy<Value = TraceOptions> {
    let retrieval = select(
        &[
            Retrieval::External,
            Retrieval::List,
            Retrieval::Ccomp,
            Retrieval::Tree,
        ][..],
    );
    let form = select(
        &[
            (Geometry::Centers, Approximation::None),
            (Geometry::Centers, Approximation::Simple),
            (Geometry::Centers, Approximation::TehChinL1),
            (Geometry::Centers, Approximation::TehChinKCos),
            (Geometry::Edges, Approximation::None),
            (Geometry::Edges, Approximation::Simple),
        ][..],
    );
    (retrieval, form).prop_map(|(retrieval, (geometry, approximation))| TraceOptions {
        retrieval,
        approximation,
        geometry,
        ..TraceOptions::default()
    })
}

fn suzuki(image: &BinaryImage, options: TraceOptions) -> Contours {
    Engine::cpu().trace(image, &options).unwrap()
}

fn in_tiles(engine: &Engine, image: &BinaryImage, options: TraceOptions, tiles: (u32, u32)) {
    let (columns, rows) = tiles;
    let most = |side: u32| 1 << side.ilog2();
    let tiles = (
        columns.min(most(image.width())),
        rows.min(most(image.height())),
    );
    let found = engine
        .trace(
            image,
            &TraceOptions {
                algorithm: Some(TraceAlgorithm::Tiles),
                tiles: Some(tiles),
                ..options
            },
        )
        .unwrap_or_else(|error| panic!("{tiles:?} tiles: {error}"));
    let expected = suzuki(image, options);
    assert_eq!(found, expected, "{tiles:?} tiles of {image:?}");
}

#[test]
fn borders_of_random_images() {
    check(
        "borders of random images",
        60,
        &(image(), tiles(), options(), emulator()),
        |(image, tiles, options, emulator)| {
            in_tiles(&Engine::from(emulator), &image, options, tiles);
        },
    );
}

/// Every pattern at one awkward size, each geometry, each under an order of its own.
#[test]
fn borders_of_every_pattern() {
    let mut order = seed();
    for pattern in Pattern::ALL {
        let image = pattern.generate(67, 35, seed()).unwrap();
        for geometry in [Geometry::Centers, Geometry::Edges] {
            for tiles in [(1, 1), (4, 2), (64, 32)] {
                order += 1;
                let options = TraceOptions {
                    geometry,
                    ..TraceOptions::default()
                };
                in_tiles(&Engine::emulator(order), &image, options, tiles);
            }
        }
    }
    say(
        "borders of every pattern",
        &format!("{} patterns", Pattern::ALL.len()),
    );
}

#[test]
fn images_without_borders_or_with_one() {
    let engine = Engine::emulator(seed());
    for (width, height) in [(1, 1), (70, 3)] {
        let empty = BinaryImage::new(width, height).unwrap();
        let full = BinaryImage::from_fn(width, height, |_, _| true).unwrap();
        for image in [empty, full] {
            for geometry in [Geometry::Centers, Geometry::Edges] {
                let options = TraceOptions {
                    geometry,
                    approximation: Approximation::None,
                    ..TraceOptions::default()
                };
                in_tiles(&engine, &image, options, (1, 1));
                in_tiles(&engine, &image, options, (8, 2));
            }
        }
    }
}

#[test]
fn the_engine_chooses_tiles_and_refuses_too_many() {
    let image = Pattern::Blobs.generate(150, 140, 3).unwrap();
    let engine = Engine::emulator(seed());
    assert_eq!(engine.device(), Device::Emulator);
    let options = TraceOptions {
        algorithm: Some(TraceAlgorithm::Tiles),
        ..TraceOptions::default()
    };
    let expected = suzuki(&image, TraceOptions::default());
    assert_eq!(engine.trace(&image, &options).unwrap(), expected);
    let options = TraceOptions {
        tiles: Some((256, 1)),
        ..options
    };
    assert!(matches!(
        engine.trace(&image, &options),
        Err(Error::InvalidOption(_))
    ));
}
