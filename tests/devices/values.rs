//! Jobs on images of values: labels equal to flooding and to the CPU's, regions to the CPU's.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;
use trazar::gpu::Gpu;
use trazar::trace::ContourOptions;
use trazar::{
    Approximation, BinaryImage, Connectivity, DeviceTracer, DeviceValues, Engine, Geometry,
    PixelValue, RegionOptions, Retrieval, Samples, ValueImage,
};
use trazar_test_support::contours::{self, APPROXIMATIONS, GEOMETRIES, RETRIEVALS, TEH_CHIN};
use trazar_test_support::emulators::{say, seed};
use trazar_test_support::labels::CONNECTIVITIES;
use trazar_test_support::seeds::Random;
use trazar_test_support::values::{Classes, PATTERNS};

use super::{Device, PerDevice, check};

/// An image from which the background's value and what the mask leaves out are left out.
fn image_of<'a, T: PixelValue>(
    samples: Samples<'a, T>,
    background: Option<T>,
    mask: Option<&'a BinaryImage>,
) -> ValueImage<'a, T> {
    let mut image = ValueImage::new(samples).unwrap();
    if let Some(background) = background {
        image = image.background(background).unwrap();
    }
    if let Some(mask) = mask {
        image = image.mask(mask).unwrap();
    }
    image
}

/// Labels an image whose values are `to_value` of the classes, in padded rows or in padded columns,
/// and compares with flooding. With `background`, class 0 is left out; with `mask`, what the mask
/// leaves out.
fn check_labels<T: PixelValue>(
    engine: &Engine,
    classes: &Classes,
    to_value: impl Fn(i32) -> T,
    background: bool,
    mask: Option<&BinaryImage>,
    connectivity: Connectivity,
) -> Result<(), TestCaseError> {
    let (width, height) = (classes.width, classes.height);
    let padding = 3;
    let [w, h] = [width, height].map(|side| side as usize);
    let (row_stride, column_stride) = match connectivity {
        Connectivity::Four => (w + padding, 1),
        Connectivity::Eight => (1, h + padding),
    };
    let mut values = vec![to_value(1); row_stride * h + column_stride * w];
    for (i, &class) in classes.values.iter().enumerate() {
        values[i / w * row_stride + i % w * column_stride] = to_value(class);
    }
    let samples = Samples::with_strides(width, height, row_stride, column_stride, &values).unwrap();
    let image = image_of(samples, background.then(|| to_value(0)), mask);
    let found = engine.label_values(&image, connectivity)?;
    let expected = classes.regions(connectivity, |at| {
        let (x, y) = (at as u32 % width, at as u32 / width);
        (!background || classes.values[at] != 0) && mask.is_none_or(|mask| mask.get(x, y))
    });
    prop_assert_eq!(
        found.count(),
        expected.iter().copied().max().unwrap_or(0),
        "not the CPU's count"
    );
    prop_assert!(found.as_slice() == expected, "not the CPU's labels");
    Ok(())
}

/// By the number of a type of values.
fn check_type<G: Gpu + Send + Sync + 'static>(
    of_type: u32,
    gpu: &G,
    classes: &Classes,
    background: bool,
    mask: Option<&BinaryImage>,
    connectivity: Connectivity,
) -> Result<(), TestCaseError> {
    let engine = &Engine::on(gpu.clone());
    macro_rules! check {
        ($to_value:expr) => {
            check_labels(engine, classes, $to_value, background, mask, connectivity)
        };
    }
    match of_type % 7 {
        0 => check!(|class| class as u8),
        1 => check!(|class| (class as u16).wrapping_mul(7)),
        2 => check!(|class| class as u32 | 1 << 31),
        3 => check!(|class| (class as i16).wrapping_neg()),
        4 => check!(|class| class - 2),
        5 => check!(|class| i64::from(class) << 40),
        // Zeros of both signs are equal.
        _ => check!(|class| if class == 1 {
            -0.0f32
        } else {
            class as f32 - 1.0
        }),
    }
}

