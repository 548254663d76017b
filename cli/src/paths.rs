//! The files named on the command line: what each path stands for, and whether two are one file.

use std::path::{Path, PathBuf};
use std::{env, fs};

use trazar::formats::Output;

use crate::failure::Failure;

/// Whether `path` stands for standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The file to read for `path`: standard input for `-`.
pub(crate) fn source(path: &Path) -> &Path {
    if cfg!(unix) && path.as_os_str() == "-" {
        Path::new("/dev/stdin")
    } else {
        path
    }
}

/// The folder for what is kept until the output is written: that of the output, which has room.
pub(crate) fn folder_beside(output: Option<&Path>) -> PathBuf {
    let target = output
        .filter(|path| !is_stdout(path))
        .and_then(Output::resolve);
    let folder = target.and_then(|target| target.parent().map(Path::to_path_buf));
    folder.unwrap_or_else(env::temp_dir)
}

/// An argument and the file that it names, if it was given.
pub(crate) type Named<'a> = (&'static str, Option<&'a Path>);

/// Refuses a run whose outputs would replace each other or an input.
pub(crate) fn check_distinct(inputs: &[Named<'_>], outputs: &[Named<'_>]) -> Result<(), Failure> {
    let mut taken: Vec<(String, FileId)> = Vec::new();
    for &(argument, path) in inputs {
        let Some(path) = path else { continue };
        taken.push((described(argument, path, "input"), FileId::of_input(path)));
    }
    for &(option, path) in outputs {
        let Some(path) = path else { continue };
        let (described, id) = (described(option, path, "output"), FileId::of_output(path));
        if let Some((other, _)) = taken.iter().find(|(_, taken)| taken.is(&id)) {
            return Err(Failure::usage(format!(
                "{described} and {other} are the same file: give them two"
            )));
        }
        taken.push((described, id));
    }
    Ok(())
}

/// Refuses several inputs that are standard input.
pub(crate) fn check_one_stdin(inputs: &[Named<'_>]) -> Result<(), Failure> {
    let from_stdin = inputs
        .iter()
        .filter(|(_, path)| *path == Some(Path::new("-")));
    if from_stdin.count() > 1 {
        return Err(Failure::usage(
            "only one file can be standard input: give the others by their names",
        ));
    }
    Ok(())
}

/// An argument with its file, as messages name them.
fn described(argument: &str, path: &Path, standard: &str) -> String {
    match is_stdout(path) {
        true => format!("{argument} - (standard {standard})"),
        false => format!("{argument} {}", path.display()),
    }
}

/// A file's identity, to compare two paths.
struct FileId {
    /// Its path, with links resolved.
    path: Option<PathBuf>,
    /// A regular file's device and inode, which are the same under all of its names.
    number: Option<(u64, u64)>,
}

impl FileId {
    fn of_input(path: &Path) -> Self {
        let path = source(path);
        Self {
            path: fs::canonicalize(path).ok(),
            number: file_number(path),
        }
    }

    fn of_output(path: &Path) -> Self {
        let stdout = cfg!(unix) && is_stdout(path);
        let path = if stdout {
            Path::new("/dev/stdout")
        } else {
            path
        };
        Self {
            path: Output::resolve(path),
            number: file_number(path),
        }
    }

    fn is(&self, other: &Self) -> bool {
        (self.path.is_some() && self.path == other.path)
            || (self.number.is_some() && self.number == other.number)
    }
}

#[cfg(unix)]
fn file_number(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn file_number(_: &Path) -> Option<(u64, u64)> {
    None
}
