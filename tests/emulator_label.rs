//! The GPU's labels and prefix sums under the emulator: equal to the CPU's in every order of the
//! threads.
//!
//! Images and orders follow one seed, which a failure names; `TRAZAR_SEED` replaces it.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;
use trazar::emulator::Emulator;
use trazar::generate::{self, Pattern};
use trazar::gpu::Scanner;
use trazar::label::LabelPart;
use trazar::label::MultiLabeler;
use trazar::{
    Backend, BinaryImage, Connectivity, DeviceBytes, DeviceImage, DeviceLabeler, Engine, Error,
    LabelAlgorithm, LabelOptions, Samples,
};
use trazar_test_support::emulators::{check, emulator, emulator_of, say, seed};
use trazar_test_support::images::{InMemory, image, noise_or_pattern, side};
use trazar_test_support::kernels::scan::{self, ScanState, TILE};
use trazar_test_support::labels::{ALGORITHMS, CONNECTIVITIES, difference, options};
use trazar_test_support::watched::{Allocation, Watched};

/// Labels `image` both ways and compares.
fn check_labels(
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

#[test]
fn labels_of_random_images() {
    let run = (
        emulator(),
        select(&CONNECTIVITIES[..]),
        select(&ALGORITHMS[..]),
        any::<bool>(),
    );
    check(
        "labels of random images",
        100,
        &(image(), run),
        |(image, (emulator, connectivity, algorithm, statistics))| {
            let engine = Engine::on(emulator);
            check_labels(&engine, &image, connectivity, algorithm, statistics)
        },
    );
}

/// Labels and measures in a given array that has others are those of the CPU; arrays of other
/// lengths, and images in bands, are refused.
#[test]
fn labels_in_given_arrays() {
    let run = (
        emulator(),
        select(&CONNECTIVITIES[..]),
        select(&ALGORITHMS[..]),
        any::<bool>(),
    );
    check(
        "labels in given arrays",
        20,
        &(image(), run),
        |(image, (emulator, connectivity, algorithm, statistics))| {
            let options = options(connectivity, algorithm, statistics);
            let labeler = DeviceLabeler::on(emulator.clone());
            let on_device = DeviceImage::upload(&emulator, &image)?;
            let pixels = image.pixel_count() as usize;
            for given in [pixels - 1, pixels + 1] {
                let refused = labeler.label_into(&on_device, &options, emulator.alloc(given)?);
                let is_said = matches!(refused, Err(Error::LengthMismatch { .. }));
                prop_assert!(is_said, "{refused:?}");
            }
            let labels = emulator.upload(&vec![7; pixels])?;
            let found = labeler
                .label_into(&on_device, &options, labels)?
                .to_host()?;
            let sequential = options.algorithm(LabelAlgorithm::Sequential);
            let expected = Engine::cpu().label(&image, &sequential)?;
            prop_assert_eq!(difference(&found, &expected), None, "not the CPU's labels");
            Ok(())
        },
    );
    let emulator = emulator_of(seed());
    let image = generate::noise(70, 200, 0.4, seed()).unwrap();
    let on_device = DeviceImage::upload(&emulator, &image).unwrap();
    let in_bands = DeviceLabeler::on(emulator.clone()).with_band_pixels(70 * 64);
    let labels = emulator.alloc(70 * 200).unwrap();
    let refused = in_bands.label_into(&on_device, &LabelOptions::default(), labels);
    assert!(
        matches!(refused, Err(Error::ImageTooLarge { .. })),
        "{refused:?}"
    );
}

/// Every pattern at one awkward size, by each algorithm and connectivity, each in its own order of
/// threads.
#[test]
fn labels_of_every_pattern() {
    let mut order = seed();
    for pattern in Pattern::ALL {
        let image = pattern.generate(261, 67, seed()).unwrap();
        for connectivity in CONNECTIVITIES {
            for algorithm in ALGORITHMS {
                order += 1;
                let engine = Engine::on(emulator_of(order));
                let same = check_labels(&engine, &image, connectivity, algorithm, true);
                same.unwrap_or_else(|error| panic!("{pattern:?}, seed {order}: {error}"));
            }
        }
    }
    say(
        "labels of every pattern",
        &format!("{} patterns", Pattern::ALL.len()),
    );
}

/// One image in many orders of threads.
#[test]
fn labels_in_many_orders() {
    let image = generate::noise(130, 66, 0.45, seed()).unwrap();
    check(
        "labels in many orders",
        100,
        &(
            emulator(),
            select(&CONNECTIVITIES[..]),
            select(&ALGORITHMS[..]),
        ),
        |(emulator, connectivity, algorithm)| {
            let engine = Engine::on(emulator);
            check_labels(&engine, &image, connectivity, algorithm, true)
        },
    );
}

/// Sparse noise where tiles meet: components on the two sides of a seam often touch at one pixel
/// only.
#[test]
fn labels_where_tiles_meet() {
    let mut order = seed();
    for (width, height) in [(259, 130), (520, 66), (258, 64), (64, 66)] {
        for percent in [15, 25, 35] {
            order += 1;
            let image = generate::noise(width, height, f64::from(percent) / 100.0, order).unwrap();
            for connectivity in CONNECTIVITIES {
                let engine = Engine::on(emulator_of(order));
                let same = check_labels(&engine, &image, connectivity, LabelAlgorithm::Tiles, true);
                same.unwrap_or_else(|error| panic!("{width} × {height}, seed {order}: {error}"));
            }
        }
    }
    say("labels where tiles meet", &format!("seeds to {order}"));
}

/// Every way to set the four pixels where four tiles meet, which touch nothing else.
#[test]
fn labels_where_four_tiles_meet() {
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
            let engine = Engine::emulator(order);
            let same = check_labels(&engine, &image, connectivity, LabelAlgorithm::Tiles, true);
            same.unwrap_or_else(|error| panic!("patterns from {first}, seed {order}: {error}"));
        }
    }
}

