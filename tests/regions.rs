//! Regions of values, against each value's own binary image traced by another algorithm, against a
//! flood fill, and against what polygons of a partition must be.

use std::collections::HashMap;
use std::fmt::Debug;
use std::ops::ControlFlow;

use glam::IVec2;
use trazar::trace::{ContourOptions, RegionPart, ValueBand};
use trazar::{
    Approximation, BinaryImage, BorderKind, Connectivity, Contours, Engine, Geometry, PixelValue,
    RegionOptions, Regions, Samples, TraceAlgorithm, TraceOptions, ValueImage,
};
use trazar_test_support::contours::RETRIEVALS;
use trazar_test_support::seeds::{self, Random};
use trazar_test_support::threads::on_threads;

/// Values and the image's width.
#[derive(Clone, Debug)]
struct Picture {
    name: String,
    width: usize,
    values: Vec<u32>,
}

impl Picture {
    fn new(name: &str, width: usize, height: usize, value: impl Fn(usize, usize) -> usize) -> Self {
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        Self {
            name: format!("{name}, {width} × {height}"),
            width,
            values: pixels.map(|(x, y)| value(x, y) as u32).collect(),
        }
    }

    fn height(&self) -> usize {
        self.values.len() / self.width
    }

    /// The same picture with other values.
    fn map<T>(&self, value: impl Fn(u32) -> T) -> Vec<T> {
        self.values.iter().map(|&old| value(old)).collect()
    }
}

/// Random pixels of some values, a random part of them in rectangles.
fn random_picture(random: &mut Random) -> Picture {
    let most_columns = [20, 20, 20, 200][random.below(4) as usize];
    let most_rows = [20, 20, 20, 90][random.below(4) as usize];
    let width = 1 + random.below(most_columns) as usize;
    let height = 1 + random.below(most_rows) as usize;
    let most = [1, 2, 3, 4, 9, 1000][random.below(6) as usize];
    let mut values: Vec<u32> = (0..width * height).map(|_| random.below(most)).collect();
    for _ in 0..random.below(12) {
        let (x, y) = (random.below(width as u32), random.below(height as u32));
        let (right, bottom) = (x + random.below(12), y + random.below(12));
        let value = random.below(most);
        for y in y..bottom.min(height as u32) {
            for x in x..right.min(width as u32) {
                values[y as usize * width + x as usize] = value;
            }
        }
    }
    Picture {
        name: format!("{most} random values, {width} × {height}: {values:?}"),
        width,
        values,
    }
}

/// Pictures in which mistakes would show.
fn patterns() -> Vec<Picture> {
    let spiral = |x: usize, y: usize| {
        let (dx, dy) = (x as f64 - 40.0, y as f64 - 33.0);
        (dx.hypot(dy) / 4.0 + dy.atan2(dx) / std::f64::consts::TAU * 5.0) as usize % 5
    };
    let ring =
        |side: usize| move |x: usize, y: usize| x.min(y).min(side - 1 - x).min(side - 1 - y) % 4;
    vec![
        Picture::new("one pixel", 1, 1, |_, _| 3),
        Picture::new("one row", 130, 1, |x, _| x / 3 % 4),
        Picture::new("one column", 1, 130, |_, y| y / 5 % 3),
        Picture::new("one value", 70, 9, |_, _| 7),
        Picture::new("a value per pixel", 67, 31, |x, y| y * 67 + x),
        Picture::new("checkerboard of two", 66, 20, |x, y| (x + y) % 2),
        Picture::new("checkerboard of three", 66, 20, |x, y| (x + y) % 3),
        Picture::new("crossed diagonals", 65, 21, |x, y| {
            [1, 2, 2, 1, 3][(x % 2 + 2 * (y % 2)) % 5]
        }),
        Picture::new("columns", 129, 12, |x, _| x % 3),
        Picture::new("rows", 63, 40, |_, y| y % 3),
        Picture::new("diagonals", 64, 40, |x, y| (x + 2 * y) / 2 % 4),
        Picture::new("spirals", 90, 66, spiral),
        Picture::new("nested rings", 65, 65, ring(65)),
        Picture::new("rings around rings", 41, 41, |x, y| {
            ring(41)(x, y) * 10 + usize::from(x % 3 == 1 && y % 4 == 2)
        }),
        Picture::new("65,536 labels", 512, 512, |x, y| y / 2 * 256 + x / 2),
    ]
}

