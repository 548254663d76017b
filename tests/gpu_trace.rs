//! Contours on the GPU equal contours on the CPU. Without a GPU each test says that it was skipped;
//! with `TRAZAR_REQUIRE_GPU=1` that is a failure.
//!
//! `TRAZAR_LARGE=1` adds images of up to 16384 × 16384 pixels, and more random images.
//! `TRAZAR_DATA` names a folder with more images, in `masks/*.png`.
#![cfg(not(target_os = "macos"))]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use trazar::cuda::{Device, Queue};
use trazar::generate::{self, Pattern};
use trazar::{
    Approximation, BinaryImage, DeviceImage, DeviceImageBatch, DeviceTracer, Engine, Error,
    Geometry, Retrieval, TraceAlgorithm, TraceOptions,
};
use trazar_test_support::contours::{APPROXIMATIONS, GEOMETRIES, RETRIEVALS, check, difference};
use trazar_test_support::optional;
use trazar_test_support::seeds::{Random, seed_or};

/// A tracer on the GPU; `None`, with a line that says so, if there is none.
fn tracer(test: &str) -> Option<DeviceTracer<Queue>> {
    let opened = Device::open(0).map_err(Error::from);
    optional::on_gpu(test, opened.and_then(|device| DeviceTracer::new(&device)))
}

fn all_options() -> impl Iterator<Item = TraceOptions> {
    RETRIEVALS.into_iter().flat_map(|retrieval| {
        APPROXIMATIONS.into_iter().flat_map(move |approximation| {
            GEOMETRIES.into_iter().flat_map(move |geometry| {
                let algorithms = TraceAlgorithm::on(trazar::Backend::Cuda).iter();
                algorithms.map(move |&algorithm| {
                    TraceOptions::default()
                        .retrieval(retrieval)
                        .approximation(approximation)
                        .geometry(geometry)
                        .algorithm(algorithm)
                })
            })
        })
    })
}

#[test]
fn contours_of_random_images() {
    let Some(tracer) = tracer("contours_of_random_images") else {
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

#[test]
fn contours_of_every_pattern() {
    let Some(tracer) = tracer("contours_of_every_pattern") else {
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

/// Noise of random density, in squares of up to 4 pixels, or a pattern; inverted or not; of up to
/// 200 × 200 pixels.
fn draw(random: &mut Random) -> BinaryImage {
    let (width, height) = (1 + random.below(200), 1 + random.below(200));
    let seed = u64::from(random.below(u32::MAX));
    let mut image = match random.below(4) {
        0 => {
            let pattern = Pattern::ALL[random.below(Pattern::ALL.len() as u32) as usize];
            pattern.generate(width, height, seed).unwrap()
        }
        1 => generate::blobs(width, height, seed).unwrap(),
        _ => {
            let scale = 1 + random.below(4);
            let density = f64::from(random.below(101)) / 100.0;
            let (columns, rows) = (width.div_ceil(scale), height.div_ceil(scale));
            let noise = generate::noise(columns, rows, density, seed).unwrap();
            BinaryImage::from_fn(width, height, |x, y| noise.get(x / scale, y / scale)).unwrap()
        }
    };
    if random.below(2) == 1 {
        image.invert();
    }
    image
}

/// Traces `image` with all 16 combinations of options, and compares with the CPU.
fn check_all_options(tracer: &DeviceTracer<Queue>, name: &str, image: &BinaryImage) {
    let on_device = DeviceImage::upload(tracer.gpu(), image).unwrap();
    for geometry in GEOMETRIES {
        for approximation in APPROXIMATIONS {
            for retrieval in RETRIEVALS {
                let sequential = TraceOptions::default()
                    .geometry(geometry)
                    .approximation(approximation)
                    .retrieval(retrieval)
                    .algorithm(TraceAlgorithm::Suzuki);
                let expected = Engine::cpu().trace(image, &sequential).unwrap();
                let options = sequential.algorithm(TraceAlgorithm::Fragments);
                let found = tracer.trace(&on_device, &options).unwrap();
                let difference = difference(&found.to_host().unwrap(), &expected);
                assert!(
                    difference.is_none(),
                    "{name}, {} × {}, {options:?}: {}",
                    image.width(),
                    image.height(),
                    difference.unwrap_or_default()
                );
            }
        }
    }
}

/// 10,000 images with `TRAZAR_LARGE=1`, else 500, each with all options. Several threads trace,
/// each on a stream of its own, so that the sequential tracer does not decide how long it takes.
#[test]
fn ten_thousand_random_images() {
    let test = "ten_thousand_random_images";
    let Some(tracer) = tracer(test) else {
        return;
    };
    let images = if optional::large(test) { 10_000 } else { 500 };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(16));
    let (seed, begin, next) = (seed_or(1), Instant::now(), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let stream = tracer.gpu().stream().device().stream().unwrap();
                let own = DeviceTracer::on(tracer.gpu().on_stream(&stream).unwrap());
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= images {
                        break;
                    }
                    // An image depends on the seed and its number, whichever thread draws it.
                    let image = draw(&mut Random::new(seed << 32 | i));
                    check_all_options(&own, &format!("image {i} of seed {seed}"), &image);
                }
            });
        }
    });
    println!(
        "{images} images of seed {seed}, 16 combinations of options each, on {threads} threads: \
         {:.1} s",
        begin.elapsed().as_secs_f64()
    );
}

