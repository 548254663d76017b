//! Shell completions and manual pages.

use std::ffi::OsStr;
use std::fs;
use std::process::Command;

use trazar_test_seeds::skipped;

use crate::common::{Folder, command, run};

const PAGES: [&str; 15] = [
    "trazar-bench.1",
    "trazar-completions.1",
    "trazar-distance.1",
    "trazar-generate-competing.1",
    "trazar-generate-mask.1",
    "trazar-generate-net.1",
    "trazar-generate.1",
    "trazar-info.1",
    "trazar-label.1",
    "trazar-man.1",
    "trazar-measure.1",
    "trazar-polygonize.1",
    "trazar-route.1",
    "trazar-trace.1",
    "trazar.1",
];

/// Whether `program` is installed; if not, says that `test` is skipped.
fn installed(test: &str, program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        skipped(test, &format!("there is no {program}"));
    }
    found
}

#[test]
fn a_page_for_each_command() {
    let folder = Folder::new();
    let dir = folder.at("share/man1");
    run([OsStr::new("man"), dir.as_os_str()]).succeeded();
    let mut names: Vec<_> = fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, PAGES);
    for name in names {
        let page = fs::read_to_string(dir.join(&name)).unwrap();
        let command = name.trim_end_matches(".1").replace('-', " ");
        assert!(page.contains(".TH trazar"), "{name}: {page}");
        assert!(
            page.contains(".SH SYNOPSIS") && page.contains(".SH DESCRIPTION"),
            "{name}"
        );
        // Examples keep their lines.
        if name == "trazar-trace.1" {
            let example = "\n  trazar trace mask.png                          only count\n";
            assert!(page.contains(example) && page.contains(".SH EXAMPLES\n.nf\n"));
        }
        // All options that `--help` lists.
        let help = run(command.split(' ').skip(1).chain(["--help"])).succeeded();
        let help = String::from_utf8(help.stdout).unwrap();
        for word in help
            .split([' ', ',', '\n'])
            .filter(|word| word.starts_with("--"))
        {
            let option = word
                .trim_end_matches([':', '.', ')', ';'])
                .replace('-', "\\-");
            assert!(page.contains(&option), "{name} lacks {option}");
        }
    }
    // A file is in the way.
    folder.put("file", "");
    run([OsStr::new("man"), folder.at("file").as_os_str()]).failed(1, &["file"]);
}

#[test]
fn groff_has_nothing_against_the_pages() {
    if !installed("groff_has_nothing_against_the_pages", "groff") {
        return;
    }
    let folder = Folder::new();
    run([OsStr::new("man"), folder.path().as_os_str()]).succeeded();
    for name in PAGES {
        let output = Command::new("groff")
            .args(["-k", "-man", "-Tutf8", "-ww", "-z", name])
            .current_dir(folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{name}: {said}");
    }
}

#[test]
fn scripts_for_all_shells() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = run(["completions", shell]).succeeded();
        assert!(script.stderr.is_empty());
        let script = String::from_utf8(script.stdout).unwrap();
        for word in ["trazar", "trace", "label", "route", "retrieval", "geojson"] {
            assert!(script.contains(word), "{shell}: no {word}");
        }
    }
    run(["completions", "tcsh"]).refused(&["tcsh"]);
}

/// What bash offers after Tab, by its own rules.
#[test]
fn bash_completes_options_and_values() {
    if !installed("bash_completes_options_and_values", "bash") {
        return;
    }
    let folder = Folder::new();
    let script = run(["completions", "bash"]).succeeded().stdout;
    folder.put("script", script);
    let offered = |words: &[&str]| {
        let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let last = words.len() - 1;
        let before = words[last - 1];
        let line = format!(
            "source ./script; COMP_WORDS=({}); COMP_CWORD={last}; \
             _trazar trazar '{}' '{before}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            quoted.join(" "),
            words[last]
        );
        let output = Command::new("bash")
            .args(["--norc", "-c", &line])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.stderr.is_empty(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(offered(&["trazar", "tr"]), ["trace"]);
    assert_eq!(offered(&["trazar", "trace", "--retr"]), ["--retrieval"]);
    let values = offered(&["trazar", "trace", "--retrieval", ""]);
    assert_eq!(values, ["external", "list", "ccomp", "tree"]);
    assert_eq!(offered(&["trazar", "route", "--tree", "i"]), ["improved"]);
}

/// Standard output that is a closed pipe ends the command as it does others.
#[cfg(unix)]
#[test]
fn a_reader_that_goes_away() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut child = command();
    let status = child
        .args(["completions", "zsh"])
        .stdout(writer)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(141));
}