/// The pixels with value `value`.
fn bits_of<T: PixelValue>(image: &ValueImage<'_, T>, value: T) -> BinaryImage {
    let is_value = |x, y| image.get(x, y) == Some(value);
    BinaryImage::from_fn(image.width(), image.height(), is_value).unwrap()
}

/// The values that count, ascending.
fn values_of<T: PixelValue>(image: &ValueImage<'_, T>) -> Vec<T> {
    let pixels = (0..image.height()).flat_map(|y| (0..image.width()).map(move |x| (x, y)));
    let mut values: Vec<T> = pixels.filter_map(|(x, y)| image.get(x, y)).collect();
    values.sort_by(|a, b| a.partial_cmp(b).unwrap());
    values.dedup();
    values
}

/// All options of tracing that go together.
fn all_options() -> Vec<ContourOptions> {
    let mut all = Vec::new();
    for retrieval in RETRIEVALS {
        for approximation in [
            Approximation::None,
            Approximation::Simple,
            Approximation::TehChinL1,
            Approximation::TehChinKCos,
        ] {
            for geometry in [Geometry::Centers, Geometry::Edges] {
                let options = ContourOptions::default()
                    .retrieval(retrieval)
                    .approximation(approximation)
                    .geometry(geometry);
                if options.validate().is_ok() {
                    all.push(options);
                }
            }
        }
    }
    all
}

/// Compares the contours of values with those of each value's own image.
fn check_contours<T: PixelValue>(
    image: &ValueImage<'_, T>,
    all_options: &[ContourOptions],
    what: &dyn Debug,
) {
    let engine = Engine::cpu();
    let values = values_of(image);
    let bits: Vec<BinaryImage> = values.iter().map(|&value| bits_of(image, value)).collect();
    for options in all_options {
        let found = engine.trace_values(image, options).unwrap();
        assert_eq!(found.values(), values, "{options:?}, {what:?}");
        let last = found.group_offsets().last().copied();
        assert_eq!(last, Some(found.contours().len()));
        for (group, bits) in found.iter().zip(&bits) {
            let suzuki = TraceOptions::from(*options).algorithm(TraceAlgorithm::Suzuki);
            let expected = engine.trace(bits, &suzuki).unwrap();
            let what = format!("value {:?}, {options:?}, {what:?}", group.value());
            assert_eq!(group.points(), expected.points(), "{what}");
            assert_eq!(group.kinds(), expected.kinds(), "{what}");
            assert!(
                group.hierarchy().eq(expected.hierarchy().iter().copied()),
                "{what}"
            );
            let first = group.offsets()[0];
            let offsets = group.offsets().iter().map(|offset| offset - first);
            assert!(offsets.eq(expected.offsets().iter().copied()), "{what}");
            for (contour, expected) in group.contours().zip(expected.iter()) {
                assert_eq!(contour.points(), expected.points());
                assert!(contour.children().count() == expected.children().count());
            }
        }
    }
}

/// The labels of a flood fill, from every first pixel in raster order.
fn flood<T: PixelValue>(image: &ValueImage<'_, T>, connectivity: Connectivity) -> Vec<u32> {
    let (width, height) = (image.width() as i32, image.height() as i32);
    let mut labels = vec![0; (width * height) as usize];
    let mut count = 0;
    let get = |x, y| image.get(x as u32, y as u32);
    for y in 0..height {
        for x in 0..width {
            let at = |x: i32, y: i32| (y * width + x) as usize;
            let Some(value) = get(x, y) else { continue };
            if labels[at(x, y)] != 0 {
                continue;
            }
            count += 1;
            labels[at(x, y)] = count;
            let mut todo = vec![(x, y)];
            while let Some((x, y)) = todo.pop() {
                for (dx, dy) in (-1..=1).flat_map(|dx| (-1..=1).map(move |dy| (dx, dy))) {
                    let joined = connectivity == Connectivity::Eight || dx == 0 || dy == 0;
                    let (x, y) = (x + dx, y + dy);
                    if joined
                        && (0..width).contains(&x)
                        && (0..height).contains(&y)
                        && labels[at(x, y)] == 0
                        && get(x, y) == Some(value)
                    {
                        labels[at(x, y)] = count;
                        todo.push((x, y));
                    }
                }
            }
        }
    }
    labels
}

