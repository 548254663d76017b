//! Files of many contours, read by plain readers of each format.

use serde_json::Value;
use trazar::formats::{
    GdsOptions, write_contours_gds, write_contours_geojson, write_contours_geojson_lines,
    write_contours_json, write_contours_svg,
};
use trazar::trace::{BandTracer, ContourSource};
use trazar::{
    Approximation, BinaryImage, BorderKind, Contours, Engine, Geometry, Retrieval, TraceOptions,
    generate,
};

use crate::regions::{layers, written};

type Points = Vec<[i64; 2]>;

fn points_of(contours: &Contours, index: usize) -> Points {
    let contour = contours.get(index).unwrap();
    let points = contour.points().iter();
    points
        .map(|point| [point.x.into(), point.y.into()])
        .collect()
}

/// The same contours, their steps in a file.
fn stored(image: &BinaryImage, options: &TraceOptions) -> impl ContourSource + use<> {
    let folder = tempfile::tempdir().unwrap();
    let tracer = BandTracer::in_file(&options.contours, folder.path()).unwrap();
    let mut rows = (0..image.height()).step_by(90);
    let traced = tracer.trace(|| {
        let Some(first) = rows.next() else {
            return Ok(None);
        };
        let count = (image.height() - first).min(90);
        let pixel = |x, y| image.get(x, first + y);
        BinaryImage::from_fn(image.width(), count, pixel).map(Some)
    });
    traced.unwrap()
}

/// The contours of each path.
fn paths(svg: &str) -> Vec<Vec<Points>> {
    let lines = svg
        .lines()
        .filter_map(|line| line.strip_prefix("<path d=\""));
    lines
        .map(|line| {
            let data = line.strip_suffix("\"/>").unwrap();
            let contours = data.split_terminator('z');
            contours
                .map(|contour| contour_of(contour.as_bytes()))
                .collect()
        })
        .collect()
}

/// The points of `M x y`, then relative `h`, `v` and `l`.
fn contour_of(mut data: &[u8]) -> Points {
    let mut points: Points = Vec::new();
    let mut command = b' ';
    while let Some(&first) = data.first() {
        if first.is_ascii_alphabetic() {
            command = first;
            data = &data[1..];
        }
        let mut number = || {
            let start = usize::from(data[0] == b' ');
            let digits = data[start + 1..].iter().take_while(|c| c.is_ascii_digit());
            let (text, rest) = data.split_at(start + 1 + digits.count());
            data = rest;
            std::str::from_utf8(&text[start..])
                .unwrap()
                .parse::<i64>()
                .unwrap()
        };
        let [x, y] = points.last().copied().unwrap_or_default();
        points.push(match command {
            b'M' => [number(), number()],
            b'h' => [x + number(), y],
            b'v' => [x, y + number()],
            b'l' => [x + number(), y + number()],
            other => panic!("the command {other}"),
        });
    }
    points
}

/// The contours of each feature: positions as they are, or those of rings.
fn feature_points(feature: &Value) -> Vec<Vec<[f64; 2]>> {
    let coordinates = feature["geometry"]["coordinates"].clone();
    match feature["geometry"]["type"].as_str().unwrap() {
        "Point" => vec![vec![serde_json::from_value(coordinates).unwrap()]],
        "LineString" => vec![serde_json::from_value(coordinates).unwrap()],
        "Polygon" => serde_json::from_value(coordinates).unwrap(),
        other => panic!("{other}"),
    }
}

/// Twice the area of a closed line, positive if it runs counter-clockwise with y pointing up.
fn doubled_area<T: Copy + Into<f64>>(points: &[[T; 2]]) -> f64 {
    let next = points.iter().skip(1).chain(points.first());
    let edges = points.iter().zip(next);
    let cross = |(a, b): (&[T; 2], &[T; 2])| {
        let ([ax, ay], [bx, by]) = (a.map(Into::into), b.map(Into::into));
        ax * by - bx * ay
    };
    edges.map(cross).sum()
}

/// A contour in the form of a feature's positions: closed if it is a ring or a line walked there
/// and back, and in the direction that is asked for.
fn positions(contour: &Points, is_outer: bool) -> Vec<[f64; 2]> {
    let mut found: Vec<_> = contour
        .iter()
        .map(|point| point.map(|number| number as f64))
        .collect();
    let area = doubled_area(&found);
    if contour.len() > 2 {
        found.push(found[0]);
    }
    if area != 0.0 && (area > 0.0) != is_outer {
        found.reverse();
    }
    found
}

