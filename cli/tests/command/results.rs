//! The formats that the command writes, and what it says of a run.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{Folder, HEIGHT, WIDTH, header, ring_contours, run, svg_tags, trace};

#[test]
fn json() {
    let folder = Folder::new();
    let ring = folder.ring("ring.png");
    let out = folder.at("a.json");
    trace(&ring, &out, &[]).succeeded();
    let found: Value = serde_json::from_slice(&fs::read(&out).unwrap()).unwrap();
    let hierarchy = json!([
        [1, -1, -1, -1],
        [-1, 0, 2, -1],
        [-1, -1, 3, 1],
        [-1, -1, -1, 2]
    ]);
    let expected = json!({
        "width": WIDTH,
        "height": HEIGHT,
        "contours": ring_contours(),
        "hierarchy": hierarchy,
    });
    assert_eq!(found, expected);
    let stdout = trace(&ring, Path::new("-"), &["--format", "json"])
        .succeeded()
        .stdout;
    assert_eq!(stdout, fs::read(&out).unwrap());
}

#[test]
fn retrieval_approximation_and_geometry() {
    let folder = Folder::new();
    let ring = folder.ring("ring.png");
    let found = |options: &[&str]| {
        let options = [options, &["--format", "json"]].concat();
        trace(&ring, Path::new("-"), &options).succeeded().json()
    };
    let all = ring_contours();
    let external = found(&["--retrieval", "external"]);
    assert_eq!(external["contours"], json!([all[0], all[1]]));
    let list = found(&["--retrieval", "list"]);
    assert_eq!(list["contours"].as_array().unwrap().len(), 4);
    assert!(
        list["hierarchy"]
            .as_array()
            .unwrap()
            .iter()
            .all(|row| row[3] == -1)
    );
    let ccomp = found(&["--retrieval", "ccomp"]);
    let parents = ccomp["hierarchy"].as_array().unwrap();
    assert_eq!(parents.iter().filter(|row| row[3] == -1).count(), 3);
    let none = found(&["--approximation", "none"]);
    assert_eq!(none["contours"][1].as_array().unwrap().len(), 16);
    for tc89 in ["tc89-l1", "tc89-kcos"] {
        assert_eq!(
            found(&["--approximation", tc89])["contours"][0],
            json!([[7, 3]])
        );
    }
    let edges = found(&["--geometry", "edges"]);
    let points: Vec<usize> = edges["contours"]
        .as_array()
        .unwrap()
        .iter()
        .map(|contour| contour.as_array().unwrap().len())
        .collect();
    assert_eq!(points, [4, 4, 4, 4]);
    trace(
        &ring,
        Path::new("-"),
        &[
            "--format",
            "json",
            "--geometry",
            "edges",
            "--approximation",
            "tc89-l1",
        ],
    )
    .failed(2, &["Teh-Chin", "edges"]);
}

#[test]
fn svg() {
    let folder = Folder::new();
    let ring = folder.ring("ring.png");
    let text = |options: &[&str]| {
        let options = [options, &["--format", "svg"]].concat();
        String::from_utf8(trace(&ring, Path::new("-"), &options).succeeded().stdout).unwrap()
    };
    let tree = text(&[]);
    assert!(tree.starts_with("<svg ") && tree.ends_with("</svg>\n"));
    assert!(tree.contains("viewBox=\"0 0 8 7\""));
    assert!(
        tree.contains("d=\"M1 1v4h4v-4zM1 2l1-1h2l1 1v2l-1 1h-2l-1-1z\""),
        "{tree}"
    );
    assert_eq!(tree.matches("<path").count(), 3);
    svg_tags(&tree);
    // A line that is one pixel of the screen wide, without vector-effect, which not all programs
    // know.
    assert!(tree.contains("width=\"128\" height=\"112\""), "{tree}");
    assert!(tree.contains("stroke-width=\"0.0625\""), "{tree}");
    assert!(!tree.contains("vector-effect"), "{tree}");
    assert_eq!(text(&["--retrieval", "list"]).matches("<path").count(), 1);
}

