//! `trazar polygonize`, and georeferences in `trazar trace`.

use std::fs;
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tiff::encoder::{DirectoryEncoder, TiffEncoder, TiffKind, colortype};
use tiff::tags::Tag;

use crate::common::{Folder, Run, command, header, run, svg_tags};

/// Three classes: a 7 in a hole of 4s, 4s apart, and 0.
const CLASSES: [u8; 20] = [
    4, 4, 4, 0, 0, //
    4, 7, 4, 0, 4, //
    4, 4, 4, 0, 4, //
    0, 0, 0, 7, 7,
];

/// Writes a no-data value, and the tags of a raster with the corner (500, 900) in EPSG:25832.
fn place<W: Write + Seek, K: TiffKind>(
    fields: &mut DirectoryEncoder<'_, W, K>,
    no_data: &str,
    scale: &[f64],
) {
    fields.write_tag(Tag::GdalNodata, no_data).unwrap();
    fields.write_tag(Tag::ModelPixelScaleTag, scale).unwrap();
    let tie = [0.0, 0.0, 0.0, 500.0, 900.0, 0.0];
    fields.write_tag(Tag::ModelTiepointTag, &tie[..]).unwrap();
    let keys = [1u16, 1, 0, 1, 3072, 0, 1, 25832];
    fields
        .write_tag(Tag::GeoKeyDirectoryTag, &keys[..])
        .unwrap();
}

/// The same in a GeoTIFF: pixels of 10 × 10 from (500, 900) on, EPSG:25832, no-data 0.
fn geotiff(folder: &Folder, name: &str, scale: &[f64]) -> PathBuf {
    let path = folder.at(name);
    let mut pages = TiffEncoder::new(fs::File::create(&path).unwrap()).unwrap();
    let mut page = pages.new_image::<colortype::Gray8>(5, 4).unwrap();
    place(page.encoder(), "0", scale);
    page.write_data(&CLASSES).unwrap();
    drop(pages);
    path
}

fn npy(folder: &Folder) -> PathBuf {
    folder.npy("classes.npy", &header("|u1", false, "(4, 5)"), &CLASSES)
}

fn polygonize(input: &Path, options: &[&str]) -> Run {
    run([&["polygonize", input.to_str().unwrap()], options].concat())
}

/// The features of a GeoJSON file: value, region, area and exterior ring.
fn features(path: &Path) -> Vec<(Value, Value, Value, Value)> {
    let text = fs::read_to_string(path).unwrap();
    let collection: geojson::FeatureCollection = text.parse().unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        collection.features.len(),
        value["features"].as_array().unwrap().len()
    );
    let features = value["features"].as_array().unwrap().iter();
    features
        .map(|feature| {
            let of = |name: &str| feature["properties"][name].clone();
            let rings = &feature["geometry"]["coordinates"];
            (of("value"), of("region"), of("area"), rings[0].clone())
        })
        .collect()
}

#[test]
fn counts_and_summary() {
    let folder = Folder::new();
    let classes = npy(&folder);
    let said = polygonize(&classes, &[]).succeeded();
    assert!(said.stdout.is_empty());
    let lines: Vec<&str> = said.stderr.lines().collect();
    assert!(
        lines[0].ends_with("classes.npy: 5 × 4 pixels, 8-bit"),
        "{}",
        lines[0]
    );
    assert_eq!(lines[1], "6 regions with 1 hole, of 30 points");
    assert_eq!(polygonize(&classes, &["--quiet"]).succeeded().stderr, "");
    let json = polygonize(&classes, &["--json", "--min-area", "2"])
        .succeeded()
        .json();
    assert_eq!(json["regions"], 6);
    assert_eq!(json["left_out"], 1);
    assert_eq!(json["holes"], 1);
    assert_eq!(json["nodata"], Value::Null);
    assert_eq!(json["transform"], Value::Null);
    let eight = ["--json", "--connectivity", "8"];
    assert_eq!(
        polygonize(&classes, &eight).succeeded().json()["regions"],
        5
    );
}

