//! Contours, by every algorithm, and of batches.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;
use trazar::generate::{self, Pattern};
use trazar::glam::IVec2;
use trazar::gpu::{Gpu, GpuBuffer, View};
use trazar::hooks;
use trazar::trace::{ContourOptions, TileCounts};
use trazar::{
    Approximation, BinaryImage, DeviceImage, DeviceImageBatch, DeviceLabeler, DeviceTracer, Engine,
    Error, Geometry, Retrieval, TraceAlgorithm, TraceOptions,
};
use trazar_test_support::contours::{APPROXIMATIONS, GEOMETRIES, RETRIEVALS, compare, difference};
use trazar_test_support::emulators::{say, seed};
use trazar_test_support::images::{image, noise_or_pattern, side};

use super::{Device, PerDevice, check};

/// Traces `image` with a new tracer, and compares with the CPU.
pub(crate) fn check_contours<G: Gpu>(
    gpu: &G,
    image: &BinaryImage,
    options: &TraceOptions,
) -> Result<(), TestCaseError> {
    compare(&DeviceTracer::on(gpu.clone()), image, options)
}

/// Every combination of options, by every algorithm.
pub(crate) fn all_options<D: Device>() -> Vec<TraceOptions> {
    let mut all = Vec::new();
    for retrieval in RETRIEVALS {
        for approximation in APPROXIMATIONS {
            for geometry in GEOMETRIES {
                for &algorithm in TraceAlgorithm::on(D::Gpu::BACKEND) {
                    all.push(
                        TraceOptions::default()
                            .retrieval(retrieval)
                            .approximation(approximation)
                            .geometry(geometry)
                            .algorithm(algorithm),
                    );
                }
            }
        }
    }
    all
}

fn options<D: Device>() -> impl Strategy<Value = TraceOptions> {
    let options = (
        select(&RETRIEVALS[..]),
        select(&APPROXIMATIONS[..]),
        select(&GEOMETRIES[..]),
        select(TraceAlgorithm::on(D::Gpu::BACKEND)),
    );
    options.prop_map(|(retrieval, approximation, geometry, algorithm)| {
        TraceOptions::default()
            .retrieval(retrieval)
            .approximation(approximation)
            .geometry(geometry)
            .algorithm(algorithm)
    })
}

/// `options` with at most that many tiles along x and y, rounded to powers of two that are not
/// larger than the image's sides.
fn in_tiles(options: TraceOptions, image: &BinaryImage, columns: u32, rows: u32) -> TraceOptions {
    let most = |side: u32| 1 << side.ilog2();
    let tiles = TileCounts::new(
        columns.min(most(image.width())),
        rows.min(most(image.height())),
    );
    options.algorithm(TraceAlgorithm::Tiles(tiles.unwrap()))
}

pub(crate) fn contours_of_random_images<D: Device>(device: &D) {
    check::<D, _>(
        "contours of random images",
        30,
        &(image(), device.any(), options::<D>()),
        |(image, gpu, options)| check_contours(&gpu, &image, &options),
    );
}

/// On a GPU with every combination of options; on the emulator, these come in turn.
pub(crate) fn contours_of_every_density<D: Device>(device: &D) {
    let (sizes, percents, step) = PerDevice {
        emulator: (&[(1, 1), (65, 33)][..], &[0, 3, 50, 97][..], 11),
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
            for options in all_options::<D>()
                .into_iter()
                .skip(first % step)
                .step_by(step)
            {
                order += 1;
                let same = check_contours(&device.small(order), &image, &options);
                assert!(
                    same.is_ok(),
                    "noise {density}, {width} × {height}, {options:?}, order {order}: {same:?}"
                );
            }
        }
    }
}

pub(crate) fn contours_of_random_images_in_any_number_of_tiles<D: Device>(device: &D) {
    let small = (noise_or_pattern(), side(140), side(80), any::<u64>());
    let image = small
        .prop_map(|(pattern, width, height, seed)| pattern.generate(width, height, seed).unwrap());
    let log = || 0..=7u32;
    check::<D, _>(
        "contours of random images in any number of tiles",
        50,
        &(image, log(), log(), device.any(), options::<D>()),
        |(image, columns, rows, gpu, options)| {
            let options = in_tiles(options, &image, 1 << columns, 1 << rows);
            check_contours(&gpu, &image, &options)
        },
    );
}

