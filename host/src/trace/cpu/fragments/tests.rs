//! Against one thread's tracing, in strips of any height.

use proptest::prelude::*;

use super::super::test_cases::{all_options, alone, images};
use super::*;
use crate::generate::Pattern;
use crate::trace::{Retrieval, TraceAlgorithm};

/// The options under which a mistake in any stage shows.
fn main_options() -> Vec<ContourOptions> {
    let mut options = all_options();
    options.retain(|options| {
        options.retrieval == Retrieval::Tree
            && matches!(
                options.approximation,
                Approximation::None | Approximation::Simple
            )
    });
    options
}

fn check(image: &BinaryImage, options: &[ContourOptions], heights: &[u32]) {
    for options in options {
        let silent = &Progress::SILENT;
        let expected =
            crate::trace::cpu::trace(image, options, TraceAlgorithm::Suzuki, silent).unwrap();
        for &rows in heights {
            let traced = trace_in_strips(image, rows, options, silent).unwrap();
            assert!(
                traced == expected,
                "strips of {rows} rows, {options:?} of {image:?}"
            );
        }
    }
}

proptest! {
    #![proptest_config(crate::seeds::config(600, 15))]

    #[test]
    fn random_images_match(image in images(), rows in 1u32..20) {
        check(&image, &main_options(), &[1, 2, rows]);
    }
}

#[test]
fn every_image_of_few_pixels_matches() {
    alone(|| {
        for (width, height) in [(3, 5), (5, 3), (1, 9), (2, 7)] {
            for bits in 0..1u32 << (width * height) {
                let image =
                    BinaryImage::from_fn(width, height, |x, y| bits >> (y * width + x) & 1 == 1);
                check(&image.unwrap(), &main_options(), &[1, 2]);
            }
        }
    });
}

#[test]
fn patterns_match() {
    for pattern in Pattern::ALL {
        for (width, height) in [(1, 1), (1, 200), (200, 1), (63, 20), (64, 64), (129, 100)] {
            let image = pattern.generate(width, height, 7).unwrap();
            check(&image, &main_options(), &[1, 3, 8, 64]);
        }
        let image = pattern.generate(197, 183, 3).unwrap();
        check(&image, &all_options(), &[1, 5, 16, 183]);
    }
}

#[test]
fn rings_of_many_fragments_match() {
    for pattern in [
        Pattern::Blobs,
        Pattern::Noise { density: 0.6 },
        Pattern::Spiral,
        Pattern::Serpentine,
        Pattern::NestedRectangles,
    ] {
        let image = pattern.generate(1500, 1100, 1).unwrap();
        check(&image, &main_options(), &[1, 7, 128]);
    }
}

#[test]
fn strips_are_shared_and_fit_caches() {
    assert_eq!(strip_rows(4096, 4096, 1), 256);
    assert_eq!(strip_rows(4096, 4096, 2), 256);
    assert_eq!(strip_rows(4096, 4096, 16), 64);
    assert_eq!(strip_rows(4096, 4096, 1000), LEAST_ROWS);
    assert_eq!(strip_rows(1000, 2000, 1), 1048);
    assert_eq!(strip_rows(1000, 2000, 2), 250);
    assert_eq!(strip_rows(1000, 2000, 100), 65);
    // One strip, whatever the number of threads.
    assert!(strip_rows(300, 200, 1) >= 200 && strip_rows(300, 200, 100) >= 200);
}
