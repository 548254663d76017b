//! Measures of labels: equal to the processor's.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;
use trazar::gpu::Gpu;
use trazar::measure::{
    DeviceIntensities, DeviceMeasurer, DeviceMeasures, Intensity, Label, MeasureOptions, Measures,
    Property, Values,
};
use trazar::{BinaryImage, DeviceValues, Engine, Error, Samples, ValueImage};
use trazar_test_support::emulators::seed;
use trazar_test_support::seeds::Random;
use trazar_test_support::values::{Classes, PATTERNS};

use super::{Device, PerDevice, check};

/// What the kernels sum up, by the sums that each takes.
const PROPERTIES: [&[Property]; 6] = [
    &[Property::Label, Property::Bbox, Property::Area],
    &[
        Property::Label,
        Property::Centroid,
        Property::Eccentricity,
        Property::Orientation,
    ],
    &[Property::Moments, Property::MomentsHu],
    &[
        Property::Perimeter,
        Property::PerimeterCrofton,
        Property::EulerNumber,
        Property::EulerNumber4,
    ],
    &[
        Property::Solidity,
        Property::AreaFilled,
        Property::FeretDiameterMax,
        Property::AreaConvex,
    ],
    &[
        Property::InertiaTensor,
        Property::AxisMinorLength,
        Property::InertiaTensorEigvals,
        Property::AxisMajorLength,
    ],
];

/// Compares with the processor's table, bit for bit.
fn check_table(found: &Measures, expected: &Measures) -> Result<(), TestCaseError> {
    let difference = difference(found, expected);
    prop_assert!(
        difference.is_none(),
        "not the CPU's measures: {}",
        difference.unwrap_or_default()
    );
    Ok(())
}

/// The first difference of two tables, to the bit; `None` if they are the same. NaNs are equal,
/// whatever their bits.
fn difference(found: &Measures, expected: &Measures) -> Option<String> {
    let bits = |values: &Values| -> Vec<u64> {
        match values {
            Values::Integers(all) => all.iter().map(|value| value.cast_unsigned()).collect(),
            Values::Floats(all) => all
                .iter()
                .map(|value| if value.is_nan() { f64::NAN } else { *value }.to_bits())
                .collect(),
            _ => unreachable!("columns of another type"),
        }
    };
    if (found.len(), found.columns().len()) != (expected.len(), expected.columns().len()) {
        return Some(format!("{} rows, not {}", found.len(), expected.len()));
    }
    let both = found.columns().iter().zip(expected.columns());
    for (found, expected) in both {
        let is_whole = |values: &Values| matches!(values, Values::Integers(_));
        if found.name() != expected.name()
            || is_whole(found.values()) != is_whole(expected.values())
        {
            return Some(format!(
                "a column {}, not {}",
                found.name(),
                expected.name()
            ));
        }
        let (a, b) = (bits(found.values()), bits(expected.values()));
        if let Some(row) = (0..a.len()).find(|&row| a[row] != b[row]) {
            return Some(format!(
                "{} in row {row}: {:?}, not {:?}",
                found.name(),
                value(found.values(), row),
                value(expected.values(), row)
            ));
        }
    }
    None
}

fn value(values: &Values, row: usize) -> f64 {
    match values {
        Values::Integers(all) => all[row] as f64,
        Values::Floats(all) => all[row],
        _ => unreachable!("columns of another type"),
    }
}

/// Measures labels, with intensities or without, and compares with the processor.
fn check_measures<L: Label, I: Intensity>(
    engine: &Engine,
    labels: Samples<'_, L>,
    intensities: Option<Samples<'_, I>>,
    options: &MeasureOptions,
) -> Result<(), TestCaseError> {
    let cpu = Engine::cpu();
    let (found, expected) = match intensities {
        None => (
            engine.measure(labels, options)?,
            cpu.measure(labels, options)?,
        ),
        Some(intensities) => (
            engine.measure_intensities(labels, intensities, options)?,
            cpu.measure_intensities(labels, intensities, options)?,
        ),
    };
    check_table(&found, &expected)
}