/// Every pattern at one awkward size, in few tiles, and in as many as there are pixels.
pub(crate) fn contours_of_every_pattern_in_tiles<D: Device>(device: &D) {
    let mut order = 2000 * seed();
    for pattern in Pattern::ALL {
        let image = pattern.generate(67, 35, seed()).unwrap();
        for geometry in GEOMETRIES {
            for (columns, rows) in [(1, 1), (1, 2), (4, 2), (64, 32)] {
                order += 1;
                let options = TraceOptions::default().geometry(geometry);
                let options = in_tiles(options, &image, columns, rows);
                let same = check_contours(&device.small(order), &image, &options);
                assert!(
                    same.is_ok(),
                    "{pattern}, {options:?}, order {order}: {same:?}"
                );
            }
        }
    }
    say(
        "contours of every pattern in tiles",
        &format!("orders up to {order}"),
    );
}

/// Every pattern at one awkward size, each time in its own order of threads. The emulator takes
/// both geometries and approximations, a GPU every combination of options, and inverted images too.
pub(crate) fn contours_of_every_pattern<D: Device>(device: &D) {
    let some = GEOMETRIES.into_iter().flat_map(|geometry| {
        APPROXIMATIONS.map(|approximation| {
            TraceOptions::default()
                .geometry(geometry)
                .approximation(approximation)
        })
    });
    let ((width, height), options, inverted) = PerDevice {
        emulator: ((131, 67), some.collect(), &[false][..]),
        gpu: ((777, 1100), all_options::<D>(), &[false, true]),
    }
    .on::<D>();
    let mut order = seed();
    for pattern in Pattern::ALL {
        for &inverted in inverted {
            let mut image = pattern.generate(width, height, seed()).unwrap();
            if inverted {
                image.invert();
            }
            for options in &options {
                order += 1;
                let same = check_contours(&device.small(order), &image, options);
                assert!(
                    same.is_ok(),
                    "{pattern}, inverted: {inverted}, {options:?}, order {order}: {same:?}"
                );
            }
        }
    }
    say(
        "contours of every pattern",
        &format!("orders up to {order}"),
    );
}

/// Traces a batch of images of one size, and compares each with the CPU's contours of it.
fn check_batch<G: Gpu>(
    gpu: &G,
    images: &[BinaryImage],
    options: &TraceOptions,
) -> Result<(), TestCaseError> {
    let tracer = DeviceTracer::on(gpu.clone());
    let batch = DeviceImageBatch::upload(tracer.gpu(), images).unwrap();
    prop_assert_eq!(&batch.to_host()?, images);
    let found = tracer.trace_batch(&batch, &options.contours)?;
    prop_assert_eq!(found.len(), images.len());
    for (i, (found, image)) in found.to_host()?.iter().zip(images).enumerate() {
        let sequential = options.algorithm(TraceAlgorithm::Suzuki);
        let expected = Engine::cpu().trace(image, &sequential).unwrap();
        let difference = difference(found, &expected);
        prop_assert_eq!(difference, None, "not the CPU's contours of image {}", i);
    }
    Ok(())
}

/// Batches of images of one size, some of them empty, give what each image gives by itself.
pub(crate) fn contours_of_batches<D: Device>(device: &D) {
    let batch = (side(90), side(40), 1..6usize, any::<u64>());
    check::<D, _>(
        "contours of batches",
        20,
        &(batch, device.any(), options::<D>()),
        |((width, height, count, seed), gpu, options)| {
            let images: Vec<_> = (0..count as u64)
                .map(|i| {
                    let density = [0.0, 0.1, 0.4, 0.6, 0.9][((seed >> (3 * i)) % 5) as usize];
                    generate::noise(width, height, density, seed.wrapping_add(i)).unwrap()
                })
                .collect();
            check_batch(&gpu, &images, &options.algorithm(None))
        },
    );
}

/// Points with an offset added, also where sums pass 2³¹, are those of the CPU with the same
/// offset.
pub(crate) fn translated_points<D: Device>(device: &D) {
    let offset = (any::<i32>(), any::<i32>());
    check::<D, _>(
        "translated points",
        20,
        &(image(), device.any(), options::<D>(), offset),
        |(image, gpu, options, (x, y))| check_translated(&gpu, &image, &options, IVec2::new(x, y)),
    );
    let tracer = DeviceTracer::on(device.gpu(seed()));
    for len in [1, 7] {
        let mut odd = tracer.gpu().upload(&vec![0; len]).unwrap();
        let refused = tracer.translate_points(&mut odd, IVec2::ONE);
        let Err(Error::LengthMismatch { needed, given, .. }) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!((needed, given), (len + 1, len));
    }
    let mut none = tracer.gpu().alloc(0).unwrap();
    tracer.translate_points(&mut none, IVec2::ONE).unwrap();
}

