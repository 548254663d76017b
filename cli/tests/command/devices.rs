//! Devices: which ones there are, and errors when a device or an algorithm of it is missing.

use serde_json::Value;
use trazar_test_seeds::skipped;

use crate::common::{self, Folder, run};

/// What `trazar info` says.
fn info() -> Value {
    run(["info", "--json"]).succeeded().json()
}

/// Whether there is a GPU; if not, says that `test` is skipped.
fn there_is_a_gpu(test: &str) -> bool {
    let gpu = info()["no_gpu"].is_null();
    if !gpu {
        skipped(test, info()["no_gpu"].as_str().unwrap_or_default());
    }
    gpu
}

#[test]
fn info_names_devices_algorithms_and_the_kernels_origin() {
    let info = info();
    assert_eq!(info["devices"][0]["name"], "cpu");
    let labels = info["devices"][0]["algorithms"]["label"]
        .as_array()
        .unwrap();
    assert!(labels.contains(&"sequential".into()));
    let devices = info["devices"].as_array().unwrap();
    let emulator = devices.last().unwrap();
    assert_eq!(emulator["name"], "emulator");
    assert_eq!(
        emulator["algorithms"]["label"],
        serde_json::json!(["tiles", "direct"])
    );
    let gpus = devices.iter().filter(|device| device["name"] == "cuda");
    assert_eq!(gpus.count() == 0, info["no_gpu"].is_string(), "{info}");
    if cfg!(not(target_os = "macos")) {
        let hash = info["kernels"]["source_hash"].as_str().unwrap();
        assert!(hash.len() == 64 && hash.chars().all(|c| c.is_ascii_hexdigit()));
        assert_eq!(info["kernels"]["target"], "nvptx64-nvidia-cuda sm_75");
    }
    let auto = match info["no_gpu"].is_null() {
        true => serde_json::json!(["cpu", "cuda"]),
        false => serde_json::json!(["cpu"]),
    };
    assert_eq!(info["auto"], auto);
    let text = String::from_utf8(run(["info"]).succeeded().stdout).unwrap();
    for line in ["trazar ", "auto is ", "cpu: ", "emulator: "] {
        assert!(text.lines().any(|l| l.starts_with(line)), "{text}");
    }
}

#[test]
fn algorithms_stay_with_their_devices() {
    let folder = Folder::new();
    let image = folder.ring("ring.png");
    let image = image.to_str().unwrap();
    run(["label", image, "--device", "cpu", "--algorithm", "tiles"])
        .failed(1, &["tiles", "cuda or emulator", "parallel", "sequential"]);
    run([
        "label",
        image,
        "--device",
        "emulator",
        "--algorithm",
        "parallel",
    ])
    .failed(1, &["parallel", "cpu", "emulator has tiles and direct"]);
    run([
        "trace",
        image,
        "--device",
        "emulator",
        "--algorithm",
        "suzuki",
    ])
    .failed(
        1,
        &["suzuki", "cpu", "emulator has fragments and components"],
    );
    // Under auto the algorithm chooses the device.
    let summary = run(["label", image, "--algorithm", "sequential", "--json"]);
    assert_eq!(summary.succeeded().json()["device"], "cpu");
}

/// Small jobs run on the processor, also if there is a GPU: opening it takes longer than the job.
#[test]
fn auto_runs_what_is_small_on_the_processor() {
    let folder = Folder::new();
    let [image, net] = ["blobs.png", "net.txt"].map(|name| folder.at(name));
    let [image, net] = [&image, &net].map(|path| path.to_str().unwrap());
    run(["generate", "mask", "blobs", "-o", image, "--size", "1024"]).succeeded();
    run(["generate", "net", "-o", net, "--size", "64"]).succeeded();
    let jobs = [
        ("label", image),
        ("trace", image),
        ("polygonize", image),
        ("route", net),
    ];
    for (work, input) in jobs {
        let summary = run([work, input, "--json"]).succeeded().json();
        assert_eq!(summary["device"], "cpu", "{work}");
    }
}

