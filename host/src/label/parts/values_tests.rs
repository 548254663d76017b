//! Parts of images of values: bands of any heights, joined in any order, against the labels of the
//! whole image, and against a flood fill.

use std::ops::Range;

use super::super::plan::Plan;
use super::*;
use crate::image::{BinaryImage, Samples, ValueRows};
use crate::label::{BandLabels, BandSource, ComponentOptions, LabelNumber, LabelTable};
use crate::seeds::Random;
use crate::{Engine, Error, generate};

/// An image of values. Some of its pixels may not count.
struct Picture<T> {
    width: u32,
    values: Vec<T>,
    background: Vec<T>,
    mask: Option<BinaryImage>,
}

impl<T: PixelValue> Picture<T> {
    fn height(&self) -> u32 {
        self.values.len() as u32 / self.width
    }

    /// Calls `on` with some rows.
    fn with_rows<R>(&self, rows: Range<u32>, on: impl FnOnce(&ValueImage<'_, T>) -> R) -> R {
        let at = |y: u32| (y * self.width) as usize;
        let (values, height) = (
            &self.values[at(rows.start)..at(rows.end)],
            rows.len() as u32,
        );
        let mut image = ValueImage::new(Samples::new(self.width, height, values).unwrap()).unwrap();
        for &value in &self.background {
            image = image.background(value).unwrap();
        }
        let is_set = |mask: &BinaryImage, x, y| mask.get(x, rows.start + y);
        let mask = self.mask.as_ref().map(|mask| {
            BinaryImage::from_fn(self.width, height, |x, y| is_set(mask, x, y)).unwrap()
        });
        match &mask {
            None => on(&image),
            Some(mask) => on(&image.mask(mask).unwrap()),
        }
    }

    /// The regions' numbers by a flood fill from each first pixel.
    fn flood(&self, connectivity: Connectivity) -> Vec<u64> {
        let (width, height) = (i64::from(self.width), i64::from(self.height()));
        let value =
            |x: i64, y: i64| self.with_rows(y as u32..y as u32 + 1, |row| row.get(x as u32, 0));
        let values: Vec<Option<T>> = (0..width * height)
            .map(|at| value(at % width, at / width))
            .collect();
        let reach = |dx: i64, dy: i64| match connectivity {
            Connectivity::Four => dx.abs() + dy.abs() == 1,
            Connectivity::Eight => dx != 0 || dy != 0,
        };
        let around: Vec<(i64, i64)> = (0..9)
            .map(|at| (at % 3 - 1, at / 3 - 1))
            .filter(|&(dx, dy)| reach(dx, dy))
            .collect();
        let mut labels = vec![0; values.len()];
        let mut count = 0;
        for start in 0..values.len() {
            if values[start].is_none() || labels[start] != 0 {
                continue;
            }
            count += 1;
            labels[start] = count;
            let mut todo = vec![start];
            while let Some(at) = todo.pop() {
                let (x, y) = (at as i64 % width, at as i64 / width);
                for (dx, dy) in &around {
                    let (x, y) = (x + dx, y + dy);
                    if (0..width).contains(&x) && (0..height).contains(&y) {
                        let next = (y * width + x) as usize;
                        if values[next] == values[at] && labels[next] == 0 {
                            labels[next] = count;
                            todo.push(next);
                        }
                    }
                }
            }
        }
        labels
    }
}

/// Bands of random heights up to `most`.
fn divide(height: u32, most: u32, random: &mut Random) -> Vec<Range<u32>> {
    let mut bands = Vec::new();
    let mut start = 0;
    while start < height {
        let end = height.min(start + 1 + random.below(most));
        bands.push(start..end);
        start = end;
    }
    bands
}

/// Joins parts in a random order, some of them after a trip through bytes.
fn join(mut parts: Vec<LabelPart>, random: &mut Random) -> LabelTable {
    while parts.len() > 1 {
        let at = random.below(parts.len() as u32 - 1) as usize;
        let lower = parts.remove(at + 1);
        let mut upper = parts.remove(at);
        if random.below(2) == 0 {
            upper = LabelPart::from_bytes(&upper.to_bytes().unwrap()).unwrap();
        }
        parts.insert(at, LabelPart::join(upper, lower).unwrap());
    }
    parts.remove(0).finish().unwrap()
}

/// Labels in bands on an engine, and compares with a flood fill and the whole image's labels.
fn check<T: PixelValue>(picture: &Picture<T>, engine: &Engine, seed: u64) {
    let mut random = Random::new(seed);
    for connectivity in [Connectivity::Four, Connectivity::Eight] {
        let expected = picture.flood(connectivity);
        let whole = picture.with_rows(0..picture.height(), |image| {
            Engine::cpu().label_values(image, connectivity).unwrap()
        });
        let labels = whole.as_slice().iter().map(|&label| u64::from(label));
        assert!(
            labels.eq(expected.iter().copied()),
            "{connectivity:?}, seed {seed}"
        );
        let most = 1 + random.below(9);
        let bands = divide(picture.height(), most, &mut random);
        let part = |rows: &Range<u32>| {
            picture.with_rows(rows.clone(), |band| {
                engine
                    .label_values_part(band, rows.start, connectivity)
                    .unwrap()
            })
        };
        let table = join(bands.iter().map(part).collect(), &mut random);
        assert_eq!(table.count(), u64::from(whole.count()), "seed {seed}");
        let (mut narrow, mut wide) = (Vec::new(), Vec::new());
        for (rows, numbers) in bands.into_iter().zip(table.into_bands()) {
            picture.with_rows(rows, |band| {
                let labels = engine.label_values_band::<u32, _>(band, &numbers, connectivity);
                narrow.extend(labels.unwrap());
                let labels = engine.label_values_band::<u64, _>(band, &numbers, connectivity);
                wide.extend(labels.unwrap());
            });
        }
        assert_eq!(narrow, whole.as_slice(), "{connectivity:?}, seed {seed}");
        assert_eq!(wide, expected, "{connectivity:?}, seed {seed}");
    }
}

/// A picture of up to `most` values, in squares of some pixels, with what does not count.
fn picture<T: PixelValue>(seed: u64, value: impl Fn(u32) -> T) -> Picture<T> {
    let mut random = Random::new(seed);
    let (width, height) = (1 + random.below(140), 1 + random.below(40));
    let (most, square) = (2 + random.below(5), 1 + random.below(3));
    let across = width.div_ceil(square);
    let squares: Vec<u32> = (0..across * height.div_ceil(square))
        .map(|_| random.below(most))
        .collect();
    let values = (0..width * height)
        .map(|at| value(squares[(at / width / square * across + at % width / square) as usize]))
        .collect();
    let mut background = Vec::new();
    for _ in 0..random.below(3) {
        background.push(value(random.below(most)));
    }
    let mask = (random.below(3) == 0).then(|| generate::noise(width, height, 0.8, seed).unwrap());
    Picture {
        width,
        values,
        background,
        mask,
    }
}

#[test]
fn bands_of_any_heights_give_the_labels_of_the_whole() {
    let engine = Engine::cpu();
    for seed in 0..400 {
        match seed % 4 {
            0 => check(&picture(seed, |of| of as u8), &engine, seed),
            1 => check(&picture(seed, |of| i64::from(of) - 2), &engine, seed),
            2 => check(&picture(seed, |of| of * 0x2aaa_aaab), &engine, seed),
            // Both zeros are equal, and NaN is no data.
            _ => {
                let values = [-0.0, 0.0, f32::NAN, -1.5, f32::INFINITY, 2.0];
                check(&picture(seed, |of| values[of as usize]), &engine, seed);
            }
        }
    }
}

/// By kernels, labels come from the device and rims from the values.
#[test]
fn bands_by_kernels() {
    for seed in 0..6 {
        let picture = picture(seed, |of| of as u16);
        check(&picture, &Engine::emulator(seed), seed);
    }
}

/// One region that is a spiral through all bands, and one value per pixel.
#[test]
fn spirals_and_single_pixels() {
    let engine = Engine::cpu();
    let spiral = generate::Pattern::ALL;
    for (seed, pattern) in (0..).zip(spiral) {
        let image = pattern.generate(65, 33, 3).unwrap();
        let values = (0..65 * 33).map(|at| u8::from(image.get(at % 65, at / 65)));
        let picture = Picture {
            width: 65,
            values: values.collect(),
            background: Vec::new(),
            mask: None,
        };
        check(&picture, &engine, seed);
    }
    let picture = Picture {
        width: 70,
        values: (0..70 * 9).collect::<Vec<i32>>(),
        background: Vec::new(),
        mask: None,
    };
    check(&picture, &engine, 0);
}

/// A picture without a mask, as a source of bands.
struct InMemory<'a, T> {
    picture: &'a Picture<T>,
    next: u32,
}

