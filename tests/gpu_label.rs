//! Labels on the GPU equal labels on the CPU. Without a GPU each test says that it was skipped;
//! with `TRAZAR_REQUIRE_GPU=1` that is a failure.
//!
//! `TRAZAR_LARGE=1` adds images of up to 32768 × 32768 pixels. `TRAZAR_DATA` names a folder with
//! more images, in `masks/*.png`.
#![cfg(not(target_os = "macos"))]

use trazar::cuda::{Device, Queue};
use trazar::generate::{self, Pattern};
use trazar::label::MultiLabeler;
use trazar::{
    BinaryImage, Connectivity, DeviceBytes, DeviceImage, DeviceLabeler, Engine, Error,
    LabelAlgorithm, LabelOptions,
};
use trazar_test_support::images::InMemory;
use trazar_test_support::labels::{ALGORITHMS, CONNECTIVITIES, difference, options};
use trazar_test_support::optional;
use trazar_test_support::tilings::{Tiling, check_measures, check_rows};

/// The GPU; `None`, with a line that says so, if there is none.
fn gpu(test: &str) -> Option<Engine> {
    let engine = optional::on_gpu(test, Engine::cuda())?;
    assert_eq!(engine.backend(), trazar::Backend::Cuda);
    Some(engine)
}

/// Labels `image` on the GPU by both algorithms, and compares labels and statistics with the CPU's.
fn check(gpu: &Engine, name: &str, image: &BinaryImage) {
    check_algorithms(gpu, name, image, &ALGORITHMS);
}

fn check_algorithms(gpu: &Engine, name: &str, image: &BinaryImage, algorithms: &[LabelAlgorithm]) {
    for connectivity in CONNECTIVITIES {
        let expected = Engine::cpu()
            .label(
                image,
                &options(connectivity, LabelAlgorithm::Sequential, true),
            )
            .unwrap();
        for &algorithm in algorithms {
            let found = gpu
                .label(image, &options(connectivity, algorithm, true))
                .unwrap();
            let difference = difference(&found, &expected);
            assert!(
                difference.is_none(),
                "{name}, {} × {}, {connectivity:?}, {algorithm:?}: {}",
                image.width(),
                image.height(),
                difference.unwrap_or_default()
            );
        }
    }
}

#[test]
fn the_comparison_can_fail() {
    let image = generate::noise(300, 200, 0.4, 1).unwrap();
    let cpu = Engine::cpu();
    let label = |image: &BinaryImage, connectivity| {
        let options = options(connectivity, LabelAlgorithm::Sequential, true);
        cpu.label(image, &options).unwrap()
    };
    let right = label(&image, Connectivity::Eight);
    assert_eq!(difference(&right, &right.clone()), None);
    assert!(difference(&label(&image, Connectivity::Four), &right).is_some());
    let mut other = image.clone();
    other.set(299, 199, !other.get(299, 199));
    assert!(difference(&label(&other, Connectivity::Eight), &right).is_some());
    let without = options(Connectivity::Eight, LabelAlgorithm::Sequential, false);
    let without = cpu.label(&image, &without).unwrap();
    assert!(difference(&without, &right).is_some());
}

/// The comparison finds a difference.
#[test]
fn the_gpu_comparison_can_fail() {
    let Some(gpu) = gpu("the_gpu_comparison_can_fail") else {
        return;
    };
    let image = generate::noise(777, 555, 0.5, 2).unwrap();
    let mut other = image.clone();
    other.set(400, 300, !other.get(400, 300));
    for algorithm in ALGORITHMS {
        let options = options(Connectivity::Four, algorithm, true);
        let found = gpu.label(&other, &options).unwrap();
        let expected = Engine::cpu()
            .label(
                &image,
                &LabelOptions::default()
                    .connectivity(Connectivity::Four)
                    .statistics(true),
            )
            .unwrap();
        assert!(difference(&found, &expected).is_some());
    }
}

#[test]
fn noise_of_every_density() {
    let Some(gpu) = gpu("noise_of_every_density") else {
        return;
    };
    for percent in 1..100u32 {
        let density = f64::from(percent) / 100.0;
        let (width, height) = (500 + percent, 700 - 2 * percent);
        let image = generate::noise(width, height, density, percent.into()).unwrap();
        check(&gpu, &format!("noise {percent} %"), &image);
    }
}

/// Labels come to the host by runs, of which a copy takes several threads, and by pixels where
/// there are too many runs.
#[test]
fn labels_of_many_runs() {
    let Some(gpu) = gpu("labels_of_many_runs") else {
        return;
    };
    // Some 12, 24, 42 and 66 MB of labels of runs.
    for density in [0.05, 0.1, 0.2, 0.5] {
        let image = generate::noise(8191, 8195, density, 8).unwrap();
        let name = format!("noise of {density}");
        check_algorithms(&gpu, &name, &image, &[LabelAlgorithm::Tiles]);
    }
}