/// What follows from sums of intensities. The last one needs sums of squares.
const OF_INTENSITIES: [Property; 4] = [
    Property::IntensityMin,
    Property::IntensityMax,
    Property::IntensityMean,
    Property::IntensityStd,
];

/// What follows from sums of weighted coordinates.
const WEIGHTED: [Property; 6] = [
    Property::CentroidWeighted,
    Property::CentroidWeightedLocal,
    Property::MomentsWeighted,
    Property::MomentsWeightedHu,
    Property::MomentsWeightedCentral,
    Property::MomentsWeightedNormalized,
];

/// Weighted centroids, and moments that depend on the spacing.
const SPACED: [Property; 7] = [
    Property::CentroidWeighted,
    Property::Moments,
    Property::MomentsCentral,
    Property::MomentsNormalized,
    Property::MomentsWeighted,
    Property::MomentsWeightedCentral,
    Property::MomentsWeightedNormalized,
];

/// The properties with a number, or all of these.
fn options(which: usize) -> MeasureOptions {
    MeasureOptions::default().properties(match PROPERTIES.get(which) {
        Some(properties) => properties.to_vec(),
        None => PROPERTIES.concat(),
    })
}

/// A type of intensities, from random bits.
trait Drawn: Intensity {
    fn of(bits: u32) -> Self;
}

macro_rules! drawn {
    ($($t:ty: $of:expr;)*) => {$(
        impl Drawn for $t {
            fn of(bits: u32) -> Self {
                $of(bits)
            }
        }
    )*};
}

drawn! {
    u8: |bits| bits as u8;
    u16: |bits| bits as u16;
    u32: |bits| bits;
    i16: |bits| bits as i16;
    i32: |bits: u32| bits.cast_signed();
    i64: |bits| i64::from(bits).wrapping_mul(-0x61c8_8646_80b5_83eb);
    // Both signs, and sums that are rounded; a few NaNs, and some that are not finite.
    f32: |bits: u32| match bits % 2000 {
        0 => f32::NAN,
        1 => f32::INFINITY,
        2 => -0.0,
        _ => (f64::from(bits.cast_signed()) / 7e6) as f32,
    };
    f64: |bits: u32| match bits % 2000 {
        0 => f64::NAN,
        1 => f64::NEG_INFINITY,
        2 => -0.0,
        _ => f64::from(bits.cast_signed()) / 7e6,
    };
}

fn random_bits(count: usize, random: &mut Random) -> Vec<u32> {
    (0..count).map(|_| random.below(u32::MAX)).collect()
}

/// Intensities from random bits.
fn light_of<I: Drawn>(bits: &[u32]) -> Vec<I> {
    bits.iter().map(|&bits| I::of(bits)).collect()
}

pub(crate) fn measures_of_random_labels<D: Device>(device: &D) {
    // So small that the emulator does not take a kernel for one that never ends.
    let image = (1..100u32, 1..9u32, select(&PATTERNS[..]), any::<u64>());
    let orders = any::<u64>().prop_map(|order| device.small(order));
    let run = (orders, 0..6u32, 0..PROPERTIES.len() + 1, any::<bool>());
    check::<D, _>(
        "measures of random labels",
        120,
        &(image, run),
        |((width, height, pattern, drawn), (gpu, of_type, which, with_intensities))| {
            let random = &mut Random::new(drawn);
            let classes = Classes::draw(pattern, width, height, random);
            let of_intensities = random.below(8);
            let mut options = options(which);
            if with_intensities {
                let mut all = options.properties.as_slice().to_vec();
                all.extend(some(&OF_INTENSITIES, random));
                if random.below(2) == 0 {
                    all.extend(some(&WEIGHTED, random));
                }
                options = options.properties(all);
            }
            let engine = &Engine::on(gpu);
            let bits = random_bits(classes.values.len(), random);
            macro_rules! check_intensities {
                ($labels:ident, $intensities:ty) => {{
                    let intensities: Vec<$intensities> = light_of(&bits);
                    let intensities = Samples::new(width, height, &intensities).unwrap();
                    let intensities = with_intensities.then_some(intensities);
                    check_measures(engine, $labels, intensities, &options)
                }};
            }
            macro_rules! check {
                ($t:ty: $to_value:expr) => {{
                    let values: Vec<$t> = classes.values.iter().copied().map($to_value).collect();
                    let labels = Samples::new(width, height, &values).unwrap();
                    match of_intensities {
                        0 => check_intensities!(labels, u8),
                        1 => check_intensities!(labels, u16),
                        2 => check_intensities!(labels, i16),
                        3 => check_intensities!(labels, u32),
                        4 => check_intensities!(labels, i32),
                        5 => check_intensities!(labels, i64),
                        6 => check_intensities!(labels, f32),
                        _ => check_intensities!(labels, f64),
                    }
                }};
            }
            // 0 and negative values are background, and labels may be large.
            match of_type {
                0 => check!(u8: |class| class as u8),
                1 => check!(u16: |class| class as u16),
                2 => check!(u32: |class| (class as u32).wrapping_sub(1)),
                3 => check!(i16: |class| (class as i16).wrapping_sub(2)),
                4 => check!(i32: |class| class - 3),
                _ => check!(i64: |class| (i64::from(class) - 1) << 33),
            }
        },
    );
}

