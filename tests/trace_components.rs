//! Tracing by components against tracing on one thread.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use trazar::generate::Pattern;
use trazar::{Backend, BinaryImage, Engine, TraceAlgorithm, TraceOptions};
use trazar_test_support::images::{lines, noise_or_rectangles, tiny_images};
use trazar_test_support::seeds;
use trazar_test_support::tracers::{self, all_options, main_options, trace};

fn images() -> impl Strategy<Value = BinaryImage> {
    noise_or_rectangles([1..40, 1..40], [1..140, 1..70])
}

fn check(image: &BinaryImage, options: TraceOptions) {
    tracers::check(image, options, &[by_components(options)]);
}

fn by_components(options: TraceOptions) -> TraceOptions {
    options.algorithm(TraceAlgorithm::Components)
}

fn check_main(image: &BinaryImage) {
    for options in main_options() {
        check(image, options);
    }
}

proptest! {
    #![proptest_config(seeds::config(1000, 2025))]

    #[test]
    fn random_images_match(image in images()) {
        check_main(&image);
    }
}

#[test]
fn every_image_of_few_pixels_matches() {
    for (width, height) in [(4, 4), (3, 5), (5, 3), (9, 1), (1, 9), (8, 2)] {
        for image in tiny_images(width, height) {
            check_main(&image);
        }
    }
}

#[test]
fn patterns_match() {
    for pattern in Pattern::ALL {
        for (width, height) in [
            (1, 1),
            (1, 200),
            (200, 1),
            (63, 20),
            (64, 64),
            (65, 20),
            (127, 50),
            (129, 100),
        ] {
            check_main(&pattern.generate(width, height, 7).unwrap());
        }
        let image = pattern.generate(197, 183, 3).unwrap();
        for options in all_options() {
            check(&image, options);
        }
    }
    for density in [0.02, 0.1, 0.3, 0.5, 0.6, 0.8, 0.95] {
        let image = Pattern::Noise { density }.generate(300, 177, 5).unwrap();
        check_main(&image);
    }
}

#[test]
fn long_borders_match() {
    for pattern in [
        Pattern::Blobs,
        Pattern::Noise { density: 0.5 },
        Pattern::Noise { density: 0.6 },
        Pattern::Spiral,
        Pattern::NestedRectangles,
    ] {
        check_main(&pattern.generate(1500, 1100, 1).unwrap());
    }
}

#[test]
fn straight_borders_match() {
    // Rectangles, lines and holes of one pixel: runs of all lengths across words, and at both ends
    // of rows.
    for width in [1, 2, 55, 56, 57, 63, 64, 65, 127, 128, 500, 3000] {
        let of = |f: fn(u32, u32, u32) -> bool| {
            BinaryImage::from_fn(width, 9, |x, y| f(x, y, width)).unwrap()
        };
        for image in [
            of(|_, _, _| true),
            of(|_, y, _| y == 4),
            of(|_, y, _| y % 2 == 0),
            of(|x, y, width| y % 8 == 0 || x == 0 || x + 1 == width),
            of(|x, y, _| (x % 56, y) != (3, 4)),
            of(|x, y, _| y > x % 2),
        ] {
            check_main(&image);
        }
    }
    for at in [0, 7, 31, 32, 63, 64, 99] {
        check_main(&lines(100, &[0, at], &[at, 99]));
    }
}

#[test]
fn progress_is_reported() {
    let image = Pattern::Blobs.generate(300, 300, 1).unwrap();
    let reports = Arc::new(Mutex::new(Vec::new()));
    let engine = Engine::cpu().with_progress({
        let reports = Arc::clone(&reports);
        move |share| {
            reports.lock().unwrap().push(share);
            ControlFlow::Continue(())
        }
    });
    let options = by_components(TraceOptions::default());
    let contours = engine.trace(&image, &options).unwrap();
    assert_eq!(contours, trace(&image, TraceOptions::default()));
    let reports = reports.lock().unwrap();
    assert!(reports.len() > 4);
    assert!(reports.iter().all(|share| (0.0..=1.0).contains(share)));
    assert_eq!(reports.last(), Some(&1.0));
}

#[test]
fn the_processor_traces_by_components() {
    assert!(TraceAlgorithm::on(Backend::Cpu).contains(&TraceAlgorithm::Components));
    assert!(
        TraceAlgorithm::Components
            .backends()
            .contains(&Backend::Cpu)
    );
    let image = BinaryImage::new(20, 10).unwrap();
    assert!(trace(&image, by_components(TraceOptions::default())).is_empty());
}