/// A few tiles, with rims and a corner between them, sparse and dense ones: small enough for
/// `compute-sanitizer --tool racecheck`, which checks every access to shared memory, to end within
/// minutes.
/// Each image of a batch gives what it gives by itself.
#[test]
fn contours_of_batches() {
    let Some(tracer) = tracer("contours_of_batches") else {
        return;
    };
    for (count, width, height) in [(1, 70, 33), (7, 64, 31), (100, 201, 97), (16, 1232, 1028)] {
        let images: Vec<_> = (0..count)
            .map(|seed| {
                let density = [0.0, 0.03, 0.5, 0.97][seed as usize % 4];
                generate::noise(width, height, density, seed).unwrap()
            })
            .collect();
        let batch = DeviceImageBatch::upload(tracer.gpu(), &images).unwrap();
        for options in all_options() {
            if options.algorithm != Some(TraceAlgorithm::Fragments) {
                continue;
            }
            let found = tracer.trace_batch(&batch, &options).unwrap();
            for (i, (found, image)) in found.to_host().unwrap().iter().zip(&images).enumerate() {
                let sequential = options.algorithm(TraceAlgorithm::Suzuki);
                let expected = Engine::cpu().trace(image, &sequential).unwrap();
                let difference = difference(found, &expected);
                assert!(
                    difference.is_none(),
                    "image {i} of {count}, {options:?}: {difference:?}"
                );
            }
        }
    }
}

#[test]
fn racecheck_contours_by_fragments() {
    let Some(tracer) = tracer("racecheck_contours_by_fragments") else {
        return;
    };
    for density in [0.03, 0.2, 0.5] {
        let image = generate::noise(150, 75, density, 11).unwrap();
        for geometry in GEOMETRIES {
            let options = TraceOptions::default()
                .geometry(geometry)
                .algorithm(TraceAlgorithm::Fragments);
            check(&tracer, "noise for racecheck", &image, &options);
        }
    }
}

/// Borders that pass many tiles, and borders nested in each other, for the same tool.
#[test]
fn racecheck_long_and_nested_borders() {
    let Some(tracer) = tracer("racecheck_long_and_nested_borders") else {
        return;
    };
    for pattern in [Pattern::Spiral, Pattern::NestedRectangles] {
        let image = pattern.generate(150, 75, 1).unwrap();
        for retrieval in RETRIEVALS {
            let options = TraceOptions::default()
                .retrieval(retrieval)
                .approximation(Approximation::None)
                .algorithm(TraceAlgorithm::Fragments);
            check(&tracer, &pattern.to_string(), &image, &options);
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
    let large = [
        ("blobs", 16384, 16384),
        ("noise:0.5", 4096, 4096),
        ("noise:0.41", 5000, 7001),
        // One contour of millions of points, and a million contours.
        ("spiral", 4096, 4096),
        ("dots", 2048, 2048),
        ("lattice", 2048, 2048),
        ("checkerboard", 2048, 2048),
    ];
    for (name, width, height) in large {
        let pattern: Pattern = name.parse().unwrap();
        let image = pattern.generate(width, height, 7).unwrap();
        for geometry in GEOMETRIES {
            for &algorithm in TraceAlgorithm::on(trazar::Backend::Cuda) {
                let options = TraceOptions::default()
                    .geometry(geometry)
                    .algorithm(algorithm);
                check(&tracer, name, &image, &options);
            }
        }
        let options = TraceOptions::default()
            .approximation(Approximation::None)
            .retrieval(Retrieval::List)
            .geometry(Geometry::Centers);
        check(&tracer, name, &image, &options);
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

/// When memory runs out, tracing returns an error, and the GPU stays usable.
#[test]
fn out_of_device_memory_is_an_error() {
    let Some(tracer) = tracer("out_of_device_memory_is_an_error") else {
        return;
    };
    let image = generate::noise(8192, 8192, 0.5, 1).unwrap();
    let on_device = DeviceImage::upload(tracer.gpu(), &image).unwrap();
    let stream = tracer.gpu().stream();
    let free = stream.device().memory().unwrap().free;
    let most = stream.alloc::<u8>(free.saturating_sub(600 << 20)).unwrap();
    let refused = tracer.trace(&on_device, &TraceOptions::default());
    assert!(
        matches!(
            refused,
            Err(Error::Cuda(trazar::cuda::CudaError::OutOfMemory { .. }))
        ),
        "{refused:?}"
    );
    drop(most);
    assert!(tracer.trace(&on_device, &TraceOptions::default()).is_ok());
}