/// What follows from areas, boxes and sums of coordinates, which tiles give.
const OF_TILES: [Property; 9] = [
    Property::Area,
    Property::Bbox,
    Property::Label,
    Property::Centroid,
    Property::Extent,
    Property::NumPixels,
    Property::AreaBbox,
    Property::CentroidLocal,
    Property::EquivalentDiameterArea,
];

/// What follows from the other sums that tiles give.
const OF_SHAPES: [Property; 10] = [
    Property::Orientation,
    Property::PerimeterCrofton,
    Property::EulerNumber,
    Property::Label,
    Property::Perimeter,
    Property::EulerNumber4,
    Property::AxisMajorLength,
    Property::InertiaTensor,
    Property::Eccentricity,
    Property::AxisMinorLength,
];

/// All of these properties or some of them, from any of them on.
fn some(all: &[Property], random: &mut Random) -> Vec<Property> {
    let count = all.len() as u32;
    let (first, len) = match random.below(2) {
        0 => (random.below(count), count),
        _ => (random.below(count), 1 + random.below(count)),
    };
    let cycle = all.iter().copied().cycle();
    cycle.skip(first as usize).take(len as usize).collect()
}

/// Measures the labels whose pixels the mask has, without those of background, and compares with
/// the processor's measures of an image in which these pixels are 0.
fn check_tiles<G: Gpu, L: Label>(
    gpu: &G,
    labels: &ValueImage<'_, L>,
    cleared: Samples<'_, L>,
    options: &MeasureOptions,
) -> Result<(), TestCaseError> {
    let measurer = DeviceMeasurer::on(gpu.clone());
    let labels = DeviceValues::upload(gpu, labels)?;
    let found = measurer.measure_on_device(&labels, options)?;
    let expected = Engine::cpu().measure(cleared, options)?;
    let copied = DeviceMeasures::upload(gpu, &expected)?;
    for found in [found, copied] {
        check_table(&found.to_host()?, &expected)?;
    }
    let found = measurer.measure(&labels, options)?;
    check_table(&found, &expected)
}

/// The same of shapes, and of the intensities of the pixels.
fn check_shapes<G: Gpu, L: Label, I: Intensity>(
    gpu: &G,
    labels: &ValueImage<'_, L>,
    cleared: Samples<'_, L>,
    intensities: Samples<'_, I>,
    options: &MeasureOptions,
) -> Result<(), TestCaseError> {
    let measurer = DeviceMeasurer::on(gpu.clone());
    let labels = DeviceValues::upload(gpu, labels)?;
    let on_gpu = DeviceIntensities::upload(gpu, intensities)?;
    let found = measurer.measure_intensities_on_device(&labels, &on_gpu, options)?;
    let expected = Engine::cpu().measure_intensities(cleared, intensities, options)?;
    check_table(&found.to_host()?, &expected)
}

