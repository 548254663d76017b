//! Routing from the command line: what is read, what is written, and what is said of nets that
//! cannot be routed.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use trazar_test_seeds::skipped;

use crate::common::{self, Folder, Run, header, run, svg_tags};

/// The example in 王領崧, "Parallized Maze Routing" (sic), undated project report, and its tree.
const EXAMPLE: &str = "3 3\n2\nPin 1 1\nPin 0 2\nVertical 24 26\nVertical 47 13\nVertical 70 2\n\
                       Horizontal 33 68 51\nHorizontal 80 24 77\n";
const TREE: &str = "0 2\n1 1\n1 2\n";

/// Two nets; the second pin of the second is behind blocked edges.
const APART: &str = "3 2\n2\nPin 0 0\nPin 1 1\nNet 3\nPin 1 0\nPin 0 2\nPin 0 1\n\
                     Vertical 1 x\nVertical 2 x\nHorizontal 3 4 5\n";

#[track_caller]
fn route(net: &Path, options: &[&str]) -> Run {
    run(["route", net.to_str().unwrap()]
        .into_iter()
        .chain(options.iter().copied()))
}

/// Checks that a run is refused with `words` and the file's name, and that nothing is written.
#[track_caller]
fn refused(folder: &Folder, text: &str, words: &[&str]) {
    let net = folder.put("net.txt", text);
    let out = folder.at("out.txt");
    let words: Vec<&str> = ["net.txt: "].iter().chain(words).copied().collect();
    route(&net, &["-o", out.to_str().unwrap()]).failed(1, &words);
    route(&net, &["--json"]).failed(1, &words);
    assert_eq!(folder.names(), ["net.txt"]);
}

/// The example with `old` replaced by `new`.
fn with(old: &str, new: &str) -> String {
    assert_eq!(EXAMPLE.matches(old).count(), 1, "{old:?}");
    EXAMPLE.replace(old, new)
}

#[test]
fn the_reports_example_in_every_format() {
    let folder = Folder::new();
    let net = folder.put("net.txt", EXAMPLE);
    let text = route(&net, &["-o", "-", "--format", "txt"]).succeeded();
    assert_eq!(text.stdout, TREE.as_bytes());
    assert!(
        text.stderr.contains("3 × 3 cells, 2 pins"),
        "{}",
        text.stderr
    );
    assert!(text.stderr.contains("cost 64, 3 cells"), "{}", text.stderr);
    let found = route(&net, &["-o", "-", "--format", "json", "-q"])
        .succeeded()
        .json();
    assert_eq!(found["nets"][0]["cost"], 64);
    let cells = json!([[2, 0, 0], [1, 1, 0], [2, 1, 0]]);
    assert_eq!(found["nets"][0]["cells"], cells);
    for (name, start) in [
        ("a.txt", &b"0 2\n"[..]),
        ("a.json", b"{\"width\":3,"),
        ("a.svg", b"<svg "),
        ("a.png", b"\x89PNG"),
    ] {
        let out = folder.at(name);
        route(&net, &["-o", out.to_str().unwrap(), "-q"]).succeeded();
        assert!(fs::read(out).unwrap().starts_with(start), "{name}");
    }
    let svg = fs::read_to_string(folder.at("a.svg")).unwrap();
    let paths = svg_tags(&svg).into_iter().filter(|tag| *tag == "path");
    assert!(paths.count() > 1, "{svg}");
}

