//! `trazar bench`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{Folder, Run, run};

/// One run of each job on small inputs, on the processor.
fn bench(options: &[&str]) -> Run {
    let small = ["--size", "64", "--time", "0", "--device", "core,cpu"];
    run([&["bench"], options, &small[..]].concat())
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn all_jobs_are_measured_on_all_devices() {
    let folder = Folder::new();
    let names = ["new.json", "new.md", "new.svg"].map(|name| folder.at(name));
    let [json, markdown, svg] = &names;
    let mut options = Vec::new();
    for name in &names {
        options.extend(["-o", name.to_str().unwrap()]);
    }
    let printed = bench(&[&options[..], &["--json"]].concat())
        .succeeded()
        .json();
    assert_eq!(printed, read(json));
    let results = printed["results"].as_array().unwrap();
    let found = |job: &str, device: &str| {
        let of = |each: &&Value| each["job"] == job && each["device"] == device;
        let inputs = results.iter().filter(of);
        inputs
            .map(|each| {
                (
                    each["input"].as_str().unwrap(),
                    each["found"].as_str().unwrap(),
                )
            })
            .collect::<Vec<_>>()
    };
    for (job, inputs) in [
        ("label", 2),
        ("trace", 2),
        ("polygonize", 2),
        ("measure", 1),
        ("distance", 1),
        ("route", 1),
    ] {
        assert_eq!(found(job, "core").len(), inputs, "{job}");
        assert_eq!(found(job, "core"), found(job, "cpu"));
    }
    // What the jobs themselves say of the same input.
    let mask = folder.at("mask.png");
    let mask = mask.to_str().unwrap();
    run([
        "generate", "mask", "blobs", "--size", "64", "--seed", "1", "-o", mask,
    ])
    .succeeded();
    let traced = run(["trace", mask, "--json"]).succeeded().json();
    let contours = format!("{} contours", traced["contours"]);
    assert_eq!(found("trace", "core")[0], ("blobs 64 × 64", &contours[..]));

    for each in results {
        let number = |name: &str| each[name].as_f64().unwrap();
        let [low, high] = [0, 1].map(|i| each["seconds"]["spread"][i].as_f64().unwrap());
        let median = each["seconds"]["median"].as_f64().unwrap();
        let least = each["seconds"]["least"].as_f64().unwrap();
        assert!(
            0.0 < least && least <= low && low <= median && median <= high,
            "{each}"
        );
        assert!(
            number("copy_seconds") > 0.0 && number("runs") == 5.0,
            "{each}"
        );
        assert_eq!(number("pixels"), 4096.0);
    }
    let machine = &printed["machine"];
    assert!(machine["cores"].as_u64() > Some(0) && machine["processor"] != "");
    let markdown = fs::read_to_string(markdown).unwrap();
    assert_eq!(markdown.matches("\n| ").count(), results.len() + 6);
    let svg = fs::read_to_string(svg).unwrap();
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    assert_eq!(svg.matches("<rect class=").count(), results.len());
}

#[test]
fn a_job_is_measured_on_a_file() {
    let folder = Folder::new();
    let ring = folder.ring("ring.png");
    let ring = ring.to_str().unwrap();
    for (job, found) in [
        ("label", "3 components"),
        ("trace", "4 contours"),
        ("polygonize", "5 polygons"),
        ("measure", "2 labels"),
        ("distance", "56 cells"),
    ] {
        let results = bench(&[job, ring, "--json"]).succeeded().json();
        let result = &results["results"][0];
        assert_eq!(result["input"], "ring.png 8 × 7");
        assert_eq!(result["found"], found, "{job}");
    }
    // A file's name cannot act on the terminal.
    #[cfg(unix)]
    {
        let acting = folder.at("a\u{1b}[31m.png");
        fs::copy(ring, &acting).unwrap();
        let printed = bench(&["trace", acting.to_str().unwrap()]).succeeded();
        let printed = String::from_utf8(printed.stdout).unwrap();
        assert!(printed.contains("a\\u{1b}[31m.png 8 × 7"), "{printed:?}");
        assert!(!printed.contains('\u{1b}'), "{printed:?}");
    }
    let net = folder.at("net.txt");
    let net = net.to_str().unwrap();
    run(["generate", "net", "--size", "32", "--pins", "4", "-o", net]).succeeded();
    let routed = run(["route", net, "--json"]).succeeded().json();
    let results = bench(&["route", net, "--json"]).succeeded().json();
    assert_eq!(
        results["results"][0]["found"],
        format!("cost {}", routed["cost"])
    );
    // Without --json it is a table.
    let table = bench(&["trace", ring]).succeeded();
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(
        table.contains("trace, ring.png 8 × 7: 4 contours"),
        "{table}"
    );
    assert!(
        bench(&["trace", ring, "--quiet"])
            .succeeded()
            .stdout
            .is_empty()
    );
}

/// Earlier times a hundred times as long, or a hundredth, are beyond any noise.
#[test]
fn changes_are_told() {
    let folder = Folder::new();
    let old = folder.at("old.json");
    let old = old.to_str().unwrap();
    bench(&["label", "-o", old, "--quiet"]).succeeded();
    let scaled = |factor: f64| {
        let mut results = read(Path::new(old));
        for each in results["results"].as_array_mut().unwrap() {
            let seconds = &mut each["seconds"];
            let times = ["/median", "/least", "/spread/0", "/spread/1"];
            for time in times {
                let time = seconds.pointer_mut(time).unwrap();
                *time = (time.as_f64().unwrap() * factor).into();
            }
        }
        folder.put("scaled.json", results.to_string())
    };
    let shorter = scaled(1e-3);
    let slower = bench(&["label", "--against", shorter.to_str().unwrap()]);
    assert_eq!(slower.status, Some(1));
    assert_eq!(
        slower.stderr.matches("slower: label, ").count(),
        4,
        "{}",
        slower.stderr
    );
    assert!(slower.stderr.ends_with("error: 4 of 4 got slower\n"));
    let longer = scaled(1e3);
    let faster = bench(&["label", "--against", longer.to_str().unwrap()]).succeeded();
    assert_eq!(
        faster.stderr.matches("faster: label, ").count(),
        4,
        "{}",
        faster.stderr
    );
    assert!(
        faster.stderr.contains("4 compared, 0 as before"),
        "{}",
        faster.stderr
    );
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let folder = Folder::new();
    let ring = folder.ring("ring.png");
    let ring = ring.to_str().unwrap();
    run(["bench", "all", ring]).failed(2, &["one job", "bench trace"]);
    run(["bench", "--size", "0"]).refused(&["--size", "1..=65536"]);
    run(["bench", "--time", "-1"]).refused(&["-1"]);
    run(["bench", "swim"]).refused(&["swim", "polygonize"]);
    run(["bench", "-o", "results.csv"]).failed(2, &["results.csv", ".json, .md, .svg"]);
    run(["bench", "-o", "-"]).failed(2, &["--json"]);
    run(["bench", "trace", ring, "-o", ring]).failed(2, &[".json"]);
    run(["bench", "trace", "missing.png"]).failed(1, &["missing.png"]);
    run(["bench", "--against", ring]).failed(1, &["ring.png"]);
    let other = folder.put("other.json", "{}");
    run(["bench", "--against", other.to_str().unwrap()]).failed(1, &["bench -o OUT.json"]);
    let floats = folder.npy(
        "floats.npy",
        &crate::common::header("<f4", false, "(1, 2)"),
        &[0; 8],
    );
    run(["bench", "measure", floats.to_str().unwrap()]).failed(1, &["float32", "integers"]);
    let barriers: Vec<u8> = [f32::NAN; 2].iter().flat_map(|v| v.to_le_bytes()).collect();
    let header = crate::common::header("<f4", false, "(1, 2)");
    let barriers = folder.npy("barriers.npy", &header, &barriers);
    run(["bench", "distance", barriers.to_str().unwrap()]).failed(1, &["barriers"]);
}