/// Labels up to numbers that have no slot at first; masks, background, spacings. Images have some
/// tiles. (Labels without a slot are among those of `measures_of_random_labels`.)
pub(crate) fn measures_by_tiles<D: Device>(device: &D) {
    let sides = PerDevice {
        emulator: (150u32, 80u32),
        gpu: (700, 500),
    }
    .on::<D>();
    let image = (1..sides.0, 1..sides.1, select(&PATTERNS[..]), any::<u64>());
    check::<D, _>(
        "measures by tiles",
        60,
        &(image, device.any(), any::<bool>(), 0..4u32),
        |((width, height, pattern, drawn), gpu, with_mask, of_type)| {
            let random = &mut Random::new(drawn);
            let classes = Classes::draw(pattern, width, height, random);
            let count = classes.values.len() as u32;
            // The greatest label is among the first table's slots, or needs the largest table.
            let limit = (count / 4).max(256);
            let most = classes.values.iter().map(|&class| class as u32 % limit);
            let factor = [1, limit / most.max().unwrap_or(0).max(1)][random.below(2) as usize];
            let label = |class: i32| class as u32 % limit * factor;
            let background = 1 + random.below(3);
            let side = 1 + random.below(20);
            let mask = BinaryImage::from_fn(width, height, |x, y| {
                !with_mask || !(x / side + y / side).is_multiple_of(3)
            })?;
            let spacing = [[0.3, 1.7], [0.7; 2], [1.0; 2]][random.below(3) as usize];
            let options = MeasureOptions::default()
                .properties(some(&OF_TILES, random))
                .spacing(spacing);
            let mut of_shapes = some(&OF_SHAPES, random);
            of_shapes.extend(some(&OF_TILES, random));
            of_shapes.extend(some(&OF_INTENSITIES, random));
            if spacing[0] != spacing[1] {
                of_shapes.retain(|property| {
                    !matches!(property, Property::Perimeter | Property::PerimeterCrofton)
                });
            }
            let of_shapes = options.clone().properties(of_shapes);
            // Without the last property, for numbers of 32 bits.
            let of_words = [
                &OF_SHAPES[random.below(10) as usize..],
                &OF_INTENSITIES[..3],
            ]
            .concat();
            let of_words = MeasureOptions::default().properties(of_words);
            let bits = random_bits(classes.values.len(), random);
            let of_intensities = random.below(6);
            // Some columns come from tiles, and some from runs.
            let of_both = [
                &[Property::Perimeter, Property::Solidity][usize::from(spacing[0] != spacing[1])..],
                &[Property::Centroid, Property::IntensityMean, Property::Area],
                &some(&SPACED, random),
            ]
            .concat();
            let of_both = options.clone().properties(of_both);
            macro_rules! check_intensities {
                ($labels:expr, $cleared:expr, $intensities:ty, $options:expr) => {{
                    let intensities: Vec<$intensities> = light_of(&bits);
                    let intensities = Samples::new(width, height, &intensities)?;
                    check_shapes(&gpu, $labels, $cleared, intensities, $options)
                }};
            }
            macro_rules! check {
                ($t:ty: $to_value:expr) => {{
                    let values: Vec<$t> = classes.values.iter().copied().map($to_value).collect();
                    let background = background as $t;
                    let at = |i: usize| (i as u32 % width, i as u32 / width);
                    let cleared: Vec<$t> = (0..values.len())
                        .map(
                            |i| match mask.get(at(i).0, at(i).1) && values[i] != background {
                                true => values[i],
                                false => 0,
                            },
                        )
                        .collect();
                    let labels = ValueImage::new(Samples::new(width, height, &values)?)?;
                    let labels = labels.background(background)?.mask(&mask)?;
                    let cleared = Samples::new(width, height, &cleared)?;
                    check_tiles(&gpu, &labels, cleared, &options)?;
                    match of_intensities {
                        0 => check_intensities!(&labels, cleared, u8, &of_shapes),
                        1 => check_intensities!(&labels, cleared, i16, &of_shapes),
                        2 => check_intensities!(&labels, cleared, u32, &of_words),
                        3 => check_intensities!(&labels, cleared, i32, &of_words),
                        4 => check_intensities!(&labels, cleared, u16, &of_both),
                        _ => check_intensities!(&labels, cleared, f32, &of_both),
                    }
                }};
            }
            match of_type {
                0 => check!(u8: |class| class as u8),
                1 => check!(i16: |class| (label(class) % 3000) as i16 - 2),
                2 => check!(u32: label),
                _ => check!(i64: |class| i64::from(label(class)) - 1),
            }
        },
    );
}

