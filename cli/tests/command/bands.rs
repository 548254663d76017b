//! Images labelled band by band, in less memory than they take as a whole.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::common::{Folder, Run, command, run};

/// Runs `trazar label` on `image` to labels and statistics, and returns these and the summary.
#[track_caller]
fn label(folder: &Folder, image: &Path, more: &[&str]) -> (Vec<u8>, String, serde_json::Value) {
    let (labels, stats) = (folder.at("labels.npy"), folder.at("stats.csv"));
    let said = Run::of(
        command()
            .arg("label")
            .arg(image)
            .arg("-o")
            .arg(&labels)
            .arg("--stats")
            .arg(&stats)
            .arg("--json")
            .args(more)
            .output()
            .unwrap(),
    );
    let said = said.succeeded().json();
    let found = (
        fs::read(&labels).unwrap(),
        fs::read_to_string(&stats).unwrap(),
    );
    fs::remove_file(labels).unwrap();
    fs::remove_file(stats).unwrap();
    (found.0, found.1, said)
}

#[test]
fn bands_give_the_whole_images_labels() {
    let folder = Folder::new();
    for (pattern, extension, size) in [
        ("blobs", "png", "6000x1500"),
        ("noise", "npy", "3000x1000"),
        ("spiral", "pbm", "5000x900"),
    ] {
        let image = folder.at(&format!("mask.{extension}"));
        let path = image.to_str().unwrap();
        run([
            "generate", "mask", pattern, "-o", path, "--size", size, "--seed", "3",
        ])
        .succeeded();
        for connectivity in ["4", "8"] {
            let options = ["--connectivity", connectivity, "--invert"];
            for options in [&options[..2], &options] {
                let (labels, stats, whole) = label(&folder, &image, options);
                let memory = [options, &["--memory", "80MiB"]].concat();
                let (in_bands, stats_in_bands, said) = label(&folder, &image, &memory);
                assert_eq!(labels, in_bands, "{pattern} {options:?}");
                assert_eq!(stats, stats_in_bands, "{pattern} {options:?}");
                for key in [
                    "components",
                    "foreground",
                    "width",
                    "height",
                    "threshold",
                    "samples",
                ] {
                    assert_eq!(said[key], whole[key], "{key}");
                }
                assert!(
                    said["rows_of_band"].as_u64() < whole["height"].as_u64(),
                    "{said}"
                );
            }
        }
    }
}

/// The side of the cells of [`tiling`], each with a ring and a dot in it.
const CELL: usize = 64;

/// A PBM of `side` × `side` pixels: cells, and one ring around everything.
fn tiling(folder: &Folder, side: usize) -> PathBuf {
    let path = folder.at("tiling.pbm");
    let mut out = BufWriter::new(fs::File::create(&path).unwrap());
    write!(out, "P4\n{side} {side}\n").unwrap();
    let within = |v: usize, low: usize, high: usize| (low..high).contains(&v);
    let cell = |x: usize, y: usize| {
        let ring = within(x, 8, 56) && within(y, 8, 56);
        let hole = within(x, 12, 52) && within(y, 12, 52);
        ring && !hole || within(x, 20, 40) && within(y, 24, 30)
    };
    // In a PBM, foreground is 0.
    let packed = |is_set: &dyn Fn(usize) -> bool| -> Vec<u8> {
        let byte = |i: usize| {
            (0..8)
                .map(|b| u8::from(!is_set(8 * i + b)) << (7 - b))
                .sum()
        };
        (0..side / 8).map(byte).collect()
    };
    let rows: Vec<Vec<u8>> = (0..CELL)
        .map(|y| packed(&|x| x == 0 || x == side - 1 || cell(x % CELL, y)))
        .collect();
    let edge = packed(&|_| true);
    for y in 0..side {
        let is_edge = y == 0 || y == side - 1;
        out.write_all(if is_edge { &edge } else { &rows[y % CELL] })
            .unwrap();
    }
    out.flush().unwrap();
    path
}

