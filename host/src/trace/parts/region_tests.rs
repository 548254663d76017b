//! Parts of images of values, from any division into bands and joined in any order, against the
//! regions of the whole image. `tests/regions.rs` has the comparison with a flood fill.

use std::ops::Range;

use super::tests::join_bands;
use super::*;
use crate::error::Error;
use crate::image::{BinaryImage, PixelValue, Samples, ValueImage};
use crate::label::Connectivity;
use crate::progress::Progress;
use crate::regions::{RegionOptions, Regions};
use crate::seeds::Random;
#[cfg(feature = "formats")]
use crate::trace::ContourSource;
use crate::trace::ValueBand;
use crate::trace::cpu::test_cases::alone;

/// An image of values. Some of its pixels may not count.
struct Picture<T> {
    width: u32,
    values: Vec<T>,
    background: Option<T>,
    mask: Option<BinaryImage>,
}

impl<T: PixelValue> Picture<T> {
    fn new(width: u32, height: u32, value: impl Fn(u32, u32) -> T) -> Self {
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        Self {
            width,
            values: pixels.map(|(x, y)| value(x, y)).collect(),
            background: None,
            mask: None,
        }
    }

    fn height(&self) -> u32 {
        self.values.len() as u32 / self.width
    }

    /// The mask of some rows.
    fn mask_of(&self, rows: Range<u32>) -> Option<BinaryImage> {
        let mask = self.mask.as_ref()?;
        let is_set = |x, y| mask.get(x, rows.start + y);
        Some(BinaryImage::from_fn(self.width, rows.len() as u32, is_set).unwrap())
    }

    /// Some rows, with their mask.
    fn rows<'a>(&'a self, rows: Range<u32>, mask: Option<&'a BinaryImage>) -> ValueImage<'a, T> {
        let at = |y: u32| (y * self.width) as usize;
        let values = &self.values[at(rows.start)..at(rows.end)];
        let samples = Samples::new(self.width, rows.len() as u32, values).unwrap();
        let mut image = ValueImage::new(samples).unwrap();
        if let Some(value) = self.background {
            image = image.background(value).unwrap();
        }
        match mask {
            Some(mask) => image.mask(mask).unwrap(),
            None => image,
        }
    }

    /// The part of some rows, followed in strips of `strip` rows.
    fn part(&self, rows: Range<u32>, strip: u32, options: &RegionOptions) -> RegionPart<T> {
        // Images of up to two rows. Only the row beside the band matters.
        let above = rows.start.saturating_sub(2)..rows.start;
        let below = rows.end..self.height().min(rows.end + 2);
        let all = [rows.clone(), above.clone(), below.clone()];
        let masks = all.clone().map(|rows| match rows.is_empty() {
            true => None,
            false => self.mask_of(rows),
        });
        let image = self.rows(rows.clone(), masks[0].as_ref());
        let upper = (!above.is_empty()).then(|| self.rows(above, masks[1].as_ref()));
        let lower = (!below.is_empty()).then(|| self.rows(below, masks[2].as_ref()));
        let mut band = ValueBand::new(&image, rows.start);
        if let Some(upper) = &upper {
            band = band.with_above(upper);
        }
        if let Some(lower) = &lower {
            band = band.with_below(lower);
        }
        band.check().unwrap();
        RegionPart::trace_in_strips(band, strip, options).unwrap()
    }

    /// The part of the whole image from bands of 1 to `most` rows, joined in a random tree. Some
    /// parts go through bytes.
    fn joined(&self, most: u32, options: &RegionOptions, seed: u64) -> RegionPart<T> {
        let part = |rows, strip| self.part(rows, strip, options);
        let join = |mut upper: RegionPart<T>, lower, numbers: &mut Random| {
            if numbers.below(4) == 0 {
                upper = RegionPart::from_bytes(&upper.to_bytes().unwrap()).unwrap();
            }
            RegionPart::join(upper, lower).unwrap()
        };
        join_bands(self.height(), most, seed, part, join)
    }

