//! `trazar trace --memory`: the same files as without, and nothing left after a failure.

use std::ffi::OsStr;
use std::fs;
use std::process::Command;

use crate::common::{Folder, Run, command, run, trace};

/// Memory for bands of some rows of the mask on [two threads](two_threads).
const SMALL: &str = "38MiB";

/// The command on two threads: the memory it needs depends on their number.
fn two_threads() -> Command {
    let mut command = command();
    command.env("RAYON_NUM_THREADS", "2");
    command
}

/// A layout-like mask of 700 × 900 pixels, as PBM.
fn mask(folder: &Folder, name: &str) -> std::path::PathBuf {
    let path = folder.at(name);
    let out = path.to_str().unwrap();
    run(["generate", "mask", "blobs", "--size", "700x900", "-o", out]).succeeded();
    path
}

#[test]
fn files_are_the_same_as_without() {
    let folder = Folder::new();
    let image = mask(&folder, "mask.pbm");
    for format in ["json", "svg", "geojson", "gds"] {
        let (whole, bands) = (folder.at("whole"), folder.at("bands"));
        let expected = trace(&image, &whole, &["--format", format, "--json"]);
        let expected = Run::succeeded(expected).json();
        for memory in [SMALL, "2GiB"] {
            let options = ["--format", format, "--json", "--memory", memory];
            let found = two_threads()
                .args([
                    OsStr::new("trace"),
                    image.as_ref(),
                    "-o".as_ref(),
                    bands.as_ref(),
                ])
                .args(options)
                .output();
            let mut found = Run::of(found.unwrap()).succeeded().json();
            assert!(
                fs::read(&bands).unwrap() == fs::read(&whole).unwrap(),
                "{format}"
            );
            let rows = found["rows_of_band"].as_u64().unwrap();
            assert_eq!(rows == 900, memory != SMALL, "{rows} rows");
            for fact in ["contours", "holes", "points", "foreground", "samples"] {
                assert_eq!(found[fact].take(), expected[fact], "{fact}");
            }
        }
    }
    assert_eq!(folder.names(), ["bands", "mask.pbm", "whole"]);
}

#[test]
fn what_needs_the_whole_image_is_refused() {
    let folder = Folder::new();
    let image = folder.ring("ring.png");
    for (out, options, words) in [
        ("a.png", vec![], ["picture", "--memory"]),
        (
            "a.json",
            vec!["--algorithm", "suzuki"],
            ["fragments", "--algorithm"],
        ),
    ] {
        let mut options = options;
        if !options.contains(&"--memory") {
            options.extend(["--memory", "1GiB"]);
        }
        trace(&image, &folder.at(out), &options).failed(2, &words);
    }
    assert_eq!(folder.names(), ["ring.png"]);
}

/// The emulated GPU traces bands, and the files are the processor's.
#[test]
fn a_gpu_traces_in_bands() {
    let folder = Folder::new();
    let image = folder.at("mask.pbm");
    let path = image.to_str().unwrap();
    run([
        "generate",
        "mask",
        "noise:0.4",
        "--size",
        "300x170",
        "-o",
        path,
    ])
    .succeeded();
    for geometry in ["centers", "edges"] {
        let (whole, bands) = (folder.at("whole"), folder.at("bands"));
        let options = ["--format", "svg", "--json", "--geometry", geometry];
        trace(&image, &whole, &options).succeeded();
        let found = two_threads()
            .args(["trace", path, "-o", bands.to_str().unwrap()])
            .args(options)
            .args(["--device", "emulator", "--seed", "3", "--memory", "38MiB"])
            .output();
        let found = Run::of(found.unwrap()).succeeded().json();
        assert_eq!(found["device"], "emulator");
        let rows = found["rows_of_band"].as_u64().unwrap();
        assert!(rows < 170 && rows.is_multiple_of(32), "{rows} rows");
        assert!(fs::read(&bands).unwrap() == fs::read(&whole).unwrap());
    }
}

#[test]
fn repeated_runs_and_counts_alone() {
    let folder = Folder::new();
    let image = mask(&folder, "mask.pbm");
    let image = image.to_str().unwrap();
    let whole = run(["trace", image, "--json"]).succeeded().json();
    let bands = ["trace", image, "--json", "--memory", SMALL, "--repeat", "3"];
    let bands = run(bands).succeeded().json();
    assert_eq!(bands["points"], whole["points"]);
    assert_eq!(bands["foreground"], whole["foreground"]);
}

/// The temporary file, too, may find no room.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_one_line_and_leaves_nothing() {
    let folder = Folder::new();
    let image = mask(&folder, "mask.pbm");
    for (blocks, format) in [(1, "gds"), (100, "json")] {
        let limited = Command::new("sh")
            .args(["-c", &format!("ulimit -f {blocks}; exec \"$@\""), "sh"])
            .arg(env!("CARGO_BIN_EXE_trazar"))
            .env("RAYON_NUM_THREADS", "2")
            .arg("trace")
            .arg(&image)
            .args(["--memory", SMALL, "--format", format, "-o"])
            .arg(folder.at("out"))
            .output()
            .unwrap();
        let limited = Run::of(limited);
        assert!(!limited.stderr.contains(".trazar-"), "{}", limited.stderr);
        limited.failed(1, &["File too large"]);
        assert_eq!(folder.names(), ["mask.pbm"]);
    }
}

/// Killed at any moment, it leaves the whole file or none.
#[cfg(target_os = "linux")]
#[test]
fn killed_runs_leave_nothing() {
    use std::time::Duration;

    let folder = Folder::new();
    let image = mask(&folder, "mask.pbm");
    let out = folder.at("out.json");
    let start = || {
        let mut command = two_threads();
        command.args(["trace", "--memory", SMALL, "-q", "-o"]);
        command.args([&out, &image]).spawn().unwrap()
    };
    assert!(start().wait().unwrap().success());
    let whole = fs::read(&out).unwrap();
    fs::remove_file(&out).unwrap();
    for milliseconds in [0, 2, 5, 10, 20, 40] {
        let mut child = start();
        std::thread::sleep(Duration::from_millis(milliseconds));
        child.kill().unwrap();
        let ended = child.wait().unwrap().success();
        // A process may also be killed when its file is complete.
        if ended || out.exists() {
            assert!(fs::read(&out).unwrap() == whole, "after {milliseconds} ms");
            fs::remove_file(&out).unwrap();
        }
        assert_eq!(folder.names(), ["mask.pbm"], "after {milliseconds} ms");
    }
}
