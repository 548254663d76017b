//! Teh and Chin's dominant points.

use proptest::prelude::*;
use proptest::sample::select;
use trazar::generate::{self, Pattern};
use trazar::gpu::Gpu;
use trazar::trace::TileCounts;
use trazar::{BinaryImage, Engine, TraceAlgorithm, TraceOptions};
use trazar_test_support::contours::{RETRIEVALS, TEH_CHIN, difference};
use trazar_test_support::emulators::{say, seed};
use trazar_test_support::images::{
    image, noise_or_pattern, noise_or_rectangles, side, tiny_images,
};

use super::trace::check_contours;
use super::{Device, PerDevice, check};

/// Compares with each of `options`, under the order with the next number each.
fn check_options<D: Device>(
    device: &D,
    name: &str,
    order: &mut u64,
    image: &BinaryImage,
    options: &[TraceOptions],
) {
    for options in options {
        *order += 1;
        let same = check_contours(&device.gpu(*order), image, options);
        let (width, height) = (image.width(), image.height());
        assert!(
            same.is_ok(),
            "{name}, {width} × {height}, {options:?}, order {order}: {same:?}"
        );
    }
}

/// Both curvatures.
pub(crate) fn both() -> [TraceOptions; 2] {
    TEH_CHIN.map(|approximation| TraceOptions::default().approximation(approximation))
}

/// Both curvatures with every retrieval, by every algorithm.
pub(crate) fn all_options<D: Device>() -> Vec<TraceOptions> {
    let mut all = Vec::new();
    for options in both() {
        for retrieval in RETRIEVALS {
            for &algorithm in TraceAlgorithm::on(D::Gpu::BACKEND) {
                all.push(options.retrieval(retrieval).algorithm(algorithm));
            }
        }
    }
    all
}

/// [`check_options`] with both curvatures.
fn check_both<D: Device>(device: &D, name: &str, order: &mut u64, image: &BinaryImage) {
    check_options(device, name, order, image, &both());
}

/// The image above a line of slope `rise / run` through its corner: along it, steps repeat.
pub(crate) fn triangle(width: u32, height: u32, rise: u64, run: u64) -> BinaryImage {
    BinaryImage::from_fn(width, height, |x, y| {
        u64::from(y) * run >= u64::from(x) * rise
    })
    .unwrap()
}

fn options<D: Device>() -> impl Strategy<Value = TraceOptions> {
    let options = (
        select(&RETRIEVALS[..]),
        select(&TEH_CHIN[..]),
        select(TraceAlgorithm::on(D::Gpu::BACKEND)),
    );
    options.prop_map(|(retrieval, approximation, algorithm)| {
        TraceOptions::default()
            .retrieval(retrieval)
            .approximation(approximation)
            .algorithm(algorithm)
    })
}

pub(crate) fn dominant_points_of_random_images<D: Device>(device: &D) {
    check::<D, _>(
        "dominant points of random images",
        20,
        &(image(), device.any(), options::<D>()),
        |(image, gpu, options)| check_contours(&gpu, &image, &options),
    );
}

/// On a GPU with every combination of options; on the emulator, these come in turn.
pub(crate) fn dominant_points_of_every_density<D: Device>(device: &D) {
    let (sizes, percents, step) = PerDevice {
        emulator: (&[(1, 1), (65, 33)][..], &[3, 50, 97][..], 7),
        gpu: (
            &[(1, 1), (64, 1), (1, 300), (65, 64), (255, 257), (1001, 333)],
            &[0, 3, 20, 41, 50, 60, 80, 97, 100],
            1,
        ),
    }
    .on::<D>();
    let mut order = seed();
    for (i, &(width, height)) in sizes.iter().enumerate() {
        for (first, &percent) in percents.iter().enumerate() {
            let density = f64::from(percent) / 100.0;
            let image = generate::noise(width, height, density, i as u64).unwrap();
            let options = all_options::<D>().into_iter();
            let options: Vec<_> = options.skip(first % step).step_by(step).collect();
            check_options(
                device,
                &format!("noise {density}"),
                &mut order,
                &image,
                &options,
            );
        }
    }
}

/// Small images have contours of every kind: single points, whole survivors, rows of survivors that
/// run over the start.
pub(crate) fn dominant_points_of_many_small_images<D: Device>(device: &D) {
    let patterns = (noise_or_pattern(), side(70), side(40), any::<u64>());
    let patterns = patterns
        .prop_map(|(pattern, width, height, seed)| pattern.generate(width, height, seed).unwrap());
    let shapes = noise_or_rectangles([1..40, 1..40], [8..60, 8..60]);
    check::<D, _>(
        "dominant points of many small images",
        150,
        &(prop_oneof![patterns, shapes], device.any(), options::<D>()),
        |(image, gpu, options)| check_contours(&gpu, &image, &options),
    );
    // Images of a few contours each: other orders of blocks and warps for each of them.
    let images = PerDevice {
        emulator: 1,
        gpu: 400,
    };
    let mut order = seed();
    for seed in 0..images.on::<D>() {
        let (width, height) = (20 + seed % 97, 20 + seed % 61);
        let density = 0.3 + f64::from(seed % 40) / 100.0;
        let noise = generate::noise(width, height, density, seed.into()).unwrap();
        let blobs = Pattern::Blobs.generate(3 * width, 3 * height, seed.into());
        let name = format!("noise {density}, seed {seed}");
        check_both(device, &name, &mut order, &noise);
        let name = format!("blobs, seed {seed}");
        check_both(device, &name, &mut order, &blobs.unwrap());
    }
}

