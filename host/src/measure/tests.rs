//! Measures against plain definitions over lists of pixels; and the same bits on all threads.
//!
//! `python/tests/test_measure.py` compares them with scikit-image.

use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::FRAC_1_SQRT_2;

use approx::assert_relative_eq;
use rayon::ThreadPoolBuilder;

use super::*;
use crate::Engine;
use crate::seeds::{Random, seed_or};

type Pixel = (i64, i64);

/// The pixels of each label, row before column, in raster order.
fn objects(width: usize, labels: &[i32]) -> BTreeMap<i64, Vec<Pixel>> {
    let mut objects: BTreeMap<i64, Vec<Pixel>> = BTreeMap::new();
    for (at, &label) in labels.iter().enumerate().filter(|(_, label)| **label > 0) {
        let pixel = ((at / width) as i64, (at % width) as i64);
        objects.entry(label.into()).or_default().push(pixel);
    }
    objects
}

/// The number of connected sets among `pixels`, by flooding.
fn count_sets(pixels: &BTreeSet<Pixel>, with_corners: bool) -> i64 {
    let mut left = pixels.clone();
    let mut sets = 0;
    while let Some(first) = left.pop_first() {
        sets += 1;
        let mut open = vec![first];
        while let Some((y, x)) = open.pop() {
            for (dy, dx) in (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dy, dx))) {
                let is_side = dy == 0 || dx == 0;
                if (is_side || with_corners) && left.remove(&(y + dy, x + dx)) {
                    open.push((y + dy, x + dx));
                }
            }
        }
    }
    sets
}

/// The other pixels of the box and of a frame around it.
fn others(pixels: &BTreeSet<Pixel>) -> BTreeSet<Pixel> {
    let rows = pixels.iter().map(|pixel| pixel.0);
    let columns = pixels.iter().map(|pixel| pixel.1);
    let [top, bottom] = [rows.clone().min().unwrap() - 1, rows.max().unwrap() + 1];
    let [left, right] = [
        columns.clone().min().unwrap() - 1,
        columns.max().unwrap() + 1,
    ];
    let all = (top..=bottom).flat_map(|y| (left..=right).map(move |x| (y, x)));
    all.filter(|pixel| !pixels.contains(pixel)).collect()
}

/// The edges of the hull: directions between two points with all points on one side.
fn hull_edges(points: &[Pixel]) -> Vec<(Pixel, Pixel)> {
    let mut ends: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for &(y, x) in points {
        let ends = ends.entry(y).or_insert((x, x));
        *ends = (ends.0.min(x), ends.1.max(x));
    }
    let ends: Vec<Pixel> = ends
        .iter()
        .flat_map(|(&y, &(first, last))| [(y, first), (y, last)])
        .collect();
    let pairs = ends.iter().flat_map(|&a| ends.iter().map(move |&b| (a, b)));
    pairs
        .filter(|&(a, b)| a != b && ends.iter().all(|&c| side(a, b, c) >= 0))
        .collect()
}

/// On which side of a line a point is.
fn side(a: Pixel, b: Pixel, c: Pixel) -> i64 {
    (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0)
}

