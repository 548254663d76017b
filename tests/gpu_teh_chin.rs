//! Teh and Chin's dominant points on the GPU equal those on the CPU. Without a GPU each test says
//! that it was skipped; with `TRAZAR_REQUIRE_GPU=1` that is a failure.
//!
//! `TRAZAR_LARGE=1` adds images of up to 16384 × 16384 pixels. `TRAZAR_DATA` names a folder with
//! more images, in `masks/*.png`.
#![cfg(not(target_os = "macos"))]

use trazar::cuda::{Device, Queue};
use trazar::generate::{self, Pattern};
use trazar::{BinaryImage, DeviceTracer, Error, TraceAlgorithm, TraceOptions};
use trazar_test_support::contours::{RETRIEVALS, TEH_CHIN, check};
use trazar_test_support::optional;

/// A tracer on the GPU; `None`, with a line that says so, if there is none.
fn tracer(test: &str) -> Option<DeviceTracer<Queue>> {
    let opened = Device::open(0).map_err(Error::from);
    optional::on_gpu(test, opened.and_then(|device| DeviceTracer::new(&device)))
}

fn both() -> [TraceOptions; 2] {
    TEH_CHIN.map(|approximation| TraceOptions::default().approximation(approximation))
}

fn all_options() -> impl Iterator<Item = TraceOptions> {
    both().into_iter().flat_map(|options| {
        RETRIEVALS.into_iter().flat_map(move |retrieval| {
            let algorithms = TraceAlgorithm::on(trazar::Backend::Cuda).iter();
            algorithms.map(move |&algorithm| options.retrieval(retrieval).algorithm(algorithm))
        })
    })
}

/// The image above a line of slope `rise / run` through its corner: along it, steps repeat.
fn triangle(width: u32, height: u32, rise: u64, run: u64) -> BinaryImage {
    BinaryImage::from_fn(width, height, |x, y| {
        u64::from(y) * run >= u64::from(x) * rise
    })
    .unwrap()
}

#[test]
fn dominant_points_of_random_images() {
    let Some(tracer) = tracer("dominant_points_of_random_images") else {
        return;
    };
    let sizes = [(1, 1), (64, 1), (1, 300), (65, 64), (255, 257), (1001, 333)];
    for (i, (width, height)) in sizes.into_iter().enumerate() {
        for percent in [0, 3, 20, 41, 50, 60, 80, 97, 100] {
            let density = f64::from(percent) / 100.0;
            let image = generate::noise(width, height, density, i as u64).unwrap();
            for options in all_options() {
                check(&tracer, &format!("noise {density}"), &image, &options);
            }
        }
    }
}

/// Images of a few contours each: other orders of blocks and warps for each of them.
#[test]
fn dominant_points_of_many_small_images() {
    let Some(tracer) = tracer("dominant_points_of_many_small_images") else {
        return;
    };
    for seed in 0..400u32 {
        let (width, height) = (20 + seed % 97, 20 + seed % 61);
        let density = 0.3 + f64::from(seed % 40) / 100.0;
        let noise = generate::noise(width, height, density, seed.into()).unwrap();
        let blobs = Pattern::Blobs.generate(3 * width, 3 * height, seed.into());
        for options in both() {
            check(
                &tracer,
                &format!("noise {density}, seed {seed}"),
                &noise,
                &options,
            );
            check(
                &tracer,
                &format!("blobs, seed {seed}"),
                blobs.as_ref().unwrap(),
                &options,
            );
        }
    }
}

#[test]
fn dominant_points_of_every_pattern() {
    let Some(tracer) = tracer("dominant_points_of_every_pattern") else {
        return;
    };
    for pattern in Pattern::ALL {
        let mut image = pattern.generate(777, 1100, 5).unwrap();
        for _ in 0..2 {
            for options in all_options() {
                check(&tracer, &pattern.to_string(), &image, &options);
            }
            image.invert();
        }
    }
}

/// Small enough for `compute-sanitizer --tool racecheck`.
#[test]
fn racecheck_dominant_points() {
    let Some(tracer) = tracer("racecheck_dominant_points") else {
        return;
    };
    let image = Pattern::Blobs.generate(120, 90, 3).unwrap();
    let noise = generate::noise(90, 60, 0.5, 3).unwrap();
    for options in both() {
        check(&tracer, "blobs", &image, &options);
        check(&tracer, "noise", &noise, &options);
        check(&tracer, "triangle", &triangle(120, 60, 1, 2), &options);
    }
}

/// Regions of support, and rows of survivors, that are as long as the image is wide.
#[test]
fn dominant_points_along_straight_lines() {
    let Some(tracer) = tracer("dominant_points_along_straight_lines") else {
        return;
    };
    for (rise, run) in [(1, 2), (2, 1), (1, 3), (2, 3), (3, 7), (13, 31), (1, 50)] {
        let image = triangle(3000, 2000, rise, run);
        for options in both() {
            check(
                &tracer,
                &format!("triangle of slope {rise}/{run}"),
                &image,
                &options,
            );
        }
    }
}

#[test]
fn large_images() {
    if !optional::large("large_images") {
        return;
    }
    let Some(tracer) = tracer("large_images") else {
        return;
    };
    let mut large = vec![
        // One line of 16384 steps whose regions reach as far as it does.
        ("slope 1/2".to_owned(), triangle(16384, 8192, 1, 2)),
    ];
    for (name, width, height) in [
        ("blobs", 16384, 16384),
        ("noise:0.5", 4096, 4096),
        ("noise:0.41", 5000, 7001),
        // One contour of millions of points, and a million contours.
        ("spiral", 4096, 4096),
        ("dots", 2048, 2048),
    ] {
        let pattern: Pattern = name.parse().unwrap();
        large.push((name.to_owned(), pattern.generate(width, height, 7).unwrap()));
    }
    for (name, image) in &large {
        for options in both() {
            check(&tracer, name, image, &options);
        }
    }
}

#[test]
fn masks() {
    let Some(folder) = optional::masks("masks") else {
        return;
    };
    let Some(tracer) = tracer("masks") else {
        return;
    };
    optional::for_each_mask(&folder, |name, image| {
        for options in all_options() {
            check(&tracer, name, image, &options);
        }
    });
}