/// On a GPU with every combination of options, and inverted too.
pub(crate) fn dominant_points_of_every_pattern<D: Device>(device: &D) {
    let ((width, height), options, inverted) = PerDevice {
        emulator: ((131, 67), both().to_vec(), &[false][..]),
        gpu: ((777, 1100), all_options::<D>(), &[false, true]),
    }
    .on::<D>();
    let mut order = 3000 * seed();
    for pattern in Pattern::ALL {
        for &inverted in inverted {
            let mut image = pattern.generate(width, height, seed()).unwrap();
            if inverted {
                image.invert();
            }
            check_options(device, &pattern.to_string(), &mut order, &image, &options);
        }
    }
    say(
        "dominant points of every pattern",
        &format!("orders up to {order}"),
    );
}

/// All images of a few pixels, many of them in one image, a background pixel apart.
pub(crate) fn dominant_points_of_all_tiny_images<D: Device>(device: &D) {
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
        check_both(device, &format!("{width} × {height}"), &mut order, &sheet);
    }
}

/// Triangles and thin wedges, whose sides are digital lines: where steps repeat, regions of support
/// reach as far as the line does, and rows of survivors are long.
pub(crate) fn dominant_points_along_straight_lines<D: Device>(device: &D) {
    let mut order = 5000 * seed();
    let ((width, height), more) = PerDevice {
        emulator: ((230, 150), &[][..]),
        gpu: ((3000, 2000), &[(13, 31), (1, 50)][..]),
    }
    .on::<D>();
    let slopes = [(1, 2), (1, 3), (2, 3), (3, 7), (2, 1), (5, 1)];
    for (rise, run) in slopes.into_iter().chain(more.iter().copied()) {
        let triangle = triangle(width, height, rise.into(), run.into());
        let wedge = BinaryImage::from_fn(width, height, |x, y| {
            let up = (x * rise).abs_diff(70 * run);
            (y * run).abs_diff(70 * run) <= up / 2 && x > 2
        });
        let diamond = BinaryImage::from_fn(width, height, |x, y| {
            x.abs_diff(100) * rise + y.abs_diff(70) * run <= 60 * run
        });
        for (name, image) in [
            ("triangle", Ok(triangle)),
            ("wedge", wedge),
            ("diamond", diamond),
        ] {
            let name = format!("{name} of slope {rise}/{run}");
            check_both(device, &name, &mut order, &image.unwrap());
        }
    }
    // Circles, whose arms bend alike on both sides.
    for radius in [3u32, 4, 5, 11, 29, 60] {
        let disc = BinaryImage::from_fn(width, height, |x, y| {
            x.abs_diff(100).pow(2) + y.abs_diff(70).pow(2) <= radius * radius
        });
        check_both(
            device,
            &format!("disc of {radius}"),
            &mut order,
            &disc.unwrap(),
        );
    }
}

/// A hole's border whose last point and start survive as single points, with a row of three after
/// the start: one of some 10,000 images of random pixels has one.
pub(crate) fn dominant_points_after_single_points_at_the_start<D: Device>(device: &D) {
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
        check_both(device, "a ring", &mut order, &image);
        image.invert();
    }
}

/// An engine gives them by the same kernels, from an image in the host's memory.
pub(crate) fn dominant_points_in_tiles<D: Device>(device: &D) {
    let image = Pattern::Blobs.generate(90, 70, seed()).unwrap();
    for approximation in TEH_CHIN {
        let options = TraceOptions::default().approximation(approximation);
        let expected = Engine::cpu().trace(&image, &options).unwrap();
        let tiles = TraceAlgorithm::Tiles(TileCounts::new(8, 4).unwrap());
        let options = options.algorithm(tiles);
        let engine = Engine::on(device.gpu(seed()));
        assert_eq!(engine.trace_algorithm(&options), tiles);
        let found = engine.trace(&image, &options).unwrap();
        assert_eq!(difference(&found, &expected), None);
    }
}

/// Nothing is in the image.
pub(crate) fn dominant_points_of_nothing<D: Device>(device: &D) {
    let image = BinaryImage::new(40, 3).unwrap();
    check_both(device, "nothing", &mut seed(), &image);
}
