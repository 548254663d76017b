//! Cost distances from the command line.

use std::fs;
use std::path::PathBuf;

use crate::common::{Folder, Run, geotiff, run};

/// A ring of 1 around cells of 9.
const FRICTION: &str = "P2\n5 3\n9\n1 1 1 1 1\n1 9 9 9 1\n1 1 1 1 1\n";

fn distance(folder: &Folder, options: &str) -> Run {
    let at = |word: &str| match word.contains('.') && !word.starts_with('-') {
        true => folder.at(word).to_str().unwrap().to_owned(),
        false => word.to_owned(),
    };
    run(["distance".to_owned()]
        .into_iter()
        .chain(options.split(' ').map(at)))
}

fn set_up() -> Folder {
    let folder = Folder::new();
    folder.put("friction.pgm", FRICTION);
    folder.put("points.csv", "row,column\n1,0\n");
    folder.put("ends.csv", "name,column,row\n\"the end, right\",4,1\n");
    folder
}

/// The 8 cells of the ring's longer side, row by row, as f32.
fn floats(bytes: &[u8]) -> Vec<f32> {
    let header = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let values = bytes[header..].chunks_exact(4);
    values
        .map(|value| f32::from_le_bytes(value.try_into().unwrap()))
        .collect()
}

#[test]
fn costs_ids_directions_and_paths_are_written() {
    let folder = set_up();
    let options = "friction.pgm --sources points.csv -o cost.npy -o cost.png -o paths.geojson \
                   --path-to ends.csv --allocation ids.npy --direction back.npy --json";
    let options = options.split_whitespace().collect::<Vec<_>>().join(" ");
    let found = distance(&folder, &options).succeeded().json();
    assert_eq!(found["reached"], 15);
    assert_eq!(found["sources"], 1);
    let costs = floats(&fs::read(folder.at("cost.npy")).unwrap());
    let diagonal = 2f32.sqrt();
    assert_eq!(costs[5], 0.0);
    assert_eq!(costs[1], diagonal);
    assert_eq!(costs[9], diagonal + 1.0 + 1.0 + diagonal);
    assert_eq!(found["paths"][0], f64::from(costs[9]));
    let paths = fs::read_to_string(folder.at("paths.geojson")).unwrap();
    let paths: serde_json::Value = serde_json::from_str(&paths).unwrap();
    let cells = &paths["features"][0]["geometry"]["coordinates"];
    let expected = serde_json::json!([[0.5, 1.5], [1.5, 2.5], [2.5, 2.5], [3.5, 2.5], [4.5, 1.5]]);
    assert_eq!(*cells, expected);
    let ids = fs::read(folder.at("ids.npy")).unwrap();
    assert!(ids.ends_with(&1u32.to_le_bytes().repeat(15)));
    let back = fs::read(folder.at("back.npy")).unwrap();
    assert_eq!(back[back.len() - 10], 0);
    assert!(
        fs::read(folder.at("cost.png"))
            .unwrap()
            .starts_with(b"\x89PNG")
    );
}

#[test]
fn limits_neighbours_and_sizes_are_applied() {
    let folder = set_up();
    for (options, farthest) in [
        ("--neighbours 4 --max-cost 3", 3.0),
        ("--neighbours 4 --max-cost 3 --cell-size 10,1", 1.0),
        (
            "--neighbours 16 --precision f64 --max-cost 1 --cell-size 100",
            0.0,
        ),
    ] {
        let options = format!("friction.pgm --sources points.csv --json {options}");
        let found = distance(&folder, &options).succeeded().json();
        assert_eq!(found["farthest"], farthest, "{options}");
    }
    for algorithm in ["dijkstra", "buckets", "tiles"] {
        let options = format!("friction.pgm --sources points.csv --json --algorithm {algorithm}");
        let found = distance(&folder, &options).succeeded().json();
        assert_eq!(found["algorithm"], algorithm);
        assert_eq!(found["reached"], 15);
    }
}