/// Twice the area within a ring, positive for an outer ring.
fn doubled_area(points: &[IVec2]) -> i64 {
    let next = points.iter().cycle().skip(1);
    let cross = |(a, b): (&IVec2, &IVec2)| {
        i64::from(b.x) * i64::from(a.y) - i64::from(a.x) * i64::from(b.y)
    };
    points.iter().zip(next).map(cross).sum()
}

/// The unit edges of a ring, each with its direction.
fn unit_edges(points: &[IVec2]) -> Vec<(IVec2, IVec2)> {
    let mut edges = Vec::new();
    for (a, b) in points.iter().zip(points.iter().cycle().skip(1)) {
        let step = (*b - *a).signum();
        assert!(
            step.x == 0 || step.y == 0,
            "an edge is neither horizontal nor vertical"
        );
        let mut at = *a;
        while at != *b {
            edges.push((at, at + step));
            at += step;
        }
    }
    edges
}

/// The regions found in bands of `rows` rows. Their parts are joined from the bottom up. Pixels
/// that do not count are masked. `None` if no pixel counts.
fn in_bands<T: PixelValue>(
    image: &ValueImage<'_, T>,
    options: &RegionOptions,
    rows: u32,
) -> Option<Regions<T>> {
    let (width, height) = (image.width(), image.height());
    let columns = || 0..width;
    let any = (0..height).find_map(|y| columns().find_map(|x| image.get(x, y)))?;
    let bands: Vec<(Vec<T>, BinaryImage)> = (0..height)
        .step_by(rows as usize)
        .map(|first| {
            let end = height.min(first + rows);
            let pixels = (first..end).flat_map(|y| columns().map(move |x| (x, y)));
            let values = pixels
                .map(|(x, y)| image.get(x, y).unwrap_or(any))
                .collect();
            let counts = |x, y| image.get(x, first + y).is_some();
            (
                values,
                BinaryImage::from_fn(width, end - first, counts).unwrap(),
            )
        })
        .collect();
    let images: Vec<ValueImage<'_, T>> = bands
        .iter()
        .map(|(values, mask)| {
            let samples = Samples::new(width, mask.height(), values).unwrap();
            ValueImage::new(samples).unwrap().mask(mask).unwrap()
        })
        .collect();
    let part = |i: usize| {
        let mut band = ValueBand::new(&images[i], i as u32 * rows);
        if i > 0 {
            band = band.with_above(&images[i - 1]);
        }
        if let Some(below) = images.get(i + 1) {
            band = band.with_below(below);
        }
        RegionPart::trace(band, options).unwrap()
    };
    let parts = (0..images.len()).rev().map(part);
    let joined = parts.reduce(|lower, upper| RegionPart::join(upper, lower).unwrap());
    Some(joined.unwrap().finish().unwrap())
}