/// The middles of the sides of pixels, in doubled coordinates.
fn middles(pixels: impl IntoIterator<Item = Pixel>) -> Vec<Pixel> {
    let pixels = pixels.into_iter().map(|(y, x)| (2 * y, 2 * x));
    let all = pixels.flat_map(|(y, x)| [(y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)]);
    all.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The mean of a value over pixels.
fn mean(pixels: &[Pixel], value: impl Fn(&Pixel) -> f64) -> f64 {
    pixels.iter().map(value).sum::<f64>() / pixels.len() as f64
}

/// The mean row and the mean column.
fn centroid(pixels: &[Pixel]) -> (f64, f64) {
    (mean(pixels, |p| p.0 as f64), mean(pixels, |p| p.1 as f64))
}

/// The first row and the first column of the bounding box.
fn corner(pixels: &[Pixel]) -> (f64, f64) {
    let top = pixels.iter().map(|p| p.0).min().unwrap();
    let left = pixels.iter().map(|p| p.1).min().unwrap();
    (top as f64, left as f64)
}

/// What is compared of an object, as its definition says.
fn expected(property: &str, list: &[Pixel]) -> f64 {
    let pixels: BTreeSet<Pixel> = list.iter().copied().collect();
    let n = list.len() as f64;
    let has = |y: i64, x: i64| pixels.contains(&(y, x));
    match property {
        "centroid-0" => centroid(list).0,
        "centroid-1" => centroid(list).1,
        "moments-3-2" | "moments_central-1-2" => {
            let ((cy, cx), (i, j)) = match property {
                "moments-3-2" => (corner(list), (3, 2)),
                _ => (centroid(list), (1, 2)),
            };
            n * mean(list, |&(y, x)| {
                (y as f64 - cy).powi(i) * (x as f64 - cx).powi(j)
            })
        }
        "perimeter" => {
            let is_border = |y, x| {
                has(y, x) && !(has(y - 1, x) && has(y + 1, x) && has(y, x - 1) && has(y, x + 1))
            };
            let weight = |&(y, x): &Pixel| {
                let count = |steps: [(i64, i64); 4]| {
                    steps
                        .iter()
                        .filter(|(dy, dx)| is_border(y + dy, x + dx))
                        .count()
                };
                let sides = count([(-1, 0), (1, 0), (0, -1), (0, 1)]);
                let corners = count([(-1, -1), (-1, 1), (1, -1), (1, 1)]);
                let root = 2f64.sqrt();
                match (is_border(y, x), sides, corners) {
                    (true, 2 | 3, 0..=2) => 1.0,
                    (true, 0, 2) | (true, 1, 3) => root,
                    (true, 1, 1 | 2) => (1.0 + root) / 2.0,
                    _ => 0.0,
                }
            };
            list.iter().map(weight).sum()
        }
        "perimeter_crofton" => {
            // The runs' last pixels in four directions.
            let ends = |dy, dx| list.iter().filter(|&&(y, x)| !has(y + dy, x + dx)).count() as f64;
            let straight = ends(0, 1) + ends(1, 0);
            let oblique = (ends(1, 1) + ends(1, -1)) / 2f64.sqrt();
            std::f64::consts::PI / 4.0 * (straight + oblique)
        }
        "euler_number" => {
            (count_sets(&pixels, true) - (count_sets(&others(&pixels), false) - 1)) as f64
        }
        "euler_number_4" => {
            (count_sets(&pixels, false) - (count_sets(&others(&pixels), true) - 1)) as f64
        }
        "area_filled" => {
            let mut outside = others(&pixels);
            let first = *outside.first().unwrap();
            // Flooded from the frame's corner.
            let mut open = vec![first];
            outside.remove(&first);
            while let Some((y, x)) = open.pop() {
                for (dy, dx) in (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dy, dx))) {
                    if outside.remove(&(y + dy, x + dx)) {
                        open.push((y + dy, x + dx));
                    }
                }
            }
            n + outside.len() as f64
        }
        "area_convex" | "feret_diameter_max" => {
            let edges = hull_edges(&middles(list.iter().copied()));
            let inside: Vec<Pixel> = pixels
                .iter()
                .copied()
                .chain(others(&pixels))
                .filter(|&(y, x)| {
                    let center = (2 * y, 2 * x);
                    edges.iter().all(|&(a, b)| side(a, b, center) >= 0)
                })
                .collect();
            if property == "area_convex" {
                return inside.len() as f64;
            }
            let outline = middles(inside);
            let squares = outline.iter().flat_map(|a| {
                outline
                    .iter()
                    .map(|b| (a.0 - b.0).pow(2) + (a.1 - b.1).pow(2))
            });
            (squares.max().unwrap() as f64).sqrt() / 2.0
        }
        _ => unreachable!("{property}"),
    }
}

