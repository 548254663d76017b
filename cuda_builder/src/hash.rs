//! A hash of the sources that determine the PTX.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::Error;
use crate::error::Context as _;

/// Files that exist for the host alone: a change in them can't change the PTX.
const HOST_ONLY: [&str; 3] = ["launch.rs", "backend/host", "emulator"];

/// The hash of a set of crates' sources, as 64 hexadecimal digits: of each crate's `Cargo.toml` and the `.rs` files
/// under `src`, with their paths relative to the crate, in order. Line endings count as `\n`.
///
/// Of `cuda_std`, the files that only the host compiles don't count.
///
/// # Errors
///
/// [`Error::Io`] if a file can't be read.
pub fn source_hash<P: AsRef<Path>>(crates: &[P]) -> Result<String, Error> {
    let mut hash = Sha256::new();
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
            let text = fs::read_to_string(&path).at(&path)?.replace("\r\n", "\n");
            // With their lengths, no two sets of files run together into the same bytes.
            hash.update(format!("{name}/{inside}\n{}\n", text.len()));
            hash.update(text);
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
    let mut files = vec![dir.join("Cargo.toml")];
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
            if dir.ends_with("cuda_std") && HOST_ONLY.iter().any(|host| inside.starts_with(host)) {
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
        let dir = root.path().join("cuda_std");
        write(&dir, "Cargo.toml", "[package]\n");
        write(&dir, "src/lib.rs", "a\nb\n");
        write(&dir, "src/backend/host.rs", "host\n");
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
}