/// Checks rings against labels of a flood fill, and what a partition must be; and those of bands.
fn check_regions<T: PixelValue>(image: &ValueImage<'_, T>, what: &dyn Debug) {
    for connectivity in [Connectivity::Four, Connectivity::Eight] {
        let options = RegionOptions::default().connectivity(connectivity);
        let regions = Engine::cpu().trace_regions(image, &options).unwrap();
        for rows in [1, 1 + (image.width() + image.height()) % 6, 64] {
            if let Some(bands) = in_bands(image, &options, rows) {
                let same = bands == regions;
                assert!(same, "bands of {rows} rows, {connectivity:?}, {what:?}");
            }
        }
        let labels = flood(image, connectivity);
        let found = Engine::cpu().label_values(image, connectivity).unwrap();
        assert_eq!(found.as_slice(), labels, "{connectivity:?}, {what:?}");
        let count = labels.iter().copied().max().unwrap();
        assert_eq!((found.count(), regions.count()), (count, count), "{what:?}");

        let mut areas = vec![0i64; count as usize + 1];
        for &label in &labels {
            areas[label as usize] += 2;
        }
        areas[0] = 0;
        let contours: &Contours = regions.contours();
        let mut edges: HashMap<(IVec2, IVec2), u32> = HashMap::new();
        let mut outer = 0;
        for (i, ring) in contours.iter().enumerate() {
            let (region, value) = (regions.regions()[i], regions.values()[i]);
            match ring.kind() {
                BorderKind::Outer => {
                    outer += 1;
                    assert_eq!(region, outer, "{what:?}");
                    assert_eq!(ring.links().parent, None);
                    let first = ring.points()[0];
                    let pixel = (first.x as u32, first.y as u32);
                    assert_eq!(image.get(pixel.0, pixel.1), Some(value), "{what:?}");
                    assert_eq!(found.get(pixel.0, pixel.1), region);
                }
                BorderKind::Hole => {
                    let parent = ring.links().parent.unwrap();
                    assert_eq!(contours.kinds()[parent], BorderKind::Outer);
                    assert_eq!(regions.regions()[parent], region, "{what:?}");
                    assert!(regions.values()[parent] == value);
                }
            }
            let area = doubled_area(ring.points());
            assert_eq!(area > 0, ring.kind() == BorderKind::Outer, "{what:?}");
            areas[region as usize] -= area;
            for edge in unit_edges(ring.points()) {
                let before = edges.insert(edge, region);
                assert_eq!(before, None, "an edge is passed twice, {what:?}");
            }
            if connectivity == Connectivity::Four {
                let mut corners = unit_edges(ring.points());
                let length = corners.len();
                corners.sort_by_key(|(from, _)| (from.x, from.y));
                corners.dedup_by_key(|(from, _)| *from);
                assert_eq!(
                    corners.len(),
                    length,
                    "a ring passes a corner twice, {what:?}"
                );
            }
        }
        assert_eq!(outer, count);
        assert!(areas.iter().all(|&rest| rest == 0), "{areas:?}, {what:?}");
        // Every edge between two regions is passed once in each direction, with each region on its
        // left, and no other edge is passed.
        let label = |x: i32, y: i32| {
            if x < 0 || y < 0 {
                return 0;
            }
            found.get(x as u32, y as u32)
        };
        let mut expected: HashMap<(IVec2, IVec2), u32> = HashMap::new();
        let mut expect = |from: [i32; 2], to: [i32; 2], [left, right]: [u32; 2]| {
            let [from, to] = [from, to].map(IVec2::from_array);
            for (edge, region) in [((from, to), left), ((to, from), right)] {
                if left != right && region != 0 {
                    expected.insert(edge, region);
                }
            }
        };
        for y in 0..=image.height() as i32 {
            for x in 0..=image.width() as i32 {
                // Down along the west side of a pixel, and to the right along its north side.
                expect([x, y], [x, y + 1], [label(x, y), label(x - 1, y)]);
                expect([x, y], [x + 1, y], [label(x, y - 1), label(x, y)]);
            }
        }
        assert!(edges == expected, "{connectivity:?}, {what:?}");
    }
}

/// All checks of one image.
fn check<T: PixelValue>(width: usize, values: &[T], options: &[ContourOptions], what: &dyn Debug) {
    let height = values.len() / width;
    let samples = Samples::new(width as u32, height as u32, values).unwrap();
    let image = ValueImage::new(samples).unwrap();
    check_contours(&image, options, what);
    check_regions(&image, what);
    let background = values[values.len() / 2];
    let without = image.clone().background(background).unwrap();
    check_contours(&without, options, what);
    check_regions(&without, what);
    let mask = BinaryImage::from_fn(width as u32, height as u32, |x, y| (x * 7 + y * 5) % 11 < 7);
    let mask = mask.unwrap();
    let masked = without.mask(&mask).unwrap();
    check_contours(&masked, options, what);
    check_regions(&masked, what);
}

/// The options under which a mistake in any stage shows.
fn main_options() -> Vec<ContourOptions> {
    let simple = all_options().into_iter();
    simple
        .filter(|options| options.approximation == Approximation::Simple)
        .collect()
}

#[test]
fn random_images_match() {
    let mut random = Random::new(seeds::seed_or(1));
    let options = all_options();
    for _ in 0..150 {
        let picture = random_picture(&mut random);
        let threads = [1, 4][random.below(2) as usize];
        on_threads(threads, || {
            check(picture.width, &picture.values, &options, &picture.name);
        });
    }
}

#[test]
fn every_image_of_few_pixels_and_three_values_matches() {
    let options = main_options();
    on_threads(1, || {
        for width in [2, 3, 4] {
            let count = if width == 4 { 8 } else { 9 };
            for number in 0..3u32.pow(count - 1) {
                let digits = (0..count).map(|i| (number / 3u32.pow(i) % 3) as u8);
                let mut values: Vec<u8> = digits.collect();
                values.truncate(values.len() / width * width);
                let samples = Samples::new(width as u32, (values.len() / width) as u32, &values);
                let image = ValueImage::new(samples.unwrap()).unwrap();
                check_contours(&image, &options, &values);
                check_regions(&image, &values);
            }
        }
    });
}