#[test]
fn all_formats() {
    let folder = Folder::new();
    let classes = npy(&folder);
    for name in [
        "a.geojson",
        "a.geojsonl",
        "a.geojsons",
        "a.fgb",
        "a.gds",
        "a.svg",
    ] {
        let out = folder.at(name);
        polygonize(&classes, &["-o", out.to_str().unwrap()]).succeeded();
        let format = name.split_once('.').unwrap().1;
        let stdout = polygonize(&classes, &["-o", "-", "--format", format, "--quiet"]).succeeded();
        assert_eq!(fs::read(&out).unwrap(), stdout.stdout, "{name}");
    }
    let found = features(&folder.at("a.geojson"));
    let [value, region, area, ring] = [&found[0].0, &found[0].1, &found[0].2, &found[0].3];
    assert_eq!((value, region, area), (&json!(4), &json!(1), &json!(8)));
    assert_eq!(ring.as_array().unwrap().len(), 5);
    let values: Vec<u64> = found.iter().map(|f| f.0.as_u64().unwrap()).collect();
    assert_eq!(values, [4, 0, 7, 4, 0, 7]);
    // Each record of a text sequence has its separator.
    let sequence = fs::read_to_string(folder.at("a.geojsons")).unwrap();
    assert_eq!(sequence.split_terminator('\n').count(), 6);
    assert!(sequence.lines().all(|line| line.starts_with("\u{1e}{")));
    assert!(
        fs::read(folder.at("a.fgb"))
            .unwrap()
            .starts_with(b"fgb\x03")
    );
}

#[test]
fn values_that_are_left_out() {
    let folder = Folder::new();
    let classes = npy(&folder);
    let regions = |input: &Path, options: &[&str]| {
        let options = [options, &["--json"]].concat();
        polygonize(input, &options).succeeded().json()["regions"].clone()
    };
    assert_eq!(regions(&classes, &["--nodata", "0"]), 4);
    assert_eq!(regions(&classes, &["--nodata", "none"]), 6);
    assert_eq!(regions(&classes, &["--nodata", "nan"]), 6);
    let tiff = geotiff(&folder, "classes.tif", &[10.0, 10.0, 0.0]);
    assert_eq!(regions(&tiff, &[]), 4);
    assert_eq!(regions(&tiff, &["--nodata", "none"]), 6);
    assert_eq!(regions(&tiff, &["--nodata", "7"]), 4);
    polygonize(&classes, &["--nodata", "256"]).failed(2, &["8-bit", "256", "--nodata"]);
    polygonize(&classes, &["--nodata", "0.5"]).failed(2, &["8-bit", "0.5"]);
    polygonize(&classes, &["--nodata", "much"]).refused(&["--nodata", "nan, or none"]);
    let floats = [0.5f64, 0.5, f64::NAN, 0.25];
    let floats: Vec<u8> = floats.iter().flat_map(|v| v.to_le_bytes()).collect();
    let floats = folder.npy("f.npy", &header("<f8", false, "(1, 4)"), &floats);
    assert_eq!(regions(&floats, &[]), 2);
    assert_eq!(regions(&floats, &["--nodata", "0.25"]), 1);
    let exact = [0.5f64, 0.1];
    let exact: Vec<u8> = exact.iter().flat_map(|v| v.to_le_bytes()).collect();
    let exact = folder.npy("g.npy", &header("<f8", false, "(1, 2)"), &exact);
    polygonize(&exact, &[]).failed(1, &["0.1 at x = 1, y = 0", "32-bit"]);
}