#[test]
fn patterns_of_odd_sizes() {
    let Some(gpu) = gpu("patterns_of_odd_sizes") else {
        return;
    };
    let patterns = [
        "blobs",
        "nested-rectangles",
        "spiral",
        "serpentine",
        "hilbert",
        "comb",
        "checkerboard",
        "dots",
        "lattice",
    ];
    let sizes = [
        (1, 1),
        (3, 2),
        (63, 64),
        (64, 65),
        (65, 63),
        (255, 129),
        (256, 64),
        (257, 128),
        (260, 66),
        (511, 333),
        (1024, 1024),
        (1301, 977),
        (4100, 70),
        (70, 4100),
    ];
    for name in patterns {
        let pattern: Pattern = name.parse().unwrap();
        for (width, height) in sizes {
            let mut image = pattern.generate(width, height, 3).unwrap();
            check(&gpu, name, &image);
            image.invert();
            check(&gpu, &format!("{name}, inverted"), &image);
        }
    }
}

#[test]
fn full_and_empty_and_thin() {
    let Some(gpu) = gpu("full_and_empty_and_thin") else {
        return;
    };
    for (width, height) in [
        (1, 1),
        (1, 70_000),
        (70_000, 1),
        (2, 5_000),
        (5_000, 2),
        (64, 64),
        (1000, 1000),
    ] {
        let mut image = BinaryImage::new(width, height).unwrap();
        check(&gpu, "empty", &image);
        image.invert();
        check(&gpu, "full", &image);
        for density in [0.1, 0.5, 0.9] {
            let image = generate::noise(width, height, density, 4).unwrap();
            check(&gpu, "thin noise", &image);
        }
    }
}

/// Small images of every kind, which reach each border and corner of a tile many times.
#[test]
fn many_small_images() {
    let Some(gpu) = gpu("many_small_images") else {
        return;
    };
    for seed in 0..300u32 {
        let width = 1 + seed.wrapping_mul(2_654_435_761) % 600;
        let height = 1 + seed.wrapping_mul(40_503) % 200;
        let density = f64::from(seed % 10) / 10.0 + 0.05;
        let image = generate::noise(width, height, density, seed.into()).unwrap();
        check(&gpu, "small noise", &image);
    }
}

/// A few tiles, with seams and a corner between them: small enough for `compute-sanitizer --tool
/// racecheck`, which checks every access to shared memory, to end within minutes.
#[test]
fn racecheck_labels() {
    let Some(gpu) = gpu("racecheck_labels") else {
        return;
    };
    // Tiles with few runs, and with more runs than a band holds.
    for density in [0.2, 0.5] {
        let image = generate::noise(300, 100, density, 11).unwrap();
        check(&gpu, "noise for racecheck", &image);
    }
}

/// Repeated runs give the same result: a lost union would show now and then.
#[test]
fn repeats_agree() {
    let Some(gpu) = gpu("repeats_agree") else {
        return;
    };
    let image = generate::noise(2048, 2048, 0.41, 5).unwrap();
    for algorithm in ALGORITHMS {
        let options = options(Connectivity::Eight, algorithm, false);
        let first = gpu.label(&image, &options).unwrap();
        for _ in 0..30 {
            assert_eq!(
                difference(&gpu.label(&image, &options).unwrap(), &first),
                None
            );
        }
    }
}

#[test]
fn packs_and_labels_bytes() {
    let Ok(device) = Device::open(0) else {
        drop(gpu("packs_and_labels_bytes"));
        return;
    };
    let labeler = DeviceLabeler::new(&device).unwrap();
    for (width, height) in [
        (1, 1),
        (16, 3),
        (48, 7),
        (64, 64),
        (100, 33),
        (1008, 50),
        (777, 90),
    ] {
        let bytes: Vec<u8> = (0..width * height).map(|i| (i * 37 % 256) as u8).collect();
        let on_device = labeler.gpu().stream().upload(&bytes).unwrap();
        for threshold in [0, 1, 126, 127, 128, 254, 255] {
            let found = DeviceImage::pack(
                labeler.gpu(),
                &DeviceBytes::new(width, height, &on_device, threshold).unwrap(),
            )
            .unwrap();
            let expected = BinaryImage::from_values(width, height, &bytes, threshold).unwrap();
            assert!(
                found.to_host().unwrap() == expected,
                "{width} × {height}, threshold {threshold}"
            );
        }
    }
    for (width, height) in [
        (16, 1),
        (48, 7),
        (256, 64),
        (272, 65),
        (1008, 250),
        (777, 90),
    ] {
        let image = generate::noise(width, height, 0.45, 9).unwrap();
        let mut bytes: Vec<u8> = Vec::new();
        for y in 0..height {
            bytes.extend((0..width).map(|x| if image.get(x, y) { 128 } else { 127 }));
        }
        let on_device = labeler.gpu().stream().upload(&bytes).unwrap();
        for connectivity in CONNECTIVITIES {
            let options = options(connectivity, LabelAlgorithm::Sequential, false);
            let expected = Engine::cpu().label(&image, &options).unwrap();
            let (packed, labels) = labeler
                .label_bytes(
                    &DeviceBytes::new(width, height, &on_device, 127).unwrap(),
                    &LabelOptions::default().connectivity(connectivity),
                )
                .unwrap();
            assert!(packed.to_host().unwrap() == image, "{width} × {height}");
            let difference = difference(&labels.to_host().unwrap(), &expected);
            assert_eq!(difference, None, "{width} × {height}, {connectivity:?}");
        }
    }
    let bytes = labeler.gpu().stream().upload(&[0u8; 10]).unwrap();
    assert!(matches!(
        DeviceBytes::<Queue>::new(3, 3, &bytes, 0),
        Err(Error::SizeMismatch {
            needed: 9,
            given: 10,
            ..
        })
    ));
}

