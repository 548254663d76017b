//! Labels, and images made of bytes.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;
use trazar::generate::{self, Pattern};
use trazar::gpu::{Gpu, Scanner};
use trazar::{
    BinaryImage, Connectivity, DeviceBytes, DeviceImage, DeviceLabeler, Engine, Error,
    LabelAlgorithm, LabelOptions, Samples,
};
use trazar_test_support::emulators::{self, say, seed};
use trazar_test_support::images::{image, side};
use trazar_test_support::labels::{ALGORITHMS, CONNECTIVITIES, difference, options};

use super::{Device, PerDevice, check};

/// Labels `image` both ways and compares.
pub(crate) fn check_labels(
    engine: &Engine,
    image: &BinaryImage,
    connectivity: Connectivity,
    algorithm: LabelAlgorithm,
    statistics: bool,
) -> Result<(), TestCaseError> {
    let expected = options(connectivity, LabelAlgorithm::Sequential, statistics);
    let expected = Engine::cpu().label(image, &expected).unwrap();
    let found = engine.label(image, &options(connectivity, algorithm, statistics))?;
    prop_assert_eq!(difference(&found, &expected), None, "not the CPU's labels");
    Ok(())
}

/// [`check_labels`] with both connectivities and by both algorithms, each in its own order of
/// threads, and with statistics.
fn assert_labels<D: Device>(device: &D, name: &str, order: &mut u64, image: &BinaryImage) {
    for connectivity in CONNECTIVITIES {
        for algorithm in ALGORITHMS {
            *order += 1;
            let engine = Engine::on(device.gpu(*order));
            let same = check_labels(&engine, image, connectivity, algorithm, true);
            let (width, height) = (image.width(), image.height());
            same.unwrap_or_else(|error| {
                panic!("{name}, {width} × {height}, {algorithm:?}, seed {order}: {error}")
            });
        }
    }
}

/// Labels of another image, with another connectivity and without statistics differ.
pub(crate) fn the_comparison_can_fail<D: Device>(device: &D) {
    let (width, height) = PerDevice {
        emulator: (130, 70),
        gpu: (777, 555),
    }
    .on::<D>();
    let image = generate::noise(width, height, 0.4, 1).unwrap();
    let mut other = image.clone();
    other.set(width - 1, height - 1, !other.get(width - 1, height - 1));
    let label = |engine: &Engine, image, connectivity, algorithm, statistics| {
        let options = options(connectivity, algorithm, statistics);
        engine.label(image, &options).unwrap()
    };
    let (eight, sequential) = (Connectivity::Eight, LabelAlgorithm::Sequential);
    let cpu = Engine::cpu();
    let right = label(&cpu, &image, eight, sequential, true);
    assert_eq!(difference(&right, &right.clone()), None);
    let engine = Engine::on(device.gpu(seed()));
    let on_device = ALGORITHMS.map(|algorithm| (&engine, algorithm));
    for (engine, algorithm) in [(&cpu, sequential)].into_iter().chain(on_device) {
        for (image, connectivity, statistics) in [
            (&image, Connectivity::Four, true),
            (&other, eight, true),
            (&image, eight, false),
        ] {
            let wrong = label(engine, image, connectivity, algorithm, statistics);
            assert!(difference(&wrong, &right).is_some(), "{algorithm:?}");
        }
        let same = label(engine, &image, eight, algorithm, true);
        assert_eq!(difference(&same, &right), None, "{algorithm:?}");
    }
}

