//! Tracing by fragments against tracing on one thread, for several numbers of threads. Strips of
//! any height, down to one row, are tested in the library.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use trazar::generate::Pattern;
use trazar::{Approximation, Backend, BinaryImage, Engine, TraceAlgorithm, TraceOptions};
use trazar_test_support::images::{lines, noise_or_rectangles, tiny_images};
use trazar_test_support::threads::on_threads;
use trazar_test_support::tracers::{self, all_options, main_options, trace};
use trazar_test_support::{optional, seeds};

/// Images that one strip does not hold: strips have 16 rows at least, and 2¹⁶ pixels.
fn images() -> impl Strategy<Value = BinaryImage> {
    noise_or_rectangles([1..40, 1..40], [2000..9000, 20..70])
}

fn by_fragments(options: TraceOptions) -> TraceOptions {
    options.algorithm(TraceAlgorithm::Fragments)
}

fn check(image: &BinaryImage, options: TraceOptions) {
    tracers::check(image, options, &[by_fragments(options)]);
}

fn check_main(image: &BinaryImage) {
    check_on_threads(image, &[rayon::current_num_threads()]);
}

/// All points and few, on each of these numbers of threads.
fn check_on_threads(image: &BinaryImage, threads: &[usize]) {
    for options in main_options() {
        for options in [options, options.approximation(Approximation::Simple)] {
            let expected = trace(image, options.algorithm(TraceAlgorithm::Suzuki));
            for &threads in threads {
                let traced = on_threads(threads, || trace(image, by_fragments(options)));
                assert!(
                    traced == expected,
                    "{options:?} on {threads} threads of {image:?}"
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(seeds::config(40, 15))]

    #[test]
    fn random_images_match(image in images(), threads in 1usize..9) {
        on_threads(threads, || check_main(&image));
    }
}

#[test]
fn every_image_of_few_pixels_matches() {
    on_threads(1, || {
        for (width, height) in [(4, 4), (3, 5), (9, 1), (1, 9)] {
            for image in tiny_images(width, height) {
                for options in main_options() {
                    check(&image, options);
                }
            }
        }
    });
}

#[test]
fn patterns_match() {
    for pattern in Pattern::ALL {
        for (width, height) in [(1, 1), (1, 200), (65_601, 33), (65_600, 3)] {
            check_main(&pattern.generate(width, height, 7).unwrap());
        }
        let image = pattern.generate(490, 450, 3).unwrap();
        on_threads(4, || {
            for options in all_options() {
                check(&image, options);
            }
        });
    }
}

#[test]
fn long_borders_match_on_any_number_of_threads() {
    for pattern in [
        Pattern::Blobs,
        Pattern::Noise { density: 0.5 },
        Pattern::Noise { density: 0.6 },
        Pattern::Spiral,
        Pattern::NestedRectangles,
        Pattern::Comb,
    ] {
        // Some 35 strips.
        let image = pattern.generate(1600, 1400, 1).unwrap();
        check_on_threads(&image, &[1, 2, 3, 16]);
    }
}

#[test]
fn straight_borders_match() {
    // Lines along seams and across them.
    let size = 1100;
    for at in [0, 16, 59, 60, 64, 1099] {
        on_threads(3, || check_main(&lines(size, &[0, at], &[at, size - 1])));
    }
}

#[test]
fn masks() {
    let Some(folder) = optional::masks("masks") else {
        return;
    };
    optional::for_each_mask(&folder, |_, image| {
        check_on_threads(image, &[1, 2, 16]);
    });
}

#[test]
fn progress_is_reported() {
    let image = Pattern::Blobs.generate(1300, 1300, 1).unwrap();
    let reports = Arc::new(Mutex::new(Vec::new()));
    let engine = Engine::cpu().with_progress({
        let reports = Arc::clone(&reports);
        move |share| {
            reports.lock().unwrap().push(share);
            ControlFlow::Continue(())
        }
    });
    let options = by_fragments(TraceOptions::default());
    let contours = on_threads(2, || engine.trace(&image, &options)).unwrap();
    assert_eq!(
        contours,
        trace(
            &image,
            TraceOptions::default().algorithm(TraceAlgorithm::Suzuki)
        )
    );
    let reports = reports.lock().unwrap();
    assert!(reports.len() > 4);
    assert!(reports.iter().all(|share| (0.0..=1.0).contains(share)));
    assert_eq!(reports.last(), Some(&1.0));
}

#[test]
fn the_processor_traces_by_fragments_first() {
    assert_eq!(
        TraceAlgorithm::on(Backend::Cpu)[0],
        TraceAlgorithm::Fragments
    );
    assert!(TraceAlgorithm::Fragments.backends().contains(&Backend::Cpu));
    let options = TraceOptions::default();
    let engine = Engine::cpu();
    assert_eq!(engine.trace_algorithm(&options), TraceAlgorithm::Fragments);
    let image = BinaryImage::new(20, 10).unwrap();
    assert!(trace(&image, options).is_empty());
}
