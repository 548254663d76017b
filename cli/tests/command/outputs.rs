//! Where the command writes, and that it writes all of a result or nothing.

use std::fs;
use std::path::Path;

use trazar_test_seeds::skipped;

use crate::common::{Folder, Run, command, header, run, trace};

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
    // This fails once the image's size is known: coordinates do not fit.
    trace(
        &ring,
        &old,
        &["--format", "gds", "--pixel-size", "2000000000"],
    )
    .failed(1, &["32-bit"]);
    // The second output cannot be written, so the first is not written either.
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
        skipped(
            "no_permission_to_write",
            "this user (root?) may write everywhere",
        );
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

    // Appending keeps the file's content.
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
        skipped(
            "real_masks_where_there_are_any",
            "TRAZAR_DATA names no folder with masks/*.png",
        );
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