/// Tiles with as many runs as a band holds, with one run less, and with one more.
#[test]
fn labels_of_as_many_runs_as_a_band_holds() {
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
            let engine = Engine::emulator(seed());
            let same = check_labels(&engine, &image, connectivity, LabelAlgorithm::Tiles, true);
            same.unwrap_or_else(|error| panic!("{runs} runs, seed {}: {error}", seed()));
        }
    }
}

/// Images that are divided into bands of rows, as those are that 32 bits can't index.
/// Of an image that several devices hold, one band of rows each.
#[test]
fn labels_by_several_devices() {
    let image = generate::blobs(90, 70, seed()).unwrap();
    let rows = |from: u32, to: u32| {
        BinaryImage::from_fn(90, to - from, |x, y| image.get(x, from + y)).unwrap()
    };
    let expected = options(Connectivity::Eight, LabelAlgorithm::Sequential, true);
    let expected = Engine::cpu().label(&image, &expected).unwrap();
    for ends in [&[0, 70][..], &[0, 1, 33, 70]] {
        let bands = ends.windows(2).map(|ends| rows(ends[0], ends[1]));
        let labeler = MultiLabeler::on((1..ends.len() as u64).map(|i| emulator_of(seed() + i)));
        let bands: Vec<_> = labeler
            .gpus()
            .zip(bands)
            .map(|(gpu, band)| DeviceImage::upload(gpu, &band).unwrap())
            .collect();
        let found = labeler
            .label(&bands, &LabelOptions::default().statistics(true))
            .unwrap();
        assert!(
            found.components() == expected.components(),
            "not the CPU's measures: {ends:?}"
        );
        let labels: Vec<u32> = found
            .bands()
            .iter()
            .flat_map(|band| band.to_host().unwrap().into_vec())
            .collect();
        assert!(
            labels == expected.as_slice(),
            "not the CPU's labels: {ends:?}"
        );
    }
}

