//! Labels of many images in one launch per stage.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;
use trazar::generate;
use trazar::gpu::Gpu;
use trazar::{
    BinaryImage, Connectivity, DeviceImageBatch, DeviceLabeler, Engine, Error, Geometry,
    LabelAlgorithm, LabelOptions, Labels, Samples, TraceOptions, ValueImage,
};
use trazar_test_support::emulators::seed;
use trazar_test_support::images::{noise_or_pattern, side};
use trazar_test_support::labels::{ALGORITHMS, CONNECTIVITIES, difference, options};

use super::{Device, PerDevice, check};

/// The labels of each image alone, by one thread of the processor.
fn expected(images: &[BinaryImage], options: &LabelOptions) -> Vec<Labels> {
    let options = options.algorithm(LabelAlgorithm::Sequential);
    let label = |image| Engine::cpu().label(image, &options).unwrap();
    images.iter().map(label).collect()
}

/// Whether the labels of each image are those of the image alone.
fn compare(found: &[Labels], expected: &[Labels]) -> Result<(), TestCaseError> {
    prop_assert_eq!(found.len(), expected.len());
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        let difference = difference(found, expected);
        prop_assert_eq!(difference, None, "not the CPU's labels of image {}", i);
    }
    Ok(())
}

/// Labels a batch in the GPU's memory, with the labels and the counts kept there, and compares.
fn check_batch<G: Gpu>(
    labeler: &DeviceLabeler<G>,
    images: &[BinaryImage],
    options: &LabelOptions,
) -> Result<(), TestCaseError> {
    let expected = expected(images, options);
    let batch = DeviceImageBatch::upload(labeler.gpu(), images)?;
    let labels = labeler.label_batch(&batch, options)?;
    let counts: Vec<u32> = expected.iter().map(Labels::count).collect();
    prop_assert_eq!(labels.counts()?, &counts[..], "not the CPU's counts");
    prop_assert_eq!(labels.components().is_some(), options.components.statistics);
    compare(&labels.to_host()?, &expected)
}

/// [`check_batch`] with both connectivities, by both algorithms, with measures.
fn assert_batch<G: Gpu>(labeler: &DeviceLabeler<G>, what: &str, images: &[BinaryImage]) {
    for connectivity in CONNECTIVITIES {
        for algorithm in ALGORITHMS {
            let options = options(connectivity, algorithm, true);
            let same = check_batch(labeler, images, &options);
            same.unwrap_or_else(|error| {
                panic!(
                    "{what}, {connectivity:?}, {algorithm:?}, seed {}: {error}",
                    seed()
                )
            });
        }
    }
}

/// Random sizes, also of portions.
pub(crate) fn batches_of_random_images<D: Device>(device: &D) {
    let image = (noise_or_pattern(), any::<u64>(), any::<bool>());
    let batch = (side(300), side(140), prop::collection::vec(image, 1..7));
    let run = (
        device.any(),
        select(&CONNECTIVITIES[..]),
        select(&ALGORITHMS[..]),
        any::<bool>(),
        prop_oneof![Just(u32::MAX), 0..60_000u32],
    );
    check::<D, _>(
        "labels of batches",
        24,
        &(batch, run),
        |((width, height, images), (gpu, connectivity, algorithm, statistics, most))| {
            let images: Vec<_> = images
                .into_iter()
                .map(|(pattern, seed, inverted)| {
                    let mut image = pattern.generate(width, height, seed).unwrap();
                    if inverted {
                        image.invert();
                    }
                    image
                })
                .collect();
            let labeler = DeviceLabeler::on(gpu).with_band_pixels(most);
            check_batch(
                &labeler,
                &images,
                &options(connectivity, algorithm, statistics),
            )
        },
    );
}