impl<T: PixelValue> BandSource<ValueRows<T>> for InMemory<'_, T> {
    fn width(&self) -> u32 {
        self.picture.width
    }
    fn height(&self) -> u32 {
        self.picture.height()
    }
    fn next_band(&mut self, rows: u32) -> Result<Option<ValueRows<T>>> {
        let picture = self.picture;
        let end = picture.height().min(self.next + rows);
        let at = |y: u32| (y * picture.width) as usize;
        let values = picture.values[at(self.next)..at(end)].to_vec();
        self.next = end;
        if values.is_empty() {
            return Ok(None);
        }
        let rows = ValueRows::new(picture.width, values)?;
        let leave_out = |rows: ValueRows<T>, &value| rows.background(value);
        picture
            .background
            .iter()
            .try_fold(rows, leave_out)
            .map(Some)
    }
    fn rewind(&mut self) -> Result<()> {
        self.next = 0;
        Ok(())
    }
}

/// The labels by two passes over bands of `plan`, as `N`.
fn in_two_passes<N: LabelNumber + Into<u64>, T: PixelValue>(
    picture: &Picture<T>,
    connectivity: Connectivity,
    plan: Plan,
) -> (Vec<u64>, u64, u64) {
    let source = InMemory { picture, next: 0 };
    let options = ComponentOptions::default().connectivity(connectivity);
    let mut bands = BandLabels::in_bands(source, &options, plan, None, None).unwrap();
    let (count, foreground) = (bands.count(), bands.foreground_count());
    let mut labels: Vec<u64> = Vec::new();
    while let Some(band) = bands.next_band::<N>().unwrap() {
        assert_eq!(labels.len() as u32, band.first_row() * picture.width);
        assert!(band.components().is_none());
        labels.extend(band.labels().iter().map(|&label| label.into()));
    }
    (labels, count, foreground)
}