#[test]
fn geojson_of_edges_has_polygons_wound_as_the_standard_asks() {
    let folder = Folder::new();
    let ring = folder.ring("ring.png");
    let out = folder.at("a.geojson");
    trace(&ring, &out, &["--geometry", "edges"]).succeeded();
    let found: geojson::FeatureCollection = fs::read_to_string(&out)
        .unwrap()
        .parse::<geojson::GeoJson>()
        .unwrap()
        .try_into()
        .unwrap();
    let mut areas = Vec::new();
    for feature in &found.features {
        let Some(geojson::GeometryValue::Polygon { coordinates }) =
            feature.geometry.as_ref().map(|geometry| &geometry.value)
        else {
            panic!("{feature:?}");
        };
        let signed = |ring: &Vec<geojson::Position>| -> f64 {
            assert_eq!(ring.first(), ring.last());
            let cross = |pair: &[geojson::Position]| {
                let (a, b) = (pair[0].as_slice(), pair[1].as_slice());
                a[0] * b[1] - b[0] * a[1]
            };
            ring.windows(2).map(cross).sum::<f64>() / 2.0
        };
        let rings: Vec<f64> = coordinates.iter().map(signed).collect();
        assert!(
            rings[0] > 0.0 && rings[1..].iter().all(|&area| area < 0.0),
            "{rings:?}"
        );
        let area = feature.property("area").unwrap().as_f64().unwrap();
        assert_eq!(rings.iter().sum::<f64>(), area);
        assert_eq!(feature.property("kind").unwrap(), "outer");
        areas.push(area);
    }
    assert_eq!(areas, [1.0, 16.0, 1.0]);
}

#[test]
fn geojson_of_centers_has_points_and_lines_too() {
    let folder = Folder::new();
    let mask = [[1, 0, 0, 0, 0, 0, 1], [0; 7], [1, 1, 0, 0, 0, 1, 1]].concat();
    let image = folder.npy("a.npy", &header("|b1", false, "(3, 7)"), &mask);
    let found = trace(&image, Path::new("-"), &["--format", "geojson"])
        .succeeded()
        .json();
    let geometries: Vec<&Value> = found["features"]
        .as_array()
        .unwrap()
        .iter()
        .map(|feature| &feature["geometry"])
        .collect();
    let line = |from: i32, to: i32, y: i32| {
        let ends = [[from, y], [to, y]];
        json!({ "type": "LineString", "coordinates": ends })
    };
    let expected = [
        line(5, 6, 2),
        line(0, 1, 2),
        json!({ "type": "Point", "coordinates": [0, 0] }),
    ];
    assert_eq!(geometries.len(), 4);
    for geometry in expected {
        let same = |found: &&Value| numbers(found) == numbers(&geometry);
        assert!(
            geometries.iter().any(same),
            "no {geometry} in {geometries:?}"
        );
    }
}

/// `value` with all numbers as floats.
fn numbers(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(values) => values.iter().map(numbers).collect(),
        Value::Object(map) => map.iter().map(|(k, v)| (k.clone(), numbers(v))).collect(),
        other => other.clone(),
    }
}

/// A GDSII stream's records: type and data.
fn records(stream: &[u8]) -> Vec<(u8, &[u8])> {
    let mut records = Vec::new();
    let mut rest = stream;
    while !rest.is_empty() {
        let len = usize::from(u16::from_be_bytes([rest[0], rest[1]]));
        assert!(len >= 4 && len % 2 == 0);
        records.push((rest[2], &rest[4..len]));
        rest = &rest[len..];
    }
    records
}

