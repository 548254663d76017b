//! The code blocks of the repository's pages: `README.md`, `CONTRIBUTING.md` and `docs/`.
//!
//! | language | test |
//! |---|---|
//! | `sh` | each command runs in a folder with a few inputs ([`set_up`]) and must succeed |
//! | `console` | the lines behind `$` run likewise, and must print what follows them |
//! | `toml` | Cargo must be able to read it as part of a manifest |
//! | `json` | is parsed |
//! | `python` | examples with prompts: `python/tests/test_docs.py` |
//! | `rust` | doc tests of the package `trazar-test-docs` |
//! | `text` | is no code, and has no test |
//!
//! In the output of a `console` block, `…` stands for any text within a line, such as a time, and a
//! line `…` for any number of lines.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{self, Folder};

/// Commands that do not run here, by how they start, and why.
const NOT_RUN: [(&str, &str); 21] = [
    ("cargo test", "this is one of the tests; CI runs them all"),
    ("cargo fmt", "CI runs it"),
    ("cargo clippy", "CI runs it"),
    ("cargo kernels", "needs the device toolchain; CI runs it"),
    ("cargo bench", "takes long, and CI builds them"),
    ("cargo build", "builds what the tests have built"),
    ("cargo install", "downloads and builds; CI runs it"),
    ("cargo add", "downloads; CI builds a dependent"),
    ("cargo generate", "downloads; CI builds the template"),
    (
        "cd tally",
        "is the crate that `cargo kernels new` has made; CI makes it",
    ),
    ("cargo run --example race", "runs there"),
    ("git clone", "downloads"),
    ("maturin", "builds the Python package; CI does"),
    ("pip install", "downloads; CI installs what it has built"),
    ("pytest", "tests the Python package; CI runs it"),
    ("rustup", "downloads"),
    (
        "python3 python/benches/",
        "needs other people's programs and a quiet machine",
    ),
    (
        "benches/",
        "needs other people's programs and a quiet machine",
    ),
    ("compute-sanitizer", "needs a GPU and NVIDIA's tools"),
    (
        "export TRAZAR_",
        "is for the commands behind it, which do not run",
    ),
    (
        "TRAZAR_",
        "sets a variable for a run of tests or for a build",
    ),
];

struct Block {
    /// The page and line, for messages.
    place: String,
    page: PathBuf,
    language: String,
    lines: Vec<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All code blocks, page by page.
fn blocks() -> Vec<Block> {
    let mut pages = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages.iter().flat_map(|page| blocks_of(page)).collect()
}

fn blocks_of(page: &Path) -> Vec<Block> {
    let text = fs::read_to_string(page).unwrap();
    let name = page.strip_prefix(root()).unwrap().display();
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(language) = line.trim_start().strip_prefix("```") else {
            continue;
        };
        let indent = line.len() - line.trim_start().len();
        let block = lines.by_ref().map(|(_, line)| line);
        blocks.push(Block {
            place: format!("{name}:{}", number + 1),
            page: page.to_owned(),
            language: language.trim().to_owned(),
            lines: block
                .take_while(|line| line.trim() != "```")
                .map(|line| line.get(indent..).unwrap_or_default().to_owned())
                .collect(),
        });
    }
    blocks
}

/// The inputs that blocks may take for granted.
fn set_up() -> Folder {
    let folder = Folder::new();
    let commands = "
        trazar generate mask blobs -o mask.png --size 64 --seed 7
        trazar generate net -o case.txt --size 32 --pins 6 --seed 7
        mkdir -p docs/images && cp mask.png docs/images/
        printf '0 0\\n20 25\\n' > pins.txt";
    for command in commands.lines() {
        let output = run(&folder, command);
        assert!(output.status.success(), "{command}: {output:?}");
    }
    let header = |shape: &str| common::header("<u2", false, shape);
    // All weights are 1.
    folder.npy("right.npy", &header("(32, 31)"), &[1, 0].repeat(32 * 31));
    folder.npy("down.npy", &header("(31, 32)"), &[1, 0].repeat(31 * 32));
    fs::copy(folder.at("right.npy"), folder.at("r.npy")).unwrap();
    fs::copy(folder.at("down.npy"), folder.at("d.npy")).unwrap();
    let values: Vec<u8> = (0..64 * 64)
        .flat_map(|i| ((i % 7) as f32 / 7.0).to_le_bytes())
        .collect();
    let field = common::header("<f4", false, "(64, 64)");
    folder.npy("field.npy", &field, &values);
    let classes: Vec<u8> = (0..64 * 64u32)
        .map(|i| (i / 512 % 4 + i % 64 / 16) as u8)
        .collect();
    let tiff = common::geotiff(64, 64, &classes, true);
    fs::write(folder.at("landcover.tif"), tiff).unwrap();
    folder
}

/// Runs a line as a shell does, with the command `trazar` in its path, and without a GPU.
fn run(folder: &Folder, command: &str) -> Output {
    let binary = Path::new(env!("CARGO_BIN_EXE_trazar"));
    let mut path = binary.parent().unwrap().as_os_str().to_owned();
    path.push(":");
    path.push(env::var_os("PATH").unwrap_or_default());
    Command::new("sh")
        .args(["-uc", command])
        .current_dir(folder.path())
        .env("PATH", path)
        .env("HOME", folder.path())
        .env("CUDA_VISIBLE_DEVICES", "")
        .output()
        .unwrap()
}

/// The command to run for a line: the binary instead of a build of it. `None` for one that does not
/// run here.
fn command(line: &str) -> Option<String> {
    let line = line.trim();
    let through_cargo = [
        "cargo run --release --bin trazar -- ",
        "cargo run --release -- ",
    ];
    for start in through_cargo {
        if let Some(rest) = line.strip_prefix(start) {
            return Some(format!("trazar {rest}"));
        }
    }
    let not_run = NOT_RUN.iter().any(|(start, _)| line.starts_with(start));
    (!not_run && !line.is_empty() && !line.starts_with('#')).then(|| line.to_owned())
}

