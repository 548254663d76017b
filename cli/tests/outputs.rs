//! What the command writes, and that it writes all of it or nothing.

mod common;

use std::fs;
use std::path::Path;

use common::{Folder, HEIGHT, Run, WIDTH, command, header, ring_contours, run};
use serde_json::{Value, json};

#[track_caller]
fn trace(image: &Path, out: &Path, options: &[&str]) -> Run {
    let mut arguments = vec![
        "trace",
        image.to_str().unwrap(),
        "-o",
        out.to_str().unwrap(),
    ];
    arguments.extend(options);
    run(arguments)
}

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
    // A line as wide as a pixel of the screen, without vector-effect, which not all know.
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
    let line = |from: i32, to: i32, y: i32| json!({ "type": "LineString", "coordinates": [[from, y], [to, y]] });
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

/// With all numbers as floats.
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
    // The dot on the right: pixel (7, 3), a pixel being 2 database units; the first point last.
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
    // The ring with its hole: 4 + 4 vertices, the hole's first again, and the cut's end twice.
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
    // What is out of range is named in a few digits, with what is not.
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

/// Readers that take a record's length for a signed number have all of it.
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
        // Less the first point, which comes again at the end.
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
    // A large one keeps its size.
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
    let header = ndarray_npy::npy::header::Header::from_reader(&mut bytes.as_slice()).unwrap();
    assert_eq!(header.shape, [HEIGHT as usize, WIDTH as usize]);
    assert_eq!(header.type_descriptor.to_string(), "'<u4'");
    let data = &bytes[bytes.len() - 4 * (WIDTH * HEIGHT) as usize..];
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
    run(["trace", image, "--algorithm", "magic"]).refused(&["suzuki", "tiles", "components"]);
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
        ("algorithm", json!("suzuki")),
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
    run([""; 0]).refused(&["subcommand", "trace, label, route, generate, info"]);
    run(["generate"]).refused(&["subcommand", "mask, net"]);
}

#[test]
fn formats_are_chosen_by_option_or_extension() {
    let folder = Folder::new();
    let ring = folder.ring("ring.png");
    trace(&ring, &folder.at("a.xyz"), &[]).failed(2, &["a.xyz", ".json", ".gds", "--format"]);
    trace(&ring, &folder.at("a"), &[]).failed(2, &[".svg"]);
    trace(&ring, Path::new("-"), &[]).failed(2, &["--format", "geojson"]);
    trace(&ring, Path::new("-"), &["--format", "json", "--json"]).failed(2, &["--json"]);
    trace(&ring, &folder.at("a.xyz"), &["--format", "tga"]).refused(&["json", "svg"]);
    run(["trace", ring.to_str().unwrap(), "--format", "json"]).refused(&["--output"]);
    assert_eq!(folder.names(), ["ring.png"]);
    trace(&ring, &folder.at("a.xyz"), &["--format", "json"]).succeeded();
    trace(&ring, &folder.at("a.JSON"), &[]).succeeded();
    let read = |name| fs::read(folder.at(name)).unwrap();
    assert_eq!(read("a.xyz"), read("a.JSON"));
    let ring = ring.to_str().unwrap();
    run(["label", ring, "-o", "a.json"]).failed(2, &[".npy", ".png"]);
    run(["label", ring, "-o", "-", "--format", "npy", "--stats", "-"]).failed(2, &["--stats"]);
    run(["label", ring, "-o", "a.png", "--stats", "a.png"]).failed(2, &["same file"]);
}

#[test]
fn a_failure_leaves_everything_as_it_was() {
    let folder = Folder::new();
    let ring = folder.ring("ring.png");
    let missing = folder.at("missing.png");
    let old = folder.put("old.json", "old");
    trace(&missing, &old, &[]).failed(1, &["missing.png"]);
    // Fails once the image's size is known: coordinates do not fit.
    trace(
        &ring,
        &old,
        &["--format", "gds", "--pixel-size", "2000000000"],
    )
    .failed(1, &["32-bit"]);
    // The second output cannot be made, so the first is not either.
    let stats = folder.at("no folder").join("a.csv");
    let (image, out) = (ring.to_str().unwrap(), old.to_str().unwrap());
    let stats = stats.to_str().unwrap();
    run([
        "label", image, "-o", out, "--format", "npy", "--stats", stats,
    ])
    .failed(1, &["no folder", "No such file"]);
    assert_eq!(fs::read(&old).unwrap(), b"old");
    assert_eq!(folder.names(), ["old.json", "ring.png"]);
    trace(&ring, folder.path(), &["--format", "json"]).failed(1, &["directory"]);
    trace(&ring, &folder.at("ring.png").join("a.json"), &[]).failed(1, &["ring.png"]);
}