#[test]
fn a_geotiff_keeps_its_place() {
    let folder = set_up();
    // 7 is no data.
    let tiff = geotiff(3, 2, &[1, 1, 1, 7, 7, 1], true);
    let put = |name: &str, bytes: &[u8]| -> PathBuf {
        fs::write(folder.at(name), bytes).unwrap();
        folder.at(name)
    };
    put("friction.tif", &tiff);
    // The middle of the first cell; y points up.
    folder.put("places.csv", "x,y,id,cost\n500015,3999990,5,2\n");
    let options = "friction.tif --sources places.csv -o cost.tif --allocation ids.tif \
                   -o paths.geojson --path-to places.csv --json --neighbours 4";
    let options = options.split_whitespace().collect::<Vec<_>>().join(" ");
    let found = distance(&folder, &options).succeeded().json();
    assert_eq!(found["cell_size"], serde_json::json!([30.0, 20.0]));
    assert_eq!(found["reached"], 4);
    assert_eq!(found["farthest"], 2.0 + 60.0 + 20.0);
    let costs = trazar::formats::read_raster(folder.at("cost.tif")).unwrap();
    let friction = trazar::formats::read_raster(folder.at("friction.tif")).unwrap();
    assert_eq!(
        costs.georeference().unwrap(),
        friction.georeference().unwrap()
    );
    assert!(costs.georeference().unwrap().is_some());
    assert!(costs.no_data.is_some_and(f64::is_nan));
    let trazar::formats::RasterValues::F32(values) = costs.values else {
        panic!("floats");
    };
    assert_eq!(values[..3], [2.0, 32.0, 62.0]);
    assert!(values[3].is_nan() && values[5] == 82.0);
    let ids = trazar::formats::read_raster(folder.at("ids.tif")).unwrap();
    assert_eq!(
        ids.values,
        trazar::formats::RasterValues::U32(vec![5, 5, 5, 0, 0, 5])
    );
    let paths = fs::read_to_string(folder.at("paths.geojson")).unwrap();
    assert!(
        paths.contains("EPSG::32633") && paths.contains("[500015,3999990]"),
        "{paths}"
    );

    // A raster of sources; costs as friction again.
    put("sources.tif", &geotiff(3, 2, &[0, 0, 9, 0, 0, 0], true));
    let options = "friction.tif --sources sources.tif -o cost2.tif --json";
    assert_eq!(distance(&folder, options).succeeded().json()["sources"], 1);
    distance(&folder, "cost2.tif --sources sources.tif --json").succeeded();

    put("plain.tif", &geotiff(3, 2, &[1; 6], false));
    let options = "plain.tif --sources places.csv -o none.tif";
    distance(&folder, options).failed(1, &["places.csv", "has no transform", "row and column"]);
    put("other.tif", &geotiff(2, 2, &[1; 4], false));
    let options = "plain.tif --sources other.tif -o none.tif";
    distance(&folder, options).failed(1, &["other.tif", "2 × 2", "3 × 2"]);
    assert!(!folder.names().contains(&"none.tif".to_owned()));
}

#[test]
fn bad_input_has_one_line_and_leaves_nothing() {
    let folder = set_up();
    folder.put("outside.csv", "row,column\n1,0\n0,5\n");
    folder.put("word.csv", "row,column\n1,left\n");
    folder.put("header.csv", "1,0\n");
    folder.put("short.csv", "row,column\n1\n");
    folder.put("none.csv", "row,column\n");
    folder.put("half.csv", "row,column\n1,0.5\n");
    folder.put("id.csv", "row,column,id\n1,0,0\n");
    let before = folder.names();
    for (sources, words) in [
        (
            "outside.csv",
            &["line 3", "row 0, column 5", "3 rows and 5 columns"][..],
        ),
        ("word.csv", &["line 2", "\"left\" is not a number"]),
        ("header.csv", &["names no columns `row` and `column`"]),
        ("short.csv", &["line 2", "1 fields, and the header has 2"]),
        ("half.csv", &["line 2", "whole numbers"]),
        ("id.csv", &["line 2", "the id \"0\""]),
    ] {
        let options = format!("friction.pgm --sources {sources} -o cost.npy");
        distance(&folder, &options).failed(1, words);
    }
    let options = "friction.pgm --sources none.csv -o cost.npy";
    distance(&folder, options).failed(2, &["there are no sources"]);
    for (options, words) in [
        ("-o cost.txt", &["cost.txt: no known extension"][..]),
        ("-o paths.geojson", &["say which with --path-to"]),
        ("--path-to ends.csv", &["add -o OUT.geojson"]),
        ("--allocation ids.png", &["it is written as .tif or .npy"]),
        ("-o friction.pgm", &["no known extension"]),
        ("--max-cost -1", &["`max_cost` is -1"]),
    ] {
        let options = format!("friction.pgm --sources points.csv {options}");
        let run = distance(&folder, &options);
        assert_eq!(run.status, Some(2), "{options}: {}", run.stderr);
        for word in words {
            assert!(run.stderr.contains(word), "{options}: {}", run.stderr);
        }
    }
    assert_eq!(folder.names(), before);
    // Kernels write the same costs.
    for device in ["cpu", "emulator"] {
        let options =
            format!("friction.pgm --sources points.csv --device {device} -o {device}.npy");
        let run = distance(&folder, &options);
        assert_eq!(run.status, Some(0), "{}", run.stderr);
    }
    let costs = |device: &str| fs::read(folder.at(&format!("{device}.npy"))).unwrap();
    assert!(costs("emulator") == costs("cpu"));
}
