//! The GPU's contours under the emulator: equal to the sequential tracer's in points, order and
//! hierarchy, in every order of the threads.
//!
//! Images and orders follow one seed, which a failure names; `TRAZAR_SEED` replaces it.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;
use trazar::emulator::Emulator;
use trazar::generate::{self, Pattern};
use trazar::glam::IVec2;
use trazar::gpu::{GpuBuffer, View};
use trazar::hooks;
use trazar::trace::{ContourOptions, TileCounts};
use trazar::{
    Approximation, Backend, BinaryImage, DeviceImage, DeviceImageBatch, DeviceLabeler,
    DeviceTracer, Engine, Error, Geometry, LabelOptions, Retrieval, TraceAlgorithm, TraceOptions,
};
use trazar_test_support::contours::{APPROXIMATIONS, GEOMETRIES, RETRIEVALS, compare, difference};
use trazar_test_support::emulators::{check, emulator, emulator_of, say, seed, small_emulator};
use trazar_test_support::images::{image, noise_or_pattern, side};
use trazar_test_support::watched::Watched;

/// Traces `image` with a new tracer, and compares with the CPU.
fn check_contours(
    emulator: &Emulator,
    image: &BinaryImage,
    options: &TraceOptions,
) -> Result<(), TestCaseError> {
    compare(&DeviceTracer::on(emulator.clone()), image, options)
}

