//! Jobs on images of values under the emulator: equal to plain algorithms in every order of the
//! threads.

use proptest::prelude::*;
use proptest::sample::select;
use trazar::emulator::Emulator;
use trazar::{BinaryImage, Connectivity, Engine, PixelValue, RegionOptions, Samples, ValueImage};
use trazar_test_support::emulators::{check, emulator, emulator_of, say, seed, small_emulator};
use trazar_test_support::labels::CONNECTIVITIES;
use trazar_test_support::seeds::Random;
use trazar_test_support::values::{Classes, PATTERNS};

/// Labels an image whose values are `to_value` of the classes, with padded rows, and compares with
/// flooding. With `background`, class 0 is left out; with `mask`, what the mask leaves out.
fn check_labels<T: PixelValue>(
    emulator: &Emulator,
    classes: &Classes,
    to_value: impl Fn(i32) -> T,
    background: bool,
    mask: Option<&BinaryImage>,
    connectivity: Connectivity,
) -> Result<(), TestCaseError> {
    let (width, height) = (classes.width, classes.height);
    let padding = 3;
    let mut values = Vec::new();
    for row in classes.values.chunks(width as usize) {
        values.extend(row.iter().map(|&class| to_value(class)));
        values.extend((0..padding).map(|_| to_value(1)));
    }
    let stride = width as usize + padding;
    let samples = Samples::with_strides(width, height, stride, 1, &values).unwrap();
    let mut image = ValueImage::new(samples).unwrap();
    if background {
        image = image.background(to_value(0)).unwrap();
    }
    if let Some(mask) = mask {
        image = image.mask(mask).unwrap();
    }
    let found = Engine::on(emulator.clone()).label_values(&image, connectivity)?;
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

/// Emulators with few resident blocks, on which cooperative launches are quick.
fn small_emulators() -> impl Strategy<Value = Emulator> {
    any::<u64>().prop_map(small_emulator)
}

/// By the number of a type of values.
fn check_type(
    of_type: u32,
    emulator: &Emulator,
    classes: &Classes,
    background: bool,
    mask: Option<&BinaryImage>,
    connectivity: Connectivity,
) -> Result<(), TestCaseError> {
    let run = (emulator, classes);
    macro_rules! check {
        ($to_value:expr) => {
            check_labels(run.0, run.1, $to_value, background, mask, connectivity)
        };
    }
    match of_type % 7 {
        0 => check!(|class| class as u8),
        1 => check!(|class| class as u16 * 7),
        2 => check!(|class| class as u32 | 1 << 31),
        3 => check!(|class| -(class as i16)),
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

#[test]
fn labels_of_random_values() {
    let image = (1..300u32, 1..90u32, select(&PATTERNS[..]), any::<u64>());
    let run = (
        emulator(),
        select(&CONNECTIVITIES[..]),
        0..7u32,
        any::<bool>(),
        any::<bool>(),
    );
    check(
        "labels of random values",
        120,
        &(image, run),
        |(
            (width, height, pattern, drawn),
            (emulator, connectivity, of_type, background, masked),
        )| {
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
            check_type(of_type, &emulator, &classes, background, mask, connectivity)
        },
    );
}

/// Sides that are borders of tiles and words, or next to them.
#[test]
fn labels_of_values_at_the_borders_of_tiles() {
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
                let found = check_type(2, &emulator_of(order), &classes, false, None, connectivity);
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

/// Traces the regions of an image on an emulator, and compares with the processor's.
fn check_regions(
    emulator: &Emulator,
    classes: &Classes,
    background: bool,
    mask: Option<&BinaryImage>,
) -> Result<(), TestCaseError> {
    let samples = Samples::new(classes.width, classes.height, &classes.values).unwrap();
    let mut image = ValueImage::new(samples).unwrap();
    if background {
        image = image.background(0).unwrap();
    }
    if let Some(mask) = mask {
        image = image.mask(mask).unwrap();
    }
    let options = RegionOptions::default();
    let expected = Engine::cpu().trace_regions(&image, &options).unwrap();
    let found = Engine::on(emulator.clone()).trace_regions(&image, &options)?;
    prop_assert_eq!(found.count(), expected.count(), "not the CPU's count");
    prop_assert!(found == expected, "not the CPU's regions");
    Ok(())
}

#[test]
fn regions_of_random_values() {
    let image = (1..150u32, 1..60u32, select(&PATTERNS[..]), any::<u64>());
    let run = (small_emulators(), any::<bool>(), any::<bool>());
    check(
        "regions of random values",
        100,
        &(image, run),
        |((width, height, pattern, drawn), (emulator, background, masked))| {
            let random = &mut Random::new(drawn);
            let classes = Classes::draw(pattern, width, height, random);
            let mask = BinaryImage::from_fn(width, height, |_, _| random.below(4) > 0).unwrap();
            check_regions(&emulator, &classes, background, masked.then_some(&mask))
        },
    );
}

/// Sides that are borders of tiles, or next to them.
#[test]
fn regions_at_the_borders_of_tiles() {
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
            let found = check_regions(&small_emulator(order), &classes, false, None);
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
#[test]
fn one_tracer_traces_regions_of_many_images() {
    let engine = Engine::on(small_emulator(seed()));
    for (i, (width, height)) in [(70, 40), (70, 40), (20, 20), (70, 40)]
        .into_iter()
        .enumerate()
    {
        let pattern = ["few", "distinct", "noise", "blocks"][i];
        let classes = Classes::draw(pattern, width, height, &mut Random::new(i as u64));
        let samples = Samples::new(width, height, &classes.values).unwrap();
        let image = ValueImage::new(samples).unwrap();
        let expected = Engine::cpu().trace_regions(&image, &RegionOptions::default());
        let found = engine.trace_regions(&image, &RegionOptions::default());
        assert!(
            found.unwrap() == expected.unwrap(),
            "not the CPU's regions of image {i}"
        );
        assert!(engine.working_memory() > 0);
    }
}

/// NaN belongs to no region, and is not equal to itself.
#[test]
fn nan_is_no_data() {
    let values = [1.0f32, f32::NAN, f32::NAN, 1.0, 1.0, f32::NAN];
    let image = ValueImage::new(Samples::new(3, 2, &values).unwrap()).unwrap();
    let labels = Engine::emulator(0)
        .label_values(&image, Connectivity::Four)
        .unwrap();
    assert_eq!(labels.as_slice(), [1, 0, 0, 1, 1, 0]);
    assert_eq!(labels.count(), 1);
}