/// The features of an outer border with its holes, or of a hole alone: kind, area and positions.
fn features_of(family: &[Points], is_outer: bool) -> Vec<Feature> {
    let is_flat = |contour: &Points| {
        let contour: Vec<[f64; 2]> = positions(contour, true);
        doubled_area(&contour) == 0.0
    };
    let (first, holes) = family.split_first().unwrap();
    let is_first_flat = is_flat(first);
    let (flat, holes): (Vec<_>, Vec<_>) = holes
        .iter()
        .partition(|hole| is_first_flat || is_flat(hole));
    let feature = |first: &Points, holes: &[&Points], is_outer: bool| {
        let rings: Vec<_> = std::iter::once(positions(first, true))
            .chain(holes.iter().map(|hole| positions(hole, false)))
            .collect();
        let area: f64 = rings.iter().map(|ring| doubled_area(ring)).sum();
        Feature {
            kind: if is_outer { "outer" } else { "hole" }.into(),
            area: area / 2.0,
            lines: rings,
        }
    };
    let alone = flat.into_iter().map(|hole| feature(hole, &[], false));
    std::iter::once(feature(first, &holes, is_outer))
        .chain(alone)
        .collect()
}

#[derive(Debug, PartialEq)]
struct Feature {
    kind: String,
    area: f64,
    /// Positions of a point or a line, or rings.
    lines: Vec<Vec<[f64; 2]>>,
}

impl Feature {
    fn of(feature: &Value) -> Self {
        let properties = &feature["properties"];
        Self {
            kind: properties["kind"].as_str().unwrap().into(),
            area: properties["area"].as_f64().unwrap(),
            lines: feature_points(feature),
        }
    }
}

fn check(contours: &Contours, source: &impl ContourSource, what: &str) {
    let all: Vec<Points> = (0..contours.len())
        .map(|i| points_of(contours, i))
        .collect();
    let json = written(|out| write_contours_json(source, out));
    let json: Value = serde_json::from_slice(&json).unwrap();
    let found: Vec<Points> = serde_json::from_value(json["contours"].clone()).unwrap();
    assert!(found == all, "JSON, {what}");
    let rows: Vec<[i32; 4]> = serde_json::from_value(json["hierarchy"].clone()).unwrap();
    assert!(rows == contours.hierarchy(), "JSON, {what}");

    let is_outer = |i: usize| contours.kinds()[i] == BorderKind::Outer;
    let parent = |i: usize| contours.hierarchy()[i][3];
    // The families in the order of their first contours: outer borders with their holes.
    let mut families: Vec<Vec<usize>> = vec![Vec::new(); contours.len()];
    for i in 0..contours.len() {
        let first = if is_outer(i) || parent(i) < 0 {
            i
        } else {
            parent(i) as usize
        };
        families[first].push(i);
    }
    families.retain(|family| !family.is_empty());
    let of_family =
        |family: &Vec<usize>| -> Vec<Points> { family.iter().map(|&i| all[i].clone()).collect() };

    let svg = String::from_utf8(written(|out| write_contours_svg(source, out))).unwrap();
    let mut expected: Vec<Vec<Points>> = families.iter().map(of_family).collect();
    if (0..contours.len()).any(|i| !is_outer(i) && parent(i) < 0) {
        expected = vec![all.clone()];
    }
    assert!(paths(&svg) == expected, "SVG, {what}");
    let outer = (0..contours.len()).filter(|&i| is_outer(i)).count();
    let points: usize = all.iter().map(Vec::len).sum();
    let holes = contours.len() - outer;
    let counts = format!("<desc>{outer} outer borders, {holes} holes, {points} points, ");
    assert!(svg.contains(&counts), "SVG, {what}");

    let json = written(|out| write_contours_geojson(source, out));
    let json: Value = serde_json::from_slice(&json).unwrap();
    let found: Vec<Feature> = json["features"]
        .as_array()
        .unwrap()
        .iter()
        .map(Feature::of)
        .collect();
    let features = families
        .iter()
        .flat_map(|family| features_of(&of_family(family), is_outer(family[0])));
    assert!(found == features.collect::<Vec<_>>(), "GeoJSON, {what}");

    // In pieces, some of which begin with holes of borders before them.
    let mut lines = Vec::new();
    let mut first = 0;
    for len in [1, 1, 2, 5, contours.len() / 3, 1].into_iter().cycle() {
        let end = (first + len).min(contours.len());
        write_contours_geojson_lines(source, first..end, &mut lines).unwrap();
        first = end;
        if first == contours.len() {
            break;
        }
    }
    let lines = String::from_utf8(lines).unwrap();
    let found = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    assert!(
        found.eq(json["features"].as_array().unwrap().iter().cloned()),
        "GeoJSON lines, {what}"
    );
}