#[test]
fn world_and_pixels() {
    let folder = Folder::new();
    let tiff = geotiff(&folder, "classes.tif", &[10.0, 10.0, 0.0]);
    let out = folder.at("out.geojson");
    let write = ["-o", out.to_str().unwrap()];
    let said = polygonize(&tiff, &write).succeeded().stderr;
    assert!(said.contains("8-bit, EPSG:25832\n"), "{said}");
    assert!(said.contains("note: pixels with the file's no-data value 0 are left out"));
    assert!(!said.contains("transform"));
    let world = json!([
        [500.0, 900.0],
        [500.0, 870.0],
        [530.0, 870.0],
        [530.0, 900.0],
        [500.0, 900.0]
    ]);
    assert_eq!(features(&out)[0].3, world);
    let text: Value = serde_json::from_str(&fs::read_to_string(&out).unwrap()).unwrap();
    let urn = "urn:ogc:def:crs:EPSG::25832";
    assert_eq!(text["crs"]["properties"]["name"], urn);
    let json = polygonize(&tiff, &["--json"]).succeeded().json();
    assert_eq!(json["epsg"], 25832);
    assert_eq!(json["nodata"], 0.0);
    assert_eq!(
        json["transform"],
        json!([10.0, 0.0, 500.0, 0.0, -10.0, 900.0])
    );

    let said = polygonize(&tiff, &[&write[..], &["--coordinates", "pixels"]].concat());
    assert!(said.succeeded().stderr.contains("results are in pixels"));
    let first = &features(&out)[0].3;
    assert_eq!(first[0], json!([0.0, 0.0]));
    let text: Value = serde_json::from_str(&fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!(text.get("crs"), None);
    // Formats without a place for the CRS, and those that are in pixels.
    let lines = folder.at("out.geojsonl");
    let said = polygonize(&tiff, &["-o", lines.to_str().unwrap()])
        .succeeded()
        .stderr;
    assert!(
        said.contains("no place for the CRS of its coordinates, EPSG:25832"),
        "{said}"
    );
    let svg = folder.at("out.svg");
    let said = polygonize(&tiff, &["-o", svg.to_str().unwrap()])
        .succeeded()
        .stderr;
    assert!(said.contains("results are in pixels"), "{said}");
}

#[test]
fn a_georeference_that_lies() {
    let folder = Folder::new();
    let tiff = geotiff(&folder, "bad.tif", &[f64::NAN, 10.0, 0.0]);
    let out = folder.at("out.geojson");
    let write = ["-o", out.to_str().unwrap()];
    let words = ["bad.tif", "not finite", "--coordinates pixels"];
    polygonize(&tiff, &write).failed(1, &words);
    assert!(!out.exists());
    let image = tiff.to_str().unwrap();
    let above = ["trace", image, "--threshold", "5"];
    run([&above[..], &write[..]].concat()).failed(1, &words);
    run([&["trace", image, "--memory", "1GiB"], &write[..]].concat()).failed(1, &words);
    let pixels = [&write[..], &["--coordinates", "pixels"]].concat();
    polygonize(&tiff, &pixels).succeeded();
    // Jobs without coordinates do not ask.
    run(["label", image]).succeeded();
    run(["trace", image]).succeeded();
    let svg = folder.at("out.svg");
    polygonize(&tiff, &["-o", svg.to_str().unwrap()]).succeeded();
}

/// Contours of a GeoTIFF as GeoJSON, whole and in bands.
#[test]
fn contours_in_the_files_coordinates() {
    let folder = Folder::new();
    let tiff = geotiff(&folder, "classes.tif", &[10.0, 10.0, 0.0]);
    let image = tiff.to_str().unwrap();
    let out = folder.at("out.geojson");
    let trace = |options: &[&str]| {
        let threshold = [
            "trace",
            image,
            "--threshold",
            "5",
            "-o",
            out.to_str().unwrap(),
        ];
        let said = run([&threshold[..], options].concat()).succeeded().stderr;
        let text: Value = serde_json::from_str(&fs::read_to_string(&out).unwrap()).unwrap();
        let all = text["features"].as_array().unwrap().iter();
        let shapes: Vec<Value> = all.map(|f| f["geometry"]["coordinates"].clone()).collect();
        (said, text.get("crs").cloned(), shapes)
    };
    let urn = json!({"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::25832"}});
    for memory in [&[][..], &["--memory", "1GiB"]] {
        let edges = [memory, &["--geometry", "edges"]].concat();
        let (said, crs, shapes) = trace(&edges);
        assert!(!said.contains("transform"), "{said}");
        assert_eq!(crs.as_ref(), Some(&urn));
        let single = json!([[
            [510.0, 890.0],
            [510.0, 880.0],
            [520.0, 880.0],
            [520.0, 890.0],
            [510.0, 890.0]
        ]]);
        assert!(shapes.contains(&single), "{shapes:?}");
        // Centers of pixels.
        let (_, crs, shapes) = trace(memory);
        assert_eq!(crs.as_ref(), Some(&urn));
        assert!(shapes.contains(&json!([515.0, 885.0])), "{shapes:?}");
        let (said, crs, shapes) = trace(&[memory, &["--coordinates", "pixels"]].concat());
        assert!(said.contains("results are in pixels"), "{said}");
        assert_eq!(crs, None);
        assert!(shapes.contains(&json!([1.0, 1.0])), "{shapes:?}");
    }
    let json = folder.at("out.json");
    let world = ["--coordinates", "world", "-o", json.to_str().unwrap()];
    run([&["trace", image], &world[..]].concat()).failed(2, &["--coordinates", ".geojson"]);
}