#[test]
fn summaries() {
    let folder = Folder::new();
    let net = folder.put("net.txt", EXAMPLE);
    let options = ["--json", "--device", "cpu", "--repeat", "2"];
    let json = route(&net, &options).succeeded();
    assert_eq!(json.stderr, "");
    let json = json.json();
    for (key, value) in [
        ("net", json!(net.to_str().unwrap())),
        ("width", json!(3)),
        ("height", json!(3)),
        ("layers", json!(1)),
        ("nets", json!(1)),
        ("pins", json!(2)),
        ("cost", json!(64)),
        ("cells", json!(3)),
        ("unreached", json!(0)),
        ("device", json!("cpu")),
        ("tree", json!("nearest")),
        ("turn_cost", json!(0)),
        ("repeat", json!(2)),
        (
            "routes",
            json!([{"pins": 2, "cost": 64, "cells": 3, "unreached": []}]),
        ),
    ] {
        assert_eq!(json[key], value, "{key}");
    }
    for key in ["start", "read", "route", "write"] {
        assert!(json["seconds"][key].as_f64().unwrap() >= 0.0, "{key}");
    }
    let quiet = route(&net, &["--quiet"]).succeeded();
    assert!(quiet.stdout.is_empty() && quiet.stderr.is_empty());
    for algorithm in ["auto", "dijkstra", "sweep", "sweep-parallel"] {
        let options = ["--algorithm", algorithm, "--device", "cpu", "--json"];
        let json = route(&net, &options).succeeded().json();
        assert_eq!(json["cost"], 64, "{algorithm}");
        let first = json!("dijkstra");
        let name = if algorithm == "auto" {
            first
        } else {
            json!(algorithm)
        };
        assert_eq!(json["algorithm"], name);
    }
    let info = run(["info", "--json"]).succeeded().json();
    let names = &info["devices"][0]["algorithms"]["route"];
    assert_eq!(names, &json!(["dijkstra", "sweep", "sweep-parallel"]));
    let text = String::from_utf8(run(["info"]).succeeded().stdout).unwrap();
    assert!(text.contains("route: dijkstra, sweep"), "{text}");
}

#[test]
fn pins_that_cannot_be_reached() {
    let folder = Folder::new();
    let words = [
        "pin 1 of net 1 at row 0, column 2",
        "pin 0 at row 1, column 0",
        "--partial",
    ];
    refused(&folder, APART, &words);
    let one = APART
        .replace("Net 3\nPin 1 0\nPin 0 2\nPin 0 1\n", "")
        .replace("Pin 1 1", "Pin 1 2");
    refused(
        &folder,
        &one,
        &["no path reaches pin 1 at row 1, column 2 from pin 0"],
    );
    let more = one
        .replace("2\nPin 0 0", "3\nPin 0 2\nPin 0 0")
        .replace("Pin 1 2", "Pin 0 1");
    refused(
        &folder,
        &more,
        &["pin 1 at row 0, column 0", "nor 1 other pin"],
    );

    let net = folder.put("net.txt", APART);
    let text = route(&net, &["--partial", "-o", "-", "--format", "txt"]).succeeded();
    assert_eq!(text.stdout, b"Net 3\n0 0\n1 0\n1 1\nNet 3\n0 0\n0 1\n1 0\n");
    assert!(text.stderr.contains("1 pin unreached"), "{}", text.stderr);
    let json = route(&net, &["--partial", "--json"]).succeeded().json();
    assert_eq!(json["unreached"], 1);
    assert_eq!(json["routes"][1]["unreached"], json!([1]));
    assert_eq!(json["routes"][1]["cost"], 4);
    assert_eq!(json["routes"][0]["unreached"], json!([]));
}

#[test]
fn no_pin_one_pin_and_the_same_pin_again() {
    let folder = Folder::new();
    let rest = EXAMPLE.split_once("0 2\n").unwrap().1;
    for (pins, tree) in [
        ("0\n", ""),
        ("1\nPin 2 1\n", "2 1\n"),
        ("2\nPin 2 1\nPin 2 1\n", "2 1\n"),
        ("3\nPin 1 1\nPin 0 2\nPin 1 1\n", TREE),
        ("4\nPin 1 1\nPin 0 2\nPin 0 2\nPin 1 2\n", TREE),
    ] {
        let net = folder.put("net.txt", format!("3 3\n{pins}{rest}"));
        let found = route(&net, &["-o", "-", "--format", "txt", "-q"]).succeeded();
        assert_eq!(String::from_utf8(found.stdout).unwrap(), tree, "{pins:?}");
        let json = route(&net, &["--json"]).succeeded().json();
        assert_eq!(json["cells"], tree.lines().count(), "{pins:?}");
    }
}

