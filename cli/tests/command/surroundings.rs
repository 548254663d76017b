//! The surroundings of a run: standard streams, signals, a terminal, file names with any
//! characters.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use trazar_test_seeds::skipped;

use crate::common::{Folder, Run, command, header, run};

fn mkfifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Waits until `ready`, ten seconds at most.
#[track_caller]
fn wait(what: &str, mut ready: impl FnMut() -> bool) {
    let started = Instant::now();
    while !ready() {
        assert!(started.elapsed() < Duration::from_secs(10), "no {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The systems for which the filter of system calls below is written.
#[cfg(all(
    target_os = "linux",
    target_env = "gnu",
    target_pointer_width = "64",
    target_endian = "little"
))]
mod signals {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Child, Stdio};

    use super::*;

    /// Lets `command` run as on a file system without unnamed files (`O_TMPFILE`). `false` if the
    /// system does not let a process restrict its system calls.
    fn without_unnamed_files(command: &mut Command) -> bool {
        const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
        const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
        const ANY_BIT: u16 = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
        const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
        let step = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
        // The bit of `O_TMPFILE` besides `O_DIRECTORY`.
        let unnamed = (libc::O_TMPFILE & !libc::O_DIRECTORY) as u32;
        let fails = libc::SECCOMP_RET_ERRNO | libc::EOPNOTSUPP as u32;
        let filter = [
            // The call's number; then the lower half of its third argument, the flags.
            step(LOAD, 0, 0, 0),
            step(EQUAL, libc::SYS_openat as u32, 0, 3),
            step(LOAD, 16 + 2 * 8, 0, 0),
            step(ANY_BIT, unnamed, 0, 1),
            step(RETURN, fails, 0, 0),
            step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0),
        ];
        let restrict = move || {
            let program = libc::sock_fprog {
                len: filter.len() as u16,
                filter: filter.as_ptr().cast_mut(),
            };
            // SAFETY: the program and its steps live until the calls return.
            let results = unsafe {
                [
                    libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
                    libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program),
                ]
            };
            match results {
                [0, 0] => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        };
        let mut probe = Command::new("true");
        // SAFETY: it only makes system calls, and none of them takes a lock.
        unsafe { probe.pre_exec(restrict) };
        if probe.status().is_err() {
            return false;
        }
        // SAFETY: as above.
        unsafe { command.pre_exec(restrict) };
        true
    }

    /// A run that has begun to write `a.npy` and waits for a reader of the pipe `stats.csv`.
    fn a_run_that_waits(folder: &Folder, prepare: impl FnOnce(&mut Command)) -> Option<Child> {
        let ring = folder.ring("ring.png");
        let pipe = folder.at("stats.csv");
        if !pipe.exists() {
            mkfifo(&pipe);
        }
        let mut command = command();
        command
            .arg("label")
            .arg(ring)
            .arg("-o")
            .arg(folder.at("a.npy"))
            .arg("--stats")
            .arg(pipe)
            .stderr(Stdio::piped());
        prepare(&mut command);
        without_unnamed_files(&mut command).then(|| {
            let child = command.spawn().unwrap();
            wait("temporary file", || {
                folder.names()[0].starts_with(".trazar-")
            });
            child
        })
    }

    #[test]
    fn signals_leave_no_temporary_files() {
        let folder = Folder::new();
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT] {
            // `cargo test` may have been started with some signals ignored.
            let by_default = |command: &mut Command| {
                // SAFETY: a call that a child may make.
                unsafe {
                    command.pre_exec(move || {
                        libc::signal(signal, libc::SIG_DFL);
                        Ok(())
                    })
                };
            };
            let Some(child) = a_run_that_waits(&folder, by_default) else {
                skipped(
                    "signals_leave_no_temporary_files",
                    "system calls cannot be restricted here",
                );
                return;
            };
            // SAFETY: the child was not waited for, so its number is its own.
            assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.signal(), Some(signal));
            assert_eq!(String::from_utf8_lossy(&output.stderr), "");
            assert_eq!(folder.names(), ["ring.png", "stats.csv"], "signal {signal}");
        }
    }

    #[test]
    fn an_ignored_signal_stays_ignored() {
        let folder = Folder::new();
        let ignored = |command: &mut Command| {
            // SAFETY: a call that a child may make.
            unsafe {
                command.pre_exec(|| {
                    libc::signal(libc::SIGHUP, libc::SIG_IGN);
                    Ok(())
                })
            };
        };
        let Some(child) = a_run_that_waits(&folder, ignored) else {
            skipped(
                "an_ignored_signal_stays_ignored",
                "system calls cannot be restricted here",
            );
            return;
        };
        // SAFETY: the child was not waited for, so its number is its own.
        assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGHUP) }, 0);
        let stats = fs::read_to_string(folder.at("stats.csv")).unwrap();
        assert!(stats.starts_with("label,area"), "{stats}");
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
        assert_eq!(folder.names(), ["a.npy", "ring.png", "stats.csv"]);
    }
}