fn check_translated<G: Gpu>(
    gpu: &G,
    image: &BinaryImage,
    options: &TraceOptions,
    offset: IVec2,
) -> Result<(), TestCaseError> {
    let sequential = options.algorithm(TraceAlgorithm::Suzuki);
    let traced = Engine::cpu().trace(image, &sequential)?;
    let expected: Vec<i32> = traced
        .points()
        .iter()
        .flat_map(|point| point.wrapping_add(offset).to_array())
        .collect();
    let tracer = DeviceTracer::on(gpu.clone());
    let on_device = DeviceImage::upload(gpu, image)?;
    let mut points = tracer.trace(&on_device, options)?.into_buffers().points;
    tracer.translate_points(&mut points, offset)?;
    let same = points.to_vec()? == expected;
    prop_assert!(same, "not the CPU's points with an offset");
    Ok(())
}

/// Offsets of nothing and at the ends of the numbers, of images with a point and with many.
pub(crate) fn translated_points_of_every_size<D: Device>(device: &D) {
    let sizes = PerDevice {
        emulator: &[(1, 1), (255, 5)][..],
        gpu: &[(1, 1), (255, 257), (1001, 333)],
    };
    for &(width, height) in sizes.on::<D>() {
        let image = generate::noise(width, height, 0.5, 3).unwrap();
        for offset in [IVec2::ZERO, IVec2::new(-3, 1000), IVec2::MAX, IVec2::MIN] {
            let gpu = device.gpu(seed());
            check_translated(&gpu, &image, &TraceOptions::default(), offset)
                .unwrap_or_else(|error| panic!("{width} × {height}, {offset}: {error}"));
        }
    }
}

/// From one image to a hundred, and large ones on a GPU.
pub(crate) fn contours_of_batches_of_every_size<D: Device>(device: &D) {
    let (batches, step) = PerDevice {
        emulator: (&[(1, 70, 33), (7, 64, 31)][..], 7),
        gpu: (
            &[(1, 70, 33), (7, 64, 31), (100, 201, 97), (16, 1232, 1028)],
            1,
        ),
    }
    .on::<D>();
    let by_fragments = all_options::<D>()
        .into_iter()
        .filter(|options| options.algorithm == Some(TraceAlgorithm::Fragments));
    let by_fragments: Vec<_> = by_fragments.step_by(step).collect();
    let mut order = seed();
    for &(count, width, height) in batches {
        let images: Vec<_> = (0..count)
            .map(|seed| {
                let density = [0.0, 0.03, 0.5, 0.97][seed as usize % 4];
                generate::noise(width, height, density, seed).unwrap()
            })
            .collect();
        for options in &by_fragments {
            order += 1;
            let same = check_batch(&device.small(order), &images, options);
            assert!(same.is_ok(), "{count} images, {options:?}: {same:?}");
        }
    }
}

/// All batches of up to three images that have no border, an outer one with a hole, or a ring
/// around a dot and another dot, whichever of them are empty, with each retrieval.
pub(crate) fn contours_of_batches_with_empty_images<D: Device>(device: &D) {
    let kinds = [
        "........\n........\n........\n........\n........",
        "........\n....###.\n....#.#.\n....###.\n........",
        "#####...\n#...#..#\n#.#.#...\n#...#...\n#####...",
    ]
    .map(|art| BinaryImage::from_art(art).unwrap());
    let mut order = seed();
    for count in 1..=3 {
        for number in 0..kinds.len().pow(count) {
            let kind = |i| number / kinds.len().pow(i) % kinds.len();
            let images: Vec<_> = (0..count).map(|i| kinds[kind(i)].clone()).collect();
            for retrieval in RETRIEVALS {
                order += 1;
                let options = TraceOptions::default()
                    .retrieval(retrieval)
                    .geometry(GEOMETRIES[order as usize / 4 % 2]);
                let same = check_batch(&device.small(order), &images, &options);
                let kinds: Vec<_> = (0..count).map(kind).collect();
                assert!(
                    same.is_ok(),
                    "images {kinds:?}, {options:?}, order {order}: {same:?}"
                );
            }
        }
    }
    say(
        "contours of batches with empty images",
        &format!("orders up to {order}"),
    );
}