#[test]
fn files_that_are_no_nets() {
    let folder = Folder::new();
    let is = |text: &str, words: &[&str]| refused(&folder, text, words);
    is("", &["the file is empty"]);
    is(
        "hello\n",
        &["line 1, column 1", "\"hello\" is not a whole number"],
    );
    is(&with("3 3\n", "0 3\n"), &["line 1, column 1", "not from 1"]);
    is(
        &with("3 3\n", "60000 60000\n"),
        &["line 1", "truncated", "60000 × 60000"],
    );
    is(
        &with("Pin 0 2", "Pin 0 3"),
        &["line 4, column 7", "column \"3\" is not from 0 to 2"],
    );
    is(
        &with("Pin 0 2", "Pin 3 2"),
        &["line 4, column 5", "row \"3\" is not from 0 to 2"],
    );
    is(
        &with("\n2\n", "\n3\n"),
        &["line 5, column 1", "\"Vertical\" where the line of pin 2"],
    );
    is(
        &with("\n2\n", "\n1\n"),
        &[
            "line 4, column 1",
            "\"Pin\"",
            "should begin with \"Vertical\"",
        ],
    );
    is(
        &with("47 13", "47"),
        &["line 6, column 12", "has 1 weights", "needs 2"],
    );
    is(
        &with("47 13", "47 13 9"),
        &["line 6, column 16", "\"9\" is too much"],
    );
    is(
        &with("47 13", "47 -1"),
        &["line 6, column 13", "\"-1\" is not a whole number"],
    );
    is(
        &with("47 13", "47 4294967296"),
        &["line 6, column 13", "not from 0 to 4294967294"],
    );
    is(
        &with("Vertical 70 2\n", ""),
        &["line 7, column 1", "\"Horizontal\" where"],
    );
    is(
        &with("Horizontal 80 24 77\n", ""),
        &["line 9", "ends before \"Horizontal\" line 1"],
    );
    is(
        &format!("{EXAMPLE}Pin 1 1\n"),
        &["line 10, column 1", "\"Pin\" follows"],
    );
    route(&folder.at("missing.txt"), &[]).failed(1, &["missing.txt", "No such file"]);
    route(folder.path(), &[]).failed(1, &["directory"]);
    #[cfg(target_os = "linux")]
    route(Path::new("/dev/zero"), &[]).failed(1, &["/dev/zero", "device"]);
}

#[test]
fn outputs_that_cannot_be_written() {
    let folder = Folder::new();
    let net = folder.put("net.txt", EXAMPLE);
    let to = |out: &Path, options: &[&str]| {
        let out = ["-o", out.to_str().unwrap()];
        route(&net, &[&out, options].concat())
    };
    to(folder.path(), &["--format", "txt"]).failed(1, &["directory"]);
    to(&folder.at("no folder").join("a.txt"), &[]).failed(1, &["no folder", "No such file"]);
    to(&folder.at("a.gif"), &[]).failed(2, &["a.gif", ".txt", ".json", ".svg", ".png"]);
    to(Path::new("-"), &[]).failed(2, &["--format", "txt"]);
    to(Path::new("-"), &["--format", "txt", "--json"]).failed(2, &["--json"]);
    to(&net, &[]).failed(2, &["-o", "NET", "net.txt", "same file"]);
    assert_eq!(fs::read(&net).unwrap(), EXAMPLE.as_bytes());
    #[cfg(target_os = "linux")]
    to(Path::new("/dev/full"), &["--format", "txt"]).failed(1, &["/dev/full", "No space"]);
    assert_eq!(folder.names(), ["net.txt"]);
}