#[test]
fn patterns_match() {
    let options = main_options();
    for picture in patterns() {
        let few = picture.values.iter().all(|&value| value < 100);
        if few {
            check(picture.width, &picture.values, &options, &picture.name);
            continue;
        }
        // One image for each of many values would take long.
        let (width, height) = (picture.width as u32, picture.height() as u32);
        let samples = Samples::new(width, height, &picture.values).unwrap();
        let image = ValueImage::new(samples).unwrap();
        check_regions(&image, &picture.name);
    }
}

/// Strips have seams: images of one strip on one thread, and of five on four threads.
#[test]
fn large_images_match_on_any_number_of_threads() {
    let mut random = Random::new(seeds::seed_or(2));
    let (width, height) = (500, 650);
    let centers: Vec<[i64; 2]> = (0..12)
        .map(|_| [width, height].map(|side| i64::from(random.below(side as u32))))
        .collect();
    let cells = Picture::new("cells", width, height, |x, y| {
        let distance = |[cx, cy]: [i64; 2]| (cx - x as i64).pow(2) + (cy - y as i64).pow(2);
        let nearest = (0..centers.len()).min_by_key(|&i| distance(centers[i]));
        let nearest = nearest.unwrap();
        // Nested rings within the cells.
        nearest * 3 + (distance(centers[nearest]) as f64).sqrt() as usize / 9 % 3
    });
    let noisy = Picture::new("noise", width, height, |x, y| {
        ((x * 7) ^ (y * 13) ^ (x * y)) / 32 % 4
    });
    for picture in [cells, noisy] {
        let samples = Samples::new(width as u32, height as u32, &picture.values).unwrap();
        let image = ValueImage::new(samples).unwrap().background(1).unwrap();
        for threads in [1, 4] {
            on_threads(threads, || {
                check_regions(&image, &picture.name);
                check_contours(&image, &main_options(), &picture.name);
            });
        }
    }
}

#[test]
fn types_and_layouts_make_no_difference() {
    let mut random = Random::new(seeds::seed_or(3));
    let options = main_options();
    for _ in 0..12 {
        let picture = random_picture(&mut random);
        let what = &picture.name;
        let width = picture.width;
        check(width, &picture.map(|value| value as u8), &options, what);
        check(
            width,
            &picture.map(|value| value as u16 * 60),
            &options,
            what,
        );
        check(
            width,
            &picture.map(|value| u32::MAX - value),
            &options,
            what,
        );
        check(
            width,
            &picture.map(|value| 3 - value as i16),
            &options,
            what,
        );
        check(
            width,
            &picture.map(|value| 1 - value as i32),
            &options,
            what,
        );
        let wide = |value| (i64::from(value) - 1) << 40;
        check(width, &picture.map(wide), &options, what);
        // Zero is there with both signs, and some pixels are not a number.
        let mut floats = picture.map(|value| (value as f32 - 2.0) * 0.5);
        for (i, value) in floats.iter_mut().enumerate() {
            if *value == 0.0 && i % 2 == 1 {
                *value = -0.0;
            }
            if i % 7 == 3 {
                *value = f32::NAN;
            }
        }
        check(width, &floats, &options, what);

        // The same values by columns, with gaps between them.
        let height = picture.height();
        let mut by_columns = vec![77u32; width * (2 * height + 3)];
        for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
            by_columns[x * (2 * height + 3) + 2 * y] = picture.values[y * width + x];
        }
        let size = (width as u32, height as u32);
        let strided = Samples::with_strides(size.0, size.1, 2, 2 * height + 3, &by_columns);
        let strided = ValueImage::new(strided.unwrap()).unwrap();
        let dense = ValueImage::new(Samples::new(size.0, size.1, &picture.values).unwrap());
        let dense = dense.unwrap();
        let engine = Engine::cpu();
        let regions = RegionOptions::default();
        assert!(
            engine.trace_regions(&strided, &regions).unwrap()
                == engine.trace_regions(&dense, &regions).unwrap()
        );
        assert!(
            engine.label_values(&strided, Connectivity::Eight).unwrap()
                == engine.label_values(&dense, Connectivity::Eight).unwrap()
        );
    }
}