/// An engine traces images of several sizes in one call, and reports progress up to the end.
pub(crate) fn batches_of_engines<D: Device>(device: &D) {
    let images: Vec<_> = [(9, 7), (9, 7), (70, 3), (9, 7), (1, 1)]
        .into_iter()
        .zip(seed()..)
        .map(|((width, height), seed)| generate::noise(width, height, 0.5, seed).unwrap())
        .collect();
    for algorithm in [None, Some(TraceAlgorithm::Tiles(TileCounts::BY_SIZE))] {
        let options = TraceOptions::default().algorithm(algorithm);
        let expected: Vec<_> = images
            .iter()
            .map(|image| Engine::cpu().trace(image, &options).unwrap())
            .collect();
        for engine in [Engine::cpu(), Engine::on(device.gpu(seed()))] {
            let reports = Arc::new(Mutex::new(Vec::new()));
            let reported = Arc::clone(&reports);
            let engine = engine.with_progress(move |share| {
                reported.lock().unwrap().push(share);
                ControlFlow::Continue(())
            });
            assert!(engine.trace_batch(&images, &options).unwrap() == expected);
            assert_eq!(reports.lock().unwrap().last(), Some(&1.0));
            assert!(engine.trace_batch(&[], &options).unwrap().is_empty());
        }
    }
    let options = TraceOptions::default().algorithm(TraceAlgorithm::Suzuki);
    let refused = Engine::on(device.gpu(0)).trace_batch(&images, &options);
    assert!(refused.is_err(), "an algorithm of the processor's");
}

/// What is no batch is refused, with what would be one.
pub(crate) fn batches_that_are_refused<D: Device>(device: &D) {
    let tracer = DeviceTracer::on(device.gpu(seed()));
    let upload = |images: &[BinaryImage]| {
        let refused = DeviceImageBatch::upload(tracer.gpu(), images).unwrap_err();
        refused.to_string()
    };
    assert!(upload(&[]).contains("at least one image"));
    let (small, large) = (BinaryImage::new(3, 4), BinaryImage::new(4, 4));
    let different = upload(&[small.unwrap(), large.unwrap()]);
    assert!(
        different.contains("image 1 has 4 × 4 pixels"),
        "{different}"
    );
    let batch = DeviceImageBatch::upload(tracer.gpu(), [&BinaryImage::new(3, 4).unwrap()]);
    let options = ContourOptions::default()
        .geometry(Geometry::Edges)
        .approximation(Approximation::TehChinL1);
    let refused = tracer.trace_batch(&batch.unwrap(), &options).unwrap_err();
    assert!(refused.to_string().contains("for centers"), "{refused}");
}

/// One pixel, whose border has one point, by every algorithm, which says its stages in this order.
pub(crate) fn stages_of_a_lone_pixel<D: Device>(device: &D) {
    let image = BinaryImage::from_art("...\n.#.").unwrap();
    for &algorithm in TraceAlgorithm::on(D::Gpu::BACKEND) {
        let expected = match algorithm {
            TraceAlgorithm::Fragments => &[
                "labels",
                "fragments",
                "joining",
                "order and hierarchy",
                "points",
            ][..],
            TraceAlgorithm::Tiles(_) => &[
                "labels",
                "preprocessing",
                "tracking: counts",
                "tracking",
                "connection",
                "discoveries",
                "order and hierarchy",
                "points",
            ],
            _ => &[
                "labels",
                "boundary extraction",
                "component analysis",
                "starting points",
                "order and hierarchy",
                "following",
            ],
        };
        let gpu = device.gpu(seed());
        let tracer = DeviceTracer::on(gpu.clone());
        let on_device = DeviceImage::upload(&gpu, &image).unwrap();
        let mut stages = Vec::new();
        let options = TraceOptions::default().algorithm(algorithm);
        let contours = hooks::trace_in_stages(&tracer, &on_device, &options, &mut |stage| {
            stages.push(stage);
            Ok(())
        })
        .unwrap();
        assert_eq!(stages, expected, "{algorithm:?}");
        let contours = contours
            .to_host()
            .unwrap_or_else(|error| panic!("{algorithm:?}: {error}"));
        assert_eq!(contours.len(), 1, "{algorithm:?}");
        assert_eq!(contours.points(), [IVec2::new(1, 1)], "{algorithm:?}");
    }
}