/// Rings have 48² - 40² pixels, dots 20 · 6.
const RING: usize = 704;
const DOT: usize = 120;

#[track_caller]
fn check_statistics(text: &str, side: usize) {
    let mut lines = text.lines().skip(1);
    let last = side - 1;
    // The mean of both coordinates is the middle.
    let middle = last as f64 / 2.0;
    let frame = format!("1,{},0,0,{last},{last},{middle},{middle}", 4 * last);
    assert_eq!(lines.next(), Some(&*frame));
    let cells = side / CELL;
    let mut label = 2;
    for row in 0..cells {
        // The rings of a row of cells start above its dots.
        for (x0, x1, y0, y1, area) in [(8, 55, 8, 55, RING), (20, 39, 24, 29, DOT)] {
            for column in 0..cells {
                let (x, y) = (column * CELL, row * CELL);
                let expected = format!(
                    "{label},{area},{},{},{},{},{},{}",
                    x + x0,
                    y + y0,
                    x + x1,
                    y + y1,
                    (2 * x + x0 + x1) as f64 / 2.0,
                    (2 * y + y0 + y1) as f64 / 2.0
                );
                assert_eq!(lines.next(), Some(&*expected));
                label += 1;
            }
        }
    }
    assert_eq!(lines.next(), None);
}

/// Labels of 32,768² pixels take 4.3 GB, twice of what the system lets the process have.
#[cfg(target_os = "linux")]
#[test]
fn memory_is_bounded() {
    let folder = Folder::new();
    let side = 32_768;
    let image = tiling(&folder, side);
    let stats = folder.at("stats.csv");
    let limited = |more: &[&str]| {
        let out = std::process::Command::new("sh")
            .args(["-c", "ulimit -v 2000000; exec \"$@\"", "sh"])
            .arg(env!("CARGO_BIN_EXE_trazar"))
            .arg("label")
            .arg(&image)
            .arg("--stats")
            .arg(&stats)
            .args(more)
            // Memory that the C library reserves per thread counts too.
            .env("RAYON_NUM_THREADS", "4")
            .output()
            .unwrap();
        Run::of(out)
    };
    limited(&["--json"]).failed(1, &["out of memory"]);
    assert!(!stats.exists());
    let said = limited(&["--json", "--memory", "1GiB"]).succeeded().json();
    let cells = (side / CELL) as u64;
    assert_eq!(said["components"], 2 * cells * cells + 1);
    assert!(
        said["rows_of_band"].as_u64().unwrap() < side as u64 / 2,
        "{said}"
    );
    check_statistics(&fs::read_to_string(&stats).unwrap(), side);
}

