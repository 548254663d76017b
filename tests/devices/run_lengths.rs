//! Run lengths of masks and of labels, and their text: equal to the processor's.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;
use trazar::gpu::{Gpu, GpuBuffer};
use trazar::measure::Label;
use trazar::rle::{DeviceLabelRles, DeviceRles, Rle, encode_labels};
use trazar::{BinaryImage, DeviceImageBatch, DeviceValues, Samples, ValueImage};
use trazar_test_support::emulators::seed;
use trazar_test_support::seeds::Random;
use trazar_test_support::values::{Classes, PATTERNS};

use super::{Device, check};

/// Around words of 64 pixels, and stripes of 256 rows.
const SIDES: &[u32] = &[1, 2, 7, 32, 33, 63, 64, 65, 100, 255, 256, 257, 300, 520];

/// Compares run lengths and their text.
fn check_masks<G: Gpu>(
    gpu: &G,
    found: &DeviceRles<G>,
    expected: &[Rle],
) -> Result<(), TestCaseError> {
    prop_assert!(found.to_host()? == expected, "not the CPU's run lengths");
    let texts = expected.iter().map(Rle::to_text);
    let texts: Vec<_> = texts.collect::<Result<_, _>>()?;
    let found = found.compress(gpu)?.to_host()?;
    prop_assert!(found.iter().eq(&texts), "not the CPU's text");
    prop_assert_eq!(
        (found.len(), found.is_empty()),
        (texts.len(), texts.is_empty())
    );
    prop_assert_eq!(found.get(0), texts.first().map(|text| &text[..]));
    prop_assert_eq!(found.get(texts.len()), None);
    Ok(())
}

pub(crate) fn run_lengths_of_random_masks<D: Device>(device: &D) {
    let masks = (select(SIDES), select(SIDES), 1..5u32, any::<u64>());
    check::<D, _>(
        "run lengths of random masks",
        60,
        &(masks, device.any()),
        |((width, height, count, drawn), gpu)| {
            let random = &mut Random::new(drawn);
            let masks: Vec<BinaryImage> = (0..count)
                .map(|_| {
                    let (share, side) = (random.below(101), 1 + random.below(9));
                    let from = random.below(u32::MAX);
                    BinaryImage::from_fn(width, height, |x, y| {
                        let cell = (x / side).wrapping_mul(0x9e37_79b9) ^ (y / side) ^ from;
                        (cell.wrapping_mul(0x85eb_ca6b) >> 8) % 100 < share
                    })
                    .unwrap()
                })
                .collect();
            let batch = DeviceImageBatch::upload(&gpu, &masks)?;
            let expected: Vec<Rle> = masks
                .iter()
                .map(Rle::from_image)
                .collect::<Result<_, _>>()?;
            check_masks(&gpu, &DeviceRles::encode(&gpu, &batch)?, &expected)
        },
    );
}

/// Encodes `labels` on the device, and on the processor `cleared`: the same, but for pixels that
/// are left out, which are 0.
fn check_labels<G: Gpu, L: Label>(
    gpu: &G,
    labels: &ValueImage<'_, L>,
    cleared: Samples<'_, L>,
) -> Result<(), TestCaseError> {
    check_encoded(gpu, &DeviceValues::upload(gpu, labels)?, cleared)
}

/// Encodes labels in the device's memory, and on the processor `cleared`.
fn check_encoded<G: Gpu, L: Label>(
    gpu: &G,
    labels: &DeviceValues<G, L>,
    cleared: Samples<'_, L>,
) -> Result<(), TestCaseError> {
    let found = DeviceLabelRles::encode(gpu, labels)?;
    let expected = encode_labels(cleared)?;
    prop_assert!(found.to_host()? == expected, "not the CPU's masks");
    let (labels, masks): (Vec<i64>, Vec<Rle>) = expected.into_iter().unzip();
    prop_assert_eq!(found.labels().to_vec()?, labels);
    check_masks(gpu, found.rles(), &masks)
}

