//! Where results go: a file, or standard output.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use trazar::formats::Output;

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::image::source;
use crate::progress::Progress;
use crate::stdout::{self, Stdout};

/// Whether the path stands for standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Refuses a result and a summary that both want standard output.
pub(crate) fn check_not_beside_json(output: Option<&Path>, run: &RunArgs) -> Result<(), Failure> {
    if run.json && output.is_some_and(is_stdout) {
        return Err(Failure::usage(
            "-o - and --json both want standard output: write to a file, or leave --json out",
        ));
    }
    Ok(())
}

/// The format that was asked for, or the one that the extension of `path` names.
pub(crate) fn format<F: ValueEnum>(path: &Path, asked: Option<F>) -> Result<F, Failure> {
    if let Some(format) = asked {
        return Ok(format);
    }
    let names: Vec<String> = F::value_variants()
        .iter()
        .filter_map(ValueEnum::to_possible_value)
        .map(|value| value.get_name().to_owned())
        .collect();
    if is_stdout(path) {
        return Err(Failure::usage(format!(
            "-o - needs --format: one of {}",
            names.join(", ")
        )));
    }
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    F::from_str(extension, true).map_err(|_| {
        Failure::usage(format!(
            "{}: no known extension: use .{}, or give --format",
            path.display(),
            names.join(", .")
        ))
    })
}

/// A file with the argument that names it, if it does.
pub(crate) type Named<'a> = (&'static str, Option<&'a Path>);

/// Refuses a run whose outputs would replace each other or what is read.
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

/// An argument with its file, as messages name them.
fn described(argument: &str, path: &Path, standard: &str) -> String {
    match is_stdout(path) {
        true => format!("{argument} - (standard {standard})"),
        false => format!("{argument} {}", path.display()),
    }
}

/// What a file is known by.
struct FileId {
    /// Its path with links followed.
    path: Option<PathBuf>,
    /// A regular file's device and number there, whichever of its names is used, or none.
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

/// Paths that lead to whatever standard output is.
const NAMES_OF_STDOUT: [&str; 3] = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// A destination that is ready to be written.
#[derive(Debug)]
pub(crate) enum Destination {
    Stdout(Stdout),
    File(Output),
}

impl Destination {
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        if is_stdout(path) {
            return Ok(Self::Stdout(stdout::open()?));
        }
        if NAMES_OF_STDOUT.iter().any(|name| path == Path::new(name)) {
            stdout::open()?;
        }
        Ok(Self::File(Output::create(path)?))
    }

    /// Writes the whole result, with a progress bar. A file is in its place after
    /// [`commit`](Self::commit).
    pub(crate) fn fill(
        &mut self,
        quiet: bool,
        write: impl FnOnce(&mut dyn Write) -> trazar::Result<()>,
    ) -> Result<(), Failure> {
        match self {
            Self::File(file) => Ok(file.fill(|file| Progress::writing(quiet, file, write))?),
            Self::Stdout(stdout) => match Progress::writing(quiet, stdout, write) {
                Ok(()) => Ok(stdout.flush()?),
                Err(trazar::Error::Write(error)) => Err(error.into()),
                Err(error) => Err(error.into()),
            },
        }
    }

    pub(crate) fn commit(self) -> Result<(), Failure> {
        match self {
            Self::File(file) => Ok(file.commit()?),
            Self::Stdout(_) => Ok(()),
        }
    }
}