#[test]
fn gds() {
    let folder = Folder::new();
    let ring = folder.ring("ring.png");
    let out = folder.at("a.gds");
    let options = "--pixel-size 10 --dbu 5e-9 --layer 7 --datatype 300 --cell A_1 --library L";
    trace(&ring, &out, &options.split(' ').collect::<Vec<_>>()).succeeded();
    let stream = fs::read(&out).unwrap();
    let records = records(&stream);
    let data = |kind: u8| -> Vec<&[u8]> {
        let of_kind = records.iter().filter(|record| record.0 == kind);
        of_kind.map(|record| record.1).collect()
    };
    assert_eq!(records.first().unwrap().0, 0x00);
    assert_eq!(records.last().unwrap().0, 0x04);
    assert_eq!(data(0x02), [b"L\0"]);
    assert_eq!(data(0x06), [b"A_1\0"]);
    assert_eq!(data(0x0d), [[0, 7]; 3]);
    assert_eq!(data(0x0e), [[1, 44]; 3]);
    // The dot on the right: pixel (7, 3), with 2 database units per pixel; the first point comes
    // last.
    let points: Vec<[i32; 2]> = data(0x10)[0]
        .as_chunks::<4>()
        .0
        .iter()
        .map(|bytes| i32::from_be_bytes(*bytes))
        .collect::<Vec<_>>()
        .as_chunks::<2>()
        .0
        .to_vec();
    assert_eq!(points, [[14, 8], [14, 6], [16, 6], [16, 8], [14, 8]]);
    let divided = folder.at("divided.gds");
    trace(&ring, &divided, &["--max-vertices", "4"]).succeeded();
    let divided = fs::read(&divided).unwrap();
    let divided = self::records(&divided);
    let boundaries = divided.iter().filter(|record| record.0 == 0x10);
    assert!(boundaries.clone().all(|record| record.1.len() == 8 * 5));
    assert!(boundaries.count() > 3);
    // The ring with its hole: 4 + 4 vertices, the first vertex of the hole again, and the end of
    // the cut twice.
    assert_eq!(data(0x10)[1].len(), 8 * 12);
}

#[test]
fn gds_options_that_do_not_fit() {
    let folder = Folder::new();
    let ring = folder.ring("ring.png");
    let gds = folder.at("a.gds");
    let run = |options: &str| trace(&ring, &gds, &options.split(' ').collect::<Vec<_>>());
    run("--geometry centers").failed(2, &["--geometry", "edges"]);
    run("--retrieval list").failed(2, &["--retrieval", "tree"]);
    run("--retrieval external").failed(2, &["--retrieval", "tree", "ccomp", "holes"]);
    run("--max-vertices 3").refused(&["3", "4..=8190"]);
    run("--max-vertices 8191").refused(&["8191", "4..=8190"]);
    run("--pixel-size 1.5").failed(2, &["1.5", "whole number", "--dbu"]);
    run("--pixel-size 0").failed(2, &["1 to 2147483647 nm"]);
    run("--dbu 0").failed(2, &["database unit", "1e-15"]);
    run("--dbu 0 --pixel-size 5").failed(2, &["database unit", "1e-15"]);
    run("--user-unit 5").failed(2, &["user unit"]);
    // A value out of range is named in a few digits, with the range.
    let large = "1 to 2147483647 nm";
    run("--pixel-size 1e300").failed(2, &["a pixel of 1e300 nm", large, "--dbu"]);
    run("--pixel-size 1e-300").failed(2, &["a pixel of 1e-300 nm", large]);
    run("--pixel-size 2147483648").failed(2, &["2147483648 nm", large]);
    run("--dbu 1e-7 --pixel-size 1e300").failed(2, &["1e-7 m", "100 to 214748364700 nm"]);
    run("--dbu 1e300").failed(2, &["unit of 1e300 m", "1e-15 to 1 metre"]);
    run("--user-unit 1e300").failed(2, &["unit of 1e300 m", "1e-15 to 1 metre"]);
    run("--threshold 1e300").failed(2, &["threshold 1e300", "0 to 255"]);
    // The ring is 8 pixels wide.
    run("--pixel-size 268435456").failed(1, &["32-bit", "268435455 units"]);
    run("--cell no/slash").failed(2, &["cell", "letters"]);
    run("--layer 40000").refused(&["40000", "32767"]);
    run("--pixel-size 2000000000").failed(1, &["32-bit"]);
    assert_eq!(folder.names(), ["ring.png"]);
    let json = folder.at("a.json");
    trace(&ring, &json, &["--layer", "3"]).failed(2, &["--layer", "gds"]);
    run("--geometry edges").succeeded();
    run("--pixel-size 268435455").succeeded();
    run("--retrieval ccomp --max-vertices 4094").succeeded();
}