/// A label image: noise of a few labels, blocks, or rings. Labels are small, or too large for a
/// table.
fn image(random: &mut Random) -> (usize, usize, Vec<i32>) {
    let [width, height] = [0; 2].map(|_| 1 + random.below(14) as usize);
    let (kind, labels, step) = (
        random.below(3),
        1 + random.below(4),
        1 + random.below(4) as usize,
    );
    let blocks: Vec<i32> = (0..256)
        .map(|_| random.below(labels + 2) as i32 - 1)
        .collect();
    let unit = if random.below(3) == 0 { 400_000_000 } else { 1 };
    let values = (0..width * height).map(|at| {
        let (y, x) = (at / width, at % width);
        unit * match kind {
            0 => random.below(labels + 2) as i32 - 1,
            1 => blocks[y / step * 16 + x / step],
            _ => {
                let ring = y.min(x).min(height - 1 - y).min(width - 1 - x);
                (ring as i32 / step as i32 % 2) * 3 + i32::from(random.below(9) == 0)
            }
        }
    });
    let values = values.collect();
    (width, height, values)
}

#[test]
fn random_images_have_the_measures_of_the_definitions() {
    let columns = [
        "centroid-0",
        "centroid-1",
        "moments-3-2",
        "moments_central-1-2",
        "perimeter",
        "perimeter_crofton",
        "euler_number",
        "euler_number_4",
        "area_filled",
        "area_convex",
        "feret_diameter_max",
    ];
    let options = MeasureOptions::default().properties(Properties::all(false));
    let mut random = Random::new(seed_or(30));
    for _ in 0..200 {
        let (width, height, labels) = image(&mut random);
        let samples = Samples::new(width as u32, height as u32, &labels).unwrap();
        let objects = objects(width, &labels);
        let table = columns.map(|column| {
            let all = objects.values().map(|pixels| expected(column, pixels));
            all.collect::<Vec<f64>>()
        });
        // Strips of any height give the same.
        for rows in [1, 2, 3, height] {
            let found = measure_images(&samples, None, &options, rows, &Progress::SILENT).unwrap();
            let values: Vec<i64> = objects.keys().copied().collect();
            assert_eq!(found.integers("label"), Some(&values[..]));
            for (column, expected) in columns.iter().zip(&table) {
                for (row, label) in values.iter().enumerate() {
                    let value = match found.column(column).unwrap().values() {
                        Values::Integers(values) => values[row] as f64,
                        Values::Floats(values) => values[row],
                    };
                    let expected = expected[row];
                    assert!(
                        (value - expected).abs() <= 1e-9 * expected.abs().max(1.0),
                        "{column} of label {label}: {value}, not {expected}; strips of {rows} \
                         rows, {width} × {height}: {labels:?}"
                    );
                }
            }
        }
    }
}

/// Axes and directions are those of the ellipse of the pixels' variances.
#[test]
fn axes_are_those_of_the_variances() {
    let options = MeasureOptions::default().properties(Properties::all(false));
    let mut random = Random::new(seed_or(33));
    for _ in 0..200 {
        let (width, height, labels) = image(&mut random);
        let samples = Samples::new(width as u32, height as u32, &labels).unwrap();
        let found = Engine::cpu().measure(samples, &options).unwrap();
        for (row, pixels) in objects(width, &labels).values().enumerate() {
            let column = |name: &str| found.floats(name).unwrap()[row];
            let (cy, cx) = centroid(pixels);
            let along = |(y, x): (f64, f64)| {
                mean(pixels, |p| {
                    ((p.0 as f64 - cy) * y + (p.1 as f64 - cx) * x).powi(2)
                })
            };
            // The largest and the smallest variance of all directions.
            let half = (along((1.0, 0.0)) + along((0.0, 1.0))) / 2.0;
            let oblique = along((FRAC_1_SQRT_2, FRAC_1_SQRT_2));
            let apart = (along((1.0, 0.0)) - half).hypot(oblique - half);
            let (most, least) = (half + apart, half - apart);
            let is = |name: &str, found: f64, expected: f64| {
                assert!(
                    (found - expected).abs() < 1e-9,
                    "{name}: {found}, not {expected}"
                );
            };
            let square = |name: &str| (column(name) / 4.0).powi(2);
            is("axis_major_length", square("axis_major_length"), most);
            is("axis_minor_length", square("axis_minor_length"), least);
            let angle = column("orientation");
            is("orientation", along((angle.cos(), angle.sin())), most);
            let flatness = if most > 0.0 { 1.0 - least / most } else { 0.0 };
            is("eccentricity", column("eccentricity").powi(2), flatness);
        }
    }
}