#[test]
fn without_a_gpu_the_reason_is_given() {
    let info = info();
    let Some(reason) = info["no_gpu"].as_str() else {
        skipped("no GPU", "there is one");
        return;
    };
    let folder = Folder::new();
    let image = folder.ring("ring.png");
    let image = image.to_str().unwrap();
    for arguments in [["--device", "cuda"], ["--algorithm", "direct"]] {
        run(["label", image].into_iter().chain(arguments)).failed(1, &[reason]);
    }
}

#[test]
fn gpus_by_number_and_all() {
    let folder = Folder::new();
    let image = folder.ring("ring.png");
    let image = image.to_str().unwrap();
    for device in [
        "cuda:",
        "cuda:x",
        "cuda:-1",
        "cuda:+1",
        "cuda:4294967296",
        "gpu",
    ] {
        for command in ["label", "trace"] {
            let refused = run([command, image, "--device", device]);
            refused.refused(&[device, "cuda:all", "emulator"]);
        }
    }
    let refused = run(["trace", image, "--device", "cuda:all"]);
    refused.failed(2, &["cuda:all", "trace", "label", "cuda:N"]);
    // A number that no GPU has.
    run(["label", image, "--device", "cuda:999"]).failed(1, &[""]);
    let all = ["label", image, "--device", "cuda:all", "--json"];
    match info()["no_gpu"].as_str() {
        Some(reason) => {
            run(all).failed(1, &[reason]);
            run(["trace", image, "--device", "cuda:0"]).failed(1, &[reason]);
            let bands = ["trace", image, "--device", "cuda:all", "--memory", "64MiB"];
            run(bands).failed(1, &[reason]);
        }
        None => {
            assert_eq!(run(all).succeeded().json()["components"], 1);
            let bands = [&all[..], &["--memory", "64MiB"]].concat();
            assert_eq!(run(bands).succeeded().json()["components"], 1);
            let first = run(["trace", image, "--device", "cuda:0", "--json"]);
            assert_eq!(first.succeeded().json()["device"], "cuda");
        }
    }
}

#[test]
fn a_seed_is_the_emulators() {
    let folder = Folder::new();
    let image = folder.ring("ring.png");
    let image = image.to_str().unwrap();
    for command in ["label", "trace"] {
        run([command, image, "--seed", "3"]).failed(2, &["--seed", "--device emulator"]);
        run([command, image, "--seed", "3", "--device", "cpu"])
            .failed(2, &["--seed", "--device emulator"]);
    }
    for seed in ["0", "18446744073709551615"] {
        let summary = run([
            "label", image, "--device", "emulator", "--seed", seed, "--json",
        ]);
        let summary = summary.succeeded().json();
        assert_eq!(summary["device"], "emulator");
        assert_eq!(summary["algorithm"], "tiles");
    }
}

/// The labels and statistics of noise on `device` are those of the processor, by each kernel
/// algorithm.
fn gives_the_processors_labels(device: &str, size: &str) {
    let folder = Folder::new();
    let image = folder.at("noise.png");
    let image = image.to_str().unwrap();
    run(["generate", "mask", "noise:0.5", "-o", image, "--size", size]).succeeded();
    let label = |device: &str, algorithm: &str, connectivity: &str| {
        let [labels, stats] = ["labels.npy", "stats.csv"].map(|name| folder.at(name));
        run([
            "label",
            image,
            "--device",
            device,
            "--algorithm",
            algorithm,
            "--connectivity",
            connectivity,
            "-o",
            labels.to_str().unwrap(),
            "--stats",
            stats.to_str().unwrap(),
        ])
        .succeeded();
        [labels, stats].map(|path| std::fs::read(path).unwrap())
    };
    for connectivity in ["4", "8"] {
        let expected = label("cpu", "sequential", connectivity);
        for algorithm in ["tiles", "direct"] {
            assert!(
                label(device, algorithm, connectivity) == expected,
                "{device}, {algorithm}"
            );
        }
    }
}