#[cfg(unix)]
#[test]
fn no_permission_to_write() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let ring = folder.ring("ring.png");
    let closed = folder.at("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    let read_only = folder.put("a.json", "old");
    fs::set_permissions(&read_only, fs::Permissions::from_mode(0o444)).unwrap();
    if fs::write(closed.join("probe"), "").is_ok() {
        println!("skipped: this user (root?) may write everywhere");
        return;
    }
    trace(&ring, &closed.join("a.json"), &[]).failed(1, &["closed", "Permission denied"]);
    trace(&ring, &read_only, &[]).failed(1, &["a.json", "Permission denied"]);
    assert_eq!(fs::read(&read_only).unwrap(), b"old");
}

#[cfg(target_os = "linux")]
#[test]
fn devices_and_pipes_are_written_in_place() {
    let folder = Folder::new();
    let ring = folder.ring("ring.png");
    let json = ["--format", "json", "-q"];
    let expected = trace(&ring, Path::new("-"), &json).succeeded().stdout;
    trace(&ring, Path::new("/dev/null"), &json).succeeded();
    let stdout = trace(&ring, Path::new("/dev/stdout"), &json)
        .succeeded()
        .stdout;
    assert_eq!(stdout, expected);
    for format in ["json", "svg", "geojson", "gds", "png"] {
        trace(&ring, Path::new("/dev/full"), &["--format", format])
            .failed(1, &["/dev/full", "No space left"]);
    }
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let image = ring.to_str().unwrap();
    let output = command()
        .args(["trace", image, "-o", "-", "--format", "json"])
        .stdout(full)
        .output()
        .unwrap();
    Run::of(output).failed(1, &["standard output", "No space left"]);

    let pipe = folder.at("pipe.json");
    let made = std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .unwrap();
    assert!(made.success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read(pipe).unwrap()
    });
    trace(&ring, &pipe, &["-q"]).succeeded();
    assert_eq!(reader.join().unwrap(), expected);
    assert_eq!(folder.names(), ["pipe.json", "ring.png"]);

    // Appending keeps what is there.
    let log = folder.put("log", "before\n");
    let file = fs::OpenOptions::new().append(true).open(&log).unwrap();
    let status = command()
        .args([
            "trace",
            image,
            "-q",
            "-o",
            "/dev/stdout",
            "--format",
            "json",
        ])
        .stdout(file)
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(
        fs::read(&log).unwrap(),
        [b"before\n", expected.as_slice()].concat()
    );
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_quietly() {
    use std::process::Stdio;
    let folder = Folder::new();
    // 40,000 single pixels: far more text than a pipe holds.
    let mask: Vec<u8> = (0..400 * 400)
        .map(|i| u8::from(i % 2 == 0 && i / 400 % 2 == 0))
        .collect();
    let image = folder.npy("a.npy", &header("|b1", false, "(400, 400)"), &mask);
    let mut child = command()
        .args([
            "trace",
            image.to_str().unwrap(),
            "-o",
            "-",
            "--format",
            "json",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(141));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[cfg(unix)]
#[test]
fn standard_error_may_take_nothing() {
    use std::process::Stdio;
    let folder = Folder::new();
    let ring = folder.ring("ring.png");
    let ring = ring.to_str().unwrap();
    let summary = vec!["trace", ring];
    let warning = vec!["trace", ring, "--threshold", "200", "--json"];
    let failure = vec!["trace", "missing.png"];
    let usage = vec!["trace", ring, "--threshold", "256"];
    let parser = vec!["trace", ring, "--teleport"];
    for (arguments, status) in [
        (summary, 0),
        (warning, 0),
        (failure, 1),
        (usage, 2),
        (parser, 2),
    ] {
        let (reader, closed) = std::io::pipe().unwrap();
        drop(reader);
        let mut sinks = vec![Stdio::from(closed)];
        #[cfg(target_os = "linux")]
        sinks.push(
            fs::OpenOptions::new()
                .write(true)
                .open("/dev/full")
                .unwrap()
                .into(),
        );
        for sink in sinks {
            let output = command().args(&arguments).stderr(sink).output().unwrap();
            assert_eq!(output.status.code(), Some(status), "{arguments:?}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_grows_too_large() {
    let folder = Folder::new();
    let mask: Vec<u8> = (0..400 * 400).map(|i| (i % 2) as u8).collect();
    let image = folder.npy("a.npy", &header("|b1", false, "(400, 400)"), &mask);
    let limited = std::process::Command::new("sh")
        .args(["-c", "ulimit -f 1; exec \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_trazar"))
        .arg("label")
        .arg(image)
        .arg("-o")
        .arg(folder.at("b.npy"))
        .output()
        .unwrap();
    let limited = Run::of(limited);
    assert!(!limited.stderr.contains(".trazar-"), "{}", limited.stderr);
    limited.failed(1, &["b.npy", "File too large"]);
    assert_eq!(folder.names(), ["a.npy"]);
}

#[test]
fn outputs_that_would_replace_each_other_or_the_image() {
    let folder = Folder::new();
    let ring = folder.ring("ring.png");
    let image = ring.to_str().unwrap();
    let npy = ["--format", "npy"];
    let label = |out: &Path, stats: &Path| {
        let both = [
            "-o",
            out.to_str().unwrap(),
            "--stats",
            stats.to_str().unwrap(),
        ];
        run([["label", image].as_slice(), &both, &npy].concat())
    };
    let other_way = folder.path().join(".").join("a");
    label(&folder.at("a"), &other_way).failed(2, &["-o", "--stats", "same file"]);
    label(&folder.at("a"), &ring).failed(2, &["--stats", "IMAGE", "ring.png"]);
    trace(&ring, &ring, &["--format", "json"]).failed(2, &["-o", "IMAGE", "ring.png"]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("a", folder.at("link")).unwrap();
        label(&folder.at("a"), &folder.at("link")).failed(2, &["link", "same file"]);
        std::os::unix::fs::symlink("ring.png", folder.at("picture")).unwrap();
        trace(&ring, &folder.at("picture"), &["--format", "json"]).failed(2, &["picture"]);
        fs::remove_file(folder.at("link")).unwrap();
        fs::remove_file(folder.at("picture")).unwrap();
        label(Path::new("/dev/null"), Path::new("/dev/null")).succeeded();
    }
    assert_eq!(folder.names(), ["ring.png"]);
}

#[cfg(unix)]
#[test]
fn links_stay_links() {
    let folder = Folder::new();
    let ring = folder.ring("ring.png");
    fs::create_dir(folder.at("other")).unwrap();
    std::os::unix::fs::symlink("other/a.json", folder.at("link.json")).unwrap();
    trace(&ring, &folder.at("link.json"), &[]).succeeded();
    trace(&ring, &folder.at("link.json"), &[]).succeeded();
    assert!(
        fs::symlink_metadata(folder.at("link.json"))
            .unwrap()
            .is_symlink()
    );
    assert!(
        fs::read(folder.at("other/a.json"))
            .unwrap()
            .starts_with(b"{\"width\":8")
    );
    assert_eq!(fs::read_dir(folder.at("other")).unwrap().count(), 1);
}

#[test]
fn real_masks_where_there_are_any() {
    let Some(data) = std::env::var_os("TRAZAR_DATA") else {
        println!("skipped: TRAZAR_DATA names no folder with masks/*.png");
        return;
    };
    let folder = Folder::new();
    let mut masks = 0;
    for entry in fs::read_dir(Path::new(&data).join("masks")).unwrap() {
        let mask = entry.unwrap().path();
        if mask.extension().is_none_or(|extension| extension != "png") {
            continue;
        }
        masks += 1;
        for format in ["json", "svg", "geojson", "gds", "png"] {
            let out = folder.at(&format!("a.{format}"));
            trace(&mask, &out, &[]).succeeded();
            assert!(
                fs::metadata(&out).unwrap().len() > 10_000,
                "{}",
                mask.display()
            );
        }
    }
    assert!(masks > 0, "no masks");
}