    fn whole(&self, options: &RegionOptions) -> Regions<T> {
        let image = self.rows(0..self.height(), self.mask.as_ref());
        crate::trace::cpu::values::trace_regions(&image, options, &Progress::SILENT).unwrap()
    }

    fn check(&self, most: &[u32], seed: u64) {
        for connectivity in [Connectivity::Four, Connectivity::Eight] {
            let options = RegionOptions::default().connectivity(connectivity);
            let whole = self.whole(&options);
            for &most in most {
                for seed in seed..seed + 2 {
                    let part = self.joined(most, &options, seed);
                    assert_eq!(part.open_count(), 0);
                    assert!(part.is_whole());
                    let regions = part.finish().unwrap();
                    assert!(
                        regions == whole,
                        "bands of up to {most} rows, seed {seed}, {connectivity:?}: width {}, \
                         {:?}, background {:?}, mask {:?}",
                        self.width,
                        self.values,
                        self.background,
                        self.mask
                    );
                }
            }
        }
    }
}

/// Random pixels of some values, a random part of them in rectangles.
fn random_picture<T: PixelValue>(random: &mut Random, value: impl Fn(u32) -> T) -> Picture<T> {
    let most_columns = [8, 70, 140][random.below(3) as usize];
    let most_rows = [8, 30][random.below(2) as usize];
    let (width, height) = (1 + random.below(most_columns), 1 + random.below(most_rows));
    let most = [2, 3, 4, 9, 1000][random.below(5) as usize];
    let mut numbers: Vec<u32> = (0..width * height).map(|_| random.below(most)).collect();
    for _ in 0..random.below(10) {
        let (x, y) = (random.below(width), random.below(height));
        let (right, bottom) = (x + random.below(12), y + random.below(12));
        let value = random.below(most);
        for y in y..bottom.min(height) {
            for x in x..right.min(width) {
                numbers[(y * width + x) as usize] = value;
            }
        }
    }
    let mut picture = Picture::new(width, height, |x, y| {
        value(numbers[(y * width + x) as usize])
    });
    if random.below(2) == 0 {
        picture.background = Some(value(0));
    }
    if random.below(2) == 0 {
        let bits: Vec<bool> = (0..width * height).map(|_| random.below(5) > 0).collect();
        let mask = BinaryImage::from_fn(width, height, |x, y| bits[(y * width + x) as usize]);
        picture.mask = Some(mask.unwrap());
    }
    picture
}

#[test]
fn random_images_of_all_types_match() {
    alone(|| {
        for seed in 0..60 {
            println!("seed {seed}");
            let random = &mut Random::new(seed);
            let most = 1 + random.below(20);
            random_picture(random, |v| v as u8).check(&[1, most], seed);
            random_picture(random, |v| v as u16 + 64_000).check(&[1, most], seed);
            random_picture(random, |v| v | 1 << 31).check(&[1, most], seed);
            random_picture(random, |v| 5 - v as i16).check(&[1, most], seed);
            random_picture(random, |v| v as i32 - 3).check(&[1, most], seed);
            random_picture(random, |v| i64::MIN + i64::from(v)).check(&[1, most], seed);
            let float = |v| [f32::INFINITY, -1.5, 2.0, 0.25][v as usize % 4];
            random_picture(random, float).check(&[1, most], seed);
        }
    });
}

/// NaN equals nothing, so that results are compared with those of a mask instead.
#[test]
fn nan_is_no_data_in_bands_too() {
    for seed in 0..40 {
        println!("seed {seed}");
        let random = &mut Random::new(seed);
        let mut picture = random_picture(random, |v| v as f32);
        picture.mask = None;
        picture.background = None;
        let mut with_nan = Picture::new(picture.width, picture.height(), |x, y| {
            match picture.values[(y * picture.width + x) as usize] {
                1.0 => f32::NAN,
                value => value,
            }
        });
        picture.background = Some(1.0);
        with_nan.background = Some(0.5);
        for connectivity in [Connectivity::Four, Connectivity::Eight] {
            let options = RegionOptions::default().connectivity(connectivity);
            let regions = with_nan.joined(3, &options, seed).finish().unwrap();
            assert!(regions == picture.whole(&options), "{:?}", picture.values);
        }
    }
}