fn options() -> impl Strategy<Value = TraceOptions> {
    let options = (
        select(&RETRIEVALS[..]),
        select(&APPROXIMATIONS[..]),
        select(&GEOMETRIES[..]),
        select(TraceAlgorithm::on(Backend::Emulator)),
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

#[test]
fn contours_of_random_images() {
    check(
        "contours of random images",
        30,
        &(image(), emulator(), options()),
        |(image, emulator, options)| check_contours(&emulator, &image, &options),
    );
}

#[test]
fn contours_of_random_images_in_any_number_of_tiles() {
    let small = (noise_or_pattern(), side(140), side(80), any::<u64>());
    let image = small
        .prop_map(|(pattern, width, height, seed)| pattern.generate(width, height, seed).unwrap());
    let log = || 0..=7u32;
    check(
        "contours of random images in any number of tiles",
        50,
        &(image, log(), log(), emulator(), options()),
        |(image, columns, rows, emulator, options)| {
            let options = in_tiles(options, &image, 1 << columns, 1 << rows);
            check_contours(&emulator, &image, &options)
        },
    );
}

/// Every pattern at one awkward size, in few tiles, and in as many as there are pixels.
#[test]
fn contours_of_every_pattern_in_tiles() {
    let mut order = 2000 * seed();
    for pattern in Pattern::ALL {
        let image = pattern.generate(67, 35, seed()).unwrap();
        for geometry in GEOMETRIES {
            for (columns, rows) in [(1, 1), (1, 2), (4, 2), (64, 32)] {
                order += 1;
                let options = TraceOptions::default().geometry(geometry);
                let options = in_tiles(options, &image, columns, rows);
                let same = check_contours(&small_emulator(order), &image, &options);
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

/// Traces a batch of images of one size, and compares each with the CPU's contours of it.
fn check_batch(
    emulator: &Emulator,
    images: &[BinaryImage],
    options: &TraceOptions,
) -> Result<(), TestCaseError> {
    let tracer = DeviceTracer::on(emulator.clone());
    let batch = DeviceImageBatch::upload(tracer.gpu(), images).unwrap();
    prop_assert_eq!(&batch.to_host()?, images);
    let found = tracer.trace_batch(&batch, &options.contours)?;
    prop_assert_eq!(found.len(), images.len());
    for (i, (found, image)) in found.to_host()?.iter().zip(images).enumerate() {
        let expected = Engine::cpu().trace(image, options).unwrap();
        let difference = difference(found, &expected);
        prop_assert_eq!(difference, None, "not the CPU's contours of image {}", i);
    }
    Ok(())
}

/// Batches of images of one size, some of them empty, give what each image gives by itself.
#[test]
fn contours_of_batches() {
    let batch = (side(90), side(40), 1..6usize, any::<u64>());
    check(
        "contours of batches",
        20,
        &(batch, emulator(), options()),
        |((width, height, count, seed), emulator, options)| {
            let images: Vec<_> = (0..count as u64)
                .map(|i| {
                    let density = [0.0, 0.1, 0.4, 0.6, 0.9][((seed >> (3 * i)) % 5) as usize];
                    generate::noise(width, height, density, seed.wrapping_add(i)).unwrap()
                })
                .collect();
            check_batch(&emulator, &images, &options.algorithm(None))
        },
    );
}

/// Points with an offset added, also where sums pass 2³¹, are those of the CPU with the same offset.
#[test]
fn translated_points() {
    let offset = (any::<i32>(), any::<i32>());
    check(
        "translated points",
        20,
        &(image(), emulator(), options(), offset),
        |(image, emulator, options, (x, y))| {
            let sequential = options.algorithm(TraceAlgorithm::Suzuki);
            let traced = Engine::cpu().trace(&image, &sequential)?;
            let expected: Vec<i32> = traced
                .points()
                .iter()
                .flat_map(|point| [point.x.wrapping_add(x), point.y.wrapping_add(y)])
                .collect();
            let tracer = DeviceTracer::on(emulator.clone());
            let on_device = DeviceImage::upload(&emulator, &image)?;
            let mut points = tracer.trace(&on_device, &options)?.into_buffers().points;
            tracer.translate_points(&mut points, IVec2::new(x, y))?;
            let same = points.to_vec()? == expected;
            prop_assert!(same, "not the CPU's points with an offset");
            Ok(())
        },
    );
    let tracer = DeviceTracer::on(emulator_of(seed()));
    for len in [1, 7] {
        let mut odd = tracer.gpu().upload(&vec![0; len]).unwrap();
        let refused = tracer.translate_points(&mut odd, IVec2::ONE);
        let expected = (len + 1, len);
        assert!(
            matches!(refused, Err(Error::LengthMismatch { needed, given, .. }) if (needed, given) == expected),
            "{refused:?}"
        );
    }
    let mut none = tracer.gpu().alloc(0).unwrap();
    tracer.translate_points(&mut none, IVec2::ONE).unwrap();
}

/// All batches of up to three images that have no border, an outer one with a hole, or a ring
/// around a dot and another dot, whichever of them are empty, with each retrieval.
#[test]
fn contours_of_batches_with_empty_images() {
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
                let same = check_batch(&small_emulator(order), &images, &options);
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
#[test]
fn batches_of_engines() {
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
        for engine in [Engine::cpu(), Engine::on(emulator_of(seed()))] {
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
    let refused = Engine::emulator(0).trace_batch(&images, &options);
    assert!(refused.is_err(), "an algorithm of the processor's");
}

/// What is no batch is refused, with what would be one.
#[test]
fn batches_that_are_refused() {
    let tracer = DeviceTracer::on(emulator_of(seed()));
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

/// Every pattern at one awkward size, in both geometries and approximations, each in its own order
/// of threads.
#[test]
fn contours_of_every_pattern() {
    let mut order = seed();
    for pattern in Pattern::ALL {
        let image = pattern.generate(131, 67, seed()).unwrap();
        for geometry in GEOMETRIES {
            for approximation in APPROXIMATIONS {
                order += 1;
                let options = TraceOptions::default()
                    .geometry(geometry)
                    .approximation(approximation);
                let same = check_contours(&small_emulator(order), &image, &options);
                assert!(
                    same.is_ok(),
                    "{pattern}, {options:?}, order {order}: {same:?}"
                );
            }
        }
    }
    say(
        "contours of every pattern",
        &format!("orders up to {order}"),
    );
}

/// One pixel, whose border has one point, by every algorithm, which says its stages in this order.
#[test]
fn stages_of_a_lone_pixel() {
    let image = BinaryImage::from_art("...\n.#.").unwrap();
    for &algorithm in TraceAlgorithm::on(Backend::Emulator) {
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
        let emulator = emulator_of(seed());
        let tracer = DeviceTracer::on(emulator.clone());
        let on_device = DeviceImage::upload(&emulator, &image).unwrap();
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

#[test]
fn parts_of_buffers_that_there_are_not() {
    let emulator = emulator_of(seed());
    let mut buffer = emulator.upload(&[1u64, 2, 3]).unwrap();
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
    let few = unsafe { DeviceImage::<Emulator>::from_words(64, 4, buffer) };
    let Err(Error::SizeMismatch { needed, given, .. }) = few else {
        panic!("3 words for 4 rows");
    };
    assert_eq!((needed, given), (4, 3));
}

/// All images of up to 3 × 2 pixels, and all of 3 × 3 side by side in one.
#[test]
fn contours_of_all_small_images() {
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
            let same = check_contours(&small_emulator(order), &image, &options);
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
    for &algorithm in TraceAlgorithm::on(Backend::Emulator) {
        for geometry in GEOMETRIES {
            for approximation in APPROXIMATIONS {
                order += 1;
                let options = TraceOptions::default()
                    .geometry(geometry)
                    .approximation(approximation)
                    .retrieval(RETRIEVALS[order as usize % 4])
                    .algorithm(algorithm);
                let same = check_contours(&small_emulator(order), &all, &options);
                assert!(same.is_ok(), "all of 3 × 3, {options:?}: {same:?}");
            }
        }
    }
}

/// About as many borders as a digit of the radix sort has values, so that the last digit of the
/// keys decides.
#[test]
fn contours_where_the_keys_take_another_digit() {
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
            let emulator = small_emulator(seed() + u64::from(count));
            let same = check_contours(&emulator, &image, &options);
            assert!(same.is_ok(), "{count} borders, {retrieval:?}: {same:?}");
        }
    }
}

#[test]
fn what_the_device_does_not_do_is_said() {
    let tracer = DeviceTracer::on(emulator_of(1));
    let image = BinaryImage::from_art("#").unwrap();
    let image = DeviceImage::upload(tracer.gpu(), &image).unwrap();
    let options = TraceOptions::default().algorithm(TraceAlgorithm::Suzuki);
    assert!(matches!(
        tracer.trace(&image, &options),
        Err(Error::Unavailable(_))
    ));
    let tiles = TraceAlgorithm::Tiles(TileCounts::new(2, 1).unwrap());
    let options = TraceOptions::default().algorithm(tiles);
    assert!(matches!(
        tracer.trace(&image, &options),
        Err(Error::InvalidOption(_))
    ));
}

/// An image that another library has left on the device: with a pitch, and at any address.
#[test]
fn pitched_images_are_packed_where_they_lie() {
    let emulator = emulator_of(seed());
    let tracer = DeviceTracer::on(emulator.clone());
    let labeler = DeviceLabeler::on(emulator.clone());
    for (width, height, pitch, offset) in [
        (64, 9, 80, 16),
        (64, 9, 80, 3),
        (48, 5, 48, 0),
        (77, 30, 100, 1),
        (1, 1, 1, 0),
    ] {
        let image = trazar::generate::noise(width, height, 0.4, 3).unwrap();
        let mut bytes = vec![255u8; offset + pitch * height as usize];
        for y in 0..height {
            for x in 0..width {
                let value = if image.get(x, y) { 200 } else { 100 };
                bytes[offset + y as usize * pitch + x as usize] = value;
            }
        }
        let on_device = emulator.upload(&bytes).unwrap();
        let len = pitch * (height as usize - 1) + width as usize;
        // SAFETY: the view lies within the upload, from `offset` on.
        let view = unsafe { View::from_raw_parts(on_device.as_ptr().add(offset), len) };
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
            let short = View::from_raw_parts(on_device.as_ptr(), len - 1);
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

#[test]
fn images_whose_nodes_have_no_numbers_are_refused() {
    let image = BinaryImage::new(1 << 16, (1 << 14) + 1).unwrap();
    for algorithm in [
        TraceAlgorithm::Components,
        TraceAlgorithm::Tiles(TileCounts::BY_SIZE),
    ] {
        let options = TraceOptions::default().algorithm(algorithm);
        let refused = Engine::on(emulator_of(0)).trace(&image, &options);
        let Err(Error::ImageTooLarge { limit, .. }) = refused else {
            panic!("{algorithm:?}: {refused:?}");
        };
        assert!(limit.contains("by fragments"), "{limit}");
    }
}

/// Components in holes with walls that are several words away on both sides: the border around a
/// component is found there.
#[test]
fn contours_within_holes_across_words() {
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
            let same = check_contours(&small_emulator(order), &image, &options);
            assert!(same.is_ok(), "{options:?}: {same:?}");
        }
    }
}

/// An engine keeps the memory that it traces in. Where there is none for another job, it gives that
/// back and tries once more.
#[test]
fn an_engine_gives_its_memory_back() {
    let is_short = Arc::new(AtomicBool::new(false));
    let refuses = is_short.clone();
    let gpu = Watched::refusing(emulator_of(seed()), move |allocation| {
        // The image, which comes first.
        let refused = allocation.bytes > 1000 && refuses.swap(false, Relaxed);
        refused.then(|| allocation.out_of_memory())
    });
    let engine = Engine::on(gpu.clone());
    let first = generate::noise(200, 100, 0.5, seed()).unwrap();
    let second = generate::noise(131, 70, 0.5, seed()).unwrap();
    let options = TraceOptions::default();
    let check = |image| {
        let expected = Engine::cpu().trace(image, &options).unwrap();
        assert_eq!(engine.trace(image, &options).unwrap(), expected);
    };
    assert_eq!(engine.working_memory(), 0);
    check(&first);
    let kept = engine.working_memory();
    assert!(kept > first.pixel_count(), "{kept}");
    // The second time, memory is needed for the image and the result alone.
    let before = gpu.allocations();
    check(&first);
    let again = gpu.allocations() - before;
    assert!(again < before / 2, "{again} allocations after {before}");
    assert_eq!(engine.working_memory(), kept);

    is_short.store(true, Relaxed);
    check(&second);
    assert_eq!(gpu.refused(), 1);
    assert!((1..kept).contains(&engine.working_memory()));
    is_short.store(true, Relaxed);
    let labels = LabelOptions::default();
    let expected = Engine::cpu().label(&second, &labels).unwrap();
    let found = engine.label(&second, &labels).unwrap();
    assert_eq!(found.as_slice(), expected.as_slice());
    assert_eq!(gpu.refused(), 2);
    // Labels keep nothing, so that the engine has nothing to give back for the next.
    assert_eq!(engine.working_memory(), 0);
    is_short.store(true, Relaxed);
    let refused = engine.label(&second, &labels);
    assert!(
        matches!(&refused, Err(error) if error.is_out_of_memory()),
        "{refused:?}"
    );
    assert_eq!(gpu.refused(), 3);
}