/// Images whose foreground touches the first and the last row: of one row and of two, of all
/// heights around that of a tile, of all widths around those of words and tiles.
pub(crate) fn batches_do_not_connect_at_seams<D: Device>(device: &D) {
    let labeler = DeviceLabeler::on(device.gpu(seed()));
    let widths = [1, 4, 63, 64, 65, 257].into_iter();
    let all: Vec<_> = widths
        .flat_map(|width| [1, 2, 3, 63, 64, 65].map(|height| (width, height)))
        .collect();
    let sizes = PerDevice {
        // Each width and each height once, after the least.
        emulator: &[
            (1, 1),
            (1, 65),
            (4, 64),
            (63, 63),
            (64, 3),
            (65, 2),
            (257, 1),
        ][..],
        gpu: &all,
    };
    for &(width, height) in sizes.on::<D>() {
        let mut full = BinaryImage::new(width, height).unwrap();
        full.invert();
        // A column of foreground that changes sides from one image to the next.
        let column = |i: u32| {
            let mut image = BinaryImage::new(width, height).unwrap();
            (0..height).for_each(|y| image.set((i * (width / 2)).min(width - 1), y, true));
            image
        };
        let empty = BinaryImage::new(width, height).unwrap();
        let noise = generate::noise(width, height, 0.5, seed()).unwrap();
        let images = [
            full.clone(),
            full.clone(),
            column(0),
            column(1),
            empty.clone(),
            noise,
            column(2),
            full,
            empty,
        ];
        assert_batch(&labeler, &format!("{width} × {height}"), &images);
    }
}

/// Images of no foreground, and one image.
pub(crate) fn batches_of_empty_images_and_of_one<D: Device>(device: &D) {
    let labeler = DeviceLabeler::on(device.gpu(seed()));
    let empty = BinaryImage::new(70, 9).unwrap();
    assert_batch(&labeler, "empty", &[empty.clone(), empty.clone(), empty]);
    let one = generate::noise(300, 130, 0.4, seed()).unwrap();
    assert_batch(&labeler, "one image", &[one]);
}

/// More images than a grid has blocks along y, on a GPU.
pub(crate) fn batches_of_many_images<D: Device>(device: &D) {
    let count = PerDevice {
        emulator: 70,
        gpu: 66_000,
    }
    .on::<D>();
    let images: Vec<_> = (0..count)
        .map(|i| generate::noise(5, 4, 0.5, seed().wrapping_add(i)).unwrap())
        .collect();
    let labeler = DeviceLabeler::on(device.gpu(seed()));
    let options = LabelOptions::default().statistics(true);
    check_batch(&labeler, &images, &options).unwrap();
}

/// Engines take images of any sizes in any order, and give labels as vectors or in one array. On
/// the way to the host, labels of few runs and of many take different ways.
pub(crate) fn label_batches_of_engines<D: Device>(device: &D) {
    let sizes = [
        (90, 70),
        (9, 7),
        (90, 70),
        (300, 3),
        (1, 1),
        (9, 7),
        (90, 70),
        (1, 140),
    ];
    for density in [0.0, 0.02, 0.5, 1.0] {
        let images: Vec<_> = sizes
            .into_iter()
            .zip(seed()..)
            .map(|((width, height), seed)| generate::noise(width, height, density, seed).unwrap())
            .collect();
        for (algorithm, connectivity) in [
            (None, Connectivity::Eight),
            (None, Connectivity::Four),
            (Some(LabelAlgorithm::Direct), Connectivity::Eight),
        ] {
            let options = LabelOptions::default()
                .connectivity(connectivity)
                .statistics(algorithm.is_none());
            let expected = expected(&images, &options);
            for (engine, algorithm) in [
                (Engine::cpu(), None),
                (Engine::on(device.gpu(seed())), algorithm),
            ] {
                check_engine(engine, &images, &options.algorithm(algorithm), &expected);
            }
        }
    }
    let image = BinaryImage::new(3, 2).unwrap();
    let options = LabelOptions::default().algorithm(LabelAlgorithm::Parallel);
    let refused = Engine::on(device.gpu(0)).label_batch(&[image], &options);
    assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
}