#[test]
fn labels_in_bands() {
    let bands = (
        select(&[1u32, 5_000, 20_000, 40_000][..]),
        side(300),
        64..400u32,
        noise_or_pattern(),
        any::<u64>(),
    );
    let run = (
        emulator(),
        select(&CONNECTIVITIES[..]),
        select(&ALGORITHMS[..]),
        any::<bool>(),
    );
    check(
        "labels in bands",
        40,
        &(bands, run),
        |(
            (most, width, height, pattern, seed),
            (emulator, connectivity, algorithm, statistics),
        )| {
            let image = pattern.generate(width, height, seed).unwrap();
            let expected = options(connectivity, LabelAlgorithm::Sequential, true);
            let expected = Engine::cpu().label(&image, &expected).unwrap();
            let labeler = DeviceLabeler::on(emulator).with_band_pixels(most);
            let on_device = DeviceImage::upload(labeler.gpu(), &image)?;
            let found = labeler.label(&on_device, &options(connectivity, algorithm, statistics))?;
            prop_assert_eq!(found.count()?, expected.count(), "not the CPU's number");
            let measures = match found.components() {
                Some(measures) => measures.to_vec(),
                None => labeler.measure(&on_device, &found)?,
            };
            prop_assert!(
                Some(&measures[..]) == expected.components(),
                "not the CPU's measures"
            );
            let found = found.to_host()?.into_vec();
            prop_assert!(found == expected.as_slice(), "not the CPU's labels");
            Ok(())
        },
    );
}

/// Components in the shapes of U, of Ω and of spirals go through all seams and back: numbers of
/// bands below join components of bands above.
#[test]
fn labels_of_every_pattern_in_bands() {
    let mut order = seed();
    for pattern in Pattern::ALL {
        // Widths with vector accesses, and without.
        for width in [68, 131] {
            let image = pattern.generate(width, 3 * 64 + 7, seed()).unwrap();
            for connectivity in CONNECTIVITIES {
                order += 1;
                let labeler = DeviceLabeler::on(emulator_of(order)).with_band_pixels(64);
                let on_device = DeviceImage::upload(labeler.gpu(), &image).unwrap();
                let run = options(connectivity, LabelAlgorithm::Tiles, true);
                let found = labeler.label(&on_device, &run).unwrap().to_host().unwrap();
                let expected = options(connectivity, LabelAlgorithm::Sequential, true);
                let expected = Engine::cpu().label(&image, &expected).unwrap();
                let difference = difference(&found, &expected);
                assert_eq!(difference, None, "not the CPU's: {pattern:?}, seed {order}");
            }
        }
    }
}

/// An emulator on which every fourth allocation of 16-bit elements fails with that error: a band
/// makes three, so that no two bands have memory for their tiles at once.
fn short_of_memory(error: impl Fn(Allocation) -> Error + Send + 'static) -> Watched {
    let mut allocations = 0;
    Watched::refusing(emulator_of(seed()), move |allocation| {
        allocations += u32::from(allocation.element == 2);
        let is_fourth = allocation.element == 2 && allocations.is_multiple_of(4);
        is_fourth.then(|| error(allocation))
    })
}

/// Without memory to keep the tiles of several bands, labels are written twice.
#[test]
fn labels_in_bands_without_memory_to_wait() {
    let image = Pattern::ALL[0].generate(131, 3 * 64 + 7, seed()).unwrap();
    let noise = generate::noise(68, 4 * 64, 0.5, seed()).unwrap();
    for (image, connectivity) in [&image, &noise].into_iter().zip(CONNECTIVITIES) {
        let gpu = short_of_memory(|allocation| allocation.out_of_memory());
        let labeler = DeviceLabeler::on(gpu).with_band_pixels(64);
        let on_device = DeviceImage::upload(labeler.gpu(), image).unwrap();
        let run = options(connectivity, LabelAlgorithm::Tiles, false);
        let found = labeler.label(&on_device, &run).unwrap().to_host().unwrap();
        let expected = options(connectivity, LabelAlgorithm::Sequential, false);
        let expected = Engine::cpu().label(image, &expected).unwrap();
        assert_eq!(difference(&found, &expected), None, "not the CPU's labels");
        let refused = labeler.gpu().refused();
        assert_eq!(refused, 3, "one per band but the first");
    }
}