/// Whether a failure is what a machine without a GPU has to say to this command.
fn lacks_gpu(command: &str, output: &Output) -> bool {
    command.contains("--device cuda") && String::from_utf8_lossy(&output.stderr).contains("CUDA")
}

#[test]
fn shell_commands_succeed() {
    let folder = set_up();
    let mut wrong = Vec::new();
    let mut ran = 0;
    for block in blocks().iter().filter(|block| block.language == "sh") {
        // A backslash continues a line.
        let text = block.lines.join("\n").replace("\\\n", " ");
        for command in text.lines().filter_map(command) {
            let output = run(&folder, &command);
            ran += 1;
            if !output.status.success() && !lacks_gpu(&command, &output) {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                wrong.push(format!("{}: {command}\n{said}", block.place));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(ran > 0, "no command was found");
}

/// The blocks of a page run in one folder, one after the other.
#[test]
fn console_output_is_what_pages_show() {
    let mut wrong = Vec::new();
    let mut last: Option<(PathBuf, Folder)> = None;
    let blocks = blocks();
    let console: Vec<_> = blocks
        .iter()
        .filter(|block| block.language == "console")
        .collect();
    assert!(!console.is_empty(), "no block was found");
    for block in console {
        if last.as_ref().is_none_or(|(page, _)| *page != block.page) {
            last = Some((block.page.clone(), set_up()));
        }
        let Some((_, folder)) = &last else { continue };
        for part in block.lines.join("\n").split("\n$ ") {
            let part = part.strip_prefix("$ ").unwrap_or(part);
            let (line, expected) = part.split_once('\n').unwrap_or((part, ""));
            let Some(command) = command(line) else {
                let place = &block.place;
                wrong.push(format!(
                    "{place}: {line}: this does not run here: use a block `sh`"
                ));
                continue;
            };
            let output = run(folder, &format!("{{ {command}\n}} 2>&1"));
            let printed = String::from_utf8_lossy(&output.stdout).into_owned();
            let expected: Vec<&str> = expected.lines().collect();
            let found: Vec<&str> = printed.lines().collect();
            if !matches_lines(&expected, &found) {
                wrong.push(format!("{}: {command}\n{printed}", block.place));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "these print something else:\n{}",
        wrong.join("\n")
    );
}

/// Whether `found` is `expected`, where a line `…` stands for any lines.
fn matches_lines(expected: &[&str], found: &[&str]) -> bool {
    match expected {
        [] => found.is_empty(),
        ["…", rest @ ..] => (0..=found.len()).any(|skip| matches_lines(rest, &found[skip..])),
        [first, rest @ ..] => {
            let line = found.first();
            line.is_some_and(|line| matches_line(first, line)) && matches_lines(rest, &found[1..])
        }
    }
}

/// Whether a line is `expected`, where `…` stands for any text.
fn matches_line(expected: &str, found: &str) -> bool {
    match expected.split_once('…') {
        None => expected == found,
        Some((start, rest)) => found.strip_prefix(start).is_some_and(|found| {
            let mut ends = found.char_indices().map(|(at, _)| at).chain([found.len()]);
            ends.any(|at| matches_line(rest, &found[at..]))
        }),
    }
}

#[test]
fn placeholders() {
    assert!(matches_line(
        "read …, trace …: a.svg",
        "read 5.1 ms, trace 1 s: a.svg"
    ));
    assert!(matches_line("a…", "a"));
    assert!(!matches_line("a…b", "a"));
    assert!(!matches_line("a", "ab"));
    assert!(matches_lines(&["a", "…", "b"], &["a", "x", "y", "b"]));
    assert!(matches_lines(&["…"], &[]));
    assert!(!matches_lines(&["a", "…", "b"], &["a", "x"]));
    assert!(!matches_lines(&[], &["a"]));
}

#[test]
fn other_blocks_can_be_read() {
    let mut wrong = Vec::new();
    for block in blocks() {
        let text = block.lines.join("\n");
        let fault = match block.language.as_str() {
            "sh" | "console" | "text" | "rust" | "python" => None,
            // Compared with the sources by `cuda/builder/tests/race_page.rs`.
            "diff" if block.place.starts_with("docs/a-race-in-ten-lines.md") => None,
            "json" => serde_json::from_str::<serde_json::Value>(&text)
                .err()
                .map(|error| error.to_string()),
            "toml" => cargo_refuses(&text),
            // `ignore` would let a block rot.
            other => Some(format!("no test runs blocks of the language {other:?}")),
        };
        wrong.extend(fault.map(|fault| format!("{}: {fault}", block.place)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What Cargo says against `text` in a manifest.
fn cargo_refuses(text: &str) -> Option<String> {
    let folder = Folder::new();
    let package = "[package]\nname = \"page\"\nversion = \"1.0.0\"\nedition = \"2024\"\n";
    let package = if text.contains("[package]") {
        ""
    } else {
        package
    };
    folder.put("Cargo.toml", format!("{package}{text}\n"));
    fs::create_dir(folder.at("src")).unwrap();
    folder.put("src/lib.rs", "");
    let output = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let refused = !output.status.success();
    refused.then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn bad_toml_is_noticed() {
    assert_eq!(cargo_refuses("[dependencies]\ntrazar = \"0.1\""), None);
    assert!(cargo_refuses("[dependencies]\ntrazar = 0.1").is_some());
    assert!(cargo_refuses("[dependencies\n").is_some());
}