#[test]
fn two_passes_over_bands() {
    for seed in 0..120 {
        let values = [-0.0, 0.0, f32::NAN, -1.5, f32::INFINITY, 2.0];
        let mut picture = picture(seed, |of| values[of as usize]);
        picture.mask = None;
        let mut random = Random::new(seed);
        for connectivity in [Connectivity::Four, Connectivity::Eight] {
            let expected = picture.flood(connectivity);
            let count = expected.iter().copied().max().unwrap();
            let foreground = expected.iter().filter(|&&label| label > 0).count() as u64;
            let expected = (expected, count, foreground);
            let (rows, hold) = (1 + random.below(12), random.below(2) == 0);
            let plan = Plan { rows, hold };
            let narrow = in_two_passes::<u32, _>(&picture, connectivity, plan);
            assert_eq!(narrow, expected, "seed {seed}, {plan:?}");
            let wide = in_two_passes::<u64, _>(&picture, connectivity, plan);
            assert_eq!(wide, expected, "seed {seed}, {plan:?}");
        }
    }
}

/// Bands are as high as the memory allows, with all values kept if there is room.
#[test]
fn plans_for_values() {
    struct Huge;
    impl BandSource<ValueRows<i32>> for Huge {
        fn width(&self) -> u32 {
            20_000
        }
        fn height(&self) -> u32 {
            20_000
        }
        fn next_band(&mut self, _: u32) -> Result<Option<ValueRows<i32>>> {
            Ok(None)
        }
        fn rewind(&mut self) -> Result<()> {
            Ok(())
        }
    }
    let plan = |memory| Plan::new(&Huge, &ComponentOptions::default(), memory);
    assert_eq!(
        plan(64 << 30).unwrap(),
        Plan {
            rows: 20_000,
            hold: true
        }
    );
    // The values take 1.5 GiB.
    let half = plan(6 << 30).unwrap();
    assert!(half.hold && (5000..20_000).contains(&half.rows), "{half:?}");
    let small = plan(1 << 30).unwrap();
    assert!(
        !small.hold && (500..2500).contains(&small.rows),
        "{small:?}"
    );
    assert!(matches!(plan(40 << 20), Err(Error::InvalidOption(_))));
}

#[test]
fn parts_that_do_not_go_together() {
    let four = Connectivity::Four;
    let part = |row| {
        let values = [1u8, 1, 2];
        let image = ValueImage::new(Samples::new(3, 1, &values).unwrap()).unwrap();
        LabelPart::label_values(&image, row, four).unwrap()
    };
    let wide = [1u16, 1, 2];
    let wide = ValueImage::new(Samples::new(3, 1, &wide).unwrap()).unwrap();
    let wide = LabelPart::label_values(&wide, 1, four).unwrap();
    let bits = BinaryImage::from_art("##.").unwrap();
    let options = ComponentOptions::default().connectivity(four);
    let bits = LabelPart::label(&bits, 1, &options).unwrap();
    for (lower, names) in [(wide, "pixels: u8 and u16"), (bits, "pixels: u8 and bits")] {
        let error = LabelPart::join(part(0), lower).unwrap_err();
        assert!(error.to_string().contains(names), "{error}");
    }
    assert!(LabelPart::join(part(0), part(1)).is_ok());
    let changed = [1u8, 2, 1];
    let changed = ValueImage::new(Samples::new(3, 1, &changed).unwrap()).unwrap();
    let numbers = part(0).finish().unwrap().into_bands().remove(0);
    let refused = Engine::cpu().label_values_band::<u32, _>(&changed, &numbers, four);
    assert!(matches!(
        refused,
        Err(Error::ImageChanged {
            before: 2,
            now: 3,
            ..
        })
    ));
}
