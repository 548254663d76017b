//! Images that the command makes, read back by the command.

use crate::common::{self, Folder, header, run};

#[test]
fn every_format_holds_the_same_image() {
    let folder = Folder::new();
    for (pattern, size) in [
        ("blobs", "500x330"),
        ("noise:0.3", "64"),
        ("lattice", "9x200"),
    ] {
        let mut found = Vec::new();
        for format in ["png", "pbm", "npy"] {
            let out = folder.at(&format!("a.{format}"));
            let out = out.to_str().unwrap();
            let generated = run(["generate", "mask", pattern, "-o", out, "--size", size]);
            assert_eq!(generated.succeeded().stderr, "");
            found.push(
                run(["trace", out, "-o", "-", "--format", "json"])
                    .succeeded()
                    .json(),
            );
        }
        assert!(found[0]["contours"].as_array().unwrap().len() > 3);
        assert_eq!(found[0], found[1]);
        assert_eq!(found[0], found[2]);
    }
    // Pixel by pixel.
    let npy = run([
        "generate",
        "mask",
        "checkerboard",
        "--size",
        "3x2",
        "-o",
        "-",
        "--format",
        "npy",
    ]);
    let npy = npy.succeeded().stdout;
    let mut start = b"\x93NUMPY\x01\x00".to_vec();
    start.extend(((npy.len() - 16) as u16).to_le_bytes());
    assert!(npy.starts_with(&start));
    let text = String::from_utf8_lossy(&npy[10..]);
    assert!(
        text.starts_with(header("|b1", false, "(2, 3)").trim_end_matches(", }")),
        "{text}"
    );
    assert_eq!(npy[npy.len() - 6..], [1, 0, 1, 0, 1, 0]);
}

#[test]
fn seeds_and_bad_arguments() {
    let folder = Folder::new();
    let out = folder.at("a.pbm");
    let out = out.to_str().unwrap();
    let noise = |seed| {
        run([
            "generate", "mask", "noise", "--size", "40", "--seed", seed, "-o", "-", "--format",
            "pbm",
        ])
        .succeeded()
        .stdout
    };
    assert_eq!(noise("7"), noise("7"));
    assert_ne!(noise("7"), noise("8"));
    run(["generate", "mask", "polka", "-o", out]).refused(&["polka", "blobs"]);
    run(["generate", "mask", "noise:2", "-o", out]).refused(&["noise:2"]);
    run(["generate", "mask", "dots", "-o", out, "--size", "3x"]).refused(&["3x", "WIDTHxHEIGHT"]);
    run(["generate", "mask", "dots", "-o", out, "--size", "0x3"]).refused(&["at least 1"]);
    run([
        "generate",
        "mask",
        "dots",
        "-o",
        out,
        "--size",
        "4294967295",
    ])
    .failed(1, &["too large"]);
    run(["generate", "mask", "dots", "-o", "a.gif"]).failed(2, &[".png", ".pbm", ".npy"]);
    assert!(folder.names().is_empty());
}

#[test]
fn more_nets_than_memory_holds() {
    let folder = Folder::new();
    let out = folder.at("a.txt");
    let out = out.to_str().unwrap();
    run(["generate", "net", "-o", out, "--nets", "4294967295"])
        .failed(2, &["4294967295 nets of 16 pins", "the most"]);
    #[cfg(target_os = "linux")]
    {
        let limited = std::process::Command::new("sh")
            .args(["-c", "ulimit -v 4000000; exec \"$@\"", "sh"])
            .arg(env!("CARGO_BIN_EXE_trazar"))
            .args([
                "generate", "net", "-o", out, "--size", "9", "--nets", "10000000",
            ])
            .output()
            .unwrap();
        common::Run::of(limited).failed(1, &["out of memory", "the nets"]);
    }
    assert!(folder.names().is_empty());
}