pub(crate) fn parts_of_buffers_that_there_are_not<D: Device>(device: &D) {
    let gpu = device.gpu(seed());
    let mut buffer = gpu.upload(&[1u64, 2, 3]).unwrap();
    assert_eq!(GpuBuffer::view_of(&buffer, 1..3).len(), 2);
    for (from, to) in [(1, 4), (4, 4), (3, usize::MAX)] {
        let refused = |work: &mut dyn FnMut()| {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            assert!(done.is_err(), "{from}..{to}");
        };
        refused(&mut || {
            GpuBuffer::view_of(&buffer, from..to);
        });
        refused(&mut || {
            GpuBuffer::view_mut_of(&mut buffer, from..to);
        });
    }
    // SAFETY: no bits are past the width.
    let few = unsafe { DeviceImage::<D::Gpu>::from_words(64, 4, buffer) };
    let Err(Error::SizeMismatch { needed, given, .. }) = few else {
        panic!("3 words for 4 rows");
    };
    assert_eq!((needed, given), (4, 3));
}

/// All images of up to 3 × 2 pixels, and all of 3 × 3 side by side in one.
pub(crate) fn contours_of_all_small_images<D: Device>(device: &D) {
    let mut order = 1000 * seed();
    for (width, height) in [(1, 1), (3, 1), (1, 3), (2, 2), (3, 2)] {
        for bits in 0..1u32 << (width * height) {
            let values: Vec<u8> = (0..width * height).map(|i| (bits >> i & 1) as u8).collect();
            let image = BinaryImage::from_values(width, height, &values, 0).unwrap();
            order += 1;
            let options = TraceOptions::default()
                .geometry(GEOMETRIES[order as usize % 2])
                .approximation(APPROXIMATIONS[order as usize / 2 % 2])
                .retrieval(RETRIEVALS[order as usize / 4 % 4]);
            let tiled = in_tiles(options, &image, 2, 2);
            let options = if order.is_multiple_of(2) {
                options
            } else {
                tiled
            };
            let same = check_contours(&device.small(order), &image, &options);
            assert!(
                same.is_ok(),
                "{bits:b} of {width} × {height}, {options:?}: {same:?}"
            );
        }
    }
    let all = BinaryImage::from_fn(32 * 4, 16 * 4, |x, y| {
        let bits = x / 4 + y / 4 * 32;
        x % 4 < 3 && y % 4 < 3 && bits >> (y % 4 * 3 + x % 4) & 1 != 0
    })
    .unwrap();
    for &algorithm in TraceAlgorithm::on(D::Gpu::BACKEND) {
        for geometry in GEOMETRIES {
            for approximation in APPROXIMATIONS {
                order += 1;
                let options = TraceOptions::default()
                    .geometry(geometry)
                    .approximation(approximation)
                    .retrieval(RETRIEVALS[order as usize % 4])
                    .algorithm(algorithm);
                let same = check_contours(&device.small(order), &all, &options);
                assert!(same.is_ok(), "all of 3 × 3, {options:?}: {same:?}");
            }
        }
    }
}

/// About as many borders as a digit of the radix sort has values, so that the last digit of the
/// keys decides.
pub(crate) fn contours_where_the_keys_take_another_digit<D: Device>(device: &D) {
    let (width, height) = (65, 40);
    for count in 253..=258u32 {
        // A ring with a dot in it, which has three borders, and dots.
        let mut values = vec![0; (width * height) as usize];
        let mut dots = 0;
        for (i, value) in values.iter_mut().enumerate() {
            let (x, y) = (i as u32 % width, i as u32 / width);
            if x < 5 && y < 5 {
                *value = u8::from(x % 4 == 0 || y % 4 == 0 || (x, y) == (2, 2));
            } else if x % 2 == 0 && y % 2 == 0 && (x > 5 || y > 5) && dots < count - 3 {
                *value = 1;
                dots += 1;
            }
        }
        let image = BinaryImage::from_values(width, height, &values, 0).unwrap();
        for retrieval in [Retrieval::External, Retrieval::Tree] {
            let options = TraceOptions::default().retrieval(retrieval);
            let gpu = device.small(seed() + u64::from(count));
            let same = check_contours(&gpu, &image, &options);
            assert!(same.is_ok(), "{count} borders, {retrieval:?}: {same:?}");
        }
    }
}