#[test]
fn options_that_do_not_go_together() {
    let folder = Folder::new();
    let net = folder.put("net.txt", EXAMPLE);
    let name = net.to_str().unwrap();
    run(["route"]).refused(&["NET"]);
    run(["route", "--down", name, "--pins", name]).refused(&["--right"]);
    run(["route", "--right", name, "--pins", name]).refused(&["--down"]);
    run([
        "route", name, "--right", name, "--down", name, "--pins", name,
    ])
    .refused(&["NET"]);
    route(&net, &["--pins", name]).refused(&["--right"]);
    route(&net, &["--algorithm", "magic"]).refused(&["magic", "dijkstra", "prefix-fused"]);
    route(&net, &["--tree", "best"]).refused(&["best", "improved"]);
    route(&net, &["--improve", "soon"]).refused(&["--improve", "steps", "5s"]);
    route(&net, &["--improve", "9", "--tree", "nearest"]).refused(&["--improve", "--tree"]);
    for budget in ["0", "9", "20ms"] {
        let json = route(&net, &["--improve", budget, "--json"]).succeeded();
        let json = json.json();
        assert_eq!(json["tree"], "improved");
        assert_eq!(json["cost"], 64);
    }
    route(&net, &["--turn-cost=-1"]).refused(&["--turn-cost"]);
    let fewest = |option, value| route(&net, &["--tree", "fewest-edges", option, value]);
    fewest("--algorithm", "sweep").failed(2, &["fewest-edges", "--algorithm"]);
    fewest("--turn-cost", "1").failed(2, &["fewest-edges", "--turn-cost"]);
    fewest("--device", "emulator").failed(1, &["breadth-first", "cpu", "fields"]);
    let json = fewest("--device", "cpu");
    assert!(json.succeeded().stderr.contains("breadth-first"));
    route(&net, &["--seed", "3"]).failed(2, &["--seed", "--device emulator"]);
    let options = ["--device", "cpu", "--algorithm", "tiles"];
    route(&net, &options).failed(1, &["tiles", "cuda or emulator", "dijkstra"]);
    run(["route", "--right", "-", "--down", "-", "--pins", name]).failed(2, &["standard input"]);
}

/// The summary says how many pins were joined by fields, and how many by other algorithms.
#[test]
fn what_fields_did_is_said() {
    let folder = Folder::new();
    let fields = |text: &str, options: &[&str]| -> Value {
        let net = folder.put("net.txt", text);
        let all = [&["--device", "emulator", "--json"], options].concat();
        let found = route(&net, &all).succeeded().json();
        found["routes"][0]["fields"].clone()
    };
    let used = |by_fields: u32, in_tiles: u32, fallback: Value| {
        json!({
            "by_fields": by_fields,
            "by_searches": 0,
            "in_tiles": in_tiles,
            "fallback": fallback,
        })
    };
    assert_eq!(fields(EXAMPLE, &[]), used(1, 0, Value::Null));
    let free = with("Vertical 70 2", "Vertical 70 0");
    assert_eq!(fields(&free, &[]), used(0, 1, json!("free-edges")));
    assert_eq!(fields(&free, &["--algorithm", "tiles"]), Value::Null);
}

#[cfg(unix)]
#[test]
fn nets_from_standard_input() {
    let folder = Folder::new();
    let net = fs::File::open(folder.put("net.txt", EXAMPLE)).unwrap();
    let arguments = ["route", "-", "-o", "-", "--format", "txt"];
    let output = common::command()
        .args(arguments)
        .stdin(net)
        .output()
        .unwrap();
    assert_eq!(Run::of(output).succeeded().stdout, TREE.as_bytes());
}

#[test]
fn weights_from_arrays() {
    let folder = Folder::new();
    let bytes = |weights: &[u16]| {
        weights
            .iter()
            .flat_map(|w| w.to_le_bytes())
            .collect::<Vec<_>>()
    };
    let array = |name: &str, shape: &str, weights: &[u16]| {
        folder.npy(name, &header("<u2", false, shape), &bytes(weights))
    };
    let right = array("r.npy", "(3, 2)", &[24, 26, 47, 13, 70, 2]);
    let down = array("d.npy", "(2, 3)", &[33, 68, 51, 80, 24, 77]);
    let pins = folder.put("pins.txt", "1 1\n0 2\n");
    let routed = |right: &PathBuf, down: &PathBuf, more: &[&str]| {
        let [right, down, pins] = [right, down, &pins].map(|path| path.to_str().unwrap());
        let inputs = ["route", "--right", right, "--down", down, "--pins", pins];
        run(inputs.iter().chain(more))
    };
    let text = routed(&right, &down, &["-o", "-", "--format", "txt"]).succeeded();
    assert_eq!(text.stdout, TREE.as_bytes());
    routed(&right, &right, &[]).failed(1, &["r.npy", "(3, 2)", "must be (2, 3)"]);
    routed(
        &right,
        &down,
        &["-o", down.to_str().unwrap(), "--format", "txt"],
    )
    .failed(2, &["--down", "same file"]);
    let text = folder.put("t.npy", "1 2");
    routed(&text, &down, &[]).failed(1, &["t.npy", "not a .npy file"]);
    folder.put("pins.txt", "1 1\n0 3\n");
    routed(&right, &down, &[]).failed(1, &["pins.txt", "line 2, column 3"]);
    folder.put("pins.txt", "1 1\n0 2\n");

    let right = array("r3.npy", "(2, 3, 2)", &[9; 12]);
    let down = array("d3.npy", "(2, 2, 3)", &[9; 12]);
    let via = array("v3.npy", "(1, 3, 3)", &[1; 9]);
    routed(&right, &down, &[]).failed(1, &["r3.npy", "vias", "(1, 3, 3)"]);
    folder.put("pins.txt", "1 1 1\n0 2\n");
    let json = routed(&right, &down, &["--via", via.to_str().unwrap(), "--json"]);
    let json = json.succeeded().json();
    assert_eq!((&json["layers"], &json["cost"]), (&json!(2), &json!(19)));
}