/// Labels and measures in a given array that has others are those of the CPU; arrays of other
/// lengths, and images in bands, are refused.
pub(crate) fn labels_in_given_arrays<D: Device>(device: &D) {
    let run = (
        device.any(),
        select(&CONNECTIVITIES[..]),
        select(&ALGORITHMS[..]),
        any::<bool>(),
    );
    check::<D, _>(
        "labels in given arrays",
        20,
        &(image(), run),
        |(image, (gpu, connectivity, algorithm, statistics))| {
            let options = options(connectivity, algorithm, statistics);
            let labeler = DeviceLabeler::on(gpu.clone());
            let on_device = DeviceImage::upload(&gpu, &image)?;
            let pixels = image.pixel_count() as usize;
            for given in [pixels - 1, pixels + 1] {
                let refused = labeler.label_into(&on_device, &options, gpu.alloc(given)?);
                let is_said = matches!(refused, Err(Error::LengthMismatch { .. }));
                prop_assert!(is_said, "{refused:?}");
            }
            let labels = gpu.upload(&vec![7; pixels])?;
            let found = labeler
                .label_into(&on_device, &options, labels)?
                .to_host()?;
            let sequential = options.algorithm(LabelAlgorithm::Sequential);
            let expected = Engine::cpu().label(&image, &sequential)?;
            prop_assert_eq!(difference(&found, &expected), None, "not the CPU's labels");
            Ok(())
        },
    );
    let gpu = device.gpu(seed());
    let image = generate::noise(70, 200, 0.4, seed()).unwrap();
    let on_device = DeviceImage::upload(&gpu, &image).unwrap();
    let in_bands = DeviceLabeler::on(gpu.clone()).with_band_pixels(70 * 64);
    let labels = gpu.alloc(70 * 200).unwrap();
    let refused = in_bands.label_into(&on_device, &LabelOptions::default(), labels);
    assert!(
        matches!(refused, Err(Error::ImageTooLarge { .. })),
        "{refused:?}"
    );
}

pub(crate) fn labels_of_random_images<D: Device>(device: &D) {
    let run = (
        device.any(),
        select(&CONNECTIVITIES[..]),
        select(&ALGORITHMS[..]),
        any::<bool>(),
    );
    check::<D, _>(
        "labels of random images",
        100,
        &(image(), run),
        |(image, (gpu, connectivity, algorithm, statistics))| {
            let engine = Engine::on(gpu);
            check_labels(&engine, &image, connectivity, algorithm, statistics)
        },
    );
}

pub(crate) fn labels_of_every_density<D: Device>(device: &D) {
    let (step, part) = PerDevice {
        emulator: (25, 8),
        gpu: (1, 1),
    }
    .on::<D>();
    let mut order = seed();
    for percent in (1..100u32).step_by(step) {
        let density = f64::from(percent) / 100.0;
        let (width, height) = ((500 + percent) / part, (700 - 2 * percent) / part);
        let image = generate::noise(width, height, density, percent.into()).unwrap();
        assert_labels(device, &format!("noise {percent} %"), &mut order, &image);
    }
}

/// Every pattern at awkward sizes, by each algorithm and connectivity.
pub(crate) fn labels_of_every_pattern<D: Device>(device: &D) {
    let (sizes, also_inverted) = PerDevice {
        emulator: (&[(261, 67)][..], false),
        gpu: (
            &[
                (1, 1),
                (3, 2),
                (63, 64),
                (64, 65),
                (65, 63),
                (255, 129),
                (256, 64),
                (257, 128),
                (260, 66),
                (261, 67),
                (511, 333),
                (1024, 1024),
                (1301, 977),
                (4100, 70),
                (70, 4100),
            ],
            true,
        ),
    }
    .on::<D>();
    let mut order = seed();
    for pattern in Pattern::ALL {
        for &(width, height) in sizes {
            let mut image = pattern.generate(width, height, seed()).unwrap();
            assert_labels(device, &pattern.to_string(), &mut order, &image);
            if also_inverted {
                image.invert();
                assert_labels(device, &format!("{pattern}, inverted"), &mut order, &image);
            }
        }
    }
    say(
        "labels of every pattern",
        &format!("{} patterns", Pattern::ALL.len()),
    );
}

pub(crate) fn labels_of_full_empty_and_thin_images<D: Device>(device: &D) {
    let (sizes, densities) = PerDevice {
        emulator: (&[(1, 1), (1, 300), (300, 1), (2, 70)][..], &[0.5][..]),
        gpu: (
            &[
                (1, 1),
                (1, 70_000),
                (70_000, 1),
                (2, 5_000),
                (5_000, 2),
                (64, 64),
                (1000, 1000),
            ],
            &[0.1, 0.5, 0.9],
        ),
    }
    .on::<D>();
    let mut order = seed();
    for &(width, height) in sizes {
        let mut image = BinaryImage::new(width, height).unwrap();
        assert_labels(device, "empty", &mut order, &image);
        image.invert();
        assert_labels(device, "full", &mut order, &image);
        for &density in densities {
            let image = generate::noise(width, height, density, 4).unwrap();
            assert_labels(device, "thin noise", &mut order, &image);
        }
    }
}