/// Runs `trazar` with these arguments and this redirection of a shell.
fn redirected(redirection: &str, arguments: &[&str]) -> Run {
    let script = format!("exec \"$@\" {redirection}");
    let output = Command::new("sh")
        .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_trazar")])
        .args(arguments)
        .output();
    Run::of(output.unwrap())
}

#[test]
fn a_standard_output_that_takes_nothing_is_an_error() {
    let folder = Folder::new();
    let ring = folder.ring("ring.png");
    let ring = ring.to_str().unwrap();
    let json = ["trace", ring, "-o", "-", "--format", "json"];
    let mask = ["generate", "mask", "dots", "-o", "-", "--format", "pbm"];
    let all: [&[&str]; 8] = [
        &json,
        &mask,
        &["trace", ring, "--json"],
        &["label", ring, "--json"],
        &["info"],
        &["info", "--json"],
        &["--help"],
        &["--version"],
    ];
    for arguments in all {
        redirected(">&-", arguments).failed(1, &["standard output", "closed"]);
        redirected("1</dev/null", arguments).failed(1, &["standard output"]);
        #[cfg(target_os = "linux")]
        redirected(">/dev/full", arguments).failed(1, &["standard output", "No space"]);
    }
    #[cfg(target_os = "linux")]
    redirected(
        ">&-",
        &["trace", ring, "-o", "/dev/stdout", "--format", "json"],
    )
    .failed(1, &["closed"]);
    // Nothing is lost if nothing is written to standard output.
    let out = folder.at("a.json");
    let run = redirected(">&-", &["trace", ring, "-o", out.to_str().unwrap()]);
    run.succeeded();
    assert!(fs::read(out).unwrap().starts_with(b"{\"width\":8"));
    redirected(">&-", &["trace", ring]).succeeded();
    redirected(">&-", &["teleport"]).refused(&["teleport"]);
}

#[test]
fn what_is_read_is_not_overwritten() {
    let folder = Folder::new();
    let ring = folder.ring("m.png");
    let before = fs::read(&ring).unwrap();
    fs::hard_link(&ring, folder.at("hard.png")).unwrap();
    std::os::unix::fs::symlink("hard.png", folder.at("soft.png")).unwrap();
    let [m, hard, soft] = ["m.png", "hard.png", "soft.png"].map(|name| {
        let path = folder.at(name);
        path.to_str().unwrap().to_owned()
    });
    let from_m = format!("<{m}");
    for work in ["trace", "label"] {
        for out in [&m, &hard, &soft] {
            redirected(&from_m, &[work, "-", "-o", out])
                .failed(2, &["-o", "IMAGE", "standard input", "same file"]);
            redirected("", &[work, &m, "-o", out]).failed(2, &["-o", "IMAGE", "same file"]);
        }
    }
    redirected(&from_m, &["label", "-", "--stats", &hard]).failed(2, &["--stats", "IMAGE"]);
    // In place.
    let json = ["trace", &m, "-o", "-", "--format", "json"];
    redirected(&format!("1<>{m}"), &json).failed(2, &["-o", "standard output", "IMAGE"]);
    redirected(&format!(">>{hard}"), &json).failed(2, &["-o", "standard output", "IMAGE"]);
    assert_eq!(fs::read(&ring).unwrap(), before);

    let net = folder.put("net.txt", "2 1\n2\nPin 0 0\nPin 0 1\nVertical 1\n");
    let net = net.to_str().unwrap();
    redirected(&format!("<{net}"), &["route", "-", "-o", net])
        .failed(2, &["-o", "NET", "standard input", "same file"]);
    redirected("", &["route", net, "-o", net]).failed(2, &["-o", "NET", "same file"]);
    assert_eq!(folder.names(), ["hard.png", "m.png", "net.txt", "soft.png"]);
    // A device may be both.
    redirected(
        "</dev/null >/dev/null",
        &["trace", &m, "-o", "-", "--format", "json"],
    )
    .succeeded();
}