/// No-data pixels are background, inverted or not.
#[test]
fn thresholds_and_no_data() {
    let folder = Folder::new();
    let tiff = geotiff(&folder, "classes.tif", &[10.0, 10.0, 0.0]);
    let image = tiff.to_str().unwrap();
    let foreground = |options: &[&str]| {
        let all = [&["label", image, "--json", "--threshold", "5"], options].concat();
        run(all).succeeded().json()["foreground"].clone()
    };
    assert_eq!(foreground(&[]), 3);
    assert_eq!(foreground(&["--invert"]), 10);
    assert_eq!(foreground(&["--invert", "--nodata", "none"]), 17);
    assert_eq!(foreground(&["--invert", "--nodata", "4"]), 7);
    assert_eq!(foreground(&["--invert", "--memory", "1GiB"]), 10);
    let floats = [f32::NAN, 0.75, 0.25];
    let floats: Vec<u8> = floats.iter().flat_map(|v| v.to_le_bytes()).collect();
    let floats = folder.npy("f.npy", &header("<f4", false, "(1, 3)"), &floats);
    let floats = floats.to_str().unwrap();
    run(["label", floats]).failed(1, &["not a number"]);
    let json = run(["label", floats, "--nodata", "nan", "--json"])
        .succeeded()
        .json();
    assert_eq!(json["foreground"], 1);
}

/// The staircase between two classes becomes one line, with the same points on both sides.
#[test]
fn simplified() {
    let folder = Folder::new();
    let steps = [1u8, 2, 2, 1, 1, 2, 1, 1, 1];
    let steps = folder.npy("steps.npy", &header("|u1", false, "(3, 3)"), &steps);
    let json = folder.at("a.geojson");
    let to = ["-o", json.to_str().unwrap()];
    let both = [&to[..], &["--simplify", "0.75"]].concat();
    let said = polygonize(&steps, &both).succeeded().stderr;
    assert!(
        said.contains("2 regions with 0 holes, of 8 points"),
        "{said}"
    );
    let whole = |ring: Value| -> Vec<[i64; 2]> {
        let points = ring.as_array().unwrap().iter();
        let number = |value: &Value| value.as_f64().unwrap() as i64;
        points.map(|p| [number(&p[0]), number(&p[1])]).collect()
    };
    let mut found = features(&json).into_iter();
    let (value, _, area, ring) = found.next().unwrap();
    assert_eq!((value, area), (json!(1), json!(6)));
    let first = whole(ring);
    let (value, _, area, ring) = found.next().unwrap();
    assert_eq!((value, area), (json!(2), json!(3)));
    let second = whole(ring);
    let has = |ring: &[[i64; 2]], from, to| ring.windows(2).any(|edge| edge == [from, to]);
    assert!(has(&first, [1, 0], [3, 2]) != has(&first, [3, 2], [1, 0]));
    assert_eq!(has(&first, [1, 0], [3, 2]), has(&second, [3, 2], [1, 0]));
    let all = ["--simplify", "9", "--simplify-method", "visvalingam"];
    polygonize(&steps, &[&to[..], &all[..]].concat()).succeeded();
    let svg = folder.at("a.svg");
    let svg = ["-o", svg.to_str().unwrap(), "--simplify", "1"];
    polygonize(&steps, &svg).succeeded();
    let svg = fs::read_to_string(folder.at("a.svg")).unwrap();
    assert!(svg.contains('l'));
    svg_tags(&svg);
    polygonize(&steps, &["--simplify=-1"]).failed(2, &["--simplify", "from 0"]);
    polygonize(&steps, &["--simplify=nan"]).refused(&["--simplify", "nan"]);
    polygonize(&steps, &["--simplify-method", "visvalingam"]).refused(&["--simplify"]);
    polygonize(&steps, &["--simplify", "1", "--memory", "1GiB"]).failed(2, &["--simplify"]);
    let gds = folder.at("a.gds");
    let gds = ["-o", gds.to_str().unwrap(), "--simplify", "1"];
    polygonize(&steps, &gds).failed(2, &["--simplify", "GDSII"]);
}