/// Boundaries are short enough for readers that take a record's length for a signed number.
#[test]
fn gds_boundaries_have_4094_vertices_at_most_by_default() {
    let folder = Folder::new();
    // A comb of 1500 teeth: a border with some 6000 corners.
    let comb: Vec<u8> = (0..2 * 2999)
        .map(|at| u8::from(at / 2999 == 1 || at % 2 == 0))
        .collect();
    let comb = folder.npy("a.npy", &header("|b1", false, "(2, 2999)"), &comb);
    let out = folder.at("a.gds");
    let boundaries = |options: &[&str]| -> Vec<usize> {
        trace(&comb, &out, options).succeeded();
        let stream = fs::read(&out).unwrap();
        let boundaries = records(&stream)
            .into_iter()
            .filter(|record| record.0 == 0x10);
        // Without the first point, which comes again at the end.
        boundaries.map(|record| record.1.len() / 8 - 1).collect()
    };
    let whole = boundaries(&["--max-vertices", "8190"]);
    assert_eq!(whole, [4 * 1500]);
    let divided = boundaries(&[]);
    assert!(
        divided.len() > 1 && divided.iter().all(|&vertices| vertices <= 4094),
        "{divided:?}"
    );
}

#[test]
fn overlay() {
    let folder = Folder::new();
    let ring = folder.ring("ring.png");
    let colours = |path: &Path| {
        let picture = image::open(path).unwrap().to_rgb8();
        let (orange, cyan) = ([255, 150, 20], [40, 220, 255]);
        let count = |colour| picture.pixels().filter(|p| p.0 == colour).count();
        (picture.dimensions(), count(orange), count(cyan))
    };
    let out = folder.at("a.png");
    trace(&ring, &out, &[]).succeeded();
    let (size, outer, hole) = colours(&out);
    assert_eq!(size, (16 * WIDTH, 16 * HEIGHT));
    assert!(outer > 300 && hole > 150, "{outer} {hole}");
    trace(&ring, &out, &["--geometry", "edges"]).succeeded();
    let (size, outer, hole) = colours(&out);
    assert_eq!(size, (16 * WIDTH + 1, 16 * HEIGHT + 1));
    assert!(outer > 400 && hole > 200, "{outer} {hole}");
    // A large image is not enlarged.
    let big = image::GrayImage::from_fn(900, 3, |x, _| image::Luma([(x % 2 * 255) as u8]));
    big.save(folder.at("big.png")).unwrap();
    trace(&folder.at("big.png"), &out, &[]).succeeded();
    assert_eq!(colours(&out).0, (900, 3));
}