fn check_engine(
    engine: Engine,
    images: &[BinaryImage],
    options: &LabelOptions,
    expected: &[Labels],
) {
    let reports = Arc::new(Mutex::new(Vec::new()));
    let reported = Arc::clone(&reports);
    let engine = engine.with_progress(move |share| {
        reported.lock().unwrap().push(share);
        ControlFlow::Continue(())
    });
    let found = engine
        .label_batch(images, options)
        .unwrap_or_else(|error| panic!("seed {}: {error}", seed()));
    compare(&found, expected).unwrap_or_else(|error| panic!("seed {}: {error}", seed()));
    assert_eq!(reports.lock().unwrap().last(), Some(&1.0));

    // An array that has other labels.
    let of_images: Vec<u32> = expected
        .iter()
        .flat_map(Labels::as_slice)
        .copied()
        .collect();
    let mut labels = vec![7; of_images.len()];
    let found = engine
        .label_batch_into(images, options, &mut labels)
        .unwrap_or_else(|error| panic!("seed {}: {error}", seed()));
    assert!(labels == of_images, "not the CPU's labels, seed {}", seed());
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found.count, expected.count());
        assert_eq!(found.components.as_deref(), expected.components());
    }
    let refused = engine.label_batch_into(images, options, &mut labels[1..]);
    assert!(
        matches!(refused, Err(Error::LengthMismatch { needed, given, .. })
            if needed == of_images.len() && given == needed - 1),
        "{refused:?}"
    );
    assert!(engine.label_batch(&[], options).unwrap().is_empty());
    assert!(
        engine
            .label_batch_into(&[], options, &mut [])
            .unwrap()
            .is_empty()
    );
}

fn of_values((width, height): (u32, u32), values: &[u8]) -> ValueImage<'_, u8> {
    ValueImage::new(Samples::new(width, height, values).unwrap()).unwrap()
}

/// A job, and whether its result is the processor's.
type Job = Box<dyn Fn(&Engine) -> bool + Send + Sync>;

/// Several threads do jobs of all kinds and sizes on one engine, each in its own order. The engine
/// then holds memory, and gives it back.
pub(crate) fn threads_share_an_engine<D: Device>(device: &D) {
    let (threads, scale) = PerDevice {
        emulator: (4, 1),
        gpu: (8, 8),
    }
    .on::<D>();
    let mut jobs: Vec<Job> = Vec::new();
    for (i, (width, height)) in [(70, 40), (9, 90), (140, 20)].into_iter().enumerate() {
        let size @ (width, height) = (scale * width, scale * height);
        let of = seed().wrapping_add(i as u64);
        let densities = [0.02, 0.4, 0.6];
        let images = densities.map(|density| generate::noise(width, height, density, of).unwrap());
        let cpu = Engine::cpu();

        for (j, image) in images.iter().cloned().enumerate() {
            let options = options(CONNECTIVITIES[j % 2], ALGORITHMS[(i + j) % 2], i == j);
            let expected = expected(std::slice::from_ref(&image), &options).remove(0);
            jobs.push(Box::new(move |engine| {
                difference(&engine.label(&image, &options).unwrap(), &expected).is_none()
            }));
        }
        for statistics in [false, true] {
            let options = LabelOptions::default().statistics(statistics);
            let (images, expected) = (images.clone(), expected(&images, &options));
            jobs.push(Box::new(move |engine| {
                engine.label_batch(&images, &options).unwrap() == expected
            }));
        }
        for geometry in [Geometry::Centers, Geometry::Edges] {
            let options = TraceOptions::default().geometry(geometry);
            let image = images[i].clone();
            let expected = cpu.trace(&image, &options).unwrap();
            jobs.push(Box::new(move |engine| {
                engine.trace(&image, &options).unwrap() == expected
            }));
        }
        let options = TraceOptions::default();
        let expected = cpu.trace_batch(&images, &options).unwrap();
        jobs.push(Box::new(move |engine| {
            engine.trace_batch(&images, &options).unwrap() == expected
        }));
        let values: Vec<u8> = (0..width * height)
            .map(|i| (i.wrapping_mul(i) >> 7) as u8 & 3)
            .collect();
        let expected = cpu
            .label_values(&of_values(size, &values), Connectivity::Four)
            .unwrap();
        jobs.push(Box::new(move |engine| {
            let found = engine.label_values(&of_values(size, &values), Connectivity::Four);
            found.unwrap() == expected
        }));
    }
    let engine = Engine::on(device.gpu(seed()));
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (engine, jobs) = (&engine, &jobs);
            scope.spawn(move || {
                for i in 0..jobs.len() {
                    // The threads start at different jobs, and go on by steps of different lengths.
                    let at = (thread * 5 + i * [1, 5, 7, 11][thread % 4]) % jobs.len();
                    let seed = seed();
                    assert!(jobs[at](engine), "not the CPU's: job {at}, seed {seed}");
                }
            });
        }
    });
    let kept = engine.working_memory();
    assert!(kept > 0);
    assert_eq!(engine.release_working_memory(), kept);
    assert_eq!(engine.working_memory(), 0);
}