#[test]
fn holes_are_filled() {
    let folder = Folder::new();
    let json = folder.at("a.geojson");
    let options = [
        "--fill-holes",
        "--min-area",
        "4",
        "-o",
        json.to_str().unwrap(),
    ];
    let said = polygonize(&npy(&folder), &options).succeeded().stderr;
    assert!(said.contains("6 regions with 0 holes"), "{said}");
    assert!(said.contains("4 smaller than 4 pixels left out"), "{said}");
    let kept: Vec<_> = features(&json)
        .iter()
        .map(|found| (found.0.clone(), found.2.clone()))
        .collect();
    assert_eq!(kept, [(json!(4), json!(9)), (json!(0), json!(4))]);
    polygonize(&npy(&folder), &["--fill-holes", "--memory", "1GiB"]).failed(2, &["--fill-holes"]);
}

#[test]
fn what_does_not_go_together() {
    let folder = Folder::new();
    let classes = npy(&folder);
    let out = folder.at("a.svg");
    let svg = ["-o", out.to_str().unwrap()];
    polygonize(&classes, &["--memory", "1GiB", "--device", "emulator"])
        .failed(2, &["--memory", "--device"]);
    polygonize(&classes, &["--memory", "1MiB"])
        .failed(2, &["classes.npy", "memory", "MiB or more"]);
    polygonize(&classes, &[&svg[..], &["--layer", "3"]].concat()).failed(2, &["--layer", "GDSII"]);
    polygonize(&classes, &[&svg[..], &["--coordinates", "world"]].concat())
        .failed(2, &["--coordinates", ".geojson"]);
    polygonize(&classes, &["--coordinates", "world"]).failed(2, &["no transform"]);
    polygonize(&classes, &["--device", "cuda:all"]).failed(2, &["cuda:all", "polygonize"]);
    polygonize(&classes, &["-o", "-"]).failed(2, &["--format", "geojsonl"]);
    polygonize(
        &classes,
        &["-o", classes.to_str().unwrap(), "--format", "svg"],
    )
    .failed(2, &["same file"]);
    polygonize(&classes, &["-o", folder.at("a.shp").to_str().unwrap()]).failed(2, &[".fgb"]);
    let gds = folder.at("a.gds");
    let gds = ["-o", gds.to_str().unwrap()];
    polygonize(&classes, &[&gds[..], &["--layer", "3"]].concat()).failed(2, &["--layer"]);
    let negative = [0xffu8, 0xff, 1, 0];
    let negative = folder.npy("n.npy", &header("<i2", false, "(1, 2)"), &negative);
    polygonize(&negative, &gds).failed(1, &["-1", "layer", "32767"]);
    polygonize(&folder.at("missing.tif"), &[]).failed(1, &["missing.tif"]);
    let colours = folder.put("c.ppm", "P3 1 1 9 1 2 3");
    polygonize(&colours, &[]).failed(1, &["c.ppm", "one channel"]);
    assert_eq!(folder.names(), ["c.ppm", "classes.npy", "n.npy"]);
}

/// Memory for bands of some rows of [`smooth_classes`] of bytes on [two threads](two_threads).
const SMALL: &str = "50MiB";

/// The command on two threads: the memory it needs depends on their number.
fn two_threads(input: &Path, options: &[&str]) -> Run {
    let mut command = command();
    command.env("RAYON_NUM_THREADS", "2");
    command.arg("polygonize").arg(input).args(options);
    Run::of(command.output().unwrap())
}