pub(crate) fn labels_of_random_values<D: Device>(device: &D) {
    let image = (1..300u32, 1..90u32, select(&PATTERNS[..]), any::<u64>());
    let run = (
        device.any(),
        select(&CONNECTIVITIES[..]),
        0..7u32,
        any::<bool>(),
        any::<bool>(),
    );
    check::<D, _>(
        "labels of random values",
        120,
        &(image, run),
        |((width, height, pattern, drawn), (gpu, connectivity, of_type, background, masked))| {
            let random = &mut Random::new(drawn);
            // 8 bits can't tell more values apart.
            let (width, height) = if pattern == "distinct" && of_type == 0 {
                (width % 16 + 1, height % 15 + 1)
            } else {
                (width, height)
            };
            let classes = Classes::draw(pattern, width, height, random);
            let mask = BinaryImage::from_fn(width, height, |_, _| random.below(4) > 0).unwrap();
            let mask = masked.then_some(&mask);
            check_type(of_type, &gpu, &classes, background, mask, connectivity)
        },
    );
}

/// Sides that are borders of tiles and words, or next to them.
pub(crate) fn labels_of_values_at_the_borders_of_tiles<D: Device>(device: &D) {
    let mut order = seed();
    for (width, height) in [
        (1, 1),
        (64, 32),
        (65, 33),
        (256, 32),
        (257, 64),
        (512, 33),
        (1, 70),
    ] {
        for pattern in PATTERNS {
            for connectivity in CONNECTIVITIES {
                order += 1;
                let classes = Classes::draw(pattern, width, height, &mut Random::new(order));
                let gpu = device.gpu(order);
                let found = check_type(2, &gpu, &classes, false, None, connectivity);
                found.unwrap_or_else(|error| {
                    panic!("{pattern}, {width} × {height}, {connectivity:?}, seed {order}: {error}")
                });
            }
        }
    }
    say(
        "labels of values at the borders of tiles",
        &format!("{} patterns", PATTERNS.len()),
    );
}

/// Traces the regions of an image, and compares with the processor's.
fn check_regions<T: PixelValue>(
    engine: &Engine,
    image: &ValueImage<'_, T>,
    options: &RegionOptions,
) -> Result<(), TestCaseError> {
    let expected = Engine::cpu().trace_regions(image, options).unwrap();
    let found = engine.trace_regions(image, options)?;
    prop_assert_eq!(found.count(), expected.count(), "not the CPU's count");
    prop_assert!(found == expected, "not the CPU's regions");
    Ok(())
}

/// [`check_regions`] of classes. With `background`, class 0 is left out; with `mask`, what the mask
/// leaves out.
fn check_regions_of<G: Gpu + Send + Sync + 'static>(
    gpu: &G,
    classes: &Classes,
    background: bool,
    mask: Option<&BinaryImage>,
) -> Result<(), TestCaseError> {
    let samples = Samples::new(classes.width, classes.height, &classes.values).unwrap();
    let image = image_of(samples, background.then_some(0), mask);
    check_regions(&Engine::on(gpu.clone()), &image, &RegionOptions::default())
}

/// Queues with few blocks at a time, on which cooperative launches are quick.
fn small<D: Device>(device: &D) -> impl Strategy<Value = D::Gpu> {
    any::<u64>().prop_map(|order| device.small(order))
}

pub(crate) fn regions_of_random_values<D: Device>(device: &D) {
    let image = (1..150u32, 1..60u32, select(&PATTERNS[..]), any::<u64>());
    let run = (small(device), any::<bool>(), any::<bool>());
    check::<D, _>(
        "regions of random values",
        100,
        &(image, run),
        |((width, height, pattern, drawn), (gpu, background, masked))| {
            let random = &mut Random::new(drawn);
            let classes = Classes::draw(pattern, width, height, random);
            let mask = BinaryImage::from_fn(width, height, |_, _| random.below(4) > 0).unwrap();
            check_regions_of(&gpu, &classes, background, masked.then_some(&mask))
        },
    );
}