/// Another error than a lack of memory ends the work, and is returned.
#[test]
fn labels_in_bands_on_a_gpu_that_fails() {
    let image = Pattern::ALL[0].generate(131, 3 * 64 + 7, seed()).unwrap();
    let gpu = short_of_memory(|_| std::io::Error::other("broken").into());
    let labeler = DeviceLabeler::on(gpu).with_band_pixels(64);
    let on_device = DeviceImage::upload(labeler.gpu(), &image).unwrap();
    let run = options(CONNECTIVITIES[0], LabelAlgorithm::Tiles, false);
    let refused = labeler.label(&on_device, &run);
    assert!(
        matches!(&refused, Err(Error::Write(error)) if error.to_string() == "broken"),
        "{refused:?}"
    );
    assert_eq!(labeler.gpu().refused(), 1, "tried again");
}

/// Whichever allocation fails, the labels are right or the error says that memory is short.
#[test]
fn labels_where_any_allocation_fails() {
    let image = generate::noise(68, 3 * 64, 0.5, seed()).unwrap();
    let run = options(CONNECTIVITIES[1], LabelAlgorithm::Tiles, true);
    let expected = options(CONNECTIVITIES[1], LabelAlgorithm::Sequential, true);
    let expected = Engine::cpu().label(&image, &expected).unwrap();
    let mut failed = 0;
    for number in 0.. {
        let gpu = Watched::refusing(emulator_of(seed()), move |allocation| {
            (allocation.number == number).then(|| allocation.out_of_memory())
        });
        let labeler = DeviceLabeler::on(gpu).with_band_pixels(64);
        let label = || {
            let on_device = DeviceImage::upload(labeler.gpu(), &image)?;
            labeler.label(&on_device, &run)?.to_host()
        };
        match label() {
            Ok(found) => {
                let difference = difference(&found, &expected);
                assert_eq!(
                    difference, None,
                    "not the CPU's labels: allocation {number}"
                );
            }
            Err(error) if error.is_out_of_memory() => failed += 1,
            Err(error) => panic!("allocation {number}: {error}"),
        }
        if labeler.gpu().refused() == 0 {
            break;
        }
    }
    assert!(failed > 0);
}

/// Labels come to the host by runs where these are few, else by pixels. Rows start anywhere in the
/// chunks of words in which runs are counted.
#[test]
fn labels_by_runs_and_by_pixels() {
    let sizes = [
        (1, 3000),
        (63, 700),
        (64, 513),
        (65, 300),
        (131, 200),
        (20_000, 3),
    ];
    let mut ways = [0; 2];
    for (width, height) in sizes {
        let noise = |density| generate::noise(width, height, density, seed()).unwrap();
        let images = [
            BinaryImage::new(width, height).unwrap(),
            noise(0.05),
            noise(0.97),
            generate::blobs(width, height, seed()).unwrap(),
            generate::checkerboard(width, height).unwrap(),
        ];
        for (i, image) in images.iter().enumerate() {
            let gpu = Watched::new(emulator_of(seed()));
            let engine = Engine::on(gpu.clone());
            let algorithm = ALGORITHMS[i % ALGORITHMS.len()];
            let connectivity = CONNECTIVITIES[(i + width as usize) % CONNECTIVITIES.len()];
            let same = check_labels(&engine, image, connectivity, algorithm, i % 2 == 0);
            same.unwrap_or_else(|error| panic!("{width} × {height}, image {i}: {error}"));
            let is_start = |x: u32, y| image.get(x, y) && (x == 0 || !image.get(x - 1, y));
            let starts_in = |y| (0..width).filter(|&x| is_start(x, y)).count() as u64;
            let runs: u64 = (0..height).map(starts_in).sum();
            // An image without runs needs no labels of them.
            let by_runs = runs > 0 && runs <= image.pixel_count() / 8;
            let was_launched = gpu.has_launched("run_labels");
            assert_eq!(was_launched, by_runs, "{width} × {height}, image {i}");
            ways[usize::from(by_runs)] += 1;
        }
    }
    assert!(ways.iter().all(|&images| images >= 6), "{ways:?}");
}