#[test]
fn labels() {
    let folder = Folder::new();
    let ring = folder.ring("ring.png");
    let ring = ring.to_str().unwrap();
    let (npy, png, csv) = (folder.at("a.npy"), folder.at("a.png"), folder.at("a.csv"));
    run([
        "label",
        ring,
        "-o",
        npy.to_str().unwrap(),
        "--stats",
        csv.to_str().unwrap(),
    ])
    .succeeded();
    let bytes = fs::read(&npy).unwrap();
    let (start, data) = bytes.split_at(128);
    let text =
        format!("{{'descr': '<u4', 'fortran_order': False, 'shape': ({HEIGHT}, {WIDTH}), }}");
    let text = format!("{text:117}\n");
    assert_eq!(start, [b"\x93NUMPY\x01\0v\0", text.as_bytes()].concat());
    assert_eq!(data.len(), 4 * (WIDTH * HEIGHT) as usize);
    let labels: Vec<u32> = data
        .as_chunks::<4>()
        .0
        .iter()
        .map(|bytes| u32::from_le_bytes(*bytes))
        .collect();
    let row = |y: usize| &labels[y * WIDTH as usize..][..WIDTH as usize];
    assert_eq!(row(1), [0, 1, 1, 1, 1, 1, 0, 0]);
    assert_eq!(row(3), [0, 1, 0, 2, 0, 1, 0, 3]);

    let mut reader = csv::Reader::from_path(&csv).unwrap();
    let names = "label,area,x_min,y_min,x_max,y_max,centroid_x,centroid_y";
    assert_eq!(
        reader
            .headers()
            .unwrap()
            .iter()
            .collect::<Vec<_>>()
            .join(","),
        names
    );
    let rows: Vec<[f64; 8]> = reader.deserialize().map(Result::unwrap).collect();
    assert_eq!(rows[0], [1.0, 16.0, 1.0, 1.0, 5.0, 5.0, 3.0, 3.0]);
    assert_eq!(rows[2], [3.0, 1.0, 7.0, 3.0, 7.0, 3.0, 7.0, 3.0]);

    run(["label", ring, "-o", png.to_str().unwrap()]).succeeded();
    let picture = image::open(&png).unwrap().to_rgb8();
    for y in 0..HEIGHT {
        for x in 0..WIDTH {
            let black = picture.get_pixel(x, y).0 == [0; 3];
            assert_eq!(black, row(y as usize)[x as usize] == 0);
        }
    }
    let stdout = run(["label", ring, "-o", "-", "--format", "npy"])
        .succeeded()
        .stdout;
    assert_eq!(stdout, bytes);
}

#[test]
fn connectivities_and_algorithms() {
    let folder = Folder::new();
    let image = folder.npy("a.npy", &header("|b1", false, "(2, 2)"), &[1, 0, 0, 1]);
    let image = image.to_str().unwrap();
    for algorithm in ["sequential", "parallel"] {
        let label = |options: &[&str]| {
            let fixed = ["label", image, "--json", "--algorithm", algorithm];
            let found = run(fixed.iter().chain(options)).succeeded().json();
            assert_eq!(found["algorithm"], algorithm);
            found["components"].as_u64().unwrap()
        };
        assert_eq!(label(&[]), 1);
        assert_eq!(label(&["--connectivity", "8"]), 1);
        assert_eq!(label(&["--connectivity", "4"]), 2);
    }
    run(["label", image, "--connectivity", "6"]).refused(&["4", "8"]);
    run(["label", image, "--algorithm", "magic"]).refused(&["sequential", "parallel"]);
    run(["trace", image, "--algorithm", "magic"]).refused(&[
        "suzuki",
        "fragments",
        "tiles",
        "components",
    ]);
    run(["trace", image, "--device", "gpu"]).refused(&["auto", "cpu"]);
}