#[test]
fn what_is_not_done_in_bands_is_refused() {
    let folder = Folder::new();
    let image = folder.ring("ring.png");
    let image = image.to_str().unwrap();
    let label = |more: &[&str]| run([&["label", image, "--memory"], more].concat());
    label(&["64MiB"]).succeeded();
    label(&["1MiB"]).failed(2, &["1048576 bytes of memory", "MiB or more"]);
    label(&["64 MiBs"]).refused(&["memory", "512MiB"]);
    label(&["64MiB", "-o", "a.png"]).failed(2, &["--memory", ".npy"]);
    label(&["64MiB", "--device", "emulator"]).succeeded();
    label(&["64MiB", "--device", "cpu", "--algorithm", "tiles"]).failed(1, &["tiles", "cuda"]);
    for algorithm in ["sequential", "direct"] {
        label(&["64MiB", "--algorithm", algorithm]).failed(2, &["--memory", "--algorithm"]);
    }
    label(&["64MiB", "--repeat", "2"]).failed(2, &["--repeat"]);
    label(&["64MiB", "-o", "-", "--format", "npy", "--json"]).failed(2, &["--json"]);
    let missing = folder.at("missing.png");
    run(["label", missing.to_str().unwrap(), "--memory", "1G"]).failed(1, &["missing.png"]);
    assert_eq!(folder.names(), ["ring.png"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_and_a_killed_run_leave_nothing() {
    let folder = Folder::new();
    let image = folder.at("mask.png");
    let path = image.to_str().unwrap();
    let size = ["--size", "6000x3000"];
    run([&["generate", "mask", "noise", "-o", path][..], &size].concat()).succeeded();
    let old = folder.put("old.npy", "old");
    for out in ["new.npy", "old.npy"] {
        let limited = std::process::Command::new("sh")
            .args(["-c", "ulimit -f 20000; exec \"$@\"", "sh"])
            .arg(env!("CARGO_BIN_EXE_trazar"))
            .args(["label", path, "--memory", "64MiB", "-o"])
            .arg(folder.at(out))
            .output()
            .unwrap();
        Run::of(limited).failed(1, &[out, "too large"]);
    }
    let full = run([
        "label",
        path,
        "--memory",
        "64MiB",
        "--format",
        "npy",
        "-o",
        "/dev/full",
    ]);
    full.failed(1, &["/dev/full", "No space left"]);
    assert_eq!(folder.names(), ["mask.png", "old.npy"]);

    // Killed while it writes: a pipe that nobody empties does not take the first band's table.
    let mut child = command()
        .args(["label", path, "--memory", "128MiB", "-o"])
        .arg(folder.at("new.npy"))
        .args(["--stats", "-"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(folder.names(), ["mask.png", "old.npy"]);
    assert_eq!(fs::read(old).unwrap(), b"old");
}

/// The emulated GPU labels in bands too, and its labels and statistics are the processor's.
#[test]
fn a_gpu_labels_in_bands() {
    let folder = Folder::new();
    let image = folder.at("mask.png");
    let path = image.to_str().unwrap();
    let size = ["--size", "300x201"];
    run([&["generate", "mask", "noise:0.4", "-o", path][..], &size].concat()).succeeded();
    let label = |name: &str, more: &[&str]| {
        let (labels, stats) = (
            folder.at(&format!("{name}.npy")),
            folder.at(&format!("{name}.csv")),
        );
        let files = [
            "-o",
            labels.to_str().unwrap(),
            "--stats",
            stats.to_str().unwrap(),
        ];
        let said = run([&["label", path, "--json"], &files[..], more].concat());
        let said = said.succeeded().json();
        (said, fs::read(&labels).unwrap(), fs::read(&stats).unwrap())
    };
    for connectivity in [["--connectivity", "4"], ["--connectivity", "8"]] {
        let (_, labels, stats) = label("cpu", &connectivity);
        let bands = ["--device", "emulator", "--seed", "3", "--memory", "40MiB"];
        let (said, found, measures) = label("gpu", &[&bands[..], &connectivity].concat());
        assert_eq!(said["device"], "emulator");
        assert_eq!(said["algorithm"], "tiles");
        assert!(said["rows_of_band"].as_u64().unwrap() > 0, "{said}");
        assert!(found == labels && measures == stats, "{connectivity:?}");
    }
}

/// The time in which a pipe gives its content is time of reading.
#[cfg(unix)]
#[test]
fn a_slow_pipe_is_time_of_reading() {
    let mut child = command()
        .args([
            "label", "-", "--memory", "64MiB", "--json", "--device", "cpu",
        ])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, b"P1\n4 4\n").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    std::io::Write::write_all(&mut input, b"1100 0000 0110 0000\n").unwrap();
    drop(input);
    let out = child.wait_with_output().unwrap();
    let said = Run::of(out).succeeded().json();
    assert_eq!(said["components"], 1);
    let seconds = |what: &str| said["seconds"][what].as_f64().unwrap();
    assert!(seconds("read") > 0.2, "{said}");
    assert!(seconds("label") < 0.2, "{said}");
}