/// More pixels than a thread of the host writes at a time, 2¹⁹, whose rows start within chunks.
#[test]
fn labels_by_runs_in_several_pieces() {
    let image = generate::noise(1111, 700, 0.04, seed()).unwrap();
    let engine = Engine::on(emulator_of(seed()));
    let (connectivity, algorithm) = (CONNECTIVITIES[1], LabelAlgorithm::Tiles);
    check_labels(&engine, &image, connectivity, algorithm, false).unwrap();
}

/// Without memory to count runs, labels come by pixels.
#[test]
fn labels_without_memory_for_runs() {
    let gpu = short_of_memory(|allocation| allocation.out_of_memory());
    let image = generate::blobs(131, 200, seed()).unwrap();
    let engine = Engine::on(gpu.clone());
    let (connectivity, algorithm) = (CONNECTIVITIES[0], LabelAlgorithm::Tiles);
    check_labels(&engine, &image, connectivity, algorithm, false).unwrap();
    assert_eq!(gpu.refused(), 1);
    assert!(!gpu.has_launched("run_labels"));

    let gpu = short_of_memory(|_| std::io::Error::other("broken").into());
    let run = options(connectivity, algorithm, false);
    let refused = Engine::on(gpu).label(&image, &run);
    assert!(
        matches!(&refused, Err(Error::Write(error)) if error.to_string() == "broken"),
        "{refused:?}"
    );
}

/// Bands on a GPU are written into memory that has the labels of other bands.
#[test]
fn labels_of_bands_replace_others() {
    let image = generate::blobs(70, 300, seed()).unwrap();
    let engine = Engine::on(emulator_of(seed()));
    let run = LabelOptions::default();
    let expected = Engine::cpu().label(&image, &run).unwrap();
    // Some 70 rows.
    let memory = (32 << 20) + 60_000;
    let source = InMemory::new(&image);
    let mut band_labels = engine.label_bands(source, &run.components, memory).unwrap();
    assert!(band_labels.rows() < 100, "{} rows", band_labels.rows());
    let mut labels = Vec::new();
    while let Some(band) = band_labels.next_band::<u32>().unwrap() {
        labels.extend_from_slice(band.labels());
    }
    assert!(labels == expected.as_slice(), "not the CPU's labels");
}

