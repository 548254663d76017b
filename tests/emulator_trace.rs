//! The GPU's contours under the emulator: equal to the sequential tracer's in points, order and hierarchy, whatever the order
//! of the threads.
//!
//! Images and orders follow one seed, which a failure names: `TRAZAR_SEED` gives another.

mod contours;
mod emulated;

use contours::{APPROXIMATIONS, GEOMETRIES, RETRIEVALS, difference};
use emulated::{check, emulator, image, say, seed};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;
use trazar::emulator::Emulator;
use trazar::generate::Pattern;
use trazar::{
    Approximation, BinaryImage, DeviceImage, DeviceTracer, Engine, Error, Retrieval, TraceOptions,
};

/// Traces `image` both ways and compares.
fn check_contours(
    emulator: &Emulator,
    image: &BinaryImage,
    options: &TraceOptions,
) -> Result<(), TestCaseError> {
    let expected = Engine::cpu().trace(image, options).unwrap();
    let tracer = DeviceTracer::on(emulator.clone());
    let on_device = DeviceImage::upload(tracer.gpu(), image).unwrap();
    let found = tracer.trace(&on_device, options)?;
    prop_assert_eq!(found.len(), expected.len());
    prop_assert_eq!(found.point_count(), expected.points().len());
    prop_assert_eq!(difference(&found.to_host()?, &expected), None);
    Ok(())
}

fn options() -> impl Strategy<Value = TraceOptions> {
    let options = (
        select(&RETRIEVALS[..]),
        select(&APPROXIMATIONS[..]),
        select(&GEOMETRIES[..]),
    );
    options.prop_map(|(retrieval, approximation, geometry)| TraceOptions {
        retrieval,
        approximation,
        geometry,
        algorithm: None,
        tiles: None,
    })
}

#[test]
fn contours_of_random_images() {
    check(
        "contours of random images",
        40,
        &(image(), emulator(), options()),
        |(image, emulator, options)| check_contours(&emulator, &image, &options),
    );
}

/// Every pattern at one awkward size, both geometries and approximations, each under an order of its own.
#[test]
fn contours_of_every_pattern() {
    let mut order = seed();
    for pattern in Pattern::ALL {
        let image = pattern.generate(131, 67, seed()).unwrap();
        for geometry in GEOMETRIES {
            for approximation in APPROXIMATIONS {
                order += 1;
                let options = TraceOptions {
                    geometry,
                    approximation,
                    ..TraceOptions::default()
                };
                let same = check_contours(&Emulator::new(order), &image, &options);
                assert!(
                    same.is_ok(),
                    "{pattern}, {options:?}, order {order}: {same:?}"
                );
            }
        }
    }
    say(
        "contours of every pattern",
        &format!("orders up to {order}"),
    );
}

/// Small images of few pixels: all of them up to 3 × 3.
#[test]
fn contours_of_all_small_images() {
    let mut order = 1000 * seed();
    for (width, height) in [(1, 1), (3, 1), (1, 3), (2, 2), (3, 2), (3, 3)] {
        for bits in 0..1u32 << (width * height) {
            let values: Vec<u8> = (0..width * height).map(|i| (bits >> i & 1) as u8).collect();
            let image = BinaryImage::from_values(width, height, &values, 0).unwrap();
            order += 1;
            let options = TraceOptions {
                geometry: GEOMETRIES[order as usize % 2],
                approximation: APPROXIMATIONS[order as usize / 2 % 2],
                retrieval: RETRIEVALS[order as usize / 4 % 4],
                algorithm: None,
                tiles: None,
            };
            let same = check_contours(&Emulator::new(order), &image, &options);
            assert!(
                same.is_ok(),
                "{bits:b} of {width} × {height}, {options:?}: {same:?}"
            );
        }
    }
}

/// About as many borders as a digit of the sort has values: the keys' last digit is what tells them from the others.
#[test]
fn contours_where_the_keys_take_another_digit() {
    let (width, height) = (65, 40);
    for count in 253..=258u32 {
        // A ring with a dot in it, which are three borders, and dots.
        let mut values = vec![0; (width * height) as usize];
        let mut dots = 0;
        for (i, value) in values.iter_mut().enumerate() {
            let (x, y) = (i as u32 % width, i as u32 / width);
            if x < 5 && y < 5 {
                *value = u8::from(x % 4 == 0 || y % 4 == 0 || (x, y) == (2, 2));
            } else if x % 2 == 0 && y % 2 == 0 && (x > 5 || y > 5) && dots < count - 3 {
                *value = 1;
                dots += 1;
            }
        }
        let image = BinaryImage::from_values(width, height, &values, 0).unwrap();
        for retrieval in [Retrieval::External, Retrieval::Tree] {
            let options = TraceOptions {
                retrieval,
                ..TraceOptions::default()
            };
            let emulator = Emulator::new(seed() + u64::from(count));
            let same = check_contours(&emulator, &image, &options);
            assert!(same.is_ok(), "{count} borders, {retrieval:?}: {same:?}");
        }
    }
}

#[test]
fn what_the_device_does_not_do_is_said() {
    let tracer = DeviceTracer::on(Emulator::new(1));
    let image = BinaryImage::from_art("#").unwrap();
    let image = DeviceImage::upload(tracer.gpu(), &image).unwrap();
    let options = TraceOptions {
        approximation: Approximation::TehChinL1,
        ..TraceOptions::default()
    };
    assert!(matches!(
        tracer.trace(&image, &options),
        Err(Error::Unavailable(_))
    ));
}