/// Labels of all sizes, negative ones, masks, background. Many runs continue in the next column: in
/// images of few rows, and where a label has most pixels.
pub(crate) fn run_lengths_of_random_labels<D: Device>(device: &D) {
    let image = (
        select(SIDES),
        select(SIDES),
        select(&PATTERNS[..]),
        any::<u64>(),
    );
    check::<D, _>(
        "run lengths of random labels",
        60,
        &(image, device.any(), any::<bool>(), 0..5u32),
        |((width, height, pattern, drawn), gpu, with_mask, of_type)| {
            let random = &mut Random::new(drawn);
            let classes = Classes::draw(pattern, width, height, random);
            // At times most pixels have one label.
            let (share, common) = ([0, 50, 97][random.below(3) as usize], random.below(4));
            let classes: Vec<i32> = classes
                .values
                .iter()
                .map(|&class| match random.below(100) < share {
                    true => common as i32,
                    false => class,
                })
                .collect();
            let background = 1 + random.below(3);
            let side = 1 + random.below(20);
            let mask = BinaryImage::from_fn(width, height, |x, y| {
                !with_mask || !(x / side + y / side).is_multiple_of(3)
            })?;
            macro_rules! check {
                ($t:ty: $to_value:expr) => {{
                    let values: Vec<$t> = classes.iter().copied().map($to_value).collect();
                    let background = background as $t;
                    let is_kept = |i: usize, value| {
                        value != background && mask.get(i as u32 % width, i as u32 / width)
                    };
                    let kept = values.iter().enumerate();
                    let cleared: Vec<$t> = kept
                        .map(|(i, &value)| if is_kept(i, value) { value } else { 0 })
                        .collect();
                    let labels = ValueImage::new(Samples::new(width, height, &values)?)?;
                    let labels = labels.background(background)?.mask(&mask)?;
                    check_labels(&gpu, &labels, Samples::new(width, height, &cleared)?)
                }};
            }
            match of_type {
                0 => check!(u8: |class| class as u8),
                1 => check!(u16: |class| class as u16),
                2 => check!(i32: |class| class % 7 - 2),
                3 => check!(u32: |class| (class as u32).wrapping_mul(0x9e37_79b9)),
                // Many differ in their high halves alone.
                _ => check!(i64: |class| i64::from(class % 2) | i64::from(class / 2 % 5 - 1) << 32),
            }
        },
    );
}

/// Images around whole words: of one label, of another one in the last pixel, with the last pixel
/// alone, and with two labels column by column. Rows may be apart.
pub(crate) fn run_lengths_of_labels_in_whole_words<D: Device>(device: &D) {
    let gpu = device.gpu(seed());
    for (width, height) in [
        (63, 1),
        (64, 1),
        (64, 3),
        (65, 2),
        (128, 1),
        (128, 257),
        (2, 600),
    ] {
        let last = width * height - 1;
        let labels: [&dyn Fn(u32) -> u8; 4] = [
            &|_| 5,
            &|pixel| if pixel == last { 6 } else { 5 },
            &|pixel| u8::from(pixel == last),
            &|pixel| 1 + (pixel % width % 2) as u8,
        ];
        for label in labels {
            let values: Vec<u8> = (0..=last).map(label).collect();
            let samples = Samples::new(width, height, &values).unwrap();
            check_labels(&gpu, &ValueImage::new(samples).unwrap(), samples).unwrap();
            let pitch = width + 3;
            let apart = (0..height * pitch).map(|at| match at % pitch {
                x if x < width => label(at / pitch * width + x),
                _ => 9,
            });
            let apart = gpu.upload(&apart.collect::<Vec<u8>>()).unwrap();
            let apart = DeviceValues::new(&gpu, width, height, pitch, apart, &[]).unwrap();
            check_encoded(&gpu, &apart, samples).unwrap();
        }
    }
}

/// All images of up to four pixels of two labels and background, and images without labels.
pub(crate) fn run_lengths_of_few_labels<D: Device>(device: &D) {
    let gpu = device.gpu(seed());
    for (width, height) in [(1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4)] {
        let pixels = (width * height) as usize;
        for number in 0..3u32.pow(pixels as u32) {
            let values: Vec<i16> = (0..pixels as u32)
                .map(|i| [-4, 9, 3][(number / 3u32.pow(i) % 3) as usize])
                .collect();
            let samples = Samples::new(width, height, &values).unwrap();
            check_labels(&gpu, &ValueImage::new(samples).unwrap(), samples).unwrap();
            // Again with -4 as background, so that negative values have no runs.
            let labels = ValueImage::new(samples).unwrap().background(-4).unwrap();
            check_labels(&gpu, &labels, samples).unwrap();
        }
    }
}