#[test]
fn names_do_nothing_to_a_terminal() {
    let folder = Folder::new();
    let name = "a\u{1b}[31m\n\u{9b}2J\u{7f}\u{202e}.png";
    let path = folder.at(name);
    fs::rename(folder.ring("ring.png"), &path).unwrap();
    let out = path.with_extension("svg");
    let shown = r"a\u{1b}[31m\n\u{9b}2J\u{7f}\u{202e}";
    let name_is_shown = |run: &Run| {
        let text = format!("{}{}", run.stderr, String::from_utf8_lossy(&run.stdout));
        let acting = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!text.contains(acting), "{text:?}");
        assert!(run.stderr.contains(shown), "{}", run.stderr);
    };
    let path = path.as_os_str();
    let with = |arguments: &[&str]| run(arguments.iter().map(|a| a.as_ref()).chain([path]));
    let summary = with(&["trace", "-o", out.to_str().unwrap()]).succeeded();
    assert_eq!(summary.stderr.lines().count(), 3, "{}", summary.stderr);
    assert_eq!(summary.stderr.matches(shown).count(), 2);
    name_is_shown(&summary);
    for wrong in [&["route"][..], &["label", "--threshold", "999"]] {
        let failure = with(wrong);
        assert_eq!(failure.stderr.lines().count(), 1, "{}", failure.stderr);
        name_is_shown(&failure);
    }
    for wrong in [&["trace", "m.png"][..], &[], &["trace", "--algorithm"]] {
        let refused = with(wrong);
        name_is_shown(&refused);
        refused.refused(&[]);
    }
    // JSON has its own escapes, so that the name keeps its value.
    let json = with(&["trace", "--json"]).succeeded();
    assert!(!json.stdout.iter().any(|&byte| byte < b' ' && byte != b'\n'));
    assert!(!String::from_utf8_lossy(&json.stdout).contains(['\u{9b}', '\u{7f}', '\u{202e}']));
    assert_eq!(
        json.json()["image"].as_str().unwrap().as_bytes(),
        path.as_bytes()
    );
}

/// A terminal: the end that shows what is written, and the end that a process writes to.
#[cfg(target_os = "linux")]
fn terminal() -> (File, OwnedFd) {
    let size = libc::winsize {
        ws_row: 24,
        ws_col: 80,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let (mut ours, mut theirs) = (0, 0);
    let null = std::ptr::null_mut();
    // SAFETY: the pointers are to two integers and a size, and null for what is not wanted.
    let result = unsafe { libc::openpty(&mut ours, &mut theirs, null, null.cast(), &size) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: both were just opened, and nothing else owns them.
    unsafe { (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) }
}

/// What a terminal shows at standard error of a run of `command` while `meanwhile` goes on.
#[cfg(target_os = "linux")]
fn shown(mut command: Command, meanwhile: impl FnOnce() + Send + 'static) -> String {
    let (mut screen, stderr) = terminal();
    let mut child = command.stderr(stderr).spawn().unwrap();
    // Otherwise the terminal would not end with the child.
    drop(command);
    let other = std::thread::spawn(meanwhile);
    let mut text = Vec::new();
    let mut portion = [0; 4096];
    // Once the other end is closed, reading fails.
    while let Ok(read @ 1..) = screen.read(&mut portion) {
        text.extend(&portion[..read]);
    }
    assert!(child.wait().unwrap().success());
    other.join().unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

/// Reading, work and writing have progress bars once they take half a second.
#[cfg(target_os = "linux")]
#[test]
fn slow_reading_and_writing_show_a_bar() {
    let patience = Duration::from_millis(600);
    let folder = Folder::new();
    let image = folder.npy("a.npy", &header("|u1", false, "(600, 600)"), &[9; 360_000]);
    let image = fs::read(image).unwrap();
    let pipe = folder.at("pipe");
    mkfifo(&pipe);
    let quiet = |quiet: bool| if quiet { &["-q"][..] } else { &[] };
    let case = folder.at("case.txt");
    let size = ["--size", "200", "-o", case.to_str().unwrap()];
    run(["generate", "net"].iter().chain(&size)).succeeded();
    let case = fs::read(case).unwrap();
    for is_quiet in [false, true] {
        for (job, bytes) in [("label", &image), ("route", &case)] {
            let mut reads = command();
            reads.arg(job).arg(&pipe).args(quiet(is_quiet));
            let slow = {
                let (pipe, bytes) = (pipe.clone(), bytes.clone());
                move || {
                    let mut pipe = File::options().write(true).open(pipe).unwrap();
                    pipe.write_all(&bytes[..200_000]).unwrap();
                    std::thread::sleep(patience);
                    pipe.write_all(&bytes[200_000..]).unwrap();
                }
            };
            let text = shown(reads, slow);
            assert_eq!(
                text.contains("read ") && text.contains(" KiB"),
                !is_quiet,
                "{job}: {text:?}"
            );
        }

        let array = folder.at("a.npy");
        let label = ["label", array.to_str().unwrap(), "--format", "npy"];
        let generate = [
            "generate", "mask", "noise", "--size", "600", "--format", "npy",
        ];
        for (arguments, sample) in [(&label[..], 4), (&generate, 1)] {
            let mut writes = command();
            writes.args(arguments).arg("-o").arg(&pipe);
            writes.args(quiet(is_quiet));
            let slow = {
                let pipe = pipe.clone();
                move || {
                    let mut pipe = File::open(pipe).unwrap();
                    std::thread::sleep(patience);
                    let mut bytes = Vec::new();
                    pipe.read_to_end(&mut bytes).unwrap();
                    assert_eq!(bytes.len(), 128 + sample * 360_000);
                }
            };
            let text = shown(writes, slow);
            assert_eq!(
                text.contains("write ") && (text.contains(" KiB") || text.contains(" MiB")),
                !is_quiet,
                "{arguments:?}: {text:?}"
            );
        }
    }
}