/// Sides that are borders of tiles, or next to them.
pub(crate) fn regions_at_the_borders_of_tiles<D: Device>(device: &D) {
    let mut order = seed();
    for (width, height) in [
        (1, 1),
        (64, 16),
        (65, 17),
        (128, 32),
        (129, 33),
        (1, 40),
        (40, 1),
    ] {
        for pattern in PATTERNS {
            order += 1;
            let classes = Classes::draw(pattern, width, height, &mut Random::new(order));
            let found = check_regions_of(&device.small(order), &classes, false, None);
            found.unwrap_or_else(|error| {
                panic!("{pattern}, {width} × {height}, seed {order}: {error}")
            });
        }
    }
    say(
        "regions at the borders of tiles",
        &format!("{} patterns", PATTERNS.len()),
    );
}

/// One tracer traces image after image in the memory of the one before.
pub(crate) fn one_tracer_traces_regions_of_many_images<D: Device>(device: &D) {
    let engine = Engine::on(device.small(seed()));
    for (i, (width, height)) in [(70, 40), (70, 40), (20, 20), (70, 40)]
        .into_iter()
        .enumerate()
    {
        let pattern = ["few", "distinct", "noise", "blocks"][i];
        let classes = Classes::draw(pattern, width, height, &mut Random::new(i as u64));
        let samples = Samples::new(width, height, &classes.values).unwrap();
        let image = ValueImage::new(samples).unwrap();
        check_regions(&engine, &image, &RegionOptions::default())
            .unwrap_or_else(|error| panic!("image {i}: {error}"));
        assert!(engine.working_memory() > 0);
    }
}

/// Traces the contours of each value of an image, and compares with the processor's.
fn check_contours<T: PixelValue>(
    engine: &Engine,
    image: &ValueImage<'_, T>,
    options: &ContourOptions,
) -> Result<(), TestCaseError> {
    let expected = Engine::cpu().trace_values(image, options).unwrap();
    let found = engine.trace_values(image, options)?;
    prop_assert!(found.values() == expected.values(), "not the CPU's values");
    prop_assert_eq!(
        found.group_offsets(),
        expected.group_offsets(),
        "not the CPU's groups"
    );
    let difference = contours::difference(found.contours(), expected.contours());
    prop_assert!(
        difference.is_none(),
        "not the CPU's contours: {}",
        difference.unwrap_or_default()
    );
    Ok(())
}

/// Options that the kernels tell apart.
fn contour_options() -> impl Strategy<Value = ContourOptions> {
    let approximations = [&APPROXIMATIONS[..], &TEH_CHIN[..]].concat();
    let options = (
        select(&RETRIEVALS[..]),
        select(approximations),
        any::<bool>(),
    );
    options.prop_map(|(retrieval, approximation, along_edges)| {
        let options = ContourOptions::default().retrieval(retrieval);
        match along_edges {
            true => options.geometry(Geometry::Edges),
            false => options.approximation(approximation),
        }
    })
}

pub(crate) fn contours_of_random_values<D: Device>(device: &D) {
    let image = (1..150u32, 1..60u32, select(&PATTERNS[..]), any::<u64>());
    let run = (small(device), any::<bool>(), any::<bool>());
    check::<D, _>(
        "contours of random values",
        160,
        &(image, run, contour_options()),
        |((width, height, pattern, drawn), (gpu, background, masked), options)| {
            let random = &mut Random::new(drawn);
            let classes = Classes::draw(pattern, width, height, random);
            let mask = BinaryImage::from_fn(width, height, |_, _| random.below(4) > 0).unwrap();
            let samples = Samples::new(width, height, &classes.values).unwrap();
            let mask = masked.then_some(&mask);
            let image = image_of(samples, background.then_some(0), mask);
            check_contours(&Engine::on(gpu), &image, &options)
        },
    );
}