#[test]
fn generated_nets() {
    let folder = Folder::new();
    let generate = |options: &[&str]| {
        let command = ["generate", "net", "-o", "-", "--size", "30x20"];
        run(command.iter().chain(options)).succeeded().stdout
    };
    let text = |options: &[&str]| String::from_utf8(generate(options)).unwrap();
    assert_eq!(generate(&["--seed", "7"]), generate(&["--seed", "7"]));
    assert_ne!(generate(&["--seed", "7"]), generate(&["--seed", "8"]));
    assert!(text(&["--pins", "3"]).starts_with("30 20\n3\nPin "));
    let flat = text(&["--weights", "5..6"]);
    assert!(flat.contains(" 5") && !flat.contains(" x"), "{flat}");
    let stacked = text(&[
        "--layers",
        "3",
        "--via",
        "12",
        "--nets",
        "4",
        "--blocked",
        "0.1",
    ]);
    assert!(stacked.starts_with("30 20 3\n16\nPin "), "{stacked}");
    assert_eq!(stacked.matches("Net 16\n").count(), 3);
    assert_eq!(stacked.matches("\nVia ").count(), 2 * 20);
    let net = folder.put("net.txt", stacked);
    let json = route(&net, &["--json", "--partial"]).succeeded().json();
    assert_eq!((&json["nets"], &json["pins"]), (&json!(4), &json!(64)));

    let out = folder.at("a.txt");
    let out = out.to_str().unwrap();
    let refused = |options: &[&str]| run(["generate", "net", "-o", out].iter().chain(options));
    for wrong in ["9", "9..", "..9", "1-9", "-1..9", "1..4294967296", "a..b"] {
        refused(&[&format!("--weights={wrong}")]).refused(&["--weights", "A..B"]);
    }
    refused(&["--weights", "9..5"]).failed(2, &["9 to 5"]);
    refused(&["--size", "3", "--pins", "10"]).failed(2, &["10 pins on 9 cells"]);
    refused(&["--layers", "17"]).failed(2, &["1 to 16"]);
    refused(&["--blocked", "1.5"]).failed(2, &["0 to 1"]);
    refused(&["--size", "100000x100000"]).failed(1, &["too large"]);
    assert_eq!(folder.names(), ["net.txt"]);
}