/// More labels in a tile than its table has places; and labels without a slot in the largest table,
/// for which tiles are given up.
pub(crate) fn measures_of_tiles_full_of_labels<D: Device>(device: &D) {
    let (width, height) = (140u32, 70u32);
    let gpu = device.gpu(seed());
    // The first labels are at most a quarter of the number of pixels, and have slots. The second
    // ones are fewer; most are greater, and have none.
    let labels: [fn(u32) -> u32; 2] = [|at| 1 + at / 4, |at| 1 + at / 4 % 40 * 200];
    for label in labels {
        let labels: Vec<u32> = (0..width * height)
            .map(|at| match at % 5 {
                0 => 1,
                1 => 0,
                _ => label(at),
            })
            .collect();
        let samples = Samples::new(width, height, &labels).unwrap();
        let image = ValueImage::new(samples).unwrap();
        let options = MeasureOptions::default().properties(OF_TILES);
        check_tiles(&gpu, &image, samples, &options).unwrap();
        let intensities: Vec<i16> = (0..width * height).map(|at| (at * 7919) as i16).collect();
        let intensities = Samples::new(width, height, &intensities).unwrap();
        let shapes = [&OF_SHAPES[..], &OF_INTENSITIES].concat();
        let options = MeasureOptions::default().properties(shapes);
        check_shapes(&gpu, &image, samples, intensities, &options).unwrap();
    }
}

/// Labels without a slot in the first table: the lesser one in the first tile, the greater one in
/// the last tile. Tiles may be summed up one after the other. The largest table has 2450 slots.
pub(crate) fn measures_of_labels_beyond_the_first_table<D: Device>(device: &D) {
    let (width, height) = (140u32, 70u32);
    for greater in [2450, 2451] {
        let mut labels = vec![0u32; (width * height) as usize];
        labels[..10].fill(300);
        labels[(width * height - 10) as usize..].fill(greater);
        let samples = Samples::new(width, height, &labels).unwrap();
        let image = ValueImage::new(samples).unwrap();
        for properties in [&OF_TILES[..], &OF_SHAPES] {
            let options = MeasureOptions::default().properties(properties);
            for order in 0..8 {
                let gpu = device.gpu(seed() + order);
                check_tiles(&gpu, &image, samples, &options).unwrap();
            }
        }
    }
}

/// One label in more runs than a warp takes, beside labels of one pixel.
pub(crate) fn measures_of_labels_with_many_runs<D: Device>(device: &D) {
    let (width, height) = PerDevice {
        emulator: (70, 56),
        gpu: (1000, 900),
    }
    .on::<D>();
    let labels: Vec<u32> = (0..width * height)
        .map(|at| match at % width % 3 {
            0 => 5,
            1 => 5 * u32::from(at % 7 > 0),
            _ => 6 + at,
        })
        .collect();
    let labels = Samples::new(width, height, &labels).unwrap();
    let engine = Engine::on(device.small(seed()));
    for which in 0..PROPERTIES.len() {
        check_measures::<u32, u8>(&engine, labels, None, &options(which)).unwrap();
    }
    let bits = random_bits((width * height) as usize, &mut Random::new(seed()));
    let intensities: Vec<i16> = light_of(&bits);
    let intensities = Samples::new(width, height, &intensities).unwrap();
    let of_intensities = MeasureOptions::default().properties(OF_INTENSITIES);
    check_measures(&engine, labels, Some(intensities), &of_intensities).unwrap();
}