/// Checks all files of the contours of an image, in memory and stored. Returns whether an outer
/// border has more than 2¹⁹ points with its holes.
fn check_image(image: &BinaryImage, options: &TraceOptions) -> bool {
    let contours = Engine::cpu().trace(image, options).unwrap();
    let what = format!("{options:?}");
    let points = contours.point_count().unwrap();
    assert!(points > 1 << 17, "{points}, {what}");
    let mut families = vec![0; contours.len()];
    for (i, row) in contours.hierarchy().iter().enumerate() {
        let is_hole = contours.kinds()[i] == BorderKind::Hole;
        let first = if is_hole && row[3] >= 0 {
            row[3] as usize
        } else {
            i
        };
        families[first] += points_of(&contours, i).len();
    }
    let is_largest_alone = families.iter().max() > Some(&(1 << 19));
    if options.contours.retrieval == Retrieval::Tree {
        check(&contours, &contours, &what);
    }
    let stored = stored(image, options);
    check(&contours, &stored, &what);
    // Two writers of the same contours at once.
    let written_twice: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let write = || written(|out| write_contours_geojson(&stored, out));
        let writers = [scope.spawn(write), scope.spawn(write)];
        writers.map(|writer| writer.join().unwrap()).into()
    });
    assert!(written_twice[0] == written_twice[1]);
    if options.contours.geometry == Geometry::Edges {
        let options = GdsOptions::default();
        let stream = written(|out| write_contours_gds(&contours, &options, out));
        let areas = layers(&stream);
        let count = image.count_foreground() as i64;
        assert_eq!(areas.into_iter().collect::<Vec<_>>(), [(1, 2 * count)]);
        assert!(stream == written(|out| write_contours_gds(&stored, &options, out)));
    }
    is_largest_alone
}

/// Works on eight threads, whatever the machine has, so that several wait for each other.
fn on_threads(work: impl FnOnce() + Send) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(8);
    pool.build().unwrap().install(work);
}

/// Threads encode shares of the contours; those with more than 2¹⁹ points are encoded alone.
#[test]
fn many_contours_and_large_ones() {
    use {Approximation as A, Geometry as G, Retrieval as R};
    let seed = trazar_test_seeds::seed_or(12);
    let mut large = 0;
    for (density, geometry, retrieval, approximation) in [
        (0.5, G::Centers, R::Tree, A::None),
        (0.3, G::Centers, R::List, A::Simple),
        (0.4, G::Centers, R::Ccomp, A::TehChinL1),
        (0.7, G::Edges, R::Ccomp, A::Simple),
    ] {
        let image = generate::noise(1400, 1000, density, seed).unwrap();
        let options = TraceOptions::default()
            .geometry(geometry)
            .retrieval(retrieval)
            .approximation(approximation);
        large += usize::from(check_image(&image, &options));
    }
    assert!((1..4).contains(&large), "{large}");
}

/// A frame whose holes are full of other contours: in a tree, these come between its holes.
#[test]
fn holes_far_from_their_outer_border() {
    let seed = trazar_test_seeds::seed_or(13);
    let noise = generate::noise(1100, 700, 0.3, seed).unwrap();
    // Frames side by side, each of seven holes.
    let image = BinaryImage::from_fn(1100, 700, |x, y| {
        let (frame, x) = (x / 550, x % 550);
        let near = x.min(549 - x).min(y % 100).min(99 - y % 100);
        frame < 2 && near < 3 && x > 0 || near > 6 && noise.get(frame * 550 + x, y)
    });
    let image = &image.unwrap();
    for geometry in [Geometry::Centers, Geometry::Edges] {
        let options = TraceOptions::default()
            .geometry(geometry)
            .retrieval(Retrieval::Tree)
            .approximation(Approximation::Simple);
        let contours = Engine::cpu().trace(image, &options).unwrap();
        let outer = contours.kinds().iter().zip(contours.hierarchy());
        let frames: Vec<usize> = outer
            .enumerate()
            .filter(|(_, (_, row))| row[3] < 0)
            .map(|(i, _)| i)
            .collect();
        assert_eq!(frames.len(), 2);
        for frame in frames {
            let holes: Vec<usize> = contours.children(frame).collect();
            let is_far = |pair: &[usize]| {
                let between = pair[0]..pair[1];
                between
                    .map(|i| points_of(&contours, i).len())
                    .sum::<usize>()
                    > 1 << 14
            };
            assert!(
                holes.len() == 7 && holes.windows(3).all(|three| is_far(&[three[0], three[2]]))
            );
        }
        on_threads(|| {
            check_image(image, &options);
        });
    }
}