/// Small images of every kind, which reach each border and corner of a tile many times.
pub(crate) fn labels_of_many_small_images<D: Device>(device: &D) {
    let (images, part) = PerDevice {
        emulator: (4, 4),
        gpu: (300, 1),
    }
    .on::<D>();
    let mut order = seed();
    for seed in 0..images {
        let width = 1 + u32::wrapping_mul(seed, 2_654_435_761) % (600 / part);
        let height = 1 + seed.wrapping_mul(40_503) % (200 / part);
        let density = f64::from(seed % 10) / 10.0 + 0.05;
        let image = generate::noise(width, height, density, seed.into()).unwrap();
        assert_labels(device, "small noise", &mut order, &image);
    }
}

/// One image in many orders of threads. On a GPU, a lost union would show now and then.
pub(crate) fn labels_in_many_orders<D: Device>(device: &D) {
    let (side, density, cases) = PerDevice {
        emulator: ((130, 66), 0.45, 100),
        gpu: ((2048, 2048), 0.41, 120),
    }
    .on::<D>();
    let image = generate::noise(side.0, side.1, density, seed()).unwrap();
    emulators::check(
        "labels in many orders",
        cases,
        &(
            device.any(),
            select(&CONNECTIVITIES[..]),
            select(&ALGORITHMS[..]),
        ),
        |(gpu, connectivity, algorithm)| {
            let engine = Engine::on(gpu);
            check_labels(&engine, &image, connectivity, algorithm, true)
        },
    );
}

/// Sparse noise where tiles meet: components on the two sides of a seam often touch at one pixel
/// only.
pub(crate) fn labels_where_tiles_meet<D: Device>(device: &D) {
    let mut order = seed();
    for (width, height) in [(259, 130), (520, 66), (258, 64), (64, 66)] {
        for percent in [15, 25, 35] {
            order += 1;
            let image = generate::noise(width, height, f64::from(percent) / 100.0, order).unwrap();
            for connectivity in CONNECTIVITIES {
                let engine = Engine::on(device.gpu(order));
                let same = check_labels(&engine, &image, connectivity, LabelAlgorithm::Tiles, true);
                same.unwrap_or_else(|error| panic!("{width} × {height}, seed {order}: {error}"));
            }
        }
    }
    say("labels where tiles meet", &format!("seeds to {order}"));
}

/// Every way to set the four pixels where four tiles meet, which touch nothing else.
pub(crate) fn labels_where_four_tiles_meet<D: Device>(device: &D) {
    // Tiles have 256 columns and 64 rows.
    let corners = [(256, 64), (512, 64), (256, 128), (512, 128)];
    for first in 0..4u32 {
        let mut image = BinaryImage::new(513, 129).unwrap();
        for ((x, y), pattern) in corners.into_iter().zip((first..).step_by(4)) {
            for bit in (0..4).filter(|bit| pattern >> bit & 1 != 0) {
                image.set(x - bit % 2, y - bit / 2, true);
            }
        }
        let order = seed() + u64::from(first);
        for connectivity in CONNECTIVITIES {
            let engine = Engine::on(device.gpu(order));
            let same = check_labels(&engine, &image, connectivity, LabelAlgorithm::Tiles, true);
            same.unwrap_or_else(|error| panic!("patterns from {first}, seed {order}: {error}"));
        }
    }
}