/// Labels in three strips of 32 rows, whose sums are joined: one that fills half of all, some that
/// begin in the second one, and some that skip it.
pub(crate) fn measures_of_labels_in_several_strips<D: Device>(device: &D) {
    let (width, height) = (16_400, 66);
    let labels: Vec<u32> = (0..width * height)
        .map(|at| {
            let (x, y) = (at % width, at / width);
            match x / 100 % 4 {
                0 | 2 => 1,
                1 => 2 + (x + y) / 200 * u32::from(y > 3),
                _ => 1000 + x / 400 * u32::from(y / 32 != 1),
            }
        })
        .collect();
    let labels = Samples::new(width, height, &labels).unwrap();
    let bits = random_bits((width * height) as usize, &mut Random::new(seed()));
    let engine = Engine::on(device.small(seed()));
    let all = [
        &[Property::Label, Property::Moments, Property::MomentsCentral],
        &OF_INTENSITIES[..],
        &WEIGHTED,
    ]
    .concat();
    // Centroids alone need only sums of lower powers.
    let centroids = [Property::CentroidWeighted, Property::CentroidWeightedLocal];
    let without_moments = [&OF_INTENSITIES[..], &centroids].concat();
    macro_rules! check {
        ($($t:ty: $properties:expr;)*) => {$(
            let intensities: Vec<$t> = light_of(&bits);
            let intensities = Samples::new(width, height, &intensities).unwrap();
            let options = MeasureOptions::default().properties($properties);
            check_measures(&engine, labels, Some(intensities), &options).unwrap();
        )*};
    }
    check! {
        u16: &all[..];
        i64: &all[..];
        f64: centroids;
        i64: &without_moments[..];
        f32: &without_moments[..];
    }
}

/// What follows from hulls and holes.
const OF_HULLS: [Property; 4] = [
    Property::FeretDiameterMax,
    Property::AreaFilled,
    Property::Solidity,
    Property::AreaConvex,
];