/// Sides that are borders of tiles and words, or next to them: each image with two retrievals, each
/// pattern with all.
pub(crate) fn contours_of_values_at_the_borders_of_tiles<D: Device>(device: &D) {
    let mut order = seed();
    let sizes = [(1, 1), (64, 16), (65, 17), (129, 33), (1, 40), (40, 1)];
    for (size, (width, height)) in sizes.into_iter().enumerate() {
        for (i, pattern) in PATTERNS.into_iter().enumerate() {
            order += 1;
            let classes = Classes::draw(pattern, width, height, &mut Random::new(order));
            let samples = Samples::new(width, height, &classes.values).unwrap();
            let image = ValueImage::new(samples).unwrap();
            let engine = Engine::on(device.small(order));
            for j in [0, 2] {
                let retrieval = RETRIEVALS[(size + i + j) % 4];
                let geometry = GEOMETRIES[(i + j / 2) % 2];
                let options = ContourOptions::default()
                    .retrieval(retrieval)
                    .geometry(geometry);
                check_contours(&engine, &image, &options).unwrap_or_else(|error| {
                    panic!("{pattern}, {width} × {height}, {options:?}, seed {order}: {error}")
                });
            }
        }
    }
    say(
        "contours of values at the borders of tiles",
        &format!("{} patterns", PATTERNS.len()),
    );
}

/// Three frames of a value each, one in the other, and within them pixels of these and of others: the
/// pixel of the same value before an outer border may lie far away, and its hole be the parent.
pub(crate) fn contours_of_values_in_long_rows<D: Device>(device: &D) {
    let seed = seed();
    let random = &mut Random::new(seed);
    for (i, values) in [6, 12, 200, 100_000].into_iter().enumerate() {
        let (width, height) = (700 + random.below(100), 10);
        let classes: Vec<i32> = (0..width * height)
            .map(|at| {
                let (x, y) = (at % width, at / width);
                let drawn = random.below(values) as i32;
                match x.min(y).min(width - 1 - x).min(height - 1 - y) {
                    0 => 0,
                    1 => 4,
                    2 => 5,
                    _ => [drawn, 0, 4, 5][random.below(4) as usize],
                }
            })
            .collect();
        let samples = Samples::new(width, height, &classes).unwrap();
        let image = ValueImage::new(samples).unwrap();
        let engine = Engine::on(device.small(seed + i as u64));
        let options = ContourOptions::default().retrieval(Retrieval::Tree);
        check_contours(&engine, &image, &options)
            .unwrap_or_else(|error| panic!("{values} values, seed {seed}: {error}"));
    }
}

/// NaN belongs to no region, and is not equal to itself.
pub(crate) fn nan_is_no_data<D: Device>(device: &D) {
    let values = [1.0f32, f32::NAN, f32::NAN, 1.0, 1.0, f32::NAN];
    let image = ValueImage::new(Samples::new(3, 2, &values).unwrap()).unwrap();
    let labels = Engine::on(device.gpu(seed()))
        .label_values(&image, Connectivity::Four)
        .unwrap();
    assert_eq!(labels.as_slice(), [1, 0, 0, 1, 1, 0]);
    assert_eq!(labels.count(), 1);
}

/// Labels an image, traces its regions and its contours, and compares with the CPU.
fn assert_all<T: PixelValue>(engine: &Engine, name: &str, image: &ValueImage<'_, T>) {
    let cpu = Engine::cpu();
    for connectivity in CONNECTIVITIES {
        let expected = cpu.label_values(image, connectivity).unwrap();
        let found = engine.label_values(image, connectivity).unwrap();
        assert_eq!(
            found.count(),
            expected.count(),
            "not the CPU's count: {name}, {connectivity:?}"
        );
        assert!(
            found.as_slice() == expected.as_slice(),
            "not the CPU's labels: {name}, {connectivity:?}"
        );
        let options = RegionOptions::default().connectivity(connectivity);
        check_regions(engine, image, &options)
            .unwrap_or_else(|error| panic!("{name}, {connectivity:?}: {error}"));
    }
    let options = ContourOptions::default();
    for options in [
        options.retrieval(Retrieval::Tree),
        options.approximation(Approximation::None),
        options
            .retrieval(Retrieval::External)
            .approximation(Approximation::TehChinKCos),
        options
            .retrieval(Retrieval::Ccomp)
            .geometry(Geometry::Edges),
        options.retrieval(Retrieval::Tree).geometry(Geometry::Edges),
    ] {
        check_contours(engine, image, &options)
            .unwrap_or_else(|error| panic!("{name}, {options:?}: {error}"));
    }
}