#[test]
fn labels_stay_on_the_device() {
    let Ok(device) = Device::open(0) else {
        drop(gpu("labels_stay_on_the_device"));
        return;
    };
    let labeler = DeviceLabeler::new(&device).unwrap();
    let image = generate::blobs(1500, 900, 6).unwrap();
    // From another stream than the labeler's.
    let stream = device.stream().unwrap();
    let queue = labeler.gpu().on_stream(&stream).unwrap();
    let on_device = DeviceImage::upload(&queue, &image).unwrap();
    let labels = labeler
        .label(
            &on_device,
            &LabelOptions::default().algorithm(LabelAlgorithm::Tiles),
        )
        .unwrap();
    drop(on_device);
    let expected = Engine::cpu()
        .label(&image, &LabelOptions::default())
        .unwrap();
    assert_eq!(labels.count().unwrap(), expected.count());
    assert_eq!(difference(&labels.to_host().unwrap(), &expected), None);
}

/// Images in bands of rows, as those are that 32 bits can't index.
#[test]
fn labels_in_bands() {
    let Some(device) = optional::on_gpu("labels_in_bands", Device::open(0).map_err(Into::into))
    else {
        return;
    };
    let labeler = DeviceLabeler::new(&device).unwrap();
    let images = Pattern::ALL
        .iter()
        .copied()
        .zip(1..)
        .map(|(pattern, seed)| {
            let (width, height) = (1500 + 17 * seed, 1100 + 3 * seed);
            (
                pattern,
                pattern.generate(width, height, seed.into()).unwrap(),
            )
        });
    for (pattern, image) in images {
        for (connectivity, algorithm) in CONNECTIVITIES.into_iter().zip(ALGORITHMS) {
            let expected = options(connectivity, LabelAlgorithm::Parallel, true);
            let expected = Engine::cpu().label(&image, &expected).unwrap();
            let on_device = DeviceImage::upload(labeler.gpu(), &image).unwrap();
            for most in [64, 300_000, 1_000_000] {
                let labeler = labeler.clone().with_band_pixels(most);
                let run = options(connectivity, algorithm, true);
                let found = labeler.label(&on_device, &run).unwrap().to_host().unwrap();
                assert_eq!(difference(&found, &expected), None, "{pattern:?}, {most}");
            }
        }
    }
}

/// Labels and measures of `image` on all GPUs of `engine`: at once, and in bands.
fn check_several(engine: &Engine, image: &BinaryImage) {
    for connectivity in CONNECTIVITIES {
        let run = LabelOptions::default()
            .connectivity(connectivity)
            .statistics(true);
        let expected = Engine::cpu().label(image, &run).unwrap();
        let found = engine.label(image, &run).unwrap();
        assert_eq!(difference(&found, &expected), None);
        let source = InMemory::new(image);
        let mut band_labels = engine
            .label_bands(source, &run.components, 1 << 30)
            .unwrap();
        let (mut labels, mut measures) = (Vec::new(), Vec::new());
        while let Some(band) = band_labels.next_band::<u32>().unwrap() {
            labels.extend_from_slice(band.labels());
            measures.extend_from_slice(band.components().unwrap());
        }
        assert!(labels == expected.as_slice(), "{connectivity:?}, in bands");
        assert!(
            Some(&measures[..]) == expected.components(),
            "{connectivity:?}, in bands"
        );
    }
}