#[test]
fn intensities_of_all_types_have_the_measures_of_the_definitions() {
    fn check<I: Intensity + Into<f64>>(random: &mut Random, new: impl Fn(u32) -> I) {
        let (width, height, labels) = image(random);
        let values: Vec<I> = labels.iter().map(|_| new(random.below(100))).collect();
        let samples = Samples::new(width as u32, height as u32, &labels).unwrap();
        let intensities = Samples::new(width as u32, height as u32, &values).unwrap();
        let options = MeasureOptions::default().properties(Properties::all(true));
        for rows in [1, 2, height] {
            let found = measure_images(
                &samples,
                Some(&intensities),
                &options,
                rows,
                &Progress::SILENT,
            )
            .unwrap();
            let column = |name: &str| found.floats(name).unwrap();
            for (row, pixels) in objects(width, &labels).values().enumerate() {
                let at =
                    |&(y, x): &Pixel| -> f64 { values[y as usize * width + x as usize].into() };
                let n = pixels.len() as f64;
                let sum: f64 = pixels.iter().map(at).sum();
                let variance: f64 = pixels.iter().map(|p| (at(p) - sum / n).powi(2)).sum();
                let least = pixels.iter().map(at).fold(f64::INFINITY, f64::min);
                let most = pixels.iter().map(at).fold(f64::NEG_INFINITY, f64::max);
                let by_row: f64 = pixels.iter().map(|p| at(p) * p.0 as f64).sum();
                let close = 1e-12;
                assert_eq!(
                    (column("intensity_min")[row], column("intensity_max")[row]),
                    (least, most)
                );
                assert_relative_eq!(column("intensity_mean")[row], sum / n, max_relative = close);
                assert_relative_eq!(
                    column("intensity_std")[row],
                    (variance / n).sqrt(),
                    epsilon = 1e-9
                );
                assert_relative_eq!(
                    column("centroid_weighted-0")[row],
                    by_row / sum,
                    epsilon = 1e-9
                );
                let (top, left) = corner(pixels);
                for (i, j) in (0..4).flat_map(|i| (0..4).map(move |j| (i, j))) {
                    let power =
                        |p: &Pixel| (p.0 as f64 - top).powi(i) * (p.1 as f64 - left).powi(j);
                    let moment: f64 = pixels.iter().map(|p| at(p) * power(p)).sum();
                    // Intensities may cancel.
                    let size: f64 = pixels.iter().map(|p| at(p).abs() * power(p)).sum();
                    let found = column(&format!("moments_weighted-{i}-{j}"))[row];
                    assert!(
                        (found - moment).abs() <= 1e-9 * size.max(1.0),
                        "moments_weighted-{i}-{j}: {found}, not {moment}"
                    );
                }
            }
        }
    }
    let mut random = Random::new(seed_or(31));
    for _ in 0..20 {
        check(&mut random, |value| value as u8 + 1);
        check(&mut random, |value| value as u16 + 1);
        check(&mut random, |value| value + 1);
        check(&mut random, |value| value as i16 - 200);
        check(&mut random, |value| value as i32 - 200);
        check(&mut random, |value| value as f32 + 0.5);
        check(&mut random, |value| f64::from(value) + 0.1);
    }
}

