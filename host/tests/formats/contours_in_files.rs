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

type Points = Vec<[i64; 2]>;

fn points_of(contours: &Contours, index: usize) -> Points {
    let contour = contours.get(index).unwrap();
    let points = contour.points().iter();
    points
        .map(|point| [point.x.into(), point.y.into()])
        .collect()
}

fn written(write: impl FnOnce(&mut Vec<u8>) -> trazar::Result<()>) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes).unwrap();
    bytes
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

/// Whether a feature's positions are a contour's, in either direction, closed or not.
fn is_contour(found: &[[f64; 2]], contour: &Points) -> bool {
    let back = contour.first().filter(|_| found.len() > contour.len());
    let contour: Vec<_> = contour.iter().chain(back).collect();
    let is_same =
        |(found, point): (&[f64; 2], &&[i64; 2])| found.map(|number| number as i64) == **point;
    let forward = found.iter().zip(&contour).all(is_same);
    let backward = || found.iter().zip(contour.iter().rev()).all(is_same);
    found.len() == contour.len() && (forward || backward())
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

    let is_outer = |i: &usize| contours.kinds()[*i] == BorderKind::Outer;
    let has_no_parent = |i: &usize| contours.hierarchy()[*i][3] < 0;
    let with_children = |i: usize| -> Vec<usize> {
        let of = |child: &usize| contours.hierarchy()[*child][3] == i as i32;
        // Children come after their parent.
        let mut family = vec![i];
        let mut next = contours.hierarchy()[i][2];
        while next >= 0 {
            assert!(of(&(next as usize)));
            family.push(next as usize);
            next = contours.hierarchy()[next as usize][0];
        }
        family
    };
    let families: Vec<Vec<usize>> = (0..contours.len())
        .filter(|i| is_outer(i) || has_no_parent(i))
        .map(|i| {
            if is_outer(&i) {
                with_children(i)
            } else {
                vec![i]
            }
        })
        .collect();

    let svg = String::from_utf8(written(|out| write_contours_svg(source, out))).unwrap();
    let mut expected: Vec<Vec<Points>> = families
        .iter()
        .map(|family| family.iter().map(|&i| all[i].clone()).collect())
        .collect();
    if (0..contours.len()).any(|i| !is_outer(&i) && has_no_parent(&i)) {
        expected = vec![all.clone()];
    }
    assert!(paths(&svg) == expected, "SVG, {what}");

    let lines = written(|out| write_contours_geojson_lines(source, 0..contours.len(), out));
    let json = written(|out| write_contours_geojson(source, out));
    let json: Value = serde_json::from_slice(&json).unwrap();
    let features = json["features"].as_array().unwrap();
    let lines: Vec<Value> = String::from_utf8(lines)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(lines == *features, "GeoJSON, {what}");
    let mut features = features.iter();
    for family in &families {
        let mut rings = feature_points(features.next().unwrap())
            .into_iter()
            .peekable();
        // Those without an area are features of their own, after the others.
        let mut flat = Vec::new();
        for &i in family {
            match rings.next_if(|ring| is_contour(ring, &all[i])) {
                Some(_) => assert!(flat.is_empty() || i != family[0]),
                None => flat.push(i),
            }
        }
        assert!(
            rings.next().is_none() && flat.first() != family.first(),
            "GeoJSON, {what}"
        );
        for i in flat {
            let found = feature_points(features.next().unwrap());
            assert!(
                found.len() == 1 && is_contour(&found[0], &all[i]),
                "GeoJSON, {what}"
            );
        }
    }
    assert!(features.next().is_none(), "GeoJSON, {what}");
}

/// Checks all files of the contours of an image, in memory and stored.
fn check_image(image: &BinaryImage, options: &TraceOptions) {
    let contours = Engine::cpu().trace(image, options).unwrap();
    let what = format!("{options:?}");
    let points = contours.point_count().unwrap();
    assert!(points > 1 << 17, "{points}, {what}");
    if options.contours.retrieval == Retrieval::Tree {
        check(&contours, &contours, &what);
    }
    let stored = stored(image, options);
    check(&contours, &stored, &what);
    if options.contours.geometry == Geometry::Edges {
        let options = GdsOptions::default();
        let stream = written(|out| write_contours_gds(&contours, &options, out));
        let areas = crate::regions::layers(&stream);
        let count = image.count_foreground() as i64;
        assert_eq!(areas.into_iter().collect::<Vec<_>>(), [(1, 2 * count)]);
        assert!(stream == written(|out| write_contours_gds(&stored, &options, out)));
    }
}

/// Threads encode shares of the contours; those with more than 2¹⁹ points are encoded alone.
#[test]
fn many_contours_and_large_ones() {
    use {Approximation as A, Geometry as G, Retrieval as R};
    let seed = trazar_test_seeds::seed_or(12);
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
        check_image(&image, &options);
    }
}

/// A frame whose holes are full of other contours: in a tree, these come between its holes.
#[test]
fn holes_far_from_their_outer_border() {
    let seed = trazar_test_seeds::seed_or(13);
    let noise = generate::noise(900, 700, 0.3, seed).unwrap();
    let image = BinaryImage::from_fn(900, 700, |x, y| {
        let near = (x % 300).min(299 - x % 300).min(y % 350).min(349 - y % 350);
        near < 4 || near > 8 && noise.get(x, y)
    });
    let image = &image.unwrap();
    for geometry in [Geometry::Centers, Geometry::Edges] {
        let options = TraceOptions::default()
            .geometry(geometry)
            .retrieval(Retrieval::Tree)
            .approximation(Approximation::Simple);
        let contours = Engine::cpu().trace(image, &options).unwrap();
        let holes: Vec<usize> = contours.children(0).collect();
        assert!(holes.len() == 6 && holes.is_sorted_by_key(|hole| hole / 4000));
        check_image(image, &options);
    }
}