/// Tiles with as many runs as a band holds, with one run less, and with one more.
pub(crate) fn labels_of_as_many_runs_as_a_band_holds<D: Device>(device: &D) {
    // Half the pixels of 16 rows of 256.
    let most = 2048;
    for runs in [most - 1, most, most + 1] {
        // Runs of one pixel that touch no other run, in all rows of the tile.
        let mut image = BinaryImage::new(256, 64).unwrap();
        for run in 0..runs {
            let y = run % 64;
            image.set(run / 64 * 4 + y % 2 * 2, y, true);
        }
        for connectivity in CONNECTIVITIES {
            let engine = Engine::on(device.gpu(seed()));
            let same = check_labels(&engine, &image, connectivity, LabelAlgorithm::Tiles, true);
            same.unwrap_or_else(|error| panic!("{runs} runs, seed {}: {error}", seed()));
        }
    }
}

/// Labels come to the host by runs: more pixels than a thread of the host writes at a time, 2¹⁹,
/// whose rows start within chunks. Where there are too many runs, labels come by pixels.
pub(crate) fn labels_by_runs_in_several_pieces<D: Device>(device: &D) {
    let ((width, height), densities, connectivities, statistics) = PerDevice {
        emulator: ((1111, 700), &[0.04][..], &[Connectivity::Eight][..], false),
        // Some 12, 24, 42 and 66 MB of labels of runs.
        gpu: ((8191, 8195), &[0.05, 0.1, 0.2, 0.5], &CONNECTIVITIES, true),
    }
    .on::<D>();
    let engine = Engine::on(device.gpu(seed()));
    let algorithm = LabelAlgorithm::Tiles;
    for &density in densities {
        let image = generate::noise(width, height, density, seed()).unwrap();
        for &connectivity in connectivities {
            let same = check_labels(&engine, &image, connectivity, algorithm, statistics);
            same.unwrap_or_else(|error| panic!("noise of {density}: {error}"));
        }
    }
}

/// From another queue than the labeler's.
pub(crate) fn labels_stay_on_the_device<D: Device>(device: &D) {
    let (width, height) = PerDevice {
        emulator: (150, 90),
        gpu: (1500, 900),
    }
    .on::<D>();
    let image = generate::blobs(width, height, 6).unwrap();
    let labeler = DeviceLabeler::on(device.gpu(seed()));
    let queue = D::another_queue(labeler.gpu());
    let on_device = DeviceImage::upload(&queue, &image).unwrap();
    let run = LabelOptions::default().algorithm(LabelAlgorithm::Tiles);
    let labels = labeler.label(&on_device, &run).unwrap();
    drop(on_device);
    let expected = Engine::cpu().label(&image, &LabelOptions::default());
    let expected = expected.unwrap();
    assert_eq!(labels.count().unwrap(), expected.count());
    let difference = difference(&labels.to_host().unwrap(), &expected);
    assert_eq!(difference, None, "not the CPU's labels");
}

/// The measures of labels of another image mean nothing, but measuring them is not a fault.
pub(crate) fn labels_of_another_image_are_measured_without_a_fault<D: Device>(device: &D) {
    let labeler = DeviceLabeler::on(device.gpu(seed()));
    let upload = |art| {
        let image = BinaryImage::from_art(art).unwrap();
        DeviceImage::upload(labeler.gpu(), &image).unwrap()
    };
    let (few, many) = (upload("#....#"), upload("######"));
    let labels = labeler.label(&few, &LabelOptions::default()).unwrap();
    let measures = labeler.measure(&many, &labels).unwrap();
    assert_eq!(measures.len(), 2);
    let other = upload("#..");
    let refused = labeler.measure(&other, &labels);
    assert!(matches!(refused, Err(Error::SizeMismatch { .. })));
}