/// Parts of an image on several GPUs, each of which may divide its rows further.
#[test]
fn labels_of_parts_on_several_gpus() {
    let cases = (
        noise_or_pattern(),
        1..200u32,
        proptest::collection::vec(1..150u32, 1..4),
        select(&[None, Some(64u32)][..]),
        select(&CONNECTIVITIES[..]),
        any::<bool>(),
        any::<u64>(),
    );
    check(
        "labels of parts on several GPUs",
        30,
        &cases,
        |(pattern, width, heights, most, connectivity, statistics, seed)| {
            let image = pattern.generate(width, heights.iter().sum(), seed).unwrap();
            let expected = options(connectivity, LabelAlgorithm::Sequential, statistics);
            let expected = Engine::cpu().label(&image, &expected).unwrap();
            let run = options(connectivity, LabelAlgorithm::Tiles, statistics);
            let mut on_gpus = Vec::new();
            let mut first_row = 0;
            for (&height, order) in heights.iter().zip(seed..) {
                let mut labeler = DeviceLabeler::on(emulator_of(order));
                if let Some(most) = most {
                    labeler = labeler.with_band_pixels(most);
                }
                let rows = (first_row..first_row + height).flat_map(|y| image.row(y).to_vec());
                let rows = BinaryImage::from_words(width, height, rows.collect()).unwrap();
                let rows = DeviceImage::upload(labeler.gpu(), &rows)?;
                on_gpus.push((labeler, rows, first_row));
                first_row += height;
            }
            let mut joined: Option<LabelPart> = None;
            let mut parts = Vec::new();
            for (labeler, rows, first_row) in &on_gpus {
                let (labels, part) = labeler.label_part(rows, *first_row, &run)?;
                parts.push(labels);
                joined = Some(match joined {
                    Some(upper) => LabelPart::join(upper, part)?,
                    None => part,
                });
            }
            let table = joined.unwrap().finish()?;
            prop_assert!(
                table.components() == expected.components(),
                "not the CPU's measures"
            );
            let mut found = Vec::new();
            for labels in parts {
                let labels = labels.finish(&table)?;
                prop_assert_eq!(labels.count()?, expected.count());
                found.extend(labels.to_host()?.into_vec());
            }
            prop_assert!(found == expected.as_slice(), "not the CPU's labels");
            Ok(())
        },
    );
}

#[test]
fn parts_of_other_images_are_refused() {
    let labeler = DeviceLabeler::on(emulator_of(seed()));
    let [image, other, higher] = ["#.#", "###", "#.#\n..."].map(|art| {
        let image = BinaryImage::from_art(art).unwrap();
        DeviceImage::upload(labeler.gpu(), &image).unwrap()
    });
    let part = |image| {
        labeler
            .label_part(image, 0, &LabelOptions::default())
            .unwrap()
    };
    let (labels, _) = part(&image);
    let (_, other) = part(&other);
    let refused = labels.finish(&other.finish().unwrap());
    let Err(Error::PartsDiffer { upper, lower, .. }) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!([upper, lower], ["2 in 1 rows", "1 in 1 rows"]);
    let (labels, _) = part(&image);
    let (_, other) = part(&higher);
    let refused = labels.finish(&other.finish().unwrap());
    assert!(matches!(refused, Err(Error::PartsDiffer { .. })));
}