/// Images of a batch have the results that each has by itself, in the order of the images.
#[test]
fn batches_match_single_images() {
    let mut random = Random::new(seeds::seed_or(7));
    let pictures: Vec<Picture> = (0..40).map(|_| random_picture(&mut random)).collect();
    let images = pictures.iter().map(|picture| {
        let height = picture.height() as u32;
        let samples = Samples::new(picture.width as u32, height, &picture.values).unwrap();
        ValueImage::new(samples).unwrap().background(0).unwrap()
    });
    let images: Vec<_> = images.collect();
    let (region_options, contour_options) = (RegionOptions::default(), ContourOptions::default());
    for engine in [Engine::cpu(), Engine::auto()] {
        let regions = engine
            .trace_regions_batch(&images, &region_options)
            .unwrap();
        let contours = engine
            .trace_values_batch(&images, &contour_options)
            .unwrap();
        let labels = engine
            .label_values_batch(&images, Connectivity::Eight)
            .unwrap();
        assert_eq!([regions.len(), contours.len(), labels.len()], [40; 3]);
        for (i, image) in images.iter().enumerate() {
            assert_eq!(labels[i].as_slice(), flood(image, Connectivity::Eight));
            let one = engine.trace_regions(image, &region_options).unwrap();
            assert!(regions[i] == one, "{}", pictures[i].name);
            assert_eq!(contours[i].values(), values_of(image));
            let one = engine.trace_values(image, &contour_options).unwrap();
            assert!(contours[i] == one, "{}", pictures[i].name);
        }
    }
    let none: [ValueImage<'_, u32>; 0] = [];
    let regions = Engine::cpu().trace_regions_batch(&none, &region_options);
    assert!(regions.unwrap().is_empty());
    let stopped = Engine::cpu().with_progress(|_| ControlFlow::Break(()));
    let refused = stopped.trace_regions_batch(&images, &region_options);
    assert!(matches!(refused, Err(trazar::Error::Cancelled)));
}

#[test]
fn nothing_that_counts_gives_nothing() {
    let values = [f32::NAN; 6];
    let image = ValueImage::new(Samples::new(3, 2, &values).unwrap()).unwrap();
    let engine = Engine::cpu();
    let regions = engine
        .trace_regions(&image, &RegionOptions::default())
        .unwrap();
    assert!(regions.is_empty() && regions.count() == 0);
    let contours = engine
        .trace_values(&image, &ContourOptions::default())
        .unwrap();
    assert!(contours.is_empty());
    assert_eq!(contours.group_offsets(), [0]);
    let labels = engine.label_values(&image, Connectivity::Four).unwrap();
    assert_eq!((labels.as_slice(), labels.count()), (&[0; 6][..], 0));
}

#[test]
fn groups_are_found_by_index_and_by_value() {
    let values = [7u8, 7, 0, 3, 0, 7];
    let image = ValueImage::new(Samples::new(3, 2, &values).unwrap()).unwrap();
    let contours = Engine::cpu()
        .trace_values(&image, &ContourOptions::default())
        .unwrap();
    let all = contours.values();
    assert!(all.is_sorted() && all.contains(&3) && all.contains(&7));
    for value in 0..=255 {
        let group = contours.of_value(value);
        assert_eq!(group.is_some(), all.contains(&value), "{value}");
        assert!(group.is_none_or(|group| group.value() == value), "{value}");
    }
    for index in 0..all.len() + 2 {
        let value = contours.get(index).map(|group| group.value());
        assert_eq!(value, all.get(index).copied(), "{index}");
    }
    let lens = contours.iter().map(|group| group.len());
    assert_eq!(lens.sum::<usize>(), contours.contours().len());
}

#[test]
fn a_mask_of_another_size_is_refused() {
    let values = [1u8; 6];
    let image = ValueImage::new(Samples::new(3, 2, &values).unwrap()).unwrap();
    let mask = BinaryImage::new(2, 3).unwrap();
    let refused = image.clone().mask(&mask).unwrap_err();
    assert!(matches!(refused, trazar::Error::InvalidOption(_)));
    assert_eq!(
        refused.to_string(),
        "a mask of 2 × 3 pixels does not fit an image of 3 × 2: they must have the same size"
    );
}