#[test]
fn the_documentations_example_of_layers_and_nets() {
    let text = include_str!("../../../docs/routing.md");
    let example = text.split_once("Two layers, two nets").unwrap().1;
    let (_, example) = example.split_once("```text\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let folder = Folder::new();
    let json = route(&folder.put("net.txt", example), &["--json"])
        .succeeded()
        .json();
    for (key, value) in [("layers", 2), ("nets", 2), ("pins", 4)] {
        assert_eq!(json[key], value, "{key}");
    }
}

#[test]
fn help_has_examples() {
    for command in [&["route", "--help"][..], &["generate", "net", "--help"]] {
        let help = String::from_utf8(run(command).succeeded().stdout).unwrap();
        assert!(help.contains("Examples:"), "{help}");
    }
}

/// The format of nets is in the long help, with an example that is one, and not in the short help.
#[test]
fn help_has_the_format_of_nets() {
    let help = |option| String::from_utf8(run(["route", option]).succeeded().stdout).unwrap();
    let (short, long) = (help("-h"), help("--help"));
    assert!(
        !short.contains("Vertical") && short.contains("Examples:"),
        "{short}"
    );
    for word in ["Pin", "Net K", "Window", "Via", "Horizontal"] {
        assert!(long.contains(&format!("\n  {word}")), "{long}");
    }
    let (_, example) = long.split_once("3 × 3 cells:\n").unwrap();
    let (example, _) = example.split_once("\n\n").unwrap();
    let example: Vec<&str> = example.lines().map(str::trim).collect();
    let folder = Folder::new();
    let net = folder.put("net.txt", example.join("\n"));
    let json = route(&net, &["--json"]).succeeded().json();
    for (key, value) in [("width", 3), ("height", 3), ("pins", 2), ("cost", 94)] {
        assert_eq!(json[key], value, "{key}");
    }
}

/// The report's cases give trees in the format of its answers, and about as long; the two cases
/// with unique shortest paths give them cell by cell.
#[test]
fn the_reports_cases_where_there_are_any() {
    let data = std::env::var_os("TRAZAR_DATA").unwrap_or_default();
    let cases = Path::new(&data).join("route");
    if data.is_empty() || !cases.exists() {
        skipped(
            "the_reports_cases_where_there_are_any",
            "TRAZAR_DATA names no folder with route/case*.txt",
        );
        return;
    }
    let folder = Folder::new();
    let cells = |text: &str| -> Vec<[u32; 2]> {
        let cell = |line: &str| {
            let (row, column) = line.split_once(' ').unwrap();
            [row, column].map(|number| number.parse().unwrap())
        };
        text.lines().map(cell).collect()
    };
    for number in 1..=6 {
        let case = cases.join(format!("case{number}.txt"));
        let answer = fs::read_to_string(case.with_extension("out")).unwrap();
        let out = folder.at("tree.txt");
        let options = ["-o", out.to_str().unwrap(), "--json"];
        let json: Value = route(&case, &options).succeeded().json();
        let tree = fs::read_to_string(&out).unwrap();
        if number <= 2 {
            assert_eq!(tree, answer, "case {number}");
        }
        // Both are lists in raster order that contain all pins.
        let (tree, answer) = (cells(&tree), cells(&answer));
        assert!(tree.is_sorted() && answer.is_sorted());
        assert_eq!(json["cells"], tree.len());
        let case = fs::read_to_string(&case).unwrap();
        let pins = case.lines().filter_map(|line| line.strip_prefix("Pin "));
        for pin in pins.flat_map(cells) {
            assert!(tree.binary_search(&pin).is_ok() && answer.binary_search(&pin).is_ok());
        }
        // Ties are broken in other ways, which hardly changes the length.
        assert!(
            tree.len().abs_diff(answer.len()) * 100 <= answer.len(),
            "case {number}"
        );
    }
}

/// Nets without pins take little more memory than the nets themselves, also if each is listed.
#[cfg(target_os = "linux")]
#[test]
fn many_nets_without_pins() {
    let folder = Folder::new();
    let nets = "Net 0\n".repeat(300_000);
    let case = format!("2 2\n0\n{nets}Vertical 1\nVertical 1\nHorizontal 1 1\n");
    let case = folder.put("case.txt", case);
    let limited = |options: &[&str]| {
        let run = std::process::Command::new("sh")
            .args(["-c", "ulimit -v 300000; exec \"$@\"", "sh"])
            .arg(env!("CARGO_BIN_EXE_trazar"))
            .arg("route")
            .arg(&case)
            .args(["--device", "cpu"])
            .args(options)
            .output()
            .unwrap();
        Run::of(run).succeeded()
    };
    let said = limited(&[]).stderr;
    assert!(said.contains("300001 nets of 0 pins"), "{said}");
    let listed = limited(&["--json"]).stdout;
    let listed = String::from_utf8(listed).unwrap();
    let net = r#"{"cells":0,"cost":0,"pins":0,"unreached":[]}"#;
    assert_eq!(listed.matches(net).count(), 300_001);
    let (start, end) = (r#""repeat":1,"routes":[{"#, r#"}],"seconds":{"#);
    assert!(listed.contains(start) && listed.contains(end));
}