#[test]
fn labels_and_images_from_bytes() {
    // Widths that are multiples of 16 have their own kernel.
    let width = prop_oneof![side(200), (1..=12u32).prop_map(|n| 16 * n)];
    let size = (width, side(100));
    let bytes = size.prop_flat_map(|(width, height)| {
        let bytes = proptest::collection::vec(any::<u8>(), (width * height) as usize);
        (Just(width), Just(height), bytes)
    });
    let threshold = prop_oneof![select(&[0, 1, 126, 127, 128, 254, 255][..]), any::<u8>()];
    check(
        "labels and images from bytes",
        60,
        &(bytes, threshold, select(&CONNECTIVITIES[..]), emulator()),
        |((width, height, bytes), threshold, connectivity, emulator)| {
            let image = BinaryImage::from_values(width, height, &bytes, threshold).unwrap();
            let expected = options(connectivity, LabelAlgorithm::Sequential, false);
            let expected = Engine::cpu().label(&image, &expected).unwrap();
            let labeler = DeviceLabeler::on(emulator);
            let bytes = labeler.gpu().upload(&bytes).unwrap();
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

/// Rows with padding, and other options than those of the kernel that reads bytes.
#[test]
fn labels_of_bytes_with_padding() {
    let (width, height, pitch) = (48u32, 20u32, 53usize);
    let labeler = DeviceLabeler::on(emulator_of(seed()));
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
        let refused = DeviceBytes::<Emulator>::with_pitch(width, height, pitch, &short, 127);
        assert!(refused.is_err(), "{pitch}, {len}");
    }
}

/// The measures of labels of another image mean nothing, but measuring them is not a fault.
#[test]
fn labels_of_another_image_are_measured_without_a_fault() {
    let labeler = DeviceLabeler::on(emulator_of(seed()));
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

/// The exclusive prefix sums of `values`, and their total.
fn sums(values: &[u32]) -> (Vec<u32>, u32) {
    let mut sum = 0u32;
    let sums = values.iter().map(|&value| {
        let before = sum;
        sum = sum.wrapping_add(value);
        before
    });
    (sums.collect(), sum)
}

/// Values of several tiles, some of which are all 0, so that their sums are 0 too.
fn values() -> impl Strategy<Value = Vec<u32>> {
    let edges = [
        0,
        1,
        31,
        128,
        129,
        TILE - 1,
        TILE,
        TILE + 1,
        2 * TILE,
        5 * TILE + 3,
    ];
    let len = prop_oneof![select(edges.to_vec()), 0..=7 * TILE];
    let values = len.prop_flat_map(|len| proptest::collection::vec(any::<u32>(), len as usize));
    (values, any::<u8>()).prop_map(|(mut values, zeros)| {
        for (tile, i) in values.chunks_mut(TILE as usize).zip(0..8) {
            if zeros >> i & 1 != 0 {
                tile.fill(0);
            }
        }
        values
    })
}

#[test]
fn prefix_sums() {
    check(
        "prefix sums",
        30,
        &(values(), emulator()),
        |(values, emulator)| {
            let (expected, total) = sums(&values);
            let mut scanner = Scanner::new(&emulator, values.len() as u32)?;
            let mut input = emulator.upload(&values)?;
            let mut output = emulator.alloc(values.len())?;
            scanner.scan(&input, &mut output)?;
            prop_assert!(output.to_vec()? == expected, "not the CPU's sums");
            prop_assert_eq!(scanner.total().to_vec()?, [total], "not the CPU's total");
            scanner.scan_in_place(&mut input)?;
            prop_assert!(input.to_vec()? == expected, "not the CPU's sums, in place");
            prop_assert_eq!(
                scanner.into_total().to_vec()?,
                [total],
                "not the CPU's total"
            );
            Ok(())
        },
    );
}

/// Any number of blocks gives the sums, also if only some of them are resident at once.
#[test]
fn prefix_sums_by_any_number_of_blocks() {
    let values = values().prop_filter("not empty", |values| !values.is_empty());
    check(
        "prefix sums by any number of blocks",
        30,
        &(values, 1..10u32, emulator()),
        |(values, blocks, emulator)| {
            let n = values.len() as u32;
            let status_len = scan::status_len(n);
            let input = emulator.upload(&values)?;
            let mut output = emulator.alloc(values.len())?;
            let mut total = emulator.alloc(1)?;
            let mut status = emulator.alloc(status_len as usize)?;
            let mut ticket = emulator.alloc(1)?;
            let state = ScanState {
                status: status.view_mut(),
                ticket: ticket.view_mut(),
            };
            // SAFETY: lengths, alignment and order as the kernels ask for.
            unsafe { scan::scan_init::launch_threads(&emulator, status_len, state) }?;
            // SAFETY: as above; any number of blocks will do.
            unsafe {
                scan::scan_exclusive::launch(
                    &emulator,
                    blocks,
                    input.view(),
                    output.view_mut(),
                    total.view_mut(),
                    state,
                    n,
                )
            }?;
            let (expected, sum) = sums(&values);
            prop_assert!(output.to_vec()? == expected, "not the CPU's sums");
            prop_assert_eq!(total.to_vec()?, [sum], "not the CPU's total");
            Ok(())
        },
    );
}

/// Look-back over more tiles than a warp reads at a time, by a block that starts late.
#[test]
fn prefix_sums_by_a_block_that_comes_late() {
    let before = 2 * 288 + 3;
    let n = before * TILE + TILE + 1;
    let values: Vec<u32> = (0..n).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    // The status words that earlier blocks have published.
    let mut status = vec![0; scan::status_len(n) as usize];
    let tiles = values.chunks(TILE as usize).take(before as usize);
    for (status, tile) in status.iter_mut().zip(tiles) {
        *status = 1 << 32 | u64::from(sums(tile).1);
    }
    let emulator = emulator_of(seed());
    let input = emulator.upload(&values).unwrap();
    let mut output = emulator.alloc_zeroed(values.len()).unwrap();
    let mut total = emulator.alloc(1).unwrap();
    let mut status = emulator.upload(&status).unwrap();
    let mut ticket = emulator.upload(&[before]).unwrap();
    let state = ScanState {
        status: status.view_mut(),
        ticket: ticket.view_mut(),
    };
    // SAFETY: lengths and alignment as the kernel asks for; the state is as it leaves it on the
    // way.
    unsafe {
        scan::scan_exclusive::launch(
            &emulator,
            1,
            input.view(),
            output.view_mut(),
            total.view_mut(),
            state,
            n,
        )
    }
    .unwrap();
    let (expected, sum) = sums(&values);
    let late = (before * TILE) as usize..;
    assert!(
        output.to_vec().unwrap()[late.clone()] == expected[late],
        "not the CPU's sums"
    );
    assert_eq!(total.to_vec().unwrap(), [sum], "not the CPU's total");
}

#[test]
fn what_does_not_fit_is_refused() {
    let emulator = emulator_of(seed());
    let labeler = DeviceLabeler::on(emulator.clone());
    let bytes = emulator.upload(&[0u8; 10]).unwrap();
    assert!(matches!(
        DeviceBytes::<Emulator>::new(3, 3, &bytes, 0),
        Err(Error::SizeMismatch {
            needed: 9,
            given: 10,
            ..
        })
    ));
    let mut scanner = Scanner::new(&emulator, 3).unwrap();
    let error = scanner.scan_in_place(&mut emulator.upload(&[1, 2]).unwrap());
    assert_eq!(
        error.unwrap_err().to_string(),
        "an array of 3 elements is needed, but one of 2 was given"
    );
    let image = BinaryImage::from_art("#.#").unwrap();
    let on_device = DeviceImage::upload(&emulator, &image).unwrap();
    let refused = labeler.label(
        &on_device,
        &LabelOptions::default()
            .connectivity(Connectivity::Four)
            .algorithm(LabelAlgorithm::Parallel),
    );
    assert_eq!(
        refused.unwrap_err().to_string(),
        "the labelling algorithm `parallel` runs on the device cpu; emulator has tiles and direct"
    );
    // An image in another device's memory.
    let other = DeviceLabeler::on(emulator_of(seed()));
    let refused = other.label(
        &on_device,
        &LabelOptions::default()
            .connectivity(Connectivity::Four)
            .algorithm(LabelAlgorithm::Tiles),
    );
    assert!(matches!(refused, Err(Error::Emulator(_))), "{refused:?}");
}

#[test]
fn an_emulators_engine_does_all_that_a_gpus_does() {
    let engine = Engine::on(emulator_of(seed()));
    assert_eq!(engine.backend(), Backend::Emulator);
    assert_eq!(
        engine.label_algorithm(&Default::default()),
        LabelAlgorithm::Tiles
    );
    let image = BinaryImage::from_art("##.#").unwrap();
    let traced = engine.trace(&image, &Default::default()).unwrap();
    let expected = Engine::cpu().trace(&image, &Default::default()).unwrap();
    assert!(traced == expected);
    let reported = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let report = reported.clone();
    let engine = engine.with_progress(move |share| {
        report.lock().unwrap().push(share);
        std::ops::ControlFlow::Continue(())
    });
    assert_eq!(
        engine.label(&image, &Default::default()).unwrap().count(),
        2
    );
    assert_eq!(*reported.lock().unwrap(), [1.0]);
}