pub(crate) fn labels_and_images_from_bytes<D: Device>(device: &D) {
    // Widths that are multiples of 16 have their own kernel.
    let width = prop_oneof![side(200), (1..=12u32).prop_map(|n| 16 * n)];
    let size = (width, side(100));
    let bytes = size.prop_flat_map(|(width, height)| {
        let bytes = proptest::collection::vec(any::<u8>(), (width * height) as usize);
        (Just(width), Just(height), bytes)
    });
    let threshold = prop_oneof![select(&[0, 1, 126, 127, 128, 254, 255][..]), any::<u8>()];
    check::<D, _>(
        "labels and images from bytes",
        60,
        &(bytes, threshold, select(&CONNECTIVITIES[..]), device.any()),
        |((width, height, bytes), threshold, connectivity, gpu)| {
            let image = BinaryImage::from_values(width, height, &bytes, threshold).unwrap();
            let expected = options(connectivity, LabelAlgorithm::Sequential, false);
            let expected = Engine::cpu().label(&image, &expected).unwrap();
            let labeler = DeviceLabeler::on(gpu);
            let bytes = labeler.gpu().upload(&bytes).unwrap();
            for (width, height) in [(0, height), (width, 0)] {
                let empty = DeviceBytes::<D::Gpu>::new(width, height, &bytes, threshold);
                let is_refused = matches!(empty, Err(Error::EmptyImage { .. }));
                prop_assert!(is_refused, "not the CPU's refusal");
            }
            let packed = DeviceImage::pack(
                labeler.gpu(),
                &DeviceBytes::new(width, height, &bytes, threshold).unwrap(),
            )?;
            prop_assert!(packed.to_host()? == image, "not the CPU's image");
            let (packed, labels) = labeler.label_bytes(
                &DeviceBytes::new(width, height, &bytes, threshold).unwrap(),
                &LabelOptions::default().connectivity(connectivity),
            )?;
            prop_assert!(
                packed.to_host()? == image,
                "not the CPU's image, packed while labelling"
            );
            let difference = difference(&labels.to_host()?, &expected);
            prop_assert_eq!(difference, None, "not the CPU's labels");
            Ok(())
        },
    );
}

/// Widths for each kernel that packs or labels bytes, with the thresholds at the ends.
pub(crate) fn labels_and_images_of_all_thresholds<D: Device>(device: &D) {
    let (packed, labelled) = PerDevice {
        emulator: (
            &[(1, 1), (16, 3), (48, 7), (100, 33)][..],
            &[(16, 1), (48, 7), (77, 9)][..],
        ),
        gpu: (
            &[
                (1, 1),
                (16, 3),
                (48, 7),
                (64, 64),
                (100, 33),
                (1008, 50),
                (777, 90),
            ],
            &[
                (16, 1),
                (48, 7),
                (256, 64),
                (272, 65),
                (1008, 250),
                (777, 90),
            ],
        ),
    }
    .on::<D>();
    let labeler = DeviceLabeler::on(device.gpu(seed()));
    for &(width, height) in packed {
        let bytes: Vec<u8> = (0..width * height).map(|i| (i * 37 % 256) as u8).collect();
        let on_device = labeler.gpu().upload(&bytes).unwrap();
        for threshold in [0, 1, 126, 127, 128, 254, 255] {
            let found = DeviceImage::pack(
                labeler.gpu(),
                &DeviceBytes::new(width, height, &on_device, threshold).unwrap(),
            )
            .unwrap();
            let expected = BinaryImage::from_values(width, height, &bytes, threshold).unwrap();
            assert!(
                found.to_host().unwrap() == expected,
                "not the CPU's image: {width} × {height}, threshold {threshold}"
            );
        }
    }
    for &(width, height) in labelled {
        let image = generate::noise(width, height, 0.45, 9).unwrap();
        let mut bytes: Vec<u8> = Vec::new();
        for y in 0..height {
            bytes.extend((0..width).map(|x| if image.get(x, y) { 128 } else { 127 }));
        }
        let on_device = labeler.gpu().upload(&bytes).unwrap();
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
}

/// Rows with padding, and other options than those of the kernel that reads bytes.
pub(crate) fn labels_of_bytes_with_padding<D: Device>(device: &D) {
    let (width, height, pitch) = (48u32, 20u32, 53usize);
    let labeler = DeviceLabeler::on(device.gpu(seed()));
    let len = pitch * (height as usize - 1) + width as usize;
    let mut values = vec![255u8; len];
    for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
        values[y as usize * pitch + x as usize] = (x * y * 7 % 251) as u8;
    }
    let samples = Samples::with_strides(width, height, pitch, 1, &values).unwrap();
    let image = BinaryImage::from_samples(samples, 127).unwrap();
    let buffer = labeler.gpu().upload(&values).unwrap();
    let bytes = DeviceBytes::with_pitch(width, height, pitch, &buffer, 127).unwrap();
    for algorithm in ALGORITHMS {
        let found = options(Connectivity::Four, algorithm, true);
        let (packed, labels) = labeler.label_bytes(&bytes, &found).unwrap();
        assert!(packed.to_host().unwrap() == image, "{algorithm:?}");
        let expected = options(Connectivity::Four, LabelAlgorithm::Sequential, true);
        let expected = Engine::cpu().label(&image, &expected).unwrap();
        assert_eq!(labels.components(), expected.components(), "{algorithm:?}");
        assert_eq!(difference(&labels.to_host().unwrap(), &expected), None);
    }
    for (pitch, len) in [(47, len), (pitch, len - 1)] {
        let short = labeler.gpu().upload(&values[..len]).unwrap();
        let refused = DeviceBytes::<D::Gpu>::with_pitch(width, height, pitch, &short, 127);
        assert!(refused.is_err(), "{pitch}, {len}");
    }
}

