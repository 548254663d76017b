//! Nets that compete for edges, from the command line.

use std::fs;

use serde_json::json;

use crate::common::{Folder, run};

/// Two nets along a row of three cells whose edges have room for one; there is a second row.
const CASE: &str = "3 2\n2\nPin 0 0\nPin 0 2\nNet 2\nPin 0 0\nPin 0 2\nVertical 1 1\nVertical 1 1\n\
                    Horizontal 1 1 1\nVerticalCapacity 1 1\nVerticalCapacity 1 1\n\
                    HorizontalCapacity 1 1 1\n";

#[test]
fn nets_share_what_there_is_or_the_summary_says_where_not() {
    let folder = Folder::new();
    let net = folder.put("net.txt", CASE);
    let net = net.to_str().unwrap();
    let summary = run(["route", net]).succeeded().stderr;
    let words = "cost 6, 8 cells, wire length 6, 0 vias, no overflow after ";
    assert!(summary.contains(words), "{summary}");
    let found = run(["route", net, "--json"]).succeeded().json();
    assert_eq!(found["algorithm"], "negotiation");
    assert_eq!(found["device"], "cpu");
    assert_eq!(
        (&found["overflow"], &found["overfull"]),
        (&json!(0), &json!([]))
    );
    assert_eq!(found["wire_length"], 6);
    // A third net is one too many.
    let crowded = CASE.replacen("Net 2", "Net 2\nPin 0 0\nPin 0 2\nNet 2", 1);
    let crowded = folder.put("crowded.txt", &crowded);
    let crowded = crowded.to_str().unwrap();
    let found = run(["route", crowded, "--json", "--rounds", "7"])
        .succeeded()
        .json();
    assert_eq!(found["rounds"], 7);
    let overfull = found["overfull"].as_array().unwrap();
    assert!(!overfull.is_empty());
    for edge in overfull {
        assert_eq!(edge["capacity"], 1);
        assert!(edge["usage"].as_u64().unwrap() > 1, "{edge}");
    }
    let summary = run(["route", crowded]).succeeded().stderr;
    assert!(summary.contains("overflow "), "{summary}");
    assert!(summary.contains(" after 100 rounds"), "{summary}");
    let heat = folder.at("heat.png");
    run(["route", crowded, "-q", "-o", heat.to_str().unwrap()]).succeeded();
    assert!(fs::read(heat).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn options_for_nets_that_do_not_compete_are_refused() {
    let folder = Folder::new();
    let net = folder.put("net.txt", CASE);
    let net = net.to_str().unwrap();
    for (options, word) in [
        (["--tree", "improved"], "leave --tree out"),
        (["--tree", "fewest-edges"], "leave --tree out"),
        (["--improve", "9"], "leave --improve out"),
        (["--turn-cost", "3"], "leave --turn-cost out"),
        (["--algorithm", "sweep"], "leave --algorithm out"),
    ] {
        run(["route", net, options[0], options[1]]).failed(2, &[word]);
    }
}

#[test]
fn trees_are_the_same_on_each_device() {
    let folder = Folder::new();
    let net = folder.put("net.txt", CASE);
    let net = net.to_str().unwrap();
    let found = |device| {
        let out = folder.path().join(format!("{device}.txt"));
        let arguments = ["route", net, "-o", out.to_str().unwrap()];
        let summary = run(arguments.into_iter().chain(["--device", device, "--json"]));
        assert_eq!(summary.succeeded().json()["device"], device);
        fs::read_to_string(out).unwrap()
    };
    assert_eq!(found("emulator"), found("cpu"));
}

#[test]
fn the_contests_files_and_generated_nets() {
    let folder = Folder::new();
    let cap = "2 3 2\n1 2\n1 1\n1\nm1 0 0\n1 1 0\n1 1 0\nm2 1 0\n1 1 1\n0 0 0\n";
    let cap = folder.put("a.cap", cap);
    let nets = "clk\n(\n[(0, 0, 0)]\n[(0, 2, 0)]\n)\nrst\n(\n[(0, 0, 0)]\n[(0, 2, 0)]\n)\n";
    let nets = folder.put("a.net", nets);
    let (cap, nets, out) = (
        cap.to_str().unwrap(),
        nets.to_str().unwrap(),
        folder.at("a.route"),
    );
    run([
        "route",
        cap,
        "--nets",
        nets,
        "-q",
        "-o",
        out.to_str().unwrap(),
    ])
    .succeeded();
    let text = fs::read_to_string(out).unwrap();
    assert!(
        text.starts_with("clk\n(\n") && text.contains("\nrst\n(\n"),
        "{text}"
    );
    // One net goes straight, one over the second row, by way of the second layer.
    assert_eq!(text.matches("0 0 0 2 0 0\n").count(), 1, "{text}");
    assert_eq!(text.matches("0 1 0 2 1 0\n").count(), 1, "{text}");
    let bad = folder.put("bad.net", "clk\n(\n[(0, 0, 7)]\n)\n");
    run(["route", cap, "--nets", bad.to_str().unwrap()]).failed(1, &["bad.net: line 3, column"]);
    let case = folder.at("case.txt");
    let case = case.to_str().unwrap();
    let options = "--size 24 --nets 20 --pins 2 --reach 8 --demand 0.5 --layers 2 --seed 3 -q";
    let arguments = ["generate", "competing", "-o", case];
    run(arguments.into_iter().chain(options.split(' '))).succeeded();
    let found = run(["route", case, "--json"]).succeeded().json();
    assert_eq!(
        (&found["nets"], &found["overflow"]),
        (&json!(20), &json!(0))
    );
    let refused = ["generate", "competing", "-o", case, "--demand", "2"];
    run(refused).failed(2, &["a demand of 2"]);
}
