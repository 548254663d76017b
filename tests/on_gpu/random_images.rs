//! Many random images, traced by several threads, each on a stream of its own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use trazar::cuda::Queue;
use trazar::generate::{self, Pattern};
use trazar::{BinaryImage, DeviceImage, DeviceTracer, Engine, TraceAlgorithm, TraceOptions};
use trazar_test_support::contours::{APPROXIMATIONS, GEOMETRIES, RETRIEVALS, difference};
use trazar_test_support::optional;
use trazar_test_support::seeds::{Random, seed_or};
use trazar_test_support::values::{Classes, PATTERNS};

use crate::Beside;
use crate::devices::Device;
use crate::devices::values::assert_classes;

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

/// Calls `check` with the number of each image and what it is drawn from, and with a stream of the
/// thread's own: for 10,000 images with `TRAZAR_LARGE=1`, else 500. Several threads do, so that the
/// processor's results do not decide how long it takes.
fn for_many_images(test: &str, check: impl Fn(&Queue, &str, &mut Random) + Sync) {
    let Some(beside) = Beside::open(test) else {
        return;
    };
    let images = if optional::large(test) { 10_000 } else { 500 };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(16));
    let (seed, begin, next) = (seed_or(1), Instant::now(), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let queue = beside.on_own_stream();
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= images {
                        break;
                    }
                    // An image depends on the seed and its number, whichever thread draws it.
                    let random = &mut Random::new(seed << 32 | i);
                    check(&queue, &format!("image {i} of seed {seed}"), random);
                }
            });
        }
    });
    println!(
        "{test}: {images} images of seed {seed} on {threads} threads: {:.1} s",
        begin.elapsed().as_secs_f64()
    );
}

/// Each image with all 16 combinations of options.
#[test]
fn ten_thousand_random_images() {
    for_many_images("ten_thousand_random_images", |queue, name, random| {
        check_all_options(&DeviceTracer::on(queue.clone()), name, &draw(random));
    });
}

/// Labels, regions and the contours of each value.
#[test]
fn ten_thousand_random_images_of_values() {
    let test = "ten_thousand_random_images_of_values";
    for_many_images(test, |queue, name, random| {
        let (width, height) = (1 + random.below(200), 1 + random.below(200));
        let pattern = PATTERNS[random.below(PATTERNS.len() as u32) as usize];
        let classes = Classes::draw(pattern, width, height, random);
        let name = format!("{name}: {pattern}, {width} × {height}");
        let background = random.below(2) == 0;
        assert_classes(&Engine::on(queue.clone()), &name, &classes, background);
    });
}