#[test]
fn the_greatest_labels_and_intensities_need_no_more_memory_and_lose_nothing() {
    let labels = [u32::MAX, u32::MAX, 7, 0, 0, u32::MAX - 1];
    let intensities = [i64::MIN, i64::MIN, 5, 1, 2, i64::MAX];
    let properties = [
        Property::Label,
        Property::IntensityMean,
        Property::IntensityStd,
    ];
    let options = MeasureOptions::default().properties(properties);
    let found = Engine::cpu()
        .measure_intensities(
            Samples::new(6, 1, &labels).unwrap(),
            Samples::new(6, 1, &intensities).unwrap(),
            &options,
        )
        .unwrap();
    let most = i64::from(u32::MAX);
    assert_eq!(found.integers("label"), Some(&[7, most - 1, most][..]));
    let means = found.floats("intensity_mean").unwrap();
    assert_eq!(means, [5.0, i64::MAX as f64, i64::MIN as f64]);
    assert_eq!(found.floats("intensity_std"), Some(&[0.0; 3][..]));
    assert!(!found.is_empty());
    let background = Samples::new(2, 1, &[0; 2]).unwrap();
    let none = Engine::cpu().measure(background, &MeasureOptions::default());
    assert!(none.unwrap().is_empty());
}

#[test]
fn threads_make_no_difference() {
    let (width, height) = (20_000u32, 100);
    let mut random = Random::new(seed_or(32));
    let mut last = 0;
    // Half of the labels are too large for a table.
    let labels: Vec<u32> = (0..width * height)
        .map(|_| {
            if random.below(20) == 0 {
                last = random.below(500);
            }
            if last % 2 == 0 {
                last
            } else {
                last * 8_000_000
            }
        })
        .collect();
    let values: Vec<f32> = labels
        .iter()
        .map(|_| random.below(1000) as f32 / 7.0)
        .collect();
    // NaN differs from itself.
    let properties = Properties::all(true).as_slice().to_vec();
    let properties: Vec<Property> = properties
        .into_iter()
        .filter(|property| !property.name().ends_with("_normalized"))
        .collect();
    let options = MeasureOptions::default().properties(properties);
    let on = |threads: usize| {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            Engine::cpu()
                .measure_intensities(
                    Samples::new(width, height, &labels).unwrap(),
                    Samples::new(width, height, &values).unwrap(),
                    &options,
                )
                .unwrap()
        })
    };
    let one = on(1);
    assert_eq!(one.len(), 499);
    for threads in [2, 3, 5] {
        assert!(on(threads) == one, "{threads} threads");
    }
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let labels = Samples::new(2, 1, &[1u8, 2]).unwrap();
    let engine = Engine::cpu();
    let refused = |options: MeasureOptions| engine.measure(labels, &options).unwrap_err();
    let all = MeasureOptions::default();
    let error = refused(all.clone().properties([Property::IntensityMean])).to_string();
    assert_eq!(error, "intensity_mean needs an intensity image");
    for spacing in [
        [0.0, 1.0],
        [1.0, f64::NAN],
        [f64::INFINITY, 1.0],
        [-1.0, 1.0],
    ] {
        let error = refused(all.clone().spacing(spacing)).to_string();
        assert!(error.contains("greater than 0"), "{error}");
    }
    let perimeter = all.clone().properties([Property::Perimeter]);
    assert!(
        refused(perimeter.spacing([1.0, 2.0]))
            .to_string()
            .contains("perimeter")
    );
    let other = Samples::new(1, 2, &[1u8, 2]).unwrap();
    let error = engine.measure_intensities(labels, other, &all).unwrap_err();
    assert!(error.to_string().contains("1 × 2"), "{error}");
}
