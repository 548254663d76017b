//! Copies the Rust blocks of the repository's pages for rustdoc.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets it"));
    let mut modules = String::new();
    for page in &pages(&root)? {
        println!("cargo::rerun-if-changed={}", page.display());
        let blocks = rust_blocks(&fs::read_to_string(page)?);
        if blocks.trim().is_empty() {
            continue;
        }
        let name = page
            .strip_prefix(&root)
            .unwrap_or(page)
            .display()
            .to_string();
        let module = name
            .to_lowercase()
            .replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        let copy = out.join(&module);
        fs::write(&copy, blocks)?;
        writeln!(
            modules,
            "#[doc = include_str!({copy:?})]\n/// (The Rust blocks of `{name}`.)\n\
             pub mod {module} {{}}"
        )
        .expect("a string takes all");
    }
    fs::write(out.join("pages.rs"), modules)
}

/// `README.md`, `CONTRIBUTING.md`, and all pages in `docs`.
fn pages(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut pages = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        println!("cargo::rerun-if-changed={}", folder.display());
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    Ok(pages)
}

/// The page with all lines empty but those of Rust blocks and of the hidden set-up before them.
fn rust_blocks(page: &str) -> String {
    let mut copy = String::new();
    let mut lines = page.lines().peekable();
    let mut fails = false;
    while let Some(line) = lines.next() {
        let hidden = line.trim() == "<!-- hidden";
        if hidden {
            copy += "```rust\n";
            for line in lines.by_ref().take_while(|line| line.trim() != "-->") {
                fails |= line.contains('?');
                copy += &format!("# {line}\n");
            }
            copy += "#\n";
        }
        let fence = if hidden { lines.next() } else { Some(line) };
        let fence = fence.unwrap_or_default();
        let indent = fence.len() - fence.trim_start().len();
        if !fence.trim_start().starts_with("```rust") {
            assert!(
                !hidden,
                "a hidden set-up stands before {fence:?}, not before a Rust block"
            );
            copy.push('\n');
            continue;
        }
        copy += if hidden { "#" } else { fence.trim_start() };
        copy.push('\n');
        let mut is_program = false;
        for line in lines.by_ref() {
            if line.trim() == "```" {
                break;
            }
            fails |= line.contains('?');
            is_program |= line.contains("fn main(");
            copy += line.get(indent..).unwrap_or_default();
            copy.push('\n');
        }
        if std::mem::take(&mut fails) && !is_program {
            copy += "# Ok::<(), Box<dyn std::error::Error>>(())\n";
        }
        copy += "```\n";
    }
    copy
}