#[test]
fn every_image_of_few_pixels_of_three_values_matches() {
    alone(|| {
        for (width, height) in [(3u32, 3u32), (2, 4), (4, 2), (1, 8)] {
            for number in 0..3u32.pow(width * height) {
                let value = |x, y| (number / 3u32.pow(y * width + x) % 3) as u8;
                Picture::new(width, height, value).check(&[1], number.into());
            }
        }
    });
}

#[test]
fn patterns_match_whatever_the_cuts() {
    let spiral = |x: u32, y: u32| {
        let (dx, dy) = (f64::from(x) - 40.0, f64::from(y) - 33.0);
        (dx.hypot(dy) / 4.0 + dy.atan2(dx) / std::f64::consts::TAU * 5.0) as u8 % 5
    };
    let ring = |x: u32, y: u32| (x.min(y).min(64 - x).min(64 - y) % 4) as u16;
    // Two arms that touch at corners, and are connected far away or not at all.
    let combs = |x: u32, y: u32| match (x + y).is_multiple_of(2) {
        true => 1 + u8::from(x > 30),
        false => 3 + u8::from(x.is_multiple_of(7) || y == 39),
    };
    Picture::new(67, 31, |x, y| (y * 67 + x) as u16).check(&[1, 7], 1);
    Picture::new(66, 40, |x, y| ((x + y) % 2) as u8).check(&[1, 2, 7], 2);
    Picture::new(66, 40, |x, y| ((x + y) % 3) as u8).check(&[1, 2, 7], 3);
    Picture::new(65, 41, |x, y| {
        [1u8, 2, 2, 1, 3][((x % 2 + 2 * (y % 2)) % 5) as usize]
    })
    .check(&[1, 2, 7], 4);
    Picture::new(65, 40, combs).check(&[1, 2, 7], 5);
    Picture::new(63, 40, |_, y| (y % 3) as u8).check(&[1, 2, 7], 6);
    Picture::new(90, 66, spiral).check(&[1, 5, 40], 7);
    Picture::new(65, 65, ring).check(&[1, 5, 40], 8);
    Picture::new(1, 50, |_, y| (y / 5 % 2) as u8).check(&[1, 3], 9);
    Picture::new(130, 1, |x, _| (x / 5 % 2) as u8).check(&[1], 10);
    Picture::new(200, 60, |_, _| 7u8).check(&[1, 9], 11);
}

#[test]
fn a_cut_at_every_row_gives_the_same() {
    let random = &mut Random::new(77);
    for _ in 0..6 {
        let picture = random_picture(random, |v| v as u8 % 3);
        let options = RegionOptions::default();
        let whole = picture.whole(&options);
        for row in 1..picture.height() {
            let upper = picture.part(0..row, 4, &options);
            let lower = picture.part(row..picture.height(), 3, &options);
            let regions = RegionPart::join(upper, lower).unwrap().finish().unwrap();
            assert!(
                regions == whole,
                "cut above row {row}: {:?}",
                picture.values
            );
        }
    }
}