/// 600 × 700 pixels of classes in blobs and stripes, some of a pixel, as a GeoTIFF in strips of 5
/// rows.
fn smooth_classes<C: colortype::ColorType>(
    folder: &Folder,
    name: &str,
    value: impl Fn(u32) -> C::Inner,
) -> PathBuf
where
    [C::Inner]: tiff::encoder::TiffValue,
{
    let class = |x: u32, y: u32| {
        let (fx, fy) = (f64::from(x), f64::from(y));
        let wave = (fx / 23.0).sin() + (fy / 31.0).cos() + ((fx + fy) / 57.0).sin();
        match (x * 7 + y * 13) % 101 {
            0 => 9,
            _ => ((wave + 3.0) * 1.5) as u32,
        }
    };
    let pixels = (0..700).flat_map(|y| (0..600).map(move |x| (x, y)));
    let values: Vec<C::Inner> = pixels.map(|(x, y)| value(class(x, y))).collect();
    let path = folder.at(name);
    let mut pages = TiffEncoder::new(fs::File::create(&path).unwrap()).unwrap();
    let mut page = pages.new_image::<C>(600, 700).unwrap();
    page.rows_per_strip(5).unwrap();
    place(page.encoder(), "3", &[10.0, 10.0, 0.0]);
    page.write_data(&values).unwrap();
    drop(pages);
    path
}

#[test]
fn bands_give_the_same_files() {
    let folder = Folder::new();
    let bytes = smooth_classes::<colortype::Gray8>(&folder, "bytes.tif", |class| class as u8);
    let integers =
        smooth_classes::<colortype::GrayI32>(&folder, "integers.tif", |class| class as i32 - 4);
    let floats =
        smooth_classes::<colortype::Gray64Float>(&folder, "floats.tif", |class| match class {
            5 => f64::NAN,
            class => f64::from(class) / 2.0,
        });
    // Decoding larger samples takes more memory.
    let rasters = [(&bytes, SMALL), (&integers, "75MiB"), (&floats, "110MiB")];
    let all = [
        &["--format", "fgb"][..],
        &["--format", "geojson", "--connectivity", "8"],
        &["--format", "geojsons", "--min-area", "5"],
        &["--format", "geojsonl", "--nodata", "2"],
        &["--format", "svg", "--nodata", "none"],
    ];
    let (whole, bands) = (folder.at("whole"), folder.at("bands"));
    for (raster, small) in rasters {
        for options in all {
            let write = |to: &Path, more: &[&str]| {
                let to = ["--json", "-o", to.to_str().unwrap()];
                two_threads(raster, &[&to[..], options, more].concat())
            };
            let expected = write(&whole, &[]).succeeded().json();
            for memory in [small, "2GiB"] {
                let mut found = write(&bands, &["--memory", memory]).succeeded().json();
                let what = format!("{}, {options:?}, {memory}", raster.display());
                assert!(
                    fs::read(&bands).unwrap() == fs::read(&whole).unwrap(),
                    "{what}"
                );
                let rows = found["rows_of_band"].as_u64().unwrap();
                assert_eq!(rows == 700, memory != small, "{rows} rows, {what}");
                for fact in [
                    "regions",
                    "holes",
                    "points",
                    "left_out",
                    "nodata",
                    "transform",
                ] {
                    assert_eq!(found[fact].take(), expected[fact], "{fact}, {what}");
                }
            }
        }
    }
    let names = ["bands", "bytes.tif", "floats.tif", "integers.tif", "whole"];
    assert_eq!(folder.names(), names);
    let said = two_threads(&bytes, &["--memory", SMALL]).succeeded().stderr;
    assert!(said.contains("bands of"), "{said}");
}

#[test]
fn a_value_that_is_no_region_far_down_leaves_no_file() {
    let folder = Folder::new();
    let mut values = vec![0.5f64; 600 * 700];
    values[600 * 650 + 3] = 0.1;
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let exact = folder.npy("exact.npy", &header("<f8", false, "(700, 600)"), &bytes);
    let out = folder.at("out.fgb");
    for memory in [SMALL, "1GiB"] {
        let options = ["-o", out.to_str().unwrap(), "--memory", memory];
        two_threads(&exact, &options).failed(1, &["exact.npy", "0.1 at x = 3, y = 650", "32-bit"]);
    }
    assert_eq!(folder.names(), ["exact.npy"]);
}