/// Boxes with more rows than a batch has, stretches of more than 32 rows, sides with more than 32
/// vertices, and diameters along both diagonals.
pub(crate) fn hulls_of_many_rows_and_vertices<D: Device>(device: &D) {
    let gpu = device.gpu(seed());
    let options = MeasureOptions::default().properties(OF_HULLS);
    // Labels in the first row and in the last one.
    let scattered = |x: u32, y: u32| (x + 1) * u32::from(y.is_multiple_of(239));
    let tall = |x: u32, y: u32| u32::from(x < 1 + (y / 7 + y * y) % 3);
    // A disc, and two pixels beside it that are furthest apart: they are among the last vertices of
    // the left side and the first ones of the right side.
    let disc = |x: u32, y: u32| {
        let [dx, dy] = [x, y].map(|place| place.abs_diff(200));
        let is_apart = [dx, dy] == [143; 2] && (x < 200) != (y < 200);
        u32::from(dx * dx + dy * dy <= 198 * 198 || is_apart)
    };
    let rising = |x: u32, y: u32| (3 * x + y) / 8 % 8 * u32::from((3 * x + y) / 64 == 2);
    let falling = |x: u32, y: u32| rising(59 - x, y);
    type LabelAt<'a> = &'a dyn Fn(u32, u32) -> u32;
    let images: [(u32, u32, LabelAt<'_>); 5] = [
        (60, 150, &rising),
        (60, 150, &falling),
        (100, 240, &scattered),
        (3, 700, &tall),
        (401, 401, &disc),
    ];
    for (width, height, label) in images {
        let labels: Vec<u32> = (0..width * height)
            .map(|at| label(at % width, at / width))
            .collect();
        let samples = Samples::new(width, height, &labels).unwrap();
        let labels = ValueImage::new(samples).unwrap().background(0).unwrap();
        check_tiles(&gpu, &labels, samples, &options).unwrap();
    }
}

/// Labels in more rows than a lane takes: nested rings, scattered pixels, walls with doors, slanted
/// stripes.
pub(crate) fn hulls_and_holes_of_tall_labels<D: Device>(device: &D) {
    let sides = PerDevice {
        emulator: (70u32, 240u32),
        gpu: (300, 900),
    }
    .on::<D>();
    let image = (1..sides.0, 1..sides.1, 0..4u32, any::<u64>());
    check::<D, _>(
        "hulls and holes of tall labels",
        40,
        &(image, device.any()),
        |((width, height, shape, drawn), gpu)| {
            let random = &mut Random::new(drawn);
            let bits = random_bits((width * height) as usize, random);
            let most = [1, 3, 100][random.below(3) as usize];
            let (a, b) = (1 + random.below(12), 1 + random.below(12));
            let center = [random.below(width), random.below(height)];
            let labels: Vec<u32> = (0..width * height)
                .map(|at| {
                    let (x, y, bits) = (at % width, at / width, bits[at as usize]);
                    let [dx, dy] = [x.abs_diff(center[0]), y.abs_diff(center[1])];
                    match shape {
                        // Cut by rows without labels.
                        0 if y % 23 == b => 0,
                        0 => ((dx * dx * a + dy * dy) / b).isqrt() / 9 % (most + 1),
                        1 => u32::from(bits % 30 == 0) * (1 + (bits >> 8) % most),
                        2 => u32::from((x % (a + 1) == 0 || y % (b + 1) == 0) && bits % 20 > 0),
                        _ => (x * a + y * b) / 40 % (most + 1),
                    }
                })
                .collect();
            let samples = Samples::new(width, height, &labels)?;
            let labels = ValueImage::new(samples)?.background(0)?;
            let spacing = [[1.0; 2], [0.3, 1.7]][random.below(2) as usize];
            // Alone, and with what comes from tiles.
            let mut properties = some(&OF_HULLS, random);
            properties.extend(&OF_TILES[..random.below(2) as usize]);
            let options = MeasureOptions::default().properties(properties);
            check_tiles(&gpu, &labels, samples, &options.spacing(spacing))
        },
    );
}

pub(crate) fn measures_of_no_labels_and_refusals<D: Device>(device: &D) {
    let engine = Engine::on(device.gpu(seed()));
    let nothing = [0u8; 12];
    let labels = Samples::new(4, 3, &nothing).unwrap();
    let found = engine.measure(labels, &options(9)).unwrap();
    assert_eq!(found.len(), 0);
    let intensities = [0.5f32; 12];
    let weighted = MeasureOptions::default().properties(WEIGHTED);
    let of_same_size = Samples::new(4, 3, &intensities).unwrap();
    let found = engine.measure_intensities(labels, of_same_size, &weighted);
    assert_eq!(found.unwrap().len(), 0);
    // Runs of background alone, which are no labels, and tables without columns.
    let gpu = device.gpu(seed());
    let negative = Samples::new(4, 3, &[-1i16, 0, 0, -1, 0, 0, 0, -5, -5, 0, 0, 0]).unwrap();
    let image = ValueImage::new(negative).unwrap();
    for properties in [&OF_HULLS[..], &OF_TILES, &PROPERTIES.concat(), &[]] {
        let options = MeasureOptions::default().properties(properties);
        check_tiles(&gpu, &image, negative, &options).unwrap();
    }
    let light = Samples::new(4, 3, &intensities).unwrap();
    let of_light = [&OF_INTENSITIES[..], &WEIGHTED[..2]].concat();
    let of_light = MeasureOptions::default().properties(of_light);
    check_shapes(&gpu, &image, negative, light, &of_light).unwrap();
    let large = Samples::new(4, 1, &[u32::MAX, 0, 1, 1]).unwrap();
    let image = ValueImage::new(large).unwrap();
    let no_columns = MeasureOptions::default().properties([]);
    check_tiles(&gpu, &image, large, &no_columns).unwrap();
    let of_other_size = Samples::new(3, 4, &intensities).unwrap();
    let refused = engine.measure_intensities(labels, of_other_size, &weighted);
    assert!(matches!(refused, Err(Error::InvalidOption(_))));
}