#[cfg(feature = "formats")]
#[test]
fn a_tracer_gives_the_same_from_memory_and_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..10 {
        println!("seed {seed}");
        let random = &mut Random::new(seed);
        let mut picture = random_picture(random, |v| v as i32);
        picture.mask = None;
        let options = RegionOptions::default();
        let whole = picture.whole(&options);
        let rows = 1 + random.below(5);
        let tracers = [
            RegionTracer::in_memory(picture.width, &options).unwrap(),
            RegionTracer::in_file(picture.width, &options, folder.path()).unwrap(),
        ];
        for mut tracer in tracers {
            if let Some(value) = picture.background {
                tracer = tracer.background(value).unwrap();
            }
            let mut bands = picture.values.chunks((rows * picture.width) as usize);
            let next = || Ok(bands.next().map(<[i32]>::to_vec));
            let stored = tracer.trace(next).unwrap();
            assert_eq!(stored.count(), whole.count());
            assert_eq!(stored.regions(), whole.regions());
            assert_eq!(stored.values(), whole.values());
            let points = stored.rings().point_count().unwrap();
            assert_eq!(points, whole.contours().points().len() as u64);
            assert!(stored.into_regions().unwrap() == whole);
        }
    }
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let picture = Picture::new(20, 12, |x, y| (x * y % 3) as u8);
    let other = Picture::new(20, 12, |x, y| ((x + 1) * y % 3) as u8);
    let narrow = Picture::new(19, 12, |x, y| (x * y % 3) as u8);
    // Their first and their last pixel are compared, too.
    let first = Picture::new(20, 12, |x, y| if x == 0 { 7 } else { (x * y % 3) as u8 });
    let last = Picture::new(20, 12, |x, y| if x == 19 { 7 } else { (x * y % 3) as u8 });
    let mut masked = Picture::new(20, 12, |x, y| (x * y % 3) as u8);
    masked.mask = Some(BinaryImage::from_fn(20, 12, |x, _| x != 5).unwrap());
    let four = RegionOptions::default();
    let eight = four.connectivity(Connectivity::Eight);
    let differ = |upper, lower, what| match RegionPart::join(upper, lower) {
        Err(Error::PartsDiffer { what: found, .. }) => assert_eq!(found, what),
        other => panic!("{other:?}"),
    };
    let upper = || picture.part(0..6, 6, &four);
    differ(upper(), narrow.part(6..12, 6, &four), "width");
    differ(upper(), picture.part(6..12, 6, &eight), "connectivity");
    for other in [other, first, last, masked] {
        let lower = other.part(6..12, 6, &four);
        differ(upper(), lower, "the rows at their seam");
    }
    assert!(matches!(
        RegionPart::join(upper(), picture.part(7..12, 5, &four)),
        Err(Error::PartsNotAdjacent { .. })
    ));
    assert!(matches!(upper().finish(), Err(Error::PartNotWhole { .. })));

    let image = picture.rows(6..12, None);
    let too_narrow = narrow.rows(0..6, None);
    assert!(matches!(
        RegionPart::trace(ValueBand::new(&image, 6).with_above(&too_narrow), &four),
        Err(Error::LengthMismatch { .. })
    ));
    assert!(matches!(
        RegionPart::trace(ValueBand::new(&image, 6), &four),
        Err(Error::InvalidOption { .. })
    ));
    let mut tracer = RegionTracer::<u8>::in_memory(20, &four).unwrap();
    assert!(matches!(
        tracer.push(vec![0; 30]),
        Err(Error::LengthMismatch { .. })
    ));
    assert!(matches!(tracer.finish(), Err(Error::EmptyImage { .. })));
}

#[test]
fn bytes_that_are_not_a_part_are_refused() {
    let picture = Picture::new(70, 12, |x, y| (x / 3 * y % 3) as u8);
    let bytes = picture
        .part(3..9, 6, &RegionOptions::default())
        .to_bytes()
        .unwrap();
    assert!(RegionPart::<u8>::from_bytes(&bytes).is_ok());
    // Values of another type, the part of a binary image, and bytes cut off or changed.
    assert!(RegionPart::<u16>::from_bytes(&bytes).is_err());
    assert!(ContourPart::from_bytes(&bytes).is_err());
    assert!(RegionPart::<u8>::from_bytes(&bytes[..bytes.len() - 1]).is_err());
    let mut random = Random::new(5);
    for rows in [3..9, 0..12] {
        let part = picture.part(rows, 6, &RegionOptions::default());
        let bytes = part.to_bytes().unwrap();
        for _ in 0..3000 {
            let mut changed = bytes.clone();
            let at = random.below(bytes.len() as u32 - 8) as usize;
            changed[at] = changed[at].wrapping_add(1 + random.below(255) as u8);
            // With the right hash, either an error or regions of something.
            let changed = crate::bytes::with_hash(changed);
            if let Ok(part) = RegionPart::<u8>::from_bytes(&changed) {
                let _ = part.finish();
            }
        }
    }
}