/// One GPU opened twice stands for two.
#[test]
fn labels_on_several_gpus() {
    let Some(device) = optional::on_gpu(
        "labels_on_several_gpus",
        Device::open(0).map_err(Into::into),
    ) else {
        return;
    };
    let gpus = || [0; 2].map(|_| Queue::open(&Device::open(0).unwrap()).unwrap());
    let twice = Engine::on_all(gpus()).unwrap();
    for (name, width, height) in [
        ("noise:0.4", 3001, 2500),
        ("spiral", 2048, 3000),
        ("blobs", 70, 9),
    ] {
        let image = name
            .parse::<Pattern>()
            .unwrap()
            .generate(width, height, 3)
            .unwrap();
        check_several(&twice, &image);
        check_several(&Engine::cuda_all().unwrap(), &image);
        check_several(&Engine::cuda_device(0).unwrap(), &image);
    }
    drop(device);
    // Each GPU holds its rows.
    let tiling = Tiling::new(5000, 6100);
    let labeler = MultiLabeler::on(gpus());
    let halves = [tiling.rows(0, 3333), tiling.rows(3333, 6100)];
    let images: Vec<_> = labeler
        .gpus()
        .zip(&halves)
        .map(|(gpu, rows)| DeviceImage::upload(gpu, rows).unwrap())
        .collect();
    let run = LabelOptions::default().statistics(true);
    let labels = labeler.label(&images, &run).unwrap();
    assert_eq!(labels.count(), tiling.count());
    check_measures(tiling, labels.components().unwrap());
    check_rows(tiling, |y, row| {
        let (band, y) = if y < 3333 { (0, y) } else { (1, y - 3333) };
        let labels = labels.bands()[band].labels();
        labels.read_at(y as usize * 5000, row).unwrap();
    });
}

/// More pixels than 32 bits can index, in the GPU's memory.
#[test]
fn labels_of_more_than_32_bits_of_pixels() {
    if !optional::large("labels_of_more_than_32_bits_of_pixels") {
        return;
    }
    let opened = Device::open(0).map_err(Into::into);
    let Some(device) = optional::on_gpu("labels_of_more_than_32_bits_of_pixels", opened) else {
        return;
    };
    let labeler = DeviceLabeler::new(&device).unwrap();
    for side in [65_600u32, 100_000] {
        let bytes = 4.2 * f64::from(side) * f64::from(side) + 5e9;
        if (device.memory().unwrap().free as f64) < bytes {
            optional::skipped("labels_of_more_than_32_bits_of_pixels", "not enough memory");
            continue;
        }
        let tiling = Tiling::new(side, side);
        let image = DeviceImage::upload(labeler.gpu(), &tiling.image()).unwrap();
        for connectivity in CONNECTIVITIES {
            let run = options(connectivity, LabelAlgorithm::Tiles, true);
            let labels = labeler.label(&image, &run).unwrap();
            assert_eq!(u64::from(labels.count().unwrap()), tiling.count());
            check_measures(tiling, labels.components().unwrap());
            check_rows(tiling, |y, row| {
                labels
                    .labels()
                    .read_at(y as usize * side as usize, row)
                    .unwrap();
            });
        }
    }
}

#[test]
fn algorithms_of_other_devices_are_refused() {
    let image = BinaryImage::from_art("#.#").unwrap();
    let cpu = Engine::cpu();
    let refused = |engine: &Engine, algorithm| {
        let options = options(Connectivity::Eight, algorithm, false);
        match engine.label(&image, &options) {
            Err(Error::Unavailable(error)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        refused(&cpu, LabelAlgorithm::Tiles),
        "the labelling algorithm `tiles` runs on the device cuda or emulator; \
         cpu has parallel and sequential"
    );
    if let Some(gpu) = gpu("algorithms_of_other_devices_are_refused") {
        assert_eq!(
            refused(&gpu, LabelAlgorithm::Sequential),
            "the labelling algorithm `sequential` runs on the device cpu; cuda has tiles and direct"
        );
    }
}

#[test]
fn large_images() {
    if !optional::large("large_images") {
        return;
    }
    let Some(gpu) = gpu("large_images") else {
        return;
    };
    let large = [
        ("blobs", 16384, 16384),
        ("noise:0.5", 10_001, 9_999),
        ("noise:0.41", 16384, 16384),
        ("spiral", 8192, 8192),
        ("hilbert", 8192, 8192),
        ("comb", 8192, 8192),
    ];
    for (name, width, height) in large {
        let image = name.parse::<Pattern>().unwrap();
        check(&gpu, name, &image.generate(width, height, 7).unwrap());
    }
    for name in ["blobs", "noise:0.5", "checkerboard"] {
        let image = name.parse::<Pattern>().unwrap();
        let image = image.generate(32768, 32768, 8).unwrap();
        check_algorithms(&gpu, name, &image, &[LabelAlgorithm::Tiles]);
    }
}

#[test]
fn masks() {
    let Some(folder) = optional::masks("masks") else {
        return;
    };
    let Some(gpu) = gpu("masks") else {
        return;
    };
    optional::for_each_mask(&folder, |name, image| check(&gpu, name, image));
}
