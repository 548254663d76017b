//! Labels in bands of rows, as those are that 32 bits can't index; on several devices, and of
//! parts that are joined.

use proptest::prelude::*;
use proptest::sample::select;
use trazar::generate::{self, Pattern};
use trazar::label::{LabelPart, MultiLabeler};
use trazar::{
    BinaryImage, Connectivity, DeviceImage, DeviceLabeler, Engine, Error, LabelAlgorithm,
    LabelOptions,
};
use trazar_test_support::emulators::seed;
use trazar_test_support::images::{InMemory, noise_or_pattern, side};
use trazar_test_support::labels::{ALGORITHMS, CONNECTIVITIES, difference, options};

use super::{Device, PerDevice, check};

pub(crate) fn labels_in_bands<D: Device>(device: &D) {
    let bands = (
        select(&[1u32, 5_000, 20_000, 40_000][..]),
        side(300),
        64..400u32,
        noise_or_pattern(),
        any::<u64>(),
    );
    let run = (
        device.any(),
        select(&CONNECTIVITIES[..]),
        select(&ALGORITHMS[..]),
        any::<bool>(),
    );
    check::<D, _>(
        "labels in bands",
        40,
        &(bands, run),
        |((most, width, height, pattern, seed), (gpu, connectivity, algorithm, statistics))| {
            let image = pattern.generate(width, height, seed).unwrap();
            let expected = options(connectivity, LabelAlgorithm::Sequential, true);
            let expected = Engine::cpu().label(&image, &expected).unwrap();
            let labeler = DeviceLabeler::on(gpu).with_band_pixels(most);
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
pub(crate) fn labels_of_every_pattern_in_bands<D: Device>(device: &D) {
    // Widths with vector accesses, and without. On a GPU, each pattern also has a size of its own.
    let (sizes, growth, most_pixels, algorithms) = PerDevice {
        emulator: (
            &[(68, 199), (131, 199)][..],
            0,
            &[64][..],
            &[LabelAlgorithm::Tiles][..],
        ),
        gpu: (
            &[(68, 199), (131, 199), (1517, 1103)],
            17,
            &[64, 300_000, 1_000_000],
            &ALGORITHMS,
        ),
    }
    .on::<D>();
    let mut order = seed();
    for (i, pattern) in (0..).zip(Pattern::ALL) {
        for &(width, height) in sizes {
            let image = pattern
                .generate(width + growth * i, height, seed())
                .unwrap();
            for connectivity in CONNECTIVITIES {
                let expected = options(connectivity, LabelAlgorithm::Sequential, true);
                let expected = Engine::cpu().label(&image, &expected).unwrap();
                for (&most, &algorithm) in most_pixels
                    .iter()
                    .flat_map(|most| algorithms.iter().map(move |a| (most, a)))
                {
                    order += 1;
                    let labeler = DeviceLabeler::on(device.gpu(order)).with_band_pixels(most);
                    let on_device = DeviceImage::upload(labeler.gpu(), &image).unwrap();
                    let run = options(connectivity, algorithm, true);
                    let found = labeler.label(&on_device, &run).unwrap().to_host().unwrap();
                    let difference = difference(&found, &expected);
                    assert_eq!(
                        difference, None,
                        "not the CPU's: {pattern:?}, {most}, seed {order}"
                    );
                }
            }
        }
    }
}

/// Compares labels and measures of `image` on `engine` with the CPU's: at once, and in bands of
/// fewer than `most` rows. Measures take memory too, so that they may come without.
pub(crate) fn check_bands(
    engine: &Engine,
    image: &BinaryImage,
    memory: u64,
    most: u32,
    statistics: &[bool],
) {
    for (&statistics, connectivity) in statistics
        .iter()
        .flat_map(|statistics| CONNECTIVITIES.map(|connectivity| (statistics, connectivity)))
    {
        let run = LabelOptions::default()
            .connectivity(connectivity)
            .statistics(statistics);
        let expected = Engine::cpu().label(image, &run).unwrap();
        let found = engine.label(image, &run).unwrap();
        let difference = difference(&found, &expected);
        assert_eq!(difference, None, "not the CPU's labels");
        let source = InMemory::new(image);
        let mut bands = engine.label_bands(source, &run.components, memory).unwrap();
        assert!(bands.rows() < most, "{} rows", bands.rows());
        let (mut labels, mut measures) = (Vec::new(), Vec::new());
        while let Some(band) = bands.next_band::<u32>().unwrap() {
            labels.extend_from_slice(band.labels());
            measures.extend_from_slice(band.components().unwrap_or_default());
        }
        assert!(
            labels == expected.as_slice(),
            "not the CPU's labels: {connectivity:?}, in bands"
        );
        assert!(
            measures == expected.components().unwrap_or_default(),
            "not the CPU's measures: {connectivity:?}, in bands"
        );
    }
}

/// Bands on a GPU are written into memory that has the labels of other bands.
pub(crate) fn labels_of_bands_replace_others<D: Device>(device: &D) {
    let engine = Engine::on(device.gpu(seed()));
    // On the emulator, some 70 rows.
    let ((width, height), memory, most, statistics) = PerDevice {
        emulator: ((70, 300), (32 << 20) + 60_000, 100, &[false][..]),
        gpu: ((3001, 2500), 1 << 30, u32::MAX, &[false, true][..]),
    }
    .on::<D>();
    let image = generate::blobs(width, height, seed()).unwrap();
    check_bands(&engine, &image, memory, most, statistics);
}

/// Of an image that several devices hold, one band of rows each.
pub(crate) fn labels_by_several_devices<D: Device>(device: &D) {
    let image = generate::blobs(90, 70, seed()).unwrap();
    let rows = |from: u32, to: u32| {
        BinaryImage::from_fn(90, to - from, |x, y| image.get(x, from + y)).unwrap()
    };
    let expected = options(Connectivity::Eight, LabelAlgorithm::Sequential, true);
    let expected = Engine::cpu().label(&image, &expected).unwrap();
    for ends in [&[0, 70][..], &[0, 1, 33, 70]] {
        let bands = ends.windows(2).map(|ends| rows(ends[0], ends[1]));
        let labeler = MultiLabeler::on((1..ends.len() as u64).map(|i| device.gpu(seed() + i)));
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

/// Parts of an image on several GPUs, each of which may divide its rows further.
pub(crate) fn labels_of_parts_on_several_gpus<D: Device>(device: &D) {
    let cases = (
        noise_or_pattern(),
        1..200u32,
        proptest::collection::vec(1..150u32, 1..4),
        select(&[None, Some(64u32)][..]),
        select(&CONNECTIVITIES[..]),
        any::<bool>(),
        any::<u64>(),
    );
    check::<D, _>(
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
                let mut labeler = DeviceLabeler::on(device.gpu(order));
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

pub(crate) fn parts_of_other_images_are_refused<D: Device>(device: &D) {
    let labeler = DeviceLabeler::on(device.gpu(seed()));
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
