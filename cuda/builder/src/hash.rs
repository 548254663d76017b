//! A hash of everything that determines the PTX: the kernels' sources, what the builder adds to
//! them, and the tools.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::error::Context as _;
use crate::{Error, Header};

/// Files that exist for the host alone: a change in them can't change the PTX.
const HOST_ONLY: [&str; 4] = ["launch.rs", "lengths.rs", "backend/host", "emulator"];

/// The builder's own sources that shape the PTX: code in LLVM IR, the compiler's flags, the
/// fix-ups, the passes, the names, the header. (None of its other sources can change the PTX: they
/// find and run tools, and read and check the output.)
const BUILDER: [(&str, &str); 6] = [
    ("device.ll", include_str!("device.ll")),
    ("cargo.rs", include_str!("cargo.rs")),
    ("fixup.rs", include_str!("fixup.rs")),
    ("header.rs", include_str!("header.rs")),
    ("ir.rs", include_str!("ir.rs")),
    ("lib.rs", include_str!("lib.rs")),
];

impl Header {
    /// The hash of a PTX file that is built from these crates with the tools that this header
    /// names: 64 hexadecimal digits. A file is up to date if its [`source_hash`](Self::source_hash)
    /// is equal.
    ///
    /// It covers each crate's `Cargo.toml` and the `.rs` files under `src`, with their paths
    /// relative to the crate, in order; the builder's own sources that shape the PTX; and the
    /// versions of the compiler and of LLVM, and the target. Line endings count as `\n`. The files
    /// of `cuda_std` that only the host compiles don't count.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if a file can't be read.
    pub fn hash_of<P: AsRef<Path>>(&self, crates: &[P]) -> Result<String, Error> {
        let tools = format!("{}\n{}\n{}\n", self.rustc, self.llvm, self.target);
        hash(&BUILDER, &tools, crates)
    }
}

/// Adds a file with the lengths of its path and text, so that no two sets of files give the same
/// bytes.
fn add(hash: &mut Sha256, name: &str, text: &str) {
    let text = text.replace("\r\n", "\n");
    hash.update(format!("{name}\n{}\n", text.len()));
    hash.update(text);
}

fn hash<P: AsRef<Path>>(
    builder: &[(&str, &str)],
    tools: &str,
    crates: &[P],
) -> Result<String, Error> {
    let mut hash = Sha256::new();
    add(&mut hash, "tools", tools);
    for (name, text) in builder {
        add(&mut hash, &format!("cuda_builder/{name}"), text);
    }
    for dir in crates {
        let dir = dir.as_ref();
        let dir = dir.canonicalize().at(dir)?;
        let name = dir
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        for path in sources(&dir)? {
            let inside = path
                .strip_prefix(&dir)
                .unwrap_or(&path)
                .to_string_lossy()
                .replace('\\', "/");
            let text = fs::read_to_string(&path).at(&path)?;
            add(&mut hash, &format!("{name}/{inside}"), &text);
        }
    }
    Ok(hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

/// The files of one crate that count, sorted.
pub(crate) fn sources(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let manifest = dir.join("Cargo.toml");
    let is_cuda_std = fs::read_to_string(&manifest)
        .at(&manifest)?
        .contains("\nname = \"trazar-cuda-std\"\n");
    let mut files = vec![manifest];
    let src = dir.join("src");
    let mut folders = vec![src.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).at(&folder)? {
            let path = entry.at(&folder)?.path();
            let inside = path
                .strip_prefix(&src)
                .unwrap_or(&path)
                .to_string_lossy()
                .replace('\\', "/");
            if is_cuda_std && HOST_ONLY.iter().any(|host| inside.starts_with(host)) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(dir: &Path, path: &str, text: &str) {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        fs::write(path, text).expect("written");
    }

    #[test]
    fn the_hash_is_of_names_and_text_and_not_of_line_endings() {
        let root = tempfile::tempdir().expect("a folder");
        let dir = root.path().join("std");
        write(
            &dir,
            "Cargo.toml",
            "[package]\nname = \"trazar-cuda-std\"\n",
        );
        write(&dir, "src/lib.rs", "a\nb\n");
        write(&dir, "src/backend/host.rs", "host\n");
        let source_hash = |dirs: &[&PathBuf]| hash(&BUILDER, "tools", dirs);
        let first = source_hash(&[&dir]).expect("readable");
        assert_eq!(first.len(), 64);

        write(&dir, "src/lib.rs", "a\r\nb\r\n");
        write(&dir, "src/backend/host.rs", "another host\n");
        write(&dir, "notes.txt", "not a source\n");
        assert_eq!(source_hash(&[&dir]).expect("readable"), first);

        write(&dir, "src/lib.rs", "a\nc\n");
        assert_ne!(source_hash(&[&dir]).expect("readable"), first);
        write(&dir, "src/lib.rs", "a\nb\n");
        write(&dir, "src/backend/nvptx.rs", "");
        assert_ne!(source_hash(&[&dir]).expect("readable"), first);
    }

    #[test]
    fn the_hash_is_of_the_tools_too() {
        let header = |rustc: &str, llvm: &str, target: &str| Header {
            source_hash: String::new(),
            rustc: rustc.into(),
            llvm: llvm.into(),
            target: target.into(),
        };
        let of = |header: Header| header.hash_of::<&Path>(&[]).expect("nothing to read");
        let first = of(header("1.96.0", "22.1.8", "sm_75"));
        assert_eq!(of(header("1.96.0", "22.1.8", "sm_75")), first);
        assert_ne!(of(header("1.96.1", "22.1.8", "sm_75")), first);
        assert_ne!(of(header("1.96.0", "22.1.9", "sm_75")), first);
        assert_ne!(of(header("1.96.0", "22.1.8", "sm_80")), first);
    }

    #[test]
    fn the_hash_is_of_what_the_builder_puts_in() {
        let of = |builder: &[(&str, &str)]| {
            hash::<&Path>(builder, "tools", &[]).expect("nothing to read")
        };
        let first = of(&BUILDER);
        for i in 0..BUILDER.len() {
            let mut builder = BUILDER;
            let text = format!("{}\n; one more line", builder[i].1);
            builder[i].1 = &text;
            assert_ne!(of(&builder), first, "{}", BUILDER[i].0);
            let windows = BUILDER[i].1.replace('\n', "\r\n");
            builder[i].1 = &windows;
            assert_eq!(of(&builder), first, "{}", BUILDER[i].0);
        }
    }

    /// A new file of the builder has to be put on one of the two lists.
    #[test]
    fn every_source_of_the_builder_counts_or_cannot_change_the_ptx() {
        let others = [
            "bin",
            "doctor.rs",
            "driver.rs",
            "error.rs",
            "hash.rs",
            "lint.rs",
            "occupancy.rs",
            "process.rs",
            "ptx.rs",
            "ptxas.rs",
            "toolchain.rs",
        ];
        let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut found: Vec<_> = fs::read_dir(src)
            .expect("a folder")
            .map(|entry| entry.expect("readable").file_name().into_string())
            .map(|name| name.expect("a plain name"))
            .collect();
        let mut known: Vec<_> = BUILDER.map(|(name, _)| name).to_vec();
        known.extend(others);
        found.sort();
        known.sort();
        assert_eq!(found, known);
    }
}