/// [`assert_all`] of classes, of which class 0 may be left out.
pub(crate) fn assert_classes(engine: &Engine, name: &str, classes: &Classes, background: bool) {
    let samples = Samples::new(classes.width, classes.height, &classes.values).unwrap();
    let image = image_of(samples, background.then_some(0), None);
    assert_all(engine, name, &image);
}

/// `count` images with random patterns and sizes up to `most`, with both connectivities.
pub(crate) fn assert_random(engine: &Engine, count: u32, most: u32) {
    let seed = seed();
    let random = &mut Random::new(seed);
    for i in 0..count {
        let (width, height) = (1 + random.below(most), 1 + random.below(most));
        let pattern = PATTERNS[random.below(PATTERNS.len() as u32) as usize];
        let classes = Classes::draw(pattern, width, height, random);
        let name = format!("image {i} of seed {seed}: {pattern}, {width} × {height}");
        assert_classes(engine, &name, &classes, random.below(2) == 0);
    }
}

/// Labels and regions of the same images, with both connectivities.
pub(crate) fn random_values<D: Device>(device: &D) {
    let (count, most) = PerDevice {
        emulator: (10, 80),
        gpu: (500, 300),
    }
    .on::<D>();
    assert_random(&Engine::on(device.small(seed())), count, most);
}

/// Copies results to the host with values from the image in the GPU's memory.
fn check_values_there<G: Gpu, T: PixelValue>(gpu: &G, name: &str, image: &ValueImage<'_, T>) {
    let (tracer, cpu) = (DeviceTracer::on(gpu.clone()), Engine::cpu());
    let there = DeviceValues::upload(gpu, image).unwrap();
    let options = RegionOptions::default();
    let regions = tracer.trace_regions(&there, &options).unwrap();
    let regions = regions.to_host_with(gpu, &there).unwrap();
    let expected = cpu.trace_regions(image, &options).unwrap();
    assert!(regions == expected, "{name}: not the CPU's regions");
    let options = ContourOptions::default();
    let contours = tracer.trace_values(&there, &options).unwrap();
    let contours = contours.to_host_with(gpu, &there).unwrap();
    let expected = cpu.trace_values(image, &options).unwrap();
    assert!(contours == expected, "{name}: not the CPU's contours");
}

pub(crate) fn values_of_all_types<D: Device>(device: &D) {
    let (width, height) = PerDevice {
        emulator: (65, 35),
        gpu: (301, 97),
    }
    .on::<D>();
    let engine = Engine::on(device.small(seed()));
    let classes = Classes::draw("noise", width, height, &mut Random::new(seed()));
    macro_rules! check {
        ($($t:ty: $to_value:expr;)*) => {$(
            let values: Vec<$t> = classes.values.iter().copied().map($to_value).collect();
            let image = ValueImage::new(Samples::new(width, height, &values).unwrap()).unwrap();
            assert_all(&engine, stringify!($t), &image);
            check_values_there(&device.small(seed()), stringify!($t), &image);
        )*};
    }
    check! {
        u8: |class| class as u8;
        u16: |class| class as u16 * 7;
        u32: |class| class as u32 | 1 << 31;
        i16: |class| -(class as i16);
        i32: |class| class - 2;
        i64: |class| i64::from(class) << 40;
        f32: |class| if class == 1 { f32::NAN } else { 1.5 - class as f32 };
    }
}