pub(crate) fn labels_of_what_does_not_fit_are_refused<D: Device>(device: &D) {
    let gpu = device.gpu(seed());
    let bytes = gpu.upload(&[0u8; 10]).unwrap();
    assert!(matches!(
        DeviceBytes::<D::Gpu>::new(3, 3, &bytes, 0),
        Err(Error::SizeMismatch {
            needed: 9,
            given: 10,
            ..
        })
    ));
    let mut scanner = Scanner::new(&gpu, 3).unwrap();
    let error = scanner.scan_in_place(&mut gpu.upload(&[1, 2]).unwrap());
    assert_eq!(
        error.unwrap_err().to_string(),
        "an array of 3 elements is needed, but one of 2 was given"
    );
}

pub(crate) fn labels_by_other_algorithms_are_refused<D: Device>(device: &D) {
    let image = BinaryImage::from_art("#.#").unwrap();
    let backend = D::Gpu::BACKEND.name();
    let refused = |engine: &Engine, algorithm| {
        let options = options(Connectivity::Eight, algorithm, false);
        match engine.label(&image, &options) {
            Err(Error::Unavailable(error)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        refused(&Engine::cpu(), LabelAlgorithm::Tiles),
        "the labelling algorithm `tiles` runs on the device cuda or emulator; \
         cpu has parallel and sequential"
    );
    let gpu = device.gpu(seed());
    assert_eq!(
        refused(&Engine::on(gpu.clone()), LabelAlgorithm::Sequential),
        format!(
            "the labelling algorithm `sequential` runs on the device cpu; \
             {backend} has tiles and direct"
        )
    );
    let on_device = DeviceImage::upload(&gpu, &image).unwrap();
    let parallel = options(Connectivity::Four, LabelAlgorithm::Parallel, false);
    let refused = DeviceLabeler::on(gpu).label(&on_device, &parallel);
    assert_eq!(
        refused.unwrap_err().to_string(),
        format!(
            "the labelling algorithm `parallel` runs on the device cpu; \
             {backend} has tiles and direct"
        )
    );
}

pub(crate) fn an_engine_does_all_jobs<D: Device>(device: &D) {
    let engine = Engine::on(device.gpu(seed()));
    assert_eq!(engine.backend(), D::Gpu::BACKEND);
    assert_eq!(
        engine.label_algorithm(&Default::default()),
        LabelAlgorithm::Tiles
    );
    let image = BinaryImage::from_art("##.#").unwrap();
    let traced = engine.trace(&image, &Default::default()).unwrap();
    let expected = Engine::cpu().trace(&image, &Default::default()).unwrap();
    assert!(traced == expected);
    let reported = Arc::new(Mutex::new(Vec::new()));
    let report = reported.clone();
    let engine = engine.with_progress(move |share| {
        report.lock().unwrap().push(share);
        ControlFlow::Continue(())
    });
    assert_eq!(
        engine.label(&image, &Default::default()).unwrap().count(),
        2
    );
    assert_eq!(*reported.lock().unwrap(), [1.0]);
}
