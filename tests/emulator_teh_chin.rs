//! Teh and Chin's dominant points on the GPU, under the emulator: equal to the CPU's in every order
//! of the threads.
//!
//! Images and orders follow one seed, which a failure names; `TRAZAR_SEED` replaces it.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;
use trazar::emulator::Emulator;
use trazar::generate::Pattern;
use trazar::trace::TileCounts;
use trazar::{Backend, BinaryImage, DeviceTracer, Engine, TraceAlgorithm, TraceOptions};
use trazar_test_support::contours::{RETRIEVALS, TEH_CHIN, compare, difference};
use trazar_test_support::emulators::{check, emulator, emulator_of, say, seed};
use trazar_test_support::images::{
    image, noise_or_pattern, noise_or_rectangles, side, tiny_images,
};

/// Traces `image` both ways and compares.
fn check_contours(
    emulator: &Emulator,
    image: &BinaryImage,
    options: &TraceOptions,
) -> Result<(), TestCaseError> {
    compare(&DeviceTracer::on(emulator.clone()), image, options)
}

/// Compares with both curvatures, under the order with the next number each.
fn check_both(name: &str, order: &mut u64, image: &BinaryImage) {
    for approximation in TEH_CHIN {
        *order += 1;
        let options = TraceOptions::default().approximation(approximation);
        let same = check_contours(&emulator_of(*order), image, &options);
        assert!(same.is_ok(), "{name}, {options:?}, order {order}: {same:?}");
    }
}

fn options() -> impl Strategy<Value = TraceOptions> {
    let options = (
        select(&RETRIEVALS[..]),
        select(&TEH_CHIN[..]),
        select(TraceAlgorithm::on(Backend::Emulator)),
    );
    options.prop_map(|(retrieval, approximation, algorithm)| {
        TraceOptions::default()
            .retrieval(retrieval)
            .approximation(approximation)
            .algorithm(algorithm)
    })
}

#[test]
fn dominant_points_of_random_images() {
    check(
        "dominant points of random images",
        20,
        &(image(), emulator(), options()),
        |(image, emulator, options)| check_contours(&emulator, &image, &options),
    );
}

/// Small images have contours of every kind: single points, whole survivors, rows of survivors that
/// run over the start.
#[test]
fn dominant_points_of_many_small_images() {
    let patterns = (noise_or_pattern(), side(70), side(40), any::<u64>());
    let patterns = patterns
        .prop_map(|(pattern, width, height, seed)| pattern.generate(width, height, seed).unwrap());
    let shapes = noise_or_rectangles([1..40, 1..40], [8..60, 8..60]);
    check(
        "dominant points of many small images",
        150,
        &(prop_oneof![patterns, shapes], emulator(), options()),
        |(image, emulator, options)| check_contours(&emulator, &image, &options),
    );
}

#[test]
fn dominant_points_of_every_pattern() {
    let mut order = 3000 * seed();
    for pattern in Pattern::ALL {
        let image = pattern.generate(131, 67, seed()).unwrap();
        check_both(&pattern.to_string(), &mut order, &image);
    }
    say(
        "dominant points of every pattern",
        &format!("orders up to {order}"),
    );
}

/// All images of a few pixels, many of them in one image, a background pixel apart.
#[test]
fn dominant_points_of_all_tiny_images() {
    let mut order = 4000 * seed();
    for (width, height, columns) in [(1, 1, 2), (2, 1, 2), (3, 1, 4), (3, 2, 8), (3, 3, 23)] {
        let images: Vec<_> = tiny_images(width, height).collect();
        let rows = (images.len() as u32).div_ceil(columns);
        let sheet = BinaryImage::from_fn(columns * (width + 1), rows * (height + 1), |x, y| {
            let (column, x) = (x / (width + 1), x % (width + 1));
            let (row, y) = (y / (height + 1), y % (height + 1));
            let image = images.get((row * columns + column) as usize);
            image.is_some_and(|image| x < width && y < height && image.get(x, y))
        });
        let sheet = sheet.unwrap();
        check_both(&format!("{width} × {height}"), &mut order, &sheet);
    }
}

/// Triangles and thin wedges, whose sides are digital lines: where steps repeat, regions of support
/// reach as far as the line does, and rows of survivors are long.
#[test]
fn dominant_points_along_straight_lines() {
    let mut order = 5000 * seed();
    let (width, height) = (230, 150);
    for (rise, run) in [(1, 2), (1, 3), (2, 3), (3, 7), (2, 1), (5, 1)] {
        let triangle = BinaryImage::from_fn(width, height, |x, y| y * run >= x * rise);
        let wedge = BinaryImage::from_fn(width, height, |x, y| {
            let up = (x * rise).abs_diff(70 * run);
            (y * run).abs_diff(70 * run) <= up / 2 && x > 2
        });
        let diamond = BinaryImage::from_fn(width, height, |x, y| {
            x.abs_diff(100) * rise + y.abs_diff(70) * run <= 60 * run
        });
        for (name, image) in [
            ("triangle", triangle),
            ("wedge", wedge),
            ("diamond", diamond),
        ] {
            let name = format!("{name} of slope {rise}/{run}");
            check_both(&name, &mut order, &image.unwrap());
        }
    }
    // Circles, whose arms bend alike on both sides.
    for radius in [3u32, 4, 5, 11, 29, 60] {
        let disc = BinaryImage::from_fn(width, height, |x, y| {
            x.abs_diff(100).pow(2) + y.abs_diff(70).pow(2) <= radius * radius
        });
        check_both(&format!("disc of {radius}"), &mut order, &disc.unwrap());
    }
}

/// A hole's border whose last point and start survive as single points, with a row of three after
/// the start: one of some 10,000 images of random pixels has one.
#[test]
fn dominant_points_after_single_points_at_the_start() {
    let ring = "
        ..##.
        .#..#
        .#.#.
        #...#
        #..#.
        .##..
    ";
    let mut image = BinaryImage::from_art(ring).unwrap();
    let mut order = 6000 * seed();
    for _ in 0..2 {
        check_both("a ring", &mut order, &image);
        image.invert();
    }
}

/// An engine gives them by the same kernels, from an image in the host's memory.
#[test]
fn dominant_points_in_tiles() {
    let image = Pattern::Blobs.generate(90, 70, seed()).unwrap();
    for approximation in TEH_CHIN {
        let options = TraceOptions::default().approximation(approximation);
        let expected = Engine::cpu().trace(&image, &options).unwrap();
        let tiles = TraceAlgorithm::Tiles(TileCounts::new(8, 4).unwrap());
        let options = options.algorithm(tiles);
        let engine = Engine::on(emulator_of(seed()));
        assert_eq!(engine.trace_algorithm(&options), tiles);
        let found = engine.trace(&image, &options).unwrap();
        assert_eq!(difference(&found, &expected), None);
    }
}

/// Nothing is in the image.
#[test]
fn dominant_points_of_nothing() {
    let image = BinaryImage::new(40, 3).unwrap();
    check_both("nothing", &mut seed(), &image);
}