#[test]
fn the_emulator_gives_the_processors_labels() {
    gives_the_processors_labels("emulator", "77x33");
}

/// The contours of noise on `device` are those of the processor.
fn gives_the_processors_contours(device: &str, size: &str) {
    let folder = Folder::new();
    let image = folder.at("noise.png");
    let image = image.to_str().unwrap();
    run(["generate", "mask", "noise:0.5", "-o", image, "--size", size]).succeeded();
    let trace = |device: &str, options: [&str; 4]| {
        let contours = folder.at("contours.json");
        let out = contours.to_str().unwrap();
        run(["trace", image, "--device", device, "-o", out]
            .into_iter()
            .chain(options))
        .succeeded();
        std::fs::read(contours).unwrap()
    };
    for options in [
        ["--approximation", "none", "--retrieval", "external"],
        ["--approximation", "tc89-l1", "--retrieval", "ccomp"],
        ["--approximation", "tc89-kcos", "--retrieval", "list"],
        ["--geometry", "edges", "--retrieval", "tree"],
        ["--algorithm", "tiles", "--tiles", "8,4"],
        ["--geometry", "edges", "--tiles", "1,16"],
    ] {
        assert!(
            trace(device, options) == trace("cpu", options),
            "{device}, {options:?}"
        );
    }
}

#[test]
fn the_emulator_gives_the_processors_contours() {
    gives_the_processors_contours("emulator", "77x33");
}

#[test]
fn a_gpu_gives_the_processors_contours() {
    if there_is_a_gpu("contours on a GPU") {
        gives_the_processors_contours("cuda", "333x222");
    }
}

#[test]
fn a_gpu_gives_the_processors_labels() {
    if there_is_a_gpu("labels on a GPU") {
        gives_the_processors_labels("cuda", "333x222");
    }
}

/// If the system refuses to start threads, the work is done without them.
#[test]
fn without_threads() {
    let folder = Folder::new();
    let image = folder.at("a.png");
    let image = image.to_str().unwrap();
    run(["generate", "mask", "blobs", "-o", image, "--size", "300"]).succeeded();
    let case = folder.at("case.txt");
    let case = case.to_str().unwrap();
    run(["generate", "net", "-o", case, "--size", "70", "--pins", "3"]).succeeded();
    let mut jobs: Vec<Vec<&str>> = vec![
        vec!["label", image, "--stats", "-"],
        vec![
            "label",
            image,
            "-o",
            "-",
            "--format",
            "npy",
            "--algorithm",
            "parallel",
        ],
        vec![
            "generate", "mask", "blobs", "-o", "-", "--format", "pbm", "--size", "99",
        ],
    ];
    for algorithm in ["suzuki", "fragments", "tiles", "components"] {
        for geometry in ["centers", "edges"] {
            let options = [
                "--algorithm",
                algorithm,
                "--geometry",
                geometry,
                "--format",
                "json",
            ];
            jobs.push([&["trace", image, "-o", "-"], &options[..]].concat());
        }
    }
    for algorithm in ["dijkstra", "sweep-parallel"] {
        jobs.push(vec![
            "route",
            case,
            "-o",
            "-",
            "--format",
            "txt",
            "--algorithm",
            algorithm,
        ]);
    }
    for job in jobs {
        let job: Vec<&str> = match job[0] {
            "generate" => job,
            _ => job.into_iter().chain(["--device", "cpu"]).collect(),
        };
        let usual = run(&job).succeeded();
        // No thread can have a stack of this size.
        let alone = common::command()
            .args(&job)
            .env("RUST_MIN_STACK", (1u64 << 46).to_string())
            .output()
            .unwrap();
        let alone = common::Run::of(alone).succeeded();
        assert!(usual.stdout == alone.stdout, "{job:?}");
    }
}