#[test]
fn tiles() {
    let folder = Folder::new();
    let ring = folder.ring("ring.png");
    let ring = ring.to_str().unwrap();
    let trace = |options: &[&str]| {
        let fixed = ["trace", ring, "-o", "-", "--format", "json", "--quiet"];
        run(fixed.iter().chain(options)).succeeded().stdout
    };
    let suzuki = trace(&["--algorithm", "suzuki"]);
    assert_eq!(trace(&["--algorithm", "fragments"]), suzuki);
    assert_eq!(trace(&["--algorithm", "components"]), suzuki);
    assert_eq!(trace(&["--algorithm", "tiles"]), suzuki);
    assert_eq!(trace(&["--algorithm", "tiles", "--tiles", "8,4"]), suzuki);
    assert_eq!(trace(&["--tiles", "1,2"]), suzuki);
    let json = run(["trace", ring, "--json", "--tiles", "2,2"]).succeeded();
    assert_eq!(json.json()["algorithm"], "tiles");

    for wrong in ["3,4", "0,1", "4", "4x4", "4,4,4", "-1,1", "4,"] {
        run(["trace", ring, &format!("--tiles={wrong}")]).refused(&["NX,NY", "power of two"]);
    }
    run(["trace", ring, "--tiles", "16,1"]).failed(2, &["16 × 1", "8 × 7"]);
    run(["trace", ring, "--tiles", "2,2", "--algorithm", "suzuki"]).failed(2, &["suzuki"]);
}

#[test]
fn summaries() {
    let folder = Folder::new();
    let ring = folder.ring("ring.png");
    let ring = ring.to_str().unwrap();
    let text = run(["trace", ring]).succeeded();
    assert!(text.stdout.is_empty());
    assert!(
        text.stderr
            .contains("4 contours (3 outer, 1 hole) of 14 points"),
        "{}",
        text.stderr
    );
    let json = run(["trace", ring, "--json", "--repeat", "3", "--device", "cpu"]).succeeded();
    assert_eq!(json.stderr, "");
    let json = json.json();
    for (key, value) in [
        ("width", json!(8)),
        ("height", json!(7)),
        ("device", json!("cpu")),
        ("algorithm", json!("fragments")),
        ("contours", json!(4)),
        ("points", json!(14)),
        ("foreground", json!(18)),
        ("repeat", json!(3)),
    ] {
        assert_eq!(json[key], value, "{key}");
    }
    for key in ["read", "trace", "write"] {
        assert!(json["seconds"][key].as_f64().unwrap() >= 0.0, "{key}");
    }
    let label = run(["label", ring, "--json"]).succeeded().json();
    assert_eq!(label["components"], 3);
    assert!(label["seconds"]["label"].is_number());
    let piped = run(["trace", ring, "-o", "-", "--format", "json"]).succeeded();
    assert!(
        piped.stderr.trim_end().ends_with(": standard output"),
        "{}",
        piped.stderr
    );
    let quiet = run(["trace", ring, "--quiet"]).succeeded();
    assert!(quiet.stdout.is_empty() && quiet.stderr.is_empty());
    run(["trace", ring, "--repeat", "0"]).refused(&["--repeat"]);
}

#[test]
fn information_and_help() {
    let version = run(["--version"]).succeeded().stdout;
    assert_eq!(
        version,
        format!("trazar {}\n", env!("CARGO_PKG_VERSION")).into_bytes()
    );
    let info = String::from_utf8(run(["info"]).succeeded().stdout).unwrap();
    assert!(info.contains("suzuki") && info.contains("cpu"), "{info}");
    let json = run(["info", "--json"]).succeeded().json();
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(json["devices"][0]["name"], "cpu");
    for command in ["trace", "label"] {
        let help = String::from_utf8(run([command, "--help"]).succeeded().stdout).unwrap();
        assert!(
            help.contains("Examples:") && help.contains("--threshold"),
            "{help}"
        );
    }
    let help = String::from_utf8(run(["--help"]).succeeded().stdout).unwrap();
    assert!(
        help.contains("Exit status:") && help.contains("141"),
        "{help}"
    );
    run(["teleport"]).refused(&["teleport"]);
    run(["trace"]).refused(&["IMAGE"]);
    run(["trace", "--retrievl", "list"]).refused(&["--retrievl", "tip", "'--retrieval'"]);
    run([""; 0]).refused(&[
        "subcommand",
        "trace, label, measure, polygonize, route, distance, generate, bench, info",
    ]);
    run(["generate"]).refused(&["subcommand", "mask, net"]);
}