/// Components in holes with walls that are several words away on both sides: the border around a
/// component is found there.
pub(crate) fn contours_within_holes_across_words<D: Device>(device: &D) {
    let (width, height) = (300, 24);
    let mut image = BinaryImage::new(width, height).unwrap();
    // Frames within frames; in each gap between two walls, one pixel.
    for (left, right, top) in [(3, 290, 1), (60, 200, 4), (130, 190, 8)] {
        for x in left..=right {
            image.set(x, top, true);
            image.set(x, height - 1 - top, true);
        }
        for y in top..height - top {
            image.set(left, y, true);
            image.set(right, y, true);
        }
    }
    for x in [30, 70, 100, 150, 195, 250] {
        image.set(x, 11, true);
    }
    for (order, geometry) in (40..).zip(GEOMETRIES) {
        for retrieval in RETRIEVALS {
            let options = TraceOptions::default()
                .geometry(geometry)
                .retrieval(retrieval);
            let same = check_contours(&device.small(order), &image, &options);
            assert!(same.is_ok(), "{options:?}: {same:?}");
        }
    }
}

pub(crate) fn what_the_device_does_not_do_is_said<D: Device>(device: &D) {
    let tracer = DeviceTracer::on(device.gpu(1));
    let image = BinaryImage::from_art("#").unwrap();
    let image = DeviceImage::upload(tracer.gpu(), &image).unwrap();
    let options = TraceOptions::default().algorithm(TraceAlgorithm::Suzuki);
    assert!(matches!(
        tracer.trace(&image, &options),
        Err(Error::Unavailable(_))
    ));
    let options =
        TraceOptions::default().algorithm(TraceAlgorithm::Tiles(TileCounts::new(2, 1).unwrap()));
    assert!(matches!(
        tracer.trace(&image, &options),
        Err(Error::InvalidOption(_))
    ));
}

/// An image that another library has left on the device: with a pitch, and at any address.
pub(crate) fn pitched_images_are_packed_where_they_lie<D: Device>(device: &D) {
    let gpu = device.gpu(seed());
    let tracer = DeviceTracer::on(gpu.clone());
    let labeler = DeviceLabeler::on(gpu.clone());
    for (width, height, pitch, offset) in [
        (64, 9, 80, 16),
        (64, 9, 80, 3),
        (48, 5, 48, 0),
        (77, 30, 100, 1),
        (1, 1, 1, 0),
    ] {
        let image = generate::noise(width, height, 0.4, 3).unwrap();
        let mut bytes = vec![255u8; offset + pitch * height as usize];
        for y in 0..height {
            for x in 0..width {
                let value = if image.get(x, y) { 200 } else { 100 };
                bytes[offset + y as usize * pitch + x as usize] = value;
            }
        }
        let on_device = gpu.upload(&bytes).unwrap();
        let len = pitch * (height as usize - 1) + width as usize;
        // SAFETY: the view lies within the upload, from `offset` on.
        let view = unsafe { View::from_raw_parts(on_device.view().as_ptr().add(offset), len) };
        // SAFETY: nothing writes the upload.
        let packed =
            unsafe { DeviceImage::pack_pitched(labeler.gpu(), width, height, view, pitch, 127) }
                .unwrap();
        assert!(
            packed.to_host().unwrap() == image,
            "{width} × {height}, {pitch}"
        );
        let found = tracer.trace(&packed, &TraceOptions::default()).unwrap();
        let expected = Engine::cpu().trace(&image, &TraceOptions::default());
        assert_eq!(
            difference(&found.to_host().unwrap(), &expected.unwrap()),
            None
        );

        // SAFETY: as above; these images are refused.
        let (narrow, short) = unsafe {
            let short = View::from_raw_parts(on_device.view().as_ptr(), len - 1);
            (
                DeviceImage::pack_pitched(
                    labeler.gpu(),
                    width,
                    height,
                    view,
                    width as usize - 1,
                    127,
                ),
                DeviceImage::pack_pitched(labeler.gpu(), width, height, short, pitch, 127),
            )
        };
        assert!(matches!(narrow, Err(Error::InvalidOption(_))));
        assert!(matches!(short, Err(Error::SizeMismatch { .. })));
    }
}

pub(crate) fn images_whose_nodes_have_no_numbers_are_refused<D: Device>(device: &D) {
    let image = BinaryImage::new(1 << 16, (1 << 14) + 1).unwrap();
    for algorithm in [
        TraceAlgorithm::Components,
        TraceAlgorithm::Tiles(TileCounts::BY_SIZE),
    ] {
        let options = TraceOptions::default().algorithm(algorithm);
        let refused = Engine::on(device.gpu(0)).trace(&image, &options);
        let Err(Error::ImageTooLarge { limit, .. }) = refused else {
            panic!("{algorithm:?}: {refused:?}");
        };
        assert!(limit.contains("by fragments"), "{limit}");
    }
}
